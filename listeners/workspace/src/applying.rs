//! Carrying out an order: the edits all or none, then the commands one by one.
//!
//! An order comes in; its result goes out and is kept, so that the same order is never carried out twice.

use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use systole_folder::WorkBound;
use systole_kit::Payload;
use tokio::time::Instant;

use crate::command::run::{CommandBound, CommandEnd, HowEnded, run_command};
use crate::command::scan::FolderScan;
use crate::command::session::{OpenSession, build_words};
use crate::disk::journal::{ChangeRecord, ChangeStage};
use crate::disk::writing::{build_record, write_all};
use crate::fault::ElementFault;
use crate::limits;
use crate::order::{ApplyOrder, OrderedCommand, SESSION_FOLDER};
use crate::outcome::{ChangeOutcome, ElementResult, OutcomeKind};
use crate::resolve::realize::list_changes;
use crate::spec::{CommandOrder, PreparedCommand};
use crate::workspace::Workspace;

impl Workspace {
    /// Carries out an order. An error is a failure of the journal, of which nothing is known.
    pub(crate) fn apply(
        &self,
        order: &ApplyOrder,
        thread: &str,
        is_cancelled: &AtomicBool,
        progress: &dyn Fn(&str),
    ) -> Result<Payload, String> {
        let told = |error: std::io::Error| format!("the journal cannot be used: {error}");
        let deadline = Instant::now() + Duration::from_millis(self.spec.time_ms);
        let bound = CommandBound { deadline, is_cancelled, progress };
        let Some(_turn) = self.gate.enter(is_cancelled, deadline) else {
            let why = match is_cancelled.load(Ordering::Relaxed) {
                true => "cancelled before it began",
                false => "another change set worked all the time that this one had; send it again",
            };
            let outcome = ChangeOutcome::new(&order.change, OutcomeKind::Refused);
            return self.result_payload(&outcome.with_reason(why));
        };
        let found = self.journal.find_change(&order.change).map_err(told)?;
        let is_other = |record: &ChangeRecord| record.order != order.hash();
        if found.as_ref().is_some_and(|(stage, record)| *stage != ChangeStage::RolledBack && is_other(record))
        {
            let outcome = ChangeOutcome::new(&order.change, OutcomeKind::Refused);
            return self
                .result_payload(&outcome.with_reason("this change was carried out before by another order"));
        }
        if let Some(bytes) = self.journal.read_result(&order.change).map_err(told)? {
            return Payload::from_trusted(bytes.into())
                .map_err(|fault| format!("the journal is damaged: {fault}"));
        }
        let outcome = match found {
            None | Some((ChangeStage::RolledBack, _)) => self.apply_edits(order, thread, &bound),
            // An earlier attempt wrote the edits and began no command.
            Some((ChangeStage::Complete | ChangeStage::Closing, _))
                if self.journal.last_begun(&order.change).map_err(told)?.is_none() =>
            {
                self.run_commands(order, thread, None, &bound)
            }
            Some(_) => {
                let known =
                    self.find_outcome(&order.change, "an earlier attempt was broken off").map_err(told)?;
                return self.result_payload(&known);
            }
        };
        let payload = self.result_payload(&outcome)?;
        if outcome.outcome != OutcomeKind::Refused {
            self.journal.put_result(&order.change, payload.bytes()).map_err(told)?;
            self.journal.prune_settled().map_err(told)?;
        }
        Ok(payload)
    }

    fn apply_edits(&self, order: &ApplyOrder, thread: &str, bound: &CommandBound<'_>) -> ChangeOutcome {
        let refused = |of: Option<usize>, fault: &ElementFault| {
            let mut outcome = ChangeOutcome::new(&order.change, OutcomeKind::Refused);
            outcome.reason = Some(fault.message.clone());
            outcome.results = (1..)
                .zip(&order.elements)
                .map(|(number, name)| match of {
                    Some(of) if of == number => ElementResult::from_refusal(name, fault),
                    _ => ElementResult::new(name, OutcomeKind::NotRun, ""),
                })
                .collect();
            outcome
        };
        if !order.is_dangerous && self.needs_approval(order, thread) {
            let outcome = ChangeOutcome::new(&order.change, OutcomeKind::Refused);
            return outcome
                .with_reason("the order needs an approval now, and had none; send the request again");
        }
        if let Some(reason) = self.other_variables(order, thread) {
            return ChangeOutcome::new(&order.change, OutcomeKind::Refused).with_reason(reason);
        }
        let changes = match list_changes(&self.root, &order.edits) {
            Ok(changes) => changes,
            Err((of, fault)) => return refused(Some(of), &fault),
        };
        let record = build_record(&self.root, order, &changes);
        match write_all(&self.root, &self.journal, &record, &changes) {
            Ok(note) => self.run_commands(order, thread, note, bound),
            Err(fault) => {
                // What was left is in the journal, if anything was.
                let is_left = matches!(
                    self.journal.find_change(&order.change),
                    Ok(Some((ChangeStage::Left, _))) | Err(_)
                );
                if is_left {
                    self.note_left();
                }
                refused(None, &fault)
            }
        }
    }

