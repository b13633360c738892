//! A goal of a workflow, as an agent sees it: what it shows the model, and the output that answers it.
//!
//! A request or a text comes in; a goal, or a payload, goes out. The contracts of the call say what the
//! goal's payload must be.

use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::writer::XmlWriter;
use systole_kit::{DocumentLimits, Payload, QName, namespaces};
use systole_workflow::is_converged_word;

use crate::show::quote_attribute;
use systole_workflow::spec::TaskRule;

/// The local name of a request for a goal.
const REQUEST: &str = "goal-request";

/// The local name of an output in words.
const OUTPUT: &str = "goal-output";

/// A goal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AskedGoal {
    /// The workflow of the goal.
    pub(crate) workflow: String,
    /// Whether it is a task without its workflow around it.
    pub(crate) is_task: bool,
    /// Whether it is shown outputs.
    pub(crate) has_context: bool,
    /// Its id. For a task, the role.
    pub(crate) id: String,
    /// The payload that it asks for. `None` means text.
    pub(crate) gives: Option<QName>,
    /// The form of the request, from 1.
    pub(crate) form: u32,
    /// Whether the answer `CONVERGED` ends its loop.
    pub(crate) converges: bool,
    /// The pass of its loop, from 1.
    pub(crate) pass: u32,
    /// Which agents may get tasks, and how many.
    pub(crate) tasks: Option<TaskRule>,
    /// Whether it was run before and now needs a correction.
    pub(crate) is_corrected: bool,
}

/// Whether the name is that of a request for a goal.
pub(crate) fn is_request(name: &QName) -> bool {
    name.is_named(namespaces::WORKFLOW, REQUEST)
}

/// Whether the name is that of an output in words.
pub(crate) fn is_output(name: &QName) -> bool {
    name.is_named(namespaces::WORKFLOW, OUTPUT)
}

impl AskedGoal {
    /// The goal that a payload asks for. `None` for any other request.
    pub(crate) fn from_payload(payload: &Payload) -> Option<Self> {
        if !is_request(payload.name()) {
            return None;
        }
        let gives = payload.find_attribute("gives").filter(|gives| !gives.is_empty()).map(|gives| {
            let split = gives.strip_prefix('{').and_then(|rest| rest.split_once('}'));
            split.map_or_else(|| QName::new("", &gives), |(ns, local)| QName::new(ns, local))
        });
        let number = |name: &str| payload.find_attribute(name).and_then(|number| number.trim().parse().ok());
        let at_most = number("tasks");
        let tasks = at_most.zip(payload.find_attribute("tasks-by")).map(|(at_most, by)| TaskRule {
            by,
            at_most,
            supervise: None,
        });
        let form = number("form").unwrap_or(1);
        let mut goal = Self {
            gives,
            form,
            converges: payload.is_marked("converges"),
            pass: 1,
            tasks,
            ..Self::default()
        };
        let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP).ok()?;
        loop {
            match gate.read_step().ok()? {
                GateStep::Open(tag) if tag.local == "workflow" => {
                    goal.workflow = gate.find_attribute("name").unwrap_or_default().into_owned();
                }
                GateStep::Open(tag) if tag.local == "current-goal" => {
                    goal.id = gate.find_attribute("id")?.into_owned();
                    let pass = gate.find_attribute("iteration").and_then(|pass| pass.trim().parse().ok());
                    goal.pass = pass.unwrap_or(1);
                }
                GateStep::Open(tag) if tag.local == "task" => {
                    goal.id = gate.find_attribute("role").unwrap_or_default().into_owned();
                    goal.is_task = goal.workflow.is_empty();
                }
                GateStep::Open(tag) if tag.local == "context" => goal.has_context = true,
                GateStep::Open(tag) if tag.local == "correction" => goal.is_corrected = true,
                GateStep::Done => return Some(goal),
                _ => {}
            }
        }
    }

    /// Whether a text is the answer that ends its loop.
    pub(crate) fn is_ended_by(&self, text: &str) -> bool {
        self.converges && is_converged_word(text, self.form)
    }

    /// Whether there is an earlier pass, so that nothing may be left to change.
    pub(crate) fn may_converge(&self) -> bool {
        self.converges && self.pass > 1
    }

    /// Whether an output says that it ends the loop.
    pub(crate) fn is_ended(&self, output: &Payload) -> bool {
        self.is_ended_by(&output.text()) || self.converges && output.is_marked("converged")
    }

    /// A supervision payload with the id of the goal, if its model left that out.
    pub(crate) fn fill_goal(&self, ending: Payload) -> Payload {
        let is_supervision = *ending.name().ns == *namespaces::WORKFLOW && !is_output(ending.name());
        if self.form < 2 || !is_supervision || ending.find_attribute("goal").is_some() {
            return ending;
        }
        let written = || {
            let xml = std::str::from_utf8(ending.bytes()).ok()?;
            let name = xml.find(|sign: char| sign.is_whitespace() || matches!(sign, '/' | '>'))?;
            let (before, behind) = xml.split_at_checked(name)?;
            let filled = format!("{before} goal=\"{}\"{behind}", quote_attribute(&self.id));
            Payload::parse(filled.as_bytes(), &DocumentLimits::FROM_PUMP).ok()
        };
        written().unwrap_or(ending)
    }

    /// A fault of a supervision payload that its schema allows, with the place and the fix.
    pub(crate) fn supervision_fault(&self, ending: &Payload) -> Option<String> {
        let local = &*ending.name().local;
        if *ending.name().ns != *namespaces::WORKFLOW || is_output(ending.name()) {
            return None;
        }
        let goal = ending.find_attribute("goal").unwrap_or_default();
        if goal != self.id {
            return Some(format!("/{local}/@goal: `{goal}` is another goal; expected {}", self.id));
        }
        if local != "verdict" || ending.find_attribute("value").as_deref() != Some("reorient") {
            return None;
        }
        if self.is_corrected {
            let words = "the goal was corrected once already; expected continue or pause";
            return Some(format!("/verdict/@value: {words}"));
        }
        let is_empty = ending.text().trim().is_empty();
        is_empty.then(|| "/verdict: reorient needs a correction as the text of the verdict".to_owned())
    }

    /// Whether an answer that ends the loop is taken, if the model was told before that it cannot be the first.
    pub(crate) fn takes_end(&self, told_early: bool) -> bool {
        self.may_converge() || self.form > 1 && told_early
    }

    /// The output in words.
    pub(crate) fn write_output(&self, text: &str, converged: bool) -> Option<Payload> {
        let mut writer = XmlWriter::new();
        let start = writer.open(OUTPUT).xmlns(namespaces::WORKFLOW).attr("id", &self.id);
        start.attr_if("converged", converged.then_some("true")).text(text.trim());
        Payload::from_trusted(writer.finish().into()).ok()
    }
}
