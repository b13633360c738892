//! The growing log for its followers: first the existing records, then new ones, each follower at its own pace.
//! `runtime/tail.rs` has the records; a slow follower delays no other and misses no record. Listeners' progress
//! reports come between the records if wanted; a slow follower misses those that do not fit.

use std::convert::Infallible;

use futures_core::Stream;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::limits;
use systole_api::request_refusals::LOOK;
use systole_api::types::{ApiRecord, ApiRefusal, ProgressReport};
use systole_core::types::codes::Code;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogFault, Position};
use systole_core::types::refusal::Refusal;
use systole_doorway::SharedPlace;
use systole_organism::front::{OrganismHandle, ReaderToken};
use systole_organism::live_messages::LiveObserver;
use systole_organism::tail::{FollowPosition, FollowedRecord, SharedRecord};

/// A position in the log, and the filter for what follows it.
pub struct RecordFollower {
    following: FollowPosition,
    /// Keeps the log open until its end is read.
    seat: Option<mpsc::Sender<ReaderToken>>,
}

impl RecordFollower {
    /// Follows the log from the record after `at`; with a thread, only that thread and those below it.
    pub fn follow_after(front: &OrganismHandle, at: Position, thread: Option<ThreadId>) -> RecordFollower {
        let seat = front.take_seat();
        RecordFollower { following: front.follow(at, thread), seat }
    }

    /// Says, with no records, where it has returned all that the log has of its thread.
    pub fn with_end_told(mut self) -> RecordFollower {
        self.following = self.following.with_end_told();
        self
    }

    /// Follows the whole log at a pace, if it follows the whole log.
    fn with_pace(mut self) -> RecordFollower {
        self.following = self.following.with_pace(limits::EVENT_PACE);
        self
    }

    /// The next records, as soon as there are any; `None` once the pump has ended and everything is read. It may be
    /// dropped while it waits: nothing is lost or returned twice.
    pub async fn next(&mut self) -> Result<Option<Vec<ApiRecord>>, LogFault> {
        Ok(self
            .next_shared()
            .await?
            .map(|records| records.iter().map(|placed| read_record(placed)).collect()))
    }

    /// Whether it has returned all that the log has of its thread.
    fn has_caught_up(&self) -> bool {
        self.following.has_caught_up()
    }

    /// The same records, as the log has them.
    pub async fn next_shared(&mut self) -> Result<Option<Vec<SharedRecord>>, LogFault> {
        let records = self.following.next().await?;
        if records.is_none() {
            self.seat = None;
        }
        Ok(records)
    }
}

fn read_record(placed: &FollowedRecord) -> ApiRecord {
    ApiRecord::from_record(placed.position, &placed.record)
}

/// The next event for a follower that also wants progress reports.
pub enum FollowerBatch<R = ApiRecord> {
    /// Records, in order.
    Records(Vec<R>),
    /// A progress report.
    Spoken(ProgressReport),
}

/// A follower of the log, with progress reports if wanted.
pub struct ProgressFollower {
    follower: RecordFollower,
    hearing: Option<LiveObserver>,
}

impl ProgressFollower {
    /// Combines a log follower with an optional source of progress reports.
    /// The events of a follower, with the words on their way if they are heard.
    pub fn new(follower: RecordFollower, hearing: Option<LiveObserver>) -> ProgressFollower {
        ProgressFollower { follower, hearing }
    }

    /// The next event: records before progress reports, since only records are permanent. `None` once the pump has
    /// ended and everything is read. It may be dropped while it waits: nothing is lost.
    pub async fn next(&mut self) -> Result<Option<FollowerBatch>, LogFault> {
        Ok(self.next_shared().await?.map(|batch| match batch {
            FollowerBatch::Records(records) => {
                FollowerBatch::Records(records.iter().map(|placed| read_record(placed)).collect())
            }
            FollowerBatch::Spoken(spoken) => FollowerBatch::Spoken(spoken),
        }))
    }

