//! Calls that repeat themselves, in the naive pump: each open call remembers what it sent to which party and
//! what it got back, and which of its turns brought something new.

use super::{Call, Naive, Party, Shown};

/// How many different calls and answers a call remembers.
const MOST_REMEMBERED: usize = 16;

/// When repeated calls are reported and refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loops {
    /// The number of equal calls from which on they are reported.
    pub(crate) told: u32,
    /// The number of equal calls from which on they are refused.
    pub(crate) refused: u32,
    /// How many rounds with one party may bring nothing new.
    pub(crate) rounds: u32,
}

/// What a call remembers of its own calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    /// The receiver, the payload, and how often; the newest last.
    calls: Vec<(&'static str, String, u32)>,
    /// The sender, and the answer.
    answers: Vec<(&'static str, Shown)>,
    /// Every turn that made a call, the newest last.
    rounds: Vec<Round>,
}

/// A turn that made calls: the receivers, and whether the call or the answer was new.
#[derive(Clone, Debug)]
struct Round {
    turn: u32,
    with: Vec<&'static str>,
    is_new: bool,
}

impl Memory {
    fn times(&self, to: Party, what: &str) -> u32 {
        let same = self.calls.iter().find(|(party, sent, _)| *party == to.name && sent == what);
        same.map_or(0, |(.., times)| *times)
    }

    /// How many turns called a party since the last new call or answer, without that turn if it has none.
    fn idle_rounds(&self, turn: u32, with: Party) -> u32 {
        let since = self.rounds.iter().rev().take_while(|round| !round.is_new);
        let counts = since.filter(|round| round.turn != turn && round.with.contains(&with.name));
        u32::try_from(counts.count()).unwrap_or(u32::MAX)
    }

    /// A call is made: how often so far, including this time.
    fn sends(&mut self, turn: u32, to: Party, what: &str) -> u32 {
        let times = self.times(to, what) + 1;
        self.calls.retain(|(party, sent, _)| *party != to.name || sent != what);
        self.calls.push((to.name, what.to_owned(), times));
        let old = self.calls.len().saturating_sub(MOST_REMEMBERED);
        self.calls.drain(..old);
        if self.rounds.last().is_none_or(|round| round.turn != turn) {
            self.rounds.push(Round { turn, with: Vec::new(), is_new: false });
        }
        if let Some(round) = self.rounds.last_mut() {
            round.with.push(to.name);
            round.is_new |= times == 1;
        }
        times
    }

    /// A call is answered, which ends a round.
    fn hears(&mut self, from: Party, shown: &Shown) {
        let is_known = self.answers.iter().any(|(party, heard)| *party == from.name && heard == shown);
        self.answers.retain(|(party, heard)| *party != from.name || heard != shown);
        self.answers.push((from.name, shown.clone()));
        let old = self.answers.len().saturating_sub(MOST_REMEMBERED);
        self.answers.drain(..old);
        if let Some(round) = self.rounds.last_mut() {
            round.is_new |= !is_known;
        }
    }
}

impl Naive {
    /// Why a call may not be made again.
    pub(super) fn turns_in_circles(
        &self,
        (thread, path, turn): (&str, &str, u32),
        to: Party,
        what: &str,
    ) -> Option<&'static str> {
        let loops = self.loops?;
        let memory = &self.call(thread, path)?.memory;
        match memory.times(to, what) {
            times if times + 1 >= loops.refused => Some("loop.repeated-call"),
            0 => None,
            _ => (memory.idle_rounds(turn, to) >= loops.rounds).then_some("loop.ping-pong"),
        }
    }

    /// A call is made and paid: it is remembered, and its sender is warned if it was one too many.
    pub(super) fn remembers(&mut self, (thread, path, turn): (&str, &str, u32), to: Party, what: &str) {
        let told = self.loops.map(|loops| loops.told);
        let Some(call) = self.call_mut(thread, path) else { return };
        if Some(call.memory.sends(turn, to, what)) == told {
            call.waiting.push((usize::MAX, "loop.repeated-call".to_owned()));
        }
    }
}

impl Call {
    /// A party answers its request.
    pub(super) fn remembers_answer(&mut self, from: Party, shown: &Shown) {
        self.memory.hears(from, shown);
    }
}
