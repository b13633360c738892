//! Runs of workflows: the step, pass and item of something, and the progress of each step. Everything is read from
//! the notes in the run's thread, whether or not it is over.
//!
//! A log and the organism file's steps come in; goals and progress go out, for people and for programs. It decides
//! nothing, and it reads each thread once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Value, json};
use systole_kit::DocumentLimits;
use systole_kit::gate::{GateStep, XmlGate};

use super::glance::attribute;
use super::log_state::LogState;
use systole_core::types::composition::ListenerSection;
use systole_core::types::ids::{CallPath, Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind};
use systole_core::types::time::Millis;
use systole_show::columns::plain;

/// A step as the organism file describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DescribedStep {
    /// The step's action, as a sentence.
    pub sentence: String,
    /// The list whose items it goes through: the goal that provides it, and the path of fields.
    pub list: Option<(String, Vec<String>)>,
    /// What follows if its question has no answer in time, if it asks one.
    pub unanswered: Option<String>,
    /// Whether the run goes on where it fails: the file says so of it, or of a step around it.
    pub keeps_failure: bool,
}

/// Looks up a step in the section of a workflow.
pub type ReadStep<'a> = &'a dyn Fn(&ListenerSection, &str) -> Option<DescribedStep>;

/// A goal, a call or a question of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunStep {
    /// The workflow.
    pub workflow: Name,
    /// The name of the step.
    pub step: String,
    /// The innermost loop around it, with the pass.
    pub pass: Option<(String, u32)>,
    /// The item of a list, from 1.
    pub item: Option<u32>,
    /// The agent, if several work on it.
    pub agent: Option<String>,
    /// The step's action; `None` if the configuration of the run cannot be read.
    pub sentence: Option<String>,
    /// What follows if its question has no answer in time, if it asks one.
    pub unanswered: Option<String>,
}

/// The progress of a step.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StepProgress {
    /// The name of the step.
    pub step: String,
    /// The innermost loop around it, with the pass.
    pub pass: Option<(String, u32)>,
    /// How many parts have ended, including failures.
    pub done: usize,
    /// How many of those failed.
    pub failed: usize,
    /// How many are running.
    pub running: usize,
    /// How many there are, if known.
    pub of: Option<usize>,
}

/// Something that a run started.
pub(super) struct Started {
    pub(super) call: CallPath,
    workflow: Name,
    config: Digest,
    pub(super) key: String,
    /// Whether it is the pause before another try.
    pub(super) is_pause: bool,
    /// Its note.
    pub(super) at: Millis,
    pub(super) seq: u64,
    /// The thread that does it.
    pub(super) child: Option<ThreadId>,
    /// The timer that it waits for.
    pub(super) timer: Option<String>,
    /// Whether it succeeded, once it has ended.
    pub(super) came: Option<bool>,
    /// Whether its thread was cancelled.
    pub(super) is_cancelled: bool,
    pub(super) ended: Option<Millis>,
    /// The record with its output.
    pub(super) output: Option<u64>,
}

/// Everything that runs started and decided in one thread, in order.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) started: Vec<Started>,
    /// The decisions: the call, the key of the step, the question and the answer.
    pub(super) decided: Vec<(CallPath, String, String, bool)>,
    /// The last one for each item's path.
    items: HashMap<(CallPath, u32, u32), usize>,
    children: HashMap<ThreadId, usize>,
}

/// The runs of a log.
pub struct WorkflowRuns<'a> {
    reader: &'a dyn LogReader,
    whole: &'a LogState,
    read: ReadStep<'a>,
    notes: RefCell<HashMap<ThreadId, Rc<Notes>>>,
    said: RefCell<HashMap<(Digest, Name, String), Option<DescribedStep>>>,
}

