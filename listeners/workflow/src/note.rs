//! The note of a reply: the things that its items start, and the decisions. A run is rebuilt from its notes, so that
//! nothing is decided twice.
//!
//! A note goes out as a payload in the workflow's own root tag, and comes back from the view of its call.

use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::writer::{XmlName, XmlWriter};
use systole_kit::{DocumentLimits, Payload};

use crate::supervision;

/// A note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TurnNote {
    /// The items of the reply that start something.
    pub(crate) starts: Vec<NotedStart>,
    /// The decisions.
    pub(crate) decided: Vec<NotedDecision>,
    /// The outputs of supervised goals that were compared with their commitments.
    pub(crate) reconciled: Vec<NotedComparison>,
    /// The loops that reached their limit. They are not part of the payload: each is a notice of the turn.
    pub(crate) reached: Vec<String>,
}

/// A comparison of an output with its commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotedComparison {
    /// The output.
    pub(crate) key: String,
    /// Why a supervisor has to review it. Empty if no review is needed.
    pub(crate) triggers: Vec<String>,
}

/// An item that starts something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotedStart {
    /// Its index in the reply.
    pub(crate) ordinal: u32,
    /// The step that it starts, with the passes of its loops, the item and the agent.
    pub(crate) key: String,
    /// The number of the try, from 1.
    pub(crate) number: u32,
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotedDecision {
    /// The step.
    pub(crate) key: String,
    /// The question.
    pub(crate) question: String,
    /// The answer.
    pub(crate) answer: bool,
}

impl TurnNote {
    /// The note as a payload of the workflow with that name.
    pub(crate) fn to_payload(&self, workflow: &str) -> Option<Payload> {
        let name = XmlName::new(workflow)?;
        let mut writer = XmlWriter::new();
        let namespace = format!("https://xml-pipeline.org/ns/{workflow}/v1");
        writer.open(name).xmlns(&namespace).content(|note| {
            for one in &self.decided {
                let answer = if one.answer { "yes" } else { "no" };
                let start = note.open("decided").attr("key", &one.key);
                start.attr("question", &one.question).attr("answer", answer).empty();
            }
            for one in &self.starts {
                let again = (one.number > 1).then(|| one.number.to_string());
                let start = note.open("start").number("ordinal", one.ordinal.into()).attr("key", &one.key);
                start.attr_if("try", again.as_deref()).empty();
            }
            for one in &self.reconciled {
                note.write_payload(&supervision::write_comparison(&one.key, &one.triggers));
            }
        });
        Payload::parse(&writer.finish(), &DocumentLimits::FROM_PUMP).ok()
    }

    /// Reads a note.
    pub(crate) fn from_payload(payload: &Payload) -> Self {
        let mut note = Self::default();
        let Ok(mut gate) = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP) else {
            return note;
        };
        let mut is_trigger = false;
        while let Ok(step) = gate.read_step() {
            let tag = match step {
                GateStep::Open(tag) => tag,
                GateStep::Text(text) if is_trigger => {
                    let mut trigger = String::new();
                    text.append_to(&mut trigger);
                    if let Some(last) = note.reconciled.last_mut() {
                        last.triggers.push(trigger);
                    }
                    continue;
                }
                GateStep::Close => {
                    is_trigger = false;
                    continue;
                }
                GateStep::Done => break,
                GateStep::Text(_) | GateStep::Instruction => continue,
            };
            is_trigger = tag.local == "trigger";
            let value = |name: &str| gate.find_attribute(name).map(std::borrow::Cow::into_owned);
            match tag.local {
                "start" => note.starts.extend(value("key").map(|key| NotedStart {
                    ordinal: value("ordinal").and_then(|at| at.parse().ok()).unwrap_or_default(),
                    number: value("try").and_then(|number| number.parse().ok()).unwrap_or(1),
                    key,
                })),
                "decided" => note.decided.extend(value("key").map(|key| NotedDecision {
                    question: value("question").unwrap_or_default(),
                    answer: value("answer").as_deref() == Some("yes"),
                    key,
                })),
                "reconcile" => {
                    let key = value("goal").unwrap_or_default();
                    note.reconciled.push(NotedComparison { key, triggers: Vec::new() });
                }
                _ => {}
            }
        }
        note
    }
}
