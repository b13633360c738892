//! Why there is no run: an answer with a status, as everywhere at this server, or a run that ends at once.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::wire::answer_error;
use systole_api::types::ApiRefusal;
use systole_core::types::codes::Code;
use systole_core::types::refusal::Refusal;
use systole_hall::request_refusals::{describe_with_fix, refuse_crowded, refuse_message};

/// Why there is no run.
pub(super) enum RunFault {
    /// The request cannot be read.
    Unread(Box<Refusal>),
    /// The organism refuses it.
    Refused(Box<Refusal>),
    /// The run that it names cannot do it.
    Run { code: String, words: String },
    /// There is no such thing.
    Missing(Box<Refusal>),
    /// No place is left.
    Crowded(String),
}

impl RunFault {
    /// A refusal that ends the run.
    pub(super) fn in_run(refusal: Box<Refusal>) -> RunFault {
        RunFault::Run { code: refusal.code.as_str().to_owned(), words: describe_with_fix(&refusal) }
    }

    /// An entry that is not there.
    pub(super) fn refuse_entry(name: &str, fix: &str) -> RunFault {
        let shown: String = name.chars().take(80).collect();
        let words = format!("no entry is called {shown:?}");
        RunFault::Missing(Box::new(Refusal::new(Code::NotAPeer, words).fixed_by(fix)))
    }

    pub(super) fn into_answer(self) -> Response {
        let with =
            |status: StatusCode, refusal: &Refusal| (status, Json(ApiRefusal::from(refusal))).into_response();
        match self {
            RunFault::Unread(refusal) if refusal.code == Code::Invalid => {
                with(StatusCode::BAD_REQUEST, &refusal)
            }
            RunFault::Unread(refusal) | RunFault::Refused(refusal) => refuse_message(&refusal),
            RunFault::Run { code, words } => answer_error(&code, &words),
            RunFault::Missing(refusal) => with(StatusCode::NOT_FOUND, &refusal),
            RunFault::Crowded(words) => refuse_crowded(words),
        }
    }
}

impl From<Box<Refusal>> for RunFault {
    fn from(refusal: Box<Refusal>) -> RunFault {
        // A request that cannot be read has no schema that it breaks.
        if refusal.code == Code::Invalid && refusal.path.is_none() {
            return RunFault::Unread(refusal);
        }
        RunFault::Refused(refusal)
    }
}
