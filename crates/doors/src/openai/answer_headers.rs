//! The headers of an answer.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// The thread of an answer, and the keys of its request that change nothing.
pub(super) fn write_headers(thread: &str, ignored: &str) -> HeaderMap {
    let told = [("systole-thread", thread), ("systole-ignored", ignored)];
    let told = told.into_iter().filter(|(_, value)| !value.is_empty());
    told.filter_map(|(name, value)| Some((HeaderName::from_static(name), HeaderValue::from_str(value).ok()?)))
        .collect()
}
