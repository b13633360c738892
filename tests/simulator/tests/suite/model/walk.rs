//! A walk: both pumps, and how each takes the draws. Numbers choose among what exists when they happen.

use super::drawn::{Befalls, Clockwork, Drawn, Item, Pen};
use super::naive::{
    self, Amount, BudgetKind, DOLLAR, Enough, Limits, Loops, Naive, Now, Party, Said, Thrown, Verdict,
    Written,
};
use super::real::{self, Real};
use super::{AGENT, CASTS, GUARDED, PARTIES, PATIENT, TOOL};

/// The moment before the first event, in milliseconds: late enough to set a clock back.
const BEGINS: i64 = 1_000_000_000;

/// The real and the naive pump of one walk.
pub(crate) struct Walk {
    pub(crate) real: Real,
    pub(crate) naive: Naive,
    limits: Option<Limits>,
    numbers: u64,
    now: Now,
}

fn party(pick: u8) -> Party {
    PARTIES[usize::from(pick) % PARTIES.len()]
}

/// An amount of something: near the rest, near its limit, or part of that.
fn amount(pick: u8, limit: Option<u64>, left: Option<u64>) -> u64 {
    let limit = limit.unwrap_or(1_000);
    let left = left.unwrap_or(limit);
    match pick % 8 {
        0 => limit + 1,
        1 => left,
        2 => left + 1,
        _ => limit * u64::from(pick / 8) / 64,
    }
}

impl Walk {
    pub(crate) fn new(limits: Option<Limits>, loops: Option<Loops>) -> Walk {
        let (real, naive) = (Real::new(&PARTIES, limits, loops), Naive::under(limits, loops));
        Walk { real, naive, limits, numbers: 0, now: Now { tick: BEGINS, wall: BEGINS } }
    }

    /// Another event, ten milliseconds after the last.
    pub(crate) fn begins(&mut self) {
        self.passes(10);
        self.naive.closed.clear();
        self.naive.told = None;
        self.naive.met.clear();
        self.naive.clocked.clear();
        self.naive.now = self.now;
        self.real.begins(self.now);
    }

