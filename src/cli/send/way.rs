//! The ways to an organism: one in this process, and one that runs elsewhere, through its door. Both take the
//! same parcel, return the same records and progress reports, and cancel the same thread.
//!
//! It shows nothing, and reports only what the log has about a thread.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::OutgoingParcel;
use crate::cli::forms::Forms;
use systole_api::record_words;
use systole_api::types::{ApiReceipt, ApiRecord, ApiRefusal, FollowerEvent, ProgressReport};
use systole_client::client::{DoorClient, DoorClientFault};
use systole_client::remote_log::RemoteLog;
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::{RecordCode, SteerEffect};
use systole_following::events::{FollowerBatch, ProgressFollower, RecordFollower};
use systole_log::sqlite;
use systole_organism::running::{ClientMessage, Organism};
use systole_organism::waiting::SenderReply;
use systole_organism::waiting_view::{
    OpenWork, UpToAPerson, draw_picture, find_wait_for_person, is_paused, list_at_work,
};
use systole_queries::picture::RunPicture;

/// The result of an order.
pub(in crate::cli) enum OrderResult<T> {
    /// It is on disk.
    Done(T),
    /// It is refused.
    Refused(Box<ApiRefusal>),
    /// No organism took it.
    NoOrganism,
    /// The answer was not valid.
    Unheard(DoorClientFault),
}

impl<T> From<Result<Result<T, Box<ApiRefusal>>, DoorClientFault>> for OrderResult<T> {
    fn from(answered: Result<Result<T, Box<ApiRefusal>>, DoorClientFault>) -> OrderResult<T> {
        match answered {
            Ok(Ok(done)) => OrderResult::Done(done),
            Ok(Err(refusal)) => OrderResult::Refused(refusal),
            Err(DoorClientFault::Unreachable { .. }) => OrderResult::NoOrganism,
            Err(unheard) => OrderResult::Unheard(unheard),
        }
    }
}

/// An organism in another process.
pub(in crate::cli) struct OtherProcess {
    pub(in crate::cli) client: Arc<DoorClient>,
    /// Its log; `None` if that is on another machine.
    pub(in crate::cli) log: Option<PathBuf>,
}

impl OtherProcess {
    /// Runs a look at the log as it is now. A log that cannot be read shows nothing.
    fn look_at_log<T: Default>(&self, look: impl Fn(&dyn LogReader) -> T) -> T {
        match &self.log {
            // Opened for each look: a log that is still open when its organism stops remains in two files.
            Some(log) => sqlite::open_reading(log).map_or_else(|_| T::default(), |reader| look(&reader)),
            None => look(&RemoteLog::new(self.client.clone())),
        }
    }
}

