//! Answers that are no stream of the form: another status, another type, an error where an answer should be. Reads no
//! more of one than its limit says, and tells its beginning.

use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName};
use serde_json::Value;
use tokio::time::Instant;

use super::complaint::Complaint;
use super::form::Asked;
use super::http::{Incomings, Next, retry_after_ms};
use super::limits::Limits;
use super::{Fault, FaultKind};

/// Lets an answer pass that may be a stream of these types; any other is a fault.
pub(super) async fn refuse(
    answer: &mut Incomings,
    asked: &Asked,
    types: &[&str],
    limits: &Limits,
) -> Result<(), Fault> {
    let (stated, packed) = (stated(answer, CONTENT_TYPE), stated(answer, CONTENT_ENCODING));
    let is_plain = packed.is_empty() || packed == "identity";
    let is_typed = stated.is_empty() || types.contains(&stated.as_str());
    if answer.status == 200 && is_typed && is_plain {
        return Ok(());
    }
    let (status, retry_after_ms) = (answer.status, retry_after_ms(&answer.headers));
    let body = beginning(answer, limits).await;
    let complaint = Complaint::read(&body);
    let is_error = serde_json::from_slice::<Value>(&body).is_ok_and(|value| Complaint::of(&value).is_some());
    if !(200..300).contains(&status) || is_error {
        return Err(complaint.fault(asked, status, retry_after_ms));
    }
    let is_page = stated == "text/html" || body.trim_ascii_start().starts_with(b"<");
    let with = match (is_page, is_plain) {
        (true, _) => "a page".to_owned(),
        (false, false) => format!("an answer packed as {packed}, which was not asked for"),
        (false, true) if stated.is_empty() => "no type of content".to_owned(),
        (false, true) => format!("{stated} instead of {}", types.first().copied().unwrap_or_default()),
    };
    let (shown, name) = (complaint.shown(asked), &asked.model.name);
    let words = format!("answered {status} with {with}: {shown}; look at models.{name}.url");
    let fault = asked.fault(FaultKind::Unavailable, Some(status), words);
    // Whoever answers in another form has done the work all the same; a page comes from somebody else.
    Err(Fault { retry_after_ms, may_be_paid: !is_page, ..fault })
}

/// What a header says before its parameters, in small letters; nothing where it is not there.
fn stated(answer: &Incomings, name: HeaderName) -> String {
    let value = answer.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The beginning of a body, as much as is taken of an error, and as much of it as comes in time.
async fn beginning(answer: &mut Incomings, limits: &Limits) -> Vec<u8> {
    let (mut body, until) = (Vec::new(), Instant::now() + limits.idle.min(limits.first));
    while body.len() < limits.error_body {
        let Next::Bytes(bytes) = answer.next(until).await else { break };
        let room = limits.error_body - body.len();
        body.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
    }
    body
}
