//! Events: what a record of the log means for the receivers of followers.

use systole_core::rules::budget_payload;
use systole_core::rules::follower_payload;
use systole_core::rules::outcome::CallJudgement;
use systole_core::rules::stuck_payload;
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{
    ApprovalEffect, MessageRole, Record, RecordCode, RecordKind, SteerEffect, TimerEffect,
};

use crate::limits::OPENING_RECORDS;

/// What a record means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FollowedKind {
    /// A person is asked: for an approval, at a gate, or a question.
    Person,
    /// A message from outside failed.
    Failed,
    /// A message from outside was answered.
    Answered,
    /// A thread that had failed goes on.
    Reopened,
    /// Calls have waited for too long.
    Stuck,
    /// Something was refused.
    Refused,
    /// Most of a budget is used, or all of it.
    Budget,
    /// Another record.
    Record,
}

impl FollowedKind {
    /// The kinds that a follower may name. All others come only with `everything`.
    pub const NAMED: [FollowedKind; 7] = [
        FollowedKind::Person,
        FollowedKind::Failed,
        FollowedKind::Answered,
        FollowedKind::Reopened,
        FollowedKind::Stuck,
        FollowedKind::Refused,
        FollowedKind::Budget,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            FollowedKind::Person => "person",
            FollowedKind::Failed => "failed",
            FollowedKind::Answered => "answered",
            FollowedKind::Reopened => "reopened",
            FollowedKind::Stuck => "stuck",
            FollowedKind::Refused => "refused",
            FollowedKind::Budget => "budget",
            FollowedKind::Record => "record",
        }
    }

    /// What a record means: the one place that says it. `None` for news of followers, which would cause further news
    /// for ever if a receiver refuses them.
    pub fn of_record(record: &Record, reader: &dyn LogReader) -> Result<Option<FollowedKind>, LogFault> {
        let h = &record.header;
        let is_sys = h.thread.is_sys();
        Ok(Some(match (h.kind, h.code) {
            // In the log's own thread such a record only counts the request.
            (
                RecordKind::Approval,
                Some(RecordCode::Approving(ApprovalEffect::Requested | ApprovalEffect::Asked)),
            ) if !is_sys => FollowedKind::Person,
            (RecordKind::Steer, Some(RecordCode::Steering(SteerEffect::Reopened))) => FollowedKind::Reopened,
            (RecordKind::Refusal, _) => FollowedKind::Refused,
            (RecordKind::Outcome, _) | (RecordKind::Message, Some(RecordCode::Role(MessageRole::Final))) => {
                judge_end(record, reader)?
            }
            (RecordKind::Message, Some(RecordCode::Role(MessageRole::Inbox | MessageRole::WrapUp)))
                if is_of_budget(&record.body) =>
            {
                FollowedKind::Budget
            }
            (RecordKind::Message, Some(RecordCode::Role(MessageRole::Told)))
                if is_sys && follower_payload::read_news(&record.body).is_some() =>
            {
                return Ok(None);
            }
            (RecordKind::Message, Some(RecordCode::Role(MessageRole::Told)))
                if is_sys && stuck_payload::read_stuck(&record.body).is_some() =>
            {
                FollowedKind::Stuck
            }
            _ => FollowedKind::Record,
        }))
    }
}

fn is_of_budget(body: &[u8]) -> bool {
    budget_payload::read_warning(body).is_some() || budget_payload::read_exceeded(body).is_some()
}

/// Whether a message from outside failed or was answered: its call is a root's own, and not a notification.
fn judge_end(record: &Record, reader: &dyn LogReader) -> Result<FollowedKind, LogFault> {
    let h = &record.header;
    let is_top = h.thread.parent().is_none() && h.call.as_ref().is_some_and(|call| call.depth() == 0);
    let Some(end) = CallJudgement::of_record(record).filter(|_| is_top) else {
        return Ok(FollowedKind::Record);
    };
    let kind = match end {
        CallJudgement::Failed | CallJudgement::Reported => FollowedKind::Failed,
        CallJudgement::Answered | CallJudgement::Partial | CallJudgement::Handled => FollowedKind::Answered,
        CallJudgement::Cancelled => return Ok(FollowedKind::Record),
    };
    Ok(if is_notification(record, reader)? { FollowedKind::Record } else { kind })
}

/// Whether the call that a record closes only notified its listener. The record that opened it is searched backwards, as
/// most calls are short.
fn is_notification(record: &Record, reader: &dyn LogReader) -> Result<bool, LogFault> {
    let h = &record.header;
    let (mut end, mut width) = (h.seq, OPENING_RECORDS);
    while end > 1 {
        let start = end.saturating_sub(width).max(1);
        let count = usize::try_from(end - start).unwrap_or(usize::MAX);
        for (_, earlier) in reader.of_thread(&h.thread, start, count)?.into_iter().rev() {
            if earlier.header.call == h.call
                && let Some(is_tell) = read_opening(earlier.header.code)
            {
                return Ok(is_tell);
            }
        }
        (end, width) = (start, width * 2);
    }
    Ok(false)
}

/// Whether a record that opens a call only notifies; `None` if it opens none of its own path.
fn read_opening(code: Option<RecordCode>) -> Option<bool> {
    match code? {
        RecordCode::Role(MessageRole::Tell) => Some(true),
        RecordCode::Role(MessageRole::Request) | RecordCode::Timing(TimerEffect::Opens) => Some(false),
        _ => None,
    }
}

/// The events that a follower sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventSet {
    /// All.
    Everything,
    /// These.
    These(Vec<FollowedKind>),
}

impl EventSet {
    /// The word for all of them.
    pub const EVERYTHING: &str = "everything";

    /// Whether it has a kind.
    pub fn has_kind(&self, kind: FollowedKind) -> bool {
        match self {
            EventSet::Everything => true,
            EventSet::These(kinds) => kinds.contains(&kind),
        }
    }

    /// Its words.
    pub fn list_words(&self) -> Vec<&'static str> {
        match self {
            EventSet::Everything => vec![EventSet::EVERYTHING],
            EventSet::These(kinds) => kinds.iter().map(|kind| kind.as_str()).collect(),
        }
    }
}
