//! Compares the files of an SDK with a folder, and writes them there. It touches only files that this program wrote,
//! which it knows by their first line.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::sdk::SdkPlan;

/// What is known by its first line.
const MARK: &str = "Written by `systole sdk ";

/// Why a file in a folder is not as planned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SdkFileState {
    /// There is no such file.
    Missing,
    /// Its text is another.
    Stale,
    /// It is no longer part of the SDK.
    Unneeded,
    /// Another program or a person wrote it.
    Foreign,
}

impl SdkFileState {
    /// The word for people and programs.
    pub fn word(self) -> &'static str {
        match self {
            SdkFileState::Missing => "missing",
            SdkFileState::Stale => "stale",
            SdkFileState::Unneeded => "unneeded",
            SdkFileState::Foreign => "foreign",
        }
    }
}

/// Each file of a folder that is not as planned, with its path in the folder.
///
/// # Errors
/// What the operating system says, with the path.
pub fn compare_folder(
    folder: &Path,
    plan: &SdkPlan,
) -> Result<Vec<(PathBuf, SdkFileState)>, (PathBuf, io::Error)> {
    let mut found = Vec::new();
    for file in &plan.files {
        let state = match read_text(&folder.join(&file.path))? {
            None => Some(SdkFileState::Missing),
            Some(there) if there == file.text.as_bytes() => None,
            Some(there) if is_ours(&there) => Some(SdkFileState::Stale),
            Some(_) => Some(SdkFileState::Foreign),
        };
        found.extend(state.map(|state| (file.path.clone(), state)));
    }
    for inside in &plan.folders {
        for path in list_files(folder, inside)? {
            let is_planned = plan.files.iter().any(|file| file.path == path);
            if !is_planned && read_text(&folder.join(&path))?.is_some_and(|there| is_ours(&there)) {
                found.push((path, SdkFileState::Unneeded));
            }
        }
    }
    Ok(found)
}

/// Writes what is missing or stale, and removes what is no longer needed. The caller has refused foreign files.
///
/// # Errors
/// What the operating system says, with the path.
pub fn write_folder(
    folder: &Path,
    plan: &SdkPlan,
    found: &[(PathBuf, SdkFileState)],
) -> Result<(), (PathBuf, io::Error)> {
    for (path, state) in found {
        let whole = folder.join(path);
        let done = match (state, plan.files.iter().find(|file| file.path == *path)) {
            (SdkFileState::Unneeded, _) => fs::remove_file(&whole),
            (SdkFileState::Missing | SdkFileState::Stale, Some(file)) => replace_file(&whole, &file.text),
            _ => Ok(()),
        };
        done.map_err(|error| (whole, error))?;
    }
    Ok(())
}

/// A reader sees the old text or the new one.
fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    fs::write(&beside, text).and_then(|()| fs::rename(&beside, path)).inspect_err(|_| {
        let _gone = fs::remove_file(&beside);
    })
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink())
}

/// The bytes of a file, if there is one. What is no file, or is in a folder that a link leads to, counts as one that
/// another program wrote.
fn read_text(path: &Path) -> Result<Option<Vec<u8>>, (PathBuf, io::Error)> {
    if path.parent().is_some_and(is_link) {
        return Ok(Some(Vec::new()));
    }
    match fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => Ok(Some(Vec::new())),
        Ok(_) => fs::read(path).map(Some).map_err(|error| (path.to_owned(), error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err((path.to_owned(), error)),
    }
}

fn is_ours(text: &[u8]) -> bool {
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    String::from_utf8_lossy(first).contains(MARK)
}

/// The files directly in a folder, by name.
fn list_files(folder: &Path, inside: &Path) -> Result<Vec<PathBuf>, (PathBuf, io::Error)> {
    let whole = folder.join(inside);
    if is_link(&whole) {
        return Ok(Vec::new());
    }
    let entries = match fs::read_dir(&whole) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err((whole, error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| (whole.clone(), error))?;
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            found.push(inside.join(entry.file_name()));
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdk::{SdkLanguage, plan_sdk};

    const XSD: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" elementFormDefault="qualified"
        targetNamespace="https://xml-pipeline.org/ns/hello/v1"><xs:element name="a" type="xs:string"/></xs:schema>"#;

    fn plan(xsd: &str, types_only: bool) -> SdkPlan {
        plan_sdk(SdkLanguage::Python, &[("a.xsd", xsd.as_bytes())], types_only)
    }

    #[test]
    fn g7_only_files_that_the_program_wrote_are_replaced_or_removed() {
        let folder = tempfile::tempdir().unwrap();
        let before = plan(XSD, true);
        let found = compare_folder(folder.path(), &before).unwrap();
        assert!(found.iter().all(|(_, state)| *state == SdkFileState::Missing), "{found:?}");
        write_folder(folder.path(), &before, &found).unwrap();
        assert_eq!(compare_folder(folder.path(), &before).unwrap(), []);
        let module = folder.path().join("python/payloads/hello.py");
        let written = fs::read(&module).unwrap();

        let other = plan(&XSD.replace("hello", "bye"), true);
        let found = compare_folder(folder.path(), &other).unwrap();
        let state = |name: &str, state| (PathBuf::from("python/payloads").join(name), state);
        let wanted = [state("bye.py", SdkFileState::Missing), state("hello.py", SdkFileState::Unneeded)];
        assert_eq!(found, wanted);
        write_folder(folder.path(), &other, &found).unwrap();
        assert!(!module.exists());

        let elsewhere = tempfile::tempdir().unwrap();
        let payloads = folder.path().join("python/payloads");
        fs::rename(&payloads, elsewhere.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("moved"), &payloads).unwrap();
        let found = compare_folder(folder.path(), &before).unwrap();
        assert!(found.iter().all(|(_, state)| *state == SdkFileState::Foreign), "{found:?}");
        fs::remove_file(&payloads).unwrap();
        fs::rename(elsewhere.path().join("moved"), &payloads).unwrap();

        fs::write(&module, "mine\n").unwrap();
        assert_eq!(compare_folder(folder.path(), &other).unwrap(), []);
        assert_eq!(compare_folder(folder.path(), &before).unwrap()[0].1, SdkFileState::Foreign);
        fs::write(&module, [&written[..], b"# more"].concat()).unwrap();
        assert_eq!(
            compare_folder(folder.path(), &before).unwrap()[0],
            state("hello.py", SdkFileState::Stale)
        );
    }
}
