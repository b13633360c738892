//! Questions to a person: writes and reads the core payloads about a question. Like all core payloads, they are written
//! through the kit's writer and are valid under `core.xsd`.

use std::sync::Arc;

use systole_wire::DocumentLimits;
use systole_wire::gate::{GateStep, XmlGate};

use super::core_payload::{read_attributes, read_text, write_element};
use crate::types::ids::{CallPath, Digest, Name, ThreadId};
use crate::types::person::{PersonRequestId, QuestionRequest, ShownMessage};
use crate::types::time::Millis;

/// `<person-asked>`: a question waits for a person.
pub fn write_question(question: &QuestionRequest) -> Arc<[u8]> {
    write_element("person-asked", |asked| {
        asked
            .attr("id", &question.id.to_string())
            .attr("expires", &question.expires.to_string())
            .attr("thread", question.thread.as_str())
            .attr("call", question.call.as_str())
            .attr("from", question.from.as_str())
            .content(|inside| {
                inside.open("question").text(&question.words);
                for show in &question.shows {
                    inside
                        .open("show")
                        .number("seq", show.number)
                        .number("record", show.record)
                        .attr("hash", &show.hash.to_string())
                        .text(&show.label);
                }
                question.choices.iter().for_each(|choice| inside.open("choice").text(choice));
            });
    })
}

/// Reads a `<person-asked>`.
pub fn read_asked(body: &[u8]) -> Option<QuestionRequest> {
    let [id, expires, thread, call, from] =
        read_attributes(body, "person-asked", ["id", "expires", "thread", "call", "from"])?;
    let mut question = QuestionRequest {
        id: PersonRequestId::parse(&id?)?,
        expires: Millis::parse(&expires?)?,
        thread: ThreadId::parse(&thread?).ok()?,
        call: CallPath::parse(&call?).ok()?,
        from: Name::parse(&from?).ok()?,
        words: String::new(),
        shows: Vec::new(),
        choices: Vec::new(),
    };
    let mut gate = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP).ok()?;
    let Ok(GateStep::Open(_)) = gate.read_step() else { return None };
    while let Some(tag) = gate.read_child().ok()? {
        let number = |name: &str| gate.find_attribute(name)?.parse().ok();
        let (seq, record) = (number("seq"), number("record"));
        let hash = gate.find_attribute("hash").and_then(|hash| Digest::parse(&hash).ok());
        let words = gate.text_inside().ok()?;
        match tag.local {
            "question" => question.words = words,
            "show" => {
                question.shows.push(ShownMessage {
                    number: seq?,
                    record: record?,
                    hash: hash?,
                    label: words,
                });
            }
            _ => question.choices.push(words),
        }
    }
    Some(question)
}

/// The command that answers a question, with its first choice or with a note.
pub fn spell_command(id: PersonRequestId, choices: &[String]) -> String {
    match choices.first() {
        Some(first) => format!("systole choose {id} {first}"),
        None => format!("systole choose {id} --note TEXT"),
    }
}

/// The command, followed by the other choices.
pub fn spell_commands(id: PersonRequestId, choices: &[String]) -> String {
    let others = choices.iter().skip(1).map(|choice| format!(", or {choice}"));
    [spell_command(id, choices)].into_iter().chain(others).collect()
}

/// The outcome of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QuestionOutcome<'a> {
    /// A person answered.
    Chosen {
        /// The person.
        by: &'a Name,
        /// The choice.
        choice: Option<&'a str>,
        /// The note, which is the answer if there are no choices.
        note: &'a str,
    },
    /// No person answered in time.
    Expired {
        /// Whether the wall clock was set back, so that it shows less time than has passed.
        is_set_back: bool,
    },
}

/// `<person-said>`: the outcome of a question.
pub fn write_outcome(said: &QuestionOutcome<'_>) -> Arc<[u8]> {
    write_element("person-said", |start| match said {
        QuestionOutcome::Chosen { by, choice, note } => {
            let start = start.attr("outcome", "chosen").attr_if("choice", *choice).attr("by", by.as_str());
            if note.is_empty() { start.empty() } else { start.text(note) }
        }
        QuestionOutcome::Expired { is_set_back } => {
            start.attr("outcome", "expired").attr_if("clock", is_set_back.then_some("set-back")).empty();
        }
    })
}

/// The content of a `<person-said>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PersonSaid {
    /// `chosen` or `expired`.
    pub outcome: String,
    /// The choice.
    pub choice: Option<String>,
    /// Who answered.
    pub by: Option<String>,
    /// The note; empty if there is none.
    pub note: String,
}

/// Reads a `<person-said>`.
pub fn read_said(body: &[u8]) -> Option<PersonSaid> {
    let [outcome, choice, by] = read_attributes(body, "person-said", ["outcome", "choice", "by"])?;
    Some(PersonSaid { outcome: outcome?, choice, by, note: read_text(body).unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_about_a_question_reads_back() {
        let question = QuestionRequest {
            id: PersonRequestId(7),
            expires: Millis(1_795_158_000_007),
            thread: ThreadId::parse("sess-1f0c9a2b77d1").unwrap(),
            call: CallPath::new_top(1).append_item(2, 0),
            from: Name::parse("planner").unwrap(),
            words: "Go <now> & \u{202e}here?".to_owned(),
            shows: vec![ShownMessage {
                number: 3,
                record: 12,
                hash: Digest([7; 32]),
                label: "a <b>".to_owned(),
            }],
            choices: vec!["go".to_owned(), "stop".to_owned()],
        };
        assert_eq!(read_asked(&write_question(&question)), Some(question));
        let by = Name::new_operator();
        let chosen = write_outcome(&QuestionOutcome::Chosen { by: &by, choice: Some("go"), note: "a < b" });
        let read = read_said(&chosen).unwrap();
        assert_eq!(
            (read.outcome.as_str(), read.choice.as_deref(), read.note.as_str()),
            ("chosen", Some("go"), "a < b")
        );
        assert_eq!(
            read_said(&write_outcome(&QuestionOutcome::Expired { is_set_back: true })).unwrap().by,
            None
        );
    }
}
