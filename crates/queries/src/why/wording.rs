//! The reasons of one thread in words: a few lines for each open call, with what ends the wait.
//!
//! It does not decide the reason. Reasons and a moment come in; lines that fit the layout go out,
//! with all program output made visible.

use super::kinds::{attempt_of, words};
use super::{CallWait, FailedAttempt, ModelUse, ThreadWaits, WaitReason};
use crate::first_cause::FirstCause;
use crate::limits;
use crate::thread_end::ThreadStatus;
use systole_core::pump::state::ThreadState;
use systole_core::types::composition::ListenerProgram;
use systole_core::types::ids::ThreadId;
use systole_core::types::time::{Millis, spell_duration};
use systole_show::clocks;
use systole_show::columns::{self, at_most, cut, plain, wrapped};
use systole_show::layout::{self, TextTone, paint};

/// The asker's context.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// The moment of asking.
    pub now: Millis,
    /// The command that starts the organism; `None` while it runs.
    pub start: Option<&'a str>,
    /// Whether to list each call that a failure went through.
    pub all: bool,
}

/// What a call waits for, in a few words without its listener's name.
pub fn brief(reason: &WaitReason, now: Millis) -> String {
    words(reason, now).brief
}

/// The same, in colour if it waits for a person.
pub fn draw_reason(reason: &WaitReason, now: Millis) -> String {
    let brief = brief(reason, now);
    if reason.cause.is_up_to_a_person() { paint(TextTone::Held, &brief) } else { brief }
}

/// What ends the wait, as a sentence; `None` if the work below ends it.
pub fn ends(reason: &WaitReason, now: Millis) -> Option<String> {
    words(reason, now).ends
}

/// One thread in full: a line for each open call, under its caller, and what to do next.
pub fn report(standing: &ThreadWaits, asker: &Asker<'_>) -> Vec<String> {
    let now = asker.now;
    let ago = clocks::spell_since(standing.touched, now);
    let id = standing.thread.as_str();
    let mut lines = match (&standing.paused, standing.life) {
        (Some(pause), life) => {
            let sentence = format!("  is {}", pause.sentence(&standing.thread, now));
            let mut lines = wrapped(id, 2, &sentence);
            if life == ThreadState::Resting {
                lines.extend(wrapped("  ", 4, "the next message is recorded, and waits until it is resumed"));
            }
            lines
        }
        (None, ThreadState::Ended) => {
            wrapped(id, 2, &format!("  ended at {}", layout::moment(standing.touched, now)))
        }
        (None, ThreadState::Resting) => {
            let text = format!("  rests since {ago}; the next message continues it");
            wrapped(id, 2, &text)
        }
        (None, ThreadState::Working) => {
            let since = waits_since(standing);
            let waited = match standing.leaves().as_slice() {
                // The reason itself says how long it is out.
                [WaitReason { cause: CallWait::Out { .. }, .. }] => String::new(),
                _ => format!(", for {}", clocks::spell_since(since, now)),
            };
            wrapped(id, 2, &format!("  waits since {}{waited}", layout::moment(since, now)))
        }
    };
    if let Some(cause) = standing.failure() {
        lines.extend(failed_with(standing.status(), cause, asker.all));
    }
    lines.extend(standing.links.lines().iter().flat_map(|line| wrapped("  ", 4, line)));
    let next = next(standing);
    let said = Said { standing, next: &next, start: asker.start, now };
    for timer in &standing.timers {
        let due =
            format!(" at {}, in {}", layout::moment(timer.due, now), clocks::spell_until(timer.due, now));
        let listener = cut(timer.listener.as_str(), 32);
        let text = format!("timer {}{due} opens a call of {listener}", timer.id.as_str());
        lines.extend(wrapped("  ", 4, &text));
    }
    for bought in &standing.models {
        lines.extend(wrapped("  ", 4, &models(bought)));
    }
    for time in &standing.times {
        let (used, limit) = (spell_duration(time.used_ms(now)), spell_duration(time.limit_ms));
        let rest = if time.runs.is_some() { "" } else { ", not counted while this lasts" };
        lines.extend(wrapped("  ", 4, &format!("time: {used} of {limit} used{rest}")));
    }
    for reason in &standing.reasons {
        said.tell_reason(&mut lines, reason, 0, &standing.thread);
    }
    if (standing.life == ThreadState::Working || !standing.timers.is_empty())
        && let Some(start) = asker.start
    {
        lines.extend(wrapped("", 2, &format!("no organism runs on this log; it goes on with: {start}")));
    }
    lines.extend(wrapped("next:", 2, &next));
    lines
}

