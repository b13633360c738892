//! A second pump, written from the state table of the design and from nothing else: trees of threads and
//! calls in plain maps, changed in place, one function per row of the table. It is slow, has no log and no
//! hashes, and shares no code with the real one; what both say must be equal.

mod attempts;
mod broadcast;
mod budgets;
mod loops;
mod outside;
mod threads;
mod timers;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use attempts::{ATTEMPTS, ATTEMPTS_WITH_PUMP, Unknown};
use broadcast::Gathering;
pub(crate) use budgets::{Limits, SHARE_PERCENT};
use budgets::{Payer, Purse, Tally};
pub(crate) use loops::Loops;
use loops::Memory;
pub(crate) use threads::{Enough, Verdict};
use threads::{Lists, Wait, is_kept};
use timers::Timer;

/// A party as the table sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Party {
    pub(crate) name: &'static str,
    pub(crate) turns: u32,
    pub(crate) owes_answer: bool,
    /// What becomes of an attempt whose outcome nobody knows.
    pub(crate) unknown: Unknown,
    /// Whether what goes to it waits for a person.
    pub(crate) asks_a_person: bool,
}

const DEEPEST: usize = 16;
const MOST_CHILDREN: usize = 32;
const MOST_WAITING: usize = 16;
pub(crate) const MOST_ITEMS: usize = 64;
const MOST_NOTICES: usize = 64;
/// Words that may wait for one turn.
const MOST_WORDS: usize = 64;

