//! `systole copy`: updates the copy of a log in NATS and ends, or rebuilds it and compares it with the old copy. It
//! runs no organism, writes nothing to the broker, and needs only an auditor's rights.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::exit::CommandExit;
use super::local_organism;
use super::place::{Place, quote_path};
use super::screen::Screen;
use systole_bus::BrokerCredentials;
use systole_config::{self as config, OrganismFile};
use systole_core::types::ports::LogFault;
use systole_log::nats::{CopyStage, CurrentCopy, OldCopy};
use systole_organism::copying::{self, CopyRequest};
use systole_organism::plan::StartFault;
use systole_show::columns::counted;

/// Brings the copy of a log in NATS up to date.
///
/// The commands that only read can then use it, with nothing running. It goes to where the organism's file
/// says the copy is, with the pump's key; `--to` and `--key-env` say something else, as on the
/// machine of an auditor. Nothing is written to the broker.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole copy
  systole copy --again --to audit.db")]
pub(super) struct CopyCommand {
    #[command(flatten)]
    place: Place,
    /// Write the copy into this file
    #[arg(long, value_name = "FILE", conflicts_with = "log")]
    to: Option<PathBuf>,
    /// Make it anew, and say whether the old one was equal
    #[arg(long)]
    again: bool,
    /// The variable that holds the key, as an auditor's
    #[arg(long, value_name = "NAME")]
    key_env: Option<String>,
}

impl CopyCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let file = self.place.organism(screen)?;
        let organism = &file.composition.organism;
        let Some(url) = file.bus.as_deref().filter(|_| file.log_kept.is_some()) else {
            let words = format!("the log of {organism} is in {}, not in NATS", file.log.display());
            let fix = "the commands that only read, which find it there; or log: {nats: ADDRESS}";
            return Err(screen.refuse(words, fix));
        };
        let credentials = self.read_credentials(screen, &file)?;
        let asked = CopyRequest { organism, url, credentials, by_auditor: self.key_env.is_some() };
        let copy: PathBuf = self.to.as_ref().unwrap_or(&file.log).components().collect();
        let mut stage = CopyStage::default();
        let mut tell = |now: CopyStage| {
            stage = now;
            let part = (now.sequence * 100).checked_div(now.of).unwrap_or(100).to_string();
            screen.show_progress(&format!("{} records, {part} % of the stream", now.records));
        };
        let brought = local_organism::with_runtime(screen, async {
            Ok(Box::pin(copying::update_copy(&asked, &copy, self.again, &mut tell)).await)
        });
        screen.show_progress("");
        let brought = brought?.map_err(|fault| self.report_failure(screen, &fault, stage))?;
        let copy = std::fs::canonicalize(&copy).unwrap_or(copy);
        Ok(show_copy(screen, organism.as_str(), &copy, &brought))
    }

    fn read_credentials(
        &self,
        screen: Screen,
        file: &OrganismFile,
    ) -> Result<Option<BrokerCredentials>, CommandExit> {
        let read = |name: &str| std::env::var(name).ok();
        match (&self.key_env, &file.bus_key) {
            (Some(name), _) => config::named_key(name, read).map(Some).map_err(|why| {
                let words = format!("--key-env: {why}");
                screen.refuse(words, "AUDIT_KEY=\"$(cat _auditor.nk)\" systole copy --key-env AUDIT_KEY")
            }),
            (None, Some(key)) => {
                let keyless = |keyless| {
                    let fix = "--key-env NAME, if another key may read the log";
                    screen.fail_with(CommandExit::Configuration, keyless, fix)
                };
                key.credentials(read).map(Some).map_err(keyless)
            }
            (None, None) => Ok(None),
        }
    }

    /// Reports why there is no copy, or why it ends too early, and how much of it there is.
    fn report_failure(&self, screen: Screen, fault: &StartFault, stage: CopyStage) -> CommandExit {
        let StartFault::Log(log_fault) = fault else {
            let exit = local_organism::start_fault(screen, fault);
            self.say_kept(screen, stage);
            return exit;
        };
        let (exit, words, fix) = match log_fault {
            LogFault::InUse { .. } => (
                CommandExit::Unavailable,
                format!("{log_fault}, which keeps it up to date"),
                "the commands that only read, which read it as it is; or --to FILE, for a copy beside it",
            ),
            LogFault::Damaged { path, .. } if path.contains('/') => (
                CommandExit::Log,
                log_fault.to_string(),
                "systole copy --again, which makes it from the stream, and keeps this one",
            ),
            LogFault::Damaged { .. } => {
                (CommandExit::Log, format!("the log {log_fault}"), "the broker's store, from a backup")
            }
            LogFault::Full { .. } | LogFault::Io { .. } => (
                CommandExit::Unavailable,
                log_fault.to_string(),
                "the same again when there is room and this user may write there; or --to FILE",
            ),
            LogFault::Foreign { .. } => {
                (CommandExit::Log, log_fault.to_string(), "--to FILE with a copy of this log, or a new name")
            }
            LogFault::Apart { .. }
            | LogFault::Newer { .. }
            | LogFault::Lost { .. }
            | LogFault::Elsewhere { .. }
            | LogFault::NothingLost { .. } => return local_organism::report_log_fault(screen, log_fault),
        };
        screen.fail_with(exit, words, fix);
        self.say_kept(screen, stage);
        exit
    }

    fn say_kept(&self, screen: Screen, stage: CopyStage) {
        if self.again {
            screen.say("no copy was made; the old one is unchanged");
        } else if stage.records > 0 {
            screen.say(format!("the copy has the {} before that", counted(stage.records, "record")));
        }
    }
}

