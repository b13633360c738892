//! Who waits for an answer to what was said, and what a host of listeners says of a delivery itself. It judges nothing; the
//! door does.

use std::collections::{HashMap, VecDeque};

use async_nats::{Message, Subject};
use systole_kit::Limits;
use systole_kit::nats::GONE;
use systole_kit::reply::{Said, Word};
use systole_kit::told::Answer;

use systole_core::types::codes::Code;
use systole_core::types::limits;
use systole_core::types::ports::Token;

/// A delivery that a host of listeners says will not be answered, as its carriers say it of programs that run here.
pub(super) struct Gone {
    pub(super) token: Token,
    pub(super) code: Code,
    pub(super) words: String,
}

/// What a host may say of a delivery. Whoever says it could as well have let it drop.
const SAID_OF_IT: [Code; 5] = [
    Code::ListenerFailed,
    Code::ListenerSilent,
    Code::ListenerDown,
    Code::ListenerLost,
    Code::ListenerTimeout,
];

/// Reads what a host says of a delivery; none for the word of a listener.
pub(super) fn gone(message: &Message) -> Option<Gone> {
    let code = message.headers.as_ref()?.get(GONE)?;
    let code = SAID_OF_IT.into_iter().find(|known| known.as_str() == code.as_str())?;
    let Ok(Word::Reply { delivery, said: Said::Failure { mut words, .. } }) =
        Word::read(&message.payload, &Limits::default())
    else {
        return None;
    };
    words.truncate(words.floor_char_boundary(limits::OWN_WORDS_BYTES));
    Some(Gone { token: Token(delivery.into()), code, words })
}

/// The most questions whose askers are known at once; an older one that nobody answered is forgotten.
const ASKERS: usize = 4096;

/// Who waits for the answer to what.
#[derive(Default)]
pub(super) struct Asking {
    waiting: HashMap<(String, u64), Subject>,
    order: VecDeque<(String, u64)>,
}

impl Asking {
    /// Somebody waits. Who asks the same again has the answer sent to where it was asked last.
    pub(super) fn put(&mut self, delivery: String, id: u64, reply: Subject) {
        let key = (delivery, id);
        if self.waiting.insert(key.clone(), reply).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > ASKERS {
            if let Some(oldest) = self.order.pop_front() {
                self.waiting.remove(&oldest);
            }
        }
    }

    /// Where an answer goes.
    pub(super) fn take(&mut self, answer: &Answer) -> Option<Subject> {
        let key = (answer.delivery.clone(), answer.id);
        let reply = self.waiting.remove(&key)?;
        self.order.retain(|known| *known != key);
        Some(reply)
    }
}
