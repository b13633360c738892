//! `systole keygen`: makes the key that signs the checkpoints of a log, or that of a witness.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use systole_proof::key::SignatureKind;

use super::exit::CommandExit;
use super::screen::Screen;
use super::system_faults;
use systole_system::signing_key;

/// Makes a key that signs checkpoints.
///
/// The secret key goes into a file that only its owner can read. What is printed is the other half, by
/// which everybody can verify.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole keygen --origin example.org/acme
  systole keygen --origin example.net/watch --witness -o watch.key")]
pub(super) struct KeygenCommand {
    /// The name of the log, for ever: like a URL without https://
    #[arg(long, value_name = "NAME")]
    origin: String,
    /// The file for the secret key
    #[arg(short = 'o', long, value_name = "FILE", default_value = "proof.key")]
    out: PathBuf,
    /// A key for a witness of the logs of others
    #[arg(long)]
    witness: bool,
    /// Print data as JSON
    #[arg(long)]
    json: bool,
}

impl KeygenCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        let screen = Screen::new(self.json);
        let kind = if self.witness { SignatureKind::Cosignature } else { SignatureKind::Plain };
        let key = signing_key::make_key(&self.out, &self.origin, kind)
            .map_err(|fault| system_faults::report_fault(screen, CommandExit::Usage, &fault))?;
        let public = key.verifier().to_string();
        if screen.json {
            screen.show_value(&json!({"key": public, "file": self.out.display().to_string()}));
        } else {
            screen.show(&public);
        }
        let file = self.out.display();
        screen.say(format!("{file} has the secret key: who can read it can sign as {}", self.origin));
        screen.say("publish the printed key where readers of the log find it, as on your website");
        Ok(CommandExit::Done)
    }
}
