//! Tries one listener alone. The request is judged and goes to the listener's program through the same carrier as in
//! an organism. The reply is judged as in an organism.
//!
//! Nothing is recorded and no other listener starts, so the trial covers only the first turn: a call to a peer is
//! reported, not made. Input: a composition, one of its listeners and a request. Output: everything the listener
//! said, item by item with its verdict.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use systole_kit::Payload;
use systole_kit::envelope::{Delivered, EnvelopeStamp};
use systole_kit::pump_documents;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::compiled_schemas::CompiledSchemas;
use super::runfile::draw_hex;
use crate::limits;
use systole_carriers::{
    CarrierEquipment, CarrierWaits, Carriers, InheritedVariables, NoCarrier, NoReceipts, ProgramEar,
};
use systole_core::pump::{primitives, replying};
use systole_core::rules::sent_files::FoundFile;
use systole_core::rules::{admit, core_payload};
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, Listener};
use systole_core::types::delivery::DeliveredTurn;
use systole_core::types::flow::{
    Admitted, FoundAnswer, JudgedContent, JudgedDocument, JudgedItem, PayloadKind,
};
use systole_core::types::ids::{AttemptId, CallPath, Digest, MessageId, Name, ThreadId};
use systole_core::types::ports::{
    CallBack, Carrier as _, CarrierReport, Clock as _, Delivery, Lease, LeaseToken, NoObserver,
};
use systole_core::types::refusal::Refusal;
use systole_system::clock::WallClock;

/// A trial's settings.
pub struct ListenerTrial {
    /// The organism that the listener belongs to.
    pub composition: Composition,
    /// The listener to try.
    pub listener: Name,
    /// The request, unparsed.
    pub document: Vec<u8>,
    /// Timeout, if it differs from the listener's own.
    pub timeout_ms: Option<u64>,
    /// The variables of this process's environment.
    pub surroundings: InheritedVariables,
    /// Receives the program's side output.
    pub ear: Arc<dyn ProgramEar>,
}

/// Why a trial was impossible.
#[derive(Debug, thiserror::Error)]
pub enum TrialFault {
    /// The request was refused, so the listener would never see it.
    #[error("{}", .0.message)]
    Refused(Box<Refusal>),
    /// The listener is neither a program nor a value that works without a log.
    #[error("{0} has no program of its own: it is a value of the process that runs the organism")]
    NoProgram(Name),
    /// An internal error or an error of the operating system.
    #[error("{0}")]
    Machine(String),
}

/// The result of a trial.
#[derive(Debug)]
pub struct TrialResult {
    /// Remarks before the reply, in order.
    pub before: Vec<TrialRemark>,
    /// The reply, or why there is none.
    pub end: TurnEnd,
    /// Whether the call may go on with another turn.
    pub goes_on: bool,
    /// Time from the delivery to its end, in milliseconds.
    pub took_ms: u64,
    /// Number of documents after the reply. An organism would refuse them.
    pub late: usize,
}

/// A message apart from the reply.
#[derive(Debug)]
pub enum TrialRemark {
    /// Progress.
    Progress(String),
    /// Feedback for the next turn: code and text.
    Notice(String, String),
    /// A journal entry, with the refusal if it is refused.
    Journal(Option<Refusal>),
    /// A question. A trial has no log to answer it from.
    Ask(Option<Refusal>),
    /// A document that belongs to no delivery.
    Stray(Refusal),
    /// A sender name in an item that is not the listener's own.
    FalseSender(String),
}

/// The end of the turn.
#[derive(Debug)]
pub enum TurnEnd {
    /// With a reply.
    Reply(Vec<ItemVerdict>),
    /// A reply without the answer it owes, with the refusal that the caller would get.
    Silent(Vec<ItemVerdict>, Box<Refusal>),
    /// The listener reports a failure: its code, whether a retry may help, its message.
    Failure(String, bool, String),
    /// The listener reports that its output was unusable: code and text.
    Again(String, String),
    /// No answer will come.
    Gone(Code, String),
}

/// The result of an item in an organism.
#[derive(Debug)]
pub struct ItemVerdict {
    /// The payload, if it could be read.
    pub payload: Option<Arc<[u8]>>,
    /// Its kind.
    pub case: ItemKind,
    /// Whether it would need a person's approval.
    pub needs_person: bool,
}

/// The kind of an item.
#[derive(Debug)]
pub enum ItemKind {
    /// A note of its own.
    Note,
    /// The answer.
    Final,
    /// A call to these peers.
    Call(Vec<Name>),
    /// A payload that the pump answers.
    ForPump,
    /// A payload for another thread. Only a running organism knows the thread.
    ForThread(String),
    /// A refused payload.
    Refused(Box<Refusal>),
}

