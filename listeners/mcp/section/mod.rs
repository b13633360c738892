//! The kind `mcp`: a listener that stands in front of an MCP server. The file has the server's program or address, the
//! tools that are used, and those that need no person.
//!
//! Input: the keys, and the pin of the server. Output: a schema made of the pin, and what starts the server. Nothing here
//! starts a server but `serve`, which is the listener's own program.

mod mcp_installs;

use std::sync::Arc;

use systole_core::types::codes::Code;
use systole_core::types::composition::OnUnknown;
use systole_kit::schema::find_nearest;
use systole_mcp::MCP_XSD;
use systole_mcp::adapter::{AdapterOrder, ServerPlace};
use systole_mcp::client::ServerAddress;
use systole_mcp::package::InstallRequest;
use systole_mcp::pinned_server::build_vocabulary;
use systole_mcp::schema::PinFile;
use systole_system::system::describe_error;

use super::{BuiltInKind, KindDefaults, KindKeys, KindPart, name_schema};
use crate::diagnostics::Diagnostics;
use crate::forms::{NameSet, Unread, WordOf, copy_node, read_late, word_choice};
use crate::key::KeyForm;
use crate::limits;
use crate::names::one_of;
use crate::reach::{self, KeyVariable};
use crate::schemas::Shelf;
use crate::section::{Form, form, section};
use crate::tree::{Node, Value};
use crate::value::{self, At};

pub use systole_mcp::package::{RECORD, SERVERS, install_folder, lock_file, pin_file};

section! {
    pub(crate) McpKeys {
        mcp: optional("none") <ServerWords> "the program of an MCP server and its arguments, as a list, or its address, as text, in place of `run`; a package after `npx` or `uvx` is installed by `systole mcp pin`; it accepts the tools that this command has pinned";
        key_env: optional("none") <Unread<KeyVariable>> "with `mcp` at an address: the environment variable that holds the key, which is sent as a bearer token; the key itself is in no file";
        tools: optional("all") <Unread<ToolNames>> "with `mcp`: the tools that are used, by their names at the server, or `all`";
        safe: optional("[]") <Unread<NameSet>> "with `mcp`: tools that need no person; a person approves every call of any other";
        trust: optional("none") <Unread<WordOf<TrustWord>>> "with `mcp`: `hints`, so that a tool whose server says that it only reads needs no person";
    }
}

word_choice! { TrustWord: bool { "none" = false, "hints" = true } }

form! {
    /// The program of a server, or its address, as it is written.
    pub(crate) ServerWords -> Node { KeyForm::Lines, copy_node }
}
form! {
    /// Names of tools, or `all`, which is `None`.
    pub(crate) ToolNames -> Option<Vec<At<String>>> { KeyForm::Lines, read_tools }
}

pub(super) const KIND: BuiltInKind = BuiltInKind {
    key: "mcp",
    schemas: &[("mcp/", MCP_XSD)],
    // The form goes from the listener to itself when its server asks a person, and back to the call as it is.
    accepts: &[("mcp/", &["input-form"])],
    returns: &[("mcp/", &["tool-result", "tool-failed", "input-form"])],
    codes: listener_codes! {
        "mcp.cancelled" "the call of a tool was cancelled" try "send the request again if it is still needed";
        "mcp.changed" "the tools of a server are not the pinned ones" try "read the difference; then `systole mcp pin`";
        "mcp.cut" "a part of a tool's answer was left out" try "a tool or arguments that give less";
        "mcp.input-lost" "the listener was started again while a server's form waited for a person" try "send the request again";
        "mcp.input-refused" "a server asks for something that no person is asked" try "a tool that needs no such input";
        "mcp.invalid-answer" "the result of a tool breaks its output schema, or is none" try "tell the server's author; the schema is the server's own";
        "mcp.invalid-arguments" "the tool's own schema does not take the arguments" try "what the message says; the pinned schema allows more than the tool";
        "mcp.refused" "a server refused a call, or a form came from another sender" try "what the server says";
        "mcp.tool-failed" "a tool says that it failed" try "what the tool says";
        "mcp.unknown-tool" "no pinned tool takes the element" try "`systole mcp pin`, if the server has it now";
        "mcp.unreachable" "there is no usable answer from an MCP server" try "start the server by hand, as the file has it, or log in at its address with `systole mcp login`; `systole doctor` tries it";
    },
    // The server may ask a person several times.
    defaults: KindDefaults {
        turns: 10,
        timeout_ms: 60 * limits::SECOND,
        in_flight: limits::IN_FLIGHT,
        on_unknown: OnUnknown::Fail,
    },
    folder: None,
    calls_itself: true,
    make_schema: Some(make_schema),
    unfit: &["run", "nats", "schema", "accepts", "returns", "mode", "framing"],
    unfit_why: "a listener with `mcp` gets this from its server",
    unfit_fix: "leave it out",
    unfit_shown: "the server",
    read: |diagnostics, keys, of| read_server(diagnostics, keys, of.value),
    refuse: refuse_keys,
    words: |part, start, sandbox| {
        let installs = part.server.as_ref().and_then(|server| server.installs.as_ref());
        if let (Some(sandbox), Some(_)) = (sandbox, installs) {
            sandbox.read.push(start.directory.join(install_folder(start.listener)));
        }
        let words = [pin_file(start.listener), start.listener.to_owned()];
        words.into_iter().chain(part.rules.iter().cloned()).collect()
    },
    serve: |words, _| {
        let [pin, server, place @ ..] = words else { return None };
        Some(ServerPlace::from_words(place).and_then(|place| {
            let unread = |error| format!("config.unpinned: {pin}: {}", describe_error(&error));
            let pin = std::fs::read(pin).map_err(unread)?;
            Ok(systole_mcp::adapter::serve(&AdapterOrder { server: (*server).to_owned(), pin, place }))
        }))
    },
};

