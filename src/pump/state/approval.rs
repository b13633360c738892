//! What waits for a person, as its call remembers it.

use serde::{Deserialize, Serialize};

use crate::words::approval::ApprovalId;
use crate::words::ids::Digest;
use crate::words::time::Millis;

/// A request for approval that has no answer yet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// The hash of the payload that waits.
    pub hash: Digest,
    /// When it was asked for.
    pub asked: Millis,
    /// When it expires.
    pub expires: Millis,
    /// The record that asks.
    pub seq: u64,
    /// The local name of the payload's root element.
    pub element: String,
    /// Whether it is about one more attempt at what was out already.
    pub of_attempt: bool,
}
