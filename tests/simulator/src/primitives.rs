//! The payloads of the core that listeners of a run send, each with the meaning that the door reads.
//! Pure: the input is a request, the output a payload and its meaning, read by the door's own code.

use std::sync::Arc;

use systole_core::pump::primitives;
use systole_core::rules::admit::ItemReading;
use systole_core::types::flow::FoundAnswer;
use systole_kit::writer::XmlWriter;
use systole_kit::{Payload, namespaces};

/// A primitive as it is sent.
pub(crate) type Sent = Option<(FoundAnswer, Payload)>;

fn payload(writer: XmlWriter) -> Option<Payload> {
    Payload::from_trusted(Arc::from(writer.finish())).ok()
}

/// A payload that the door reads, if the door takes it.
fn sent(writer: XmlWriter) -> Sent {
    let payload = payload(writer)?;
    let Some(ItemReading::Plain(read)) = primitives::find_reading(payload.name()) else { return None };
    read(payload.bytes()).ok()?;
    Some((FoundAnswer::Nothing, payload))
}

/// A wait for these threads, or for all open ones.
pub(crate) fn waits(mode: &str, threads: &[String]) -> Sent {
    let mut writer = XmlWriter::with_capacity(160);
    writer.open("await-threads").xmlns(namespaces::CORE).attr("mode", mode).content(|inside| {
        threads.iter().for_each(|id| inside.open("thread").attr("id", id).empty());
    });
    sent(writer)
}

/// A timer that fires after this time, once or repeatedly. Its note names the conversation.
pub(crate) fn timer(id: Option<&str>, after_ms: u64, repeats: bool, token: &str) -> Sent {
    let span = format!("{after_ms}ms");
    let pace = if repeats { "every" } else { "after" };
    let mut writer = XmlWriter::with_capacity(160);
    let start = writer.open("set-timer").xmlns(namespaces::CORE).attr_if("id", id).attr(pace, &span);
    start.text(&format!("for token=\"{token}\""));
    sent(writer)
}

/// A cancel of a timer.
pub(crate) fn no_timer(id: &str) -> Sent {
    let mut writer = XmlWriter::with_capacity(96);
    writer.open("cancel-timer").xmlns(namespaces::CORE).attr("id", id).empty();
    sent(writer)
}

/// A cancel of a child.
pub(crate) fn no_thread(id: &str) -> Sent {
    let mut writer = XmlWriter::with_capacity(128);
    writer.open("cancel-thread").xmlns(namespaces::CORE).attr("id", id).empty();
    sent(writer)
}

/// A todo list of one step.
pub(crate) fn todo(condition: &str, is_done: bool) -> Sent {
    let mut writer = XmlWriter::with_capacity(160);
    let done = if is_done { "true" } else { "false" };
    writer.open("todo-until").xmlns(namespaces::CORE).attr("condition", condition).content(|inside| {
        inside.open("step").attr("done", done).text("look again");
    });
    sent(writer)
}

/// A clear of a view, except for its last messages.
pub(crate) fn clears(keep: u64) -> Sent {
    let mut writer = XmlWriter::with_capacity(96);
    writer.open("clear-context").xmlns(namespaces::CORE).number("keep", keep).empty();
    sent(writer)
}

/// A recall of a range of messages, with a part of their text.
pub(crate) fn recalls((from, to): (u64, u64), offset: u64, length: Option<u64>) -> Sent {
    let mut writer = XmlWriter::with_capacity(160);
    let start = writer.open("recall").xmlns(namespaces::CORE).number("from_seq", from).number("to_seq", to);
    let length = length.map(|length| length.to_string());
    start.number("offset", offset).attr_if("length", length.as_deref()).empty();
    sent(writer)
}

/// A question to a person, with some messages of the view.
pub(crate) fn question(shows: &[u64], choices: &[&str], expires_ms: u64) -> Sent {
    let mut writer = XmlWriter::with_capacity(256);
    let expires = format!("{expires_ms}ms");
    writer.open("ask-person").xmlns(namespaces::CORE).attr("expires", &expires).content(|inside| {
        inside.open("question").text("Shall it go on?");
        shows.iter().for_each(|number| inside.open("show").number("seq", *number).text("what was said"));
        choices.iter().for_each(|choice| inside.open("choice").text(choice));
    });
    sent(writer)
}

/// A question about payloads, with a short answer.
pub(crate) fn asks() -> Sent {
    let mut writer = XmlWriter::with_capacity(96);
    writer.open("list-capabilities").xmlns(namespaces::META).empty();
    let mut answer = XmlWriter::with_capacity(96);
    answer.open("capabilities").xmlns(namespaces::META).empty();
    Some((FoundAnswer::Answer(Arc::from(answer.finish())), payload(writer)?))
}

/// A steering message from outside around this payload.
pub(crate) fn steer(word: &Payload) -> Option<Payload> {
    let mut writer = XmlWriter::with_capacity(160);
    writer.open("steer").xmlns(namespaces::CORE).content(|inside| inside.write_payload(word));
    payload(writer)
}
