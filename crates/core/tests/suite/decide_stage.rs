//! The state machine, event by event: only `decide` and `apply`, without log, clock or process. A
//! test gives the events and reads the facts and effects as lines.

pub(crate) use std::collections::BTreeMap;
pub(crate) use std::sync::Arc;

pub(crate) use systole_core::pump::decide::decide_event;
pub(crate) use systole_core::pump::event::{Decision, Effect, Event, EventKind, LostAttempt};
pub(crate) use systole_core::pump::fold::apply_to;
pub(crate) use systole_core::pump::primitives;
pub(crate) use systole_core::pump::state::{Call, CompositionBook, PumpState, Thread};
pub(crate) use systole_core::pump::turn_records;
pub(crate) use systole_core::rules::admit::ItemReading;
pub(crate) use systole_core::types::codes::Code;
pub(crate) use systole_core::types::composition::{
    ApprovalRule, Composition, DeliveryRetry, DescribeScope, ElementSchema, GatherRule, Listener, OnUnknown,
    Reach, SchemaId, ViewScope,
};
pub(crate) use systole_core::types::delivery::{DeliveredTurn, Delivery};
pub(crate) use systole_core::types::flow::{
    Admitted, DoorMessage, FoundAnswer, JudgedContent, JudgedDocument, JudgedItem, PayloadKind, Refused,
    Ticket, Verdict,
};
pub(crate) use systole_core::types::ids::{AttemptId, CallPath, Digest, Key, Name, ThreadId, TimerId};
use systole_core::types::limits::{QUEUE_CALLS, STUCK_MS};
pub(crate) use systole_core::types::ports::{Lease, LeaseToken, Seed};
pub(crate) use systole_core::types::record::{Record, RecordCode};
pub(crate) use systole_core::types::refusal::Refusal;
pub(crate) use systole_core::types::thread_choice::ThreadChoice;
pub(crate) use systole_core::types::time::Millis;
pub(crate) use systole_wire::ask::PumpQuestion;
pub(crate) use systole_wire::envelope::Delivered;
pub(crate) use systole_wire::journal::{JournalEntry, ModelCallOutcome, ModelStarted};
pub(crate) use systole_wire::pump_documents::PumpAnswer;
pub(crate) use systole_wire::{DocumentLimits, Payload, QName};

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

pub(crate) fn listener(who: &str, peers: &[&str], turns: u32, returns: &[&str]) -> Listener {
    let element = |local: &&str| ElementSchema { name: QName::new("urn:test", local), schema: SchemaId(1) };
    Listener {
        name: name(who),
        reach: Reach::Inline,
        accepts: vec![element(&who)],
        returns: returns.iter().map(element).collect(),
        note: Some(SchemaId(1)),
        peers: peers.iter().map(|p| name(p)).collect(),
        turns,
        sees: ViewScope::Call,
        share_percent: 50,
        in_flight: 1,
        rate: None,
        timeout_ms: 30_000,
        idle_ms: None,
        retry: DeliveryRetry { attempts: 3, first_ms: 1_000, longest_ms: 30_000 },
        on_unknown: OnUnknown::Retry,
        approval: ApprovalRule::default(),
        timer_tell: Vec::new(),
        entry: true,
        describe: DescribeScope::Peers,
    }
}

/// agent: thinks for four turns. tool, other: answer at once. quiet: owes no answer. careful: its
/// attempts are recorded and never repeated when their outcome is unknown. guarded: a person
/// approves every payload to it, and watch is notified.
pub(crate) fn composition() -> Composition {
    let mut careful = listener("careful", &[], 1, &["done"]);
    careful.on_unknown = OnUnknown::Fail;
    let mut guarded = listener("guarded", &[], 1, &["done"]);
    guarded.approval = ApprovalRule { always: true, expires_ms: 60_000, tell: vec![name("watch")] };
    let listeners = [
        listener("agent", &["tool", "other", "agent", "careful", "guarded"], 4, &["done"]),
        listener("tool", &[], 1, &["done"]),
        listener("other", &[], 1, &["done"]),
        listener("quiet", &[], 1, &[]),
        careful,
        guarded,
        listener("watch", &[], 1, &[]),
    ];
    Composition {
        organism: name("test"),
        hash: Digest([7; 32]),
        source: Arc::from(&b""[..]),
        entry: None,
        listeners: listeners.into_iter().map(|l| (l.name.clone(), l)).collect(),
        schemas: Vec::new(),
        message_bytes: 1 << 20,
        outage_ms: 0,
        stuck_ms: STUCK_MS,
        queue_calls: QUEUE_CALLS,
        budgets: None,
        loops: None,
        broadcasts: Vec::new(),
        clients: BTreeMap::new(),
        doors: Default::default(),
        sections: BTreeMap::new(),
    }
}

