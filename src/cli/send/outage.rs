//! Tells a sender who is away, if its answer waits for that.

use systole_core::rules::core_payload::{self, AttemptState};
use systole_core::rules::outage_words;
use systole_core::types::ids::Name;
use tokio::time::Instant;

use systole_doors::api_types::ApiRecord;

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

    /// The words for the sender and the record, if the wait is long enough and news.
    pub(super) fn take_news(&mut self) -> Option<(String, ApiRecord)> {
        let wait = self.waits.as_ref().filter(|wait| wait.since.elapsed() >= crate::limits::WORKERS_PAUSE)?;
        if self.told.as_ref() == Some(&wait.outage) {
            return None;
        }
        self.told = Some(wait.outage.clone());
        Some((wait.words.clone(), wait.record.clone()))
    }
}
