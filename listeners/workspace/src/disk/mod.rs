//! The files of a change set, all written or none, and the journal beside them that makes it so.

pub(crate) mod journal;
pub(crate) mod swap;
pub(crate) mod undoing;
pub(crate) mod writing;
