//! The real pump of a walk: `decide` and `apply` over the real state, and its records at hand. It turns what
//! a walk draws into events, and what came of them into the words of the naive pump.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use systole::pump::compose;
use systole::pump::decide::decide;
use systole::pump::event::{Decision, Effect, Event, Happening, Lost, Pause};
use systole::pump::fold::apply;
use systole::pump::pausing::halted;
use systole::pump::state::{Book, Call, Life, Stand, State};
use systole::words::approval::{Ruling, Says};
use systole::words::budget::{Budgets, Loops};
use systole::words::codes::Code;
use systole::words::composition::{
    ApprovalRule, Composition, Describe, Element, Gather, Listener, OnUnknown, Reach, Retry, SchemaId,
};
use systole::words::flow::{Admitted, Asked, Item, Judged, Refused, Said, Ticket, Verdict, What};
use systole::words::ids::{CallPath, Digest, Key, Name, ThreadId, TimerId};
use systole::words::ports::{Lease, Seed, Token};
use systole::words::primitive::{Await, Mode, Pace, Primitive, SetTimer};
use systole::words::record::{Kind, Mark, Record, Role};
use systole::words::refusal::Refusal;
use systole::words::time::Millis;
use systole_kit::namespaces::CORE;
use systole_kit::{Limits, Payload, QName};

use super::naive::{self, ATTEMPTS, Enough, Party, SHARE_PERCENT, Thrown, Unknown};
use super::shown;

/// Ways in which an attempt is lost, and whether its outcome is then known; none where no further attempt
/// can help.
pub(crate) const LOSSES: [(Code, Option<bool>); 5] = [
    (Code::ListenerLost, Some(false)),
    (Code::ListenerTimeout, Some(false)),
    (Code::ListenerFailed, Some(true)),
    (Code::ListenerDown, Some(true)),
    (Code::Unavailable, None),
];

/// The real pump.
pub(crate) struct Real {
    state: State,
    records: BTreeMap<(ThreadId, u64), Arc<Record>>,
    events: u64,
    closed: BTreeSet<(String, String, String)>,
    became_due: Vec<(String, String)>,
    told: Option<String>,
}

fn listener(party: &Party, peers: &[Party]) -> Listener {
    let element = |local: &str| Element { name: QName::new("urn:walked", local), schema: SchemaId(2) };
    Listener {
        approval: ApprovalRule { always: party.asks_a_person, ..ApprovalRule::default() },
        name: Name::parse(party.name).unwrap(),
        reach: Reach::Inline,
        accepts: vec![element(party.name)],
        returns: if party.owes_answer { vec![element("done")] } else { Vec::new() },
        note: Some(SchemaId(2)),
        peers: peers.iter().map(|peer| Name::parse(peer.name).unwrap()).collect(),
        turns: party.turns,
        share_percent: u32::try_from(SHARE_PERCENT).unwrap(),
        in_flight: 1,
        timeout_ms: 30_000,
        idle_ms: None,
        retry: Retry { attempts: ATTEMPTS, first_ms: 1_000, longest_ms: 30_000 },
        on_unknown: match party.unknown {
            Unknown::Repeats => OnUnknown::Retry,
            Unknown::Fails => OnUnknown::Fail,
            Unknown::AsksAPerson => OnUnknown::Ask,
        },
        entry: true,
        describe: Describe::Peers,
    }
}

fn payload(local: &str, number: u64) -> Payload {
    let document = format!("<{local} xmlns=\"urn:walked\" n=\"{number}\"/>");
    Payload::read(document.as_bytes(), &Limits::default()).unwrap()
}

/// A payload of the core, and what the door reads in it.
fn primitive(what: Primitive, document: &str) -> Item {
    let payload = Payload::read(document.as_bytes(), &Limits::default()).unwrap();
    Item::Admitted(Admitted::new(What::Primitive(what), Verdict::sworn(payload)))
}

fn await_threads(enough: Enough, named: &[String]) -> String {
    let mode = match enough {
        Enough::All => "all".to_owned(),
        Enough::Any => "any".to_owned(),
        Enough::Count(count) => count.to_string(),
    };
    let named: String = named.iter().map(|id| format!("<thread id=\"{id}\"/>")).collect();
    format!("<await-threads xmlns=\"{CORE}\" mode=\"{mode}\">{named}</await-threads>")
}

