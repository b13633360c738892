//! The messages that a client has, as it sent them. They are kept as text while its run is open, because what does not count
//! of an answer can be taken back only by sending all others again; so there is room for so many bytes of them.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::fault::RunFault;
use crate::limits;
use systole_core::types::ids::Name;
use systole_doorway::ClientPlaces;

/// Room for the messages of open runs.
pub(super) struct MessageRoom {
    own: ClientPlaces,
    all: Arc<Semaphore>,
}

/// Room that is taken.
pub(super) struct TakenRoom {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl MessageRoom {
    pub(super) fn new() -> MessageRoom {
        let all = Arc::new(Semaphore::new(limits::ECHO_KIB));
        MessageRoom { own: ClientPlaces::new(limits::OWN_ECHO_KIB), all }
    }

    /// Room for so many bytes.
    pub(super) fn take(&self, client: &Name, bytes: usize) -> Result<TakenRoom, RunFault> {
        let kib = u32::try_from((bytes >> 10) + 1).unwrap_or(u32::MAX);
        let own = self.own.places_of(client).try_acquire_many_owned(kib);
        let all = self.all.clone().try_acquire_many_owned(kib);
        let taken = own.ok().zip(all.ok()).map(|(own, all)| TakenRoom { _own: own, _all: all });
        taken.ok_or_else(|| {
            RunFault::Crowded("the messages of open runs take all the room that they have".to_owned())
        })
    }
}

/// What is read of a message.
#[derive(Deserialize)]
pub(super) struct MessageHead {
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) role: Option<String>,
}

impl MessageHead {
    pub(super) fn read(message: &RawValue) -> Option<MessageHead> {
        serde_json::from_str(message.get()).ok()
    }
}

/// Messages with their ids.
pub(super) struct KeptMessages {
    messages: Vec<(String, String)>,
    _room: TakenRoom,
}

impl KeptMessages {
    /// Those that a snapshot has. What was thought, and what happened meanwhile, the client keeps by itself.
    pub(super) fn new(messages: Vec<Box<RawValue>>, room: TakenRoom) -> KeptMessages {
        let read = |message: Box<RawValue>| {
            let head = MessageHead::read(&message)?;
            let is_kept = !matches!(head.role.as_deref(), Some("reasoning" | "activity"));
            // An event is one line. Between the parts of JSON a line may end, within them none does.
            head.id.filter(|_| is_kept).map(|id| (id, message.get().replace(['\r', '\n'], " ")))
        };
        KeptMessages { messages: messages.into_iter().filter_map(read).collect(), _room: room }
    }

    /// The messages, but for those with certain ids.
    pub(super) fn list_without(&self, leaves_out: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
        self.messages.iter().filter(move |(id, _)| !leaves_out(id)).map(|(_, message)| message.as_str())
    }
}
