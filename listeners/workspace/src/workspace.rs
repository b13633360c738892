//! The workspace: a request becomes an order to itself, an order is carried out, and its result is passed on.
//!
//! Deliveries come in, from several threads at once; replies go out. An order is carried out only if it comes from
//! the workspace itself, and only as it is written.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use systole_folder::{DenyList, FolderRoot, PathPatterns, WorkBound};
use systole_kit::answers::Answers;
use systole_kit::envelope::Delivered;
use systole_kit::reply::{Item, ReplyContent};
use systole_kit::{Payload, namespaces};
use tokio::time::Instant;

use crate::command::pattern::check_shell_pattern;
use crate::command::scan::FolderScan;
use crate::command::session::CommandSessions;
use crate::disk::journal::{ChangeJournal, ChangeStage};
use crate::disk::writing::{finish_change, settle_change};
use crate::hash::change_id;
use crate::limits;
use crate::order::ApplyOrder;
use crate::outcome::{ChangeOutcome, OutcomeKind};
use crate::request::ChangeRequest;
use crate::spec::{CommandStart, OpenFault, WorkspaceSpec};
use crate::turn_gate::TurnGate;

/// A listener that changes files below one folder and runs commands there.
pub struct Workspace {
    pub(crate) spec: WorkspaceSpec,
    pub(crate) root: FolderRoot,
    /// The path of the root without links.
    pub(crate) root_path: PathBuf,
    pub(crate) ask: PathPatterns,
    pub(crate) journal: ChangeJournal,
    pub(crate) sessions: CommandSessions,
    pub(crate) start: Arc<dyn CommandStart>,
    pub(crate) gate: TurnGate,
    /// The last look at the folder.
    pub(crate) scan: Mutex<FolderScan>,
    /// Whether files were left that could not be taken back, and no answer has said so yet.
    has_left: AtomicBool,
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Workspace").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl Workspace {
    /// Opens the folder and the journal, and takes back the edits that an earlier process did not finish.
    ///
    /// # Errors
    /// If a pattern cannot be used, the folder or the journal cannot be opened, or another process holds the journal.
    pub fn open(spec: WorkspaceSpec, start: Arc<dyn CommandStart>) -> Result<Workspace, OpenFault> {
        let pattern = |what: &str, error: &dyn std::fmt::Display| OpenFault::Spec(format!("{what}: {error}"));
        let deny = DenyList::new(&spec.deny).map_err(|error| pattern("deny", &error))?;
        let ask = PathPatterns::new(&spec.ask).map_err(|error| pattern("ask", &error))?;
        for written in &spec.shell {
            check_shell_pattern(written).map_err(|error| pattern("shell", &error))?;
        }
        if spec.time_ms == 0 || spec.time_ms > limits::COMMAND_MS {
            let most = limits::COMMAND_MS;
            return Err(OpenFault::Spec(format!("time_ms is {}; write 1 to {most}", spec.time_ms)));
        }
        let no_root = |error| OpenFault::Root { path: spec.root.clone(), error };
        let root_path = spec.root.canonicalize().map_err(no_root)?;
        let root = FolderRoot::open_root(&root_path, &deny).map_err(no_root)?;
        let no_journal = |error| OpenFault::Journal { path: spec.state.clone(), error };
        std::fs::create_dir_all(&spec.state).map_err(no_journal)?;
        let state = spec.state.canonicalize().map_err(no_journal)?;
        if state.starts_with(&root_path) || root_path.starts_with(&state) {
            let (state, root) = (state.display(), root_path.display());
            return Err(OpenFault::Spec(format!(
                "the state {state} and the folder {root} contain one another; keep the state elsewhere"
            )));
        }
        let journal = ChangeJournal::open(&state).map_err(no_journal)?;
        let sessions = CommandSessions::new(&state);
        let mut has_left = false;
        for (stage, record) in journal.list_unsettled().map_err(no_journal)? {
            match stage {
                ChangeStage::Open | ChangeStage::Writing => {
                    has_left |= settle_change(&root, &journal, &record, None).map_err(no_journal)?.is_some()
                }
                ChangeStage::Closing => finish_change(&root, &journal, &record).map_err(no_journal)?,
                _ => has_left = true,
            }
        }
        journal.prune_settled().and_then(|()| sessions.prune_old()).map_err(no_journal)?;
        Ok(Workspace {
            root,
            root_path,
            ask,
            journal,
            sessions,
            start,
            gate: TurnGate::default(),
            scan: Mutex::default(),
            has_left: AtomicBool::new(has_left),
            spec,
        })
    }

    /// Answers a delivery. `progress` is called now and then while a command runs.
    pub fn answer_delivery(
        &self,
        asked: &Delivered,
        is_cancelled: &AtomicBool,
        progress: &dyn Fn(&str),
    ) -> ReplyContent {
        let change = change_id(&asked.thread, &asked.stamp.call);
        let name = asked.payload.name();
        if &*name.ns == namespaces::WORKSPACE && &*name.local == "apply" {
            return self.carried_out(asked, is_cancelled, progress);
        }
        if let Ok(answers) = Answers::from_payload(&asked.payload) {
            return self.passed_on(&change, &answers);
        }
        let bound = WorkBound { deadline: Instant::now() + limits::NEAR_TIME, is_cancelled };
        let resolved = match ChangeRequest::from_payload(&asked.payload) {
            Ok(Some(ChangeRequest::Set(mut elements))) => {
                self.make_relative(&mut elements);
                self.resolve_set(&change, &asked.thread, &elements, bound)
            }
            Ok(Some(ChangeRequest::Undo(taken_back))) => self.resolve_undo(&change, &taken_back),
            Ok(None) => return build_failure(&format!("{name} is no request of a workspace")),
            Err(fault) => return build_failure(&format!("the request cannot be read: {fault}")),
        };
        match resolved {
            Ok(order) => self.to_itself(&order),
            Err(outcome) => self.reply_with(&outcome),
        }
    }

