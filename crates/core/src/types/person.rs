//! Requests to a person, and the person's decisions about them. Pure data.
//!
//! There are two kinds. An approval holds a payload until a person releases it. A question holds the call that asks
//! it until a person answers. Both take their ids from one counter, both expire, and the same roles may answer both.

use std::fmt;

use super::client::Role;
use super::composition::{Composition, ListenerSection};
use super::flow::{Admitted, Refused, Ticket};
use super::ids::{CallPath, Digest, Name, ThreadId};
use super::time::Millis;

/// A request's id: `a1`, `a2` … Ids are counted over the whole log and never reused, so that a typed id always means
/// the same request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
pub struct PersonRequestId(pub u64);

impl PersonRequestId {
    /// Reads an id.
    pub fn parse(text: &str) -> Option<PersonRequestId> {
        let digits = text.strip_prefix('a')?;
        let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
        plain.then(|| digits.parse().ok())?.map(PersonRequestId)
    }
}

impl fmt::Display for PersonRequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a{}", self.0)
    }
}

/// The two kinds of requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestKind {
    /// May this payload go out?
    Approval,
    /// A question of a listener.
    Question,
}

impl RequestKind {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            RequestKind::Approval => "approval",
            RequestKind::Question => "question",
        }
    }
}

/// Whether a client may decide a request of that kind, which a listener waits for. `is_own` says whether it opened the
/// thread. A workflow asks so that someone decides about what was requested; to answer questions is not enough for that.
pub fn may_decide(
    organism: &Composition,
    client: &Name,
    (kind, asker): (RequestKind, &Name),
    is_own: bool,
) -> bool {
    let has = |role| organism.has_role(client, role);
    let is_gate = || organism.sections.get(asker).is_some_and(ListenerSection::is_workflow);
    let has_own =
        || has(Role::ApproveOwn) || kind == RequestKind::Question && has(Role::Answer) && !is_gate();
    has(Role::Approve) || is_own && has_own()
}

/// A request for approval: which payload of which call waits, and until when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApprovalRequest {
    /// Its id.
    pub id: PersonRequestId,
    /// The hash of the payload. An answer may name it, so that it applies only to these bytes.
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
    /// What is unknown, if the payload already went out and a person decides about another attempt.
    pub unknown: Option<String>,
}

/// A question to a person, with the messages that are shown with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuestionRequest {
    /// Its id.
    pub id: PersonRequestId,
    /// When it expires.
    pub expires: Millis,
    /// The thread of the call.
    pub thread: ThreadId,
    /// The item that asks.
    pub call: CallPath,
    /// The listener that asks.
    pub from: Name,
    /// What is asked.
    pub words: String,
    /// The messages that are shown with it.
    pub shows: Vec<ShownMessage>,
    /// The possible answers. If there are none, the note is the answer.
    pub choices: Vec<String>,
}

/// A message that is shown with a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShownMessage {
    /// Its number in the view of the call that asks.
    pub number: u64,
    /// Its record in the thread.
    pub record: u64,
    /// The hash of its bytes, as they were when the question was asked.
    pub hash: Digest,
    /// Its label.
    pub label: String,
}

/// A person's decision about a request.
#[derive(Debug)]
pub struct Ruling {
    /// Where the asker waits.
    pub ticket: Ticket,
    /// Who decides, from the credential.
    pub by: Name,
    /// The request.
    pub request: PersonRequestId,
    /// The hash of the payload that the person saw, if given.
    pub hash: Option<Digest>,
    /// The reason, or the answer itself.
    pub note: Option<String>,
    /// The decision. An amendment is already judged by the door.
    pub says: PersonDecision<Box<Result<Admitted, Refused>>>,
}

/// The possible decisions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PersonDecision<A> {
    /// The payload may go.
    Approve,
    /// The payload must not go.
    Reject,
    /// This payload goes instead.
    Amend(A),
    /// The answer to a question: a choice, or the note alone.
    Choose(Option<String>),
}

/// How a request for approval ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ApprovalOutcome {
    /// The payload went out unchanged.
    Approved,
    /// Another payload went out instead.
    Amended,
    /// A person rejected it.
    Rejected,
    /// No person answered in time.
    Expired,
}

impl ApprovalOutcome {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            ApprovalOutcome::Approved => "approved",
            ApprovalOutcome::Amended => "amended",
            ApprovalOutcome::Rejected => "rejected",
            ApprovalOutcome::Expired => "expired",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_text() {
        for good in ["a1", "a20"] {
            assert_eq!(PersonRequestId::parse(good).map(|id| id.to_string()).as_deref(), Some(good));
        }
        for bad in ["", "a", "1", "a0", "a01", "a-1", "a+1", "A1", "a1 ", "a99999999999999999999"] {
            assert_eq!(PersonRequestId::parse(bad), None, "{bad}");
        }
    }
}
