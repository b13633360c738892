//! The kit's own nats-server: a process on a free port of this machine, in a folder of its own, with the rights that
//! `systole permissions` writes. It ends with its value. It is never a server that is in use.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use systole_carriers::InheritedVariables;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use super::rights;
use crate::limits;

/// The first version that does what the pump relies on.
const LEAST: (u32, u32) = (2, 12);

/// Finds the server on PATH, if it is new enough.
///
/// # Errors
/// What is wrong, where, and the fix.
pub(crate) async fn find_server(around: &InheritedVariables) -> Result<PathBuf, (String, String)> {
    let fix = "nats-server 2.12 or newer on PATH, from https://github.com/nats-io/nats-server/releases";
    let path = around.get(std::ffi::OsStr::new("PATH")).cloned().unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|folder| folder.join("nats-server")).find(|path| path.is_file());
    let Some(found) = found else {
        return Err((
            format!("nats-server is missing, looked for in {}", path.to_string_lossy()),
            fix.to_owned(),
        ));
    };
    let mut asked = Command::new(&found);
    asked.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let said = match tokio::time::timeout(limits::SERVER_START, asked.output()).await {
        Ok(Ok(said)) => String::from_utf8_lossy(&said.stdout).trim().to_owned(),
        Ok(Err(error)) => return Err((format!("{}: {error}", found.display()), fix.to_owned())),
        Err(_) => return Err((format!("{} says no version", found.display()), fix.to_owned())),
    };
    let version = said.rsplit('v').next().unwrap_or_default();
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(first), Some(second)) if (first, second) >= LEAST => Ok(found),
        _ => Err((format!("{} is too old or strange: it says {said:?}", found.display()), fix.to_owned())),
    }
}

/// A folder with the configuration and the keys.
pub(crate) struct ServerFolder {
    folder: tempfile::TempDir,
    program: PathBuf,
    /// The password of the kit.
    pub password: String,
    /// The file with the key of the worker.
    pub key: PathBuf,
}

impl ServerFolder {
    /// Makes keys, and writes the configuration.
    ///
    /// # Errors
    /// What the machine says.
    pub(crate) fn make(
        program: &Path,
        composition: &Composition,
        listener: &Name,
    ) -> Result<ServerFolder, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("a folder for the broker: {error}"))?;
        let written = rights::write_rights(composition, listener, &folder.path().join("keys"))?;
        std::fs::write(folder.path().join("nats.conf"), &written.configuration)
            .map_err(|error| format!("the configuration of the broker: {error}"))?;
        Ok(ServerFolder { folder, program: program.to_owned(), password: written.password, key: written.key })
    }
}

/// A server that runs.
pub(crate) struct KitServer {
    _process: Child,
    /// Its port.
    pub port: u16,
    // Reads its log to the end, so that it never waits for a reader.
    _reader: JoinSet<()>,
}

impl KitServer {
    /// Starts it.
    ///
    /// # Errors
    /// Why it does not run.
    pub(crate) async fn start(folder: &ServerFolder) -> Result<KitServer, String> {
        let mut command = Command::new(&folder.program);
        command.arg("-c").arg(folder.folder.path().join("nats.conf"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().map_err(|error| format!("nats-server: {error}"))?;
        let Some(errors) = process.stderr.take() else { return Err("nats-server has no stderr".to_owned()) };
        let mut lines = BufReader::new(errors).lines();
        let mut said = String::new();
        let starting = async {
            while let Ok(Some(line)) = lines.next_line().await {
                let port = line.split_once("client connections on ").and_then(|(_, place)| {
                    place.rsplit(':').next().and_then(|port| port.trim().parse::<u16>().ok())
                });
                if port.is_some() {
                    return port;
                }
                said.push_str(&line);
            }
            None
        };
        let port = tokio::time::timeout(limits::SERVER_START, starting).await.ok().flatten();
        let Some(port) = port else { return Err(format!("nats-server did not start: {said}")) };
        let mut reader = JoinSet::new();
        reader.spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(KitServer { _process: process, port, _reader: reader })
    }
}
