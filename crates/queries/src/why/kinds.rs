//! The kinds of waits: what a call can wait for, and the words for each. A new kind is added here, and
//! in the parent, which tells the kinds apart.
//!
//! It does not decide the reason. A reason and a moment come in; words go out, unbroken, with all
//! program output made visible.

use super::WaitReason;
use crate::posts::{FullQueue, Outage};
use systole_core::rules::outage_words;
use systole_core::rules::question;
use systole_core::types::ids::{CallPath, Digest, ThreadId, TimerId};
use systole_core::types::limits;
use systole_core::types::person::PersonRequestId;
use systole_core::types::time::{Millis, spell_duration};
use systole_show::clocks;
use systole_show::columns::plain;
use systole_show::layout;

/// What a call waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallWait {
    /// An earlier top call of its thread.
    Held {
        /// The open call.
        behind: CallPath,
    },
    /// A person's decision.
    Person {
        /// The request for approval.
        id: PersonRequestId,
        /// The waiting element.
        element: String,
        /// Its fields, on one line.
        fields: String,
        /// The hash of the waiting payload.
        hash: Digest,
        /// When it expires.
        until: Millis,
        /// What is unknown, if another attempt waits.
        unknown: Option<String>,
    },
    /// A person's answer to a question. The reason is listed below the asking call.
    Question {
        /// The request.
        id: PersonRequestId,
        /// The text of the question.
        words: String,
        /// The possible answers.
        choices: Vec<String>,
        /// The hash of the question with everything that it shows.
        hash: Digest,
        /// When it expires.
        until: Millis,
    },
    /// A person who resumes its thread.
    Paused {
        /// The paused thread; `sys` if everything is paused.
        by: ThreadId,
    },
    /// Answers to its items; open work is listed below.
    Joining {
        /// The number of answered items.
        answered: usize,
        /// The number of all items.
        items: usize,
    },
    /// Threads that it spawned; open ones are listed below.
    Awaiting {
        /// How many of them have finished.
        finished: usize,
        /// How many must finish.
        enough: usize,
        /// Its next timer, which also ends the wait.
        timer: Option<(TimerId, Millis)>,
    },
    /// Its next attempt, after a failed one.
    BackOff {
        /// When the next attempt may go out.
        until: Millis,
    },
    /// A slot of its listener.
    Queued {
        /// Its place, from 1.
        place: usize,
        /// The number of slots, all taken.
        slots: usize,
        /// The queue of its client, if that is almost full.
        full: Option<FullQueue>,
    },
    /// Someone who is away.
    Away {
        /// Who, and how many wait.
        outage: Outage,
    },
    /// Its listener's reply.
    Out {
        /// When the attempt ends at the latest; `None` if the configuration cannot be read.
        deadline: Option<Millis>,
        /// The longest allowed silence.
        idle_ms: Option<u64>,
        /// What happens then.
        then: AfterAttempt,
    },
    /// A person who starts the organism.
    Stopped,
    /// Unknown: the configuration is gone.
    Unknown {
        /// Why.
        why: String,
    },
}

impl CallWait {
    /// The word for programs.
    pub const fn as_str(&self) -> &'static str {
        match self {
            CallWait::Held { .. } => "held",
            CallWait::Person { .. } | CallWait::Question { .. } => "person",
            CallWait::Paused { .. } => "paused",
            CallWait::Joining { .. } => "joining",
            CallWait::Awaiting { .. } => "awaiting",
            CallWait::BackOff { .. } => "back-off",
            CallWait::Queued { .. } => "queued",
            CallWait::Away { .. } => "outage",
            CallWait::Out { .. } => "out",
            CallWait::Stopped => "stopped",
            CallWait::Unknown { .. } => "unknown",
        }
    }

    /// Whether a turn is out or due.
    pub(crate) const fn is_due(&self) -> bool {
        matches!(self, CallWait::Out { .. } | CallWait::Queued { .. } | CallWait::Stopped)
    }

    /// Whether only a person can end it.
    pub(crate) const fn is_up_to_a_person(&self) -> bool {
        matches!(self, CallWait::Person { .. } | CallWait::Question { .. } | CallWait::Paused { .. })
    }

    /// Whether it may last as long as it likes: a person decides, or a timer is set.
    pub const fn may_last(&self) -> bool {
        matches!(
            self,
            CallWait::Person { .. } | CallWait::Question { .. } | CallWait::Awaiting { timer: Some(_), .. }
        )
    }

    /// Whether it ends when the work below it ends.
    pub(super) const fn joins(&self) -> bool {
        matches!(self, CallWait::Joining { .. } | CallWait::Awaiting { .. })
    }
}

