//! The tree of a file: values with their places, as `yaml` parses them. Plain values; nothing here reads a file.

/// A span of the text, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A value with its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) span: Span,
    pub(super) value: Value,
}

impl Node {
    /// Whether the value is empty, in any of its spellings.
    pub(super) fn is_empty(&self) -> bool {
        match &self.value {
            Value::Nothing => true,
            Value::Text { text, .. } => text.is_empty(),
            _ => false,
        }
    }

    /// The value under a key of a map.
    pub(super) fn child(&self, key: &str) -> Option<&Node> {
        let Value::Map(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }
}

/// The kind of a value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Nothing: a key without a value, `~` or `null`.
    Nothing,
    /// A value in a forbidden form, which was already reported.
    Reported,
    /// A scalar as written. `plain` means without quotes.
    Text { text: String, plain: bool },
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the file.
    Map(Vec<Entry>),
}

/// A key of a map with its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) at: Span,
    pub(super) value: Node,
}
