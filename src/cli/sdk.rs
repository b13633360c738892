//! `systole sdk`: writes an SDK and the types of the organism's payloads beside the organism, with the same bytes each
//! time, or says which of these files are not as it would write them. It replaces only its own files.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use super::exit::CommandExit;
use super::place::Place;
use super::screen::Screen;
use super::system_faults;
use systole_config::OrganismFile;
use systole_sdk::{self as files, SdkFileState, SdkLanguage, SdkPlan};

/// The folder beside the organism's file.
pub(super) const FOLDER: &str = "sdk";

/// Writes an SDK and the types of the payloads beside the organism.
///
/// The same organism gives the same bytes. Only files of this command are written over or removed; it knows them
/// by their first line.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole sdk python
  systole sdk typescript --check")]
pub(super) struct SdkCommand {
    #[command(flatten)]
    place: Place,
    /// The language
    #[arg(value_name = "LANGUAGE")]
    language: ChosenLanguage,
    /// The folder, if it is not sdk beside the organism's file
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Only the types of the payloads, for a package that is installed
    #[arg(long)]
    types: bool,
    /// Write nothing; exit 1 if a file is not as it would be written
    #[arg(long)]
    check: bool,
}

/// The language of an SDK.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ChosenLanguage {
    /// Python 3.10 and newer
    Python,
    /// TypeScript; Node 22.18 and newer runs it as it is
    Typescript,
}

impl SdkCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let organism = self.place.organism(screen)?;
        let language = match self.language {
            ChosenLanguage::Python => SdkLanguage::Python,
            ChosenLanguage::Typescript => SdkLanguage::TypeScript,
        };
        let folder = match &self.output {
            Some(folder) => folder.clone(),
            None => self.place.file().parent().unwrap_or(Path::new("")).join(FOLDER),
        };
        let plan = plan_files(language, &organism, self.types);
        if self.check {
            return self.check_files(screen, &folder, &plan);
        }
        let written = write_files(screen, &folder, &plan)?;
        if screen.json {
            let paths: Vec<PathBuf> = written.iter().map(|(path, _)| folder.join(path)).collect();
            screen.show_value(&json!({"written": paths, "files": plan.files.len()}));
            return Ok(CommandExit::Done);
        }
        for (path, state) in &written {
            let done = if *state == SdkFileState::Unneeded { "removed" } else { "wrote" };
            screen.say(format!("{done} {}", folder.join(path).display()));
        }
        if written.is_empty() {
            screen.say(format!(
                "{}: {} files are as they would be written",
                folder.display(),
                plan.files.len()
            ));
        }
        Ok(CommandExit::Done)
    }

    fn check_files(&self, screen: Screen, folder: &Path, plan: &SdkPlan) -> Result<CommandExit, CommandExit> {
        let found = compare_files(screen, folder, plan)?;
        if screen.json {
            let rows =
                found.iter().map(|(path, state)| json!({"path": folder.join(path), "state": state.word()}));
            screen.show_value(&json!({"differ": rows.collect::<Vec<_>>(), "files": plan.files.len()}));
        } else {
            for (path, state) in &found {
                screen.show(&format!("{}: {}", folder.join(path).display(), state.word()));
            }
        }
        if found.is_empty() {
            return Ok(CommandExit::Done);
        }
        let words = format!("{} of the files of the SDK are not as they would be written", found.len());
        let fix = format!("systole sdk {}", plan.language.name());
        Err(screen.fail_with(CommandExit::Failed, words, fix))
    }
}

/// The schemas of an organism, by name and text.
pub(super) fn list_schemas(organism: &OrganismFile) -> Vec<(&str, &[u8])> {
    organism.composition.schemas.iter().map(|one| (one.name.as_str(), &*one.text)).collect()
}

/// The files of an SDK for an organism.
pub(super) fn plan_files(language: SdkLanguage, organism: &OrganismFile, types_only: bool) -> SdkPlan {
    files::plan_sdk(language, &list_schemas(organism), types_only)
}

fn compare_files(
    screen: Screen,
    folder: &Path,
    plan: &SdkPlan,
) -> Result<Vec<(PathBuf, SdkFileState)>, CommandExit> {
    files::compare_folder(folder, plan).map_err(|(path, error)| {
        system_faults::report_unread(screen, CommandExit::Unavailable, &path, "a file of the SDK", &error)
    })
}

/// Refuses files that another program or a person wrote.
pub(super) fn refuse_foreign(screen: Screen, folder: &Path, plan: &SdkPlan) -> Result<(), CommandExit> {
    let found = compare_files(screen, folder, plan)?;
    let foreign = found.iter().filter(|(_, state)| *state == SdkFileState::Foreign);
    let paths: Vec<String> = foreign.map(|(path, _)| folder.join(path).display().to_string()).collect();
    if paths.is_empty() {
        return Ok(());
    }
    let words = format!("this command did not write {}, and does not replace it", paths.join(", "));
    Err(screen.refuse(words, "move it away; or -o with another folder"))
}

/// Writes the files that are not as planned, and names them.
pub(super) fn write_files(
    screen: Screen,
    folder: &Path,
    plan: &SdkPlan,
) -> Result<Vec<(PathBuf, SdkFileState)>, CommandExit> {
    refuse_foreign(screen, folder, plan)?;
    let found = compare_files(screen, folder, plan)?;
    files::write_folder(folder, plan, &found).map_err(|(path, error)| {
        system_faults::report_unwritten(screen, &path, "a file of the SDK", &error)
    })?;
    Ok(found)
}
