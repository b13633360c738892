//! Budgets: which limits a call lies under, whether there is room below all of them for something new, and
//! who is told when most of one is used.
//!
//! Nothing is written into a root when something below it is used: each thread counts for itself, and the
//! use of a tree is added up here, over its threads that are at work. Those are all in memory.

use super::awaiting;
use super::draft::{Draft, Fact};
use super::state::{CHILD, used_under};
use crate::rules::budget_payload;
use crate::types::budget::{Budgets, Ceiling, Exceeded, Measure, Spent, Use};
use crate::types::codes::Code;
use crate::types::ids::{CallPath, ThreadId};
use crate::types::limits;
use crate::types::record::{Kind, Mark, Role};
use crate::types::refusal::Refusal;

/// A limit, and how much of it is used.
pub(super) struct Limit {
    /// Where it is held: the root, or the child whose ceiling it is.
    thread: ThreadId,
    /// Which purse of that thread.
    purse: u32,
    of: Exceeded,
}

/// Where in a tree something is: a thread, and one of its purses.
type Place = (ThreadId, u32);

/// The limits of the message from outside that a call belongs to; none where it began before there were any.
pub(super) fn budgets<'a>(d: &Draft<'a>, thread: &ThreadId, path: &CallPath) -> Option<&'a Budgets> {
    let root = line(d, thread, path).pop()?.0;
    budgets_of(d, &root)
}

fn budgets_of<'a>(d: &Draft<'a>, (root, purse): &Place) -> Option<&'a Budgets> {
    let config = d.thread(root)?.purses.get(purse)?.config;
    d.page(config)?.budgets.as_ref()
}

/// From a call's own thread up to the root: each thread with the purse that is used there, and the ceiling
/// that its parent's record gives it.
fn line(d: &Draft<'_>, thread: &ThreadId, path: &CallPath) -> Vec<(Place, Option<Ceiling>)> {
    let mut line = Vec::new();
    let Some(mut purse) = d.call(thread, path).map(|call| call.purse) else { return line };
    let mut id = thread.clone();
    loop {
        let above = id.parent();
        let spawner = above.as_ref().and_then(|parent| d.thread(parent)?.spawner(&id));
        let ceiling = spawner.and_then(|(_, call)| call.children.iter().find(|c| c.id == id));
        let ceiling = ceiling.map(|child| child.ceiling);
        let next = spawner.map(|(_, call)| call.purse);
        line.push(((id, purse), ceiling));
        match (above, next) {
            (Some(parent), Some(number)) => (id, purse) = (parent, number),
            _ => return line,
        }
    }
}

/// What the message from outside that a call belongs to has used in its whole tree.
pub(super) fn used_by_message(d: &Draft<'_>, thread: &ThreadId, path: &CallPath) -> Use {
    let root = line(d, thread, path).pop();
    root.map_or_else(Use::default, |((root, purse), _)| used(d, &root, purse))
}

/// What was used under a purse: in its thread, and in all children that run.
pub(super) fn used(d: &Draft<'_>, thread: &ThreadId, purse: u32) -> Use {
    let of = |id: &ThreadId| d.thread(id);
    d.thread(thread).map_or_else(Use::default, |state| used_under(&of, state, purse))
}

/// The limits that something new of a call would count against.
pub(super) fn over(d: &Draft<'_>, thread: &ThreadId, path: &CallPath) -> Vec<Limit> {
    let mut limits = Vec::new();
    let line = line(d, thread, path);
    let root = line.last().map(|(place, _)| place.clone());
    let Some((root, budgets)) = root.and_then(|root| Some((root.clone(), budgets_of(d, &root)?))) else {
        return limits;
    };
    for (place, ceiling) in line {
        let so_far = used(d, &place.0, place.1);
        let is_root = place == root;
        let mut limit = |what, used, limit| {
            let of = Exceeded { what, used, limit };
            limits.push(Limit { thread: place.0.clone(), purse: place.1, of });
        };
        let most = if is_root { of_message(budgets) } else { ceiling.unwrap_or_default() };
        if let Some(most) = most.messages {
            limit(Measure::Messages, so_far.messages, most);
        }
        if is_root {
            limit(Measure::Children, so_far.children, budgets.children);
        }
        if let Some(most) = most.tokens {
            limit(Measure::Tokens, so_far.tokens, most);
        }
        if let Some((coin, most)) = most.spent.and_then(|most| Some((most.coin?, most.micros))) {
            limit(Measure::Money(coin), so_far.spent.micros, most);
        }
    }
    limits
}