impl TrialResult {
    /// Whether the trial succeeded: an organism would accept at least one item and refuse nothing.
    pub fn is_well(&self) -> bool {
        let refuses = |remark: &TrialRemark| {
            matches!(
                remark,
                TrialRemark::Stray(_) | TrialRemark::Journal(Some(_)) | TrialRemark::Ask(Some(_))
            )
        };
        let taken = match &self.end {
            TurnEnd::Reply(verdicts) => verdicts.iter().all(|v| !matches!(v.case, ItemKind::Refused(_))),
            _ => false,
        };
        taken && self.late == 0 && !self.before.iter().any(refuses)
    }
}

/// Runs the trial on the calling thread, because the judge is bound to one thread.
pub async fn run_trial(trial: ListenerTrial) -> Result<TrialResult, TrialFault> {
    let (composition, listener) = prepare_trial(&trial)?;
    let composition = Arc::new(composition);
    let machine = |words: String| TrialFault::Machine(words);
    let mut compiled_schemas =
        CompiledSchemas::set_up(std::iter::once(&composition)).map_err(|unfit| machine(unfit.to_string()))?;
    let client = Name::new_operator();
    let to = trial.listener.as_str();
    let asked = admit::admit_message(
        &composition,
        &client,
        &trial.document,
        Some(to),
        None,
        (&mut compiled_schemas, &|_| FoundFile::Unknown),
    );
    let admitted = asked.payload.map_err(|refused| TrialFault::Refused(Box::new(refused.refusal)))?;
    let delivery = build_delivery(&composition, &listener, &admitted, trial.timeout_ms).map_err(machine)?;
    let (reports, heard) = mpsc::channel(limits::SHORT_QUEUE);
    let equipment = CarrierEquipment {
        inline: BTreeMap::new(),
        surroundings: trial.surroundings,
        pace: CarrierWaits::default(),
        steps: Arc::new(NoObserver),
        ear: trial.ear,
        receipts: Arc::new(NoReceipts),
        broker: None,
        is_still: false,
    };
    let carriers =
        Carriers::start_all(&keep_only(&composition, &listener), equipment, reports).map_err(|no_way| {
            match no_way {
                NoCarrier::Value(name) | NoCarrier::Broker(name) => TrialFault::NoProgram(name),
                NoCarrier::Sandbox { .. } => TrialFault::Machine(no_way.to_string()),
            }
        })?;
    let room = TrialJudging { composition: &composition, listener: &listener, lease: delivery.lease.clone() };
    let timeout_ms = trial.timeout_ms.unwrap_or(listener.timeout_ms);
    let mut hearing = TrialHearing { room, carriers, heard, compiled_schemas, before: Vec::new() };
    let begun = Instant::now();
    hearing.carriers.send_delivery(delivery);
    let end = hearing.hear_out(timeout_ms).await;
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let TrialHearing { carriers, heard, before, .. } = hearing;
    let late = stop_program(carriers, heard).await;
    Ok(TrialResult { before, end, goes_on: listener.turns > 1, took_ms, late })
}

/// The composition, with the listener open to the tester.
fn prepare_trial(trial: &ListenerTrial) -> Result<(Composition, Listener), TrialFault> {
    let mut composition = trial.composition.clone();
    let absent = || TrialFault::NoProgram(trial.listener.clone());
    let listener = composition.listeners.get_mut(&trial.listener).ok_or_else(absent)?;
    listener.entry = true;
    let listener = listener.clone();
    if listener.reach.traits().can_be_tried { Ok((composition, listener)) } else { Err(absent()) }
}

/// The composition with only this listener, so that no other one is started.
fn keep_only(composition: &Composition, listener: &Listener) -> Composition {
    let listeners = BTreeMap::from([(listener.name.clone(), listener.clone())]);
    Composition { listeners, ..composition.clone() }
}

