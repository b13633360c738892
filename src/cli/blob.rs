//! `systole blob`: bytes that the log keeps under their hash. It writes nothing but them.

use clap::Args;

use super::exit::CommandExit;
use super::looking::Looking;
use super::place::Place;
use serde_json::json;
use systole_core::types::ids::Digest;

/// Which bytes.
#[derive(Args, Debug)]
#[command(after_help = r#"Examples:
  systole blob 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"#)]
pub(super) struct KeptBlob {
    #[command(flatten)]
    place: Place,
    /// Their SHA-256 in hex, as a payload, a refusal or a record names it
    #[arg(value_name = "SHA256")]
    hash: String,
}

impl KeptBlob {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let hash = Digest::parse(&self.hash).map_err(|_| {
            screen.refuse(format!("{} is no SHA-256", self.hash), "64 hex digits, all of them")
        })?;
        let looking = Looking::open_anywhere(&self.place)?;
        // The reader refuses other bytes than those of the hash.
        let kept = looking.reader.read_document(hash).map_err(|fault| looking.fault(&fault))?;
        if let Some(exit) = looking.refused_document() {
            return Err(exit);
        }
        let Some(bytes) = kept else {
            let words = format!("{} keeps nothing under {hash}", looking.log.display());
            return Err(screen.refuse(words, "the hash in a record: systole log, or another log: --log PATH"));
        };
        let text = std::str::from_utf8(&bytes).ok();
        if screen.json {
            let hex =
                text.is_none().then(|| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
            screen.show_value(
                &json!({"sha256": hash.to_string(), "bytes": bytes.len(), "text": text, "hex": hex}),
            );
            return Ok(CommandExit::Done);
        }
        if screen.terminal && text.is_none() {
            let words = format!("these are {} bytes and no text", bytes.len());
            return Err(screen.refuse(words, format!("systole blob {hash} > FILE")));
        }
        screen.show_document(&bytes);
        Ok(CommandExit::Done)
    }
}
