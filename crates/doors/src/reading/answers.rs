//! What a reading route answers: a value or bytes, or the refusal of the read.
//!
//! The door's state, a client and a piece of work come in; a response goes out.

use axum::Json;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::query::{QueryFields, RawFields};
use super::refusals::{ReadFault, ReadRefusal, ReadResult};
use crate::http_state::HttpState;
use crate::log_view::{LogMoment, MomentAsked};
use systole_core::types::codes::Code;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::refusal::Refusal;

/// Bytes as they are stored.
pub(crate) struct StoredBytes(pub(super) Vec<u8>);

impl IntoResponse for StoredBytes {
    fn into_response(self) -> Response {
        let headers = [
            (header::CONTENT_TYPE, "application/octet-stream"),
            // A browser never shows stored bytes as a page.
            (header::CONTENT_DISPOSITION, "attachment"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        (headers, self.0).into_response()
    }
}

/// A value of `systole_queries`, as the commands print it.
pub(crate) struct ReadValue(pub(crate) Value);

impl IntoResponse for ReadValue {
    fn into_response(self) -> Response {
        Json(self.0).into_response()
    }
}

/// Reads for a client, and answers with what the work found.
pub(crate) async fn answer<T: IntoResponse + Send + 'static>(
    state: &HttpState,
    client: &Name,
    query: RawFields,
    known: &[&str],
    work: impl FnOnce(&LogMoment, &QueryFields) -> ReadResult<T> + Send + 'static,
) -> Response {
    let known: Vec<&str> = known.iter().copied().chain(["at"]).collect();
    let fields = QueryFields::of(query, &known);
    let (fields, at) = match fields.and_then(|fields| Ok((fields.at()?, fields))) {
        Ok((at, fields)) => (fields, at),
        Err(refusal) => return refusal.response(),
    };
    let asked = MomentAsked { at, told: None };
    let read =
        state.views.run_reading(&state.front, client, asked, move |moment| match work(moment, &fields) {
            Ok(value) => Ok(Ok(value)),
            Err(ReadFault::Refused(refusal)) => Ok(Err(refusal)),
            Err(ReadFault::Log(fault)) => Err(fault),
        });
    match read.await {
        Ok(Ok(value)) => value.into_response(),
        Ok(Err(refusal)) => refusal.response(),
        Err(refusal) => ReadRefusal::from(refusal).response(),
    }
}

/// The thread in a path, if this client may see it and it has a record.
pub(crate) fn thread_of(moment: &LogMoment, typed: &str) -> ReadResult<ThreadId> {
    let refusal = |words: String| ReadRefusal::from(Refusal::new(Code::UnknownThread, words));
    let id = ThreadId::parse(typed).map_err(|malformed| refusal(malformed.to_string()))?;
    if moment.reader.of_thread(&id, 1, 1)?.is_empty() {
        return Err(ReadRefusal::unknown_thread().into());
    }
    Ok(id)
}