pub(crate) fn payload(local: &str) -> Payload {
    let document = format!("<{local} xmlns=\"urn:test\"/>");
    Payload::parse(document.as_bytes(), &DocumentLimits::default()).unwrap()
}

pub(crate) fn item(what: PayloadKind, local: &str) -> JudgedItem {
    JudgedItem::Admitted(Admitted::new(what, Verdict::from_valid(payload(local))))
}

pub(crate) fn call(to: &str) -> JudgedItem {
    item(PayloadKind::For(name(to)), to)
}

/// An item for all of them, as the door admits it.
pub(crate) fn to_each(gather: GatherRule, takers: &[&str]) -> JudgedItem {
    let verdict = |to: &&str| (name(to), Verdict::from_valid(payload("question")));
    JudgedItem::Admitted(
        Admitted::for_each(gather, takers.iter().map(verdict).collect()).expect("some takers"),
    )
}

/// An item for another thread, as the door passes it on.
pub(crate) fn for_thread(thread: &str, what: PayloadKind, local: &str) -> JudgedItem {
    let judged = Box::new(Ok(Admitted::new(what, Verdict::from_valid(payload(local)))));
    JudgedItem::ForThread { thread: thread.to_owned(), payload: payload(local).bytes().clone(), judged }
}

pub(crate) fn note() -> JudgedItem {
    item(PayloadKind::Note, "thought")
}

pub(crate) fn final_() -> JudgedItem {
    item(PayloadKind::Final, "done")
}

pub(crate) fn refused() -> JudgedItem {
    JudgedItem::Refused(Refused {
        refusal: Refusal::new(Code::Invalid, "wrong").fixed_by("right"),
        kept: None,
    })
}

pub(crate) fn spawn(label: Option<&str>, to: &str) -> JudgedItem {
    let initial = payload(to).bytes().clone();
    let core = "<spawn-thread xmlns=\"https://xml-pipeline.org/ns/core/v1\"/>";
    let spawn = Payload::parse(core.as_bytes(), &DocumentLimits::default()).unwrap();
    let found = FoundAnswer::Child { label: label.map(str::to_owned), to: name(to), initial };
    JudgedItem::Admitted(Admitted::new(PayloadKind::Primitive(found), Verdict::from_valid(spawn)))
}

/// A primitive as the door admits it.
pub(crate) fn primitive(body: &str) -> JudgedItem {
    let body = body.replacen(' ', " xmlns=\"https://xml-pipeline.org/ns/core/v1\" ", 1);
    let payload = Payload::parse(body.as_bytes(), &DocumentLimits::default()).unwrap();
    let Some(ItemReading::Plain(read)) = primitives::find_reading(payload.name()) else {
        panic!("the door knows it")
    };
    read(payload.bytes()).expect("the door reads it");
    JudgedItem::Admitted(Admitted::new(
        PayloadKind::Primitive(FoundAnswer::Nothing),
        Verdict::from_valid(payload),
    ))
}

pub(crate) fn wait(mode: &str, labels: &[&str]) -> JudgedItem {
    let thread = |label: &&str| format!("<thread id=\"{}\"/>", root().make_child(label).unwrap());
    let threads: String = labels.iter().map(thread).collect();
    let body = format!("<await-threads mode=\"{mode}\">{threads}</await-threads>");
    primitive(&body)
}

pub(crate) fn set_timer(attributes: &str, note: &str) -> JudgedItem {
    let body = format!("<set-timer {attributes}>{note}</set-timer>");
    primitive(&body)
}

pub(crate) fn cancel_timer(id: &str) -> JudgedItem {
    let body = format!("<cancel-timer id=\"{id}\"/>");
    primitive(&body)
}

pub(crate) fn prompt(letter: char) -> String {
    letter.to_string().repeat(64)
}

