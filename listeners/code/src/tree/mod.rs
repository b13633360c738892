//! The files below the root: opening, listing, and the deny list.

pub(crate) mod deny;
pub(crate) mod nearest;
pub(crate) mod root;
pub(crate) mod walk;
