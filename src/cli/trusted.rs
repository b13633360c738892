//! The policy that a command is given: the keys of logs and witnesses that its reader trusts.

use std::path::Path;

use systole_proof::limits::POLICY_BYTES;
use systole_proof::policy::TrustPolicy;

use super::exit::CommandExit;
use super::hindered;
use super::screen::Screen;
use crate::edges::system;

/// Reads a policy.
pub(super) fn policy(screen: Screen, path: &Path) -> Result<TrustPolicy, CommandExit> {
    let bytes = system::read_bounded(path, POLICY_BYTES)
        .map_err(|error| hindered::unread(screen, CommandExit::Usage, path, "a policy", &error))?;
    TrustPolicy::read(&bytes).map_err(|fault| {
        let exit = screen.fail(CommandExit::Configuration, format!("{}: {fault}", path.display()));
        screen.say("  try: a line `log KEY` with the key that systole keygen printed, and `quorum none`");
        exit
    })
}
