//! Checks that nothing took effect twice. Every payload of a run has its own number. A payload that is in the
//! log as the item of two replies, or as two requests, was applied twice, in any turn. So was a broadcast
//! payload that is there twice for one taker.

use std::collections::HashMap;

use systole_core::types::ids::Name;
use systole_core::types::ports::Position;
use systole_core::types::record::{MessageRole, Record, RecordCode, SteerEffect};

use crate::cast;

/// The payloads that are in the log twice.
pub(crate) fn twice(records: &[(Position, Record)]) -> Vec<String> {
    let mut first: HashMap<(u64, Option<&Name>), Position> = HashMap::new();
    let mut wrong = Vec::new();
    for (position, record) in records {
        let Some(
            RecordCode::Role(
                MessageRole::Request
                | MessageRole::Call
                | MessageRole::ToAll
                | MessageRole::ToFirst
                | MessageRole::Note
                | MessageRole::Final
                | MessageRole::Spawn,
            )
            | RecordCode::Steering(SteerEffect::Steered),
        ) = record.header.code
        else {
            continue;
        };
        let Some(number) = cast::number(&record.body) else { continue };
        // A broadcast is recorded once for each taker.
        let is_spread =
            matches!(record.header.code, Some(RecordCode::Role(MessageRole::ToAll | MessageRole::ToFirst)));
        let taker = record.header.to.as_ref().filter(|_| is_spread);
        if let Some(before) = first.insert((number, taker), *position) {
            let h = &record.header;
            wrong.push(format!(
                "payload {number} of {} stands at positions {} and {}, the second in {} {}",
                h.from, before.0, position.0, h.thread, h.seq
            ));
        }
    }
    wrong
}