/// Keys that need a program on this machine.
const OF_A_PROGRAM: [(&str, &str); 3] = [
    ("sandbox", "needs the network, so it is in no sandbox, and nothing of the server runs here"),
    ("env", "has no program whose variables could be set; key_env names the variable of its key"),
    ("pass", "has no program that could get variables; key_env names the variable of its key"),
];

/// What the file says about the server of a listener.
#[derive(Default)]
pub(crate) struct McpServerKeys {
    /// Whether the server is at an address, and not a program here.
    pub(crate) is_at_address: bool,
    /// The program of the server and its arguments, or its address. Empty if the file has a mistake there.
    pub(crate) command: Vec<String>,
    /// What must be installed before the server can start.
    pub(crate) installs: Option<InstallRequest>,
    /// The tools that are used. `None` for all.
    tools: Option<Vec<At<String>>>,
    /// The tools that need no person.
    safe: Vec<At<String>>,
    /// Whether a tool that calls itself read-only needs no person.
    trusts_hints: bool,
}

impl McpServerKeys {
    /// Whether this tool is used.
    pub(crate) fn uses(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|one| one.value == tool))
    }
}

fn read_server(diagnostics: &mut Diagnostics, keys: &KindKeys, listener: &str) -> KindPart {
    let (own, path) = (&keys.mcp, format!("{}.mcp", keys.own.path));
    let mut server = McpServerKeys {
        tools: read_late(diagnostics, &own.tools).and_then(|tools| tools.value),
        safe: read_late(diagnostics, &own.safe).map(|safe| safe.value).unwrap_or_default(),
        trusts_hints: read_late(diagnostics, &own.trust).is_some_and(|trusts| trusts.value),
        ..McpServerKeys::default()
    };
    let mut part = KindPart::default();
    part.files.push((format!("the pin of {listener}"), pin_file(listener)));
    let Some(At { value: node, .. }) = &own.mcp else { return part };
    server.is_at_address = matches!(&node.value, Value::Text { .. });
    if server.is_at_address {
        server.command.extend(read_address(diagnostics, keys, (node, &path), &mut part));
    } else {
        refuse_key_env(diagnostics, keys);
        let words = read_program(diagnostics, node, &path);
        let read = mcp_installs::read(diagnostics, &words, &path);
        // Without words nothing more is said about a command that was refused.
        let words = if read.is_ok() { words } else { Vec::new() };
        server.command = words.into_iter().map(|word| word.value).collect();
        part.run = server.command.clone();
        if let Some(request) = read.unwrap_or_default() {
            let folder = install_folder(listener);
            part.run = request.build_command(&folder);
            part.files.push((format!("the lock of {listener}"), lock_file(listener, request.kind)));
            part.files.push((format!("the installed server {folder}"), folder));
            server.installs = Some(request);
        }
    }
    part.server = Some(server);
    part
}

