//! What is said of a request that cannot be read, or not be answered now.

use std::borrow::Cow;

use systole_core::types::codes::Code;
use systole_core::types::refusal::Refusal;

/// What an operator does about a log that cannot be read for a client.
pub const LOOK: &str = "systole doctor, where the log is";

/// A request that cannot be read: a header, a part of the address, or an order.
pub fn describe_unfit_request(words: impl Into<Cow<'static, str>>) -> Refusal {
    // The general fix of the code refers to the schema of a payload, and there is none.
    Refusal::new(Code::Invalid, words).fixed_by("correct it and send the request again; nothing was recorded")
}

/// The organism is stopping, or has stopped.
pub fn describe_stopping() -> Refusal {
    let words = "the organism is stopping";
    Refusal::new(Code::IngressUnavailable, words).fixed_by("send it again later, with the same key")
}
