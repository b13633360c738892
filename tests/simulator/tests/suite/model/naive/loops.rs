//! Calls that repeat themselves, in the naive pump: each open call remembers what it sent to whom and what it
//! was answered, and how many rounds in a row brought nothing new.

use super::{Call, Naive, Party, Shown};

/// How many different calls and answers a call remembers.
const MOST_REMEMBERED: usize = 16;

/// When calls that repeat themselves are told and refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loops {
    /// The how many-th of the same calls is told.
    pub(crate) told: u32,
    /// The how many-th is refused.
    pub(crate) refused: u32,
    /// How many rounds with one party may bring nothing new.
    pub(crate) rounds: u32,
}

/// What a call remembers of its own calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    /// To whom, what, and how often; the newest last.
    calls: Vec<(&'static str, String, u32)>,
    /// From whom, and what.
    answers: Vec<(&'static str, Shown)>,
    last: Option<Last>,
}

/// The last call that was made: to whom, whether it was new, and how many rounds in a row with that party
/// brought nothing new.
#[derive(Clone, Copy, Debug)]
struct Last {
    with: &'static str,
    is_new: bool,
    idle: u32,
}

impl Memory {
    fn times(&self, to: Party, what: &str) -> u32 {
        let same = self.calls.iter().find(|(party, sent, _)| *party == to.name && sent == what);
        same.map_or(0, |(.., times)| *times)
    }

    /// How many rounds in a row with a party brought nothing new.
    fn idle_rounds(&self, with: Party) -> u32 {
        self.last.filter(|last| last.with == with.name).map_or(0, |last| last.idle)
    }

    /// A call is made: how often it was, this time counted.
    fn sends(&mut self, to: Party, what: &str) -> u32 {
        let times = self.times(to, what) + 1;
        self.calls.retain(|(party, sent, _)| *party != to.name || sent != what);
        self.calls.push((to.name, what.to_owned(), times));
        let old = self.calls.len().saturating_sub(MOST_REMEMBERED);
        self.calls.drain(..old);
        let idle = if times == 1 { 0 } else { self.idle_rounds(to) };
        self.last = Some(Last { with: to.name, is_new: times == 1, idle });
        times
    }

    /// A call is answered, which ends a round.
    fn hears(&mut self, from: Party, shown: &Shown) {
        let is_known = self.answers.iter().any(|(party, heard)| *party == from.name && heard == shown);
        self.answers.retain(|(party, heard)| *party != from.name || heard != shown);
        self.answers.push((from.name, shown.clone()));
        let old = self.answers.len().saturating_sub(MOST_REMEMBERED);
        self.answers.drain(..old);
        if let Some(last) = self.last.as_mut().filter(|last| last.with == from.name) {
            last.idle = if last.is_new || !is_known { 0 } else { last.idle + 1 };
        }
    }
}

impl Naive {
    /// Why a call may not be made again.
    pub(super) fn turns_in_circles(
        &self,
        (thread, path): (&str, &str),
        to: Party,
        what: &str,
    ) -> Option<&'static str> {
        let loops = self.loops?;
        let memory = &self.call(thread, path)?.memory;
        match memory.times(to, what) {
            times if times + 1 >= loops.refused => Some("loop.repeated-call"),
            0 => None,
            _ => (memory.idle_rounds(to) >= loops.rounds).then_some("loop.ping-pong"),
        }
    }

    /// A call is made and paid: it is remembered, and its sender told if it was one too many.
    pub(super) fn remembers(&mut self, (thread, path): (&str, &str), to: Party, what: &str) {
        let told = self.loops.map(|loops| loops.told);
        let Some(call) = self.call_mut(thread, path) else { return };
        if Some(call.memory.sends(to, what)) == told {
            call.waiting.push((usize::MAX, "loop.repeated-call".to_owned()));
        }
    }
}

impl Call {
    /// What it asked of somebody is answered.
    pub(super) fn remembers_answer(&mut self, from: Party, shown: &Shown) {
        self.memory.hears(from, shown);
    }
}