    /// An order goes to the workspace itself, so that the pump records it and can hold it.
    fn to_itself(&self, order: &ApplyOrder) -> ReplyContent {
        let Some(payload) = order.to_payload() else { return build_failure("its order cannot be written") };
        if payload.bytes().len() > limits::TEXT_BYTES {
            let reason = format!(
                "the change set comes to {} bytes, and {} can be shown for an approval; split it",
                payload.bytes().len(),
                limits::TEXT_BYTES
            );
            return self
                .reply_with(&ChangeOutcome::new(&order.change, OutcomeKind::Refused).with_reason(reason));
        }
        let to = Some(self.spec.name.clone());
        ReplyContent::Items(vec![Item { to, ..Item::plain(payload) }])
    }

    /// Carries out an order, if it comes from the workspace itself.
    fn carried_out(
        &self,
        asked: &Delivered,
        is_cancelled: &AtomicBool,
        progress: &dyn Fn(&str),
    ) -> ReplyContent {
        let order = ApplyOrder::from_payload(&asked.payload);
        let change =
            order.as_ref().map_or_else(|| change_id(&asked.thread, &asked.stamp.call), |o| o.change.clone());
        let refused = |reason: &str| {
            self.reply_with(&ChangeOutcome::new(&change, OutcomeKind::Refused).with_reason(reason))
        };
        if asked.from != self.spec.name {
            return refused(
                "only the workspace itself sends <apply>; send <change-set> or one of its elements",
            );
        }
        let Some(order) = order else { return refused("the <apply> cannot be read: it was changed") };
        match self.apply(&order, &asked.thread, is_cancelled, progress) {
            Ok(payload) => ReplyContent::Items(vec![Item::plain(payload)]),
            Err(reason) => build_failure(&reason),
        }
    }

    /// The result of the order, for the one who asked for the change.
    fn passed_on(&self, change: &str, answers: &Answers) -> ReplyContent {
        let answer = answers.items.first().and_then(|item| item.payload.as_ref());
        let is_result = |payload: &&Payload| {
            &*payload.name().ns == namespaces::WORKSPACE && &*payload.name().local == "change-result"
        };
        if let Some(result) = answer.filter(is_result) {
            return ReplyContent::Items(vec![Item::plain(result.clone())]);
        }
        let field = |name: &str| {
            answer.and_then(|answer| answer.find_attribute(name)).filter(|text| !text.is_empty())
        };
        let reason = match (field("code"), field("message")) {
            (Some(code), Some(message)) => format!("{code}: {message}"),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => "there is no answer to the order".to_owned(),
        };
        match self.journal.read_result(change) {
            Ok(Some(bytes)) => match Payload::from_trusted(bytes.into()) {
                Ok(payload) => ReplyContent::Items(vec![Item::plain(payload)]),
                Err(fault) => build_failure(&format!("the journal is damaged: {fault}")),
            },
            Ok(None) => match self.find_outcome(change, &reason) {
                Ok(outcome) => self.reply_with(&outcome),
                Err(error) => build_failure(&format!("the journal cannot be read: {error}")),
            },
            Err(error) => build_failure(&format!("the journal cannot be read: {error}")),
        }
    }

    /// A result as a reply. If files were left that could not be taken back, it says so.
    fn reply_with(&self, outcome: &ChangeOutcome) -> ReplyContent {
        match self.result_payload(outcome) {
            Ok(payload) => ReplyContent::Items(vec![Item::plain(payload)]),
            Err(reason) => build_failure(&reason),
        }
    }

    /// The payload of a result, with a report of files that were left.
    pub(crate) fn result_payload(&self, outcome: &ChangeOutcome) -> Result<Payload, String> {
        let mut outcome = outcome.clone();
        if self.has_left.swap(false, Ordering::Relaxed) {
            let told = |error: std::io::Error| format!("the journal cannot be read: {error}");
            for (stage, record) in self.journal.list_unsettled().map_err(told)? {
                if stage == ChangeStage::Left {
                    let report = self.journal.read_report(&record.change).map_err(told)?;
                    let earlier = format!("of the change {}, which was broken off: {report}", record.change);
                    let reason =
                        outcome.reason.take().map_or(earlier.clone(), |own| format!("{own}\n{earlier}"));
                    outcome.reason = Some(reason);
                    self.journal
                        .advance_stage(&record.change, ChangeStage::Left, ChangeStage::LeftReported)
                        .map_err(told)?;
                }
            }
        }
        outcome.to_payload().ok_or_else(|| "its result cannot be written".to_owned())
    }

    /// Notes that files were left.
    pub(crate) fn note_left(&self) {
        self.has_left.store(true, Ordering::Relaxed);
    }
}

fn build_failure(words: &str) -> ReplyContent {
    ReplyContent::new_failure("workspace.failed", false, words)
}
