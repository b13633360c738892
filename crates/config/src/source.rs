//! The source of a composition: one self-contained text, stored with the log under its hash.
//!
//! ```text
//! source = field("systole configuration v8") field(file) { field(name) field(schema) }
//! field  = decimal length ":" bytes LF
//! ```
//!
//! If there are settings from the command line, the first field is `systole configuration v8 with settings`, and the
//! settings follow the file as one more field, one per line. Without settings, the hash does not change.
//!
//! `file` is the organism's file as it was read, without a byte order mark. The schemas follow in the order of
//! `Composition::schemas`: the core's, the envelope's, the one made from `payloads:`, those that the file names, then
//! the used built-in vocabularies and the ones made for the notes of agents. So an old configuration is judged by the
//! schemas of its time. Files with prompt text come last, each as `prompt:` and its path. A text that is not from a
//! file has a name that ends in a slash. The source never contains the path of a folder, the text of a program, a
//! script's answers or the JSON Schema of an output.
//!
//! The number in the first field selects the defaults for keys that the file leaves out. `v1` to `v6` are read but no
//! longer written: under all of them, workflows write their requests in form 1; under `v1` to `v5` requests to models
//! have no limit, refused items are no messages, a call that is nested too deep goes on, and workflows nest 16 deep at
//! most; under `v1` to `v4` no call waits for someone who is
//! away; under `v1` to `v3` an agent's attempt with an unknown outcome asks a person; under `v1` and `v2` a
//! request for approval expires after an hour; under `v1` a message from outside has no budgets.

use std::path::PathBuf;
use std::sync::Arc;

use super::era::Era;
use super::folder::Folder;
use super::kinds::PINNED;
use super::note_schemas::NOTES;
use super::schemas::{Absent, PAYLOADS, Shelf};
use systole_core::types::composition::Schema;
use systole_core::types::fields::{FieldReader, write_field};

const FORMAT: &[u8] = b"systole configuration v8";
const FORMAT_WITH_SETTINGS: &[u8] = b"systole configuration v8 with settings";
/// Formats that are only read, each with whether settings follow the file, and its defaults.
const EARLIER: [(&[u8], bool, Era); 13] = [
    (b"systole configuration v7", false, Era::V7),
    (b"systole configuration v7 with settings", true, Era::V7),
    (b"systole configuration v6", false, Era::V6),
    (b"systole configuration v6 with settings", true, Era::V6),
    (b"systole configuration v5", false, Era::V5),
    (b"systole configuration v5 with settings", true, Era::V5),
    (b"systole configuration v4", false, Era::V4),
    (b"systole configuration v4 with settings", true, Era::V4),
    (b"systole configuration v3", false, Era::V3),
    (b"systole configuration v3 with settings", true, Era::V3),
    (b"systole configuration v2", false, Era::V2),
    (b"systole configuration v2 with settings", true, Era::V2),
    (b"systole configuration v1", false, Era { has_budgets: false, ..Era::V2 }),
];

/// Name prefix of files with prompt text, so that none is taken for a schema.
pub(super) const PROMPTS: &str = "prompt:";

/// Writes a source.
pub(super) fn write(file: &str, settings: &[String], texts: &[&[Schema]]) -> Vec<u8> {
    let mut out = Vec::new();
    write_field(&mut out, if settings.is_empty() { FORMAT } else { FORMAT_WITH_SETTINGS });
    write_field(&mut out, file.as_bytes());
    if !settings.is_empty() {
        write_field(&mut out, settings.join("\n").as_bytes());
    }
    for schema in texts.iter().copied().flatten() {
        write_field(&mut out, schema.name.as_bytes());
        write_field(&mut out, &schema.text);
    }
    out
}

/// A parsed source. It is the shelf of its own schemas.
pub(super) struct Stored {
    pub(super) era: Era,
    pub(super) file: Arc<str>,
    pub(super) settings: Vec<String>,
    house: [Schema; 2],
    schemas: Vec<Schema>,
}

