//! Follows one run of an organism in this process: what the log has of it, and then what comes.

use std::collections::VecDeque;

use futures_util::FutureExt as _;
use systole_core::types::ids::{CallPath, ThreadId};
use systole_core::types::ports::{LogFault, Position};
use systole_kit::reply::AnswerPart;
use systole_organism::front::OrganismHandle;
use systole_queries::run_events::{CallPlace, PlacedEvent, RunEvent, RunFold, SpokenWords};

use crate::api_types::{ApiReceipt, ProgressReport};
use crate::events::{FollowerBatch, ProgressFollower, RecordFollower};

/// One run, and how far its events were told.
pub(crate) struct RunFollower {
    front: OrganismHandle,
    thread: ThreadId,
    /// The position before its message.
    before: Position,
    /// Up to there, nothing is told.
    told: Position,
    fold: RunFold,
    coming: ProgressFollower,
    ready: VecDeque<RunEvent>,
    /// Whether words on their way are wanted, and not listened to yet.
    wants_words: bool,
    is_quiet: bool,
}

impl RunFollower {
    /// Follows the run of a message, with the words on their way if they are wanted. `None` if the receipt names no run.
    pub(crate) fn follow(
        front: &OrganismHandle,
        receipt: &ApiReceipt,
        wants_words: bool,
    ) -> Option<RunFollower> {
        RunFollower::follow_after(front, receipt, wants_words, Position::default())
    }

    /// The same without what the records up to `told` say.
    pub(crate) fn follow_after(
        front: &OrganismHandle,
        receipt: &ApiReceipt,
        wants_words: bool,
        told: Position,
    ) -> Option<RunFollower> {
        let (thread, call) = receipt.read_run()?;
        let before = Position(receipt.position.saturating_sub(1));
        let records = RecordFollower::follow_after(front, before, Some(thread.clone())).with_end_told();
        Some(RunFollower {
            front: front.clone(),
            thread: thread.clone(),
            before,
            told,
            fold: RunFold::new(CallPlace { thread, call: CallPath::new_top(call) }, None),
            coming: ProgressFollower::new(records, None),
            ready: VecDeque::new(),
            wants_words,
            is_quiet: false,
        })
    }

    /// The next event; `None` once the pump has ended. It may be dropped while it waits: nothing is lost.
    pub(crate) async fn next(&mut self) -> Result<Option<RunEvent>, LogFault> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let batch = match self.coming.next_shared().now_or_never() {
                Some(batch) => batch?,
                None if self.coming.has_caught_up() && self.look_around() => continue,
                None => self.coming.next_shared().await?,
            };
            let events: Vec<PlacedEvent> = match batch {
                Some(FollowerBatch::Records(records)) => {
                    self.is_quiet &= records.is_empty();
                    let placed = records.iter().map(|one| (one.position, &one.record));
                    let told = self.told;
                    let take = |(position, record)| {
                        let events = self.fold.take_record(position, record);
                        if position > told { events } else { Vec::new() }
                    };
                    placed.flat_map(take).collect()
                }
                Some(FollowerBatch::Spoken(report)) => {
                    read_report(report).map(|spoken| self.fold.take_words(spoken)).unwrap_or_default()
                }
                None => return Ok(None),
            };
            self.ready.extend(events.into_iter().map(|placed| placed.event));
        }
    }

    /// What can be said only where the log ends for now. Returns whether there is more to tell or to hear.
    fn look_around(&mut self) -> bool {
        // Words that came before their call was read would say nothing. Those of this run are still kept.
        if std::mem::take(&mut self.wants_words) {
            self.coming.listen(self.front.listen(Some(self.before), Some(self.thread.clone())));
            return true;
        }
        if self.is_quiet || !self.fold.is_quiet() {
            return false;
        }
        self.is_quiet = true;
        self.ready.push_back(RunEvent::Quiet);
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
