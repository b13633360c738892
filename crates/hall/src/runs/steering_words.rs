//! Words of a client for the work that goes on in a thread. Its listener reads them in its next turn.

use systole_organism::steer_payload::build_steer;
use systole_organism::waiting::SenderReply;

use super::decisions::read_log;
use crate::http_state::HttpState;
use crate::request_refusals::{describe_stopping, describe_unfit_request};
use systole_core::types::codes::Code;
use systole_core::types::ids::{Key, Name, ThreadId};
use systole_core::types::refusal::Refusal;
use systole_organism::front::ClientMessage;

/// Says something to the work in a thread.
pub async fn steer_thread(
    (state, client): (&HttpState, &Name),
    thread: &ThreadId,
    text: &str,
    key: Key,
) -> Result<(), Box<Refusal>> {
    let wanted = thread.clone();
    let found = read_log(state, client, move |moment| {
        if moment.reader.of_thread(&wanted, 1, 1)?.is_empty() {
            return Ok(None);
        }
        moment.read_state()?.listener_at_work(&*moment.reader, &wanted).map(Some)
    });
    let unknown = || Box::new(Refusal::new(Code::UnknownThread, "there is no such thread"));
    let resting = || {
        let words = format!("no call is open in {thread}, so no one would read it");
        Box::new(
            Refusal::new(Code::RestingThread, words).fixed_by("send a message that goes on with the thread"),
        )
    };
    let listener = found.await?.ok_or_else(unknown)?.ok_or_else(resting)?;
    let composition = state.front.composition().clone();
    let listener = composition.find_listener(&listener).ok_or_else(|| {
        let words = format!("{listener} works on {thread}, but is no longer in the organism's file");
        Box::new(describe_unfit_request(words))
    })?;
    let payload = build_steer(&composition, listener, text);
    let payload = payload.map_err(|words| Box::new(describe_unfit_request(words)))?;
    let (client, document) = (client.clone(), payload.bytes().to_vec());
    let message =
        ClientMessage { client, key, document, to: None, thread: Some(thread.to_string()), subject: None };
    match state.front.send_message(message).await {
        Some(SenderReply::Done | SenderReply::Receipt(..)) => Ok(()),
        Some(SenderReply::Refused(refusal)) => Err(refusal),
        None => Err(Box::new(describe_stopping())),
    }
}