pub(crate) fn started() -> JournalEntry {
    let (model, prompt) = ("m".to_owned(), prompt('a'));
    JournalEntry::Started(ModelStarted {
        model,
        prompt,
        guided: None,
        reserve_tokens: None,
        reserve_money: None,
        wait_ms: None,
    })
}

pub(crate) fn result(of: u64, text: &str) -> JournalEntry {
    let (stop, text) = ("end".to_owned(), text.to_owned());
    JournalEntry::Result(ModelCallOutcome {
        of,
        stop,
        tokens_in: None,
        tokens_out: None,
        money: None,
        text,
        blobs: Vec::new(),
        details: Box::default(),
    })
}

pub(crate) fn journals(id: u64, entry: JournalEntry) -> JudgedContent {
    JudgedContent::Journal { id, entry: Ok(entry) }
}

pub(crate) fn asks(id: u64, from: u64) -> JudgedContent {
    JudgedContent::Ask { id, question: Ok(PumpQuestion::Journal { from }) }
}

/// A todo list: `x` is a step that is done, `-` an open one.
pub(crate) fn todo_body(condition: &str, steps: &str) -> String {
    let step = |c: char| format!("<step done=\"{}\">{c}</step>", c == 'x');
    format!(
        "<todo-until condition=\"{condition}\">{}</todo-until>",
        steps.chars().map(step).collect::<String>()
    )
}

pub(crate) fn todo(condition: &str, steps: &str) -> JudgedItem {
    primitive(&todo_body(condition, steps))
}

/// The same in a note.
pub(crate) fn note_with(lists: &[(&str, &str)]) -> JudgedItem {
    let core = "<todo-until xmlns=\"https://xml-pipeline.org/ns/core/v1\"";
    let lists: String = lists.iter().map(|(c, s)| todo_body(c, s).replacen("<todo-until", core, 1)).collect();
    let body = format!("<agent xmlns=\"urn:test\"><thought>so</thought>{lists}</agent>");
    let payload = Payload::parse(body.as_bytes(), &DocumentLimits::default()).unwrap();
    JudgedItem::Admitted(Admitted::new(PayloadKind::Note, Verdict::from_valid(payload)))
}

/// What the listener of a call gets with its due turn.
pub(crate) fn delivered(
    call: &Call,
    lease: Arc<Lease>,
    found: impl Fn(u64) -> Option<Arc<Record>>,
) -> Delivered {
    let turn =
        DeliveredTurn::Recorded(Arc::new(turn_records::collect_turn(call, Some(Millis(0)), found).unwrap()));
    Delivery { lease, turn }.envelope().unwrap()
}

/// A state, and all the records that led to it.
pub(crate) struct DecideStage {
    pub(crate) state: PumpState,
    pub(crate) records: Vec<Record>,
    pub(crate) now: Millis,
    pub(crate) events: u16,
}

/// The root that key `k` of the operator opens.
pub(crate) fn root() -> ThreadId {
    ThreadId::new_root(&name("test"), &Name::new_operator(), &Key::parse("k").unwrap(), 12)
}

impl DecideStage {
    pub(crate) fn new() -> DecideStage {
        DecideStage::under(composition())
    }

    pub(crate) fn under(composition: Composition) -> DecideStage {
        let book = CompositionBook::open_at(Arc::new(composition));
        let state = PumpState { book, ..PumpState::default() };
        DecideStage { state, records: Vec::new(), now: Millis(1_000_000), events: 0 }
    }

    /// Decides and folds, and returns the records and effects, one on each line.
    pub(crate) fn happens(&mut self, what: EventKind) -> Vec<String> {
        self.events += 1;
        self.now = self.now.add_ms(10);
        let seed = Seed(std::array::from_fn(|at| self.events.to_le_bytes()[at % 2]));
        let event = Event { at: self.now, tick: self.now, seed, what };
        let mut before = self.state.threads.clone();
        let Decision { facts, touched, effects, toll, .. } = decide_event(&mut self.state, event);
        for effect in &effects {
            if let Effect::Runs { runs, left } = effect {
                self.state.running.put(runs.clone(), *left, self.now);
            }
        }
        if let Some(toll) = toll {
            self.state.buckets.take_toll(toll, self.now);
        }
        for fact in &facts {
            let id = &fact.header.thread;
            let thread = before.entry(id.clone()).or_insert_with(|| Thread::new_blank(id.clone()));
            assert!(fact.is_valid_after(thread.head), "each fact extends its chain");
            assert!(touched.contains(id), "each thread with a fact is named: {id}");
            apply_to(thread, fact);
        }
        assert_eq!(self.state.threads, before, "what was folded in passing is what `apply` gives");
        let told =
            facts.iter().map(|fact| record_line(fact)).chain(effects.iter().map(effect_line)).collect();
        self.records.extend(facts.into_iter().map(Arc::unwrap_or_clone));
        told
    }

