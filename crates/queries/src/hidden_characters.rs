//! Text for a person who decides by it: every invisible or confusable character is written as `\u{…}`.
//!
//! The kit's `visible` keeps a terminal safe and readable. This is stricter, and marks more than most readers need.
//! It never changes stored text. Text comes in; text that shows its real characters goes out, with a list of the
//! marked ones.

use std::collections::BTreeMap;

use systole_kit::writer::make_visible;

/// The characters that were marked, and why.
pub type MarkedCharacters = BTreeMap<char, &'static str>;

/// The text with every such character written as `\u{…}`. Line feeds stay.
pub fn escape_unusual(text: &str, marked: &mut MarkedCharacters) -> String {
    for c in text.chars().filter(|c| *c != '\n' && is_hidden(*c)) {
        marked.insert(c, why_hidden(c));
    }
    let text = make_visible(text);
    let mut shown = String::with_capacity(text.len());
    let mut word = String::new();
    for c in text.chars() {
        if c.is_alphanumeric() {
            word.push(c);
            continue;
        }
        flush(&mut word, &mut shown, marked);
        match unusual(c) {
            Some(why) => mark(c, why, &mut shown, marked),
            None => shown.push(c),
        }
    }
    flush(&mut word, &mut shown, marked);
    shown
}

/// The marked characters, one per line.
pub fn describe_marked(marked: &MarkedCharacters) -> Vec<String> {
    marked.iter().map(|(c, why)| format!("{} is {why}", c.escape_unicode())).collect()
}

fn mark(c: char, why: &'static str, shown: &mut String, marked: &mut MarkedCharacters) {
    shown.extend(c.escape_unicode());
    marked.insert(c, why);
}

fn is_hidden(c: char) -> bool {
    matches!(make_visible(c.encode_utf8(&mut [0; 4])), std::borrow::Cow::Owned(_))
}

fn why_hidden(c: char) -> &'static str {
    match c {
        '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            "a character that changes the direction of text"
        }
        c if c.is_control() => "a control character",
        _ => "an invisible character",
    }
}

/// Why a character between words is marked; `None` for the usual ones.
fn unusual(c: char) -> Option<&'static str> {
    match c {
        ' ' | '\n' => None,
        '\t' => Some("a tab"),
        c if c.is_whitespace() => Some("an unusual space"),
        // Joiners, braille blank, variation selectors, musical controls.
        '\u{34f}' | '\u{2800}' | '\u{fe00}'..='\u{fe0f}' | '\u{1d173}'..='\u{1d17a}' => {
            Some("an invisible character")
        }
        // Dots, slashes, colons, hyphens and other signs that look like ASCII ones.
        '\u{37e}'
        | '\u{2010}'
        | '\u{2011}'
        | '\u{2024}'
        | '\u{2044}'
        | '\u{2215}'
        | '\u{2216}'
        | '\u{2236}'
        | '\u{29f5}'
        | '\u{29f8}'
        | '\u{a789}'
        | '\u{ff01}'..='\u{ff5e}' => Some("a sign that looks like one of ASCII"),
        _ => None,
    }
}

/// Letters of scripts that look like Latin letters.
fn script(c: char) -> Option<&'static str> {
    Some(match u32::from(c) {
        0x370..=0x3ff | 0x1f00..=0x1fff => "a Greek letter that looks like a Latin one",
        0x400..=0x52f | 0x1c80..=0x1c8f | 0x2de0..=0x2dff | 0xa640..=0xa69f => {
            "a Cyrillic letter that looks like a Latin one"
        }
        0x530..=0x58f
        | 0x10a0..=0x10ff
        | 0x13a0..=0x13ff
        | 0x1400..=0x167f
        | 0x2c80..=0x2cff
        | 0xa4d0..=0xa4ff
        | 0xab70..=0xabbf => "a letter of another script that looks like a Latin one",
        _ => return None,
    })
}

/// Variants of Latin letters and digits that programs treat as different: full width, mathematical, circled, Roman
/// numerals.
fn is_dressed(c: char) -> bool {
    matches!(u32::from(c), 0x1c3 | 0x250..=0x2af | 0x1d00..=0x1dbf | 0x2100..=0x218b | 0x2460..=0x24ff
        | 0xff10..=0xff19 | 0xff21..=0xff5a | 0x1d400..=0x1d7ff | 0x1f100..=0x1f1ff)
}

/// Letters of the Cyrillic and Greek scripts that look like letters of ASCII.
const TWINS: &str = "аеорсухіјѕһӏԁԛԝАВЕЗІЈКМНОРСТУХЅԌԚԜονυρΑΒΕΖΗΙΚΜΝΟΡΤΥΧ";

fn flush(word: &mut String, shown: &mut String, marked: &mut MarkedCharacters) {
    let is_latin =
        |c: char| matches!(u32::from(c), 0x41..=0x5a | 0x61..=0x7a | 0xc0..=0x24f | 0x1e00..=0x1eff);
    let letters = || word.chars().filter(|c| c.is_alphabetic());
    // A word in another script is fine, unless each of its letters has a twin. Words of one letter are common.
    let is_twin = letters().count() > 1 && letters().all(|c| TWINS.contains(c));
    let is_mixed = is_twin || word.chars().any(is_latin);
    for c in word.chars() {
        match script(c).filter(|_| is_mixed) {
            Some(why) => mark(c, why, shown, marked),
            None if is_dressed(c) => {
                mark(c, "a form that looks like a Latin letter or a digit", shown, marked)
            }
            None => shown.push(c),
        }
    }
    word.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> (String, Vec<String>) {
        let mut marked = MarkedCharacters::new();
        let shown = escape_unusual(text, &mut marked);
        (shown, describe_marked(&marked))
    }

    #[test]
    fn what_cannot_be_seen_is_written_out_and_named() {
        let (text, told) = shown("a\u{200b}b\u{202e}c\u{a0}d\te\u{1b}[0m\u{fe0f}");
        assert_eq!(text, "a\\u{200b}b\\u{202e}c\\u{a0}d\\u{9}e\\u{1b}[0m\\u{fe0f}");
        assert_eq!(
            told,
            [
                "\\u{9} is a tab",
                "\\u{1b} is a control character",
                "\\u{a0} is an unusual space",
                "\\u{200b} is an invisible character",
                "\\u{202e} is a character that changes the direction of text",
                "\\u{fe0f} is an invisible character",
            ]
        );
    }

    #[test]
    fn letters_that_pass_for_others_are_written_out() {
        for (text, wanted) in [
            ("\u{430}dmin", "\\u{430}dmin"),
            ("\u{440}\u{430}\u{443}", "\\u{440}\\u{430}\\u{443}"),
            ("\u{ff21}DMIN", "\\u{ff21}DMIN"),
            ("\u{1d41a}dmin", "\\u{1d41a}dmin"),
            ("/etc\u{2215}passwd", "/etc\\u{2215}passwd"),
            ("p\u{3bf}st", "p\\u{3bf}st"),
        ] {
            assert_eq!(shown(text).0, wanted);
        }
    }

    #[test]
    fn texts_of_other_scripts_are_left_alone() {
        for text in
            ["Привет, мир", "Καλημέρα κόσμε", "日本語のテキスト", "naïve café – “quoted”", "שלום", "a\nb"]
        {
            assert_eq!(shown(text), (text.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn text_cannot_pretend_that_something_was_marked() {
        assert_eq!(shown("\\u{430}dmin").0, "\\u{5c}u{430}dmin");
    }
}
