//! The growing log for its followers: first the existing records, then new ones, each follower at its own pace.
//! `organism/tail.rs` reads the records; a slow follower delays no other and misses no record. Listeners' progress
//! reports come between the records if wanted; a slow follower misses those that do not fit.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::api_types;
use crate::edges::tasks::{self, TaskKind};
use crate::runtime::front::{OrganismHandle, ReaderToken};
use crate::runtime::spoken::LiveObserver;
use crate::runtime::tail::FollowPosition;
use systole_core::types::codes::Code;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogFault, Position};
use systole_core::types::refusal::Refusal;

/// Records that may wait for a client's socket: enough to keep it busy while the next page is read.
const AHEAD: usize = 16;

/// A position in the log, and the filter for what follows it.
pub struct Follower {
    following: FollowPosition,
    /// Keeps the log open until its end is read.
    seat: Option<mpsc::Sender<ReaderToken>>,
}

impl Follower {
    /// Follows the log from the record after `at`; with a thread, only that thread and those below it.
    pub fn after(front: &OrganismHandle, at: Position, thread: Option<ThreadId>) -> Follower {
        let seat = front.seat();
        Follower { following: front.follow(at, thread), seat }
    }

    /// The next records, as soon as there are any; `None` once the pump has ended and everything is read. It may be
    /// dropped while it waits: nothing is lost or returned twice.
    pub async fn next(&mut self) -> Result<Option<Vec<api_types::ApiRecord>>, LogFault> {
        let records = self.following.next().await?;
        if records.is_none() {
            self.seat = None;
        }
        Ok(records.map(|records| {
            records.iter().map(|(at, record)| api_types::ApiRecord::of(*at, record)).collect()
        }))
    }
}

/// The next event for a follower that also wants progress reports.
pub enum FollowerBatch {
    /// Records, in order.
    Records(Vec<api_types::ApiRecord>),
    /// A progress report.
    Spoken(api_types::ProgressReport),
}

/// A follower of the log, with progress reports if wanted.
pub struct ProgressFollower {
    follower: Follower,
    hearing: Option<LiveObserver>,
}

impl ProgressFollower {
    /// Combines a log follower with an optional source of progress reports.
    pub fn new(follower: Follower, hearing: Option<LiveObserver>) -> ProgressFollower {
        ProgressFollower { follower, hearing }
    }

    /// The next event: records before progress reports, since only records are permanent. `None` once the pump has
    /// ended and everything is read. It may be dropped while it waits: nothing is lost.
    pub async fn next(&mut self) -> Result<Option<FollowerBatch>, LogFault> {
        let ProgressFollower { follower, hearing } = self;
        let hears = async {
            match hearing {
                Some(hearing) => hearing.next().await,
                None => None,
            }
        };
        tokio::select! {
            biased;
            page = follower.next() => Ok(page?.map(FollowerBatch::Records)),
            Some(spoken) = hears => Ok(Some(FollowerBatch::Spoken(spoken.into()))),
        }
    }
}

/// A watcher's events as a stream for one client.
pub(super) struct Events(mpsc::Receiver<Result<api_types::FollowerEvent, api_types::ApiRefusal>>);

impl Events {
    /// Starts reading. `seat` is released when the client is gone.
    pub(super) fn start(mut watcher: ProgressFollower, seat: OwnedSemaphorePermit) -> Events {
        let (to_client, events) = mpsc::channel(AHEAD);
        let work = async move {
            let _seat = seat;
            loop {
                let came = tokio::select! {
                    came = watcher.next() => came,
                    () = to_client.closed() => return,
                };
                let records = match came {
                    Ok(Some(FollowerBatch::Records(records))) => records,
                    // A client that reads slowly gets fewer progress reports.
                    Ok(Some(FollowerBatch::Spoken(spoken))) => {
                        match to_client.try_send(Ok(api_types::FollowerEvent::Spoken(spoken))) {
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
                    if to_client.send(Ok(api_types::FollowerEvent::Record(Box::new(record)))).await.is_err() {
                        return;
                    }
                }
            }
        };
        // It ends with its client or the pump; a client whose stream just ends asks again from its position.
        let _nobody_waits = tasks::start(TaskKind::Events, work, async |_| ());
        Events(events)
    }
}

/// The client's message if the log cannot be read any further.
fn told_of(fault: &LogFault) -> api_types::ApiRefusal {
    let code = match fault {
        LogFault::Damaged { .. } => Code::DamagedThread,
        _ => Code::IngressUnavailable,
    };
    api_types::ApiRefusal::from(
        &Refusal::new(code, fault.to_string()).fixed_by("systole doctor, where the log is"),
    )
}

impl Stream for Events {
    type Item = Result<api_types::FollowerEvent, api_types::ApiRefusal>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}