    /// Listens from now on.
    pub fn listen(&mut self, hearing: LiveObserver) {
        self.hearing = Some(hearing);
    }

    /// Whether it has returned all that the log has of its thread.
    pub fn has_caught_up(&self) -> bool {
        self.follower.has_caught_up()
    }

    /// The same, with records as the log has them.
    pub async fn next_shared(&mut self) -> Result<Option<FollowerBatch<SharedRecord>>, LogFault> {
        let ProgressFollower { follower, hearing } = self;
        let hears = async {
            match hearing {
                Some(hearing) => hearing.next().await,
                None => None,
            }
        };
        tokio::select! {
            biased;
            page = follower.next_shared() => Ok(page?.map(FollowerBatch::Records)),
            Some(spoken) = hears => Ok(Some(FollowerBatch::Spoken(spoken.into()))),
        }
    }
}

/// A watcher's events for one client. It reads no further than the client does, so a client that reads slowly misses
/// progress reports. It ends with its client or the pump.
pub struct ClientEvents {
    watcher: ProgressFollower,
    is_over: bool,
    /// Released when the client is gone.
    _seat: SharedPlace,
}

impl ClientEvents {
    /// The events of a follower, with the words on their way if they are heard.
    pub fn new(follower: RecordFollower, hearing: Option<LiveObserver>, seat: SharedPlace) -> ClientEvents {
        ClientEvents {
            watcher: ProgressFollower::new(follower.with_pace(), hearing),
            is_over: false,
            _seat: seat,
        }
    }

    /// The events in their form for the client, with as many records together as there are.
    pub fn into_stream(self) -> impl Stream<Item = Result<Vec<u8>, Infallible>> {
        futures_util::stream::unfold(self, async |mut events| Some((Ok(events.next().await?), events)))
    }

    async fn next(&mut self) -> Option<Vec<u8>> {
        if self.is_over {
            return None;
        }
        let came = tokio::select! {
            biased;
            came = self.watcher.next_shared() => came,
            () = sleep(limits::QUIET) => return Some(b":\n\n".to_vec()),
        };
        match came {
            Ok(Some(FollowerBatch::Records(records))) => {
                let mut frames = Vec::new();
                records
                    .iter()
                    .for_each(|placed| frames.extend_from_slice(placed.show_once(write_record_frame)));
                Some(frames)
            }
            Ok(Some(FollowerBatch::Spoken(spoken))) => {
                Some(write_frame(None, ProgressReport::EVENT, &spoken))
            }
            Ok(None) => None,
            Err(fault) => {
                tracing::error!(why = %fault, fix = LOOK, "a stream of events ended: the log cannot be read");
                self.is_over = true;
                Some(write_frame(None, ApiRefusal::EVENT, &build_refusal(&fault)))
            }
        }
    }
}

fn write_record_frame(placed: &FollowedRecord) -> Vec<u8> {
    write_frame(Some(placed.position), placed.record.header.kind.as_str(), &read_record(placed))
}

/// A server-sent event. Progress reports and a fault have no id, so that a client's last id remains its position in the
/// log.
fn write_frame(id: Option<Position>, kind: &str, data: &impl Serialize) -> Vec<u8> {
    let id = id.map(|at| format!("id: {}\n", at.0)).unwrap_or_default();
    // JSON has no line breaks, and these types can always be written.
    let data = serde_json::to_string(data).unwrap_or_default();
    format!("{id}event: {kind}\ndata: {data}\n\n").into_bytes()
}

/// The client's message if the log cannot be read any further.
pub fn build_refusal(fault: &LogFault) -> ApiRefusal {
    let code = match fault {
        LogFault::Damaged { .. } => Code::DamagedThread,
        _ => Code::IngressUnavailable,
    };
    ApiRefusal::from(&Refusal::new(code, fault.to_string()).fixed_by("systole doctor, where the log is"))
}
