//! What every set of walks must cover, or it does not walk the table; and what a walk covered.

use std::collections::BTreeSet;

use super::walk::Walk;

/// Words that every set of walks must cover, or it does not walk the table: states of calls, how they
/// close, and what turns show.
pub(crate) const WORDS: &[&str] = &[
    "halted",
    "first of several",
    "all of several",
    "over",
    "told receipt",
    "told done",
    "told refused payload.id-conflict",
    "told refused payload.not-built",
    "told refused route.not-a-peer",
    "told refused budget.messages",
    "told refused thread.unknown",
    "told refused thread.ended",
    "told refused thread.busy",
    "told refused thread.resting",
    "told refused thread.not-paused",
    "told refused retry.not-failed",
    "told refused retry.superseded",
    "told refused retry.decided",
    "told refused retry.spent",
    "told refused retry.settled",
    "tried again, a person is asked",
    "tried again, turn due",
    "asking",
    "asking once more",
    "told refused approval.mismatch",
    "told refused question.invalid-choice",
    "said chosen",
    "said expired",
    "held",
    "ready",
    "joining",
    "answered",
    "handled",
    "failed",
    "cancelled",
    "budget",
    "rejected",
    "expired",
    "finished answered",
    "finished handled",
    "finished failed",
    "finished cancelled",
    "finished budget",
    "finished rejected",
    "finished expired",
    "over done",
    "over message",
    "over timer",
    "set",
    "unset",
    "fired",
    "timer.unknown",
    "opened by a timer",
    "news of a timer, answered",
    "news of a timer, failed",
    "news of a timer, budget",
    "over budget",
    "ended",
    "steer",
    "spawned",
    "-",
    "n",
    "walked",
    "final-report",
    "children-open",
    "todo-open",
    "approval.rejected",
    "approval.expired",
    "payload.not-built",
    "budget-exceeded turns",
    "budget-exceeded messages",
    "budget-warning messages",
    "budget-warning children",
    "thread.cancelled",
    "unknown_thread",
    "thread_ended",
    "route.not-a-peer",
    "payload.invalid",
    "reply.final-not-alone",
    "reply.too-many-items",
    "budget.messages",
    "budget.depth",
    "budget.children",
    "loop.repeated-call",
    "loop.ping-pong",
    "listener.silent",
    "listener.lost",
    "listener.failed",
    "route.unavailable",
    "told answered",
    "told recalled",
    "told refused reply.stale-lease",
    "told refused payload.invalid",
    "told refused reply.too-many-items",
    "told refused budget.tokens",
    "told refused budget.money",
    "journal",
    "model.unknown-outcome",
    "an open start repeats",
    "an open start fails",
    "an open start asks",
    "an open start of a failure",
    "an answer beyond the limit",
    "tokens of the message refused",
    "tokens of a child refused",
    "tokens settled below kept",
    "tokens settled as kept",
    "tokens settled above kept",
    "money of the message refused",
    "money of a child refused",
    "money settled below kept",
    "money settled as kept",
    "money settled above kept",
    "left to its reply",
    "budget-exceeded tokens",
    "budget-exceeded money",
    "budget-exceeded time",
    "budget-warning tokens",
    "budget-warning money",
    "budget-warning time",
    "budget.tokens",
    "budget.money",
    "budget.time",
    "budget.tokens answered",
    "budget.tokens not answered",
    "budget.money answered",
    "budget.money not answered",
    "budget.time answered",
    "budget.time not answered",
    "time over, turn due",
    "time over, joining",
    "time over, in doubt",
    "time over, not begun",
    "time over, one turn",
    "time over, told before",
    "time over, children running",
    "time stands for a person",
    "time stands for a timer",
    "time stands in a pause",
    "time stands behind a message",
    "time runs over a restart",
];

/// The words that a walk covered, without numbers and names.
pub(crate) fn words(walk: &Walk) -> BTreeSet<String> {
    let mut words: BTreeSet<String> = walk.naive.closed.iter().map(|(.., outcome)| outcome.clone()).collect();
    words.extend(walk.naive.told.iter().map(|told| told_word(told)));
    words.extend(walk.naive.threads.keys().any(|id| walk.naive.is_halted(id)).then(|| "halted".to_owned()));
    words.extend(walk.naive.met.iter().cloned());
    words.extend(walk.naive.has_opened().then(|| "opened by a timer".to_owned()));
    for call in walk.naive.threads.values().flat_map(|thread| thread.calls.values()) {
        words.extend(call.is_in_doubt().then(|| "asking once more".to_owned()));
        words.extend(call.is_left_to_its_reply().then(|| "left to its reply".to_owned()));
        words.extend(call.shows_all().then(|| "all of several".to_owned()));
        words.extend(call.stand().split('(').next().map(str::to_owned));
        for line in call.shows() {
            let shown = line.split_once(": ").map_or(line.as_str(), |(_, shown)| shown);
            words.insert(match shown.split(' ').collect::<Vec<&str>>()[..] {
                [word @ "said", how] => format!("{word} {how}"),
                [word @ ("finished" | "over"), _, how, ..] => format!("{word} {how}"),
                [word @ ("budget-warning" | "budget-exceeded"), what, ..] => format!("{word} {what}"),
                [word, ..] if word.strip_prefix('n').is_some_and(|n| n.parse::<u64>().is_ok()) => {
                    "n".to_owned()
                }
                [word, ..] => word.to_owned(),
                [] => continue,
            });
        }
    }
    words
}

/// An answer without numbers.
fn told_word(told: &str) -> String {
    let word = if told.starts_with("recalled") { "recalled" } else { told };
    format!("told {word}")
}
