//! Words of source code: identifiers split at camelCase and underscores, in lower case, each as its stem.
//!
//! Text comes in; words and stems go out. No files here.

use rust_stemmers::{Algorithm, Stemmer};

use crate::limits;

/// The words of a text, in lower case, in order. An identifier of several words also counts as one joined word.
pub(crate) fn split_words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for identifier in text.split(|c: char| !c.is_alphanumeric()) {
        if identifier.is_empty() || identifier.len() > limits::WORD_BYTES {
            continue;
        }
        let parts = split_parts(identifier);
        if parts.len() > 1 {
            found.push(identifier.to_lowercase());
        }
        found.extend(parts.into_iter().map(str::to_lowercase));
    }
    found
}

/// The parts of an identifier without underscores: `HTTPServer` has `HTTP` and `Server`.
pub(crate) fn split_parts(identifier: &str) -> Vec<&str> {
    let letters: Vec<(usize, char)> = identifier.char_indices().collect();
    let mut cuts = vec![0];
    for window in letters.windows(2) {
        if let [(_, before), (at, here)] = window
            && before.is_lowercase()
            && here.is_uppercase()
        {
            cuts.push(*at);
        }
    }
    for window in letters.windows(3) {
        if let [(_, before), (at, here), (_, after)] = window
            && before.is_uppercase()
            && here.is_uppercase()
            && after.is_lowercase()
        {
            cuts.push(*at);
        }
    }
    cuts.sort_unstable();
    cuts.dedup();
    cuts.push(identifier.len());
    cuts.windows(2)
        .filter_map(|pair| match pair {
            [from, to] => identifier.get(*from..*to).filter(|part| !part.is_empty()),
            _ => None,
        })
        .collect()
}

/// Makes stems of words.
pub(crate) struct WordStemmer(Stemmer);

impl std::fmt::Debug for WordStemmer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("WordStemmer")
    }
}

impl WordStemmer {
    pub(crate) fn new() -> WordStemmer {
        WordStemmer(Stemmer::create(Algorithm::English))
    }

    /// The stem of a word in lower case.
    pub(crate) fn find_stem(&self, word: &str) -> String {
        // The English rules mean letters without accents; other words are their own stem.
        if word.is_ascii() { self.0.stem(word).into_owned() } else { word.to_owned() }
    }
}

/// The letters with which a word and every other word of its stem begin, for a first search by text.
pub(crate) fn find_word_start(word: &str, stem: &str) -> String {
    let same = word.chars().zip(stem.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a);
    let mut start: String = same.collect();
    // The rules turn a last `y` into `i`, so that `queries` and `query` have one stem.
    if start == stem && start.len() > 2 && start.ends_with('i') {
        start.pop();
    }
    if start.is_empty() { word.to_owned() } else { start }
}

/// Words of a question that say nothing about code.
const FILLER: [&str; 66] = [
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "been", "before", "being", "by", "can",
    "could", "decide", "decides", "did", "do", "does", "each", "for", "from", "had", "happens", "has",
    "have", "how", "i", "if", "in", "into", "is", "it", "its", "kept", "made", "me", "my", "no", "not", "of",
    "on", "or", "our", "so", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was",
    "we", "what", "when", "where", "which", "who", "why", "with", "would",
];

/// Whether a word says nothing about code.
pub(crate) fn is_filler(word: &str) -> bool {
    FILLER.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_split_at_case_and_underscores() {
        assert_eq!(split_words("parseHTTPRequest"), ["parsehttprequest", "parse", "http", "request"]);
        assert_eq!(split_words("read_source(a)"), ["read", "source", "a"]);
        assert_eq!(split_words("sha256, Üben"), ["sha256", "üben"]);
        assert_eq!(split_words("=> {}"), Vec::<String>::new());
        assert_eq!(split_words(&"x".repeat(65)), Vec::<String>::new());
    }

    #[test]
    fn words_of_one_stem_begin_alike() {
        let stemmer = WordStemmer::new();
        for (one, other) in [("queries", "query"), ("matching", "matches"), ("leases", "lease")] {
            assert_eq!(stemmer.find_stem(one), stemmer.find_stem(other));
            let start = find_word_start(one, &stemmer.find_stem(one));
            assert!(other.starts_with(&start), "{start} of {one} and {other}");
        }
    }
}
