//! `systole graph`: who may address whom with which elements, what comes back, and who is open to the
//! outside. It reads only the organism file, or with a position the configuration that the log has for it: nothing runs.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::exit::CommandExit;
use super::looking::{Looking, PastPosition, read_composition};
use super::place::Place;
use super::screen::Screen;
use super::system_faults;
use systole_core::types::composition::Composition;
use systole_queries::graph::ListenerGraph;

/// Draws who may address whom.
///
/// For each listener: whom it may address, with which elements, and what comes back. `--out` with a
/// name that ends in .svg, .mmd or .txt needs no `--format`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole graph
  systole graph --out who.svg")]
pub(super) struct Graph {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    past: PastPosition,
    /// What is drawn
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Write it into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// Lines for a terminal
    Text,
    /// A Mermaid flowchart, as forges and notebooks show it
    Mermaid,
    /// A picture for a browser
    Svg,
}

impl Graph {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let graph = ListenerGraph::of(&self.composition(screen)?);
        let format = match (self.format, self.out.as_deref()) {
            (Some(format), _) => format,
            (None, None) => Format::Text,
            (None, Some(file)) => find_format(file).ok_or_else(|| {
                let words = format!("{}: its ending names no format", file.display());
                screen.refuse(words, "a name that ends in .svg, .mmd or .txt, or --format")
            })?,
        };
        self.spare_the_file(screen)?;
        let document = match format {
            _ if screen.json => {
                let mut line = serde_json::to_vec(&graph).map_err(|e| screen.fail(CommandExit::Failed, e))?;
                line.push(b'\n');
                line
            }
            Format::Text => (graph.text().join("\n") + "\n").into_bytes(),
            Format::Mermaid => graph.mermaid().into_bytes(),
            Format::Svg => graph.picture(),
        };
        match &self.out {
            // Our own colours are beside names that were already made visible.
            None => screen.show_drawn(String::from_utf8_lossy(&document).trim_end_matches('\n')),
            Some(file) => std::fs::write(file, document)
                .map_err(|error| system_faults::report_unwritten(screen, file, "the drawing", &error))?,
        }
        Ok(CommandExit::Done)
    }

    /// The organism of the file, or the one that ran at a position.
    fn composition(&self, screen: Screen) -> Result<Composition, CommandExit> {
        if self.past.is_given() {
            return Looking::open(&self.place)?.show_at(self.past)?.used_composition();
        }
        read_composition(&self.place, screen)
    }

    /// The drawing must not overwrite its own source.
    fn spare_the_file(&self, screen: Screen) -> Result<(), CommandExit> {
        let there = |path: &Path| std::fs::canonicalize(path).ok();
        let out = self.out.as_deref().and_then(there);
        if out.is_some() && out == there(self.place.file()) {
            let words = "--out names the organism's file, which is never overwritten";
            return Err(screen.refuse(words, "another file"));
        }
        Ok(())
    }
}

/// The format for a file name's extension, if there is one.
fn find_format(file: &Path) -> Option<Format> {
    let end = file.extension().map(std::ffi::OsStr::to_ascii_lowercase);
    match end.as_deref().and_then(std::ffi::OsStr::to_str) {
        Some("svg") => Some(Format::Svg),
        Some("mmd" | "mermaid") => Some(Format::Mermaid),
        Some("txt") => Some(Format::Text),
        _ => None,
    }
}
