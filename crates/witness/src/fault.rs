//! What goes wrong at a place of witnesses.

/// What went wrong at a place. Words of a stranger are shortened and have no control characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WitnessFault {
    /// There is no answer.
    #[error("no answer: {0}")]
    NoAnswer(String),
    /// It refuses the checkpoint.
    #[error("it refuses the checkpoint with status {status}: {words}")]
    Refused {
        /// The status.
        status: u16,
        /// Its words.
        words: String,
    },
    /// Its answer is not one of the protocol, or its cosignature is wrong.
    #[error("its answer is refused: {0}")]
    Strange(String),
    /// It knows a longer log of that name.
    #[error(
        "it has a checkpoint of {size} records, and the log has {records}: the log lost records, or another log has its key"
    )]
    Ahead {
        /// The records of the checkpoint that it knows.
        size: u64,
        /// The records of the checkpoint that was sent.
        records: u64,
    },
    /// It has another history.
    #[error("it has a checkpoint of {size} records, and the log does not begin with them")]
    OtherHistory {
        /// The records of the checkpoint that it has.
        size: u64,
    },
    /// A folder cannot be written, or has something else.
    #[error("{0}")]
    Folder(String),
    /// The log cannot be read.
    #[error("the log cannot be read: {0}")]
    Log(String),
}

impl WitnessFault {
    /// Whether another fault is of the same kind, so that it says nothing new.
    pub fn is_like(&self, other: &WitnessFault) -> bool {
        match (self, other) {
            (WitnessFault::Refused { status, .. }, WitnessFault::Refused { status: other, .. }) => {
                status == other
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// The words of a stranger, for a person.
pub(super) fn make_plain_words(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let words: Vec<&str> = text.split(|c: char| c.is_control() || c.is_whitespace()).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let mut shown: String = words.join(" ").chars().take(crate::limits::WORDS).collect();
    if shown.is_empty() {
        shown.push_str("it says nothing");
    }
    shown
}
