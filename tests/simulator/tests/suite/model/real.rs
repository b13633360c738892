//! The real pump of a walk: `decide` over the real state, and its records. It turns the draws of a
//! walk into events, and the results into the words of the naive pump.

mod items;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use systole_core::pump::decide::decide_event;
use systole_core::pump::event::{
    ClientOrder, Decision, Effect, Event, EventKind, LostAttempt, PauseOrder, RetryOrder,
};
use systole_core::pump::pausing::find_halt;
use systole_core::pump::primitives;
use systole_core::pump::state::{Call, CallState, CompositionBook, PumpState, ThreadState, used_under};
use systole_core::pump::turn_records;
use systole_core::pump::view::ReadResults;
use systole_core::pump::wall::{RunningBudget, RunningBudgets, running_of};
use systole_core::types::budget::{Budgets, LoopLimits, UsedAmounts};
use systole_core::types::codes::Code;
use systole_core::types::composition::{
    ApprovalRule, Composition, DeliveryRetry, DescribeScope, ElementSchema, Listener, OnUnknown, Reach,
    SchemaId, ViewScope,
};
use systole_core::types::delivery::{DeliveredTurn, Delivery};
use systole_core::types::flow::{
    Admitted, DoorMessage, JudgedContent, JudgedDocument, PayloadKind, Ticket, Verdict,
};
use systole_core::types::ids::{AttemptId, CallPath, Digest, Key, Name, ThreadId, TimerId};
use systole_core::types::limits::{QUEUE_CALLS, STUCK_MS};
use systole_core::types::person::{PersonDecision, Ruling};
use systole_core::types::ports::{Lease, LeaseToken, Seed};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind};
use systole_core::types::thread_choice::ThreadChoice;
use systole_core::types::time::Millis;
use systole_kit::ask::PumpQuestion;
use systole_kit::money::{Currency, Money};
use systole_kit::namespaces::CORE;
use systole_kit::{DocumentLimits, Payload, QName};

use super::naive::{self, ATTEMPTS, DOLLAR, Party, Payer, SHARE_PERCENT, Thrown, Unknown, Written};
use super::shown;
use items::{entry, item, payload};

/// The ways to lose an attempt, and whether its outcome is then known; none if no further attempt can help.
pub(crate) const LOSSES: [(Code, Option<bool>); 5] = [
    (Code::ListenerLost, Some(false)),
    (Code::ListenerTimeout, Some(false)),
    (Code::ListenerFailed, Some(true)),
    (Code::ListenerDown, Some(true)),
    (Code::Unavailable, None),
];

/// The real pump.
pub(crate) struct Real {
    state: PumpState,
    records: BTreeMap<(ThreadId, u64), Arc<Record>>,
    events: u64,
    /// On the monotonic clock, and on the wall clock.
    now: (Millis, Millis),
    closed: BTreeSet<(String, String, String)>,
    became_due: Vec<(String, String)>,
    told: Option<String>,
    clocked: BTreeSet<String>,
}

fn listener(party: &Party, peers: &[Party]) -> Listener {
    let element = |local: &str| ElementSchema { name: QName::new("urn:walked", local), schema: SchemaId(2) };
    Listener {
        approval: ApprovalRule { always: party.asks_a_person, ..ApprovalRule::default() },
        timer_tell: party.tells.map(|to| Name::parse(to.name).unwrap()).into_iter().collect(),
        name: Name::parse(party.name).unwrap(),
        reach: Reach::Inline,
        accepts: vec![element(party.name)],
        returns: if party.owes_answer { vec![element("done")] } else { Vec::new() },
        note: Some(SchemaId(2)),
        peers: peers.iter().map(|peer| Name::parse(peer.name).unwrap()).collect(),
        turns: party.turns,
        sees: ViewScope::Call,
        share_percent: u32::try_from(SHARE_PERCENT).unwrap(),
        in_flight: 1,
        rate: None,
        timeout_ms: 30_000,
        idle_ms: None,
        retry: DeliveryRetry { attempts: ATTEMPTS, first_ms: 1_000, longest_ms: 30_000 },
        on_unknown: match party.unknown {
            Unknown::Repeats => OnUnknown::Retry,
            Unknown::Fails => OnUnknown::Fail,
            Unknown::AsksAPerson => OnUnknown::Ask,
        },
        entry: true,
        describe: DescribeScope::Peers,
    }
}

