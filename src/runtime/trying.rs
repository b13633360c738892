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
use systole_kit::envelope::{Delivered, Stamp};
use systole_kit::told;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::compiled_schemas::CompiledSchemas;
use super::runfile::random_hex;
use crate::edges::clock::WallClock;
use crate::edges::delivery::{Carriers, Ear, Equipment, NoWay, Pace, Surroundings, Unreceipted};
use systole_core::pump::{primitives, replying};
use systole_core::rules::{admit, core_payload};
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, Listener, Reach};
use systole_core::types::flow::{Admitted, Item, Judged, Said, What};
use systole_core::types::ids::{CallPath, Digest, MessageId, Name, ThreadId};
use systole_core::types::ports::{
    CallBack, Carrier as _, Clock as _, Delivery, Heard, Lease, Token, Unwatched,
};
use systole_core::types::refusal::Refusal;

/// Reports that may wait. There is one program, and its reports are read at once.
const REPORTS: usize = 64;

/// A trial's settings.
pub struct Trial {
    /// The organism that the listener belongs to.
    pub composition: Composition,
    /// The listener to try.
    pub listener: Name,
    /// The request, unparsed.
    pub document: Vec<u8>,
    /// Timeout, if it differs from the listener's own.
    pub timeout_ms: Option<u64>,
    /// The variables of this process's environment.
    pub surroundings: Surroundings,
    /// Receives the program's side output.
    pub ear: Arc<dyn Ear>,
}

/// Why a trial was impossible.
#[derive(Debug, thiserror::Error)]
pub enum Untried {
    /// The request was refused, so the listener would never see it.
    #[error("{}", .0.message)]
    Refused(Box<Refusal>),
    /// The listener is not a program.
    #[error("{0} has no program of its own: it is a value of the process that runs the organism")]
    NoProgram(Name),
    /// An internal error or an error of the operating system.
    #[error("{0}")]
    Machine(String),
}

/// The result of a trial.
#[derive(Debug)]
pub struct Tried {
    /// Remarks before the reply, in order.
    pub before: Vec<Remark>,
    /// The reply, or why there is none.
    pub end: End,
    /// Whether the call may go on with another turn.
    pub goes_on: bool,
    /// Time from the delivery to its end, in milliseconds.
    pub took_ms: u64,
    /// Number of documents after the reply. An organism would refuse them.
    pub late: usize,
}

