//! The organism file and its log.
//!
//! It reads the log from its first record to its last and changes nothing, whether or not an
//! organism runs on it.

use std::path::Path;

use super::evidence::{self, describe_log_fault};
use super::{Finding, folds};
use crate::cli::exit::CommandExit;
use crate::cli::looking::{describe_absent, read_alarms};
use systole_api::types::ApiAlarm;
use systole_config::{FileMistakes, OrganismFile};
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{Clock as _, LogFault, LogReader as _};
use systole_log::sqlite;
use systole_organism::runfile::RunFile;
use systole_queries::log_state::LogState;
use systole_queries::posts::{self, DueCalls};
use systole_queries::{chains, outages};
use systole_system::clock::WallClock;

/// Checks the file.
pub(super) fn check_organism(loaded: &Result<OrganismFile, FileMistakes>) -> Vec<Finding> {
    let file = match loaded {
        Ok(file) => file,
        Err(refused) => {
            let mistakes = refused.0.len();
            let first = refused.0.first();
            let words = first.map_or_else(String::new, |mistake| {
                let (file, line) = (&mistake.place.file, mistake.place.line);
                let place = if line == 0 { file.clone() } else { format!("{file}:{line}") };
                format!("{place}: {}: {}", mistake.code, mistake.message)
            });
            let words = if mistakes > 1 { format!("{words} (and {} more)", mistakes - 1) } else { words };
            let fix = first.and_then(|mistake| mistake.fix.clone());
            let fix =
                fix.unwrap_or_else(|| "systole check, which shows every mistake with its place".to_owned());
            return vec![Finding::new_problem("organism", words, fix, CommandExit::Configuration)];
        }
    };
    let composition = &file.composition;
    let listeners = composition.listeners.len();
    let noun = if listeners == 1 { "listener" } else { "listeners" };
    let words = format!("{}, {listeners} {noun}", composition.organism);
    vec![Finding::new_good("organism", words)]
}

/// Checks the log: whether it is one, whether it is intact, which process has it.
pub(super) fn check_log(log: &Path, start: &str) -> Vec<Finding> {
    if !log.exists() {
        if let Some(fault) = sqlite::lost_whole(log) {
            return vec![describe_log_fault(&fault)];
        }
        let fix = format!("{start}, which makes it");
        return vec![Finding::new_note("log", describe_absent(log), fix)];
    }
    let format = match sqlite::read_format(log) {
        Ok(format) => format,
        Err(fault) => return vec![describe_log_fault(&fault)],
    };
    let mut found = Vec::new();
    match sqlite::verify_all(log) {
        Ok(summary) => {
            let bytes = measure_log(log);
            let each = bytes.checked_div(summary.records).unwrap_or(0);
            found.push(Finding::new_good(
                "log",
                format!(
                    "{}, format {format}: {} records in {} threads verify, {} documents; {} in all, {each} bytes a record",
                    log.display(),
                    summary.records,
                    summary.threads,
                    summary.documents,
                    format_kilobytes(bytes),
                ),
            ));
            found.extend(folds::examine_folds(log));
            found.extend(evidence::check_kinship(log));
        }
        Err(fault) => {
            found.push(describe_log_fault(&fault));
            if matches!(fault, LogFault::Damaged { .. }) {
                found.extend(find_broken_chains(log));
            }
        }
    }
    found.extend(check_end(log));
    found.extend(evidence::check_structure(log));
    found.push(check_holder(log, start));
    found.extend(run_file(log));
    found.extend(list_alarms(log));
    found.extend(find_outages(log));
    found.extend(find_full_queues(log));
    found
}

/// Who is away that open calls wait for. A fault of the log was reported when it was verified.
fn find_outages(log: &Path) -> Vec<Finding> {
    let read = sqlite::open_reading(log).and_then(|reader| outages::lines(&reader, WallClock.now()));
    let lines = read.unwrap_or_default().into_iter();
    lines
        .map(|line| Finding::new_note("waits", line, "systole why THREAD, which says what ends it"))
        .collect()
}

/// The queues that are almost full.
fn find_full_queues(log: &Path) -> Vec<Finding> {
    let directory = log.parent().unwrap_or(Path::new(""));
    let read = |source: &[u8]| {
        systole_config::read_source(source, directory).map_err(|mistakes| mistakes.to_string())
    };
    let running = sqlite::find_holder(log).ok().flatten();
    let whole = sqlite::open_reading(log).and_then(|reader| LogState::look(&reader, &read, running));
    // A fault of the log was reported when it was verified.
    let full = whole.map(|whole| posts::find_full_queues(&whole, &DueCalls::at(&whole, WallClock.now())));
    let full = full.unwrap_or_default().into_iter();
    full.map(|(listener, full)| {
        let fix =
            format!("a larger in_flight of {listener}, if it can do more at once; or a larger limits.queue");
        Finding::new_note("queue", format!("{listener}: {}", full.describe()), fix)
    })
    .collect()
}