/// What follows an attempt without a reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterAttempt {
    /// Another attempt.
    Attempt(u32),
    /// The call closes as failed.
    Fails,
    /// A person is asked.
    Asks,
}

/// A reason in words.
pub(super) struct WaitWords {
    /// What the call waits for, without its listener's name.
    pub(super) brief: String,
    /// The same for a list of waits: `for …`.
    pub(super) wait: String,
    /// What ends the wait, as a sentence; `None` if the work below ends it.
    pub(super) ends: Option<String>,
    /// The command that ends it, if there is one.
    pub(super) command: Option<String>,
}

impl WaitWords {
    /// Words that name the listener in a list, without what ends the wait.
    fn of(reason: &WaitReason, brief: String) -> WaitWords {
        let wait = format!("for {}: {brief}", reason.listener.as_str());
        WaitWords { brief, wait, ends: None, command: None }
    }

    fn waiting(mut self, wait: String) -> WaitWords {
        self.wait = wait;
        self
    }

    fn ending(mut self, ends: impl Into<Option<String>>) -> WaitWords {
        self.ends = ends.into();
        self
    }

    fn by(mut self, command: String) -> WaitWords {
        self.command = Some(command);
        self
    }
}

/// Puts a reason into words.
pub(super) fn words(reason: &WaitReason, now: Millis) -> WaitWords {
    let attempt = attempt_of(reason);
    let told = |brief: String| WaitWords::of(reason, brief);
    match &reason.cause {
        CallWait::Held { behind } => {
            let wait = format!("for call {} of the same thread, which came first", behind.as_str());
            told(format!("is held until call {} is over", behind.as_str())).waiting(wait)
        }
        CallWait::Person { id, element, until, unknown, .. } => {
            for_person(reason, (*id, element, *until), unknown.as_deref(), now)
        }
        CallWait::Question { id, choices, until, .. } => for_answer(reason, *id, (choices, *until), now),
        CallWait::Paused { by } => {
            let (whose, which) = match by.is_sys() {
                true => ("everything".to_owned(), "--all"),
                false => (format!("thread {}", by.as_str()), by.as_str()),
            };
            let command = format!("systole resume {which}");
            let wait = format!("for a person who resumes {whose}");
            let words = told(format!("waits while {whose} is paused, {attempt}")).waiting(wait);
            words.ending(command.clone()).by(command)
        }
        CallWait::Joining { answered, items } => {
            let calls = if *items == 1 { " item" } else { " items" };
            told(format!("{answered} of {items}{calls} answered"))
        }
        CallWait::Awaiting { finished, enough, timer } => {
            awaiting(reason, *finished, *enough, timer.as_ref(), now)
        }
        CallWait::BackOff { until } => {
            let ends = format!("attempt {} at {}", reason.attempt, layout::moment(*until, now));
            told(format!("{attempt} in back-off for {}", clocks::spell_until(*until, now))).ending(ends)
        }
        CallWait::Queued { place, slots, full } => {
            let listener = reason.listener.as_str();
            let full = full.as_ref().map_or_else(String::new, |full| format!("; {}", full.describe()));
            let ends =
                format!("a free slot; a larger in_flight of {listener} allows more deliveries at once{full}");
            told(format!("{attempt} waits for a slot, number {place} behind {slots} out")).ending(ends)
        }
        CallWait::Away { outage } => {
            let ends = outage_ends(&outage.word, reason);
            told(format!("waiting (outage): {}", away(outage, reason, now))).ending(ends)
        }
        CallWait::Out { deadline, idle_ms, then } => {
            let ends = deadline.map(|deadline| out_ends(deadline, *idle_ms, *then, now));
            let again = reason.again.as_ref().map_or_else(String::new, |pause| {
                let (model, left) = (plain(&pause.model), clocks::spell_until(pause.at, now));
                match pause.again {
                    _ if pause.at <= now => String::new(),
                    Some((number, most)) => {
                        format!("; model {model} is asked again in {left} ({number} of {most})")
                    }
                    None => format!("; model {model} is asked in {left}, as its `rate` allows"),
                }
            });
            let out = clocks::spell_since(reason.since, now);
            told(format!("{attempt} out for {out}{again}")).ending(ends)
        }
        CallWait::Stopped => told(format!("waits for the organism to run, {attempt}")),
        CallWait::Unknown { why } => told("its configuration cannot be read".to_owned())
            .ending(format!("nothing, as it stands: {}", plain(why))),
    }
}

