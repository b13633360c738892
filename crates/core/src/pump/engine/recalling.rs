//! Answers a request for the journal of a turn's earlier attempts. The entries are only in the log,
//! unless they were made a moment ago.

use std::collections::HashMap;
use std::sync::Arc;

use systole_wire::journal::{EarlierEntries, EarlierEntry, JournalEntry, ModelCallOutcome};
use systole_wire::payload::Payload;
use systole_wire::pump_documents::PumpAnswer;

use super::{Engine, LogLookup};
use crate::pump::event::JournalRecall;
use crate::rules::core_payload;
use crate::types::codes::Code;
use crate::types::ports::LogFault;
use crate::types::record::Record;
use crate::types::refusal::Refusal;

impl Engine {
    /// Answers the request, or asks the log first.
    pub(super) fn recall_journal(&mut self, recall: JournalRecall) {
        let fresh = |seq: &u64| Some((*seq, self.fresh.get(&recall.lease.id.thread, *seq)?));
        let records = recall.seqs.iter().map(fresh).collect::<Option<HashMap<_, _>>>();
        let nowhere =
            |outcome: ModelCallOutcome| Ok(Some(outcome).filter(|outcome| outcome.blobs.is_empty()));
        // Words that are kept as documents must be read from the log.
        match records.map(|records| make_page(&recall, &records, nowhere)) {
            Some(Ok(Some(past))) => self.answer_recall(&recall, Some(past)),
            _ => self.lookups.push_back(LogLookup::Journal(recall)),
        }
    }

    /// Answers with these entries; `None` means that they cannot be read.
    pub(super) fn answer_recall(&mut self, recall: &JournalRecall, past: Option<EarlierEntries>) {
        match past {
            Some(past) => self.send_answer(recall, past.to_payload()),
            None => self.refuse_recall(recall, Code::DamagedThread, "a record of the journal cannot be read"),
        }
    }

    /// Answers that the request cannot be answered. This is recorded in `sys` as well, because the asker
    /// is not at fault.
    pub(super) fn refuse_recall(&mut self, recall: &JournalRecall, code: Code, words: &str) {
        let refusal = Refusal::new(code, words.to_owned());
        if let Ok(payload) = Payload::from_trusted(core_payload::system_error(&refusal)) {
            self.send_answer(recall, payload);
        }
        self.tell_sys(refusal);
    }

    fn send_answer(&self, recall: &JournalRecall, payload: Payload) {
        let delivery = recall.lease.token.0.to_string();
        let answer = PumpAnswer { delivery, id: recall.id, payload: Some(payload) };
        self.ports.carrier.send_answer(&recall.lease.listener, answer);
    }
}

/// As many entries as fit into one answer, at least one. Returns `None` if a record is missing or is no
/// entry.
pub(super) fn make_page(
    recall: &JournalRecall,
    records: &HashMap<u64, Arc<Record>>,
    with_words: impl Fn(ModelCallOutcome) -> Result<Option<ModelCallOutcome>, LogFault>,
) -> Result<Option<EarlierEntries>, LogFault> {
    let (mut past, mut bytes) = (EarlierEntries::default(), 0);
    for (number, seq) in (recall.from..).zip(&recall.seqs) {
        let Some(Ok(mut recalled)) = records.get(seq).map(|record| EarlierEntry::from_body(&record.body))
        else {
            return Ok(None);
        };
        if let JournalEntry::Result(outcome) = recalled.entry {
            let Some(outcome) = with_words(outcome)? else { return Ok(None) };
            bytes += outcome.text.len();
            recalled.entry = JournalEntry::Result(outcome);
        }
        if bytes > crate::types::limits::ANSWER_BYTES && !past.entries.is_empty() {
            past.next = Some(number);
            break;
        }
        past.entries.push(recalled);
    }
    Ok(Some(past))
}
