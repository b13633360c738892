//! `systole mcp pin`: asks a server for its tools, shows what changed since the last pin, and writes the pin.
//!
//! It starts the server and nothing else, and reads only the listeners of the organism's file: the file is not whole
//! before its servers are pinned.

use std::collections::BTreeSet;
use std::path::Path;

use clap::Args;
use serde_json::{Value, json};
use systole_kit::schema::nearest;
use systole_mcp::pinned::vocabulary;
use systole_mcp::schema::{ListDifference, PinFile, ToolVocabulary};

use crate::cli::exit::CommandExit;
use crate::cli::hindered;
use crate::cli::place::{Place, refuse};
use crate::cli::screen::Screen;
use crate::config::{self, McpServer};
use crate::edges::delivery::{InheritedVariables, output_of};
use crate::edges::system::told;
use systole_core::types::composition::ListenerProgram;
use systole_core::types::ids::Name;

/// Pin the tools of an MCP server.
///
/// The server is started and asked for its tools. Their names, descriptions and schemas go to
/// schemas/mcp/NAME.pin.json beside the organism's file, and from then on the server is used only as long as it
/// lists exactly these.
#[derive(Args, Debug)]
pub(in crate::cli) struct Pin {
    #[command(flatten)]
    place: Place,
    /// The listener; without a name every listener with `mcp`
    name: Option<String>,
    /// Write nothing; exit 1 if a server's tools differ from the pinned ones
    #[arg(long)]
    check: bool,
}

impl Pin {
    pub(super) fn run(&self) -> CommandExit {
        let screen = self.place.screen();
        self.pin(screen).unwrap_or_else(|exit| exit)
    }

    fn pin(&self, screen: Screen) -> Result<CommandExit, CommandExit> {
        self.place.write_what_is_said(screen)?;
        let servers = config::mcp_servers(self.place.file());
        let (organism, servers) = servers.map_err(|refused| refuse(screen, &refused))?;
        let mut exit = CommandExit::Done;
        for server in self.meant(&servers, screen)? {
            let ended = self.one(&organism, server, screen)?;
            if ended != CommandExit::Done {
                exit = ended;
            }
        }
        Ok(exit)
    }

    fn meant<'s>(&self, servers: &'s [McpServer], screen: Screen) -> Result<Vec<&'s McpServer>, CommandExit> {
        let known = || servers.iter().map(|server| server.name.as_str());
        let Some(name) = &self.name else {
            if servers.is_empty() {
                let exit = screen.fail(CommandExit::Usage, "no listener of the organism's file has `mcp`");
                screen.say("  try: listeners: {files: {mcp: [PROGRAM, ARGUMENT]}}");
                return Err(exit);
            }
            return Ok(servers.iter().collect());
        };
        if let Some(found) = servers.iter().find(|server| server.name.as_str() == name) {
            return Ok(vec![found]);
        }
        let hint = nearest(name, known()).map_or_else(
            || format!("; there are {}", known().collect::<Vec<_>>().join(", ")),
            |near| format!("; did you mean {near}?"),
        );
        Err(screen.fail(CommandExit::Usage, format!("no listener with `mcp` is called {name}{hint}")))
    }

    fn one(&self, organism: &Name, server: &McpServer, screen: Screen) -> Result<CommandExit, CommandExit> {
        let directory = self.place.directory();
        let path = directory.join(config::pin_file(server.name.as_str()));
        let before = match std::fs::read(&path) {
            Ok(text) => PinFile::read(&text).ok(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(hindered::unread(screen, CommandExit::Failed, &path, "the pin", &error));
            }
        };
        let pin = asked(organism, server).map_err(|words| {
            let exit = screen.fail(CommandExit::Unavailable, format!("{}: {words}", server.name.as_str()));
            screen.say(match server.program.run.is_empty() {
                true => "  try: the address in a browser or with curl, and look at key_env".to_owned(),
                false => format!("  try: make `{}` run in {}", server.program.command(), directory.display()),
            });
            exit
        })?;
        let made = vocabulary(server.name.as_str(), &pin, BTreeSet::new());
        let made = made.map_err(|fault| {
            screen.fail(CommandExit::Failed, format!("{}: {fault}", server.name.as_str()))
        })?;
        let difference = before.as_ref().map(|before| ListDifference::between(&before.tools, &pin.tools));
        let is_same = before.as_ref() == Some(&pin);
        if screen.json {
            screen.value(&as_json(server.name.as_str(), &pin, &made, difference.as_ref()));
        } else {
            tell(screen, server.name.as_str(), &pin, &made, difference.as_ref());
        }
        if self.check {
            return Ok(if is_same { CommandExit::Done } else { CommandExit::Failed });
        }
        if !is_same {
            write(&path, &pin.text()).map_err(|error| {
                screen.fail(CommandExit::Failed, format!("cannot write {}: {}", path.display(), told(&error)))
            })?;
            screen.say(format!("written: {}", path.display()));
        }
        Ok(if made.refused.is_empty() { CommandExit::Done } else { CommandExit::Failed })
    }
}