    pub(crate) fn asks(&mut self, key: &str, to: &str, thread: Option<&ThreadId>) -> Vec<String> {
        let payload = Ok(Admitted::new(PayloadKind::For(name(to)), Verdict::from_valid(payload(to))));
        let key = Key::parse(key).unwrap();
        let asked = DoorMessage {
            ticket: Ticket(1),
            client: Name::new_operator(),
            key,
            thread: thread.cloned().map_or(ThreadChoice::New, ThreadChoice::Known),
            payload,
            claimed: None,
            subject: None,
        };
        self.happens(EventKind::Asked { asked, bound: None })
    }

    /// A `<steer>` from outside, always under the same key, as the door admits it.
    pub(crate) fn steers(&mut self, client: &str, to: &str, thread: Option<&ThreadId>) -> Vec<String> {
        let core = "<steer xmlns=\"https://xml-pipeline.org/ns/core/v1\"/>";
        let core = Payload::parse(core.as_bytes(), &DocumentLimits::default()).unwrap();
        let payload =
            Ok(Admitted::new_steer(name(to), Verdict::from_valid(payload(to)), Verdict::from_valid(core)));
        let (client, key) = (name(client), Key::parse("s").unwrap());
        let asked = DoorMessage {
            ticket: Ticket(1),
            client,
            key,
            thread: thread.cloned().map_or(ThreadChoice::New, ThreadChoice::Known),
            payload,
            claimed: None,
            subject: None,
        };
        self.happens(EventKind::Asked { asked, bound: None })
    }

    pub(crate) fn lease(&self, thread: &ThreadId, path: &str, turn: u32, attempt: u32) -> Arc<Lease> {
        let call = CallPath::parse(path).unwrap();
        let open = self.state.find_thread(thread).and_then(|t| t.calls.get(&call));
        let listener = open.map_or_else(|| name("tool"), |c| c.listener.clone());
        let token = LeaseToken("token".into());
        Arc::new(Lease {
            token,
            listener,
            id: AttemptId { thread: thread.clone(), call, turn, attempt },
            config: Digest([7; 32]),
        })
    }

    pub(crate) fn says(
        &mut self,
        thread: &ThreadId,
        path: &str,
        turn: u32,
        said: JudgedContent,
    ) -> Vec<String> {
        let attempt =
            self.state.find_thread(thread).and_then(|t| t.calls.get(path)).map_or(1, |c| c.attempts.max(1));
        let lease = self.lease(thread, path, turn, attempt);
        self.happens(EventKind::Replied(JudgedDocument { lease, said, claimed: None, ticket: None }))
    }

    /// A reply whose items name another sender.
    pub(crate) fn lies(&mut self, path: &str, turn: u32, liar: &str, items: Vec<JudgedItem>) -> Vec<String> {
        let lease = self.lease(&root(), path, turn, 1);
        let said = JudgedContent::Items(items);
        self.happens(EventKind::Replied(JudgedDocument {
            lease,
            said,
            claimed: Some(liar.to_owned()),
            ticket: None,
        }))
    }

    pub(crate) fn replies(&mut self, path: &str, turn: u32, items: Vec<JudgedItem>) -> Vec<String> {
        self.says(&root(), path, turn, JudgedContent::Items(items))
    }

    pub(crate) fn passes(&mut self, ms: u64) {
        self.now = self.now.add_ms(ms);
    }

    /// A timer of the root is due, this long ago. The newest record that sets a timer set it.
    pub(crate) fn fires(&mut self, timer: &str, late_ms: u64) -> Vec<String> {
        let is_set =
            |r: &&Record| r.header.thread == root() && r.header.code.map(RecordCode::as_str) == Some("set");
        let known = self.state.find_thread(&root()).and_then(|t| t.timers.get(timer)).map(|t| t.set);
        let newest = self.records.iter().rev().filter(is_set);
        let set = newest.clone().find(|r| Some(r.header.seq) == known).or(newest.clone().next());
        let set = Arc::new(set.expect("some timer was set").clone());
        let timer = TimerId::parse(timer).unwrap();
        self.happens(EventKind::Due { thread: root(), timer, set, late_ms })
    }

