//! Requests that wait for a person, over HTTP: every payload in full, for clients that may read or decide.
//!
//! It reads the log and decides nothing. A client without a role sees only the requests in its own threads.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};

use super::http_state::{Caller, HttpState};
use super::reading::{RawFields, ReadValue, answer};
use crate::audit::persons::{self, WaitingRequest};
use systole_core::types::client::Role;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;
use systole_core::types::ports::{LogFault, LogReader};

/// Lists the waiting requests.
pub(super) async fn approvals(
    State(state): State<Arc<HttpState>>,
    Extension(Caller(client)): Extension<Caller>,
    query: RawFields,
) -> Response {
    let by = client.clone();
    answer(&state, &client, query, &[], move |moment, _| {
        // Who decides sees what waits in all threads, even without the role that reads them.
        Ok(ReadValue(json!({"approvals": seen_by(&by, moment.composition(), &*moment.of_all())?})))
    })
    .await
}

fn seen_by(client: &Name, organism: &Composition, reader: &dyn LogReader) -> Result<Vec<Value>, LogFault> {
    let sees_all = [Role::Read, Role::Approve].iter().any(|role| organism.has_role(client, *role));
    // The names of other clients are not for a client without a role.
    let may = if sees_all { deciders(organism) } else { Vec::new() };
    let mut seen = Vec::new();
    for one in persons::waiting(reader)? {
        if !sees_all && !is_own(client, &one, reader)? {
            continue;
        }
        let mut value = one.as_json();
        if let Some(fields) = value.as_object_mut() {
            fields.insert("may".to_owned(), json!(may));
        }
        seen.push(value);
    }
    Ok(seen)
}

/// Whether a client opened the tree of an approval.
fn is_own(client: &Name, one: &WaitingRequest, reader: &dyn LogReader) -> Result<bool, LogFault> {
    let first = reader.of_thread(&one.thread.root_of(), 1, 1)?;
    Ok(first.first().is_some_and(|(_, record)| record.header.from == *client))
}

/// Who may decide: the operator, and the clients with the role.
pub(super) fn deciders(organism: &Composition) -> Vec<String> {
    let operator = Name::operator();
    let is_other = |name: &&Name| **name != operator && organism.has_role(name, Role::Approve);
    let clients = organism.clients.keys().filter(is_other).map(ToString::to_string);
    std::iter::once(operator.to_string()).chain(clients).collect()
}
