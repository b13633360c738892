//! A pattern of JSON Schema (ECMA-262) as a pattern of XSD.
//!
//! A pattern of any origin comes in; an XSD pattern that matches the same whole values goes out, or the reason why
//! there is none. The two dialects differ: XSD always matches the whole value, has no anchors, and reads `\d`, `\w` and
//! `\s` differently. What differs is spelt out.

use std::iter::Peekable;
use std::str::Chars;

use crate::limits::{PATTERN_DEPTH, PATTERN_LETTERS};

/// Any text, over several lines.
const ANYTHING: &str = "(.|\\n|\\r)*";

const DIGITS: &str = "0-9";
const WORD: &str = "A-Za-z0-9_";
/// White space of ECMA-262, without the characters that XML cannot carry.
const BLANK: &str =
    " \\t\\n\\r\u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}";
/// Every character but the ends of lines of ECMA-262.
const DOT: &str = "[^\\n\\r\u{2028}\u{2029}]";

/// The pattern for XSD.
pub(super) fn translate_pattern(source: &str) -> Result<String, String> {
    if source.len() > PATTERN_LETTERS {
        return Err(format!("it has more than {PATTERN_LETTERS} bytes"));
    }
    let mut reading = PatternReader { rest: source.chars().peekable(), depth: 0 };
    let whole = reading.read_branches()?;
    match reading.rest.next() {
        None => Ok(whole),
        Some(_) => Err("a parenthesis closes no group".to_owned()),
    }
}

struct PatternReader<'p> {
    rest: Peekable<Chars<'p>>,
    depth: usize,
}

/// One branch, with its anchors.
struct PatternBranch {
    text: String,
    begins: bool,
    ends: bool,
}

