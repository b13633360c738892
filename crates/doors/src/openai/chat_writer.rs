//! What a chat shows of a run: its answer as text, and beside it what is thought and who works for it. Events come in;
//! pieces of the answer go out, and the text as it was sent is kept, because the client sends it again.

use serde_json::{Value, json};
use systole_kit::{DocumentLimits, Payload};
use systole_queries::costs::CostRow;
use systole_queries::run_events::{RunEvent, read_words};

use super::fault::OpenaiFault;
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::composition::Composition;
use systole_core::types::door_settings::ShownSteps;
use systole_core::types::record::Record;
use systole_payloads::answers::{describe_failure, write_answer};

/// What comes between a text that does not count and the one that does: such clients cannot take back what they show.
const ANEW: &str = "\n\nAnother answer:\n\n";
/// What comes between what was said before a call and what is said after it.
const NEXT: &str = "\n\n";

/// A piece of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ChatPiece {
    /// Its text goes on.
    Text(String),
    /// What is beside it.
    Beside(String),
}

/// How a chat's answer ends: why, or what went wrong.
pub(super) type ChatEnd = Result<&'static str, OpenaiFault>;

/// The tokens that the models of a run read and wrote. `None` if some are unknown.
pub(super) fn count_tokens(used: &CostRow) -> Option<(u64, u64)> {
    let is_known = used.unknown == 0 && used.uncounted == 0;
    is_known.then_some((used.tokens_in, used.tokens_out))
}

/// The same in the form of a chat.
pub(super) fn count_usage(used: &CostRow) -> Option<Value> {
    let (read, written) = count_tokens(used)?;
    let all = read.saturating_add(written);
    Some(json!({"prompt_tokens": read, "completion_tokens": written, "total_tokens": all}))
}

/// The answer of one run, as far as it was sent.
pub(super) struct ChatWriter {
    shows: ShownSteps,
    /// The text.
    pub(super) text: String,
    /// What was beside it.
    pub(super) beside: String,
    /// What the models used, if it is known.
    pub(super) usage: Option<Value>,
    has_live_thought: bool,
    /// What comes before the next text.
    between: Option<&'static str>,
}

impl ChatWriter {
    pub(super) fn new(shows: ShownSteps) -> ChatWriter {
        let (text, beside) = (String::new(), String::new());
        ChatWriter { shows, text, beside, usage: None, has_live_thought: false, between: None }
    }

    /// What an event adds.
    pub(super) fn take_event(&mut self, event: RunEvent) -> Option<ChatPiece> {
        match event {
            RunEvent::Text(words) => self.write_text(&words),
            RunEvent::Retract => {
                self.between = Some(ANEW).filter(|_| !self.text.is_empty());
                None
            }
            RunEvent::Thought { words, is_live } => {
                let is_known = !is_live && self.has_live_thought;
                self.has_live_thought = is_live;
                if is_known { None } else { self.write_beside(&words) }
            }
            RunEvent::Called { to, record: (_, record), .. } => {
                self.between = self.between.and(Some(NEXT));
                self.write_beside(&format!("\n→ {to} {}\n", self.describe_payload(&record)))
            }
            RunEvent::Returned { judgement, record: (_, record), .. } => {
                let how = if judgement.is_failure() { "failed: " } else { "" };
                let from = &record.header.from;
                self.write_beside(&format!("\n← {from} {how}{}\n", self.describe_payload(&record)))
            }
            RunEvent::Away(outage) => self.write_beside(&format!("\nwaits: {outage}\n")),
            _ => None,
        }
    }

    /// What the end of the run adds, and how the answer ends.
    pub(super) fn take_end(
        &mut self,
        organism: &Composition,
        judgement: CallJudgement,
        record: &Record,
    ) -> (Option<ChatPiece>, ChatEnd) {
        let Some(answer) = write_answer(organism, judgement, record) else {
            return (None, Err(describe_failure(record).into()));
        };
        // Words were sent before the end.
        let has_words = judgement != CallJudgement::Handled && read_words(record).is_some();
        let piece = if has_words { None } else { self.write_text(&answer) };
        (piece, Ok(if judgement == CallJudgement::Partial { "length" } else { "stop" }))
    }

    pub(super) fn write_text(&mut self, words: &str) -> Option<ChatPiece> {
        let between = self.between.take_if(|_| !words.is_empty()).unwrap_or_default();
        let words = format!("{between}{words}");
        self.text.push_str(&words);
        (!words.is_empty()).then_some(ChatPiece::Text(words))
    }

    /// What comes next is a paragraph of its own.
    pub(super) fn begin_paragraph(&mut self) {
        self.between = Some(NEXT).filter(|_| !self.text.is_empty());
    }

    pub(super) fn write_beside(&mut self, words: &str) -> Option<ChatPiece> {
        let is_shown = self.shows >= ShownSteps::Steps && !words.is_empty();
        is_shown.then(|| {
            self.beside.push_str(words);
            ChatPiece::Beside(words.to_owned())
        })
    }

    /// A payload, as far as it is shown.
    fn describe_payload(&self, record: &Record) -> String {
        let Ok(payload) = Payload::parse(&record.body, &DocumentLimits::FROM_PUMP) else {
            return String::new();
        };
        match self.shows {
            ShownSteps::All => String::from_utf8_lossy(&record.body).into_owned(),
            ShownSteps::Answer | ShownSteps::Steps => payload.name().local.to_string(),
        }
    }
}
