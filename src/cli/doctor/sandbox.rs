//! What this machine has for sandboxes. It starts one at each level and lets a helper of ours try to get out: no version
//! and no file of the system is believed.

use systole_sandbox::{ProbeAttempt, SandboxProbe, try_everything};

use super::Finding;
use systole_system::system;

const WITHOUT: &str = "only listeners with `sandbox` need it: a kernel with Landlock, Linux 5.13 or newer";
const NO_NAMESPACES: &str = "allow user namespaces to this user, for level full; on Ubuntu with sysctl \
                             kernel.apparmor_restrict_unprivileged_userns=0";

/// Tries both levels.
pub(super) fn examine_sandbox() -> Vec<Finding> {
    match system::find_own_program() {
        Some(helper) => judge_probe(&try_everything(&helper)),
        None => vec![Finding::new_note("sandbox", "the program systole is not beside this one", WITHOUT)],
    }
}

fn judge_probe(probe: &SandboxProbe) -> Vec<Finding> {
    let landlock = probe.landlock_abi.map(|abi| format!("Landlock version {abi}"));
    let landlock = landlock.unwrap_or_else(|| "no Landlock".to_owned());
    let full = match &probe.full {
        Some(Ok(tried)) => {
            Finding::new_good("sandbox", format!("level full, {landlock}: {}", describe_attempts(tried)))
        }
        Some(Err(why)) => Finding::new_note("sandbox", format!("not level full: {why}"), NO_NAMESPACES),
        None => return Vec::new(),
    };
    let second = match &probe.landlock {
        Some(Ok(tried)) if probe.full.as_ref().is_some_and(Result::is_ok) => Finding::new_good(
            "sandbox",
            format!("level landlock, not needed here: {}", describe_attempts(tried)),
        ),
        Some(Ok(tried)) => {
            Finding::new_good("sandbox", format!("level landlock, {landlock}: {}", describe_attempts(tried)))
        }
        Some(Err(why)) => Finding::new_note("sandbox", format!("not level landlock: {why}"), WITHOUT),
        None => return vec![full],
    };
    vec![full, second]
}

/// How many attempts were refused, and which were not.
fn describe_attempts(tried: &[ProbeAttempt]) -> String {
    let possible: Vec<&str> =
        tried.iter().filter(|attempt| attempt.succeeded).map(|attempt| attempt.what.as_str()).collect();
    let count = tried.len();
    let refused = count - possible.len();
    match possible.is_empty() {
        true => format!("all {count} ways out that were tried are refused"),
        false => format!(
            "{refused} of {count} ways out that were tried are refused; a program can still {}",
            possible.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_possible_is_listed() {
        let attempt = |what: &str, succeeded| ProbeAttempt { what: what.to_owned(), succeeded };
        let tried = vec![attempt("open a socket", false), attempt("see a file outside", true)];
        let words = "1 of 2 ways out that were tried are refused; a program can still see a file outside";
        assert_eq!(describe_attempts(&tried), words);
        let (full, landlock) = (Some(Err("no namespaces".to_owned())), Some(Ok(tried)));
        let found = judge_probe(&SandboxProbe { landlock_abi: Some(7), full, landlock });
        assert_eq!(found[0].word(), "note");
        assert_eq!(found[1].words, format!("level landlock, Landlock version 7: {words}"));
        let (full, landlock) = (Some(Err("none".to_owned())), Some(Err("none".to_owned())));
        let found = judge_probe(&SandboxProbe { landlock_abi: None, full, landlock });
        assert!(found.iter().all(|finding| finding.word() == "note"));
    }
}
