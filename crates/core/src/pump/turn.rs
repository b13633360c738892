//! The turn that a reply settles, and the refusal of one of its items. Every file that decides on a part of a reply
//! takes a `Turn`.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::budget_use;
use super::decision_builder::{DecisionBuilder, RecordFact};
use super::view::ReadResults;
use crate::rules::core_payload;
use crate::types::budget::{Budgets, Measure, UsedAmounts};
use crate::types::codes::Code;
use crate::types::composition::Listener;
use crate::types::ids::{CallPath, Digest, MessageId, Name, ThreadId};
use crate::types::record::{RecordCode, RecordKind};
use crate::types::refusal::Refusal;

/// The turn that a reply settles, as the functions that handle it pass it on.
pub(super) struct Turn<'a> {
    pub(super) thread: &'a ThreadId,
    pub(super) path: &'a CallPath,
    pub(super) number: u32,
    pub(super) sender: Name,
    pub(super) caller: Name,
    pub(super) config: Digest,
    pub(super) cause: MessageId,
    /// The budget because of which the call may only answer.
    pub(super) wrap_up: Option<Measure>,
    /// Whether this is the wrap-up turn, which is the last.
    pub(super) is_wrap_up: bool,
    pub(super) listener: Option<&'a Listener>,
    /// The children of the call that had ended before this reply. The reply settles the turn that showed their ends,
    /// and then they leave the row.
    pub(super) ended: BTreeSet<ThreadId>,
    /// What was read from the log for this reply, or why it could not be read; `None` if the reply needs nothing from
    /// the log.
    pub(super) seen: Option<&'a Result<ReadResults, Refusal>>,
}

impl Turn<'_> {
    /// A call that may take only one turn cannot wait for answers.
    pub(super) fn is_single(&self) -> bool {
        self.listener.is_none_or(|l| l.turns <= 1)
    }

    /// Whether no turn comes after it because a budget is used up: it is the wrap-up turn, or the call has a single
    /// turn.
    pub(super) fn is_past_budget(&self) -> bool {
        self.is_wrap_up || self.wrap_up.is_some() && self.is_single()
    }

    /// The first of several refusals counts, unless a later one says that the call has no room left.
    pub(super) fn keep_refusal(&self, kept: &mut Option<Refusal>, refusal: Refusal) {
        let is_depth = refusal.code == Code::DepthBudget;
        let is_full = refusal.code == Code::MessagesBudget
            || is_depth && kept.as_ref().is_some_and(|kept| kept.code != Code::MessagesBudget);
        if kept.is_none() || is_full && !self.is_single() {
            *kept = Some(refusal);
        }
    }

    pub(super) fn is_last(&self) -> bool {
        self.listener.is_none_or(|l| self.number >= l.turns)
    }

    pub(super) fn make_fact(
        &self,
        ordinal: u32,
        kind: RecordKind,
        mark: RecordCode,
        body: Arc<[u8]>,
    ) -> RecordFact {
        RecordFact::from_core(kind, mark, body)
            .with_call(self.path)
            .with_turn(self.number, ordinal)
            .with_cause(self.cause)
            .with_config(self.config)
    }
}

pub(super) fn no_turn_left() -> Refusal {
    Refusal::new(Code::MessagesBudget, "a listener with one turn cannot wait for an answer")
        .fixed_by("answer at once, or raise `turns` of this listener in the organism's file")
}

pub(super) fn refuse_item(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    mut refusal: Refusal,
    kept: Option<&Arc<[u8]>>,
) -> Refusal {
    refusal.hash = kept.map(|bytes| d.keep_document(bytes));
    record_refusal(d, turn, ordinal, &refusal);
    refusal
}

pub(super) fn record_refusal(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, ordinal: u32, refusal: &Refusal) {
    let body = core_payload::system_error(refusal);
    add_refused(d, turn, ordinal, refusal.code, body);
}

/// Records a refused item. It counts as a message, so calls may be warned. The warning comes first, because the refusal
/// may make the next turn ready, and that turn shows the warning.
fn add_refused(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, ordinal: u32, code: Code, body: Arc<[u8]>) {
    if code != Code::MessagesBudget {
        warn_refused(d, turn, |budgets| budgets.requests.is_some());
    }
    d.add_record(
        turn.thread,
        turn.make_fact(ordinal, RecordKind::Refusal, RecordCode::Code(code), body)
            .with_addressee(&turn.sender),
    );
}

/// One more item is about to be refused. If that counts as a message, calls may be warned.
pub(super) fn warn_refused(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, counts: fn(&Budgets) -> bool) {
    if budget_use::find_budgets(d, turn.thread, turn.path).is_some_and(counts) {
        let over = budget_use::collect_limits(d, turn.thread, turn.path);
        budget_use::warn_limits(d, &over, UsedAmounts::CALL);
    }
}

/// Answers an item that names a thread that is not the sender's or that has ended.
pub(super) fn no_thread(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    thread: &str,
    ended: bool,
    payload: &Arc<[u8]>,
) -> Refusal {
    let refusal = if ended {
        Refusal::new(Code::EndedThread, "the thread has ended")
    } else {
        Refusal::new(Code::UnknownThread, "Unknown thread; emit <spawn-thread/> to create.")
    };
    d.keep_document(payload);
    let body = core_payload::system_thread_error(thread, ended, &refusal.message);
    add_refused(d, turn, ordinal, refusal.code, body);
    refusal
}
