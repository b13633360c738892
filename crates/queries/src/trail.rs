//! The chain of causes of a record, back to the door. Each link has its turn, what else that turn was shown, the
//! models asked in it, and why the next link is its cause.
//!
//! It follows what records name and guesses nothing; if a record names no cause, it says so. Links are passed on one
//! by one and not kept, since a chain may be as long as its thread. A record comes in; links go out.

mod telling;
mod turn;

pub use telling::{LastShown, as_json};
pub(super) use turn::said_in;
pub use turn::{AskedModel, ShownRecord};

use std::collections::HashMap;

use super::causes;
use super::log_state::ReadSource;
use systole_core::pump::primitives;
use systole_core::rules::approval_payload;
use systole_core::types::client;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{CallPath, Digest, Key, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, PlacedRecord};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind, SteerEffect, TimerEffect};

/// One record of the chain.
pub struct TrailLink {
    /// The record.
    pub placed: PlacedRecord,
    /// How it came about.
    pub why: CauseKind,
    /// Its cause: the next link.
    pub cause: Option<(ThreadId, u64)>,
    /// The turn, if a listener sent it: the attempt, what else the turn was shown, and the models asked.
    pub turn: Option<turn::SenderTurn>,
}

/// How a record came about from its cause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CauseKind {
    /// A listener sent it in a turn that the cause opened.
    Turn {
        /// The call.
        call: CallPath,
        /// The turn.
        number: u32,
        /// The end of an earlier message that the call had to wait for.
        after: Option<u64>,
    },
    /// It opens a thread; the cause is the item that spawned it.
    Spawned,
    /// It reports the end of a thread; the cause is that end.
    Ended,
    /// A timer fired; the cause set it.
    Timer,
    /// The core's answer to the cause.
    Answer,
    /// A wait is over, because of the cause.
    Arrived,
    /// The cause waited for a person.
    Person,
    /// The cause sent it into this thread from another.
    Steered,
    /// The cause ended the thread.
    Cancelled,
    /// The core recorded it about work that the cause made due.
    Core,
    /// It names no cause; this record opened its call, or its thread.
    Within,
    /// It came from outside.
    Door(OutsideSender),
    /// The core's own record about itself or a listener, outside of any call.
    Own,
}

/// A sender from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutsideSender {
    /// The client.
    pub client: Name,
    /// The idempotency key of its message; `None` for an order or a refused message.
    pub key: Option<Key>,
    /// Its roles under the active configuration, or why that cannot be read.
    pub roles: Result<Vec<client::Role>, String>,
}

impl CauseKind {
    /// The word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            CauseKind::Turn { .. } => "turn",
            CauseKind::Spawned => "spawned",
            CauseKind::Ended => "ended",
            CauseKind::Timer => "timer",
            CauseKind::Answer => "answer",
            CauseKind::Arrived => "arrived",
            CauseKind::Person => "person",
            CauseKind::Steered => "steered",
            CauseKind::Cancelled => "cancelled",
            CauseKind::Core => "core",
            CauseKind::Within => "within",
            CauseKind::Door(_) => "door",
            CauseKind::Own => "own",
        }
    }
}

/// Follows chains of causes through a log.
pub struct Trail<'a> {
    reader: &'a dyn LogReader,
    read: ReadSource<'a>,
    pages: HashMap<Digest, Result<Composition, String>>,
}

