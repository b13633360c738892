//! Turns a program, its policy and its environment into the command that starts the helper.
//!
//! It starts nothing. The policy is an argument of the helper, so that the helper needs no open file of ours. It has
//! paths and numbers in it, and no secret: a program's secrets are in its environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::entering::{EntryOrder, WORD};
use crate::installation::find_installed;
use crate::limits::ORDER_BYTES;
use crate::policy::{PRIVATE, SandboxLevel, SandboxPolicy};
use crate::private::PrivateFolder;

/// A program that is to run in a sandbox.
#[derive(Clone, Copy, Debug)]
pub struct SandboxStart<'s> {
    /// The program `systole`.
    pub helper: &'s Path,
    /// The level, as `probe` found it.
    pub level: SandboxLevel,
    /// What the program may do.
    pub policy: &'s SandboxPolicy,
    /// The program and its arguments.
    pub run: &'s [String],
    /// Its working directory. It may read the files in it that `run` names, and no others.
    pub folder: &'s Path,
}

/// Why there is no command for a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SandboxStartFault {
    /// There is no such program, or this user may not run it.
    NoProgram,
    /// A path is not text, or there are too many paths.
    BadPaths(String),
}

impl SandboxStart<'_> {
    /// The command that starts the program in its sandbox. This process must start it, because the program ends with
    /// this process. Its environment is `environment` with the HOME and the
    /// TMPDIR of the private folder; `private` is what `make_private_folder` gave for this start, and must live as long as
    /// the program.
    ///
    /// # Errors
    /// If the program is not there, or the paths cannot be handed over.
    pub fn make_command(
        &self,
        environment: &BTreeMap<OsString, OsString>,
        private: Option<&PrivateFolder>,
    ) -> Result<Command, SandboxStartFault> {
        let search = environment.get(OsStr::new("PATH")).map(OsString::as_os_str).unwrap_or_default();
        let program = find_installed(self.run, self.folder, search).ok_or(SandboxStartFault::NoProgram)?;
        let mut policy = self.policy.clone();
        policy.read.extend(program.read);
        let home = private.map_or_else(|| PathBuf::from(PRIVATE), |folder| folder.path().to_owned());
        let order = EntryOrder {
            level: self.level,
            starter: rustix::process::getpid().as_raw_nonzero().get(),
            policy,
            executable: program.executable,
            folder: self.folder.to_owned(),
            private: home.clone(),
        };
        let order = serde_json::to_string(&order)
            .map_err(|_| SandboxStartFault::BadPaths("a path is not UTF-8".to_owned()))?;
        if order.len() > ORDER_BYTES {
            let words = format!("the paths of the sandbox have more than {ORDER_BYTES} bytes");
            return Err(SandboxStartFault::BadPaths(words));
        }
        let mut command = Command::new(self.helper);
        command.arg(WORD).arg("outside").arg(order).args(self.run).current_dir(self.folder);
        command.env_clear().envs(environment);
        command.env("HOME", home.join("home")).env("TMPDIR", home.join("tmp"));
        Ok(command)
    }
}
