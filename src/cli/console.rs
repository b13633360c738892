//! `systole console`: signs a person in to the pages of the organism that runs, and opens them in a browser.
//!
//! The address with its code goes to stdout, and to the browser through a file that only its owner may read: the
//! arguments of a process are visible to everyone on the machine.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use serde_json::json;

use super::exit::CommandExit;
use super::place::Place;
use super::remote_organism::report_silence;
use super::screen::Screen;
use systole_client::client::DoorClient;
use systole_organism::runfile::RunFile;

/// The programs that open a file in the user's browser, the first that is there.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

/// Opens the console of the running organism in a browser.
///
/// Prints the address with a code that signs in once, within a minute, as the operator.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole console
  systole console --no-browser")]
pub(super) struct OpenConsole {
    #[command(flatten)]
    place: Place,
    /// Print the address, and open no browser
    #[arg(long)]
    no_browser: bool,
}

impl OpenConsole {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let log = self.place.log(screen)?;
        let Some(run) = RunFile::find_running(&log) else {
            let words = format!("no organism runs on {}, so there is nothing to open", log.display());
            let fix = format!("{} --detach, then the same again", self.place.run_command());
            return Err(screen.fail_with(CommandExit::Unavailable, words, fix));
        };
        let code = match DoorClient::from_run_file(&run).session_code() {
            Ok(Ok(made)) => made.code,
            Ok(Err(refusal)) => return Err(screen.fail(CommandExit::Unavailable, refusal.message)),
            Err(fault) => return Err(report_silence(screen, &fault)),
        };
        let address = format!("http://{}/#{code}", find_reachable(run.address));
        let opened =
            if self.no_browser { None } else { open_browser(screen, &redirect_file(&log), &address) };
        if screen.json {
            screen.show_value(&json!({"address": address, "opened": opened.is_some()}));
        } else {
            screen.show(&address);
            if let Some(opener) = opened {
                screen.say(format!("opened with {opener}; the address signs in once, within a minute"));
            }
        }
        Ok(CommandExit::Done)
    }
}

/// Opens the browser, if there is one, by a file that leads it to the address. Names the program that does it.
pub(super) fn open_browser(screen: Screen, file: &Path, address: &str) -> Option<&'static str> {
    let opener = find_opener()?;
    let started = write_redirect(file, address).and_then(|()| {
        let mut command = Command::new(opener);
        command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // The browser outlives this command, and Ctrl-C in this terminal.
        command.process_group(0).spawn()
    });
    match started {
        Ok(_) => Some(opener),
        Err(error) => {
            screen.say(format!("no browser could be opened: {error}; open the address yourself"));
            None
        }
    }
}

/// The address at which this machine reaches a door that listens everywhere.
pub(super) fn find_reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if ip.is_unspecified() => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), address.port()),
        _ => address,
    }
}

/// The program that opens a browser: on a desktop, if one is installed.
fn find_opener() -> Option<&'static str> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !cfg!(target_os = "macos") && !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") {
        return None;
    }
    let folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect())?;
    OPENERS.into_iter().find(|name| folders.iter().any(|folder| folder.join(name).is_file()))
}

/// The file that leads the browser to the address, beside the log like the run file.
fn redirect_file(log: &Path) -> PathBuf {
    let log = std::fs::canonicalize(log).unwrap_or_else(|_| log.to_owned());
    let mut path = log.into_os_string();
    path.push(".console.html");
    path.into()
}

fn write_redirect(path: &Path, address: &str) -> io::Result<()> {
    // An earlier file holds a code that counts no more.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let address = address.replace('&', "&amp;").replace('"', "&quot;");
    let page = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Systole</title>\n\
         <meta http-equiv=\"refresh\" content=\"0;url={address}\">\n<p><a href=\"{address}\">Open the page</a></p>\n"
    );
    file.write_all(page.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_file_for_the_browser_is_its_owners_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = redirect_file(&folder.path().join("hello.db"));
        for code in ["first", "second"] {
            write_redirect(&path, &format!("http://127.0.0.1:7474/#{code}")).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("url=http://127.0.0.1:7474/#second\"") && !text.contains("first"), "{text}");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_door_that_listens_everywhere_is_reached_on_this_machine() {
        assert_eq!(find_reachable(([0, 0, 0, 0], 7474).into()).to_string(), "127.0.0.1:7474");
        assert_eq!(find_reachable(([127, 0, 0, 1], 80).into()).to_string(), "127.0.0.1:80");
    }
}
