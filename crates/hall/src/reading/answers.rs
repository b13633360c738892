//! What a reading route answers: a value or bytes, or the refusal of the read.
//!
//! A path, the fields that it takes and a piece of work come in; a route goes out.

use std::collections::BTreeMap;

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::query::{QueryFields, RawFields};
use super::refusals::{ReadFault, ReadRefusal, ReadResult};
use crate::door_row::DoorRoute;
use crate::http_state::ApiCall;
use crate::log_view::{LogMoment, MomentAsked};
use systole_core::types::codes::Code;
use systole_core::types::ids::ThreadId;
use systole_core::types::refusal::Refusal;

/// Bytes as they are stored.
pub(crate) struct StoredBytes(pub Vec<u8>);

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

/// A route that answers with what `work` finds in the log. Its fields are the parts of the path, and what is known behind
/// `?`.
pub(crate) fn serve_reading<T: IntoResponse + Send + 'static>(
    path: &'static str,
    known: &'static [&'static str],
    work: impl Fn(&LogMoment, &QueryFields) -> ReadResult<T> + Clone + Send + Sync + 'static,
) -> DoorRoute {
    let serve = move |call: ApiCall, Path(parts): Path<BTreeMap<String, String>>, query: RawFields| {
        answer(call, parts, query, known, work.clone())
    };
    DoorRoute::get(path, serve)
}

async fn answer<T: Send + 'static>(
    ApiCall { state, client }: ApiCall,
    parts: BTreeMap<String, String>,
    query: RawFields,
    known: &[&str],
    work: impl FnOnce(&LogMoment, &QueryFields) -> ReadResult<T> + Send + 'static,
) -> Result<T, ReadRefusal> {
    let known: Vec<&str> = known.iter().copied().chain(["at"]).collect();
    let fields = QueryFields::of(query, &known)?;
    let asked = MomentAsked { at: fields.at()?, told: None };
    let fields = fields.with_parts(parts);
    let work = move |moment: &LogMoment| ReadFault::split_result(work(moment, &fields));
    state.views.run_reading(&state.front, &client, asked, work).await?
}

/// The thread in the path.
pub(crate) fn find_thread(moment: &LogMoment, fields: &QueryFields) -> ReadResult<ThreadId> {
    thread_of(moment, fields.text("thread").unwrap_or_default())
}

/// A thread, if this client may see it and it has a record.
pub fn thread_of(moment: &LogMoment, typed: &str) -> ReadResult<ThreadId> {
    let refusal = |words: String| ReadRefusal::from(Refusal::new(Code::UnknownThread, words));
    let id = ThreadId::parse(typed).map_err(|malformed| refusal(malformed.to_string()))?;
    if moment.reader.of_thread(&id, 1, 1)?.is_empty() {
        return Err(ReadRefusal::unknown_thread().into());
    }
    Ok(id)
}
