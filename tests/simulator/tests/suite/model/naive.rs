//! A second pump, written only from the state table of the design: trees of threads and calls in plain
//! maps, changed in place, one function per row of the table. It is slow, has no log and no hashes, and
//! shares no code with the real pump; both must give equal results.

mod attempts;
mod broadcast;
mod budgets;
mod clock;
mod loops;
mod models;
mod outside;
mod replies;
mod retries;
mod threads;
mod timers;
mod wrapping;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use attempts::{ATTEMPTS, ATTEMPTS_WITH_PUMP, Unknown};
use broadcast::Gathering;
use budgets::Tallies;
pub(crate) use budgets::{BudgetKind, Limits, Payer, SHARE_PERCENT};
use clock::Clock;
pub(crate) use clock::Now;
pub(crate) use loops::Loops;
use loops::Memory;
use models::Journal;
pub(crate) use models::{Amount, DOLLAR, Written};
use retries::Failed;
pub(crate) use threads::{Enough, Said, Verdict};
use threads::{Lists, Wait};
use timers::Timer;
use wrapping::Last;

/// A party as the table sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Party {
    pub(crate) name: &'static str,
    pub(crate) turns: u32,
    pub(crate) owes_answer: bool,
    /// What follows an attempt with an unknown outcome.
    pub(crate) unknown: Unknown,
    /// Whether a payload to it waits for a person.
    pub(crate) asks_a_person: bool,
    /// The party that gets the outcome of a call that one of its timers opened.
    pub(crate) tells: Option<&'static Party>,
}

const DEEPEST: usize = 16;
const MOST_CHILDREN: usize = 1_000;
const MOST_WAITING: usize = 16;
pub(crate) const MOST_ITEMS: usize = 64;
const MOST_NOTICES: usize = 64;
/// The most steering messages that may wait for one turn.
const MOST_WORDS: usize = 64;