fn item(thrown: &Thrown) -> Item {
    let admitted = |what, payload| Item::Admitted(Admitted::new(what, Verdict::sworn(payload)));
    match thrown {
        Thrown::Note => admitted(What::Note, payload("thought", 0)),
        Thrown::Final(number) => admitted(What::Final, payload("done", *number)),
        Thrown::Call(party, number) => {
            admitted(What::For(Name::parse(party.name).unwrap()), payload(party.name, *number))
        }
        Thrown::Spawn(label, party, number) => {
            let initial = payload(party.name, *number).bytes().clone();
            let to = Name::parse(party.name).unwrap();
            let what = What::Spawn { label: label.map(str::to_owned), to, initial };
            let core = b"<spawn-thread xmlns=\"https://xml-pipeline.org/ns/core/v1\"/>";
            admitted(what, Payload::read(core, &Limits::default()).unwrap())
        }
        Thrown::Refused => {
            Item::Refused(Refused { refusal: Refusal::new(Code::Invalid, "wrong"), kept: None })
        }
        Thrown::ForThread(thread) => {
            let refusal = Refusal::new(Code::NotAPeer, "nobody takes news");
            let judged = Box::new(Err(Refused { refusal, kept: None }));
            Item::ForThread { thread: thread.clone(), payload: payload("news", 0).bytes().clone(), judged }
        }
        Thrown::Steers(thread, to, number) => {
            let word = payload(to.name, *number);
            let (thread, bytes) = (thread.clone(), word.bytes().clone());
            let judged = Admitted::new(What::For(Name::parse(to.name).unwrap()), Verdict::sworn(word));
            Item::ForThread { thread, payload: bytes, judged: Box::new(Ok(judged)) }
        }
        Thrown::Cast(takers, is_first_enough, number) => {
            let gather = if *is_first_enough { Gather::First } else { Gather::All };
            let verdict =
                |to: &Party| (Name::parse(to.name).unwrap(), Verdict::sworn(payload("cast", *number)));
            Item::Admitted(Admitted::for_each(gather, takers.iter().map(verdict).collect()).unwrap())
        }
        Thrown::Wait(enough, named) => {
            let mode = match enough {
                Enough::All => Mode::All,
                Enough::Any => Mode::Any,
                Enough::Count(count) => Mode::Count(u32::try_from(*count).unwrap()),
            };
            let threads = named.iter().map(|id| ThreadId::parse(id).unwrap()).collect();
            primitive(Primitive::Await(Await { mode, threads }), &await_threads(*enough, named))
        }
        Thrown::Todo(condition, is_done) => {
            let list = format!("condition=\"c{condition}\"><step done=\"{is_done}\">x</step></todo-until>");
            primitive(Primitive::Todo, &format!("<todo-until xmlns=\"{CORE}\" {list}"))
        }
        Thrown::Sets(id, repeats) => {
            let pace = Pace { span_ms: 60_000, repeats: *repeats };
            let written = if *repeats { "every=\"1m\"" } else { "after=\"1m\"" };
            let named = id.map_or(String::new(), |id| format!(" id=\"{id}\""));
            let id = id.map(|id| TimerId::parse(id).unwrap());
            let document = format!("<set-timer xmlns=\"{CORE}\"{named} {written}>look</set-timer>");
            primitive(Primitive::SetTimer(SetTimer { id, pace }), &document)
        }
        Thrown::Unsets(id) => {
            let document = format!("<cancel-timer xmlns=\"{CORE}\" id=\"{id}\"/>");
            primitive(Primitive::CancelTimer(TimerId::parse(id).unwrap()), &document)
        }
        Thrown::Ends(thread) => {
            let id = ThreadId::parse(thread).unwrap();
            primitive(
                Primitive::CancelThread(id),
                &format!("<cancel-thread xmlns=\"{CORE}\" id=\"{thread}\"/>"),
            )
        }
    }
}

