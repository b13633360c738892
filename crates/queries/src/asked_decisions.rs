//! What was decided on one request, and where a run has asked for it.

use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::person::PersonRequestId;
use systole_core::types::ports::{LogFault, LogReader, PlacedRecord, Position};

use crate::decisions::{DecisionArguments, list};
use crate::run_events::{CallPlace, RunEvent, RunFold, RunHistory};

/// What was decided.
pub struct KnownDecision {
    /// The outcome, as the log names it.
    pub outcome: String,
    /// The choice that answered a question.
    pub choice: Option<String>,
    /// The note.
    pub note: Option<String>,
    /// The hash of what was shown.
    pub hash: String,
    /// The hash of what was sent.
    pub sent: Option<String>,
    /// Who was to get it, or has asked.
    pub listener: Name,
    /// The element of the payload, or the question.
    pub element: String,
    /// The position of its record.
    pub at: Position,
}

/// What was decided on a request, if the log says it.
pub fn read_decision(
    reader: &dyn LogReader,
    request: PersonRequestId,
) -> Result<Option<KnownDecision>, LogFault> {
    let wanted = DecisionArguments {
        before: Some(PersonRequestId(request.0.saturating_add(1))),
        ..DecisionArguments::default()
    };
    let found = list(reader, &wanted, 1)?.decisions.pop();
    let Some(found) = found.filter(|one| one.id == request.to_string()) else { return Ok(None) };
    let Ok(listener) = Name::parse(&found.listener) else { return Ok(None) };
    let record = ThreadId::parse(&found.thread).ok();
    let record = record.map(|thread| reader.of_thread(&thread, found.seq, 1)).transpose()?;
    let at = record.and_then(|mut page| page.pop()).map(|(position, _)| position);
    let at = at.unwrap_or_default();
    Ok(Some(KnownDecision {
        outcome: found.outcome,
        choice: found.choice,
        note: found.note,
        hash: found.hash,
        sent: found.sent,
        listener,
        element: found.about,
        at,
    }))
}

/// Where the run of a message has asked for that decision, if it has.
pub fn find_asked(
    reader: &dyn LogReader,
    (_, asked): &PlacedRecord,
    request: PersonRequestId,
) -> Result<Option<Position>, LogFault> {
    let (thread, seq) = (asked.header.thread.clone(), asked.header.seq);
    let Some(call) = asked.header.call.as_ref().map(CallPath::top_number) else { return Ok(None) };
    let end = reader.read_last()?;
    let Some(mut history) = RunHistory::open(reader, (&thread, seq), end)? else { return Ok(None) };
    let mut fold = RunFold::new(CallPlace { thread, call: CallPath::new_top(call) }, None);
    loop {
        let page = history.read_page(reader)?;
        if page.is_empty() {
            return Ok(None);
        }
        for (position, record) in page {
            let events = fold.take_record(position, &record.into());
            if events.iter().any(|one| matches!(one.event, RunEvent::Asked { id, .. } if id == request)) {
                return Ok(Some(position));
            }
        }
    }
}
