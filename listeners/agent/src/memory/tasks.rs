//! The outcome of a task, as the agent that gave it sees it: its result, or why there is none.
//!
//! Payloads of the core come in; text goes out. Each result is shown once, with its task.

use systole_kit::{Payload, namespaces};

use super::event::is_spawned;
use crate::goal;
use crate::show::{TextMark, write_words};

/// Shown for a task that is still running, if the wait for it was ended by something else.
pub(super) const RUNS: &str = "The task still runs. Its end reaches you as <thread-finished>.";

/// The child thread that an answer reports as started.
pub(super) fn read_started(answer: &Payload) -> Option<String> {
    is_spawned(answer).then(|| answer.find_attribute("assigned_id"))?
}

/// The child thread that ended.
pub(super) fn read_ended(arrival: &Payload) -> Option<String> {
    arrival.name().is_named(namespaces::CORE, "thread-finished").then(|| arrival.find_attribute("id"))?
}

/// The result of a finished task, and whether the task failed.
pub(super) fn read_result(end: &Payload, mark: &TextMark) -> (String, bool) {
    let outcome = end.find_attribute("outcome").unwrap_or_default();
    let inside = end.parse_child().ok();
    let is = |payload: &Payload, local: &str| payload.name().is_named(namespaces::CORE, local);
    let (words, failed) = match inside {
        Some(output) if outcome == "answered" && goal::is_output(output.name()) => (output.text(), false),
        Some(report) if outcome == "answered" && is(&report, "final-report") => {
            let said = |name: &str, value: &str| report.find_attribute(name).as_deref() == Some(value);
            let is_answer = said("source", "model") && !said("outcome", "failure");
            (
                if is_answer { report.text() } else { format!("Error: The task failed: {}", report.text()) },
                !is_answer,
            )
        }
        Some(error) if is(&error, "system-error") => {
            let code = error.find_attribute("code").unwrap_or_default();
            let message = error.find_attribute("message").unwrap_or_default();
            (format!("Error: The task failed: {code}: {message}"), true)
        }
        Some(other) => (write_words(&other), outcome != "answered"),
        None => (format!("Error: The task ended without a result: {outcome}"), true),
    };
    (mark.cover_mark(words.trim()), failed)
}
