//! The answers of models in one attempt, and the marks of calls, from the journal and the stored prompts.

use systole_agent::answer_replay::{self, NextRequest};
use systole_core::pump::view;
use systole_core::types::codes::Code;
use systole_core::types::fast_maps::FastMap;
use systole_core::types::ids::{CallPath, Digest, ThreadId};
use systole_core::types::ports::{CallMark, LogFault, LogReader};
use systole_core::types::record::{JournalEffect, RecordCode};
use systole_kit::journal::{EarlierEntry, JournalEntry, ModelCallOutcome};
use systole_kit::prompt_link::{self, ParsedLink};

use super::history::{AttemptEnd, AttemptHistory, SaidBefore};
use super::journal_model::RecordedAnswer;
use super::tree_records::RecordedTree;

/// The answers of an attempt, in the order in which it asked.
pub(super) fn read_answers(
    reader: &dyn LogReader,
    attempt: &AttemptHistory,
) -> Result<Vec<RecordedAnswer>, LogFault> {
    let entries: Vec<(u64, &JournalEntry)> = attempt
        .said
        .iter()
        .filter_map(|(_, said)| match said {
            SaidBefore::Journal { id, entry } => Some((*id, entry)),
            SaidBefore::Notice { .. } | SaidBefore::Refused(_) | SaidBefore::State(_) => None,
        })
        .collect();
    let started = |id: u64| {
        let mut started = entries.iter().filter_map(|(own, entry)| match entry {
            JournalEntry::Started(started) if *own == id => Some(started.model.as_str()),
            _ => None,
        });
        started.next().unwrap_or_default()
    };
    let mut answers = Vec::new();
    for (at, (_, entry)) in entries.iter().enumerate() {
        let JournalEntry::Result(outcome) = entry else { continue };
        let by = started(outcome.of);
        let after = entries.iter().skip(at + 1).find_map(|(_, entry)| match entry {
            JournalEntry::Started(started) => Some(started.model.as_str()),
            JournalEntry::Result(_) => None,
        });
        let next = match after {
            None if has_said(attempt) => NextRequest::None,
            None => NextRequest::Unknown,
            Some(model) if model == by => NextRequest::SameModel,
            Some(_) => NextRequest::OtherModel,
        };
        let whole: Option<ModelCallOutcome> = view::with_words(reader, outcome.clone())?;
        // Without its text an answer is not known; the requests after it would get the wrong ones.
        let Some(whole) = whole else { break };
        answers.push(answer_replay::rebuild_answer(&whole, by, next));
    }
    Ok(answers)
}

/// Whether an attempt ended with a word of its agent. A lost one may have been about to ask again.
fn has_said(attempt: &AttemptHistory) -> bool {
    match &attempt.end {
        Some(AttemptEnd::Replied(_)) => true,
        Some(AttemptEnd::Failed { code, outage, .. }) => {
            outage.is_some() || matches!(code, Code::ListenerFailed | Code::UnknownOutcome)
        }
        Some(AttemptEnd::WithPump | AttemptEnd::LostWithPump(_)) | None => false,
    }
}

/// Takes over from a recorded entry what is measured, not said: the cost, what else a provider reports, the pause before
/// the next request, and what a live model reserves by its price.
pub(super) fn copy_measures(own: &mut JournalEntry, then: &JournalEntry, is_live: bool) {
    match (own, then) {
        (JournalEntry::Result(own), JournalEntry::Result(then))
            if !is_live || (&own.text, &own.blobs) == (&then.text, &then.blobs) =>
        {
            own.money = then.money;
            own.details.clone_from(&then.details);
        }
        (JournalEntry::Started(own), JournalEntry::Started(then)) => {
            own.wait_ms = then.wait_ms;
            own.guided.clone_from(&then.guided);
            // What is kept for a request follows from defaults that later versions may change.
            own.reserve_tokens = then.reserve_tokens;
            own.reserve_money = then.reserve_money;
        }
        _ => {}
    }
}

/// The marks of the core's text in the prompts of each call.
pub(super) fn read_marks(
    reader: &dyn LogReader,
    tree: &RecordedTree,
) -> Result<FastMap<(ThreadId, CallPath), CallMark>, LogFault> {
    let mut marks = FastMap::default();
    for (_, record) in &tree.records {
        let h = &record.header;
        let (Some(RecordCode::Journaling(JournalEffect::Started)), Some(path)) = (h.code, &h.call) else {
            continue;
        };
        let place = (h.thread.clone(), path.clone());
        if marks.contains_key(&place) {
            continue;
        }
        let Ok(EarlierEntry { entry: JournalEntry::Started(started), .. }) =
            EarlierEntry::from_body(&record.body)
        else {
            continue;
        };
        let Ok(hash) = Digest::parse(&started.prompt) else { continue };
        let stored = reader.read_document(hash)?;
        marks.extend(stored.as_deref().and_then(mark_of).map(|mark| (place, mark)));
    }
    Ok(marks)
}

/// The mark in a stored prompt. Older prompts have it only in their header, which begins with `<core-` and eight digits.
fn mark_of(prompt: &[u8]) -> Option<CallMark> {
    let ParsedLink::Prompt { header, mark, .. } = prompt_link::read_link(str::from_utf8(prompt).ok()?)?
    else {
        return None;
    };
    let digits = mark.or_else(|| header.strip_prefix("<core-")?.get(..8)).filter(|mark| mark.len() == 8)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| is_hex).map(|mark| CallMark(mark.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{CallMark, mark_of};

    #[test]
    fn the_mark_is_that_of_the_link_or_of_an_older_header() {
        let marked = Some(CallMark([0x5e, 0xed, 1, 0x23]));
        assert_eq!(mark_of(b"systole prompt v1\nheader 0 mark 5eed0123\naa\n"), marked);
        assert_eq!(mark_of(b"systole prompt v1\nheader 16\naa\n<core-5eed0123>\n"), marked);
        assert_eq!(mark_of(b"systole prompt v1\nheader 0\naa\n"), None);
    }
}