/// The request as a delivery.
fn build_delivery(
    composition: &Composition,
    listener: &Listener,
    admitted: &Admitted,
    timeout_ms: Option<u64>,
) -> Result<Delivery, String> {
    let drawn = || draw_hex().map_err(|error| error.to_string());
    let (token, key) = (drawn()?, drawn()?);
    let thread = format!("sess-{}", key.get(..12).unwrap_or_default());
    let thread = ThreadId::parse(&thread).map_err(|malformed| malformed.to_string())?;
    let now = WallClock.now();
    let mut random = [0; 10];
    random.iter_mut().zip(Digest::hash_bytes(token.as_bytes()).0).for_each(|(to, from)| *to = from);
    let payload = Payload::from_trusted(admitted.bytes().clone()).map_err(|fault| fault.to_string())?;
    let stamp = EnvelopeStamp {
        id: Some(MessageId::new(now.0, &random).to_string()),
        seq: Some(1),
        at: Some(now.to_string()),
        call: CallPath::new_top(1).as_str().to_owned(),
        turn: 1,
        delivery: token.clone(),
        attempt: 1,
        key,
        deadline: Some(now.add_ms(timeout_ms.unwrap_or(listener.timeout_ms)).to_string()),
        sha256: Some(Digest::hash_bytes(admitted.bytes()).to_string()),
        request: Some(1),
        ..EnvelopeStamp::default()
    };
    let lease = Lease {
        token: LeaseToken(token.into()),
        listener: listener.name.clone(),
        id: AttemptId { thread: thread.clone(), call: CallPath::new_top(1), turn: 1, attempt: 1 },
        config: composition.hash,
    };
    let (from, to) = (Name::new_operator().to_string(), Some(listener.name.to_string()));
    let envelope = Delivered { from, to, thread: thread.to_string(), stamp, payload };
    Ok(Delivery { lease: Arc::new(lease), turn: DeliveredTurn::Composed(Box::new(envelope)) })
}

/// The context in which messages are judged.
struct TrialJudging<'t> {
    composition: &'t Composition,
    listener: &'t Listener,
    lease: Arc<Lease>,
}

struct TrialHearing<'t> {
    room: TrialJudging<'t>,
    carriers: Carriers,
    heard: mpsc::Receiver<CarrierReport>,
    compiled_schemas: CompiledSchemas,
    before: Vec<TrialRemark>,
}

impl TrialHearing<'_> {
    /// Listens to the program until its reply, or until it is clear that none will come.
    async fn hear_out(&mut self, timeout_ms: u64) -> TurnEnd {
        let hard = Instant::now() + Duration::from_millis(timeout_ms);
        let idle = self.room.listener.idle_ms.map(Duration::from_millis);
        let mut due = idle.map_or(hard, |idle| hard.min(Instant::now() + idle));
        let mut in_time = true;
        loop {
            let report = tokio::select! {
                report = self.heard.recv() => report,
                () = tokio::time::sleep_until(due), if in_time => {
                    in_time = false;
                    self.carriers.call_back(&self.room.lease.token, CallBack::TimedOut);
                    continue;
                }
            };
            let speech = match report {
                None => return TurnEnd::Gone(Code::ListenerLost, "its carrier ended".to_owned()),
                Some(CarrierReport::Gone { code, words, .. }) => return TurnEnd::Gone(code, words),
                Some(CarrierReport::NotNow { words, .. } | CarrierReport::Away { words, .. }) => {
                    return TurnEnd::Gone(Code::ListenerDown, words);
                }
                Some(
                    CarrierReport::Joined { .. }
                    | CarrierReport::Left { .. }
                    | CarrierReport::Adopted { .. }
                    | CarrierReport::Taken { .. }
                    | CarrierReport::Untaken { .. },
                ) => continue,
                Some(CarrierReport::Misplaced { speech, .. }) => {
                    let stray = admit::make_unmatched(&self.room.listener.name, &speech);
                    self.before.push(TrialRemark::Stray(stray.refused.refusal));
                    continue;
                }
                Some(CarrierReport::Said { speech, .. }) => speech,
            };
            let limits = admit::gate_limits(self.room.composition);
            let lease = |token: &str| (*token == *self.room.lease.token.0).then(|| self.room.lease.clone());
            let (lease, word) = match admit::listener_word(&self.room.listener.name, &speech, &limits, lease)
            {
                Ok(read) => read,
                Err(stray) => {
                    self.before.push(TrialRemark::Stray(stray.refused.refusal));
                    continue;
                }
            };
            let (page, known) = (self.room.composition, primitives::find_reading);
            let judged = admit::judge_word(page, lease, word, &speech, known, &mut self.compiled_schemas);
            if let Some(idle) = idle {
                due = hard.min(Instant::now() + idle);
            }
            if let Some(end) = self.take_document(judged) {
                return end;
            }
        }
    }

    /// Handles one message. Returns the end of the turn if the message ends it.
    fn take_document(&mut self, judged: JudgedDocument) -> Option<TurnEnd> {
        self.before.extend(judged.claimed.map(TrialRemark::FalseSender));
        match judged.said {
            JudgedContent::Items(items) => return Some(self.room.judge_reply(items)),
            JudgedContent::Failure { code, retry, words, .. }
            | JudgedContent::Away { code, retry, words, .. } => {
                return Some(TurnEnd::Failure(code, retry, words));
            }
            JudgedContent::Again { code, words } => return Some(TurnEnd::Again(code, words)),
            JudgedContent::Progress { words, .. } => self.before.push(TrialRemark::Progress(words)),
            JudgedContent::Notice { code, words } => self.before.push(TrialRemark::Notice(code, words)),
            JudgedContent::Journal { id, entry } => {
                let refusal = entry.err().map(|refused| refused.refusal);
                self.answer_document(id, refusal.as_ref());
                self.before.push(TrialRemark::Journal(refusal));
            }
            JudgedContent::Ask { id, question } => {
                let refusal = question.err().map(|refused| refused.refusal);
                let none = || Refusal::new(Code::Unavailable, "a trial has no log to answer from");
                self.answer_document(id, Some(&refusal.clone().unwrap_or_else(none)));
                self.before.push(TrialRemark::Ask(refusal));
            }
        }
        None
    }

    fn answer_document(&self, id: u64, refusal: Option<&Refusal>) {
        let body = refusal.map(core_payload::system_error);
        let payload = body.and_then(|body| Payload::from_trusted(body).ok());
        let delivery = self.room.lease.token.0.to_string();
        self.carriers
            .send_answer(&self.room.listener.name, pump_documents::PumpAnswer { delivery, id, payload });
    }
}

