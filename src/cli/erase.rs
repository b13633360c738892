//! `systole erase`: takes sensitive values, or whole bodies, out of a log for good. Their commitments stay, so that
//! everything still verifies.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::exit::CommandExit;
use super::local_organism;
use super::looking::{self, split_number};
use super::place::Place;
use super::screen::Screen;
use super::system_faults;
use super::unfound::report_not_found;
use systole_core::rules::core_payload::{self, ErasedDocument};
use systole_core::types::ids::{Digest, MessageId, ThreadId};
use systole_core::types::ports::{Clock as _, Commit, LogBatch, LogFault, LogReader, Position};
use systole_core::types::record::{Header, Record, head_zero};
use systole_export::erasing::{
    self, CopyUnfit, ErasedElsewhere, ErasurePlan, ErasureRefused, ErasureScope, ErasureTargets, SHORTEST,
    SHORTEST_TEXT, ThreadNeed,
};
use systole_follow::list_begun;
use systole_log::nats::OpenNatsLog;
use systole_log::sqlite::{self, OpenSqliteLog, SqliteReader};
use systole_log::{index, search};
use systole_organism as runtime;
use systole_organism::plan::BusAccess;
use systole_organism::planning;
use systole_organism::runfile::RunFile;
use systole_queries::finding::{self, NameOwner};
use systole_queries::prompts::find_before;
use systole_show::columns::plain;
use systole_system::clock::{WallClock, draw_random_bytes};
use systole_system::system;

/// Takes sensitive values, whole bodies, or files out of the log for good.
///
/// Names records by their position, and files by their hash. The values that their schemas mark as
/// sensitive go, wherever they are marked in the log, with the journal entries, refusals, prompts and
/// other documents that repeat them, the search file, the index, and the output of organisms in the
/// background. What is left still verifies. No organism may run on the log.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole erase 41 --dry-run
  systole erase 41 --reason 'asked for by the customer'
  systole erase @last@1 42 --whole
  systole erase --again before/organism.db")]