/// The organism that a parcel goes to.
pub(in crate::cli) enum ParcelWay<'a> {
    /// In this process.
    Here(&'a Organism),
    /// In another one.
    Elsewhere(&'a OtherProcess),
}

impl ParcelWay<'_> {
    /// Hands the parcel in.
    pub(super) async fn hand_in(&self, parcel: &OutgoingParcel) -> OrderResult<ApiReceipt> {
        match self {
            ParcelWay::Here(organism) => hand_here(organism, parcel).await,
            ParcelWay::Elsewhere(elsewhere) => {
                let (client, parcel) = (elsewhere.client.clone(), parcel.clone());
                run_apart(move || parcel.post_to(&client))
                    .await
                    .map_or(OrderResult::NoOrganism, OrderResult::from)
            }
        }
    }

    /// Ends what a message began, and everything below it. Its thread can be gone on with.
    pub(super) async fn stop_run(&self, (thread, call): (ThreadId, u32)) -> OrderResult<()> {
        match self {
            ParcelWay::Here(organism) => {
                match organism.handle().stop_run(Name::new_operator(), thread, call).await {
                    Some(SenderReply::Done | SenderReply::Receipt(..)) => OrderResult::Done(()),
                    Some(SenderReply::Refused(refusal)) => {
                        OrderResult::Refused(Box::new(ApiRefusal::from(&*refusal)))
                    }
                    None => OrderResult::NoOrganism,
                }
            }
            ParcelWay::Elsewhere(elsewhere) => {
                let client = elsewhere.client.clone();
                let cancelled = run_apart(move || client.cancel_thread(thread.as_str(), Some(call))).await;
                cancelled.map_or(OrderResult::NoOrganism, |told| told.map(|told| told.map(|_| ())).into())
            }
        }
    }

    /// Whether a thread, or everything, is paused. If the log cannot be read here, the answer is no.
    pub(super) fn is_paused(&self, thread: &str) -> bool {
        self.look_at_log(|reader| is_paused(reader, thread))
    }

    /// Whether only a person can continue a thread.
    pub(super) fn waits_for_a_person(&self, thread: &str) -> Option<UpToAPerson> {
        self.look_at_log(|reader| find_wait_for_person(reader, thread))
    }

    /// Who works on a thread and below it. Another machine is not asked each second.
    pub(super) fn at_work(&self, thread: &str) -> Vec<OpenWork> {
        match self {
            ParcelWay::Elsewhere(OtherProcess { log: None, .. }) => Vec::new(),
            _ => self.look_at_log(|reader| list_at_work(reader, thread)),
        }
    }

    /// The picture of the newest run in a thread. Another machine is not asked each second.
    pub(super) fn read_picture(&self, thread: &str) -> Option<RunPicture> {
        match self {
            ParcelWay::Elsewhere(OtherProcess { log: None, .. }) => None,
            _ => self.look_at_log(|reader| draw_picture(reader, thread)),
        }
    }

    /// Whether the call that a record ended was opened again since.
    pub(super) fn is_tried_again(&self, ended: &ApiRecord) -> bool {
        let Ok(thread) = ThreadId::parse(&ended.thread) else { return false };
        let reopened = Some(RecordCode::Steering(SteerEffect::Reopened));
        self.look_at_log(|reader| {
            let mut later = reader.records_of(&thread, ended.seq + 1).filter_map(Result::ok);
            later.any(|(_, record)| {
                record.header.code == reopened
                    && record.header.call.as_ref().map(CallPath::as_str) == ended.call.as_deref()
            })
        })
    }

    /// A record for programs, with the form of its payload.
    pub(super) fn add_form(&self, record: &ApiRecord) -> serde_json::Value {
        self.look_at_log(|reader| Some(Forms::default().add_to_record(reader, record)))
            .unwrap_or_else(|| serde_json::to_value(record).unwrap_or_default())
    }

    fn look_at_log<T: Default>(&self, look: impl Fn(&dyn LogReader) -> T) -> T {
        match self {
            ParcelWay::Here(organism) => look(&**organism.handle().reader()),
            ParcelWay::Elsewhere(elsewhere) => elsewhere.look_at_log(look),
        }
    }

    /// Follows the outcome of a parcel, from its receipt on.
    pub(super) fn follow_receipt(&self, receipt: &ApiReceipt) -> EventSource {
        let own = ThreadId::parse(&receipt.thread).ok();
        let from = receipt.position;
        match self {
            ParcelWay::Here(organism) => {
                let front = organism.handle();
                let began = front.began().0;
                // All threads, because `sys` reports a program that does not run.
                let follower = RecordFollower::follow_after(front, Position(began.min(from)), None);
                let hearing = front.listen(Some(Position(from)), own.clone());
                let watching = ProgressFollower::new(follower, Some(hearing));
                EventSource::Here(Box::new(InsideEvents {
                    watching,
                    own,
                    from,
                    began,
                    came: VecDeque::new(),
                }))
            }
            ParcelWay::Elsewhere(elsewhere) => {
                let (to_us, events) = mpsc::channel(crate::limits::CALLS);
                let (client, thread) = (elsewhere.client.clone(), receipt.thread.clone());
                // It ends with the stream, or when the receiver is gone.
                std::thread::spawn(move || pass_events(&client, from, &thread, &to_us));
                let log = elsewhere.log.clone();
                EventSource::Elsewhere(Box::new(OutsideEvents { events, own, at: from, log, rest: None }))
            }
        }
    }
}

/// The next event of a thread.
pub(super) enum NextEvent {
    /// A record of it.
    Record(Box<ApiRecord>),
    /// A progress report from it.
    Spoken(ProgressReport),
    /// The message about a program that does not run.
    Fallen(String),
    /// The organism has ended, or is gone: the log has nothing more.
    Ended,
    /// The log cannot be read.
    Fault(LogFault),
    /// Something other than events came.
    Unheard(DoorClientFault),
}

/// The source of the events.
pub(super) enum EventSource {
    Here(Box<InsideEvents>),
    Elsewhere(Box<OutsideEvents>),
}

impl EventSource {
    /// Waits for the next event. It may be dropped while it waits: nothing is lost.
    pub(super) async fn next(&mut self) -> NextEvent {
        match self {
            EventSource::Here(inside) => inside.next().await,
            EventSource::Elsewhere(outside) => outside.next().await,
        }
    }
}

/// The events of an organism in this process.
pub(super) struct InsideEvents {
    watching: ProgressFollower,
    own: Option<ThreadId>,
    from: u64,
    began: u64,
    came: VecDeque<NextEvent>,
}

impl InsideEvents {
    async fn next(&mut self) -> NextEvent {
        loop {
            if let Some(next) = self.came.pop_front() {
                return next;
            }
            match self.watching.next().await {
                Ok(Some(FollowerBatch::Records(records))) => {
                    records.into_iter().for_each(|record| self.sort_record(record))
                }
                Ok(Some(FollowerBatch::Spoken(spoken))) => return NextEvent::Spoken(spoken),
                Ok(None) => return NextEvent::Ended,
                Err(fault) => return NextEvent::Fault(fault),
            }
        }
    }

