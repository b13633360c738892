//! Follows one run of an organism in this process: what the log has of it, and then what comes.

use std::collections::VecDeque;

use systole_core::types::ids::{CallPath, ThreadId};
use systole_core::types::ports::{LogFault, Position};
use systole_kit::reply::AnswerPart;
use systole_organism::front::OrganismHandle;
use systole_queries::run_events::{CallPlace, PlacedEvent, RunEvent, RunFold, SpokenWords};

use crate::api_types::{ApiReceipt, ProgressReport};
use crate::events::{FollowerBatch, ProgressFollower, RecordFollower};

/// One run, and how far its events were told.
pub(crate) struct RunFollower {
    fold: RunFold,
    coming: ProgressFollower,
    ready: VecDeque<RunEvent>,
}

impl RunFollower {
    /// Follows the run of a message, with the words on their way if they are wanted. `None` if the receipt names no run.
    pub(crate) fn follow(
        front: &OrganismHandle,
        receipt: &ApiReceipt,
        wants_words: bool,
    ) -> Option<RunFollower> {
        let (thread, call) = receipt.read_run()?;
        let before = Position(receipt.position.saturating_sub(1));
        let hearing = wants_words.then(|| front.listen(None, Some(thread.clone())));
        let records = RecordFollower::follow_after(front, before, Some(thread.clone()));
        Some(RunFollower {
            fold: RunFold::new(CallPlace { thread, call: CallPath::new_top(call) }, None),
            coming: ProgressFollower::new(records, hearing),
            ready: VecDeque::new(),
        })
    }

    /// The next event; `None` once the pump has ended. It may be dropped while it waits: nothing is lost.
    pub(crate) async fn next(&mut self) -> Result<Option<RunEvent>, LogFault> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let events: Vec<PlacedEvent> = match self.coming.next_shared().await? {
                Some(FollowerBatch::Records(records)) => {
                    let placed = records.iter().map(|one| (one.position, &one.record));
                    placed.flat_map(|(position, record)| self.fold.take_record(position, record)).collect()
                }
                Some(FollowerBatch::Spoken(report)) => {
                    read_report(report).map(|spoken| self.fold.take_words(spoken)).unwrap_or_default()
                }
                None => return Ok(None),
            };
            self.ready.extend(events.into_iter().map(|placed| placed.event));
        }
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
