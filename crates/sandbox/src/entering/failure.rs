//! The words for a restriction that failed.

/// The operating system's error, with what was tried.
pub(super) fn explain_failure(what: &str, error: impl Into<std::io::Error>) -> String {
    let error: std::io::Error = error.into();
    let words = error.to_string();
    let words = words.split(" (os error").next().unwrap_or_default();
    format!("cannot {what}: {words}")
}