/// Prints the current state, and reports differences from the old copy.
fn show_copy(screen: Screen, organism: &str, copy: &std::path::Path, brought: &CurrentCopy) -> CommandExit {
    let CurrentCopy { stream, records, new_records, bundles, new_bundles, again } = brought;
    let differs = again.as_ref().and_then(|again| Some((again, again.differs.as_ref()?)));
    if screen.json {
        screen.show_value(&json!({
            "organism": organism, "stream": stream, "copy": copy, "records": records,
            "new_records": new_records, "bundles": bundles, "new_bundles": new_bundles,
            "again": again.as_ref().map(describe_copy),
        }));
    } else {
        let of = bundles.map_or_else(String::new, |all| format!(" in {}", counted(all, "bundle")));
        let all = format!("{}: {}{of}", copy.display(), counted(*records, "record"));
        let new = match (again, new_records, new_bundles) {
            (Some(_), ..) => "made again".to_owned(),
            (None, _, 0) => "nothing is new".to_owned(),
            (None, new, _) if new == records => "all of it new".to_owned(),
            (None, new, of) => format!("{} in {} new", counted(*new, "record"), counted(*of, "bundle")),
        };
        screen.show(&format!("{all}; {new}"));
        match again {
            Some(OldCopy { equal, differs: None, .. }) => {
                screen.show(&format!("the old copy was equal: {}", counted(*equal, "record")));
            }
            Some(OldCopy { equal, .. }) => {
                screen.show(&format!("the old copy was equal in its first {equal}"));
            }
            None => {}
        }
    }
    let Some((again, difference)) = differs else { return CommandExit::Done };
    let place = match difference.position.0 {
        0 => String::new(),
        position => format!(" at position {position}"),
    };
    let exit = screen.fail(CommandExit::Log, format!("the old copy differs{place}: {}", difference.why));
    if let Some(kept) = &again.kept {
        let from = difference.position.0.max(1);
        let kept = quote_path(kept);
        screen.say(format!("  try: systole log --log {kept} --from {from}, where it is kept"));
    }
    exit
}

fn describe_copy(again: &OldCopy) -> Value {
    let OldCopy { equal, differs, kept } = again;
    let differs = differs.as_ref().map(|at| json!({"position": at.position.0, "why": at.why}));
    json!({"equal_records": equal, "differs": differs, "kept": kept})
}
