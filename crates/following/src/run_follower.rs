//! Follows one run of an organism in this process: what the log has of it, and then what comes.
//!
//! If a run was tried again, its earlier end is told only to those who followed it then.

use std::collections::VecDeque;

use futures_util::FutureExt as _;
use systole_core::types::ids::{CallPath, ThreadId};
use systole_core::types::ports::{LogFault, PlacedRecord, Position};
use systole_kit::reply::AnswerPart;
use systole_organism::front::OrganismHandle;
use systole_queries::costs::CostRow;
use systole_queries::run_events::{
    CallPlace, PlacedEvent, RunCursor, RunEvent, RunFold, RunHistory, RunRecord, SpokenWords,
};
use tokio::task::JoinHandle;

use crate::events::{FollowerBatch, ProgressFollower, RecordFollower};
use crate::limits;
use systole_api::types::{ApiReceipt, ProgressReport};

/// A page of a run's history, and what is left of it. `None` if its threads are too many.
type HistoryPage = Option<(RunHistory, Vec<PlacedRecord>)>;

/// What the log had of a run when it began to be followed.
struct HistoryReader {
    /// The thread and the message.
    run: (ThreadId, u64),
    end: Position,
    opened: Option<RunHistory>,
    /// A page that is being read. It survives a cancelled `next`.
    reading: Option<JoinHandle<Result<HistoryPage, LogFault>>>,
}

impl HistoryReader {
    /// The next records; none at the end. `None` if there are too many threads.
    async fn next(&mut self, front: &OrganismHandle) -> Result<Option<Vec<PlacedRecord>>, LogFault> {
        let reading = self.reading.get_or_insert_with(|| {
            let (reader, run, end, opened) =
                (front.reader().clone(), self.run.clone(), self.end, self.opened.take());
            tokio::task::spawn_blocking(move || {
                let opened = match opened {
                    Some(opened) => Some(opened),
                    None => RunHistory::open(&*reader, (&run.0, run.1), end)?,
                };
                let Some(mut history) = opened else { return Ok(None) };
                let records = history.read_page(&*reader)?;
                Ok(Some((history, records)))
            })
        });
        let read = reading.await;
        self.reading = None;
        let read = read.map_err(|end| LogFault::Io { path: "the log".into(), why: end.to_string() })??;
        Ok(read.map(|(history, records)| {
            self.opened = Some(history);
            records
        }))
    }
}

/// One run, and how far its events were told.
pub struct RunFollower {
    front: OrganismHandle,
    thread: ThreadId,
    /// The position before its message.
    before: Position,
    /// The client knows the events of records up to this one.
    told: Position,
    fold: RunFold,
    history: Option<HistoryReader>,
    coming: ProgressFollower,
    ready: VecDeque<PlacedEvent>,
    /// An end, until it is known whether it is the last one.
    end: Option<PlacedEvent>,
    /// Whether all was told that the log has.
    is_here: bool,
    wants_words: bool,
    /// Whether only what the log has is wanted.
    only_log: bool,
    is_quiet: bool,
}

impl RunFollower {
    /// Follows the run of a message, with the words on their way if they are wanted. `None` if the receipt names no run.
    pub fn follow(front: &OrganismHandle, receipt: &ApiReceipt, wants_words: bool) -> Option<RunFollower> {
        RunFollower::follow_after(front, receipt, wants_words, (Position::default(), None))
    }

    /// The same for a client that knows what the records up to `told` say, and what is up to its cursor.
    pub fn follow_after(
        front: &OrganismHandle,
        receipt: &ApiReceipt,
        wants_words: bool,
        (told, known): (Position, Option<RunCursor>),
    ) -> Option<RunFollower> {
        let (thread, call) = receipt.read_run()?;
        let (before, end) = (Position(receipt.position.saturating_sub(1)), front.end());
        // The newest records are in memory. Of what is older, or asked for again, its own threads alone are read.
        let is_old = receipt.repeated || end.0.saturating_sub(before.0) > limits::NEW_RECORDS;
        let run = (thread.clone(), receipt.seq);
        let history = is_old.then(|| HistoryReader { run, end, opened: None, reading: None });
        let from = if is_old { end } else { before };
        let records = RecordFollower::follow_after(front, from, Some(thread.clone())).with_end_told();
        Some(RunFollower {
            front: front.clone(),
            thread: thread.clone(),
            before,
            told,
            fold: RunFold::new(CallPlace { thread, call: CallPath::new_top(call) }, known),
            history,
            coming: ProgressFollower::new(records, None),
            ready: VecDeque::new(),
            end: None,
            is_here: false,
            wants_words,
            only_log: false,
            is_quiet: false,
        })
    }

    /// The same up to where the log ends for now.
    pub fn until_here(self) -> RunFollower {
        RunFollower { only_log: true, ..self }
    }

