//! Reads the picture of a run: each declared step is matched with what the notes of the run started and decided, in the
//! run's thread and in the threads of its branches.
//!
//! A tree, its waits and the runs of a log come in; rows go out. A configuration that cannot be read is reported, so
//! that the caller can show the tree instead.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use serde_json::Value;
use systole_kit::DocumentLimits;
use systole_kit::gate::{GateStep, XmlGate};

use super::agent::AgentReading;
use super::rows::{DeclaredStep, PartCount, RunKind, RunPicture, StepKind, StepRow, StepState, rank, urgent};
use crate::costs::{self, CostRow, join_rows};
use crate::first_cause::FirstCause;
use crate::glance::{SystemError, glance};
use crate::limits::OUTPUT_COLUMNS;
use crate::log_state::LogState;
use crate::runs::{Key, Notes, Started, WorkflowRuns};
use crate::tree::{CallEndKind, CallNode, ThreadTree};
use crate::why::ThreadWaits;
use systole_core::rules::question;
use systole_core::types::composition::ListenerSection;
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_show::columns::{cut_always, plain};

/// What is started beside a step, before its name.
const BESIDE: [&str; 4] = ["commit:", "assess:", "verdict:", "ask:"];

/// Reads the steps that a section declares.
pub type ReadSteps<'a> = &'a dyn Fn(&ListenerSection) -> Option<Vec<DeclaredStep>>;

/// What a picture is read from.
pub struct Look<'a> {
    /// The log.
    pub reader: &'a dyn LogReader,
    /// Its state.
    pub whole: &'a LogState,
    /// Its runs.
    pub runs: &'a WorkflowRuns<'a>,
    /// Reads the steps that a section declares.
    pub declared: ReadSteps<'a>,
}

/// What there is to show of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pictured {
    /// The run of a workflow or of an agent.
    Run(Box<RunPicture>),
    /// Neither runs in it.
    Nothing,
    /// Its configuration cannot be read.
    Unread(String),
}

impl Pictured {
    /// The picture for programs; null if there is none.
    pub fn as_json(&self) -> Value {
        match self {
            Pictured::Run(run) => run.as_json(),
            Pictured::Nothing | Pictured::Unread(_) => Value::Null,
        }
    }
}

/// Reads the newest run of a thread.
pub fn read(look: &Look<'_>, tree: &ThreadTree, waits: &ThreadWaits) -> Result<Pictured, LogFault> {
    let Some((path, call)) = tree.tops().into_iter().next_back() else { return Ok(Pictured::Nothing) };
    let first = look.reader.of_thread(&tree.thread, call.seq, 1)?;
    let Some((_, record)) = first.first() else { return Ok(Pictured::Nothing) };
    let config = record.header.config;
    let Some(section) = look.whole.section(config, &call.listener) else {
        let why = look.whole.unread(config).map(|why| {
            let why = plain(why);
            format!("the configuration {config} cannot be read ({why}), so this is the tree of the records")
        });
        return Ok(why.map_or(Pictured::Nothing, Pictured::Unread));
    };
    let is_agent = |name: &Name| {
        look.whole.section(config, name).is_some_and(|section| section.path.starts_with("agents."))
    };
    let steps = match (look.declared)(section) {
        _ if is_agent(&call.listener) => Vec::new(),
        _ if !section.path.starts_with("workflows.") => return Ok(Pictured::Nothing),
        Some(steps) => steps,
        None => {
            let words =
                format!("{} cannot be read, so this is the tree of the records", plain(&section.path));
            return Ok(Pictured::Unread(words));
        }
    };
    let costs = costs::by_thread(look.reader, &tree.thread)?;
    let mut reading =
        Reading { look, waits, costs, parts: Vec::new(), decided: HashMap::new(), is_open: false };
    reading.is_open = call.ended.is_none() && tree.ended_by.is_none();
    if is_agent(&call.listener) {
        let own = AgentReading { waits, costs: &reading.costs, is_agent: &is_agent };
        let run = reading.run(tree, path, call, RunKind::Agent, own.rows(tree, path, call));
        return Ok(Pictured::Run(Box::new(run)));
    }
    reading.gather(tree, path, call)?;
    let rows = steps.iter().map(|step| reading.row(step, "")).collect::<Result<Vec<_>, _>>()?;
    Ok(Pictured::Run(Box::new(reading.run(tree, path, call, RunKind::Workflow, rows))))
}

