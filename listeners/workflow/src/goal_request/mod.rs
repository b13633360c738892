//! Writes `<goal-request>`: a goal of a workflow with the outputs that it sees.
//!
//! Plain data comes in, a payload goes out. The layout is fixed byte for byte: prompts, stored logs and foreign
//! programs depend on it. Every text is data: the kit's writer escapes it, and nothing in it is interpreted. This
//! file never decides what a goal sees.

mod shown_text;

use systole_kit::writer::{StartTag, XmlWriter};
use systole_kit::{DocumentLimits, Fault, Payload, namespaces};

pub use shown_text::{read_back, show_text};

use crate::spec::{ElementName, TaskRule};

/// A goal with everything that its agent sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoalRequest<'a> {
    /// The name of the workflow.
    pub workflow: &'a str,
    /// The payload that the agent must answer with. `None` means text.
    pub gives: Option<&'a ElementName>,
    /// Its form: [`spec::FORM`](crate::spec::FORM), or an earlier one for a run that began under an earlier version.
    pub form: u32,
    /// Whether the answer `CONVERGED` ends the goal's loop. The agent reads this; the model does not see it.
    pub converges: bool,
    /// The earlier outputs, in order. If empty, there is no `<context>`.
    pub context: Vec<EarlierOutput>,
    /// What the agent must do.
    pub assignment: Assignment<'a>,
    /// The change that the supervisor or a person wants.
    pub correction: Option<Correction<'a>>,
    /// Which agents may get tasks from the goal's agent, and how many.
    pub tasks: Option<&'a TaskRule>,
}

/// A part of a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlierOutput {
    /// One output.
    Goal(ShownOutput),
    /// The outputs of an earlier pass of a loop. At least one.
    Iteration {
        /// The number of the pass, from 1.
        n: u32,
        /// The outputs in it.
        goals: Vec<ShownOutput>,
    },
}

/// An output as a context shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownOutput {
    /// The goal that gave it: `frame`, `evaluate[optimist]`, `review[3]`, `review[3][critic]`.
    pub id: String,
    /// How the goal ended if it did not succeed: `failed`, `not-converged`.
    pub outcome: Option<String>,
    /// The text, as [`show_text`] makes it from a payload.
    pub text: String,
}

/// The work that an agent is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assignment<'a> {
    /// A goal of the workflow.
    Goal(CurrentGoal<'a>),
    /// A task that the agent of a goal delegated.
    Task(Task<'a>),
}

/// A goal of the workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentGoal<'a> {
    /// Its id.
    pub id: &'a str,
    /// The words in the file.
    pub words: &'a str,
    /// The loop around it: the loop's name, or the goal's own id.
    pub loop_name: Option<&'a str>,
    /// The pass of that loop, from 1.
    pub iteration: Option<u32>,
}

/// A task that the agent of a goal delegated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task<'a> {
    /// The role of the agent in the task.
    pub role: &'a str,
    /// The goal that it belongs to.
    pub parent_goal: &'a str,
    /// The work to do.
    pub words: &'a str,
}

/// A correction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction<'a> {
    /// The author: `supervisor`, `person`.
    pub source: &'a str,
    /// The words.
    pub words: &'a str,
}

impl<'a> From<CurrentGoal<'a>> for Assignment<'a> {
    fn from(goal: CurrentGoal<'a>) -> Self {
        Self::Goal(goal)
    }
}

impl<'a> From<Task<'a>> for Assignment<'a> {
    fn from(task: Task<'a>) -> Self {
        Self::Task(task)
    }
}

impl GoalRequest<'_> {
    /// The payload. Equal requests give equal bytes.
    ///
    /// # Errors
    /// If it is longer than a message may be. The code is `payload.too-large`.
    pub fn to_payload(&self) -> Result<Payload, Fault> {
        let gives = self.gives.map(|name| format!("{{{}}}{}", name.namespace, name.local));
        let mut writer = XmlWriter::new();
        writer
            .open("goal-request")
            .xmlns(namespaces::WORKFLOW)
            .attr_if("gives", gives.as_deref())
            .attr_if("form", self.written_form().as_deref())
            .attr_if("converges", self.converges.then_some("true"))
            .attr_if("tasks", self.tasks.map(|tasks| tasks.at_most.to_string()).as_deref())
            .attr_if("tasks-by", self.tasks.map(|tasks| tasks.by.as_str()))
            .content(|inside| {
                inside.text("\n");
                if self.is_bare() {
                    self.write_parts(inside);
                } else {
                    inside.open("workflow").attr("name", self.workflow).content(|workflow| {
                        workflow.text("\n\n");
                        self.write_parts(workflow);
                        workflow.text("\n\n");
                    });
                }
                inside.text("\n");
            });
        Payload::parse(&writer.finish(), &DocumentLimits::default())
    }

    /// The form, if the agent has to know it: the first form is not written, and most goals are the same in each.
    fn written_form(&self) -> Option<String> {
        let is_supervised = self.gives.is_some_and(|gives| gives.namespace == namespaces::WORKFLOW);
        let matters = self.converges || self.tasks.is_some() || is_supervised;
        (self.form > 1 && matters).then(|| self.form.to_string())
    }

    /// Whether there is no `<workflow>` around it: a task knows nothing of the workflow. In form 1 there is one.
    const fn is_bare(&self) -> bool {
        self.form > 1 && matches!(self.assignment, Assignment::Task(_))
    }

    fn write_parts(&self, out: &mut XmlWriter) {
        if !self.context.is_empty() {
            out.open("context").content(|context| write_outputs(context, &self.context));
            out.text("\n\n");
        }
        match &self.assignment {
            Assignment::Task(task) => {
                let start = out.open("task").attr("role", task.role);
                write_text(start.attr("parent-goal", task.parent_goal), task.words, "");
            }
            Assignment::Goal(goal) => {
                let iteration = goal.iteration.map(|n| n.to_string());
                let start = out.open("current-goal").attr("id", goal.id).attr_if("loop", goal.loop_name);
                write_text(start.attr_if("iteration", iteration.as_deref()), goal.words, "");
            }
        }
        if let Some(correction) = &self.correction {
            out.text("\n\n");
            write_text(out.open("correction").attr("source", correction.source), correction.words, "");
        }
    }
}

fn write_outputs(out: &mut XmlWriter, parts: &[EarlierOutput]) {
    for (at, part) in parts.iter().enumerate() {
        out.text(if at == 0 { "\n  " } else { "\n\n  " });
        match part {
            EarlierOutput::Goal(goal) => write_goal(out, goal, "  "),
            EarlierOutput::Iteration { n, goals } => {
                out.open("iteration").number("n", u64::from(*n)).content(|pass| {
                    for (at, goal) in goals.iter().enumerate() {
                        pass.text(if at == 0 { "\n    " } else { "\n\n    " });
                        write_goal(pass, goal, "    ");
                    }
                    pass.text("\n  ");
                });
            }
        }
    }
    out.text("\n");
}

fn write_goal(out: &mut XmlWriter, goal: &ShownOutput, indent: &str) {
    let start = out.open("goal").attr("id", &goal.id).attr_if("outcome", goal.outcome.as_deref());
    write_text(start, &goal.text, indent);
}

/// Writes the text on lines between the tags, unindented. Only the end tag is indented.
fn write_text(start: StartTag<'_, '_>, text: &str, indent: &str) {
    start.text(&format!("\n{text}\n{indent}"));
}
