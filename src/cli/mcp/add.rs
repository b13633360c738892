//! `systole mcp add`: makes a listener of a server that a file for other hosts describes: an entry of `.mcp.json`, or the
//! `server.json` of the registry of MCP. It adds lines to the organism's file and changes no other byte. It installs and
//! starts nothing.
//!
//! A value that may be a secret is never copied, because the log stores the organism's file: its variable is passed on.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value};
use systole_kit::schema::nearest;

use crate::cli::exit::CommandExit;
use crate::cli::hindered;
use crate::cli::listener::inserted;
use crate::cli::place::{Place, refuse};
use crate::cli::screen::Screen;
use crate::config;
use systole_core::types::ids::Name;

/// The files that are looked for beside the organism's file.
const FILES: [&str; 2] = [".mcp.json", "server.json"];
/// Parts of the names of variables that hold secrets.
const SECRET: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];

/// Add an MCP server to the organism's file, from a file for other hosts.
///
/// The server NAME of .mcp.json, or the one of a server.json of MCP's registry, becomes a listener with `mcp`. Variables
/// that may be secrets are passed on and not copied. `systole mcp pin NAME` installs and pins the server.
#[derive(Args, Debug)]
pub(in crate::cli) struct Add {
    #[command(flatten)]
    place: Place,
    /// The server, and the name of its listener
    #[arg(value_parser = Name::parse)]
    name: Name,
    /// The file; without it .mcp.json, or else server.json, beside the organism's file
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
}

/// A server as the organism's file describes it.
#[derive(Default, Debug, PartialEq, Eq)]
struct AddedServer {
    /// Its command, as a list in YAML, or its address.
    mcp: String,
    env: Vec<(String, String)>,
    pass: Vec<String>,
    key_env: Option<String>,
    /// What a person has to know or to do.
    notes: Vec<String>,
}

impl Add {
    pub(super) fn run(&self) -> CommandExit {
        let screen = self.place.screen();
        self.add(screen).unwrap_or_else(|exit| exit)
    }

    fn add(&self, screen: Screen) -> Result<CommandExit, CommandExit> {
        self.place.write_what_is_said(screen)?;
        let path = self.place.file();
        config::mcp_servers(path).map_err(|refused| refuse(screen, &refused))?;
        let from = self.source();
        let described = fs::read_to_string(&from).map_err(|error| {
            let exit = hindered::unread(screen, CommandExit::Usage, &from, "the servers", &error);
            screen.say("  try: --from FILE, a .mcp.json or a server.json");
            exit
        })?;
        let server = self
            .server(&described)
            .map_err(|words| screen.fail(CommandExit::Usage, format!("{}: {words}", from.display())))?;
        let lines = server.lines(&self.name);
        let text = fs::read_to_string(path).map_err(|error| {
            hindered::unread(screen, CommandExit::Unavailable, path, "the organism's file", &error)
        })?;
        let Some(with_server) = inserted::below(&text, "listeners", &lines) else {
            let words = format!("{}: `listeners` is not a block of lines", path.display());
            let exit = screen.fail(CommandExit::Configuration, words);
            screen.say("  try: add this below `listeners` yourself:");
            lines.iter().for_each(|line| screen.show(line));
            return Err(exit);
        };
        let write = |text: &str| {
            let written = inserted::replace(path, text);
            written.map_err(|error| hindered::unwritten(screen, path, "the organism's file", &error))
        };
        write(&with_server)?;
        if let Err(refused) = config::mcp_servers(path) {
            write(&text)?;
            screen.say(format!("with {} in it the organism's file would be refused:", self.name));
            return Err(refuse(screen, &refused));
        }
        lines.iter().for_each(|line| screen.show(&format!("  {line}")));
        server.notes.iter().for_each(|note| screen.say(format!("note: {note}")));
        screen.say(format!("next: systole mcp pin {}", self.name));
        Ok(CommandExit::Done)
    }

    fn source(&self) -> PathBuf {
        if let Some(from) = &self.from {
            return from.clone();
        }
        let folder = self.place.file().parent().unwrap_or(Path::new("")).to_owned();
        let [first, second] = FILES.map(|name| folder.join(name));
        if !first.exists() && second.exists() { second } else { first }
    }

    fn server(&self, text: &str) -> Result<AddedServer, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
        let hosts = value.get("mcpServers").or_else(|| value.get("servers")).and_then(Value::as_object);
        let Some(servers) = hosts else {
            // The registry's own answers have the description under `server`.
            return of_registry(value.get("server").unwrap_or(&value), &self.name);
        };
        let name = self.name.as_str();
        let Some(entry) = servers.get(name) else {
            let known = || servers.keys().map(String::as_str);
            let hint = nearest(name, known()).map_or_else(
                || format!("; there are {}", known().collect::<Vec<_>>().join(", ")),
                |near| format!("; did you mean {near}?"),
            );
            return Err(format!("it has no server {name}{hint}"));
        };
        of_host(entry, &self.name)
    }
}

/// A server of `.mcp.json`.
fn of_host(entry: &Value, name: &Name) -> Result<AddedServer, String> {
    let mut server = AddedServer::default();
    if let Some(url) = text(entry, "url") {
        if text(entry, "type") == Some("sse") {
            return Err(
                "the server speaks SSE of 2024-11-05, which is not built; streamable HTTP is".to_owned()
            );
        }
        server.at(url, fields(entry, "headers").map(|(name, value)| (name.clone(), value.as_str())), name);
        return Ok(server);
    }
    let command = text(entry, "command").ok_or("the server has neither `command` nor `url`")?;
    let words = entry.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    server.command([command].into_iter().chain(words));
    for (variable, value) in fields(entry, "env") {
        server.variable(variable, value.as_str(), false);
    }
    Ok(server)
}

