//! Values of the keys of a step, as they are written. Plain data.

use super::super::tree::Span;
use super::super::value::At;

/// Who takes tasks of a goal's agent.
pub(crate) struct Tasks {
    pub(crate) by: At<String>,
    pub(crate) at_most: u32,
    /// Who supervises each task.
    pub(crate) supervise: Option<At<String>>,
}

/// The sources of a call's fields.
pub(crate) enum With {
    /// The fields of this goal's output with the same names.
    Goal(At<String>),
    /// One field, with the path of its value.
    Path { field: At<String>, path: At<String> },
    /// One field, with a text from the file.
    Text { field: At<String>, text: At<String> },
    /// An unreadable one, which was already reported.
    Unread,
}

pub(crate) enum Until {
    /// With its place.
    Converged(Span),
    Holds(Vec<Condition>),
}

/// A declared condition.
pub(crate) struct Condition {
    pub(crate) path: At<String>,
    /// The accepted values.
    pub(crate) wanted: Vec<Wanted>,
    /// The place of the value.
    pub(crate) at: Span,
}

/// A written value or range.
pub(crate) struct Wanted {
    pub(crate) at: Span,
    pub(crate) text: String,
    /// Whether it has no quotes.
    pub(crate) is_plain: bool,
}
