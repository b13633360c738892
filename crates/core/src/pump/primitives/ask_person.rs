//! `<ask-person>`: its sender asks a person. The item stays open until a person has answered, or no person has answered
//! in time; `pump::questions` does that. The messages that are shown are fixed by hash when the question is recorded. The
//! view was looked up earlier, as of the moment when the turn became due.

use std::collections::BTreeSet;

use systole_wire::DocumentLimits;
use systole_wire::gate::XmlGate;

use super::recall::find_seen;
use super::{FieldValue, ItemDecision, Primitive, ShownItem, TurnEffect, make_item};
use crate::pump::decision_builder::DecisionBuilder;
use crate::pump::requests::{self, PersonAsking};
use crate::pump::turn::Turn;
use crate::pump::view::{ReadRequest, View};
use crate::rules::admit::ItemReading;
use crate::rules::core_payload::read_attributes;
use crate::rules::question::{self, PersonSaid};
use crate::rules::refusing::refusal_of;
use crate::types::codes::Code;
use crate::types::composition::ApprovalRule;
use crate::types::flow::Admitted;
use crate::types::ids::Name;
use crate::types::limits;
use crate::types::person::{QuestionRequest, ShownMessage};
use crate::types::record::{ApprovalEffect, MessageRole, RecordCode, RecordKind};
use crate::types::refusal::Refusal;
use crate::types::time::stretch_ms;

pub(super) static ROW: Primitive = Primitive {
    wants: list_reads,
    is_for_person: true,
    shows: Some(show_item),
    turns: TurnEffect::Another,
    ..make_item(
        "ask-person",
        RecordCode::Role(MessageRole::AskPerson),
        "asks a person, item",
        ItemReading::Plain(|body| read_ask(body).map(drop)),
        decide_item,
    )
};

/// The content of an `<ask-person>`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct AskPerson {
    /// The question.
    words: String,
    /// The messages that are shown with it. They may not exist.
    shows: Vec<ShowRequest>,
    /// The possible answers. If there are none, the note is the answer.
    choices: Vec<String>,
    /// How long it waits.
    expires_ms: u64,
}

/// A message of the sender's view that is shown to a person.
#[derive(Clone, PartialEq, Eq, Debug)]
struct ShowRequest {
    /// Its number, counted from 1.
    number: u64,
    /// Its label.
    label: String,
}

fn read_ask(body: &[u8]) -> Result<AskPerson, Refusal> {
    let [expires] = read_attributes(body, "ask-person", ["expires"]).unwrap_or_default();
    let expires_ms = expires_of(expires.as_deref())?;
    let mut asks = AskPerson { expires_ms, ..AskPerson::default() };
    let mut gate =
        XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP).map_err(|fault| refusal_of(&fault))?;
    let fault = |fault: systole_wire::Fault| refusal_of(&fault);
    gate.read_step().map_err(fault)?;
    while let Some(tag) = gate.read_child().map_err(fault)? {
        let number = gate.find_attribute("seq").map(|seq| seq.trim().parse().unwrap_or(u64::MAX));
        let words = gate.text_inside().map_err(fault)?.trim().to_owned();
        match tag.local {
            "question" => asks.words = words,
            "show" => asks.shows.push(ShowRequest { number: number.unwrap_or(0), label: words }),
            _ => asks.choices.push(words),
        }
    }
    is_fit(&asks)?;
    Ok(asks)
}

