//! The door over the broker: clients with `nats: true` send to their own subjects, and the pump that has the log
//! takes the messages. It sends the same JSON as the HTTP door: a receipt once the message is on disk, or the
//! refusal; then, to a waiting sender, the outcome.
//!
//! It identifies a client only by the subject, judges no payload, and closing it is the first step of a stop. If too
//! many messages of a client are in progress, it refuses new ones at once and does not keep them.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use serde::Serialize;
use tokio::sync::watch;

use crate::limits;
use systole_api::types::{ApiReceipt, ApiRefusal, FileStored, MessageOutcome};
use systole_bus::{Broker, LoginFailures, ReplyRoute, UnreadMessage, to_token};
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;
use systole_core::types::refusal::Refusal;
use systole_doorway::MessageBounds;
use systole_following::outcome::{read_wait, wait_for_outcome};
use systole_hall::inbound::{choose_key, read_subject, refuse_larger};
use systole_hall::request_refusals::{describe_stopping, describe_unfit_request};
use systole_organism::front::{ClientMessage, OrganismHandle};
use systole_organism::waiting::SenderReply;
use systole_show::columns::plain;
use systole_system::tasks::{self, RunningTask, TaskKind};

/// The word of the header `Systole-File`.
const KEEP: &str = "keep";

/// The open door.
pub struct WireDoor {
    close: watch::Sender<bool>,
    task: RunningTask,
}

struct WireState {
    front: OrganismHandle,
    /// Clients by their name in a subject.
    clients: BTreeMap<String, Name>,
    bounds: MessageBounds,
    closed: watch::Receiver<bool>,
}

impl WireDoor {
    /// Opens it; `None` if no client uses a broker. If the broker does not answer now, the door opens as soon as it
    /// does.
    pub async fn open(front: &OrganismHandle) -> Option<WireDoor> {
        let clients = front.composition().clients.iter().filter(|(_, client)| client.over_nats);
        let clients: BTreeMap<String, Name> =
            clients.map(|(name, _)| (to_token(name), name.clone())).collect();
        let broker = front.broker().filter(|_| !clients.is_empty())?;
        let (close, closed) = watch::channel(false);
        let state = Arc::new(WireState {
            front: front.clone(),
            clients,
            bounds: MessageBounds::new(limits::WAITING_OF_ALL),
            closed,
        });
        let first = match broker.upgrade() {
            Some(broker) => broker.failed_logins().await,
            None => return None,
        };
        let task = tasks::start_task(TaskKind::Wire, serve_messages(state, broker, first), async |_| ());
        Some(WireDoor { close, task })
    }

    /// Takes no more messages. Waiting senders get what is known.
    pub async fn close(self) {
        self.close.send_replace(true);
        self.task.wait_for_end().await;
    }
}

/// Takes messages until the door is closed or the broker is gone with its organism.
async fn serve_messages(
    state: Arc<WireState>,
    broker: Weak<Broker>,
    mut opened: Result<LoginFailures, String>,
) {
    let mut closed = state.closed.clone();
    let mut is_deaf = false;
    loop {
        match opened {
            Ok(failed_logins) => {
                if std::mem::take(&mut is_deaf) {
                    tracing::info!("messages of clients are taken over the broker again");
                }
                if take_messages(&state, failed_logins, &mut closed).await {
                    return;
                }
            }
            Err(words) => {
                if !std::mem::replace(&mut is_deaf, true) {
                    let fix = "the broker, so that it answers and grants this; it goes on by itself";
                    tracing::warn!(why = words, fix, "messages of clients cannot be taken over the broker");
                }
            }
        }
        tokio::select! {
            () = tokio::time::sleep(limits::PAUSE) => {}
            _ = closed.wait_for(|closed| *closed) => return,
        }
        let Some(broker) = broker.upgrade() else { return };
        opened = broker.failed_logins().await;
    }
}

