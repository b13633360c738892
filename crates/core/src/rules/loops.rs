//! Detects calls that go round in circles. For each call it counts how often the call made each of its latest
//! different calls, and how many turns that called a party brought nothing new. The memory is bounded and stores no
//! bodies, only hashes of payloads.

use serde::{Deserialize, Serialize};

use crate::types::ids::Name;
use crate::types::limits;

/// A hash of a payload and its party. It is fast, because every hop computes it, and not collision-proof: a listener
/// that constructs a collision only triggers loop detection in its own call.
type PayloadMark = u64;

/// The memory of one call.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LoopMemory {
    /// Calls made, with their counts, latest last.
    made: Vec<(PayloadMark, u32)>,
    /// Answers received, latest last.
    heard: Vec<PayloadMark>,
    /// The turn of the latest calls.
    turn: u32,
    /// Whether that turn brought a new call or a new answer, with any party.
    is_new: bool,
    /// The parties that this turn called, each once.
    called: Vec<Name>,
    /// For each party: how many turns in a row called it while nothing new came from any party.
    stale: Vec<(Name, u32)>,
}

fn mark_payload(party: &Name, payload: &[u8]) -> PayloadMark {
    // The odd number nearest to 2^64 divided by the golden ratio. The multiplication spreads every bit upwards, and
    // the shift brings the upper half down again.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let add = |mark: u64, word: u64| {
        let mark = (mark ^ word).wrapping_mul(SPREAD);
        mark ^ (mark >> 32)
    };
    let of = |mark: u64, bytes: &[u8]| {
        let (words, rest) = bytes.as_chunks::<8>();
        let whole = words
            .iter()
            .fold(add(mark, bytes.len() as u64), |mark, word| add(mark, u64::from_le_bytes(*word)));
        let last = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        if rest.is_empty() { whole } else { add(whole, last) }
    };
    of(of(SPREAD, party.as_str().as_bytes()), payload)
}

impl LoopMemory {
    /// How often this call was made.
    pub fn count_calls(&self, to: &Name, payload: &[u8]) -> u32 {
        let wanted = mark_payload(to, payload);
        self.made.iter().find(|(mark, _)| *mark == wanted).map_or(0, |(_, times)| *times)
    }

    /// How many turns in a row before `turn` called this party while nothing new came from any party. 0 if `turn`
    /// itself has made a new call.
    pub fn count_stale(&self, turn: u32, with: &Name) -> u32 {
        let before = self.stale.iter().find(|(party, _)| party == with).map_or(0, |(_, turns)| *turns);
        match (self.turn == turn, self.is_new) {
            (_, true) => 0,
            (true, false) => before,
            (false, false) => before.saturating_add(u32::from(self.called.contains(with))),
        }
    }

    /// Records a call in this turn.
    pub fn note_call(&mut self, turn: u32, to: &Name, payload: &[u8]) {
        if self.turn != turn {
            self.turn_over();
            self.turn = turn;
        }
        let made = mark_payload(to, payload);
        let known = self.made.iter().position(|(mark, _)| *mark == made).map(|at| self.made.remove(at));
        self.is_new |= known.is_none();
        if !self.called.contains(to) {
            keep_latest(&mut self.called, to.clone());
        }
        keep_latest(&mut self.made, (made, known.map_or(0, |(_, times)| times).saturating_add(1)));
    }

    /// Records an answer. The answers to one turn come before the calls of the next.
    pub fn note_answer(&mut self, from: &Name, payload: &[u8]) {
        let heard = mark_payload(from, payload);
        let known = self.heard.iter().position(|mark| *mark == heard).map(|at| self.heard.remove(at));
        self.is_new |= known.is_none();
        keep_latest(&mut self.heard, heard);
    }

    /// Counts the previous turn, which has all its answers.
    fn turn_over(&mut self) {
        if std::mem::take(&mut self.is_new) {
            self.stale.clear();
            self.called.clear();
        }
        for party in std::mem::take(&mut self.called) {
            let known = self.stale.iter().position(|(other, _)| *other == party);
            let turns = known.map_or(0, |at| self.stale.remove(at).1);
            keep_latest(&mut self.stale, (party, turns.saturating_add(1)));
        }
    }
}

