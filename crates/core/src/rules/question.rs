//! Questions to a person: reads an `<ask-person>`, and writes and reads the core payloads about a question.
//!
//! The core's schema has already found the `<ask-person>` valid. This module refuses what a schema cannot check, with
//! the place and the fix. The pump decides whether a shown message exists. Like all core payloads, those here are
//! written through the kit's writer and are valid under `core.xsd`.

use std::collections::BTreeSet;
use std::sync::Arc;

use systole_wire::Limits;
use systole_wire::gate::{Gate, Step};

use super::admit::refusal_of;
use super::core_payload::{attributes, text, written};
use crate::types::codes::Code;
use crate::types::ids::{CallPath, Digest, Name, ThreadId};
use crate::types::limits;
use crate::types::person::{PersonRequestId, QuestionRequest, ShownMessage};
use crate::types::primitive::{AskPerson, Show};
use crate::types::refusal::Refusal;
use crate::types::time::{Millis, stretch_ms};

/// Reads an `<ask-person>`.
pub fn read_ask_person(body: &[u8]) -> Result<AskPerson, Refusal> {
    let [expires] = attributes(body, "ask-person", ["expires"]).unwrap_or_default();
    let expires_ms = expires_of(expires.as_deref())?;
    let mut asks = AskPerson { expires_ms, ..AskPerson::default() };
    let mut gate = Gate::strict(body, &Limits::FROM_PUMP).map_err(|fault| refusal_of(&fault))?;
    let fault = |fault: systole_wire::Fault| refusal_of(&fault);
    gate.step().map_err(fault)?;
    while let Some(tag) = gate.child().map_err(fault)? {
        let number = gate.attribute("seq").map(|seq| seq.trim().parse().unwrap_or(u64::MAX));
        let words = gate.text_inside().map_err(fault)?.trim().to_owned();
        match tag.local {
            "question" => asks.words = words,
            "show" => asks.shows.push(Show { number: number.unwrap_or(0), label: words }),
            _ => asks.choices.push(words),
        }
    }
    is_fit(&asks)?;
    Ok(asks)
}

fn expires_of(written: Option<&str>) -> Result<u64, Refusal> {
    let wrong = |words: &str, instead: &str| {
        Refusal::new(Code::Invalid, format!("expires{words}"))
            .expecting("1s to 365d, with one of the units ms, s, m, h, d")
            .fixed_by(format!("expires=\"{instead}\""))
            .in_place("/ask-person/@expires")
    };
    let Some(written) = written else { return Err(wrong(" is missing", "1d")) };
    let wrong = |words: &str, instead: &str| wrong(&format!(": {written}{words}"), instead);
    match stretch_ms(written) {
        None => Err(wrong(" is not a whole number with a unit", "1d")),
        Some(ms) if ms < limits::QUESTION_LEAST_MS => Err(wrong(" is less than 1s, the shortest time", "1s")),
        Some(ms) if ms > limits::QUESTION_MOST_MS => {
            Err(wrong(" is more than 365d, the longest time", "365d"))
        }
        Some(ms) => Ok(ms),
    }
}

