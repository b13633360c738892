//! A refusal: the message to a sender about its own bytes, worded so that the sender can fix them from that
//! text alone. The log also keeps the refused bytes, identified by their hash.

use std::borrow::Cow;
use std::num::NonZeroU32;

use super::codes::Code;
use super::ids::Digest;

/// Why something was refused. `code` and `message` are always set; the other fields are set if known.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "a refusal that its sender never gets is a silent loss"]
pub struct Refusal {
    /// The code.
    pub code: Code,
    /// For a failure that a listener reported: the code that the first cause has.
    pub first_code: Option<Box<str>>,
    /// One sentence: the place, the value, the limit.
    pub message: Cow<'static, str>,
    /// The refused element's local name.
    pub element: Option<String>,
    /// The path to the place inside the payload.
    pub path: Option<String>,
    /// Line and column in the sender's bytes, both from 1.
    pub at: Option<(u32, u32)>,
    /// The accepted values.
    pub expected: Option<String>,
    /// The value that came.
    pub received: Option<String>,
    /// The smallest part of the schema with this rule.
    pub schema: Option<Box<str>>,
    /// The fix.
    pub fix: Option<String>,
    /// The hash of the refused bytes, which the log keeps.
    pub hash: Option<Digest>,
    /// In how many seconds the sender may send the same again.
    pub wait_s: Option<NonZeroU32>,
}

impl Refusal {
    /// A refusal with a code and a sentence. A refusal of a payload or a reply starts with the general fix from
    /// the table of codes. A more specific fix replaces it.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal {
            code,
            first_code: None,
            message: message.into(),
            element: None,
            path: None,
            at: None,
            expected: None,
            received: None,
            schema: None,
            fix: known_fix(code).map(str::to_owned),
            hash: None,
            wait_s: None,
        }
    }

    /// Adds the accepted values.
    pub fn with_expected(mut self, expected: impl Into<String>) -> Refusal {
        self.expected = Some(expected.into());
        self
    }

    /// Adds the value that came.
    pub fn with_received(mut self, received: impl Into<String>) -> Refusal {
        self.received = Some(received.into());
        self
    }

    /// Adds the place in the payload.
    pub fn in_place(mut self, path: impl Into<String>) -> Refusal {
        self.path = Some(path.into());
        self
    }

    /// Adds the fix.
    pub fn fixed_by(mut self, fix: impl Into<String>) -> Refusal {
        self.fix = Some(fix.into());
        self
    }

    /// Adds the refused element.
    pub fn of_element(mut self, element: impl Into<String>) -> Refusal {
        self.element = Some(element.into());
        self
    }
}

/// The general fix for refusals with this code, if a sender gets it about its own bytes.
fn known_fix(code: Code) -> Option<&'static str> {
    match code {
        // The table's fix refers to the fix in the refusal. This one is for refusals without a more specific
        // fix.
        Code::Invalid => {
            Some("compare it with its schema: `<describe element=\"…\"/>` tells a listener the whole form")
        }
        _ => matches!(code.family(), "payload" | "reply").then(|| code.fix()),
    }
}