/// Why the last call failed or was cancelled: the first cause, then where it happened.
fn failed_with(status: ThreadStatus, cause: &FirstCause, all: bool) -> Vec<String> {
    let lead = match status {
        ThreadStatus::Cancelled => "  cancelled:".to_owned(),
        _ => format!("  {}", paint(TextTone::Bad, "failed:")),
    };
    let mut lines = at_most(limits::WORD_LINES, wrapped(&lead, 4, &cause.line()));
    let at = cause.at().filter(|_| !all).map(|at| wrapped("  at:", 4, &at));
    lines.extend(at.map_or_else(Vec::new, |at| at_most(limits::WORD_LINES, at)));
    if all {
        lines.extend(cause.chain().iter().map(|place| format!("    {place}")));
    }
    lines
}

/// Since when a thread at work waits.
fn waits_since(standing: &ThreadWaits) -> Millis {
    standing.leaves().iter().map(|leaf| leaf.since).min().unwrap_or(standing.touched)
}

/// The model use of a message, and its limits.
fn models(bought: &ModelUse) -> String {
    let of = |used: String, limit: Option<String>| match limit {
        Some(limit) => format!("{used} of {limit}"),
        None => used,
    };
    let tokens = of(bought.used.tokens.to_string(), bought.tokens.map(|most| most.to_string()));
    let spent = bought.used.spent.money().map(|money| money.to_string());
    let limit = bought.money.map(|most| most.to_string());
    let money = (spent.is_some() || limit.is_some()).then(|| of(spent.unwrap_or_else(|| "0".into()), limit));
    let money = money.map_or_else(String::new, |money| format!(", {money}"));
    format!("models: {tokens} tokens{money} used or kept")
}

fn next(standing: &ThreadWaits) -> String {
    let id = standing.thread.as_str();
    if let Some(pause) = &standing.paused {
        return pause.command();
    }
    match standing.life {
        ThreadState::Ended => of_failure(standing).unwrap_or_else(|| format!("systole log {id}")),
        ThreadState::Resting => {
            let look = of_failure(standing).unwrap_or_else(|| format!("systole log {id}"));
            format!("systole send --thread {id}, or {look}")
        }
        ThreadState::Working => {
            let leaves = standing.leaves();
            // The moment does not matter to a command.
            let first = leaves.first().map(|leaf| words(leaf, standing.touched));
            if let Some((command, ends)) = first.and_then(|words| Some((words.command?, words.ends))) {
                // With the alternatives, if they are known.
                return ends.filter(|ends| ends.starts_with(&command)).unwrap_or(command);
            }
            let (thread, from) = leaves
                .first()
                .map_or((&standing.thread, standing.seq), |leaf| (&leaf.thread, leaf.told_from));
            format!("systole log {} --from {from}", thread.as_str())
        }
    }
}

/// The commands that say more of a failure.
fn of_failure(standing: &ThreadWaits) -> Option<String> {
    standing.failure()?.more(standing.thread.as_str())
}

/// What the other lines already say about a thread, so that the line of a call need not repeat it.
struct Said<'a> {
    standing: &'a ThreadWaits,
    /// What to do next.
    next: &'a str,
    /// The command that starts the organism, if it does not run.
    start: Option<&'a str>,
    now: Millis,
}