/// A message apart from the reply.
#[derive(Debug)]
pub enum Remark {
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
pub enum End {
    /// With a reply.
    Reply(Vec<Verdict>),
    /// A reply without the answer it owes, with the refusal that the caller would get.
    Silent(Vec<Verdict>, Refusal),
    /// The listener reports a failure: its code, whether a retry may help, its message.
    Failure(String, bool, String),
    /// The listener reports that its output was unusable: code and text.
    Again(String, String),
    /// No answer will come.
    Gone(Code, String),
}

/// The result of an item in an organism.
#[derive(Debug)]
pub struct Verdict {
    /// The payload, if it could be read.
    pub payload: Option<Arc<[u8]>>,
    /// Its kind.
    pub case: Case,
    /// Whether it would need a person's approval.
    pub needs_person: bool,
}

/// The kind of an item.
#[derive(Debug)]
pub enum Case {
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

impl Tried {
    /// Whether the trial succeeded: an organism would accept at least one item and refuse nothing.
    pub fn is_well(&self) -> bool {
        let refuses = |remark: &Remark| {
            matches!(remark, Remark::Stray(_) | Remark::Journal(Some(_)) | Remark::Ask(Some(_)))
        };
        let taken = match &self.end {
            End::Reply(verdicts) => verdicts.iter().all(|v| !matches!(v.case, Case::Refused(_))),
            _ => false,
        };
        taken && self.late == 0 && !self.before.iter().any(refuses)
    }
}

/// Runs the trial on the calling thread, because the judge is bound to one thread.
pub async fn run(trial: Trial) -> Result<Tried, Untried> {
    let (composition, listener) = prepared(&trial)?;
    let composition = Arc::new(composition);
    let machine = |words: String| Untried::Machine(words);
    let mut compiled_schemas =
        CompiledSchemas::set_up(std::iter::once(&composition)).map_err(|unfit| machine(unfit.to_string()))?;
    let client = Name::operator();
    let to = trial.listener.as_str();
    let asked = admit::message(&composition, &client, &trial.document, Some(to), None, &mut compiled_schemas);
    let admitted = asked.payload.map_err(|refused| Untried::Refused(Box::new(refused.refusal)))?;
    let delivery = delivery(&composition, &listener, &admitted, trial.timeout_ms).map_err(machine)?;
    let (reports, heard) = mpsc::channel(REPORTS);
    let equipment = Equipment {
        inline: BTreeMap::new(),
        surroundings: trial.surroundings,
        pace: Pace::default(),
        steps: Arc::new(Unwatched),
        ear: trial.ear,
        receipts: Arc::new(Unreceipted),
        broker: None,
        is_still: false,
    };
    let carriers = Carriers::start(&alone(&composition, &listener), equipment, reports).map_err(
        |no_way| match no_way {
            NoWay::Value(name) | NoWay::Broker(name) => Untried::NoProgram(name),
        },
    )?;
    let room = Room { composition: &composition, listener: &listener, lease: delivery.lease.clone() };
    let timeout_ms = trial.timeout_ms.unwrap_or(listener.timeout_ms);
    let mut hearing = Hearing { room, carriers, heard, compiled_schemas, before: Vec::new() };
    let begun = Instant::now();
    hearing.carriers.hand(delivery);
    let end = hearing.out(timeout_ms).await;
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let Hearing { carriers, heard, before, .. } = hearing;
    let late = stop(carriers, heard).await;
    Ok(Tried { before, end, goes_on: listener.turns > 1, took_ms, late })
}

/// The composition, with the listener open to the tester.
fn prepared(trial: &Trial) -> Result<(Composition, Listener), Untried> {
    let mut composition = trial.composition.clone();
    let absent = || Untried::NoProgram(trial.listener.clone());
    let listener = composition.listeners.get_mut(&trial.listener).ok_or_else(absent)?;
    listener.entry = true;
    let listener = listener.clone();
    match listener.reach {
        Reach::Process(_) => Ok((composition, listener)),
        Reach::Inline | Reach::Nats | Reach::Hosted => Err(absent()),
    }
}

/// The composition with only this listener, so that no other one is started.
fn alone(composition: &Composition, listener: &Listener) -> Composition {
    let listeners = BTreeMap::from([(listener.name.clone(), listener.clone())]);
    Composition { listeners, ..composition.clone() }
}

/// The request as a delivery.
fn delivery(
    composition: &Composition,
    listener: &Listener,
    admitted: &Admitted,
    timeout_ms: Option<u64>,
) -> Result<Delivery, String> {
    let drawn = || random_hex().map_err(|error| error.to_string());
    let (token, key) = (drawn()?, drawn()?);
    let thread = format!("sess-{}", key.get(..12).unwrap_or_default());
    let thread = ThreadId::parse(&thread).map_err(|malformed| malformed.to_string())?;
    let now = WallClock.now();
    let mut random = [0; 10];
    random.iter_mut().zip(Digest::of(token.as_bytes()).0).for_each(|(to, from)| *to = from);
    let payload = Payload::trusted(admitted.bytes().clone()).map_err(|fault| fault.to_string())?;
    let stamp = Stamp {
        id: Some(MessageId::new(now.0, &random).to_string()),
        seq: Some(1),
        at: Some(now.to_string()),
        call: CallPath::top(1).as_str().to_owned(),
        turn: 1,
        delivery: token.clone(),
        attempt: 1,
        key,
        deadline: Some(now.plus(timeout_ms.unwrap_or(listener.timeout_ms)).to_string()),
        sha256: Some(Digest::of(admitted.bytes()).to_string()),
        request: Some(1),
        ..Stamp::default()
    };
    let lease = Lease {
        token: Token(token.into()),
        listener: listener.name.clone(),
        thread: thread.clone(),
        call: CallPath::top(1),
        turn: 1,
        attempt: 1,
        config: composition.hash,
    };
    let (from, to) = (Name::operator().to_string(), Some(listener.name.to_string()));
    let envelope = Delivered { from, to, thread: thread.to_string(), stamp, payload };
    Ok(Delivery { lease: Arc::new(lease), envelope: Box::new(envelope) })
}

/// The context in which messages are judged.
struct Room<'t> {
    composition: &'t Composition,
    listener: &'t Listener,
    lease: Arc<Lease>,
}

struct Hearing<'t> {
    room: Room<'t>,
    carriers: Carriers,
    heard: mpsc::Receiver<Heard>,
    compiled_schemas: CompiledSchemas,
    before: Vec<Remark>,
}

