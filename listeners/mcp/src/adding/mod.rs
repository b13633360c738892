//! A server that a file for other hosts describes, as a listener of the organism's file.
//!
//! In: the text of the file and the name of the server. Out: the lines of the listener and notes for a person, or why
//! there is no listener. No line and no message holds a value that may be a secret.

mod secrets;

use serde_json::{Map, Value};
use systole_kit::schema::find_nearest;

/// The fix for an argument that may be a secret.
const FIX_ARGUMENT: &str = "name a variable that the server reads under \"env\" as \"${VARIABLE}\": it is then listed \
                            under `pass`; or write the listener into the organism's file yourself";
/// The fix for an address that may hold a secret.
const FIX_ADDRESS: &str = "leave it out and give the key in the header \"Authorization\": \"Bearer ${VARIABLE}\", which \
                           becomes `key_env`; or write the listener into the organism's file yourself";

/// A server as the organism's file describes it.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct AddedServer {
    /// Its command, as a list in YAML, or its address.
    mcp: String,
    env: Vec<(String, String)>,
    pass: Vec<String>,
    key_env: Option<String>,
    /// What a person has to know or to do.
    pub notes: Vec<String>,
}

/// Why a server is not added.
#[derive(Debug, PartialEq, Eq)]
pub struct NotAdded {
    /// What is wrong.
    pub words: String,
    /// The fix, if there is one.
    pub fix: Option<&'static str>,
}

impl From<String> for NotAdded {
    fn from(words: String) -> NotAdded {
        NotAdded { words, fix: None }
    }
}

impl From<&str> for NotAdded {
    fn from(words: &str) -> NotAdded {
        words.to_owned().into()
    }
}

