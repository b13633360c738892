//! `systole verify`: reads a log from its first record to its last, compares it with what others kept of it, and says
//! what that shows and what not. Nothing is written.

pub(super) mod page_verdict;
pub(super) mod verify_export;
mod verify_witness;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use systole_proof::policy::TrustPolicy;

use super::exit::CommandExit;
use super::place::Place;
use super::screen::Screen;
use super::trust_policy::{build_policy, read_policy};
use super::{local_organism, looking, proved_record, system_faults, verified_prompts};
use crate::limits::{LISTED, LISTED_FAULTS, NAMED_ERASED};
use systole_core::types::ids::Digest;
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_export::verdict::{
    AuditAnswer, CheckpointFinding, CheckpointGap, CheckpointKeeper, CheckpointSigner, CheckpointSource,
    GatheredLog, LogExamination, LogVerdict, OtherEnd, RootFit, StartedFile,
};
use systole_log::checkpoint_file;
use systole_log::sqlite::{self, SqliteReader, VerifySummary};
use systole_organism::prompt_view;
use systole_organism::replaying::PromptFindings;
use systole_queries::fold_rows::{self, FoldRowsFound};
use systole_show::columns::{counted, plain, wrapped};
use systole_show::layout::{TextTone, paint};
use systole_system::system;

/// The first bytes of every SQLite file.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Verifies a log, or an export.
///
/// Every record is hashed again, and has to continue the chain of its thread. The root of all records
/// is compared with the checkpoints beside the log, and with what `--against` names. The file of a proof
/// is verified without the log.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole verify
  systole verify organism.db --against backup.db --policy proof.policy
  systole verify --policy proof.policy --witness https://witness.example
  systole verify message.tlog-proof --policy proof.policy")]
pub(super) struct VerifyCommand {
    #[command(flatten)]
    place: Place,
    /// Another log than that of the file; or an export or a proof
    #[arg(value_name = "LOG|EXPORT|PROOF", conflicts_with = "log")]
    named: Option<PathBuf>,
    /// The keys of logs and witnesses that you trust
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The key of a log that you trust, in place of a policy
    #[arg(long, value_name = "VKEY", conflicts_with = "policy")]
    key: Option<String>,
    /// A checkpoint or a copy of the log that you kept elsewhere
    #[arg(long, value_name = "NOTE|LOG")]
    against: Vec<PathBuf>,
    /// A witness, whose last checkpoint of the log is read back
    #[arg(long, value_name = "URL")]
    witness: Vec<String>,
    /// Fold every thread again, and compare with the stored states
    #[arg(long)]
    state: bool,
    /// Make each prompt of an agent again, and compare with the journal
    #[arg(long)]
    prompts: bool,
}

/// What is looked at beyond the records, most of it only if it is asked for.
#[derive(Default)]
struct MoreFindings {
    states: Option<FoldRowsFound>,
    prompts: Option<PromptFindings>,
    /// Whether no tip says where the log ended.
    is_end_unknown: bool,
}

/// What the log is compared with.
#[derive(Default)]
struct KeptCheckpoints {
    checkpoints: Vec<CheckpointSource>,
    logs: Vec<(String, SqliteReader)>,
    /// Checkpoints that cannot be read.
    unread: Vec<String>,
}