    pub(crate) fn loses(&mut self, path: &str, turn: u32, attempt: u32, code: Code) -> Vec<String> {
        let call = CallPath::parse(path).unwrap();
        let id = AttemptId { thread: root(), call, turn, attempt };
        self.happens(EventKind::Lost(LostAttempt::new(&id, code, "last words".to_owned(), false)))
    }
}

/// `root 2 message/call agent -> tool 1 t1.0`; the root's id is left out, a child shows its label.
pub(crate) fn record_line(record: &Record) -> String {
    let h = &record.header;
    let thread = h.thread.as_str().split_once('.').map_or("root", |(_, label)| label);
    let thread = if h.thread.is_sys() { "sys" } else { thread };
    let mut line =
        format!("{thread} {} {}/{}", h.seq, h.kind.as_str(), h.code.map_or("-", RecordCode::as_str));
    line += &format!(" {} -> {}", h.from, h.to.as_ref().map_or("-", |n| n.as_str()));
    if let Some(call) = &h.call {
        line += &format!(" {call}");
    }
    if let Some(turn) = h.turn {
        line += &format!(" t{turn}");
    }
    if let Some(ordinal) = h.ordinal {
        line += &format!(".{ordinal}");
    }
    line
}

fn effect_line(effect: &Effect) -> String {
    match effect {
        Effect::Ready(w) => {
            let thread = w.id.thread.as_str().split_once('.').map_or(String::new(), |(_, l)| format!("{l}:"));
            format!("=> {} {thread}{} t{} a{}", w.listener, w.id.call, w.id.turn, w.id.attempt)
        }
        Effect::Wait { timer, until: None, .. } => format!("=> wait no more for {timer}"),
        Effect::Wait { timer, until: Some(until), .. } => {
            let then = if until.may_fire { "" } else { ", once it was shown" };
            format!("=> wait for {timer} until {}{then}", until.due.count_since(Millis(1_000_000)))
        }
        Effect::CallBack { call, .. } => format!("=> call back {call}"),
        Effect::LetGo { .. } => "=> let go".to_owned(),
        Effect::Receipt { receipt, .. } => {
            format!("=> receipt #{}{}", receipt.seq, if receipt.repeated { " again" } else { "" })
        }
        Effect::Refused { refusal, .. } => format!("=> refused {}", refusal.code),
        Effect::Done { .. } => "=> done".to_owned(),
        Effect::Taken { taken, .. } => {
            let refused: Vec<u32> = taken.refused.iter().map(|(ordinal, _)| *ordinal).collect();
            format!("=> taken, superseded {}, refused {refused:?}", taken.is_superseded)
        }
        Effect::Expires { request, most_ms, .. } => format!("=> {request} expires in {most_ms}"),
        Effect::Runs { left: None, .. } => "=> time stands".to_owned(),
        Effect::Runs { left: Some(left), .. } => format!("=> time runs, next mark in {}", left.until_ms),
        Effect::Recall(recall) => format!("=> recall {} from {} {:?}", recall.id, recall.from, recall.seqs),
        Effect::Answer { answer, .. } => format!("=> {}", answer_line(answer)),
        Effect::Resumed(_) => "=> resumed".to_owned(),
    }
}

/// `answer 8` for something on disk, with the code for a refusal.
pub(crate) fn answer_line(answer: &PumpAnswer) -> String {
    let said = match (answer.refusal(), &answer.payload) {
        (Some((code, _)), _) => format!(" {code}"),
        (None, Some(payload)) => format!(" {}", payload.name().local),
        (None, None) => String::new(),
    };
    format!("answer {}{said}", answer.id)
}

/// Bodies by record, for tests that read one.
pub(crate) fn bodies(stage: &DecideStage) -> BTreeMap<u64, String> {
    let own = stage.records.iter().filter(|r| r.header.thread == root());
    own.map(|r| (r.header.seq, String::from_utf8_lossy(&r.body).into_owned())).collect()
}
