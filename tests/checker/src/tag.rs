//! The start tag of a core payload: its name, its attributes, and the content of the element.
//!
//! This is not an XML parser. The core writes its own payloads in one form, with its namespace as
//! the default, and only those are read, from records that the core sent. Any other body gives
//! none.

/// The namespace of messages that only the core sends.
const CORE: &str = "https://xml-pipeline.org/ns/core/v1";

/// The namespace of messages from listeners to the core, which is also that of stored journal
/// entries.
const LISTENER: &str = "urn:systole:listener:v1";

/// The root element of a core payload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BodyTag<'b> {
    /// Its local name.
    pub(crate) name: &'b str,
    attributes: Vec<(&'b str, String)>,
    /// The bytes between start tag and end tag.
    pub(crate) inside: &'b str,
}

impl BodyTag<'_> {
    /// The value of an attribute.
    pub(crate) fn find_attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(found, _)| *found == name).map(|(_, value)| value.as_str())
    }

    /// The value of an attribute that is a whole number.
    pub(crate) fn read_number(&self, name: &str) -> Option<u32> {
        self.find_attribute(name)?.parse().ok()
    }

    /// The same for a number that may be large.
    pub(crate) fn read_large(&self, name: &str) -> Option<u64> {
        self.find_attribute(name)?.parse().ok()
    }

    /// The value of an attribute that is an amount of money, in millionths of its currency's unit.
    pub(crate) fn read_micros(&self, name: &str) -> Option<u64> {
        let (amount, _currency) = self.find_attribute(name)?.split_once(' ')?;
        let (whole, part) = amount.split_once('.').unwrap_or((amount, ""));
        let part: u64 = format!("{part:0<6}").parse().ok()?;
        whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(part)
    }
}

/// Reads the root of a body; none if it is not a core payload in the form that the core writes.
pub(crate) fn parse_root(body: &[u8]) -> Option<BodyTag<'_>> {
    root_in(CORE, body)
}

/// Reads a journal entry, which the core records for its listener.
pub(crate) fn parse_entry(body: &[u8]) -> Option<BodyTag<'_>> {
    root_in(LISTENER, body).filter(|tag| tag.name == "journal")
}

fn root_in<'b>(ns: &str, body: &'b [u8]) -> Option<BodyTag<'b>> {
    let text = std::str::from_utf8(body).ok()?.strip_prefix('<')?;
    let end = text.find([' ', '/', '>'])?;
    let (name, mut rest) = text.split_at_checked(end)?;
    let mut attributes = Vec::new();
    let inside = loop {
        rest = rest.trim_start_matches(' ');
        if rest == "/>" {
            break "";
        }
        if let Some(rest) = rest.strip_prefix('>') {
            break rest.strip_suffix('>')?.strip_suffix(name)?.strip_suffix("</")?;
        }
        let (attribute, after) = rest.split_once("=\"")?;
        let (value, after) = after.split_once('"')?;
        attributes.push((attribute, unescape_value(value)?));
        rest = after;
    };
    let tag = BodyTag { name, attributes, inside };
    (tag.find_attribute("xmlns") == Some(ns)).then_some(tag)
}

fn unescape_value(value: &str) -> Option<String> {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('&') {
        let (entity, after) = after.split_once(';')?;
        out.push_str(before);
        out.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            numeric => {
                let digits = numeric.strip_prefix('#')?;
                let code = match digits.strip_prefix('x') {
                    Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                    None => digits.parse().ok()?,
                };
                char::from_u32(code)?
            }
        });
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_payload_is_taken_apart() {
        let body = br#"<a xmlns="https://xml-pipeline.org/ns/core/v1" id="x&amp;&#10;y" n="3"><b/></a>"#;
        let tag = parse_root(body).unwrap();
        assert_eq!((tag.name, tag.find_attribute("id"), tag.read_number("n")), ("a", Some("x&\ny"), Some(3)));
        assert_eq!(tag.inside, "<b/>");
        let empty = parse_root(br#"<a xmlns="https://xml-pipeline.org/ns/core/v1"/>"#).unwrap();
        assert_eq!((empty.name, empty.inside), ("a", ""));
    }

    #[test]
    fn what_is_no_core_payload_is_none() {
        for body in [
            "",
            "<",
            "<a",
            "<a/>",
            r#"<a xmlns="urn:other"/>"#,
            r#"<c:a xmlns:c="https://xml-pipeline.org/ns/core/v1"/>"#,
            r#"<a xmlns="https://xml-pipeline.org/ns/core/v1">"#,
            r#"<a xmlns="https://xml-pipeline.org/ns/core/v1" b="&nothing;"/>"#,
            r#"<a xmlns="https://xml-pipeline.org/ns/core/v1"></b>"#,
        ] {
            assert_eq!(parse_root(body.as_bytes()), None, "{body}");
        }
        assert_eq!(parse_root(&[b'<', 0xff]), None);
    }
}