/// An item of a reply, as a test gives it.
#[derive(Clone, Debug)]
pub(crate) enum Thrown {
    Note,
    Final(u64),
    Call(Party, u64),
    Spawn(Option<&'static str>, Party, u64),
    /// A broadcast, for which the first answer is enough or not.
    Cast(&'static [Party], bool, u64),
    Refused,
    ForThread(String),
    Wait(Enough, Vec<String>),
    Todo(u8, bool),
    Ends(String),
    Steers(String, Party, u64),
    Sets(Option<&'static str>, bool),
    Unsets(&'static str),
    /// A question to a person.
    Person,
}

/// The answer to an item, as text of the next delivery.
type Shown = String;

#[derive(Clone, Debug)]
pub(crate) struct Call {
    party: Party,
    /// Whose budget pays for what it causes.
    payer: Payer,
    request: Shown,
    held: bool,
    /// Whether it waits for a person.
    asks: bool,
    /// Whether it waits because the outcome of an attempt is unknown.
    doubts: bool,
    /// The timer that opened it.
    timer: Option<String>,
    /// Whether it only brings news, which no call waits for.
    is_news: bool,
    turn: u32,
    attempt: u32,
    /// How many of the earlier attempts died with the pump.
    lost_with_pump: u32,
    /// How many of those had a recorded number.
    counted_deaths: u32,
    /// How many attempts at the due turn came before it was tried again.
    before: u32,
    /// Whether a reply was accepted that ends the call.
    is_settled: bool,
    /// Whether the due attempt is recorded.
    recorded: bool,
    /// The items of the last reply; none for a missing answer.
    items: Vec<Option<Shown>>,
    /// The results of its broadcast items so far, by ordinal.
    gatherings: BTreeMap<usize, Gathering>,
    /// What the due turn also shows, and what waits for the turn after it.
    showing: Vec<(usize, Shown)>,
    waiting: Vec<(usize, Shown)>,
    /// The attempt that gave the first notice which waits.
    noticed_by: Option<u32>,
    children: Vec<(String, bool)>,
    waits: Vec<Wait>,
    /// The items that wait for a person.
    questions: Vec<usize>,
    /// Firings that no turn has shown, each with whether the due turn does.
    firings: Vec<(u64, bool)>,
    lists: Lists,
    nudged: bool,
    memory: Memory,
    /// The journal entries of the due turn.
    journal: Journal,
    /// Whether only a final is accepted, and until when.
    last: Option<Last>,
    /// The state of the message limit, if its last reply asked for more messages than are left.
    is_spent: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Thread {
    ended: bool,
    tops: u32,
    pub(crate) calls: BTreeMap<String, Call>,
    labels: BTreeMap<String, u32>,
    spawns: u32,
    /// Bound keys, with what was sent under them.
    keys: BTreeMap<String, String>,
    timers: BTreeMap<String, Timer>,
    /// How often timers fired into calls.
    firings: u64,
    /// What a child may use.
    ceiling: Tallies,
    /// What was used here and below.
    used: BTreeMap<BudgetKind, u64>,
    /// Whether it is paused, with everything below it.
    halts: bool,
    /// The last top call of a root, if it failed.
    failed: Option<Box<Failed>>,
}

/// All threads, and what the last event closed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Naive {
    pub(crate) threads: BTreeMap<String, Thread>,
    pub(crate) closed: BTreeSet<(String, String, String)>,
    /// What a message from outside may use, if that is limited.
    limits: Option<Limits>,
    loops: Option<Loops>,
    budget_uses: BTreeMap<Payer, Tallies>,
    clocks: BTreeMap<Payer, Clock>,
    /// The currency of each message.
    coins: BTreeMap<Payer, &'static str>,
    pub(crate) now: Now,
    /// What the last event reported about anyone's time.
    pub(crate) clocked: BTreeSet<String>,
    /// Whether everything is paused.
    everything_halts: bool,
    /// What the last event covered, in addition to its visible effects.
    pub(crate) met: BTreeSet<String>,
    /// The answer to the last request from outside.
    pub(crate) told: Option<String>,
}

/// The state of a call, as text.
pub(crate) type Stand = String;

impl Call {
    pub(crate) fn stand(&self) -> Stand {
        let open = self.items.iter().filter(|item| item.is_none()).count();
        match (self.held, open) {
            _ if self.asks => "asking".to_owned(),
            (true, _) => "held".to_owned(),
            (false, 0) => format!("ready({}, {})", self.turn, self.attempt),
            (false, open) => format!("joining({open})"),
        }
    }

    pub(crate) fn is_ready(&self) -> bool {
        !self.held && !self.asks && self.items.iter().all(Option::is_some)
    }

    /// What distinguishes a due turn from the one before.
    pub(crate) fn due(&self) -> Option<(u32, u32, bool)> {
        self.is_ready().then_some((self.turn, self.attempt, self.recorded))
    }

    pub(crate) fn party(&self) -> Party {
        self.party
    }

    pub(crate) fn payer(&self) -> &Payer {
        &self.payer
    }

    pub(crate) fn shows(&self) -> Vec<Shown> {
        let past = self.journal.past;
        let past: Vec<Shown> = (past > 0).then(|| format!("journal {past}")).into_iter().collect();
        if self.turn == 1 {
            return [past, vec![self.request.clone()]].concat();
        }
        let items = self.items.iter().enumerate();
        let items = items.flat_map(|(n, item)| {
            let shown = item.as_deref().unwrap_or("open").split('\n');
            shown.map(|line| format!("{n}: {line}")).collect::<Vec<Shown>>()
        });
        // Children first, in order of spawning; then in order of arrival.
        let mut inbox = self.showing.clone();
        inbox.sort_by_key(|(place, _)| *place);
        let inbox = inbox.into_iter().map(|(_, shown)| format!("inbox: {shown}"));
        past.into_iter().chain(items).chain(inbox).collect()
    }

    fn running(&self) -> Vec<String> {
        self.children.iter().filter(|(_, ended)| !ended).map(|(id, _)| id.clone()).collect()
    }

    /// Begins another turn without attempts.
    fn begins(&mut self, turn: u32) {
        (self.turn, self.attempt, self.recorded) = (turn, 1, false);
        (self.lost_with_pump, self.counted_deaths, self.before) = (0, 0, 0);
        self.journal = Journal::default();
    }

    /// The last answer came: the next turn is due, and shows everything that came until now.
    fn turns_to(&mut self, turn: u32) {
        self.begins(turn);
        self.showing.append(&mut self.waiting);
        self.noticed_by = None;
        self.shows_what_fired();
    }
}

fn nested(path: &str, turn: u32, ordinal: usize) -> String {
    format!("{path}/{turn}.{ordinal}")
}

impl Naive {
    /// How many calls and spawns are above a call, in all threads.
    pub(crate) fn depth(&self, thread: &str, path: &str) -> usize {
        let here = path.matches('/').count();
        let Some((parent, _)) = thread.rsplit_once('.') else { return here };
        let calls = self.threads.get(parent).into_iter().flat_map(|parent| &parent.calls);
        let spawner = calls.into_iter().find(|(_, call)| call.running().iter().any(|id| id == thread));
        here + 1 + spawner.map_or(0, |(path, _)| self.depth(parent, path))
    }

    pub(crate) fn life(&self, thread: &str) -> &'static str {
        match self.threads.get(thread) {
            None => "none",
            Some(t) if t.ended => "ended",
            Some(t) if t.calls.is_empty() => "resting",
            Some(_) => "working",
        }
    }

    pub(crate) fn call(&self, thread: &str, path: &str) -> Option<&Call> {
        self.threads.get(thread)?.calls.get(path)
    }

    fn call_mut(&mut self, thread: &str, path: &str) -> Option<&mut Call> {
        self.threads.get_mut(thread)?.calls.get_mut(path)
    }

    fn opens(
        &mut self,
        (thread, path): (&str, &str),
        payer: Payer,
        party: Party,
        request: Shown,
        held: bool,
    ) {
        let call = Call {
            party,
            payer,
            request,
            held,
            asks: party.asks_a_person,
            doubts: false,
            timer: None,
            is_news: false,
            turn: 1,
            attempt: 1,
            lost_with_pump: 0,
            counted_deaths: 0,
            before: 0,
            is_settled: false,
            recorded: false,
            items: Vec::new(),
            gatherings: BTreeMap::new(),
            showing: Vec::new(),
            waiting: Vec::new(),
            noticed_by: None,
            children: Vec::new(),
            waits: Vec::new(),
            questions: Vec::new(),
            firings: Vec::new(),
            lists: Lists::new(),
            nudged: false,
            memory: Memory::default(),
            journal: Journal::default(),
            last: None,
            is_spent: None,
        };
        self.threads.entry(thread.to_owned()).or_default().calls.insert(path.to_owned(), call);
    }

    /// A notice for the next turn.
    pub(crate) fn noticed(&mut self, thread: &str, path: &str, code: &str) {
        let Some(call) = self.call_mut(thread, path).filter(|c| c.is_ready()) else { return };
        // What an attempt before said is known.
        if *call.noticed_by.get_or_insert(call.attempt) < call.attempt {
            return;
        }
        // Other kinds of news have their own room.
        let is_notice = |shown: &Shown| {
            let word = shown.split(' ').next().unwrap_or_default();
            !matches!(word, "finished" | "fired" | "steer" | "budget-warning" | "budget-exceeded")
        };
        let shown = match call.waiting.iter().filter(|(_, shown)| is_notice(shown)).count() {
            n if n < MOST_NOTICES => code,
            MOST_NOTICES => "reply.too-many-items",
            _ => return,
        };
        call.waiting.push((usize::MAX, shown.to_owned()));
    }

    /// A reply to the due turn of a call names another sender.
    pub(crate) fn lied(&mut self, thread: &str, path: &str) {
        if let Some(call) = self.call_mut(thread, path).filter(|c| c.is_ready()) {
            call.waiting.push((usize::MAX, "reply.false-sender".to_owned()));
        }
    }

    fn ends_silently(&mut self, thread: &str, path: &str, party: Party) {
        if party.owes_answer {
            self.closes(thread, path, "failed", "listener.silent".to_owned());
        } else {
            self.closes(thread, path, "handled", "handled".to_owned());
        }
    }

    /// Closes a call: everything below it is cancelled, then its outcome goes to the waiting call.
    fn closes(&mut self, thread: &str, path: &str, outcome: &str, shown: Shown) {
        let Some(here) = self.threads.get(thread) else { return };
        let below: Vec<String> =
            here.calls.keys().filter(|p| *p == path || p.starts_with(&format!("{path}/"))).cloned().collect();
        for call in &below {
            let children = self.call(thread, call).map(Call::running).unwrap_or_default();
            for child in &children {
                self.cancels(child);
            }
            if call != path {
                self.closed.insert((thread.to_owned(), call.clone(), "cancelled".to_owned()));
            }
        }
        self.tells_of_timer((thread, path), outcome, &shown);
        self.closed.insert((thread.to_owned(), path.to_owned(), outcome.to_owned()));
        let as_it_was = self.call(thread, path).cloned();
        self.shows_firings(thread, path);
        self.leaves_timers(thread, &below);
        let Some(here) = self.threads.get_mut(thread) else { return };
        let ended = here.calls.get(path).map(|call| call.party);
        here.calls.retain(|p, _| !below.contains(p));
        if let Some((caller, item)) = path.rsplit_once('/') {
            if let (Some(party), Some(call)) = (ended, here.calls.get_mut(caller)) {
                call.remembers_answer(party, &shown);
            }
            let answer = self.gathers((thread, caller), item, (shown, outcome));
            let Some(call) = self.call_mut(thread, caller) else { return };
            if let Some((ordinal, shown)) = answer {
                call.items[ordinal] = Some(shown);
            }
            if call.items.iter().all(Option::is_some) {
                let turn = call.turn;
                call.turns_to(turn);
            }
        } else if thread.contains('.') {
            here.ended = true;
            here.timers.clear();
            let inner = if outcome == "handled" { String::new() } else { format!(" {shown}") };
            self.tells_parent(thread, outcome, &inner);
        } else {
            if let Some(call) = as_it_was {
                self.keeps_failed(thread, path, call, (outcome, &shown));
            }
            let Some(here) = self.threads.get_mut(thread) else { return };
            let first = here.calls.iter_mut().min_by_key(|(p, _)| p.parse::<u32>().unwrap_or(u32::MAX));
            first.into_iter().for_each(|(_, next)| next.held = false);
        }
    }

    /// Ends a thread, and everything below it; returns how many threads ended.
    pub(crate) fn cancels(&mut self, thread: &str) -> usize {
        let Some(here) = self.threads.get_mut(thread).filter(|t| !t.ended) else { return 0 };
        here.ended = true;
        here.timers.clear();
        let calls = std::mem::take(&mut here.calls);
        let children: Vec<String> = calls.values().flat_map(Call::running).collect();
        let ended = 1 + children.iter().map(|child| self.cancels(child)).sum::<usize>();
        self.closed.insert((thread.to_owned(), String::new(), "cancelled".to_owned()));
        self.tells_parent(thread, "cancelled", "");
        ended
    }

    fn tells_parent(&mut self, child: &str, outcome: &str, inner: &str) {
        let Some((parent, _)) = child.rsplit_once('.') else { return };
        let used = self.used_by(child);
        let Some(here) = self.threads.get_mut(parent) else { return };
        let mut told = None;
        for (path, call) in &mut here.calls {
            let Some(place) = call.children.iter().position(|(id, ended)| id == child && !ended) else {
                continue;
            };
            call.children[place].1 = true;
            call.waiting.push((place, format!("finished {child} {outcome}{inner} {used}")));
            told = Some(path.clone());
        }
        told.into_iter().for_each(|path| self.heard(parent, &path));
    }
}