pub(super) struct EraseCommand {
    #[command(flatten)]
    place: Place,
    /// Positions in the log, records, or hashes of files: 41, @last@7
    #[arg(value_name = "POSITION|THREAD@N|HASH", required_unless_present = "again")]
    positions: Vec<String>,
    /// Takes whole bodies with their files, and not only the sensitive values
    #[arg(long)]
    whole: bool,
    /// Takes what was erased since in a newer copy of this log
    #[arg(long, value_name = "LOG", conflicts_with_all = ["positions", "whole"])]
    again: Option<PathBuf>,
    /// Only shows what would go and what would stay
    #[arg(long)]
    dry_run: bool,
    /// Why; it is recorded
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl EraseCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let log = looking::find_log(screen, &self.place, None)?;
        let fault = |fault: LogFault| local_organism::report_log_fault(screen, &fault);
        if !self.dry_run
            && let Some(pid) = sqlite::find_holder(&log).map_err(fault)?
        {
            return Err(fault(LogFault::InUse { path: log.display().to_string(), pid }));
        }
        let is_copy = matches!(sqlite::read_followed(&log), Ok(Some(_)));
        let outputs =
            RunFile::list_outputs(&log).into_iter().filter(|file| file.exists()).collect::<Vec<_>>();
        let plan = match is_copy {
            true => self.in_nats(screen, &log)?,
            false => {
                let scope = if self.whole { ErasureScope::Bodies } else { ErasureScope::Values };
                let reader = sqlite::open_reading(&log).map_err(fault)?;
                let plan = self.plan_erasure(screen, &log, &reader, scope)?;
                drop(reader);
                if !self.dry_run {
                    self.carried_out(screen, &log, &plan)?;
                }
                plan
            }
        };
        if !self.dry_run {
            outputs.iter().try_for_each(|file| remove_output(screen, file))?;
        }
        if screen.json {
            screen.show_value(&self.as_json(&log, &plan, &outputs));
        } else {
            self.list_lines(&log, &plan, is_copy, &outputs).iter().for_each(|line| screen.show_drawn(line));
        }
        Ok(CommandExit::Done)
    }

    fn plan_erasure(
        &self,
        screen: Screen,
        log: &Path,
        reader: &SqliteReader,
        scope: ErasureScope,
    ) -> Result<ErasurePlan, CommandExit> {
        let unread = |fault: LogFault| local_organism::report_log_fault(screen, &fault);
        // A log that does not verify is not touched: what is wrong with it would be harder to find.
        sqlite::verify_all(log).map_err(unread)?;
        let reason = self.reason.as_deref();
        if let Some(copy) = &self.again {
            let erased = read_copy(screen, copy, reader)?;
            return erasing::plan_again(reader, &erased, reason)
                .map_err(|refused| report_refusal(screen, &refused));
        }
        let others = self.positions.iter().filter(|typed| Digest::parse(typed).is_err());
        let positions = others.map(|typed| find_position(screen, reader, typed));
        let positions = positions.collect::<Result<BTreeSet<Position>, CommandExit>>()?;
        let targets = ErasureTargets { positions, files: self.list_files().collect() };
        erasing::plan_erasure(reader, &targets, scope, reason)
            .map_err(|refused| report_refusal(screen, &refused))
    }

    /// The files that are named by their hashes.
    fn list_files(&self) -> impl Iterator<Item = Digest> {
        self.positions.iter().filter_map(|typed| Digest::parse(typed).ok())
    }

    /// The same for a log in NATS, of which the log here is a copy.
    fn in_nats(&self, screen: Screen, copy: &Path) -> Result<ErasurePlan, CommandExit> {
        let fault = |fault: LogFault| local_organism::report_log_fault(screen, &fault);
        if self.again.is_some() {
            let words = "a copy of a log in NATS has what the stream has";
            return Err(screen.refuse(words, "systole copy --again, which makes the copy anew"));
        }
        if self.whole {
            let words = "a body in NATS is in a bundle, and bundles never change: only sensitive values go";
            return Err(screen.refuse(words, "without --whole"));
        }
        if self.list_files().next().is_some() {
            let words = "a file in NATS is in a bundle, and bundles never change: only sensitive values go";
            return Err(screen.refuse(words, "without the hash of a file"));
        }
        if self.dry_run {
            let reader = sqlite::open_reading(copy).map_err(fault)?;
            return self.plan_erasure(screen, copy, &reader, ErasureScope::Objects);
        }
        let file = self.place.organism(screen)?;
        let bus = planning::open_bus(&file, true);
        let bus = bus.map_err(|missing| local_organism::report_missing_part(screen, &missing))?;
        let (Some(bus), Some(kept)) = (bus, &file.log_kept) else {
            let words =
                format!("{} is the copy of a log in NATS, and the file names no broker", copy.display());
            return Err(screen.refuse(words, "-f with the organism's file"));
        };
        let BusAccess { url, credentials } = bus;
        let organism = &file.composition.organism;
        local_organism::with_runtime(screen, async {
            let opening =
                runtime::erasing::open_for_erasing(organism, &url, credentials.as_ref(), kept.replicas, copy);
            match Box::pin(opening).await {
                Ok(open) => tokio::task::block_in_place(|| self.in_stream(screen, copy, open)),
                Err(unopened) => Err(local_organism::start_fault(screen, &unopened)),
            }
        })
    }

    fn in_stream(&self, screen: Screen, copy: &Path, open: OpenNatsLog) -> Result<ErasurePlan, CommandExit> {
        let OpenNatsLog { writer: mut log_writer, reader, .. } = open;
        let plan = self.plan_erasure(screen, copy, &reader, ErasureScope::Objects)?;
        if plan.erasure.is_empty() {
            return Ok(plan);
        }
        let unfinished = |why: String| {
            let words = format!("not everything is erased: {why}");
            screen.fail_with(CommandExit::Unavailable, words, "the same again")
        };
        let forget = || forget_caches(copy).map_err(|error| unfinished(system::describe_error(&error)));
        forget()?;
        let told = self
            .build_record(copy, &reader, &plan)
            .map_err(|fault| local_organism::report_log_fault(screen, &fault))?;
        let batch = LogBatch { records: vec![told.into()], ..LogBatch::default() };
        log_writer.erase_values(&plan.erasure, &batch).map_err(unfinished)?;
        forget()?;
        drop((log_writer, reader));
        sqlite::verify_all(copy)
            .map(|_| plan)
            .map_err(|fault| local_organism::report_log_fault(screen, &fault))
    }

    fn carried_out(&self, screen: Screen, log: &Path, plan: &ErasurePlan) -> Result<(), CommandExit> {
        let fault = |fault: LogFault| local_organism::report_log_fault(screen, &fault);
        let OpenSqliteLog { writer: mut log_writer, reader, notes, .. } =
            sqlite::open_log(log).map_err(fault)?;
        notes.iter().for_each(|note| screen.say(note));
        if plan.erasure.is_empty() {
            return Ok(());
        }
        let unwritten = |why: String| fault(LogFault::Io { path: log.display().to_string(), why });
        if reader.read_last().map_err(fault)? != plan.last {
            return Err(unwritten("it was written to in the meantime".to_owned()));
        }
        // Before the commit too: a process that is killed in between leaves no word behind.
        let forget = || forget_caches(log).map_err(|error| unwritten(system::describe_error(&error)));
        forget()?;
        let told = self.build_record(log, &reader, plan).map_err(fault)?;
        let batch = LogBatch { records: vec![told.into()], ..LogBatch::default() };
        match log_writer.erase_values(&plan.erasure, &batch) {
            Commit::Committed(_) => {}
            Commit::Conflict(why) | Commit::NotNow(why) | Commit::Unknown(why) => return Err(unwritten(why)),
        }
        forget()?;
        drop(reader);
        if let Err(fault) = log_writer.rewrite_file() {
            let words = format!("the values are erased, but the file still has old pages with them: {fault}");
            let fix = "the same again, when no other program reads the log";
            return Err(screen.fail_with(CommandExit::Unavailable, words, fix));
        }
        drop(log_writer);
        sqlite::verify_all(log).map(drop).map_err(fault)
    }

    /// The record of what went.
    fn build_record(
        &self,
        log: &Path,
        reader: &SqliteReader,
        plan: &ErasurePlan,
    ) -> Result<Record, LogFault> {
        let unread = |error: std::io::Error| LogFault::Io {
            path: log.display().to_string(),
            why: system::describe_error(&error),
        };
        let drawn = draw_random_bytes::<26>().map_err(unread)?;
        let (id, salt) = drawn.split_at(10);
        let (mut random, mut salted) = ([0; 10], [0; 16]);
        random.copy_from_slice(id);
        salted.copy_from_slice(salt);
        let sys = ThreadId::new_sys();
        let log: &dyn LogReader = reader;
        let end = log.records_of(&sys, 1).last().transpose()?.map(|(_, last)| last);
        let now = WallClock.now();
        let parts: Vec<(Position, Vec<usize>)> =
            plan.parts.iter().map(|(position, parts)| (*position, parts.clone())).collect();
        let (by, reason) = (system::read_user(), self.reason.as_deref());
        let documents = plan.erasure.documents.iter().map(|hash| describe_document(reader, *hash));
        let documents = documents.collect::<Result<Vec<_>, LogFault>>()?;
        let body = core_payload::write_erasure(&by, reason, &parts, &documents);
        // A log without records of the core has a configuration all the same.
        let last = reader.read_after(Position(plan.last.0.saturating_sub(1)), 1)?.pop().map(|(_, last)| last);
        let config = end.as_ref().or(last.as_ref()).map_or(Digest([0; 32]), |record| record.header.config);
        let seq = end.as_ref().map_or(0, |record| record.header.seq) + 1;
        let header = Header::new_notice(sys.clone(), seq, MessageId::new(now.0, &random), now, config);
        Ok(header.seal_record(body, salted, end.map_or_else(|| head_zero(&sys), |record| record.head)))
    }

    fn as_json(&self, log: &Path, plan: &ErasurePlan, outputs: &[PathBuf]) -> Value {
        let positions = |list: &[Position]| list.iter().map(|position| position.0).collect::<Vec<_>>();
        let hashes = |list: &[Digest]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let records = plan.parts.iter();
        let records = records.map(|(position, parts)| json!({"position": position.0, "parts": parts}));
        let holders = plan.holders.iter().map(|one| {
            let (file, thread) = (one.file.to_string(), one.thread.to_string());
            json!({"document": file, "position": one.position.0, "thread": thread})
        });
        json!({
            "dry_run": self.dry_run,
            "erased": records.collect::<Vec<_>>(),
            "documents": hashes(&plan.erasure.documents),
            "already": positions(&plan.already),
            "repeated_at": positions(&plan.repeats),
            "needed_at": positions(&plan.fixed),
            "keys_at": positions(&plan.keys),
            "configurations": hashes(&plan.configurations),
            "hashes_at": positions(&plan.hashes),
            "files_at": holders.collect::<Vec<_>>(),
            "short_values": plan.short,
            "outputs": outputs,
            "files": list_beside(log),
            "followers": list_followers(log),
        })
    }

    fn list_lines(&self, log: &Path, plan: &ErasurePlan, is_copy: bool, outputs: &[PathBuf]) -> Vec<String> {
        let verb = if self.dry_run { "would erase" } else { "erased" };
        let mut lines = Vec::new();
        for (position, parts) in &plan.parts {
            let what = match parts.as_slice() {
                [0, ..] => "its body".to_owned(),
                [_] => "one value".to_owned(),
                more => format!("{} values", more.len()),
            };
            lines.push(format!("{verb} #{}: {what}", position.0));
        }
        for document in &plan.erasure.documents {
            lines.push(format!("{verb} document {document}"));
        }
        for file in outputs {
            let name = plain(&file.display().to_string());
            lines.push(format!("{verb} {name}: what an organism in the background printed"));
        }
        if !plan.already.is_empty() {
            lines.push(format!("erased before: {}", join_positions(&plan.already)));
        }
        if plan.erasure.is_empty() {
            lines.push("nothing is left to erase in the log".to_owned());
            return lines;
        }
        if !self.dry_run {
            lines.push("every record still verifies".to_owned());
        }
        lines.push("what stays:".to_owned());
        if is_copy {
            let words = "in bundles of the stream, which never change, is everything that is named below;";
            lines.push(format!("  {words} other copies have the values until systole copy --again"));
        }
        lines.extend(list_rest(log, plan).into_iter().map(|line| format!("  {}", plain(&line))));
        lines
    }
}

