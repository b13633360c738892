//! `systole checkpoint`: verifies a log and signs how many records it has and their root. The checkpoint goes to
//! stdout, into the file beside the log, and to the witnesses and folders that are named.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use systole_organism::planning;
use systole_proof::checkpoint::{Checkpoint, SignedCheckpoint};
use systole_proof::key::VerifierKey;
use systole_proof::tree::Frontier;

use super::exit::CommandExit;
use super::looking::describe_absent;
use super::place::Place;
use super::screen::Screen;
use super::trust_policy::read_policy;
use super::{local_organism, system_faults};
use systole_export::verdict::GatheredLog;
use systole_log::{checkpoint_file, sqlite};
use systole_organism::prompt_view;
use systole_organism::proving::{
    CHECKPOINT_SENDING, CheckpointSender, SendResult, SigningFault, find_last, find_notes,
};
use systole_system::signing_key;
use systole_witness::WitnessPlace;

/// Signs a checkpoint of the log.
///
/// The log is verified first, and has to continue the last checkpoint that this key signed. An organism
/// may run on it. `--to` and `--now` bring the checkpoint to witnesses, which cosign it, and to folders.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole checkpoint
  systole checkpoint --key acme.key --to /mnt/share/acme
  systole checkpoint --now")]
pub(super) struct SignCheckpoint {
    #[command(flatten)]
    place: Place,
    /// The file of the key (proof.key of the organism's file)
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// A witness, or a folder for the checkpoint and the tiles
    #[arg(long, value_name = "DIR|URL")]
    to: Vec<String>,
    /// The keys of the witnesses (proof.policy of the organism's file)
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Send it to every place of proof.to, without waiting for proof.every
    #[arg(long)]
    now: bool,
}

/// What the organism's file and the options say together.
struct SigningSettings {
    log: PathBuf,
    file: PathBuf,
    to: Vec<WitnessPlace>,
    logs: Vec<VerifierKey>,
    witnesses: Vec<VerifierKey>,
}

impl SignCheckpoint {
    /// The organism's file is read only for what the options leave open.
    fn read_settings(&self, screen: Screen) -> Result<SigningSettings, CommandExit> {
        let is_told = self.key.is_some() && !self.now;
        let is_alone = self.place.given_log().is_some() && !self.place.file().exists() && !self.now;
        let (log, proof) = if is_told || is_alone {
            (self.place.log(screen)?, None)
        } else {
            let file = self.place.organism(screen)?;
            (file.log, file.proof)
        };
        if self.now && proof.is_none() {
            let words =
                format!("--now sends to `proof.to`, and {} has no `proof`", self.place.file().display());
            return Err(screen.refuse(words, "--to with a folder or the address of a witness"));
        }
        let policy = self.policy.as_deref().map(|path| read_policy(screen, path)).transpose()?;
        let of_file = proof.as_ref().map(|proof| (proof.file.clone(), proof.logs.clone()));
        let (file, logs) = of_file.unwrap_or_else(|| (PathBuf::from("proof.key"), Vec::new()));
        let of_policy = policy.map(|policy| policy.witnesses().iter().map(|one| one.key.clone()).collect());
        let of_file = || proof.as_ref().map(|proof| proof.witnesses.clone()).unwrap_or_default();
        let witnesses: Vec<VerifierKey> = of_policy.unwrap_or_else(of_file);
        let mut to = match &proof {
            Some(proof) if self.now => proof.to.clone(),
            _ => Vec::new(),
        };
        for named in &self.to {
            let place = WitnessPlace::parse(named, Path::new("")).map_err(|why| {
                let words = format!("--to {named}: {why}");
                screen.refuse(words, "https://HOST/PATH of a witness, or the path of a folder")
            })?;
            if witnesses.is_empty() && matches!(place, WitnessPlace::Url { .. }) {
                let words = format!("--to {named}: no policy names the key of this witness");
                return Err(screen.refuse(words, "--policy FILE, with the line: witness NAME KEY"));
            }
            if !to.contains(&place) {
                to.push(place);
            }
        }
        let file = self.key.clone().unwrap_or(file);
        Ok(SigningSettings { log: log.components().collect(), file, to, logs, witnesses })
    }

