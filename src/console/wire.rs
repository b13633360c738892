//! The door over the broker: clients with `nats: true` send to a subject of their own, and whichever pump has the log takes
//! it. It says what the HTTP door says, as the same JSON: a receipt once the message is on disk, or the refusal; and then, to
//! whoever waits, what came of it.
//!
//! It knows who speaks by the subject alone, judges no payload, and closing it is the first step of a stop. What comes while
//! too many of its client are on their way is refused at once and not kept.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{Semaphore, watch};

use super::ending::{Ending, ending};
use super::events::Follower;
use super::inbound::{earlier, key_of, larger};
use super::{http, told};
use crate::edges::nats::{Back, Broker, Knock, Knocks, token};
use crate::edges::tasks::{self, Kind, Task};
use crate::runtime::front::{Front, Message};
use crate::runtime::waiting::Reply;
use systole_core::types::codes::Code;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::Position;
use systole_core::types::refusal::Refusal;

/// Messages of one client that may be on their way, or waited for, at once.
const MESSAGES: usize = 64;
/// The pause before the broker is asked for messages again.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest wait for what comes of a message: the broker keeps the way back for twice as long.
const LONGEST_WAIT: u64 = 300;

/// The open door.
pub struct WireDoor {
    close: watch::Sender<bool>,
    task: Task,
}

struct Desk {
    front: Front,
    /// By the name in a subject.
    clients: BTreeMap<String, Seated>,
    closed: watch::Receiver<bool>,
}

/// A client, and the seats for its messages.
struct Seated {
    name: Name,
    seats: Arc<Semaphore>,
}

impl WireDoor {
    /// Opens it; none where no client comes over a broker. Where the broker does not answer just then it is opened as soon
    /// as it does.
    pub async fn open(front: &Front) -> Option<WireDoor> {
        let clients = front.composition().clients.iter().filter(|(_, client)| client.over_nats);
        let seated = |name: &Name| Seated { name: name.clone(), seats: Arc::new(Semaphore::new(MESSAGES)) };
        let clients: BTreeMap<String, Seated> =
            clients.map(|(name, _)| (token(name), seated(name))).collect();
        let broker = front.broker().filter(|_| !clients.is_empty())?;
        let (close, closed) = watch::channel(false);
        let desk = Arc::new(Desk { front: front.clone(), clients, closed });
        let first = match broker.upgrade() {
            Some(broker) => broker.knocks().await,
            None => return None,
        };
        let task = tasks::start(Kind::Wire, serve(desk, broker, first), async |_| ());
        Some(WireDoor { close, task })
    }

    /// Takes nothing any more. Whoever waits for an answer is told what is known.
    pub async fn close(self) {
        self.close.send_replace(true);
        self.task.over().await;
    }
}

/// Takes messages until the door is closed or the broker is gone with its organism.
async fn serve(desk: Arc<Desk>, broker: Weak<Broker>, mut opened: Result<Knocks, String>) {
    let mut closed = desk.closed.clone();
    loop {
        match opened {
            Ok(knocks) => {
                if takes(&desk, knocks, &mut closed).await {
                    return;
                }
            }
            Err(words) => tracing::warn!(%words, "messages of clients cannot be taken"),
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            _ = closed.wait_for(|closed| *closed) => return,
        }
        let Some(broker) = broker.upgrade() else { return };
        opened = broker.knocks().await;
    }
}

/// Whether the door was closed meanwhile.
async fn takes(desk: &Arc<Desk>, mut knocks: Knocks, closed: &mut watch::Receiver<bool>) -> bool {
    loop {
        let knock = tokio::select! {
            knock = knocks.next() => knock,
            _ = closed.wait_for(|closed| *closed) => return true,
        };
        let Some(mut knock) = knock else { return false };
        let Some(Seated { name, seats }) = desk.clients.get(&knock.client) else {
            let words = "no client of this name comes over NATS";
            let mend = "`nats: true` under clients, and the configuration of the broker written again";
            refuse(&knock.back, &Refusal::new(Code::IngressForbidden, words).mended_by(mend)).await;
            continue;
        };
        let Ok(seat) = seats.clone().try_acquire_owned() else {
            let many = MESSAGES.to_string();
            let words = format!("{many} messages of {} are on their way, as many as may be", name.as_str());
            let mend = "send it again later, with the same key";
            refuse(&knock.back, &Refusal::new(Code::IngressUnavailable, words).mended_by(mend)).await;
            continue;
        };
        let (client, back) = (name.clone(), knock.back.take());
        let (desk, kind) = (desk.clone(), Kind::Message(client.clone()));
        let work = async move {
            if let Err(refusal) = taken(&desk, client, knock, back.as_ref()).await {
                refuse(&back, &refusal).await;
            }
            drop(seat);
        };
        // It ends with its answer, or with the organism.
        let _nobody_waits = tasks::start(kind, work, async |_| ());
    }
}

