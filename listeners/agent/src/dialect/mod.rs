//! From a model's answer to the agent's actions: thoughts, actions, a final, and faults.
//!
//! A dialect is a pure function of the answer and the contracts, so the same words, read back from the log, mean the
//! same again. It never speaks to a model and checks no payload against its schema: the pump does.

mod finals;
mod goals;
mod grammar;
mod json_schema;
mod native;
mod plain;
mod read_answer;
mod tasks;
mod together;
mod xml;
mod xml_final;

pub(crate) use finals::{write_final, write_report};
pub(crate) use grammar::write_grammar;
pub(crate) use read_answer::{ActPart, AnswerAction, AnswerJudging, AnswerRepair, ReadAnswer, TurnRules};

use systole_kit::Payload;

use crate::contracts::AgentContracts;
use crate::model::{EnoughCheck, StopReason};
use crate::model_answer::HeardAnswer;
use crate::show;
use crate::spec::{AgentSpec, Dialect, OutputFormat};

/// Takes an answer apart.
pub(crate) fn read_answer(
    agent: &AgentSpec,
    contracts: &AgentContracts,
    heard: &HeardAnswer,
    allowed: TurnRules<'_>,
) -> ReadAnswer {
    let mut taken = goals::read_converged(contracts, heard)
        .unwrap_or_else(|| take_in_dialect(agent, contracts, heard, allowed));
    goals::settle_goal(contracts, allowed, &mut taken);
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
    taken.add_failure("own-markup", format!("It holds <{tag}>."));
}

/// Whether an answer that is text alone is the agent's, word for word.
pub(crate) fn is_text_answer(agent: &AgentSpec, contracts: &AgentContracts) -> bool {
    let is_text = agent.output.format != OutputFormat::Json && agent.output.schema.is_none();
    matches!(agent.dialect, Dialect::Plain | Dialect::Native) && is_text && contracts.json_final().is_none()
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
        Dialect::Plain => plain::read_answer(agent, contracts, heard),
        Dialect::Native => note_alone(agent, contracts, heard)
            .unwrap_or_else(|| native::read_answer(agent, contracts, heard, allowed)),
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
