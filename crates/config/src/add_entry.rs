//! Adds one entry to a section of a file, whatever its layout. The result is only checked, so that a name is judged
//! by the same rules everywhere.
//!
//! Input: the text, and an entry on one line. Output: the text with the entry, or `None` if the layout is one that
//! only a person should edit. This module does not judge the result, and the result is never written to disk.

use std::sync::Arc;

use super::diagnostics::{Diagnostics, Given};
use super::keys;
use super::tree::{Entry, Node, Value};
use super::yaml;

/// Adds the entry, `NAME: {…}`, to this section. A missing section is created.
pub fn add_entry(text: &str, section: &str, entry: &str) -> Option<String> {
    let text: Arc<str> = text.into();
    let mut diagnostics = Diagnostics::new("", &text, &[], Given::Any, keys::is_required);
    let stretch = diagnostics.file();
    let root = yaml::read(&mut diagnostics, stretch)?;
    let Value::Map(sections) = &root.value else { return None };
    match sections.iter().find(|one| one.key == section) {
        Some(found) => put(&text, &found.value, entry),
        None => put(&text, &root, &format!("{section}: {{{entry}}}")),
    }
}

/// Adds an entry to a map: before its closing bracket, or on a line before its first entry.
fn put(text: &str, map: &Node, entry: &str) -> Option<String> {
    let Value::Map(entries) = &map.value else { return None };
    if text.get(map.span.start..)?.starts_with('{') {
        let end = map.span.end.checked_sub(1)?;
        let (before, after) = (text.get(..end)?, text.get(end..)?);
        let follows = !entries.is_empty() && !before.trim_end().ends_with(',');
        // On its own line, because the text before it may end in a comment.
        let comma = if follows { "\n , " } else { "\n " };
        return after.starts_with('}').then(|| format!("{before}{comma}{entry}{after}"));
    }
    let Entry { at, .. } = entries.first()?;
    let start = text.get(..at.start)?.rfind('\n').map_or(0, |at| at + 1);
    let indent = text.get(start..at.start)?;
    let (before, after) = text.split_at_checked(at.start)?;
    indent.trim().is_empty().then(|| format!("{before}{entry}\n{indent}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_put_into_every_layout() {
        for (text, wanted) in [
            ("a: 1\nlisteners:\n  # one\n  b: {}\n", "a: 1\nlisteners:\n  # one\n  new: {}\n  b: {}\n"),
            ("listeners: {b: {}}\n", "listeners: {b: {}\n , new: {}}\n"),
            ("listeners: {b: {}, }\n", "listeners: {b: {}, \n new: {}}\n"),
            ("listeners: {b: {} # mine\n  }\n", "listeners: {b: {} # mine\n  \n , new: {}}\n"),
            ("{\"listeners\": {\"b\": {}}}", "{\"listeners\": {\"b\": {}\n , new: {}}}"),
            ("'listeners':\n    b: {}\n", "'listeners':\n    new: {}\n    b: {}\n"),
            ("a: 1\n", "listeners: {new: {}}\na: 1\n"),
            ("{a: 1}\n", "{a: 1\n , listeners: {new: {}}}\n"),
        ] {
            let put = add_entry(text, "listeners", "new: {}");
            assert_eq!(put.as_deref(), Some(wanted), "{text}");
            assert!(put.is_some_and(|put| add_entry(&put, "listeners", "more: {}").is_some()), "{text}");
        }
    }

    #[test]
    fn what_is_no_map_is_left_alone() {
        for text in ["listeners: [a]\n", "listeners: a\n", "- a\n", "? listeners\n: {b: {}}\n", ""] {
            let put = add_entry(text, "listeners", "new: {}");
            assert!(put.is_none() || text.starts_with('?'), "{text}: {put:?}");
        }
    }
}
