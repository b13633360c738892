//! The log as it grows, for whoever follows it: first what is there, then what comes, each reader at
//! its own pace. A reader holds a place in the log and no queue of the pump's, so a slow one costs the
//! pump nothing and misses nothing. What listeners say of their work comes between for who wants to hear it; of that
//! a slow one misses what it has no room for.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::task::JoinHandle;

use super::told;
use crate::edges::tasks::{self, Kind};
use crate::organism::front::{Front, Reading};
use crate::organism::spoken::Hearing;
use crate::words::codes::Code;
use crate::words::ids::ThreadId;
use crate::words::ports::{LogFault, Position};
use crate::words::record::Record;
use crate::words::refusal::Refusal;

/// Records read at once: with the largest bodies still only some tens of megabytes.
const PAGE: usize = 32;
/// Records that may wait for a client's socket: they keep it busy while the next page is read.
const AHEAD: usize = 16;

/// A page of the log on its way from disk.
type Page = JoinHandle<Result<Vec<(Position, Record)>, LogFault>>;

/// A place in the log, and what is looked for after it.
pub struct Follower {
    front: Front,
    tail: watch::Receiver<Position>,
    at: Position,
    thread: Option<ThreadId>,
    /// Keeps the log open until its end is read.
    seat: Option<mpsc::Sender<Reading>>,
    /// A page that is being read, for whoever asks next if nobody waits for it any more.
    reading: Option<Page>,
    /// Whether all that is there was read.
    is_at_end: bool,
    ended: bool,
}

impl Follower {
    /// Follows the log from the record after `at`; only that thread and those below it, if one is named.
    pub fn after(front: &Front, at: Position, thread: Option<ThreadId>) -> Follower {
        let (front, tail, seat) = (front.clone(), front.tail(), front.seat());
        Follower { front, tail, at, thread, seat, reading: None, is_at_end: false, ended: false }
    }

    /// The next records, as soon as there are any; none once the pump has ended and all is read. May be
    /// dropped while it waits: nothing is lost, and nothing is read a second time.
    pub async fn next(&mut self) -> Result<Option<Vec<told::Record>>, LogFault> {
        loop {
            if self.is_at_end {
                // The pump tells how far the log goes before it ends, so one more look finds the rest.
                self.ended = self.tail.changed().await.is_err();
                self.is_at_end = false;
            }
            let page = self.page().await?;
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
                self.is_at_end = true;
            }
        }
    }

    /// The page behind the place.
    async fn page(&mut self) -> Result<Vec<(Position, Record)>, LogFault> {
        let (reader, at) = (self.front.reader(), self.at);
        let reading = self.reading.get_or_insert_with(|| {
            let reader = reader.clone();
            tokio::task::spawn_blocking(move || reader.after(at, PAGE))
        });
        let read = reading.await;
        self.reading = None;
        read.map_err(|end| LogFault::Io { path: "the log".into(), why: end.to_string() })?
    }

    fn wants(&self, thread: &ThreadId) -> bool {
        self.thread.as_ref().is_none_or(|wanted| thread.is_within(wanted))
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
