//! What models may use: a call to one is begun only if the most that it may use fits below every limit of
//! tokens and money above it, and its result takes the place of what was kept for it.
//!
//! A call that may only answer has one reserve more: a start is let in as long as no limit is passed yet,
//! even if it passes one. After it the limit is passed, until its result says less, so of a whole tree no
//! more than one answer of a model ever lies beyond a limit.

use systole_wire::journal::{Entry, Started};
use systole_wire::money::{Currency, Money};

use super::draft::Draft;
use super::purse::{self, Limit};
use super::replying::Turn;
use super::wrapping;
use crate::types::budget::{Exceeded, Measure, Spent, Use};
use crate::types::codes::Code;
use crate::types::ids::{CallPath, ThreadId};
use crate::types::refusal::Refusal;

/// Why a model may not be called, with the limit that says so.
pub(super) fn refusal(d: &Draft<'_>, turn: &Turn<'_>, started: &Started) -> Option<(Exceeded, Refusal)> {
    let wanted = wanted(started);
    let limits = limits(d, turn.thread, turn.path);
    let has_no_room = |limit: &&Limit| {
        let of = limit.of();
        // A call that does not say what it may use needs at least something.
        limit.with(wanted).used > of.limit || wanted_of(started, limit).is_none() && of.used >= of.limit
    };
    let full = limits.iter().find(has_no_room)?;
    if turn.is_wrap_up && limits.iter().all(|limit| limit.of().used <= limit.of().limit) {
        return None;
    }
    let of = full.of();
    let unit = if of.what == Measure::Tokens { " tokens" } else { "" };
    let mut words = format!("{} of {}{unit} are used or kept", of.written(of.used), of.written(of.limit));
    if let Some(amount) = wanted_of(started, full) {
        words.extend([", and ", &of.written(amount), " are wanted for this model call"]);
    }
    let refusal = Refusal::new(of.what.code(), words);
    Some((of, refusal.mended_by("do not call the model; answer with what you have")))
}

/// A refused start leaves its call nothing but to answer: the turn that is out is left to its reply.
pub(super) fn wrap_up(d: &mut Draft<'_>, turn: &Turn<'_>, of: &Exceeded) {
    wrapping::begin(d, turn.thread, turn.path, of, None);
}

/// A result was taken: where most of a limit is used now, every call under that limit is told, once.
pub(super) fn settled(d: &mut Draft<'_>, thread: &ThreadId, path: &CallPath) {
    for limit in limits(d, thread, path) {
        if purse::is_mostly_used(&limit.of()) && !limit.is_told(d) {
            purse::tell(d, &limit, &limit.of());
        }
    }
}

/// Why the money of an entry cannot be counted: an organism counts in one currency.
pub(super) fn foreign_money(d: &Draft<'_>, turn: &Turn<'_>, entry: &Entry) -> Option<Refusal> {
    let money = match entry {
        Entry::Started(started) => started.reserve_money,
        Entry::Result(outcome) => outcome.money,
    }?;
    let own = currency(d, turn).filter(|own| *own != money.currency)?;
    let words = format!("this request is counted in {}", own.as_str());
    let expected = format!("an amount in {}", own.as_str());
    let refusal = Refusal::new(Code::Invalid, words).expecting(expected).receiving(money.to_string());
    Some(refusal.of_element("journal"))
}

/// The currency of the limit, or else that of what was spent first, anywhere in the tree: amounts of two
/// could not be added up.
fn currency(d: &Draft<'_>, turn: &Turn<'_>) -> Option<Currency> {
    let limit = purse::budgets(d, turn.thread, turn.path).and_then(|budgets| budgets.money);
    let spent = || purse::used_by_message(d, turn.thread, turn.path).spent.money();
    limit.or_else(spent).map(|money: Money| money.currency)
}

/// What a start says that it may use.
fn wanted(started: &Started) -> Use {
    let spent = Spent::of(started.reserve_money);
    Use { tokens: started.reserve_tokens.unwrap_or(0), spent, ..Use::NOTHING }
}

/// How much of a limit a start says that it may use; none where it says nothing.
fn wanted_of(started: &Started, limit: &Limit) -> Option<u64> {
    match limit.of().what {
        Measure::Tokens => started.reserve_tokens,
        _ => started.reserve_money.map(|money| money.micros),
    }
}

fn limits(d: &Draft<'_>, thread: &ThreadId, path: &CallPath) -> Vec<Limit> {
    purse::over(d, thread, path).into_iter().filter(Limit::is_of_models).collect()
}
