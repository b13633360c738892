//! `systole prove`: one record as a file that shows that it is in a signed log, without the log. It writes nothing else.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use systole_proof::checkpoint::SignedCheckpoint;
use systole_proof::policy::TrustPolicy;
use systole_proof::proof_file::EntryProof;
use systole_proof::tree::ProofBuilder;

use super::exit::CommandExit;
use super::looking;
use super::place::{Place, quote_path};
use super::screen::Screen;
use super::trust_policy::read_policy;
use super::{local_organism, system_faults};
use systole_core::types::ports::{LogReader, Position};
use systole_export::verdict::{GatheredLog, ProvedEntry};
use systole_log::{checkpoint_file, sqlite};
use systole_organism::prompt_view;
use systole_organism::proving::find_notes;

/// Writes one record with the proof that it is in the log.
///
/// The file has the record's header and body, and the way from it to a checkpoint beside the log. A
/// reader with the key of the log verifies it with `systole verify FILE`, without the log.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole prove 17 -o message.tlog-proof
  systole prove 17 --policy proof.policy -o message.tlog-proof")]
pub(super) struct ProveCommand {
    #[command(flatten)]
    place: Place,
    /// The position of the record, as systole log shows it: 17 or #17
    #[arg(value_name = "POS", value_parser = parse_position)]
    position: u64,
    /// The file to write, instead of stdout
    #[arg(short = 'o', long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Take a checkpoint that satisfies this policy
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

fn parse_position(typed: &str) -> Result<u64, String> {
    let number = typed.strip_prefix('#').unwrap_or(typed).parse().ok();
    number.filter(|number| *number > 0).ok_or_else(|| "a position is a whole number from 1, as 17".to_owned())
}

impl ProveCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let log = looking::find_log(screen, &self.place, None)?;
        let policy = self.policy.as_deref().map(|path| read_policy(screen, path)).transpose()?;
        let file = find_notes(&log);
        let found = checkpoint_file::read_notes(&file)
            .map_err(|fault| system_faults::report_fault(screen, CommandExit::Unavailable, &fault))?;
        let checkpoints: Vec<SignedCheckpoint> =
            found.into_iter().filter_map(|(_, read)| read.ok()).collect();
        let sizes: BTreeSet<u64> = checkpoints.iter().map(|one| one.checkpoint().size()).collect();
        let (summary, gathered) = GatheredLog::with_end(&log, &sizes, &[], prompt_view::READING)
            .map_err(|fault| local_organism::report_log_fault(screen, &fault))?;
        let position = self.position;
        if position > summary.records {
            let words = format!("{} has {} records, and no #{position}", log.display(), summary.records);
            return Err(screen.refuse(words, "a position that systole log shows"));
        }
        let fits = |one: &SignedCheckpoint| {
            let checkpoint = one.checkpoint();
            position <= checkpoint.size() && gathered.roots.get(&checkpoint.size()) == Some(checkpoint.root())
        };
        let fitting = checkpoints.into_iter().filter(fits);
        let Some(checkpoint) = pick_best(fitting, policy.as_ref()) else {
            let (by, fix) = match policy {
                Some(_) => {
                    (" that satisfies the policy", "systole checkpoint --now, which asks the witnesses")
                }
                None => ("", "systole checkpoint, which signs one"),
            };
            let words = format!("no checkpoint in {}{by} has #{position}", file.display());
            return Err(screen.fail_with(CommandExit::Failed, words, fix));
        };
        let size = checkpoint.checkpoint().size();
        let (entry, hashes) = read_entry(screen, &log, position, size)?;
        let has_body = entry.body().is_some();
        let proof = EntryProof::new(Some(entry.to_bytes()), position - 1, hashes, checkpoint);
        let proof = proof.map_err(|fault| screen.fail(CommandExit::Failed, fault))?;
        let text = proof.to_string();
        if let Some(out) = &self.out {
            let made = File::create_new(out).and_then(|mut file| {
                file.write_all(text.as_bytes())?;
                file.sync_all()
            });
            made.map_err(|error| system_faults::report_unwritten(screen, out, "the proof", &error))?;
        }
        let shown = self.out.as_ref().map(|out| out.display().to_string());
        if screen.json {
            let origin = proof.checkpoint().checkpoint().origin();
            screen.show_value(&json!({
                "position": position, "origin": origin, "size": size, "body": has_body, "file": shown, "proof": text,
            }));
        } else if self.out.is_none() {
            screen.show_document(text.as_bytes());
        }
        if !has_body {
            screen.say("the body is too large for a proof: the file has its length and its commitment alone");
        }
        if let Some(out) = &self.out {
            screen.say(format!("{} proves #{position} by the checkpoint at #{size}", out.display()));
            screen.say(format!("verify it anywhere: systole verify {} --key KEY", quote_path(out)));
        }
        Ok(CommandExit::Done)
    }
}

/// The checkpoint that shows most: by the policy, or the one with the most signatures. A larger one before a smaller.
fn pick_best(
    fitting: impl Iterator<Item = SignedCheckpoint>,
    policy: Option<&TrustPolicy>,
) -> Option<SignedCheckpoint> {
    let is_wanted = |one: &SignedCheckpoint| {
        policy.is_none_or(|policy| policy.judge_checkpoint(one, None).is_ok_and(|verdict| verdict.is_quorum))
    };
    fitting.filter(is_wanted).max_by_key(|one| (one.note().signatures().len(), one.checkpoint().size()))
}

/// The entry of the record, and the hashes that lead from it to the root of so many records.
fn read_entry(
    screen: Screen,
    log: &std::path::Path,
    position: u64,
    size: u64,
) -> Result<(ProvedEntry, Vec<systole_proof::tree::TreeHash>), CommandExit> {
    let broken = |fault: systole_proof::tree::TreeFault| screen.fail(CommandExit::Log, fault);
    let reader =
        sqlite::open_reading(log).map_err(|fault| local_organism::report_log_fault(screen, &fault))?;
    let mut builder = ProofBuilder::new_inclusion(position - 1, size).map_err(broken)?;
    let mut entry = None;
    let log: &dyn LogReader = &reader;
    for (at, placed) in (1..).zip(log.records_after(Position(0)).up_to(Position(size))) {
        let (_, record) = placed.map_err(|fault| local_organism::report_log_fault(screen, &fault))?;
        builder.push(record.leaf.0);
        if at == position {
            entry = Some(ProvedEntry::from_record(&record));
        }
    }
    let hashes = builder.finish().map_err(broken)?;
    let gone = || screen.fail(CommandExit::Log, format!("record #{position} is gone"));
    Ok((entry.ok_or_else(gone)?, hashes))
}
