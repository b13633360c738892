//! Deciding on items for several takers: each is a call of its own, begun in the same commit, and together
//! their outcomes are the item's one answer. Where the first that is no failure is enough, the others are
//! cancelled in its commit, before it: whatever prefix of the log is read, none of them is left behind.

use super::approving::hold_if_due;
use super::closing;
use super::draft::{Draft, Fact};
use super::fold::is_failure;
use super::looping;
use super::purse;
use super::replying::Turn;
use super::state::Wish;
use crate::types::budget::Use;
use crate::types::codes::Code;
use crate::types::composition::Gather;
use crate::types::flow::Admitted;
use crate::types::ids::{CallPath, Name, ThreadId};
use crate::types::record::{Kind, Mark, Role};
use crate::types::refusal::Refusal;

/// What calls to all of them use.
pub(super) fn used(takers: &[(Name, bool)]) -> Use {
    Use::calls(takers.len() as u64)
}

/// Begins a call to each taker of an item.
pub(super) fn begin(
    d: &mut Draft<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    admitted: &Admitted,
    gather: Gather,
    takers: &[(Name, bool)],
) {
    let role = match gather {
        Gather::All => Role::ToAll,
        Gather::First => Role::ToFirst,
    };
    let item = turn.path.item(turn.number, ordinal);
    let over = purse::over(d, turn.thread, turn.path);
    let calls: Vec<(CallPath, &Name, bool)> = (0u32..)
        .zip(takers)
        .map(|(number, (to, is_dangerous))| (item.taker(number), to, *is_dangerous))
        .collect();
    for (path, to, _) in &calls {
        let mut fact = Fact::core(Kind::Message, Mark::Role(role), admitted.bytes().clone())
            .to(to)
            .on(path)
            .because(turn.cause)
            .under(turn.config);
        fact.from = turn.sender.clone();
        d.record(turn.thread, fact);
    }
    purse::warn(d, &over, used(takers));
    for (path, to, is_dangerous) in &calls {
        looping::tell(d, turn, to, admitted.bytes());
        hold_if_due(d, turn.thread, path, (admitted.bytes(), admitted.element()), *is_dangerous);
    }
}

/// A call is about to close with that fact: where it is the first answer of several that is enough, the
/// others are cancelled.
pub(super) fn settles(d: &mut Draft<'_>, thread: &ThreadId, path: &CallPath, fact: &Fact) {
    if path.taker_number().is_none() || is_failure(fact.kind, fact.code, &fact.body) {
        return;
    }
    let Some((caller, turn, ordinal)) = path.caller() else { return };
    let Some(call) = d.call(thread, &caller) else { return };
    let item = call.items.iter().find(|item| item.ordinal == ordinal);
    let Some(Wish::Takers(takers)) = item.map(|item| &item.wish) else { return };
    if !takers.first_is_enough {
        return;
    }
    let item = caller.item(turn, ordinal);
    let others: Vec<CallPath> =
        (0u32..).zip(&takers.answers).map(|(number, _)| item.taker(number)).filter(|o| o != path).collect();
    let words = format!("{} answered first", fact.from.as_str());
    let refusal = Refusal::new(Code::CancelledThread, words);
    for other in others {
        closing::cancel_call(d, thread, &other, &refusal);
    }
}