/// What a message from outside may use of what its children have shares of.
fn of_message(budgets: &Budgets) -> Ceiling {
    let spent = budgets.money.map(|money| Spent::of(Some(money)));
    Ceiling { messages: Some(budgets.messages), tokens: budgets.tokens, spent }
}

impl Limit {
    /// The limit, with what is used of it.
    pub(super) fn of(&self) -> Exceeded {
        self.of
    }

    /// Whether it is one of models.
    pub(super) fn is_of_models(&self) -> bool {
        matches!(self.of.what, Measure::Tokens | Measure::Money(_))
    }

    /// Whether the calls under it were told that most of it is used.
    pub(super) fn is_told(&self, d: &Draft<'_>) -> bool {
        let purse = d.thread(&self.thread).and_then(|thread| thread.purses.get(&self.purse));
        let of = (self.of.what, self.of.written(self.of.limit));
        purse.is_some_and(|purse| purse.warned.contains(&of))
    }

    /// What it would be with this much more.
    pub(super) fn with(&self, more: Use) -> Exceeded {
        let more = match self.of.what {
            Measure::Messages => more.messages,
            Measure::Children => more.children,
            Measure::Tokens => more.tokens,
            Measure::Money(_) => more.spent.micros,
            Measure::Turns | Measure::Time => 0,
        };
        Exceeded { used: self.of.used.saturating_add(more), ..self.of }
    }
}

/// The first limit that leaves no room for this much more.
pub(super) fn exceeded(limits: &[Limit], more: Use) -> Option<Exceeded> {
    let full = limits.iter().find(|limit| {
        let then = limit.with(more);
        then.used > limit.of.used && then.used > then.limit
    });
    full.map(|limit| limit.of)
}

/// Why something new of a call may not begin, if that is so.
pub(super) fn refusal(d: &Draft<'_>, thread: &ThreadId, path: &CallPath, more: Use) -> Option<Refusal> {
    let deepest = budgets(d, thread, path).map_or(limits::DEPTH, |budgets| budgets.depth);
    if depth(d, thread, path) + 1 >= deepest {
        let words = format!("calls and threads are nested {deepest} deep, the most allowed");
        return Some(Refusal::new(Code::DepthBudget, words));
    }
    let Exceeded { what, used, limit } = exceeded(&over(d, thread, path), more)?;
    let so_far = format!("{used} of {limit} {} are used", what.as_str());
    if used < limit {
        let words = format!("{so_far}, and this takes {}", more.messages);
        let mend = "address fewer of them, each in an envelope with <to>";
        return Some(Refusal::new(what.code(), words).mended_by(mend));
    }
    let words = format!("{so_far}, which is all that there are for this request");
    Some(Refusal::new(what.code(), words).mended_by(match what {
        Measure::Children => "go on without another child",
        _ => "answer with what you have",
    }))
}

/// The limit because of which that refusal says that a call can only answer from here on.
pub(super) fn used_up(
    d: &Draft<'_>,
    thread: &ThreadId,
    path: &CallPath,
    refused: Option<&Refusal>,
) -> Option<Exceeded> {
    refused.filter(|refusal| refusal.code == Code::MessagesBudget)?;
    exceeded(&over(d, thread, path), Use::CALL)
}