fn is_fit(asks: &AskPerson) -> Result<(), Refusal> {
    let AskPerson { words, shows, choices, .. } = asks;
    let wrong = |words: String, place: &str| Refusal::new(Code::Invalid, words).in_place(place);
    if words.is_empty() {
        let refusal = wrong("the question is empty".to_owned(), "/ask-person/question");
        return Err(refusal.fixed_by("<question>Release this plan?</question>"));
    }
    if words.len() > limits::QUESTION_BYTES {
        let (bytes, most) = (words.len(), limits::QUESTION_BYTES);
        let refusal =
            wrong(format!("the question has {bytes} bytes, more than {most}"), "/ask-person/question");
        return Err(refusal.fixed_by("a short question; put long text into a message and show that"));
    }
    for (what, count, most) in
        [("show", shows.len(), limits::QUESTION_SHOWS), ("choice", choices.len(), limits::QUESTION_CHOICES)]
    {
        if count > most {
            let refusal = wrong(format!("{count} elements <{what}> are more than {most}"), "/ask-person");
            return Err(refusal.fixed_by(format!("at most {most} elements <{what}>")));
        }
    }
    for (number, show) in (1..).zip(shows) {
        let place = format!("/ask-person/show[{number}]");
        let length = show.label.chars().count();
        if show.label.is_empty() || length > limits::LABEL_CHARACTERS {
            let most = limits::LABEL_CHARACTERS;
            let refusal = wrong(format!("a label has {length} characters; 1 to {most} are allowed"), &place);
            return Err(
                refusal.fixed_by("a few words that say what is shown, as in <show seq=\"3\">the plan</show>")
            );
        }
    }
    let mut known = BTreeSet::new();
    for (number, choice) in (1..).zip(choices) {
        let place = format!("/ask-person/choice[{number}]");
        if !is_choice(choice) {
            let most = limits::CHOICE_CHARACTERS;
            let shown: String = choice.chars().take(80).collect();
            return Err(wrong(format!("choice {number} is not a word that a person can type"), &place)
                .expecting(format!(
                    "a letter or digit, then letters, digits, - _ or .; at most {most} characters"
                ))
                .receiving(shown)
                .fixed_by("one short word for each choice, as in <choice>go</choice>"));
        }
        if !known.insert(choice) {
            let refusal = wrong(format!("the choice {choice} is given twice"), &place);
            return Err(refusal.fixed_by("each choice once"));
        }
    }
    Ok(())
}

/// Whether a person can type the choice in a shell and read it unambiguously.
fn is_choice(choice: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    choice.starts_with(char::is_alphanumeric)
        && choice.chars().all(is_part)
        && choice.chars().count() <= limits::CHOICE_CHARACTERS
}

