//! Texts: files as lines, where a wanted text is in them, how two texts differ, and how hostile ones are shown.

pub(crate) mod document;
pub(crate) mod find;
pub(crate) mod hunk;
pub(crate) mod pieces;
pub(crate) mod similarity;
pub(crate) mod visible_text;