/// The ceiling of a child that is about to be spawned: its share of what is left once the spawn itself is
/// counted.
pub(super) fn ceiling(limits: &[Limit], share_percent: u64) -> Ceiling {
    let share = |is_it: fn(Measure) -> bool| {
        let left = limits.iter().filter(|limit| is_it(limit.of.what)).map(|limit| {
            let then = limit.with(Use::SPAWN);
            (then.limit.saturating_sub(then.used), then.what)
        });
        let part = |(left, what): (u64, Measure)| (left.saturating_mul(share_percent) / 100, what);
        left.min_by_key(|(left, _)| *left).map(part)
    };
    let spent = share(|what| matches!(what, Measure::Money(_)));
    Ceiling {
        messages: share(|what| what == Measure::Messages).map(|(part, _)| part),
        tokens: share(|what| what == Measure::Tokens).map(|(part, _)| part),
        spent: spent.and_then(|(micros, what)| match what {
            Measure::Money(coin) => Some(Spent { micros, coin: Some(coin) }),
            _ => None,
        }),
    }
}

/// Something was begun that used this much: where most of a limit is used by it and was not before, every
/// open call under that limit is told that has a further turn to read it in.
pub(super) fn warn(d: &mut Draft<'_>, limits: &[Limit], more: Use) {
    for (limit, then) in crossed(limits, more) {
        tell(d, limit, &then);
    }
}

/// Tells every open call under a limit that most of it is used.
pub(super) fn tell(d: &mut Draft<'_>, limit: &Limit, then: &Exceeded) {
    for (thread, path) in calls_under(d, &limit.thread, limit.purse) {
        warn_call(d, &thread, &path, then);
    }
}

/// The same for the call of a child that was just begun, which its parent did not know of before.
pub(super) fn warn_child(d: &mut Draft<'_>, limits: &[Limit], more: Use, child: &ThreadId) {
    for (_, then) in crossed(limits, more) {
        warn_call(d, child, &CallPath::top(1), &then);
    }
}

/// The limits of which this much more uses most, and how they stand then.
fn crossed(limits: &[Limit], more: Use) -> impl Iterator<Item = (&Limit, Exceeded)> {
    let with = limits.iter().map(move |limit| (limit, limit.with(more)));
    with.filter(|(limit, then)| !is_mostly_used(&limit.of) && is_mostly_used(then))
}

fn warn_call(d: &mut Draft<'_>, thread: &ThreadId, path: &CallPath, of: &Exceeded) {
    let Some(call) = d.call(thread, path) else { return };
    if d.listener(call.config, &call.listener).is_none_or(|listener| listener.turns <= 1) {
        return;
    }
    let fact = Fact::core(Kind::Message, Mark::Role(Role::Inbox), budget_payload::warning(of));
    let fact = fact.to(&call.listener.clone()).on(path).because(call.ready_cause).under(call.config);
    d.record(thread, fact);
    awaiting::arrived(d, thread, path);
}

pub(super) fn is_mostly_used(of: &Exceeded) -> bool {
    of.used.saturating_mul(100) >= of.limit.saturating_mul(limits::WARNING_PERCENT)
}

/// The open calls under a purse, in its thread and below.
fn calls_under(d: &Draft<'_>, thread: &ThreadId, purse: u32) -> Vec<(ThreadId, CallPath)> {
    let Some(state) = d.thread(thread) else { return Vec::new() };
    let mut all = Vec::new();
    for (path, call) in state.calls.iter().filter(|(_, call)| call.purse == purse) {
        all.push((thread.clone(), path.clone()));
        for child in call.running() {
            all.extend(calls_under(d, child, CHILD));
        }
    }
    all
}

/// How deep a call lies in its tree: calls and spawns above it, over all threads.
pub(super) fn depth(d: &Draft<'_>, thread: &ThreadId, path: &CallPath) -> usize {
    let mut depth = path.depth();
    let mut id = thread.clone();
    while let Some(parent) = id.parent() {
        let spawner = d.thread(&parent).and_then(|state| state.spawner(&id));
        // A parent that is not there any more leaves what its label says: one spawn.
        depth += 1 + spawner.map_or(0, |(path, _)| path.depth());
        id = parent;
    }
    depth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b15_most_of_a_limit_is_four_fifths_of_it() {
        let is_most = |used, limit| is_mostly_used(&Exceeded { what: Measure::Messages, used, limit });
        assert_eq!(
            [is_most(79, 100), is_most(80, 100), is_most(3, 4), is_most(4, 5)],
            [false, true, false, true]
        );
        assert!(is_most(u64::MAX, u64::MAX));
    }
}