    fn check_exists(&self, screen: Screen, log: &Path) -> Result<(), CommandExit> {
        if log.exists() {
            return Ok(());
        }
        if let Some(fault) = sqlite::lost_whole(log) {
            return Err(local_organism::report_log_fault(screen, &fault));
        }
        let fix = format!("{}, which makes it", self.place.run_command());
        Err(screen.fail_with(CommandExit::Unavailable, describe_absent(log), fix))
    }

    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let SigningSettings { log, file: key_file, to, logs, witnesses } = self.read_settings(screen)?;
        self.check_exists(screen, &log)?;
        let key = signing_key::read_key(&key_file)
            .map_err(|fault| system_faults::report_fault(screen, CommandExit::Usage, &fault))?;
        let file = find_notes(&log);
        let keys = [std::slice::from_ref(key.verifier()), &logs].concat();
        let before = find_last(read_notes(screen, &file)?, &keys);
        let sizes: BTreeSet<u64> = before.iter().map(|before| before.checkpoint().size()).collect();
        let (summary, gathered) = GatheredLog::with_end(&log, &sizes, &[], prompt_view::READING)
            .map_err(|why| local_organism::report_log_fault(screen, &why))?;
        if summary.records == 0 {
            let words = format!("{} has no records yet", log.display());
            let fix = format!("{}, which writes the first", self.place.run_command());
            return Err(screen.fail_with(CommandExit::Unavailable, words, fix));
        }
        check_continues(screen, before.as_ref(), &gathered, summary.records)?;
        let checkpoint = Checkpoint::new(key.verifier().name(), summary.records, gathered.root)
            .and_then(|checkpoint| SignedCheckpoint::sign_with(checkpoint, &key));
        let mut checkpoint = checkpoint.map_err(|fault| {
            let words = format!("{}: {fault}", key_file.display());
            screen.refuse(words, "the key of a log: systole keygen without --witness")
        })?;
        let added = |checkpoint: &SignedCheckpoint| {
            checkpoint_file::append_checkpoint(&file, checkpoint)
                .map_err(|fault| system_faults::report_fault(screen, CommandExit::Unavailable, &fault))
        };
        added(&checkpoint)?;
        let mut missing = Vec::new();
        let is_sent = !to.is_empty();
        if is_sent {
            let reader =
                sqlite::open_reading(&log).map_err(|why| local_organism::report_log_fault(screen, &why))?;
            let known = Frontier::new();
            let client = planning::build_witness_client();
            let places = CheckpointSender::new(client, witnesses, Arc::new(reader), to, &known);
            let sent = send_checkpoint(screen, places, &checkpoint)?;
            missing = sent.missing;
            if let Some(cosigned) = sent.cosigned {
                added(&cosigned)?;
                checkpoint = cosigned;
            }
        }
        if screen.json {
            let root = systole_core::types::ids::Digest(gathered.root).to_string();
            let (origin, size) = (key.verifier().name(), summary.records);
            let note = checkpoint.to_string();
            let missing = missing
                .iter()
                .map(|one| json!({"place": one.place.to_string(), "why": one.fault.to_string()}));
            screen.show_value(&json!({
                "origin": origin, "size": size, "root": root, "note": note, "file": file.display().to_string(),
                "missing": missing.collect::<Vec<_>>(),
            }));
        } else {
            screen.show_document(checkpoint.to_string().as_bytes());
        }
        for one in &missing {
            let words = format!("it is not at {}: {}", one.place, one.fault);
            let fix = "the same again, once the place can be reached and accepts it";
            screen.fail_with(CommandExit::Failed, words, fix);
        }
        let kept = if is_sent { "" } else { "; keep a copy where this machine cannot write" };
        screen.say(format!("added to {}{kept}", file.display()));
        Ok(if missing.is_empty() { CommandExit::Done } else { CommandExit::Failed })
    }
}

/// Whether the log begins with the records of its last checkpoint.
fn check_continues(
    screen: Screen,
    before: Option<&SignedCheckpoint>,
    gathered: &GatheredLog,
    records: u64,
) -> Result<(), CommandExit> {
    let Some(before) = before.map(SignedCheckpoint::checkpoint) else { return Ok(()) };
    if gathered.roots.get(&before.size()) == Some(before.root()) {
        return Ok(());
    }
    let (origin, size) = (before.origin().to_owned(), before.size());
    Err(local_organism::report_unsigned(screen, &SigningFault::OtherHistory { origin, size, records }))
}

/// Brings a checkpoint to its places.
fn send_checkpoint(
    screen: Screen,
    mut places: CheckpointSender,
    checkpoint: &SignedCheckpoint,
) -> Result<SendResult, CommandExit> {
    local_organism::with_runtime(screen, async { Ok(places.send(checkpoint, CHECKPOINT_SENDING).await) })
}

/// The checkpoints beside the log. What cannot be read is told.
fn read_notes(screen: Screen, file: &Path) -> Result<Vec<checkpoint_file::FoundNote>, CommandExit> {
    let found = checkpoint_file::read_notes(file)
        .map_err(|fault| system_faults::report_fault(screen, CommandExit::Unavailable, &fault))?;
    for (line, read) in &found {
        if let Err(why) = read {
            screen.say(format!("note: {}:{line} is not read: {why}", file.display()));
        }
    }
    Ok(found)
}
