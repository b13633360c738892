//! Values that programs read as text: moments, hashes and ids, as a page and a terminal show them.

use std::fmt::Display;

use serde::Serializer;

/// Writes a value as its text.
pub(crate) fn write_text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// The same for a value that may be missing.
pub(crate) fn write_any_text<S: Serializer>(
    value: &Option<impl Display>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}