impl AddedServer {
    /// Reads the server of this name from the text of a file for other hosts, or the only one of a `server.json`.
    ///
    /// # Errors
    /// If there is no such server, or it cannot be added.
    pub fn from_text(text: &str, name: &str) -> Result<AddedServer, NotAdded> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
        let hosts = value.get("mcpServers").or_else(|| value.get("servers")).and_then(Value::as_object);
        let Some(servers) = hosts else {
            // The registry's own answers have the description under `server`.
            return AddedServer::from_registry(value.get("server").unwrap_or(&value), name);
        };
        let Some(entry) = servers.get(name) else {
            let known = || servers.keys().map(String::as_str);
            let hint = find_nearest(name, known()).map_or_else(
                || format!("; there are {}", known().collect::<Vec<_>>().join(", ")),
                |near| format!("; did you mean {near}?"),
            );
            return Err(format!("it has no server {name}{hint}").into());
        };
        AddedServer::from_host(entry, name)
    }

    /// A server of `.mcp.json`.
    fn from_host(entry: &Value, name: &str) -> Result<AddedServer, NotAdded> {
        let mut server = AddedServer::default();
        if let Some(url) = find_text(entry, "url") {
            if find_text(entry, "type") == Some("sse") {
                return Err(
                    "the server speaks SSE of 2024-11-05, which is not built; streamable HTTP is".into()
                );
            }
            server.take_address(
                url,
                list_fields(entry, "headers").map(|(name, value)| (name.clone(), value.as_str())),
                name,
            )?;
            return Ok(server);
        }
        let command = find_text(entry, "command").ok_or("the server has neither `command` nor `url`")?;
        let mut words = vec![command.to_owned()];
        let arguments = entry.get("args").and_then(Value::as_array).into_iter().flatten();
        for (argument, at) in arguments.zip(1_u32..) {
            let word = read_plain(argument)
                .ok_or_else(|| format!("argument {at} is neither a text nor a number"))?;
            words.push(word);
        }
        server.take_command(&words)?;
        for (variable, value) in list_fields(entry, "env") {
            server.add_variable(variable, read_plain(value).as_deref(), false);
        }
        Ok(server)
    }

    /// The server of a `server.json`.
    fn from_registry(described: &Value, name: &str) -> Result<AddedServer, NotAdded> {
        let all = |key: &str| described.get(key).and_then(Value::as_array).into_iter().flatten();
        let mut server = AddedServer::default();
        let package = all("packages").find_map(|package| {
            let (runner, sign) = match find_text(package, "registryType")? {
                "npm" => ("npx", "@"),
                "pypi" => ("uvx", "=="),
                _ => return None,
            };
            let version =
                find_text(package, "version").map(|version| format!("{sign}{version}")).unwrap_or_default();
            Some((package, runner, format!("{}{version}", find_text(package, "identifier")?)))
        });
        let Some((package, runner, named)) = package else {
            let remote = all("remotes").find(|remote| find_text(remote, "type") == Some("streamable-http"));
            let url = remote.and_then(|remote| Some((remote, find_text(remote, "url")?)));
            let (remote, url) =
                url.ok_or("it has no package of npm or pypi, and no address with streamable-http")?;
            let headers = remote.get("headers").and_then(Value::as_array).into_iter().flatten();
            let headers =
                headers.filter_map(|one| Some((find_text(one, "name")?.to_owned(), find_text(one, "value"))));
            server.take_address(url, headers, name)?;
            return Ok(server);
        };
        let mut words = vec![runner.to_owned(), named];
        let is = |one: &Value, key: &str| one.get(key) == Some(&Value::Bool(true));
        for argument in package.get("packageArguments").and_then(Value::as_array).into_iter().flatten() {
            words.extend(find_text(argument, "name").map(str::to_owned));
            match find_text(argument, "value").or_else(|| find_text(argument, "default")) {
                Some(_) if is(argument, "isSecret") => {
                    let named = find_text(argument, "name").or_else(|| find_text(argument, "valueHint"));
                    return Err(refuse_secret_argument(&format!(
                        "the value of {}",
                        named.unwrap_or("an argument")
                    )));
                }
                Some(value) => words.push(value.to_owned()),
                None if find_text(argument, "type") == Some("positional") => {
                    let hint = find_text(argument, "valueHint")
                        .or_else(|| find_text(argument, "name"))
                        .unwrap_or("ARGUMENT");
                    server.notes.push(format!("replace {hint} by an argument of the server"));
                    words.push(hint.to_owned());
                }
                None => {}
            }
        }
        server.take_command(&words)?;
        if package.get("runtimeArguments").is_some() {
            server.notes.push(format!("options for {runner} itself were left out"));
        }
        for one in package.get("environmentVariables").and_then(Value::as_array).into_iter().flatten() {
            let Some(variable) = find_text(one, "name") else { continue };
            let value = find_text(one, "value").or_else(|| find_text(one, "default"));
            if value.is_some() || is(one, "isRequired") || is(one, "isSecret") {
                server.add_variable(variable, value, is(one, "isSecret"));
            }
        }
        Ok(server)
    }
}

fn find_text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

fn list_fields<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
    value.get(key).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

/// A text, a number or a truth value, as the text that a program gets.
fn read_plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// The refusal of an argument. `what` names it without its value.
fn refuse_secret_argument(what: &str) -> NotAdded {
    let words =
        format!("{what} may be a secret, and the log stores all arguments of a server, so nothing was added");
    NotAdded { words, fix: Some(FIX_ARGUMENT) }
}

/// A text in quotes, as JSON and YAML spell it.
fn write_yaml_text(text: &str) -> String {
    Value::from(text).to_string()
}

impl AddedServer {
    /// Takes the words of its command line, unless one may be a secret.
    fn take_command(&mut self, words: &[String]) -> Result<(), NotAdded> {
        let plain: Vec<&str> = words.iter().map(String::as_str).collect();
        if let Some(what) = secrets::find_in_arguments(&plain) {
            return Err(refuse_secret_argument(&what));
        }
        let note = |word: &&String| {
            format!(
                "{word} is not expanded: write its value; or, if it is a secret, let the server read a variable \
                 that `pass` names"
            )
        };
        self.notes.extend(words.iter().filter(|word| word.contains("${")).map(|word| note(&word)));
        self.mcp =
            format!("[{}]", words.iter().map(|word| write_yaml_text(word)).collect::<Vec<_>>().join(", "));
        Ok(())
    }

