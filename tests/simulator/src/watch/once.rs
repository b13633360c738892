//! Whether nothing took effect twice. Every payload of a run has a number of its own, so one that stands
//! in the log as the item of two replies, or as two requests, was applied twice, whatever its turn.

use std::collections::HashMap;

use systole::words::ports::Position;
use systole::words::record::{Mark, Record, Role, Steering};

use crate::cast;

/// What stands in the log twice.
pub(crate) fn twice(records: &[(Position, Record)]) -> Vec<String> {
    let mut first: HashMap<u64, Position> = HashMap::new();
    let mut wrong = Vec::new();
    for (position, record) in records {
        let Some(
            Mark::Role(Role::Request | Role::Call | Role::Note | Role::Final | Role::Spawn)
            | Mark::Steering(Steering::Steered),
        ) = record.header.code
        else {
            continue;
        };
        let Some(number) = cast::number(&record.body) else { continue };
        if let Some(before) = first.insert(number, *position) {
            let h = &record.header;
            wrong.push(format!(
                "payload {number} of {} stands at positions {} and {}, the second in {} {}",
                h.from, before.0, position.0, h.thread, h.seq
            ));
        }
    }
    wrong
}
