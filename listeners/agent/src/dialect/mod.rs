//! From what a model said to what its agent does: thoughts, actions, a final, and whatever was wrong.
//!
//! A dialect is a pure function of the answer and the contracts, so that the same words, read back from the log, mean the
//! same again. It never speaks to a model and judges no payload by its schema: that is the pump's.

mod goals;
mod json_schema;
mod native;
mod plain;
mod tasks;
mod xml;
mod xml_final;

use systole_kit::{Payload, namespaces};

use crate::contracts::Contracts;
use crate::failures::Reason;
use crate::heard::Heard;
use crate::model::{Enough, Stop};
use crate::spec::{Agent, Dialect};

/// What was made of an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken {
    /// What the model thought aloud.
    pub(crate) thoughts: Vec<String>,
    /// Plans, each a `<todo-until>`.
    pub(crate) plans: Vec<Payload>,
    /// What it does, in order.
    pub(crate) acts: Vec<Act>,
    /// Its final.
    pub(crate) ending: Option<Payload>,
    /// Where each part of the final stands in the model's text, if it is an element there.
    pub(crate) ending_origin: Option<systole_kit::extract::Origin>,
    /// Whether it holds nothing but thoughts and plans: it is a note, which opens the next turn.
    pub(crate) is_note: bool,
    /// What was wrong.
    pub(crate) reasons: Vec<Reason>,
    /// What was repaired, each with its slug: recorded, and told.
    pub(crate) mends: Vec<Repair>,
    /// Native calls that were plans.
    pub(crate) planned_calls: Vec<String>,
    /// Native calls that came to nothing, each with why.
    pub(crate) failed_calls: Vec<(String, Reason)>,
}

/// A repair, and what came of it.
#[derive(Clone, Debug)]
pub(crate) struct Repair {
    /// What the model is told.
    pub(crate) reason: Reason,
    /// The action that was repaired, by its place among the actions; none for a note or a final.
    pub(crate) act: Option<usize>,
}

/// One action.
#[derive(Clone, Debug)]
pub(crate) struct Act {
    /// Whom it is for, where it is said.
    pub(crate) to: Option<String>,
    /// The payload.
    pub(crate) payload: Payload,
    /// What the model calls it.
    pub(crate) name: String,
    /// The native call that it was.
    pub(crate) call: Option<String>,
    /// The child thread that it is for, where it is said.
    pub(crate) thread: Option<String>,
    /// Where each part of it stands in the model's text.
    pub(crate) origin: Option<systole_kit::extract::Origin>,
    /// Whether it gives a task.
    pub(crate) is_task: bool,
}

impl Taken {
    /// Whether the turn can be answered with it.
    pub(crate) fn is_usable(&self) -> bool {
        !self.acts.is_empty() || self.ending.is_some() || !self.plans.is_empty() || self.is_note
    }

    /// Whether a note is the first item that is made of it.
    pub(crate) fn has_note(&self) -> bool {
        self.is_note || !self.thoughts.is_empty() || !self.plans.is_empty()
    }

    /// The action under the ordinal that its item has, with its place among the actions.
    pub(crate) fn act(&self, ordinal: u32) -> Option<(usize, &Act)> {
        let at = usize::try_from(ordinal).ok()?.checked_sub(usize::from(self.has_note()))?;
        Some((at, self.acts.get(at)?))
    }

    /// Whether it gives tasks.
    pub(crate) fn has_tasks(&self) -> bool {
        self.acts.iter().any(|act| act.is_task)
    }

    /// Leaves nothing of it that could be executed or taken.
    pub(crate) fn clear_acts(&mut self) {
        self.acts.clear();
        self.mends.clear();
        self.is_note = false;
    }

    pub(crate) fn wrong(&mut self, slug: &str, words: impl Into<String>) {
        self.reasons.extend(Reason::of(slug, words));
    }
}

/// What may be said in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowed<'a> {
    /// Only a final is taken.
    pub(crate) only_final: bool,
    /// The code in the slot of a final (`xml-final`).
    pub(crate) nonce: &'a str,
    /// Tasks that were given before.
    pub(crate) tasks_given: u32,
}

impl Allowed<'_> {
    /// What was allowed in an earlier turn, before which so many tasks were given.
    pub(crate) fn before(tasks_given: u32) -> Self {
        Self { only_final: false, nonce: "", tasks_given }
    }
}

