//! The note of a reply: what each of its items starts, and what was decided. It is what a run is read from again, so
//! that nothing is decided twice.
//!
//! A note goes out as a payload in the workflow's own root tag, and comes back from the view of its call.

use systole_kit::gate::{Gate, Step};
use systole_kit::writer::{Name, Writer};
use systole_kit::{Limits, Payload};

use crate::supervision;

/// A note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    /// What items of the reply start.
    pub(crate) starts: Vec<Started>,
    /// What was decided.
    pub(crate) decided: Vec<Decided>,
    /// Which outputs of supervised goals were compared with their commitments.
    pub(crate) reconciled: Vec<Reconciled>,
}

/// A comparison of an output with its commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reconciled {
    /// Which output.
    pub(crate) key: String,
    /// Why a supervisor has to look at it; empty: it has not.
    pub(crate) triggers: Vec<String>,
}

/// An item that starts something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Started {
    /// Its place in the reply.
    pub(crate) ordinal: u32,
    /// What it starts: a step, with its loops' passes, item and agent.
    pub(crate) key: String,
    /// Which try it is, from 1.
    pub(crate) number: u32,
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decided {
    /// About which step.
    pub(crate) key: String,
    /// What about it.
    pub(crate) question: String,
    /// How.
    pub(crate) answer: bool,
}

impl Note {
    /// The payload of a workflow of that name.
    pub(crate) fn payload(&self, workflow: &str) -> Option<Payload> {
        let name = Name::new(workflow)?;
        let mut writer = Writer::new();
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
                note.payload(&supervision::reconcile(&one.key, &one.triggers));
            }
        });
        Payload::read(&writer.finish(), &Limits::FROM_PUMP).ok()
    }

    /// Reads one back.
    pub(crate) fn read(payload: &Payload) -> Self {
        let mut note = Self::default();
        let Ok(mut gate) = Gate::strict(payload.bytes(), &Limits::FROM_PUMP) else { return note };
        let mut is_trigger = false;
        while let Ok(step) = gate.step() {
            let tag = match step {
                Step::Open(tag) => tag,
                Step::Text(text) if is_trigger => {
                    let mut trigger = String::new();
                    text.append_to(&mut trigger);
                    if let Some(last) = note.reconciled.last_mut() {
                        last.triggers.push(trigger);
                    }
                    continue;
                }
                Step::Close => {
                    is_trigger = false;
                    continue;
                }
                Step::Done => break,
                Step::Text(_) | Step::Instruction => continue,
            };
            is_trigger = tag.local == "trigger";
            let value = |name: &str| gate.attribute(name).map(std::borrow::Cow::into_owned);
            match tag.local {
                "start" => note.starts.extend(value("key").map(|key| Started {
                    ordinal: value("ordinal").and_then(|at| at.parse().ok()).unwrap_or_default(),
                    number: value("try").and_then(|number| number.parse().ok()).unwrap_or(1),
                    key,
                })),
                "decided" => note.decided.extend(value("key").map(|key| Decided {
                    question: value("question").unwrap_or_default(),
                    answer: value("answer").as_deref() == Some("yes"),
                    key,
                })),
                "reconcile" => {
                    let key = value("goal").unwrap_or_default();
                    note.reconciled.push(Reconciled { key, triggers: Vec::new() });
                }
                _ => {}
            }
        }
        note
    }
}
