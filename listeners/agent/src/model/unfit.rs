//! Answers that are not a stream of the form: another status, another type, an error in place of an answer. It reads
//! no more than the limit allows, and reports the beginning.

use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName};
use serde_json::Value;
use tokio::time::Instant;

use super::asked_provider::AskedProvider;
use super::complaint::ProviderComplaint;
use super::limits::HttpLimits;
use super::{ModelFault, ModelFaultKind};
use crate::limits;
use systole_http::{BodyPart, HttpAnswer, StreamFraming, retry_after_ms};

/// How the body of a good answer is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyShape {
    /// Event by event.
    Stream,
    /// As a whole, after its end.
    Whole,
}

/// The beginnings of lines of server-sent events.
const FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"retry:", b"id:", b":"];

/// Accepts a possible answer and decides how to read it. The beginning of the body counts, not the stated type:
/// servers state many different types. Any other answer is a fault.
pub(super) async fn check_answer(
    answer: &mut HttpAnswer,
    asked: &AskedProvider,
    framing: StreamFraming,
    limits: &HttpLimits,
    until: Instant,
) -> Result<BodyShape, ModelFault> {
    let (stated, packed) = (read_header(answer, CONTENT_TYPE), read_header(answer, CONTENT_ENCODING));
    let is_plain = packed.is_empty() || packed == "identity";
    // A page comes from a server in front of the provider.
    if answer.status == 200 && is_plain && stated != "text/html" {
        let is_typed = stated.is_empty() || list_types(framing).contains(&stated.as_str());
        let begin = answer.read_begin(limits::EVENT_BYTES, until).await;
        let begin = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&begin).trim_ascii_start();
        let is_json = begin.starts_with(b"{") || begin.starts_with(b"[");
        match framing {
            StreamFraming::Events if is_json => return Ok(BodyShape::Whole),
            StreamFraming::Events if FIELDS.iter().any(|field| begin.starts_with(field)) => {
                return Ok(BodyShape::Stream);
            }
            StreamFraming::Lines if is_json && !is_typed => return Ok(BodyShape::Whole),
            // What is called JSON and is none is an answer that came damaged, in every form.
            StreamFraming::Lines if stated == "application/json" && !begin.is_empty() => {
                return Ok(BodyShape::Whole);
            }
            // Reading on shows why nothing came.
            _ if is_typed || begin.is_empty() => return Ok(BodyShape::Stream),
            _ => {}
        }
    }
    Err(build_unfit_fault(answer, asked, framing, limits, (&stated, &packed)).await)
}

/// The fault for an answer that does not match the form.
async fn build_unfit_fault(
    answer: &mut HttpAnswer,
    asked: &AskedProvider,
    framing: StreamFraming,
    limits: &HttpLimits,
    (stated, packed): (&str, &str),
) -> ModelFault {
    let (status, retry_after_ms) = (answer.status, retry_after_ms(&answer.headers));
    let body = read_beginning(answer, limits).await;
    let complaint = ProviderComplaint::from_body(&body);
    let is_error = serde_json::from_slice::<Value>(&body)
        .is_ok_and(|value| ProviderComplaint::from_value(&value).is_some());
    if !(200..300).contains(&status) || is_error {
        return complaint.build_fault(asked, status, retry_after_ms);
    }
    let is_page = stated == "text/html" || body.trim_ascii_start().starts_with(b"<");
    let is_plain = packed.is_empty() || packed == "identity";
    let with = match (is_page, is_plain) {
        (true, _) => "a page".to_owned(),
        (false, false) => format!("an answer packed as {packed}, which was not asked for"),
        (false, true) if stated.is_empty() => "no type of content".to_owned(),
        (false, true) => {
            format!("{stated} instead of {}", list_types(framing).first().copied().unwrap_or_default())
        }
    };
    // A provider that answers in another form has still done the work. A page comes from a server in front of it.
    let may_be_paid = !is_page;
    ModelFault { retry_after_ms, may_be_paid, ..build_strange_fault(asked, status, &with, &complaint) }
}

/// The fault for complete JSON without an answer.
pub(super) fn build_empty_fault(asked: &AskedProvider, answer: &HttpAnswer, body: &str) -> ModelFault {
    let stated = read_header(answer, CONTENT_TYPE);
    let with = if stated.is_empty() {
        "JSON that holds no answer".to_owned()
    } else {
        format!("{stated} that holds no answer")
    };
    ModelFault {
        may_be_paid: true,
        ..build_strange_fault(asked, 200, &with, &ProviderComplaint::from_body(body.as_bytes()))
    }
}

fn build_strange_fault(
    asked: &AskedProvider,
    status: u16,
    with: &str,
    complaint: &ProviderComplaint,
) -> ModelFault {
    let (shown, name) = (complaint.show_message(asked), &asked.model.name);
    let words = format!("answered {status} with {with}: {shown}; look at models.{name}.url");
    asked.build_fault(ModelFaultKind::Unavailable, Some(status), words)
}

/// Types of content that a stream has.
pub(super) const fn list_types(framing: StreamFraming) -> &'static [&'static str] {
    match framing {
        StreamFraming::Events => &["text/event-stream"],
        StreamFraming::Lines => &["application/x-ndjson", "application/json-lines", "application/jsonl"],
    }
}

/// The value of a header before its parameters, in lowercase. Empty if it is missing.
fn read_header(answer: &HttpAnswer, name: HeaderName) -> String {
    let value = answer.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The beginning of a body, limited by the size of errors and by time.
async fn read_beginning(answer: &mut HttpAnswer, limits: &HttpLimits) -> Vec<u8> {
    let (mut body, until) = (Vec::new(), Instant::now() + limits.idle.min(limits.first));
    while body.len() < limits.error_body {
        let BodyPart::Bytes(bytes) = answer.next(until).await else { break };
        let room = limits.error_body - body.len();
        body.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
    }
    body
}
