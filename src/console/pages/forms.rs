//! The fields of a form, as every page reads them: bounded, and only if they are text.
//!
//! A request with a form comes in; the request and its fields go out. A form changes nothing by itself.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Form, FromRequest, FromRequestParts as _, Request};
use axum::http::header;
use axum::response::Response;

use super::asked::PageRequest;
use crate::console::http_state::HttpState;
use crate::console::percent::is_text;
use crate::console::request_refusals::unfit_request;
use systole_core::types::refusal::Refusal;

/// The fields of a form, in its order.
pub(super) type FormFields = Vec<(String, String)>;

/// A form that was sent.
pub(super) struct PageForm {
    /// The request.
    pub(super) asked: PageRequest,
    /// Its fields.
    pub(super) fields: FormFields,
}

impl FromRequest<Arc<HttpState>> for PageForm {
    type Rejection = Response;

    async fn from_request(request: Request, state: &Arc<HttpState>) -> Result<PageForm, Response> {
        let (mut parts, body) = request.into_parts();
        let asked = PageRequest::from_request_parts(&mut parts, state).await?;
        if !parts.headers.contains_key(header::CONTENT_TYPE) {
            return Ok(PageForm { asked, fields: Vec::new() });
        }
        // It fails only if the semaphore is closed, and that never happens.
        let _seat = state.bodies.acquire().await.ok();
        match read(Request::from_parts(parts, body), state).await {
            Ok(fields) => Ok(PageForm { asked, fields }),
            Err(refusal) => Err(asked.refused(&refusal)),
        }
    }
}

async fn read(request: Request, state: &Arc<HttpState>) -> Result<FormFields, Refusal> {
    let unread = |words: String| unfit_request(format!("the form cannot be read: {words}"));
    let (parts, body) = request.into_parts();
    let whole = Request::from_parts(parts.clone(), body);
    let bytes = Bytes::from_request(whole, state).await.map_err(|rejected| unread(rejected.body_text()))?;
    if !is_text(&bytes) {
        return Err(unread("it is not UTF-8".to_owned()));
    }
    let whole = Request::from_parts(parts, Body::from(bytes));
    let form = Form::<FormFields>::from_request(whole, state).await;
    form.map(|Form(fields)| fields).map_err(|rejected| unread(rejected.body_text()))
}
