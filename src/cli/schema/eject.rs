//! `systole schema eject`: writes the schema that `payloads` means, and puts its name in place of the block.
//!
//! Never overwrites a schema, and leaves every other byte of the organism's file. The schema is written first,
//! then the file at once and whole, so that whoever is interrupted has the old one or the new one.

use std::fs;
use std::io::{Error, ErrorKind, Write as _};
use std::path::Path;

use clap::Args;
use serde_json::json;

use crate::cli::exit::Exit;
use crate::cli::place::Place;
use crate::cli::screen::Screen;
use crate::organism::file::{self, Ejected, NotEjected};
use crate::words::composition::Schema;
use crate::words::ids::Digest;

#[derive(Args, Debug)]
pub(super) struct Eject {
    #[command(flatten)]
    place: Place,
}

impl Eject {
    pub(super) fn run(&self) -> Result<Exit, Exit> {
        let screen = self.place.screen();
        self.place.write_what_is_said(screen)?;
        let file = self.place.file();
        let Ejected { schema, file: text, comments } =
            file::eject(file).map_err(|why| refuse(screen, why))?;
        let path = self.place.directory().join(&schema.name);
        write_new(&path, &schema.text).map_err(|why| unwritten(screen, &schema.name, &why))?;
        if let Err(why) = replace(file, &text) {
            // Without the file that names it the schema would only be in the way of the next try.
            let _gone = fs::remove_file(&path);
            return Err(screen.fail(Exit::Unavailable, [&file.display().to_string(), ": ", &why].concat()));
        }
        let hash = Digest::of(&schema.text).to_string();
        if screen.json {
            screen.value(&json!({"schema": schema.name, "sha256": hash, "comments": comments}));
            return Ok(Exit::Done);
        }
        screen.say(["wrote ", &schema.name, ", SHA-256 ", &hash, ", as before"].concat());
        let named = [&file.display().to_string(), " names it under schemas, in place of payloads"];
        screen.say(named.concat());
        if !comments.is_empty() {
            screen.say("comments of the block that are gone with it:");
            comments.iter().for_each(|comment| screen.say(["  ", comment].concat()));
        }
        Ok(Exit::Done)
    }
}

fn refuse(screen: Screen, why: NotEjected) -> Exit {
    match why {
        NotEjected::Refused(refused) => {
            screen.say_drawn(refused.to_string().trim_end());
            Exit::Configuration
        }
        NotEjected::Nothing => {
            screen.fail(Exit::Usage, "the file declares no payloads, so that there is nothing to eject")
        }
        NotEjected::ByHand(Schema { name, .. }) => {
            let told = "the file is written in a way that only a person should edit; by hand:";
            let exit = screen.fail(Exit::Failed, told);
            screen.say(["  systole schema show > ", &name].concat());
            screen.say(["  then schemas: [", &name, "] in place of payloads and what is below it"].concat());
            exit
        }
    }
}

/// Says why the schema was not written: what is in the way is the person's to move, the rest the machine's.
fn unwritten(screen: Screen, name: &str, why: &Error) -> Exit {
    if why.kind() != ErrorKind::AlreadyExists {
        return screen.fail(Exit::Unavailable, [name, ": ", &why.to_string()].concat());
    }
    let exit = screen.fail(Exit::Usage, [name, ": it is there already, and is not overwritten"].concat());
    screen.say("  try: another name for that file, or its folder");
    exit
}

/// Writes a file that must not be there yet.
fn write_new(path: &Path, text: &[u8]) -> Result<(), Error> {
    if let Some(folder) = path.parent() {
        // A file in the place of the folder is not the schema itself.
        fs::create_dir_all(folder).map_err(|why| Error::other(why.to_string()))?;
    }
    let mut file = fs::File::options().write(true).create_new(true).open(path)?;
    let written = file.write_all(text).and_then(|()| file.sync_all());
    written.inspect_err(|_| {
        let _gone = fs::remove_file(path);
    })
}

/// Puts another text in place of a file, at once. A byte order mark stays, and so do its permissions.
fn replace(file: &Path, text: &str) -> Result<(), String> {
    let words = |why: Error| why.to_string();
    // A link stays one: what it leads to is replaced.
    let file = fs::canonicalize(file).map_err(words)?;
    let before = fs::read(&file).map_err(words)?;
    let mark: &[u8] = if before.starts_with("\u{feff}".as_bytes()) { "\u{feff}".as_bytes() } else { b"" };
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = file.with_file_name([".", &name, ".", &std::process::id().to_string()].concat());
    let mut fresh = fs::File::options().write(true).create_new(true).open(&beside).map_err(words)?;
    let written = fresh
        .set_permissions(fs::metadata(&file).map_err(words)?.permissions())
        .and_then(|()| fresh.write_all(mark))
        .and_then(|()| fresh.write_all(text.as_bytes()))
        .and_then(|()| fresh.sync_all())
        .and_then(|()| fs::rename(&beside, &file));
    written.map_err(|why| {
        let _gone = fs::remove_file(&beside);
        why.to_string()
    })
}