/// Starts a server in its sandbox, and asks it for its tools. What it says is read as a pin, like any other.
fn asked(organism: &Name, server: &McpServer) -> Result<PinFile, String> {
    // The words behind the pin and the name say where a server is that is no program.
    let place = server.program.adapter.iter().skip(3).cloned();
    let adapter = ["mcp-pin".to_owned()].into_iter().chain(place).collect();
    let asking = ListenerProgram { adapter, ..server.program.clone() };
    let around: InheritedVariables = std::env::vars_os().collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| told(&error))?;
    let output = runtime.block_on(output_of(&asking, (organism, &server.name), &around))?;
    PinFile::read(&output).map_err(|fault| fault.to_string())
}

/// Writes a file whole or not at all.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension("json.new");
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, path)
}

fn tell(
    screen: Screen,
    server: &str,
    pin: &PinFile,
    made: &ToolVocabulary,
    difference: Option<&ListDifference>,
) {
    let count = made.tools.len();
    let noun = if count == 1 { "tool" } else { "tools" };
    screen.show(&format!("{server}: {count} {noun}, MCP {}", pin.revision));
    for tool in &made.tools {
        let shown =
            if tool.tool == tool.element { String::new() } else { format!(" (its name: {})", tool.tool) };
        let answer = tool.answer.as_ref().map_or("<tool-result>".to_owned(), |answer| format!("<{answer}>"));
        screen.show(&format!("  <{}>{shown} answers {answer}", tool.element));
    }
    for remark in &made.remarks {
        screen.show(&format!("  note: {remark}"));
    }
    for refused in &made.refused {
        screen.show(&format!("  refused: tool {}, {}: {}", refused.place, refused.tool, refused.reason));
    }
    match difference {
        None => screen.show("  not pinned before"),
        Some(difference) if difference.is_empty() => screen.show("  nothing changed"),
        Some(difference) => {
            screen.show("  changed:");
            for line in difference.to_string().lines() {
                screen.show(&format!("    {line}"));
            }
        }
    }
}

fn as_json(server: &str, pin: &PinFile, made: &ToolVocabulary, difference: Option<&ListDifference>) -> Value {
    let tools: Vec<Value> = made
        .tools
        .iter()
        .map(|tool| json!({"tool": tool.tool, "element": tool.element, "answer": tool.answer}))
        .collect();
    let refused: Vec<Value> = made
        .refused
        .iter()
        .map(|one| json!({"tool": one.tool, "place": one.place, "reason": one.reason}))
        .collect();
    json!({
        "listener": server,
        "revision": pin.revision,
        "hash": pin.hash,
        "tools": tools,
        "notes": made.remarks.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "refused": refused,
        "was_pinned": difference.is_some(),
        "changed": difference.map(|one| one.lines.clone()).unwrap_or_default(),
    })
}