/// The server of a `server.json`.
fn of_registry(described: &Value, name: &Name) -> Result<AddedServer, String> {
    let all = |key: &str| described.get(key).and_then(Value::as_array).into_iter().flatten();
    let mut server = AddedServer::default();
    let package = all("packages").find_map(|package| {
        let (runner, sign) = match text(package, "registryType")? {
            "npm" => ("npx", "@"),
            "pypi" => ("uvx", "=="),
            _ => return None,
        };
        let version = text(package, "version").map(|version| format!("{sign}{version}")).unwrap_or_default();
        Some((package, runner, format!("{}{version}", text(package, "identifier")?)))
    });
    let Some((package, runner, named)) = package else {
        let remote = all("remotes").find(|remote| text(remote, "type") == Some("streamable-http"));
        let url = remote.and_then(|remote| Some((remote, text(remote, "url")?)));
        let (remote, url) =
            url.ok_or("it has no package of npm or pypi, and no address with streamable-http")?;
        let headers = remote.get("headers").and_then(Value::as_array).into_iter().flatten();
        let headers = headers.filter_map(|one| Some((text(one, "name")?.to_owned(), text(one, "value"))));
        server.at(url, headers, name);
        return Ok(server);
    };
    let mut words = vec![runner.to_owned(), named];
    for argument in package.get("packageArguments").and_then(Value::as_array).into_iter().flatten() {
        words.extend(text(argument, "name").map(str::to_owned));
        match text(argument, "value").or_else(|| text(argument, "default")) {
            Some(value) => words.push(value.to_owned()),
            None if text(argument, "type") == Some("positional") => {
                let hint =
                    text(argument, "valueHint").or_else(|| text(argument, "name")).unwrap_or("ARGUMENT");
                server.notes.push(format!("replace {hint} by an argument of the server"));
                words.push(hint.to_owned());
            }
            None => {}
        }
    }
    server.command(words.iter().map(String::as_str));
    if package.get("runtimeArguments").is_some() {
        server.notes.push(format!("options for {runner} itself were left out"));
    }
    for one in package.get("environmentVariables").and_then(Value::as_array).into_iter().flatten() {
        let Some(variable) = text(one, "name") else { continue };
        let value = text(one, "value").or_else(|| text(one, "default"));
        let is = |key: &str| one.get(key) == Some(&Value::Bool(true));
        if value.is_some() || is("isRequired") || is("isSecret") {
            server.variable(variable, value, is("isSecret"));
        }
    }
    Ok(server)
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

fn fields<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
    value.get(key).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

/// A text in quotes, as JSON and YAML spell it.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

impl AddedServer {
    fn command<'w>(&mut self, words: impl Iterator<Item = &'w str>) {
        let words: Vec<&str> = words.collect();
        let expanded = words.iter().filter(|word| word.contains("${"));
        self.notes.extend(expanded.map(|word| format!("{word} is not expanded: write its value")));
        self.mcp = format!("[{}]", words.into_iter().map(quoted).collect::<Vec<_>>().join(", "));
    }

    fn at<'v>(&mut self, url: &str, headers: impl Iterator<Item = (String, Option<&'v str>)>, name: &Name) {
        self.mcp = quoted(url);
        for (header, value) in headers {
            if !header.eq_ignore_ascii_case("authorization") {
                self.notes.push(format!("the header {header} was left out: only Authorization is sent"));
                continue;
            }
            let own = || format!("{}_TOKEN", name.as_str().to_ascii_uppercase().replace('-', "_"));
            let named = value.and_then(|value| variable_of(value.strip_prefix("Bearer ")?));
            let variable = named.map_or_else(own, str::to_owned);
            self.notes.push(format!("set {variable} to the key where the organism runs"));
            self.key_env = Some(variable);
        }
    }

    /// Adds a variable: with its value, or as one that is passed on.
    fn variable(&mut self, name: &str, value: Option<&str>, is_secret: bool) {
        let upper = name.to_ascii_uppercase();
        let is_secret = is_secret || SECRET.iter().any(|part| upper.contains(part));
        match value.filter(|value| !is_secret && !value.contains("${")) {
            Some(value) => self.env.push((name.to_owned(), value.to_owned())),
            None => {
                self.notes.push(format!("set {name} where the organism runs"));
                self.pass.push(name.to_owned());
            }
        }
    }

    /// The lines of its listener.
    fn lines(&self, name: &Name) -> Vec<String> {
        let mut lines = vec![format!("{name}:"), format!("  mcp: {}", self.mcp)];
        if !self.env.is_empty() {
            let each = self.env.iter().map(|(name, value)| format!("{}: {}", quoted(name), quoted(value)));
            lines.push(format!("  env: {{{}}}", each.collect::<Vec<_>>().join(", ")));
        }
        if !self.pass.is_empty() {
            let each = self.pass.iter().map(|name| quoted(name));
            lines.push(format!("  pass: [{}]", each.collect::<Vec<_>>().join(", ")));
        }
        lines.extend(self.key_env.as_ref().map(|variable| format!("  key_env: {variable}")));
        lines
    }
}

/// The variable that a text names as `${NAME}`, perhaps with a default.
fn variable_of(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    Some(name.split(":-").next().unwrap_or(name))
}