impl<'a> WorkflowRuns<'a> {
    /// The runs of a log.
    pub fn new(reader: &'a dyn LogReader, whole: &'a LogState, read: ReadStep<'a>) -> WorkflowRuns<'a> {
        WorkflowRuns { reader, whole, read, notes: RefCell::default(), said: RefCell::default() }
    }

    /// The goal of a child thread, if a run started it.
    pub fn of_thread(&self, thread: &ThreadId) -> Result<Option<RunStep>, LogFault> {
        let Some(parent) = thread.parent() else { return Ok(None) };
        let first = self.reader.of_thread(thread, 1, 1)?;
        let is_begun =
            first.first().is_some_and(|(_, record)| self.follows(record.header.config, &record.header.from));
        if !is_begun {
            return Ok(None);
        }
        let notes = self.notes(&parent)?;
        let found = notes.children.get(thread).and_then(|at| notes.started.get(*at));
        Ok(found.map(|one| self.goal(one)))
    }

    /// The goal of an item of a run.
    pub fn of_item(&self, thread: &ThreadId, item: &CallPath) -> Result<Option<RunStep>, LogFault> {
        let Some(path) = item.caller().filter(|(call, ..)| self.is_run(thread, call)) else {
            return Ok(None);
        };
        let notes = self.notes(thread)?;
        let found = notes.items.get(&path).and_then(|at| notes.started.get(*at));
        Ok(found.map(|one| self.goal(one)))
    }

    /// The progress of a run's current steps: all steps with something running.
    pub fn steps(&self, thread: &ThreadId, call: &CallPath) -> Result<Vec<StepProgress>, LogFault> {
        if !self.is_run(thread, call) {
            return Ok(Vec::new());
        }
        let notes = self.notes(thread)?;
        let of_call: Vec<&Started> = notes.started.iter().filter(|one| one.call == *call).collect();
        // Only the last try counts.
        let last: HashMap<&str, usize> =
            of_call.iter().enumerate().map(|(at, one)| (one.key.as_str(), at)).collect();
        let mut places: HashMap<(String, Option<(String, u32)>), usize> = HashMap::new();
        let mut steps: Vec<(StepProgress, &Started)> = Vec::new();
        for (nth, one) in of_call.iter().copied().enumerate() {
            if last.get(one.key.as_str()) != Some(&nth) {
                continue;
            }
            let Key { step, pass, .. } = Key::of(&one.key);
            let at = *places.entry((step.clone(), pass.clone())).or_insert_with(|| {
                steps.push((StepProgress { step, pass, ..StepProgress::default() }, one));
                steps.len() - 1
            });
            let Some((progress, _)) = steps.get_mut(at) else { continue };
            match one.came {
                None => progress.running += 1,
                Some(is_good) => {
                    progress.done += 1;
                    progress.failed += usize::from(!is_good);
                }
            }
        }
        steps.retain(|(progress, _)| progress.running > 0);
        let mut made = Vec::new();
        for (mut progress, one) in steps {
            let key = Key::of(&one.key);
            // With several agents an item is counted once per agent.
            if key.item.is_some() && key.agent.is_none() {
                progress.of = self.length(thread, &of_call, one)?;
            }
            made.push(progress);
        }
        Ok(made)
    }

    /// Whether an open call is a run of a workflow.
    fn is_run(&self, thread: &ThreadId, call: &CallPath) -> bool {
        let open = self.whole.at_work(thread).and_then(|thread| thread.calls.get(call));
        open.is_some_and(|open| self.follows(open.config, &open.listener))
    }

    /// Whether a listener is a workflow, as far as its configuration can be read.
    fn follows(&self, config: Digest, listener: &Name) -> bool {
        self.whole.section(config, listener).is_none_or(|section| section.path.starts_with("workflows."))
    }

    /// The length of the list that a step goes through.
    pub(super) fn length(
        &self,
        thread: &ThreadId,
        all: &[&Started],
        one: &Started,
    ) -> Result<Option<usize>, LogFault> {
        let said = self.describe_step(one, &Key::of(&one.key).step);
        let Some((goal, fields)) = said.and_then(|said| said.list) else { return Ok(None) };
        let giver =
            all.iter().rev().find(|giver| Key::of(&giver.key).step == goal && giver.came == Some(true));
        let Some(seq) = giver.and_then(|giver| giver.output) else { return Ok(None) };
        let record = self.reader.of_thread(thread, seq, 1)?;
        Ok(record.first().and_then(|(_, record)| count(&record.body, &fields)))
    }

    fn goal(&self, started: &Started) -> RunStep {
        let Key { step, pass, item, agent } = Key::of(&started.key);
        let said = self.describe_step(started, &step);
        let (sentence, unanswered) = said.map(|said| (said.sentence, said.unanswered)).unzip();
        let unanswered = unanswered.flatten();
        RunStep { workflow: started.workflow.clone(), step, pass, item, agent, sentence, unanswered }
    }

    fn describe_step(&self, started: &Started, step: &str) -> Option<DescribedStep> {
        let key = (started.config, started.workflow.clone(), step.to_owned());
        let look = || (self.read)(self.whole.section(started.config, &started.workflow)?, step);
        self.said.borrow_mut().entry(key).or_insert_with(look).clone()
    }

    /// Everything that runs noted in a thread.
    pub(super) fn notes(&self, thread: &ThreadId) -> Result<Rc<Notes>, LogFault> {
        if let Some(notes) = self.notes.borrow().get(thread) {
            return Ok(Rc::clone(notes));
        }
        let notes = Rc::new(Notes::read(self.reader, thread)?);
        self.notes.borrow_mut().insert(thread.clone(), Rc::clone(&notes));
        Ok(notes)
    }
}

impl Notes {
    /// Everything that runs noted in a thread.
    pub(super) fn read(reader: &dyn LogReader, thread: &ThreadId) -> Result<Notes, LogFault> {
        let mut notes = Notes::default();
        for placed in reader.records_of(thread, 1) {
            notes.take(&placed?.1);
        }
        Ok(notes)
    }

