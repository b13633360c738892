//! The events of a run: how often each primitive was used and each event occurred, by the records of the
//! log. A row names one of them and says how its records are recognised. Records come in; counts go out.

use std::collections::BTreeMap;

use systole_checker::record::LogLine;

/// How a record is recognised: by its kind and its code, and if these are ambiguous, by the start tag of its
/// body.
struct Row {
    name: &'static str,
    kind: &'static str,
    code: &'static str,
    holds: &'static [&'static str],
}

const fn row(
    name: &'static str,
    kind: &'static str,
    code: &'static str,
    holds: &'static [&'static str],
) -> Row {
    Row { name, kind, code, holds }
}

/// What must occur in a long enough run.
const ROWS: &[Row] = &[
    row("spawn-thread", "message", "spawn", &[]),
    row("await-threads all", "message", "await", &[" mode=\"all\""]),
    row("await-threads any", "message", "await", &[" mode=\"any\""]),
    row("await-threads N", "message", "await", &[" mode=\"2\""]),
    row("set-timer after", "timer", "set", &[" after=\""]),
    row("set-timer every", "timer", "set", &[" every=\""]),
    row("cancel-timer", "timer", "cancel", &[]),
    row("cancel-thread", "message", "cancel-thread", &[]),
    row("a word for a child", "message", "steer", &[]),
    row("a word from outside", "steer", "steered", &["<steer "]),
    row("clear-context", "message", "clear", &[]),
    row("recall", "message", "recall", &[]),
    row("broadcast to all", "message", "to-all", &[]),
    row("broadcast, the first is enough", "message", "to-first", &[]),
    row("a model called", "journal", "model-started", &[]),
    row("what a model said", "journal", "model-result", &[]),
    row("todo-until alone", "message", "todo", &[]),
    row("a note", "message", "note", &["<clerk "]),
    row("a note of the market", "message", "note", &["<market "]),
    row("describe", "message", "introspect", &["<describe "]),
    row("list-capabilities", "message", "introspect", &["<list-capabilities "]),
    row("a call to a peer", "message", "call", &[]),
    row("a final", "message", "final", &[]),
    row("thread-spawned", "message", "answer", &["<thread-spawned "]),
    row("await-over done", "message", "answer", &["<await-over ", " reason=\"done\""]),
    row("await-over timer", "message", "answer", &["<await-over ", " reason=\"timer\""]),
    row("await-over message", "message", "answer", &["<await-over ", " reason=\"message\""]),
    row("await-over budget", "message", "answer", &["<await-over ", " reason=\"budget\""]),
    row("thread-finished answered", "message", "inbox", &["<thread-finished ", " outcome=\"answered\""]),
    row("thread-finished handled", "message", "inbox", &["<thread-finished ", " outcome=\"handled\""]),
    row("thread-finished failed", "message", "inbox", &["<thread-finished ", " outcome=\"failed\""]),
    row("thread-finished rejected", "message", "inbox", &["<thread-finished ", " outcome=\"rejected\""]),
    row("thread-finished expired", "message", "inbox", &["<thread-finished ", " outcome=\"expired\""]),
    row("thread-finished cancelled", "message", "inbox", &["<thread-finished ", " outcome=\"cancelled\""]),
    row("thread-finished budget", "message", "inbox", &["<thread-finished ", " outcome=\"budget\""]),
    row("timer-set", "message", "answer", &["<timer-set "]),
    row("timer-fired where it was set", "timer", "fired", &[]),
    row("timer-fired into a new call", "timer", "opens", &[]),
    row("timer-cancelled as asked", "message", "answer", &["<timer-cancelled "]),
    row("timer cancelled with its call", "timer", "cancelled", &[]),
    row("thread-cancelled as asked", "message", "answer", &["<thread-cancelled "]),
    row("thread-cancelled", "terminal", "thread.cancelled", &[]),
    row("thread-ended", "terminal", "ended", &[]),
    row("handled, a word", "message", "answer", &["<handled "]),
    row("handled, a call", "outcome", "handled", &[]),
    row("capabilities", "message", "answer", &["<capabilities "]),
    row("description", "message", "answer", &["<description "]),
    row("context-cleared", "message", "answer", &["<context-cleared "]),
    row("recalled", "message", "answer", &["<recalled "]),
    row("ask view, answered", "message", "final", &["<report ", " seen=\""]),
    row("paid now", "message", "final", &["<dealt ", " paid=\"now\""]),
    row("ask journal, paid before", "message", "final", &["<dealt ", " paid=\"before\""]),
    row("not paid", "message", "final", &["<dealt ", " paid=\"not\""]),
    row("thread-finished with tokens", "message", "inbox", &["<thread-finished ", " tokens=\""]),
    row("todo-open", "refusal", "todo-open", &[]),
    row("children-open", "refusal", "children-open", &[]),
    row("system-thread-error unknown", "refusal", "thread.unknown", &["<system-thread-error "]),
    row("system-thread-error ended", "refusal", "thread.ended", &["<system-thread-error "]),
    row("approval requested", "approval", "requested", &[]),
    row("approval requested for the unknown", "approval", "requested", &[" unknown=\""]),
    row("approval told", "message", "tell", &[]),
    row("amendment", "approval", "amendment", &[]),
    row("approval approved", "approval", "approved", &[]),
    row("approval amended", "approval", "amended", &[]),
    row("approval rejected", "approval", "rejected", &[]),
    row("approval expired", "approval", "expired", &[]),
    row("paused", "steer", "paused", &[]),
    row("resumed", "steer", "resumed", &[]),
    row("budget-warning", "message", "inbox", &["<budget-warning "]),
    row("budget-warning tokens", "message", "inbox", &["<budget-warning ", " what=\"tokens\""]),
    row("budget-warning money", "message", "inbox", &["<budget-warning ", " what=\"money\""]),
    row("budget-exceeded messages", "message", "wrap-up", &[" what=\"messages\""]),
    row("budget-exceeded turns", "message", "wrap-up", &[" what=\"turns\""]),
    row("budget-exceeded time", "message", "wrap-up", &[" what=\"time\""]),
    row("budget-exceeded tokens", "message", "wrap-up", &[" what=\"tokens\""]),
    row("budget-exceeded money", "message", "wrap-up", &[" what=\"money\""]),
    row("budget-time", "timer", "wall", &[]),
    row("final-report synthetic", "outcome", "budget.messages", &["<final-report "]),
    row("loop told", "message", "inbox", &["<system-error ", " code=\"loop.repeated-call\""]),
    row("a notice", "message", "inbox", &["<system-error ", " code=\"agent.second-action\""]),
    row("again", "refusal", "listener.failed", &[" code=\"agent."]),
    row("refused payload.invalid", "refusal", "payload.invalid", &[]),
    row("refused payload.forbidden-namespace", "refusal", "payload.forbidden-namespace", &[]),
    row("refused route.not-a-peer", "refusal", "route.not-a-peer", &[]),
    row("refused recall", "refusal", "payload.invalid", &[" element=\"recall\""]),
    row("refused ask schema", "refusal", "route.not-a-peer", &[" element=\"schema\""]),
    row("refused reply.final-not-alone", "refusal", "reply.final-not-alone", &[]),
    row("refused reply.stale-lease", "refusal", "reply.stale-lease", &[]),
    row("refused budget.messages", "refusal", "budget.messages", &[]),
    row("refused budget.children", "refusal", "budget.children", &[]),
    row("refused budget.depth", "refusal", "budget.depth", &[]),
    row("refused budget.tokens", "refusal", "budget.tokens", &[]),
    row("refused budget.money", "refusal", "budget.money", &[]),
    row("refused loop.repeated-call", "refusal", "loop.repeated-call", &[]),
    row("refused loop.ping-pong", "refusal", "loop.ping-pong", &[]),
    row("refused timer.unknown", "refusal", "timer.unknown", &[]),
    row("refused thread.busy", "refusal", "thread.busy", &[]),
    row("refused approval.decided", "refusal", "approval.decided", &[]),
    row("refused approval.mismatch", "refusal", "approval.mismatch", &[]),
    row("refused thread.unknown", "refusal", "thread.unknown", &["<system-error "]),
    row("refused thread.ended", "refusal", "thread.ended", &["<system-error "]),
    row("first attempt recorded", "attempt", "", &[" number=\"1\""]),
    row("again after listener.lost", "attempt", "listener.lost", &[]),
    row("again after listener.failed", "attempt", "listener.failed", &[]),
    row("again after listener.timeout", "attempt", "listener.timeout", &[]),
    row("again after a death of the pump", "attempt", "listener.lost", &[" with_pump=\"true\""]),
    row("again after model.unknown-outcome", "attempt", "model.unknown-outcome", &[]),
    row("dead-letter", "outcome", "dead-letter", &[]),
    row("failed listener.failed", "outcome", "listener.failed", &[]),
    row("failed listener.lost", "outcome", "listener.lost", &[]),
    row("failed listener.silent", "outcome", "listener.silent", &[]),
    row("failed model.unknown-outcome", "outcome", "model.unknown-outcome", &[]),
    row("called off after the first answer", "outcome", "thread.cancelled", &[" answered first"]),
    row("failed thread.cancelled", "outcome", "thread.cancelled", &[]),
    row("failed approval.rejected", "outcome", "approval.rejected", &[]),
    row("failed approval.expired", "outcome", "approval.expired", &[]),
    row("boot", "message", "told", &["<boot "]),
    row("shutdown", "message", "told", &["<shutdown "]),
    row("listener-joined", "message", "told", &["<listener-joined "]),
    row("listener-left", "message", "told", &["<listener-left "]),
];