/// Takes an answer apart.
pub(crate) fn take(agent: &Agent, contracts: &Contracts, heard: &Heard, allowed: Allowed<'_>) -> Taken {
    let mut taken = goals::converged(contracts, heard)
        .unwrap_or_else(|| take_in_dialect(agent, contracts, heard, allowed));
    goals::settle(contracts, &mut taken);
    tasks::settle(agent, contracts, allowed.tasks_given, &mut taken);
    if heard.stop == Stop::Length && !taken.is_usable() {
        taken.reasons.retain(|reason| reason.failure.slug != "empty-response");
        taken.wrong("output-truncated", "");
    }
    let most = systole_kit::Limits::default().message_bytes;
    if let Some(ending) = taken.ending.take_if(|ending| ending.bytes().len() > most) {
        let bytes = ending.bytes().len();
        taken.wrong(
            "tool-payload-invalid",
            format!(
                "Your final has {bytes} bytes as a message, and {most} is the most. Write a shorter one."
            ),
        );
    }
    if allowed.only_final && taken.ending.is_none() {
        taken.clear_acts();
        taken.wrong("final-turn-no-report", "");
    }
    taken
}

fn take_in_dialect(agent: &Agent, contracts: &Contracts, heard: &Heard, allowed: Allowed<'_>) -> Taken {
    match agent.dialect {
        Dialect::Plain => plain::take(contracts, heard),
        Dialect::Native => {
            note_alone(agent, contracts, heard).unwrap_or_else(|| native::take(agent, contracts, heard))
        }
        Dialect::XmlFinal => note_alone(agent, contracts, heard)
            .unwrap_or_else(|| xml_final::take(agent, contracts, heard, allowed)),
        Dialect::Xml => xml::take(agent, contracts, heard),
    }
}

/// The thoughts and plans of an answer that has no calls and holds nothing else, in a dialect whose actions are calls.
fn note_alone(agent: &Agent, contracts: &Contracts, heard: &Heard) -> Option<Taken> {
    heard.calls().next().is_none().then(|| xml::note_alone(agent, contracts, heard)).flatten()
}

/// Where its answer is cut, if that agent's is. Only actions in text have an end that can be seen.
pub(crate) fn enough(agent: &Agent, contracts: &Contracts, only_final: bool) -> Option<Enough> {
    (agent.stop_early && agent.dialect == Dialect::Xml).then(|| xml::listening(agent, contracts, only_final))
}

/// The note of a turn: the agent's own root tag around what it thought and plans. None where there is neither. Thoughts that
/// no message can carry are cut: the journal has all of them.
pub(crate) fn note(agent: &str, taken: &Taken) -> Option<Payload> {
    if !taken.has_note() {
        return None;
    }
    let most = systole_kit::Limits::default().message_bytes;
    let whole = note_of(agent, taken, usize::MAX)?;
    if whole.bytes().len() <= most {
        return Some(whole);
    }
    // A character has at most six times its bytes when it is written.
    note_of(agent, taken, most / 8 / taken.thoughts.len().max(1))
}

/// The note with at most so many bytes of each thought.
fn note_of(agent: &str, taken: &Taken, most: usize) -> Option<Payload> {
    let name = systole_kit::writer::Name::new(agent)?;
    let mut writer = systole_kit::writer::Writer::new();
    let namespace = format!("https://xml-pipeline.org/ns/{agent}/v1");
    writer.open(name).xmlns(&namespace).content(|note| {
        for thought in &taken.thoughts {
            let kept = thought.get(..thought.floor_char_boundary(most)).unwrap_or_default();
            note.open("thought").text(kept);
        }
        taken.plans.iter().for_each(|plan| note.payload(plan));
    });
    Payload::read(&writer.finish(), &systole_kit::Limits::FROM_PUMP).ok()
}

/// A final in words: the one answer that is only text, or a report where the agent owes another.
pub(crate) fn final_in_words(contracts: &Contracts, text: &str, outcome: &str) -> Option<Payload> {
    let words = text.trim();
    if let Some(known) = contracts.text_final() {
        return known.around(words);
    }
    report("model", outcome, None, words)
}

/// A `<final-report>`.
pub(crate) fn report(source: &str, outcome: &str, reason: Option<&str>, text: &str) -> Option<Payload> {
    let mut writer = systole_kit::writer::Writer::new();
    let start =
        writer.open("final-report").xmlns(namespaces::CORE).attr("source", source).attr("outcome", outcome);
    start.attr_if("reason", reason).text(text);
    Payload::trusted(writer.finish().into()).ok()
}