/// Appends the latest and drops the oldest.
fn keep_latest<T>(all: &mut Vec<T>, latest: T) {
    all.push(latest);
    if all.len() > limits::LOOP_ENTRIES {
        all.remove(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b16_a_call_is_known_by_its_party_and_its_payload() {
        let (a, b) = (Name::parse("a").unwrap(), Name::parse("b").unwrap());
        let mut rounds = LoopMemory::default();
        for (to, payload) in [(&a, "x"), (&a, "y"), (&b, "x"), (&a, "x")] {
            rounds.note_call(1, to, payload.as_bytes());
        }
        assert_eq!(
            (rounds.count_calls(&a, b"x"), rounds.count_calls(&a, b"y"), rounds.count_calls(&b, b"x")),
            (2, 1, 1)
        );
        assert_eq!(rounds.count_calls(&b, b"y"), 0);
    }

    #[test]
    fn a_mark_stays_what_stored_rows_have() {
        let tool = Name::parse("tool").unwrap();
        let marks =
            ["", "x", "eight by", "thirteen byte"].map(|payload| mark_payload(&tool, payload.as_bytes()));
        let stored =
            [0xcc63_2795_0c8a_2215, 0x4f50_f74e_77d2_d204, 0x4342_ff2c_81da_aab0, 0x92f7_da06_ab57_1b19];
        assert_eq!(marks, stored);
    }

    /// Runs turns, each with its calls and then their answers, and returns the stale count of the party after each.
    fn stale_after(turns: &[&[(&str, &str, &str)]], with: &str) -> Vec<u32> {
        let party = |name: &str| Name::parse(name).unwrap();
        let mut rounds = LoopMemory::default();
        let turn = |(number, calls): (u32, &&[(&str, &str, &str)])| {
            calls.iter().for_each(|(to, call, _)| rounds.note_call(number, &party(to), call.as_bytes()));
            calls.iter().for_each(|(to, _, answer)| rounds.note_answer(&party(to), answer.as_bytes()));
            rounds.count_stale(number + 1, &party(with))
        };
        (1..).zip(turns).map(turn).collect()
    }

    #[test]
    fn b16_a_turn_is_stale_if_neither_a_call_nor_an_answer_of_it_is_new() {
        let a = |call, answer| [("a", call, answer)];
        let turns =
            [a("x", "1"), a("y", "1"), a("x", "1"), a("y", "1"), a("x", "2"), a("x", "2"), a("z", "1")];
        let turns: Vec<&[_]> = turns.iter().map(|turn| &turn[..]).collect();
        // A new call with a known answer resets the count and does not count itself.
        assert_eq!(stale_after(&turns, "a"), [0, 0, 1, 2, 0, 1, 0]);
        assert_eq!(stale_after(&turns, "b"), [0; 7]);
    }

    #[test]
    fn e7_a_turn_of_several_calls_is_stale_as_a_whole_or_not_at_all() {
        let known: &[_] = &[("a", "x", "1"), ("b", "x", "1")];
        let new_call: &[_] = &[("a", "new", "1"), ("b", "x", "1")];
        let new_answer: &[_] = &[("a", "x", "1"), ("b", "x", "new")];
        let one: &[_] = &[("b", "x", "1")];
        let turns = [known, known, known, one, new_call, known, new_answer, known, one, known];
        assert_eq!(stale_after(&turns, "a"), [0, 1, 2, 2, 0, 1, 0, 1, 1, 2]);
        assert_eq!(stale_after(&turns, "b"), [0, 1, 2, 3, 0, 1, 0, 1, 2, 3]);
    }

    #[test]
    fn e7_a_turn_under_way_is_judged_by_those_before_it_until_it_brings_something_new() {
        let (a, b) = (Name::parse("a").unwrap(), Name::parse("b").unwrap());
        let mut rounds = LoopMemory::default();
        for turn in 1..=3 {
            rounds.note_call(turn, &a, b"x");
            rounds.note_answer(&a, b"1");
        }
        assert_eq!((rounds.count_stale(4, &a), rounds.count_stale(4, &b)), (2, 0));
        rounds.note_call(4, &a, b"x");
        assert_eq!(rounds.count_stale(4, &a), 2, "its answer is not known yet");
        rounds.note_call(4, &b, b"y");
        assert_eq!(rounds.count_stale(4, &a), 0);
    }

    #[test]
    fn what_is_remembered_stays_bounded() {
        let a = Name::parse("a").unwrap();
        let mut rounds = LoopMemory::default();
        for n in 0..1000u32 {
            rounds.note_call(n, &a, &n.to_be_bytes());
            rounds.note_answer(&a, &n.to_be_bytes());
        }
        assert_eq!((rounds.made.len(), rounds.heard.len()), (16, 16), "as the reference says");
        let count = |n: u32| rounds.count_calls(&a, &n.to_be_bytes());
        assert_eq!((count(983), count(984), count(999)), (0, 1, 1), "the oldest gave way");
        for n in 0..1000u32 {
            let party = Name::parse(&format!("p{n}")).unwrap();
            // Without new calls, as far as this turn can tell.
            rounds.note_call(1000 + n / 40, &party, b"x");
            rounds.is_new = false;
        }
        assert_eq!((rounds.called.len(), rounds.stale.len()), (16, 16), "and so do parties");
    }
}