/// Something that was started, and where.
struct Part {
    thread: ThreadId,
    notes: Rc<Notes>,
    at: usize,
    /// Whether it is a branch of the workflow: then its steps are parts too.
    is_branch: bool,
    /// Whether the same was started again later.
    is_repeated: bool,
    /// Its key without what is beside the step.
    key: String,
    is_beside: bool,
}

impl Part {
    fn find_started(&self) -> Option<&Started> {
        self.notes.started.get(self.at)
    }
}

struct Reading<'a> {
    look: &'a Look<'a>,
    waits: &'a ThreadWaits,
    costs: BTreeMap<ThreadId, CostRow>,
    parts: Vec<Part>,
    /// What was decided: by the key of the step and the question.
    decided: HashMap<(String, String), bool>,
    /// Whether the run goes on.
    is_open: bool,
}

impl Reading<'_> {
    /// Collects what a call started, and what its branches did.
    fn gather(&mut self, tree: &ThreadTree, path: &CallPath, call: &CallNode) -> Result<(), LogFault> {
        let notes = self.look.runs.notes(&tree.thread)?;
        for (of, key, what, is_so) in &notes.decided {
            if of == path {
                self.decided.insert((key.clone(), what.clone()), *is_so);
            }
        }
        let own = || notes.started.iter().enumerate().filter(|(_, one)| one.call == *path);
        let last: HashMap<&str, usize> = own().map(|(at, one)| (one.key.as_str(), at)).collect();
        for (at, one) in own() {
            let child = one.child.as_ref().and_then(|child| tree.children.get(child));
            let branch = child.and_then(|child| Some((child, child.tops().into_iter().next()?)));
            let branch = branch.filter(|(_, (_, top))| top.listener == call.listener);
            let beside = BESIDE.iter().find_map(|beside| one.key.strip_prefix(beside));
            // A second round under supervision has a number behind its key.
            let key = beside.unwrap_or(&one.key);
            let key = key.strip_suffix(":2").unwrap_or(key).to_owned();
            let is_repeated = last.get(one.key.as_str()) != Some(&at);
            let (thread, notes) = (tree.thread.clone(), Rc::clone(&notes));
            let (is_branch, is_beside) = (branch.is_some(), beside.is_some());
            self.parts.push(Part { thread, notes, at, is_branch, is_repeated, key, is_beside });
            if let Some((child, (path, top))) = branch.filter(|_| !is_repeated) {
                self.gather(child, path, top)?;
            }
        }
        Ok(())
    }

    fn run(
        &self,
        tree: &ThreadTree,
        path: &CallPath,
        call: &CallNode,
        kind: RunKind,
        steps: Vec<StepRow>,
    ) -> RunPicture {
        let state = match &call.ended {
            Some(ended) if matches!(ended.way, CallEndKind::Failed { .. } | CallEndKind::Reported { .. }) => {
                StepState::Failed
            }
            Some(_) => StepState::Done,
            None if !self.is_open => StepState::Stopped,
            None if self.waits.paused.is_some() => StepState::Paused,
            None => urgent(&steps).unwrap_or(StepState::Running),
        };
        RunPicture {
            thread: tree.thread.clone(),
            call: path.clone(),
            kind,
            name: call.listener.clone(),
            state,
            started: call.opened,
            ended: call.ended.as_ref().map(|ended| ended.at).or(tree.ended_by.as_ref().map(|(at, _)| *at)),
            used: join_rows(self.costs.values()),
            steps,
        }
    }

    fn row(&self, step: &DeclaredStep, prefix: &str) -> Result<StepRow, LogFault> {
        let base = format!("{prefix}{}", step.id);
        let pass = match step.kind {
            StepKind::Loop { .. } => self.passes(&base),
            _ => None,
        };
        let inner = pass.map_or_else(|| prefix.to_owned(), |pass| format!("{base}.{pass}/"));
        // Steps inside items of a list are counted, not shown one by one.
        let steps = step.steps.iter().map(|step| self.row(step, &inner)).collect::<Result<Vec<_>, _>>()?;
        let own: Vec<&Part> = self.parts.iter().filter(|part| is_of(&part.key, &base)).collect();
        let within =
            |key: &str| is_of(key, &base) || step.steps.iter().any(|s| covers(s, key, prefix, &base));
        let mine: Vec<&Part> = self.parts.iter().filter(|part| within(&part.key)).collect();
        let counted = own.iter().filter(|part| !part.is_repeated && !part.is_beside);
        // Of a step inside items of a list, each item has its own.
        let is_inside = own.iter().any(|part| own.first().is_some_and(|first| first.thread != part.thread));
        let is_listed = is_inside || own.iter().any(|part| Key::of(&part.key).item.is_some());
        let count = match is_listed {
            true => Some(self.count(&own, counted.clone().copied())?),
            false => None,
        };
        let state = self.state(step, &base, (&own, &steps, pass, count));
        let open = mine.iter().any(|part| part.find_started().is_some_and(|one| one.came.is_none()));
        let times = mine.iter().filter_map(|part| part.find_started());
        let ended = times.clone().filter_map(|one| one.ended).max().filter(|_| !open && !state.is_open());
        let tries = own.iter().filter(|part| {
            !part.is_beside
                && part.find_started().is_some_and(|one| !one.is_pause && !one.key.ends_with(":2"))
                && Key::of(&part.key).item.is_none_or(|item| item == 1)
        });
        let agents = if step.kind == StepKind::Goal { step.who.len().max(1) } else { 1 };
        let tries = tries.count().div_ceil(agents);
        let (output, by) = self.output(step, &own, count)?;
        let last = own.iter().rev().find(|part| !part.is_beside).and_then(|part| {
            let one = part.find_started()?;
            let record = || (part.thread.clone(), Some(one.output.unwrap_or(one.seq)));
            Some(one.child.clone().map_or_else(record, |child| (child, None)))
        });
        Ok(StepRow {
            id: step.id.clone(),
            kind: step.kind,
            state,
            who: if by.is_empty() { step.who.clone() } else { by },
            pass,
            count,
            tries,
            started: times.map(|one| one.at).min(),
            ended,
            used: self.sum_used(&mine),
            output,
            leads_to: last,
            steps,
        })
    }

    /// The last pass of a loop that something was started or decided in.
    fn passes(&self, base: &str) -> Option<u32> {
        let number = |key: &str| {
            let rest = key.strip_prefix(base)?.strip_prefix('.')?;
            rest.split(['/', '[']).next()?.parse().ok()
        };
        let started = self.parts.iter().filter_map(|part| number(&part.key));
        started.chain(self.decided.keys().filter_map(|(key, _)| number(key))).max()
    }

    fn count<'p>(
        &self,
        own: &[&Part],
        counted: impl Iterator<Item = &'p Part>,
    ) -> Result<PartCount, LogFault> {
        let mut count = PartCount::default();
        // With several agents an item is over when all of them are.
        let mut items: BTreeMap<(ThreadId, u32), Vec<Option<bool>>> = BTreeMap::new();
        for part in counted {
            let Some(one) = part.find_started() else { continue };
            let item = Key::of(&part.key).item.unwrap_or(0);
            items.entry((part.thread.clone(), item)).or_default().push(one.came);
        }
        for came in items.values() {
            match came.contains(&None) {
                true => count.running += 1,
                false => {
                    count.done += 1;
                    count.failed += usize::from(came.contains(&Some(false)));
                }
            }
        }
        if let Some((part, one)) = own.first().and_then(|part| Some((part, part.find_started()?))) {
            let all: Vec<&Started> = part.notes.started.iter().filter(|all| all.call == one.call).collect();
            count.of = self.look.runs.length(&part.thread, &all, one)?;
        }
        Ok(count)
    }

    fn state(
        &self,
        step: &DeclaredStep,
        base: &str,
        (own, steps, pass, count): (&[&Part], &[StepRow], Option<u32>, Option<PartCount>),
    ) -> StepState {
        let decided = |key: &str, what: &str| self.decided.get(&(key.to_owned(), what.to_owned())).copied();
        if decided(base, "when") == Some(false) {
            return StepState::Skipped;
        }
        if decided(base, "timeout") == Some(true) {
            return StepState::Failed;
        }
        let last: Vec<(&Part, &Started)> = own
            .iter()
            .filter(|part| !part.is_repeated)
            .filter_map(|part| Some((*part, part.find_started()?)))
            .collect();
        let running = last.iter().filter(|(_, one)| one.came.is_none());
        let running = running.map(|(part, one)| self.open_state(step, part, one));
        let own_running = running.max_by_key(|state| rank(*state));
        let open = own_running.into_iter().chain(urgent(steps)).max_by_key(|state| rank(*state));
        if let Some(open) = open {
            return if self.is_open { open } else { StepState::Stopped };
        }
        // A failure of one item is that of the step only if the run ended with it.
        let keeps_on =
            count.is_some_and(|count| step.keeps_failure || !step.is_each && count.failed < count.done);
        let has_failed = last.iter().any(|(_, one)| one.came == Some(false));
        let breaks =
            |(row, step): (&StepRow, &DeclaredStep)| row.state == StepState::Failed && !step.keeps_failure;
        if has_failed && !keeps_on || steps.iter().zip(&step.steps).any(breaks) {
            return StepState::Failed;
        }
        let is_begun = !last.is_empty() || steps.iter().any(|row| row.state != StepState::NotYet);
        if !is_begun {
            return StepState::NotYet;
        }
        let is_over = match (step.kind, count) {
            (_, Some(count)) => count.of.is_none_or(|of| count.done >= of),
            (StepKind::Loop { at_most }, _) => {
                let pass = pass.unwrap_or(0);
                let key = format!("{base}.{pass}");
                let is_last =
                    pass >= at_most || decided(&key, "until").or(decided(&key, "converged")) == Some(true);
                is_last && steps.iter().all(|row| row.state != StepState::NotYet)
            }
            (StepKind::Group | StepKind::Parallel, _) => {
                steps.iter().all(|row| row.state != StepState::NotYet)
            }
            (StepKind::Timer, _) => true,
            // A pause before another try, or a commitment before the goal, is not the step itself.
            _ => last.iter().any(|(part, one)| !part.is_beside && one.timer.is_none()),
        };
        match (is_over, self.is_open) {
            (true, _) => StepState::Done,
            (false, true) => StepState::Running,
            (false, false) => StepState::Stopped,
        }
    }

    /// What something waits for that has not ended.
    fn open_state(&self, step: &DeclaredStep, part: &Part, one: &Started) -> StepState {
        if self.waits.paused.is_some() {
            return StepState::Paused;
        }
        let is_question = step.kind == StepKind::Question || one.key.starts_with("ask:");
        if is_question && one.child.is_none() && !part.is_branch {
            return StepState::WaitsForPerson;
        }
        if one.timer.is_some() || step.kind == StepKind::Timer && one.child.is_none() {
            return StepState::WaitsForTimer;
        }
        let Some(child) = &one.child else { return StepState::Running };
        let below = |thread: &ThreadId| thread.is_within(child);
        let leaves = self.waits.leaves();
        let mut leaves = leaves.iter().filter(|leaf| below(&leaf.thread)).peekable();
        let is_up_to_a_person = leaves.peek().is_some() && leaves.all(|leaf| leaf.cause.is_up_to_a_person());
        if is_up_to_a_person { StepState::WaitsForPerson } else { StepState::Running }
    }

    /// What the models of those threads and of everything below them used.
    fn sum_used(&self, parts: &[&Part]) -> CostRow {
        let roots: Vec<&ThreadId> =
            parts.iter().filter_map(|part| part.find_started()?.child.as_ref()).collect();
        let mut used = CostRow::default();
        for (thread, row) in &self.costs {
            if roots.iter().any(|root| thread.is_within(root)) {
                used.join(row);
            }
        }
        used
    }

    /// One line of the output of a step, and who decided.
    fn output(
        &self,
        step: &DeclaredStep,
        own: &[&Part],
        count: Option<PartCount>,
    ) -> Result<(Option<String>, Vec<String>), LogFault> {
        let none = (None, Vec::new());
        if !step.steps.is_empty() || count.is_some() && !own.iter().any(|part| has_failed(part)) {
            return Ok(none);
        }
        let failed = own.iter().rev().find(|part| has_failed(part) && !part.is_repeated);
        let last = own
            .iter()
            .rev()
            .find(|part| !part.is_beside && part.find_started().is_some_and(|one| one.output.is_some()));
        let Some(part) = failed.or(last) else { return Ok(none) };
        let Some(seq) = part.find_started().and_then(|one| one.output) else { return Ok(none) };
        let found = self.look.reader.of_thread(&part.thread, seq, 1)?;
        let Some((_, record)) = found.first() else { return Ok(none) };
        if let Some(said) = question::read_said(&record.body) {
            let note = Some(said.note).filter(|note| !note.is_empty());
            let words = [said.choice, note].into_iter().flatten().collect::<Vec<_>>().join(": ");
            let words = if words.is_empty() { said.outcome } else { words };
            return Ok((Some(cut_always(&plain(&words), OUTPUT_COLUMNS)), said.by.into_iter().collect()));
        }
        let error = if has_failed(part) { error_words(&record.body) } else { None };
        let words = error.unwrap_or_else(|| glance(&record.body).text(OUTPUT_COLUMNS));
        Ok((Some(cut_always(&words, OUTPUT_COLUMNS)).filter(|words| !words.is_empty()), Vec::new()))
    }
}

