//! Texts whose characters a provider may have cut in two. JSON writes a character beyond U+FFFF as two UTF-16 halves
//! (`\ud83d\ude00`), and a provider that cuts its text anywhere sends each half in a different event.
//!
//! JSON strings come in, with lone halves. Texts go out in which halves are joined and lone ones are U+FFFD. It knows
//! no provider.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// Replaces a lone half.
const LONE: char = char::REPLACEMENT_CHARACTER;

/// The text of one JSON string, in UTF-8 except for lone halves, which are three bytes each (WTF-8).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HalvedText(Vec<u8>);

impl HalvedText {
    /// A value that should be a string. Any other value becomes its own JSON.
    pub(super) fn from_value(value: &RawValue) -> Self {
        serde_json::from_str(value.get()).unwrap_or_else(|_| Self(value.get().into()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text as a whole, without a continuation.
    pub(super) fn join_alone(&self) -> String {
        let mut half = PendingHalf::default();
        let text = half.join_next(self).into_owned();
        text + half.end_text()
    }
}

impl From<&str> for HalvedText {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl<'de> Deserialize<'de> for HalvedText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = HalvedText;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a string")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<HalvedText, E> {
                Ok(HalvedText(bytes.to_vec()))
            }
        }
        // As bytes, because a string with a lone half would be refused.
        from.deserialize_bytes(Bytes)
    }
}

/// The first half of a character at the end of a text that may continue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PendingHalf(Option<u16>);

impl PendingHalf {
    /// The next part of the text. A first half at its end is held back until more comes.
    pub(super) fn join_next<'t>(&mut self, more: &'t HalvedText) -> Cow<'t, str> {
        if let (None, Ok(text)) = (self.0, std::str::from_utf8(&more.0)) {
            return Cow::Borrowed(text);
        }
        let (mut text, mut rest) = (String::with_capacity(more.0.len() + 3), more.0.as_slice());
        while !rest.is_empty() {
            let length = std::str::from_utf8(rest).map_or_else(|fault| fault.valid_up_to(), str::len);
            let (valid, after) = rest.split_at(length);
            if let (1.., Ok(valid)) = (length, std::str::from_utf8(valid)) {
                text.push_str(self.end_text());
                text.push_str(valid);
                rest = after;
                continue;
            }
            let (half, after) = rest.split_at_checked(3).unwrap_or((rest, &[]));
            rest = after;
            let (first, second) = (self.0.take(), decode_unit(half));
            match char::decode_utf16(first.into_iter().chain([second])).next() {
                Some(Ok(whole)) => text.push(whole),
                _ => {
                    text.extend(first.map(|_| LONE));
                    if is_first(second) {
                        self.0 = Some(second);
                    } else {
                        text.push(LONE);
                    }
                }
            }
        }
        Cow::Owned(text)
    }

    /// The text is over. Returns the replacement for a half that was held back.
    pub(super) fn end_text(&mut self) -> &'static str {
        if self.0.take().is_some() { "\u{fffd}" } else { "" }
    }
}

/// The UTF-16 unit encoded in three bytes.
fn decode_unit(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |unit, byte| (unit << 6) | u16::from(byte & 0x3f)) | 0xd000
}

const fn is_first(unit: u16) -> bool {
    unit & 0xfc00 == 0xd800
}

const fn is_second(unit: u16) -> bool {
    unit & 0xfc00 == 0xdc00
}

/// JSON in which every lone half is U+FFFD, so that any parser accepts it. Text that is not JSON is otherwise
/// unchanged.
pub(super) fn repair_json(json: &str) -> Cow<'_, str> {
    let (mut repaired, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(found) = json.get(at..).and_then(|rest| rest.find('\\')) {
        let begin = at + found;
        at = match (read_escape(json, begin), read_escape(json, begin + 6)) {
            (Some(first), Some(second)) if is_first(first) && is_second(second) => begin + 12,
            (Some(half), _) if is_first(half) || is_second(half) => {
                repaired.push_str(json.get(copied..begin).unwrap_or_default());
                repaired.push_str("\\ufffd");
                copied = begin + 6;
                copied
            }
            (Some(_), _) => begin + 6,
            // An escape of one character, possibly another backslash.
            (None, _) => {
                begin
                    + 1
                    + json.get(begin + 1..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8)
            }
        };
    }
    if repaired.is_empty() {
        return Cow::Borrowed(json);
    }
    repaired.push_str(json.get(copied..).unwrap_or_default());
    Cow::Owned(repaired)
}

/// The unit of the escape at that offset.
fn read_escape(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at.checked_add(6)?)?.strip_prefix("\\u")?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok())?
}

/// A value, with any lone halves in its strings replaced.
pub(super) fn read_value(json: &str) -> serde_json::Result<Value> {
    serde_json::from_str(&repair_json(json))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn halved(json: &str) -> HalvedText {
        serde_json::from_str(json).expect("a string")
    }

    #[test]
    fn any_cut_between_units_gives_the_same_text() {
        let units: Vec<u16> =
            "a\u{1f600}\u{e9}\u{1f9e0}b".encode_utf16().chain([0xd83d, 0xdc00, 0xdc00, 0xd800]).collect();
        let whole = String::from_utf16_lossy(&units);
        let json = |units: &[u16]| {
            let escapes: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            halved(&format!("\"{escapes}\""))
        };
        for one in 0..=units.len() {
            for two in one..=units.len() {
                let mut half = PendingHalf::default();
                let cut = [&units[..one], &units[one..two], &units[two..]];
                let text: String = cut.iter().map(|part| half.join_next(&json(part)).into_owned()).collect();
                assert_eq!(text + half.end_text(), whole, "{one} {two}");
            }
        }
    }

    #[test]
    fn lone_halves_are_repaired_in_json_and_nothing_else_is() {
        for (json, read) in [
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\uDE00\uD83Dx""#, r#""\ufffd\ufffdx""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud83d \n\u00e9\"""#, r#""\\ud83d \n\u00e9\"""#),
            ("\\u12", "\\u12"),
            ("é\\é\\", "é\\é\\"),
            (r"\u+123", r"\u+123"),
        ] {
            assert_eq!(repair_json(json), read);
        }
        assert_eq!(read_value(r#"["\ud83d"]"#).expect("JSON"), serde_json::json!(["\u{fffd}"]));
    }
}
