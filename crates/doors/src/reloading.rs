//! Reloads over HTTP: what a reload would change, the order, and how the last one went.
//!
//! The process that runs the organism answers the order. Its answer comes before anything stops, so a client sees by the position
//! at which the organism began that the reload is over.

use std::path::PathBuf;
use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};

use super::door_row::DoorRoute;
use super::http_state::{ApiCall, ParsedQuery};
use super::request_refusals::{refuse_message, refuse_request, refuse_stopping};
use crate::limits;
pub use crate::limits::RELOAD_DRAIN;
use systole_core::rules::reload_payload::{FailedReload, Reload, ReloadNews};
use systole_core::types::client::Role;
use systole_core::types::codes::Code;
use systole_core::types::ids::{Digest, Name};
use systole_core::types::refusal::Refusal;
use systole_core::types::time::stretch_ms;
use systole_organism::reloading::orders::{ReloadPreview, ReloadRequest, ReloadSource};

/// How an organism began.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunBeginning {
    /// The last position before it began.
    pub began: u64,
    /// The hash of its configuration.
    pub config: String,
    /// The reload that it began with, if it began with one.
    pub reloaded: Option<ReloadShown>,
    /// The reload that failed before it began, so that it goes on with the configuration before.
    pub failed: Option<FailedReloadShown>,
}

/// A reload.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReloadShown {
    /// The hash of the configuration before.
    pub before: String,
    /// The client that ordered it.
    pub by: String,
    /// Whether the configuration came from the log.
    pub back: bool,
}

/// A reload that failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FailedReloadShown {
    /// The hash of the configuration that did not start.
    pub config: String,
    /// The client that ordered it.
    pub by: String,
    /// Why.
    pub message: String,
}

/// The fields of an order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReloadFields {
    /// Another file than the organism's, for the operator only.
    pub file: Option<PathBuf>,
    /// The configuration before.
    pub back: Option<bool>,
    /// How long deliveries that are out may take, as `60s`.
    pub drain: Option<String>,
    /// The hash of the configuration that the client agrees to.
    pub approved: Option<String>,
    /// It is only shown what would change.
    pub show: Option<bool>,
}

impl ReloadFields {
    /// The fields of a request.
    pub(super) fn list_pairs(&self) -> Vec<(&'static str, String)> {
        let word = |is: Option<bool>| is.map(|is| is.to_string());
        let file = self.file.as_ref().map(|file| file.display().to_string());
        let fields = [
            ("file", file),
            ("back", word(self.back)),
            ("drain", self.drain.clone()),
            ("approved", self.approved.clone()),
            ("show", word(self.show)),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

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