/// What a newer copy of the log lost. What of it cannot be found here is said at once.
fn read_copy(screen: Screen, copy: &Path, here: &SqliteReader) -> Result<ErasedElsewhere, CommandExit> {
    let fault = |fault: &LogFault| local_organism::report_log_fault(screen, fault);
    let there = sqlite::open_reading(copy).map_err(|unread| fault(&unread))?;
    let name = plain(&copy.display().to_string());
    let erased = ErasedElsewhere::read_copy(&there, here).map_err(|unfit| match unfit {
        CopyUnfit::Log(unread) => fault(&unread),
        unfit => {
            let fix = "the log from which the values were erased after this backup was made";
            screen.refuse(format!("{name}: {unfit}"), fix)
        }
    })?;
    if !erased.others.is_empty() {
        let at = join_positions(&erased.others);
        screen.say(format!("{at}: another record than in {name}, so nothing of it is erased"));
    }
    if !erased.later.is_empty() {
        screen.say(format!("{}: erased there, and not in this log", join_positions(&erased.later)));
    }
    Ok(erased)
}

/// How `<erased>` names a document that is still there. Only the bytes of a prompt's link name the link before it, so
/// the record has to.
fn describe_document(reader: &SqliteReader, hash: Digest) -> Result<ErasedDocument, LogFault> {
    let bytes = reader.read_document(hash)?.filter(|bytes| Digest::hash_bytes(bytes) == hash);
    Ok(ErasedDocument { hash, before: bytes.and_then(|bytes| find_before(&bytes)) })
}

