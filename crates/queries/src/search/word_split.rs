//! What a word is: letters and digits that follow each other, folded so that small and capital letters are the same.
//!
//! The search file and the search itself split texts here, so both always agree. A text comes in; words with their
//! places go out.

use std::ops::Range;

use crate::limits;

/// What a character does to a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharSense {
    /// It is part of a word.
    Part,
    /// It is a word by itself: its script has no blanks between words.
    Alone,
    /// It is not seen, and does not count.
    Hidden,
    /// It ends a word.
    Break,
}

fn sense(c: char) -> CharSense {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' => CharSense::Part,
        '\0'..='\u{7f}' => CharSense::Break,
        // Soft hyphen, joiners, signs of direction: a text that hides them inside a word is still found.
        '\u{ad}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => CharSense::Hidden,
        '\u{e00}'..='\u{eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{2fdf}'
        | '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' => CharSense::Alone,
        // Accents and signs that follow their letter.
        '\u{300}'..='\u{36f}' | '\u{900}'..='\u{963}' | '\u{966}'..='\u{dff}' => CharSense::Part,
        c if c.is_alphanumeric() => CharSense::Part,
        _ => CharSense::Break,
    }
}

/// The places of the words of a text.
pub(super) fn places(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut characters = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let mut word: Option<Range<usize>> = None;
        while let Some((at, c)) = characters.peek().copied() {
            let end = at + c.len_utf8();
            match (sense(c), &mut word) {
                (CharSense::Part, Some(word)) => word.end = end,
                (CharSense::Part, None) => word = Some(at..end),
                (CharSense::Alone, None) => {
                    characters.next();
                    return Some(at..end);
                }
                (CharSense::Hidden, _) | (CharSense::Break, None) => {}
                (CharSense::Alone | CharSense::Break, Some(_)) => break,
            }
            characters.next();
        }
        word
    })
}

/// Adds the folded form of a word.
pub(super) fn fold(word: &str, out: &mut String) {
    let counted = word.chars().filter(|c| sense(*c) != CharSense::Hidden).take(limits::WORD_LETTERS);
    // Both forms of a small sigma are one letter.
    out.extend(counted.flat_map(char::to_lowercase).map(|c| if c == 'ς' { 'σ' } else { c }));
}

/// The folded words of a text, with a blank between two of them.
pub(super) fn fold_case(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for place in places(text) {
        if !out.is_empty() {
            out.push(' ');
        }
        fold(text.get(place).unwrap_or_default(), &mut out);
    }
    out
}

/// The place of the first occurrence of a phrase of folded words.
pub(super) fn first(text: &str, phrase: &[String]) -> Option<Range<usize>> {
    let mut last: std::collections::VecDeque<(Range<usize>, String)> = std::collections::VecDeque::new();
    for place in places(text) {
        let mut word = String::new();
        fold(text.get(place.clone()).unwrap_or_default(), &mut word);
        last.push_back((place, word));
        if last.len() > phrase.len() {
            last.pop_front();
        }
        if last.len() == phrase.len() && last.iter().map(|(_, word)| word).eq(phrase) {
            let (first, end) = (last.front()?, last.back()?);
            return Some(first.0.start..end.0.end);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_digits_make_words_and_case_does_not_count() {
        for (text, words) in [
            ("Moving house, NOW!", "moving house now"),
            ("max_output=3.5", "max output 3 5"),
            ("\" OR * NEAR(a b)", "or near a b"),
            ("Straße ΟΔΟΣ οδος", "straße οδοσ οδοσ"),
            ("pass\u{200b}wo\u{202e}rd", "password"),
            ("心臓が beat", "心 臓 が beat"),
            ("e\u{301}te\u{301}", "e\u{301}te\u{301}"),
            ("हिन्दी।नमस्ते", "हिन्दी नमस्ते"),
            ("--- ***", ""),
        ] {
            assert_eq!(fold_case(text), words, "{text}");
        }
        assert_eq!(fold_case(&"x".repeat(1000)).len(), limits::WORD_LETTERS);
    }

    #[test]
    fn a_phrase_is_found_at_its_place() {
        let text = "It begins in the \u{200b}Sino-Atrial node.";
        let phrase = |words: &str| -> Vec<String> { words.split(' ').map(str::to_owned).collect() };
        assert_eq!(first(text, &phrase("sino atrial")).map(|at| &text[at]), Some("Sino-Atrial"));
        assert_eq!(first(text, &phrase("the node")), None);
        assert_eq!(first("a a b", &phrase("a b")), Some(2..5));
    }
}
