//! Budgets: which limits apply to a call, and whether all of them have room for something new. Also, which
//! calls get a warning when most of a limit is used.
//!
//! When something below a root is used, nothing is written into the root. Each thread counts its own use,
//! and this file adds up the use of a tree over the threads that are at work. All of those are in memory.

use smallvec::SmallVec;

use super::awaiting;
use super::decision_builder::{DecisionBuilder, RecordFact};
use super::state::{CHILD, Call, used_under};
use crate::rules::budget_payload;
use crate::types::budget::{Budgets, Ceiling, ExceededLimit, Measure, MoneySpent, UsedAmounts};
use crate::types::codes::Code;
use crate::types::ids::{CallPath, ThreadId};
use crate::types::limits;
use crate::types::record::{MessageRole, RecordCode, RecordKind};
use crate::types::refusal::Refusal;

/// A limit, and how much of it is used.
pub(super) struct BudgetLimit {
    /// The thread that holds it: the root, or the child whose ceiling it is.
    thread: ThreadId,
    /// The budget use of that thread.
    budget_use: u32,
    of: ExceededLimit,
}

/// The limits of a call: those of the message from outside, and the ceilings of the threads above.
pub(super) type BudgetLimits = SmallVec<[BudgetLimit; 2]>;

/// A place in a tree: a thread, and one of its budget uses.
type BudgetPlace = (ThreadId, u32);

/// The limits of the message from outside that a call belongs to; `None` if the call began before there were
/// limits.
pub(super) fn find_budgets<'a>(
    d: &DecisionBuilder<'a>,
    thread: &ThreadId,
    path: &CallPath,
) -> Option<&'a Budgets> {
    let root = list_ceilings(d, thread, path).pop()?.0;
    budgets_of(d, &root)
}

fn budgets_of<'a>(d: &DecisionBuilder<'a>, (root, budget_use): &BudgetPlace) -> Option<&'a Budgets> {
    let config = d.find_thread(root)?.budget_uses.get(budget_use)?.config;
    d.find_composition(config)?.budgets.as_ref()
}

/// The line from a call's own thread up to the root: each thread with the budget use that is used there, and the
/// ceiling from its parent's record.
fn list_ceilings(
    d: &DecisionBuilder<'_>,
    thread: &ThreadId,
    path: &CallPath,
) -> SmallVec<[(BudgetPlace, Option<Ceiling>); 2]> {
    let mut line = SmallVec::new();
    let Some(mut budget_use) = d.find_call(thread, path).map(|call| call.budget_use) else { return line };
    let mut id = thread.clone();
    loop {
        let above = id.parent();
        let spawner = above.as_ref().and_then(|parent| d.find_thread(parent)?.spawning_call(&id));
        let ceiling = spawner.and_then(|(_, call)| call.children.iter().find(|c| c.id == id));
        let ceiling = ceiling.map(|child| child.ceiling);
        let next = spawner.map(|(_, call)| call.budget_use);
        line.push(((id, budget_use), ceiling));
        match (above, next) {
            (Some(parent), Some(number)) => (id, budget_use) = (parent, number),
            _ => return line,
        }
    }
}

/// The use of the message from outside that a call belongs to, in its whole tree.
pub(super) fn used_by_message(d: &DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath) -> UsedAmounts {
    let root = list_ceilings(d, thread, path).pop();
    root.map_or_else(UsedAmounts::default, |((root, budget_use), _)| count_used(d, &root, budget_use))
}

/// The use under a budget use: in its thread, and in all running children.
pub(super) fn count_used(d: &DecisionBuilder<'_>, thread: &ThreadId, budget_use: u32) -> UsedAmounts {
    let of = |id: &ThreadId| d.find_thread(id);
    d.find_thread(thread).map_or_else(UsedAmounts::default, |state| used_under(&of, state, budget_use))
}