async fn refuse(back: &Option<Back>, refusal: &Refusal) {
    // A sender without a way back hears nothing; what is refused of a payload stands in the log.
    if let Some(back) = back {
        say(back, &told::Refusal::from(refusal), Some(refusal.code)).await;
    }
}

async fn say(back: &Back, words: &impl Serialize, code: Option<Code>) {
    let body = serde_json::to_vec(words).unwrap_or_default();
    back.say(body, code.map(Code::as_str)).await;
}

/// Hands a message in, and tells its sender.
async fn taken(desk: &Desk, client: Name, knock: Knock, back: Option<&Back>) -> Result<(), Box<Refusal>> {
    let Knock { key, to, thread, wait, document, .. } = knock;
    let key = key_of(key).map_err(|words| Box::new(Refusal::new(Code::Invalid, words)))?;
    let wait = wait.as_deref().map(waited).transpose()?;
    let limit = desk.front.composition().message_bytes;
    if document.len() > limit {
        let too_large = larger(limit, None, &document);
        return match desk.front.refuse(client, key, too_large).await {
            Some(Reply::Refused(refusal)) => Err(refusal),
            _ => Err(Box::new(http::going())),
        };
    }
    let claimed = desk.front.claimed(&client, &document);
    let message = Message { client, key: key.clone(), document, to, thread };
    let receipt = match desk.front.ask(message).await {
        Some(Reply::Receipt(receipt, position)) => {
            let position = match position {
                Some(position) => position,
                None => earlier(&desk.front, &receipt, &key).await,
            };
            told::Receipt::of(&receipt, position, key.as_str(), claimed)
        }
        Some(Reply::Refused(refusal)) => return Err(refusal),
        Some(Reply::Done) | None => return Err(Box::new(http::going())),
    };
    let Some(back) = back else { return Ok(()) };
    say(back, &receipt, None).await;
    if let Some(wait) = wait {
        let came = came_of(desk, &receipt, wait).await;
        tell(back, came).await;
    }
    Ok(())
}

/// For how long its sender waits.
fn waited(text: &str) -> Result<Duration, Box<Refusal>> {
    let seconds = text.parse().ok().filter(|seconds| (1..=LONGEST_WAIT).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        let words = format!("Systole-Wait: {text:?} is no number of seconds from 1 to {LONGEST_WAIT}");
        Box::new(Refusal::new(Code::Invalid, words))
    })
}

/// What comes of a message in that time.
async fn came_of(desk: &Desk, receipt: &told::Receipt, wait: Duration) -> told::CameOf {
    let open = told::CameOf {
        outcome: "open".to_owned(),
        code: None,
        thread: receipt.thread.clone(),
        call: receipt.call.clone(),
        position: None,
        payload: None,
    };
    let Ok(thread) = ThreadId::parse(&receipt.thread) else { return open };
    let mut follower = Follower::after(&desk.front, Position(receipt.position), Some(thread));
    let mut closed = desk.closed.clone();
    let look = async {
        // The log's end is the end of the wait: the next pump knows more.
        while let Ok(Some(records)) = follower.next().await {
            let ended = records.into_iter().find_map(|record| Some((ending(receipt, &record)?, record)));
            if ended.is_some() {
                return ended;
            }
        }
        None
    };
    let ended = tokio::select! {
        ended = tokio::time::timeout(wait, look) => ended.ok().flatten(),
        _ = closed.wait_for(|closed| *closed) => None,
    };
    let Some((ending, record)) = ended else { return open };
    let (outcome, code) = match ending {
        Ending::Answered => ("answered", None),
        Ending::Partial => ("partial", None),
        Ending::Reported => ("reported", None),
        Ending::Handled => ("handled", None),
        Ending::Failed(code) => ("failed", Some(code)),
    };
    let (outcome, position) = (outcome.to_owned(), Some(record.position));
    told::CameOf { outcome, code, position, payload: Some(record.body), ..open }
}

/// Tells what came of it. What is too large for the broker is named by its place in the log.
async fn tell(back: &Back, came: told::CameOf) {
    let body = serde_json::to_vec(&came).unwrap_or_default();
    if back.fits(&body) {
        return back.say(body, None).await;
    }
    say(back, &told::CameOf { payload: None, ..came }, None).await;
}
