//! Why an element of a change set does not fit, in words that let its sender write a better one.
//!
//! Codes and messages come in; results go out in `outcome`. These are answers and no failures of the listener.

use systole_folder::{PathFault, PathFaultKind};

/// Why an element does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ElementFault {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// There is no such file.
pub(crate) const NOT_FOUND: &str = "workspace.not-found";
/// There is a file of that name.
pub(crate) const EXISTS: &str = "workspace.exists";
/// The path leaves the folder.
pub(crate) const OUTSIDE_ROOT: &str = "workspace.outside-root";
/// The file is on the deny list.
pub(crate) const DENIED: &str = "workspace.denied";
/// The path cannot be written as one.
pub(crate) const BAD_PATH: &str = "workspace.bad-path";
/// The file, or the whole change, is larger than the limit.
pub(crate) const TOO_LARGE: &str = "workspace.too-large";
/// The file is no text, or a touched line cannot be shown.
pub(crate) const NO_TEXT: &str = "workspace.no-text";
/// The text to replace is not in the file.
pub(crate) const NO_MATCH: &str = "workspace.no-match";
/// The text to replace is in the file more than once.
pub(crate) const AMBIGUOUS: &str = "workspace.ambiguous";
/// The file is not the one that the sender knew.
pub(crate) const STALE: &str = "workspace.stale";
/// There is no such line.
pub(crate) const BAD_LINE: &str = "workspace.bad-line";
/// The patch cannot be read.
pub(crate) const BAD_PATCH: &str = "workspace.bad-patch";
/// The edit changes nothing.
pub(crate) const UNCHANGED: &str = "workspace.unchanged";
/// The folder of a command cannot be used.
pub(crate) const BAD_FOLDER: &str = "workspace.bad-folder";
/// What a session keeps cannot be shown.
pub(crate) const BAD_SESSION: &str = "workspace.bad-session";
/// A package has no plain name.
pub(crate) const BAD_PACKAGE: &str = "workspace.bad-package";
/// There is no such change set, or it cannot be taken back.
pub(crate) const NO_UNDO: &str = "workspace.no-undo";
/// The element is not known here.
pub(crate) const UNKNOWN_ELEMENT: &str = "workspace.unknown-element";
/// The file changed after the change set was resolved.
pub(crate) const CHANGED: &str = "workspace.changed";
/// The operating system did not let the file be written.
pub(crate) const NOT_WRITTEN: &str = "workspace.not-written";

impl ElementFault {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> ElementFault {
        ElementFault { code, message: message.into() }
    }
}

impl From<PathFault> for ElementFault {
    fn from(fault: PathFault) -> ElementFault {
        let (code, fix) = match fault.kind {
            PathFaultKind::Missing => (NOT_FOUND, ""),
            PathFaultKind::Outside => (OUTSIDE_ROOT, "; write a path from that folder, as src/main.rs"),
            PathFaultKind::Denied | PathFaultKind::Link => (DENIED, "; it cannot be changed here"),
            PathFaultKind::TooLarge => (TOO_LARGE, ""),
            PathFaultKind::Folder | PathFaultKind::NoText => (NO_TEXT, ""),
        };
        ElementFault::new(code, format!("{}{fix}", fault.message))
    }
}
