//! The id of a response: `resp_` and the id of its run. If a decision let the run go on, the position follows after `~`
//! from which on the response tells it.

use std::fmt;

use axum::http::StatusCode;

use super::super::fault::OpenaiFault;
use systole_core::types::ports::Position;
use systole_queries::run_events::RunId;

/// The id of a response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ResponseId {
    pub(super) run: RunId,
    pub(super) from: Position,
}

impl ResponseId {
    pub(super) fn parse(id: &str) -> Option<ResponseId> {
        let rest = id.strip_prefix("resp_")?;
        let Some((run, from)) = rest.split_once('~') else {
            return Some(ResponseId { run: RunId::parse(rest)?, from: Position::default() });
        };
        let from = from.parse().ok().filter(|number: &u64| *number > 0 && number.to_string() == from)?;
        Some(ResponseId { run: RunId::parse(run)?, from: Position(from) })
    }

    /// What is said of a response that is none of this client.
    pub(super) fn refuse_unknown() -> OpenaiFault {
        let words = "there is no such response of this client";
        OpenaiFault::new(StatusCode::NOT_FOUND, "response_not_found", words)
    }
}

impl fmt::Display for ResponseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "resp_{}", self.run)?;
        if self.from > Position::default() { write!(f, "~{}", self.from.0) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g10_an_id_of_a_response_reads_back_and_nothing_else_does() {
        let run = "sess-da5910918c72.1.01a1f850-0000-7000-8000-000000000001";
        for id in [format!("resp_{run}"), format!("resp_{run}~17")] {
            assert_eq!(ResponseId::parse(&id).unwrap().to_string(), id);
        }
        for wrong in
            ["", "resp_", run, &format!("resp_{run}~"), &format!("resp_{run}~0"), &format!("resp_{run}~+7")]
        {
            assert!(ResponseId::parse(wrong).is_none(), "{wrong}");
        }
    }
}
