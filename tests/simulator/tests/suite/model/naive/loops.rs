//! Calls that repeat themselves, in the naive pump: each open call remembers what it sent to whom and what it
//! was answered, and how many rounds in a row brought nothing new.

use super::{Call, Naive, Party, Shown};

/// How many different calls and answers a call remembers.
const MOST_REMEMBERED: usize = 16;

/// When calls that repeat themselves are told and refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loops {
    /// The how many-th of the same calls is told.
    pub(crate) told: usize,
    /// The how many-th is refused.
    pub(crate) refused: usize,
    /// How many rounds with one party may bring nothing new.
    pub(crate) rounds: usize,
}

/// What a call remembers of its own calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    /// To whom, what, and how often; the newest last.
    calls: Vec<(&'static str, String, usize)>,
    /// From whom, and what.
    answers: Vec<(&'static str, Shown)>,
    /// With whom, and how many rounds since the last that brought something new.
    rounds: Vec<(&'static str, usize)>,
}

impl Memory {
    fn times(&self, to: Party, what: &str) -> usize {
        let same = self.calls.iter().find(|(party, sent, _)| *party == to.name && sent == what);
        same.map_or(0, |(.., times)| *times)
    }

    fn idle_rounds(&mut self, with: &'static str) -> &mut usize {
        let known = self.rounds.iter().position(|(party, _)| *party == with);
        let place = known.unwrap_or_else(|| {
            self.rounds.push((with, 0));
            self.rounds.len() - 1
        });
        &mut self.rounds[place].1
    }

    /// A call is made: how often it was, this time counted.
    fn sends(&mut self, to: Party, what: &str) -> usize {
        let times = self.times(to, what) + 1;
        self.calls.retain(|(party, sent, _)| *party != to.name || sent != what);
        self.calls.push((to.name, what.to_owned(), times));
        let old = self.calls.len().saturating_sub(MOST_REMEMBERED);
        self.calls.drain(..old);
        times
    }

    /// A call is answered, which ends a round.
    fn hears(&mut self, from: Party, shown: &Shown, was_new: bool) {
        let is_known = self.answers.iter().any(|(party, heard)| *party == from.name && heard == shown);
        self.answers.retain(|(party, heard)| *party != from.name || heard != shown);
        self.answers.push((from.name, shown.clone()));
        let old = self.answers.len().saturating_sub(MOST_REMEMBERED);
        self.answers.drain(..old);
        let rounds = self.idle_rounds(from.name);
        *rounds = if was_new || !is_known { 0 } else { *rounds + 1 };
    }
}

impl Naive {
    /// Why a call may not be made again.
    pub(super) fn turns_in_circles(
        &mut self,
        (thread, path): (&str, &str),
        to: Party,
        what: &str,
    ) -> Option<&'static str> {
        let loops = self.loops?;
        let memory = &mut self.call_mut(thread, path)?.memory;
        match memory.times(to, what) {
            times if times + 1 >= loops.refused => Some("loop.repeated-call"),
            0 => None,
            _ => (*memory.idle_rounds(to.name) >= loops.rounds).then_some("loop.ping-pong"),
        }
    }

    /// A call is made: whether it is new.
    pub(super) fn remembers(&mut self, (thread, path): (&str, &str), to: Party, what: &str) -> bool {
        self.call_mut(thread, path).is_none_or(|call| call.memory.sends(to, what) == 1)
    }

    /// A call was made and paid, and its sender is told if it was one too many.
    pub(super) fn tells_of_circles(&mut self, (thread, path): (&str, &str), to: Party, what: &str) {
        let Some(told) = self.loops.map(|loops| loops.told) else { return };
        let call = self.call_mut(thread, path).filter(|call| call.memory.times(to, what) == told);
        call.into_iter().for_each(|call| call.waiting.push((usize::MAX, "loop.repeated-call".to_owned())));
    }
}

impl Call {
    /// What it asked of somebody is answered.
    pub(super) fn remembers_answer(&mut self, from: Party, shown: &Shown, was_new: bool) {
        self.memory.hears(from, shown, was_new);
    }
}