    /// Takes its address, unless it may hold a secret, and the variable of its key.
    fn take_address<'v>(
        &mut self,
        url: &str,
        headers: impl Iterator<Item = (String, Option<&'v str>)>,
        name: &str,
    ) -> Result<(), NotAdded> {
        if let Some(what) = secrets::find_in_address(url) {
            let words = format!(
                "its address holds {what}, which may be a secret, and the log stores the address, so nothing was added"
            );
            return Err(NotAdded { words, fix: Some(FIX_ADDRESS) });
        }
        self.mcp = write_yaml_text(url);
        for (header, value) in headers {
            if !header.eq_ignore_ascii_case("authorization") {
                self.notes.push(format!("the header {header} was left out: only Authorization is sent"));
                continue;
            }
            let named = value.and_then(|value| find_reference(value.strip_prefix("Bearer ")?));
            let variable = named.map_or_else(
                || make_valid_variable(&format!("{}_TOKEN", name.to_ascii_uppercase())),
                make_valid_variable,
            );
            if let Some(named) = named.filter(|named| *named != variable) {
                self.notes.push(format!("${{{named}}} is called {variable} here"));
            }
            self.notes.push(format!("set {variable} to the key where the organism runs"));
            self.key_env = Some(variable);
        }
        Ok(())
    }

    /// Adds a variable: with its value if that is plainly harmless, or else as one that is passed on.
    fn add_variable(&mut self, name: &str, value: Option<&str>, is_secret: bool) {
        let value = value.filter(|value| !value.contains("${"));
        match value {
            Some(value) if !is_secret && secrets::is_harmless(name, value) => {
                self.env.push((name.to_owned(), value.to_owned()));
                return;
            }
            Some(_) => self.notes.push(format!(
                "the value of {name} was not copied, because it may be a secret: set {name} where the organism runs"
            )),
            None => self.notes.push(format!("set {name} where the organism runs")),
        }
        self.pass.push(name.to_owned());
    }

    /// The lines of its listener.
    #[must_use]
    pub fn write_lines(&self, name: &str) -> Vec<String> {
        let mut lines = vec![format!("{name}:"), format!("  mcp: {}", self.mcp)];
        if !self.env.is_empty() {
            let each = self
                .env
                .iter()
                .map(|(name, value)| format!("{}: {}", write_yaml_text(name), write_yaml_text(value)));
            lines.push(format!("  env: {{{}}}", each.collect::<Vec<_>>().join(", ")));
        }
        if !self.pass.is_empty() {
            let each = self.pass.iter().map(|name| write_yaml_text(name));
            lines.push(format!("  pass: [{}]", each.collect::<Vec<_>>().join(", ")));
        }
        lines.extend(self.key_env.as_ref().map(|variable| format!("  key_env: {variable}")));
        lines
    }
}

/// What a text names as `${NAME}`, perhaps with a default.
fn find_reference(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix("${")?.strip_suffix('}')?;
    Some(name.split(":-").next().unwrap_or(name))
}

/// The name of an environment variable for what a file names. In files of VS Code `env:` comes before a variable, and
/// `input:` before what a person is asked for.
fn make_valid_variable(named: &str) -> String {
    let is_of_name = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    let is_valid = |name: &str| {
        name.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '_')
            && name.chars().all(is_of_name)
    };
    let bare = named.strip_prefix("env:").unwrap_or(named);
    // Systole sets the variables that begin with its name.
    if is_valid(bare) && !bare.starts_with("SYSTOLE_") {
        return bare.to_owned();
    }
    let bare = bare.strip_prefix("input:").unwrap_or(bare);
    let spelt: String =
        bare.chars().map(|sign| if is_of_name(sign) { sign.to_ascii_uppercase() } else { '_' }).collect();
    if is_valid(&spelt) && !spelt.starts_with("SYSTOLE_") { spelt } else { format!("MCP_{spelt}") }
}