fn expires_of(written: Option<&str>) -> Result<u64, Refusal> {
    let wrong = |words: &str, instead: &str| {
        Refusal::new(Code::Invalid, format!("expires{words}"))
            .with_expected("1s to 365d, with one of the units ms, s, m, h, d")
            .fixed_by(format!("expires=\"{instead}\""))
            .in_place("/ask-person/@expires")
    };
    let Some(written) = written else { return Err(wrong(" is missing", "1d")) };
    let wrong = |words: &str, instead: &str| wrong(&format!(": {written}{words}"), instead);
    match stretch_ms(written) {
        None => Err(wrong(" is not a whole number with a unit", "1d")),
        Some(ms) if ms < limits::WAIT_LEAST_MS => Err(wrong(" is less than 1s, the shortest time", "1s")),
        Some(ms) if ms > limits::WAIT_MOST_MS => Err(wrong(" is more than 365d, the longest time", "365d")),
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
    if words.len() > limits::PERSON_TEXT_BYTES {
        let (bytes, most) = (words.len(), limits::PERSON_TEXT_BYTES);
        let refusal =
            wrong(format!("the question has {bytes} bytes, more than {most}"), "/ask-person/question");
        return Err(refusal.fixed_by("a short question; put long text into a message and show that"));
    }
    for (what, count, most) in
        [("show", shows.len(), limits::QUESTION_ENTRIES), ("choice", choices.len(), limits::QUESTION_ENTRIES)]
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
                .with_expected(format!(
                    "a letter or digit, then letters, digits, - _ or .; at most {most} characters"
                ))
                .with_received(shown)
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

/// The view if a message is shown, and the hash of each such message.
fn list_reads(body: &[u8]) -> Vec<ReadRequest> {
    let shows = read_ask(body).map_or_else(|_| Vec::new(), |asks| asks.shows);
    let view = shows.first().map(|_| ReadRequest::Whole);
    view.into_iter().chain(shows.iter().map(|show| ReadRequest::Hash(show.number))).collect()
}

/// Takes a question: its item, and the request in the same commit.
fn decide_item(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    admitted: &Admitted,
) -> ItemDecision {
    let wanted = read_ask(admitted.bytes())?;
    let shows = (1..).zip(&wanted.shows).map(|(nth, show)| show_message(turn, nth, show));
    let shows = shows.collect::<Result<Vec<_>, _>>()?;
    let mut fact = turn.make_fact(
        ordinal,
        RecordKind::Message,
        RecordCode::Role(MessageRole::AskPerson),
        admitted.bytes().clone(),
    );
    fact.from = turn.sender.clone();
    let (_, cause) = d.add_record(turn.thread, fact.with_addressee(&Name::new_person()));
    let (id, place) = (requests::next_id(d), turn.path.append_item(turn.number, ordinal));
    let body = question::write_question(&QuestionRequest {
        id,
        expires: d.at().add_ms(wanted.expires_ms),
        thread: turn.thread.clone(),
        call: place.clone(),
        from: turn.sender.clone(),
        words: wanted.words,
        shows,
        choices: wanted.choices,
    });
    let by_default = ApprovalRule::default();
    let asking = PersonAsking {
        thread: turn.thread,
        call: turn.path,
        place: &place,
        what: ApprovalEffect::Asked,
        config: turn.config,
        cause,
        rule: turn.listener.map_or(&by_default, |listener| &listener.approval),
        expires_ms: wanted.expires_ms,
        is_first: false,
        body,
    };
    requests::open_request(d, id, asking);
    Ok(None)
}

/// A message of the view, with the hash of its bytes.
fn show_message(turn: &Turn<'_>, nth: usize, show: &ShowRequest) -> Result<ShownMessage, Refusal> {
    let ShowRequest { number, label } = show;
    let seen = find_seen(turn)?;
    let view = seen.view.as_ref();
    let message = view.and_then(|view| view.list_range(*number, *number).next()).filter(|_| *number > 0);
    let Some(((_, message), hash)) = message.zip(seen.hashes.get(number)) else {
        let last = view.map_or(0, View::count);
        let words = match number {
            0 => "seq counts from 1".to_owned(),
            _ => format!("seq: {number} is past {last}, the last message of this view"),
        };
        return Err(Refusal::new(Code::Invalid, words)
            .of_element("ask-person")
            .in_place(format!("/ask-person/show[{nth}]/@seq"))
            .with_expected(format!("1 to {last}"))
            .with_received(number.to_string())
            .fixed_by(format!("seq=\"{last}\", or the number of an earlier message")));
    };
    Ok(ShownMessage { number: *number, record: message.seq, hash: *hash, label: label.clone() })
}

fn show_item(answer: Option<&[u8]>) -> ShownItem {
    let Some(said) = answer.and_then(question::read_said) else {
        return ShownItem::new("asked a person")
            .with_field("asked", FieldValue::True)
            .with_field("said", FieldValue::Null);
    };
    let PersonSaid { outcome, choice, by, note } = said;
    let words = match &by {
        None => ShownItem::new("asked a person, who did not answer in time"),
        Some(by) => {
            let words = ShownItem::new("asked a person, ").with_quote(by);
            let words = match &choice {
                Some(choice) => words.with_words(" chose ").with_quote(choice),
                None => words.with_words(" answered"),
            };
            if note.is_empty() { words } else { words.with_words(": ").with_quote(&note) }
        }
    };
    let fields = vec![
        ("outcome", FieldValue::Text(outcome)),
        ("choice", choice.into()),
        ("by", by.into()),
        ("note", FieldValue::Text(note)),
    ];
    words.with_field("asked", FieldValue::True).with_field("said", FieldValue::Fields(fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(attributes: &str, inside: &str) -> Result<AskPerson, Refusal> {
        let ns = systole_wire::namespaces::CORE;
        read_ask(format!("<ask-person xmlns=\"{ns}\" {attributes}>{inside}</ask-person>").as_bytes())
    }

    const GO: &str = "<question> Go?\n</question><choice>go</choice><choice> stop </choice>";

    #[test]
    fn a_question_is_read_without_the_white_space_around_its_words() {
        let asks =
            written("expires=\"1d\"", "<question> Go?\n</question><show seq=\"3\">the plan</show>").unwrap();
        assert_eq!((asks.words.as_str(), asks.expires_ms), ("Go?", 86_400_000));
        assert_eq!(asks.shows, [ShowRequest { number: 3, label: "the plan".to_owned() }]);
        assert_eq!(written("expires=\"1s\"", GO).unwrap().choices, ["go", "stop"]);
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
            let refusal = written(attributes, &inside).unwrap_err();
            assert!(refusal.message.contains(words), "{inside}: {}", refusal.message);
            assert_eq!(refusal.path.as_deref(), Some(place), "{inside}");
            assert!(refusal.fix.is_some(), "{inside}");
        }
        assert!(written("expires=\"365d\"", &format!("{ask}{}", many("choice", 16))).is_ok());
        assert!(written("expires=\"1d\"", &format!("{ask}<choice>Über-2.0_ß</choice>")).is_ok());
    }
}
