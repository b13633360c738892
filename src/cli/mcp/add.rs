//! `systole mcp add`: makes a listener of a server that a file for other hosts describes: an entry of `.mcp.json`, or the
//! `server.json` of the registry of MCP. It adds lines to the organism's file and changes no other byte. It installs and
//! starts nothing.
//!
//! A value that may be a secret is never copied, because the log stores the organism's file: a variable is passed on, and
//! a server with such an argument or address is not added.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use systole_mcp::adding::{AddedServer, NotAdded};

use crate::cli::exit::CommandExit;
use crate::cli::listener::insert_block;
use crate::cli::place::{Place, refuse};
use crate::cli::system_faults;
use systole_config as config;
use systole_core::types::ids::Name;

/// The files that are looked for beside the organism's file.
const FILES: [&str; 2] = [".mcp.json", "server.json"];

/// Add an MCP server to the organism's file, from a file for other hosts.
///
/// The server NAME of .mcp.json, or the one of a server.json of MCP's registry, becomes a listener with `mcp`. Variables
/// that may be secrets are passed on and not copied; arguments that may be secrets are refused. `systole mcp pin NAME`
/// installs and pins the server.
#[derive(Args, Debug)]
pub(in crate::cli) struct AddCommand {
    #[command(flatten)]
    place: Place,
    /// The server, and the name of its listener
    #[arg(value_parser = Name::parse)]
    name: Name,
    /// The file; without it .mcp.json, or else server.json, beside the organism's file
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
}

impl AddCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        self.place.write_what_is_said(screen)?;
        let path = self.place.file();
        config::mcp_servers(path).map_err(|refused| refuse(screen, &refused))?;
        let from = self.source_path();
        let described = fs::read_to_string(&from).map_err(|error| {
            let exit = system_faults::report_unread(screen, CommandExit::Usage, &from, "the servers", &error);
            screen.say("  try: --from FILE, a .mcp.json or a server.json");
            exit
        })?;
        let read = AddedServer::from_text(&described, self.name.as_str());
        let server = read.map_err(|NotAdded { words, fix }| {
            let exit = screen.fail(CommandExit::Usage, format!("{}: {words}", from.display()));
            fix.into_iter().for_each(|fix| screen.say(format!("  try: {fix}")));
            exit
        })?;
        let lines = server.write_lines(self.name.as_str());
        let text = insert_block::read_file(screen, path)?;
        let Some(with_server) = insert_block::insert_below(&text, "listeners", &lines) else {
            let words = format!("{}: `listeners` is not a block of lines", path.display());
            let exit = screen.fail(CommandExit::Configuration, words);
            screen.say("  try: add this below `listeners` yourself:");
            lines.iter().for_each(|line| screen.show(line));
            return Err(exit);
        };
        insert_block::replace_file(screen, path, &with_server)?;
        if let Err(refused) = config::mcp_servers(path) {
            insert_block::replace_file(screen, path, &text)?;
            screen.say(format!("with {} in it the organism's file would be refused:", self.name));
            return Err(refuse(screen, &refused));
        }
        lines.iter().for_each(|line| screen.show(&format!("  {line}")));
        server.notes.iter().for_each(|note| screen.say(format!("note: {note}")));
        screen.say(format!("next: systole mcp pin {}", self.name));
        Ok(CommandExit::Done)
    }

    fn source_path(&self) -> PathBuf {
        if let Some(from) = &self.from {
            return from.clone();
        }
        let folder = self.place.file().parent().unwrap_or(Path::new("")).to_owned();
        let [first, second] = FILES.map(|name| folder.join(name));
        if !first.exists() && second.exists() { second } else { first }
    }
}
