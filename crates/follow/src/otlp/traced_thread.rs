//! A thread as far as its records were read: which turns end with a record, and which spans are above them.
//!
//! Records of one thread come in, in order; ended turns go out. What goes out depends on these records alone, so a
//! thread that is read again gives the same spans.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use systole_core::pump::fold::apply_to;
use systole_core::pump::state::{Call, CallState, Thread};
use systole_core::types::ids::{CallPath, Digest, Name, ThreadId};
use systole_core::types::ports::LogFault;
use systole_core::types::record::{Header, Record, RecordCode, RecordKind, SteerEffect};
use systole_core::types::time::Millis;
use systole_wire::journal::{EarlierEntry, JournalEntry};
use systole_wire::money::Money;

/// The id of a span: the first bytes of the leaf of the record that ends it, or that begins a request to a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SpanId(pub(super) [u8; 8]);

impl SpanId {
    pub(super) fn from_leaf(leaf: &Digest) -> SpanId {
        let [a, b, c, d, e, f, g, h, ..] = leaf.0;
        SpanId([a, b, c, d, e, f, g, h])
    }
}

/// A turn that has ended.
#[derive(Debug)]
pub(super) struct EndedTurn {
    pub(super) span: SpanId,
    pub(super) call: CallPath,
    pub(super) turn: u32,
    pub(super) listener: Name,
    pub(super) config: Digest,
    pub(super) start: Millis,
    /// The span above it.
    pub(super) parent: Option<SpanId>,
    /// The first span of its call, if it is a later one.
    pub(super) first: Option<SpanId>,
    /// Whether the record that ends the turn closes its call too.
    pub(super) is_closed: bool,
    pub(super) requests: Vec<ModelRequest>,
}

/// A request to a model.
#[derive(Clone, Debug)]
pub(super) struct ModelRequest {
    pub(super) span: SpanId,
    pub(super) model: String,
    pub(super) start: Millis,
    /// `None` if the log has no result.
    pub(super) result: Option<ModelResult>,
    attempt: u32,
    entry: u64,
}

/// The result of a request to a model, without what the model said.
#[derive(Clone, Debug)]
pub(super) struct ModelResult {
    pub(super) at: Millis,
    pub(super) stop: String,
    pub(super) tokens_in: Option<u64>,
    pub(super) tokens_out: Option<u64>,
    pub(super) money: Option<Money>,
}

/// An open call.
#[derive(Default)]
struct TracedCall {
    parent: Option<SpanId>,
    first: Option<SpanId>,
    /// Its last turn.
    last: Option<(u32, SpanId)>,
    /// When it was opened again.
    reopened: Millis,
    requests: Vec<ModelRequest>,
}

/// A call before a record.
struct CallBefore {
    settled: u32,
    /// Whether no turn is due, because others have to answer first.
    is_joining: bool,
    listener: Name,
    config: Digest,
    ready_at: Millis,
}

impl CallBefore {
    fn of(call: &Call) -> CallBefore {
        CallBefore {
            settled: call.settled,
            is_joining: matches!(call.stand(), CallState::Joining(_)),
            listener: call.listener.clone(),
            config: call.config,
            ready_at: call.ready_at,
        }
    }
}

/// A thread as far as its records were read.
pub(super) struct TracedThread {
    pub(super) fold: Thread,
    /// The id of the trace that it is in.
    pub(super) trace: [u8; 16],
    calls: BTreeMap<CallPath, TracedCall>,
    /// The top call that closed last, which may be opened again.
    closed: Option<(CallPath, TracedCall)>,
}

/// Whether a listener takes one turn only, under a configuration.
pub(super) type IsSingle<'a> = &'a mut dyn FnMut(Digest, &Name) -> Result<bool, LogFault>;

impl TracedThread {
    pub(super) fn new(id: ThreadId, trace: [u8; 16]) -> TracedThread {
        TracedThread { fold: Thread::new_blank(id), trace, calls: BTreeMap::new(), closed: None }
    }