    /// Runs the commands, after the edits stand.
    fn run_commands(
        &self,
        order: &ApplyOrder,
        thread: &str,
        note: Option<String>,
        bound: &CommandBound<'_>,
    ) -> ChangeOutcome {
        let mut outcome = ChangeOutcome::new(&order.change, OutcomeKind::Done);
        outcome.reason = note;
        outcome.results = edit_results(order);
        let mut scan = (!order.commands.is_empty()).then(|| self.scan_folder(bound.is_cancelled));
        for command in &order.commands {
            let Some(name) = command.of.checked_sub(1).and_then(|at| order.elements.get(at)) else {
                continue;
            };
            if outcome.outcome != OutcomeKind::Done {
                break;
            }
            (bound.progress)(&format!("runs the command of element {}", command.of));
            let mut result = match self.run_command(order, command, thread, bound) {
                Ok(end) => build_result(name, &end),
                Err(reason) => ElementResult::new(name, OutcomeKind::Failed, reason),
            };
            let later = self.scan_folder(bound.is_cancelled);
            if let Some(earlier) = scan.replace(later.clone()) {
                note_changes(&mut outcome, &mut result, &earlier, &later, command.of);
            }
            if result.outcome != OutcomeKind::Done {
                outcome.outcome = OutcomeKind::Failed;
            }
            if let Some(place) = command.of.checked_sub(1).and_then(|at| outcome.results.get_mut(at)) {
                *place = result;
            }
        }
        outcome
    }

    fn run_command(
        &self,
        order: &ApplyOrder,
        command: &OrderedCommand,
        thread: &str,
        bound: &CommandBound<'_>,
    ) -> Result<CommandEnd, String> {
        if bound.is_cancelled.load(Ordering::Relaxed) {
            return Err("cancelled before it began".to_owned());
        }
        if Instant::now() >= bound.deadline {
            return Err("the time of the change set was over before it began".to_owned());
        }
        let session = match &command.session {
            Some(name) => Some(self.open_session(order, command, thread, name)?),
            None => None,
        };
        let at = if command.folder == SESSION_FOLDER {
            let name = command.session.as_deref().unwrap_or_default();
            self.sessions.is_in(&self.root, &self.root_path, thread, name).unwrap_or_else(|| ".".to_owned())
        } else {
            command.folder.clone()
        };
        let is_there =
            self.root.find_place(&at).is_ok_and(|real| real == at || (real.is_empty() && at == "."));
        if !is_there || self.root.open_folder(&at).is_err() {
            return Err(format!("its folder '{at}' is not there any more, or is a link"));
        }
        let folder = if at == "." { self.root_path.clone() } else { self.root_path.join(&at) };
        let words = build_words(&command.text, session.as_ref());
        let own = session.as_ref().map(|session| session.folder.as_path());
        let started = CommandOrder { words: &words, folder: &folder, session: own };
        let PreparedCommand { command: process, kept } = self.start.command(&started)?;
        let noted = self.journal.begin_command(&order.change, command.of);
        noted.map_err(|error| format!("the journal cannot be written: {error}"))?;
        let ended = run_command(process, bound).map_err(|error| format!("it cannot be run: {error}"));
        drop(kept);
        ended
    }

    /// Why an order cannot be carried out as it was shown: a session keeps other variables by now.
    fn other_variables(&self, order: &ApplyOrder, thread: &str) -> Option<String> {
        let mut seen = BTreeSet::new();
        let first = order.commands.iter().filter_map(|command| Some((command.session.as_ref()?, command)));
        let mut first = first.filter(|(name, _)| seen.insert((*name).clone()));
        let other = first.find(|(name, command)| {
            let kept = self.sessions.read_variables(thread, name);
            kept.as_deref() != Ok(command.variables.as_deref().unwrap_or_default())
        });
        other.map(|(name, _)| {
            format!("the session '{name}' keeps other variables than the order shows; send the request again")
        })
    }

    /// The session of a command. It begins with the variables that the order shows, or with those that an earlier
    /// command of the same order left.
    fn open_session(
        &self,
        order: &ApplyOrder,
        command: &OrderedCommand,
        thread: &str,
        name: &str,
    ) -> Result<OpenSession, String> {
        let folder = self.sessions.make_folder(thread, name);
        let folder = folder.map_err(|error| format!("its session cannot be kept: {error}"))?;
        let first = order.commands.iter().find(|one| one.session.as_deref() == Some(name));
        let is_followed = first.is_some_and(|first| first.of != command.of);
        let variables = match is_followed {
            true => self.sessions.read_variables(thread, name).map_err(str::to_owned)?,
            false => command.variables.clone().unwrap_or_default(),
        };
        Ok(OpenSession { folder, variables })
    }

    fn scan_folder(&self, is_cancelled: &AtomicBool) -> FolderScan {
        let bound = WorkBound { deadline: Instant::now() + limits::SCAN_TIME, is_cancelled };
        let mut kept = self.scan.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = FolderScan::look(&self.root, &kept, bound);
        kept.clone()
    }

