//! Why a question has no answer.

use systole_core::types::ids::ThreadId;
use systole_core::types::ports::LogFault;
use systole_core::types::refusal::Refusal;
use systole_core::types::time::Millis;
use systole_log::search::SearchFault;

use crate::finding::NotFound;
use crate::prompts::PromptFault;

/// Why a question has no answer. Each face words it for its reader.
#[derive(Debug)]
pub enum QueryFault {
    /// The log cannot be read.
    Log(LogFault),
    /// The log cannot be searched.
    Search(SearchFault),
    /// What was typed is wrong.
    Mistake(ArgumentMistake),
    /// The thread was not found.
    Unfound(NotFound),
    /// The thread has no such record.
    NoRecord {
        /// The thread.
        thread: ThreadId,
        /// The number that was asked for.
        seq: u64,
        /// The number of its last record.
        last: u64,
    },
    /// The thread has no call to a model up to that record.
    NoPrompt {
        /// The thread.
        thread: ThreadId,
        /// The record.
        seq: u64,
    },
    /// A prompt cannot be shown.
    Prompt(PromptFault),
    /// The answer is about all threads, for clients with the role `read`.
    NeedsRead(&'static str),
    /// The face refuses it.
    Refused(Box<Refusal>),
}

/// What is wrong with a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ArgumentMistake {
    /// The value has not the form of the field.
    Unfit {
        /// The field.
        field: &'static str,
        /// Its value.
        value: String,
        /// What is wrong.
        words: String,
        /// Values that fit.
        examples: &'static [&'static str],
    },
    /// A moment is not after another one.
    NotAfter {
        /// The field with the end.
        field: &'static str,
        /// The field with the beginning.
        other: &'static str,
    },
}

impl From<LogFault> for QueryFault {
    fn from(fault: LogFault) -> QueryFault {
        QueryFault::Log(fault)
    }
}

impl From<ArgumentMistake> for QueryFault {
    fn from(mistake: ArgumentMistake) -> QueryFault {
        QueryFault::Mistake(mistake)
    }
}

/// Values that fit, as a sentence.
pub fn join_choices(fits: &[String]) -> Option<String> {
    match fits {
        [] => None,
        [one] => Some(one.clone()),
        [others @ .., last] => Some(format!("{} or {last}", others.join(", "))),
    }
}

impl ArgumentMistake {
    /// The value is none of the words that the field takes.
    pub fn not_one_of(field: &'static str, value: &str, words: &'static [&'static str]) -> ArgumentMistake {
        let said = format!("one of {}", words.join(", "));
        ArgumentMistake::Unfit { field, value: value.to_owned(), words: said, examples: &[] }
    }

    /// Refuses a period whose end is not after its beginning.
    pub fn unless_after(
        since: (&'static str, Option<Millis>),
        until: (&'static str, Option<Millis>),
    ) -> Result<(), ArgumentMistake> {
        match since.1.zip(until.1) {
            Some((from, to)) if from >= to => {
                Err(ArgumentMistake::NotAfter { field: until.0, other: since.0 })
            }
            _ => Ok(()),
        }
    }
}
