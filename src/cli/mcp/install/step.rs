//! One program of an installation: it runs to its end, in a sandbox of its own that may write the new folder alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::fault::NotInstalled;
use crate::limits;
use systole_carriers::{InheritedVariables, output_of, sandbox_level};
use systole_config::McpServer;
use systole_core::types::composition::{ListenerProgram, ProgramSandbox};
use systole_core::types::ids::Name;
use systole_system::system::describe_error;

/// Where the programs of an installation run.
pub(super) struct StepRunner<'r> {
    pub(super) organism: &'r Name,
    pub(super) server: &'r McpServer,
    pub(super) folder: &'r Path,
    pub(super) around: InheritedVariables,
}

/// What a program of an installation runs with.
#[derive(Default)]
pub(super) struct InstallStep {
    pub(super) run: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    /// Variables that it inherits.
    pub(super) pass: Vec<String>,
    /// Addresses that it may reach.
    pub(super) net: BTreeSet<String>,
    /// Files that it may read.
    pub(super) read: Vec<PathBuf>,
}

impl StepRunner<'_> {
    /// A variable of this process.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.around.get(std::ffi::OsStr::new(name)).and_then(|value| value.to_str())
    }

    /// Finds a program on `PATH`.
    pub(super) fn find_program(&self, name: &str, fix: &str) -> Result<PathBuf, NotInstalled> {
        let may_run =
            |path: &PathBuf| path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
        let search = self.around.get(std::ffi::OsStr::new("PATH")).cloned().unwrap_or_default();
        let found = std::env::split_paths(&search).map(|folder| folder.join(name)).find(may_run);
        found.ok_or_else(|| NotInstalled::new_unavailable(format!("there is no {name} on PATH"), fix))
    }

    /// Refuses an installation that no sandbox on this machine can hold, before anything is asked of the network.
    pub(super) fn check_sandbox(&self) -> Result<(), NotInstalled> {
        let fix = "set sandbox: none for this listener, which then installs and runs without one";
        if self.server.program.sandbox.is_none() {
            return Ok(());
        }
        match sandbox_level() {
            Err(why) => {
                Err(NotInstalled::new_unavailable(format!("there is no sandbox on this machine: {why}"), fix))
            }
            Ok(level) if level.as_str() != "full" => {
                let words = "the sandboxes of this machine have the level landlock, which cannot limit an installation \
                             to the registry; systole doctor says why";
                Err(NotInstalled::new_unavailable(words, fix))
            }
            Ok(_full) => Ok(()),
        }
    }

    /// Runs a program that only says how the machine is set up. It is a person's own program, and needs no sandbox.
    pub(super) fn ask_program(&self, step: InstallStep) -> Result<Vec<u8>, String> {
        self.run_step(step, None)
    }

    /// Runs a program that installs, in its sandbox unless the file says `none`.
    pub(super) fn run_sandboxed(&self, step: InstallStep) -> Result<Vec<u8>, String> {
        let sandbox = self.server.program.sandbox.as_ref().map(|of_server| {
            Box::new(ProgramSandbox {
                read: step.read.iter().filter(|path| path.exists()).cloned().collect(),
                write: vec![self.folder.to_owned()],
                keep_out: of_server.keep_out.clone(),
                protect: of_server.protect.clone(),
                net: step.net.iter().cloned().collect(),
                processes: limits::INSTALL_PROCESSES,
                memory_bytes: limits::INSTALL_MEMORY_BYTES,
                ..ProgramSandbox::default()
            })
        });
        self.run_step(step, sandbox)
    }

    fn run_step(&self, step: InstallStep, sandbox: Option<Box<ProgramSandbox>>) -> Result<Vec<u8>, String> {
        let program = ListenerProgram {
            run: step.run,
            adapter: Vec::new(),
            directory: self.folder.to_owned(),
            env: step.env,
            pass: step.pass,
            stays: true,
            by_length: false,
            sandbox,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| describe_error(&error))?;
        let names = (self.organism, &self.server.name);
        runtime.block_on(output_of(&program, names, &self.around, limits::INSTALL_STEP))
    }
}

/// The address of a URL's host for a sandbox: `host:port`. None if it is no address of the web.
pub(in crate::cli::mcp) fn read_net_address(url: &str) -> Option<String> {
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
