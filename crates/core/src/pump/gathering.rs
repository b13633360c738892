//! Deciding on items for several takers. Each taker gets its own call, begun in the same commit, and all
//! outcomes together are the item's one answer. If the first outcome that is no failure is enough, the
//! other calls are cancelled in the same commit, before that outcome: no prefix of the log has the answer
//! and still another call open.

use super::approving::hold_if_due;
use super::budget_use;
use super::decision_builder::{DecisionBuilder, RecordFact};
use super::looping;
use super::turn::Turn;
use crate::types::budget::UsedAmounts;
use crate::types::composition::GatherRule;
use crate::types::flow::Admitted;
use crate::types::ids::{CallPath, Name};
use crate::types::record::{MessageRole, RecordCode, RecordKind};

/// The use of the calls to all takers.
pub(super) fn count_used(takers: &[(Name, bool)]) -> UsedAmounts {
    UsedAmounts::from_calls(takers.len() as u64)
}

/// Begins a call to each taker of an item.
pub(super) fn begin_gathering(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    admitted: &Admitted,
    gather: GatherRule,
    takers: &[(Name, bool)],
) {
    let role = match gather {
        GatherRule::All => MessageRole::ToAll,
        GatherRule::First => MessageRole::ToFirst,
    };
    let item = turn.path.append_item(turn.number, ordinal);
    let over = budget_use::collect_limits(d, turn.thread, turn.path);
    let calls: Vec<(CallPath, &Name, bool)> = (0u32..)
        .zip(takers)
        .map(|(number, (to, is_dangerous))| (item.append_taker(number), to, *is_dangerous))
        .collect();
    for (path, to, _) in &calls {
        let mut fact =
            RecordFact::from_core(RecordKind::Message, RecordCode::Role(role), admitted.bytes().clone())
                .with_addressee(to)
                .with_call(path)
                .with_cause(turn.cause)
                .with_config(turn.config);
        fact.from = turn.sender.clone();
        d.add_record(turn.thread, fact);
    }
    budget_use::warn_limits(d, &over, count_used(takers));
    for (path, to, is_dangerous) in &calls {
        looping::report_loop(d, turn, to, admitted.bytes());
        hold_if_due(d, turn.thread, path, (admitted.bytes(), admitted.element()), *is_dangerous);
    }
}
