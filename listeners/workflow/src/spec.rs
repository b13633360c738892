//! A workflow as plain data: the organism's file is read into it, and a run follows it.
//!
//! Nothing here reads a file, checks a name or starts anything. The maker of a `Workflow` has checked it: every path
//! leads somewhere, every condition can be judged, and the last step gives the final.

use serde::{Deserialize, Serialize};

pub use crate::limits::FORM;

/// A workflow: a list of steps, done in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workflow {
    /// Its name, which is that of its listener.
    pub name: String,
    /// The one element that its final is, or none where the last step's own answer is it.
    pub returns: ElementName,
    /// Whether `returns` holds only text, so that the words of an untyped goal fill it.
    pub returns_text: bool,
    /// What it does.
    pub steps: Vec<Step>,
    /// What it is for, in words for people.
    #[serde(default)]
    pub description: Option<String>,
    /// The form of its requests, [`FORM`] today. In form 1, the first, agents take only the exact word `CONVERGED`. It is
    /// the last field: the pump compares workflows without it.
    #[serde(default = "first_form")]
    pub form: u32,
}

/// The name of an element.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ElementName {
    /// Its namespace.
    pub namespace: String,
    /// Its local name.
    pub local: String,
}

/// A step: what is done, and under which terms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its id, unique in the workflow.
    pub id: String,
    /// What is done.
    pub work: StepAction,
    /// The list whose items are worked on one by one; none: it is done once.
    #[serde(default)]
    pub each: Option<EachList>,
    /// It is skipped unless all of these hold.
    #[serde(default)]
    pub when: Vec<Condition>,
    /// Whether the run goes on where the step fails.
    #[serde(default)]
    pub keeps_failure: bool,
    /// How long it may take.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// How often a failed one is tried in all; 1 where the file says nothing.
    #[serde(default = "once")]
    pub tries: u32,
    /// The pause before the second try; doubles with each further one up to the longest.
    #[serde(default)]
    pub pause_ms: (u64, u64),
    /// What its children may use.
    #[serde(default)]
    pub budget: Budget,
    /// The supervisor that checks the result of a goal, if there is one.
    #[serde(default)]
    pub supervise: Option<Supervisor>,
}

/// The step with this id among these and the steps inside them.
pub(crate) fn find_step<'s>(steps: &'s [Step], id: &str) -> Option<&'s Step> {
    steps.iter().find_map(|step| if step.id == id { Some(step) } else { find_step(step.inner_steps(), id) })
}

const fn once() -> u32 {
    1
}

const fn first_form() -> u32 {
    1
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepAction {
    /// Agents pursue a goal.
    Do(Goal),
    /// A listener is called.
    Call(CallStep),
    /// A person is asked.
    Ask(QuestionStep),
    /// Time passes.
    Wait {
        /// So long.
        ms: u64,
    },
    /// Steps in order.
    Group {
        /// These.
        steps: Vec<Step>,
    },
    /// Steps beside one another.
    Parallel {
        /// These.
        steps: Vec<Step>,
        /// How many run at once.
        at_once: u32,
    },
    /// Steps in order, again and again.
    Repeat {
        /// These.
        steps: Vec<Step>,
        /// When it is enough.
        until: RepeatUntil,
        /// How many passes there are at most.
        at_most: u32,
    },
}

/// A goal that agents pursue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    /// What is to be done, as the composer wrote it. Since form 2 it may name fields of the request.
    pub words: String,
    /// The agents, each of which pursues it.
    pub by: Vec<String>,
    /// The payload that is asked for; none: text.
    #[serde(default)]
    pub gives: Option<ElementName>,
    /// What its context shows; none: everything before it.
    #[serde(default)]
    pub sees: Option<Vec<Path>>,
    /// Whether its context leaves out the request, unless `sees` names it.
    #[serde(default)]
    pub hides_request: bool,
    /// To whom the agent may give tasks.
    #[serde(default)]
    pub tasks: Option<TaskRule>,
}

/// Who takes tasks of a goal's agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRule {
    /// The agent.
    pub by: String,
    /// How many tasks there may be.
    pub at_most: u32,
    /// Who supervises each task. Then the workflow runs it as a goal; otherwise the agent answers it alone.
    #[serde(default)]
    pub supervise: Option<Supervisor>,
}

/// A listener that is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallStep {
    /// The element that is sent.
    pub element: ElementName,
    /// Whether the elements inside it are in its namespace.
    pub is_qualified: bool,
    /// To whom.
    pub to: String,
    /// What is in it, in the order of its schema.
    pub fields: Vec<PayloadField>,
}

/// A field of a payload that is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadField {
    /// Its name.
    pub name: String,
    /// Whether it is an attribute.
    pub is_attribute: bool,
    /// Whether the payload is valid without it: then it is left out where its source is absent.
    pub is_optional: bool,
    /// What is put there.
    pub source: ValueSource,
}

impl PayloadField {
    /// The name of an element's own text.
    pub const OWN_TEXT: &str = ".";

