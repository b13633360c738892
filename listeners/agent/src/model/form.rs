//! What tells one provider from another: its address, its headers, the body of a request, and how its answers are
//! read. Opens nothing and waits for nothing.

use std::fmt;

use hyper::header::HeaderMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::complaint::Complaint;
use super::draft::Draft;
use super::halves::Halved;
use super::http::{Address, Event, Framing};
use super::key::Key;
use super::{Fault, FaultKind, Request};
use crate::spec;

/// Who is asked, for words.
pub(super) struct Asked {
    /// The name of the form.
    pub(super) provider: &'static str,
    /// Where.
    pub(super) at: String,
    /// The model.
    pub(super) model: spec::Model,
    /// The key and what else stands in no words.
    pub(super) secrets: Vec<Key>,
}

impl fmt::Display for Asked {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at {}", self.provider, self.at)
    }
}

impl Asked {
    /// A text without the secrets.
    pub(super) fn blotted(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| secret.blotted(&text))
    }

    /// A fault before anything was sent, or with nothing that could be paid.
    pub(super) fn fault(&self, kind: FaultKind, status: Option<u16>, words: impl fmt::Display) -> Fault {
        let words = self.blotted(&format!("{self} {words}"));
        Fault { kind, words, status, retry_after_ms: None, partial: String::new(), may_be_paid: false }
    }
}

/// What an event did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing: a ping, an empty piece.
    Nothing,
    /// The answer grew.
    Content,
    /// That was the end.
    End,
}

/// How a body ended without the form's sign of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Close {
    /// As its head had announced.
    Measured,
    /// With the connection, and nothing said how long it would be.
    Unmeasured,
}

/// How answers of one form are read, event by event.
pub(super) trait Reading: Send {
    /// Reads one event into the draft.
    fn take(&mut self, event: &Event, draft: &mut Draft) -> Result<Step, Wrong>;

    /// Whether an answer whose stop was said is whole although its sign of an end is missing.
    fn is_whole(&self, close: Close) -> bool;
}

/// What is wrong with an event.
pub(super) enum Wrong {
    /// The draft cannot take it, or it cannot be read.
    Fault(Fault),
    /// It is an error of the provider.
    Complaint(Complaint),
}

impl From<Fault> for Wrong {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// One form of requests and answers.
pub(super) trait Form: Send + Sync {
    /// Its name, as the organism's file writes it.
    fn name(&self) -> &'static str;

    /// Where it is asked without an address in the file.
    fn home(&self) -> &'static str;

    /// The path and query of a request, below that address.
    fn path(&self, base: &str, model: &spec::Model) -> String;

    /// Headers beside those that every request has.
    fn headers(&self, key: Option<&Key>) -> HeaderMap;

    /// Keys of a request that parameters may not replace.
    fn reserved(&self) -> &'static [&'static str];

    /// The body of a request, before the parameters are laid over it; or why it cannot be said in this form.
    fn body(&self, model: &spec::Model, request: &Request) -> Result<Map<String, Value>, String>;

    /// How its answers are cut into events.
    fn framing(&self) -> Framing;

    /// A reader for one answer.
    fn reading(&self) -> Box<dyn Reading>;
}

/// Reads the JSON of an event.
pub(super) fn json<'e, T: serde::Deserialize<'e>>(event: &'e Event, draft: &Draft) -> Result<T, Wrong> {
    serde_json::from_str(&event.text).map_err(|fault| unread(&fault, &event.text, draft))
}

/// The events in a body of JSON: itself, what stands in its list, or one value behind another.
pub(super) fn events(text: &str, draft: &Draft) -> Result<Vec<Event>, Wrong> {
    let mut events = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        let value = value.map_err(|fault| unread(&fault, text, draft))?.get();
        match serde_json::from_str::<Vec<&RawValue>>(value) {
            Ok(list) => events.extend(list.into_iter().map(|one| Event::of(one.get()))),
            Err(_) => events.push(Event::of(value)),
        }
    }
    Ok(events)
}

/// Whether the text of an event is complete.
pub(super) fn is_complete(event: &Event) -> bool {
    event.text.trim() == "[DONE]" || serde_json::from_str::<serde::de::IgnoredAny>(&event.text).is_ok()
}

/// Reads a value of any kind, in which a half of a character may stand alone.
pub(super) fn value(text: &str, draft: &Draft) -> Result<Value, Wrong> {
    super::halves::value(text).map_err(|fault| unread(&fault, text, draft))
}

/// What is said of JSON that is none.
pub(super) fn unread(fault: &serde_json::Error, text: &str, draft: &Draft) -> Wrong {
    let shown = super::complaint::excerpt(text);
    // JSON that ends too early was cut on its way, though the body around it was closed as it should be.
    let kind = if fault.is_eof() { FaultKind::Truncated } else { FaultKind::Unavailable };
    let words = format!("sent an event that cannot be read ({fault}): {shown}");
    Wrong::Fault(draft.fault(kind, words))
}

/// The arguments of a call that came whole: an object, or its text.
pub(super) fn arguments(raw: Option<&RawValue>) -> Halved {
    raw.map(Halved::of).filter(|text| !text.is_empty()).unwrap_or_else(|| Halved::from("{}"))
}

/// The error that an event is, if it is one.
pub(super) fn complaint(event: &Event) -> Option<Wrong> {
    // Looked for by its name first: most events are none, and are not read twice.
    if !event.text.contains("\"error\"") {
        return None;
    }
    let value = super::halves::value(&event.text).ok()?;
    Complaint::of(&value).map(Wrong::Complaint)
}

/// The address that a model is asked at.
pub(super) fn address(form: &dyn Form, model: &spec::Model) -> Result<Address, String> {
    let url = model.url.as_deref().unwrap_or(form.home());
    let base = Address::parse(url).map_err(|why| {
        // What stands before an `@` may be a password.
        let shown = url.rsplit_once('@').map_or(url, |(_, host)| host);
        format!("models.{}.url is {shown}, and {why}: write it as https://host/path", model.name)
    })?;
    Ok(base.at(&form.path(base.path(), model)))
}