impl VerifyCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let log = looking::find_log(screen, &self.place, self.named.as_deref())?;
        let policy = match (&self.policy, &self.key) {
            (Some(path), _) => Some(read_policy(screen, path)?),
            (None, Some(key)) => Some(build_policy(screen, key)?),
            (None, None) => None,
        };
        if proved_record::is_proof(&log) {
            if !self.against.is_empty() || !self.witness.is_empty() || self.state || self.prompts {
                let words = "--against, --witness, --state and --prompts are for a log, and this is a proof";
                return Err(screen.refuse(words, "the same without it"));
            }
            return proved_record::verify_proof(screen, &log, policy.as_ref());
        }
        let mut kept = self.read_kept(screen, &log)?;
        if !self.witness.is_empty() {
            let origins = kept.origins(policy.as_ref());
            kept.checkpoints.extend(verify_witness::read_back(screen, &self.witness, &origins)?);
        }
        if verify_export::is_export(&log) {
            if self.state {
                let words = "--state is for a log, and this is an export";
                return Err(screen.refuse(words, "the same without it"));
            }
            return self.verify_export(screen, &log, policy.as_ref(), kept);
        }
        let others: Vec<&dyn LogReader> = kept.logs.iter().map(|(_, log)| log as &dyn LogReader).collect();
        let (summary, gathered) = GatheredLog::verify_log(&log, &kept.sizes(), &others, prompt_view::READING)
            .map_err(|fault| report_damage(screen, &log, &fault))?;
        let more = self.find_more(&log).map_err(|fault| report_damage(screen, &log, &fault))?;
        let names = kept.logs.iter().map(|(name, _)| name.clone()).collect();
        let examination =
            LogExamination::new(summary.records, gathered, names, &kept.checkpoints, policy.as_ref());
        if screen.json {
            screen.show_value(&as_json(&log, &summary, &examination, &kept.unread, &more));
        } else {
            let lines = list_lines(&log, &summary, &examination, &kept.unread, &more);
            lines.iter().for_each(|line| screen.show_drawn(line));
        }
        Ok(choose_exit(screen, &examination, &more))
    }

    /// Looks at the end of the log, and at what is asked for beyond the records.
    fn find_more(&self, log: &Path) -> Result<MoreFindings, LogFault> {
        let condition = sqlite::read_condition(log)?;
        if let Some(lost) = condition.lost {
            return Err(lost);
        }
        let is_end_unknown = condition.is_end_unknown;
        let mut more = MoreFindings { is_end_unknown, ..MoreFindings::default() };
        if self.state {
            more.states = Some(fold_rows::compare(&sqlite::open_reading(log)?)?);
        }
        if self.prompts {
            more.prompts =
                Some(verified_prompts::make_prompts_again(&self.place, &sqlite::open_reading(log)?)?);
        }
        Ok(more)
    }

    /// Verifies an export, which is compared with checkpoints only.
    fn verify_export(
        &self,
        screen: Screen,
        export: &Path,
        policy: Option<&TrustPolicy>,
        kept: KeptCheckpoints,
    ) -> Result<CommandExit, CommandExit> {
        if let Some((name, _)) = kept.logs.first() {
            let words = format!("{name} is a log, and an export is no log");
            return Err(screen.refuse(words, "--against with a checkpoint, as systole checkpoint prints it"));
        }
        Ok(verify_export::verify_export(screen, export, policy, kept.checkpoints))
    }

    /// Reads everything that the log is compared with.
    fn read_kept(&self, screen: Screen, log: &Path) -> Result<KeptCheckpoints, CommandExit> {
        let mut kept = KeptCheckpoints::read_beside(screen, log)?;
        let real = std::fs::canonicalize(log);
        for path in &self.against {
            if is_log(path) {
                if std::fs::canonicalize(path).ok() == real.as_ref().ok().cloned() {
                    let words = format!("{} is the log itself", path.display());
                    return Err(screen.refuse(words, "a copy that was kept elsewhere"));
                }
                let reader = sqlite::open_reading(path)
                    .map_err(|fault| local_organism::report_log_fault(screen, &fault))?;
                kept.logs.push((path.display().to_string(), reader));
                continue;
            }
            if !path.exists() {
                let absent = std::io::Error::from(std::io::ErrorKind::NotFound);
                let fault = system::report_unread(path, "a checkpoint or a log", &absent);
                return Err(system_faults::report_fault(screen, CommandExit::Usage, &fault));
            }
            let found = checkpoint_file::read_notes(path)
                .map_err(|fault| system_faults::report_fault(screen, CommandExit::Usage, &fault))?;
            if found.is_empty() {
                let words = format!("{} is empty", path.display());
                return Err(screen.refuse(words, "the file of a checkpoint, or of a log"));
            }
            if let Some((line, Err(why))) = found.iter().find(|(_, read)| read.is_err()) {
                let words = format!("{}:{line}: {why}", path.display());
                return Err(screen.refuse(words, "the file of a checkpoint, or of a log"));
            }
            kept.add_notes(path, CheckpointKeeper::Reader, found);
        }
        Ok(kept)
    }
}

