//! Why a request has no result, in words that let its sender write a better one.
//!
//! Codes, messages and near names come in; an answer goes out in `answer`. These are answers and no failures of the
//! listener: the call has its result, and no one has to look after it.

use systole_folder::{PathFault, PathFaultKind};

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeFault {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// Names that were probably meant, best first.
    pub(crate) nearest: Vec<String>,
    pub(crate) fix: Option<String>,
}

/// There is no such file, folder or symbol.
pub(crate) const NOT_FOUND: &str = "code.not-found";
/// The path leaves the folder.
pub(crate) const OUTSIDE_ROOT: &str = "code.outside-root";
/// The file is on the deny list.
pub(crate) const DENIED: &str = "code.denied";
/// The file is larger than the limit.
pub(crate) const TOO_LARGE: &str = "code.too-large";
/// The file is no text: it is binary, a folder, or no regular file.
pub(crate) const NO_TEXT: &str = "code.no-text";
/// The pattern cannot be read.
pub(crate) const BAD_PATTERN: &str = "code.bad-pattern";
/// The query cannot be read.
pub(crate) const BAD_QUERY: &str = "code.bad-query";
/// There is no such line.
pub(crate) const BAD_LINES: &str = "code.bad-lines";

impl CodeFault {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> CodeFault {
        CodeFault { code, message: message.into(), nearest: Vec::new(), fix: None }
    }

    pub(crate) fn with_fix(self, fix: impl Into<String>) -> CodeFault {
        CodeFault { fix: Some(fix.into()), ..self }
    }

    pub(crate) fn with_nearest(self, nearest: Vec<String>) -> CodeFault {
        CodeFault { nearest, ..self }
    }
}

impl From<PathFault> for CodeFault {
    fn from(fault: PathFault) -> CodeFault {
        let (code, fix) = match fault.kind {
            PathFaultKind::Missing => (NOT_FOUND, None),
            PathFaultKind::Outside => (OUTSIDE_ROOT, Some("a path from that folder, as src/main.rs")),
            PathFaultKind::Denied => (DENIED, Some("another file")),
            PathFaultKind::Link => (DENIED, Some("the folder to which it leads")),
            PathFaultKind::TooLarge => (TOO_LARGE, Some("a smaller file")),
            PathFaultKind::Folder => {
                (NO_TEXT, Some("a file in it; <search> finds one, with the folder as <path>"))
            }
            PathFaultKind::NoText => (NO_TEXT, None),
        };
        CodeFault { code, message: fault.message, nearest: Vec::new(), fix: fix.map(str::to_owned) }
    }
}
