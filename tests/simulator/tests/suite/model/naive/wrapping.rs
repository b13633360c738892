//! The last turn of a call of the naive pump: which calls may only answer, what of their reply still counts,
//! and how they end without a final.

use super::broadcast::Gathering;
use super::{Call, MOST_ITEMS, Naive, Thrown};

/// The notice to a call that only a final is accepted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Last {
    /// The code that refuses its other items.
    code: &'static str,
    /// The turn that shows it, which is the last.
    turn: u32,
}

impl Call {
    /// Whether the call may only answer.
    pub(crate) fn wraps_up(&self) -> bool {
        self.last.is_some()
    }

    /// Whether the due turn is the last of all.
    pub(super) fn is_in_last_turn(&self) -> bool {
        self.last.is_some_and(|last| self.turn >= last.turn)
    }

    /// Whether this notice came while a turn was due whose reply is still awaited.
    pub(crate) fn is_left_to_its_reply(&self) -> bool {
        self.is_ready() && self.wraps_up() && !self.is_in_last_turn()
    }

    /// Whether a turn after the due one would show something.
    pub(super) fn has_turn_after(&self, turn: u32) -> bool {
        turn < self.last.map_or(self.party.turns, |last| last.turn)
    }
}

impl Naive {
    /// A limit, or the last turn, is used up: what the call waits for is cancelled, and that turn shows that
    /// it is the last. A due turn keeps its reply.
    pub(super) fn wraps_up(&mut self, thread: &str, path: &str, turn: u32, what: &str) {
        let Some(here) = self.threads.get(thread) else { return };
        let below = format!("{path}/");
        let below: Vec<String> = here.calls.keys().filter(|p| p.starts_with(&below)).cloned().collect();
        for call in &below {
            let children = self.call(thread, call).map(Call::running).unwrap_or_default();
            for child in &children {
                self.cancels(child);
            }
            self.closed.insert((thread.to_owned(), call.clone(), "cancelled".to_owned()));
        }
        self.leaves_timers(thread, &below);
        let has_timer = self.has_timer(thread, path);
        let Some(here) = self.threads.get_mut(thread) else { return };
        here.calls.retain(|p, _| !below.contains(p));
        let Some(call) = here.calls.get_mut(path) else { return };
        let code = match what.split(' ').next() {
            Some("time") => "budget.time",
            Some("tokens") => "budget.tokens",
            Some("money") => "budget.money",
            _ => "budget.messages",
        };
        call.last = Some(Last { code, turn });
        call.waiting.push((usize::MAX, format!("budget-exceeded {what}")));
        call.ends_waits(has_timer);
        for (ordinal, item) in call.items.iter_mut().enumerate().filter(|(_, item)| item.is_none()) {
            let gathering = call.gatherings.get(&ordinal);
            *item = Some(gathering.map_or_else(|| "thread.cancelled".to_owned(), Gathering::cut));
        }
        call.questions.clear();
    }

    /// The same for a call whose reply to that turn was just accepted, or that waits for its items: the next
    /// turn is the last.
    pub(super) fn turns_to_last(&mut self, thread: &str, path: &str, turn: u32, what: &str) {
        self.wraps_up(thread, path, turn, what);
        self.call_mut(thread, path).into_iter().for_each(|call| call.turns_to(turn));
    }

    /// The same for a call whose turn is due: the turn after it is the last, if its listener has more than
    /// one.
    pub(super) fn leaves_to_its_reply(&mut self, thread: &str, path: &str, what: &str) {
        let Some(call) = self.call(thread, path) else { return };
        let turn = if call.party.turns > 1 { call.turn + 1 } else { call.turn };
        self.wraps_up(thread, path, turn, what);
    }

    /// A reply of a call that may only answer.
    pub(super) fn answers_at_last(&mut self, thread: &str, path: &str, thrown: &[Thrown]) {
        let Some((call, last)) = self.call(thread, path).and_then(|call| Some((call, call.last?))) else {
            return;
        };
        let (turn, party, is_last) = (call.turn, call.party, call.is_in_last_turn());
        let is_short = thrown.len() <= MOST_ITEMS;
        let finals: Vec<_> = thrown.iter().filter(|item| matches!(item, Thrown::Final(_))).collect();
        if let ([Thrown::Final(number)], true) = (&finals[..], is_short) {
            self.meets(last.code, "answered");
            return self.closes(thread, path, "answered", format!("n{number}"));
        }
        // A party that owes no answer is done without one.
        if thrown.is_empty() && (!is_last || !party.owes_answer) {
            return self.ends_silently(thread, path, party);
        }
        if is_last {
            self.meets(last.code, "not answered");
            return self.closes(thread, path, "budget", "final-report".to_owned());
        }
        let answer = |item: &Thrown| match item {
            Thrown::Note | Thrown::Todo(..) => "-",
            Thrown::Refused => "payload.invalid",
            _ => last.code,
        };
        let too_many = || vec!["reply.too-many-items"];
        let answers = if is_short { thrown.iter().map(answer).collect() } else { too_many() };
        self.settles_turn(thread, path);
        let Some(call) = self.call_mut(thread, path) else { return };
        call.items = answers.into_iter().map(|shown| Some(shown.to_owned())).collect();
        call.turns_to(turn + 1);
    }

    fn meets(&mut self, code: &str, how: &str) {
        self.met.insert(format!("{code} {how}"));
    }
}
