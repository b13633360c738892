//! What a message from outside may use, in the naive pump: calls, spawns and children, counted over its whole
//! tree, and the ceiling of each child. Counts go up and never down.

use super::broadcast::Gathering;
use super::{Call, Loops, Naive, Thrown};

/// What one message from outside may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) messages: usize,
    pub(crate) children: usize,
    /// How many calls and spawns may lie one in another, the first of all counted.
    pub(crate) depth: usize,
}

/// Of what is left, the percentage that a child may use.
pub(crate) const SHARE_PERCENT: usize = 50;

/// Whose purse pays: the root, and the top call of it that the message opened.
pub(super) type Payer = (String, String);

/// How much of a limit is used, and whether those under it were told that it is most.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    used: usize,
    limit: usize,
    is_told: bool,
}

/// What one message from outside has used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purse {
    messages: Tally,
    children: Tally,
}

impl Tally {
    fn of(limit: usize) -> Tally {
        Tally { limit, ..Tally::default() }
    }

    fn left(&self) -> usize {
        self.limit.saturating_sub(self.used)
    }

    /// Uses so many, and says how it then stands if that is to be told.
    fn uses(&mut self, count: usize) -> Option<String> {
        self.used += count;
        let is_news = !self.is_told && self.used * 5 >= self.limit * 4;
        self.is_told |= is_news;
        is_news.then(|| format!("{}/{}", self.used, self.limit))
    }
}

/// A thread and all above it, the nearest first.
fn upwards(thread: &str) -> Vec<&str> {
    std::iter::successors(Some(thread), |id| id.rsplit_once('.').map(|(parent, _)| parent)).collect()
}

impl Naive {
    pub(crate) fn under(limits: Option<Limits>, loops: Option<Loops>) -> Naive {
        Naive { limits, loops, ..Naive::default() }
    }

    /// A message from outside opens a top call: it has a purse.
    pub(super) fn fills_purse(&mut self, thread: &str, top: &str) {
        let Some(Limits { messages, children, .. }) = self.limits else { return };
        let purse = Purse { messages: Tally::of(messages), children: Tally::of(children) };
        self.purses.insert((thread.to_owned(), top.to_owned()), purse);
    }

    /// How many messages a call of a thread may still bring about.
    pub(super) fn messages_left(&self, thread: &str, payer: &Payer) -> Option<usize> {
        let purse = self.purses.get(payer)?.messages.left();
        let ceilings = upwards(thread).into_iter().filter_map(|id| self.threads.get(id)?.ceiling);
        Some(ceilings.map(|ceiling| ceiling.left()).fold(purse, usize::min))
    }

    /// What a limit of the message says against an item that asks for calls or a spawn.
    pub(super) fn exceeds(&self, thread: &str, payer: &Payer, item: &Thrown) -> Option<&'static str> {
        let (wants, spawns) = match item {
            Thrown::Cast(takers, ..) => (takers.len(), false),
            item => (1, matches!(item, Thrown::Spawn(..))),
        };
        let purse = self.purses.get(payer)?;
        if self.messages_left(thread, payer).is_some_and(|left| left < wants) {
            return Some("budget.messages");
        }
        (spawns && purse.children.left() == 0).then_some("budget.children")
    }

    /// Calls that begin together, or a spawn, are paid, and whoever is under a limit that is mostly used now
    /// is told. A child has its ceiling from what is left.
    pub(super) fn pays(&mut self, thread: &str, payer: &Payer, calls: usize, child: Option<&str>) {
        let Some(purse) = self.purses.get_mut(payer) else { return };
        let messages = purse.messages.uses(calls);
        let children = child.and_then(|_| purse.children.uses(1));
        let is_paid = |call: &Call| call.payer == *payer;
        // The nearest limit first.
        for id in upwards(thread) {
            let ceiling = self.threads.get_mut(id).and_then(|here| here.ceiling.as_mut());
            if let Some(stand) = ceiling.and_then(|ceiling| ceiling.uses(calls)) {
                self.warns(&format!("messages {stand}"), |at, _| upwards(at).contains(&id));
            }
        }
        if let Some(stand) = messages {
            self.warns(&format!("messages {stand}"), |_, call| is_paid(call));
        }
        if let Some(stand) = children {
            self.warns(&format!("children {stand}"), |_, call| is_paid(call));
        }
        let left = self.messages_left(thread, payer).unwrap_or_default();
        if let Some(child) = child {
            let ceiling = Tally::of(left * SHARE_PERCENT / 100);
            self.threads.entry(child.to_owned()).or_default().ceiling = Some(ceiling);
        }
    }

    /// The last turn, or a limit, is used: what the call waits for is cancelled, and one more turn shows that it is the last.
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
        call.wraps_up = true;
        call.waiting.push((usize::MAX, format!("budget-exceeded {what}")));
        call.ends_waits(has_timer);
        for (ordinal, item) in call.items.iter_mut().enumerate().filter(|(_, item)| item.is_none()) {
            let gathering = call.gatherings.get(&ordinal);
            *item = Some(gathering.map_or_else(|| "thread.cancelled".to_owned(), Gathering::cut));
        }
        call.turns_to(turn + 1);
    }

    /// Tells every open call under a limit, whose listener has another turn than the first.
    fn warns(&mut self, what: &str, is_under: impl Fn(&str, &Call) -> bool) {
        let mut told = Vec::new();
        for (id, here) in &mut self.threads {
            for (path, call) in &mut here.calls {
                if call.party.turns > 1 && is_under(id, call) {
                    call.waiting.push((usize::MAX, format!("budget-warning {what}")));
                    told.push((id.clone(), path.clone()));
                }
            }
        }
        told.iter().for_each(|(id, path)| self.heard(id, path));
    }
}
