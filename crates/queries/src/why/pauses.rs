//! The pause after which a model is asked, from the journal of a call. Entries of the due turn come in, in their order.

use systole_core::types::time::Millis;
use systole_kit::journal::{EarlierEntry, JournalEntry};

/// A model that is asked after a pause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelPause {
    /// The model, by its name in the file.
    pub model: String,
    /// When it is asked.
    pub at: Millis,
    /// The number of that request, and the most of them, if the one before failed. `None`: its rate delays it.
    pub again: Option<(u32, u32)>,
}

/// The pause that the newest entry of an attempt announces. Those of earlier attempts ended with them.
pub(super) fn find_newest(
    entries: impl IntoIterator<Item = (Millis, EarlierEntry)>,
    attempt: u32,
) -> Option<ModelPause> {
    let (mut model, mut found) = (String::new(), None);
    for (time, entry) in entries.into_iter().filter(|(_, entry)| entry.attempt == attempt) {
        found = match entry.entry {
            JournalEntry::Started(started) => {
                model = started.model;
                let at = started.wait_ms.map(|wait_ms| time.add_ms(wait_ms));
                at.map(|at| ModelPause { model: model.clone(), at, again: None })
            }
            JournalEntry::Result(outcome) => outcome.details.again.map(|next| ModelPause {
                model: model.clone(),
                at: time.add_ms(next.pause_ms),
                again: Some((next.number, next.most)),
            }),
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use systole_kit::journal::{ModelCallOutcome, ModelStarted, OutcomeDetails, RepeatedRequest};

    use super::*;

    fn start(attempt: u32, wait_ms: Option<u64>) -> EarlierEntry {
        let (model, prompt) = ("main".to_owned(), String::new());
        let (guided, reserve_tokens, reserve_money) = (None, None, None);
        let started = ModelStarted { model, prompt, guided, reserve_tokens, reserve_money, wait_ms };
        EarlierEntry { attempt, id: 1, entry: JournalEntry::Started(started) }
    }

    fn fail(attempt: u32) -> EarlierEntry {
        let again = Some(RepeatedRequest { pause_ms: 8_000, number: 2, most: 10 });
        let outcome = ModelCallOutcome {
            of: 1,
            stop: "model.unavailable".to_owned(),
            tokens_in: Some(0),
            tokens_out: Some(0),
            money: None,
            text: String::new(),
            blobs: Vec::new(),
            details: Box::new(OutcomeDetails { again, ..OutcomeDetails::default() }),
        };
        EarlierEntry { attempt, id: 2, entry: JournalEntry::Result(outcome) }
    }

    #[test]
    fn a_pause_ends_with_the_next_request_and_with_its_attempt() {
        let find = |entries: Vec<EarlierEntry>, attempt| {
            let timed = (1..).zip(entries).map(|(second, entry)| (Millis(second * 1_000), entry));
            find_newest(timed, attempt).map(|pause| (pause.at.0, pause.again))
        };
        let again = Some((10_000, Some((2, 10))));
        assert_eq!(find(vec![start(1, None), fail(1)], 1), again);
        assert_eq!(find(vec![start(1, None), fail(1), start(1, None)], 1), None);
        assert_eq!(find(vec![start(1, Some(500))], 1), Some((1_500, None)));
        // The attempt was lost meanwhile, and the next one has not asked yet.
        assert_eq!(find(vec![start(1, None), fail(1)], 2), None);
        assert_eq!(find(vec![start(1, None), start(2, None), fail(2)], 2), Some((11_000, Some((2, 10)))));
    }
}
