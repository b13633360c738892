//! The inputs of a replay: those from outside and the moments of all records, in the order of the log.

use std::sync::Arc;

use systole_core::pump::event::{ClientOrder, PauseOrder, RetryOrder};
use systole_core::rules::admit::{self, JudgedMessage};
use systole_core::rules::core_payload::AttemptState;
use systole_core::rules::{approval_payload, question, retry_payload};
use systole_core::types::composition::Composition;
use systole_core::types::flow::{DoorMessage, Judge, Ticket};
use systole_core::types::ids::{AttemptId, CallPath, Digest, Key, Name, ThreadId};
use systole_core::types::person::{PersonDecision, PersonRequestId, Ruling};
use systole_core::types::record::{ApprovalEffect, Record, RecordCode};
use systole_core::types::thread_choice::{SoughtRoot, ThreadChoice, ThreadName};
use systole_kit::writer::XmlWriter;
use systole_kit::{Payload, namespaces};

use super::history::{OutsideInput, RecordedMoment, TreeHistory};
use super::tree_records::{RecordedTree, SystemEvent, SystemEvents};

/// The place of a sender that waits for nothing.
pub(super) const NO_TICKET: Ticket = Ticket(0);

/// An input of a replay, at the moment at which it was recorded.
#[derive(Debug)]
pub(super) struct ReplayInput {
    pub(super) at: RecordedMoment,
    pub(super) what: ReplayInputKind,
}

#[derive(Debug)]
pub(super) enum ReplayInputKind {
    /// The clock moves to the time of a record, and what is due happens. A delivery of that call was out then.
    Tick { sent: Option<(ThreadId, CallPath)> },
    /// The organism stopped and started again.
    Started { config: Digest, was_drained: bool },
    /// A message from outside.
    Outside(ReplayedMessage),
    /// An order of a client.
    Ordered(ClientOrder),
    /// A person's decision.
    Ruled(RecordedRuling),
    /// An attempt that is not out waits, or goes on.
    Attempted(AttemptId, AttemptState),
    /// Something that was refused outside of every call, by the index of its record.
    Refused { at: usize, is_late: bool },
}

/// A message from outside, as its record shows it.
#[derive(Clone, Debug)]
pub(super) struct ReplayedMessage {
    pub(super) client: Name,
    pub(super) to: Name,
    pub(super) thread: Option<ThreadId>,
    pub(super) document: Arc<[u8]>,
    key: Key,
    /// The root of its thread.
    root: ThreadId,
}

impl ReplayedMessage {
    /// The message after the door of that organism.
    pub(super) fn with_verdict(self, judged: JudgedMessage, organism: &Name) -> DoorMessage {
        let thread = match judged.thread {
            ThreadChoice::New => self.find_name(organism).map_or(ThreadChoice::New, ThreadChoice::Named),
            known => known,
        };
        DoorMessage {
            ticket: NO_TICKET,
            client: self.client,
            key: self.key,
            thread,
            payload: judged.payload,
            claimed: None,
            subject: None,
        }
    }

    /// The name of the thread that it opened. Older logs have keys that only look as if they had one.
    fn find_name(&self, organism: &Name) -> Option<ThreadName> {
        let name = ThreadName::from_key(&self.key)?;
        let (organism, sender) = (organism.clone(), self.client.clone());
        let sought = SoughtRoot { organism, sender, key: self.key.clone(), name: Some(name.clone()) };
        (self.root.stem() == sought.find_id(12)).then_some(name)
    }
}

/// A person's decision, as its record shows it. It names its request by place: ids are counted over the whole log.
#[derive(Clone, Debug)]
pub(super) struct RecordedRuling {
    pub(super) thread: ThreadId,
    pub(super) place: CallPath,
    /// The configuration that judges an amendment.
    pub(super) config: Digest,
    by: Name,
    note: Option<String>,
    says: PersonDecision<(Name, Arc<[u8]>)>,
}

impl RecordedRuling {
    /// The decision about that request.
    pub(super) fn into_ruling(
        self,
        page: &Composition,
        request: PersonRequestId,
        schemas: &mut dyn Judge,
    ) -> Ruling {
        let says = match self.says {
            PersonDecision::Approve => PersonDecision::Approve,
            PersonDecision::Reject => PersonDecision::Reject,
            PersonDecision::Choose(choice) => PersonDecision::Choose(choice),
            PersonDecision::Amend((to, document)) => {
                PersonDecision::Amend(Box::new(admit::admit_amendment(page, &to, &document, schemas)))
            }
        };
        Ruling { ticket: NO_TICKET, by: self.by, request, hash: None, note: self.note, says }
    }
}

/// The inputs of a tree.
pub(super) fn list_inputs(
    tree: &RecordedTree,
    history: &TreeHistory,
    system: &SystemEvents,
) -> Vec<ReplayInput> {
    let mut inputs = Vec::with_capacity(2 * tree.records.len());
    for (at, (position, record)) in tree.records.iter().enumerate() {
        let moment = RecordedMoment { position: *position, time: record.header.time };
        let input = history.inputs.get(&at).and_then(|input| build_input(tree, at, record, input));
        inputs.extend(input.map(|what| ReplayInput { at: moment, what }));
        let sent = history.deliveries.get(position).cloned();
        inputs.push(ReplayInput { at: moment, what: ReplayInputKind::Tick { sent } });
    }
    for (position, time, event) in system.of_tree(tree) {
        let what = match event {
            SystemEvent::Started { config, was_drained, .. } => {
                ReplayInputKind::Started { config: *config, was_drained: *was_drained }
            }
            SystemEvent::Paused { by, halts, note } => {
                ReplayInputKind::Ordered(build_pause(by.clone(), None, *halts, note.clone()))
            }
        };
        inputs.push(ReplayInput { at: RecordedMoment { position: *position, time: *time }, what });
    }
    // The sort is stable: an input comes before the tick of its own record.
    inputs.sort_by_key(|next| next.at.position);
    inputs
}

