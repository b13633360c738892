//! The differences between providers: the address, the headers, the body of a request, and how answers are read.
//! It opens nothing and waits for nothing.

use hyper::header::HeaderMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::asked_provider::ModelSettings;
use super::complaint::ProviderComplaint;
use super::file_bounds::FileBounds;
use super::halves::HalvedText;
use super::held_answer::HeldAnswer;
use super::key::ModelKey;
use super::partial_answer::PartialAnswer;
use super::{ModelFault, ModelFaultKind, ModelRequest};
use crate::limits;
use systole_http::{HttpAddress, StreamEvent, StreamFraming};

/// The effect of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventStep {
    /// Nothing: a ping, an empty piece.
    Nothing,
    /// The answer grew.
    Content,
    /// The answer ended.
    End,
}

/// How a body ended without the form's end sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyClose {
    /// With the length that its head had announced.
    Measured,
    /// With the connection, and without an announced length.
    Unmeasured,
}

/// How answers of one form are read, event by event.
pub(super) trait AnswerReading: Send {
    /// Reads one event into the answer.
    fn take_event(
        &mut self,
        event: &StreamEvent,
        partial: &mut PartialAnswer,
    ) -> Result<EventStep, EventFault>;

    /// Whether an answer with a stop reason is complete although its end sign is missing.
    fn is_whole(&self, close: BodyClose) -> bool;
}

/// The fault of an event.
pub(super) enum EventFault {
    /// The answer cannot accept it, or it cannot be read.
    Fault(ModelFault),
    /// It is an error of the provider.
    Complaint(ProviderComplaint),
}

impl From<ModelFault> for EventFault {
    fn from(fault: ModelFault) -> Self {
        Self::Fault(fault)
    }
}

/// One form of requests and answers.
pub(super) trait ProviderForm: Send + Sync {
    /// The default address.
    fn home_address(&self) -> &'static str;

    /// The path and query of a request, relative to that address.
    fn build_path(&self, base: &str, model: &ModelSettings) -> String;

    /// Headers besides the common ones.
    fn build_headers(&self, key: Option<&ModelKey>) -> HeaderMap;

    /// Keys of a request that parameters may not replace.
    fn reserved_keys(&self) -> &'static [&'static str];

    /// The body of a request, before the parameters are merged in, or why this form cannot express it.
    fn build_body(&self, model: &ModelSettings, request: &ModelRequest)
    -> Result<Map<String, Value>, String>;

    /// What holds the answer to a request.
    fn find_held<'r>(&self, model: &ModelSettings, request: &'r ModelRequest) -> Option<HeldAnswer<'r>>;

    /// The most bytes of files that it takes.
    fn file_bounds(&self) -> FileBounds {
        FileBounds { image: limits::FILE_BYTES, request: limits::REQUEST_FILE_BYTES }
    }

    /// How its answers are cut into events.
    fn framing(&self) -> StreamFraming;

    /// A reader for one answer.
    fn build_reader(&self) -> Box<dyn AnswerReading>;
}

/// Reads the JSON of an event.
pub(super) fn read_json<'e, T: serde::Deserialize<'e>>(
    event: &'e StreamEvent,
    partial: &PartialAnswer,
) -> Result<T, EventFault> {
    read_part(&event.text, partial)
}

/// Reads JSON that is a part of an event.
pub(super) fn read_part<'e, T: serde::Deserialize<'e>>(
    text: &'e str,
    partial: &PartialAnswer,
) -> Result<T, EventFault> {
    serde_json::from_str(text).map_err(|fault| build_unread_fault(&fault, text, partial))
}

/// The events in a body of JSON: the value itself, the items of a list, or several values in a row.
pub(super) fn split_events(text: &str, partial: &PartialAnswer) -> Result<Vec<StreamEvent>, EventFault> {
    let mut events = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        let value = value.map_err(|fault| build_unread_fault(&fault, text, partial))?.get();
        match serde_json::from_str::<Vec<&RawValue>>(value) {
            Ok(list) => events.extend(list.into_iter().map(|one| StreamEvent::from_text(one.get()))),
            Err(_) => events.push(StreamEvent::from_text(value)),
        }
    }
    Ok(events)
}

/// Whether the text of an event is complete.
pub(super) fn is_complete(event: &StreamEvent) -> bool {
    event.text.trim() == "[DONE]" || serde_json::from_str::<serde::de::IgnoredAny>(&event.text).is_ok()
}

/// Reads a value of any kind, in which half a character may be unpaired.
pub(super) fn read_value(text: &str, partial: &PartialAnswer) -> Result<Value, EventFault> {
    super::halves::read_value(text).map_err(|fault| build_unread_fault(&fault, text, partial))
}

/// The fault for text that is not JSON.
pub(super) fn build_unread_fault(
    fault: &serde_json::Error,
    text: &str,
    partial: &PartialAnswer,
) -> EventFault {
    let shown = super::complaint::cut_excerpt(text);
    // JSON that ends too early was cut on its way, even if the body around it was closed properly.
    let kind = if fault.is_eof() { ModelFaultKind::Truncated } else { ModelFaultKind::Unavailable };
    let words = format!("sent an event that cannot be read ({fault}): {shown}");
    EventFault::Fault(partial.build_fault(kind, words))
}

/// The arguments of a complete call: an object, or its text.
pub(super) fn read_arguments(raw: Option<&RawValue>) -> HalvedText {
    raw.map(HalvedText::from_value).filter(|text| !text.is_empty()).unwrap_or_else(|| HalvedText::from("{}"))
}

/// The error in an event, if there is one.
pub(super) fn find_complaint(event: &StreamEvent) -> Option<EventFault> {
    // A quick search comes first: most events are not errors, and are not parsed twice.
    if !event.text.contains("\"error\"") {
        return None;
    }
    let value = super::halves::read_value(&event.text).ok()?;
    ProviderComplaint::from_value(&value).map(EventFault::Complaint)
}

/// The address of a model.
pub(super) fn build_address(form: &dyn ProviderForm, model: &ModelSettings) -> Result<HttpAddress, String> {
    let url = model.url.as_deref().unwrap_or(form.home_address());
    let base = HttpAddress::parse(url).map_err(|why| {
        // The text before an `@` may be a password.
        let shown = url.rsplit_once('@').map_or(url, |(_, host)| host);
        format!("models.{}.url is {shown}, and {why}: write it as https://host/path", model.name)
    })?;
    Ok(base.with_path(&form.build_path(base.path(), model)))
}
