//! Syntax: languages, trees, and the blocks of a file.

pub(crate) mod blocks;
pub(crate) mod language;
pub(crate) mod parse;
