//! The log as it grows, for whoever follows it: first what is there, then what comes, each follower at
//! its own pace. `organism/tail.rs` reads the records; a slow follower holds up nobody and misses no record. What listeners say of their work comes between for who wants to hear it; of that
//! a slow one misses what it has no room for.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::told;
use crate::edges::tasks::{self, Kind};
use crate::runtime::front::{Front, Reading};
use crate::runtime::spoken::Hearing;
use crate::runtime::tail::Following;
use systole_core::types::codes::Code;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogFault, Position};
use systole_core::types::refusal::Refusal;

/// Records that may wait for a client's socket: they keep it busy while the next page is read.
const AHEAD: usize = 16;

/// A place in the log, and what is looked for after it.
pub struct Follower {
    following: Following,
    /// Keeps the log open until its end is read.
    seat: Option<mpsc::Sender<Reading>>,
}

impl Follower {
    /// Follows the log from the record after `at`; only that thread and those below it, if one is named.
    pub fn after(front: &Front, at: Position, thread: Option<ThreadId>) -> Follower {
        let seat = front.seat();
        Follower { following: front.follow(at, thread), seat }
    }

    /// The next records, as soon as there are any; none once the pump has ended and all is read. May be
    /// dropped while it waits: nothing is lost, and nothing is given twice.
    pub async fn next(&mut self) -> Result<Option<Vec<told::Record>>, LogFault> {
        let records = self.following.next().await?;
        if records.is_none() {
            self.seat = None;
        }
        Ok(records.map(|records| records.iter().map(|(at, record)| told::Record::of(*at, record)).collect()))
    }
}

/// What comes next to somebody who follows the log and hears what is said on the way.
pub enum Came {
    /// Records, in order.
    Records(Vec<told::Record>),
    /// Words.
    Spoken(told::Spoken),
}

/// Somebody who follows the log, and hears what is said on the way if that is wanted.
pub struct Watching {
    follower: Follower,
    hearing: Option<Hearing>,
}

impl Watching {
    /// Follows the log there, and hears that.
    pub fn new(follower: Follower, hearing: Option<Hearing>) -> Watching {
        Watching { follower, hearing }
    }

    /// What comes next: records before words, since only they are sure. None once the pump has ended and all is
    /// read. May be dropped while it waits: nothing is lost by that.
    pub async fn next(&mut self) -> Result<Option<Came>, LogFault> {
        let Watching { follower, hearing } = self;
        let hears = async {
            match hearing {
                Some(hearing) => hearing.next().await,
                None => None,
            }
        };
        tokio::select! {
            biased;
            page = follower.next() => Ok(page?.map(Came::Records)),
            Some(spoken) = hears => Ok(Some(Came::Spoken(spoken.into()))),
        }
    }
}

/// What comes to a watcher as a stream for one client.
pub(super) struct Events(mpsc::Receiver<Result<told::Heard, told::Refusal>>);

impl Events {
    /// Starts reading. `seat` is given back when the client is gone.
    pub(super) fn start(mut watcher: Watching, seat: OwnedSemaphorePermit) -> Events {
        let (to_client, events) = mpsc::channel(AHEAD);
        let work = async move {
            let _seat = seat;
            loop {
                let came = tokio::select! {
                    came = watcher.next() => came,
                    () = to_client.closed() => return,
                };
                let records = match came {
                    Ok(Some(Came::Records(records))) => records,
                    // Who does not read hears less.
                    Ok(Some(Came::Spoken(spoken))) => {
                        match to_client.try_send(Ok(told::Heard::Spoken(spoken))) {
                            Ok(()) | Err(TrySendError::Full(_)) => continue,
                            Err(TrySendError::Closed(_)) => return,
                        }
                    }
                    Ok(None) => return,
                    Err(fault) => {
                        tracing::error!(%fault, "a stream of events ended");
                        let _client_is_gone = to_client.send(Err(told_of(&fault))).await;
                        return;
                    }
                };
                for record in records {
                    if to_client.send(Ok(told::Heard::Record(Box::new(record)))).await.is_err() {
                        return;
                    }
                }
            }
        };
        // It ends with its client or the pump; a client whose stream just ends asks again from its place.
        let _nobody_waits = tasks::start(Kind::Events, work, async |_| ());
        Events(events)
    }
}

/// What a client is told when the log cannot be read on.
fn told_of(fault: &LogFault) -> told::Refusal {
    let code = match fault {
        LogFault::Damaged { .. } => Code::DamagedThread,
        _ => Code::IngressUnavailable,
    };
    told::Refusal::from(&Refusal::new(code, fault.to_string()).mended_by("systole doctor, where the log is"))
}

impl Stream for Events {
    type Item = Result<told::Heard, told::Refusal>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}
