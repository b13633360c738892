//! Reads one JSON document (RFC 8259), for the histories that clients write.
//!
//! It supports only the content of a history: numbers are whole and not negative. The input is text;
//! the output is a value, or none if the text is not JSON of that kind.

use std::collections::HashMap;

/// How deep a history may nest; its own lines need two levels.
const DEPTH: usize = 16;

/// A JSON value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(u64),
    Text(String),
    List(Vec<Value>),
    Object(HashMap<String, Value>),
}

impl Value {
    /// A field of an object; none if it is absent or null.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        let Value::Object(fields) = self else { return None };
        fields.get(name).filter(|value| **value != Value::Null)
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn number(&self) -> Option<u64> {
        if let Value::Number(number) = self { Some(*number) } else { None }
    }
}

/// Reads a text that is one value.
pub(crate) fn parse(text: &str) -> Option<Value> {
    let mut rest = Rest(text);
    let value = rest.value(DEPTH)?;
    rest.blank();
    rest.0.is_empty().then_some(value)
}

/// What is not read yet.
struct Rest<'t>(&'t str);

impl Rest<'_> {
    fn blank(&mut self) {
        self.0 = self.0.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn takes(&mut self, token: &str) -> bool {
        let rest = self.0.strip_prefix(token);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        self.blank();
        match self.0.as_bytes().first()? {
            b'{' => self.object(depth.checked_sub(1)?).map(Value::Object),
            b'[' => self.list(depth.checked_sub(1)?).map(Value::List),
            b'"' => self.text().map(Value::Text),
            b'0'..=b'9' => self.number().map(Value::Number),
            _ if self.takes("null") => Some(Value::Null),
            _ if self.takes("true") => Some(Value::Bool(true)),
            _ if self.takes("false") => Some(Value::Bool(false)),
            _ => None,
        }
    }

    fn object(&mut self, depth: usize) -> Option<HashMap<String, Value>> {
        let mut fields = HashMap::new();
        self.between("{", "}", |rest| {
            rest.blank();
            let name = rest.text()?;
            rest.blank();
            let value = rest.takes(":").then(|| rest.value(depth))??;
            // A repeated name would be ambiguous.
            fields.insert(name, value).is_none().then_some(())
        })?;
        Some(fields)
    }

    fn list(&mut self, depth: usize) -> Option<Vec<Value>> {
        let mut values = Vec::new();
        self.between("[", "]", |rest| {
            values.push(rest.value(depth)?);
            Some(())
        })?;
        Some(values)
    }

    fn between(
        &mut self,
        open: &str,
        close: &str,
        mut one: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.takes(open).then_some(())?;
        self.blank();
        if self.takes(close) {
            return Some(());
        }
        loop {
            one(self)?;
            self.blank();
            if self.takes(close) {
                return Some(());
            }
            self.takes(",").then_some(())?;
        }
    }

    fn number(&mut self) -> Option<u64> {
        let end = self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at_checked(end)?;
        self.0 = rest;
        let has_zero = digits.len() > 1 && digits.starts_with('0');
        let is_whole = !rest.starts_with(['.', 'e', 'E']);
        (is_whole && !has_zero).then(|| digits.parse().ok())?
    }

    fn text(&mut self) -> Option<String> {
        self.takes("\"").then_some(())?;
        let mut out = String::new();
        loop {
            let end = self.0.find(|c: char| c == '"' || c == '\\' || c < ' ')?;
            let (plain, rest) = self.0.split_at_checked(end)?;
            out.push_str(plain);
            self.0 = rest;
            if self.takes("\"") {
                return Some(out);
            }
            self.takes("\\").then_some(())?;
            out.push(self.escaped()?);
        }
    }

    fn escaped(&mut self) -> Option<char> {
        let mut rest = self.0.chars();
        let letter = rest.next()?;
        self.0 = rest.as_str();
        Some(match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let first = self.unit()?;
                if !(0xd800..0xdc00).contains(&first) {
                    return char::from_u32(first);
                }
                let second = self.takes("\\u").then(|| self.unit())??;
                let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + low)?
            }
            _ => return None,
        })
    }

    fn unit(&mut self) -> Option<u32> {
        let (digits, rest) = self.0.split_at_checked(4)?;
        self.0 = rest;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read() {
        let value = parse(r#" {"a": [1, true, null, []], "b": {"c": "x\n\"\u00e9\ud83d\ude00/"}} "#).unwrap();
        assert_eq!(value.get("b").unwrap().get("c").unwrap().text(), Some("x\n\"é😀/"));
        let list = vec![Value::Number(1), Value::Bool(true), Value::Null, Value::List(vec![])];
        assert_eq!(value.get("a"), Some(&Value::List(list)));
        assert_eq!(value.get("none"), None);
    }

    #[test]
    fn what_is_no_json_is_refused() {
        let deep = "[".repeat(1_000_000);
        for text in [
            "",
            "{",
            "{]",
            "{\"a\":1,}",
            "{\"a\":1,\"a\":2}",
            "[1 2]",
            "01",
            "1.5",
            "1e3",
            "-1",
            "nul",
            "\"a",
            "\"\n\"",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"\\u+041\"",
            "1 1",
            "{a:1}",
            "18446744073709551616",
            &deep,
        ] {
            assert_eq!(parse(text), None, "{}", text.get(..20).unwrap_or(text));
        }
    }
}
