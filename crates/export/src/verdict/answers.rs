//! The six questions that an auditor asks of evidence from a third party, and what a log answers to each.

use jiff::Timestamp;

use super::{CheckpointFinding, CheckpointKeeper, LogExamination, LogVerdict};
use systole_core::types::time::Millis;

/// How much an answer is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerStanding {
    /// Everybody with the same files finds the same.
    Recheckable,
    /// The supplier says so, or only its own key shows it.
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
    /// Whether the files of programs belong to it.
    pub has_files: bool,
}

impl LogExamination {
    /// The answers, in the order of the questions. Nothing is claimed of a log that is contradicted.
    pub fn answers(&self) -> Vec<AuditAnswer> {
        let answer =
            |question, (standing, words)| AuditAnswer { question, standing, words, has_files: false };
        let shown = match self.verdict() {
            LogVerdict::Contradicted { .. } => None,
            _ => Some(self.best_checkpoint()),
        };
        let of = |words: &dyn Fn(Option<&CheckpointFinding>) -> (AnswerStanding, String)| {
            shown.map_or_else(|| (AnswerStanding::Nothing, CONTRADICTED.to_owned()), words)
        };
        vec![
            answer("Who could have written this?", of(&|best| self.answer_who(best))),
            answer("When?", of(&|best| self.answer_when(best))),
            AuditAnswer {
                has_files: true,
                ..answer("Under which configuration?", of(&|best| self.answer_configuration(best)))
            },
            answer("Is anything left out?", of(&|best| self.left_out(best))),
            answer("What happens when recording fails?", describe_failure()),
            answer("Can it be verified without being able to forge it?", of(&describe_forgeable)),
        ]
    }

    fn answer_who(&self, best: Option<&CheckpointFinding>) -> (AnswerStanding, String) {
        let Some(found) = best else {
            let words = "Anyone who can write the log, at any time: no checkpoint that counts fits.";
            return (AnswerStanding::Nothing, words.to_owned());
        };
        let size = found.size;
        let rest = match self.records.saturating_sub(size) {
            0 => String::new(),
            rest => format!(" The {rest} after them: anyone who can write the log."),
        };
        let Some(known) = found.policy_verdict() else {
            let words = format!(
                "The first {size} records are those of {}, which you kept; whose key signed it was not checked.",
                found.place
            );
            return (AnswerStanding::Assertion, words + &rest);
        };
        let signed = format!(
            "Since {} signed, no one without that key can have changed the first {size} records.",
            known.log
        );
        let owner = match known.cosigned.first() {
            Some(first) => format!("Since the witness {} cosigned, its holder cannot either.", first.witness),
            None if found.keeper == CheckpointKeeper::Reader => {
                format!("You kept {}, so its holder cannot either.", found.place)
            }
            None => {
                let words = "Its holder can have written all of them anew: no witness cosigned, and you gave no \
                             checkpoint that you kept.";
                let answer = match found.is_unproven_answer() {
                    true => format!(
                        " {} answered with this checkpoint, but no cosignature proves that the answer is the \
                         witness's own.",
                        found.place
                    ),
                    false => String::new(),
                };
                return (AnswerStanding::Assertion, format!("{signed} {words}{answer}{rest}"));
            }
        };
        let words = format!("{signed} {owner} Before that, anyone who could write the log.{rest}");
        (AnswerStanding::Recheckable, words)
    }

    fn answer_when(&self, best: Option<&CheckpointFinding>) -> (AnswerStanding, String) {
        let cosigned = best.and_then(|found| Some((found.size, found.policy_verdict()?.cosigned.first()?)));
        if let Some((size, first)) = cosigned {
            let at = i64::try_from(first.seconds).ok().and_then(|at| Timestamp::from_second(at).ok());
            let at = at.map_or_else(|| first.seconds.to_string(), |at| at.to_string());
            let words =
                format!("The first {size} records were there at {at}, says the witness {}.", first.witness);
            return (AnswerStanding::Recheckable, words);
        }
        match self.log.times {
            Some((first, last)) => {
                let words = format!(
                    "The records say: from {} to {}. No witness confirms it.",
                    format_utc(first),
                    format_utc(last)
                );
                (AnswerStanding::Assertion, words)
            }
            None => (AnswerStanding::Nothing, "The log has no records.".to_owned()),
        }
    }

    fn answer_configuration(&self, best: Option<&CheckpointFinding>) -> (AnswerStanding, String) {
        let all = match self.log.configs {
            1 => "the one".to_owned(),
            many => format!("all {many}"),
        };
        let files = match self.log.files.len() {
            0 => "Which program files ran is not recorded.",
            _ => FILES,
        };
        let words =
            format!("Each record names its configuration by its hash, and the log has {all}. {files}");
        (find_standing(best), words)
    }

    fn left_out(&self, best: Option<&CheckpointFinding>) -> (AnswerStanding, String) {
        let inside = "No record of a thread is missing between two others, and no child of a parent.";
        let words = match best {
            Some(found) => format!(
                "{inside} None of the first {} was taken away since the checkpoint. What was left out before, or \
                 comes after them, would not be noticed.",
                found.size
            ),
            None => format!(
                "{inside} Records that were cut off at the end, and whole threads, would not be noticed."
            ),
        };
        (find_standing(best), words)
    }
}

/// What the record of a start says about files.
const FILES: &str = "Which program files ran is a supplier assertion: the hashes that were recorded at each start \
                     follow. Imports, and interpreters that `run` does not name, are not covered.";

/// The words of every answer that a contradicted log cannot give.
const CONTRADICTED: &str = "What was kept elsewhere contradicts the log, so it shows nothing.";

/// What an answer is worth that holds only since a checkpoint.
fn find_standing(best: Option<&CheckpointFinding>) -> AnswerStanding {
    match best {
        Some(found) if found.is_confirmed() => AnswerStanding::Recheckable,
        Some(_) => AnswerStanding::Assertion,
        None => AnswerStanding::Nothing,
    }
}

fn describe_failure() -> (AnswerStanding, String) {
    let words = "Nothing is delivered before its record is on disk. If that fails, the organism stops.";
    (AnswerStanding::Assertion, words.to_owned())
}

fn describe_forgeable(best: Option<&CheckpointFinding>) -> (AnswerStanding, String) {
    match best.and_then(CheckpointFinding::policy_verdict) {
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

fn format_utc(at: Millis) -> String {
    String::from_utf8_lossy(&at.to_text()).into_owned()
}
