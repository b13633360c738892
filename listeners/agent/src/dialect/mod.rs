//! From a model's answer to the agent's actions: thoughts, actions, a final, and faults.
//!
//! A dialect is a pure function of the answer and the contracts, so the same words, read back from the log, mean the
//! same again. It never speaks to a model and checks no payload against its schema: the pump does.

mod goals;
mod json_schema;
mod native;
mod plain;
mod tasks;
mod together;
mod xml;
mod xml_final;

use systole_kit::{Payload, namespaces};

use crate::contracts::AgentContracts;
use crate::failures::AgentFailure;
use crate::heard::HeardAnswer;
use crate::model::{EnoughCheck, StopReason};
use crate::show;
use crate::spec::{AgentSpec, Dialect};

/// The content of an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadAnswer {
    /// The model's visible thoughts.
    pub(crate) thoughts: Vec<String>,
    /// Plans, each a `<todo-until>`.
    pub(crate) plans: Vec<Payload>,
    /// Its actions, in order.
    pub(crate) acts: Vec<AnswerAction>,
    /// Its final.
    pub(crate) ending: Option<Payload>,
    /// Maps each part of the final to the model's text, if the final is an element there.
    pub(crate) ending_origin: Option<systole_kit::extract::PayloadOrigin>,
    /// Whether it holds nothing but thoughts and plans. Then it is a note, which opens the next turn.
    pub(crate) is_note: bool,
    /// The faults.
    pub(crate) reasons: Vec<AgentFailure>,
    /// The words of an answer that is unusable and did not try to act, without the thoughts at the beginning.
    pub(crate) unused: Option<String>,
    /// The fixes, each with its slug. They are recorded and reported.
    pub(crate) repairs: Vec<AnswerRepair>,
    /// Native calls that were plans.
    pub(crate) planned_calls: Vec<String>,
    /// Native calls that failed, each with the reason.
    pub(crate) failed_calls: Vec<(String, AgentFailure)>,
}

/// A fix and the action that it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct AnswerRepair {
    /// The message for the model.
    pub(crate) reason: AgentFailure,
    /// The index of the fixed action among the actions. `None` for a note or a final.
    pub(crate) act: Option<usize>,
}

/// One action.
#[derive(Clone, Debug)]
pub(crate) struct AnswerAction {
    /// The recipient, if named.
    pub(crate) to: Option<String>,
    /// The payload.
    pub(crate) payload: Payload,
    /// What the model calls it.
    pub(crate) name: String,
    /// The native call behind it.
    pub(crate) call: Option<String>,
    /// The child thread that it goes to, if named.
    pub(crate) thread: Option<String>,
    /// Maps each part of it to the model's text.
    pub(crate) origin: Option<systole_kit::extract::PayloadOrigin>,
    /// Whether it gives a task.
    pub(crate) is_task: bool,
    /// What the model wrote, if several of its elements are put together in this one.
    pub(crate) parts: Vec<ActPart>,
}

/// An element of the model inside an action.
#[derive(Clone, Debug)]
pub(crate) struct ActPart {
    /// What the model calls it.
    pub(crate) name: String,
    /// The native call behind it.
    pub(crate) call: Option<String>,
}

impl AnswerAction {
    /// The native calls behind it.
    pub(crate) fn into_calls(self) -> Vec<String> {
        self.call.into_iter().chain(self.parts.into_iter().filter_map(|part| part.call)).collect()
    }

    /// Whether a native call is behind it.
    pub(crate) fn is_called(&self) -> bool {
        self.call.is_some() || self.parts.iter().any(|part| part.call.is_some())
    }
}

impl ReadAnswer {
    /// Whether it is enough to answer the turn.
    pub(crate) fn is_usable(&self) -> bool {
        !self.acts.is_empty() || self.ending.is_some() || !self.plans.is_empty() || self.is_note
    }

    /// Whether its first item is a note.
    pub(crate) fn has_note(&self) -> bool {
        self.is_note || !self.thoughts.is_empty() || !self.plans.is_empty()
    }

