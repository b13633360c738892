//! Where a command works: the organism's file and its log. Reads the file only when it is needed, so
//! that a log can be spoken of without it.

use std::path::{Path, PathBuf};

use clap::Args;

use super::exit::Exit;
use super::screen::Screen;
use crate::organism::file::{self, OrganismFile, Refused};

/// The options that every command shares.
#[derive(Args, Clone, Debug)]
pub(super) struct Place {
    /// The organism's file
    #[arg(short = 'f', long = "organism", value_name = "FILE", default_value = "organism.yaml")]
    organism_file: PathBuf,
    /// The log, where it is not the one that the file names
    #[arg(long, value_name = "PATH")]
    log: Option<PathBuf>,
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
        self.load().map_err(|refused| {
            screen.say(refused.to_string().trim_end());
            Exit::Configuration
        })
    }

    /// The log that is meant.
    pub(super) fn log(&self, screen: Screen) -> Result<PathBuf, Exit> {
        match &self.log {
            Some(log) => Ok(log.clone()),
            None => Ok(self.organism(screen)?.log),
        }
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
        let mut command = String::from("systole run");
        if self.organism_file.as_os_str() != "organism.yaml" {
            command.extend([" -f ", &self.organism_file.display().to_string()]);
        }
        if let Some(log) = &self.log {
            command.extend([" --log ", &log.display().to_string()]);
        }
        command
    }

    /// The organism's file as the loader finds it, with the log that is meant.
    pub(super) fn load(&self) -> Result<OrganismFile, Refused> {
        let mut organism = file::load(&self.organism_file)?;
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
