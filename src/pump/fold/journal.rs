//! Folding a listener's journal. Each function takes one record into its thread, and decides nothing.

use systole_kit::journal::{Entry as Word, Recalled};

use crate::pump::state::{Call, Entered, Entry, Thread};
use crate::words::ids::Digest;
use crate::words::record::Record;

/// Takes an entry.
pub(super) fn entry(thread: &mut Thread, record: &Record) {
    let h = &record.header;
    let Some(call) = h.call.as_ref().and_then(|path| thread.calls.get_mut(path)) else { return };
    let Ok(Recalled { id, entry, .. }) = Recalled::read(&record.body) else { return };
    let sort = match entry {
        Word::Started(_) => Entered::Open,
        Word::Result(outcome) => {
            if let Some(start) = call.journal.own.iter_mut().find(|entry| entry.id == outcome.of) {
                start.sort = Entered::Answered;
            }
            Entered::Result
        }
    };
    call.journal.own.push(Entry { seq: h.seq, id, body: Digest::of(&record.body), sort });
}

/// A further attempt begins: what the one before it wrote is for this one to ask for.
pub(super) fn next_attempt(call: &mut Call) {
    let own = std::mem::take(&mut call.journal.own);
    call.journal.past.extend(own.into_iter().map(|entry| entry.seq));
}
