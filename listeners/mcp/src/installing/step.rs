//! One program of an installation: what it runs with, and what runs it.
//!
//! In: a program with its variables, files and addresses. Out: what it wrote to stdout, or its last words. Nothing here
//! starts a program: the caller has a runner, which makes the sandboxes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::fault::InstallFault;

/// What a program of an installation runs with.
#[derive(Default)]
pub struct InstallStep {
    /// Its command line.
    pub run: Vec<String>,
    /// Variables that are set for it.
    pub env: BTreeMap<String, String>,
    /// Variables that it inherits.
    pub pass: Vec<String>,
    /// Addresses that it may reach.
    pub net: BTreeSet<String>,
    /// Files that it may read.
    pub read: Vec<PathBuf>,
}

/// What runs the programs of an installation.
pub trait InstallRunner {
    /// Refuses an installation that no sandbox on this machine can hold, before anything is asked of the network.
    ///
    /// # Errors
    /// If there is no such sandbox.
    fn check_sandbox(&self) -> Result<(), InstallFault>;

    /// Runs a program in this folder that only says how the machine is set up. It is a person's own program, and needs no
    /// sandbox.
    ///
    /// # Errors
    /// Its last words, if it fails.
    fn ask_program(&self, folder: &Path, step: InstallStep) -> Result<Vec<u8>, String>;

    /// Runs a program that installs, in a sandbox that may write this folder alone unless the file says `none`.
    ///
    /// # Errors
    /// Its last words, if it fails.
    fn run_sandboxed(&self, folder: &Path, step: InstallStep) -> Result<Vec<u8>, String>;
}

/// Where the programs of an installation run.
pub(super) struct StepRunner<'r> {
    pub(super) runner: &'r dyn InstallRunner,
    pub(super) folder: &'r Path,
    /// The variables of this process.
    pub(super) around: &'r BTreeMap<OsString, OsString>,
}

impl StepRunner<'_> {
    /// A variable of this process.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.around.get(OsStr::new(name)).and_then(|value| value.to_str())
    }

    /// Finds a program on `PATH`.
    pub(super) fn find_program(&self, name: &str, fix: &str) -> Result<PathBuf, InstallFault> {
        let may_run =
            |path: &PathBuf| path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
        let search = self.around.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        let found = std::env::split_paths(&search).map(|folder| folder.join(name)).find(may_run);
        found.ok_or_else(|| InstallFault::new_unavailable(format!("there is no {name} on PATH"), fix))
    }

    /// Runs a program that only says how the machine is set up.
    pub(super) fn ask_program(&self, step: InstallStep) -> Result<Vec<u8>, String> {
        self.runner.ask_program(self.folder, step)
    }

    /// Runs a program that installs.
    pub(super) fn run_sandboxed(&self, step: InstallStep) -> Result<Vec<u8>, String> {
        self.runner.run_sandboxed(self.folder, step)
    }
}

/// The address of a URL's host for a sandbox: `host:port`. None if it is no address of the web.
#[must_use]
pub fn read_net_address(url: &str) -> Option<String> {
    let (rest, port) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => (rest, 443),
        (None, Some(rest)) => (rest, 80),
        (None, None) => return None,
    };
    let host = rest.split(['/', '?', '#']).next()?;
    let host = host.rsplit('@').next()?.to_ascii_lowercase();
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    (!host.is_empty()).then(|| if has_port { host.clone() } else { format!("{host}:{port}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g9_the_address_of_a_registry_has_its_port_and_no_key() {
        for (url, address) in [
            ("https://R.example/npm/", Some("r.example:443")),
            ("http://127.0.0.1:4873", Some("127.0.0.1:4873")),
            ("https://user:key@r.example:8443/simple", Some("r.example:8443")),
            ("http://[::1]:80/x", Some("[::1]:80")),
            ("file:///opt/wheels", None),
            ("https:///x", None),
        ] {
            assert_eq!(read_net_address(url).as_deref(), address, "{url}");
        }
    }
}
