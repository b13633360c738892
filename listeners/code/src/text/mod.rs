//! What search knows without files: the query language, words and stems, ranking, ranges of lines.

pub(crate) mod merge;
pub(crate) mod query;
pub(crate) mod rank;
pub(crate) mod scan;
pub(crate) mod tokens;
