//! Remembers who waits for the answer to which document, and reads what a host of listeners says about a delivery
//! itself. It judges nothing; the door does.

use std::collections::{HashMap, VecDeque};

use async_nats::{Message, Subject};
use systole_kit::DocumentLimits;
use systole_kit::nats::{GONE, UNSTARTED};
use systole_kit::pump_documents::PumpAnswer;
use systole_kit::reply::{ListenerDocument, ReplyContent};

use systole_core::types::codes::Code;
use systole_core::types::ports::LeaseToken;

use crate::limits;

/// A host of listeners says that a delivery will not be answered, as carriers here say about their programs.
pub(super) struct GoneDelivery {
    pub(super) token: LeaseToken,
    pub(super) code: Code,
    pub(super) words: String,
    /// Whether it reached no one, because the listener's program cannot be started.
    pub(super) is_unstarted: bool,
}

/// The codes that a host may report for a delivery. A host could have dropped the delivery just as well.
const SAID_OF_IT: [Code; 5] = [
    Code::ListenerFailed,
    Code::ListenerSilent,
    Code::ListenerDown,
    Code::ListenerLost,
    Code::ListenerTimeout,
];

/// Reads what a host says about a delivery; returns `None` for a document of a listener.
pub(super) fn read_gone(message: &Message) -> Option<GoneDelivery> {
    let code = message.headers.as_ref()?.get(GONE)?;
    let is_unstarted = code.as_str() == UNSTARTED;
    let known = SAID_OF_IT.into_iter().find(|known| known.as_str() == code.as_str());
    let code = known.or(is_unstarted.then_some(Code::ListenerDown))?;
    let Ok(ListenerDocument::Reply { delivery, said: ReplyContent::Failure { mut words, .. } }) =
        ListenerDocument::parse(&message.payload, &DocumentLimits::default())
    else {
        return None;
    };
    words.truncate(words.floor_char_boundary(limits::OWN_WORDS_BYTES));
    Some(GoneDelivery { token: LeaseToken(delivery.into()), code, words, is_unstarted })
}

/// The askers that wait for answers.
#[derive(Default)]
pub(super) struct WaitingQuestions {
    waiting: HashMap<(String, u64), Subject>,
    order: VecDeque<(String, u64)>,
}

impl WaitingQuestions {
    /// Someone waits. If the same question is asked again, the answer goes to the last asker.
    pub(super) fn put_question(&mut self, delivery: String, id: u64, reply: Subject) {
        let key = (delivery, id);
        if self.waiting.insert(key.clone(), reply).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > limits::ASKERS {
            if let Some(oldest) = self.order.pop_front() {
                self.waiting.remove(&oldest);
            }
        }
    }

    /// The subject that an answer goes to.
    pub(super) fn take_reply(&mut self, answer: &PumpAnswer) -> Option<Subject> {
        let key = (answer.delivery.clone(), answer.id);
        let reply = self.waiting.remove(&key)?;
        self.order.retain(|known| *known != key);
        Some(reply)
    }
}
