//! The place of a command: the organism file and its log. It reads the file only when needed, so that a log can be
//! used without it.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::Args;

use super::exit::CommandExit;
use super::screen::Screen;
use systole_config::{self as config, FileMistakes, OrganismFile};
use systole_organism::runfile::RunFile;

/// The variable with the address of an organism elsewhere.
const URL: &str = "SYSTOLE_URL";
/// The default name of an organism file.
const FILE: &str = "organism.yaml";

/// The options that every command shares.
#[derive(Args, Clone, Debug)]
pub(super) struct Place {
    /// The organism's file (organism.yaml, here or above)
    #[arg(short = 'f', long = "organism", value_name = "FILE")]
    organism_file: Option<PathBuf>,
    #[arg(skip)]
    found: OnceLock<PathBuf>,
    /// The log of the organism that runs from a file with mistakes, once they were printed.
    #[arg(skip)]
    runs_on: OnceLock<PathBuf>,
    /// The log, if it is not the one that the file names
    #[arg(long, value_name = "PATH")]
    log: Option<PathBuf>,
    /// Say something else than the file, as limits.message=64KiB
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = parse_setting)]
    settings: Vec<String>,
    /// Print data as JSON
    #[arg(long)]
    json: bool,
    /// The organism at this address, also on another machine (SYSTOLE_URL)
    #[arg(long, value_name = "URL", conflicts_with_all = ["organism_file", "log", "settings"])]
    url: Option<String>,
    /// The variable with your token there (SYSTOLE_TOKEN)
    #[arg(long, value_name = "NAME")]
    token_env: Option<String>,
}

impl Place {
    pub(super) fn screen(&self) -> Screen {
        Screen::new(self.json)
    }

    /// The address of an organism elsewhere, with what named it. A file or a log on the command line counts for more
    /// than the variable.
    pub(super) fn url(&self) -> Option<(&'static str, String)> {
        if let Some(typed) = &self.url {
            return Some(("--url", typed.clone()));
        }
        let is_here = self.organism_file.is_some() || self.log.is_some() || !self.settings.is_empty();
        let said = std::env::var(URL).ok().filter(|url| !url.is_empty() && !is_here);
        said.map(|url| (URL, url))
    }

    /// The variable that holds the token for that organism, if one was named.
    pub(super) fn token_variable(&self) -> Option<&str> {
        self.token_env.as_deref()
    }

    /// The checked organism, with the selected log.
    pub(super) fn organism(&self, screen: Screen) -> Result<OrganismFile, CommandExit> {
        self.load().map_err(|refused| refuse(screen, &refused))
    }

    /// The selected log. Mistakes in the file do not hide the log of an organism that runs from it: they are printed.
    pub(super) fn log(&self, screen: Screen) -> Result<PathBuf, CommandExit> {
        match &self.log {
            // Settings must be valid even if only the log is needed.
            Some(log) if self.settings.is_empty() => Ok(log.clone()),
            named => {
                let of_file = config::log_of(self.file(), &self.settings);
                let of_file = of_file.or_else(|refused| self.log_despite(screen, &refused))?;
                Ok(named.clone().unwrap_or(of_file))
            }
        }
    }

    /// The log of the organism that runs from a file with mistakes, which are printed once. An error if none runs.
    fn log_despite(&self, screen: Screen, refused: &FileMistakes) -> Result<PathBuf, CommandExit> {
        if let Some(log) = self.runs_on.get() {
            return Ok(log.clone());
        }
        let exit = refuse(screen, refused);
        let log = self.running_log().ok_or(exit)?;
        let who = RunFile::find_running(&log).map_or_else(|| "the organism".to_owned(), |run| run.describe());
        screen.say(format!("note: {who} runs with the file as it was when it started; this uses its log"));
        Ok(self.runs_on.get_or_init(|| log).clone())
    }

    /// The log of the organism that runs from the file, whatever the file says now: the log that a run file beside it
    /// names, or that of the section `log` alone. Settings could name another log.
    pub(super) fn running_log(&self) -> Option<PathBuf> {
        if !self.settings.is_empty() {
            return None;
        }
        let alone = || config::log_alone(self.file()).filter(|log| RunFile::find_holder(log).is_some());
        RunFile::find_log(self.file()).or_else(alone)
    }

    /// The settings on the command line.
    pub(super) fn settings(&self) -> &[String] {
        &self.settings
    }

