//! The models of this door: the entries that the client may address.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use super::fault::OpenaiFault;
use systole_core::types::composition::{Composition, Listener};
use systole_core::types::ids::Name;
use systole_hall::http_state::ApiCall;
use systole_payloads::entries::{self, list_entries};

/// The entry that a model's name names.
pub(super) fn find_entry<'c>(
    organism: &'c Composition,
    client: &Name,
    model: &str,
) -> Result<&'c Listener, OpenaiFault> {
    entries::find_entry(organism, client, model).map_err(|fix| {
        let shown: String = model.chars().take(80).collect();
        let words = format!("there is no model {shown:?}; {fix}");
        OpenaiFault::new(StatusCode::NOT_FOUND, "model_not_found", words).about("model")
    })
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