/// `no worker takes work for weather: 12 calls, longest 2 m`.
fn away(outage: &Outage, reason: &WaitReason, now: Millis) -> String {
    let who = outage_words(&outage.word, &reason.listener);
    let calls = if outage.calls == 1 { "1 call".to_owned() } else { format!("{} calls", outage.calls) };
    format!("{who}: {calls}, longest {}", clocks::spell_since(outage.longest, now))
}

fn outage_ends(word: &str, reason: &WaitReason) -> String {
    match word {
        limits::WORKER_AWAY => {
            format!("a worker of {} that takes it; it costs no attempt until then", reason.listener)
        }
        limits::BROKER_AWAY => {
            "the broker, when it can be reached; it costs no attempt until then".to_owned()
        }
        limits::LISTENER_AWAY => {
            let to = &reason.listener;
            format!("a file with {to}, and a start with it; systole cancel --to {to} ends such calls")
        }
        limits::ELEMENT_AWAY => {
            let to = &reason.listener;
            format!("a file in which {to} takes it, and a start; systole cancel --to {to} ends such calls")
        }
        _ => {
            "its return: one of these calls is tried again from time to time; it costs no attempt".to_owned()
        }
    }
}

/// `for a person: approval a1 (shell, workspace), expires in 55 m`.
fn for_person(
    reason: &WaitReason,
    (id, element, until): (PersonRequestId, &str, Millis),
    unknown: Option<&str>,
    now: Millis,
) -> WaitWords {
    let (id, listener) = (id.to_string(), reason.listener.as_str());
    let left = left_until(until, now);
    let unclear = unknown.map_or_else(String::new, |words| format!("; what is unknown: {}", plain(words)));
    let wait = format!("for a person: approval {id} ({element}, {listener}){left}{unclear}");
    let brief = format!("waits for a person: approval {id}{left}{unclear}");
    let or = match unknown {
        Some(_) => ", for one more attempt,".to_owned(),
        None => format!(", amend {id}"),
    };
    let ends = format!("systole approve {id}{or} or reject {id}");
    let command = format!("systole approve {id}");
    WaitWords::of(reason, brief).waiting(wait).ending(ends).by(command)
}

/// `for a person: question a2 from planner, expires in 55 m`.
fn for_answer(
    reason: &WaitReason,
    id: PersonRequestId,
    (choices, until): (&[String], Millis),
    now: Millis,
) -> WaitWords {
    let (from, left) = (&reason.listener, left_until(until, now));
    let wait = format!("for a person: question {id} from {from}{left}");
    let brief = format!("waits for a person: question {id}{left}");
    WaitWords::of(reason, brief)
        .waiting(wait)
        .ending(question::spell_commands(id, choices))
        .by(question::spell_command(id, choices))
}

