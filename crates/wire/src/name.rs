//! Names: which names are legal in XML with namespaces, and the expanded name that routing compares.
//!
//! It never normalises: names that look alike but differ in a byte are different names. Text comes in; a
//! verdict or an owned name goes out.

use std::fmt;
use std::sync::Arc;

/// An expanded name. Two are equal only if both parts are, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QName {
    /// The namespace, never empty.
    pub ns: Arc<str>,
    /// The local name.
    pub local: Arc<str>,
}

impl QName {
    /// The name `local` in the namespace `ns`.
    #[must_use]
    pub fn new(ns: &str, local: &str) -> Self {
        Self { ns: Arc::from(ns), local: Arc::from(local) }
    }

    /// Whether this is `local` in `ns`.
    #[must_use]
    pub fn is_named(&self, ns: &str, local: &str) -> bool {
        *self.ns == *ns && *self.local == *local
    }
}

impl fmt::Display for QName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{{{}}}{}", self.ns, self.local)
    }
}

/// Whether `text` is an NCName: a legal XML name without a colon.
#[must_use]
pub fn is_ncname(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(begins_name) && characters.all(continues_name)
}

/// Splits a qualified name into prefix (empty if there is none) and local name; `None` if it is not legal.
#[must_use]
pub fn split_prefix(name: &str) -> Option<(&str, &str)> {
    // Names are short: a search made for long texts costs more to set up than this loop takes.
    let colon = name.bytes().position(|byte| byte == b':');
    match colon.and_then(|at| Some((name.get(..at)?, name.get(at + 1..)?))) {
        None => is_ncname(name).then_some(("", name)),
        Some((prefix, local)) => (is_ncname(prefix) && is_ncname(local)).then_some((prefix, local)),
    }
}

/// Whether a name may begin with this character. The colon is excluded, because namespaces use it.
#[must_use]
pub fn begins_name(character: char) -> bool {
    matches!(character,
        'a'..='z' | 'A'..='Z' | '_'
        | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
        | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}'
        | '\u{2070}'..='\u{218f}' | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}'
        | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}' | '\u{10000}'..='\u{effff}')
}

fn continues_name(character: char) -> bool {
    begins_name(character)
        || matches!(character, '0'..='9' | '-' | '.' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}
