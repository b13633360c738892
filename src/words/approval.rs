//! Approvals: what waits for a person, and what a person says about it. Pure data.

use std::fmt;

use super::flow::{Admitted, Refused, Ticket};
use super::ids::{CallPath, Digest, Name, ThreadId};
use super::time::Millis;

/// Which approval: `a1`, `a2` … They are counted over the whole log and never used again, so that what
/// somebody types means one of them, whenever it is typed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
pub struct ApprovalId(pub u64);

impl ApprovalId {
    /// Reads an id.
    pub fn parse(text: &str) -> Option<ApprovalId> {
        let digits = text.strip_prefix('a')?;
        let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
        plain.then(|| digits.parse().ok())?.map(ApprovalId)
    }
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a{}", self.0)
    }
}

/// A request for approval: which payload of which call waits, and until when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Its id.
    pub id: ApprovalId,
    /// The hash of the payload: an answer may be bound to it.
    pub hash: Digest,
    /// When it expires.
    pub expires: Millis,
    /// The thread of the call.
    pub thread: ThreadId,
    /// The call.
    pub call: CallPath,
    /// The listener that the payload is for.
    pub to: Name,
    /// The local name of the payload's root element.
    pub element: String,
    /// What is unknown, where the payload was out already and a person decides about one more attempt.
    pub unknown: Option<String>,
}

/// What somebody says about a request for approval.
#[derive(Debug)]
pub struct Ruling {
    /// Where the asker waits.
    pub ticket: Ticket,
    /// Who says it, from the credential.
    pub by: Name,
    /// About which request.
    pub approval: ApprovalId,
    /// The hash of the payload that was looked at, where it was given.
    pub hash: Option<Digest>,
    /// What for.
    pub note: Option<String>,
    /// What is said; an amendment as the door judged it.
    pub says: Says<Box<Result<Admitted, Refused>>>,
}

/// The three things that a person can say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Says<A> {
    /// It may go.
    Approve,
    /// It may not.
    Reject,
    /// This goes in its place.
    Amend(A),
}

/// How a request for approval ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decided {
    /// It went as it was.
    Approved,
    /// Another payload went in its place.
    Amended,
    /// A person said no.
    Rejected,
    /// Nobody said anything in time.
    Expired,
}

impl Decided {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Decided::Approved => "approved",
            Decided::Amended => "amended",
            Decided::Rejected => "rejected",
            Decided::Expired => "expired",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_text() {
        for good in ["a1", "a20"] {
            assert_eq!(ApprovalId::parse(good).map(|id| id.to_string()).as_deref(), Some(good));
        }
        for bad in ["", "a", "1", "a0", "a01", "a-1", "a+1", "A1", "a1 ", "a99999999999999999999"] {
            assert_eq!(ApprovalId::parse(bad), None, "{bad}");
        }
    }
}
