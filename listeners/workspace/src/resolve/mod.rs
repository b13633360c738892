//! From a request to an order: each edit is worked out against the files, and nothing is changed.

pub(crate) mod plan;
pub(crate) mod realize;
