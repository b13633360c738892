//! What models may use. A model call begins only if the most that it may use fits below every limit of
//! tokens, money and requests above it. Its result replaces that reservation.
//!
//! A call that may only answer gets one extra reservation: its start is accepted as long as no limit is
//! exceeded yet, even if the start exceeds one. Then the limit is exceeded until the result reports less
//! use. So a whole tree never goes beyond a limit by more than one answer of a model.
//!
//! The limit of requests is never exceeded. Each open call that has asked a model keeps one of them for its final, so a
//! call gets no request that another one needs to answer.

use systole_wire::journal::{JournalEntry, ModelStarted};
use systole_wire::money::{Currency, Money};

use super::budget_use::{self, BudgetLimit};
use super::decision_builder::DecisionBuilder;
use super::turn::Turn;
use super::wrapping;
use crate::types::budget::{ExceededLimit, Measure, MoneySpent, UsedAmounts};
use crate::types::codes::Code;
use crate::types::ids::{CallPath, ThreadId};
use crate::types::refusal::Refusal;

/// Why a model may not be called, with the limit that refuses it; `None` if it may.
pub(super) fn find_refusal(
    d: &DecisionBuilder<'_>,
    turn: &Turn<'_>,
    started: &ModelStarted,
) -> Option<(ExceededLimit, Refusal)> {
    let wanted = count_wanted(started);
    let limits = list_limits(d, turn.thread, turn.path);
    let has_no_room = |limit: &&BudgetLimit| {
        let of = limit.to_exceeded();
        let kept = count_kept(d, turn, limit);
        // A call that does not say what it may use needs at least something.
        limit.with_use(wanted).used.saturating_add(kept) > of.limit
            || wanted_of(started, limit).is_none() && of.used >= of.limit
    };
    let full = limits.iter().find(has_no_room)?;
    let has_last = |limit: &BudgetLimit| match limit.to_exceeded() {
        of if of.what == Measure::Requests => of.used.saturating_add(count_kept(d, turn, limit)) < of.limit,
        of => of.used <= of.limit,
    };
    if turn.is_wrap_up && limits.iter().all(has_last) {
        return None;
    }
    let of = full.to_exceeded();
    let unit = match of.what {
        Measure::Tokens => " tokens",
        Measure::Requests => " requests",
        _ => "",
    };
    let mut words =
        format!("{} of {}{unit} are used or kept", of.write_amount(of.used), of.write_amount(of.limit));
    if of.what == Measure::Requests {
        match of.limit.saturating_sub(of.used) {
            0 => {}
            1 => words.push_str(", and the last one is kept for a final"),
            left => words.push_str(&format!(", and the last {left} are kept for finals")),
        }
    } else if let Some(amount) = wanted_of(started, full) {
        words.extend([", and ", &of.write_amount(amount), " are wanted for this model call"]);
    }
    let refusal = Refusal::new(of.what.code(), words);
    Some((of, refusal.fixed_by("do not call the model; answer with what you have")))
}

/// How many requests a limit keeps for finals, besides the one that is to begin.
fn count_kept(d: &DecisionBuilder<'_>, turn: &Turn<'_>, limit: &BudgetLimit) -> u64 {
    let of = limit.to_exceeded();
    if of.what != Measure::Requests {
        return 0;
    }
    let own = u64::from(of.limit > 1 && !turn.is_wrap_up);
    let budgets = budget_use::find_budgets(d, turn.thread, turn.path);
    match budgets.is_some_and(|budgets| budgets.keeps_finals) {
        true => own.saturating_add(limit.count_kept(d, (turn.thread, turn.path))),
        false => own,
    }
}

/// After a refused start the call may only answer. The turn that is out still gets to send its reply.
pub(super) fn wrap_up(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, of: &ExceededLimit) {
    wrapping::begin_wrapping(d, turn.thread, turn.path, of, None);
}

/// A result was taken: if most of a limit is used now, every call under that limit is warned, once.
pub(super) fn settle_reserved(d: &mut DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath) {
    for limit in list_limits(d, thread, path) {
        if budget_use::is_mostly_used(&limit.to_exceeded()) && !limit.is_told(d) {
            budget_use::report_limit(d, &limit, &limit.to_exceeded());
        }
    }
}

/// Why the money of an entry cannot be counted: an organism counts in one currency.
pub(super) fn foreign_money(
    d: &DecisionBuilder<'_>,
    turn: &Turn<'_>,
    entry: &JournalEntry,
) -> Option<Refusal> {
    let money = match entry {
        JournalEntry::Started(started) => started.reserve_money,
        JournalEntry::Result(outcome) => outcome.money,
    }?;
    let own = find_currency(d, turn).filter(|own| *own != money.currency)?;
    let words = format!("this request is counted in {}", own.as_str());
    let expected = format!("an amount in {}", own.as_str());
    let refusal = Refusal::new(Code::Invalid, words).with_expected(expected).with_received(money.to_string());
    Some(refusal.of_element("journal"))
}

/// The currency of the limit, or else the currency that was spent first, anywhere in the tree: amounts in
/// two currencies cannot be added up.
fn find_currency(d: &DecisionBuilder<'_>, turn: &Turn<'_>) -> Option<Currency> {
    let limit = budget_use::find_budgets(d, turn.thread, turn.path).and_then(|budgets| budgets.money);
    let spent = || budget_use::used_by_message(d, turn.thread, turn.path).spent.money();
    limit.or_else(spent).map(|money: Money| money.currency)
}

/// The most that a start says it may use.
fn count_wanted(started: &ModelStarted) -> UsedAmounts {
    let spent = MoneySpent::from_money(started.reserve_money);
    UsedAmounts { tokens: started.reserve_tokens.unwrap_or(0), spent, requests: 1, ..UsedAmounts::NOTHING }
}

/// How much of a limit a start says it may use; `None` if it does not say.
fn wanted_of(started: &ModelStarted, limit: &BudgetLimit) -> Option<u64> {
    match limit.to_exceeded().what {
        Measure::Tokens => started.reserve_tokens,
        Measure::Requests => Some(1),
        _ => started.reserve_money.map(|money| money.micros),
    }
}

fn list_limits(d: &DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath) -> Vec<BudgetLimit> {
    budget_use::collect_limits(d, thread, path).into_iter().filter(BudgetLimit::is_of_models).collect()
}
