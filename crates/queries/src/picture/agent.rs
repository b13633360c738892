//! The picture of an agent's work: a line for each call that its turns sent, with the turn's number, and one for what it
//! does now or how it ended. An agent or a child thread that it called has its own lines below.
//!
//! A tree, its waits and its costs come in; rows go out. Notes, timers and waits are not shown: the tree has them.

use std::collections::BTreeMap;

use super::rows::{StepKind, StepRow, StepState, urgent};
use crate::costs::CostRow;
use crate::first_cause::FirstCause;
use crate::glance::SystemError;
use crate::limits;
use crate::tree::{CallEndKind, CallNode, ItemOutcome, ThreadTree};
use crate::why::ThreadWaits;
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::time::Millis;
use systole_show::columns::{cut_always, plain};

/// The item that asks a person.
const ASKS: &str = "ask-person";

/// What the rows are read from.
pub(super) struct AgentReading<'a> {
    pub(super) waits: &'a ThreadWaits,
    pub(super) costs: &'a BTreeMap<ThreadId, CostRow>,
    /// Whether the listener of that name is an agent.
    pub(super) is_agent: &'a dyn Fn(&Name) -> bool,
}

impl AgentReading<'_> {
    /// The rows of one agent's call.
    pub(super) fn rows(&self, tree: &ThreadTree, path: &CallPath, call: &CallNode) -> Vec<StepRow> {
        let mut rows = Vec::new();
        for ((turn, ordinal), item) in &call.items {
            match item {
                ItemOutcome::Call => {
                    let path = path.append_item(*turn, *ordinal);
                    rows.extend(tree.calls.get(&path).map(|sent| self.call_row(tree, &path, sent, *turn)));
                }
                ItemOutcome::Takers { calls, .. } => {
                    let sent = calls.iter().filter_map(|path| Some((path, tree.calls.get(path)?)));
                    rows.extend(sent.map(|(path, sent)| self.call_row(tree, path, sent, *turn)));
                }
                ItemOutcome::Refused { code, words } => rows.push(StepRow {
                    state: StepState::Failed,
                    output: Some(cut_always(&cause_line(code, words), limits::OUTPUT_COLUMNS)),
                    ..row(format!("{turn} item"), StepKind::Call)
                }),
                ItemOutcome::Primitive { element, is_answered, told } => match &told.child {
                    Some(child) => rows.extend(self.child_row(tree, child, *turn)),
                    None if *element == ASKS => rows.push(StepRow {
                        state: self.open_or(*is_answered, tree, path, StepState::WaitsForPerson),
                        ..row(format!("{turn} {element}"), StepKind::Question)
                    }),
                    None => {}
                },
                ItemOutcome::Note { .. } | ItemOutcome::Steers => {}
            }
        }
        rows.extend(self.last_row(tree, path, call, &rows));
        rows
    }

    /// How the call ended, or what it does now.
    fn last_row(
        &self,
        tree: &ThreadTree,
        path: &CallPath,
        call: &CallNode,
        rows: &[StepRow],
    ) -> Option<StepRow> {
        let turn = call.turn.max(1);
        let Some(ended) = &call.ended else {
            let state = self.open_or(false, tree, path, StepState::Running);
            let is_told = urgent(rows).is_some();
            return (!is_told).then(|| StepRow { state, ..row(format!("{turn} thinks"), StepKind::Call) });
        };
        let (name, state, output) = end_of(&ended.way);
        Some(StepRow { state, output, ..row(format!("{turn} {name}"), StepKind::Call) })
    }

    fn call_row(&self, tree: &ThreadTree, path: &CallPath, call: &CallNode, turn: u32) -> StepRow {
        let is_agent = (self.is_agent)(&call.listener);
        let steps = if is_agent { self.rows(tree, path, call) } else { Vec::new() };
        let (state, output) = match &call.ended {
            Some(ended) => {
                let (_, state, output) = end_of(&ended.way);
                // What an agent answered is on its own last line.
                (state, output.filter(|_| !is_agent))
            }
            None => {
                (urgent(&steps).unwrap_or_else(|| self.open_or(false, tree, path, StepState::Running)), None)
            }
        };
        let who = [Some(call.listener.to_string()), call.approval.clone()];
        StepRow {
            state,
            who: who.into_iter().flatten().collect(),
            tries: usize::try_from(call.retries).unwrap_or(0) + 1,
            started: Some(call.opened),
            ended: call.ended.as_ref().map(|ended| ended.at).or(stop_of(tree)),
            output,
            leads_to: Some((tree.thread.clone(), Some(call.seq))),
            steps,
            ..row(format!("{turn} {}", plain(&call.request.element)), StepKind::Call)
        }
    }

    /// A thread that it spawned.
    fn child_row(&self, tree: &ThreadTree, id: &ThreadId, turn: u32) -> Option<StepRow> {
        let child = tree.children.get(id)?;
        let (path, top) = child.tops().into_iter().next()?;
        let mut used = CostRow::default();
        for (_, row) in self.costs.iter().filter(|(thread, _)| thread.is_within(id)) {
            used.join(row);
        }
        let row = self.call_row(child, path, top, turn);
        Some(StepRow { used, leads_to: Some((id.clone(), None)), ..row })
    }

    /// The state of something that has not ended, if it has not.
    fn open_or(&self, is_over: bool, tree: &ThreadTree, path: &CallPath, otherwise: StepState) -> StepState {
        if is_over {
            return StepState::Done;
        }
        if tree.ended_by.is_some() {
            return StepState::Stopped;
        }
        if self.waits.paused.is_some() {
            return StepState::Paused;
        }
        match self.waits.find(&tree.thread, path) {
            Some(reason) if reason.cause.is_up_to_a_person() => StepState::WaitsForPerson,
            _ => otherwise,
        }
    }
}

/// When a thread was ended with everything that was open.
fn stop_of(tree: &ThreadTree) -> Option<Millis> {
    tree.ended_by.as_ref().map(|(at, _)| *at)
}

/// How a call ended: in a word, as a state, and in its own words.
fn end_of(way: &CallEndKind) -> (String, StepState, Option<String>) {
    match way {
        CallEndKind::Answered { element, words } | CallEndKind::Reported { element, words } => {
            let is_failed = matches!(way, CallEndKind::Reported { .. });
            let state = if is_failed { StepState::Failed } else { StepState::Done };
            (plain(element), state, Some(words.clone()).filter(|words| !words.is_empty()))
        }
        CallEndKind::Handled => ("handled".to_owned(), StepState::Done, None),
        CallEndKind::Failed { code, words } => (
            "answer".to_owned(),
            StepState::Failed,
            Some(cut_always(&cause_line(code, words), limits::OUTPUT_COLUMNS)),
        ),
    }
}

/// The first cause of a failure on one line.
fn cause_line(code: &str, words: &str) -> String {
    let (code, message) = (code.to_owned(), words.to_owned());
    FirstCause::of(&SystemError { code, message, ..SystemError::default() }).line()
}

/// A row with nothing but its name.
fn row(id: String, kind: StepKind) -> StepRow {
    StepRow {
        id,
        kind,
        state: StepState::NotYet,
        who: Vec::new(),
        pass: None,
        count: None,
        tries: 1,
        started: None,
        ended: None,
        used: CostRow::default(),
        output: None,
        leads_to: None,
        steps: Vec::new(),
    }
}
