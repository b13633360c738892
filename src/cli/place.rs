//! Where a command works: the organism's file and its log. Reads the file only when it is needed, so
//! that a log can be spoken of without it.

use std::path::PathBuf;

use clap::Args;

use super::exit::Exit;
use super::screen::Screen;
use crate::organism::file::{self, OrganismFile};

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
        let mut organism = file::load(&self.organism_file).map_err(|refused| {
            screen.say(refused.to_string().trim_end());
            Exit::Configuration
        })?;
        if let Some(log) = &self.log {
            organism.log = log.clone();
        }
        Ok(organism)
    }

    /// The log that is meant.
    pub(super) fn log(&self, screen: Screen) -> Result<PathBuf, Exit> {
        match &self.log {
            Some(log) => Ok(log.clone()),
            None => Ok(self.organism(screen)?.log),
        }
    }

    /// The folder of the organism's file, where its programs run.
    pub(super) fn directory(&self) -> PathBuf {
        let folder = self.organism_file.parent().unwrap_or(std::path::Path::new("")).join(".");
        std::path::absolute(&folder).unwrap_or(folder)
    }
}