impl PatternReader<'_> {
    /// The branches of the whole pattern; each may have its own anchors.
    fn read_branches(&mut self) -> Result<String, String> {
        let mut branches = vec![self.read_branch(true)?];
        while self.rest.next_if_eq(&'|').is_some() {
            branches.push(self.read_branch(true)?);
        }
        let several = branches.len() > 1;
        let written = branches.into_iter().map(|branch| {
            let PatternBranch { text, begins, ends } = branch;
            let text = if several && text.contains('|') { format!("({text})") } else { text };
            let (before, after) = (if begins { "" } else { ANYTHING }, if ends { "" } else { ANYTHING });
            format!("{before}{text}{after}")
        });
        Ok(written.collect::<Vec<_>>().join("|"))
    }

    /// A row of pieces, up to `|`, `)` or the end.
    fn read_branch(&mut self, is_top: bool) -> Result<PatternBranch, String> {
        let (mut text, mut begins, mut ends) = (String::new(), false, false);
        while let Some(next) = self.rest.peek().copied() {
            match next {
                '|' | ')' => break,
                '^' if is_top && text.is_empty() && !begins => {
                    self.rest.next();
                    begins = true;
                    continue;
                }
                '$' if is_top => {
                    self.rest.next();
                    if !matches!(self.rest.peek(), None | Some('|')) {
                        return Err("an anchor is inside it".to_owned());
                    }
                    ends = true;
                    continue;
                }
                '^' | '$' => return Err("an anchor is inside it".to_owned()),
                _ => {}
            }
            let piece = self.read_piece()?;
            text.push_str(&piece);
            text.push_str(&self.read_quantifier()?);
        }
        Ok(PatternBranch { text, begins, ends })
    }

    fn read_piece(&mut self) -> Result<String, String> {
        match self.rest.next() {
            Some('(') => self.read_group(),
            Some('[') => self.read_class(),
            Some('.') => Ok(DOT.to_owned()),
            Some('\\') => self.read_escape(false),
            Some('*' | '+' | '?') => Err("a repetition repeats nothing".to_owned()),
            // A brace that begins no count is itself.
            Some(other) => Ok(write_literal(other, false)),
            None => Err("it ends too early".to_owned()),
        }
    }

    fn read_group(&mut self) -> Result<String, String> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > PATTERN_DEPTH {
            return Err(format!("its groups are nested deeper than {PATTERN_DEPTH}"));
        }
        if self.rest.next_if_eq(&'?').is_some() {
            match self.rest.next() {
                Some(':') => {}
                Some('<') if !matches!(self.rest.peek(), Some('=' | '!')) => {
                    while self.rest.next().ok_or("a group has no end")? != '>' {}
                }
                Some('=' | '!' | '<') => return Err("it looks ahead or behind".to_owned()),
                _ => return Err("a group has modifiers".to_owned()),
            }
        }
        let mut branches = vec![self.read_branch(false)?.text];
        while self.rest.next_if_eq(&'|').is_some() {
            branches.push(self.read_branch(false)?.text);
        }
        self.depth = self.depth.saturating_sub(1);
        match self.rest.next() {
            Some(')') => Ok(format!("({})", branches.join("|"))),
            _ => Err("a group has no end".to_owned()),
        }
    }

    fn read_quantifier(&mut self) -> Result<String, String> {
        let written = match self.rest.peek() {
            Some(sign @ ('*' | '+' | '?')) => {
                let sign = *sign;
                self.rest.next();
                sign.to_string()
            }
            Some('{') => match self.read_count() {
                Some(count) => count,
                None => return Ok(String::new()),
            },
            _ => return Ok(String::new()),
        };
        if self.rest.next_if_eq(&'?').is_some() {
            return Err("a repetition is lazy".to_owned());
        }
        Ok(written)
    }

    /// A count such as `{2,5}`; `None` if the brace begins no count.
    fn read_count(&mut self) -> Option<String> {
        let mut ahead = self.rest.clone();
        ahead.next();
        let mut inside = String::new();
        loop {
            match ahead.next()? {
                '}' => break,
                c if inside.len() < 12 => inside.push(c),
                _ => return None,
            }
        }
        let (least, most) = inside.split_once(',').unwrap_or((&inside, &inside));
        let is_number = |text: &str| text.parse::<u32>().is_ok();
        let is_count = is_number(least) && (most.is_empty() || is_number(most));
        is_count.then(|| {
            self.rest = ahead;
            format!("{{{inside}}}")
        })
    }

    /// An escape, in a class or outside.
    fn read_escape(&mut self, in_class: bool) -> Result<String, String> {
        let set = |inside: &str| if in_class { inside.to_owned() } else { format!("[{inside}]") };
        let outside = |inside: &str| match in_class {
            true => Err("a class holds the opposite of a class".to_owned()),
            false => Ok(format!("[^{inside}]")),
        };
        let escaped = self.rest.next().ok_or("it ends in a backslash")?;
        match escaped {
            'd' => Ok(set(DIGITS)),
            'w' => Ok(set(WORD)),
            's' => Ok(set(BLANK)),
            'D' => outside(DIGITS),
            'W' => outside(WORD),
            'S' => outside(BLANK),
            'n' => Ok("\\n".to_owned()),
            'r' => Ok("\\r".to_owned()),
            't' => Ok("\\t".to_owned()),
            'x' => self.read_code(2, in_class),
            'u' => self.read_code(4, in_class),
            'b' | 'B' => Err("it looks for the edge of a word".to_owned()),
            'p' | 'P' => Err("it names a property of Unicode".to_owned()),
            '0'..='9' | 'k' => Err("it refers back to a group".to_owned()),
            'f' | 'v' | 'c' => Err("it holds a character that XML cannot carry".to_owned()),
            other if other.is_ascii_alphabetic() => Err(format!("\\{other} is no escape")),
            other => Ok(write_literal(other, in_class)),
        }
    }

    fn read_code(&mut self, digits: usize, in_class: bool) -> Result<String, String> {
        let braced = digits == 4 && self.rest.next_if_eq(&'{').is_some();
        let mut number = 0_u32;
        let mut taken = 0;
        while taken < if braced { 6 } else { digits } {
            let Some(digit) = self.rest.peek().and_then(|c| c.to_digit(16)) else { break };
            self.rest.next();
            number = number.saturating_mul(16).saturating_add(digit);
            taken += 1;
        }
        let closes = !braced || self.rest.next() == Some('}');
        let character = char::from_u32(number).filter(|_| closes && taken > 0 && (braced || taken == digits));
        let character = character.ok_or("it holds half a character")?;
        if systole_kit::characters::is_legal(character) {
            Ok(write_literal(character, in_class))
        } else {
            Err("it holds a character that XML cannot carry".to_owned())
        }
    }

    /// A class, after its bracket.
    fn read_class(&mut self) -> Result<String, String> {
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut written = String::new();
        // Whether the last member is a single character, which may begin a range, and whether a range is open.
        let (mut single, mut open) = (false, false);
        loop {
            let next = self.rest.next().ok_or("a class has no end")?;
            if next == ']' {
                break;
            }
            if next == '-' && single && !open && !matches!(self.rest.peek(), None | Some(']')) {
                written.push('-');
                open = true;
                continue;
            }
            let is_set = next == '\\' && matches!(self.rest.peek(), Some('d' | 'w' | 's'));
            if is_set && open {
                return Err("a range ends in a class".to_owned());
            }
            written.push_str(&if next == '\\' { self.read_escape(true)? } else { write_literal(next, true) });
            single = !is_set && !open;
            open = false;
        }
        match (written.is_empty(), negated) {
            (true, false) => Err("a class admits nothing".to_owned()),
            (true, true) => Ok("(.|\\n|\\r)".to_owned()),
            (false, true) => Ok(format!("[^{written}]")),
            (false, false) => Ok(format!("[{written}]")),
        }
    }
}

