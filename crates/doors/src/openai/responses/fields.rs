//! The parts of an address: its path, and the fields of its query.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;

use super::super::fault::OpenaiFault;
use systole_hall::http_state::ParsedQuery;

/// The part of a path.
pub(super) type PathId = Result<Path<String>, PathRejection>;
/// A query as it came.
pub(super) type QueryPairs = ParsedQuery<Vec<(String, String)>>;

/// The fields of a query. Those that are not known here change nothing.
pub(super) struct SentFields(Vec<(String, String)>);

impl SentFields {
    pub(super) fn read(query: QueryPairs) -> Result<SentFields, OpenaiFault> {
        let words = "the query is not in the form name=value&name=value";
        query.map(|pairs| SentFields(pairs.0)).map_err(|_| OpenaiFault::refuse_request("query", words))
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn number(&self, name: &'static str) -> Result<Option<u64>, OpenaiFault> {
        let refuse = |_| OpenaiFault::refuse_request(name, format!("{name} is a number from 0"));
        self.text(name).map(str::parse).transpose().map_err(refuse)
    }
}