/// The followers that began on the log, which was read as a whole just now.
fn list_followers(log: &Path) -> Vec<String> {
    let begun = sqlite::open_reading(log).and_then(|reader| list_begun(&reader));
    begun.unwrap_or_default().iter().map(ToString::to_string).collect()
}

/// What still says something of what was erased.
fn list_rest(log: &Path, plan: &ErasurePlan) -> Vec<String> {
    let mut stays = Vec::new();
    let mut at = |positions: &[Position], words: &str| {
        if !positions.is_empty() {
            stays.push(format!("{}: {words}", join_positions(positions)));
        }
    };
    at(&plan.repeats, "repeat a value in a place that is not marked; --whole erases their bodies");
    at(&plan.fixed, "repeat a value and cannot be erased");
    at(&plan.keys, "repeat a value in the key of their sender, which is part of the header");
    at(&plan.hashes, "have the hash of an erased body, so a guess can be tested");
    for one in &plan.holders {
        stays.push(format!("#{} of {}: refers to the file {}", one.position.0, one.thread, one.file));
    }
    for hash in &plan.configurations {
        stays.push(format!("document {hash}: repeats a value and cannot be erased"));
    }
    for hash in &plan.erasure.documents {
        stays.push(format!("{hash}: the hash of an erased document, so a guess can be tested"));
    }
    if plan.short > 0 {
        let words = "values of less than {SHORTEST} bytes, and other texts of less than {SHORTEST_TEXT},";
        let words = words.replace("{SHORTEST}", &SHORTEST.to_string());
        let words = words.replace("{SHORTEST_TEXT}", &SHORTEST_TEXT.to_string());
        stays.push(format!("{words} were not looked for elsewhere"));
    }
    stays.extend(list_beside(log));
    let followers = list_followers(log);
    if !followers.is_empty() {
        stays.push(format!("what the receivers of followers were sent: {}", followers.join(", ")));
    }
    stays.push("backups, copies and exports elsewhere, and what listeners and models were sent".to_owned());
    stays.push(
        "what systole run printed elsewhere: on a terminal, or into the journal of the system".to_owned(),
    );
    stays
}

