//! A turn on its way to a listener.
//!
//! The pump hands over the records that the turn shows. The envelope is composed from them by the carrier, beside the
//! pump. The record after which a turn was ready fixes what the turn shows, so every attempt carries the same, and a
//! restart changes nothing.

use std::sync::Arc;

use smallvec::SmallVec;
use systole_wire::Fault;
use systole_wire::answers::{self, Answers, write_answers};
use systole_wire::envelope::{Delivered, EnvelopeAddress, EnvelopeStamp, write_envelope};
use systole_wire::payload::Payload;

use super::codes::Code;
use super::flow::Lease;
use super::ids::{CallPath, Digest, Name, ThreadId};
use super::record::Record;
use super::time::Millis;

/// A turn on its way to a listener.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The lease under which the reply is judged.
    pub lease: Arc<Lease>,
    /// What the listener gets.
    pub turn: DeliveredTurn,
}

/// What a listener gets with a delivery.
#[derive(Clone, Debug)]
pub enum DeliveredTurn {
    /// A turn of the pump, as records.
    Recorded(Arc<RecordedTurn>),
    /// An envelope that was composed before.
    Composed(Box<Delivered>),
}

/// The records that a turn shows, and what the stamp says beside them.
#[derive(Debug)]
pub struct RecordedTurn {
    /// Who waits for the outcome of the call.
    pub caller: Name,
    /// When the attempt ends. `None` if that depends on when a worker takes it.
    pub deadline: Option<Millis>,
    /// How many journal entries earlier attempts of this turn left, if any.
    pub journal: Option<u32>,
    /// The record of the request.
    pub request: u64,
    /// What is shown.
    pub shows: ShownRecords,
}

/// The records that a turn shows.
#[derive(Debug)]
pub enum ShownRecords {
    /// The first turn shows the request.
    Request(Arc<Record>),
    /// A later turn shows the answers to the items of the reply before it.
    Answers {
        /// Why the call may only answer now.
        wrap_up: Option<Code>,
        /// The answers, in order of the items.
        items: SmallVec<[ItemRecord; 2]>,
        /// What reached the call unasked, in order.
        inbox: Vec<Arc<Record>>,
    },
}

/// The answer to an item.
#[derive(Debug)]
pub struct ItemRecord {
    /// The ordinal of the item.
    pub ordinal: u32,
    /// The record that answers it, or the item itself if recording it was the answer.
    pub seq: u64,
    /// The answer; `None` if recording the item was the answer.
    pub answer: Option<Arc<Record>>,
}

impl Delivery {
    /// What the listener gets, composed.
    ///
    /// # Errors
    /// If the body of a record is no payload: the thread is damaged.
    pub fn envelope(&self) -> Result<Delivered, Fault> {
        match &self.turn {
            DeliveredTurn::Recorded(turn) => turn.make_envelope(&self.lease),
            DeliveredTurn::Composed(envelope) => Ok(Delivered::clone(envelope)),
        }
    }

    /// The same as a document.
    ///
    /// # Errors
    /// If the body of a record is no payload: the thread is damaged.
    pub fn document(&self) -> Result<Vec<u8>, Fault> {
        let Delivered { from, to, thread, stamp, payload } = self.envelope()?;
        let address = EnvelopeAddress { from: Some(&from), to: to.as_deref(), thread: Some(&thread) };
        Ok(write_envelope(&address, Some(&stamp), &payload))
    }
}

impl RecordedTurn {
    /// What a listener gets under this lease.
    fn make_envelope(&self, lease: &Lease) -> Result<Delivered, Fault> {
        let id = &lease.id;
        let stamp = EnvelopeStamp {
            call: id.call.to_string(),
            turn: id.turn,
            attempt: id.attempt,
            delivery: lease.token.0.to_string(),
            key: work_key(&id.thread, &id.call, id.turn),
            deadline: self.deadline.map(|deadline| deadline.to_string()),
            journal: self.journal,
            request: Some(self.request),
            ..EnvelopeStamp::default()
        };
        let (from, stamp, payload) = match &self.shows {
            // If a person amended the payload, that person wrote the record, but the request is still the caller's.
            ShownRecords::Request(request) => {
                (&self.caller, of_record(stamp, request), Payload::from_trusted(request.body.clone())?)
            }
            ShownRecords::Answers { wrap_up, items, inbox } => {
                let items = items.iter().map(ItemRecord::to_answer).collect::<Result<_, Fault>>()?;
                let inbox = inbox.iter().map(|record| Payload::from_trusted(record.body.clone()));
                let inbox = inbox.collect::<Result<_, Fault>>()?;
                let wrap_up = wrap_up.map(|code| code.to_string());
                (&Name::new_core(), stamp, write_answers(&Answers { turn: id.turn, wrap_up, items, inbox }))
            }
        };
        let (to, thread) = (Some(lease.listener.to_string()), id.thread.to_string());
        Ok(Delivered { from: from.to_string(), to, thread, stamp, payload })
    }
}

/// The stamp with what it says of the record that is delivered.
fn of_record(stamp: EnvelopeStamp, record: &Record) -> EnvelopeStamp {
    let h = &record.header;
    EnvelopeStamp {
        id: Some(h.id.to_string()),
        seq: Some(h.seq),
        at: Some(h.time.to_string()),
        cause: h.cause.map(|cause| cause.to_string()),
        sha256: Some(Digest::hash_bytes(&record.body).to_string()),
        ..stamp
    }
}

impl ItemRecord {
    fn to_answer(&self) -> Result<answers::Answer, Fault> {
        let from = self.answer.as_ref().map_or_else(Name::new_core, |record| record.header.from.clone());
        let payload =
            self.answer.as_ref().map(|record| Payload::from_trusted(record.body.clone())).transpose()?;
        Ok(answers::Answer {
            ordinal: self.ordinal,
            from: Some(from.to_string()),
            seq: Some(self.seq),
            payload,
        })
    }
}

/// The name of a piece of work, equal for all its attempts: a listener may use it as the idempotency key of an
/// outside effect.
pub fn work_key(thread: &ThreadId, call: &CallPath, turn: u32) -> String {
    [thread.as_str(), call.as_str(), &turn.to_string()].join(":")
}
