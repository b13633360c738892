//! `systole backup`: a consistent, verified copy of a log in one new file, also while an organism runs on it.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::exit::CommandExit;
use super::looking;
use super::place::{Place, quote_path};
use super::screen::Screen;
use super::{local_organism, system_faults};
use systole_core::types::ports::{Clock as _, LogFault};
use systole_log::checkpoint_file;
use systole_log::sqlite::{self, VerifySummary};
use systole_show::columns::counted;
use systole_system::clock::WallClock;

/// Endings of the files that belong to a log: a backup under such a name would be taken for one of them.
const BESIDE: [&str; 19] = [
    "-wal",
    "-shm",
    "-journal",
    ".lock",
    ".secret",
    ".tip",
    ".notes",
    ".run",
    ".out",
    ".out.before",
    ".find",
    ".find-wal",
    ".find-shm",
    ".find-journal",
    ".index",
    ".index-wal",
    ".index-shm",
    ".follow",
    ".sessions",
];

/// Writes a verified copy of a log into a new file.
///
/// The copy is of one moment, also while an organism runs. It is hashed from its first record to its
/// last before it gets its name. The checkpoints of the log are copied beside it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole backup -o backup.db
  systole backup organism.db -o /backups/")]
pub(super) struct BackupCommand {
    #[command(flatten)]
    place: Place,
    /// The log, if it is not the one of the organism's file
    #[arg(value_name = "LOG", conflicts_with = "log")]
    named: Option<PathBuf>,
    /// The new file, or a folder for it
    #[arg(short = 'o', long = "out", value_name = "FILE|DIR")]
    output: PathBuf,
}

impl BackupCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let log = looking::find_log(screen, &self.place, self.named.as_deref())?;
        let to = self.choose_target(screen, &log)?;
        if let Ok(condition) = sqlite::read_condition(&log)
            && let Some(lost) = condition.lost
        {
            screen.say(format!("note: {lost}"));
        }
        // Before the records: a checkpoint that is signed now is about records that the copy may lack.
        let notes = NotesDraft::copy_notes(screen, &log, &to)?;
        let backup = sqlite::back_up(&log, &to).map_err(|fault| report_fault(screen, &log, &fault))?;
        let summary = backup.summary;
        let notes = notes.map(|notes| notes.name_file(screen)).transpose()?;
        let named = backup.name_draft().map_err(|fault| local_organism::report_log_fault(screen, &fault));
        if named != Ok(true) {
            if let Some(notes) = &notes {
                // They are of no use without the log.
                let _left = fs::remove_file(notes);
            }
            return Err(named.err().unwrap_or_else(|| refuse_existing(screen, &to)));
        }
        show_backup(screen, &log, &to, notes.as_deref(), &summary);
        Ok(CommandExit::Done)
    }

    /// The file to write, which must not exist.
    fn choose_target(&self, screen: Screen, log: &Path) -> Result<PathBuf, CommandExit> {
        let of_log = log.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let to = if self.output.is_dir() {
            let (stem, ending) = of_log.rsplit_once('.').unwrap_or((&of_log, "db"));
            let now: String = WallClock.now().to_string().chars().filter(|c| *c != ':').take(17).collect();
            self.output.join(format!("{stem}-{now}Z.{ending}"))
        } else {
            self.output.clone()
        };
        let name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.strip_prefix(&of_log).is_some_and(|ending| BESIDE.contains(&ending)) {
            let words = format!("{}: a file with that name belongs to the log", to.display());
            return Err(screen.refuse(words, "another name, as backup.db"));
        }
        for file in [to.clone(), checkpoint_file::to_path(&to)] {
            if file.symlink_metadata().is_ok() {
                return Err(refuse_existing(screen, &file));
            }
        }
        Ok(to)
    }
}

fn refuse_existing(screen: Screen, file: &Path) -> CommandExit {
    let words = format!("{}: it is there already, and is not overwritten", file.display());
    screen.refuse(words, "another name, or a folder: the file then gets the time as its name")
}

/// Reports why there is no backup.
fn report_fault(screen: Screen, log: &Path, fault: &LogFault) -> CommandExit {
    let exit = local_organism::report_log_fault(screen, fault);
    if matches!(fault, LogFault::Foreign { why, .. } if why.contains("NATS")) {
        screen.say(format!(
            "  try: systole copy --to FILE, which makes another copy of it; the log is not in {}",
            log.display()
        ));
    }
    screen.say("no backup was made");
    exit
}

/// The checkpoints of the log under a draft name, removed if they get no other.
struct NotesDraft {
    draft: PathBuf,
    to: PathBuf,
    is_named: bool,
}

impl NotesDraft {
    /// Copies the checkpoints of a log, if it has any.
    fn copy_notes(screen: Screen, log: &Path, to: &Path) -> Result<Option<NotesDraft>, CommandExit> {
        let log = fs::canonicalize(log).unwrap_or_else(|_| log.to_owned());
        let source = checkpoint_file::to_path(&log);
        // Those that cannot be read are found here, and not when they are needed.
        let found = checkpoint_file::read_notes(&source)
            .map_err(|fault| system_faults::report_fault(screen, CommandExit::Unavailable, &fault))?;
        if found.is_empty() {
            return Ok(None);
        }
        let to = checkpoint_file::to_path(to);
        let draft = to.with_extension(format!("notes.unfinished-{}", std::process::id()));
        let copied = || -> std::io::Result<()> {
            let mut bytes = Vec::new();
            File::open(&source)?.read_to_end(&mut bytes)?;
            let mut file = File::options().write(true).create_new(true).mode(0o600).open(&draft)?;
            file.write_all(&bytes)?;
            file.sync_all()
        };
        copied()
            .map_err(|error| system_faults::report_unwritten(screen, &draft, "the checkpoints", &error))?;
        Ok(Some(NotesDraft { draft, to, is_named: false }))
    }

    fn name_file(mut self, screen: Screen) -> Result<PathBuf, CommandExit> {
        sqlite::name_new(&self.draft, &self.to).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => refuse_existing(screen, &self.to),
            _ => system_faults::report_unwritten(screen, &self.to, "the checkpoints", &error),
        })?;
        self.is_named = true;
        Ok(self.to.clone())
    }
}

impl Drop for NotesDraft {
    fn drop(&mut self) {
        if !self.is_named {
            // What stays has a name that says what it is.
            let _left = fs::remove_file(&self.draft);
        }
    }
}

fn show_backup(screen: Screen, log: &Path, to: &Path, notes: Option<&Path>, summary: &VerifySummary) {
    let VerifySummary { records, threads, documents, last } = *summary;
    if screen.json {
        let bytes = fs::metadata(to).map(|file| file.len()).ok();
        screen.show_value(&json!({
            "log": log, "backup": to, "notes": notes, "records": records, "threads": threads,
            "documents": documents, "last": last.0, "bytes": bytes,
        }));
        return;
    }
    let with = notes.map_or_else(String::new, |notes| format!(", with {}", notes.display()));
    let records = counted(records, "record");
    screen.show(&format!("{}: {records} of {}, verified{with}", to.display(), log.display()));
    let (log, to) = (quote_path(log), quote_path(to));
    screen.say("to restore it, while no organism runs:");
    screen.say(format!("  move {log} away, with -wal, -shm, .tip and .notes beside it; then: cp {to} {log}"));
}
