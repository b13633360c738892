//! What the step behind a shown output changed: the change sets of workspaces in its thread and in those below it.
//!
//! The message of the output comes in; what the log says of the changes goes out, each with every line that changed. A
//! person who decides by the output sees by it what was done, not only what was said.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::change_payload;
use super::super::full;
use crate::change_sets::{ChangeSet, is_order, read_changes};
use crate::limits;
use systole_core::rules::core_payload;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind};
use systole_show::columns::plain;

/// A change set that happened in a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepChange {
    /// The workspace.
    pub workspace: Name,
    /// The record of what it was to do.
    pub thread: ThreadId,
    /// Its number there.
    pub seq: u64,
    /// How it ended: `done`, `failed` or `unknown`.
    pub outcome: String,
    /// The stored bytes of that record; empty if they are too many to be shown with others.
    pub payload: String,
}

impl StepChange {
    /// The change in lines: what it did, with every line that changed.
    pub fn lines(&self, indent: usize) -> Vec<String> {
        let blanks = " ".repeat(indent);
        let StepChange { workspace, thread, seq, outcome, .. } = self;
        let mut lines =
            vec![format!("{blanks}changed by {workspace} ({}), record {thread}@{seq}:", plain(outcome))];
        if self.payload.is_empty() {
            lines.push(format!("{blanks}too long to be shown here: systole log {thread} has it"));
            return lines;
        }
        let body = self.payload.as_bytes();
        let order = change_payload::order_lines(body, indent);
        lines.extend(order.unwrap_or_else(|| full::lines(body, indent)));
        lines
    }

    pub(super) fn as_json(&self) -> Value {
        json!({
            "workspace": self.workspace.as_str(),
            "thread": self.thread.as_str(),
            "seq": self.seq,
            "outcome": self.outcome,
            "payload": self.payload,
        })
    }
}

/// The changes of the step whose end a message tells; none for any other message.
pub(super) fn read_step_changes(reader: &dyn LogReader, told: &Record) -> Result<Vec<StepChange>, LogFault> {
    // Only the core writes into an inbox, so no listener can name another step.
    let is_told = told.header.kind == RecordKind::Message
        && told.header.code == Some(RecordCode::Role(MessageRole::Inbox));
    let child = core_payload::finished_child(&told.body).filter(|_| is_told);
    let Some(child) = child.filter(|child| child.is_within(&told.header.thread)) else {
        return Ok(Vec::new());
    };
    let threads = reader.threads_like(child.as_str(), limits::STEP_THREADS)?;
    let (mut workspaces, mut records) = (BTreeSet::new(), Vec::new());
    for thread in threads.into_iter().filter(|thread| thread.is_within(&child)) {
        for placed in reader.records_of(&thread, 1) {
            let (_, record) = placed?;
            if is_order(&record) {
                workspaces.insert(record.header.from.clone());
            }
            if matches!(record.header.kind, RecordKind::Message | RecordKind::Approval) {
                records.push(record);
            }
        }
    }
    let mut sets: Vec<ChangeSet> = workspaces.iter().flat_map(|name| read_changes(&records, name)).collect();
    sets.sort_by_key(|set| set.time);
    let (mut found, mut room) = (Vec::new(), limits::STEP_CHANGES_BYTES);
    for set in sets.into_iter().filter(|set| !set.is_open) {
        let order = reader.of_thread(&set.thread, set.seq, 1)?.pop();
        let body = order.map(|(_, record)| record.body).unwrap_or_default();
        let fits = body.len() <= room;
        room = room.saturating_sub(body.len());
        found.push(StepChange {
            workspace: set.workspace,
            thread: set.thread,
            seq: set.seq,
            outcome: set.outcome,
            payload: if fits { String::from_utf8_lossy(&body).into_owned() } else { String::new() },
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::persons::QuestionMessage;
    use systole_core::types::ids::Digest;

    #[test]
    fn g4_a_change_of_a_step_is_told_to_a_command_elsewhere_as_it_is() {
        let payload = "<apply xmlns='https://xml-pipeline.org/ns/workspace/v1' change='c1' elements='a'><edit of='1' path='a.txt' kind='change'><piece line='2'><was>two\n</was><now>2\n</now></piece></edit></apply>";
        let thread = ThreadId::parse("sess-0000000000a1.edit-1").unwrap();
        let workspace = Name::parse("hands").unwrap();
        let change =
            StepChange { workspace, thread, seq: 7, outcome: "done".into(), payload: payload.into() };
        let lines = change.lines(2);
        assert_eq!(lines[0], "  changed by hands (done), record sess-0000000000a1.edit-1@7:");
        assert_eq!(lines[lines.len() - 2..], ["  │ -two", "  │ +2"]);
        let said = QuestionMessage {
            number: 3,
            label: "edit".into(),
            from: Name::parse("core").unwrap(),
            hash: Digest::hash_bytes(b"<a/>"),
            payload: "<a/>".into(),
            changes: vec![change.clone(), StepChange { payload: String::new(), ..change }],
            record: 0,
        };
        let told = crate::persons::listed_request::read_message(&said.as_json());
        assert_eq!(told.as_ref(), Ok(&said));
        let long = said.changes.last().unwrap().lines(0);
        assert!(long.len() == 2 && long[1].contains("systole log"), "{long:?}");
    }
}
