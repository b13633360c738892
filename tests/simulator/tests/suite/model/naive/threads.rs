//! What a call of the naive pump does with threads and lists: it waits for children, steers them, ends them,
//! and has todo lists. Also what waits for a person, and how that ends.

use std::collections::BTreeMap;

use super::{Call, Naive, Party, Shown};

/// How many children a wait needs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Enough {
    All,
    Any,
    Count(usize),
}

impl Enough {
    fn of(self, children: usize) -> usize {
        match self {
            Enough::All => children,
            Enough::Any => children.min(1),
            Enough::Count(count) => children.min(count),
        }
    }
}

/// How a wait for a person ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    Approved,
    Amended(u64),
    Rejected,
    Expired,
}

/// How a question to a person ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Chosen,
    /// An answer that is not one of its choices.
    Wrong,
    Expired,
}

/// An open wait.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    ordinal: usize,
    children: Vec<String>,
    enough: usize,
}

/// Todo lists by their condition, each with whether its one step is open.
pub(super) type Lists = BTreeMap<u8, bool>;

/// Whether a reply's item is complete once it is recorded, and may accompany a final.
pub(super) fn is_kept(item: &super::Thrown) -> bool {
    matches!(item, super::Thrown::Note | super::Thrown::Todo(..))
}

impl Call {
    /// The notice for a final that comes too early, if it does.
    pub(super) fn nudge(&self, turn: u32) -> Option<&'static str> {
        if turn >= self.party.turns || self.nudged {
            return None;
        }
        match (self.running().is_empty(), self.lists.values().any(|open| *open)) {
            (false, _) => Some("children-open"),
            (true, true) => Some("todo-open"),
            (true, false) => None,
        }
    }

    /// Answers the waits that are over by now.
    pub(super) fn ends_waits(&mut self, has_timer: bool) {
        let news = self.waiting.iter().find_map(|(_, shown)| match shown.split(' ').next() {
            Some("fired") => Some("timer"),
            Some("steer") => Some("message"),
            Some("budget-exceeded" | "budget-warning") => Some("budget"),
            _ => None,
        });
        let running = self.running();
        for Wait { ordinal, children, enough } in std::mem::take(&mut self.waits) {
            let open = children.iter().filter(|child| running.contains(child)).count();
            let finished = children.len() - open;
            // A wait for no child is a wait for the call's timers.
            let is_done = finished >= enough && !(children.is_empty() && has_timer);
            let why = if is_done { Some("done") } else { news };
            match why {
                Some(why) => self.items[ordinal] = Some(format!("over {finished}/{open} {why}")),
                None => self.waits.push(Wait { ordinal, children, enough }),
            }
        }
    }
}

impl Naive {
    /// Something reached a call that may have been waiting for it.
    pub(super) fn heard(&mut self, thread: &str, path: &str) {
        let has_timer = self.has_timer(thread, path);
        let Some(call) = self.call_mut(thread, path).filter(|c| c.items.iter().any(Option::is_none)) else {
            return;
        };
        call.ends_waits(has_timer);
        if call.items.iter().all(Option::is_some) {
            let turn = call.turn;
            call.turns_to(turn);
        }
    }

    /// Begins a wait; returns the refusal, if it names a thread that is not a child of the call.
    pub(super) fn waits(
        &mut self,
        thread: &str,
        path: &str,
        ordinal: usize,
        enough: Enough,
        named: &[String],
    ) -> Option<Shown> {
        let has_timer = self.has_timer(thread, path);
        let call = self.call_mut(thread, path)?;
        if call.party.turns <= 1 {
            return Some("budget.messages".to_owned());
        }
        let is_own = |id: &String| call.children.iter().any(|(child, _)| child == id);
        if !named.iter().all(is_own) {
            return Some("unknown_thread".to_owned());
        }
        // A child whose end no turn has shown may be meant too.
        let told = |id: &str| {
            let news = |shown: &Shown| {
                shown.strip_prefix("finished ").and_then(|rest| rest.split(' ').next()) == Some(id)
            };
            call.waiting.iter().any(|(_, shown)| news(shown))
        };
        let children: Vec<String> = match named {
            [] => call
                .children
                .iter()
                .filter(|(id, ended)| !ended || told(id))
                .map(|(id, _)| id.clone())
                .collect(),
            named => named.to_vec(),
        };
        let enough = enough.of(children.len());
        call.waits.push(Wait { ordinal, children, enough });
        call.ends_waits(has_timer);
        None
    }