fn has_failed(part: &Part) -> bool {
    part.find_started().is_some_and(|one| one.came == Some(false))
}

/// Whether a key is that of a step, of one of its items or of one of its agents.
fn is_of(key: &str, base: &str) -> bool {
    key.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
}

/// Whether a key belongs to a step or to something inside it, in any pass.
fn covers(step: &DeclaredStep, key: &str, prefix: &str, around: &str) -> bool {
    let is_own = is_of(key, &format!("{prefix}{}", step.id));
    let is_pass = key.strip_prefix(around).is_some_and(|rest| rest.starts_with('.'));
    is_own
        || is_pass
        || step.steps.iter().any(|inside| covers(inside, key, prefix, &format!("{prefix}{}", step.id)))
}

/// The first cause of the innermost error in a payload.
fn error_words(body: &[u8]) -> Option<String> {
    let mut gate = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP).ok()?;
    let mut words = None;
    loop {
        match gate.read_step().ok()? {
            GateStep::Open(_) => {
                let error = gate.find_attribute("code").zip(gate.find_attribute("message"));
                let error = error.map(|(code, message)| SystemError {
                    code: plain(&code),
                    message: plain(&message),
                    ..SystemError::default()
                });
                words = error.map(|error| FirstCause::of(&error).line()).or(words);
            }
            GateStep::Done => return words,
            _ => {}
        }
    }
}
