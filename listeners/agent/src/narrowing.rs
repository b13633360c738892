//! What is left out of a prompt that its provider finds too long, although it fits by our own estimate. Pure.
//!
//! The prompt gets smaller in steps. How many steps were taken follows from the journal of the turn, so a later attempt
//! asks what the lost one asked.

use systole_kit::journal::{EarlierEntries, JournalEntry};

use crate::guard;
use crate::limits::NARROW_STEPS;
use crate::memory::Conversation;
use crate::model::ModelFaultKind;
use crate::spec;

/// The steps that earlier attempts at a turn had taken. A step counts once its request was started. An attempt that
/// ended with such an answer was over, so the next one begins anew.
pub(crate) fn count_steps(past: &EarlierEntries) -> u64 {
    let (mut steps, mut too_long) = (0, None);
    for entry in &past.entries {
        match &entry.entry {
            JournalEntry::Started(_) => {
                steps = match too_long.take() {
                    Some(attempt) if attempt == entry.attempt => steps + 1,
                    Some(_) => 0,
                    None => steps,
                };
            }
            JournalEntry::Result(outcome) if outcome.stop == ModelFaultKind::WindowFull.code() => {
                too_long = Some(entry.attempt);
            }
            JournalEntry::Result(_) => {}
        }
    }
    if too_long.is_some() { 0 } else { steps }
}

/// The tokens of a prompt that are too many in a step. The whole prompt had `full` tokens.
pub(crate) fn count_excess(
    limits: &spec::ModelSpec,
    conversation: &Conversation,
    (step, full): (u64, u64),
) -> u64 {
    let excess = guard::count_excess(limits, conversation);
    if step == 0 {
        return excess;
    }
    let most = full / NARROW_STEPS * NARROW_STEPS.saturating_sub(step);
    excess.max(conversation.measure_tokens().saturating_sub(most))
}

#[cfg(test)]
mod tests {
    use systole_kit::journal::{EarlierEntry, ModelCallOutcome, ModelStarted};

    use super::*;

    fn past(entries: &[(u32, &str)]) -> EarlierEntries {
        let entry = |(id, (attempt, what)): (u64, &(u32, &str))| {
            let entry = match *what {
                "start" => JournalEntry::Started(ModelStarted {
                    model: "main".to_owned(),
                    prompt: String::new(),
                    guided: None,
                    reserve_tokens: None,
                    reserve_money: None,
                    wait_ms: None,
                }),
                stop => JournalEntry::Result(ModelCallOutcome {
                    of: 1,
                    stop: stop.to_owned(),
                    tokens_in: None,
                    tokens_out: None,
                    money: None,
                    text: String::new(),
                    blobs: Vec::new(),
                    details: Box::default(),
                }),
            };
            EarlierEntry { attempt: *attempt, id, entry }
        };
        EarlierEntries { entries: (1..).zip(entries).map(entry).collect(), next: None }
    }

    #[test]
    fn a_step_counts_once_its_request_was_started() {
        let full = "model.window-full";
        for (entries, steps) in [
            (vec![], 0),
            (vec![(1, "start"), (1, "model.unavailable"), (1, "start")], 0),
            (vec![(1, "start"), (1, full), (1, "start")], 1),
            (vec![(1, "start"), (1, full), (1, "start"), (1, "model.unavailable")], 1),
            (vec![(1, "start"), (1, full), (1, "start"), (2, "start"), (2, full), (2, "start")], 2),
            // The attempt ended with it: it failed, or a person has it tried again.
            (vec![(1, "start"), (1, full)], 0),
            (vec![(1, "start"), (1, full), (1, "start"), (1, full)], 0),
            (vec![(1, "start"), (1, full), (1, "start"), (1, full), (2, "start")], 0),
        ] {
            assert_eq!(count_steps(&past(&entries)), steps, "{entries:?}");
        }
    }
}
