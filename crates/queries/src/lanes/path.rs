//! The path that decided how long a tree took: from the last end back to the first beginning.
//!
//! Sorted spans come in and are marked. The span before another one is the one whose last record began it, or, if the
//! log shows none, the one that ended last before it.

use std::collections::HashMap;

use super::TimeSpan;
use systole_core::types::ids::{Name, ThreadId};

/// Marks the spans of the path.
pub(super) fn mark(spans: &mut [(Name, TimeSpan)]) {
    let mut by_end: Vec<usize> = (0..spans.len()).collect();
    let ends = |number: usize| spans.get(number).map(|(_, span)| (span.to, span.from));
    by_end.sort_by_key(|number| ends(*number));
    let mut ended_by: HashMap<(ThreadId, u64), usize> = HashMap::new();
    for (number, (_, span)) in spans.iter().enumerate() {
        if let Some(seq) = span.ends {
            let known = ended_by.entry((span.thread.clone(), seq)).or_insert(number);
            if ends(*known) < ends(number) {
                *known = number;
            }
        }
    }
    let mut next = by_end.last().copied();
    while let Some(number) = next {
        let Some((_, span)) = spans.get_mut(number).filter(|(_, span)| !span.is_critical) else { return };
        span.is_critical = true;
        let (from, key) = (span.from, (span.thread.clone(), span.begins));
        let is_before =
            |other: &usize| spans.get(*other).is_some_and(|(_, span)| span.to <= from && !span.is_critical);
        let cause = ended_by.get(&key).copied().filter(is_before);
        next = cause.or_else(|| {
            let end =
                by_end.partition_point(|number| spans.get(*number).is_some_and(|(_, span)| span.to <= from));
            by_end.get(..end).unwrap_or_default().iter().rev().take(64).copied().find(is_before)
        });
    }
}
