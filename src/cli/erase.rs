//! `systole erase`: takes sensitive values, or whole bodies, out of a log for good. Their commitments stay, so that
//! everything still verifies.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::exit::CommandExit;
use super::here;
use super::looking::absent;
use super::place::Place;
use super::screen::Screen;
use crate::audit::erasing::{self, ErasurePlan, ErasureRefused, SHORTEST};
use crate::edges::clock::{WallClock, random_bytes};
use crate::edges::log::sqlite::{self, OpenSqliteLog};
use crate::edges::system;
use systole_core::rules::core_payload;
use systole_core::types::ids::{Digest, MessageId, Name, ThreadId};
use systole_core::types::ports::{Clock as _, Commit, LogBatch, LogFault, LogReader as _, Position};
use systole_core::types::record::{Header, MessageRole, Record, RecordCode, RecordKind, head_zero};

/// Takes sensitive values, or whole bodies, out of the log for good.
///
/// Names records by their position. The values that their schemas mark as sensitive go, wherever they
/// are in the log, with the journal entries, prompts and other documents that repeat them. What is left
/// still verifies. No organism may run on the log.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole erase 41 --dry-run
  systole erase 41 --reason 'asked for by the customer'
  systole erase 41 42 --whole")]
pub(super) struct Erase {
    #[command(flatten)]
    place: Place,
    /// Positions of records
    #[arg(value_name = "POSITION", required = true, value_parser = clap::value_parser!(u64).range(1..))]
    positions: Vec<u64>,
    /// Takes the whole bodies, and not only the sensitive values
    #[arg(long)]
    whole: bool,
    /// Only shows what would go and what would stay
    #[arg(long)]
    dry_run: bool,
    /// Why; it is recorded
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Erase {
    pub(super) fn run(self) -> CommandExit {
        let screen = self.place.screen();
        self.erased(screen).unwrap_or_else(|exit| exit)
    }

    fn erased(&self, screen: Screen) -> Result<CommandExit, CommandExit> {
        let log: PathBuf = self.place.log(screen)?.components().collect();
        if !log.exists() {
            let exit = screen.fail(CommandExit::Unavailable, absent(&log));
            screen.say("  try: --log PATH");
            return Err(exit);
        }
        if let Ok(Some(_)) = sqlite::followed(&log) {
            let words =
                format!("{} is the copy of a log in NATS, where nothing is erased yet", log.display());
            let exit = screen.fail(CommandExit::Unavailable, words);
            screen.say(
                "  try: remove the objects of its values from the object store, then systole copy --again",
            );
            return Err(exit);
        }
        let fault = |fault: LogFault| here::log_fault(screen, &fault);
        let positions: BTreeSet<Position> =
            self.positions.iter().map(|position| Position(*position)).collect();
        let reader = sqlite::open_reading(&log).map_err(fault)?;
        // A log that does not verify is not touched: what is wrong with it would be harder to find.
        sqlite::verify_all(&log).map_err(fault)?;
        let plan = erasing::plan(&reader, &positions, self.whole)
            .map_err(|refused| self.refused(screen, &refused))?;
        drop(reader);
        if !self.dry_run {
            self.carried_out(&log, &plan).map_err(fault)?;
        }
        self.told(screen, &log, &plan);
        Ok(CommandExit::Done)
    }

    fn refused(&self, screen: Screen, refused: &ErasureRefused) -> CommandExit {
        let (exit, fix) = match refused {
            ErasureRefused::Log(fault) => return here::log_fault(screen, fault),
            ErasureRefused::Missing(_) => (CommandExit::Usage, "systole log, which shows the positions"),
            ErasureRefused::Unmarked(_) => (CommandExit::Usage, "--whole, which takes the whole body"),
            ErasureRefused::Needed(_) => (CommandExit::Usage, "without --whole, if it has sensitive values"),
            ErasureRefused::AtWork(..) => {
                (CommandExit::Waits, "when the thread is done: systole ps; systole cancel ends its work")
            }
        };
        let exit = screen.fail(exit, refused);
        screen.say(format!("  try: {fix}"));
        exit
    }

    fn carried_out(&self, log: &Path, plan: &ErasurePlan) -> Result<(), LogFault> {
        let OpenSqliteLog { mut writer, reader, .. } = sqlite::open(log)?;
        if !plan.erasure.records.is_empty() || !plan.erasure.documents.is_empty() {
            let told = self.record(log, &reader, plan)?;
            let batch = LogBatch { records: vec![told.into()], ..LogBatch::default() };
            match writer.erase(&plan.erasure, &batch) {
                Commit::Committed(_) => {}
                Commit::Conflict(why) | Commit::NotNow(why) | Commit::Unknown(why) => {
                    return Err(LogFault::Io { path: log.display().to_string(), why });
                }
            }
        }
        drop(reader);
        writer.rewrite()
    }

    /// The record of what went.
    fn record(
        &self,
        log: &Path,
        reader: &sqlite::SqliteReader,
        plan: &ErasurePlan,
    ) -> Result<Record, LogFault> {
        let unread = |error: std::io::Error| LogFault::Io {
            path: log.display().to_string(),
            why: system::told(&error),
        };
        let drawn = random_bytes::<26>().map_err(unread)?;
        let (id, salt) = drawn.split_at(10);
        let (mut random, mut salted) = ([0; 10], [0; 16]);
        random.copy_from_slice(id);
        salted.copy_from_slice(salt);
        let sys = ThreadId::sys();
        let mut end: Option<Record> = None;
        loop {
            let seq = end.as_ref().map_or(0, |record| record.header.seq);
            match reader.of_thread(&sys, seq + 1, 512)?.pop() {
                Some((_, last)) => end = Some(last),
                None => break,
            }
        }
        let now = WallClock.now();
        let parts: Vec<(Position, Vec<usize>)> =
            plan.parts.iter().map(|(position, parts)| (*position, parts.clone())).collect();
        let body = core_payload::erased(self.reason.as_deref(), &parts, &plan.erasure.documents);
        let header = Header {
            thread: sys.clone(),
            seq: end.as_ref().map_or(0, |record| record.header.seq) + 1,
            id: MessageId::new(now.0, &random),
            kind: RecordKind::Message,
            from: Name::core(),
            to: None,
            call: None,
            turn: None,
            ordinal: None,
            cause: None,
            key: None,
            origin: None,
            time: now,
            config: end.as_ref().map_or(Digest([0; 32]), |record| record.header.config),
            code: Some(RecordCode::Role(MessageRole::Told)),
        };
        Ok(header.seal(body, salted, end.map_or_else(|| head_zero(&sys), |record| record.head)))
    }

    fn told(&self, screen: Screen, log: &Path, plan: &ErasurePlan) {
        let positions = |list: &[Position]| list.iter().map(|position| position.0).collect::<Vec<_>>();
        if screen.json {
            let hashes = |list: &[Digest]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
            let records: Vec<_> = plan
                .parts
                .iter()
                .map(|(position, parts)| json!({"position": position.0, "parts": parts}))
                .collect();
            screen.value(&json!({
                "dry_run": self.dry_run,
                "erased": records,
                "documents": hashes(&plan.erasure.documents),
                "already": positions(&plan.already),
                "repeated_at": positions(&plan.repeats),
                "configurations": hashes(&plan.configurations),
                "hashes_at": positions(&plan.hashes),
                "short_values": plan.short,
            }));
            return;
        }
        let list = |list: &[Position]| {
            let shown: Vec<String> = list.iter().map(|position| format!("#{}", position.0)).collect();
            shown.join(" ")
        };
        let verb = if self.dry_run { "would erase" } else { "erased" };
        for (position, parts) in &plan.parts {
            let what = match parts.first() {
                Some(0) => "its body".to_owned(),
                _ if parts.len() == 1 => "one value".to_owned(),
                _ => format!("{} values", parts.len()),
            };
            screen.drawn(&format!("{verb} #{}: {what}", position.0));
        }
        for document in &plan.erasure.documents {
            screen.drawn(&format!("{verb} document {document}"));
        }
        if !plan.already.is_empty() {
            screen.drawn(&format!("erased before: {}", list(&plan.already)));
        }
        let mut stays = Vec::new();
        if !plan.repeats.is_empty() {
            let words = "repeat a value in a place that is not marked; --whole erases their bodies";
            stays.push(format!("{}: {words}", list(&plan.repeats)));
        }
        if !plan.hashes.is_empty() {
            stays.push(format!(
                "{}: have the hash of an erased body, so a guess can be tested",
                list(&plan.hashes)
            ));
        }
        for hash in &plan.configurations {
            stays.push(format!("the configuration {hash} repeats a value"));
        }
        if plan.short > 0 {
            stays.push(format!("values of less than {SHORTEST} bytes are not looked for in other texts"));
        }
        for hash in &plan.erasure.documents {
            stays.push(format!("{hash}: the hash of an erased document, so a guess can be tested"));
        }
        stays.extend(beside(log));
        stays.push("backups, copies, exports, and what listeners and models were sent".to_owned());
        screen.drawn("what stays:");
        stays.iter().for_each(|line| screen.drawn(&format!("  {line}")));
    }
}

/// Files beside the log that may have the bytes.
fn beside(log: &Path) -> Vec<String> {
    let Some(name) = log.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let folder = log.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let files = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let may = |file: &String| file.starts_with(&format!("{name}-wal.lost-"));
    files.filter(may).map(|file| format!("{file}: an end of the log that was given up")).collect()
}
