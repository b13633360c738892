//! What a call remembers of the calls it made, as far as it takes to see that it goes round in circles: how
//! often it made each of its last different calls, and how many rounds with one party brought nothing new.
//! Bounded, and without bodies: payloads are known by a hash.

use serde::{Deserialize, Serialize};

use crate::words::ids::Name;

/// Different calls, and different answers, that are remembered; the oldest gives way.
const REMEMBERED: usize = 16;

/// A payload with the party that it is for or from, as a number that is quick to make, since every hop
/// makes it: whoever takes the trouble to find two that are equal meets a loop that is none, in his own call.
type Mark = u64;

/// What one call remembers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Rounds {
    /// Calls made, with how often, the latest last.
    made: Vec<(Mark, u32)>,
    /// Answers heard, the latest last.
    heard: Vec<Mark>,
    /// The party of the last call.
    with: Option<Name>,
    /// Whether that call was a new one.
    is_new: bool,
    /// Rounds in a row with that party whose call and answer were both known.
    stale: u32,
}

fn mark(party: &Name, payload: &[u8]) -> Mark {
    // The odd number nearest to two to the sixty-fourth over the golden ratio: its product spreads every
    // bit upwards, and the shift brings the upper half down again.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let add = |mark: u64, word: u64| {
        let mark = (mark ^ word).wrapping_mul(SPREAD);
        mark ^ (mark >> 32)
    };
    let of = |mark: u64, bytes: &[u8]| {
        let words = bytes.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(word)
        });
        words.fold(add(mark, bytes.len() as u64), add)
    };
    of(of(SPREAD, party.as_str().as_bytes()), payload)
}

impl Rounds {
    /// How often this call was made.
    pub fn count(&self, to: &Name, payload: &[u8]) -> u32 {
        let wanted = mark(to, payload);
        self.made.iter().find(|(mark, _)| *mark == wanted).map_or(0, |(_, times)| *times)
    }

    /// How many rounds in a row with that party brought nothing new.
    pub fn stale(&self, with: &Name) -> u32 {
        if self.with.as_ref() == Some(with) { self.stale } else { 0 }
    }

    /// Takes note of a call.
    pub fn made(&mut self, to: &Name, payload: &[u8]) {
        let made = mark(to, payload);
        let known = self.made.iter().position(|(mark, _)| *mark == made).map(|at| self.made.remove(at));
        self.is_new = known.is_none();
        if self.is_new || self.with.as_ref() != Some(to) {
            self.stale = 0;
        }
        self.with = Some(to.clone());
        self.made.push((made, known.map_or(0, |(_, times)| times).saturating_add(1)));
        if self.made.len() > REMEMBERED {
            self.made.remove(0);
        }
    }

    /// Takes note of an answer.
    pub fn heard(&mut self, from: &Name, payload: &[u8]) {
        let heard = mark(from, payload);
        let known = self.heard.iter().position(|mark| *mark == heard).map(|at| self.heard.remove(at));
        if self.with.as_ref() == Some(from) {
            let is_stale = known.is_some() && !self.is_new;
            self.stale = if is_stale { self.stale.saturating_add(1) } else { 0 };
        }
        self.heard.push(heard);
        if self.heard.len() > REMEMBERED {
            self.heard.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b16_a_call_is_known_by_its_party_and_its_payload() {
        let (a, b) = (Name::parse("a").unwrap(), Name::parse("b").unwrap());
        let mut rounds = Rounds::default();
        for (to, payload) in [(&a, "x"), (&a, "y"), (&b, "x"), (&a, "x")] {
            rounds.made(to, payload.as_bytes());
        }
        assert_eq!((rounds.count(&a, b"x"), rounds.count(&a, b"y"), rounds.count(&b, b"x")), (2, 1, 1));
        assert_eq!(rounds.count(&b, b"y"), 0);
    }

    #[test]
    fn b16_a_round_is_stale_if_neither_its_call_nor_its_answer_is_new() {
        let (a, b) = (Name::parse("a").unwrap(), Name::parse("b").unwrap());
        let mut rounds = Rounds::default();
        let mut round = |call: &str, answer: &str| {
            rounds.made(&a, call.as_bytes());
            rounds.heard(&a, answer.as_bytes());
            rounds.stale(&a)
        };
        let seen = [("x", "1"), ("y", "1"), ("x", "1"), ("y", "1"), ("x", "2"), ("x", "2"), ("z", "1")];
        // A new call with a known answer begins a count of rounds anew, and is none of them itself.
        assert_eq!(seen.map(|(call, answer)| round(call, answer)), [0, 0, 1, 2, 0, 1, 0]);
        assert_eq!(rounds.stale(&b), 0);
    }

    #[test]
    fn what_is_remembered_stays_bounded() {
        let a = Name::parse("a").unwrap();
        let mut rounds = Rounds::default();
        for n in 0..1000u32 {
            rounds.made(&a, &n.to_be_bytes());
            rounds.heard(&a, &n.to_be_bytes());
        }
        assert_eq!((rounds.made.len(), rounds.heard.len()), (16, 16), "as the reference says");
        let count = |n: u32| rounds.count(&a, &n.to_be_bytes());
        assert_eq!((count(983), count(984), count(999)), (0, 1, 1), "the oldest gave way");
    }
}