fn build_pause(by: Name, thread: Option<ThreadId>, halts: bool, note: Option<String>) -> ClientOrder {
    ClientOrder::Pause(PauseOrder { ticket: NO_TICKET, by, thread, halts, note })
}

fn build_input(
    tree: &RecordedTree,
    at: usize,
    record: &Record,
    input: &OutsideInput,
) -> Option<ReplayInputKind> {
    let h = &record.header;
    let (thread, ticket) = (h.thread.clone(), NO_TICKET);
    Some(match input {
        OutsideInput::Asked => ReplayInputKind::Outside(ReplayedMessage {
            client: h.from.clone(),
            to: h.to.clone()?,
            thread: (h.seq > 1).then_some(thread),
            document: record.body.clone(),
            key: h.key.clone()?,
            root: h.thread.root_of(),
        }),
        OutsideInput::Steered => ReplayInputKind::Outside(ReplayedMessage {
            client: h.from.clone(),
            to: h.to.clone()?,
            thread: Some(thread),
            document: read_steer(record)?,
            key: h.key.clone()?,
            root: h.thread.root_of(),
        }),
        OutsideInput::Paused { halts } => {
            let note = approval_payload::read_steering(&record.body).and_then(|(_, note)| note);
            ReplayInputKind::Ordered(build_pause(h.to.clone()?, Some(thread), *halts, note))
        }
        OutsideInput::Cancelled => {
            ReplayInputKind::Ordered(ClientOrder::Cancel { ticket, by: h.to.clone()?, thread })
        }
        OutsideInput::CallCancelled(by) => {
            let (by, call) = (by.clone(), h.call.clone()?);
            ReplayInputKind::Ordered(ClientOrder::CancelCall { ticket, by, thread, call })
        }
        OutsideInput::Stopped(by) => {
            let (by, call) = (by.clone(), h.call.as_ref()?.top_number());
            ReplayInputKind::Ordered(ClientOrder::StopRun { ticket, by, thread, call })
        }
        OutsideInput::Retried => {
            let terms = retry_payload::read_reopened(&record.body)?;
            ReplayInputKind::Ordered(ClientOrder::Retry(RetryOrder {
                ticket,
                by: terms.by,
                thread,
                seen: None,
                note: terms.note,
                effects: Vec::new(),
                allows_effects: terms.has_effects,
                steps: None,
            }))
        }
        OutsideInput::Ended => {
            ReplayInputKind::Ordered(ClientOrder::End { ticket, by: h.to.clone()?, thread })
        }
        OutsideInput::Refused => ReplayInputKind::Refused { at, is_late: false },
        OutsideInput::Late => ReplayInputKind::Refused { at, is_late: true },
        OutsideInput::Attempted(id, state) => ReplayInputKind::Attempted(id.clone(), state.clone()),
        OutsideInput::Ruled => ReplayInputKind::Ruled(read_ruling(tree, at, record)?),
    })
}

/// The `<steer>` that the client sent: the recorded one also names the client.
fn read_steer(record: &Record) -> Option<Arc<[u8]>> {
    let inside = Payload::from_trusted(record.body.clone()).ok()?.parse_child().ok()?;
    let mut writer = XmlWriter::with_capacity(record.body.len());
    writer.open("steer").xmlns(namespaces::CORE).write_payload(&inside);
    Some(writer.finish().into())
}

fn read_ruling(tree: &RecordedTree, at: usize, record: &Record) -> Option<RecordedRuling> {
    let h = &record.header;
    let (thread, place) = (h.thread.clone(), h.call.clone()?);
    if let Some(said) = question::read_said(&record.body) {
        let by = Name::parse(&said.by?).ok()?;
        let note = Some(said.note).filter(|note| !note.is_empty());
        let says = PersonDecision::Choose(said.choice);
        return Some(RecordedRuling { thread, place, config: h.config, by, note, says });
    }
    let decided = approval_payload::read_decided(&record.body)?;
    let by = Name::parse(&decided.by).ok()?;
    let says = match h.code? {
        RecordCode::Approving(ApprovalEffect::Approved) => PersonDecision::Approve,
        RecordCode::Approving(ApprovalEffect::Rejected) => PersonDecision::Reject,
        RecordCode::Approving(ApprovalEffect::Amended) => {
            let before = tree.records.get(..at)?.iter().rev().map(|(_, before)| before);
            let amendment = RecordCode::Approving(ApprovalEffect::Amendment);
            let mut amended = before.filter(|before| {
                let other = &before.header;
                other.code == Some(amendment) && other.thread == thread && other.call == h.call
            });
            let amended = amended.next()?;
            PersonDecision::Amend((amended.header.to.clone()?, amended.body.clone()))
        }
        _ => return None,
    };
    Some(RecordedRuling { thread, place, config: h.config, by, note: decided.note, says })
}
