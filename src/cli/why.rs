//! `systole why`: every wait there is, or one thread in full.

use std::collections::BTreeSet;

use clap::Args;
use serde_json::{Value, json};

use super::exit::Exit;
use super::looking::Looking;
use super::place::Place;
use super::workflow::steps;
use crate::audit::columns::width;
use crate::audit::layout;
use crate::audit::pauses::Pause;
use crate::audit::posts::Posts;
use crate::audit::runs::{Goal, Progress, Runs};
use crate::audit::why::{
    self, Asker, Bought, Cause, Kept, Reason, Standing, Timed, Wait, brief, ends, report,
};
use systole_core::pump::state::Life;
use systole_core::types::time::Millis;

/// Which thread is asked about.
#[derive(Args, Debug)]
pub(super) struct Why {
    #[command(flatten)]
    place: Place,
    /// The thread: its id, its beginning, or @last; none: all at work
    thread: Option<String>,
}

impl Why {
    pub(super) fn run(self) -> Exit {
        self.tell().unwrap_or_else(|exit| exit)
    }

    fn tell(&self) -> Result<Exit, Exit> {
        let looking = Looking::open(&self.place)?;
        let whole = looking.whole()?;
        let posts = Posts::at(&whole, looking.now);
        let (reader, screen) = (&looking.reader, looking.screen);
        let runs = Runs::new(reader, &whole, &steps::said);
        let asker = Asker { now: looking.now, start: looking.start() };
        if let Some(typed) = &self.thread {
            let id = looking.find(typed)?;
            let found = whole.thread(reader, &id).map_err(|fault| looking.fault(&fault))?;
            let Some(thread) = found else {
                return Err(screen.fail(Exit::Usage, format!("thread {} has no record", id.as_str())));
            };
            let mut standing =
                Standing::of(reader, &whole, &posts, &thread).map_err(|fault| looking.fault(&fault))?;
            standing.name_goals(&runs).map_err(|fault| looking.fault(&fault))?;
            if screen.json {
                screen.value(&as_json(&standing, looking.running, looking.now));
            } else {
                report(&standing, &asker).iter().for_each(|line| screen.drawn(line));
                say_who_is_missing(&looking, &[standing]);
            }
            return Ok(Exit::Done);
        }
        let standings =
            whole.waiting().into_iter().map(|thread| Standing::of(reader, &whole, &posts, thread));
        let mut standings: Vec<Standing> =
            standings.collect::<Result<_, _>>().map_err(|fault| looking.fault(&fault))?;
        for standing in &mut standings {
            standing.name_goals(&runs).map_err(|fault| looking.fault(&fault))?;
        }
        let waits = why::waits(&standings, looking.now);
        let paused = looking.all_paused(&whole)?;
        if screen.json {
            let waits: Vec<Value> = waits.iter().map(|wait| wait_json(wait, looking.now)).collect();
            let paused = paused.as_ref().map(Pause::as_json);
            screen.value(&json!({"running": looking.running, "paused": paused, "waits": waits}));
            return Ok(Exit::Done);
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
        Ok(Exit::Done)
    }
}

/// Says which listeners over NATS are waited for though nobody answers to their names. The broker is asked only where
/// somebody waits for a listener.
fn say_who_is_missing(looking: &Looking, standings: &[Standing]) {
    let leaves = standings.iter().flat_map(Standing::leaves);
    let waited_for: BTreeSet<&str> = leaves
        .filter(|leaf| matches!(leaf.cause, Cause::Out { .. } | Cause::Queued { .. } | Cause::BackOff { .. }))
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

fn wait_json(wait: &Wait, now: Millis) -> Value {
    json!({
        "thread": wait.thread.as_str(),
        "since": wait.since.to_string(),
        "waited_ms": now.since(wait.since),
        "cause": wait.cause,
        "words": wait.what,
        "goal": wait.goal.as_ref().map(Goal::as_json),
        "command": wait.command,
    })
}

fn as_json(standing: &Standing, running: Option<u32>, now: Millis) -> Value {
    json!({
        "thread": standing.thread.as_str(),
        "state": standing.state(),
        "paused": standing.paused.as_ref().map(Pause::as_json),
        "running": running,
        "touched": standing.touched.to_string(),
        "waits": standing.life == Life::Working,
        "timers": standing.timers.iter().map(kept_json).collect::<Vec<_>>(),
        "models": standing.models.iter().map(bought_json).collect::<Vec<_>>(),
        "times": standing.times.iter().map(|time| time_json(time, now)).collect::<Vec<_>>(),
        "reasons": standing.reasons.iter().map(|reason| reason_json(reason, now)).collect::<Vec<_>>(),
    })
}

fn kept_json(timer: &Kept) -> Value {
    json!({"id": timer.id.as_str(), "listener": timer.listener.as_str(), "due": timer.due.to_string()})
}

fn bought_json(bought: &Bought) -> Value {
    json!({
        "call": bought.call.as_str(),
        "tokens": bought.used.tokens,
        "tokens_limit": bought.tokens,
        "money": bought.used.spent.money().map(|money| money.to_string()),
        "money_limit": bought.money.map(|money| money.to_string()),
    })
}

fn time_json(time: &Timed, now: Millis) -> Value {
    json!({
        "call": time.call.as_str(),
        "runs": time.runs.is_some(),
        "used_ms": time.used_ms(now),
        "limit_ms": time.limit_ms,
    })
}

fn reason_json(reason: &Reason, now: Millis) -> Value {
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
        "goal": reason.goal.as_ref().map(Goal::as_json),
        "steps": reason.steps.iter().map(Progress::as_json).collect::<Vec<_>>(),
        "ends": ends(reason, now),
        "attempt": reason.attempt,
        "attempts": reason.attempts,
        "program": reason.program.as_ref().map(|program| &program.run),
        "failures": failures.collect::<Vec<_>>(),
        "log_from": reason.told_from,
        "below": reason.below.iter().map(|below| reason_json(below, now)).collect::<Vec<_>>(),
    })
}