impl Real {
    pub(crate) fn new(parties: &[Party], limits: Option<naive::Limits>, loops: Option<naive::Loops>) -> Real {
        let loops =
            loops.map(|loops| Loops { told: loops.told, refused: loops.refused, ping_pong: loops.rounds });
        let budgets = limits.map(|limits| Budgets {
            messages: limits.messages as u64,
            depth: limits.depth,
            children: limits.children as u64,
            ..Budgets::default()
        });
        let composition = Composition {
            organism: Name::parse("walked").unwrap(),
            hash: Digest([7; 32]),
            source: Arc::from(&b""[..]),
            entry: None,
            listeners: parties
                .iter()
                .map(|party| listener(party, parties))
                .map(|l| (l.name.clone(), l))
                .collect(),
            schemas: Vec::new(),
            message_bytes: 1 << 20,
            budgets,
            loops,
            broadcasts: Vec::new(),
            clients: BTreeMap::new(),
        };
        let mut real = Real {
            state: State { book: Book::open_at(Arc::new(composition)), ..State::default() },
            records: BTreeMap::new(),
            events: 0,
            closed: BTreeSet::new(),
            became_due: Vec::new(),
            told: None,
        };
        real.happens(Happening::Booted { listeners: Vec::new() });
        real
    }

    /// An event begins.
    pub(crate) fn begins(&mut self) {
        self.closed.clear();
        self.became_due.clear();
        self.told = None;
    }

    fn happens(&mut self, what: Happening) {
        self.events += 1;
        let at = Millis(1_000_000 + self.events * 10);
        let event = Event { at, tick: at, seed: Seed(u128::from(self.events).to_be_bytes()), what };
        let Decision { facts, effects, .. } = decide(&self.state, event);
        for fact in facts {
            apply(&mut self.state, &fact);
            self.closed.extend(closing(&fact));
            self.records.insert((fact.header.thread.clone(), fact.header.seq), fact);
        }
        for effect in effects {
            match effect {
                Effect::Ready(work) => {
                    self.became_due.push((work.thread.to_string(), work.call.to_string()));
                }
                Effect::Receipt { .. } => self.told = Some("receipt".to_owned()),
                Effect::Refused { refusal, .. } => self.told = Some(format!("refused {}", refusal.code)),
                Effect::Done { .. } => self.told = Some("done".to_owned()),
                _ => {}
            }
        }
        self.became_due.sort();
    }

    fn call(&self, thread: &str, path: &str) -> Option<&Call> {
        self.state.threads.get(thread)?.calls.get(path)
    }

    /// The lease of whatever is due, or would be.
    fn lease(&self, thread: &str, path: &str) -> Arc<Lease> {
        let call = self.call(thread, path).unwrap();
        Arc::new(Lease {
            token: Token("token".into()),
            listener: call.listener.clone(),
            thread: ThreadId::parse(thread).unwrap(),
            call: CallPath::parse(path).unwrap(),
            turn: call.settled + 1,
            attempt: call.attempts.max(1),
            config: call.config,
        })
    }

    pub(crate) fn root_of(&self, key: &str) -> String {
        let organism = Name::parse("walked").unwrap();
        ThreadId::root(&organism, &Name::operator(), &Key::parse(key).unwrap(), 12).to_string()
    }

    pub(crate) fn asks(&mut self, thread: Option<&str>, key: &str, party: Party, number: u64) {
        let what = What::For(Name::parse(party.name).unwrap());
        self.hears(thread, key, Admitted::new(what, Verdict::sworn(payload(party.name, number))));
    }

    /// A word from outside for work that goes on.
    pub(crate) fn steers(&mut self, thread: &str, key: &str, party: Party, number: u64) {
        let inside = payload(party.name, number);
        let inner = String::from_utf8_lossy(inside.bytes()).into_owned();
        let document = format!("<steer xmlns=\"{CORE}\">{inner}</steer>");
        let document = Payload::read(document.as_bytes(), &Limits::default()).unwrap();
        let to = Name::parse(party.name).unwrap();
        self.hears(Some(thread), key, Admitted::steer(to, Verdict::sworn(inside), Verdict::sworn(document)));
    }

    fn hears(&mut self, thread: Option<&str>, key: &str, admitted: Admitted) {
        let asked = Asked {
            ticket: Ticket(1),
            client: Name::operator(),
            key: Key::parse(key).unwrap(),
            thread: thread.map(|id| ThreadId::parse(id).unwrap()),
            payload: Ok(admitted),
        };
        self.happens(Happening::Asked { asked, bound: None });
    }