impl Hearing<'_> {
    /// Listens to the program until its reply, or until it is clear that none will come.
    async fn out(&mut self, timeout_ms: u64) -> End {
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
                None => return End::Gone(Code::ListenerLost, "its carrier ended".to_owned()),
                Some(Heard::Gone { code, words, .. }) => return End::Gone(code, words),
                Some(Heard::NotNow { words, .. }) => return End::Gone(Code::ListenerDown, words),
                Some(Heard::Joined { .. } | Heard::Left { .. }) => continue,
                Some(Heard::Misplaced { speech, .. }) => {
                    let stray = admit::misplaced(&self.room.listener.name, &speech);
                    self.before.push(Remark::Stray(stray.refused.refusal));
                    continue;
                }
                Some(Heard::Said { speech, .. }) => speech,
            };
            let limits = admit::gate_limits(self.room.composition);
            let lease = |token: &str| (*token == *self.room.lease.token.0).then(|| self.room.lease.clone());
            let (lease, word) = match admit::listener_word(&self.room.listener.name, &speech, &limits, lease)
            {
                Ok(read) => read,
                Err(stray) => {
                    self.before.push(Remark::Stray(stray.refused.refusal));
                    continue;
                }
            };
            let (page, known) = (self.room.composition, primitives::reading);
            let judged = admit::judge_word(page, lease, word, &speech, known, &mut self.compiled_schemas);
            if let Some(idle) = idle {
                due = hard.min(Instant::now() + idle);
            }
            if let Some(end) = self.take(judged) {
                return end;
            }
        }
    }

    /// Handles one message. Returns the end of the turn if the message ends it.
    fn take(&mut self, judged: Judged) -> Option<End> {
        self.before.extend(judged.claimed.map(Remark::FalseSender));
        match judged.said {
            Said::Items(items) => return Some(self.room.reply(items)),
            Said::Failure { code, retry, words } => return Some(End::Failure(code, retry, words)),
            Said::Again { code, words } => return Some(End::Again(code, words)),
            Said::Progress { words } => self.before.push(Remark::Progress(words)),
            Said::Notice { code, words } => self.before.push(Remark::Notice(code, words)),
            Said::Journal { id, entry } => {
                let refusal = entry.err().map(|refused| refused.refusal);
                self.answer(id, refusal.as_ref());
                self.before.push(Remark::Journal(refusal));
            }
            Said::Ask { id, question } => {
                let refusal = question.err().map(|refused| refused.refusal);
                let none = || Refusal::new(Code::Unavailable, "a trial has no log to answer from");
                self.answer(id, Some(&refusal.clone().unwrap_or_else(none)));
                self.before.push(Remark::Ask(refusal));
            }
        }
        None
    }

    fn answer(&self, id: u64, refusal: Option<&Refusal>) {
        let body = refusal.map(core_payload::system_error);
        let payload = body.and_then(|body| Payload::trusted(body).ok());
        let delivery = self.room.lease.token.0.to_string();
        self.carriers.answer(&self.room.listener.name, told::Answer { delivery, id, payload });
    }
}

impl Room<'_> {
    /// The items of the reply, and what they mean for the call.
    fn reply(&self, items: Vec<Item>) -> End {
        let is_step = |item: &&Item| !matches!(item, Item::Admitted(a) if replying::is_kept(a));
        let steps = items.iter().filter(is_step).count();
        let owes = !self.listener.returns.is_empty() && (items.is_empty() || self.listener.turns <= 1);
        let verdicts: Vec<Verdict> = items.into_iter().map(|item| self.verdict(item, steps)).collect();
        let settled = verdicts.iter().any(|v| matches!(v.case, Case::Final | Case::Refused(_)));
        if owes && !settled {
            return End::Silent(verdicts, replying::silence(&self.listener.name, Some(self.listener)));
        }
        End::Reply(verdicts)
    }

    fn verdict(&self, item: Item, steps: usize) -> Verdict {
        match item {
            Item::Admitted(admitted) => {
                let case = match admitted.what() {
                    What::Note => Case::Note,
                    What::Final if steps > 1 => Case::Refused(Box::new(replying::not_alone())),
                    What::Final => Case::Final,
                    What::For(peer) => Case::Call(vec![peer.clone()]),
                    What::ForEach { takers, .. } => {
                        Case::Call(takers.iter().map(|(peer, _)| peer.clone()).collect())
                    }
                    What::Steer { .. } | What::Primitive(_) => Case::ForPump,
                };
                let needs_person = admitted.is_dangerous() && !matches!(case, Case::Note | Case::Final);
                Verdict { payload: Some(admitted.bytes().clone()), case, needs_person }
            }
            Item::Refused(refused) => Verdict {
                payload: refused.kept,
                case: Case::Refused(Box::new(refused.refusal)),
                needs_person: false,
            },
            Item::ForThread { thread, payload, .. } => {
                Verdict { payload: Some(payload), case: Case::ForThread(thread), needs_person: false }
            }
        }
    }
}

/// Stops the program as an organism would. Returns the number of documents that still arrived.
async fn stop(carriers: Carriers, mut heard: mpsc::Receiver<Heard>) -> usize {
    let mut late = 0;
    let is_late = |report: &Heard| usize::from(matches!(report, Heard::Said { .. }));
    {
        let mut stopping = pin!(carriers.stop());
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
