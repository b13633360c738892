//! The limits that the gate applies to every document.
//!
//! It does not decide what happens to a document that exceeds them: the gate does. Numbers go out.

/// What one document may cost. A payload's depth counts from its own element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentLimits {
    /// The most bytes of one payload, and of a document from outside that carries one.
    pub message_bytes: usize,
    /// The most bytes of one reply, which may carry several payloads.
    pub reply_bytes: usize,
    /// The most items of one reply. It bounds the cost of reading; the pump decides how many items a call may
    /// have.
    pub items: usize,
    /// The deepest nesting of elements.
    pub depth: usize,
    /// The most attributes of one element, declarations not counted.
    pub attributes: usize,
    /// The most namespace declarations of one element.
    pub declarations: usize,
    /// The most bytes of one element or attribute name, including its prefix.
    pub name_bytes: usize,
}

impl DocumentLimits {
    /// The limits for documents that the pump wrote. Its payloads passed the gate one by one, and a later turn
    /// carries many of them inside `<answers>`. So only the limits that bound the reader's own memory remain.
    pub const FROM_PUMP: Self =
        Self { message_bytes: usize::MAX, reply_bytes: usize::MAX, depth: 256, ..Self::DEFAULT };

    const DEFAULT: Self = Self {
        message_bytes: 1 << 20,
        reply_bytes: 8 << 20,
        items: 1024,
        depth: 64,
        attributes: 64,
        declarations: 32,
        name_bytes: 256,
    };
}

// A reply must have room for at least one payload of the largest size with its wrapping.
const _: () = assert!(DocumentLimits::DEFAULT.reply_bytes > 2 * DocumentLimits::DEFAULT.message_bytes);

impl Default for DocumentLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Bytes of a file that a client sends for a message.
pub const FILE_BYTES: usize = 8 << 20;

// What the reader keeps and shows

/// Bytes of a stray piece without a line feed, or of a start tag that is still examined.
pub const STRAY_BYTES: usize = 64 << 10;
/// Bytes for the tags of a reply around its items, with some room.
pub(crate) const REPLY_TAGS: usize = 1 << 10;
/// Bytes of a model's name, and of the reason why a model stopped.
pub(crate) const WORD_BYTES: usize = 256;
/// Characters of hostile text that a refusal quotes.
pub(crate) const EXCERPT_CHARS: usize = 80;