impl TrialJudging<'_> {
    /// The items of the reply, and what they mean for the call.
    fn judge_reply(&self, items: Vec<JudgedItem>) -> TurnEnd {
        let is_step = |item: &&JudgedItem| !matches!(item, JudgedItem::Admitted(a) if replying::is_kept(a));
        let steps = items.iter().filter(is_step).count();
        let owes = !self.listener.returns.is_empty() && (items.is_empty() || self.listener.turns <= 1);
        let verdicts: Vec<ItemVerdict> = items.into_iter().map(|item| self.judge_item(item, steps)).collect();
        let settled = verdicts.iter().any(|v| matches!(v.case, ItemKind::Final | ItemKind::Refused(_)));
        if owes && !settled {
            let refusal = replying::explain_silence(&self.listener.name, Some(self.listener));
            return TurnEnd::Silent(verdicts, Box::new(refusal));
        }
        TurnEnd::Reply(verdicts)
    }

    fn judge_item(&self, item: JudgedItem, steps: usize) -> ItemVerdict {
        match item {
            JudgedItem::Admitted(admitted) => {
                let case = match admitted.what() {
                    PayloadKind::Note => ItemKind::Note,
                    PayloadKind::Final if steps > 1 => ItemKind::Refused(Box::new(replying::not_alone())),
                    PayloadKind::Final => ItemKind::Final,
                    PayloadKind::For(peer) => ItemKind::Call(vec![peer.clone()]),
                    PayloadKind::ForEach { takers, .. } => {
                        ItemKind::Call(takers.iter().map(|(peer, _)| peer.clone()).collect())
                    }
                    PayloadKind::Steer { .. } | PayloadKind::Primitive(_) => ItemKind::ForPump,
                };
                let needs_person = match admitted.what() {
                    PayloadKind::For(to) | PayloadKind::Primitive(FoundAnswer::Child { to, .. }) => {
                        admitted.is_dangerous() || self.is_guarded(to)
                    }
                    PayloadKind::ForEach { takers, .. } => {
                        takers.iter().any(|(to, is_dangerous)| *is_dangerous || self.is_guarded(to))
                    }
                    // The pump holds nothing that it answers itself.
                    PayloadKind::Note
                    | PayloadKind::Final
                    | PayloadKind::Steer { .. }
                    | PayloadKind::Primitive(_) => false,
                };
                ItemVerdict { payload: Some(admitted.bytes().clone()), case, needs_person }
            }
            JudgedItem::Refused(refused) => ItemVerdict {
                payload: refused.kept,
                case: ItemKind::Refused(Box::new(refused.refusal)),
                needs_person: false,
            },
            JudgedItem::ForThread { thread, payload, .. } => {
                ItemVerdict { payload: Some(payload), case: ItemKind::ForThread(thread), needs_person: false }
            }
        }
    }

    /// Whether a person must approve everything that goes to this listener.
    fn is_guarded(&self, to: &Name) -> bool {
        self.composition.listeners.get(to).is_some_and(|listener| listener.approval.always)
    }
}

/// Stops the program as an organism would. Returns the number of documents that still arrived.
async fn stop_program(carriers: Carriers, mut heard: mpsc::Receiver<CarrierReport>) -> usize {
    let mut late = 0;
    let is_late = |report: &CarrierReport| usize::from(matches!(report, CarrierReport::Said { .. }));
    {
        let mut stopping = pin!(carriers.stop_all());
        loop {
            tokio::select! {
                () = &mut stopping => break,
                Some(report) = heard.recv() => late += is_late(&report),
            }
        }
    }
    while let Ok(report) = heard.try_recv() {
        late += is_late(&report);
    }
    late
}