    /// Whether all that is open waits for persons, as far as the run was read.
    pub fn is_quiet(&self) -> bool {
        self.fold.is_quiet()
    }

    /// What its models used so far.
    pub fn sum_used(&self) -> &CostRow {
        self.fold.sum_used()
    }

    /// Reads all that the client may know. Returns whether the run has the place that it names.
    pub async fn read_known(&mut self) -> Result<bool, LogFault> {
        let needs_all = self.told > Position::default();
        while !self.is_here && (needs_all || !self.fold.is_met()) && self.read_more().await? {}
        Ok(self.fold.is_met())
    }

    /// The next event of those that were read, if the client knows it.
    pub fn take_known(&mut self) -> Option<PlacedEvent> {
        self.ready.pop_front_if(|placed| placed.is_known)
    }

    /// The next event that the client does not know; `None` once the pump has ended. It may be dropped while it waits:
    /// nothing is lost.
    pub async fn next(&mut self) -> Result<Option<RunEvent>, LogFault> {
        loop {
            match self.next_placed().await? {
                Some(placed) if placed.is_known => {}
                placed => return Ok(placed.map(|placed| placed.event)),
            }
        }
    }

    /// The next event with its id, known or not.
    pub async fn next_placed(&mut self) -> Result<Option<PlacedEvent>, LogFault> {
        loop {
            match self.ready.pop_front() {
                Some(end) if matches!(end.event, RunEvent::Ended { .. }) && !self.is_here => {
                    self.end = Some(end);
                }
                Some(event) => {
                    if matches!(event.event, RunEvent::Started) {
                        // It was tried again.
                        self.end = None;
                    }
                    return Ok(Some(event));
                }
                None if self.only_log && self.is_here => return Ok(None),
                None => {
                    if !self.read_more().await? {
                        return Ok(self.end.take());
                    }
                }
            }
        }
    }

    /// Reads or hears more. Returns whether there may be more after it.
    async fn read_more(&mut self) -> Result<bool, LogFault> {
        if let Some(history) = &mut self.history {
            match history.next(&self.front).await? {
                Some(records) if records.is_empty() => self.history = None,
                Some(records) => {
                    for (position, record) in records {
                        self.take_record((position, record.into()));
                    }
                }
                None => {
                    self.history = None;
                    let all =
                        RecordFollower::follow_after(&self.front, self.before, Some(self.thread.clone()));
                    self.coming = ProgressFollower::new(all.with_end_told(), None);
                }
            }
            return Ok(true);
        }
        let batch = match self.coming.next_shared().now_or_never() {
            Some(batch) => batch?,
            None if self.coming.has_caught_up() && self.look_around() => return Ok(true),
            None => self.coming.next_shared().await?,
        };
        match batch {
            Some(FollowerBatch::Records(records)) => {
                for placed in records {
                    self.take_record((placed.position, placed.record.clone()));
                }
            }
            Some(FollowerBatch::Spoken(report)) => {
                let events = read_report(report).map(|spoken| self.fold.take_words(spoken));
                self.ready.extend(events.unwrap_or_default());
            }
            None => return Ok(false),
        }
        Ok(true)
    }

    fn take_record(&mut self, (position, record): RunRecord) {
        self.is_quiet = false;
        let is_told = position <= self.told;
        let events = self.fold.take_record(position, &record).into_iter();
        self.ready.extend(events.map(|event| PlacedEvent { is_known: event.is_known || is_told, ..event }));
    }

    /// What can be said only where the log ends for now. Returns whether there is more to tell or to hear.
    fn look_around(&mut self) -> bool {
        if !std::mem::replace(&mut self.is_here, true) {
            // Words that came before their call was read would say nothing. Those of this run are still kept.
            if self.wants_words {
                self.coming.listen(self.front.listen(Some(self.before), Some(self.thread.clone())));
            }
            self.ready.extend(self.end.take());
            return true;
        }
        if self.is_quiet || !self.fold.is_quiet() {
            return false;
        }
        self.is_quiet = true;
        self.ready.push_back(PlacedEvent {
            cursor: None,
            event: RunEvent::Quiet,
            is_known: false,
            time: None,
        });
        true
    }
}

/// The words of a report. `None` if it names no call.
fn read_report(report: ProgressReport) -> Option<SpokenWords> {
    let ProgressReport { listener, thread, call, words, part, at, whole, turn, attempt } = report;
    let at_call = CallPlace { thread: ThreadId::parse(&thread).ok()?, call: CallPath::parse(&call).ok()? };
    Some(SpokenWords {
        at: at_call,
        from: listener,
        of: (turn, attempt),
        part: AnswerPart::ALL.into_iter().find(|one| part.as_deref() == Some(one.as_str())),
        before: at,
        words,
        is_whole: whole,
    })
}