/// Takes messages until this opening ends; returns whether the door was closed.
async fn take_messages(
    state: &Arc<WireState>,
    mut failed_logins: LoginFailures,
    closed: &mut watch::Receiver<bool>,
) -> bool {
    loop {
        let knock = tokio::select! {
            knock = failed_logins.next() => knock,
            _ = closed.wait_for(|closed| *closed) => return true,
        };
        let Some(mut knock) = knock else { return false };
        let Some(name) = state.clients.get(&knock.client) else {
            let words = "no client of this name connects over NATS";
            let fix = "`nats: true` under clients, and the configuration of the broker written again";
            send_refusal(&knock.back, &Refusal::new(Code::IngressForbidden, words).fixed_by(fix)).await;
            continue;
        };
        let bounds = state.bounds.bounds_of(name);
        let held = state
            .bounds
            .take_place(name)
            .and_then(|place| Ok((place, bounds.room_now(knock.document.len())?)));
        let (place, room) = match held {
            Ok(held) => held,
            Err(words) => {
                let fix = "send it again later, with the same key";
                send_refusal(&knock.back, &Refusal::new(Code::IngressUnavailable, words).fixed_by(fix)).await;
                continue;
            }
        };
        let (client, back) = (name.clone(), knock.back.take());
        let (state, kind) = (state.clone(), TaskKind::Message(client.clone()));
        let work = async move {
            let held = Box::new((room, bounds.wait_for_turn().await));
            if let Err(refusal) = take_message(&state, client, knock, held, back.as_ref()).await {
                send_refusal(&back, &refusal).await;
            }
            drop(place);
        };
        // It ends with its answer, or with the organism.
        let _nobody_waits = tasks::start_task(kind, work, async |_| ());
    }
}

async fn send_refusal(back: &Option<ReplyRoute>, refusal: &Refusal) {
    // A sender without a reply path hears nothing; the log has the refusals of payloads.
    if let Some(back) = back {
        send_words(back, &ApiRefusal::from(refusal), Some(refusal.code)).await;
    }
}

async fn send_words(back: &ReplyRoute, words: &impl Serialize, code: Option<Code>) {
    let body = serde_json::to_vec(words).unwrap_or_default();
    back.send_reply(body, code.map(Code::as_str)).await;
}

/// Hands a message in, and answers its sender.
async fn take_message(
    state: &WireState,
    client: Name,
    knock: UnreadMessage,
    held: Box<dyn Any + Send>,
    back: Option<&ReplyRoute>,
) -> Result<(), Box<Refusal>> {
    if let Some(word) = &knock.file {
        return keep_file(state, &client, word, knock.document, back).await;
    }
    let UnreadMessage { key, to, thread, wait, subject, document, .. } = knock;
    let key = choose_key(key).map_err(|words| Box::new(describe_unfit_request(words)))?;
    let wait = wait.as_deref().map(read_wait).transpose()?;
    let subject = subject.map(|text| read_subject(text.as_bytes())).transpose()?;
    let limit = state.front.composition().message_bytes;
    if document.len() > limit {
        let too_large = refuse_larger(limit, None, &document);
        return match state.front.record_refusal(client, key, too_large).await {
            Some(SenderReply::Refused(refusal)) => Err(refusal),
            _ => Err(Box::new(describe_stopping())),
        };
    }
    let message = ClientMessage { client, key: key.clone(), document, to, thread, subject };
    let receipt = match state.front.ask_holding(message, Some(held)).await {
        Some(SenderReply::Receipt(receipt, position)) => {
            let position = state.front.locate_receipt(&receipt, position).await;
            ApiReceipt::from_receipt(&receipt, position, key.as_str())
        }
        Some(SenderReply::Refused(refusal)) => return Err(refusal),
        Some(SenderReply::Done) | None => return Err(Box::new(describe_stopping())),
    };
    let Some(back) = back else { return Ok(()) };
    send_words(back, &receipt, None).await;
    if let Some(wait) = wait {
        let mut closed = state.closed.clone();
        let came = tokio::select! {
            came = wait_for_outcome(&state.front, &receipt, wait) => came,
            _ = closed.wait_for(|closed| *closed) => MessageOutcome::open_call(&receipt),
        };
        send_outcome(back, came).await;
    }
    Ok(())
}

/// Keeps a file for a later message of the client, and answers with its hash.
async fn keep_file(
    state: &WireState,
    client: &Name,
    word: &str,
    bytes: Vec<u8>,
    back: Option<&ReplyRoute>,
) -> Result<(), Box<Refusal>> {
    if word != KEEP {
        let words = format!("Systole-File: {} is not known", plain(word));
        return Err(Box::new(describe_unfit_request(words).fixed_by(format!("Systole-File: {KEEP}"))));
    }
    let sent = state.front.keep_file(client, bytes).ok_or_else(|| Box::new(describe_stopping()))??;
    if let Some(back) = back {
        send_words(back, &FileStored::from_sent(&sent), None).await;
    }
    Ok(())
}

/// Sends the outcome. If it is too large for the broker, the answer has only its position in the log.
async fn send_outcome(back: &ReplyRoute, came: MessageOutcome) {
    let body = serde_json::to_vec(&came).unwrap_or_default();
    if back.does_fit(&body) {
        return back.send_reply(body, None).await;
    }
    send_words(back, &MessageOutcome { payload: None, ..came }, None).await;
}
