//! Commands that a listener of ours runs in a sandbox: the sandbox comes as text with the listener's start, and each
//! command is prepared in it.
//!
//! It starts nothing. In: the policy, a command and its folder. Out: the process, not started yet.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use systole_sandbox::{PrivateFolder, SandboxPolicy, SandboxStart, SandboxStartFault, make_private_folder};

use super::sandbox_command::sandbox_level;
use systole_system::system;

/// Variables of the listener that its commands do not get: they are about the listener.
const OURS: &str = "SYSTOLE_";

/// The sandbox of commands. Without a policy they run without one, as the organism's file says.
#[derive(Clone, Debug)]
pub struct CommandSandbox(Option<SandboxPolicy>);

/// A process that is ready to start. Its private folder, if it has one on disk, must live as long as the process.
pub struct ReadyCommand {
    /// The process.
    pub command: Command,
    /// Its private folder.
    pub private: Option<PrivateFolder>,
}

impl CommandSandbox {
    /// No sandbox.
    #[must_use]
    pub fn new_open() -> CommandSandbox {
        CommandSandbox(None)
    }

    /// The sandbox that the carrier handed over.
    ///
    /// # Errors
    /// If the text is no policy.
    pub fn parse(text: &str) -> Result<CommandSandbox, String> {
        serde_json::from_str(text)
            .map(|policy| CommandSandbox(Some(policy)))
            .map_err(|error| error.to_string())
    }

    /// Prepares a command. `more` is one more folder that it may write.
    ///
    /// # Errors
    /// Why it cannot be prepared, in words.
    pub fn make_command(
        &self,
        words: &[String],
        folder: &Path,
        more: Option<&Path>,
    ) -> Result<ReadyCommand, String> {
        let environment: BTreeMap<OsString, OsString> =
            std::env::vars_os().filter(|(name, _)| !name.to_string_lossy().starts_with(OURS)).collect();
        let Some(policy) = &self.0 else {
            let (program, arguments) = words.split_first().ok_or("no command is named")?;
            let mut command = Command::new(program);
            command.args(arguments).current_dir(folder).env_clear().envs(environment);
            return Ok(ReadyCommand { command, private: None });
        };
        let mut policy = policy.clone();
        policy.own = more.map(Path::to_owned);
        let level = sandbox_level()?;
        let helper = system::find_own_program().ok_or("the program systole is not beside this one")?;
        let private = make_private_folder(level).map_err(|error| system::describe_error(&error))?;
        let start = SandboxStart { helper: &helper, level, policy: &policy, run: words, folder };
        match start.make_command(&environment, private.as_ref()) {
            Ok(command) => Ok(ReadyCommand { command, private }),
            Err(SandboxStartFault::NoProgram) => Err(format!("there is no {}", words.join(" "))),
            Err(SandboxStartFault::BadPaths(why)) => Err(why),
        }
    }
}
