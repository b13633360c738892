//! Where a command works: the organism's file and its log. Reads the file only when it is needed, so
//! that a log can be spoken of without it.

use std::path::{Path, PathBuf};

use clap::Args;

use super::exit::Exit;
use super::screen::Screen;
use crate::organism::file::{self, OrganismFile, Refused};
use crate::organism::runfile::RunFile;

/// The options that every command shares.
#[derive(Args, Clone, Debug)]
pub(super) struct Place {
    /// The organism's file
    #[arg(short = 'f', long = "organism", value_name = "FILE", default_value = "organism.yaml")]
    organism_file: PathBuf,
    /// The log, where it is not the one that the file names
    #[arg(long, value_name = "PATH")]
    log: Option<PathBuf>,
    /// Say something else than the file, as limits.message=64KiB
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = setting)]
    settings: Vec<String>,
    /// Print data as JSON
    #[arg(long)]
    json: bool,
}

impl Place {
    pub(super) fn screen(&self) -> Screen {
        Screen::of_process(self.json)
    }

    /// The checked organism, with the log that is meant.
    pub(super) fn organism(&self, screen: Screen) -> Result<OrganismFile, Exit> {
        self.load().map_err(|refused| refuse(screen, &refused))
    }

    /// The log that is meant.
    pub(super) fn log(&self, screen: Screen) -> Result<PathBuf, Exit> {
        match &self.log {
            // What is set has to be right even where nothing but the log is needed.
            Some(log) if self.settings.is_empty() => Ok(log.clone()),
            named => {
                let of_file = file::log_of(&self.organism_file, &self.settings);
                let of_file = of_file.map_err(|refused| refuse(screen, &refused))?;
                Ok(named.clone().unwrap_or(of_file))
            }
        }
    }

    /// Refuses settings for an organism that runs already: it was started with its own.
    pub(super) fn set_nothing(&self, screen: Screen, run: &RunFile) -> Result<(), Exit> {
        if self.settings.is_empty() {
            return Ok(());
        }
        let pid = run.pid.to_string();
        let words = ["process ", &pid, " runs the organism, with what was set when it was started"].concat();
        let exit = screen.fail(Exit::Usage, words);
        screen.say("  try: leave --set out, or stop that process first");
        Err(exit)
    }

    /// Refuses settings for a command that writes the organism's file: what it writes is what the file says.
    pub(super) fn write_what_is_said(&self, screen: Screen) -> Result<(), Exit> {
        if self.settings.is_empty() {
            return Ok(());
        }
        let exit = screen.fail(Exit::Usage, "this writes the organism's file, in which --set says nothing");
        screen.say("  try: leave --set out, and write into the file what it is to say");
        Err(exit)
    }

    /// The organism's file, as it was typed.
    pub(super) fn file(&self) -> &Path {
        &self.organism_file
    }

    /// The folder of the organism's file, where its programs run.
    pub(super) fn directory(&self) -> PathBuf {
        let folder = self.organism_file.parent().unwrap_or(std::path::Path::new("")).join(".");
        std::path::absolute(&folder).unwrap_or(folder)
    }

    /// The command that runs the organism of this place.
    pub(super) fn run_command(&self) -> String {
        self.command("run")
    }

    /// A command of this program about this place.
    pub(super) fn command(&self, name: &str) -> String {
        let mut command = ["systole ", name].concat();
        if self.organism_file.as_os_str() != "organism.yaml" {
            command.extend([" -f ", &quoted(&self.organism_file)]);
        }
        if let Some(log) = &self.log {
            command.extend([" --log ", &quoted(log)]);
        }
        for setting in &self.settings {
            command.extend([" --set '", &setting.replace('\'', "'\\''"), "'"]);
        }
        command
    }

    /// The organism's file as the loader finds it, with the log that is meant.
    pub(super) fn load(&self) -> Result<OrganismFile, Refused> {
        let mut organism = file::load_set(&self.organism_file, &self.settings)?;
        if let Some(log) = &self.log {
            organism.log = log.clone();
        }
        Ok(organism)
    }

    /// The log that was named beside the file.
    pub(super) fn given_log(&self) -> Option<PathBuf> {
        self.log.clone()
    }
}

/// A path as a shell reads it, and as no command takes for an option.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let text = if text.starts_with('-') { ["./", &text].concat() } else { text };
    let is_plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./".contains(&b));
    if is_plain { text } else { ["'", &text.replace('\'', "'\\''"), "'"].concat() }
}

fn refuse(screen: Screen, refused: &Refused) -> Exit {
    screen.say_drawn(refused.to_string().trim_end());
    Exit::Configuration
}

/// A setting as it is typed. What is wrong with its path or value is told with the file's own mistakes.
fn setting(text: &str) -> Result<String, String> {
    if !text.contains('=') {
        return Err("no value: it is PATH=VALUE, as limits.message=64KiB".to_owned());
    }
    if text.contains(char::is_control) {
        return Err("a control character or a line break stands in it".to_owned());
    }
    Ok(text.to_owned())
}