fn read_tools(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Option<Vec<At<String>>>> {
    match &node.value {
        Value::Text { text, .. } if text == "all" => Some(None),
        _ => Some(Some(NameSet::read(diagnostics, node, path).unwrap_or_default())),
    }
}

/// Reports keys that only a listener with a server has.
fn refuse_keys(diagnostics: &mut Diagnostics, keys: &KindKeys) {
    let own = &keys.mcp;
    // A value of the wrong kind is reported as well.
    own.tools.iter().for_each(|tools| tools.value.check_texts(diagnostics));
    own.safe.iter().for_each(|safe| safe.value.check_texts(diagnostics));
    own.trust.iter().for_each(|trust| trust.value.check_texts(diagnostics));
    for key in ["tools", "safe", "trust"] {
        if let Some(at) = keys.own.value_place(key) {
            let message =
                format!("{}.{key}: only a listener with `mcp` has tools of a server", keys.own.path);
            diagnostics.report_value(at, &message, "mcp: [PROGRAM, ARGUMENT]");
        }
    }
    refuse_key_env(diagnostics, keys);
}

fn is_address(program: impl AsRef<str>) -> bool {
    program.as_ref().contains("://")
}

fn read_program(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Vec<At<String>> {
    let words = value::texts(diagnostics, node, path).unwrap_or_default();
    if let Some(address) = words.first().filter(|word| is_address(&word.value)) {
        let message = format!("{path}: the address of a server is a text, and not a list");
        let fix = if words.len() == 1 && !address.value.contains('@') {
            format!("mcp: {}", address.value)
        } else {
            "mcp: https://HOST/PATH".to_owned()
        };
        diagnostics.report_value(address.at, &message, &fix);
    } else if words.is_empty() {
        let message = format!("{path}: no program is named");
        diagnostics.report_value(node.span, &message, "[PROGRAM, ARGUMENT]");
    }
    words
}

/// Reads the address of a server, and the name of the variable of its key.
fn read_address(
    diagnostics: &mut Diagnostics,
    keys: &KindKeys,
    (node, path): (&Node, &str),
    part: &mut KindPart,
) -> Option<String> {
    for (key, why) in OF_A_PROGRAM {
        if let Some(other) = keys.own.value_place(key) {
            let message = format!("{}.{key}: a listener of an MCP server at an address {why}", keys.own.path);
            diagnostics.report_value_beside(other, &message, "leave it out", (node.span, "the address"));
        }
    }
    let variable = read_late(diagnostics, &keys.mcp.key_env).map(|variable| variable.value);
    let url = reach::url(diagnostics, node, path)?;
    if let Err(fault) = ServerAddress::parse(&url, None) {
        let message = format!("{path}: `{url}` cannot be used: {fault}");
        diagnostics.report_value(node.span, &message, "https://HOST/PATH");
        return None;
    }
    part.rules.extend(["--at".to_owned(), url.clone()]);
    if let Some(variable) = variable {
        part.rules.extend(["--key-env".to_owned(), variable.clone()]);
        part.pass.push(variable);
    }
    Some(url)
}

/// Refuses a key that is sent nowhere.
fn refuse_key_env(diagnostics: &mut Diagnostics, keys: &KindKeys) {
    let Some(At { at, .. }) = &keys.mcp.key_env else { return };
    // A value of the wrong kind is reported as well.
    let _read = read_late(diagnostics, &keys.mcp.key_env);
    let message = format!("{}.key_env: only an MCP server at an address gets a key", keys.own.path);
    diagnostics.report_value(*at, &message, "mcp: https://HOST/PATH");
}

/// Makes the schema of a server from its pin, unless it is stored.
fn make_schema(
    part: &KindPart,
    diagnostics: &mut Diagnostics,
    shelf: &dyn Shelf,
    At { at, value: server }: At<&str>,
) -> Option<Arc<[u8]>> {
    let declared = part.server.as_ref()?;
    let first = declared.command.first()?;
    if !declared.is_at_address && is_address(first) {
        // This was reported where it is read.
        return None;
    }
    if let Some(stored) = shelf.find_made(&name_schema(server)) {
        return Some(stored);
    }
    let path = format!("listeners.{server}");
    let file = pin_file(server);
    let fix = format!("systole mcp pin {server}");
    let mut report = |code, at, words: &str, fix: &str| diagnostics.report(code, at, words, fix);
    let text = match shelf.take(&file) {
        Ok(text) => text,
        Err(absent) => {
            let words = format!("{path}.mcp: its tools are not pinned: {}", absent.why);
            report(Code::ConfigUnpinned, at, &words, &fix);
            return None;
        }
    };
    let pin = match PinFile::from_text(&text) {
        Ok(pin) => pin,
        Err(fault) => {
            report(Code::ConfigUnpinned, at, &format!("{path}.mcp: {file}: {fault}"), &fix);
            return None;
        }
    };
    if pin.command != declared.command {
        let words = format!("{path}.mcp: another command was pinned: {}", pin.command.join(" "));
        report(Code::ConfigUnpinned, at, &words, &fix);
    } else if let Some(request) = &declared.installs
        && let Some(why) = mcp_installs::missing(shelf, server, (request, &pin))
    {
        report(Code::ConfigUnpinned, at, &format!("{path}.mcp: {why}"), &fix);
    }
    for (key, named) in [("tools", declared.tools.as_deref()), ("safe", Some(declared.safe.as_slice()))] {
        for one in named.unwrap_or_default() {
            if !pin.tools.iter().any(|tool| tool.name == one.value) {
                let tools = || pin.tools.iter().map(|tool| tool.name.as_str());
                let words = format!("{path}.{key}: the pinned server has no tool `{}`", one.value);
                let fix = find_nearest(&one.value, tools()).map_or_else(|| one_of(tools()), str::to_owned);
                report(Code::ConfigUnknownName, one.at, &words, &fix);
            } else if key == "safe" && !declared.uses(&one.value) {
                let words = format!("{path}.safe: `{}` is not among its tools", one.value);
                report(Code::ConfigValue, one.at, &words, "list it under `tools` as well");
            }
        }
    }
    let hinted = pin.tools.iter().filter(|tool| declared.trusts_hints && tool.is_hinted_read_only());
    let named = declared.safe.iter().map(|safe| safe.value.clone());
    let safe = named.chain(hinted.map(|tool| tool.name.clone())).collect();
    match build_vocabulary(server, &pin, safe) {
        Ok(vocabulary) => Some(vocabulary.xsd.into_bytes().into()),
        Err(fault) => {
            report(Code::ConfigSchema, at, &format!("{path}.mcp: {fault}"), &fix);
            None
        }
    }
}
