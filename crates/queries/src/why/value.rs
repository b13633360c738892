//! Waits for programs: a thread in full, or the list of everything that waits.
//!
//! Waits and the time that counts as now come in; JSON values go out.

use serde_json::{Value, json};

use super::{ListedWait, ModelUse, ThreadTimer, ThreadWaits, WaitReason, WorkingTime, brief, ends};
use crate::first_cause::FirstCause;
use crate::pauses::ThreadPause;
use crate::runs::{RunStep, StepProgress};
use systole_core::pump::state::ThreadState;
use systole_core::types::time::Millis;

/// One wait of the whole organism.
pub fn wait_json(wait: &ListedWait, now: Millis) -> Value {
    json!({
        "thread": wait.thread.as_str(),
        "since": wait.since.to_string(),
        "waited_ms": now.count_since(wait.since),
        "cause": wait.cause,
        "words": wait.what,
        "goal": wait.goal.as_ref().map(RunStep::as_json),
        "command": wait.command,
    })
}

/// A thread with everything that it waits for. `running` is the process that works on the log.
pub fn as_json(standing: &ThreadWaits, running: Option<u32>, now: Millis) -> Value {
    json!({
        "thread": standing.thread.as_str(),
        "state": standing.state(),
        "life": standing.life.as_str(),
        "paused": standing.paused.as_ref().map(ThreadPause::as_json),
        "running": running,
        "touched": standing.touched.to_string(),
        "waits": standing.life == ThreadState::Working,
        "timers": standing.timers.iter().map(kept_json).collect::<Vec<_>>(),
        "models": standing.models.iter().map(bought_json).collect::<Vec<_>>(),
        "times": standing.times.iter().map(|time| time_json(time, now)).collect::<Vec<_>>(),
        "failed": standing.failure().map(FirstCause::as_json),
        "anew": standing.links.as_json(),
        "reasons": standing.reasons.iter().map(|reason| reason_json(reason, now)).collect::<Vec<_>>(),
    })
}

fn kept_json(timer: &ThreadTimer) -> Value {
    json!({"id": timer.id.as_str(), "listener": timer.listener.as_str(), "due": timer.due.to_string()})
}

fn bought_json(bought: &ModelUse) -> Value {
    json!({
        "call": bought.call.as_str(),
        "tokens": bought.used.tokens,
        "tokens_limit": bought.tokens,
        "money": bought.used.spent.money().map(|money| money.to_string()),
        "money_limit": bought.money.map(|money| money.to_string()),
    })
}

fn time_json(time: &WorkingTime, now: Millis) -> Value {
    json!({
        "call": time.call.as_str(),
        "runs": time.runs.is_some(),
        "used_ms": time.used_ms(now),
        "limit_ms": time.limit_ms,
    })
}

fn reason_json(reason: &WaitReason, now: Millis) -> Value {
    let failures = reason.failures.iter().map(|failure| {
        let code = failure.code.map(|code| code.as_str());
        json!({"at": failure.at.to_string(), "code": code, "words": failure.words})
    });
    json!({
        "thread": reason.thread.as_str(),
        "call": reason.call.as_str(),
        "listener": reason.listener.as_str(),
        "turn": reason.turn,
        "cause": reason.cause.as_str(),
        "since": reason.since.to_string(),
        "words": brief(reason, now),
        "goal": reason.goal.as_ref().map(RunStep::as_json),
        "steps": reason.steps.iter().map(StepProgress::as_json).collect::<Vec<_>>(),
        "ends": ends(reason, now),
        "attempt": reason.attempt,
        "attempts": reason.attempts,
        "program": reason.program.as_ref().map(|program| &program.run),
        "failures": failures.collect::<Vec<_>>(),
        "log_from": reason.told_from,
        "below": reason.below.iter().map(|below| reason_json(below, now)).collect::<Vec<_>>(),
    })
}
