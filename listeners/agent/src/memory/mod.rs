//! The conversation of a call: what was asked, and for each turn what the model said and what came of it. It grows by
//! what each delivery brings, and is made again from the view of the call where it is not there.
//!
//! Events come in; messages for a model, and the links of the prompt's chain, go out. Both ways of making it lead to the
//! same messages, which is why nothing here looks at ids, times or attempts.

mod segment;
mod tasks;

use std::sync::Arc;

use systole_kit::Payload;

use crate::chain::Link;
use crate::dialect::{self, Allowed};
use crate::failures::failure;
use crate::heard::Heard;
use crate::model::{Message, Part};
use crate::prompt;
use crate::show::Mark;
use crate::terms::{AgentTerms, CallTerms};
use crate::turn::tools_text;

use segment::Before;
pub(crate) use segment::as_text;

/// Bytes of a link that holds more than one turn. What is put down at once may have a megabyte.
const LINK: usize = 256 << 10;

/// What happened in a call, in its order.
#[derive(Clone, Debug)]
pub(crate) enum Happened {
    /// Somebody asked for something: the call itself, or an earlier one of the same agent in the thread.
    Request {
        /// Who.
        from: String,
        /// What.
        payload: Payload,
    },
    /// A turn was answered.
    Turn(Turn),
    /// Others spoke to one another before the call began.
    Overheard(Overheard),
}

/// What somebody else said to somebody else in the thread.
#[derive(Clone, Debug)]
pub(crate) struct Overheard {
    /// Who.
    pub(crate) from: String,
    /// To whom.
    pub(crate) to: String,
    /// What.
    pub(crate) payload: Payload,
    /// Its number in the view.
    pub(crate) number: u64,
}

/// A turn: what the model said, and what came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    /// What it said; none where that is not known.
    pub(crate) heard: Option<Heard>,
    /// What was said inside of what it asked for, for an agent that sees its thread.
    pub(crate) inside: Vec<Overheard>,
    /// The answers to its items.
    pub(crate) answers: Vec<Answered>,
    /// What came unasked.
    pub(crate) inbox: Vec<Payload>,
}

/// The answer to an item.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    /// Which item.
    pub(crate) ordinal: u32,
    /// The answer.
    pub(crate) payload: Payload,
    /// Its number in the view, where that was looked up.
    pub(crate) number: Option<u64>,
}

/// A part of the conversation that never changes once it is there.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) messages: Vec<Message>,
    pub(crate) link: Link,
    pub(crate) tokens: u64,
}

/// The conversation of one call.
#[derive(Clone, Debug)]
pub(crate) struct Conversation {
    /// The terms of the call that is being told.
    pub(crate) terms: Arc<CallTerms>,
    /// The mark of the call.
    pub(crate) mark: Mark,
    /// The code in the slot of a final (`xml-final`).
    pub(crate) nonce: String,
    /// The system prompt and the tools.
    pub(crate) base: Link,
    /// The prompt itself.
    pub(crate) system: String,
    segments: Vec<Segment>,
    /// Unusable answers in a row.
    pub(crate) unusable: u32,
    /// Why the last of them was unusable: its code and what the model was told.
    pub(crate) last_failure: Option<String>,
    /// What the model last thought.
    pub(crate) last_thought: Option<String>,
    /// What it last said, to see whether it says the same again.
    pub(crate) last_said: Option<String>,
    /// How often in a row it said that.
    pub(crate) repeated: u32,
    /// Whether it was told that it must reason before it acts: it is told once.
    pub(crate) told_to_think: bool,
    /// What the model said in each turn of the call; none where there was no answer.
    pub(crate) said: Vec<Option<Vec<Part>>>,
    /// Tasks that began in the call.
    pub(crate) tasks_given: u32,
    /// Links that were put down for this prompt.
    pub(crate) put: usize,
}

impl Conversation {
    /// The conversation of a call with those terms, in a thread that began on that date.
    pub(crate) fn new(mark: Mark, terms: Arc<CallTerms>, began: &str) -> Self {
        let tools = tools_text(&terms.tools);
        let system = prompt::base(&terms.agent, &terms.contracts, began);
        // It is told to the model as the mark is, and must not give that away.
        let nonce = Link::segment("nonce", &mark.0).hash.chars().take(8).collect();
        Self {
            terms,
            mark,
            nonce,
            base: Link::base(&system, &tools),
            system,
            segments: Vec::new(),
            unusable: 0,
            last_failure: None,
            last_thought: None,
            last_said: None,
            repeated: 0,
            told_to_think: false,
            said: Vec::new(),
            tasks_given: 0,
            put: 0,
        }
    }