impl KeptCheckpoints {
    /// The checkpoints beside a log: beside the file itself, not beside a link to it.
    fn read_beside(screen: Screen, log: &Path) -> Result<KeptCheckpoints, CommandExit> {
        let real = std::fs::canonicalize(log);
        let beside = checkpoint_file::to_path(real.as_deref().unwrap_or(log));
        let found = checkpoint_file::read_notes(&beside)
            .map_err(|fault| system_faults::report_fault(screen, CommandExit::Unavailable, &fault))?;
        let mut kept = KeptCheckpoints::default();
        kept.add_notes(&beside, CheckpointKeeper::Supplier, found);
        Ok(kept)
    }

    /// The sizes that the checkpoints are about.
    fn sizes(&self) -> BTreeSet<u64> {
        self.checkpoints.iter().map(|kept| kept.signed.checkpoint().size()).collect()
    }

    /// The names that the log may have: those of the policy, or else those of the checkpoints.
    fn origins(&self, policy: Option<&TrustPolicy>) -> BTreeSet<String> {
        match policy {
            Some(policy) => policy.logs().iter().map(|log| log.key.name().to_owned()).collect(),
            None => self.checkpoints.iter().map(|one| one.signed.checkpoint().origin().to_owned()).collect(),
        }
    }

    fn add_notes(&mut self, path: &Path, keeper: CheckpointKeeper, found: Vec<checkpoint_file::FoundNote>) {
        for (line, read) in found {
            let place = format!("{}:{line}", path.display());
            match read {
                Ok(signed) => self.checkpoints.push(CheckpointSource { place, keeper, signed }),
                Err(why) => self.unread.push(format!("{place}: {why}")),
            }
        }
    }
}

fn is_log(path: &Path) -> bool {
    use std::io::Read as _;
    let mut first = [0; SQLITE.len()];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == SQLITE
}

/// Where a log is damaged, the verdict on it, and why. Only damage gets a verdict.
fn find_damage(fault: &LogFault) -> Option<(u64, String, &str)> {
    match fault {
        LogFault::Damaged { position: Position(0), why, .. } => Some((0, "damaged".to_owned(), why)),
        LogFault::Damaged { position: Position(at), why, .. } => {
            Some((*at, format!("damaged at #{at}"), why))
        }
        LogFault::Lost { gone, why, .. } => Some((gone.first.0, format!("damaged: it lost #{gone}"), why)),
        _ => None,
    }
}

/// Reports a log that does not verify.
fn report_damage(screen: Screen, log: &Path, fault: &LogFault) -> CommandExit {
    let Some((position, verdict, why)) = find_damage(fault) else {
        return local_organism::report_log_fault(screen, fault);
    };
    if screen.json {
        let log = log.display().to_string();
        screen.show_value(&json!({"log": log, "verdict": verdict, "position": position, "why": why}));
    } else {
        let log = plain(&log.display().to_string());
        wrapped(&format!("{log}: "), 2, &plain(why)).iter().for_each(|line| screen.show_drawn(line));
        screen.show_drawn(&format!("verdict: {}", paint(TextTone::Bad, &verdict)));
    }
    local_organism::fix_of(fault).iter().for_each(|fix| screen.say(format!("  try: {fix}")));
    CommandExit::Log
}

