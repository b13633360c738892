//! `systole why`: what every working thread waits for, or one thread in full.

use clap::Args;
use serde_json::{Value, json};

use super::exit::Exit;
use super::looking::Looking;
use super::place::Place;
use crate::audit::posts::Posts;
use crate::audit::why::{Asker, Kept, Reason, Standing, brief, ends, line, report};
use crate::pump::state::Life;
use crate::words::time::Millis;

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
        let asker = Asker { now: looking.now, start: looking.start() };
        if let Some(typed) = &self.thread {
            let id = looking.find(typed)?;
            let found = whole.thread(reader, &id).map_err(|fault| looking.fault(&fault))?;
            let Some(thread) = found else {
                return Err(screen.fail(Exit::Usage, ["thread ", id.as_str(), " has no record"].concat()));
            };
            let standing =
                Standing::of(reader, &whole, &posts, &thread).map_err(|fault| looking.fault(&fault))?;
            if screen.json {
                screen.value(&as_json(&standing, looking.running, looking.now));
            } else {
                report(&standing, &asker).iter().for_each(|line| screen.drawn(line));
            }
            return Ok(Exit::Done);
        }
        let mut working = 0;
        for thread in whole.working().into_iter().filter(|thread| thread.id.parent().is_none()) {
            let standing =
                Standing::of(reader, &whole, &posts, thread).map_err(|fault| looking.fault(&fault))?;
            working += 1;
            if screen.json {
                screen.value(&as_json(&standing, looking.running, looking.now));
            } else {
                line(&standing, &asker).iter().for_each(|line| screen.drawn(line));
            }
        }
        if working == 0 && !screen.json {
            screen.say("no thread is at work; systole ps lists those that rest or have ended");
        }
        if !screen.json {
            looking.say_if_still();
        }
        Ok(Exit::Done)
    }
}

fn as_json(standing: &Standing, running: Option<u32>, now: Millis) -> Value {
    json!({
        "thread": standing.thread.as_str(),
        "state": standing.life.as_str(),
        "running": running,
        "touched": standing.touched.to_string(),
        "waits": standing.life == Life::Working,
        "timers": standing.timers.iter().map(kept_json).collect::<Vec<_>>(),
        "reasons": standing.reasons.iter().map(|reason| reason_json(reason, now)).collect::<Vec<_>>(),
    })
}

fn kept_json(timer: &Kept) -> Value {
    json!({"id": timer.id.as_str(), "listener": timer.listener.as_str(), "due": timer.due.to_string()})
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
        "ends": ends(reason, now),
        "attempt": reason.attempt,
        "attempts": reason.attempts,
        "program": reason.program.as_ref().map(|program| &program.run),
        "failures": failures.collect::<Vec<_>>(),
        "log_from": reason.told_from,
        "below": reason.below.iter().map(|below| reason_json(below, now)).collect::<Vec<_>>(),
    })
}
