//! Requests that wait for a person: every payload in full, for clients that may read or decide.
//!
//! It reads the log and decides nothing. A client without a role sees only the requests in its own threads.

use axum::Json;
use serde_json::{Value, json};

use super::door_row::DoorRoute;
use super::log_view::LogMoment;
use super::reading::{QueryFields, ReadResult, serve_reading};
use systole_core::types::client::Role;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;
use systole_core::types::person;
use systole_core::types::ports::LogFault;
use systole_organism::workflow_steps;
use systole_queries::persons::{self, WaitingRequest};
use systole_queries::runs::WorkflowRuns;

/// The routes of this file.
pub fn list_routes() -> Vec<DoorRoute> {
    vec![serve_reading("/v1/approvals", &[], list_approvals)]
}

/// Lists the waiting requests.
fn list_approvals(moment: &LogMoment, _: &QueryFields) -> ReadResult<Json<Value>> {
    let decides = moment.composition().has_role(&moment.client, Role::Approve);
    // The names of other clients are not for a client without a role.
    let is_told = decides || moment.sees_all;
    let may = if is_told { list_deciders(moment.composition()) } else { Vec::new() };
    let mut waiting = list_requests(moment, decides)?;
    add_changes(moment, &mut waiting, decides)?;
    let mut seen = Vec::with_capacity(waiting.len());
    for one in waiting {
        let opener = find_opener(moment, &one)?;
        let own = opener.filter(|opener| is_told || *opener == moment.client);
        let own = own
            .filter(|own| person::may_decide(moment.composition(), own, (one.kind(), &one.listener), true));
        let own = own.map(|own| own.to_string()).filter(|own| !may.contains(own));
        let mut value = one.as_json();
        if let Some(fields) = value.as_object_mut() {
            fields.insert("may".to_owned(), may.iter().cloned().chain(own).collect());
        }
        seen.push(value);
    }
    Ok(Json(json!({"approvals": seen})))
}

/// The client that opened the thread of a request.
fn find_opener(moment: &LogMoment, request: &WaitingRequest) -> Result<Option<Name>, LogFault> {
    let first = moment.of_all().of_thread(&request.thread.root_of(), 1, 1)?.pop();
    Ok(first.map(|(_, record)| record.header.from.clone()))
}

/// Whether the client may decide a request that it sees.
pub fn may_decide(moment: &LogMoment, request: &WaitingRequest) -> Result<bool, LogFault> {
    let (organism, client) = (moment.composition(), &moment.client);
    let decides = |is_own| person::may_decide(organism, client, (request.kind(), &request.listener), is_own);
    // Whose thread it is counts only for who decides in its own threads.
    if decides(false) == decides(true) {
        return Ok(decides(true));
    }
    Ok(find_opener(moment, request)?.is_some_and(|opener| opener == *client))
}

/// Whether a client may decide anything, if only in its own threads.
pub fn has_say(organism: &Composition, client: &Name) -> bool {
    [Role::Approve, Role::ApproveOwn, Role::Answer].iter().any(|role| organism.has_role(client, *role))
}

/// What waits for a person. A client that decides also sees what waits in the threads of others.
pub fn list_requests(moment: &LogMoment, decides: bool) -> Result<Vec<WaitingRequest>, LogFault> {
    let mut waiting = match decides && !moment.sees_all {
        false => persons::waiting_in(&*moment.reader, &*moment.read_state()?),
        true => persons::waiting(&*moment.of_all()),
    }?;
    if waiting.iter().any(|request| request.payload().is_none()) {
        let whole = moment.read_state()?;
        let runs = WorkflowRuns::new(&*moment.reader, &whole, &workflow_steps::describe_step);
        persons::name_outcomes(&mut waiting, &runs)?;
    }
    Ok(waiting)
}

/// Adds what the steps changed whose outputs are shown, for who reads them in full.
pub fn add_changes(
    moment: &LogMoment,
    waiting: &mut [WaitingRequest],
    decides: bool,
) -> Result<(), LogFault> {
    match decides && !moment.sees_all {
        false => persons::add_changes(waiting, &*moment.reader),
        true => persons::add_changes(waiting, &*moment.of_all()),
    }
}

/// Who may decide: the operator, and the clients with the role.
pub fn list_deciders(organism: &Composition) -> Vec<String> {
    let operator = Name::new_operator();
    let is_other = |name: &&Name| **name != operator && organism.has_role(name, Role::Approve);
    let clients = organism.clients.keys().filter(is_other).map(ToString::to_string);
    std::iter::once(operator.to_string()).chain(clients).collect()
}