/// One item of a reply, as a test throws it in.
#[derive(Clone, Debug)]
pub(crate) enum Thrown {
    Note,
    Final(u64),
    Call(Party, u64),
    Spawn(Option<&'static str>, Party, u64),
    /// To several, of whom the first answer is enough or not.
    Cast(&'static [Party], bool, u64),
    Refused,
    ForThread(String),
    Wait(Enough, Vec<String>),
    Todo(u8, bool),
    Ends(String),
    Steers(String, Party, u64),
    Sets(Option<&'static str>, bool),
    Unsets(&'static str),
}

/// What answers an item, in the words of the next delivery.
type Shown = String;

#[derive(Clone, Debug)]
pub(crate) struct Call {
    party: Party,
    /// Whose purse pays what it brings about.
    payer: Payer,
    request: Shown,
    held: bool,
    /// Whether it waits for a person.
    asks: bool,
    /// Whether it does so because nobody knows what an attempt did.
    doubts: bool,
    turn: u32,
    attempt: u32,
    /// How many of the attempts before it died with the pump.
    lost_with_pump: u32,
    /// Whether the first attempt is on record.
    recorded: bool,
    /// The items of the last reply; none is the answer that has not come.
    items: Vec<Option<Shown>>,
    /// What came of those of them that went to several, by their ordinal.
    gatherings: BTreeMap<usize, Gathering>,
    /// What the due turn shows beside them, and what waits for the turn after it.
    showing: Vec<(usize, Shown)>,
    waiting: Vec<(usize, Shown)>,
    children: Vec<(String, bool)>,
    waits: Vec<Wait>,
    /// Firings that no turn has shown, each with whether the due one does.
    firings: Vec<(u64, bool)>,
    lists: Lists,
    nudged: bool,
    memory: Memory,
    /// Whether it was told that only a final is taken any more.
    wraps_up: bool,
    /// Whether its last reply asked for more than a limit leaves.
    is_spent: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Thread {
    ended: bool,
    tops: u32,
    pub(crate) calls: BTreeMap<String, Call>,
    labels: BTreeMap<String, u32>,
    spawns: u32,
    /// Keys that are bound here, with what was sent under them.
    keys: BTreeMap<String, String>,
    timers: BTreeMap<String, Timer>,
    /// How often timers fired into calls.
    firings: u64,
    /// How many messages a child may bring about.
    ceiling: Option<Tally>,
    /// Whether somebody halted it, with all below it.
    halts: bool,
}

/// All threads, and what the last event closed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Naive {
    pub(crate) threads: BTreeMap<String, Thread>,
    pub(crate) closed: BTreeSet<(String, String, String)>,
    /// What a message from outside may use, where that is limited.
    limits: Option<Limits>,
    loops: Option<Loops>,
    purses: BTreeMap<Payer, Purse>,
    /// Whether somebody halted everything.
    everything_halts: bool,
    /// Whether a first answer ended a broadcast.
    pub(crate) is_cut_short: bool,
    /// What whoever asked last from outside is told.
    pub(crate) told: Option<String>,
}

/// How a call stands, in words.
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

    /// What makes a due turn another one than before.
    pub(crate) fn due(&self) -> Option<(u32, u32, bool)> {
        self.is_ready().then_some((self.turn, self.attempt, self.recorded))
    }

    pub(crate) fn party(&self) -> Party {
        self.party
    }

    pub(crate) fn shows(&self) -> Vec<Shown> {
        if self.turn == 1 {
            return vec![self.request.clone()];
        }
        let items = self.items.iter().enumerate();
        let items = items.flat_map(|(n, item)| {
            let shown = item.as_deref().unwrap_or("open").split('\n');
            shown.map(|line| format!("{n}: {line}")).collect::<Vec<Shown>>()
        });
        // Children first, in order of spawning; then in order of arrival.
        let mut inbox = self.showing.clone();
        inbox.sort_by_key(|(place, _)| *place);
        items.chain(inbox.into_iter().map(|(_, shown)| format!("inbox: {shown}"))).collect()
    }

    fn running(&self) -> Vec<String> {
        self.children.iter().filter(|(_, ended)| !ended).map(|(id, _)| id.clone()).collect()
    }

    /// Another turn, none of whose attempts was made.
    fn begins(&mut self, turn: u32) {
        (self.turn, self.attempt, self.lost_with_pump, self.recorded) = (turn, 1, 0, false);
    }

    /// The last answer came: the next turn is due, and shows whatever came until now.
    fn turns_to(&mut self, turn: u32) {
        self.begins(turn);
        self.showing.append(&mut self.waiting);
        self.shows_what_fired();
    }
}

fn nested(path: &str, turn: u32, ordinal: usize) -> String {
    format!("{path}/{turn}.{ordinal}")
}

impl Naive {
    /// How many calls and spawns lie above a call, in all threads.
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
            turn: 1,
            attempt: 1,
            lost_with_pump: 0,
            recorded: false,
            items: Vec::new(),
            gatherings: BTreeMap::new(),
            showing: Vec::new(),
            waiting: Vec::new(),
            children: Vec::new(),
            waits: Vec::new(),
            firings: Vec::new(),
            lists: Lists::new(),
            nudged: false,
            memory: Memory::default(),
            wraps_up: false,
            is_spent: false,
        };
        self.threads.entry(thread.to_owned()).or_default().calls.insert(path.to_owned(), call);
    }

    /// A word for the next turn.
    pub(crate) fn noticed(&mut self, thread: &str, path: &str, code: &str) {
        let Some(call) = self.call_mut(thread, path).filter(|c| c.is_ready()) else { return };
        // News of other sorts has room of its own.
        let is_notice = |shown: &Shown| {
            !matches!(shown.split(' ').next(), Some("finished" | "fired" | "steer" | "budget-warning"))
        };
        let shown = match call.waiting.iter().filter(|(_, shown)| is_notice(shown)).count() {
            n if n < MOST_NOTICES => code,
            MOST_NOTICES => "reply.too-many-items",
            _ => return,
        };
        call.waiting.push((usize::MAX, shown.to_owned()));
    }

    /// A reply to the due turn of a call gives another's name as its sender's.
    pub(crate) fn lied(&mut self, thread: &str, path: &str) {
        if let Some(call) = self.call_mut(thread, path).filter(|c| c.is_ready()) {
            call.waiting.push((usize::MAX, "reply.false-sender".to_owned()));
        }
    }

    /// A reply to the due turn of a call.
    pub(crate) fn replied(&mut self, thread: &str, path: &str, thrown: &[Thrown]) {
        let Some(call) = self.call_mut(thread, path).filter(|c| c.is_ready()) else { return };
        let (turn, party) = (call.turn, call.party);
        if call.wraps_up {
            let is_short = thrown.len() <= MOST_ITEMS;
            let finals: Vec<_> = thrown.iter().filter(|item| matches!(item, Thrown::Final(_))).collect();
            return match finals[..] {
                [Thrown::Final(number)] if is_short => {
                    self.closes(thread, path, "answered", format!("n{number}"));
                }
                _ => self.closes(thread, path, "budget", "final-report".to_owned()),
            };
        }
        if thrown.is_empty() {
            return self.ends_silently(thread, path, party);
        }
        call.items.clear();
        call.gatherings.clear();
        call.showing.clear();
        self.shows_firings(thread, path);
        let Some(call) = self.call_mut(thread, path) else { return };
        if thrown.len() > MOST_ITEMS {
            call.items.push(Some("reply.too-many-items".to_owned()));
            return self.goes_on(thread, path, turn, Some("reply.too-many-items".to_owned()));
        }
        let steps = thrown.iter().filter(|item| !is_kept(item)).count();
        for item in thrown {
            if let Thrown::Todo(condition, is_done) = item {
                call.lists.insert(*condition, !is_done);
            }
        }
        if let (1, None) = (steps, call.nudge(turn))
            && let Some(Thrown::Final(number)) = thrown.iter().find(|item| !is_kept(item))
        {
            return self.closes(thread, path, "answered", format!("n{number}"));
        }
        let mut refused = None;
        for (ordinal, item) in thrown.iter().enumerate() {
            let answer = self.item(thread, path, turn, ordinal, item, steps);
            let shown = answer.as_ref().map(|(shown, _)| shown.clone());
            if let Some((code, true)) = answer {
                refused.get_or_insert(code);
            }
            if let Some(call) = self.call_mut(thread, path) {
                call.items.push(shown);
            }
        }
        // Waits come last, so that each sees what the other items began and ended.
        for (ordinal, item) in thrown.iter().enumerate() {
            let Thrown::Wait(enough, named) = item else { continue };
            if let Some(code) = self.waits(thread, path, ordinal, *enough, named) {
                refused.get_or_insert(code.clone());
                if let Some(call) = self.call_mut(thread, path) {
                    call.items[ordinal] = Some(code);
                }
            }
        }
        self.goes_on(thread, path, turn, refused);
    }

    /// Unusable output: one item, with the listener's own code.
    pub(crate) fn again(&mut self, thread: &str, path: &str, code: &str) {
        let Some(call) = self.call_mut(thread, path).filter(|c| c.is_ready()) else { return };
        let turn = call.turn;
        call.items = vec![Some(code.to_owned())];
        call.showing.clear();
        self.shows_firings(thread, path);
        self.goes_on(thread, path, turn, Some("listener.failed".to_owned()));
    }

    /// The answer to an item, and whether it is a refusal; none while it is open.
    fn item(
        &mut self,
        thread: &str,
        path: &str,
        turn: u32,
        ordinal: usize,
        item: &Thrown,
        steps: usize,
    ) -> Option<(Shown, bool)> {
        let depth = self.depth(thread, path);
        let deepest = self.limits.map_or(DEEPEST, |limits| limits.depth);
        let call = self.call_mut(thread, path)?;
        let asks = matches!(item, Thrown::Call(..) | Thrown::Spawn(..) | Thrown::Cast(..));
        if asks && call.party.turns <= 1 {
            return Some(("budget.messages".to_owned(), true));
        }
        if asks && depth + 1 >= deepest {
            return Some(("budget.depth".to_owned(), true));
        }
        let payer = call.payer.clone();
        if asks && let Some(code) = self.exceeds(thread, &payer, item) {
            let is_spent = self.messages_left(thread, &payer) == Some(0);
            let call = self.call_mut(thread, path)?;
            call.is_spent |= is_spent;
            return Some((code.to_owned(), true));
        }
        let call = self.call_mut(thread, path)?;
        match item {
            Thrown::Note | Thrown::Todo(..) => Some(("-".to_owned(), false)),
            Thrown::Wait(..) => None,
            Thrown::Sets(id, repeats) => Some(self.sets(thread, path, *id, *repeats)),
            Thrown::Unsets(id) => Some(self.unsets(thread, path, id)),
            Thrown::Ends(id) => Some(self.ends_child(thread, path, id)),
            Thrown::Steers(id, to, number) => Some(self.steers(thread, path, id, *to, *number)),
            Thrown::Refused => Some(("payload.invalid".to_owned(), true)),
            Thrown::Final(_) if steps > 1 => Some(("reply.final-not-alone".to_owned(), true)),
            Thrown::Final(_) => {
                let word = call.nudge(turn).unwrap_or("children-open");
                call.nudged = true;
                Some((word.to_owned(), true))
            }
            Thrown::Call(party, number) => {
                let (nested, what) = (nested(path, turn, ordinal), format!("n{number}"));
                if let Some(code) = self.turns_in_circles((thread, path), *party, &what) {
                    return Some((code.to_owned(), true));
                }
                self.opens((thread, &nested), payer.clone(), *party, what.clone(), false);
                self.pays(thread, &payer, 1, None);
                self.remembers((thread, path), *party, &what);
                None
            }
            Thrown::Cast(takers, is_first_enough, number) => {
                self.casts((thread, path, turn, ordinal), takers, *is_first_enough, *number)
            }
            Thrown::Spawn(label, party, number) => self.spawns(thread, path, *label, *party, *number),
            Thrown::ForThread(id) => Some(match call.children.iter().find(|(child, _)| child == id) {
                None => ("unknown_thread".to_owned(), true),
                Some((_, true)) => ("thread_ended".to_owned(), true),
                Some((_, false)) => ("route.not-a-peer".to_owned(), true),
            }),
        }
    }

    fn spawns(
        &mut self,
        thread: &str,
        path: &str,
        label: Option<&str>,
        party: Party,
        number: u64,
    ) -> Option<(Shown, bool)> {
        let payer = self.call(thread, path)?.payer.clone();
        if self.limits.is_none() && self.call(thread, path)?.running().len() >= MOST_CHILDREN {
            return Some(("budget.children".to_owned(), true));
        }
        let parent = self.threads.get_mut(thread)?;
        let label = match label {
            None => format!("c{}", parent.spawns + 1),
            Some(label) => {
                let given = parent.labels.entry(label.to_owned()).or_default();
                *given += 1;
                if *given == 1 { label.to_owned() } else { format!("{label}-{}", *given - 1) }
            }
        };
        parent.spawns += 1;
        let child = format!("{thread}.{label}");
        self.call_mut(thread, path)?.children.push((child.clone(), false));
        self.opens((&child, "1"), payer.clone(), party, format!("n{number}"), false);
        self.pays(thread, &payer, 1, Some(&child));
        Some((format!("spawned {child}"), false))
    }

    /// After a reply without a final.
    fn goes_on(&mut self, thread: &str, path: &str, turn: u32, refused: Option<String>) {
        let Some((party, wraps_up, is_spent)) =
            self.call(thread, path).map(|c| (c.party, c.wraps_up, c.is_spent))
        else {
            return;
        };
        match refused {
            _ if wraps_up => self.closes(thread, path, "budget", "final-report".to_owned()),
            // The sender reads of the thread that it named; its caller only that there is none.
            Some(code) if party.turns <= 1 && code == "unknown_thread" => {
                self.closes(thread, path, "failed", "thread.unknown".to_owned());
            }
            Some(code) if party.turns <= 1 => self.closes(thread, path, "failed", code),
            None if party.turns <= 1 => self.ends_silently(thread, path, party),
            _ if is_spent => self.wraps_up(thread, path, turn, "messages"),
            _ if turn >= party.turns => self.wraps_up(thread, path, turn, "turns"),
            _ => {
                let Some(call) = self.call_mut(thread, path) else { return };
                if call.items.iter().all(Option::is_some) {
                    call.turns_to(turn + 1);
                } else {
                    call.begins(turn + 1);
                }
            }
        }
    }

    fn ends_silently(&mut self, thread: &str, path: &str, party: Party) {
        if party.owes_answer {
            self.closes(thread, path, "failed", "listener.silent".to_owned());
        } else {
            self.closes(thread, path, "handled", "handled".to_owned());
        }
    }

    /// Closes a call: what is below it is cancelled, then its outcome goes to whoever waits for it.
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
        self.closed.insert((thread.to_owned(), path.to_owned(), outcome.to_owned()));
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
            let first = here.calls.iter_mut().min_by_key(|(p, _)| p.parse::<u32>().unwrap_or(u32::MAX));
            first.into_iter().for_each(|(_, next)| next.held = false);
        }
    }

    /// Ends a thread, and everything below it; how many threads ended.
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
        let Some(here) = self.threads.get_mut(parent) else { return };
        let mut told = None;
        for (path, call) in &mut here.calls {
            let Some(place) = call.children.iter().position(|(id, ended)| id == child && !ended) else {
                continue;
            };
            call.children[place].1 = true;
            call.waiting.push((place, format!("finished {child} {outcome}{inner}")));
            told = Some(path.clone());
        }
        told.into_iter().for_each(|path| self.heard(parent, &path));
    }
}
