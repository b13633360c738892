//! `systole schema eject`: writes the schema for `payloads`, and replaces the block with the schema's name.
//!
//! It never overwrites a schema, and changes no other byte of the organism file. The schema is written first,
//! then the file is replaced atomically, so an interruption leaves the old file or the new one.

use std::fs;
use std::io::{Error, ErrorKind, Write as _};
use std::path::Path;

use clap::Args;
use serde_json::json;

use crate::cli::exit::CommandExit;
use crate::cli::listener::insert_block;
use crate::cli::place::Place;
use crate::cli::screen::Screen;
use crate::cli::system_faults;
use systole_config::{self as config, EjectedTexts, NotEjected};
use systole_core::types::composition::Schema;
use systole_core::types::ids::Digest;

#[derive(Args, Debug)]
pub(super) struct EjectCommand {
    #[command(flatten)]
    place: Place,
}

impl EjectCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        self.place.write_what_is_said(screen)?;
        let file = self.place.file();
        let EjectedTexts { schema, file: text, comments } =
            config::eject(file).map_err(|why| report_refusal(screen, why))?;
        let path = self.place.directory().join(&schema.name);
        write_new(screen, &path, &schema)?;
        insert_block::replace_file(screen, file, &text).inspect_err(|_| {
            // Without the file that names it, the schema would only block the next try.
            let _gone = fs::remove_file(&path);
        })?;
        let hash = Digest::hash_bytes(&schema.text).to_string();
        if screen.json {
            screen.show_value(&json!({"schema": schema.name, "sha256": hash, "comments": comments}));
            return Ok(CommandExit::Done);
        }
        screen.say(format!("wrote {}, SHA-256 {hash}, as before", schema.name));
        screen.say(format!("{} names it under schemas, in place of payloads", file.display()));
        if !comments.is_empty() {
            screen.say("comments that were removed with the block:");
            comments.iter().for_each(|comment| screen.say(format!("  {comment}")));
        }
        Ok(CommandExit::Done)
    }
}

fn report_refusal(screen: Screen, why: NotEjected) -> CommandExit {
    match why {
        NotEjected::Refused(refused) => {
            screen.say_drawn(refused.to_string().trim_end());
            CommandExit::Configuration
        }
        NotEjected::Nothing => {
            screen.fail(CommandExit::Usage, "the file declares no payloads, so there is nothing to eject")
        }
        NotEjected::ByHand(Schema { name, .. }) => {
            let told = "because of its layout, only a person should edit the file; by hand:";
            let exit = screen.fail(CommandExit::Failed, told);
            screen.say(format!("  systole schema show > {name}"));
            screen.say(format!("  then schemas: [{name}] in place of payloads and what is below it"));
            exit
        }
    }
}

/// Writes a file that must not exist yet.
fn write_new(screen: Screen, path: &Path, schema: &Schema) -> Result<(), CommandExit> {
    if let Some(folder) = path.parent() {
        let told =
            |error| system_faults::report_no_folder(screen, folder, "the folder of the schema", &error);
        fs::create_dir_all(folder).map_err(told)?;
    }
    let hindered = |error: Error| system_faults::report_unwritten(screen, path, "the schema", &error);
    let opened = fs::File::options().write(true).create_new(true).open(path);
    let mut file = opened.map_err(|error| {
        if error.kind() != ErrorKind::AlreadyExists {
            return hindered(error);
        }
        let told = format!("{}: it is there already, and is not overwritten", schema.name);
        screen.refuse(told, "another name for that file, or remove it")
    })?;
    let written = file.write_all(&schema.text).and_then(|()| file.sync_all());
    written.map_err(|error| {
        let _gone = fs::remove_file(path);
        hindered(error)
    })
}
