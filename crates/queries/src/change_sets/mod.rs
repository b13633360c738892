//! The change sets of a workspace in a log: what each did to files, whether it happened, and who approved it.
//!
//! A reader comes in; changes go out, in the order in which they happened. Only what the workspace sent to itself and
//! answered counts: anybody may write the same elements.

pub(crate) mod lines;
mod order_pieces;

pub use order_pieces::{OrderPiece, OrderedChange, read_order};

use std::collections::BTreeMap;

use systole_core::rules::approval_payload;
use systole_core::types::ids::{CallPath, Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::{Record, RecordKind};
use systole_core::types::time::Millis;

use crate::change_payload::ChangeElement;
use lines::{FileEdit, LinePiece, lines_of};

/// A change set that happened.
#[derive(Clone, Debug)]
pub(crate) struct ChangeSet {
    /// Its name.
    pub(crate) change: String,
    /// The summary that the agent gave it.
    pub(crate) summary: Option<String>,
    /// The record of what was approved.
    pub(crate) thread: ThreadId,
    pub(crate) seq: u64,
    pub(crate) time: Millis,
    /// The workspace.
    pub(crate) workspace: Name,
    /// The call of the workspace that asked for it.
    pub(crate) call: Option<CallPath>,
    /// Its files: those it edited, then those that its commands changed.
    pub(crate) files: Vec<(String, FileEdit)>,
    pub(crate) approval: Option<ChangeApproval>,
    /// Whether the log has no result of it.
    pub(crate) is_open: bool,
    /// Its outcome, in the workspace's word; empty without a result.
    pub(crate) outcome: String,
}

/// A person's decision.
#[derive(Clone, Debug)]
pub(crate) struct ChangeApproval {
    pub(crate) id: String,
    pub(crate) outcome: String,
    pub(crate) by: String,
    pub(crate) note: Option<String>,
    pub(crate) time: Millis,
}

/// All change sets of a workspace that happened.
pub(crate) fn changes(reader: &dyn LogReader, workspace: &Name) -> Result<Vec<ChangeSet>, LogFault> {
    let mut found = Found::default();
    for placed in reader.records_after(Position(0)) {
        found.take(&placed?.1, workspace);
    }
    Ok(found.all())
}

/// Those of some records of threads, in the order of each thread.
pub(crate) fn read_changes(records: &[Record], workspace: &Name) -> Vec<ChangeSet> {
    let mut found = Found::default();
    records.iter().for_each(|record| found.take(record, workspace));
    found.all()
}

/// Whether a record is an order that a workspace sends to itself.
pub(crate) fn is_order(record: &Record) -> bool {
    let h = &record.header;
    h.kind == RecordKind::Message
        && h.to.as_ref() == Some(&h.from)
        && ChangeElement::read(&record.body).is_some_and(|root| root.local == "apply")
}

#[derive(Default)]
struct Found {
    /// What was sent to be done, by its name.
    proposed: BTreeMap<String, ChangeSet>,
    /// The requests for approval, by their id, each with the hash of the payload.
    asked: BTreeMap<String, Digest>,
    /// The decisions, by the hash of the payload.
    decided: BTreeMap<Digest, ChangeApproval>,
    hashes: BTreeMap<String, Digest>,
    happened: Vec<ChangeSet>,
}

impl Found {
    fn take(&mut self, record: &Record, workspace: &Name) {
        let h = &record.header;
        match h.kind {
            RecordKind::Message if h.from == *workspace => self.message(record),

            RecordKind::Approval if h.to.as_ref() == Some(workspace) => self.amendment(record),
            RecordKind::Approval => self.approval(record),
            _ => {}
        }
    }

    fn approval(&mut self, record: &Record) {
        if let Some((id, hash, _)) = approval_payload::read_requested(&record.body) {
            self.asked.insert(id.to_string(), hash);
        } else if let Some(decided) = approval_payload::read_decided(&record.body)
            && let Some(hash) = self.asked.get(&decided.id.to_string())
        {
            let approval = ChangeApproval {
                id: decided.id.to_string(),
                outcome: decided.outcome,
                by: decided.by,
                note: decided.note,
                time: record.header.time,
            };
            self.decided.insert(*hash, approval);
        }
    }

    /// What a person put in the place of an order that waited.
    fn amendment(&mut self, record: &Record) {
        let root = ChangeElement::read(&record.body).filter(|root| root.local == "apply");
        let Some(change) = root.and_then(|root| read_proposed(record, &root)) else { return };
        let Some(first) = self.proposed.get_mut(&change.change) else { return };
        let caller = change.call.as_ref().and_then(CallPath::caller).map(|(caller, ..)| caller);
        if first.thread == change.thread && caller.is_some() && first.call == caller {
            *first = ChangeSet { workspace: first.workspace.clone(), call: caller, ..change };
        }
    }

    fn message(&mut self, record: &Record) {
        let Some(root) = ChangeElement::read(&record.body) else { return };
        match root.local.as_str() {
            "apply" => {
                let Some(change) = read_proposed(record, &root) else { return };
                self.hashes.insert(change.change.clone(), Digest::hash_bytes(&record.body));
                self.proposed.insert(change.change.clone(), change);
            }
            "change-result" => self.result(&root),
            _ => {}
        }
    }

    fn result(&mut self, root: &ChangeElement) {
        // The same result goes on to the caller, with another receiver. Only the first one counts.
        let change = root.attribute("change").and_then(|change| self.proposed.remove(change));
        let Some(change) = change.filter(|_| root.attribute("outcome") != Some("refused")) else { return };
        let changed = root.children.iter().filter(|child| child.local == "changed");
        let by_commands = changed.filter_map(|child| {
            let edit = FileEdit { before: child.hash("before"), after: child.hash("after"), pieces: None };
            Some((child.attribute("path")?.to_owned(), edit))
        });
        let files = change.files.iter().cloned().chain(by_commands).collect();
        let approval = self.approval_of(&change);
        let outcome = root.attribute("outcome").unwrap_or_default().to_owned();
        self.happened.push(ChangeSet { files, approval, outcome, ..change });
    }

    fn approval_of(&self, change: &ChangeSet) -> Option<ChangeApproval> {
        self.hashes.get(&change.change).and_then(|hash| self.decided.get(hash)).cloned()
    }

    /// Whether a person has not let it go: she is asked, or has refused it.
    fn is_held(&self, change: &ChangeSet) -> bool {
        let Some(hash) = self.hashes.get(&change.change) else { return false };
        match self.decided.get(hash) {
            Some(decided) => !matches!(decided.outcome.as_str(), "approved" | "amended"),
            None => self.asked.values().any(|asked| asked == hash),
        }
    }

    /// What happened, and what may go on without a result: its edits may stand all the same.
    fn all(mut self) -> Vec<ChangeSet> {
        let open: Vec<ChangeSet> = self
            .proposed
            .values()
            .filter(|change| !self.is_held(change))
            .map(|change| ChangeSet { approval: self.approval_of(change), is_open: true, ..change.clone() })
            .collect();
        self.happened.extend(open);
        self.happened.sort_by_key(|change| change.time);
        self.happened
    }
}

fn read_proposed(record: &Record, root: &ChangeElement) -> Option<ChangeSet> {
    let edits = root.children.iter().filter(|child| child.local == "edit");
    let files = edits.filter_map(|child| {
        let pieces = child.children.iter().filter(|piece| piece.local == "piece").map(|piece| {
            let text = |name: &str| {
                let found = piece.children.iter().find(|one| one.local == name);
                found.map_or("", |one| &one.text)
            };
            let line = piece.attribute("line")?.parse().ok()?;
            Some(LinePiece { line, was: text("was").to_owned(), now: lines_of(text("now")) })
        });
        let pieces: Option<Vec<LinePiece>> = pieces.collect();
        let edit = FileEdit { before: child.hash("before"), after: child.hash("after"), pieces };
        Some((child.attribute("path")?.to_owned(), edit))
    });
    let h = &record.header;
    Some(ChangeSet {
        change: root.attribute("change")?.to_owned(),
        summary: root.attribute("summary").map(str::to_owned),
        thread: h.thread.clone(),
        seq: h.seq,
        time: h.time,
        workspace: h.from.clone(),
        call: h.call.clone(),
        files: files.collect(),
        approval: None,
        is_open: false,
        outcome: String::new(),
    })
}