    /// Whether it is the own text of the element.
    #[must_use]
    pub fn is_own_text(&self) -> bool {
        self.name == Self::OWN_TEXT
    }
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueSource {
    /// From an earlier output: every value that the path leads to.
    Path(Path),
    /// From the file.
    Text(String),
}

/// A person who is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionStep {
    /// What is asked.
    pub words: String,
    /// What may be answered; none: words.
    pub choices: Vec<String>,
    /// What is shown beside it.
    pub shows: Vec<Path>,
    /// How long it is waited for.
    pub expires_ms: u64,
    /// The choice that counts if no one answers. Without it, the step fails.
    pub otherwise: Option<String>,
}

/// A list whose items are worked on one by one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EachList {
    /// The list.
    pub list: Path,
    /// How many items are worked on at once.
    pub at_once: u32,
    /// How many items its schema asks for at least.
    #[serde(default)]
    pub least: u32,
    /// How many items its schema allows; none: any number.
    #[serde(default)]
    pub most: Option<u32>,
}

/// When passes are enough.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RepeatUntil {
    /// The last goal of a pass finds nothing left to change.
    Converged,
    /// All of these hold after a pass.
    Holds(Vec<Condition>),
}

/// A place in what is known: `request/field`, `plan/step/name`, `evaluate[critic]/score`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// The id of a step, or `request`.
    pub goal: String,
    /// Which of several agents' outputs.
    #[serde(default)]
    pub agent: Option<String>,
    /// The elements or attributes on the way, by local name.
    #[serde(default)]
    pub fields: Vec<String>,
}

/// Something that holds or does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// The value that is judged.
    pub path: Path,
    /// What it must be.
    pub test: ValueTest,
}

/// What a value must be. One that is absent is nothing of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueTest {
    /// One of these texts.
    Text(Vec<String>),
    /// True or false.
    Flag(bool),
    /// A number within one of these ranges. An end belongs to it unless `>` or `<` is before it; a missing one is open. A
    /// single number is a range with equal ends. Written as XSD writes decimals.
    Number(Vec<(Option<String>, Option<String>)>),
}

/// Who looks at what a goal did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Supervisor {
    /// An agent.
    Agent(String),
    /// A person.
    Person,
}

/// What children of a step may use; none leaves it at their share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Messages.
    #[serde(default)]
    pub messages: Option<u64>,
    /// Tokens.
    #[serde(default)]
    pub tokens: Option<u64>,
    /// Money, as `0.50 USD`.
    #[serde(default)]
    pub money: Option<String>,
}

impl Path {
    /// The path as the file writes it.
    #[must_use]
    pub fn text(&self) -> String {
        let agent = self.agent.as_ref().map(|agent| format!("[{agent}]")).unwrap_or_default();
        let fields = self.fields.iter().map(|field| format!("/{field}"));
        format!("{}{agent}{}", self.goal, fields.collect::<String>())
    }
}

impl Workflow {
    /// The workflow as a text that it can be read from again.
    ///
    /// # Errors
    /// When it cannot be written, which no workflow brings about.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Reads it back.
    ///
    /// # Errors
    /// When the text is none of a workflow.
    pub fn from_text(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl Step {
    /// A step that does this, with nothing said about it.
    #[must_use]
    pub fn new(id: &str, work: StepAction) -> Self {
        Self {
            id: id.to_owned(),
            work,
            each: None,
            when: Vec::new(),
            keeps_failure: false,
            timeout_ms: None,
            tries: 1,
            pause_ms: (1000, 30_000),
            budget: Budget::default(),
            supervise: None,
        }
    }

    /// Whether a thread of its own does the whole step: so it can be tried again, or be ended while a person is asked.
    #[must_use]
    pub fn has_own_thread(&self) -> bool {
        let is_tried_again = self.tries > 1 && !self.is_tried_inside();
        self.each.is_none() && (is_tried_again || self.timeout_ms.is_some() && self.may_ask())
    }

    /// Whether only its requests are tried again, and never the whole step.
    pub(crate) const fn is_tried_inside(&self) -> bool {
        matches!(self.work, StepAction::Do(_) | StepAction::Call(_))
    }

    /// Whether a person may be asked in the thread that does it.
    fn may_ask(&self) -> bool {
        match &self.work {
            StepAction::Ask(_) => true,
            StepAction::Do(_) => self.supervise.is_some(),
            StepAction::Group { steps } | StepAction::Repeat { steps, .. } => {
                steps.iter().any(|step| step.each.is_none() && !step.has_own_thread() && step.may_ask())
            }
            // Branches that ask have threads of their own.
            StepAction::Call(_) | StepAction::Wait { .. } | StepAction::Parallel { .. } => false,
        }
    }

    /// The steps inside it.
    #[must_use]
    pub fn inner_steps(&self) -> &[Self] {
        match &self.work {
            StepAction::Group { steps }
            | StepAction::Parallel { steps, .. }
            | StepAction::Repeat { steps, .. } => steps,
            StepAction::Do(_) | StepAction::Call(_) | StepAction::Ask(_) | StepAction::Wait { .. } => &[],
        }
    }
}
