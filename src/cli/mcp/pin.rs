//! `systole mcp pin`: installs a server that is a package, asks it for its tools, shows what changed since the last pin,
//! and writes the pin.
//!
//! It starts the server and what installs it, and reads only the listeners of the organism's file: the file is not
//! whole before its servers are pinned.

use std::collections::BTreeSet;
use std::path::Path;

use clap::Args;
use systole_mcp::installing::{InstalledPackages, PackageChoice};
use systole_mcp::pinned_server::build_vocabulary;
use systole_mcp::schema::PinFile;

use super::install;
use super::needs::write_sandbox_line;
use super::pin_output::PinToShow;
use super::server_choice::{find_server, list_servers};
use super::staged_files::{StagedFiles, UnwrittenFile};
use crate::cli::exit::CommandExit;
use crate::cli::place::{Place, refuse};
use crate::cli::screen::Screen;
use crate::cli::system_faults;
use crate::limits;
use systole_carriers::{InheritedVariables, output_of};
use systole_config::{self as config, McpServer};
use systole_core::types::composition::ListenerProgram;
use systole_core::types::ids::Name;
use systole_system::system::describe_error;

/// Install an MCP server, and pin its packages and its tools.
///
/// A server that the file names with npx or uvx is installed into .systole/mcp/NAME beside the organism's file, in a
/// sandbox and without install scripts: the pinned versions if there are some, else the newest. The server is started
/// and asked for its tools. Their names, descriptions and schemas go to schemas/mcp/NAME.pin.json beside the organism's
/// file, and from then on the server is used only as long as it lists exactly these.
#[derive(Args, Debug)]
pub(in crate::cli) struct PinCommand {
    #[command(flatten)]
    place: Place,
    /// The listener; without a name every listener with `mcp`
    name: Option<String>,
    /// Write and install nothing; exit 1 if packages or tools differ from the pinned ones
    #[arg(long)]
    check: bool,
    /// Install the newest versions that the file allows
    #[arg(long, conflicts_with = "check")]
    upgrade: bool,
}

