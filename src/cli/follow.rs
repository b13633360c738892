//! The growing log of an organism elsewhere: its stream of events says that there is more to read.
//!
//! A lost stream is opened again from its last event, so nothing is missed. Only the news of a record counts here: the
//! record itself is read and verified like every other one.

use tokio::sync::mpsc;

use super::remote_organism::OrganismElsewhere;
use super::screen::Screen;
use crate::limits;
use systole_client::client::{DoorClient, DoorClientFault};
use systole_core::types::ids::ThreadId;

/// The news that the log has grown.
pub(super) struct RemoteGrowth(mpsc::Receiver<Result<(), DoorClientFault>>);

impl RemoteGrowth {
    /// Follows a thread and those below it, or the whole log.
    pub(super) fn follow(
        screen: Screen,
        organism: &OrganismElsewhere,
        thread: Option<&ThreadId>,
    ) -> RemoteGrowth {
        // News that no one has taken yet says the same as the next one.
        let (to_us, news) = mpsc::channel(1);
        let (client, thread) = (organism.client.clone(), thread.map(ThreadId::to_string));
        let mut at = organism.status.position;
        std::thread::spawn(move || {
            let mut tries = 0;
            while !to_us.is_closed() {
                let before = at;
                let lost = listen(&client, &mut at, thread.as_deref(), &to_us);
                if at > before {
                    tries = 0;
                }
                tries += 1;
                if tries > limits::STREAM_TRIES || !may_return(&lost) {
                    // The command may have ended.
                    return drop(to_us.blocking_send(Err(lost)));
                }
                if tries == 1 {
                    screen.say(format!("note: {}: the stream is lost and is opened again", client.address()));
                }
                std::thread::park_timeout(limits::STREAM_PAUSE);
            }
        });
        RemoteGrowth(news)
    }

    /// Waits for news; the error says that the organism does not come back.
    pub(super) async fn next(&mut self) -> Result<(), DoorClientFault> {
        self.0.recv().await.unwrap_or(Err(DoorClientFault::TooLate))
    }
}

/// Listens until the stream is lost, and says why it was.
fn listen(
    client: &DoorClient,
    at: &mut u64,
    thread: Option<&str>,
    to_us: &mpsc::Sender<Result<(), DoorClientFault>>,
) -> DoorClientFault {
    let events = match client.follow_records(*at, thread, None) {
        Ok(events) => events,
        Err(fault) => return fault,
    };
    // What came before may not have been read yet: the organism may have gone in between.
    let _known = to_us.try_send(Ok(()));
    for event in events {
        match event {
            Ok(record) => {
                *at = record.position;
                // Full: there is news already. Closed: it is noticed before the next stream.
                let _known = to_us.try_send(Ok(()));
            }
            Err(fault) => return fault,
        }
    }
    let words = "the organism has stopped".to_owned();
    DoorClientFault::Unreachable { address: client.address().to_owned(), words }
}

/// Whether the same may be answered later.
fn may_return(lost: &DoorClientFault) -> bool {
    matches!(lost, DoorClientFault::Unreachable { .. } | DoorClientFault::TooLate)
}
