//! Finds the nats-server on PATH, and checks whether it is new enough. It starts the program only
//! with `--version`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::start_fault::BrokerStartFault;
use crate::limits;
use systole_system::system;

/// The name of the program.
const NAME: &str = "nats-server";
/// The first version that does what the pump relies on.
const LEAST: (u32, u32) = (2, 12);

/// The first program of that name on PATH that this user may run.
pub(super) fn find_server(path: Option<&OsStr>) -> Result<PathBuf, BrokerStartFault> {
    let may_run =
        |path: &PathBuf| path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
    let found =
        path.and_then(|path| std::env::split_paths(path).map(|folder| folder.join(NAME)).find(may_run));
    // The server runs in another folder than we do.
    let whole = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    found.map(whole).ok_or_else(|| BrokerStartFault::Missing {
        looked: path.map_or_else(|| "no PATH".to_owned(), |path| path.to_string_lossy().into_owned()),
    })
}

/// Asks it for its version.
pub(super) async fn is_new_enough(program: &Path) -> Result<(), BrokerStartFault> {
    let strange = |why: String| BrokerStartFault::Strange { program: program.to_owned(), why };
    let mut asked = tokio::process::Command::new(program);
    asked.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let said = match tokio::time::timeout(limits::VERSION_WAIT, asked.output()).await {
        Ok(Ok(said)) => String::from_utf8_lossy(&said.stdout).into_owned(),
        Ok(Err(error)) => return Err(strange(system::describe_error(&error))),
        Err(_) => {
            return Err(strange(format!("it said nothing within {} s", limits::VERSION_WAIT.as_secs())));
        }
    };
    match parse_version(&said) {
        Some((shown, numbers)) if numbers < LEAST => {
            Err(BrokerStartFault::Old { program: program.to_owned(), version: shown.to_owned() })
        }
        Some(_) => Ok(()),
        None => {
            let first = said.lines().next().unwrap_or_default();
            let shown: String =
                first.chars().filter(|c| !c.is_control()).take(limits::REPEATED_VERSION).collect();
            Err(strange(format!("it said \"{shown}\"")))
        }
    }
}

/// The version in `nats-server: v2.15.1`.
fn parse_version(said: &str) -> Option<(&str, (u32, u32))> {
    let shown = said.trim().strip_prefix("nats-server: v")?.split_whitespace().next()?;
    let mut numbers = shown.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse().ok());
    Some((shown, (numbers.next()?, numbers.next()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_as_nats_server_says_it() {
        let numbers = |said: &str| parse_version(said).map(|(_, numbers)| numbers);
        assert_eq!(numbers("nats-server: v2.15.1\n"), Some((2, 15)));
        assert_eq!(numbers("nats-server: v2.12.0-RC.1"), Some((2, 12)));
        assert!(numbers("nats-server: v2.9.10").is_some_and(|numbers| numbers < LEAST));
        assert!(numbers("nats-server: v10.0.0").is_some_and(|numbers| numbers >= LEAST));
        assert_eq!(numbers("nginx version 1.0"), None);
    }
}
