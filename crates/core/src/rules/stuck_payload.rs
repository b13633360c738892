//! What the log says about calls that have waited for too long.

use super::element::{PayloadBytes, read_attributes, write_element};
use crate::types::ids::{CallPath, Name, ThreadId};
use crate::types::time::Millis;

const ELEMENT: &str = "stuck";

/// Calls to one listener that have waited for the same for too long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StuckCalls {
    /// The listener that must answer them.
    pub listener: Name,
    /// What they wait for, as `why` names it.
    pub cause: String,
    /// How many of them no earlier record counts.
    pub calls: u64,
    /// The thread of the one of these that waits longest.
    pub thread: ThreadId,
    /// That call.
    pub call: CallPath,
    /// Since when it waits.
    pub since: Millis,
    /// When they were counted.
    pub at: Millis,
}

/// The record of them.
pub fn write_stuck(stuck: &StuckCalls) -> PayloadBytes {
    let StuckCalls { listener, cause, calls, thread, call, since, at } = stuck;
    write_element(ELEMENT, |tag| {
        let tag = tag.attr("listener", listener.as_str()).attr("cause", cause).number("calls", *calls);
        let tag = tag.attr("thread", thread.as_str()).attr("call", call.as_str());
        tag.attr("since", &since.to_string()).attr("at", &at.to_string()).empty();
    })
}

/// The calls that a record of the log's own thread is about; `None` if it is another record.
pub fn read_stuck(body: &[u8]) -> Option<StuckCalls> {
    // Most records of the log's own thread are another one, and are not parsed.
    if !body.starts_with(b"<stuck ") {
        return None;
    }
    let names = ["listener", "cause", "calls", "thread", "call", "since", "at"];
    let [listener, cause, calls, thread, call, since, at] = read_attributes(body, ELEMENT, names)?;
    Some(StuckCalls {
        listener: Name::parse(&listener?).ok()?,
        cause: cause?,
        calls: calls?.parse().ok()?,
        thread: ThreadId::parse(&thread?).ok()?,
        call: CallPath::parse(&call?).ok()?,
        since: Millis::parse(&since?)?,
        at: Millis::parse(&at?)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h15_a_record_about_stuck_calls_is_read_as_it_was_written() {
        let stuck = StuckCalls {
            listener: Name::parse("shop.search").unwrap(),
            cause: "back-off".to_owned(),
            calls: 3,
            thread: ThreadId::parse("sess-0123456789ab").unwrap(),
            call: CallPath::new_top(1),
            since: Millis(1_700_000_000_123),
            at: Millis(1_700_003_600_123),
        };
        assert_eq!(read_stuck(&write_stuck(&stuck)), Some(stuck));
        for other in ["<boot/>", "<stuck/>", "<stuck thread='a' call='1' since='x'/>"] {
            assert_eq!(read_stuck(other.as_bytes()), None, "{other}");
        }
    }
}
