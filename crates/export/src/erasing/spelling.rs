//! How texts may repeat what is erased: the spellings of a value that are looked for.

use std::collections::BTreeSet;

use systole_core::types::record::RecordCode;
use systole_kit::{characters, writer};

use crate::limits;

/// Texts of which nothing may be left.
#[derive(Debug, Default)]
pub(super) struct ErasedTexts {
    forms: BTreeSet<String>,
}

impl ErasedTexts {
    /// Adds a marked value. Returns whether it is too short to be looked for.
    pub(super) fn add_value(&mut self, value: &[u8]) -> bool {
        let value = String::from_utf8_lossy(value);
        if value.len() < limits::SHORTEST {
            return true;
        }
        self.add_spellings(&value, limits::SHORTEST);
        if value.contains('<') {
            list_texts(&value).into_iter().for_each(|text| self.add_spellings(text, limits::SHORTEST));
        }
        false
    }

    /// Adds the texts of a body that goes whole.
    pub(super) fn add_body(&mut self, body: &[u8]) {
        let body = String::from_utf8_lossy(body);
        let mut found = list_texts(&body);
        found.sort_by_key(|text| std::cmp::Reverse(text.len()));
        found.dedup();
        // A code is in every refusal of its kind, and says nothing of what was refused.
        found.retain(|text| RecordCode::parse(text).is_none());
        found
            .into_iter()
            .take(limits::MOST_TEXTS)
            .for_each(|text| self.add_spellings(text, limits::SHORTEST_TEXT));
    }

    /// Adds a text as payloads, prompts and JSON write it.
    fn add_spellings(&mut self, raw: &str, shortest: usize) {
        let escaped = |text: &str, in_attribute: bool| {
            let mut bytes = Vec::new();
            writer::escape(&mut bytes, text, in_attribute);
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let mut forms = vec![raw.to_owned()];
        for plain in [read_text(raw), characters::unescape_value(raw).into_owned()] {
            let json = serde_json::Value::from(plain.as_str()).to_string();
            let json = json.get(1..json.len() - 1).unwrap_or_default().to_owned();
            forms.extend([escaped(&plain, false), escaped(&plain, true), escaped(&json, false), json, plain]);
        }
        self.forms.extend(forms.into_iter().filter(|form| form.trim().len() >= shortest));
    }

    /// Whether a text repeats one of them.
    pub(super) fn are_in(&self, text: &str) -> bool {
        self.forms.iter().any(|form| text.contains(form.as_str()))
    }

    /// Every form.
    pub(super) fn forms(&self) -> impl Iterator<Item = &str> {
        self.forms.iter().map(String::as_str)
    }
}

/// The text with its references resolved, and without the marks of a CDATA section.
fn read_text(raw: &str) -> String {
    let inside = raw.strip_prefix("<![CDATA[").and_then(|rest| rest.strip_suffix("]]>"));
    if let Some(inside) = inside {
        return inside.to_owned();
    }
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once('&') {
        text.push_str(before);
        rest = after;
        match after
            .split_once(';')
            .and_then(|(name, tail)| Some((characters::resolve_reference(name)?, tail)))
        {
            Some((character, tail)) => {
                text.push(character);
                rest = tail;
            }
            None => text.push('&'),
        }
    }
    text.push_str(rest);
    text
}

/// What an XML text says: what is between its tags and in its attributes. Names of namespaces are left out.
fn list_texts(xml: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = xml;
    while let Some((text, tag)) = rest.split_once('<') {
        found.push(text.trim());
        rest = tag;
        if let Some(cdata) = tag.strip_prefix("![CDATA[") {
            let (inside, after) = cdata.split_once("]]>").unwrap_or((cdata, ""));
            found.push(inside.trim());
            rest = after;
            continue;
        }
        while let Some((before, mark)) =
            rest.find(['>', '"', '\'']).and_then(|at| Some((rest.get(..at)?, rest.get(at..)?)))
        {
            let (quote, inside) = mark.split_at(1);
            rest = inside;
            if quote == ">" {
                break;
            }
            let (value, after) = inside.split_once(quote).unwrap_or((inside, ""));
            if !before.trim_start().starts_with("xmlns") && !before.contains(" xmlns") {
                found.push(value.trim());
            }
            rest = after;
        }
    }
    found.push(rest.trim());
    found.retain(|text| !text.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_a_payload_are_found_without_its_namespaces() {
        let body = "<p:pay xmlns:p='urn:one>' xmlns=\"urn:two\" sum=\"a > b\"><p:name>Ann &lt; Lee</p:name> \
                    <![CDATA[ x<y ]]><e/></p:pay>";
        assert_eq!(list_texts(body), ["a > b", "Ann &lt; Lee", "x<y"]);
        assert_eq!(list_texts("no markup"), ["no markup"]);
        assert_eq!(list_texts("<a b='"), [""; 0]);
    }

    #[test]
    fn a_value_is_found_as_payloads_prompts_and_json_write_it() {
        let mut erased = ErasedTexts::default();
        assert!(erased.add_value(b"abc"), "too short");
        assert!(!erased.add_value(b"Ann &lt; \"Lee\"&#10;Oslo"));
        for text in [
            "<a>Ann &lt; \"Lee\"&#10;Oslo</a>",
            "said Ann < \"Lee\"\nOslo.",
            "<a b='Ann &lt; &quot;Lee&quot;&#10;Oslo'/>",
            "{\"a\":\"Ann < \\\"Lee\\\"\\nOslo\"}",
            "<j>{\"a\":\"Ann &lt; \\\"Lee\\\"\\nOslo\"}</j>",
        ] {
            assert!(erased.are_in(text), "{text}");
        }
        assert!(!erased.are_in("Ann Lee, Oslo, abc"));
        let mut erased = ErasedTexts::default();
        erased.add_body(b"<a xmlns='urn:something'><b>Ann Lee, Oslo</b><c>yes</c></a>");
        assert!(erased.are_in("Ann Lee, Oslo") && !erased.are_in("urn:something yes"));
    }
}
