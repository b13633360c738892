//! The limits of what clients send.

/// Bytes of the name of an element among all that a client may send: hosts of tools refuse longer ones.
pub(crate) const ELEMENT_NAME_BYTES: usize = 64;
/// Files of one question, as its schema has it.
pub const QUESTION_FILES: usize = 16;
/// Bytes of the files of an answer that are sent along: those of one message.
pub(crate) const ANSWER_FILE_BYTES: usize = 8 << 20;
/// How deep the data of a message may be nested.
pub(crate) const DATA_DEPTH: usize = 128;
/// Bytes of the longest way to write the key `"data"` in JSON: each letter as an escape.
pub(crate) const DATA_KEY: usize = 26;
/// Bytes of one word in refused JSON that may be something else than a file: a hash has 64 digits.
pub(crate) const PLAIN_WORD: usize = 80;
