//! The six questions that an auditor asks of evidence from a third party, and what a log answers to each.

use jiff::Timestamp;

use super::{CheckpointFinding, LogExamination, LogVerdict};
use systole_core::types::time::Millis;

/// How much an answer is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerStanding {
    /// Everybody with the same files finds the same.
    Recheckable,
    /// The system says so; nothing else shows it.
    Assertion,
    /// There is no answer.
    Nothing,
}

impl AnswerStanding {
    /// The standing in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            AnswerStanding::Recheckable => "independently re-checkable",
            AnswerStanding::Assertion => "supplier assertion",
            AnswerStanding::Nothing => "no information",
        }
    }
}

/// An answer to one of the questions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditAnswer {
    /// The question.
    pub question: &'static str,
    /// How much the answer is worth.
    pub standing: AnswerStanding,
    /// The answer.
    pub words: String,
}

impl LogExamination {
    /// The answers, in the order of the questions. Nothing is claimed of a log that is contradicted.
    pub fn answers(&self) -> Vec<AuditAnswer> {
        let is_contradicted = matches!(self.verdict(), LogVerdict::Contradicted { .. });
        let best = self.best().filter(|_| !is_contradicted);
        let answer = |question, (standing, words)| AuditAnswer { question, standing, words };
        vec![
            answer("Who could have written this?", self.who(best)),
            answer("When?", self.when(best)),
            answer("Under which configuration?", self.configuration()),
            answer("Is anything left out?", self.left_out(best)),
            answer("What happens when recording fails?", on_failure()),
            answer("Can it be verified without being able to forge it?", forgeable(best)),
        ]
    }

    fn who(&self, best: Option<&CheckpointFinding>) -> (AnswerStanding, String) {
        let after = |size: u64| match self.records.checked_sub(size) {
            Some(0) | None => String::new(),
            Some(rest) => format!(" The {rest} after them: anyone who can write the log."),
        };
        match best.map(|found| (found, found.known())) {
            Some((found, Some(known))) => {
                let (size, key) = (found.size, &known.log);
                let words = format!("The first {size} records: only who held the key {key} when it signed.");
                (AnswerStanding::Recheckable, words + &after(size))
            }
            Some((found, None)) => {
                let size = found.size;
                let words = format!(
                    "The first {size} records are those of the checkpoint {}; whose key signed it was not checked.",
                    found.place
                );
                (AnswerStanding::Assertion, words + &after(size))
            }
            None => {
                let words =
                    "Anyone who can write the log can write all of it anew: no checkpoint that counts fits.";
                (AnswerStanding::Nothing, words.to_owned())
            }
        }
    }

    fn when(&self, best: Option<&CheckpointFinding>) -> (AnswerStanding, String) {
        let cosigned = best.and_then(|found| Some((found.size, found.known()?.cosigned.first()?)));
        if let Some((size, first)) = cosigned {
            let at = i64::try_from(first.seconds).ok().and_then(|at| Timestamp::from_second(at).ok());
            let at = at.map_or_else(|| first.seconds.to_string(), |at| at.to_string());
            let words =
                format!("The first {size} records were there at {at}, says the witness {}.", first.witness);
            return (AnswerStanding::Recheckable, words);
        }
        match self.log.times {
            Some((first, last)) => {
                let words =
                    format!("The records say: from {} to {}. No witness confirms it.", utc(first), utc(last));
                (AnswerStanding::Assertion, words)
            }
            None => (AnswerStanding::Nothing, "The log has no records.".to_owned()),
        }
    }

    fn configuration(&self) -> (AnswerStanding, String) {
        let noun = if self.log.configs == 1 { "configuration" } else { "configurations" };
        let words = format!(
            "Each record names its configuration by its hash; the log has {} {noun}. Which program files ran is an \
             assertion.",
            self.log.configs
        );
        (AnswerStanding::Recheckable, words)
    }

    fn left_out(&self, best: Option<&CheckpointFinding>) -> (AnswerStanding, String) {
        let inside = format!("Up to #{}, no record of a thread is missing between two others.", self.records);
        match best {
            Some(found) => {
                let words = format!(
                    "{inside} The first {} are complete. Records that were cut off after them would not be noticed.",
                    found.size
                );
                (AnswerStanding::Recheckable, words)
            }
            None => {
                let words = format!(
                    "{inside} Records that were cut off at the end, and whole threads, would not be noticed."
                );
                (AnswerStanding::Nothing, words)
            }
        }
    }
}

fn on_failure() -> (AnswerStanding, String) {
    let words = "Nothing is delivered before its record is on disk. If that fails, the organism stops.";
    (AnswerStanding::Assertion, words.to_owned())
}

fn forgeable(best: Option<&CheckpointFinding>) -> (AnswerStanding, String) {
    match best.and_then(CheckpointFinding::known) {
        Some(_) => {
            let words = "Yes: verifying takes public keys, and they cannot sign.";
            (AnswerStanding::Recheckable, words.to_owned())
        }
        None => {
            let words =
                "Hashes need no secret, so anyone who verifies could also write another log that verifies.";
            (AnswerStanding::Nothing, words.to_owned())
        }
    }
}

fn utc(at: Millis) -> String {
    String::from_utf8_lossy(&at.text()).into_owned()
}