    /// The action whose item has that ordinal, with its index among the actions.
    pub(crate) fn find_act(&self, ordinal: u32) -> Option<(usize, &AnswerAction)> {
        let at = usize::try_from(ordinal).ok()?.checked_sub(usize::from(self.has_note()))?;
        Some((at, self.acts.get(at)?))
    }

    /// Whether it gives tasks.
    pub(crate) fn has_tasks(&self) -> bool {
        self.acts.iter().any(|act| act.is_task)
    }

    /// Removes the actions and all fixes, and no longer counts the answer as a note.
    pub(crate) fn clear_acts(&mut self) {
        self.acts.clear();
        self.repairs.clear();
        self.is_note = false;
    }

    pub(crate) fn add_failure(&mut self, slug: &str, words: impl Into<String>) {
        self.reasons.extend(AgentFailure::from_slug(slug, words));
    }
}

/// What is allowed in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TurnRules<'a> {
    /// Whether only a final is accepted.
    pub(crate) only_final: bool,
    /// The code in the slot of a final (`xml-final`).
    pub(crate) nonce: &'a str,
    /// The number of tasks given before.
    pub(crate) tasks_given: u32,
}

impl TurnRules<'_> {
    /// The rules of an earlier turn, with that many tasks given before.
    pub(crate) fn from_given(tasks_given: u32) -> Self {
        Self { only_final: false, nonce: "", tasks_given }
    }
}

/// Takes an answer apart.
pub(crate) fn read_answer(
    agent: &AgentSpec,
    contracts: &AgentContracts,
    heard: &HeardAnswer,
    allowed: TurnRules<'_>,
) -> ReadAnswer {
    let mut taken = goals::read_converged(contracts, heard)
        .unwrap_or_else(|| take_in_dialect(agent, contracts, heard, allowed));
    goals::settle_goal(contracts, &mut taken);
    refuse_own_markup(heard, &mut taken);
    tasks::settle_tasks(agent, contracts, allowed.tasks_given, &mut taken);
    if heard.stop == StopReason::Length && !taken.is_usable() {
        taken.reasons.retain(|reason| reason.failure.slug != "empty-response");
        taken.add_failure("output-truncated", "");
    }
    let most = systole_kit::DocumentLimits::default().message_bytes;
    if let Some(ending) = taken.ending.take_if(|ending| ending.bytes().len() > most) {
        let bytes = ending.bytes().len();
        taken.add_failure(
            "tool-payload-invalid",
            format!(
                "Your final has {bytes} bytes as a message, and {most} is the most. Write a shorter one."
            ),
        );
    }
    if !taken.is_usable() && heard.calls().next().is_none() {
        taken.unused = Some(heard.answer_text().trim().to_owned()).filter(|words| !words.is_empty());
    }
    if allowed.only_final && taken.ending.is_none() {
        taken.clear_acts();
        taken.add_failure("final-turn-no-report", "");
    }
    taken
}

/// Refuses a final if it, or the whole answer, begins with a tag that only prompts have: the model went on with the
/// prompt and answered nothing.
fn refuse_own_markup(heard: &HeardAnswer, taken: &mut ReadAnswer) {
    let Some(ending) = &taken.ending else { return };
    let answer = heard.joined_text();
    // The slot of a final in `xml-final` is the model's to write.
    let of_answer = show::find_own_tag(&answer).filter(|tag| !tag.starts_with(show::SLOT));
    let Some(tag) =
        of_answer.map(str::to_owned).or_else(|| show::find_own_tag(&ending.text()).map(str::to_owned))
    else {
        return;
    };
    taken.ending = None;
    taken.repairs.retain(|repair| repair.act.is_some());
    taken.add_failure("own-markup", format!("It began with <{tag}>."));
}