    fn take(&mut self, record: &Record) {
        let (h, body) = (&record.header, &record.body);
        match (h.kind, h.code) {
            (RecordKind::Message, Some(RecordCode::Role(MessageRole::Note))) => {
                let (Some(call), Some(turn)) = (&h.call, h.turn) else { return };
                let (starts, decided) = note_parts(body, &h.from);
                let decided = decided.into_iter().map(|(key, what, is_so)| (call.clone(), key, what, is_so));
                self.decided.extend(decided);
                for (ordinal, key) in starts {
                    // A pause before another try is a part of the step; a time limit is not.
                    let pause = key.strip_prefix("pause:").map(str::to_owned);
                    let (is_pause, key) = (pause.is_some(), pause.unwrap_or(key));
                    if key.starts_with("timeout:") {
                        continue;
                    }
                    self.items.insert((call.clone(), turn, ordinal), self.started.len());
                    self.started.push(Started {
                        call: call.clone(),
                        workflow: h.from.clone(),
                        config: h.config,
                        key,
                        is_pause,
                        at: h.time,
                        seq: h.seq,
                        child: None,
                        timer: None,
                        came: None,
                        is_cancelled: false,
                        ended: None,
                        output: None,
                    });
                }
            }
            (RecordKind::Message | RecordKind::Timer | RecordKind::Outcome | RecordKind::Refusal, _) => {
                self.came(record)
            }
            _ => {}
        }
    }