    fn passes(&mut self, ms: i64) {
        self.now = Now { tick: self.now.tick + ms, wall: self.now.wall + ms };
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// An open call: mostly one whose turn is due, because the others answer little.
    fn call(&self, pick: u16) -> Option<(String, String)> {
        let wanted = |call: &naive::Call| pick.is_multiple_of(8) || call.is_ready();
        let all = self.naive.threads.iter().flat_map(|(id, thread)| {
            let open = thread.calls.iter().filter(|(_, call)| wanted(call));
            open.map(move |(path, _)| (id.clone(), path.clone()))
        });
        let all: Vec<(String, String)> = all.collect();
        all.get(usize::from(pick / 8) % all.len().max(1)).cloned()
    }

    /// A thread, or one that never existed.
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
                // Sometimes the same again.
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
            Item::Person => Thrown::Person,
            Item::Unsets(id) => Thrown::Unsets(["tick", "tock", "t1"][usize::from(*id) % 3]),
            Item::Ends(pick) => Thrown::Ends(self.thread_for(thread, *pick)),
            Item::Steers(pick, to) => {
                // Mostly those that have a turn left to read it.
                let to = if to.is_multiple_of(4) { party(to / 4) } else { AGENT };
                Thrown::Steers(self.thread_for(thread, *pick), to, self.number())
            }
        }
    }

    /// A client ends a thread.
    fn ends(&mut self, thread: u16) {
        let thread = self.root(thread);
        self.real.ends(&thread);
        self.naive.ended(&thread);
    }

    /// A root is tried again: one that failed, or any.
    fn retries(&mut self, thread: u16, any: bool) {
        let failed = self.naive.failed_roots();
        let picked = failed.get(usize::from(thread) % failed.len().max(1)).filter(|_| !any).cloned();
        let thread = picked.unwrap_or_else(|| self.root(thread));
        self.real.retries(&thread);
        self.naive.retried(&thread);
    }

    /// Both take an event.
    pub(crate) fn takes(&mut self, drawn: &Drawn) {
        match drawn {
            Drawn::Asks { key, party: pick, other_bytes } => {
                let (key, party) = (format!("k{key}"), party(*pick));
                // The bytes of a key are always the same, unless they are meant to differ.
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
            Drawn::Answers { question, how } => {
                let open = self.naive.questions();
                let picked = open.get(usize::from(*question) % open.len().max(1)).cloned();
                let Some((thread, path, ordinal)) = picked else { return };
                let said = [Said::Chosen, Said::Chosen, Said::Expired, Said::Wrong][usize::from(*how) % 4];
                self.real.person_said(&thread, &path, ordinal, said);
                self.naive.person_said(&thread, &path, ordinal, said);
            }
            Drawn::IsDue { timer } => {
                let timers = self.naive.timers();
                let Some((thread, id)) = timers.get(usize::from(*timer) % timers.len().max(1)) else {
                    return;
                };
                self.real.is_due(thread, id);
                self.naive.is_due(thread, id);
            }
            Drawn::Clocks(what) => self.clocks(what),
            Drawn::Confers { step, guarded } => self.confers(*step, *guarded),
            Drawn::Dives { spawns } => self.dives(*spawns),
            Drawn::Circles { answers, again } => self.circles(*answers, *again),
            Drawn::Cancels { thread } => {
                let thread = self.thread(*thread);
                self.real.cancels(&thread);
                self.naive.cancelled(&thread);
            }
            Drawn::Steers { thread, key, astray } => self.steers(*thread, &format!("k{key}"), *astray),
            Drawn::Ends { thread } => self.ends(*thread),
            Drawn::Retries { thread, any } => self.retries(*thread, *any),
            Drawn::Pauses { thread, halts } => {
                let thread = thread.map(|pick| self.thread(pick));
                self.real.pauses(thread.as_deref(), *halts);
                self.naive.pauses(thread.as_deref(), *halts);
            }
        }
    }

    /// Both take an event of the clocks.
    fn clocks(&mut self, what: &Clockwork) {
        match what {
            Clockwork::Passes { clock, percent } => {
                let wall = self.naive.clock(*clock).map_or(1_000, |(_, limit)| limit);
                self.passes(i64::try_from(wall * u64::from(*percent) / 100).unwrap());
            }
            Clockwork::Elapses { early } => {
                let any = early.and_then(|pick| self.naive.clock(pick)).map(|(payer, _)| payer.clone());
                let due = if early.is_none() { self.real.marked() } else { None };
                if let Some(payer) = any.or(due) {
                    self.real.elapses(&payer);
                    self.naive.elapsed(&payer);
                }
            }
            Clockwork::IsSet { off } => self.now.wall = self.now.tick + i64::from(*off) * 1_000,
            Clockwork::StartsAgain => {
                self.real.starts_again();
                self.naive.starts_again();
            }
        }
    }

    /// A steering message from outside, mostly for the call that works on a root's request.
    fn steers(&mut self, pick: u16, key: &str, astray: u8) {
        let thread = self.root(pick);
        let at_work = self.naive.open_top(&thread).map(|(_, call)| call.party());
        let to = at_work.filter(|_| !astray.is_multiple_of(8)).unwrap_or(party(astray / 8));
        // Sometimes the same bytes under a key again.
        let number = if astray % 4 == 1 { 900_002 } else { self.number() };
        self.real.steers(&thread, key, to, number);
        self.naive.steered(&thread, key, to, number);
    }

    /// A call has a child, which waits for its own child or for a person, and sends it a steering message.
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

    /// A call with many turns asks a tool the same again, or the tool gives the same answer again.
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

    /// Both take an event of a call.
    fn befalls(&mut self, thread: &str, path: &str, what: &Befalls) {
        match what {
            Befalls::Replies { items, lies } => {
                let mut thrown: Vec<Thrown> = items.iter().map(|item| self.thrown(thread, item)).collect();
                // A door admits no final of a listener that owes no answer.
                let owes = self.naive.call(thread, path).is_some_and(|c| c.party().owes_answer);
                thrown.retain(|item| owes || !matches!(item, Thrown::Final(_)));
                // Items may name a false sender.
                let lies = *lies && !thrown.is_empty();
                self.real.replies(thread, path, &thrown, lies.then_some("core"));
                if lies {
                    self.naive.lied(thread, path);
                }
                self.naive.replied(thread, path, &thrown);
            }
            // It has no effect, so the naive pump does not even get it.
            Befalls::RepliesLate { turns } => self.real.replies_late(thread, path, *turns),
            Befalls::Fails { retry } => {
                self.real.fails(thread, path, *retry);
                self.naive.gives_up(thread, path, *retry);
            }
            Befalls::IsLost { code, with_pump } => {
                let (code, known) = real::LOSSES[usize::from(*code) % real::LOSSES.len()];
                self.real.is_lost(thread, path, code, *with_pump);
                match known {
                    Some(known) => self.naive.fails(thread, path, code.as_str(), known, *with_pump),
                    None => self.naive.is_gone(thread, path, code.as_str()),
                }
            }
            Befalls::Sends => self.sends(thread, path),
            Befalls::Again => {
                self.real.again(thread, path);
                self.naive.again(thread, path, "walked");
            }
            Befalls::Writes { what, late } => self.writes(thread, path, what, *late),
            Befalls::Recalls { from } => {
                self.sends(thread, path);
                self.real.recalls(thread, path, usize::from(*from));
                self.naive.recalls(thread, path, usize::from(*from));
            }
            Befalls::Notices { times } => {
                for _ in 0..*times {
                    self.real.notices(thread, path);
                    self.naive.noticed(thread, path, "walked");
                }
            }
        }
    }

    /// The first attempt is recorded before it is sent, if it may not be repeated freely.
    fn sends(&mut self, thread: &str, path: &str) {
        if self.naive.call(thread, path).is_some_and(naive::Call::has_to_be_recorded) {
            self.real.sends(thread, path);
            self.naive.sending(thread, path);
        }
    }

    /// A call whose turn is due, or no longer due, writes an entry.
    fn writes(&mut self, thread: &str, path: &str, pen: &Pen, late: bool) {
        let known = self.naive.written(thread, path);
        let Some(call) = self.naive.call(thread, path) else { return };
        let left = |of| self.naive.left(thread, call.payer(), of);
        let limits = self.limits.map_or((None, None), |limits| (limits.tokens, limits.money));
        let (tokens_left, money_left) = (left(BudgetKind::Tokens), left(BudgetKind::Money));
        let tokens_of = |pick: &u8| amount(*pick, limits.0, tokens_left);
        let money_of = |pick: &u8, coin: &u8| -> Amount {
            let coin = if coin.is_multiple_of(16) { "EUR" } else { DOLLAR };
            (amount(*pick, limits.1, money_left), coin)
        };
        let open = self.naive.open_starts(thread, path);
        let (id, entry) = match pen {
            Pen::Starts { tokens, money, coin } => {
                let money = money.as_ref().map(|pick| money_of(pick, coin));
                (self.number(), Written::Starts { tokens: tokens.as_ref().map(tokens_of), money })
            }
            Pen::Ends { of, tokens, money, coin } => {
                let pick = usize::from(of / 8) % open.len().max(1);
                let other = known.get(usize::from(*of) % known.len().max(1)).map_or(0, |(id, _)| *id);
                let of = open.get(pick).copied().filter(|_| !of.is_multiple_of(8)).unwrap_or(other);
                let tokens = tokens.as_ref().map(tokens_of).map(|all| (all / 3, all - all / 3));
                let money = money.as_ref().map(|pick| money_of(pick, coin));
                (self.number(), Written::Ends { of, tokens, money })
            }
            Pen::Again { entry, other } => {
                let Some((id, entry)) = known.get(usize::from(*entry) % known.len().max(1)) else { return };
                let changed = Written::Ends { of: 999_999, tokens: None, money: None };
                (*id, if *other { changed } else { entry.clone() })
            }
        };
        self.sends(thread, path);
        self.real.writes(thread, path, late, id, &entry);
        if late {
            self.naive.told = Some("refused reply.stale-lease".to_owned());
        } else {
            self.naive.writes(thread, path, id, &entry);
        }
    }
}
