//! Folding a listener's journal. Each function takes one record into its thread, and decides nothing.
//!
//! The reservation of a start counts as used, and so does one that stays because the outcome is unknown. A
//! result replaces the reservation. A request counts from its start on, unless its result says that it failed and cost
//! nothing.

use systole_wire::journal::{EarlierEntry, JournalEntry, ModelCallOutcome};

use crate::pump::state::{AttemptEntry, Call, EntryKind, Thread};
use crate::types::budget::{MoneySpent, UsedAmounts};
use crate::types::ids::{CallPath, Digest};
use crate::types::record::Record;

/// Takes an entry.
pub(super) fn fold_entry(thread: &mut Thread, record: &Record) {
    let h = &record.header;
    let (Some(path), Ok(EarlierEntry { id, entry, .. })) = (&h.call, EarlierEntry::from_body(&record.body))
    else {
        return;
    };
    let sort = match entry {
        JournalEntry::Started(started) => {
            let tokens = started.reserve_tokens.unwrap_or(0);
            let kept = UsedAmounts {
                tokens,
                spent: MoneySpent::from_money(started.reserve_money),
                requests: 1,
                ..UsedAmounts::NOTHING
            };
            thread.charge_call(path, kept);
            EntryKind::Open(kept)
        }
        JournalEntry::Result(outcome) => {
            fold_result(thread, path, &outcome);
            EntryKind::Result
        }
    };
    if let Some(call) = thread.calls.get_mut(path) {
        call.asks_models = true;
        call.journal.own.push(AttemptEntry { seq: h.seq, id, body: Digest::hash_bytes(&record.body), sort });
    }
}

/// Takes the result of a model call. If its use is not fully known, the reservation counts for the unknown
/// part.
fn fold_result(thread: &mut Thread, path: &CallPath, outcome: &ModelCallOutcome) {
    let call = thread.calls.get_mut(path);
    let Some(start) = call.and_then(|call| call.journal.own.iter_mut().find(|e| e.id == outcome.of)) else {
        return;
    };
    let EntryKind::Open(kept) = std::mem::replace(&mut start.sort, EntryKind::Answered) else { return };
    let tokens = outcome.count_tokens().unwrap_or(kept.tokens);
    let spent = outcome.money.map_or(kept.spent, |money| MoneySpent::from_money(Some(money)));
    let requests = u64::from(!outcome.is_unpaid_fault());
    thread.settle_use(path, kept, UsedAmounts { tokens, spent, requests, ..UsedAmounts::NOTHING });
}

/// A further attempt begins: it can ask for what the previous attempt wrote.
pub(super) fn next_attempt(call: &mut Call) {
    let own = std::mem::take(&mut call.journal.own);
    call.journal.past.extend(own.into_iter().map(|entry| entry.seq));
}
