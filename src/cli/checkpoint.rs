//! `systole checkpoint`: verifies a log and signs how many records it has and their root. The checkpoint goes to
//! stdout and into the file beside the log.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use systole_proof::checkpoint::{Checkpoint, SignedCheckpoint};
use systole_proof::key::SignerKey;

use super::exit::CommandExit;
use super::looking::absent;
use super::place::Place;
use super::screen::Screen;
use super::{here, hindered};
use crate::audit::verdict::GatheredLog;
use crate::edges::log::notes;
use crate::edges::signing_key;

/// Signs a checkpoint of the log.
///
/// The log is verified first, and has to continue the last checkpoint that this key signed. An organism
/// may run on it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole checkpoint
  systole checkpoint --key acme.key")]
pub(super) struct SignCheckpoint {
    #[command(flatten)]
    place: Place,
    /// The file of the key, from systole keygen
    #[arg(long, value_name = "FILE", default_value = "proof.key")]
    key: PathBuf,
}

impl SignCheckpoint {
    pub(super) fn run(self) -> CommandExit {
        let screen = self.place.screen();
        self.signed(screen).unwrap_or_else(|exit| exit)
    }

    fn signed(&self, screen: Screen) -> Result<CommandExit, CommandExit> {
        let log: PathBuf = self.place.log(screen)?.components().collect();
        if !log.exists() {
            let exit = screen.fail(CommandExit::Unavailable, absent(&log));
            screen.say(format!("  try: {}, which makes it", self.place.run_command()));
            return Err(exit);
        }
        let key = signing_key::read(&self.key)
            .map_err(|fault| hindered::say(screen, CommandExit::Usage, &fault))?;
        // The notes are beside the file itself, not beside a link to it.
        let file = notes::path(std::fs::canonicalize(&log).as_deref().unwrap_or(&log));
        let before = last_of(screen, &file, &key)?;
        let sizes: BTreeSet<u64> = before.iter().map(|before| before.checkpoint().size()).collect();
        let (summary, gathered) =
            GatheredLog::of(&log, &sizes, &[]).map_err(|fault| here::log_fault(screen, &fault))?;
        if summary.records == 0 {
            let exit = screen.fail(CommandExit::Unavailable, format!("{} has no records yet", log.display()));
            screen.say(format!("  try: {}, which writes the first", self.place.run_command()));
            return Err(exit);
        }
        if let Some(before) = &before {
            let before = before.checkpoint();
            if gathered.roots.get(&before.size()) != Some(before.root()) {
                let (size, records) = (before.size(), summary.records);
                let words = format!(
                    "{}: its first records are not those of its last checkpoint, which has {size}; it has {records}",
                    log.display()
                );
                let exit = screen.fail(CommandExit::Log, words);
                screen.say(
                    "  try: systole verify; a log that lost records on purpose needs a key of a new origin",
                );
                return Err(exit);
            }
        }
        let checkpoint = Checkpoint::new(key.verifier().name(), summary.records, gathered.root)
            .and_then(|checkpoint| SignedCheckpoint::sign(checkpoint, &key));
        let checkpoint = checkpoint.map_err(|fault| {
            let exit = screen.fail(CommandExit::Usage, format!("{}: {fault}", self.key.display()));
            screen.say("  try: the key of a log: systole keygen without --witness");
            exit
        })?;
        notes::append(&file, &checkpoint)
            .map_err(|fault| hindered::say(screen, CommandExit::Unavailable, &fault))?;
        if screen.json {
            let root = systole_core::types::ids::Digest(gathered.root).to_string();
            let (origin, size) = (key.verifier().name(), summary.records);
            let note = checkpoint.to_string();
            let file = file.display().to_string();
            screen.value(&json!({"origin": origin, "size": size, "root": root, "note": note, "file": file}));
        } else {
            screen.document(checkpoint.to_string().as_bytes());
        }
        screen.say(format!("added to {}; keep a copy where this machine cannot write", file.display()));
        Ok(CommandExit::Done)
    }
}

/// The last checkpoint beside the log that this key signed.
fn last_of(screen: Screen, file: &Path, key: &SignerKey) -> Result<Option<SignedCheckpoint>, CommandExit> {
    let found = notes::read(file).map_err(|fault| hindered::say(screen, CommandExit::Unavailable, &fault))?;
    let mut own = Vec::new();
    for (line, read) in found {
        match read {
            Ok(checkpoint) => own.push(checkpoint),
            Err(why) => screen.say(format!("note: {}:{line} is not read: {why}", file.display())),
        }
    }
    Ok(own
        .into_iter()
        .filter(|one| one.verify(key.verifier()).is_ok())
        .max_by_key(|one| one.checkpoint().size()))
}
