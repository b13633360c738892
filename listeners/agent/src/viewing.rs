//! The view of a call, as what happened in it: turn by turn, with what the model said in each.
//!
//! Answers of the pump come in, events go out. It leaves nothing out and adds nothing: what was cleared is not in the view.

use systole_kit::answers::Answers;
use systole_kit::ask::{Shown, Spot};
use systole_kit::line::{Line, NotTaken};
use systole_kit::{Payload, namespaces};

use crate::heard::Heard;
use crate::memory::{Answered, Happened, Turn};
use crate::show::Mark;
use crate::turn;

/// A view that was read.
pub(crate) struct Viewed {
    pub(crate) mark: Mark,
    /// The day on which the thread began.
    pub(crate) began: String,
    pub(crate) happened: Vec<Happened>,
}

/// Reads the view of the call.
pub(crate) async fn view(line: &(dyn Line + '_)) -> Result<Viewed, NotTaken> {
    let viewed = line.view_with_words(0).await?;
    let mut events = Events::default();
    for shown in viewed.shown {
        events.take(shown);
    }
    Ok(Viewed { mark: Mark(viewed.mark), began: viewed.began, happened: events.finish() })
}

#[derive(Default)]
struct Events {
    all: Vec<Happened>,
    /// The turn that is being read, with its number.
    open: Option<(u32, Turn)>,
}

impl Events {
    fn take(&mut self, shown: Shown) {
        match shown {
            Shown::Words(words) => {
                let turn = self.turn(words.turn);
                // What a request came to that failed is no answer.
                if !words.stop.starts_with(turn::FAULT) {
                    turn.heard = Some(Heard::read(&words.stop, &words.text));
                }
            }
            Shown::Message(message) => match message.spot {
                Spot::Request => {
                    self.close();
                    self.all.push(Happened::Request { from: message.from, payload: message.payload });
                }
                // It was made of the words of the turn, and is told by its answer.
                Spot::Said { turn, .. } => drop(self.turn(turn)),
                Spot::Answer { turn, ordinal } => {
                    let (payload, number) = (message.payload, Some(message.seq));
                    self.turn(turn).answers.push(Answered { ordinal, payload, number });
                }
                Spot::Inbox { turn } => self.turn(turn.saturating_sub(1)).inbox.push(message.payload),
            },
        }
    }

    /// The turn of that number, which begins if another one was being read.
    fn turn(&mut self, number: u32) -> &mut Turn {
        if self.open.as_ref().is_none_or(|(open, _)| *open != number) {
            self.close();
        }
        &mut self.open.get_or_insert_with(|| (number, Turn::default())).1
    }

    fn close(&mut self) {
        self.all.extend(self.open.take().map(|(_, turn)| Happened::Turn(turn)));
    }

    fn finish(mut self) -> Vec<Happened> {
        self.close();
        self.all
    }
}

/// What a delivery says of the turn before it.
pub(crate) fn turn_of(answers: Answers) -> Turn {
    let items = answers.items.into_iter();
    Turn {
        heard: None,
        answers: items
            .filter_map(|item| Some(Answered { ordinal: item.ordinal, payload: item.payload?, number: None }))
            .collect(),
        inbox: answers.inbox,
    }
}

/// Whether the view has to be read again: it was cleared in the turn before, or an answer is so long that it is shown in
/// part, with its number in the view.
pub(crate) fn is_wanted(answers: &Answers, longest: usize) -> bool {
    let cleared = |payload: &Payload| payload.name().is(namespaces::CORE, "context-cleared");
    let long = |payload: &Payload| payload.bytes().len() > longest;
    answers
        .items
        .iter()
        .filter_map(|item| item.payload.as_ref())
        .any(|payload| cleared(payload) || long(payload))
}
