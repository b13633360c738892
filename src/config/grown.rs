//! A file with one more entry in a section, in whichever way the file is laid out: to be checked, so that whoever
//! asks what would become of a name is told the same everywhere.
//!
//! In comes the text and an entry on one line, out comes the text with it; none where its layout is one that nobody
//! should edit. It never judges the result, and nothing of it is ever written down.

use std::sync::Arc;

use super::desk::{Desk, Given};
use super::yaml::{self, Entry, Node, Value};

/// The text with that entry, `NAME: {…}`, in that section, which is made where it is not there.
pub fn grown(text: &str, section: &str, entry: &str) -> Option<String> {
    let text: Arc<str> = text.into();
    let mut desk = Desk::new("", &text, &[], Given::Any);
    let stretch = desk.file();
    let root = yaml::read(&mut desk, stretch)?;
    let Value::Map(sections) = &root.value else { return None };
    match sections.iter().find(|one| one.key == section) {
        Some(found) => put(&text, &found.value, entry),
        None => put(&text, &root, &format!("{section}: {{{entry}}}")),
    }
}

/// The text with one more entry in a map: before the bracket that ends it, or in a line before its first.
fn put(text: &str, map: &Node, entry: &str) -> Option<String> {
    let Value::Map(entries) = &map.value else { return None };
    if text.get(map.span.start..)?.starts_with('{') {
        let end = map.span.end.checked_sub(1)?;
        let (before, after) = (text.get(..end)?, text.get(end..)?);
        let follows = !entries.is_empty() && !before.trim_end().ends_with(',');
        // A line of its own: what stands before it may be a remark.
        let comma = if follows { "\n , " } else { "\n " };
        return after.starts_with('}').then(|| [before, comma, entry, after].concat());
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
            let put = grown(text, "listeners", "new: {}");
            assert_eq!(put.as_deref(), Some(wanted), "{text}");
            assert!(put.is_some_and(|put| grown(&put, "listeners", "more: {}").is_some()), "{text}");
        }
    }

    #[test]
    fn what_is_no_map_is_left_alone() {
        for text in ["listeners: [a]\n", "listeners: a\n", "- a\n", "? listeners\n: {b: {}}\n", ""] {
            let put = grown(text, "listeners", "new: {}");
            assert!(put.is_none() || text.starts_with('?'), "{text}: {put:?}");
        }
    }
}
