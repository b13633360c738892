//! A request that waits for a person, with everything that a decision about it is about, in full.
//!
//! A request of the log comes in; the texts of its card go out.

use std::collections::{BTreeMap, BTreeSet};

use systole_kit::writer::visible_again;

use super::amendable;
use super::clocked::ClockedText;
use systole_core::types::composition::Composition;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::LogFault;
use systole_core::types::time::Millis;
use systole_hall::log_view::LogMoment;
use systole_hall::record_files::{FileLine, FileLister};
use systole_queries::full::{self, ShownPayload};
use systole_queries::glance::glance;
use systole_queries::persons::{QuestionMessage, RequestSubject, WaitingRequest};
use systole_show::columns::{cut_counted, plain};
use systole_show::layout;

/// A request with its form.
pub(super) struct RequestCard {
    pub(super) id: String,
    pub(super) heading: String,
    pub(super) caller: String,
    pub(super) listener: String,
    pub(super) thread: String,
    pub(super) thread_href: Option<String>,
    pub(super) asked: String,
    pub(super) left: ClockedText,
    pub(super) is_question: bool,
    pub(super) outside: Option<String>,
    /// The files of the message from outside, unless that is what waits.
    pub(super) outside_files: Vec<FileLine>,
    pub(super) unknown: Option<String>,
    /// What the server of a called MCP tool says of it.
    pub(super) tool: Option<String>,
    /// What will happen if it is approved, or the question.
    pub(super) subject: ShownPayload,
    /// The files of the payload.
    pub(super) files: Vec<FileLine>,
    pub(super) shows: Vec<ShownMessageCard>,
    pub(super) choices: Vec<String>,
    pub(super) bytes: usize,
    pub(super) hash: String,
    /// The payload itself, to be amended.
    pub(super) payload: String,
    pub(super) may_amend: bool,
    /// Whether this client may decide it, now.
    pub(super) may: bool,
    pub(super) commands: Vec<String>,
    /// What happens if no one answers the question in time.
    pub(super) unanswered: String,
}

/// A message that a question shows.
pub(super) struct ShownMessageCard {
    pub(super) label: String,
    pub(super) from: String,
    pub(super) hash: String,
    pub(super) payload: ShownPayload,
    /// The tag of the core's message around it.
    pub(super) wrapper: Option<String>,
    pub(super) bytes: usize,
    pub(super) number: u64,
    /// What the step changed whose output it is.
    pub(super) changes: Vec<String>,
    pub(super) files: Vec<FileLine>,
}

/// The files of what waits, each with the thread and the number of its record.
pub(super) type RequestFiles = BTreeMap<(ThreadId, u64), Vec<FileLine>>;

/// Lists the files of what waits, in the threads that the client may open.
pub(super) fn list_files(
    moment: &LogMoment,
    waiting: &[WaitingRequest],
    open: &BTreeSet<ThreadId>,
) -> Result<RequestFiles, LogFault> {
    let (mut lister, mut files) = (FileLister::new(moment), RequestFiles::new());
    let mut add = |thread: &ThreadId, record: u64, payload: &str| {
        let place = (thread.clone(), record);
        if open.contains(thread) && !files.contains_key(&place) {
            let listed = lister.list_files(thread, record, payload.as_bytes())?;
            files.insert(place, listed);
        }
        Ok::<(), LogFault>(())
    };
    for one in waiting {
        match &one.about {
            RequestSubject::Approval { payload, record, .. } => add(&one.thread, *record, payload)?,
            RequestSubject::Question { shows, .. } => {
                shows.iter().try_for_each(|shown| add(&one.thread, shown.record, &shown.payload))?;
            }
        }
        if let Some(outside) = &one.request {
            add(&outside.thread, outside.seq, &outside.payload)?;
        }
    }
    Ok(files)
}

fn find_files(files: &RequestFiles, thread: &ThreadId, record: u64) -> Vec<FileLine> {
    files.get(&(thread.clone(), record)).cloned().unwrap_or_default()
}

impl RequestCard {
    /// A request as it is now. The address of its thread is for a client that may open it.
    pub(super) fn of(
        one: &WaitingRequest,
        organism: &Composition,
        now: Millis,
        (thread_href, found): (Option<String>, &RequestFiles),
    ) -> RequestCard {
        let (shows, choices, files) = match &one.about {
            RequestSubject::Approval { record, .. } => {
                (Vec::new(), Vec::new(), find_files(found, &one.thread, *record))
            }
            RequestSubject::Question { shows, choices, .. } => {
                let card = |shown: &QuestionMessage| {
                    ShownMessageCard::of(shown, find_files(found, &one.thread, shown.record))
                };
                (shows.iter().map(card).collect(), choices.clone(), Vec::new())
            }
        };
        let outside_files = one.request.as_ref().map(|asked| find_files(found, &asked.thread, asked.seq));
        let outside_files = outside_files.filter(|outside| *outside != files).unwrap_or_default();
        let (heading, unknown) = match &one.about {
            RequestSubject::Approval { element, unknown, .. } => (format!("<{element}>"), unknown.clone()),
            RequestSubject::Question { .. } => ("A question".to_owned(), None),
        };
        let payload = one.payload().map(|(_, payload)| payload.to_owned()).unwrap_or_default();
        let outside = one.request.as_ref().map(|asked| {
            let seen = glance(asked.payload.as_bytes());
            let at = layout::moment(asked.at, now);
            let words = cut_counted(&seen.words, crate::limits::REQUEST_COLUMNS);
            format!("{} at {at}: <{}> {words}", asked.by, seen.element)
        });
        RequestCard {
            id: one.id.to_string(),
            heading,
            caller: one.caller.to_string(),
            listener: one.listener.to_string(),
            thread: one.thread.to_string(),
            thread_href,
            asked: layout::moment(one.asked, now),
            left: ClockedText::of(|| one.show_rest(now)),
            is_question: one.payload().is_none(),
            outside,
            may: false,
            may_amend: unknown.is_none() && one.payload().is_some(),
            unknown,
            tool: tool_words(one, organism),
            subject: one.show_payload(),
            files,
            outside_files,
            shows,
            choices,
            bytes: payload.len(),
            hash: one.hash.to_string(),
            payload,
            commands: one.commands(),
            unanswered: one.without_answer(),
        }
    }
}

/// The words of the tool that a payload calls, by the schema of the running configuration.
fn tool_words(one: &WaitingRequest, organism: &Composition) -> Option<String> {
    let (element, payload) = one.payload().filter(|_| one.config == organism.hash)?;
    let model = amendable::model_of(organism, one, payload)?;
    model.find_tool(element)?;
    model.find_documentation(element).map(visible_again)
}

impl ShownMessageCard {
    fn of(shown: &QuestionMessage, files: Vec<FileLine>) -> ShownMessageCard {
        let (payload, wrapper) = full::shown_inside(shown.payload.as_bytes());
        ShownMessageCard {
            label: plain(&shown.label),
            from: shown.from.to_string(),
            hash: shown.hash.to_string(),
            payload,
            wrapper,
            bytes: shown.payload.len(),
            number: shown.number,
            changes: shown.changes.iter().map(|change| change.lines(0).join("\n")).collect(),
            files,
        }
    }
}
