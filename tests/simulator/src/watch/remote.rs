//! Checks what becomes of work that outlives a pump: an attempt that a worker holds, or that no worker had yet, is not
//! counted as lost; and its end reaches neither stream nor worker before it is on disk.

use systole_core::types::codes::Code;
use systole_core::types::ids::{CallPath, ThreadId};
use systole_core::types::ports::LeaseToken;
use systole_core::types::record::{AttemptEffect, Record, RecordCode, RecordKind};

/// The attempt that a record counts as lost, by its token.
pub(crate) fn lost(record: &Record) -> Option<LeaseToken> {
    let h = &record.header;
    let (Some(RecordCode::Code(code)), RecordKind::Attempt) = (h.code, h.kind) else { return asked(record) };
    let attempt = number(record, " number=\"")?.checked_sub(1).filter(|_| is_loss(code, &record.body))?;
    Some(token(&h.thread, h.call.as_ref()?, h.turn?, attempt))
}

/// The attempt that a person is asked about, because it counts as lost.
fn asked(record: &Record) -> Option<LeaseToken> {
    let h = &record.header;
    let attempt =
        number(record, " unknown=\"attempt ").filter(|_| is_loss(Code::UnknownOutcome, &record.body))?;
    Some(token(&h.thread, h.call.as_ref()?, h.turn?, attempt))
}

/// The attempt that goes on after a wait.
pub(crate) fn goes_on(record: &Record) -> Option<LeaseToken> {
    let h = &record.header;
    h.code.filter(|code| *code == RecordCode::Attempting(AttemptEffect::GoesOn))?;
    Some(token(&h.thread, h.call.as_ref()?, h.turn?, number(record, " number=\"")?))
}

/// The attempt that a dead letter is about.
pub(crate) fn dead(record: &Record) -> Option<LeaseToken> {
    let h = &record.header;
    Some(token(&h.thread, h.call.as_ref()?, h.turn?, number(record, " attempts=\"")?))
}

/// The number behind these words in a body.
fn number(record: &Record, words: &str) -> Option<u32> {
    let text = str::from_utf8(&record.body).ok()?;
    text.split_once(words)?.1.split(['"', ':']).next()?.parse().ok()
}

/// Whether a code says that nothing is known of an attempt, other than that it took too long.
pub(crate) fn is_loss(code: Code, body: &[u8]) -> bool {
    let says_lost = || body.windows(13).any(|piece| piece == b"listener.lost");
    code == Code::ListenerLost || code == Code::UnknownOutcome && says_lost()
}

/// The token of an attempt.
pub(crate) fn token(thread: &ThreadId, call: &CallPath, turn: u32, attempt: u32) -> LeaseToken {
    let (turn, attempt) = (turn.to_string(), attempt.to_string());
    LeaseToken([thread.as_str(), call.as_str(), &turn, &attempt].join(" ").into())
}

/// The parts of a token.
pub(crate) fn parts(token: &LeaseToken) -> Option<(&str, &str, u32, u32)> {
    let [thread, call, turn, attempt] = token.0.split(' ').collect::<Vec<_>>()[..] else { return None };
    Some((thread, call, turn.parse().ok()?, attempt.parse().ok()?))
}
