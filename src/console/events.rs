//! The log as it grows, for whoever follows it: first what is there, then what comes, each reader at
//! its own pace. A reader holds a place in the log and no queue of the pump's, so a slow one costs the
//! pump nothing and misses nothing.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use super::told;
use crate::edges::tasks::{self, Kind};
use crate::organism::front::{Front, Reading};
use crate::words::ids::ThreadId;
use crate::words::ports::{LogFault, Position};

/// Records read at once: with the largest bodies still only some tens of megabytes.
const PAGE: usize = 32;
/// Records that may wait for a client's socket: they keep it busy while the next page is read.
const AHEAD: usize = 16;

/// A place in the log, and what is looked for after it.
pub struct Follower {
    front: Front,
    tail: watch::Receiver<Position>,
    at: Position,
    thread: Option<ThreadId>,
    /// Keeps the log open until its end is read.
    seat: Option<mpsc::Sender<Reading>>,
    ended: bool,
}

impl Follower {
    /// Follows the log from the record after `at`; only that thread and those below it, if one is named.
    pub fn after(front: &Front, at: Position, thread: Option<ThreadId>) -> Follower {
        let (tail, seat) = (front.tail(), front.seat());
        Follower { front: front.clone(), tail, at, thread, seat, ended: false }
    }

    /// The next records, as soon as there are any; none once the pump has ended and all is read. May be
    /// dropped while it waits: nothing is lost.
    pub async fn next(&mut self) -> Result<Option<Vec<told::Record>>, LogFault> {
        loop {
            let (reader, at) = (self.front.reader().clone(), self.at);
            let read = tokio::task::spawn_blocking(move || reader.after(at, PAGE)).await;
            let page =
                read.map_err(|end| LogFault::Io { path: "the log".into(), why: end.to_string() })??;
            if let Some((last, _)) = page.last() {
                self.at = *last;
                let wanted = page.iter().filter(|(_, record)| self.wants(&record.header.thread));
                let wanted: Vec<_> = wanted.map(|(at, record)| told::Record::of(*at, record)).collect();
                if !wanted.is_empty() {
                    return Ok(Some(wanted));
                }
            } else if self.ended {
                self.seat = None;
                return Ok(None);
            } else {
                // The pump tells how far the log goes before it ends, so one more look finds the rest.
                self.ended = self.tail.changed().await.is_err();
            }
        }
    }

    fn wants(&self, thread: &ThreadId) -> bool {
        self.thread.as_ref().is_none_or(|wanted| thread.is_within(wanted))
    }
}

/// The records of a follower as a stream for one client.
pub(super) struct Events(mpsc::Receiver<told::Record>);

impl Events {
    /// Starts reading. `seat` is given back when the client is gone.
    pub(super) fn start(mut follower: Follower, seat: OwnedSemaphorePermit) -> Events {
        let (to_client, events) = mpsc::channel(AHEAD);
        let work = async move {
            let _seat = seat;
            loop {
                let page = tokio::select! {
                    page = follower.next() => page,
                    () = to_client.closed() => return,
                };
                let records = match page {
                    Ok(Some(records)) => records,
                    Ok(None) => return,
                    Err(fault) => return tracing::error!(%fault, "a stream of events ended"),
                };
                for record in records {
                    if to_client.send(record).await.is_err() {
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

impl Stream for Events {
    type Item = told::Record;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<told::Record>> {
        self.0.poll_recv(cx)
    }
}