fn left_until(until: Millis, now: Millis) -> String {
    match until.count_since(now) {
        0 => ", expires now".to_owned(),
        // Seconds do not matter next to many minutes.
        left if left >= 600_000 => format!(", expires in {}", spell_duration(left - left % 60_000)),
        _ => format!(", expires in {}", clocks::spell_until(until, now)),
    }
}

fn awaiting(
    reason: &WaitReason,
    finished: usize,
    enough: usize,
    timer: Option<&(TimerId, Millis)>,
    now: Millis,
) -> WaitWords {
    let brief = match timer {
        Some((id, due)) if enough == 0 => {
            format!("awaits timer {}, due in {}", id.as_str(), clocks::spell_until(*due, now))
        }
        _ => {
            let threads = if enough == 1 { " thread" } else { " threads" };
            format!("awaits {enough}{threads}, {finished} finished")
        }
    };
    let ends = timer.map(|(id, due)| {
        let or = if enough > 0 { ", if the threads below have not finished before" } else { "" };
        format!("timer {} at {}{or}", id.as_str(), layout::moment(*due, now))
    });
    WaitWords::of(reason, brief).ending(ends)
}

fn out_ends(deadline: Millis, idle_ms: Option<u64>, then: AfterAttempt, now: Millis) -> String {
    let mut text = String::from("a reply");
    if let Some(idle) = idle_ms {
        text.extend([", silence for ", &spell_duration(idle)]);
    }
    text.extend([", or the timeout at ", &layout::moment(deadline, now)]);
    match deadline.count_since(now) {
        0 => text.push_str(" (now)"),
        _ => text.extend([" (in ", &clocks::spell_until(deadline, now), ")"]),
    }
    match then {
        AfterAttempt::Attempt(next) => text.extend(["; then attempt ", &next.to_string()]),
        AfterAttempt::Fails => text.push_str("; then the call fails"),
        AfterAttempt::Asks => text.push_str("; then a person is asked"),
    }
    text
}

/// The number of the attempt, and how many there may be.
pub(super) fn attempt_of(reason: &WaitReason) -> String {
    let of = reason.attempts.max(reason.attempt);
    format!("attempt {} of {of}", reason.attempt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::ModelPause;
    use systole_core::types::ids::{Name, ThreadId};

    #[test]
    fn a_model_that_is_asked_again_is_named_with_the_time_and_the_number() {
        let cause = CallWait::Out { deadline: None, idle_ms: None, then: AfterAttempt::Fails };
        let again = ModelPause { model: "main".to_owned(), at: Millis(20_000), again: Some((4, 10)) };
        let mut reason = WaitReason {
            thread: ThreadId::parse("sess-0123456789ab").unwrap(),
            call: CallPath::new_top(1),
            listener: Name::parse("helper").unwrap(),
            wraps_up: None,
            turn: 1,
            since: Millis(10_000),
            cause,
            attempt: 1,
            attempts: 3,
            failures: Vec::new(),
            program: None,
            away: None,
            again: Some(again),
            told_from: 1,
            below: Vec::new(),
            goal: None,
            steps: Vec::new(),
        };
        let brief = words(&reason, Millis(12_000)).brief;
        assert_eq!(brief, "attempt 1 of 3 out for 2.0 s; model main is asked again in 8.0 s (4 of 10)");
        let brief = words(&reason, Millis(21_000)).brief;
        assert_eq!(
            brief, "attempt 1 of 3 out for 11 s",
            "the pause is over, and the model may be asked by now"
        );
        reason.again = Some(ModelPause { model: "main".to_owned(), at: Millis(20_000), again: None });
        let brief = words(&reason, Millis(12_000)).brief;
        assert_eq!(brief, "attempt 1 of 3 out for 2.0 s; model main is asked in 8.0 s, as its `rate` allows");
        let brief = words(&reason, Millis(21_000)).brief;
        assert_eq!(brief, "attempt 1 of 3 out for 11 s", "it is out by now");
    }
}