    /// Records the outcome of something that was started.
    fn came(&mut self, record: &Record) {
        let (h, body) = (&record.header, &record.body);
        if let Some(id) = attribute(body, "thread-finished", "id") {
            let outcome = attribute(body, "thread-finished", "outcome");
            let is_good = matches!(outcome.as_deref(), Some("answered" | "handled"));
            let child = ThreadId::parse(&id).ok().and_then(|id| self.children.get(&id));
            if let Some(one) = child.and_then(|at| self.started.get_mut(*at)) {
                one.came.get_or_insert(is_good);
                one.is_cancelled |= outcome.as_deref() == Some("cancelled");
                one.ended.get_or_insert(h.time);
                one.output.get_or_insert(h.seq);
            }
            return;
        }
        if let Some(id) =
            attribute(body, "timer-fired", "id").or_else(|| attribute(body, "timer-cancelled", "id"))
        {
            let found = self.started.iter_mut().rev().find(|one| one.timer.as_ref() == Some(&id));
            if let Some(one) = found {
                one.came.get_or_insert(true);
                one.ended.get_or_insert(h.time);
            }
            return;
        }
        let item = h.call.as_ref().and_then(CallPath::caller).and_then(|path| self.items.get(&path).copied());
        let Some((at, one)) = item.and_then(|at| Some((at, self.started.get_mut(at)?))) else { return };
        if let Some(child) = attribute(body, "thread-spawned", "assigned_id") {
            one.child = ThreadId::parse(&child).ok();
            self.children.extend(one.child.clone().map(|child| (child, at)));
        } else if let Some(timer) = attribute(body, "timer-set", "id") {
            one.timer = Some(timer);
        } else if h.code == Some(RecordCode::Role(MessageRole::Answer)) {
            one.came.get_or_insert(attribute(body, "system-error", "code").is_none());
            one.ended.get_or_insert(h.time);
            one.output.get_or_insert(h.seq);
        }
    }
}

/// What a note starts: ordinals and keys.
type NotedStarts = Vec<(u32, String)>;
/// What a note decides: keys, questions and answers.
type NotedDecisions = Vec<(String, String, bool)>;

/// The items that a note of that workflow starts, and what it decides.
fn note_parts(body: &[u8], workflow: &Name) -> (NotedStarts, NotedDecisions) {
    let (mut starts, mut decided) = (Vec::new(), Vec::new());
    let Ok(mut gate) = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP) else {
        return (starts, decided);
    };
    let (namespace, mut depth) = (format!("https://xml-pipeline.org/ns/{workflow}/v1"), 0_u32);
    while let Ok(step) = gate.read_step() {
        match step {
            GateStep::Open(tag) => {
                let is_own = gate.find_namespace(&tag) == Some(namespace.as_str());
                let value = |name: &str| gate.find_attribute(name).map(std::borrow::Cow::into_owned);
                match (depth, is_own, tag.local) {
                    (0, false, _) => return (starts, decided),
                    (1, true, "start") => {
                        let ordinal = value("ordinal").and_then(|ordinal| ordinal.parse().ok());
                        starts.extend(ordinal.zip(value("key")));
                    }
                    (1, true, "decided") => {
                        let parts = value("key").zip(value("question")).zip(value("answer"));
                        decided.extend(parts.map(|((key, what), answer)| (key, what, answer == "yes")));
                    }
                    // What a supervisor judged is beside what the step starts, in a namespace of its own.
                    _ => {}
                }
                depth += 1;
            }
            GateStep::Close => depth = depth.saturating_sub(1),
            GateStep::Done => break,
            _ => {}
        }
    }
    (starts, decided)
}

/// The number of elements at the end of that path in a child's answer.
fn count(body: &[u8], way: &[String]) -> Option<usize> {
    let mut gate = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP).ok()?;
    let mut open: Vec<String> = Vec::new();
    let mut count = 0;
    loop {
        match gate.read_step().ok()? {
            GateStep::Open(tag) => {
                open.push(tag.local.to_owned());
                // Before the path come the end of the thread and the payload itself.
                count += usize::from(open.get(2..).is_some_and(|inside| inside == way));
            }
            GateStep::Close => drop(open.pop()),
            GateStep::Done => return Some(count),
            _ => {}
        }
    }
}

/// The name of something in a run, parsed: `report.2/review[3][critic]`.
pub(super) struct Key {
    pub(super) step: String,
    pass: Option<(String, u32)>,
    pub(super) item: Option<u32>,
    pub(super) agent: Option<String>,
}

