//! Sends a client's message, and stops the run that comes of it.

use crate::http_state::HttpState;
use crate::request_refusals::describe_stopping;
use systole_api::types::ApiReceipt;
use systole_core::types::codes::Code;
use systole_core::types::composition::Listener;
use systole_core::types::ids::{Key, Name};
use systole_core::types::refusal::Refusal;
use systole_organism::front::ClientMessage;
use systole_organism::waiting::SenderReply;

/// Sends a message under a key to a thread, or to a new one.
pub async fn send_message(
    state: &HttpState,
    client: &Name,
    (entry, document): (&Listener, Vec<u8>),
    (key, thread): (&Key, Option<String>),
) -> Result<ApiReceipt, Box<Refusal>> {
    let bounds = state.messages.bounds_of(client);
    let held = (bounds.wait_for_room(document.len()).await, bounds.wait_for_turn().await);
    let message = ClientMessage {
        client: client.clone(),
        key: key.clone(),
        document,
        to: Some(entry.name.to_string()),
        thread,
        subject: None,
    };
    match state.front.ask_holding(message, Some(Box::new(held))).await {
        Some(SenderReply::Receipt(receipt, position)) => {
            let position = state.front.locate_receipt(&receipt, position).await;
            Ok(ApiReceipt::from_receipt(&receipt, position, key.as_str()))
        }
        Some(SenderReply::Refused(refusal)) => Err(refusal),
        Some(SenderReply::Done) | None => Err(Box::new(describe_stopping())),
    }
}

/// Stops the run of a message. One that is over needs no end.
pub async fn stop_run(state: &HttpState, client: &Name, receipt: &ApiReceipt) -> Result<(), Box<Refusal>> {
    let Some((thread, call)) = receipt.read_run() else { return Ok(()) };
    match state.front.stop_run(client.clone(), thread, call).await {
        Some(SenderReply::Refused(refusal))
            if !matches!(refusal.code, Code::ClosedCall | Code::EndedThread) =>
        {
            Err(refusal)
        }
        Some(_) => Ok(()),
        None => Err(Box::new(describe_stopping())),
    }
}