impl<'a> Trail<'a> {
    /// A trail for a log. `read` reads a configuration from its source.
    pub fn through(reader: &'a dyn LogReader, read: ReadSource<'a>) -> Trail<'a> {
        Trail { reader, read, pages: HashMap::new() }
    }

    /// Shows a record and everything that led to it, newest first.
    pub fn follow(&mut self, start: PlacedRecord, show: impl FnMut(&TrailLink)) -> Result<(), LogFault> {
        self.follow_most(start, usize::MAX, show).map(drop)
    }

    /// The same for at most that many links. Returns whether the door was reached.
    pub fn follow_most(
        &mut self,
        start: PlacedRecord,
        most: usize,
        mut show: impl FnMut(&TrailLink),
    ) -> Result<bool, LogFault> {
        let mut next = Some(start);
        for _ in 0..most {
            let Some(placed) = next.take() else { break };
            let (why, cause) = self.cause(&placed)?;
            let turn = turn::read(self.reader, &placed.1, &why, cause.as_ref().map(|(_, cause)| cause))?;
            let place = cause.as_ref().map(|(_, c)| (c.header.thread.clone(), c.header.seq));
            show(&TrailLink { placed, why, cause: place, turn });
            next = cause;
        }
        Ok(next.is_none())
    }

    fn cause(&mut self, placed: &PlacedRecord) -> Result<(CauseKind, Option<PlacedRecord>), LogFault> {
        let record = &placed.1;
        let Some(cause) = causes::find_named(self.reader, placed)? else { return self.without(placed) };
        let call = turn::said_in(record).map(|(call, _)| call).or_else(|| record.header.call.clone());
        let held = call.filter(|call| was_held(record, call, &cause.1));
        let (cause, after) = match held {
            Some(call) => {
                let ended = &cause.1.header;
                let opening = causes::opening(self.reader, &ended.thread, &call, record.header.seq)?;
                let after = Some(ended.seq);
                opening.map_or((cause, None), |opening| (opening, after))
            }
            None => (cause, None),
        };
        Ok((why(record, &cause.1, after), Some(cause)))
    }

    /// The cause of a record that names none.
    fn without(&mut self, placed: &PlacedRecord) -> Result<(CauseKind, Option<PlacedRecord>), LogFault> {
        let h = &placed.1.header;
        let opening = match (h.kind, h.code) {
            (RecordKind::Message, Some(RecordCode::Role(MessageRole::Request)))
            | (RecordKind::Steer, Some(RecordCode::Steering(SteerEffect::Steered))) => {
                return Ok((self.door(h.config, &h.from, h.key.clone())?, None));
            }
            (RecordKind::Steer, _) => {
                let by =
                    approval_payload::read_steering(&placed.1.body).and_then(|(by, _)| Name::parse(&by).ok());
                return Ok((self.door(h.config, by.as_ref().unwrap_or(&h.from), None)?, None));
            }
            (RecordKind::Terminal, _) => {
                if let Some(item) = causes::cancelling(self.reader, placed)? {
                    return Ok((CauseKind::Cancelled, Some(item)));
                }
                if let Some(by) = &h.to
                    && self.is_client(h.config, by)?
                {
                    return Ok((self.door(h.config, by, None)?, None));
                }
                causes::at(self.reader, &h.thread, 1)?
            }
            (RecordKind::Refusal, _) if h.call.is_none() => {
                return match &h.to {
                    Some(to) if self.is_client(h.config, to)? => Ok((self.door(h.config, to, None)?, None)),
                    _ => Ok((CauseKind::Own, None)),
                };
            }
            _ => match &h.call {
                Some(call) => causes::opening(self.reader, &h.thread, call, h.seq)?,
                None => None,
            },
        };
        // A record that opens something is not its own cause.
        let opening = opening.filter(|(position, _)| *position < placed.0);
        let why = if opening.is_some() { CauseKind::Within } else { CauseKind::Own };
        Ok((why, opening))
    }

    fn page(&mut self, config: Digest) -> Result<&Result<Composition, String>, LogFault> {
        if !self.pages.contains_key(&config) {
            let page = match self.reader.intact_document(config)? {
                Some(source) => (self.read)(&source),
                None => Err("the log does not hold the configuration".to_owned()),
            };
            self.pages.insert(config, page);
        }
        Ok(self.pages.entry(config).or_insert_with(|| Err(String::new())))
    }

    /// Whether a name that could be a client's or a listener's is a client's.
    fn is_client(&mut self, config: Digest, name: &Name) -> Result<bool, LogFault> {
        let is_listener = match self.page(config)? {
            Ok(page) => page.find_listener(name).is_some(),
            Err(_) => false,
        };
        Ok(*name != Name::new_core() && !is_listener)
    }

    fn door(&mut self, config: Digest, client: &Name, key: Option<Key>) -> Result<CauseKind, LogFault> {
        let roles = match self.page(config)? {
            Ok(page) => {
                let all = client::Role::ALL.iter().copied();
                Ok(all.filter(|role| page.has_role(client, *role)).collect())
            }
            Err(why) => Err(why.clone()),
        };
        Ok(CauseKind::Door(OutsideSender { client: client.clone(), key, roles }))
    }
}

/// Whether a record of a top call names as its cause the end of the previous message, which the call waited for. The
/// call was still opened for its own request.
fn was_held(record: &Record, call: &CallPath, cause: &Record) -> bool {
    let (h, c) = (&record.header, &cause.header);
    let ends = c.kind == RecordKind::Outcome && c.code != Some(RecordCode::DeadLetter)
        || c.kind == RecordKind::Message && c.code == Some(RecordCode::Role(MessageRole::Final));
    let other = c.call.as_ref().is_some_and(|other| other.depth() == 0 && other != call);
    h.thread == c.thread && call.depth() == 0 && ends && other
}

fn why(record: &Record, cause: &Record, after: Option<u64>) -> CauseKind {
    let h = &record.header;
    if let Some((call, number)) = turn::said_in(record) {
        return CauseKind::Turn { call, number, after };
    }
    let is_item = turn::said_in(cause).is_some();
    let is_top = h.call.as_ref().is_some_and(|call| call.depth() == 0);
    match (h.kind, h.code) {
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Begin))) => CauseKind::Spawned,
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Inbox)))
            if h.thread != cause.header.thread =>
        {
            CauseKind::Ended
        }
        // A wait that is over at once has no other cause.
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Answer)))
            if primitives::find_recorded(&cause.header).is_some_and(|one| one.is_for_person) =>
        {
            CauseKind::Person
        }
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Answer))) if is_item => CauseKind::Answer,
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Answer))) => CauseKind::Arrived,
        (RecordKind::Timer, Some(RecordCode::Timing(TimerEffect::Fired | TimerEffect::Opens))) => {
            CauseKind::Timer
        }
        (RecordKind::Approval, _) => CauseKind::Person,
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Tell))) if !is_top => CauseKind::Person,
        (RecordKind::Steer, Some(RecordCode::Steering(SteerEffect::Steered))) => CauseKind::Steered,
        _ => CauseKind::Core,
    }
}