/// Removes what an organism in the background printed: payloads as they were.
fn remove_output(screen: Screen, output: &Path) -> Result<(), CommandExit> {
    std::fs::remove_file(output)
        .map_err(|error| system_faults::report_unwritten(screen, output, "what an organism printed", &error))
}

/// The position that a person typed.
fn find_position(screen: Screen, reader: &SqliteReader, typed: &str) -> Result<Position, CommandExit> {
    let refused = |words: String| {
        let fix = "systole find WORDS, which shows both the position and the thread with the number";
        screen.refuse(words, fix)
    };
    let number = typed.strip_prefix('#').unwrap_or(typed);
    if let Some(position) = number.parse().ok().filter(|position| *position > 0) {
        return Ok(Position(position));
    }
    let (thread, Some(seq)) = split_number(typed) else {
        return Err(refused(format!("`{typed}` is neither a position nor a record of a thread")));
    };
    let thread = finding::find(reader, thread, &NameOwner::new_operator())
        .map_err(|why| report_not_found(screen, &why))?;
    let found = reader
        .of_thread(&thread, seq, 1)
        .map_err(|fault| local_organism::report_log_fault(screen, &fault))?;
    let found = found.into_iter().find(|(_, record)| record.header.seq == seq);
    found.map(|(at, _)| at).ok_or_else(|| refused(format!("thread {thread} has no record {seq}")))
}

fn join_positions<'a>(positions: impl IntoIterator<Item = &'a Position>) -> String {
    let shown: Vec<String> = positions.into_iter().map(|position| format!("#{}", position.0)).collect();
    shown.join(" ")
}

fn report_refusal(screen: Screen, refused: &ErasureRefused) -> CommandExit {
    let (exit, fix) = match refused {
        ErasureRefused::Log(fault) => return local_organism::report_log_fault(screen, fault),
        ErasureRefused::Missing { .. } => {
            (CommandExit::Usage, "systole find WORDS, which shows positions".to_owned())
        }
        ErasureRefused::NoFile(_) => (CommandExit::Usage, "systole log --raw, which shows hashes".to_owned()),
        ErasureRefused::WholeFile { .. } => (CommandExit::Usage, "--whole, which takes the file".to_owned()),
        ErasureRefused::Unmarked(_) => (CommandExit::Usage, "--whole, which takes the whole body".to_owned()),
        ErasureRefused::Needed(_) => {
            (CommandExit::Usage, "without --whole, if it has sensitive values".to_owned())
        }
        ErasureRefused::Reason => (CommandExit::Usage, "a --reason in other words".to_owned()),
        ErasureRefused::AtWork { thread, need, .. } => (CommandExit::Waits, suggest_way_out(thread, need)),
    };
    screen.fail_with(exit, refused, fix)
}

/// What a person can do about work that needs a record.
fn suggest_way_out(thread: &ThreadId, need: &ThreadNeed) -> String {
    let first = match need {
        ThreadNeed::Approval(id) => format!("systole approve {id} or systole reject {id}"),
        ThreadNeed::Question(id) => format!("systole choose {id}"),
        ThreadNeed::Call(..) => {
            format!("again when it is answered; systole why {thread} shows what it waits for")
        }
        ThreadNeed::Timer(_) => "again when it has fired".to_owned(),
    };
    format!("{first}; or, while the organism runs, systole end {thread}, which ends the thread")
}

/// Removes the files beside the log that are made again from it, and have words of it.
fn forget_caches(log: &Path) -> std::io::Result<()> {
    search::forget_file(log)?;
    index::forget_file(log)?;
    Ok(())
}

/// Files beside the log that may have the bytes: other logs and copies, and what was kept of damaged ones.
fn list_beside(log: &Path) -> Vec<String> {
    let Some(name) = log.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let folder = log.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    files.sort();
    let words = |file: &String| {
        if file.starts_with(&format!("{name}-wal.lost-")) {
            return Some(format!("{file}: an end of the log that was given up"));
        }
        let is_log = file != name && sqlite::read_format(&folder.join(file)).is_ok();
        is_log.then(|| format!("{file}: another log, or a copy of one"))
    };
    files.iter().filter_map(words).collect()
}