/// The limits that a new use by a call would count against.
pub(super) fn collect_limits(d: &DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath) -> BudgetLimits {
    let mut limits = BudgetLimits::new();
    let line = list_ceilings(d, thread, path);
    let root = line.last().map(|(place, _)| place.clone());
    let Some((root, budgets)) = root.and_then(|root| Some((root.clone(), budgets_of(d, &root)?))) else {
        return limits;
    };
    for (place, ceiling) in line {
        let so_far = count_used(d, &place.0, place.1).count_under(Some(budgets));
        let is_root = place == root;
        let mut limit = |what, used, limit| {
            let of = ExceededLimit { what, used, limit };
            limits.push(BudgetLimit { thread: place.0.clone(), budget_use: place.1, of });
        };
        let most = if is_root { of_message(budgets) } else { ceiling.unwrap_or_default() };
        if let Some(most) = most.messages {
            limit(Measure::Messages, so_far.messages, most);
        }
        if is_root {
            limit(Measure::Children, so_far.children, budgets.children);
        }
        if let Some(most) = budgets.requests.filter(|_| is_root) {
            limit(Measure::Requests, so_far.requests, most);
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

/// The ceiling of a message from outside, for the resources that its children get shares of.
fn of_message(budgets: &Budgets) -> Ceiling {
    let spent = budgets.money.map(|money| MoneySpent::from_money(Some(money)));
    Ceiling { messages: Some(budgets.messages), tokens: budgets.tokens, spent }
}

impl BudgetLimit {
    /// The limit, with what is used of it.
    pub(super) fn to_exceeded(&self) -> ExceededLimit {
        self.of
    }

    /// Whether it limits the use of models.
    pub(super) fn is_of_models(&self) -> bool {
        matches!(self.of.what, Measure::Tokens | Measure::Money(_) | Measure::Requests)
    }

    /// Whether the calls under the limit were warned that most of it is used.
    pub(super) fn is_told(&self, d: &DecisionBuilder<'_>) -> bool {
        let budget_use =
            d.find_thread(&self.thread).and_then(|thread| thread.budget_uses.get(&self.budget_use));
        let of = (self.of.what, self.of.write_amount(self.of.limit));
        budget_use.is_some_and(|budget_use| budget_use.warned.contains(&of))
    }

    /// How many requests to models the calls under the limit keep for their finals, without that call.
    pub(super) fn count_kept(&self, d: &DecisionBuilder<'_>, except: (&ThreadId, &CallPath)) -> u64 {
        let calls = calls_under(d, &self.thread, self.budget_use);
        let keeps = |(thread, path): &(ThreadId, CallPath)| {
            (thread, path) != except
                && d.find_call(thread, path).is_some_and(|call| does_keep_request(d, call))
        };
        u64::try_from(calls.iter().filter(|call| keeps(call)).count()).unwrap_or(u64::MAX)
    }

    /// The limit with this much more use.
    pub(super) fn with_use(&self, more: UsedAmounts) -> ExceededLimit {
        let more = match self.of.what {
            Measure::Messages => more.messages,
            Measure::Children => more.children,
            Measure::Tokens => more.tokens,
            Measure::Money(_) => more.spent.micros,
            Measure::Requests => more.requests,
            Measure::Turns | Measure::Time | Measure::Depth => 0,
        };
        ExceededLimit { used: self.of.used.saturating_add(more), ..self.of }
    }
}

/// Whether a call keeps a request for its final: it has asked a model, and its wrap-up turn has not done so yet.
fn does_keep_request(d: &DecisionBuilder<'_>, call: &Call) -> bool {
    let has_asked_last = call.is_wrapping_up() && !call.journal.is_empty();
    let has_turns = || d.find_listener(call.config, &call.listener).is_some_and(|one| one.turns > 1);
    call.asks_models && !has_asked_last && has_turns()
}

/// The first limit that has no room for this much more.
pub(super) fn find_exceeded(limits: &[BudgetLimit], more: UsedAmounts) -> Option<ExceededLimit> {
    let full = limits.iter().find(|limit| {
        let then = limit.with_use(more);
        then.used > limit.of.used && then.used > then.limit
    });
    full.map(|limit| limit.of)
}

/// Why a call may not begin something new; `None` if it may.
pub(super) fn find_refusal(
    d: &DecisionBuilder<'_>,
    thread: &ThreadId,
    path: &CallPath,
    more: UsedAmounts,
) -> Option<Refusal> {
    let deepest = find_deepest(d, thread, path);
    if measure_depth(d, thread, path) + 1 >= deepest {
        let words = format!("calls and threads are nested {deepest} deep, the most allowed");
        return Some(Refusal::new(Code::DepthBudget, words));
    }
    let ExceededLimit { what, used, limit } = find_exceeded(&collect_limits(d, thread, path), more)?;
    let so_far = format!("{used} of {limit} {} are used", what.as_str());
    if used < limit {
        let words = format!("{so_far}, and this takes {}", more.messages);
        let fix = "address fewer of them, each in an envelope with <to>";
        return Some(Refusal::new(what.code(), words).fixed_by(fix));
    }
    let words = format!("{so_far}, and this request has no more");
    Some(Refusal::new(what.code(), words).fixed_by(match what {
        Measure::Children => "go on without another child",
        _ => "answer with what you have",
    }))
}

fn find_deepest(d: &DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath) -> usize {
    find_budgets(d, thread, path).map_or(limits::EARLIER_DEPTH, |budgets| budgets.depth)
}

/// The used-up limit behind that refusal, if the call may only answer from now on. Refused items may have used the
/// messages up.
pub(super) fn used_up(
    d: &DecisionBuilder<'_>,
    thread: &ThreadId,
    path: &CallPath,
    refused: Option<&Refusal>,
) -> Option<ExceededLimit> {
    let limits = collect_limits(d, thread, path);
    match refused?.code {
        Code::MessagesBudget => find_exceeded(&limits, UsedAmounts::CALL),
        Code::DepthBudget => {
            find_budgets(d, thread, path)?.requests?;
            let deepest = u64::try_from(find_deepest(d, thread, path)).unwrap_or(u64::MAX);
            Some(ExceededLimit { what: Measure::Depth, used: deepest, limit: deepest })
        }
        _ => {
            let full =
                |limit: &&BudgetLimit| limit.of.what == Measure::Messages && limit.of.used > limit.of.limit;
            limits.iter().find(full).map(BudgetLimit::to_exceeded)
        }
    }
}

/// The messages that a chain of threads down to the deepest level needs below a call: a spawn and one more for each.
/// None where calls nest no deeper than in earlier versions, so that their logs give the same ceilings again.
pub(super) fn count_chain(d: &DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath) -> u64 {
    let deepest = find_deepest(d, thread, path);
    let levels = deepest.saturating_sub(measure_depth(d, thread, path) + 1);
    if deepest > limits::EARLIER_DEPTH { 2 * u64::try_from(levels).unwrap_or(0) } else { 0 }
}

/// The ceiling of a child that is about to be spawned: its share of what is left after the spawn itself is
/// counted. It has at least that many messages for a chain of threads below it, if so many are left.
pub(super) fn compute_ceiling(limits: &[BudgetLimit], share_percent: u64, chain: u64) -> Ceiling {
    let least = |(left, what): (u64, Measure)| if what == Measure::Messages { left.min(chain) } else { 0 };
    let share = |is_it: fn(Measure) -> bool| {
        let left = limits.iter().filter(|limit| is_it(limit.of.what)).map(|limit| {
            let then = limit.with_use(UsedAmounts::SPAWN);
            (then.limit.saturating_sub(then.used), then.what)
        });
        let part = |(left, what): (u64, Measure)| {
            ((left.saturating_mul(share_percent) / 100).max(least((left, what))), what)
        };
        left.min_by_key(|(left, _)| *left).map(part)
    };
    let spent = share(|what| matches!(what, Measure::Money(_)));
    Ceiling {
        messages: share(|what| what == Measure::Messages).map(|(part, _)| part),
        tokens: share(|what| what == Measure::Tokens).map(|(part, _)| part),
        spent: spent.and_then(|(micros, what)| match what {
            Measure::Money(coin) => Some(MoneySpent { micros, coin: Some(coin) }),
            _ => None,
        }),
    }
}

/// Something new began and used this much. If it brought a limit to the warning mark, every open call under
/// that limit is warned. A call without a further turn is not, because no turn could show the warning.
pub(super) fn warn_limits(d: &mut DecisionBuilder<'_>, limits: &[BudgetLimit], more: UsedAmounts) {
    for (limit, then) in list_crossed(limits, more) {
        report_limit(d, limit, &then);
    }
}

/// Tells every open call under a limit that most of it is used.
pub(super) fn report_limit(d: &mut DecisionBuilder<'_>, limit: &BudgetLimit, then: &ExceededLimit) {
    for (thread, path) in calls_under(d, &limit.thread, limit.budget_use) {
        warn_call(d, &thread, &path, then);
    }
}

/// Like `warn`, for the call of a child that was just begun, which its parent did not know of before.
pub(super) fn warn_child(
    d: &mut DecisionBuilder<'_>,
    limits: &[BudgetLimit],
    more: UsedAmounts,
    child: &ThreadId,
) {
    for (_, then) in list_crossed(limits, more) {
        warn_call(d, child, &CallPath::new_top(1), &then);
    }
}

/// The limits that this much more use brings to the warning mark, each with its use after that.
fn list_crossed(
    limits: &[BudgetLimit],
    more: UsedAmounts,
) -> impl Iterator<Item = (&BudgetLimit, ExceededLimit)> {
    let with = limits.iter().map(move |limit| (limit, limit.with_use(more)));
    with.filter(|(limit, then)| !is_mostly_used(&limit.of) && is_mostly_used(then))
}

fn warn_call(d: &mut DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath, of: &ExceededLimit) {
    let Some(call) = d.find_call(thread, path) else { return };
    if d.find_listener(call.config, &call.listener).is_none_or(|listener| listener.turns <= 1) {
        return;
    }
    let fact = RecordFact::from_core(
        RecordKind::Message,
        RecordCode::Role(MessageRole::Inbox),
        budget_payload::write_warning(of),
    );
    let fact = fact
        .with_addressee(&call.listener.clone())
        .with_call(path)
        .with_cause(call.ready_cause)
        .with_config(call.config);
    d.add_record(thread, fact);
    awaiting::note_arrival(d, thread, path);
}

pub(super) fn is_mostly_used(of: &ExceededLimit) -> bool {
    of.used.saturating_mul(100) >= of.limit.saturating_mul(limits::WARNING_PERCENT)
}

/// The open calls under a budget use, in its thread and below.
fn calls_under(d: &DecisionBuilder<'_>, thread: &ThreadId, budget_use: u32) -> Vec<(ThreadId, CallPath)> {
    let Some(state) = d.find_thread(thread) else { return Vec::new() };
    let mut all = Vec::new();
    for (path, call) in state.calls.iter().filter(|(_, call)| call.budget_use == budget_use) {
        all.push((thread.clone(), path.clone()));
        for child in call.running() {
            all.extend(calls_under(d, child, CHILD));
        }
    }
    all
}

/// How deep a call is in its tree: the calls and spawns above it, over all threads.
pub(super) fn measure_depth(d: &DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath) -> usize {
    let mut depth = path.depth();
    let mut id = thread.clone();
    while let Some(parent) = id.parent() {
        let spawner = d.find_thread(&parent).and_then(|state| state.spawning_call(&id));
        // If the parent is gone, the label still says that there was one spawn.
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
        let is_most = |used, limit| is_mostly_used(&ExceededLimit { what: Measure::Messages, used, limit });
        assert_eq!(
            [is_most(79, 100), is_most(80, 100), is_most(3, 4), is_most(4, 5)],
            [false, true, false, true]
        );
        assert!(is_most(u64::MAX, u64::MAX));
    }
}
