//! The models of this door: the entries that the client may address.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};
use systole_kit::schema::find_nearest;

use super::fault::OpenaiFault;
use crate::http_state::ApiCall;
use crate::mcp::tools;
use systole_core::types::composition::{Composition, Listener};
use systole_core::types::ids::Name;

/// The entries of a client, the organism's own first.
fn list_entries<'c>(organism: &'c Composition, client: &Name) -> Vec<&'c Listener> {
    let mut entries: Vec<&Listener> = Vec::new();
    for open in tools::open_to(organism, client) {
        if entries.last().is_none_or(|last| last.name != open.listener.name) {
            entries.push(open.listener);
        }
    }
    entries.sort_by_key(|entry| Some(&entry.name) != organism.entry.as_ref());
    entries
}

/// The entry that a model's name names.
pub(super) fn find_entry<'c>(
    organism: &'c Composition,
    client: &Name,
    model: &str,
) -> Result<&'c Listener, OpenaiFault> {
    let entries = list_entries(organism, client);
    if let Some(found) = entries.iter().find(|entry| entry.name.as_str() == model) {
        return Ok(found);
    }
    let names = || entries.iter().map(|entry| entry.name.as_str());
    let fix = match find_nearest(model, names()) {
        Some(near) => format!("did you mean {near}?"),
        None if entries.is_empty() => "no entry is open to this client".to_owned(),
        None => format!("there are {}", names().take(32).collect::<Vec<_>>().join(", ")),
    };
    let shown: String = model.chars().take(80).collect();
    let words = format!("there is no model {shown:?}; {fix}");
    Err(OpenaiFault::new(StatusCode::NOT_FOUND, "model_not_found", words).about("model"))
}

fn describe_entry(organism: &Composition, entry: &Listener) -> Value {
    // When an entry was made is not known, and clients want a number.
    json!({"id": entry.name.as_str(), "object": "model", "created": 0, "owned_by": organism.organism.as_str()})
}

/// Lists them.
pub(super) async fn list_models(ApiCall { state, client }: ApiCall) -> Json<Value> {
    let organism = state.front.composition();
    let entries = list_entries(organism, &client);
    let models: Vec<Value> = entries.iter().map(|entry| describe_entry(organism, entry)).collect();
    Json(json!({"object": "list", "data": models}))
}

/// Describes one.
pub(super) async fn show_model(
    ApiCall { state, client }: ApiCall,
    model: Result<Path<String>, PathRejection>,
) -> Result<Json<Value>, Response> {
    let model = model.map(|Path(model)| model).unwrap_or_default();
    let organism = state.front.composition();
    let entry = find_entry(organism, &client, &model).map_err(OpenaiFault::into_answer)?;
    Ok(Json(describe_entry(organism, entry)))
}
