//! What belongs to the whole organism: its configurations, documents, graph, and the description of this API.

use std::sync::Arc;

use axum::Json;
use axum::http::header;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::answers::StoredBytes;
use super::query::{QueryFields, RawFields};
use super::refusals::{ReadRefusal, ReadResult};
use crate::log_view::LogMoment;
use crate::request_refusals::describe_unfit_address;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Digest;
use systole_core::types::refusal::Refusal;
use systole_queries::configurations;
use systole_queries::graph::ListenerGraph;

/// The description of every route, in the form of OpenAPI 3.1.
const DESCRIPTION: &str = include_str!("../../../../schemas/openapi.json");

/// Every configuration under which the organism ran.
pub(crate) fn list_configurations(moment: &LogMoment, _: &QueryFields) -> ReadResult<Json<Value>> {
    whole_log_only(moment, "configurations name every listener and are")?;
    let used = configurations::list_used(&*moment.reader)?;
    Ok(Json(json!({"running": moment.composition().hash.to_string(), "configurations": used})))
}

/// One configuration, as it was stored.
pub(crate) fn show_configuration(moment: &LogMoment, fields: &QueryFields) -> ReadResult<Json<Value>> {
    whole_log_only(moment, "configurations name every listener and are")?;
    let (hash, source) = read_stored(moment, fields.text("hash").unwrap_or_default())?;
    let text = String::from_utf8_lossy(&source).into_owned();
    let unread = moment.read_configuration(&source).err();
    Ok(Json(json!({"hash": hash.to_string(), "source": text, "unread": unread})))
}

/// A stored document, byte for byte.
pub(crate) fn show_document(moment: &LogMoment, fields: &QueryFields) -> ReadResult<StoredBytes> {
    whole_log_only(moment, "stored documents belong to no one thread and are")?;
    Ok(StoredBytes(read_stored(moment, fields.text("hash").unwrap_or_default())?.1))
}

/// Who may address whom, at the moment that is read.
pub(crate) fn show_graph(moment: &LogMoment, _: &QueryFields) -> ReadResult<Json<ListenerGraph>> {
    whole_log_only(moment, "the graph names every listener and is")?;
    Ok(Json(ListenerGraph::of(&*composition_of(moment)?)))
}

/// The composition of a moment: the running one, or that of the last start before it.
pub fn composition_of(moment: &LogMoment) -> ReadResult<Arc<Composition>> {
    if moment.at.is_none() {
        return Ok(moment.composition().clone());
    }
    let Some(last) = configurations::list_used(&*moment.reader)?.into_iter().next() else {
        let words = "no organism had started at this position".to_owned();
        return Err(ReadRefusal::missing(words, "a later position").into());
    };
    let (_, source) = read_stored(moment, &last.hash.to_string())?;
    let read = moment.read_configuration(&source).map_err(|why| {
        let words = format!("the configuration {} cannot be read by this version: {why}", last.hash);
        ReadRefusal::missing(words, format!("GET /v1/configurations/{}", last.hash))
    })?;
    Ok(Arc::new(read))
}

/// The description of this API.
pub(crate) async fn describe_routes(query: RawFields) -> Result<impl IntoResponse, ReadRefusal> {
    QueryFields::of(query, &[])?;
    Ok(([(header::CONTENT_TYPE, "application/json")], DESCRIPTION))
}

/// Refuses a client that may not see the whole log.
pub fn whole_log_only(moment: &LogMoment, what: &str) -> Result<(), ReadRefusal> {
    if moment.sees_all { Ok(()) } else { Err(ReadRefusal::needs_read(what)) }
}

fn read_stored(moment: &LogMoment, typed: &str) -> ReadResult<(Digest, Vec<u8>)> {
    let hash = Digest::parse(typed).map_err(|_| {
        let refusal: Refusal = describe_unfit_address("the hash of a document is a SHA-256 in hex");
        ReadRefusal::unfit(refusal.fixed_by("64 hex digits, all of them"))
    })?;
    match moment.reader.read_document(hash)? {
        Some(bytes) => Ok((hash, bytes.to_vec())),
        None => {
            let words = format!("the log keeps nothing under {hash}");
            Err(ReadRefusal::missing(words, "a hash that a record names").into())
        }
    }
}
