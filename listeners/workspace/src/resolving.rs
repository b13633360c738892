//! From a request to an order, or to a refusal of each element that does not fit.
//!
//! Elements come in; an order goes out that says everything that will happen, and whether a person must see it.

use std::collections::BTreeSet;

use systole_folder::WorkBound;

use crate::command::pattern::is_listed;
use crate::disk::journal::ChangeStage;
use crate::fault::{self, ElementFault};
use crate::hash::hash_bytes;
use crate::order::{ApplyOrder, OrderedCommand, OrderedEdit, SESSION_FOLDER};
use crate::outcome::{ChangeOutcome, ElementResult, OutcomeKind};
use crate::request::{AskedCommand, AskedFor, FileAction, SetElement};
use crate::resolve::plan::{EditFit, EditPlan};
use crate::text::pieces::find_pieces;
use crate::workspace::Workspace;

impl Workspace {
    /// Makes absolute paths below the root, or below the folder as agents know it, paths from the root.
    pub(crate) fn make_relative(&self, elements: &mut [SetElement]) {
        let named = self.spec.root.to_str().filter(|root| root.starts_with('/'));
        let bases: Vec<&str> =
            [self.spec.seen_as.as_deref(), self.root_path.to_str(), named].into_iter().flatten().collect();
        let relate = |path: &mut String| {
            let found = bases.iter().find_map(|base| find_relative(base, path));
            *path = found.unwrap_or_else(|| std::mem::take(path));
        };
        for element in elements {
            match &mut element.asked {
                Ok(AskedFor::Edits(edits)) => edits.iter_mut().for_each(|edit| {
                    relate(&mut edit.path);
                    if let FileAction::Hunks { moved_to: Some(to), .. } = &mut edit.action {
                        relate(to);
                    }
                }),
                Ok(AskedFor::Command(asked)) => asked.folder.iter_mut().for_each(relate),
                Ok(AskedFor::Title(_)) | Err(_) => {}
            }
        }
    }

    /// Works out a change set.
    pub(crate) fn resolve_set(
        &self,
        change: &str,
        thread: &str,
        elements: &[SetElement],
        bound: WorkBound<'_>,
    ) -> Result<ApplyOrder, ChangeOutcome> {
        let mut order = ApplyOrder {
            change: change.to_owned(),
            elements: elements.iter().map(|element| element.name.clone()).collect(),
            ..ApplyOrder::default()
        };
        let mut plan = EditPlan::new(&self.root, bound);
        let mut is_marked = false;
        let mut results = Vec::new();
        // Edits come first, whatever the order of elements is, so commands can be in folders that edits make.
        for (of, element) in (1..).zip(elements) {
            let fit = match &element.asked {
                Err(fault) => Err(fault.clone()),
                Ok(AskedFor::Edits(edits)) => edits.iter().try_fold(EditFit::Fits, |fit, edit| {
                    let own = plan.add_edit(of, edit)?;
                    Ok(if fit == EditFit::Fits { own } else { fit })
                }),
                Ok(AskedFor::Command(_)) => Ok(EditFit::Fits),
                Ok(AskedFor::Title(title)) => {
                    order.summary = Some(title.clone());
                    Ok(EditFit::Fits)
                }
            };
            results.push(fit);
        }
        let mut sessions = BTreeSet::new();
        for (of, (element, result)) in (1..).zip(elements.iter().zip(&mut results)) {
            if let Ok(AskedFor::Command(asked)) = &element.asked {
                is_marked |= asked.is_marked;
                match self.order_command(of, thread, asked, &plan.edits, &mut sessions) {
                    Ok(command) => order.commands.push(command),
                    Err(fault) => *result = Err(fault),
                }
            }
        }
        order.edits = plan.edits;
        order.is_dangerous = is_marked || self.needs_approval(&order, thread);
        if results.iter().any(Result::is_err) {
            return Err(build_refusal(change, elements, &results));
        }
        if order.edits.is_empty() && order.commands.is_empty() {
            let outcome = ChangeOutcome::new(change, OutcomeKind::Refused);
            return Err(outcome.with_reason("the change set has no edit and no command"));
        }
        Ok(order)
    }

    /// Whether a person must see an order before it is carried out.
    pub(crate) fn needs_approval(&self, order: &ApplyOrder, thread: &str) -> bool {
        let is_plain = |command: &OrderedCommand| {
            // What a session keeps can make a plain word mean something else.
            let kept = command.session.as_ref().map(|name| self.sessions.read_variables(thread, name));
            let is_free = kept.is_none_or(|kept| kept.is_ok_and(|kept| kept.is_empty()));
            !command.is_install && is_free && is_listed(&command.text, &self.spec.shell)
        };
        order.edits.iter().any(|edit| self.ask.is_match(&edit.path)) || !order.commands.iter().all(is_plain)
    }

