//! Who wrote a line: the change set that wrote it, the agent and the model behind it, and the person who approved it.
//!
//! A log and a file come in; an account goes out. It says so where something outside changed the file.

mod whole_file;

use serde_json::{Value, json};
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{Record, RecordKind};
use systole_core::types::time::Millis;

use super::change_sets::lines::{FileEdit, LineOrigin, origins, undo_edit};
use super::change_sets::{ChangeSet, changes};
use super::prompts::{self, JournaledCall};
use systole_show::columns::plain;
use systole_show::layout;
pub use whole_file::{BlamedFile, blame_file};

/// What is asked about.
pub struct BlameRequest<'r> {
    /// The listener whose workspace has the file.
    pub workspace: &'r Name,
    /// The file's path in it.
    pub path: &'r str,
    /// The line, from 1.
    pub line: usize,
    /// Its text.
    pub text: &'r str,
    /// The hash of the file.
    pub hash: Digest,
}

/// The account of a line.
pub struct Blame {
    path: String,
    line: usize,
    text: String,
    origin: BlamedOrigin,
}

enum BlamedOrigin {
    /// No change set touched the line.
    Before,
    /// Something outside changed the file; the last change set before that, and the next one after it.
    Outside {
        before: Option<Box<WrittenBy>>,
        after: Option<Box<WrittenBy>>,
    },
    Written(Box<WrittenBy>),
}

/// A change set, and where it comes from.
struct WrittenBy {
    change: ChangeSet,
    /// Whether a command of it wrote the file.
    by_command: bool,
    asked: Option<AskedBy>,
}

/// The request for a change set.
struct AskedBy {
    by: Name,
    seq: u64,
    model: Option<JournaledCall>,
}

/// The change sets that edited a file which has this hash now, oldest first, each with its edit.
fn list_counted<'c>(all: &'c [ChangeSet], path: &str, hash: Digest) -> Vec<(&'c ChangeSet, &'c FileEdit)> {
    let of_set = |set: &'c ChangeSet| {
        let of_file = set.files.iter().filter(|(known, _)| known == path);
        of_file.map(move |(_, edit)| (set, edit)).collect::<Vec<_>>()
    };
    let of_file: Vec<(&ChangeSet, &FileEdit)> = all.iter().flat_map(of_set).collect();
    // A change set without a result counts if the file has what it wrote, now or before a later edit.
    let stands = |at: usize, edit: &FileEdit| {
        let later = of_file.iter().skip(at + 1).map(|(_, later)| later.before);
        later.chain([Some(hash)]).any(|hash| hash == edit.after)
    };
    let counted = of_file.iter().enumerate().filter(|(at, (set, edit))| !set.is_open || stands(*at, edit));
    counted.map(|(_, found)| *found).collect()
}

/// The text of a file as it was at the end of `past`: that of today, which comes with its hash, without the later
/// change sets. Fails with the change that cannot be taken back.
pub fn text_at(
    (reader, past): (&dyn LogReader, &dyn LogReader),
    (workspace, path): (&Name, &str),
    (now, hash): (&str, Digest),
) -> Result<Result<String, String>, LogFault> {
    let (all, then) = (changes(reader, workspace)?, changes(past, workspace)?);
    let was_there =
        |set: &ChangeSet| then.iter().any(|one| one.change == set.change && one.is_open == set.is_open);
    let later = list_counted(&all, path, hash);
    let mut text = now.to_owned();
    for (set, edit) in later.into_iter().rev().filter(|(set, _)| !was_there(set)) {
        match undo_edit(edit, &text) {
            Some(before) => text = before,
            None => {
                let why = match edit {
                    _ if edit.after != Some(Digest::hash_bytes(text.as_bytes())) => {
                        "its lines are not known; something outside changed the file after"
                    }
                    FileEdit { before: None, .. } => "there was no file; it was made by",
                    _ => "its lines are not known; later they were changed by a command of",
                };
                let (change, thread, seq) = (plain(&set.change), &set.thread, set.seq);
                return Ok(Err(format!("{why} change {change}, record {thread}@{seq}")));
            }
        }
    }
    Ok(Ok(text))
}

/// Finds out who wrote a line.
pub fn blame(reader: &dyn LogReader, asked: &BlameRequest<'_>) -> Result<Blame, LogFault> {
    let all = changes(reader, asked.workspace)?;
    let counted = list_counted(&all, asked.path, asked.hash);
    let (sets, edits): (Vec<&ChangeSet>, Vec<FileEdit>) =
        counted.into_iter().map(|(set, edit)| (set, edit.clone())).unzip();
    let written = |number: usize| -> Result<Option<Box<WrittenBy>>, LogFault> {
        let (Some(set), Some(edit)) = (sets.get(number), edits.get(number)) else { return Ok(None) };
        let asked = asked_by(reader, set)?;
        let by_command = edit.pieces.is_none();
        Ok(Some(Box::new(WrittenBy { change: (*set).clone(), by_command, asked })))
    };
    let origin = match origins(&edits, Some(asked.hash)).of(asked.line) {
        LineOrigin::Before => BlamedOrigin::Before,
        LineOrigin::Edit(number) => written(number)?.map_or(BlamedOrigin::Before, BlamedOrigin::Written),
        LineOrigin::OutsideBefore(number) => BlamedOrigin::Outside {
            before: number.checked_sub(1).map(written).transpose()?.flatten(),
            after: written(number)?,
        },
        LineOrigin::OutsideAfter => BlamedOrigin::Outside {
            before: edits.len().checked_sub(1).map(written).transpose()?.flatten(),
            after: None,
        },
    };
    Ok(Blame { path: asked.path.to_owned(), line: asked.line, text: asked.text.to_owned(), origin })
}

