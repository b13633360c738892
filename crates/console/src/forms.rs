//! The fields of a form, as every page reads them: bounded in size and time, and only if they are text.
//!
//! A request with a form comes in; the request and its fields go out. A form changes nothing by itself.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts as _, Request};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;

use systole_kit::file_reference::replace_forbidden;

use super::page_request::PageRequest;
use crate::limits::{self, FORM_FIELDS};
use systole_core::types::codes::Code;
use systole_core::types::refusal::Refusal;
use systole_doorway::percent::is_text;
use systole_hall::http_state::{BodySeat, HttpState};
use systole_hall::inbound::{self, UnreadBody};
use systole_hall::request_refusals::describe_unfit_request;
use systole_payloads::multipart;

/// The fields of a form, in its order.
pub(super) type FormFields = Vec<(String, String)>;

/// The same, to be read.
pub(super) type Fields<'f> = &'f [(String, String)];

/// A field that is filled in; a blank one counts as absent.
pub(super) fn find_filled<'f>(fields: Fields<'f>, name: &str) -> Option<&'f str> {
    let found = fields.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str()).filter(|value| !value.trim().is_empty())
}

/// The kind of a form.
const KIND: &str = "application/x-www-form-urlencoded";

/// The kind of a form with files.
const MULTIPART: &str = "multipart/form-data";

/// A form that was sent.
pub(super) struct PageForm {
    /// The request.
    pub(super) asked: PageRequest,
    /// Its fields.
    pub(super) fields: FormFields,
    /// Its seat, until the answer is made: that takes memory too.
    pub(super) seat: FormSeat,
}

/// The seat of a form.
pub(super) type FormSeat = Option<BodySeat>;

impl FromRequest<Arc<HttpState>> for PageForm {
    type Rejection = Response;

    async fn from_request(request: Request, state: &Arc<HttpState>) -> Result<PageForm, Response> {
        let (mut parts, body) = request.into_parts();
        let asked = PageRequest::from_request_parts(&mut parts, state).await?;
        let refused = |refusal: &Refusal| asked.refuse_page(refusal);
        asked.only_a_path().map_err(|refusal| refused(&refusal))?;
        let seat = state.forms.wait_for_seat(&asked.client).await;
        match inbound::read_up_to(limits::FORM_BYTES, &parts.headers, body).await {
            Ok(bytes) => match read_fields(&asked, &parts.headers, &bytes) {
                Ok(fields) => Ok(PageForm { asked, fields, seat }),
                Err(refusal) => Err(refused(&refusal)),
            },
            Err(UnreadBody::TooLarge(_)) => Err(refused(&too_large())),
            Err(UnreadBody::Broken(words)) => Err(refused(&describe_unfit_request(words))),
            Err(UnreadBody::TooSlow) => {
                let words = "the form did not come in time";
                let mut response = refused(&Refusal::new(Code::IngressUnavailable, words));
                *response.status_mut() = StatusCode::REQUEST_TIMEOUT;
                Err(response)
            }
        }
    }
}

/// The fields of a form of either kind.
fn read_fields(asked: &PageRequest, headers: &HeaderMap, bytes: &[u8]) -> Result<FormFields, Refusal> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let Some(boundary) = multipart::find_boundary(kind) else { return fields_of(kind, bytes) };
    let Some(parts) = multipart::read_parts(boundary, bytes, FORM_FIELDS) else {
        let words = format!("the form is no {MULTIPART}, or has more than {FORM_FIELDS} fields");
        return Err(describe_unfit_request(words));
    };
    let mut fields = FormFields::new();
    for part in parts {
        match &part.file {
            // No file was chosen.
            Some(name) if name.is_empty() && part.bytes.is_empty() => {}
            Some(name) => take_file(asked, &mut fields, (&part.name, name), part.bytes),
            None => match std::str::from_utf8(part.bytes) {
                Ok(value) => fields.push((part.name, value.to_owned())),
                Err(_) => return Err(describe_unfit_request("the form cannot be read: it is not UTF-8")),
            },
        }
    }
    Ok(fields)
}

/// Keeps a file, and puts the reference to it in the place of the one that the form had. Why it is not taken is a field,
/// too: the form shows it with all that was filled in.
fn take_file(asked: &PageRequest, fields: &mut FormFields, (field, name): (&str, &str), bytes: &[u8]) {
    let inside = format!("{field}/@");
    fields.retain(|(known, _)| !known.starts_with(&inside));
    match inbound::keep_file(&asked.state.front, &asked.client, bytes.to_vec()) {
        Ok(sent) => {
            let said = [
                ("sha256", sent.hash.to_string()),
                ("type", sent.media_type.to_owned()),
                ("bytes", sent.bytes.to_string()),
                ("name", replace_forbidden(name)),
            ];
            fields.extend(said.into_iter().map(|(key, value)| (format!("{inside}{key}"), value)));
        }
        Err(refusal) => {
            let words = format!("{}; what fits: {}", refusal.message, refusal.code.fix());
            fields.push((format!("{REFUSED_FILE}{field}"), words));
        }
    }
}

/// The fields whose files were refused, each with the reason.
pub(super) fn list_refused(fields: Fields<'_>) -> impl Iterator<Item = (&str, &str)> {
    fields.iter().filter_map(|(name, words)| Some((name.strip_prefix(REFUSED_FILE)?, words.as_str())))
}

/// What is before the name of a field whose file was refused.
const REFUSED_FILE: &str = "refused:";

fn fields_of(kind: &str, bytes: &[u8]) -> Result<FormFields, Refusal> {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !bytes.is_empty() && !kind.eq_ignore_ascii_case(KIND) {
        return Err(describe_unfit_request(format!("the form has no Content-Type: {KIND}")));
    }
    if !is_text(bytes) {
        return Err(describe_unfit_request("the form cannot be read: it is not UTF-8"));
    }
    let fields: FormFields = form_urlencoded::parse(bytes).into_owned().take(FORM_FIELDS + 1).collect();
    match fields.len() > FORM_FIELDS {
        true => Err(describe_unfit_request(format!("the form has more than {FORM_FIELDS} fields"))),
        false => Ok(fields),
    }
}

fn too_large() -> Refusal {
    let words = format!("the form is larger than {} MiB", limits::FORM_BYTES >> 20);
    Refusal::new(Code::TooLarge, words).fixed_by("send less, or send the payload to POST /v1/messages")
}
