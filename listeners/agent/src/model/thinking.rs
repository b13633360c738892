//! How much a model reasons: the words of the organism file.

/// How much a model reasons before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelThinking {
    /// Not at all.
    Off,
    /// A little.
    Low,
    /// More.
    Medium,
    /// Much.
    High,
    /// As much as it can.
    Max,
    /// At most so many tokens.
    Tokens(u64),
}

impl ModelThinking {
    /// The words in the file.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("off", Self::Off),
        ("low", Self::Low),
        ("medium", Self::Medium),
        ("high", Self::High),
        ("max", Self::Max),
    ];

    /// The word in the file. `None` for a number of tokens.
    #[must_use]
    pub fn word(self) -> Option<&'static str> {
        Self::WORDS.iter().find(|(_, one)| *one == self).map(|(word, _)| *word)
    }
}
