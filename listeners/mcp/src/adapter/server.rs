//! The way to a server: its process, or its address. A process is in the process group of this program, so it ends with
//! it.

use std::path::Path;
use std::process::Stdio;

use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::client::{KeyedServer, McpConnection, NoConnection, Revision, ServerAddress};
use crate::login::TokenFile;

/// The variable with the name of the listener, which every program of an organism has.
const LISTENER: &str = "SYSTOLE_LISTENER";

/// Where a server is.
pub enum ServerPlace {
    /// It is a program, with its arguments.
    Program(Vec<String>),
    /// It is at an address.
    Address {
        /// The address.
        url: String,
        /// The key for it.
        key: Option<String>,
        /// The listener, whose login counts if there is no key.
        listener: String,
    },
}

impl ServerPlace {
    /// Reads the words of this program that say where the server is: `-- PROGRAM ARGUMENT…`, or `--at URL` and
    /// perhaps `--key-env VARIABLE`.
    ///
    /// # Errors
    /// If they say nothing, or the variable is not set: what is wrong, for people.
    pub fn from_words(words: &[&str]) -> Result<ServerPlace, String> {
        let listener = std::env::var(LISTENER).unwrap_or_default();
        let address = |url: &str, key| ServerPlace::Address { url: url.to_owned(), key, listener };
        match words {
            ["--", run @ ..] => Ok(ServerPlace::Program(run.iter().map(|word| (*word).to_owned()).collect())),
            ["--at", url] => Ok(address(url, None)),
            ["--at", url, "--key-env", variable] => match std::env::var(variable) {
                Ok(key) => Ok(address(url, Some(key))),
                Err(_) => Err(format!(
                    "the variable {variable}, which key_env names, is not set; set it to the key"
                )),
            },
            other => Err(format!("-listen-as: these words name no MCP server: {}", other.join(" "))),
        }
    }

    /// Its words in a pin.
    pub(crate) fn command(&self) -> Vec<String> {
        match self {
            ServerPlace::Program(run) => run.clone(),
            ServerPlace::Address { url, .. } => vec![url.clone()],
        }
    }
}

/// The process of a server, if it has one here.
pub(crate) struct ServerProcess {
    child: Option<Child>,
}

/// A server that can be connected to.
pub(crate) struct StartedServer {
    pub(crate) process: ServerProcess,
    pub(crate) reached: ReachedServer,
}

/// The way to a server.
pub(crate) enum ReachedServer {
    Streams(ChildStdout, ChildStdin),
    Address(KeyedServer),
}

impl ReachedServer {
    pub(crate) async fn connect(self, revision: Revision) -> Result<McpConnection, NoConnection> {
        match self {
            ReachedServer::Streams(stdout, stdin) => {
                McpConnection::connect_over(stdout, stdin, revision).await
            }
            ReachedServer::Address(server) => McpConnection::connect_to(server, revision).await,
        }
    }
}

impl StartedServer {
    /// Starts a server that is a program. Its stderr is ours, whose last words the pump keeps. Nothing is sent to an
    /// address yet.
    pub(crate) fn start(place: &ServerPlace) -> Result<StartedServer, String> {
        let run = match place {
            ServerPlace::Program(run) => run,
            ServerPlace::Address { url, key, listener } => {
                let address = ServerAddress::parse(url, key.as_deref());
                let address = address.map_err(|fault| format!("mcp.unreachable: {url}: {fault}"))?;
                // This program runs in the organism's folder.
                let file = TokenFile::of_listener(Path::new(""), listener);
                let server = KeyedServer::with_login(address, listener, file);
                let process = ServerProcess { child: None };
                return Ok(StartedServer { process, reached: ReachedServer::Address(server) });
            }
        };
        let (program, arguments) = run.split_first().ok_or("no server is named")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| format!("cannot start {program}: {error}"))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(stdin), Some(stdout)) => {
                let process = ServerProcess { child: Some(child) };
                Ok(StartedServer { process, reached: ReachedServer::Streams(stdout, stdin) })
            }
            _ => Err(format!("cannot start {program}: the system gave no pipes")),
        }
    }
}

impl ServerProcess {
    /// Waits for its end, and says how it ended. A server at an address has no end here.
    pub(crate) async fn wait_for_end(&mut self) -> String {
        let Some(child) = &mut self.child else { return std::future::pending().await };
        match child.wait().await {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        }
    }

    /// Ends it. Its stdin must be closed already.
    pub(crate) async fn end(mut self) {
        let Some(mut child) = self.child.take() else { return };
        if tokio::time::timeout(crate::limits::END, child.wait()).await.is_err() {
            // It is gone, or it goes with the whole group.
            let _gone = child.kill().await;
        }
    }
}