    /// Begins with what was before, in as few links as it fits into.
    pub(crate) fn begin(&mut self, every: &AgentTerms, earlier: &[Happened]) {
        let mut gathered = Vec::new();
        let mut bytes = 0;
        for happened in earlier {
            let messages = self.next(every, happened);
            let size = as_text(&messages).len();
            if bytes + size > LINK && !gathered.is_empty() {
                self.link(std::mem::take(&mut gathered));
                bytes = 0;
            }
            bytes += size;
            gathered.extend(messages);
        }
        self.link(gathered);
    }

    /// Goes on with what happened next.
    pub(crate) fn add(&mut self, every: &AgentTerms, happened: &Happened) {
        let messages = self.next(every, happened);
        self.link(messages);
    }

    fn next(&mut self, every: &AgentTerms, happened: &Happened) -> Vec<Message> {
        let tasks_given = self.tasks_given;
        match happened {
            Happened::Turn(turn) => self.note(turn),
            // A call begins.
            Happened::Request { payload, .. } => {
                self.terms = every.of_call(payload);
                (self.unusable, self.repeated, self.last_said) = (0, 0, None);
                self.tasks_given = 0;
                self.said.clear();
            }
            Happened::Overheard(_) => {}
        }
        let CallTerms { agent, contracts, .. } = &*self.terms;
        let before = Before { unusable: self.unusable, tasks_given };
        segment::messages(agent, contracts, &self.mark, happened, before)
    }

    fn link(&mut self, messages: Vec<Message>) {
        if messages.is_empty() {
            return;
        }
        let text = as_text(&messages);
        let tokens = messages.iter().map(segment::tokens).sum();
        let link = Link::segment(self.last(), &text);
        self.segments.push(Segment { messages, link, tokens });
    }

    /// What a turn says about how the conversation goes.
    fn note(&mut self, turn: &Turn) {
        let failure = turn.answers.iter().find(|answer| is_own_failure(&answer.payload));
        self.unusable = if failure.is_some() { self.unusable + 1 } else { 0 };
        self.last_failure = failure.map(|answer| {
            let said = |name| answer.payload.attribute(name).unwrap_or_default();
            format!("{}: {}", said("code"), said("message"))
        });
        self.said.push(turn.heard.as_ref().map(|heard| heard.parts.clone()));
        let Some(heard) = &turn.heard else { return };
        let said =
            [heard.text(), heard.calls().map(|call| [&*call.name, &call.arguments].concat()).collect()]
                .concat();
        let CallTerms { agent, contracts, .. } = &*self.terms;
        let taken = dialect::take(agent, contracts, heard, Allowed::before(self.tasks_given));
        let began = turn.answers.iter().filter(|answer| {
            let act = taken.act(answer.ordinal);
            act.is_some_and(|(_, act)| act.is_task) && is_spawned(&answer.payload)
        });
        self.tasks_given += u32::try_from(began.count()).unwrap_or(u32::MAX);
        let is_same = self.last_said.as_deref() == Some(said.as_str());
        // An agent that only thinks has its turns for that.
        self.repeated = if is_same && !taken.is_note { self.repeated + 1 } else { 0 };
        self.last_said = Some(said);
        self.told_to_think |= taken.reasons.iter().any(|reason| reason.failure.slug == "thinking-missing");
        if let Some(thought) = taken.thoughts.last().filter(|thought| !thought.trim().is_empty()) {
            self.last_thought = Some(thought.trim().to_owned());
        }
    }

    /// The hash of the last link.
    pub(crate) fn last(&self) -> &str {
        self.segments.last().map_or(&self.base.hash, |segment| &segment.link.hash)
    }

    /// The links that a prompt stands on and that were not put down yet.
    pub(crate) fn unput(&self) -> impl Iterator<Item = &Link> {
        let all = std::iter::once(&self.base).chain(self.segments.iter().map(|segment| &segment.link));
        all.skip(self.put)
    }

    /// Every link was put down.
    pub(crate) fn was_put(&mut self) {
        self.put = self.segments.len() + 1;
    }

    /// Everything that was said, as a model is shown it.
    pub(crate) fn messages(&self) -> Vec<Message> {
        self.segments.iter().flat_map(|segment| segment.messages.iter().cloned()).collect()
    }

    /// An estimate of its tokens, the system prompt included.
    pub(crate) fn tokens(&self) -> u64 {
        let said: u64 = self.segments.iter().map(|segment| segment.tokens).sum();
        crate::tokens::of_message(&self.system) + said
    }
}

/// Whether an answer says that a child thread began.
fn is_spawned(answer: &Payload) -> bool {
    answer.name().is(systole_kit::namespaces::CORE, "thread-spawned")
}

/// Whether an answer is the core's word that the output of the turn was unusable, or that there was none.
fn is_own_failure(answer: &Payload) -> bool {
    let code = answer.attribute("code").unwrap_or_default();
    let is_own = code.starts_with("agent.") && failure(&code).is_some();
    let is_of_model = matches!(code.as_str(), "model.truncated" | "model.too-large");
    answer.name().is(systole_kit::namespaces::CORE, "system-error") && (is_own || is_of_model)
}
