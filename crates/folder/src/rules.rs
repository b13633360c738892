//! The rules of a listener as words of its program: pairs of a key and a pattern.

/// Rules by key.
#[derive(Debug)]
pub struct RuleWords<'w>(Vec<(&'w str, &'w str)>);

impl<'w> RuleWords<'w> {
    /// Reads words in pairs. The error says what is wrong with them.
    pub fn from_words(words: &[&'w str]) -> Result<RuleWords<'w>, String> {
        let pair = |pair: &[&'w str]| match pair {
            [key, pattern] => Ok((*key, *pattern)),
            _ => Err(format!("-listen-as: a rule has no pattern: {}", pair.join(" "))),
        };
        words.chunks(2).map(pair).collect::<Result<_, _>>().map(RuleWords)
    }

    /// The patterns of a key.
    #[must_use]
    pub fn find_rules(&self, key: &str) -> Vec<String> {
        self.0.iter().filter(|(own, _)| *own == key).map(|(_, pattern)| (*pattern).to_owned()).collect()
    }
}
