//! The view of a call as events: turn by turn, with the model's answer in each. For an agent that sees its thread, it
//! includes messages between others.
//!
//! Answers of the pump come in; events go out. It omits nothing and adds nothing: cleared messages are not in the
//! view.

use systole_kit::answers::Answers;
use systole_kit::ask::{MessageSpot, ViewEntry, ViewedMessage};
use systole_kit::line::{Line, NotTaken};
use systole_kit::{Payload, namespaces};

use crate::memory::{AnsweredItem, CallEvent, OverheardMessage, PastTurn};
use crate::model_answer::HeardAnswer;
use crate::show::TextMark;

/// A view as read.
pub(crate) struct ReadView {
    pub(crate) mark: TextMark,
    /// The day on which the thread began.
    pub(crate) began: String,
    pub(crate) happened: Vec<CallEvent>,
    /// The number of messages in the whole view.
    pub(crate) count: u64,
}

/// Reads the view of the call from the given message on.
pub(crate) async fn read_view(line: &(dyn Line + '_), from: u64) -> Result<ReadView, NotTaken> {
    let viewed = line.view_with_words(from).await?;
    let mut events = ViewCollector::default();
    for shown in viewed.shown {
        events.take_entry(shown);
    }
    let (mark, began, count) = (TextMark(viewed.mark), viewed.began, viewed.count);
    Ok(ReadView { mark, began, happened: events.finish(), count })
}

#[derive(Default)]
struct ViewCollector {
    all: Vec<CallEvent>,
    /// The turn that is being read, with its number.
    open: Option<(u32, PastTurn)>,
}

impl ViewCollector {
    fn take_entry(&mut self, shown: ViewEntry) {
        match shown {
            ViewEntry::Words(words) => {
                let heard = HeardAnswer::from_text(&words.stop, &words.text);
                self.enter_turn(words.turn).heard = heard.map(|heard| heard.with_tokens_in(words.tokens_in));
            }
            ViewEntry::Message(message) => match message.spot {
                MessageSpot::Request => {
                    self.close_turn();
                    let (from, payload) = (message.from, message.payload);
                    self.all.push(CallEvent::Request { from, payload, files: Vec::new() });
                }
                // It was made from the words of the turn, and the turn's answer reports it.
                MessageSpot::Said { turn, .. } => drop(self.enter_turn(turn)),
                MessageSpot::Answer { turn, ordinal } => {
                    let (payload, number) = (message.payload, Some(message.seq));
                    let files = Vec::new();
                    self.enter_turn(turn).answers.push(AnsweredItem { ordinal, payload, number, files });
                }
                MessageSpot::Inbox { turn } => {
                    self.enter_turn(turn.saturating_sub(1)).inbox.push(message.payload)
                }
                MessageSpot::Thread { turn } => {
                    let ViewedMessage { from, to, payload, seq, .. } = message;
                    let overheard =
                        OverheardMessage { from, to: to.unwrap_or_default(), payload, number: seq };
                    match turn {
                        Some(turn) => self.enter_turn(turn).inside.push(overheard),
                        None => {
                            self.close_turn();
                            self.all.push(CallEvent::Overheard(overheard));
                        }
                    }
                }
            },
        }
    }

    /// The turn with that number. Begins it if another one was being read.
    fn enter_turn(&mut self, number: u32) -> &mut PastTurn {
        if self.open.as_ref().is_none_or(|(open, _)| *open != number) {
            self.close_turn();
        }
        &mut self.open.get_or_insert_with(|| (number, PastTurn::default())).1
    }

    fn close_turn(&mut self) {
        self.all.extend(self.open.take().map(|(_, turn)| CallEvent::Turn(turn)));
    }

    fn finish(mut self) -> Vec<CallEvent> {
        self.close_turn();
        self.all
    }
}

/// The turn before a delivery, from the delivery's answers.
pub(crate) fn turn_of(answers: Answers) -> PastTurn {
    let items = answers.items.into_iter();
    PastTurn {
        heard: None,
        inside: Vec::new(),
        answers: items
            .filter_map(|item| {
                let (ordinal, payload) = (item.ordinal, item.payload?);
                Some(AnsweredItem { ordinal, payload, number: None, files: Vec::new() })
            })
            .collect(),
        inbox: answers.inbox,
    }
}

/// Whether the view has to be read again: it was cleared in the turn before, or an answer is so long that only a part
/// is shown, with its number in the view.
pub(crate) fn is_wanted(answers: &Answers, longest: usize) -> bool {
    let cleared = |payload: &Payload| payload.name().is_named(namespaces::CORE, "context-cleared");
    let long = |payload: &Payload| payload.bytes().len() > longest;
    answers
        .items
        .iter()
        .filter_map(|item| item.payload.as_ref())
        .any(|payload| cleared(payload) || long(payload))
}
