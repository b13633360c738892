//! Tells a sender who is away, if its answer waits for that.

use systole_core::rules::core_payload::{self, AttemptState};
use systole_core::rules::outage_words;
use systole_core::types::ids::Name;
use systole_core::types::limits::{BEHIND_WORKER, WORKER_AWAY};
use tokio::time::Instant;

use systole_api::types::ApiRecord;

use crate::limits;

/// Calls below an answer that wait for someone who is away.
#[derive(Default)]
pub(super) struct AwaitedParty {
    waits: Option<PartyWait>,
    /// The outage that the sender was told of.
    told: Option<String>,
}

struct PartyWait {
    since: Instant,
    record: ApiRecord,
    outage: String,
    words: String,
}

impl AwaitedParty {
    /// Takes the next record of the answer's tree.
    pub(super) fn take_record(&mut self, record: &ApiRecord) {
        if record.kind != "attempt" {
            return;
        }
        self.waits = match core_payload::read_attempt_state(record.body.as_bytes()) {
            Some(AttemptState::Waits { outage, words, .. }) => {
                let listener = record.to.as_deref().and_then(|to| Name::parse(to).ok());
                let who = listener.map_or_else(|| outage.clone(), |to| outage_words(&outage, &to));
                let words = if words.is_empty() || words == who { who } else { format!("{who}: {words}") };
                Some(PartyWait { since: Instant::now(), record: record.clone(), outage, words })
            }
            _ => None,
        };
    }

    /// The words for the sender and the record, if the wait is long enough and news. A command that ends with the news
    /// began with its organism, so the workers may still be on their way.
    pub(super) fn take_news(&mut self, is_over: bool) -> Option<(String, ApiRecord)> {
        let is_worker = |wait: &PartyWait| matches!(wait.outage.as_str(), WORKER_AWAY | BEHIND_WORKER);
        let patience = |wait: &PartyWait| match is_over && is_worker(wait) {
            true => limits::WORKERS_RETURN,
            false => limits::WORKERS_PAUSE,
        };
        let wait = self.waits.as_ref().filter(|wait| wait.since.elapsed() >= patience(wait))?;
        if self.told.as_ref() == Some(&wait.outage) {
            return None;
        }
        self.told = Some(wait.outage.clone());
        Some((wait.words.clone(), wait.record.clone()))
    }
}
