//! The peaceful end of a run: waits until only those waits are left that are meant to outlast the run, and
//! until every wait is named. `systole why` itself reports the waits, as for any user.

use std::collections::BTreeSet;
use std::process::Command;

use serde::Deserialize;

use super::house::RunFolder;
use super::life::LifeFault;

/// A wait as `systole why` names it.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct ReportedWait {
    /// The thread that waits.
    pub thread: String,
    /// The kind of wait.
    pub cause: String,
    /// What it waits for, in words.
    pub words: String,
}

#[derive(Deserialize)]
struct Answer {
    waits: Vec<ReportedWait>,
}

/// The kinds of waits that a run may leave behind: a person, a timer, an earlier message, and a paused
/// thread.
const NAMED: &[&str] = &["person", "awaiting", "held", "paused"];

/// All waits.
pub fn waits(house: &RunFolder) -> Result<Vec<ReportedWait>, LifeFault> {
    let machine = |error| LifeFault::Machine("cannot ask systole why", error);
    let mut command = Command::new(house.program());
    command.args(["why", "--json", "-f"]).arg(house.organism());
    let said = command.output().map_err(machine)?;
    if !said.status.success() {
        return Err(LifeFault::Unsaid(String::from_utf8_lossy(&said.stderr).trim().to_owned()));
    }
    let answer: Answer =
        serde_json::from_slice(&said.stdout).map_err(|error| LifeFault::Unsaid(error.to_string()))?;
    Ok(answer.waits)
}

/// Whether all waits are intended.
pub(crate) fn is_settled(waits: &[ReportedWait], left: &BTreeSet<String>) -> bool {
    waits.iter().all(|wait| left.contains(root_of(&wait.thread)))
}

/// The unintended waits, in words.
pub(crate) fn unsettled(waits: &[ReportedWait], left: &BTreeSet<String>) -> String {
    let others = waits.iter().filter(|wait| !left.contains(root_of(&wait.thread)));
    let words: Vec<String> = others.map(|wait| format!("{} {}", wait.thread, wait.words)).collect();
    words.join("; ")
}

/// Open calls whose wait `systole why` does not name, and waits of an unexpected kind.
pub(crate) fn unnamed<'o>(
    waits: &[ReportedWait],
    open: impl Iterator<Item = (&'o str, String)>,
) -> Vec<String> {
    let strange = waits.iter().filter(|wait| !NAMED.contains(&wait.cause.as_str()));
    let mut findings: Vec<String> = strange
        .map(|wait| format!("why  {} waits {}, which is not intended", wait.thread, wait.words))
        .collect();
    let named: BTreeSet<&str> = waits.iter().map(|wait| root_of(&wait.thread)).collect();
    let silent = open.filter(|(thread, _)| !named.contains(root_of(thread)));
    findings.extend(silent.map(|(thread, words)| format!("why  says nothing of {thread}: {words}")));
    findings
}

/// The root of a thread, from its id.
fn root_of(thread: &str) -> &str {
    thread.split('.').next().unwrap_or(thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(thread: &str, cause: &str) -> ReportedWait {
        ReportedWait { thread: thread.into(), cause: cause.into(), words: "for something".into() }
    }

    #[test]
    fn a_run_is_settled_when_nothing_waits_but_what_was_left() {
        let left = BTreeSet::from(["sess-1".to_owned()]);
        assert!(is_settled(&[wait("sess-1.c1", "awaiting"), wait("sess-1", "held")], &left));
        let waits = [wait("sess-1", "person"), wait("sess-2", "timer")];
        assert!(!is_settled(&waits, &left));
        assert_eq!(unsettled(&waits, &left), "sess-2 for something");
    }

    #[test]
    fn a_call_that_why_is_silent_about_is_found_and_a_cause_that_names_nothing_too() {
        let open = |threads: &'static [&str]| threads.iter().map(|thread| (*thread, "call 1".to_owned()));
        let named = [wait("sess-1", "person"), wait("sess-2", "awaiting")];
        assert_eq!(unnamed(&named, open(&["sess-1", "sess-1.c1", "sess-2.heat"])), Vec::<String>::new());
        assert_eq!(unnamed(&named, open(&["sess-3"])), ["why  says nothing of sess-3: call 1"]);
        for cause in ["unknown", "stopped", "out", "joining"] {
            let found = unnamed(&[wait("sess-1", cause)], open(&["sess-1"]));
            assert_eq!(found, ["why  sess-1 waits for something, which is not intended"], "{cause}");
        }
    }
}