fn choose_exit(screen: Screen, found: &LogExamination, more: &MoreFindings) -> CommandExit {
    if let LogVerdict::Contradicted { by, .. } = found.verdict() {
        let fix = "if this is an older copy, verify the newer log --against this one";
        return screen.fail_with(CommandExit::Log, format!("the log is not the one that {by} is about"), fix);
    }
    for (name, end) in found.others.iter().zip(&found.log.others) {
        if let OtherEnd::Unread(fault) = end {
            screen.say(format!("{name} is not intact itself:"));
            return local_organism::report_log_fault(screen, fault);
        }
    }
    if more.states.as_ref().is_some_and(|states| !states.wrong.is_empty()) {
        let fix = "systole run, which folds them again; and check the disk";
        return screen.fail_with(CommandExit::Log, "stored states do not match their records", fix);
    }
    if let Some(exit) =
        more.prompts.as_ref().and_then(|prompts| verified_prompts::choose_exit(screen, prompts))
    {
        return exit;
    }
    if let Some(useless) = found.checkpoints.iter().find(|found| found.is_of_no_use()) {
        let words = format!("{} was not compared: no signature of it counts by the policy", useless.place);
        let fix = "a policy with the key of its log; or no --policy, if you trust the file itself";
        return screen.fail_with(CommandExit::Failed, words, fix);
    }
    if found.satisfies_policy() {
        return CommandExit::Done;
    }
    let words = "no checkpoint satisfies the policy";
    screen.fail_with(CommandExit::Failed, words, "--against with a checkpoint that its witnesses cosigned")
}

fn list_lines(
    log: &Path,
    summary: &VerifySummary,
    found: &LogExamination,
    unread: &[String],
    more: &MoreFindings,
) -> Vec<String> {
    let VerifySummary { records, threads, documents, .. } = summary;
    let mut lines = vec![
        format!(
            "{}: {} in {}, {}",
            plain(&log.display().to_string()),
            counted(*records, "record"),
            counted(*threads, "thread"),
            counted(*documents, "document")
        ),
        "  every hash fits, and each thread is one chain without gaps".to_owned(),
        format!("  root of all records: {}", Digest(found.log.root)),
    ];
    lines.extend(describe_erased(&found.log).iter().flat_map(|words| wrapped("  ", 4, words)));
    for (name, end) in found.others.iter().zip(&found.log.others) {
        lines.extend(wrapped("  ", 4, &format!("{}: {}", plain(name), describe_other(end))));
    }
    // The file beside the log may have thousands that fit and show less than the best.
    let best = found.best_checkpoint().map(|best| best.place.as_str());
    let is_usual = |one: &&CheckpointFinding| {
        one.keeper == CheckpointKeeper::Supplier
            && one.fit == RootFit::Same
            && best != Some(one.place.as_str())
    };
    let (usual, special): (Vec<_>, Vec<_>) = found.checkpoints.iter().partition(is_usual);
    for checkpoint in special {
        lines.extend(wrapped("  ", 4, &plain(&checkpoint.words())));
    }
    match usual.as_slice() {
        [] => {}
        [one] => lines.extend(wrapped("  ", 4, &plain(&one.words()))),
        [.., last] => {
            lines.push(format!(
                "  {} more checkpoints beside the log fit, up to #{}",
                usual.len(),
                last.size
            ));
        }
    }
    lines.extend(list_gaps(&found.gaps()));
    lines.extend(unread.iter().flat_map(|unread| wrapped("  ", 4, &format!("not read: {}", plain(unread)))));
    if let Some(FoldRowsFound { rows, wrong }) = &more.states {
        if wrong.is_empty() {
            lines.push(format!("  {rows} stored states, each matches its thread's records"));
        }
        lines.extend(wrong.iter().flat_map(|wrong| wrapped("  ", 4, &plain(wrong))));
    }
    lines.extend(more.prompts.iter().flat_map(verified_prompts::list_lines));
    lines.push(write_verdict(&found.verdict()));
    for answer in found.answers() {
        lines.extend(answer_lines(&answer));
        if answer.has_files {
            lines.extend(list_files(found.files()));
        }
    }
    lines.push(String::new());
    lines.extend(wrapped("not checked: ", 2, &describe_unchecked(found, more)));
    lines
}

