//! Writes new files: all of them, or none if one already exists.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::exit::CommandExit;
use super::screen::Screen;
use super::system_faults;

pub(super) use systole_sdk::NewFile;

/// Writes files into a folder. A file that begins with `#!` becomes executable.
pub(super) fn write_files(screen: Screen, folder: &Path, files: &[NewFile]) -> Result<(), CommandExit> {
    let paths = files.iter().map(|file| folder.join(&file.path));
    let there: Vec<String> =
        paths.filter(|path| path.symlink_metadata().is_ok()).map(|path| path.display().to_string()).collect();
    if !there.is_empty() {
        screen.say(format!("error: no file is overwritten, and this exists already: {}", there.join(", ")));
        screen.say("  try: another name, or an empty folder");
        return Err(CommandExit::Usage);
    }
    files.iter().try_for_each(|file| write_file(screen, &folder.join(&file.path), &file.text))
}

fn write_file(screen: Screen, path: &Path, text: &str) -> Result<(), CommandExit> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .map_err(|error| system_faults::report_no_folder(screen, folder, "a new folder", &error))?;
    }
    let told = |error| system_faults::report_unwritten(screen, path, "a new file", &error);
    let mode = if text.starts_with("#!") { 0o777 } else { 0o666 };
    // Another process may have created the file since the check.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(told)?;
    file.write_all(text.as_bytes()).map_err(told)
}