/// Parses a source, or says what is wrong with it.
pub(super) fn read(source: &[u8]) -> Result<Stored, String> {
    let mut fields = FieldReader::new(source);
    let mut next = |what: &str| fields.take_field().map_err(|_| format!("{what} is missing or cut off"));
    let format = next("the format")?;
    let now = [(FORMAT, false, Era::NOW), (FORMAT_WITH_SETTINGS, true, Era::NOW)];
    let known = now.into_iter().chain(EARLIER).find(|(known, ..)| *known == format);
    let Some((_, has_settings, era)) = known else {
        return Err("it is not a stored configuration in a format this version reads".to_owned());
    };
    let file = std::str::from_utf8(next("the organism's file")?)
        .map_err(|_| "the organism's file is not UTF-8")?
        .into();
    let mut settings = Vec::new();
    if has_settings {
        let set = std::str::from_utf8(next("what was set")?).map_err(|_| "what was set is not UTF-8")?;
        settings.extend(set.split('\n').map(str::to_owned));
    }
    let house = [schema(&mut fields)?, schema(&mut fields)?];
    let mut schemas = Vec::new();
    while fields.has_more() {
        schemas.push(schema(&mut fields)?);
    }
    Ok(Stored { era, file, settings, house, schemas })
}

impl Stored {
    /// The names of the texts that are from files.
    pub(super) fn list_files(&self) -> impl Iterator<Item = &str> {
        self.schemas.iter().map(|one| one.name.as_str()).filter(|name| !name.ends_with('/'))
    }

    /// The text of that name.
    pub(super) fn find_text(&self, name: &str) -> Option<&[u8]> {
        self.schemas.iter().find(|one| one.name == name).map(|one| &*one.text)
    }
}

/// A parsed source in the folder of an organism, to be started again: what it stores comes from it, and everything else
/// from the folder.
pub(super) struct StoredInFolder {
    pub(super) stored: Stored,
    pub(super) folder: Folder,
}

impl Shelf for StoredInFolder {
    fn house(&self) -> [Schema; 2] {
        self.stored.house()
    }

    fn vocabularies(&self) -> Vec<Schema> {
        self.stored.vocabularies()
    }

    fn payloads(&self) -> Option<Arc<[u8]>> {
        self.stored.payloads()
    }

    fn find_made(&self, name: &str) -> Option<Arc<[u8]>> {
        self.stored.find_made(name)
    }

    fn find(&self, name: &str) -> Result<PathBuf, Absent> {
        self.folder.find(name)
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Absent> {
        self.folder.read(name)
    }

    fn prompt(&self, name: &str) -> Result<Arc<[u8]>, Absent> {
        self.stored.prompt(name)
    }

    fn show_name(&self, name: &str) -> String {
        self.stored.show_name(name)
    }

    fn is_proved(&self) -> bool {
        false
    }

    fn take(&self, name: &str) -> Result<Arc<[u8]>, Absent> {
        self.stored.take(name)
    }
}

fn schema(fields: &mut FieldReader<'_>) -> Result<Schema, String> {
    let name = fields.take_field().map_err(|_| "the name of a schema is missing or cut off")?;
    let name = std::str::from_utf8(name).map_err(|_| "the name of a schema is not UTF-8")?;
    let text = fields.take_field().map_err(|_| format!("the schema {name} is missing or cut off"))?;
    Ok(Schema { name: name.to_owned(), text: text.into() })
}

impl Shelf for Stored {
    fn house(&self) -> [Schema; 2] {
        self.house.clone()
    }

    fn vocabularies(&self) -> Vec<Schema> {
        // Only used vocabularies are stored; others are not searched.
        let no_files = self.schemas.iter().filter(|schema| schema.name.ends_with('/'));
        no_files
            .filter(|schema| {
                schema.name != PAYLOADS && ![NOTES, PINNED].iter().any(|made| schema.name.starts_with(made))
            })
            .cloned()
            .collect()
    }

    fn payloads(&self) -> Option<Arc<[u8]>> {
        self.schemas.iter().find(|schema| schema.name == PAYLOADS).map(|schema| Arc::clone(&schema.text))
    }

    fn find_made(&self, name: &str) -> Option<Arc<[u8]>> {
        self.schemas.iter().find(|schema| schema.name == name).map(|schema| Arc::clone(&schema.text))
    }

    fn find(&self, name: &str) -> Result<PathBuf, Absent> {
        Ok(PathBuf::from(name))
    }

    fn read(&self, _name: &str) -> Result<Option<Vec<u8>>, Absent> {
        Ok(None)
    }

    fn prompt(&self, name: &str) -> Result<Arc<[u8]>, Absent> {
        self.take(&format!("{PROMPTS}{name}"))
    }

    fn show_name(&self, name: &str) -> String {
        format!("stored configuration, {name}")
    }

    fn is_proved(&self) -> bool {
        true
    }

    fn take(&self, name: &str) -> Result<Arc<[u8]>, Absent> {
        let found = self.schemas.iter().find(|s| s.name == name);
        found.map(|s| Arc::clone(&s.text)).ok_or_else(|| Absent {
            why: format!("the stored configuration has no schema {name}"),
            fix: None,
        })
    }
}