/// The times without a checkpoint, the longest ones if there are many.
fn list_gaps(gaps: &[CheckpointGap]) -> Vec<String> {
    let mut longest = gaps.to_vec();
    longest.sort_by_key(|gap| std::cmp::Reverse(gap.to.count_since(gap.from)));
    longest.truncate(LISTED_FAULTS);
    longest.sort_by_key(|gap| gap.first);
    let mut lines = Vec::new();
    if !gaps.is_empty() {
        lines.push(format!("  {} of more than two hours without a checkpoint", counted(gaps.len(), "time")));
    }
    for CheckpointGap { first, last, from, to } in longest {
        lines.push(format!("    from {from} to {to}: #{} to #{}", first.0, last.0));
    }
    if gaps.len() > LISTED_FAULTS {
        lines.push(format!("    and {} shorter ones, which --json lists", gaps.len() - LISTED_FAULTS));
    }
    lines
}

fn write_verdict(verdict: &LogVerdict) -> String {
    let tone = match verdict {
        LogVerdict::Sound => TextTone::Held,
        LogVerdict::Anchored(_) | LogVerdict::Witnessed { .. } => TextTone::Good,
        LogVerdict::Contradicted { .. } => TextTone::Bad,
    };
    format!("verdict: {}", paint(tone, &plain(&verdict.words())))
}

/// The answer to one of the six questions, below an empty line.
fn answer_lines(answer: &AuditAnswer) -> Vec<String> {
    let mut lines = vec![String::new(), format!("{}  {}", answer.question, answer.standing.as_str())];
    lines.extend(wrapped("  ", 2, &plain(&answer.words)));
    lines
}

/// The files of programs, the newest ones if there are many.
fn list_files(files: &[StartedFile]) -> Vec<String> {
    let skipped = files.len().saturating_sub(LISTED);
    let mut lines = Vec::new();
    if skipped > 0 {
        lines.push(format!("    {skipped} earlier ones, which --json lists, and:"));
    }
    for StartedFile { listener, file, first, .. } in files.iter().skip(skipped) {
        let hash = file
            .hash
            .map_or_else(|| "not hashed: unreadable or too large".to_owned(), |hash| hash.to_string());
        lines.push(format!("    {hash}"));
        let words = format!("{} of {}, from #{}", file.path, listener, first.0);
        lines.extend(wrapped("      ", 6, &plain(&words)));
    }
    lines
}

/// What was not looked at.
fn describe_unchecked(found: &LogExamination, more: &MoreFindings) -> String {
    let states = match more.states {
        Some(_) => "",
        None => "the states that the organism folded from the records (--state compares them), ",
    };
    let prompts = match more.prompts.as_ref().map(PromptFindings::count_unchecked) {
        Some(0) => String::new(),
        Some(some) => format!("{some} of the prompts of models, "),
        None => "the prompts of models (--prompts makes them again), ".to_owned(),
    };
    let end = match more.is_end_unknown {
        true => "whether the last records are there (no file .tip beside the log says where it ended), ",
        false => "",
    };
    let elsewhere = match found.log.elsewhere {
        0 => String::new(),
        some => format!("{some} prompts or answers that programs journal and keep outside of the log, "),
    };
    format!("{end}{states}{prompts}{elsewhere}what listeners did outside of the log")
}