    /// Refuses settings for an organism that already runs: it was started with its own.
    pub(super) fn set_nothing(&self, screen: Screen, run: &RunFile) -> Result<(), CommandExit> {
        if self.settings.is_empty() {
            return Ok(());
        }
        let pid = run.pid.to_string();
        let words = format!("process {pid} runs the organism, with the settings it was started with");
        Err(screen.refuse(words, "leave --set out, or stop that process first"))
    }

    /// Refuses settings for a command that writes the organism file: it writes only what the file says.
    pub(super) fn write_what_is_said(&self, screen: Screen) -> Result<(), CommandExit> {
        if self.settings.is_empty() {
            return Ok(());
        }
        let words = "this writes the organism's file, and --set cannot change that file";
        Err(screen.refuse(words, "leave --set out, and change the value in the file"))
    }

    /// The organism file: as typed, or the one that was found.
    pub(super) fn file(&self) -> &Path {
        match &self.organism_file {
            Some(typed) => typed,
            None => self.found.get_or_init(|| find_above(self.screen()).unwrap_or_else(|| FILE.into())),
        }
    }

    /// Whether there is an organism's file, or one was named.
    pub(super) fn has_file(&self) -> bool {
        self.organism_file.is_some() || self.file().is_file()
    }

    /// The folder of the organism's file, where its programs run.
    pub(super) fn directory(&self) -> PathBuf {
        let folder = self.file().parent().unwrap_or(Path::new("")).join(".");
        std::path::absolute(&folder).unwrap_or(folder)
    }

    /// The command that runs the organism of this place.
    pub(super) fn run_command(&self) -> String {
        self.command("run")
    }

    /// A command of this program about this place.
    pub(super) fn command(&self, name: &str) -> String {
        let mut command = format!("systole {name}");
        if let Some(typed) = self.organism_file.as_ref().filter(|typed| typed.as_os_str() != FILE) {
            command.extend([" -f ", &quote_path(typed)]);
        }
        if let Some(log) = &self.log {
            command.extend([" --log ", &quote_path(log)]);
        }
        for setting in &self.settings {
            command.extend([" --set '", &setting.replace('\'', "'\\''"), "'"]);
        }
        command
    }

    /// The organism file from the loader, with the selected log.
    pub(super) fn load(&self) -> Result<OrganismFile, FileMistakes> {
        self.load_other(self.file())
    }

    /// A stored configuration in the place of the organism's file, with the selected log.
    pub(super) fn load_stored(&self, source: &[u8]) -> Result<OrganismFile, FileMistakes> {
        Ok(self.with_own_log(config::load_stored(source, self.file())?))
    }

    /// Another file in the place of the organism's file, with the same settings and the selected log.
    pub(super) fn load_other(&self, file: &Path) -> Result<OrganismFile, FileMistakes> {
        Ok(self.with_own_log(config::load_set(file, &self.settings)?))
    }

    fn with_own_log(&self, mut organism: OrganismFile) -> OrganismFile {
        if let Some(log) = &self.log {
            (organism.log, organism.no_log_folder) = (log.clone(), None);
        }
        organism
    }

    /// The log that was named in addition to the file.
    pub(super) fn given_log(&self) -> Option<PathBuf> {
        self.log.clone()
    }
}

/// The organism file of the nearest folder above this one, if there is none here. The file can start programs, so a
/// file of another user is used only if it is named.
fn find_above(screen: Screen) -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    if here.join(FILE).symlink_metadata().is_ok() {
        return None;
    }
    let found = here.ancestors().skip(1).map(|folder| folder.join(FILE)).find(|file| file.is_file())?;
    let owner = found.metadata().ok()?.uid();
    if owner == 0 || owner == rustix::process::geteuid().as_raw() {
        return Some(found);
    }
    let file = quote_path(&found);
    screen.say(format!("note: {file} belongs to another user and is not used; name it with -f {file}"));
    None
}

/// A path quoted for a shell, and not mistaken for an option.
pub(super) fn quote_path(path: &Path) -> String {
    let text = path.display().to_string();
    let text = if text.starts_with('-') { format!("./{text}") } else { text };
    let is_plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./".contains(&b));
    if is_plain { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Prints the mistakes of the organism's file.
pub(super) fn refuse(screen: Screen, refused: &FileMistakes) -> CommandExit {
    screen.say_drawn(refused.to_string().trim_end());
    CommandExit::Configuration
}

/// A typed setting. Errors in its path or value are reported with the file's own mistakes.
fn parse_setting(text: &str) -> Result<String, String> {
    if !text.contains('=') {
        return Err("no value: it is PATH=VALUE, as limits.message=64KiB".to_owned());
    }
    if text.contains(char::is_control) {
        return Err("it has a control character or a line break".to_owned());
    }
    Ok(text.to_owned())
}
