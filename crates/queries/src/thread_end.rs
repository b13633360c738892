//! How a thread's last top call ended, and the state of a thread, as lists, pages and filters name it.
//!
//! News for a listener does not count: no one asked for it. A thread and its log come in; a judgement goes out.

use std::ops::ControlFlow;

use super::causes;
use super::first_cause::FirstCause;
use super::glance::glance;
use crate::limits;
use systole_core::pump::state::ThreadState;
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind};
use systole_show::columns::cut;
use systole_show::layout::TextTone;

/// The state of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ThreadStatus {
    /// Nothing new of it goes out until a person resumes it.
    Paused,
    /// A turn is out or due.
    Working,
    /// All that is open waits for a person, a timer, a time or someone who is away.
    Waiting,
    /// Its last top call was cancelled, or the whole thread.
    Cancelled,
    /// Its last top call failed.
    Failed,
    /// Its last top call has its answer, or needed none.
    Answered,
}

impl ThreadStatus {
    /// Every one.
    pub const ALL: [ThreadStatus; 6] = [
        ThreadStatus::Paused,
        ThreadStatus::Working,
        ThreadStatus::Waiting,
        ThreadStatus::Cancelled,
        ThreadStatus::Failed,
        ThreadStatus::Answered,
    ];

    /// The state of a thread with nothing open, by how its last top call ended.
    pub fn of_end(end: Option<CallJudgement>) -> ThreadStatus {
        match end {
            Some(CallJudgement::Cancelled) => ThreadStatus::Cancelled,
            Some(end) if end.is_failure() => ThreadStatus::Failed,
            _ => ThreadStatus::Answered,
        }
    }

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            ThreadStatus::Paused => "paused",
            ThreadStatus::Working => "working",
            ThreadStatus::Waiting => "waiting",
            ThreadStatus::Cancelled => "cancelled",
            ThreadStatus::Failed => "failed",
            ThreadStatus::Answered => "answered",
        }
    }

    /// Its colour; `None` if it is neither good nor bad.
    pub const fn tone(self) -> Option<TextTone> {
        match self {
            ThreadStatus::Paused => Some(TextTone::Held),
            ThreadStatus::Failed => Some(TextTone::Bad),
            ThreadStatus::Answered => Some(TextTone::Good),
            ThreadStatus::Working | ThreadStatus::Waiting | ThreadStatus::Cancelled => None,
        }
    }
}

/// The words that a filter can name: each state, and whether a thread rests or has ended.
pub const STATES: [&str; 8] =
    ["paused", "working", "waiting", "cancelled", "failed", "answered", "resting", "ended"];

/// Whether a thread is in the state that a filter names, a word of `STATES`.
pub fn is_in_state(word: &str, status: ThreadStatus, life: ThreadState) -> bool {
    match word {
        "resting" | "ended" => status != ThreadStatus::Paused && life.as_str() == word,
        _ => status.as_str() == word,
    }
}

/// How a top call ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadEnd {
    /// The judgement.
    pub end: CallJudgement,
    /// Why, if it failed or was cancelled by itself.
    pub cause: Option<FirstCause>,
    /// What to say about it beside the state.
    pub words: String,
}

impl ThreadEnd {
    /// Judges a record; `None` if it ends no top call. An end of a thread at rest ends none.
    pub fn of_record(record: &Record) -> Option<ThreadEnd> {
        let h = &record.header;
        let end = CallJudgement::of_record(record)?;
        let is_top = h.call.as_ref().is_some_and(|call| call.depth() == 0);
        let is_cancelled = h.kind == RecordKind::Terminal && h.code != Some(RecordCode::Ended);
        if !is_top && !is_cancelled {
            return None;
        }
        let has_cause = end.is_failure() || h.kind == RecordKind::Outcome && end == CallJudgement::Cancelled;
        let cause = has_cause.then(|| FirstCause::of_body(h.code, &record.body));
        let words = match (&cause, end) {
            (Some(cause), _) => cause.line(),
            (None, CallJudgement::Handled) => "handled".to_owned(),
            (None, CallJudgement::Cancelled) if is_cancelled => {
                format!("by {}", h.to.as_ref().map_or("core", Name::as_str))
            }
            (None, _) => {
                let seen = glance(&record.body);
                let text = format!("<{}> {}", seen.element, seen.words);
                if end == CallJudgement::Partial { format!("partial: {text}") } else { text }
            }
        };
        Some(ThreadEnd { end, cause, words: cut(&words, limits::GLANCE_COLUMNS) })
    }

    /// The end of the last top call of a thread with that many records; `None` if none has ended.
    pub fn of_thread(
        reader: &dyn LogReader,
        thread: &ThreadId,
        newest: u64,
    ) -> Result<Option<ThreadEnd>, LogFault> {
        let mut before = newest.saturating_add(1);
        loop {
            let found = causes::back(reader, thread, before, |record| match ThreadEnd::of_record(record) {
                Some(end) => ControlFlow::Break((end, record.clone())),
                None => ControlFlow::Continue(()),
            })?;
            match found {
                Some((_, record)) if is_of_news(reader, &record)? => before = record.header.seq,
                found => return Ok(found.map(|(end, _)| end)),
            }
        }
    }
}

/// Whether a record ends a call that only brought news to its listener.
fn is_of_news(reader: &dyn LogReader, end: &Record) -> Result<bool, LogFault> {
    let h = &end.header;
    let Some(call) = h.call.as_ref().filter(|_| h.to.as_ref().is_some_and(Name::is_core)) else {
        return Ok(false);
    };
    let opening = causes::opening(reader, &h.thread, call, h.seq)?;
    let tell = RecordCode::Role(MessageRole::Tell);
    Ok(opening.is_some_and(|(_, record)| record.header.code == Some(tell)))
}