impl Said<'_> {
    /// The state of a call, in a few words.
    fn brief(&self, reason: &WaitReason) -> String {
        let is_said = match reason.cause {
            CallWait::Stopped => self.start.is_some(),
            CallWait::Paused { .. } => self.standing.paused.is_some(),
            _ => false,
        };
        if is_said { attempt_of(reason) } else { draw_reason(reason, self.now) }
    }

    /// Whether the first line says since when.
    fn says_since(&self, reason: &WaitReason) -> bool {
        self.standing.paused.is_none() && reason.since == waits_since(self.standing)
    }

    /// A reason and those below it.
    fn tell_reason(&self, lines: &mut Vec<String>, reason: &WaitReason, depth: usize, above: &ThreadId) {
        let now = self.now;
        // There are at most sixteen levels; past ten a line would have no room for its words.
        let margin = 2 * depth.min(10);
        let mut lead = " ".repeat(margin);
        lead.push_str(if depth == 0 { "" } else { "└─ " });
        // Below a top call notes are indented too, so that calls stand out.
        let indent = columns::width(&lead).max(2);
        lead.push_str(&paint(TextTone::Name, &cut(reason.listener.as_str(), 32)));
        let mut text = String::new();
        if reason.thread != *above {
            text.extend(["in its own thread ", reason.thread.as_str(), ", "]);
        }
        match &reason.cause {
            CallWait::Held { .. } | CallWait::Person { .. } | CallWait::Question { .. } => {
                text.push_str(&self.brief(reason));
            }
            CallWait::Joining { .. } | CallWait::Awaiting { .. } => {
                text.extend(["is in ", &turn_of(reason), ", ", &self.brief(reason)]);
            }
            _ if reason.turn > 1 => text.extend(["is in ", &turn_of(reason), ", ", &self.brief(reason)]),
            _ => text.extend([" ", &self.brief(reason)]),
        }
        text.extend([" (call ", reason.call.as_str(), ")"]);
        lines.extend(wrapped(&lead, indent, &text));
        let note = |lines: &mut Vec<String>, lead: &str, text: &str| {
            let lead = format!("{}{lead}", " ".repeat(indent));
            lines.extend(at_most(limits::WORD_LINES, wrapped(&lead, indent + 2, text)));
        };
        if let Some(goal) = &reason.goal {
            note(lines, "goal: ", &goal.describe_step());
        }
        for step in &reason.steps {
            note(lines, "step: ", &step.describe_progress());
        }
        let waits_for_program = matches!(
            reason.cause,
            CallWait::Out { .. }
                | CallWait::BackOff { .. }
                | CallWait::Queued { .. }
                | CallWait::Away { .. }
                | CallWait::Stopped
        );
        if let Some(program) = reason.program.as_ref().filter(|_| waits_for_program) {
            note(lines, "program:", &plain(&program.command()));
        }
        // The end of the last attempt is shown below.
        let is_said =
            |away: &str| reason.failures.last().is_some_and(|last| plain(&last.words) == plain(away));
        if let Some(away) = reason.away.as_ref().filter(|away| waits_for_program && !is_said(away)) {
            note(lines, "listener:", &plain(away));
        }
        if let CallWait::Person { element, fields, .. } = &reason.cause {
            note(lines, "payload:", &format!("<{element}> {fields}"));
        }
        if let CallWait::Question { words, .. } = &reason.cause {
            note(lines, "question:", words);
        }
        if matches!(reason.cause, CallWait::Out { .. }) && !self.says_since(reason) {
            note(lines, "since:", &layout::moment(reason.since, now));
        }
        if let Some(last) = reason.failures.last() {
            note(lines, &paint(TextTone::Bad, "before:"), &describe_failures(&reason.failures, last));
            if let Some(fix) = reason.program.as_ref().and_then(|p| missing_variable(p, reason, &last.words))
            {
                note(lines, "try:", &fix);
            }
        }
        if let Some(text) = ends(reason, now).filter(|text| text != self.next) {
            note(lines, "ends with:", &text);
        }
        for below in &reason.below {
            self.tell_reason(lines, below, depth + 1, &reason.thread);
        }
    }
}

/// The last failure, and how often it happened.
fn describe_failures(all: &[FailedAttempt], last: &FailedAttempt) -> String {
    let alike = all.iter().rev().take_while(|f| f.code == last.code).count();
    let (how, said) = match last.words.split_once("; last words on stderr: ") {
        Some((how, said)) => (how, said.lines().rfind(|line| !line.trim().is_empty())),
        None => (last.words.as_str(), None),
    };
    let mut text = plain(how);
    match alike {
        0 | 1 => {}
        2 => text.push_str(", twice"),
        more => text.extend([", ", &more.to_string(), " times"]),
    }
    // The last line of a program's output says most; the log has the earlier ones.
    if let Some(said) = said {
        text.extend(["; last words on stderr: ", &plain(said)]);
    }
    text
}

/// A program that lacks a variable it is not given: the most common reason why a program works in a
/// terminal but not here.
fn missing_variable(program: &ListenerProgram, reason: &WaitReason, words: &str) -> Option<String> {
    let complains = ["KeyError", "unbound", "parameter not set", "environment variable", "env var"];
    if !complains.iter().any(|sign| words.contains(sign)) {
        return None;
    }
    let is_word = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let name = words
        .split(|c| !is_word(c))
        .rfind(|word| word.len() > 2 && word.starts_with(|c: char| c.is_ascii_uppercase()))?;
    if program.env.contains_key(name) || program.pass.iter().any(|passed| passed == name) {
        return None;
    }
    let listener = reason.listener.as_str();
    Some(format!(
        "the program sees only PATH, HOME, LANG, TZ; name {} under listeners.{listener}.pass",
        cut(name, 40)
    ))
}

/// The turn, and why it is the last, if it is.
fn turn_of(reason: &WaitReason) -> String {
    match reason.wraps_up {
        Some(code) => format!("its wrap-up turn, {}", code.as_str()),
        None => format!("turn {}", reason.turn),
    }
}