/// `<person-asked>`: a question waits for a person.
pub fn asked(question: &QuestionRequest) -> Arc<[u8]> {
    written("person-asked", |asked| {
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
        attributes(body, "person-asked", ["id", "expires", "thread", "call", "from"])?;
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
    let mut gate = Gate::strict(body, &Limits::FROM_PUMP).ok()?;
    let Ok(Step::Open(_)) = gate.step() else { return None };
    while let Some(tag) = gate.child().ok()? {
        let number = |name: &str| gate.attribute(name)?.parse().ok();
        let (seq, record) = (number("seq"), number("record"));
        let hash = gate.attribute("hash").and_then(|hash| Digest::parse(&hash).ok());
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
pub fn command(id: PersonRequestId, choices: &[String]) -> String {
    match choices.first() {
        Some(first) => format!("systole choose {id} {first}"),
        None => format!("systole choose {id} --note TEXT"),
    }
}

/// The command, followed by the other choices.
pub fn commands(id: PersonRequestId, choices: &[String]) -> String {
    let others = choices.iter().skip(1).map(|choice| format!(", or {choice}"));
    [command(id, choices)].into_iter().chain(others).collect()
}

/// The outcome of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said<'a> {
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
pub fn said(said: &Said<'_>) -> Arc<[u8]> {
    written("person-said", |start| match said {
        Said::Chosen { by, choice, note } => {
            let start = start.attr("outcome", "chosen").attr_if("choice", *choice).attr("by", by.as_str());
            if note.is_empty() { start.empty() } else { start.text(note) }
        }
        Said::Expired { is_set_back } => {
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
    let [outcome, choice, by] = attributes(body, "person-said", ["outcome", "choice", "by"])?;
    Some(PersonSaid { outcome: outcome?, choice, by, note: text(body).unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(attributes: &str, inside: &str) -> Result<AskPerson, Refusal> {
        let ns = systole_wire::namespaces::CORE;
        read_ask_person(format!("<ask-person xmlns=\"{ns}\" {attributes}>{inside}</ask-person>").as_bytes())
    }

    const GO: &str = "<question> Go?\n</question><choice>go</choice><choice> stop </choice>";

    #[test]
    fn a_question_is_read_without_the_white_space_around_its_words() {
        let asks =
            read("expires=\"1d\"", "<question> Go?\n</question><show seq=\"3\">the plan</show>").unwrap();
        assert_eq!((asks.words.as_str(), asks.expires_ms), ("Go?", 86_400_000));
        assert_eq!(asks.shows, [Show { number: 3, label: "the plan".to_owned() }]);
        assert_eq!(read("expires=\"1s\"", GO).unwrap().choices, ["go", "stop"]);
    }

    #[test]
    fn what_a_schema_cannot_say_is_refused_with_place_and_fix() {
        let many = |tag: &str, of: usize| {
            (0..of).map(|n| format!("<{tag} seq=\"1\">c{n}</{tag}>")).collect::<String>()
        };
        let ask = "<question>Go?</question>";
        let cases = [
            ("", GO.to_owned(), "/ask-person/@expires", "expires is missing"),
            ("expires=\"soon\"", GO.to_owned(), "/ask-person/@expires", "not a whole number"),
            ("expires=\"999ms\"", GO.to_owned(), "/ask-person/@expires", "less than 1s"),
            ("expires=\"366d\"", GO.to_owned(), "/ask-person/@expires", "more than 365d"),
            ("expires=\"1d\"", "<question> </question>".to_owned(), "/ask-person/question", "empty"),
            (
                "expires=\"1d\"",
                format!("<question>{}</question>", "x".repeat(4097)),
                "/ask-person/question",
                "4097 bytes",
            ),
            ("expires=\"1d\"", format!("{ask}{}", many("show", 17)), "/ask-person", "17 elements <show>"),
            ("expires=\"1d\"", format!("{ask}{}", many("choice", 17)), "/ask-person", "17 elements <choice>"),
            (
                "expires=\"1d\"",
                format!("{ask}<show seq=\"1\"> </show>"),
                "/ask-person/show[1]",
                "0 characters",
            ),
            (
                "expires=\"1d\"",
                format!("{ask}<choice>go</choice><choice>go</choice>"),
                "/ask-person/choice[2]",
                "twice",
            ),
            ("expires=\"1d\"", format!("{ask}<choice>-go</choice>"), "/ask-person/choice[1]", "not a word"),
            (
                "expires=\"1d\"",
                format!("{ask}<choice>go now</choice>"),
                "/ask-person/choice[1]",
                "not a word",
            ),
            (
                "expires=\"1d\"",
                format!("{ask}<choice>g\u{200b}o</choice>"),
                "/ask-person/choice[1]",
                "not a word",
            ),
            (
                "expires=\"1d\"",
                format!("{ask}<choice>{}</choice>", "x".repeat(65)),
                "/ask-person/choice[1]",
                "not a word",
            ),
        ];
        for (attributes, inside, place, words) in cases {
            let refusal = read(attributes, &inside).unwrap_err();
            assert!(refusal.message.contains(words), "{inside}: {}", refusal.message);
            assert_eq!(refusal.path.as_deref(), Some(place), "{inside}");
            assert!(refusal.fix.is_some(), "{inside}");
        }
        assert!(read("expires=\"365d\"", &format!("{ask}{}", many("choice", 16))).is_ok());
        assert!(read("expires=\"1d\"", &format!("{ask}<choice>Über-2.0_ß</choice>")).is_ok());
    }

    #[test]
    fn what_is_written_about_a_question_reads_back() {
        let question = QuestionRequest {
            id: PersonRequestId(7),
            expires: Millis(1_795_158_000_007),
            thread: ThreadId::parse("sess-1f0c9a2b77d1").unwrap(),
            call: CallPath::top(1).item(2, 0),
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
        assert_eq!(read_asked(&asked(&question)), Some(question));
        let by = Name::operator();
        let chosen = said(&Said::Chosen { by: &by, choice: Some("go"), note: "a < b" });
        let read = read_said(&chosen).unwrap();
        assert_eq!(
            (read.outcome.as_str(), read.choice.as_deref(), read.note.as_str()),
            ("chosen", Some("go"), "a < b")
        );
        assert_eq!(read_said(&said(&Said::Expired { is_set_back: true })).unwrap().by, None);
    }
}
