//! The word with which an agent says that nothing is left to change.
//!
//! A text comes in, and whether it is only this word goes out.

/// The word.
pub const CONVERGED: &str = "CONVERGED";

/// Whether a text is only the word. In requests of form 1 it is the exact word. Since form 2 it may be in small letters,
/// emphasised or quoted, and end with a dot.
#[must_use]
pub fn is_converged_word(text: &str, form: u32) -> bool {
    if form < 2 {
        return text.trim() == CONVERGED;
    }
    let is_around = |sign: char| sign.is_whitespace() || "*\"'`“”„‘’«»".contains(sign);
    let text = text.trim_matches(is_around);
    let text = text.strip_suffix('.').map_or(text, |before| before.trim_end_matches(is_around));
    text.eq_ignore_ascii_case(CONVERGED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f2_the_word_counts_in_any_case_with_emphasis_quotes_and_a_dot_around_it() {
        let same = [
            "CONVERGED",
            " converged\n",
            "Converged.",
            "**CONVERGED**",
            "**Converged.**",
            "*converged*.",
            "\"CONVERGED\"",
            "'converged'",
            "“Converged.”",
            "`CONVERGED`",
            "\n**\"Converged\"**.\n",
        ];
        for text in same {
            assert!(is_converged_word(text, 2), "{text:?}");
            assert_eq!(is_converged_word(text, 1), text.trim() == CONVERGED, "{text:?}");
        }
        let other = [
            "",
            "*",
            ".",
            "CONVERGED, more or less",
            "CONVERGED..",
            "Not converged.",
            "CONVERGED?",
            "con verged",
        ];
        for text in other {
            assert!(!is_converged_word(text, 2), "{text:?}");
        }
    }
}
