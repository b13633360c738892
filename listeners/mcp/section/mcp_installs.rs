//! MCP servers that `systole mcp pin` installs: the command line that asks for one, and whether what is installed here is
//! what was pinned.
//!
//! Input: the words of a command line, or a pin and a shelf. Output: a request, or why the server cannot start. Nothing
//! is installed or started here.

use systole_mcp::package::{InstallRecord, InstallRequest, RECORD, install_folder};
use systole_mcp::schema::PinFile;

use crate::diagnostics::Diagnostics;
use crate::schemas::Shelf;
use crate::value::At;

/// Reads what a command line asks to install. `Ok(None)` if nothing. An error was reported.
pub(super) fn read(
    diagnostics: &mut Diagnostics,
    words: &[At<String>],
    path: &str,
) -> Result<Option<InstallRequest>, ()> {
    let command: Vec<String> = words.iter().map(|word| word.value.clone()).collect();
    let Some(read) = InstallRequest::from_command(&command) else { return Ok(None) };
    read.map(Some).map_err(|fault| {
        if let Some(word) = words.get(fault.word) {
            let message = format!("{path}: {}", fault.message);
            diagnostics.report_value(word.at, &message, fault.fix);
        }
    })
}

/// Why a pinned server cannot start here: it is not installed, or something else is.
pub(super) fn missing(
    shelf: &dyn Shelf,
    server: &str,
    (request, pin): (&InstallRequest, &PinFile),
) -> Option<String> {
    let folder = install_folder(server);
    let record = match shelf.read(&format!("{folder}/{RECORD}")) {
        Ok(None) => return None,
        Ok(Some(text)) => InstallRecord::from_text(&text),
        Err(_absent) => return Some(format!("the server is not installed in {folder}")),
    };
    let starts = request.build_command(&folder);
    let is_there = |word: &&String| word.starts_with(&folder);
    let Some(record) = record else { return Some(format!("{folder}/{RECORD} cannot be read")) };
    if let Some(lines) = record.find_difference(request, &pin.packages) {
        let first = lines.first().map(|line| format!(": {line}")).unwrap_or_default();
        return Some(format!("what is installed in {folder} is not what was pinned{first}"));
    }
    let mut files = starts.iter().take(2).filter(is_there);
    let absent = files.find_map(|file| shelf.find(file).err());
    absent.map(|absent| format!("the server is not installed in {folder}: {}", absent.why))
}
