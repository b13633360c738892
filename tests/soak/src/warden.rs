//! The warden: pauses threads of others, or everything, for a moment, and resumes them; now and then it
//! ends one. It resumes everything that it paused before it leaves.

use std::sync::Arc;
use std::time::Duration;

use super::board::NoticeBoard;
use super::client::ClientTally;
use super::dice::SeededDice;
use super::doorstep::Doorstep;
use super::guests;
use super::house::RunFolder;
use super::orders::{DoneOrder, OrderAction};

/// The longest time between two of its rounds, in milliseconds.
const ROUND_MS: u64 = 250;
/// The longest pause of a thread, in milliseconds: longer than many lives.
const HALT_MS: u64 = 400;
/// The longest pause of everything, in milliseconds.
const HALT_ALL_MS: u64 = 120;

/// The warden.
pub(crate) struct Warden {
    board: Arc<NoticeBoard>,
    dice: SeededDice,
    doorstep: Doorstep,
    orders: Vec<DoneOrder>,
}

impl Warden {
    pub(crate) fn new(house: &RunFolder, board: Arc<NoticeBoard>, dice: SeededDice) -> Warden {
        let doorstep = Doorstep::new(house, guests::WES, board.clone());
        Warden { board, dice, doorstep, orders: Vec::new() }
    }

    /// Makes its rounds while messages are sent.
    pub(crate) fn work(mut self) -> ClientTally {
        while self.board.wants_messages() {
            let pause = Duration::from_millis(self.dice.below(ROUND_MS));
            self.board.pause(pause);
            match self.dice.below(100) {
                0..20 => self.halt(None),
                20..80 => {
                    let thread = self.board.thread_of_another(guests::WES.name, &mut self.dice);
                    if thread.is_some() {
                        self.halt(thread.as_deref());
                    }
                }
                what => self.end_one(what < 92),
            }
        }
        ClientTally { orders: self.orders, ..ClientTally::default() }
    }

    /// Pauses a thread or everything for a moment.
    fn halt(&mut self, thread: Option<&str>) {
        let Some((_, door)) = self.doorstep.at(None) else { return };
        // Whether or not the order arrived, it is undone below.
        let _heard = door.pause_or_resume(thread, true, Some("a look around"));
        let most_ms = if thread.is_some() { HALT_MS } else { HALT_ALL_MS };
        let moment = Duration::from_millis(self.dice.below(most_ms));
        self.board.pause(moment);
        let mut seen = None;
        while let Some((life, door)) = self.doorstep.at(seen) {
            match door.pause_or_resume(thread, false, None) {
                Ok(Ok(_)) => return,
                // A thread that is over need not be resumed.
                Ok(Err(refusal)) if refusal.code.starts_with("thread.") => return,
                _ => seen = Some(life),
            }
        }
    }

    /// Ends a thread of another client, at rest or at work.
    fn end_one(&mut self, at_rest: bool) {
        let thread = self.board.thread_of_another(guests::WES.name, &mut self.dice);
        let (Some(thread), Some((_, door))) = (thread, self.doorstep.at(None)) else { return };
        let (done, deed) = match at_rest {
            true => (door.end_thread(&thread).is_ok_and(|said| said.is_ok()), OrderAction::Ended),
            false => {
                (door.cancel_thread(&thread, None).is_ok_and(|said| said.is_ok()), OrderAction::Cancelled)
            }
        };
        if done {
            self.orders.push(DoneOrder { on: thread, deed });
        }
    }
}
