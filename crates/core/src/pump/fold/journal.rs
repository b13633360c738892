//! Folding a listener's journal. Each function takes one record into its thread, and decides nothing.
//!
//! What a start keeps counts as used, and so does what stays kept because nobody knows the outcome. A result
//! takes its place.

use systole_wire::journal::{Entry as Word, Outcome, Recalled};

use crate::pump::state::{Call, Entered, Entry, Thread};
use crate::types::budget::{Spent, Use};
use crate::types::ids::{CallPath, Digest};
use crate::types::record::Record;

/// Takes an entry.
pub(super) fn entry(thread: &mut Thread, record: &Record) {
    let h = &record.header;
    let (Some(path), Ok(Recalled { id, entry, .. })) = (&h.call, Recalled::read(&record.body)) else {
        return;
    };
    let sort = match entry {
        Word::Started(started) => {
            let tokens = started.reserve_tokens.unwrap_or(0);
            let kept = Use { tokens, spent: Spent::of(started.reserve_money), ..Use::NOTHING };
            thread.charge(path, kept);
            Entered::Open(kept)
        }
        Word::Result(outcome) => {
            result(thread, path, &outcome);
            Entered::Result
        }
    };
    if let Some(call) = thread.calls.get_mut(path) {
        call.journal.own.push(Entry { seq: h.seq, id, body: Digest::of(&record.body), sort });
    }
}

/// Takes what came of a model call. What is not known of its use is what was kept for it.
fn result(thread: &mut Thread, path: &CallPath, outcome: &Outcome) {
    let call = thread.calls.get_mut(path);
    let Some(start) = call.and_then(|call| call.journal.own.iter_mut().find(|e| e.id == outcome.of)) else {
        return;
    };
    let Entered::Open(kept) = std::mem::replace(&mut start.sort, Entered::Answered) else { return };
    let tokens = outcome.tokens().unwrap_or(kept.tokens);
    let spent = outcome.money.map_or(kept.spent, |money| Spent::of(Some(money)));
    thread.settle(path, kept, Use { tokens, spent, ..Use::NOTHING });
}

/// A further attempt begins: what the one before it wrote is for this one to ask for.
pub(super) fn next_attempt(call: &mut Call) {
    let own = std::mem::take(&mut call.journal.own);
    call.journal.past.extend(own.into_iter().map(|entry| entry.seq));
}
