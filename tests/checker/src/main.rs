//! `systole-check`: judges a log and the histories of its clients, and reports what is wrong.
//!
//! It writes only its output. The input is the paths of a log and of histories; the report goes to
//! standard output, complaints about the arguments and files to standard error. Exits with 0 if
//! nothing is wrong, 1 if something is, 2 if nothing could be judged.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use systole_checker::history::ClientHistory;
use systole_checker::log::LogSnapshot;
use systole_checker::report::CheckReport;
use systole_checker::{RunSettings, check_under};

const USAGE: &str = "usage: systole-check [--running] [--attempts N] [--local] LOG [HISTORY ...]

  --running      the organism still runs or was killed: open calls are listed and not wrong
  --attempts N   most attempts at one turn that its file allows; without it 100
  --local        no listener is over NATS: deaths of the pump are limited too";

fn main() -> ExitCode {
    match run_check(std::env::args_os().skip(1).map(PathBuf::from)) {
        Ok(report) => {
            // A reader that closed the output early does not want the rest.
            let _closed = writeln!(std::io::stdout().lock(), "{report}");
            ExitCode::from(u8::from(!report.is_clean()))
        }
        Err(words) => {
            let _closed = writeln!(std::io::stderr().lock(), "{words}");
            ExitCode::from(2)
        }
    }
}

fn run_check(mut arguments: impl Iterator<Item = PathBuf>) -> Result<CheckReport, String> {
    let mut terms = RunSettings::default();
    let mut paths = Vec::new();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--running") => terms.running = true,
            Some("--local") => terms.is_local = true,
            Some("--attempts") => {
                let number = arguments.next().and_then(|n| n.to_str()?.parse().ok()).filter(|n| *n > 0);
                terms.attempts = number.ok_or(USAGE)?;
            }
            Some(flag) if flag.starts_with('-') => return Err(USAGE.into()),
            _ => paths.push(argument),
        }
    }
    let (log, histories) = paths.split_first().ok_or(USAGE)?;
    let at = |path: &Path, why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let log = LogSnapshot::open_file(log).map_err(|fault| at(log, &fault))?;
    let histories: Result<Vec<ClientHistory>, String> =
        histories.iter().map(|path| ClientHistory::read_file(path).map_err(|why| at(path, &why))).collect();
    Ok(check_under(&log, &histories?, &terms))
}