    pub(crate) fn ends(&mut self, thread: &str) {
        let thread = ThreadId::parse(thread).unwrap();
        self.happens(Happening::End { ticket: Ticket(1), by: Name::operator(), thread });
    }

    pub(crate) fn pauses(&mut self, thread: Option<&str>, halts: bool) {
        let thread = thread.map(|id| ThreadId::parse(id).unwrap());
        let (ticket, by, note) = (Ticket(1), Name::operator(), None);
        self.happens(Happening::Pause(Pause { ticket, by, thread, halts, note }));
    }

    pub(crate) fn is_halted(&self, thread: &str) -> bool {
        halted(|id| self.state.thread(id), &ThreadId::parse(thread).unwrap()).is_some()
    }

    pub(crate) fn told(&self) -> Option<&str> {
        self.told.as_deref()
    }

    fn says(&mut self, lease: Arc<Lease>, said: Said) {
        self.happens(Happening::Replied(Judged { lease, said, claimed: None }));
    }

    /// A reply; `claimed` is the name of somebody else that it gives as its sender's.
    pub(crate) fn replies(&mut self, thread: &str, path: &str, thrown: &[Thrown], claimed: Option<&str>) {
        let (lease, said) = (self.lease(thread, path), Said::Items(thrown.iter().map(item).collect()));
        let claimed = claimed.map(str::to_owned);
        self.happens(Happening::Replied(Judged { lease, said, claimed }));
    }

    /// A reply to another turn, or to another attempt, than is due.
    pub(crate) fn replies_late(&mut self, thread: &str, path: &str, turns: bool) {
        let mut lease = (*self.lease(thread, path)).clone();
        *(if turns { &mut lease.turn } else { &mut lease.attempt }) += 1;
        self.says(Arc::new(lease), Said::Items(vec![item(&Thrown::Final(0))]));
    }

    pub(crate) fn fails(&mut self, thread: &str, path: &str, retry: bool) {
        let said = Said::Failure { code: "walked".into(), retry, words: "as drawn".into() };
        self.says(self.lease(thread, path), said);
    }

    pub(crate) fn again(&mut self, thread: &str, path: &str) {
        let said = Said::Again { code: "walked".into(), words: "as drawn".into() };
        self.says(self.lease(thread, path), said);
    }

    pub(crate) fn notices(&mut self, thread: &str, path: &str) {
        let said = Said::Notice { code: "walked".into(), words: "as drawn".into() };
        self.says(self.lease(thread, path), said);
    }

    pub(crate) fn is_lost(&mut self, thread: &str, path: &str, code: Code, with_pump: bool) {
        let Lease { thread, call, turn, attempt, .. } = (*self.lease(thread, path)).clone();
        let words = "as drawn".into();
        let request = self.call(thread.as_str(), &call.to_string()).map(|call| call.request);
        let request = request.and_then(|seq| self.records.get(&(thread.clone(), seq)).cloned());
        self.happens(Happening::Lost(Lost { thread, call, turn, attempt, code, words, with_pump, request }));
    }

    pub(crate) fn sends(&mut self, thread: &str, path: &str) {
        let Lease { thread, call, turn, .. } = (*self.lease(thread, path)).clone();
        self.happens(Happening::Sending { thread, call, turn });
    }

    pub(crate) fn cancels(&mut self, thread: &str) {
        let thread = ThreadId::parse(thread).unwrap();
        self.happens(Happening::Cancel { ticket: Ticket(1), by: Name::operator(), thread });
    }

    /// A person decides about what waits, or nobody does in time.
    pub(crate) fn decides(&mut self, thread: &str, path: &str, verdict: naive::Verdict) {
        let call = self.call(thread, path).unwrap();
        let (approval, listener) = (call.approval.as_ref().unwrap().id, call.listener.clone());
        let says = match verdict {
            naive::Verdict::Approved => Says::Approve,
            naive::Verdict::Rejected => Says::Reject,
            naive::Verdict::Amended(number) => {
                let other = payload(listener.as_str(), number);
                Says::Amend(Box::new(Ok(Admitted::new(What::For(listener), Verdict::sworn(other)))))
            }
            naive::Verdict::Expired => {
                let (thread, call) = (ThreadId::parse(thread).unwrap(), CallPath::parse(path).unwrap());
                return self.happens(Happening::Expired { thread, call, approval });
            }
        };
        let note = Some("as drawn".to_owned());
        let ruling = Ruling { ticket: Ticket(1), by: Name::operator(), approval, hash: None, note, says };
        self.happens(Happening::Ruled(ruling));
    }

