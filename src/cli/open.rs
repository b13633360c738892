//! `systole open`: the pages of a log or an export that no organism runs on, read-only, for the user alone.
//!
//! The file is verified first, and the verdict is on every page. The file is not changed.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::json;

use super::console;
use super::exit::CommandExit;
use super::local_organism;
use super::place::quote_path;
use super::screen::Screen;
use super::signals::Signals;
use super::system_faults;
use super::verify::{page_verdict, verify_export};
use systole_core::types::ports::{LogFault, LogReader};
use systole_doors::http::{self, ConsoleSettings, HttpDoor};
use systole_log::sqlite;
use systole_organism::at_rest;
use systole_organism::front::OrganismHandle;
use systole_organism::keyring::Keyring;
use systole_organism::resting_verdict::RestingVerdict;
use systole_organism::runfile::{Credential, RunFile, draw_hex};
use systole_show::columns::plain;
use systole_show::layout::{TextTone, paint};

/// What can be shown.
const A_FILE: &str = "the file of a log, as organism.db, or of an export, as case-7.zip";
/// A free port of this machine alone.
const FREE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// Shows the pages of a log or an export in a browser, without an organism.
///
/// The file is verified first, and is not changed. The address has a secret that signs in as long as
/// this command runs; Ctrl-C ends it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole open organism.db
  systole open case-7.zip --no-browser")]
pub(super) struct OpenLog {
    /// The log, as organism.db, or an export, as case-7.zip
    #[arg(value_name = "LOG|EXPORT")]
    file: PathBuf,
    /// Print the address, and open no browser
    #[arg(long)]
    no_browser: bool,
    /// Print data as JSON
    #[arg(long)]
    json: bool,
}

impl OpenLog {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        let screen = Screen::new(self.json);
        let front = self.open_handle(screen)?;
        local_organism::with_runtime(screen, self.serve_pages(screen, front))
    }

    /// The file as a handle that reads, or the report of why it cannot be shown.
    fn open_handle(&self, screen: Screen) -> Result<OrganismHandle, CommandExit> {
        let file = &self.file;
        if !file.exists() {
            if let Some(fault) = sqlite::lost_whole(file) {
                return Err(report_fault(screen, file, &fault));
            }
            let words = format!("{}: there is no such file", file.display());
            return Err(screen.fail_with(CommandExit::Unavailable, words, A_FILE));
        }
        if file.is_dir() {
            return Err(refuse_folder(screen, file));
        }
        let whole = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        if verify_export::is_export(file) {
            let history = verify_export::open_history(screen, file)?;
            let verdict = page_verdict::from_export(&history, whole);
            return show_with(screen, file, Arc::new(history.log), verdict);
        }
        let unshown = |fault| report_fault(screen, file, &fault);
        if let Some(pid) = sqlite::find_holder(file).map_err(unshown)? {
            return Err(refuse_running(screen, file, pid));
        }
        let reader = sqlite::open_still(file).map_err(unshown)?;
        let verdict = page_verdict::verify_log(screen, file, whole)?;
        show_with(screen, file, Arc::new(reader), verdict)
    }

    /// Serves the pages until a signal.
    async fn serve_pages(&self, screen: Screen, front: OrganismHandle) -> Result<CommandExit, CommandExit> {
        let mut signals = Signals::listen_as_server(screen)?;
        let random = |error| system_faults::report_missing(screen, "random bytes for the address", &error);
        let credential = Credential::draw().map_err(random)?;
        let client =
            at_rest::name_client().map_err(|fault| local_organism::report_log_fault(screen, &fault))?;
        let bound = http::bind_address(FREE).await.map_err(|fault| {
            let fix = "the same again; systole doctor says what is wrong with this machine";
            screen.fail_with(CommandExit::Unavailable, fault, fix)
        })?;
        let verdict = front.at_rest().map(|verdict| verdict.words.clone()).unwrap_or_default();
        let keyring = Keyring::from_client(client, credential.clone());
        let door = HttpDoor::open(bound, front, keyring, ConsoleSettings::default());
        let address = format!("http://{}/#{}", console::find_reachable(door.address()), credential.secret());
        let redirect = std::env::temp_dir().join(format!("systole-{}.html", draw_hex().map_err(random)?));
        let opened = if self.no_browser { None } else { console::open_browser(screen, &redirect, &address) };
        if screen.json {
            screen.show_value(&json!({"address": address, "opened": opened.is_some(), "verdict": verdict}));
        } else {
            screen.show(&address);
            let how = opened
                .map_or_else(|| "open it in a browser".to_owned(), |opener| format!("opened with {opener}"));
            screen.say(format!("{how}; the address signs in until Ctrl-C ends this"));
        }
        let exit = signals.next().await;
        // The pages still being read are given up: they are of a file that stays.
        drop(door.close().await);
        if opened.is_some() {
            // It holds a secret that counts no more.
            let _left = std::fs::remove_file(&redirect);
        }
        Ok(exit)
    }
}

/// The handle for a file that was verified. Its verdict is printed.
fn show_with(
    screen: Screen,
    file: &Path,
    reader: Arc<dyn LogReader>,
    verdict: RestingVerdict,
) -> Result<OrganismHandle, CommandExit> {
    if !screen.json {
        let tone = if verdict.is_sound { TextTone::Held } else { TextTone::Bad };
        screen.show_drawn(&paint(tone, &plain(&verdict.words)));
        screen.say(format!("systole verify {} says what that shows, and what not", quote_path(file)));
    }
    at_rest::open_handle(reader, verdict).map_err(|fault| report_fault(screen, file, &fault))
}

/// Reports a folder, and names a file in it that can be shown.
fn refuse_folder(screen: Screen, folder: &Path) -> CommandExit {
    let words = format!("{}: it is a folder, and a log is a file", folder.display());
    let inside = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_shown = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "db" || ending == "zip");
    let fix = match inside.filter(is_shown).min() {
        Some(file) => format!("systole open {}", quote_path(&file)),
        None => A_FILE.to_owned(),
    };
    screen.fail_with(CommandExit::Unavailable, words, fix)
}

/// Reports that an organism runs on the log: its own console shows more, and follows it.
fn refuse_running(screen: Screen, file: &Path, pid: u32) -> CommandExit {
    let console = RunFile::find_running(file)
        .map(|run| format!("; its console is http://{}/", console::find_reachable(run.address)));
    let words =
        format!("process {pid} runs an organism on {}{}", file.display(), console.unwrap_or_default());
    let fix = format!("systole console --log {}; or systole backup, and open the copy", quote_path(file));
    screen.fail_with(CommandExit::Unavailable, words, fix)
}

/// Reports why a file cannot be shown, with a fix for a file that was named.
fn report_fault(screen: Screen, file: &Path, fault: &LogFault) -> CommandExit {
    let (exit, fix) = match fault {
        LogFault::Foreign { .. } => (CommandExit::Log, A_FILE.to_owned()),
        LogFault::Io { .. } => {
            (CommandExit::Unavailable, format!("a copy of {} that this user can read", quote_path(file)))
        }
        LogFault::Damaged { .. } => {
            (CommandExit::Log, format!("systole doctor --log {}; then a backup of the log", quote_path(file)))
        }
        _ => return local_organism::report_log_fault(screen, fault),
    };
    screen.fail_with(exit, fault, fix)
}
