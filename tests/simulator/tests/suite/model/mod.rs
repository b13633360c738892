//! A walk of `decide` and `apply` beside a second, naive pump. Events are drawn, both take them, and after
//! each both must agree on every thread's life, on the stand of every open call, on what closed and how, on
//! which turns became due, and on what the delivery of each would show. A walk that fails is shortened.

mod drawn;
mod naive;
mod real;
mod shown;

use std::cell::RefCell;
use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use drawn::{Befalls, Drawn, Item, events, limits, loops};
use naive::{Enough, Limits, Loops, Naive, Party, Thrown, Unknown, Verdict};
use real::Real;

/// Thinks for three turns.
const AGENT: Party = Party { name: "agent", turns: 3, ..TOOL };
/// Answers at once.
const TOOL: Party =
    Party { name: "tool", turns: 1, owes_answer: true, unknown: Unknown::Repeats, asks_a_person: false };
/// Owes no answer.
const QUIET: Party = Party { name: "quiet", owes_answer: false, ..TOOL };
/// Is never repeated where nobody knows the outcome.
const CAREFUL: Party = Party { name: "careful", unknown: Unknown::Fails, ..TOOL };
/// Is handed what a person let through.
const GUARDED: Party = Party { name: "guarded", asks_a_person: true, ..TOOL };
/// Asks a person where nobody knows the outcome, and then thinks on.
const WARY: Party = Party { name: "wary", unknown: Unknown::AsksAPerson, ..AGENT };
/// Thinks for so long that it may go round in circles.
const PATIENT: Party = Party { name: "patient", turns: 30, ..TOOL };
const PARTIES: [Party; 7] = [AGENT, TOOL, QUIET, CAREFUL, GUARDED, WARY, PATIENT];
/// Who takes a broadcast.
const CASTS: [&[Party]; 5] =
    [&[TOOL, CAREFUL], &[AGENT, TOOL], &[QUIET, GUARDED, TOOL], &[CAREFUL, AGENT], &[WARY, TOOL]];

/// Walks of every run of the tests; the environment may ask for others in `WALKS`.
const WALKS: u32 = 4_000;

/// Both pumps.
struct Walk {
    real: Real,
    naive: Naive,
    numbers: u64,
}

fn party(pick: u8) -> Party {
    PARTIES[usize::from(pick) % PARTIES.len()]
}

