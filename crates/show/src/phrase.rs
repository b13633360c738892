//! A listener's text as one readable phrase while it streams in: what it says, what it thinks, or the call that it
//! writes. Pieces of text that may end anywhere come in; a line for the watcher goes out.
//!
//! It judges nothing and tolerates everything: pieces may be missing, and markup may be broken. It does not make text
//! visible: the code that shows the line does.

use crate::limits;

/// Elements around a model's text or thoughts; they are not calls.
const THOUGHTS: [&str; 2] = ["thinking", "think"];
const AROUND_WORDS: [&str; 3] = ["attempt_completion", "result", "final-report"];

/// The kind of a phrase.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
enum PhraseKind {
    #[default]
    Says,
    Thinks,
    /// A call with that name.
    Calls(String),
}

/// The current phrase.
#[derive(Debug, Default)]
pub struct SpokenPhrase {
    kind: PhraseKind,
    /// Its text. For a call its fields, as `name="value`.
    text: String,
    /// A tag that has begun.
    tag: Option<String>,
    /// Open fields of a call, and whether the innermost has text.
    open: Vec<String>,
    has_value: bool,
    /// Whether the phrase is over: the next text begins another.
    is_over: bool,
    /// Whether it came as a whole, so that its beginning matters most.
    is_whole: bool,
    /// Whether only white space came since a line, an element or the answer began.
    is_fresh: bool,
}

impl SpokenPhrase {
    /// No phrase yet.
    pub fn new() -> SpokenPhrase {
        SpokenPhrase { is_fresh: true, ..SpokenPhrase::default() }
    }

    /// Takes text that continues the earlier text.
    pub fn push_text(&mut self, words: &str) {
        words.chars().for_each(|character| self.take_character(character));
        let beyond = self.text.len().saturating_sub(limits::PHRASE_BYTES);
        if beyond > 0 {
            self.text.drain(..self.text.ceil_char_boundary(beyond));
        }
    }

    /// Takes complete text.
    pub fn set_text(&mut self, words: &str) {
        let text = words.get(..words.floor_char_boundary(limits::PHRASE_BYTES)).unwrap_or_default();
        *self =
            SpokenPhrase { text: text.to_owned(), is_over: true, is_whole: true, ..SpokenPhrase::default() };
    }

    /// Whether it came as a whole. For any other phrase the end matters most.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether there is nothing to show yet.
    pub fn is_blank(&self) -> bool {
        self.kind == PhraseKind::Says && self.text.trim().is_empty()
    }

    /// The text before it, after the listener's name.
    pub fn lead(&self) -> String {
        match &self.kind {
            PhraseKind::Says => ": ".to_owned(),
            PhraseKind::Thinks => " thinks: ".to_owned(),
            PhraseKind::Calls(name) => format!(" → {name}: "),
        }
    }