    /// What the journal knows about a change set of which no result is kept.
    pub(crate) fn find_outcome(&self, change: &str, reason: &str) -> std::io::Result<ChangeOutcome> {
        let (stage, record) = match self.journal.find_change(change)? {
            None | Some((ChangeStage::RolledBack, _)) => {
                let outcome = ChangeOutcome::new(change, OutcomeKind::Refused);
                return Ok(
                    outcome.with_reason(format!("nothing was changed and no command was run: {reason}"))
                );
            }
            Some(found) => found,
        };
        if !matches!(stage, ChangeStage::Complete | ChangeStage::Closing) {
            let outcome = ChangeOutcome::new(change, OutcomeKind::Unknown);
            return Ok(outcome.with_reason(format!(
                "the edits were broken off, and not all could be taken back: {reason}"
            )));
        }
        let begun = self.journal.last_begun(change)?;
        Ok(without_result(&record, begun, reason))
    }
}

/// The outcome of a change set whose edits stand, if nothing is known about how its commands ended.
fn without_result(record: &ChangeRecord, begun: Option<usize>, reason: &str) -> ChangeOutcome {
    let result = |(of, (name, edited)): (usize, (&String, &Option<String>))| match (edited, begun) {
        (Some(edited), _) => ElementResult::new(name, OutcomeKind::Done, edited.clone()),
        (None, _) if name == TITLE => ElementResult::new(name, OutcomeKind::Done, ""),
        (None, Some(begun)) if of < begun => {
            ElementResult::new(name, OutcomeKind::Done, "its output is lost")
        }
        (None, Some(begun)) if of == begun => ElementResult::new(name, OutcomeKind::Unknown, "it was begun"),
        (None, _) => ElementResult::new(name, OutcomeKind::NotRun, ""),
    };
    let results: Vec<ElementResult> =
        (1..).zip(record.elements.iter().zip(&record.edited)).map(result).collect();
    let (outcome, words) = match begun {
        Some(_) => {
            (OutcomeKind::Unknown, format!("the edits stand; it is not known what the command did: {reason}"))
        }
        None if results.iter().any(|result| result.outcome == OutcomeKind::NotRun) => {
            (OutcomeKind::Failed, format!("the edits stand; no command was begun: {reason}"))
        }
        None => (OutcomeKind::Done, format!("the edits stand: {reason}")),
    };
    ChangeOutcome { results, ..ChangeOutcome::new(&record.change, outcome) }.with_reason(words)
}

/// The element that only names the set.
const TITLE: &str = "proposed_actions";

/// The results of all elements before any command runs.
fn edit_results(order: &ApplyOrder) -> Vec<ElementResult> {
    let result = |(of, name): (usize, &String)| {
        let own: Vec<String> = order
            .edits
            .iter()
            .filter(|edit| edit.of == of)
            .map(|edit| {
                let repaired = edit.repaired.as_ref();
                let repaired =
                    repaired.map_or(String::new(), |what| format!(", fitted although {what} differed"));
                let hash = edit.after.as_ref().map_or(String::new(), |after| format!(", sha256 {after}"));
                format!("{} {}{repaired}{hash}", edit.kind(), edit.path)
            })
            .collect();
        if order.commands.iter().any(|command| command.of == of) {
            return ElementResult::new(name, OutcomeKind::NotRun, "");
        }
        ElementResult::new(name, OutcomeKind::Done, own.join("\n"))
    };
    (1..).zip(&order.elements).map(result).collect()
}

fn build_result(name: &str, end: &CommandEnd) -> ElementResult {
    let is_done = end.how == HowEnded::Exit(0);
    let mut text = end.output.clone();
    let asks = text.lines().last().is_some_and(|last| last.trim_end().ends_with(['?', ':', ']', '>']));
    if !is_done && asks && !text.ends_with('\n') {
        text.push_str("\n[it may have waited for input: a command has none]");
    }
    match end.how {
        HowEnded::TimedOut => text.push_str("\n[ended: its time limit was over]"),
        HowEnded::Cancelled => text.push_str("\n[ended: cancelled]"),
        HowEnded::Exit(_) | HowEnded::Signal(_) => {}
    }
    let outcome = if is_done { OutcomeKind::Done } else { OutcomeKind::Failed };
    ElementResult { exit: Some(end.how.word()), ..ElementResult::new(name, outcome, text) }
}

fn note_changes(
    outcome: &mut ChangeOutcome,
    result: &mut ElementResult,
    earlier: &FolderScan,
    later: &FolderScan,
    of: usize,
) {
    let (changed, is_cut) = earlier.find_changes(later, of);
    let room = limits::CHANGED.saturating_sub(outcome.changed.len());
    let is_cut = is_cut || changed.len() > room || earlier.is_partial || later.is_partial;
    outcome.changed.extend(changed.into_iter().take(room));
    if is_cut {
        result.text.push_str("\n[the folder is large: not all files that changed are listed]");
    }
    let hooks = earlier.changed_hooks(later);
    if !hooks.is_empty() {
        result.text.push_str(&format!("\n[the command changed {}]", hooks.join(", ")));
    }
}