/// What was erased, in words.
fn describe_erased(log: &GatheredLog) -> Option<String> {
    let (records, documents) = (log.erased.len(), log.erased_documents);
    if records == 0 && documents == 0 {
        return None;
    }
    let named = log.erased.iter().take(NAMED_ERASED).map(|(position, parts)| match parts.first() {
        Some(0) => format!("#{} whole", position.0),
        _ => format!("#{}", position.0),
    });
    let mut named = named.collect::<Vec<_>>().join(", ");
    if records > NAMED_ERASED {
        named.push_str(&format!(" and {} more", records - NAMED_ERASED));
    }
    let colon = if records > 0 { ": " } else { "" };
    Some(format!(
        "erased, and covered by their hashes: {}, {}{colon}{named}",
        counted(documents, "document"),
        counted(records, "record")
    ))
}

fn describe_other(end: &OtherEnd) -> String {
    match end {
        OtherEnd::Same(records) => format!("its {records} records are the first ones here"),
        OtherEnd::Longer(position) => format!("has a record #{}, which is missing here", position.0),
        OtherEnd::Differs(position) => format!("has another record #{}", position.0),
        OtherEnd::Unread(fault) => format!("was not compared to its end: {fault}"),
    }
}

fn as_json(
    log: &Path,
    summary: &VerifySummary,
    found: &LogExamination,
    unread: &[String],
    more: &MoreFindings,
) -> Value {
    let others = found.others.iter().zip(&found.log.others).map(|(name, end)| {
        let (position, is_same) = match end {
            OtherEnd::Same(records) => (Some(*records), Some(true)),
            OtherEnd::Longer(position) | OtherEnd::Differs(position) => (Some(position.0), Some(false)),
            OtherEnd::Unread(_) => (None, None),
        };
        json!({"log": name, "same": is_same, "position": position, "words": describe_other(end)})
    });
    let checkpoints = found.checkpoints.iter().map(|one| {
        let known = match &one.signer {
            CheckpointSigner::Known(known) => Some(known),
            _ => None,
        };
        let cosigned = known.map(|known| {
            let each = known.cosigned.iter();
            each.map(|by| json!({"witness": by.witness, "seconds": by.seconds})).collect::<Vec<_>>()
        });
        json!({
            "place": one.place, "origin": one.origin, "size": one.size, "fits": one.fit == RootFit::Same,
            "key": known.map(|known| known.log.to_string()), "cosigned": cosigned,
            "quorum": known.map(|known| known.is_quorum), "words": one.words(),
        })
    });
    let erased = found.log.erased.iter();
    let erased = erased.map(|(position, parts)| json!({"position": position.0, "parts": parts}));
    let answers = found.answers().into_iter().map(|answer| {
        json!({"question": answer.question, "standing": answer.standing.as_str(), "words": answer.words})
    });
    let gaps = found.gaps().into_iter().map(|CheckpointGap { first, last, from, to }| {
        json!({"first": first.0, "last": last.0, "from": from.to_string(), "to": to.to_string()})
    });
    let files = found.files().iter().map(|StartedFile { listener, file, first, last }| {
        let hash = file.hash.map(|hash| hash.to_string());
        json!({"listener": listener, "path": file.path, "sha256": hash, "first": first.0, "last": last.0})
    });
    json!({
        "log": log.display().to_string(), "records": summary.records, "threads": summary.threads,
        "documents": summary.documents,
        "erased": erased.collect::<Vec<_>>(), "erased_documents": found.log.erased_documents,
        "root": Digest(found.log.root).to_string(), "verdict": found.verdict().words(),
        "by": found.best_checkpoint().map(|best| &best.place),
        "others": others.collect::<Vec<_>>(), "checkpoints": checkpoints.collect::<Vec<_>>(), "unread": unread,
        "gaps": gaps.collect::<Vec<_>>(),
        "files": files.collect::<Vec<_>>(), "answers": answers.collect::<Vec<_>>(), "not_checked": describe_unchecked(found, more),
        "states": more.states.as_ref().map(|states| json!({"rows": states.rows, "wrong": states.wrong})),
        "prompts": more.prompts.as_ref().map(verified_prompts::as_json),
    })
}
