//! The server's process. It is in the process group of this program, so it ends with it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// How long a server may take to end after its stdin was closed.
const LAST: Duration = Duration::from_secs(2);
/// How much of what a server says on stderr is kept: its end.
const WORDS_BYTES: usize = 2 * 1024;

/// A running server.
pub(crate) struct ServerProcess {
    child: Child,
}

/// A running server, and its streams.
pub(crate) struct StartedServer {
    pub(crate) process: ServerProcess,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

impl ServerProcess {
    /// Starts a server. Its stderr is ours, whose last words the pump keeps.
    pub(crate) fn start(run: &[String]) -> Result<StartedServer, String> {
        let (program, mut command) = command(run)?;
        Self::spawn(&mut command, program)
    }

    /// Starts a server in a folder, with these variables and no other. Its stderr is returned as well.
    pub(crate) fn start_in(
        run: &[String],
        folder: &Path,
        env: &BTreeMap<String, String>,
    ) -> Result<(StartedServer, Option<ChildStderr>), String> {
        let (program, mut command) = command(run)?;
        command.current_dir(folder).env_clear().envs(env).stderr(Stdio::piped());
        let mut started = Self::spawn(&mut command, program)?;
        let stderr = started.process.child.stderr.take();
        Ok((started, stderr))
    }

    fn spawn(command: &mut Command, program: &str) -> Result<StartedServer, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| format!("cannot start {program}: {error}"))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(stdin), Some(stdout)) => {
                Ok(StartedServer { process: ServerProcess { child }, stdin, stdout })
            }
            _ => Err(format!("cannot start {program}: the system gave no pipes")),
        }
    }

    /// Waits for its end, and says how it ended.
    pub(crate) async fn ended(&mut self) -> String {
        match self.child.wait().await {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        }
    }

    /// Ends it. Its stdin must be closed already.
    pub(crate) async fn end(mut self) {
        if tokio::time::timeout(LAST, self.child.wait()).await.is_err() {
            // It is gone, or it goes with the whole group.
            let _gone = self.child.kill().await;
        }
    }
}

/// The command of a server, and the name of its program.
fn command(run: &[String]) -> Result<(&str, Command), String> {
    let (program, arguments) = run.split_first().ok_or("no server is named")?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok((program, command))
}

/// Reads a server's stderr to its end. Returns the last of it.
pub(crate) async fn last_words(stderr: Option<ChildStderr>) -> String {
    let Some(mut stderr) = stderr else { return String::new() };
    let (mut kept, mut portion) = (Vec::new(), vec![0; WORDS_BYTES]);
    while let Ok(read) = stderr.read(&mut portion).await {
        if read == 0 {
            break;
        }
        kept.extend_from_slice(portion.get(..read).unwrap_or_default());
        let surplus = kept.len().saturating_sub(WORDS_BYTES);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).trim().to_owned()
}