/// How the log was left: whether its end is present, and whether it was closed.
fn check_end(log: &Path) -> Vec<Finding> {
    let condition = match sqlite::read_condition(log) {
        Ok(condition) => condition,
        // This error was already reported when the log was verified.
        Err(_) => return Vec::new(),
    };
    let lost = condition.lost.iter().map(describe_log_fault);
    let tip = condition.tip.into_iter().map(|words| {
        Finding::new_note("tip", words, "nothing, if you know why: the next start makes a new one")
    });
    let unclosed = condition.unclosed.into_iter().map(|words| {
        Finding::new_note("closing", words, "the next start; of a copy, the file -wal beside the original")
    });
    lost.chain(tip).chain(unclosed).collect()
}

/// The log's bytes, including those of its write-ahead log.
fn measure_log(log: &Path) -> u64 {
    let mut beside = log.as_os_str().to_owned();
    beside.push("-wal");
    [log, Path::new(&beside)].iter().filter_map(|path| path.metadata().ok()).map(|found| found.len()).sum()
}

fn format_kilobytes(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} KB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// How far the damage goes: each thread's chain by itself.
fn find_broken_chains(log: &Path) -> Vec<Finding> {
    let listed = sqlite::open_reading(log).and_then(|reader| Ok((reader.list_threads(usize::MAX)?, reader)));
    let (threads, reader) = match listed {
        Ok((threads, reader)) => (threads, reader.as_claimed()),
        Err(fault) => {
            let fix = "a backup: the list of threads itself cannot be read";
            return vec![Finding::new_problem("chains", fault.to_string(), fix, CommandExit::Log)];
        }
    };
    let all = std::iter::once(ThreadId::new_sys()).chain(threads);
    let (mut whole, mut broken) = (0_usize, Vec::new());
    for thread in all {
        match chains::verify(&reader, &thread) {
            None => whole += 1,
            Some(found) => broken.push(found),
        }
    }
    let words = format!("{whole} threads verify by themselves, {} do not", broken.len());
    let mut found = vec![Finding::new_good("chains", words)];
    for chain in broken.iter().take(crate::limits::LISTED_FAULTS) {
        let at = chain.position.map_or_else(String::new, |at| format!(" at position {}", at.0));
        let words = format!("{}: record {}{at}: {}", chain.thread, chain.sound + 1, chain.why);
        let fix = format!("trust its records up to number {} alone", chain.sound);
        found.push(Finding::new_problem("chain", words, fix, CommandExit::Log));
    }
    found
}

fn check_holder(log: &Path, start: &str) -> Finding {
    match sqlite::find_holder(log) {
        Ok(Some(pid)) => Finding::new_good("lock", format!("process {pid} runs an organism on it")),
        Ok(None) => Finding::new_good("lock", format!("free: no organism runs on it; start it with {start}")),
        Err(fault) => Finding::new_problem(
            "lock",
            fault.to_string(),
            "the rights of that file",
            CommandExit::Unavailable,
        ),
    }
}

/// What keeps the log from being written, as the organism that runs on it says, or that it does not answer.
fn list_alarms(log: &Path) -> Vec<Finding> {
    let now = WallClock.now();
    let finding = |alarm: ApiAlarm| {
        let (words, what) =
            (alarm.sentence(now), if alarm.follower.is_some() { "follower" } else { "writing" });
        match alarm.lasts() {
            true => Finding::new_problem(what, words, alarm.fix, CommandExit::Unavailable),
            false => Finding::new_note(what, words, format!("if it comes back: {}", alarm.fix)),
        }
    };
    match read_alarms(log) {
        Ok(alarms) => alarms.into_iter().map(finding).collect(),
        Err(silent) => {
            let (words, fix) = (silent.to_string(), silent.fix().to_owned());
            vec![Finding::new_problem("answers", words, fix, CommandExit::Unavailable)]
        }
    }
}

fn run_file(log: &Path) -> Option<Finding> {
    let path = RunFile::find_path(log);
    if !path.exists() {
        return None;
    }
    Some(match RunFile::find_holder(log) {
        Some(run) if run.drain_ms.is_some() => {
            Finding::new_good("run file", format!("process {} stops, and waits for what is out", run.pid))
        }
        Some(run) => Finding::new_good("run file", format!("process {} listens on {}", run.pid, run.address)),
        None => {
            let words = format!("{}: it is stale, its process is gone", path.display());
            Finding::new_note("run file", words, "nothing: it is ignored, and the next start replaces it")
        }
    })
}