impl Real {
    pub(crate) fn new(parties: &[Party], limits: Option<naive::Limits>, loops: Option<naive::Loops>) -> Real {
        let loops = loops.map(|loops| LoopLimits {
            told: loops.told,
            refused: loops.refused,
            ping_pong: loops.rounds,
        });
        let budgets = limits.map(|limits| Budgets {
            messages: limits.messages,
            depth: limits.depth,
            children: limits.children,
            wall_ms: limits.wall,
            tokens: limits.tokens,
            money: limits.money.map(|micros| Money { micros, currency: Currency::parse(DOLLAR).unwrap() }),
            // The naive pump counts no requests and no refused items.
            requests: None,
            keeps_finals: false,
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
            outage_ms: 0,
            stuck_ms: STUCK_MS,
            queue_calls: QUEUE_CALLS,
            budgets,
            loops,
            broadcasts: Vec::new(),
            clients: BTreeMap::new(),
            doors: Default::default(),
            sections: BTreeMap::new(),
        };
        let mut real = Real {
            state: PumpState {
                book: CompositionBook::open_at(Arc::new(composition)),
                ..PumpState::default()
            },
            records: BTreeMap::new(),
            events: 0,
            now: (Millis(1_000_000), Millis(1_000_000)),
            closed: BTreeSet::new(),
            became_due: Vec::new(),
            told: None,
            clocked: BTreeSet::new(),
        };
        real.happens(EventKind::Booted { listeners: Vec::new(), program: None });
        real
    }

    /// An event begins, at that moment.
    pub(crate) fn begins(&mut self, now: naive::Now) {
        let millis = |ms: i64| Millis(u64::try_from(ms).unwrap());
        self.now = (millis(now.tick), millis(now.wall));
        self.clocked.clear();
        self.closed.clear();
        self.became_due.clear();
        self.told = None;
    }

    fn happens(&mut self, what: EventKind) {
        self.events += 1;
        let (tick, at) = self.now;
        let event = Event { at, tick, seed: Seed(u128::from(self.events).to_be_bytes()), what };
        let Decision { facts, effects, .. } = decide_event(&mut self.state, event);
        for fact in facts {
            self.closed.extend(closing(&fact));
            self.clocked.extend(shown::clocking(&fact));
            self.records.insert((fact.header.thread.clone(), fact.header.seq), fact);
        }
        for effect in effects {
            match effect {
                Effect::Ready(work) => {
                    self.became_due.push((work.id.thread.to_string(), work.id.call.to_string()));
                }
                Effect::Receipt { .. } => self.told = Some("receipt".to_owned()),
                Effect::Refused { refusal, .. } => self.told = Some(format!("refused {}", refusal.code)),
                Effect::Done { .. } => self.told = Some("done".to_owned()),
                Effect::Answer { answer, .. } => {
                    let refused = answer.refusal().map(|(code, _)| format!("refused {code}"));
                    self.told = Some(refused.unwrap_or_else(|| "answered".to_owned()));
                }
                Effect::Recall(recall) => self.told = Some(format!("recalled {}", recall.seqs.len())),
                Effect::Runs { runs, left } => self.state.running.put(runs, left, tick),
                _ => {}
            }
        }
        self.became_due.sort();
    }

    fn call(&self, thread: &str, path: &str) -> Option<&Call> {
        self.state.threads.get(thread)?.calls.get(path).map(|call| &**call)
    }

    /// The lease of the delivery that is or would be due.
    fn lease(&self, thread: &str, path: &str) -> Arc<Lease> {
        let call = self.call(thread, path).unwrap();
        Arc::new(Lease {
            token: LeaseToken("token".into()),
            listener: call.listener.clone(),
            id: AttemptId {
                thread: ThreadId::parse(thread).unwrap(),
                call: CallPath::parse(path).unwrap(),
                turn: call.settled + 1,
                attempt: call.attempts.max(1),
            },
            config: call.config,
        })
    }

    pub(crate) fn root_of(&self, key: &str) -> String {
        let organism = Name::parse("walked").unwrap();
        ThreadId::new_root(&organism, &Name::new_operator(), &Key::parse(key).unwrap(), 12).to_string()
    }

    pub(crate) fn asks(&mut self, thread: Option<&str>, key: &str, party: Party, number: u64) {
        let what = PayloadKind::For(Name::parse(party.name).unwrap());
        self.hears(thread, key, Admitted::new(what, Verdict::from_valid(payload(party.name, number))));
    }

    /// A steering message from outside.
    pub(crate) fn steers(&mut self, thread: &str, key: &str, party: Party, number: u64) {
        let inside = payload(party.name, number);
        let inner = String::from_utf8_lossy(inside.bytes()).into_owned();
        let document = format!("<steer xmlns=\"{CORE}\">{inner}</steer>");
        let document = Payload::parse(document.as_bytes(), &DocumentLimits::default()).unwrap();
        let to = Name::parse(party.name).unwrap();
        self.hears(
            Some(thread),
            key,
            Admitted::new_steer(to, Verdict::from_valid(inside), Verdict::from_valid(document)),
        );
    }

    fn hears(&mut self, thread: Option<&str>, key: &str, admitted: Admitted) {
        let asked = DoorMessage {
            ticket: Ticket(1),
            client: Name::new_operator(),
            key: Key::parse(key).unwrap(),
            thread: thread.map_or(ThreadChoice::New, |id| ThreadChoice::Known(ThreadId::parse(id).unwrap())),
            payload: Ok(admitted),
            claimed: None,
            subject: None,
        };
        self.happens(EventKind::Asked { asked, bound: None });
    }

    pub(crate) fn ends(&mut self, thread: &str) {
        let thread = ThreadId::parse(thread).unwrap();
        self.happens(EventKind::Ordered(ClientOrder::End {
            ticket: Ticket(1),
            by: Name::new_operator(),
            thread,
        }));
    }

    pub(crate) fn pauses(&mut self, thread: Option<&str>, halts: bool) {
        let thread = thread.map(|id| ThreadId::parse(id).unwrap());
        let (ticket, by, note) = (Ticket(1), Name::new_operator(), None);
        self.happens(EventKind::Ordered(ClientOrder::Pause(PauseOrder { ticket, by, thread, halts, note })));
    }

    pub(crate) fn retries(&mut self, thread: &str) {
        self.happens(EventKind::Ordered(ClientOrder::Retry(RetryOrder {
            ticket: Ticket(1),
            by: Name::new_operator(),
            thread: ThreadId::parse(thread).unwrap(),
            seen: None,
            note: None,
            effects: Vec::new(),
            allows_effects: true,
            steps: None,
        })));
    }

    pub(crate) fn is_halted(&self, thread: &str) -> bool {
        find_halt(|id| self.state.find_thread(id), &ThreadId::parse(thread).unwrap()).is_some()
    }

    pub(crate) fn told(&self) -> Option<&str> {
        self.told.as_deref()
    }

    fn says(&mut self, lease: Arc<Lease>, said: JudgedContent) {
        self.happens(EventKind::Replied(JudgedDocument { lease, said, claimed: None, ticket: None }));
    }

    /// A reply; `claimed` is a false sender name.
    pub(crate) fn replies(&mut self, thread: &str, path: &str, thrown: &[Thrown], claimed: Option<&str>) {
        let (lease, said) =
            (self.lease(thread, path), JudgedContent::Items(thrown.iter().map(item).collect()));
        let claimed = claimed.map(str::to_owned);
        let seen = self.looked_up(&lease, &said);
        let judged = JudgedDocument { lease, said, claimed, ticket: None };
        self.happens(match seen {
            Some(seen) => EventKind::Looked { judged, seen: Ok(seen) },
            None => EventKind::Replied(judged),
        });
    }

    /// The log's records of the threads that a reply names and that may have been children: the item that made
    /// each.
    fn looked_up(&self, lease: &Lease, said: &JudgedContent) -> Option<ReadResults> {
        let JudgedContent::Items(items) = said else { return None };
        let call = self.call(lease.id.thread.as_str(), lease.id.call.as_str())?;
        let asked =
            primitives::list_named(items).into_iter().filter(|id| call.may_have_ended(&lease.id.thread, id));
        let is_own = |id: &ThreadId| {
            let first = self.records.get(&(id.clone(), 1))?;
            let spawn = self.records.values().find(|record| Some(record.header.id) == first.header.cause)?;
            Some(spawn.header.thread == lease.id.thread && spawn.header.call.as_ref() == Some(&lease.id.call))
        };
        let was_child: BTreeMap<ThreadId, bool> =
            asked.map(|id| (id.clone(), is_own(&id) == Some(true))).collect();
        (!was_child.is_empty()).then(|| ReadResults { was_child, ..ReadResults::default() })
    }

    /// A reply to another turn or attempt than the due one.
    pub(crate) fn replies_late(&mut self, thread: &str, path: &str, turns: bool) {
        let mut lease = (*self.lease(thread, path)).clone();
        *(if turns { &mut lease.id.turn } else { &mut lease.id.attempt }) += 1;
        self.says(Arc::new(lease), JudgedContent::Items(vec![item(&Thrown::Final(0))]));
    }

    /// A journal entry; of another attempt than the due one, or not.
    pub(crate) fn writes(&mut self, thread: &str, path: &str, late: bool, id: u64, written: &Written) {
        let mut lease = (*self.lease(thread, path)).clone();
        lease.id.attempt += u32::from(late);
        self.says(Arc::new(lease), entry(id, written));
    }

    /// Asks for the entries of earlier attempts.
    pub(crate) fn recalls(&mut self, thread: &str, path: &str, from: usize) {
        let question = Ok(PumpQuestion::Journal { from: from as u64 });
        self.says(self.lease(thread, path), JudgedContent::Ask { id: 1, question });
    }

    /// The pump checks the time of a message.
    pub(crate) fn elapses(&mut self, payer: &Payer) {
        let (thread, budget_use) = (ThreadId::parse(&payer.0).unwrap(), payer.1.parse().unwrap());
        self.happens(EventKind::Elapsed(RunningBudget { thread, budget_use }));
    }

    /// The next message whose time has reached a mark.
    pub(crate) fn marked(&mut self) -> Option<Payer> {
        let runs = self.state.running.take_due(self.now.0)?;
        Some((runs.thread.to_string(), runs.budget_use.to_string()))
    }

    /// The time of the first such mark.
    pub(crate) fn next_mark(&self) -> Option<Millis> {
        self.state.running.next_moment()
    }

    /// The use of a message from outside, in all its threads: messages, children, tokens and money.
    pub(crate) fn used(&self, payer: &Payer) -> Option<String> {
        let root = self.state.threads.get(payer.0.as_str())?;
        let budget_use = payer.1.parse().unwrap();
        let UsedAmounts { messages, children, tokens, spent, .. } =
            used_under(&|id| self.state.find_thread(id), root, budget_use);
        Some([messages, children, tokens, spent.micros].map(|of| of.to_string()).join("/"))
    }

    /// What the records report about anyone's time.
    pub(crate) fn clocked(&self) -> &BTreeSet<String> {
        &self.clocked
    }

    /// The program restarts: what was only in memory is lost.
    pub(crate) fn starts_again(&mut self) {
        let (tick, at) = self.now;
        self.state.running = RunningBudgets::default();
        for (runs, left) in running_of(&self.state, at) {
            self.state.running.put(runs, Some(left), tick);
        }
    }

    pub(crate) fn fails(&mut self, thread: &str, path: &str, retry: bool) {
        let said = JudgedContent::new_failure("walked", retry, "as drawn");
        self.says(self.lease(thread, path), said);
    }

    pub(crate) fn again(&mut self, thread: &str, path: &str) {
        let said = JudgedContent::Again { code: "walked".into(), words: "as drawn".into() };
        self.says(self.lease(thread, path), said);
    }

    pub(crate) fn notices(&mut self, thread: &str, path: &str) {
        let said = JudgedContent::Notice { code: "walked".into(), words: "as drawn".into() };
        self.says(self.lease(thread, path), said);
    }

    pub(crate) fn is_lost(&mut self, thread: &str, path: &str, code: Code, with_pump: bool) {
        let id = self.lease(thread, path).id.clone();
        let request = self.call(thread, path).map(|call| call.request);
        let request = request.and_then(|seq| self.records.get(&(id.thread.clone(), seq)).cloned());
        let words = "as drawn".to_owned();
        self.happens(EventKind::Lost(LostAttempt {
            request,
            ..LostAttempt::new(&id, code, words, with_pump)
        }));
    }

    pub(crate) fn sends(&mut self, thread: &str, path: &str) {
        let AttemptId { thread, call, turn, .. } = self.lease(thread, path).id.clone();
        self.happens(EventKind::Sending { thread, call, turn });
    }

    pub(crate) fn cancels(&mut self, thread: &str) {
        let thread = ThreadId::parse(thread).unwrap();
        self.happens(EventKind::Ordered(ClientOrder::Cancel {
            ticket: Ticket(1),
            by: Name::new_operator(),
            thread,
        }));
    }

    /// A person decides about a waiting request, or no one does in time.
    pub(crate) fn decides(&mut self, thread: &str, path: &str, verdict: naive::Verdict) {
        let call = self.call(thread, path).unwrap();
        let (request, listener) = (call.approval.as_ref().unwrap().id, call.listener.clone());
        let says = match verdict {
            naive::Verdict::Approved => PersonDecision::Approve,
            naive::Verdict::Rejected => PersonDecision::Reject,
            naive::Verdict::Amended(number) => {
                let other = payload(listener.as_str(), number);
                PersonDecision::Amend(Box::new(Ok(Admitted::new(
                    PayloadKind::For(listener),
                    Verdict::from_valid(other),
                ))))
            }
            naive::Verdict::Expired => {
                let (thread, place) = (ThreadId::parse(thread).unwrap(), CallPath::parse(path).unwrap());
                return self.happens(EventKind::Expired { thread, place, request });
            }
        };
        let note = Some("as drawn".to_owned());
        let ruling = Ruling { ticket: Ticket(1), by: Name::new_operator(), request, hash: None, note, says };
        self.happens(EventKind::Ordered(ClientOrder::Ruled(ruling)));
    }

    /// A person answers a question, or no one does in time.
    pub(crate) fn person_said(&mut self, thread: &str, path: &str, ordinal: usize, said: naive::Said) {
        let call = self.call(thread, path).unwrap();
        let (settled, ordinal) = (call.settled, u32::try_from(ordinal).unwrap());
        let thread = ThreadId::parse(thread).unwrap();
        let place = CallPath::parse(path).unwrap().append_item(settled, ordinal);
        let request = self.state.threads[&thread].person_request(&place).unwrap().id();
        let choice = match said {
            naive::Said::Expired => return self.happens(EventKind::Expired { thread, place, request }),
            naive::Said::Chosen => "go",
            naive::Said::Wrong => "perhaps",
        };
        let (says, by) = (PersonDecision::Choose(Some(choice.to_owned())), Name::new_operator());
        let ruling = Ruling { ticket: Ticket(1), by, request, hash: None, note: None, says };
        self.happens(EventKind::Ordered(ClientOrder::Ruled(ruling)));
    }

    /// A timer is due.
    pub(crate) fn is_due(&mut self, thread: &str, id: &str) {
        let thread = ThreadId::parse(thread).unwrap();
        let timer = TimerId::parse(id).unwrap();
        let set = self.state.threads[&thread].timers[&timer].set;
        let set = self.records[&(thread.clone(), set)].clone();
        self.happens(EventKind::Due { thread, timer, set, late_ms: 0 });
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

    /// The state of each open call of a thread.
    pub(crate) fn stands(&self, thread: &str) -> Vec<(String, String)> {
        let Some(thread) = self.state.threads.get(thread).filter(|t| t.life() != ThreadState::Ended) else {
            return Vec::new();
        };
        let word = |call: &Call| match call.stand() {
            CallState::Asking => "asking".to_owned(),
            CallState::Held => "held".to_owned(),
            CallState::Ready { turn, attempt } => format!("ready({turn}, {attempt})"),
            CallState::Joining(open) => format!("joining({open})"),
        };
        thread.calls.iter().map(|(path, call)| (path.to_string(), word(call))).collect()
    }

    pub(crate) fn closed(&self) -> &BTreeSet<(String, String, String)> {
        &self.closed
    }

    pub(crate) fn became_due(&self) -> &Vec<(String, String)> {
        &self.became_due
    }

    /// The content of the delivery of a due turn.
    pub(crate) fn shows(&self, thread: &str, path: &str) -> Vec<String> {
        let (lease, call) = (self.lease(thread, path), self.call(thread, path).unwrap());
        let thread = &self.state.threads[thread];
        let found = |seq| self.records.get(&(thread.id.clone(), seq)).cloned();
        let turn = DeliveredTurn::Recorded(Arc::new(
            turn_records::collect_turn(call, Some(Millis(0)), found).unwrap(),
        ));
        let envelope = Delivery { lease, turn }.envelope().unwrap();
        let past = envelope.stamp.journal.map(|entries| format!("journal {entries}"));
        past.into_iter().chain(shown::lines(&envelope.payload)).collect()
    }
}

/// What a record closes, and how.
fn closing(record: &Record) -> Option<(String, String, String)> {
    let h = &record.header;
    let outcome = match (h.kind, h.code?) {
        (RecordKind::Message, RecordCode::Role(MessageRole::Final)) => "answered",
        (RecordKind::Outcome, RecordCode::DeadLetter) => return None,
        (RecordKind::Outcome, RecordCode::Handled) => "handled",
        (RecordKind::Outcome, RecordCode::Code(_)) if is_report(record) => "budget",
        (RecordKind::Terminal, RecordCode::Ended) => "over",
        (RecordKind::Outcome | RecordKind::Terminal, RecordCode::Code(Code::CancelledThread)) => "cancelled",
        (RecordKind::Outcome, RecordCode::Code(Code::RejectedApproval)) => "rejected",
        (RecordKind::Outcome, RecordCode::Code(Code::ExpiredApproval)) => "expired",
        (RecordKind::Outcome, _) => "failed",
        _ => return None,
    };
    let path = h.call.as_ref().map(ToString::to_string).unwrap_or_default();
    Some((h.thread.to_string(), path, outcome.to_owned()))
}

/// Whether a call ended with its last turn, without a refusal for lack of turns.
fn is_report(record: &Record) -> bool {
    Payload::from_trusted(record.body.clone()).is_ok_and(|body| &*body.name().local == "final-report")
}