    fn sort_record(&mut self, record: ApiRecord) {
        if let Some(words) = record_words::find_fallen(&record).filter(|_| record.position > self.began) {
            self.came.push_back(NextEvent::Fallen(words));
        }
        if record.position > self.from && is_within(&record, self.own.as_ref()) {
            self.came.push_back(NextEvent::Record(Box::new(record)));
        }
    }
}

fn is_within(record: &ApiRecord, own: Option<&ThreadId>) -> bool {
    let thread = ThreadId::parse(&record.thread).ok();
    own.zip(thread).is_some_and(|(own, thread)| thread.is_within(own))
}

/// The events of an organism elsewhere.
pub(super) struct OutsideEvents {
    events: mpsc::Receiver<Result<FollowerEvent, DoorClientFault>>,
    own: Option<ThreadId>,
    /// The last record that came.
    at: u64,
    log: Option<PathBuf>,
    /// The log's records after that, once the stream has ended.
    rest: Option<VecDeque<ApiRecord>>,
}

impl OutsideEvents {
    async fn next(&mut self) -> NextEvent {
        if self.rest.is_none() {
            match self.events.recv().await {
                Some(Ok(FollowerEvent::Record(record))) => {
                    self.at = record.position;
                    return NextEvent::Record(record);
                }
                Some(Ok(FollowerEvent::Spoken(spoken))) => return NextEvent::Spoken(spoken),
                // It was killed, or stopped at once; a stream that just ends means the same.
                Some(Err(DoorClientFault::Unreachable { .. })) | None => {}
                Some(Err(unheard)) => return NextEvent::Unheard(unheard),
            }
        }
        let (log, at, own) = (self.log.as_deref(), self.at, self.own.as_ref());
        let rest =
            self.rest.get_or_insert_with(|| log.map(|log| read_beyond(log, at, own)).unwrap_or_default());
        rest.pop_front().map_or(NextEvent::Ended, |record| NextEvent::Record(Box::new(record)))
    }
}

/// The records of a thread on disk after a position: written but not sent any more.
fn read_beyond(log: &Path, at: u64, own: Option<&ThreadId>) -> VecDeque<ApiRecord> {
    // A log that cannot be read adds nothing.
    let Ok(reader) = sqlite::open_reading(log) else { return VecDeque::new() };
    let reader: &dyn LogReader = &reader;
    let read = reader.records_after(Position(at)).map_while(Result::ok);
    let told = read.map(|(at, record)| ApiRecord::from_record(at, &record));
    told.filter(|record| is_within(record, own)).collect()
}

/// Reads events for a waiting receiver.
fn pass_events(
    client: &DoorClient,
    from: u64,
    thread: &str,
    to_us: &mpsc::Sender<Result<FollowerEvent, DoorClientFault>>,
) {
    match client.follow_reports(from, thread, None) {
        Ok(mut voices) => while voices.next().is_some_and(|heard| to_us.blocking_send(heard).is_ok()) {},
        // If the receiver is gone, it does not need this.
        Err(unheard) => drop(to_us.blocking_send(Err(unheard))),
    }
}

/// Runs blocking work on a thread that need not be waited for. `None` if it panicked.
async fn run_apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (to_us, done) = oneshot::channel();
    // The receiver may be gone.
    std::thread::spawn(move || drop(to_us.send(work())));
    done.await.ok()
}

async fn hand_here(organism: &Organism, parcel: &OutgoingParcel) -> OrderResult<ApiReceipt> {
    let front = organism.handle();
    let client = Name::new_operator();
    for file in &parcel.files {
        match front.keep_file(&client, file.clone()) {
            Some(Ok(_)) => {}
            Some(Err(refusal)) => return OrderResult::Refused(Box::new(ApiRefusal::from(&*refusal))),
            None => return OrderResult::NoOrganism,
        }
    }
    let message = ClientMessage {
        client,
        key: parcel.key.clone(),
        document: parcel.document.clone(),
        to: parcel.to.as_ref().map(ToString::to_string),
        thread: parcel.thread.clone(),
        subject: parcel.subject.clone(),
    };
    match front.send_message(message).await {
        Some(SenderReply::Receipt(receipt, position)) => {
            let known = front.locate_receipt(&receipt, position).await;
            OrderResult::Done(ApiReceipt::from_receipt(&receipt, known, parcel.key.as_str()))
        }
        Some(SenderReply::Refused(refusal)) => OrderResult::Refused(Box::new(ApiRefusal::from(&*refusal))),
        Some(SenderReply::Done) | None => OrderResult::NoOrganism,
    }
}