    /// The time of a timer has come.
    pub(crate) fn is_due(&mut self, thread: &str, id: &str) {
        let thread = ThreadId::parse(thread).unwrap();
        let timer = TimerId::parse(id).unwrap();
        let set = self.state.threads[&thread].timers[&timer].set;
        let set = self.records[&(thread.clone(), set)].clone();
        self.happens(Happening::Due { thread, timer, set, late_ms: 0 });
    }

    /// The timers of a thread.
    pub(crate) fn timers(&self, thread: &str) -> Vec<String> {
        let timers =
            self.state.threads.get(thread).map(|t| t.timers.keys().map(ToString::to_string).collect());
        timers.unwrap_or_default()
    }

    /// All threads but the pump's own, in order.
    pub(crate) fn threads(&self) -> Vec<&str> {
        let mut ids: Vec<&str> =
            self.state.threads.keys().filter(|id| !id.is_sys()).map(ThreadId::as_str).collect();
        ids.sort_unstable();
        ids
    }

    pub(crate) fn life(&self, thread: &str) -> &'static str {
        self.state.threads.get(thread).map_or("none", |t| t.life().as_str())
    }

    /// How each open call of a thread stands.
    pub(crate) fn stands(&self, thread: &str) -> Vec<(String, String)> {
        let Some(thread) = self.state.threads.get(thread).filter(|t| t.life() != Life::Ended) else {
            return Vec::new();
        };
        let word = |call: &Call| match call.stand() {
            Stand::Asking => "asking".to_owned(),
            Stand::Held => "held".to_owned(),
            Stand::Ready { turn, attempt } => format!("ready({turn}, {attempt})"),
            Stand::Joining(open) => format!("joining({open})"),
        };
        thread.calls.iter().map(|(path, call)| (path.to_string(), word(call))).collect()
    }

    pub(crate) fn closed(&self) -> &BTreeSet<(String, String, String)> {
        &self.closed
    }

    pub(crate) fn became_due(&self) -> &Vec<(String, String)> {
        &self.became_due
    }

    /// What the delivery of a due turn carries.
    pub(crate) fn shows(&self, thread: &str, path: &str) -> Vec<String> {
        let (lease, call) = (self.lease(thread, path), self.call(thread, path).unwrap());
        let thread = &self.state.threads[thread];
        let found = |seq| self.records.get(&(thread.id.clone(), seq)).cloned();
        let envelope = compose::envelope(thread, &lease.call, call, &lease, Millis(0), found).unwrap();
        shown::lines(&envelope.payload)
    }
}

/// What a record closes, and how.
fn closing(record: &Record) -> Option<(String, String, String)> {
    let h = &record.header;
    let outcome = match (h.kind, h.code?) {
        (Kind::Message, Mark::Role(Role::Final)) => "answered",
        (Kind::Outcome, Mark::DeadLetter) => return None,
        (Kind::Outcome, Mark::Handled) => "handled",
        (Kind::Outcome, Mark::Code(Code::MessagesBudget)) if is_report(record) => "budget",
        (Kind::Terminal, Mark::Ended) => "over",
        (Kind::Outcome | Kind::Terminal, Mark::Code(Code::CancelledThread)) => "cancelled",
        (Kind::Outcome, Mark::Code(Code::RejectedApproval)) => "rejected",
        (Kind::Outcome, Mark::Code(Code::ExpiredApproval)) => "expired",
        (Kind::Outcome, _) => "failed",
        _ => return None,
    };
    let path = h.call.as_ref().map(ToString::to_string).unwrap_or_default();
    Some((h.thread.to_string(), path, outcome.to_owned()))
}

/// Whether a call ended with its last turn, and was not refused something for want of turns.
fn is_report(record: &Record) -> bool {
    Payload::trusted(record.body.clone()).is_ok_and(|body| &*body.name().local == "final-report")
}
