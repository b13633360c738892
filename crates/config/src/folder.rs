//! Files on disk: the organism's file and the schemas next to it. This is the only I/O of this
//! module tree. It only reads, and rejects files above the size limits.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::diagnostic::{Diagnostic, FileMistakes};
use super::diagnostics::about_file;
use super::kinds::copy_schemas;
use super::schemas::{Absent, Shelf};
use super::workflows;
use crate::limits;
use systole_core::types::codes::Code;
use systole_core::types::composition::Schema;
use systole_system::system;

/// The schema of core payloads.
pub const CORE_XSD: &[u8] = include_bytes!("../../../schemas/core.xsd");
/// The schema of the envelope.
pub const ENVELOPE_XSD: &[u8] = include_bytes!("../../../schemas/envelope.xsd");

/// The vocabulary of plain talk.
pub const TALK_XSD: &[u8] = include_bytes!("../../../schemas/talk.xsd");
pub use systole_workflow::WORKFLOW_XSD;

/// The folder of an organism's file.
pub(super) struct Folder {
    /// The absolute path.
    pub(super) path: PathBuf,
    /// The path as it was typed, for people.
    pub(super) as_typed: PathBuf,
    /// Whether the schemas are never compiled, so that the trial compilation can be skipped.
    pub(super) is_only_read: bool,
}

impl Shelf for Folder {
    fn house(&self) -> [Schema; 2] {
        let schema = |name: &str, text: &[u8]| Schema { name: name.to_owned(), text: text.into() };
        [schema("core.xsd", CORE_XSD), schema("envelope.xsd", ENVELOPE_XSD)]
    }

    fn vocabularies(&self) -> Vec<Schema> {
        let schema = |name: &str, text: &[u8]| Schema { name: name.to_owned(), text: text.into() };
        let ours = [schema("talk/", TALK_XSD), schema(workflows::VOCABULARY, WORKFLOW_XSD)];
        ours.into_iter().chain(copy_schemas()).collect()
    }

    fn payloads(&self) -> Option<Arc<[u8]>> {
        None
    }

    fn find_made(&self, _name: &str) -> Option<Arc<[u8]>> {
        None
    }

    fn find(&self, name: &str) -> Result<PathBuf, Absent> {
        let path = self.path.join(name);
        let why = regular(&path).err();
        why.map_or(Ok(path), |why| Err(Absent { why: format!("{name}: {why}"), fix: None }))
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Absent> {
        let read = read_bounded(&self.path.join(name));
        read.map(Some).map_err(|unread| Absent { why: format!("{name}: {}", unread.why), fix: None })
    }

    fn prompt(&self, name: &str) -> Result<Arc<[u8]>, Absent> {
        let read = read_bounded(&self.path.join(name)).map_err(|unread| Absent {
            why: format!("{name}: {}", unread.why),
            fix: unread.is_large.then(|| format!("a text of {} bytes at most", limits::CONFIG_FILE_BYTES)),
        });
        read.map(Into::into)
    }

    fn show_name(&self, name: &str) -> String {
        self.as_typed.join(name).display().to_string()
    }

    fn is_proved(&self) -> bool {
        self.is_only_read
    }

    fn take(&self, name: &str) -> Result<Arc<[u8]>, Absent> {
        let bytes = read_bounded(&self.path.join(name)).map_err(|unread| {
            let fix = match unread.is_large {
                true => format!("an XSD of {} bytes at most, or several", limits::CONFIG_FILE_BYTES),
                false => "the path of an XSD, from this file's folder".to_owned(),
            };
            Absent { why: format!("{name}: {}", unread.why), fix: Some(fix) }
        })?;
        Ok(bytes.into())
    }
}

/// The text of the organism's file, without a byte order mark.
pub(super) fn organism_text(path: &Path) -> Result<Arc<str>, FileMistakes> {
    let file = path.display().to_string();
    let whole =
        |code, message: &str, fix: Option<&str>| FileMistakes(vec![about_file(&file, code, message, fix)]);
    let bytes = read_bounded(path).map_err(|unread| {
        let most = limits::CONFIG_FILE_BYTES.to_string();
        let fix = match unread.is_large {
            true => format!("an organism's file of {most} bytes at most; long schemas in files of their own"),
            false => "-f with the path of an organism's file, or systole init, which writes one".to_owned(),
        };
        whole(Code::ConfigUnreadable, &unread.why, Some(&fix))
    })?;
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(_) if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) => {
            return Err(whole(Code::ConfigUnreadable, "the file is UTF-16", Some("save it as UTF-8")));
        }
        Err(error) => return Err(FileMistakes(vec![no_utf8(&file, &bytes, error.valid_up_to())])),
    };
    if text.trim_start().starts_with('<') {
        let fix = "an organism.yaml; a schema is named below listeners.NAME.schema";
        return Err(whole(Code::ConfigSyntax, "this is XML, and an organism's file is YAML", Some(fix)));
    }
    Ok(text.into())
}

fn no_utf8(file: &str, bytes: &[u8], at: usize) -> Diagnostic {
    let before = bytes.get(..at).unwrap_or_default();
    let line = before.iter().filter(|b| **b == b'\n').count() + 1;
    let column =
        String::from_utf8_lossy(before.rsplit(|b| *b == b'\n').next().unwrap_or_default()).chars().count()
            + 1;
    let text = bytes.split(|b| *b == b'\n').nth(line - 1).unwrap_or_default();
    let mut told =
        about_file(file, Code::ConfigUnreadable, "a byte here is not UTF-8", Some("save the file as UTF-8"));
    told.place.line = line;
    told.place.column = column;
    told.place.text = String::from_utf8_lossy(text).trim_end().to_owned();
    told.place.span = told.place.text.chars().skip(column - 1).take(1).collect();
    told
}

/// Why a file could not be read, without its path.
struct Unread {
    why: String,
    /// Whether the file is too large. Then a different path does not help.
    is_large: bool,
}

/// Reads a file up to the size limit.
fn read_bounded(path: &Path) -> Result<Vec<u8>, Unread> {
    let unread = |why: String| Unread { why, is_large: false };
    regular(path).map_err(unread)?;
    let limit = limits::CONFIG_FILE_BYTES;
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|f| f.take(limit as u64 + 1).read_to_end(&mut bytes));
    read.map_err(|error| unread(in_words(&error)))?;
    if bytes.len() > limit {
        let why = format!("the file is larger than {limit} bytes");
        return Err(Unread { why, is_large: true });
    }
    Ok(bytes)
}

/// Checks that there is a regular file.
fn regular(path: &Path) -> Result<(), String> {
    let kind = std::fs::metadata(path).map_err(|error| in_words(&error))?;
    if kind.is_dir() {
        return Err("this is a folder, not a file".to_owned());
    }
    // A pipe or a device has no end and could block.
    if !kind.is_file() {
        return Err("this is not a regular file".to_owned());
    }
    Ok(())
}

fn in_words(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => "this user may not read the file".to_owned(),
        _ => system::describe_error(error),
    }
}
