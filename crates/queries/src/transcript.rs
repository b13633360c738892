//! What was said in a thread: each message from outside, and how its run has ended. The records of the thread come in.

use std::sync::Arc;

use systole_core::rules::outcome::CallJudgement;
use systole_core::types::ids::{CallPath, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, PlacedRecord};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind, SteerEffect};

/// A message and its end.
pub struct TranscriptTurn {
    /// The message.
    pub asked: PlacedRecord,
    /// How its run has ended, if it has.
    pub end: Option<(CallJudgement, Arc<Record>)>,
}

/// What was said in a thread.
#[derive(Default)]
pub struct Transcript {
    /// The messages, in order.
    pub turns: Vec<TranscriptTurn>,
    /// Whether the thread has ended.
    pub has_ended: bool,
}

impl Transcript {
    /// Reads what was said from a record of the thread on.
    pub fn read(reader: &dyn LogReader, thread: &ThreadId, from: u64) -> Result<Transcript, LogFault> {
        let mut said = Transcript::default();
        for placed in reader.records_of(thread, from) {
            said.take_record(placed?);
        }
        Ok(said)
    }

    fn take_record(&mut self, (position, record): PlacedRecord) {
        let h = &record.header;
        if h.kind == RecordKind::Terminal {
            self.has_ended = true;
            let record = Arc::new(record);
            let open = self.turns.iter_mut().filter(|turn| turn.end.is_none());
            open.for_each(|turn| turn.end = Some((CallJudgement::Cancelled, record.clone())));
            return;
        }
        match h.code {
            Some(RecordCode::Role(MessageRole::Request)) => {
                self.turns.push(TranscriptTurn { asked: (position, record), end: None });
            }
            Some(RecordCode::Steering(SteerEffect::Reopened)) => {
                if let Some(turn) = self.find_turn(h.call.as_ref()) {
                    turn.end = None;
                }
            }
            _ => {
                let Some(how) = CallJudgement::of_record(&record) else { return };
                if let Some(turn) = self.find_turn(h.call.as_ref()).filter(|turn| turn.end.is_none()) {
                    turn.end = Some((how, record.into()));
                }
            }
        }
    }

    fn find_turn(&mut self, call: Option<&CallPath>) -> Option<&mut TranscriptTurn> {
        let is_own = |turn: &&mut TranscriptTurn| call.is_some() && turn.asked.1.header.call.as_ref() == call;
        self.turns.iter_mut().rev().find(is_own)
    }
}
