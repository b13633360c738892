//! The server's process. It is in the process group of this program, so it ends with it.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// How long a server may take to end after its stdin was closed.
const LAST: Duration = Duration::from_secs(2);

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
        let (program, arguments) = run.split_first().ok_or("no server is named")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
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