fn take_in_dialect(
    agent: &AgentSpec,
    contracts: &AgentContracts,
    heard: &HeardAnswer,
    allowed: TurnRules<'_>,
) -> ReadAnswer {
    if let Some(taken) = read_scripted(agent, contracts, heard) {
        return taken;
    }
    match agent.dialect {
        Dialect::Plain => plain::read_answer(contracts, heard),
        Dialect::Native => note_alone(agent, contracts, heard)
            .unwrap_or_else(|| native::read_answer(agent, contracts, heard)),
        Dialect::XmlFinal => note_alone(agent, contracts, heard)
            .unwrap_or_else(|| xml_final::read_answer(agent, contracts, heard, allowed)),
        Dialect::Xml => xml::read_answer(agent, contracts, heard),
    }
}

/// The actions or the final that a script wrote as elements for an agent of another dialect: the same script is for every
/// dialect.
fn read_scripted(agent: &AgentSpec, contracts: &AgentContracts, heard: &HeardAnswer) -> Option<ReadAnswer> {
    let may_be = agent.is_rehearsed && agent.dialect != Dialect::Xml && heard.calls().next().is_none();
    may_be.then(|| xml::read_answer(agent, contracts, heard)).filter(ReadAnswer::is_usable)
}

/// The thoughts and plans of an answer that holds nothing else, in a dialect whose actions are native calls.
fn note_alone(agent: &AgentSpec, contracts: &AgentContracts, heard: &HeardAnswer) -> Option<ReadAnswer> {
    heard.calls().next().is_none().then(|| xml::note_alone(agent, contracts, heard)).flatten()
}

/// Where to cut the answer, if this agent stops early. Only actions in text have a visible end.
pub(crate) fn build_check(
    agent: &AgentSpec,
    contracts: &AgentContracts,
    only_final: bool,
) -> Option<EnoughCheck> {
    (agent.stop_early && agent.dialect == Dialect::Xml)
        .then(|| xml::build_check(agent, contracts, only_final))
}

/// The note of a turn: the agent's own root tag around its thoughts and plans. `None` if there are neither. Thoughts
/// that no message can carry are cut: the journal has all of them.
pub(crate) fn write_note(agent: &str, taken: &ReadAnswer) -> Option<Payload> {
    if !taken.has_note() {
        return None;
    }
    let most = systole_kit::DocumentLimits::default().message_bytes;
    let whole = note_of(agent, taken, usize::MAX)?;
    if whole.bytes().len() <= most {
        return Some(whole);
    }
    // Escaping makes a character at most six times as long.
    note_of(agent, taken, most / 8 / taken.thoughts.len().max(1))
}

/// The note with at most that many bytes of each thought.
fn note_of(agent: &str, taken: &ReadAnswer, most: usize) -> Option<Payload> {
    let name = systole_kit::writer::XmlName::new(agent)?;
    let mut writer = systole_kit::writer::XmlWriter::new();
    let namespace = format!("https://xml-pipeline.org/ns/{agent}/v1");
    writer.open(name).xmlns(&namespace).content(|note| {
        for thought in &taken.thoughts {
            let kept = thought.get(..thought.floor_char_boundary(most)).unwrap_or_default();
            note.open("thought").text(kept);
        }
        taken.plans.iter().for_each(|plan| note.write_payload(plan));
    });
    Payload::parse(&writer.finish(), &systole_kit::DocumentLimits::FROM_PUMP).ok()
}

/// A final in words: the only answer that is just text, or a report if the agent owes another answer.
pub(crate) fn write_final(contracts: &AgentContracts, text: &str, outcome: &str) -> Option<Payload> {
    let words = text.trim();
    if let Some(known) = contracts.text_final() {
        return known.wrap_text(words);
    }
    write_report("model", outcome, None, words)
}

/// A `<final-report>`.
pub(crate) fn write_report(source: &str, outcome: &str, reason: Option<&str>, text: &str) -> Option<Payload> {
    let mut writer = systole_kit::writer::XmlWriter::new();
    let start =
        writer.open("final-report").xmlns(namespaces::CORE).attr("source", source).attr("outcome", outcome);
    start.attr_if("reason", reason).text(text);
    Payload::from_trusted(writer.finish().into()).ok()
}
