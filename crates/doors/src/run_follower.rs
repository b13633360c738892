//! Follows one run of an organism in this process: what the log has of it, and then what comes.

use std::collections::VecDeque;

use systole_core::types::ids::{CallPath, ThreadId};
use systole_core::types::ports::{LogFault, Position};
use systole_kit::reply::AnswerPart;
use systole_organism::front::OrganismHandle;
use systole_queries::run_events::{CallPlace, PlacedEvent, RunCursor, RunEvent, RunFold, SpokenWords};
use systole_system::watched::read_watched;
use tokio::sync::watch;

use crate::api_types::{ApiReceipt, ProgressReport};
use crate::events::{FollowerBatch, ProgressFollower, RecordFollower};

/// One run, and how far its events were told.
pub(crate) struct RunFollower {
    fold: RunFold,
    coming: ProgressFollower,
    tail: watch::Receiver<Position>,
    ready: VecDeque<PlacedEvent>,
    was_quiet: bool,
}

/// The next of a run.
pub(crate) enum NextOfRun {
    /// An event.
    Event(PlacedEvent),
    /// The run never had the event that the client named.
    Lost,
    /// The pump has ended. The next one knows more.
    Over,
}

impl RunFollower {
    /// Follows the run of a message, from the event after the one that the client named. `None` if the receipt names no
    /// run.
    pub(crate) fn follow(
        front: &OrganismHandle,
        receipt: &ApiReceipt,
        known: Option<RunCursor>,
    ) -> Option<RunFollower> {
        let thread = ThreadId::parse(&receipt.thread).ok()?;
        let call = CallPath::parse(&receipt.call).ok()?;
        let from = Position(receipt.position);
        let before = Position(receipt.position.saturating_sub(1));
        let hearing = front.listen(Some(from), Some(thread.clone()));
        let records = RecordFollower::follow_after(front, before, Some(thread.clone()));
        Some(RunFollower {
            fold: RunFold::new(CallPlace { thread, call: CallPath::new_top(call.top_number()) }, known),
            coming: ProgressFollower::new(records, Some(hearing)),
            tail: front.tail(),
            ready: VecDeque::new(),
            was_quiet: false,
        })
    }

    /// The next event. It may be dropped while it waits: nothing is lost.
    pub(crate) async fn next(&mut self) -> Result<NextOfRun, LogFault> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(NextOfRun::Event(event));
            }
            match self.coming.next_shared().await? {
                Some(FollowerBatch::Records(records)) => {
                    for placed in &records {
                        self.ready.extend(self.fold.take_record(placed.position, &placed.record));
                    }
                    let Some(last) = records.last().map(|placed| placed.position) else { continue };
                    if self.fold.is_lost(last) {
                        return Ok(NextOfRun::Lost);
                    }
                    self.note_quiet(last);
                }
                Some(FollowerBatch::Spoken(report)) => {
                    let spoken = read_report(report).into_iter();
                    self.ready.extend(spoken.flat_map(|spoken| self.fold.take_words(spoken)));
                }
                None => return Ok(NextOfRun::Over),
            }
        }
    }

    /// At the end of the log for now, says once that the run waits for persons alone.
    fn note_quiet(&mut self, last: Position) {
        if last < read_watched(&self.tail) {
            return;
        }
        let is_quiet = self.fold.is_quiet();
        if is_quiet && !self.was_quiet {
            self.ready.push_back(PlacedEvent { cursor: None, event: RunEvent::Quiet });
        }
        self.was_quiet = is_quiet;
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
