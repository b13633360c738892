//! Refusals of reads, with the status that says what is wrong.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::request_refusals::refuse_message;
use systole_api::types::{ApiRefusal, refuse_wide_reading};
use systole_core::types::codes::Code;
use systole_core::types::ports::LogFault;
use systole_core::types::refusal::Refusal;

/// A refusal of a read, with its status if the code alone does not say it.
#[derive(Debug)]
pub struct ReadRefusal {
    status: Option<StatusCode>,
    refusal: Box<Refusal>,
}

impl ReadRefusal {
    /// The request has the wrong form.
    pub fn unfit(refusal: Refusal) -> ReadRefusal {
        ReadRefusal { status: Some(StatusCode::BAD_REQUEST), refusal: Box::new(refusal) }
    }

    /// The thing does not exist, or this client may not see it.
    pub fn missing(words: String, fix: impl Into<String>) -> ReadRefusal {
        let refusal = Refusal::new(Code::NoSuchElement, words).fixed_by(fix);
        ReadRefusal { status: Some(StatusCode::NOT_FOUND), refusal: Box::new(refusal) }
    }

    /// There is no such thread, or it is another client's.
    pub fn unknown_thread() -> ReadRefusal {
        let refusal = Refusal::new(Code::UnknownThread, "there is no such thread");
        refusal.fixed_by("GET /v1/threads, which lists the threads that you may see").into()
    }

    /// The view shows threads of all clients and cannot be cut to those of one.
    pub(crate) fn needs_read(what: &str) -> ReadRefusal {
        refuse_wide_reading(what).into()
    }

    /// The refusal alone, for a page.
    pub fn into_refusal(self) -> Refusal {
        *self.refusal
    }

    /// The same, with what to do about it.
    pub fn fixed_by(mut self, fix: String) -> ReadRefusal {
        self.refusal = Box::new(self.refusal.fixed_by(fix));
        self
    }

    fn response(&self) -> Response {
        match (self.status, self.refusal.code) {
            (Some(status), _) => (status, Json(ApiRefusal::from(&*self.refusal))).into_response(),
            // A request without a payload: its own form is wrong.
            (None, Code::Invalid) => ReadRefusal::unfit((*self.refusal).clone()).response(),
            (None, _) => refuse_message(&self.refusal),
        }
    }
}

impl IntoResponse for ReadRefusal {
    fn into_response(self) -> Response {
        self.response()
    }
}

impl From<ReadRefusal> for Response {
    fn from(refusal: ReadRefusal) -> Response {
        refusal.response()
    }
}

impl From<Refusal> for ReadRefusal {
    fn from(refusal: Refusal) -> ReadRefusal {
        ReadRefusal { status: None, refusal: Box::new(refusal) }
    }
}

/// Why a route has no value.
pub enum ReadFault {
    /// The request is wrong.
    Refused(ReadRefusal),
    /// The log cannot be read.
    Log(LogFault),
}

impl ReadFault {
    /// The result of a reading, which fails only if the log cannot be read.
    pub fn split_result<T>(found: ReadResult<T>) -> Result<Result<T, ReadRefusal>, LogFault> {
        match found {
            Ok(value) => Ok(Ok(value)),
            Err(ReadFault::Refused(refusal)) => Ok(Err(refusal)),
            Err(ReadFault::Log(fault)) => Err(fault),
        }
    }
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

/// What a reading found.
pub type ReadResult<T> = Result<T, ReadFault>;
