//! Results that a prompt leaves out, so that a final fits into the window. A line takes the place of each.
//!
//! Events come in; numbers of results and lines go out. Nothing is lost: the log has every result.

use std::collections::BTreeSet;

use systole_kit::{Payload, namespaces};

use super::event::{AnsweredItem, CallEvent};
use crate::limits;

/// The results that may be left out, the largest first, each with the bytes that it shows at most. Of equal ones the
/// oldest comes first.
pub(crate) fn list_results(happened: &[CallEvent], longest: usize) -> Vec<(usize, u64)> {
    let turns = happened.iter().filter_map(|happened| match happened {
        CallEvent::Turn(turn) => Some(turn),
        CallEvent::Request { .. } | CallEvent::Overheard(_) => None,
    });
    let answers = turns.flat_map(|turn| &turn.answers).filter(|answer| is_result(&answer.payload));
    let sized = answers.filter_map(|answer| {
        let bytes = match *answer.payload.name().ns == *namespaces::CORE {
            true => answer.payload.bytes().len(),
            false => answer.payload.bytes().len().min(longest),
        };
        Some((bytes, answer.number?))
    });
    let mut all: Vec<(usize, u64)> = sized.filter(|(bytes, _)| *bytes > limits::HIDDEN_BYTES).collect();
    all.sort_by_key(|(bytes, number)| (std::cmp::Reverse(*bytes), *number));
    all
}

/// Whether an answer is a result. Of the core's own answers only recalled messages are long.
fn is_result(payload: &Payload) -> bool {
    *payload.name().ns != *namespaces::CORE || matches!(&*payload.name().local, "recalled" | "final-report")
}

/// The line in place of a result, if it is left out. `name` is that of the action.
pub(super) fn describe_hidden(
    hidden: &BTreeSet<u64>,
    answer: &AnsweredItem,
    name: Option<&str>,
) -> Option<String> {
    let number = answer.number.filter(|number| hidden.contains(number))?;
    let name = name.unwrap_or(&answer.payload.name().local);
    let characters = std::str::from_utf8(answer.payload.bytes()).map_or(0, |text| text.chars().count());
    let characters = write_grouped(characters);
    Some(format!("[result of {name}: {characters} characters, not shown; recall {number}..{number}]"))
}

/// `4,096`
fn write_grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