/// A character that means itself.
fn write_literal(character: char, in_class: bool) -> String {
    let special = match in_class {
        true => "\\[]^-",
        false => "\\[](){}|.*+?-^",
    };
    match character {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        // No escapes outside a class in XSD, and nothing special there.
        '^' | '-' if !in_class => character.to_string(),
        other if special.contains(other) => format!("\\{other}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_dialects_say_is_translated() {
        let rows = [
            ("^[a-z]+$", "[a-z]+"),
            ("^(?:a|b)?$", "(a|b)?"),
            ("^(?<year>\\d{4})-\\d\\d$", "([0-9]{4})-[0-9][0-9]"),
            ("^a$|^b$", "a|b"),
            ("^\\w+@\\w+\\.com$", "[A-Za-z0-9_]+@[A-Za-z0-9_]+\\.com"),
            ("^[^/\\]]{1,}$", "[^/\\]]{1,}"),
            ("^\\u0041\\x42$", "AB"),
            ("^a{b$", "a\\{b"),
            ("^\\/x$", "/x"),
            ("^[\\w-]+[a-z-9]$", "[A-Za-z0-9_\\-]+[a-z\\-9]"),
            ("ab", "(.|\\n|\\r)*ab(.|\\n|\\r)*"),
            ("^a", "a(.|\\n|\\r)*"),
        ];
        for (source, wanted) in rows {
            assert_eq!(translate_pattern(source).as_deref(), Ok(wanted), "{source}");
        }
    }

    #[test]
    fn what_xsd_cannot_say_has_a_reason() {
        for source in [
            "^(?=a)b$",
            "(?<!a)b",
            "(a)\\1",
            "\\bword\\b",
            "a*?",
            "\\p{L}",
            "(",
            "a)",
            "[",
            "a^b",
            "\\",
            "*",
            "[]",
        ] {
            assert!(translate_pattern(source).is_err(), "{source}");
        }
        assert!(translate_pattern(&"(".repeat(100_000)).is_err());
        assert!(translate_pattern(&"(".repeat(1_000)).is_err());
    }
}
