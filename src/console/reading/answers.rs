//! What a reading route answers: a value, bytes, or a refusal with its status.
//!
//! The door's state, a client and a piece of work come in; a response goes out.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::query::{QueryFields, RawFields};
use crate::console::api_types;
use crate::console::http_state::HttpState;
use crate::console::log_view::LogMoment;
use crate::console::request_refusals::refused;
use systole_core::types::codes::Code;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::LogFault;
use systole_core::types::refusal::Refusal;

/// A refusal of a read, with its status if the code alone does not say it.
#[derive(Debug)]
pub(in crate::console) struct ReadRefusal {
    status: Option<StatusCode>,
    refusal: Box<Refusal>,
}

impl ReadRefusal {
    /// The request has the wrong form.
    pub(in crate::console) fn unfit(refusal: Refusal) -> ReadRefusal {
        ReadRefusal { status: Some(StatusCode::BAD_REQUEST), refusal: Box::new(refusal) }
    }

    /// The thing does not exist, or this client may not see it.
    pub(in crate::console) fn missing(words: String, fix: impl Into<String>) -> ReadRefusal {
        let refusal = Refusal::new(Code::NoSuchElement, words).fixed_by(fix);
        ReadRefusal { status: Some(StatusCode::NOT_FOUND), refusal: Box::new(refusal) }
    }

    /// There is no such thread, or it is another client's.
    pub(in crate::console) fn unknown_thread() -> ReadRefusal {
        let refusal = Refusal::new(Code::UnknownThread, "there is no such thread");
        refusal.fixed_by("GET /v1/threads, which lists the threads that you may see").into()
    }

    /// The view shows threads of all clients and cannot be cut to those of one.
    pub(in crate::console) fn needs_read(what: &str) -> ReadRefusal {
        let words = format!("{what} for clients with the role `read`");
        let refusal = Refusal::new(Code::IngressForbidden, words);
        refusal.fixed_by("the token of a client with `roles: [read]`").into()
    }

    pub(in crate::console) fn fixed_by(mut self, fix: String) -> ReadRefusal {
        self.refusal = Box::new(self.refusal.fixed_by(fix));
        self
    }

    pub(in crate::console) fn response(&self) -> Response {
        match (self.status, self.refusal.code) {
            (Some(status), _) => (status, Json(api_types::ApiRefusal::from(&*self.refusal))).into_response(),
            // A request without a payload: its own form is wrong.
            (None, Code::Invalid) => ReadRefusal::unfit((*self.refusal).clone()).response(),
            (None, _) => refused(&self.refusal),
        }
    }
}

impl From<Refusal> for ReadRefusal {
    fn from(refusal: Refusal) -> ReadRefusal {
        ReadRefusal { status: None, refusal: Box::new(refusal) }
    }
}

/// Why a route has no value.
pub(in crate::console) enum ReadFault {
    Refused(ReadRefusal),
    Log(LogFault),
}

impl From<ReadRefusal> for ReadFault {
    fn from(refusal: ReadRefusal) -> ReadFault {
        ReadFault::Refused(refusal)
    }
}

impl From<LogFault> for ReadFault {
    fn from(fault: LogFault) -> ReadFault {
        ReadFault::Log(fault)
    }
}

pub(in crate::console) type ReadResult<T> = Result<T, ReadFault>;

/// Bytes as they are stored.
pub(in crate::console) struct StoredBytes(pub(super) Vec<u8>);

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

/// A value of `audit`, as the commands print it.
pub(in crate::console) struct ReadValue(pub(in crate::console) Value);

impl IntoResponse for ReadValue {
    fn into_response(self) -> Response {
        Json(self.0).into_response()
    }
}

/// Reads for a client, and answers with what the work found.
pub(in crate::console) async fn answer<T: IntoResponse + Send + 'static>(
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
    let read = state.views.read(&state.front, client, at, move |moment| match work(moment, &fields) {
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
pub(in crate::console) fn thread_of(moment: &LogMoment, typed: &str) -> ReadResult<ThreadId> {
    let refusal = |words: String| ReadRefusal::from(Refusal::new(Code::UnknownThread, words));
    let id = ThreadId::parse(typed).map_err(|malformed| refusal(malformed.to_string()))?;
    if moment.reader.of_thread(&id, 1, 1)?.is_empty() {
        return Err(ReadRefusal::unknown_thread().into());
    }
    Ok(id)
}
