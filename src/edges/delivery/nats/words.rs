//! What a word on a listener's subject is, as far as its carrier has to know: which delivery it ends, and who waits for
//! an answer to it. It judges nothing; the door does. Bytes come in; a kind goes out.

use std::collections::{HashMap, VecDeque};

use async_nats::Subject;
use systole_kit::Limits;
use systole_kit::reply::Word;
use systole_kit::told::Answer;

use crate::edges::delivery::process::{Root, root_of};

/// What a word is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A reply, which ends its delivery.
    Reply {
        /// The delivery it names.
        delivery: String,
    },
    /// A journal entry or a question, whose answer has its number.
    Waits {
        /// The delivery it names.
        delivery: String,
        /// Its number.
        id: u64,
    },
    /// Anything else: a notice, or what the door has to refuse.
    Other,
}

/// What a word is.
pub(super) fn kind(word: &[u8]) -> Kind {
    match root_of(word) {
        Root::Reply { delivery } => Kind::Reply { delivery },
        Root::Stray => Kind::Other,
        Root::Other => match Word::read(word, &Limits::default()) {
            Ok(Word::Journal { delivery, id, .. } | Word::Ask { delivery, id, .. }) => {
                Kind::Waits { delivery, id }
            }
            _ => Kind::Other,
        },
    }
}

/// Whether it says how far somebody is. What cannot be read here says nothing: the door might find a reply in it, which
/// would then end no delivery on the desk.
pub(super) fn is_progress(word: &[u8]) -> bool {
    matches!(Word::read(word, &Limits::default()), Ok(Word::Progress { .. }))
}

/// The delivery that a word names, if it names one.
pub(super) fn delivery(word: &[u8]) -> Option<String> {
    match root_of(word) {
        Root::Reply { delivery } => Some(delivery),
        Root::Stray => None,
        Root::Other => Word::read(word, &Limits::default()).ok().map(|word| word.delivery().to_owned()),
    }
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
