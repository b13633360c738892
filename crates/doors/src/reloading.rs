//! Reloads over HTTP: what a reload would change, the order, and how the last one went.
//!
//! The process that runs the organism answers the order. Its answer comes before anything stops, so a client sees by the position
//! at which the organism began that the reload is over.

use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

use crate::limits;
pub use crate::limits::RELOAD_DRAIN;
use systole_api::reload_types::{FailedReloadShown, ReloadFields, ReloadShown, RunBeginning};
use systole_core::rules::reload_payload::{FailedReload, Reload, ReloadNews};
use systole_core::types::client::Role;
use systole_core::types::codes::Code;
use systole_core::types::ids::{Digest, Name};
use systole_core::types::refusal::Refusal;
use systole_core::types::time::stretch_ms;
use systole_hall::door_row::DoorRoute;
use systole_hall::http_state::{ApiCall, ParsedQuery};
use systole_hall::request_refusals::{refuse_message, refuse_request, refuse_stopping};
use systole_organism::reloading::orders::{ReloadPreview, ReloadRequest, ReloadSource};

/// The routes of this file.
pub(super) fn list_routes() -> Vec<DoorRoute> {
    vec![DoorRoute::get("/v1/reload", show_beginning), DoorRoute::post("/v1/reload", order_reload)]
}

/// Refuses a client that may not order a reload.
fn check_role(call: &ApiCall) -> Result<(), Response> {
    if call.state.front.composition().has_role(&call.client, Role::Operate) {
        return Ok(());
    }
    let words = "a reload is for clients with the role `operate`";
    let fix = "the token of a client with `roles: [operate]`";
    Err(refuse_message(&Refusal::new(Code::IngressForbidden, words).fixed_by(fix)))
}

/// How the organism began.
async fn show_beginning(call: ApiCall) -> Result<Json<RunBeginning>, Response> {
    check_role(&call)?;
    let front = &call.state.front;
    let (mut reloaded, mut failed) = (None, None);
    match call.state.reloads.as_ref().and_then(|reloads| reloads.news.clone()) {
        Some(ReloadNews::Done(Reload { before, by, is_back, .. })) => {
            reloaded = Some(ReloadShown { before: before.to_string(), by: by.to_string(), back: is_back });
        }
        Some(ReloadNews::Failed(FailedReload { config, by, words })) => {
            failed =
                Some(FailedReloadShown { config: config.to_string(), by: by.to_string(), message: words });
        }
        None => {}
    }
    let config = front.composition().hash.to_string();
    Ok(Json(RunBeginning { began: front.began().0, config, reloaded, failed }))
}

/// Shows what a reload would change, or orders it.
async fn order_reload(call: ApiCall, query: ParsedQuery<ReloadFields>) -> Result<Response, Response> {
    check_role(&call)?;
    let unread = |_| {
        refuse_request(
            "it takes file, back (true or false), drain (as 60s), approved (a hash) and show (true or false), \
             each once",
        )
    };
    let ReloadFields { file, back, drain, approved, show } = query.map_err(unread)?.0;
    let Some(reloads) = &call.state.reloads else {
        let fix = "stop it and start it again";
        let words = "the command that runs this organism cannot reload it";
        return Err(refuse_message(&Refusal::new(Code::UnfitReload, words).fixed_by(fix)));
    };
    let source = match (file, back == Some(true)) {
        (Some(_), true) => return Err(refuse_request("file and back are two configurations: name one")),
        (Some(_), _) if call.client != Name::new_operator() => {
            let words = "only the operator may name a file";
            return Err(refuse_message(&Refusal::new(Code::IngressForbidden, words)));
        }
        (Some(file), _) => ReloadSource::OtherFile(file),
        (None, true) => ReloadSource::Back,
        (None, false) => ReloadSource::File,
    };
    let is_shown = show == Some(true);
    let drain = read_drain(drain.as_deref()).map_err(refuse_request)?;
    let approved = approved.as_deref().map(Digest::parse).transpose();
    let approved = approved.map_err(|malformed| refuse_request(format!("approved: {malformed}")))?;
    let request = ReloadRequest { by: call.client, source, drain, approved, is_shown };
    let status = if is_shown { StatusCode::OK } else { StatusCode::ACCEPTED };
    match reloads.desk.leave(request).await {
        Some(Ok(preview)) => Ok((status, Json::<ReloadPreview>(preview)).into_response()),
        Some(Err(refusal)) => Err(refuse_message(&refusal)),
        None => Err(refuse_stopping()),
    }
}

/// How long deliveries that are out may take.
///
/// # Errors
/// If it is no time, or too long; in words.
pub fn read_drain(typed: Option<&str>) -> Result<Duration, String> {
    let Some(typed) = typed else { return Ok(limits::RELOAD_DRAIN) };
    let read = stretch_ms(typed).map(Duration::from_millis);
    let read = read.filter(|drain| limits::RELOAD_DRAINS.contains(drain));
    read.ok_or_else(|| format!("drain: `{typed}` is no time from 1s to 1h, as in 60s"))
}