    /// Takes the next record. `above` is the span that spawned the thread.
    pub(super) fn add_record(
        &mut self,
        record: &Record,
        above: Option<SpanId>,
        is_single: IsSingle<'_>,
    ) -> Result<Vec<EndedTurn>, LogFault> {
        if record.header.kind == RecordKind::Journal {
            self.note_request(record);
        }
        let before: Vec<(CallPath, CallBefore)> =
            self.fold.calls.iter().map(|(path, call)| (path.clone(), CallBefore::of(call))).collect();
        apply_to(&mut self.fold, record);
        let mut ended = Vec::new();
        for (path, before) in before {
            let settled = self.fold.calls.get(&path).map(|call| call.settled);
            let turn = match settled {
                Some(settled) => Some(settled).filter(|settled| *settled > before.settled),
                None if before.is_joining => None,
                None => {
                    let is_single = before.settled > 0 && is_single(before.config, &before.listener)?;
                    let is_over = is_of_reply(&record.header, &path, before.settled, is_single);
                    (!is_over).then_some(before.settled + 1)
                }
            };
            if let Some(turn) = turn {
                let is_first = ended.is_empty();
                ended.extend(self.end_turn((&path, turn), before, settled.is_none(), (record, is_first)));
            }
            if settled.is_none()
                && let Some(call) = self.calls.remove(&path)
                && path.depth() == 0
            {
                self.closed = Some((path, call));
            }
        }
        self.note_opened(record, above);
        Ok(ended)
    }

    /// Ends a turn of a call with a record. A record that ends a thread ends the turns of several calls, and only one
    /// can have the id of the record.
    fn end_turn(
        &mut self,
        (path, turn): (&CallPath, u32),
        before: CallBefore,
        is_closed: bool,
        (record, is_first): (&Record, bool),
    ) -> Option<EndedTurn> {
        let call = self.calls.get_mut(path)?;
        let span = match is_first {
            true => SpanId::from_leaf(&record.leaf),
            false => {
                let hash = Sha256::new().chain_update(record.leaf.0).chain_update(path.as_str()).finalize();
                SpanId::from_leaf(&Digest(hash.into()))
            }
        };
        let first = call.first;
        call.first.get_or_insert(span);
        call.last = Some((turn, span));
        Some(EndedTurn {
            span,
            call: path.clone(),
            turn,
            listener: before.listener,
            config: before.config,
            start: before.ready_at.max(call.reopened).min(record.header.time),
            parent: call.parent.or(first),
            first,
            is_closed,
            requests: std::mem::take(&mut call.requests),
        })
    }

    /// Adds the calls that a record opened.
    fn note_opened(&mut self, record: &Record, above: Option<SpanId>) {
        for path in
            self.fold.calls.keys().filter(|path| !self.calls.contains_key(*path)).cloned().collect::<Vec<_>>()
        {
            let again = self.closed.take_if(|(closed, _)| {
                *closed == path && record.header.code == Some(RecordCode::Steering(SteerEffect::Reopened))
            });
            let call = match (again, path.caller()) {
                (Some((_, call)), _) => TracedCall { reopened: record.header.time, ..call },
                (None, caller) => {
                    let parent = match caller {
                        Some((caller, turn, _)) => self.calls.get(&caller).and_then(|caller| match turn {
                            // News about a call that waits: no turn of it has sent them.
                            0 => caller.parent,
                            turn => caller.last.filter(|(last, _)| *last == turn).map(|(_, span)| span),
                        }),
                        None => above,
                    };
                    TracedCall { parent, ..TracedCall::default() }
                }
            };
            self.calls.insert(path, call);
        }
    }

    /// Takes an entry of the journal of a call.
    fn note_request(&mut self, record: &Record) {
        let h = &record.header;
        let Some(call) = h.call.as_ref().and_then(|path| self.calls.get_mut(path)) else { return };
        let Ok(EarlierEntry { attempt, id, entry }) = EarlierEntry::from_body(&record.body) else { return };
        match entry {
            JournalEntry::Started(started) => call.requests.push(ModelRequest {
                span: SpanId::from_leaf(&record.leaf),
                model: started.model,
                start: h.time,
                result: None,
                attempt,
                entry: id,
            }),
            JournalEntry::Result(of) => {
                let request =
                    call.requests.iter_mut().find(|one| (one.attempt, one.entry) == (attempt, of.of));
                if let Some(request) = request {
                    let (tokens_in, tokens_out, money) = (of.tokens_in, of.tokens_out, of.money);
                    let result = ModelResult { at: h.time, stop: of.stop, tokens_in, tokens_out, money };
                    request.result = Some(result);
                }
            }
        }
    }
}

/// Whether a record that closes a call belongs to the reply with which the call settled that turn. A listener with one
/// turn has no further one that could fail.
pub(super) fn is_of_reply(h: &Header, call: &CallPath, settled: u32, is_single: bool) -> bool {
    let is_own = settled > 0 && h.call.as_ref() == Some(call);
    is_own && (h.turn == Some(settled) || h.turn.is_none() && is_single)
}