    /// Its text, on one line.
    pub fn text(&self) -> String {
        let text = read_entities(&self.text);
        let text = match &self.kind {
            PhraseKind::Calls(_) if text.trim_start().starts_with('{') => write_fields(&text),
            _ => text,
        };
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn take_character(&mut self, character: char) {
        let Some(tag) = &mut self.tag else {
            return if character == '<' {
                self.tag = Some(String::new())
            } else {
                self.push_letter(character)
            };
        };
        match character {
            '>' => {
                let tag = self.tag.take().unwrap_or_default();
                self.end_tag(&tag);
            }
            '<' => {
                let text = self.tag.replace(String::new()).unwrap_or_default();
                self.push_literal(&text);
            }
            other => {
                tag.push(other);
                let begins =
                    tag.starts_with(|c: char| c.is_alphabetic() || matches!(c, '/' | '!' | '?' | '_'));
                if !begins || tag.len() > limits::TAG_BYTES {
                    let text = self.tag.take().unwrap_or_default();
                    self.push_literal(&text);
                }
            }
        }
    }

    /// Text that looked like a tag.
    fn push_literal(&mut self, text: &str) {
        self.push_letter('<');
        text.chars().for_each(|character| self.push_letter(character));
    }

    fn push_letter(&mut self, character: char) {
        let is_blank = character.is_whitespace();
        if let PhraseKind::Calls(_) = self.kind {
            if !self.is_over {
                if !is_blank && !self.has_value && !self.open.is_empty() {
                    self.begin_value();
                }
                return self.text.push(character);
            }
            if is_blank {
                return;
            }
        }
        if self.is_over && !is_blank {
            self.begin_kind(PhraseKind::Says);
        }
        self.is_fresh = character == '\n' || (self.is_fresh && is_blank);
        // Of spoken text, only the current line is shown.
        if character == '\n' && self.kind == PhraseKind::Says {
            self.is_over = true;
        }
        self.text.push(character);
    }

    fn begin_kind(&mut self, kind: PhraseKind) {
        (self.kind, self.is_over, self.has_value, self.is_whole) = (kind, false, false, false);
        self.text.clear();
        self.open.clear();
    }

    fn begin_value(&mut self) {
        let gap = if self.text.is_empty() { "" } else { " " };
        let name = self.open.last().map(String::as_str).unwrap_or_default();
        self.text.extend([gap, name, "=\""]);
        self.has_value = true;
    }

    fn end_tag(&mut self, tag: &str) {
        let is_end = tag.starts_with('/');
        let inside = tag.trim_start_matches('/').trim_end_matches('/');
        let name = inside.split_whitespace().next().unwrap_or_default();
        let name = name.rsplit(':').next().unwrap_or_default();
        if tag.starts_with(['!', '?']) {
            return;
        }
        if self.kind == PhraseKind::Thinks && !self.is_over {
            return match is_end && THOUGHTS.contains(&name) {
                true => (self.is_over, self.is_fresh) = (true, true),
                false => self.push_literal(&format!("{tag}>")),
            };
        }
        if matches!(self.kind, PhraseKind::Calls(_)) && !self.is_over {
            return self.read_in_call(name, inside, is_end, tag.ends_with('/'));
        }
        if AROUND_WORDS.contains(&name) {
            return (self.is_over, self.is_fresh) = (true, true);
        }
        if is_end || !self.is_fresh {
            return self.push_literal(&format!("{tag}>"));
        }
        if THOUGHTS.contains(&name) {
            return self.begin_kind(PhraseKind::Thinks);
        }
        self.begin_kind(PhraseKind::Calls(name.to_owned()));
        self.read_attributes(inside);
        self.is_over = tag.ends_with('/');
    }

    /// A tag inside of a call.
    fn read_in_call(&mut self, name: &str, inside: &str, is_end: bool, is_empty: bool) {
        if is_end {
            if std::mem::take(&mut self.has_value) {
                self.text.truncate(self.text.trim_end().len());
                self.text.push('"');
            }
            // The element that ends here may have begun before the first received text.
            if self.open.pop().is_none() {
                (self.is_over, self.is_fresh) = (true, true);
            }
            return;
        }
        self.open.push(name.to_owned());
        self.has_value = false;
        self.read_attributes(inside);
        if is_empty {
            self.open.pop();
        }
    }

    fn read_attributes(&mut self, inside: &str) {
        let Some((_, mut rest)) = inside.split_once(char::is_whitespace) else { return };
        while let Some((name, behind)) = rest.split_once('=') {
            let behind = behind.trim_start();
            let Some(quote) = behind.chars().next().filter(|c| matches!(c, '"' | '\'')) else { return };
            let Some((value, further)) = behind.get(1..).and_then(|behind| behind.split_once(quote)) else {
                return;
            };
            rest = further;
            let name = name.trim();
            if !name.starts_with("xmlns") {
                let gap = if self.text.is_empty() { "" } else { " " };
                self.text.extend([gap, name, "=\"", value, "\""]);
            }
        }
    }
}

/// The text with XML entities decoded. Unknown ones stay unchanged.
fn read_entities(text: &str) -> String {
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    named.iter().fold(text.to_owned(), |text, (entity, meant)| text.replace(entity, meant))
}

/// A possibly partial JSON object, with its fields as `name="value"`.
fn write_fields(text: &str) -> String {
    let mut shown = String::new();
    let (mut depth, mut is_key, mut is_text, mut is_escaped) = (0_u32, true, false, false);
    for character in text.trim_start().chars() {
        if is_text {
            match character {
                _ if std::mem::take(&mut is_escaped) => match character {
                    'n' | 'r' | 't' => shown.push(' '),
                    other => shown.push(other),
                },
                '\\' => is_escaped = true,
                '"' => {
                    is_text = false;
                    if !(depth == 1 && is_key) {
                        shown.push('"');
                    }
                }
                other => shown.push(other),
            }
            continue;
        }
        match character {
            '"' => {
                is_text = true;
                if !(depth == 1 && is_key) {
                    shown.push('"');
                }
            }
            ':' if depth == 1 => {
                is_key = false;
                shown.push('=');
            }
            ',' if depth == 1 => {
                is_key = true;
                shown.push(' ');
            }
            '{' | '[' => {
                depth = depth.saturating_add(1);
                if depth > 1 {
                    shown.push(character);
                }
            }
            '}' | ']' => {
                if depth > 1 {
                    shown.push(character);
                }
                depth = depth.saturating_sub(1);
            }
            blank if blank.is_whitespace() => {}
            other => shown.push(other),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pieces: &[&str]) -> String {
        let mut phrase = SpokenPhrase::new();
        pieces.iter().for_each(|piece| phrase.push_text(piece));
        phrase.lead() + &phrase.text()
    }

    #[test]
    fn first_a_thought_then_the_call_then_what_is_said() {
        let answer = concat!(
            "<thinking>Where does a < b?\nI look.</thinking>\n<search to=\"finder\"><query>heart &amp; beat</query>",
            "<in><path>a.rs</path></in></search>\nIt beats.\n"
        );
        let wanted = [
            ("Where does a", " thinks: Where does a"),
            ("I look.", " thinks: Where does a < b? I look."),
            ("</thinking>\n", " thinks: Where does a < b? I look."),
            ("<query>heart", " → search: to=\"finder\" query=\"heart"),
            ("a.rs</path>", " → search: to=\"finder\" query=\"heart & beat\" path=\"a.rs\""),
            ("</search>\n", " → search: to=\"finder\" query=\"heart & beat\" path=\"a.rs\""),
            ("It beats.\n", ": It beats."),
        ];
        for (end, shown) in wanted {
            let so_far = &answer[..answer.find(end).unwrap() + end.len()];
            assert_eq!(of(&[so_far]), shown, "{so_far}");
            let letters: Vec<String> = so_far.chars().map(String::from).collect();
            let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
            assert_eq!(of(&letters), shown, "in whatever pieces it comes: {so_far}");
        }
    }

    #[test]
    fn a_native_call_is_shown_by_its_fields() {
        let call = r#"<search>{"query": "a \"b\" &lt;c", "limit":5, "in":{"path":["x"]}, "to": "hal"#;
        assert_eq!(of(&[call]), r#" → search: query="a "b" <c" limit=5 in={"path":["x"]} to="hal"#);
        assert_eq!(of(&[call, "f\"}</search>", "Done."]), ": Done.");
    }

    #[test]
    fn what_is_no_call_stays_text() {
        assert_eq!(of(&["use Vec<u8> if a<b && c > d"]), ": use Vec<u8> if a<b && c > d");
        assert_eq!(of(&["<attempt_completion><result>In the node."]), ": In the node.");
        assert_eq!(of(&["</search> and so on"]), ": </search> and so on");
        assert_eq!(of(&["one line\n", "the next"]), ": the next", "the line that is being written");
        assert_eq!(
            of(&["<", &"a".repeat(limits::TAG_BYTES + 1)]),
            format!(": <{}", "a".repeat(limits::TAG_BYTES + 1))
        );
    }

    #[test]
    fn no_text_makes_it_grow_without_end_or_fall() {
        let mut dice = 7_u32;
        let alphabet: Vec<char> = "<>/=\"' \n{}:,\\aé☕!?thinking".chars().collect();
        for _ in 0..2000 {
            let mut phrase = SpokenPhrase::new();
            for _ in 0..60 {
                dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                phrase.push_text(&alphabet[(dice >> 16) as usize % alphabet.len()].to_string());
            }
            let _shown = phrase.lead() + &phrase.text();
        }
        let mut phrase = SpokenPhrase::new();
        (0..3000).for_each(|_| phrase.push_text("é☕ "));
        assert!(phrase.text.len() <= limits::PHRASE_BYTES, "{}", phrase.text.len());
    }
}
