//! What waits for a person, as its call remembers it: the approval of its request, and the questions that it asks.

use serde::{Deserialize, Serialize};

use super::{Call, ItemAnswer, ItemState, PendingItem, Thread};
use crate::types::ids::{CallPath, Digest};
use crate::types::person::PersonRequestId;
use crate::types::time::Millis;

/// A request for approval that has no answer yet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Approval {
    /// Its id.
    pub id: PersonRequestId,
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
    /// Whether it is about another attempt at something that was out already.
    pub of_attempt: bool,
}

/// A question to a person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Question {
    /// Its id.
    pub id: PersonRequestId,
    /// The hash of the payload that asks. It covers the hashes of the messages that are shown.
    pub hash: Digest,
    /// When it was asked.
    pub asked: Millis,
    /// When it expires.
    pub expires: Millis,
    /// The record that asks.
    pub seq: u64,
    /// The possible answers. If there are none, the note is the answer.
    pub choices: Vec<String>,
}

/// A request to a person that has no answer yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PersonRequest<'t> {
    /// Whether a payload may go out.
    Approval(&'t Approval),
    /// A question of a listener.
    Question(&'t Question),
}

impl PersonRequest<'_> {
    /// Its id.
    pub fn id(&self) -> PersonRequestId {
        match self {
            PersonRequest::Approval(approval) => approval.id,
            PersonRequest::Question(question) => question.id,
        }
    }

    /// When it expires.
    pub fn expires(&self) -> Millis {
        match self {
            PersonRequest::Approval(approval) => approval.expires,
            PersonRequest::Question(question) => question.expires,
        }
    }

    /// How long it waits at most, in milliseconds.
    pub fn most_ms(&self) -> u64 {
        match self {
            PersonRequest::Approval(approval) => approval.expires.count_since(approval.asked),
            PersonRequest::Question(question) => question.expires.count_since(question.asked),
        }
    }
}

impl Call {
    /// Its questions that have no answer, each with its item.
    pub fn questions(&self) -> impl Iterator<Item = (&ItemState, &Question)> {
        let open = self.items.iter().filter(|item| item.answer == ItemAnswer::Open);
        open.filter_map(|item| match &item.pending {
            PendingItem::Person(question) => Some((item, question)),
            _ => None,
        })
    }
}

impl Thread {
    /// Its requests to a person. The place of an approval is its call, and the place of a question is the item
    /// that asks.
    pub fn person_requests(&self) -> impl Iterator<Item = (CallPath, PersonRequest<'_>)> {
        self.calls.iter().flat_map(|(path, call)| {
            let approval = call.approval.iter().map(|one| (path.clone(), PersonRequest::Approval(one)));
            let place = |item: &ItemState| path.append_item(call.settled, item.ordinal);
            let questions =
                call.questions().map(move |(item, one)| (place(item), PersonRequest::Question(one)));
            approval.chain(questions)
        })
    }

    /// The request to a person at that place.
    pub fn person_request(&self, place: &CallPath) -> Option<PersonRequest<'_>> {
        if let Some(approval) = self.calls.get(place).and_then(|call| call.approval.as_ref()) {
            return Some(PersonRequest::Approval(approval));
        }
        let (caller, turn, ordinal) = place.caller()?;
        let call = self.calls.get(&caller).filter(|call| call.settled == turn)?;
        let mut questions = call.questions().filter(|(item, _)| item.ordinal == ordinal);
        questions.next().map(|(_, question)| PersonRequest::Question(question))
    }
}
