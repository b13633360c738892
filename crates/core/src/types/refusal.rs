//! A refusal: what a sender is told about its own bytes, worded so that it can mend them from that
//! text alone. What the log keeps beside it is the refused bytes, named by their hash.

use std::borrow::Cow;

use super::codes::Code;
use super::ids::Digest;

/// Why something was refused. `code` and `message` always stand; the rest where it is known.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "a refusal that nobody is told is a silent loss"]
pub struct Refusal {
    /// The code.
    pub code: Code,
    /// One sentence: the place, the value, the limit.
    pub message: Cow<'static, str>,
    /// The refused element's local name.
    pub element: Option<String>,
    /// The path to the place inside the payload.
    pub path: Option<String>,
    /// Line and column in the bytes as their sender wrote them, both from 1.
    pub at: Option<(u32, u32)>,
    /// What would have been taken.
    pub expected: Option<String>,
    /// What came.
    pub received: Option<String>,
    /// The smallest piece of the schema that says so.
    pub schema: Option<String>,
    /// The mend.
    pub fix: Option<String>,
    /// The hash of the refused bytes, which the log keeps.
    pub hash: Option<Digest>,
}

impl Refusal {
    /// A refusal with a code and a sentence. One of a payload or of a reply begins with the mend that the table
    /// of codes knows, since whoever is told of it has to go on; a nearer one takes its place.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal {
            code,
            message: message.into(),
            element: None,
            path: None,
            at: None,
            expected: None,
            received: None,
            schema: None,
            fix: known_mend(code).map(str::to_owned),
            hash: None,
        }
    }

    /// With what would have been taken.
    pub fn expecting(mut self, expected: impl Into<String>) -> Refusal {
        self.expected = Some(expected.into());
        self
    }

    /// With what came.
    pub fn receiving(mut self, received: impl Into<String>) -> Refusal {
        self.received = Some(received.into());
        self
    }

    /// Where in the payload.
    pub fn in_place(mut self, path: impl Into<String>) -> Refusal {
        self.path = Some(path.into());
        self
    }

    /// With the mend.
    pub fn mended_by(mut self, fix: impl Into<String>) -> Refusal {
        self.fix = Some(fix.into());
        self
    }

    /// With the element that was refused.
    pub fn of_element(mut self, element: impl Into<String>) -> Refusal {
        self.element = Some(element.into());
        self
    }
}

/// What helps against every refusal of that code that a sender is told of its own bytes.
fn known_mend(code: Code) -> Option<&'static str> {
    match code {
        // The table's own words point to the mend that a refusal has; this is for those without a nearer one.
        Code::Invalid => {
            Some("compare it with its schema: `<describe element=\"…\"/>` tells a listener the whole form")
        }
        _ => matches!(code.family(), "payload" | "reply").then(|| code.mend()),
    }
}