impl Walk {
    fn new(limits: Option<Limits>, loops: Option<Loops>) -> Walk {
        Walk { real: Real::new(&PARTIES, limits, loops), naive: Naive::under(limits, loops), numbers: 0 }
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// An open call: mostly one whose turn is due, for the others answer little.
    fn call(&self, pick: u16) -> Option<(String, String)> {
        let wanted = |call: &naive::Call| pick.is_multiple_of(8) || call.is_ready();
        let all = self.naive.threads.iter().flat_map(|(id, thread)| {
            let open = thread.calls.iter().filter(|(_, call)| wanted(call));
            open.map(move |(path, _)| (id.clone(), path.clone()))
        });
        let all: Vec<(String, String)> = all.collect();
        all.get(usize::from(pick / 8) % all.len().max(1)).cloned()
    }

    /// A thread, or one that never was.
    fn thread(&self, pick: u16) -> String {
        let mut all: Vec<&str> = self.naive.threads.keys().map(String::as_str).collect();
        all.push("sess-000000000000");
        all[usize::from(pick) % all.len()].to_owned()
    }

    /// Mostly a root, or any thread.
    fn root(&self, pick: u16) -> String {
        let thread = self.thread(pick);
        let root = thread.split('.').next().map(str::to_owned);
        root.filter(|_| !pick.is_multiple_of(8)).unwrap_or(thread)
    }

    /// A child of a thread, if it has one, or any thread.
    fn thread_for(&self, parent: &str, pick: u16) -> String {
        let own = |id: &&String| id.rsplit_once('.').is_some_and(|(of, _)| of == parent);
        let own: Vec<&String> = self.naive.threads.keys().filter(own).collect();
        own.get(usize::from(pick / 2) % own.len().max(1))
            .filter(|_| !pick.is_multiple_of(8))
            .map_or_else(|| self.thread(pick), |id| (*id).clone())
    }

    fn thrown(&mut self, thread: &str, item: &Item) -> Thrown {
        match item {
            Item::Note => Thrown::Note,
            Item::Final => Thrown::Final(self.number()),
            Item::Says(again) => Thrown::Final(u64::from(again % 2)),
            Item::Call(pick) => Thrown::Call(party(*pick), self.number()),
            Item::Repeats(pick, again) => Thrown::Call(party(*pick), u64::from(again % 2)),
            Item::Spawn(label, pick) => {
                let label = [None, Some("heat"), Some("light")][usize::from(*label) % 3];
                Thrown::Spawn(label, party(*pick), self.number())
            }
            Item::Cast(pick, is_first_enough) => {
                let takers = CASTS[usize::from(*pick) % CASTS.len()];
                // Now and then the same again.
                let number = if pick.is_multiple_of(3) { 0 } else { self.number() };
                Thrown::Cast(takers, *is_first_enough, number)
            }
            Item::Refused => Thrown::Refused,
            Item::ForThread(pick) => Thrown::ForThread(self.thread_for(thread, *pick)),
            Item::Wait { enough, named } => {
                let enough = [Enough::All, Enough::Any, Enough::Count(2)][usize::from(*enough) % 3];
                Thrown::Wait(enough, named.iter().map(|pick| self.thread_for(thread, *pick)).collect())
            }
            Item::Todo { condition, is_done } => Thrown::Todo(condition % 2, *is_done),
            Item::Sets { id, repeats } => {
                Thrown::Sets([None, Some("tick"), Some("tock")][usize::from(*id) % 3], *repeats)
            }
            Item::Unsets(id) => Thrown::Unsets(["tick", "tock", "t1"][usize::from(*id) % 3]),
            Item::Ends(pick) => Thrown::Ends(self.thread_for(thread, *pick)),
            Item::Steers(pick, to) => {
                // Mostly those that have a turn left to hear it.
                let to = if to.is_multiple_of(4) { party(to / 4) } else { AGENT };
                Thrown::Steers(self.thread_for(thread, *pick), to, self.number())
            }
        }
    }

    /// Both take an event.
    fn takes(&mut self, drawn: &Drawn) {
        match drawn {
            Drawn::Asks { key, party: pick, other_bytes } => {
                let (key, party) = (format!("k{key}"), party(*pick));
                // The bytes of a key are always the same, but where they shall not be.
                let number = if *other_bytes { 900_001 } else { 900_000 };
                let thread = self.real.root_of(&key);
                self.real.asks(None, &key, party, number);
                self.naive.asked(&thread, true, &key, party, number);
            }
            Drawn::AsksInto { thread, key, party: pick } => {
                let (thread, key, party) = (self.thread(*thread), format!("k{key}"), party(*pick));
                self.real.asks(Some(&thread), &key, party, 900_000);
                self.naive.asked(&thread, false, &key, party, 900_000);
            }
            Drawn::Of { call, what } => {
                if let Some((thread, path)) = self.call(*call) {
                    self.befalls(&thread, &path, what);
                }
            }
            Drawn::Decides { call, how } => {
                let asking = self.naive.asking();
                let Some((thread, path)) = asking.get(usize::from(*call) % asking.len().max(1)).cloned()
                else {
                    return;
                };
                let verdict = match how % 4 {
                    0 => Verdict::Amended(self.number()),
                    1 => Verdict::Rejected,
                    2 => Verdict::Expired,
                    _ => Verdict::Approved,
                };
                self.real.decides(&thread, &path, verdict);
                self.naive.decided(&thread, &path, verdict);
            }
            Drawn::IsDue { timer } => {
                let timers = self.naive.timers();
                let Some((thread, id)) = timers.get(usize::from(*timer) % timers.len().max(1)) else {
                    return;
                };
                self.real.is_due(thread, id);
                self.naive.is_due(thread, id);
            }
            Drawn::Confers { step, guarded } => self.confers(*step, *guarded),
            Drawn::Dives { spawns } => self.dives(*spawns),
            Drawn::Circles { answers, again } => self.circles(*answers, *again),
            Drawn::Cancels { thread } => {
                let thread = self.thread(*thread);
                self.real.cancels(&thread);
                self.naive.cancelled(&thread);
            }
            Drawn::Steers { thread, key, astray } => self.steers(*thread, &format!("k{key}"), *astray),
            Drawn::Ends { thread } => {
                let thread = self.root(*thread);
                self.real.ends(&thread);
                self.naive.ended(&thread);
            }
            Drawn::Pauses { thread, halts } => {
                let thread = thread.map(|pick| self.thread(pick));
                self.real.pauses(thread.as_deref(), *halts);
                self.naive.pauses(thread.as_deref(), *halts);
            }
        }
    }

    /// A word from outside, mostly for who works on what a root was asked.
    fn steers(&mut self, pick: u16, key: &str, astray: u8) {
        let thread = self.root(pick);
        let at_work = self.naive.open_top(&thread).map(|(_, call)| call.party());
        let to = at_work.filter(|_| !astray.is_multiple_of(8)).unwrap_or(party(astray / 8));
        // Again the same bytes under a key, now and then.
        let number = if astray % 4 == 1 { 900_002 } else { self.number() };
        self.real.steers(&thread, key, to, number);
        self.naive.steered(&thread, key, to, number);
    }

    /// A call has a child, which waits for a child of its own or for a person, and has a word for it.
    fn confers(&mut self, step: u8, guarded: bool) {
        let to = if guarded { GUARDED } else { AGENT };
        let (numbers, news) = ([self.number(), self.number()], self.naive.confers(step, to));
        let Some((thread, path, child)) = news else { return };
        let asks = match (step, child) {
            (0, _) => vec![Thrown::Spawn(None, to, numbers[0])],
            (1, _) => {
                vec![Thrown::Spawn(None, TOOL, numbers[0]), Thrown::Wait(Enough::All, Vec::new())]
            }
            (_, child) => vec![Thrown::Steers(child, to, numbers[1])],
        };
        self.real.replies(&thread, &path, &asks, None);
        self.naive.replied(&thread, &path, &asks);
    }

    /// The deepest call asks, or spawns, once more.
    fn dives(&mut self, spawns: bool) {
        let deepest = self.naive.threads.iter().flat_map(|(id, thread)| {
            thread.calls.iter().filter(|(_, c)| c.is_ready()).map(move |(path, _)| (id, path))
        });
        let deepest = deepest.max_by_key(|(id, path)| self.naive.depth(id, path));
        let Some((thread, path)) = deepest.map(|(id, path)| (id.clone(), path.clone())) else {
            return;
        };
        let number = self.number();
        let asks = if spawns { Thrown::Spawn(None, AGENT, number) } else { Thrown::Call(AGENT, number) };
        self.real.replies(&thread, &path, std::slice::from_ref(&asks), None);
        self.naive.replied(&thread, &path, &[asks]);
    }

    /// Whoever has many turns asks a tool the same again, or the tool answers the same again.
    fn circles(&mut self, answers: bool, again: u8) {
        let all = || {
            let threads = self.naive.threads.iter();
            threads.flat_map(|(id, thread)| thread.calls.iter().map(move |(path, call)| (id, path, call)))
        };
        let patient = all().find(|(_, _, call)| call.party().name == PATIENT.name && call.party().turns > 3);
        let Some((thread, path)) = patient.map(|(id, path, _)| (id.clone(), path.clone())) else { return };
        let below = format!("{path}/");
        let who = match answers {
            false => Some(path),
            true => all()
                .find(|(id, path, call)| {
                    **id == thread && path.starts_with(&below) && call.party().owes_answer
                })
                .map(|(_, path, _)| path.clone()),
        };
        let ready = |path: &String| self.naive.call(&thread, path).is_some_and(naive::Call::is_ready);
        let Some(path) = who.filter(ready) else { return };
        let number = u64::from(again % 2);
        let thrown = if answers { Thrown::Final(number) } else { Thrown::Call(TOOL, number) };
        self.real.replies(&thread, &path, std::slice::from_ref(&thrown), None);
        self.naive.replied(&thread, &path, &[thrown]);
    }

    /// Both take what befalls a call.
    fn befalls(&mut self, thread: &str, path: &str, what: &Befalls) {
        match what {
            Befalls::Replies { items, lies } => {
                let mut thrown: Vec<Thrown> = items.iter().map(|item| self.thrown(thread, item)).collect();
                // A door admits no final of a listener that owes no answer.
                let owes = self.naive.call(thread, path).is_some_and(|c| c.party().owes_answer);
                thrown.retain(|item| owes || !matches!(item, Thrown::Final(_)));
                // Items may give another's name as their sender's.
                let lies = *lies && !thrown.is_empty();
                self.real.replies(thread, path, &thrown, lies.then_some("core"));
                if lies {
                    self.naive.lied(thread, path);
                }
                self.naive.replied(thread, path, &thrown);
            }
            // Nothing follows from it, so the naive pump is not even told.
            Befalls::RepliesLate { turns } => self.real.replies_late(thread, path, *turns),
            Befalls::Fails { retry } => {
                self.real.fails(thread, path, *retry);
                if *retry {
                    self.naive.fails(thread, path, "listener.failed", true, false);
                } else {
                    self.naive.is_hopeless(thread, path, "listener.failed");
                }
            }
            Befalls::IsLost { code, with_pump } => {
                let (code, known) = real::LOSSES[usize::from(*code) % real::LOSSES.len()];
                self.real.is_lost(thread, path, code, *with_pump);
                match known {
                    Some(known) => self.naive.fails(thread, path, code.as_str(), known, *with_pump),
                    None => self.naive.is_hopeless(thread, path, code.as_str()),
                }
            }
            Befalls::Sends => {
                self.real.sends(thread, path);
                self.naive.sending(thread, path);
            }
            Befalls::Again => {
                self.real.again(thread, path);
                self.naive.again(thread, path, "walked");
            }
            Befalls::Notices { times } => {
                for _ in 0..*times {
                    self.real.notices(thread, path);
                    self.naive.noticed(thread, path, "walked");
                }
            }
        }
    }

    /// Whether both say the same.
    fn agrees(&mut self, before: &Naive) -> Result<(), TestCaseError> {
        let stands: Vec<_> = self.naive.threads.iter().collect();
        let ids: Vec<&str> = stands.iter().map(|(id, _)| id.as_str()).collect();
        prop_assert_eq!(self.real.threads(), ids, "threads");
        for (id, thread) in &stands {
            prop_assert_eq!(self.real.life(id), self.naive.life(id), "the life of {}", id);
            if self.naive.life(id) != "ended" {
                prop_assert_eq!(self.real.is_halted(id), self.naive.is_halted(id), "a pause of {}", id);
            }
            let naive: Vec<_> = thread.calls.iter().map(|(path, c)| (path.clone(), c.stand())).collect();
            prop_assert_eq!(self.real.stands(id), naive, "the calls of {}", id);
            prop_assert_eq!(self.real.timers(id), self.naive.timers_of(id), "the timers of {}", id);
        }
        prop_assert_eq!(self.real.told(), self.naive.told.as_deref(), "what who asked is told");
        prop_assert_eq!(self.real.closed(), &self.naive.closed, "what closed");
        let due = |naive: &Naive, id: &str, path: &str| naive.call(id, path).and_then(naive::Call::due);
        let mut became_due = Vec::new();
        for (id, thread) in stands {
            for path in thread.calls.keys() {
                let now = due(&self.naive, id, path);
                if now.is_some() && now != due(before, id, path) {
                    became_due.push((id.clone(), path.clone()));
                }
            }
        }
        prop_assert_eq!(self.real.became_due(), &became_due, "what became due");
        for (id, path) in &became_due {
            let shows = self.naive.call(id, path).map(naive::Call::shows).unwrap_or_default();
            prop_assert_eq!(self.real.shows(id, path), shows, "what call {} of {} is shown", path, id);
        }
        Ok(())
    }
}

/// Words that every set of walks has to come by, or it does not walk the table: how calls stand, how they
/// close, and what turns show.
const WORDS: [&str; 75] = [
    "halted",
    "first of several",
    "all of several",
    "over",
    "told receipt",
    "told done",
    "told refused payload.id-conflict",
    "told refused payload.not-built",
    "told refused route.not-a-peer",
    "told refused budget.messages",
    "told refused thread.unknown",
    "told refused thread.ended",
    "told refused thread.busy",
    "told refused thread.resting",
    "asking",
    "asking once more",
    "told refused approval.mismatch",
    "held",
    "ready",
    "joining",
    "answered",
    "handled",
    "failed",
    "cancelled",
    "budget",
    "rejected",
    "expired",
    "finished answered",
    "finished handled",
    "finished failed",
    "finished cancelled",
    "finished budget",
    "finished rejected",
    "finished expired",
    "over done",
    "over message",
    "over timer",
    "set",
    "unset",
    "fired",
    "timer.unknown",
    "opened by a timer",
    "over budget",
    "ended",
    "steer",
    "spawned",
    "-",
    "n",
    "walked",
    "final-report",
    "children-open",
    "todo-open",
    "approval.rejected",
    "approval.expired",
    "payload.not-built",
    "budget-exceeded turns",
    "budget-exceeded messages",
    "budget-warning messages",
    "budget-warning children",
    "thread.cancelled",
    "unknown_thread",
    "thread_ended",
    "route.not-a-peer",
    "payload.invalid",
    "reply.final-not-alone",
    "reply.too-many-items",
    "budget.messages",
    "budget.depth",
    "budget.children",
    "loop.repeated-call",
    "loop.ping-pong",
    "listener.silent",
    "listener.lost",
    "listener.failed",
    "route.unavailable",
];

/// What a walk came by, numbers and names left out.
fn words(walk: &Walk) -> BTreeSet<String> {
    let mut words: BTreeSet<String> = walk.naive.closed.iter().map(|(.., outcome)| outcome.clone()).collect();
    words.extend(walk.naive.told.iter().map(|told| format!("told {told}")));
    words.extend(walk.naive.threads.keys().any(|id| walk.naive.is_halted(id)).then(|| "halted".to_owned()));
    words.extend(walk.naive.is_cut_short.then(|| "first of several".to_owned()));
    words.extend(walk.naive.has_opened().then(|| "opened by a timer".to_owned()));
    for call in walk.naive.threads.values().flat_map(|thread| thread.calls.values()) {
        words.extend(call.is_in_doubt().then(|| "asking once more".to_owned()));
        words.extend(call.shows_all().then(|| "all of several".to_owned()));
        words.extend(call.stand().split('(').next().map(str::to_owned));
        for line in call.shows() {
            let shown = line.split_once(": ").map_or(line.as_str(), |(_, shown)| shown);
            words.insert(match shown.split(' ').collect::<Vec<&str>>()[..] {
                [word @ ("finished" | "over"), _, how, ..] => format!("{word} {how}"),
                [word @ ("budget-warning" | "budget-exceeded"), what, ..] => format!("{word} {what}"),
                [word, ..] if word.strip_prefix('n').is_some_and(|n| n.parse::<u64>().is_ok()) => {
                    "n".to_owned()
                }
                [word, ..] => word.to_owned(),
                [] => continue,
            });
        }
    }
    words
}

#[test]
fn b19_two_pumps_that_share_no_code_say_the_same() {
    let asked = std::env::var("WALKS").ok().and_then(|walks| walks.parse().ok());
    let config = ProptestConfig {
        cases: asked.unwrap_or(WALKS),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    // The same walks every time, unless somebody asks for many.
    let same = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = match asked {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, same),
    };
    let met = RefCell::new(BTreeSet::new());
    let walked = runner.run(&(limits(), loops(), events()), |(limits, loops, bursts)| {
        let mut walk = Walk::new(limits, loops);
        for drawn in bursts.iter().flatten() {
            let before = walk.naive.clone();
            walk.naive.closed.clear();
            walk.naive.told = None;
            walk.naive.is_cut_short = false;
            walk.real.begins();
            walk.takes(drawn);
            walk.agrees(&before)?;
            met.borrow_mut().extend(words(&walk));
        }
        Ok(())
    });
    if let Err(differs) = walked {
        panic!("{differs}");
    }
    let missed: Vec<&str> = WORDS.into_iter().filter(|word| !met.borrow().contains(*word)).collect();
    assert!(missed.is_empty(), "no walk came by {missed:?}, only by {:?}", met.borrow());
}
