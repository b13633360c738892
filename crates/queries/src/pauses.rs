//! Pauses for people: who paused what, since when and why.
//!
//! A thread is paused by its own pause, by the pause of a thread above it, or by the pause of everything. The fold
//! knows since when; a record names the person, and is searched from the end of the thread. A log comes in; the pause
//! that holds a thread goes out.

use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::causes;
use systole_core::pump::state::Thread;
use systole_core::pump::wake;
use systole_core::rules::approval_payload;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{RecordCode, RecordKind, SteerEffect};
use systole_core::types::time::Millis;
use systole_show::clocks;
use systole_show::columns::plain;
use systole_show::layout::moment;

/// A pause that holds a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadPause {
    /// The paused thread: the requested one, one above it, or `sys` for everything.
    pub of: ThreadId,
    /// Who paused it.
    pub by: String,
    /// Since when.
    pub since: Millis,
    /// The reason.
    pub note: Option<String>,
}

/// Gives a thread by its id.
type Find<'a> = &'a dyn Fn(&ThreadId) -> Result<Option<Thread>, LogFault>;

/// The pause that holds a thread, if there is one. `find` returns the current state of a thread.
pub fn holding(
    reader: &dyn LogReader,
    find: Find<'_>,
    thread: &ThreadId,
) -> Result<Option<ThreadPause>, LogFault> {
    let mut line = Some(thread.clone());
    while let Some(id) = line {
        let found = find(&id)?;
        if id == *thread && found.as_ref().is_none_or(|it| it.ended) {
            return Ok(None);
        }
        if let Some(pause) = found.map_or(Ok(None), |it| own(reader, &it))? {
            return Ok(Some(pause));
        }
        line = id.parent();
    }
    of_everything(reader, find)
}

/// The pause of everything, if there is one.
pub fn of_everything(reader: &dyn LogReader, find: Find<'_>) -> Result<Option<ThreadPause>, LogFault> {
    find(&ThreadId::new_sys())?.map_or(Ok(None), |sys| own(reader, &sys))
}

/// The pause that holds a thread in addition to its own: that of a thread above it, or of everything. It reads only
/// the log.
pub fn above(reader: &dyn LogReader, thread: &ThreadId) -> Result<Option<ThreadPause>, LogFault> {
    let find: Find<'_> = &|id| wake::wake_thread(reader, id);
    match thread.parent() {
        Some(parent) => holding(reader, find, &parent),
        None => of_everything(reader, find),
    }
}

/// A thread's own pause.
fn own(reader: &dyn LogReader, thread: &Thread) -> Result<Option<ThreadPause>, LogFault> {
    let Some(since) = thread.paused else { return Ok(None) };
    let paused = Some(RecordCode::Steering(SteerEffect::Paused));
    let said = causes::back(reader, &thread.id, thread.seq + 1, |record| {
        match record.header.kind == RecordKind::Steer && record.header.code == paused {
            true => ControlFlow::Break(approval_payload::read_steering(&record.body)),
            false => ControlFlow::Continue(()),
        }
    })?;
    let (by, note) = said.flatten().unwrap_or_else(|| ("somebody".to_owned(), None));
    Ok(Some(ThreadPause { of: thread.id.clone(), by, since, note }))
}

impl ThreadPause {
    /// Who paused what, and why, for a paused thread: `by alice: maintenance`.
    pub fn brief(&self, thread: &ThreadId) -> String {
        let with = match &self.of {
            of if of == thread => String::new(),
            of if of.is_sys() => "with everything ".to_owned(),
            of => format!("with {of} "),
        };
        let note = self.note.as_deref().map_or_else(String::new, |note| format!(": {}", plain(note)));
        format!("{with}by {}{note}", plain(&self.by))
    }

    /// The same with its time: `paused since 12:03:04, for 5 m, by alice: maintenance`.
    pub fn sentence(&self, thread: &ThreadId, now: Millis) -> String {
        let (since, long) = (moment(self.since, now), clocks::spell_since(self.since, now));
        format!("paused since {since}, for {long}, {}", self.brief(thread))
    }

    /// That everything is paused, and the command that ends it.
    pub fn of_everything(&self, now: Millis) -> String {
        format!("everything is {}; end it with: {}", self.sentence(&ThreadId::new_sys(), now), self.command())
    }

    /// The command that ends it.
    pub fn command(&self) -> String {
        match self.of.is_sys() {
            true => "systole resume --all".to_owned(),
            false => format!("systole resume {}", self.of),
        }
    }

    /// The pause for programs; `thread` is null for everything.
    pub fn as_json(&self) -> Value {
        let thread = (!self.of.is_sys()).then(|| self.of.as_str());
        json!({"thread": thread, "by": self.by, "since": self.since.to_string(), "note": self.note})
    }
}
