//! What JSON Schema itself means: which keywords only describe, and where a reference leads.
//!
//! Keywords and pointers come in; nothing is remarked here.

use serde_json::Value;

/// Keywords that say nothing about which values are valid.
pub(super) fn is_annotation(keyword: &str) -> bool {
    let known = [
        "$schema",
        "$id",
        "$comment",
        "$defs",
        "definitions",
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "format",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "$anchor",
        "$dynamicAnchor",
        "$vocabulary",
        "id",
    ];
    known.contains(&keyword) || keyword.starts_with("x-")
}

/// The schema at a pointer such as `#/$defs/name`.
pub(super) fn find_target<'s>(root: &'s Value, pointer: &str) -> Option<&'s Value> {
    let pointer = pointer.strip_prefix('#')?;
    root.pointer(&decode_percent(pointer))
}

/// A fragment without its percent escapes; a broken escape stays as it is.
fn decode_percent(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}