impl Key {
    pub(super) fn of(key: &str) -> Key {
        let (around, last) = key.rsplit_once('/').unwrap_or(("", key));
        let pass = around.rsplit('/').next().and_then(|one| one.rsplit_once('.'));
        let pass = pass.and_then(|(name, pass)| Some((name.to_owned(), pass.parse().ok()?)));
        let mut parts = last.split('[').map(|part| part.trim_end_matches(']'));
        let step = parts.next().unwrap_or_default().to_owned();
        let (mut item, mut agent) = (None, None);
        for part in parts {
            match part.parse() {
                Ok(number) => item = Some(number),
                Err(_) => agent = Some(part.to_owned()),
            }
        }
        Key { step, pass, item, agent }
    }
}

/// `, pass 2 of report`, if there is a loop.
fn pass_told(pass: Option<&(String, u32)>) -> String {
    pass.map(|(name, pass)| format!(", pass {pass} of {}", plain(name))).unwrap_or_default()
}

impl RunStep {
    /// Its label: `review, item 3`, `draft, pass 2 of report`.
    pub fn label(&self) -> String {
        let agent = self.agent.as_ref().map(|agent| format!(" by {}", plain(agent))).unwrap_or_default();
        let item = self.item.map(|item| format!(", item {item}")).unwrap_or_default();
        format!("{}{agent}{item}{}", plain(&self.step), pass_told(self.pass.as_ref()))
    }

    /// The same with the step's action.
    pub fn describe_step(&self) -> String {
        // The sentence begins with the name of the step.
        let sentence = self.sentence.as_ref().map(|sentence| plain(sentence.trim_end_matches(':')));
        let sentence = sentence.and_then(|text| text.split_once(": ").map(|(_, rest)| format!(": {rest}")));
        format!("{}{}", self.label(), sentence.unwrap_or_default())
    }

    /// The goal for programs.
    pub fn as_json(&self) -> Value {
        json!({
            "workflow": self.workflow.as_str(),
            "step": self.step,
            "item": self.item,
            "loop": self.pass.as_ref().map(|(name, _)| name),
            "pass": self.pass.as_ref().map(|(_, pass)| pass),
            "agent": self.agent,
            "sentence": self.sentence,
        })
    }
}

impl StepProgress {
    /// The progress: `review: 3 of 12 done, 4 running`; only the name for a step that runs once.
    pub fn describe_progress(&self) -> String {
        let name = format!("{}{}", plain(&self.step), pass_told(self.pass.as_ref()));
        if self.of.is_none() && self.done + self.running == 1 {
            return name;
        }
        let of = self.of.map(|of| format!(" of {of}")).unwrap_or_default();
        let failed = if self.failed > 0 { format!(" ({} failed)", self.failed) } else { String::new() };
        format!("{name}: {}{of} done{failed}, {} running", self.done, self.running)
    }

    /// The same for programs.
    pub fn as_json(&self) -> Value {
        json!({
            "step": self.step,
            "loop": self.pass.as_ref().map(|(name, _)| name),
            "pass": self.pass.as_ref().map(|(_, pass)| pass),
            "done": self.done,
            "failed": self.failed,
            "running": self.running,
            "of": self.of,
        })
    }
}

/// The progress of all steps, on one line.
pub fn describe_steps(steps: &[StepProgress]) -> String {
    steps.iter().map(StepProgress::describe_progress).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_goal_is_taken_apart() {
        for (key, label) in [
            ("pick", "pick"),
            ("review[3]", "review, item 3"),
            ("report.2/review[3][critic]", "review by critic, item 3, pass 2 of report"),
            ("outer.4/inner.12/draft", "draft, pass 12 of inner"),
            ("evaluate[critic]", "evaluate by critic"),
        ] {
            let Key { step, pass, item, agent } = Key::of(key);
            let workflow = Name::parse("w").unwrap();
            let goal = RunStep { workflow, step, pass, item, agent, sentence: None, unanswered: None };
            assert_eq!(goal.label(), label);
        }
    }

    #[test]
    fn only_the_elements_at_the_end_of_the_way_are_counted() {
        let body = b"<f><files><item/><more><item/></more><item>x</item></files></f>";
        assert_eq!(count(body, &["item".to_owned()]), Some(2));
        assert_eq!(count(body, &["more".to_owned(), "item".to_owned()]), Some(1));
    }
}
