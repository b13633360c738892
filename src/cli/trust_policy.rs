//! The policy that a command is given: the keys of logs and witnesses that its reader trusts.

use std::path::Path;

use systole_proof::key::VerifierKey;
use systole_proof::limits::POLICY_BYTES;
use systole_proof::policy::TrustPolicy;

use super::exit::CommandExit;
use super::screen::Screen;
use super::system_faults;
use systole_system::system;

/// Reads a policy.
pub(super) fn read_policy(screen: Screen, path: &Path) -> Result<TrustPolicy, CommandExit> {
    let bytes = system::read_bounded(path, POLICY_BYTES).map_err(|error| {
        system_faults::report_unread(screen, CommandExit::Usage, path, "a policy", &error)
    })?;
    TrustPolicy::parse(&bytes).map_err(|fault| {
        let fix = "a line `log KEY` with the key that systole keygen printed, and `quorum none`";
        screen.fail_with(CommandExit::Configuration, format!("{}: {fault}", path.display()), fix)
    })
}

/// The policy that trusts the key of one log, and needs no witness.
pub(super) fn build_policy(screen: Screen, key: &str) -> Result<TrustPolicy, CommandExit> {
    // A line break would begin another line of the policy.
    let is_line = !key.contains(char::is_whitespace);
    let read = TrustPolicy::parse(format!("log {key}\nquorum none\n").as_bytes());
    read.ok().filter(|_| is_line).ok_or_else(|| {
        let why = match VerifierKey::parse(key) {
            Ok(key) => format!("{} is the key of a witness", key.name()),
            Err(fault) => fault.to_string(),
        };
        let words = format!("--key: {why}");
        screen.refuse(words, "the line that systole keygen printed for the log, NAME+ID+BASE64")
    })
}