    fn order_command(
        &self,
        of: usize,
        thread: &str,
        asked: &AskedCommand,
        edits: &[OrderedEdit],
        sessions: &mut BTreeSet<String>,
    ) -> Result<OrderedCommand, ElementFault> {
        let is_followed = asked.session.as_ref().is_some_and(|name| !sessions.insert(name.clone()));
        let folder = match (&asked.folder, &asked.session) {
            (Some(named), _) => self.find_folder(named, edits)?,
            (None, Some(_)) if is_followed => SESSION_FOLDER.to_owned(),
            (None, Some(name)) => self
                .sessions
                .is_in(&self.root, &self.root_path, thread, name)
                .unwrap_or_else(|| ".".to_owned()),
            (None, None) => ".".to_owned(),
        };
        let variables = match &asked.session {
            Some(name) if !is_followed => {
                let kept = self.sessions.read_variables(thread, name);
                kept.map_err(|why| ElementFault::new(fault::BAD_SESSION, why))?
            }
            _ => String::new(),
        };
        Ok(OrderedCommand {
            of,
            text: asked.text.clone(),
            folder,
            session: asked.session.clone(),
            variables: (!variables.is_empty()).then_some(variables),
            is_install: asked.is_install,
        })
    }

    /// The folder of a command, from the root and without links.
    fn find_folder(&self, named: &str, edits: &[OrderedEdit]) -> Result<String, ElementFault> {
        let path = self.root.find_place(named)?;
        let path = if path.is_empty() { ".".to_owned() } else { path };
        let is_made = edits.iter().any(|edit| {
            let below = edit.path.strip_prefix(&path).is_some_and(|rest| rest.starts_with('/'));
            below && edit.after.is_some()
        });
        if path == SESSION_FOLDER || (self.root.open_folder(&path).is_err() && !is_made) {
            let message = format!("there is no folder '{named}'; name one from the workspace's folder");
            return Err(ElementFault::new(fault::BAD_FOLDER, message));
        }
        Ok(path)
    }

    /// Works out how a change set is taken back.
    pub(crate) fn resolve_undo(&self, change: &str, taken_back: &str) -> Result<ApplyOrder, ChangeOutcome> {
        let refused = |fault: &ElementFault| {
            let mut outcome = ChangeOutcome::new(change, OutcomeKind::Refused);
            outcome.results.push(ElementResult::from_refusal("undo", fault));
            outcome
        };
        let edits = self.reverse_change(taken_back).map_err(|fault| refused(&fault))?;
        let mut order = ApplyOrder {
            change: change.to_owned(),
            summary: Some(format!("undo {taken_back}")),
            elements: vec!["undo".to_owned()],
            is_dangerous: false,
            edits: edits.1,
            commands: Vec::new(),
        };
        order.is_dangerous = edits.0 || self.needs_approval(&order, "");
        Ok(order)
    }

    /// Whether a change set was dangerous, and the edits that take it back.
    fn reverse_change(&self, change: &str) -> Result<(bool, Vec<OrderedEdit>), ElementFault> {
        let no_undo = |message: String| ElementFault::new(fault::NO_UNDO, message);
        let found = self.journal.find_change(change);
        let found = found.map_err(|error| no_undo(format!("the journal cannot be read: {error}")))?;
        let Some((ChangeStage::Complete | ChangeStage::Closing, record)) = found else {
            return Err(no_undo(format!(
                "no complete change '{change}' is kept; name the change of a result"
            )));
        };
        if record.files.is_empty() {
            return Err(no_undo(format!("the change '{change}' has no edits; what commands did stays")));
        }
        let mut edits = Vec::new();
        let mut changed = Vec::new();
        for (number, file) in record.files.iter().enumerate() {
            let now = self.root.read_file(&file.path).ok().map(|file| file.bytes);
            if now.as_deref().map(hash_bytes) != file.after {
                changed.push(format!("'{}'", file.path));
                continue;
            }
            let before = match file.before {
                Some(_) => {
                    Some(std::fs::read(self.journal.backup_path(change, number)).map_err(|error| {
                        no_undo(format!("what '{}' held before cannot be read: {error}", file.path))
                    })?)
                }
                None => None,
            };
            let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
            edits.push(OrderedEdit {
                of: 1,
                path: file.path.clone(),
                before: file.after.clone(),
                after: file.before.clone(),
                is_executable: file.mode & 0o111 != 0,
                repaired: None,
                pieces: find_pieces(&text(now.as_deref()), &text(before.as_deref())),
            });
        }
        if changed.is_empty() {
            return Ok((record.is_dangerous, edits));
        }
        Err(no_undo(format!("{} changed after '{change}', so it is not taken back", changed.join(", "))))
    }
}

/// An absolute path below that folder, as a path from it.
fn find_relative(base: &str, path: &str) -> Option<String> {
    let rest = path.strip_prefix(base.trim_end_matches('/'))?;
    let inside = rest.trim_start_matches('/');
    match (rest.is_empty() || inside.is_empty(), rest.starts_with('/')) {
        (true, _) => Some(".".to_owned()),
        (false, true) => Some(inside.to_owned()),
        (false, false) => None,
    }
}

/// The refusal of a change set: what is wrong with each element, and nothing was done.
fn build_refusal(
    change: &str,
    elements: &[SetElement],
    results: &[Result<EditFit, ElementFault>],
) -> ChangeOutcome {
    let mut outcome = ChangeOutcome::new(change, OutcomeKind::Refused);
    outcome.reason =
        Some("an element does not fit, so nothing was changed and no command was run".to_owned());
    for (element, result) in elements.iter().zip(results) {
        outcome.results.push(match result {
            Err(fault) => ElementResult::from_refusal(&element.name, fault),
            Ok(EditFit::Fits) => ElementResult::new(&element.name, OutcomeKind::NotRun, "it fits"),
            Ok(EditFit::NotTried) => {
                let text = "not tried: an earlier edit of its file does not fit";
                ElementResult::new(&element.name, OutcomeKind::NotRun, text)
            }
        });
    }
    outcome
}
