//! `systole why`: all waits, or one thread in full.

use std::collections::BTreeSet;

use clap::Args;
use serde_json::{Value, json};

use super::exit::CommandExit;
use super::looking::{Looking, PastPosition};
use super::place::Place;

use crate::audit::columns::width;
use crate::audit::layout;
use crate::audit::pauses::ThreadPause;
use crate::audit::posts::DueCalls;
use crate::audit::runs::{RunStep, StepProgress, WorkflowRuns};
use crate::audit::why::{
    self, Asker, CallWait, ListedWait, ModelUse, ThreadTimer, ThreadWaits, WaitReason, WorkingTime, brief,
    ends, report,
};
use crate::runtime::workflow_steps;
use systole_core::pump::state::ThreadState;
use systole_core::types::time::Millis;

/// Which thread is asked about.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole why
  systole why @last
  systole why @last --at 120")]
pub(super) struct Why {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    past: PastPosition,
    /// The thread: its id, its beginning, or @last; none: all at work
    thread: Option<String>,
}

impl Why {
    pub(super) fn run(self) -> CommandExit {
        self.tell().unwrap_or_else(|exit| exit)
    }

    fn tell(&self) -> Result<CommandExit, CommandExit> {
        let looking = Looking::open_at(&self.place, self.past)?;
        let whole = looking.whole()?;
        let posts = DueCalls::at(&whole, looking.now);
        let (reader, screen) = (&*looking.view, looking.screen);
        let runs = WorkflowRuns::new(reader, &whole, &workflow_steps::said);
        let asker = Asker { now: looking.now, start: looking.start() };
        if let Some(typed) = &self.thread {
            let id = looking.find(typed)?;
            let found = whole.thread(reader, &id).map_err(|fault| looking.fault(&fault))?;
            let Some(thread) = found else {
                return Err(screen.fail(CommandExit::Usage, format!("thread {} has no record", id.as_str())));
            };
            let mut standing =
                ThreadWaits::of(reader, &whole, &posts, &thread).map_err(|fault| looking.fault(&fault))?;
            standing.name_goals(&runs).map_err(|fault| looking.fault(&fault))?;
            if screen.json {
                screen.value(&as_json(&standing, looking.running, looking.now));
            } else {
                report(&standing, &asker).iter().for_each(|line| screen.drawn(line));
                say_who_is_missing(&looking, &[standing]);
            }
            return Ok(CommandExit::Done);
        }
        let standings =
            whole.waiting().into_iter().map(|thread| ThreadWaits::of(reader, &whole, &posts, thread));
        let mut standings: Vec<ThreadWaits> =
            standings.collect::<Result<_, _>>().map_err(|fault| looking.fault(&fault))?;
        for standing in &mut standings {
            standing.name_goals(&runs).map_err(|fault| looking.fault(&fault))?;
        }
        let waits = why::waits(&standings, looking.now);
        let paused = looking.all_paused(&whole)?;
        if screen.json {
            let waits: Vec<Value> = waits.iter().map(|wait| wait_json(wait, looking.now)).collect();
            let paused = paused.as_ref().map(ThreadPause::as_json);
            screen.value(&json!({"running": looking.running, "paused": paused, "waits": waits}));
            return Ok(CommandExit::Done);
        }
        let mut lines = why::in_lines(&waits, looking.now);
        if lines.iter().any(|line| width(line) > layout::columns()) {
            lines = why::broken(&waits, looking.now);
        }
        lines.iter().for_each(|line| screen.drawn(line));
        if waits.is_empty() {
            screen.say("nothing waits; systole ps lists the threads that rest or have ended");
        }
        looking.say_if_paused(paused.as_ref());
        say_who_is_missing(&looking, &standings);
        looking.say_if_still(!waits.is_empty());
        Ok(CommandExit::Done)
    }
}

/// Reports listeners over NATS that calls wait for but that have no worker. It asks the broker only if a call waits
/// for a listener.
fn say_who_is_missing(looking: &Looking, standings: &[ThreadWaits]) {
    let leaves = standings.iter().flat_map(ThreadWaits::leaves);
    let waited_for: BTreeSet<&str> = leaves
        .filter(|leaf| {
            matches!(leaf.cause, CallWait::Out { .. } | CallWait::Queued { .. } | CallWait::BackOff { .. })
        })
        .map(|leaf| leaf.listener.as_str())
        .collect();
    if waited_for.is_empty() {
        return;
    }
    let workers = looking.workers();
    for name in waited_for.into_iter().filter(|name| workers.get(*name) == Some(&0)) {
        looking.screen.say(format!("{name}: no worker of that name answers at the broker; start one"));
    }
}

fn wait_json(wait: &ListedWait, now: Millis) -> Value {
    json!({
        "thread": wait.thread.as_str(),
        "since": wait.since.to_string(),
        "waited_ms": now.since(wait.since),
        "cause": wait.cause,
        "words": wait.what,
        "goal": wait.goal.as_ref().map(RunStep::as_json),
        "command": wait.command,
    })
}

fn as_json(standing: &ThreadWaits, running: Option<u32>, now: Millis) -> Value {
    json!({
        "thread": standing.thread.as_str(),
        "state": standing.state(),
        "paused": standing.paused.as_ref().map(ThreadPause::as_json),
        "running": running,
        "touched": standing.touched.to_string(),
        "waits": standing.life == ThreadState::Working,
        "timers": standing.timers.iter().map(kept_json).collect::<Vec<_>>(),
        "models": standing.models.iter().map(bought_json).collect::<Vec<_>>(),
        "times": standing.times.iter().map(|time| time_json(time, now)).collect::<Vec<_>>(),
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