    /// A steering message for a child of a call: its answer, and whether that is a refusal.
    pub(super) fn steers(
        &mut self,
        thread: &str,
        path: &str,
        id: &str,
        to: Party,
        number: u64,
    ) -> (Shown, bool) {
        let refused = |code: &str| (code.to_owned(), true);
        let children = self.call(thread, path).map(|call| call.children.clone()).unwrap_or_default();
        match children.iter().find(|(child, _)| child == id) {
            None => return refused("unknown_thread"),
            Some((_, true)) => return refused("thread_ended"),
            Some((_, false)) => {}
        }
        let Some(call) = self.call_mut(id, "1") else { return refused("thread.resting") };
        if let Some(code) = call.cannot_hear(to) {
            return refused(code);
        }
        call.waiting.push((usize::MAX, format!("steer n{number}")));
        self.heard(id, "1");
        ("handled".to_owned(), false)
    }

    /// Ends a child of a call on request.
    pub(super) fn ends_child(&mut self, thread: &str, path: &str, id: &str) -> (Shown, bool) {
        let children = self.call(thread, path).map(|call| call.children.clone()).unwrap_or_default();
        match children.iter().find(|(child, _)| child == id) {
            None => ("unknown_thread".to_owned(), true),
            Some((_, true)) => ("thread_ended".to_owned(), true),
            Some((_, false)) => (format!("ended {} {id}", self.cancels(id)), false),
        }
    }

    /// The call whose turn it is when two confer: a call that can spawn, its child that can wait, and the
    /// first again once that child does something. Returned with the child that it may steer.
    pub(crate) fn confers(&self, step: u8, to: Party) -> Option<(String, String, String)> {
        let can = |call: &Call, turn: u32| call.is_ready() && !call.wraps_up() && call.turn == turn;
        let all = || {
            self.threads.iter().flat_map(|(id, t)| t.calls.iter().map(move |(path, call)| (id, path, call)))
        };
        let spawner = |child: &String| {
            all().find(|(_, _, call)| call.turn > 1 && can(call, call.turn) && call.running().contains(child))
        };
        let (thread, path, child) = match step {
            0 => all()
                .find(|(_, _, call)| call.party.turns > 2 && can(call, 1))
                .map(|(id, path, _)| (id, path, id)),
            1 => all()
                .find(|(id, path, call)| {
                    *path == "1" && call.party.turns > 2 && can(call, 1) && spawner(id).is_some()
                })
                .map(|(id, path, _)| (id, path, id)),
            _ => all()
                .filter(|(_, _, call)| call.party.name == to.name && (call.asks || !call.waits.is_empty()))
                .find_map(|(id, ..)| spawner(id).map(|(of, path, _)| (of, path, id))),
        }?;
        Some((thread.clone(), path.clone(), child.clone()))
    }

    /// The calls that wait for a person.
    pub(crate) fn asking(&self) -> Vec<(String, String)> {
        let calls = self.threads.iter().flat_map(|(id, t)| t.calls.iter().map(move |call| (id, call)));
        let asking = calls.filter(|(_, (_, call))| call.asks);
        asking.map(|(id, (path, _))| (id.clone(), path.clone())).collect()
    }

    /// The items that ask a person.
    pub(crate) fn questions(&self) -> Vec<(String, String, usize)> {
        let calls = self.threads.iter().flat_map(|(id, t)| t.calls.iter().map(move |call| (id, call)));
        let open = calls.flat_map(|(id, (path, call))| {
            call.questions.iter().map(move |ordinal| (id.clone(), path.clone(), *ordinal))
        });
        open.collect()
    }

    /// A person answers a question, or no one did in time.
    pub(crate) fn person_said(&mut self, thread: &str, path: &str, ordinal: usize, said: Said) {
        let Some(call) = self.call_mut(thread, path) else { return };
        let word = match said {
            Said::Wrong => {
                self.told = Some("refused question.invalid-choice".to_owned());
                return;
            }
            Said::Chosen => "said chosen",
            Said::Expired => "said expired",
        };
        call.questions.retain(|open| *open != ordinal);
        call.items[ordinal] = Some(word.to_owned());
        if call.items.iter().all(Option::is_some) {
            let turn = call.turn;
            call.turns_to(turn);
        }
        self.told = (said == Said::Chosen).then(|| "done".to_owned());
    }

    /// A person decides about a waiting request, or no one did in time.
    pub(crate) fn decided(&mut self, thread: &str, path: &str, verdict: Verdict) {
        if !self.call(thread, path).is_some_and(|call| call.asks) {
            return;
        }
        self.told = (!matches!(verdict, Verdict::Expired)).then(|| "done".to_owned());
        let Some(call) = self.call_mut(thread, path) else { return };
        match verdict {
            Verdict::Approved => call.is_let_through(),
            // The listener has seen the payload.
            Verdict::Amended(_) if call.doubts => {
                self.told = Some("refused approval.mismatch".to_owned());
            }
            Verdict::Amended(number) => (call.asks, call.request) = (false, format!("n{number}")),
            Verdict::Rejected => self.closes(thread, path, "rejected", "approval.rejected".to_owned()),
            Verdict::Expired => self.closes(thread, path, "expired", "approval.expired".to_owned()),
        }
    }
}
