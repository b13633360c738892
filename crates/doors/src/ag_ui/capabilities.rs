//! What an entry can do, as AG-UI clients ask for it.

use axum::Json;
use axum::extract::Path;
use axum::response::Response;
use serde_json::{Value, json};

use super::caller::PathParts;
use super::fault::RunFault;
use super::writer::PROTOCOL;
use systole_core::types::client::Role;
use systole_hall::http_state::ApiCall;
use systole_payloads::entries::find_entry;
use systole_payloads::said_files::takes_files;

/// Describes an entry.
pub(super) async fn show_capabilities(
    ApiCall { state, client }: ApiCall,
    entry: PathParts<String>,
) -> Result<Json<Value>, Response> {
    let name = entry.map(|Path(entry)| entry).unwrap_or_default();
    let organism = state.front.composition();
    let entry = find_entry(organism, &client, &name)
        .map_err(|fix| RunFault::refuse_entry(&name, &fix).into_answer())?;
    let has = |roles: &[Role]| roles.iter().any(|role| organism.has_role(&client, *role));
    let (approves, answers) =
        (has(&[Role::Approve, Role::ApproveOwn]), has(&[Role::Approve, Role::ApproveOwn, Role::Answer]));
    let sees = takes_files(entry);
    Ok(Json(json!({
        "identity": {"name": entry.name.as_str(), "provider": organism.organism.as_str(), "type": "systole"},
        "transport": {"streaming": true, "websocket": false, "pushNotifications": false, "resumable": true},
        "tools": {"supported": true, "clientProvided": false},
        "state": {"snapshots": true, "deltas": false, "memory": true, "persistentState": true},
        "multiAgent": {"supported": true, "delegation": true},
        "reasoning": {"supported": true, "streaming": true},
        "multimodal": {"input": {"file": sees}},
        "humanInTheLoop": {
            "supported": true,
            "approvals": approves,
            "feedback": answers,
            "interrupts": answers,
            "approveWithEdits": approves,
        },
        "custom": {"protocolVersion": PROTOCOL},
    })))
}