impl PinCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        self.place.write_what_is_said(screen)?;
        let servers = config::mcp_servers(self.place.file());
        let (organism, servers) = servers.map_err(|refused| refuse(screen, &refused))?;
        let mut exit = CommandExit::Done;
        let meant = match &self.name {
            Some(name) => vec![find_server(&servers, name, screen)?],
            None => list_servers(&servers, screen)?,
        };
        if self.upgrade && !meant.iter().any(|server| server.installs.is_some()) {
            let fix = "write [npx, PACKAGE] or [uvx, PACKAGE] under `mcp`, or leave --upgrade out";
            return Err(screen.refuse("nothing is installed for this server, so nothing is upgraded", fix));
        }
        for server in meant {
            let ended = self.pin_server(&organism, server, screen)?;
            if ended != CommandExit::Done {
                exit = ended;
            }
        }
        Ok(exit)
    }

    fn pin_server(
        &self,
        organism: &Name,
        server: &McpServer,
        screen: Screen,
    ) -> Result<CommandExit, CommandExit> {
        let name = server.name.as_str();
        let directory = self.place.directory();
        let path = directory.join(config::pin_file(name));
        let before = self.read_earlier(server, &path, screen)?;
        let installed = self.install_server((organism, server), &directory, before.as_ref(), screen)?;
        let program = install::find_program(server, installed.as_ref(), &directory);
        let pin = ask_for_tools(organism, server, &program).map_err(|words| {
            let exit = screen.fail(CommandExit::Unavailable, format!("{name}: {words}"));
            let needed = write_sandbox_line(server, &program.directory, &words);
            screen.say(match (server.program.run.is_empty(), needed, &server.installs) {
                // The server's own words say it already.
                (true, ..) if words.contains("systole mcp login") => return exit,
                (true, ..) => "  try: open the address in a browser or with curl, and look at key_env".to_owned(),
                (false, Some(line), _) => format!(
                    "  try: {line} at listeners.{name}, which gives it what it names; with write in place of read \
                     where its tools change files"
                ),
                (false, None, Some(_)) => format!(
                    "  try: set what the server asks for under listeners.{name}, such as env, pass or sandbox; or \
                     name another version"
                ),
                (false, None, None) => format!("  try: make `{}` run in {}", program.command(), directory.display()),
            });
            exit
        })?;
        let mut pin = PinFile { command: server.command.clone(), ..pin };
        if let Some(installed) = &installed {
            (pin.entry, pin.packages) = (server.program.run.clone(), installed.packages.clone());
        }
        let made = build_vocabulary(name, &pin, BTreeSet::new());
        let made = made.map_err(|fault| screen.fail(CommandExit::Failed, format!("{name}: {fault}")))?;
        let is_same = before.as_ref() == Some(&pin);
        let shown = PinToShow {
            server: name,
            pin: &pin,
            made: &made,
            before: before.as_ref(),
            installed: installed.as_ref(),
        };
        shown.show(screen);
        if let Some(line) = write_sandbox_line(server, &program.directory, "") {
            screen.say(format!("note: {name} names what its sandbox does not give it; {line} would"));
        }
        if self.check {
            return Ok(if is_same { CommandExit::Done } else { CommandExit::Failed });
        }
        let unwritten =
            |(path, error): UnwrittenFile| system_faults::report_unwritten(screen, &path, "the pin", &error);
        let (mut files, mut folder) = (StagedFiles::default(), None);
        if let (Some(installed), Some(request)) = (installed, &server.installs) {
            let lock = directory.join(config::lock_file(name, request.kind));
            files.stage_file(lock, &installed.lock).map_err(unwritten)?;
            folder = installed.new;
        }
        files.stage_file(path, &pin.to_text()).map_err(unwritten)?;
        // The files take their place last, and cannot fail for want of space then.
        if let Some(new) = folder {
            new.into_place().map_err(|fault| install::report_fault(screen, name, fault))?;
        }
        for path in files.into_place().map_err(unwritten)? {
            screen.say(format!("written: {}", path.display()));
        }
        Ok(if made.refused.is_empty() { CommandExit::Done } else { CommandExit::Failed })
    }

    /// The pin that is there. One that cannot be read is replaced, and this is said. If it says what is installed, only
    /// `--upgrade` replaces it: without it the pinned versions are not known.
    fn read_earlier(
        &self,
        server: &McpServer,
        path: &Path,
        screen: Screen,
    ) -> Result<Option<PinFile>, CommandExit> {
        match std::fs::read(path) {
            Ok(text) => match PinFile::from_text(&text) {
                Ok(pin) => Ok(Some(pin)),
                Err(fault) if server.installs.is_some() && !self.upgrade => {
                    let (name, words) = (&server.name, format!("{}: {fault}", path.display()));
                    let fix = format!(
                        "take it from version control; or run systole mcp pin {name} --upgrade, which writes a new one"
                    );
                    Err(screen.fail_with(CommandExit::Failed, words, fix))
                }
                Err(fault) => {
                    screen.say(format!("note: {}: {fault}; it counts as none", path.display()));
                    Ok(None)
                }
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                Err(system_faults::report_unread(screen, CommandExit::Failed, path, "the pin", &error))
            }
        }
    }

    /// The server with its packages, if it is one that is installed.
    fn install_server(
        &self,
        (organism, server): (&Name, &McpServer),
        directory: &Path,
        pin: Option<&PinFile>,
        screen: Screen,
    ) -> Result<Option<InstalledPackages>, CommandExit> {
        let Some(request) = &server.installs else { return Ok(None) };
        let choice = match (self.check, self.upgrade) {
            (true, _) => PackageChoice::Present,
            (false, true) => PackageChoice::Newest,
            (false, false) => PackageChoice::Pinned,
        };
        let wanted = (request, choice);
        let installed = install::install_packages((organism, server), wanted, directory, pin, screen);
        installed.map(Some).map_err(|fault| install::report_fault(screen, server.name.as_str(), fault))
    }
}

/// Starts a server in its sandbox, and asks it for its tools. What it says is read as a pin, like any other.
fn ask_for_tools(organism: &Name, server: &McpServer, program: &ListenerProgram) -> Result<PinFile, String> {
    // The words behind the pin and the name say where a server is that is no program.
    let place = program.adapter.iter().skip(3).cloned();
    let adapter = ["mcp-pin".to_owned()].into_iter().chain(place).collect();
    let asking = ListenerProgram { adapter, ..program.clone() };
    let around: InheritedVariables = std::env::vars_os().collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| describe_error(&error))?;
    let output = runtime.block_on(output_of(&asking, (organism, &server.name), &around, limits::PIN_TIME))?;
    PinFile::from_text(&output).map_err(|fault| fault.to_string())
}