/// Who asked for a change set, and with which model.
fn asked_by(reader: &dyn LogReader, set: &ChangeSet) -> Result<Option<AskedBy>, LogFault> {
    let Some(call) = &set.call else { return Ok(None) };
    let item = call.caller();
    let is_request = |record: &Record| {
        let h = &record.header;
        h.kind == RecordKind::Message
            && match &item {
                Some((caller, turn, ordinal)) => {
                    h.call.as_ref() == Some(caller) && (h.turn, h.ordinal) == (Some(*turn), Some(*ordinal))
                }
                // From outside.
                None => h.call.as_ref() == Some(call) && h.to.as_ref() == Some(&set.workspace),
            }
    };
    let Some((by, seq)) = find(reader, &set.thread, set.seq, is_request)? else { return Ok(None) };
    let model = prompts::find_called(reader, &set.thread, seq)?.filter(|called| called.listener == by);
    Ok(Some(AskedBy { by, seq, model }))
}

/// The sender and the number of the last record of a thread before another that fits.
fn find(
    reader: &dyn LogReader,
    thread: &ThreadId,
    before: u64,
    fits: impl Fn(&Record) -> bool,
) -> Result<Option<(Name, u64)>, LogFault> {
    let mut found = None;
    for placed in reader.records_of(thread, 1) {
        let (_, record) = placed?;
        if record.header.seq >= before {
            break;
        }
        if fits(&record) {
            found = Some((record.header.from, record.header.seq));
        }
    }
    Ok(found)
}

impl Blame {
    /// In lines for a person.
    pub fn lines(&self, now: Millis) -> Vec<String> {
        let mut lines = vec![format!("{}:{}  {}", plain(&self.path), self.line, plain(&self.text))];
        match &self.origin {
            BlamedOrigin::Before => {
                lines.push("  no change set of the log wrote it: it was there before".to_owned());
            }
            BlamedOrigin::Written(written) => lines.extend(written.lines(now)),
            BlamedOrigin::Outside { before, after } => {
                lines.push("  changed outside: no change set of the log accounts for it".to_owned());
                for (when, written) in [("after", before), ("before", after)] {
                    if let Some(WrittenBy { change, .. }) = written.as_deref() {
                        let at = layout::moment(change.time, now);
                        lines.push(format!(
                            "  {when} change {} at {at}, record {}@{}",
                            plain(&change.change),
                            change.thread,
                            change.seq
                        ));
                    }
                }
            }
        }
        lines
    }

    /// For programs.
    pub fn as_json(&self) -> Value {
        let (origin, more) = match &self.origin {
            BlamedOrigin::Before => ("before", json!({})),
            BlamedOrigin::Written(written) => ("change", written.as_json()),
            BlamedOrigin::Outside { before, after } => {
                let told =
                    |written: &Option<Box<WrittenBy>>| written.as_ref().map(|written| written.as_json());
                ("outside", json!({"after": told(before), "before": told(after)}))
            }
        };
        json!({"path": self.path, "line": self.line, "text": self.text, "origin": origin, "change": more})
    }
}

impl WrittenBy {
    fn lines(&self, now: Millis) -> Vec<String> {
        let ChangeSet { change, summary, thread, seq, time, approval, .. } = &self.change;
        let by = if self.by_command { "a command of change" } else { "change" };
        let summary = summary.as_ref().map(|words| format!(": {}", plain(words))).unwrap_or_default();
        let mut lines =
            vec![format!("  written   {} by {by} {}{summary}", layout::moment(*time, now), plain(change))];
        lines.push(format!("  record    {thread}@{seq}"));
        if let Some(AskedBy { by, seq, model }) = &self.asked {
            lines.push(format!("  asked by  {by}, record {thread}@{seq}"));
            if let Some(model) = model {
                let turn = model.turn.map(|turn| format!(" in turn {turn}")).unwrap_or_default();
                lines.push(format!("  model     {}{turn}, prompt {}", plain(&model.model), model.prompt));
            }
        }
        lines.push(match approval {
            Some(approval) => {
                let note =
                    approval.note.as_ref().map(|note| format!(": {}", plain(note))).unwrap_or_default();
                let at = layout::moment(approval.time, now);
                format!("  {}  {} by {} at {at}{note}", approval.outcome, approval.id, plain(&approval.by))
            }
            None => "  approval  none was needed".to_owned(),
        });
        if self.change.is_open {
            lines.push(
                "  the log has no result of it: its commands have not ended, or did not end".to_owned(),
            );
        }
        lines
    }

    fn as_json(&self) -> Value {
        let ChangeSet { change, summary, thread, seq, time, approval, .. } = &self.change;
        json!({
            "change": change, "summary": summary, "has_result": !self.change.is_open, "by_command": self.by_command,
            "record": format!("{thread}@{seq}"), "time": time.to_string(),
            "asked_by": self.asked.as_ref().map(|asked| json!({
                "listener": asked.by.as_str(), "record": format!("{thread}@{}", asked.seq),
                "model": asked.model.as_ref().map(|model| &model.model),
                "prompt": asked.model.as_ref().map(|model| &model.prompt),
            })),
            "approval": approval.as_ref().map(|one| json!({
                "id": one.id, "outcome": one.outcome, "by": one.by, "note": one.note, "time": one.time.to_string(),
            })),
        })
    }
}
