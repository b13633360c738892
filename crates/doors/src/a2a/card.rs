//! The card of the organism, by which other agents find it: a public one, and one for its clients with what each may send.

use serde_json::{Value, json};

use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;
use systole_doorway::entrance::DoorAddresses;
use systole_hall::http_state::HttpState;
use systole_payloads::open_elements::{find_model, list_open};

/// The version of the protocol.
pub(super) const PROTOCOL: &str = "1.0";
/// Where the public card is.
pub(super) const CARD: &str = "/.well-known/agent-card.json";

/// What an answer may be.
const MODES: [&str; 2] = ["text/plain", "application/json"];

fn write_card(organism: &Composition, addresses: &DoorAddresses, skills: &[Value]) -> Value {
    let DoorAddresses { bound, public } = addresses;
    let door = public.as_ref().map_or_else(|| format!("http://{bound}"), |public| public.as_str().to_owned());
    let url = format!("{door}/a2a");
    let bind = |binding: &str| json!({"url": url, "protocolBinding": binding, "protocolVersion": PROTOCOL});
    json!({
        "name": organism.organism.as_str(),
        "description": format!("The organism {}: ask it in words, or send an element of one of its skills", organism.organism),
        "version": env!("CARGO_PKG_VERSION"),
        "supportedInterfaces": [bind("JSONRPC"), bind("HTTP+JSON")],
        "capabilities": {"streaming": true, "pushNotifications": false, "extendedAgentCard": true},
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        "defaultInputModes": MODES,
        "defaultOutputModes": MODES,
        "skills": skills,
    })
}

/// The card that everyone sees.
pub(super) fn write_public(state: &HttpState) -> Value {
    let ask = json!({
        "id": "ask",
        "name": "ask",
        "description": "Takes a text, and answers it",
        "tags": ["text"],
    });
    write_card(state.front.composition(), &state.addresses, &[ask])
}

/// The card of a client: a skill for each element that it may send.
pub(super) fn write_extended(state: &HttpState, client: &Name) -> Value {
    let organism = state.front.composition();
    let skills = list_open(organism, client).into_iter().map(|open| {
        let element = &*open.taken.name.local;
        let model = find_model(organism, open.taken.schema);
        let known = model.as_ref().and_then(|model| model.find_documentation(element));
        let example = model.as_ref().and_then(|model| model.to_json(&model.build_example(element)?).ok());
        json!({
            "id": open.name,
            "name": open.name,
            "description": known.map_or_else(|| format!("<{element}> for {}", open.listener.name), str::to_owned),
            "tags": [open.listener.name.as_str()],
            "examples": example.map(|content| json!({&open.name: content}).to_string()).into_iter().collect::<Vec<_>>(),
        })
    });
    write_card(organism, &state.addresses, &skills.collect::<Vec<_>>())
}