/// The counts of all rows.
#[derive(Default)]
pub struct RowCounts {
    counts: BTreeMap<usize, u64>,
}

impl RowCounts {
    /// Takes a record.
    pub fn see(&mut self, record: &LogLine) {
        let code = record.code.as_deref().unwrap_or_default();
        for (place, row) in ROWS.iter().enumerate() {
            if row.kind == record.kind && row.code == code && row.fits(&record.body) {
                *self.counts.entry(place).or_default() += 1;
            }
        }
    }

    /// Every row with its count, in the order of the table.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        let of = |(place, row): (usize, &Row)| (row.name, self.counts.get(&place).copied().unwrap_or(0));
        ROWS.iter().enumerate().map(of).collect()
    }
}

impl Row {
    fn fits(&self, body: &[u8]) -> bool {
        let text = std::str::from_utf8(body).unwrap_or_default();
        let start = text.split('>').next().unwrap_or_default();
        self.holds.iter().all(|part| start.contains(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_start_tag_says_is_told_apart_from_what_stands_inside() {
        let row = row("await-threads any", "message", "await", &[" mode=\"any\""]);
        assert!(row.fits(b"<await-threads mode=\"any\"><thread id=\"x\"/></await-threads>"));
        assert!(!row.fits(b"<await-threads mode=\"all\"> mode=\"any\"</await-threads>"));
    }

    #[test]
    fn every_row_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<&str> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ROWS.len());
    }
}
