//! A listener that stands in front of an MCP server: the server's program or address, the tools that are used, and those
//! that need no person.
//!
//! Input: the nodes, and the pin of the server. Output: a schema made of the pin, and the elements that the listener
//! accepts and returns. Nothing here starts a server.

use std::sync::Arc;

use systole_kit::schema::find_nearest;
use systole_mcp::client::ServerAddress;
use systole_mcp::pinned::build_vocabulary;
use systole_mcp::schema::PinFile;

use super::diagnostics::Diagnostics;
use super::forms::read_late;
use super::installed::{self, install_folder};
use super::listener_keys::ListenerKeys;
use super::mcp_tools::McpDeclaration;
use super::names::one_of;
use super::party::Party;
use super::reach;
use super::schemas::{Collected, Shelf};
use super::tree::{Node, Value};
use super::value::{self, At};
use systole_core::types::codes::Code;
use systole_core::types::composition::OnUnknown;

/// The vocabulary of answers that have no type of their own.
pub(super) const VOCABULARY: &str = "mcp/";
/// The beginning of the name of every schema that is made of a pin.
pub(super) const PINNED: &str = "pinned/";
/// Keys that a listener in front of a server does not have: the server and its pin say all this.
const NOT_BESIDE: [&str; 7] = ["run", "nats", "schema", "accepts", "returns", "mode", "framing"];
/// Keys that need a program on this machine.
const OF_A_PROGRAM: [(&str, &str); 3] = [
    ("sandbox", "needs the network, so it is in no sandbox, and nothing of the server runs here"),
    ("env", "has no program whose variables could be set; key_env names the variable of its key"),
    ("pass", "has no program that could get variables; key_env names the variable of its key"),
];
/// Keys that only such a listener has.
const OWN: [&str; 3] = ["tools", "safe", "trust"];
/// How long a call may take, how many run at once, and what happens after one with an unknown outcome.
const TIMEOUT_MS: u64 = 60_000;
const IN_FLIGHT: usize = 16;
/// Turns of a call: the server may ask a person several times.
const TURNS: u32 = 10;

/// The path of the pin of a server, from the organism's folder.
pub fn pin_file(listener: &str) -> String {
    format!("schemas/mcp/{listener}.pin.json")
}

/// The name of the schema that is made of a pin.
fn schema_name(listener: &str) -> String {
    format!("{PINNED}{listener}/")
}

/// Reads the keys. False if the listener is no such one.
pub(super) fn read(diagnostics: &mut Diagnostics, keys: &ListenerKeys, party: &mut Party) -> bool {
    let own = &keys.own;
    let Some(At { at, value: node }) = &keys.mcp else {
        reject_keys(diagnostics, keys);
        no_key(diagnostics, keys);
        return false;
    };
    let (at, path) = (*at, format!("{}.mcp", own.path));
    for key in NOT_BESIDE {
        if let Some(other) = own.value_place(key) {
            let message = format!("{}.{key}: a listener with `mcp` gets this from its server", own.path);
            diagnostics.report_value_beside(other, &message, "leave it out", (at, "the server"));
        }
    }
    let server = party.key.value.clone();
    party.adapter = vec!["mcp".to_owned(), pin_file(&server), server];
    let is_at_address = matches!(&node.value, Value::Text { .. });
    let mut installs = None;
    let command = if is_at_address {
        at_address(diagnostics, keys, (node, &path), party).into_iter().collect()
    } else {
        no_key(diagnostics, keys);
        let words = program(diagnostics, node, &path);
        let read = installed::read(diagnostics, &words, &path);
        // Without words nothing more is said about a command that was refused.
        let command = if read.is_ok() { words } else { Vec::new() };
        let command: Vec<String> = command.into_iter().map(|word| word.value).collect();
        installs = read.unwrap_or_default();
        let folder = install_folder(&party.key.value);
        party.run =
            installs.as_ref().map_or_else(|| command.clone(), |request| request.build_command(&folder));
        command
    };
    party.schema = Some(At { at, value: schema_name(&party.key.value) });
    party.timeout_ms = TIMEOUT_MS;
    party.in_flight = IN_FLIGHT;
    party.turns = TURNS;
    party.on_unknown = Some(OnUnknown::Fail);
    party.mcp = Some(McpDeclaration {
        at,
        is_at_address,
        command,
        installs,
        tools: read_late(diagnostics, &keys.tools).and_then(|tools| tools.value),
        safe: read_late(diagnostics, &keys.safe).map(|safe| safe.value).unwrap_or_default(),
        trusts_hints: read_late(diagnostics, &keys.trust).is_some_and(|trusts| trusts.value),
    });
    true
}

/// Reports keys that only a listener with a server has.
fn reject_keys(diagnostics: &mut Diagnostics, keys: &ListenerKeys) {
    // A value of the wrong kind is reported as well.
    keys.tools.iter().for_each(|tools| tools.value.check_texts(diagnostics));
    keys.safe.iter().for_each(|safe| safe.value.check_texts(diagnostics));
    keys.trust.iter().for_each(|trust| trust.value.check_texts(diagnostics));
    for key in OWN {
        if let Some(at) = keys.own.value_place(key) {
            let message =
                format!("{}.{key}: only a listener with `mcp` has tools of a server", keys.own.path);
            diagnostics.report_value(at, &message, "mcp: [PROGRAM, ARGUMENT]");
        }
    }
}

fn is_address(program: impl AsRef<str>) -> bool {
    program.as_ref().contains("://")
}

fn program(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Vec<At<String>> {
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
fn at_address(
    diagnostics: &mut Diagnostics,
    keys: &ListenerKeys,
    (node, path): (&Node, &str),
    party: &mut Party,
) -> Option<String> {
    for (key, why) in OF_A_PROGRAM {
        if let Some(other) = keys.own.value_place(key) {
            let message = format!("{}.{key}: a listener of an MCP server at an address {why}", keys.own.path);
            diagnostics.report_value_beside(other, &message, "leave it out", (node.span, "the address"));
        }
    }
    let variable = read_late(diagnostics, &keys.key_env).map(|variable| variable.value);
    let url = reach::url(diagnostics, node, path)?;
    if let Err(fault) = ServerAddress::parse(&url, None) {
        let message = format!("{path}: `{url}` cannot be used: {fault}");
        diagnostics.report_value(node.span, &message, "https://HOST/PATH");
        return None;
    }
    party.adapter.extend(["--at".to_owned(), url.clone()]);
    if let Some(variable) = variable {
        party.adapter.extend(["--key-env".to_owned(), variable.clone()]);
        party.pass.push(variable);
    }
    Some(url)
}

/// Refuses a key that is sent nowhere.
fn no_key(diagnostics: &mut Diagnostics, keys: &ListenerKeys) {
    let Some(At { at, .. }) = &keys.key_env else { return };
    // A value of the wrong kind is reported as well.
    let _read = read_late(diagnostics, &keys.key_env);
    let message = format!("{}.key_env: only an MCP server at an address gets a key", keys.own.path);
    diagnostics.report_value(*at, &message, "mcp: https://HOST/PATH");
}

/// Makes the schema of a server from its pin, unless it is stored.
pub(super) fn collect(
    diagnostics: &mut Diagnostics,
    shelf: &dyn Shelf,
    party: &Party,
    declared: &McpDeclaration,
    collected: &mut Collected,
) {
    let name = schema_name(&party.key.value);
    if declared.command.is_empty()
        || (!declared.is_at_address && declared.command.first().is_some_and(is_address))
    {
        // This was reported where it is read.
        return collected.miss(&name);
    }
    match shelf.find_made(&name).or_else(|| make_schema(diagnostics, shelf, party, declared)) {
        Some(text) => collected.put(&name, text, declared.at),
        None => collected.miss(&name),
    }
}

fn make_schema(
    diagnostics: &mut Diagnostics,
    shelf: &dyn Shelf,
    party: &Party,
    declared: &McpDeclaration,
) -> Option<Arc<[u8]>> {
    let (server, path) = (&party.key.value, party.path());
    let file = pin_file(server);
    let fix = format!("systole mcp pin {server}");
    let mut report = |code, at, words: &str, fix: &str| diagnostics.report(code, at, words, fix);
    let text = match shelf.take(&file) {
        Ok(text) => text,
        Err(absent) => {
            let words = format!("{path}.mcp: its tools are not pinned: {}", absent.why);
            report(Code::ConfigUnpinned, declared.at, &words, &fix);
            return None;
        }
    };
    let pin = match PinFile::from_text(&text) {
        Ok(pin) => pin,
        Err(fault) => {
            report(Code::ConfigUnpinned, declared.at, &format!("{path}.mcp: {file}: {fault}"), &fix);
            return None;
        }
    };
    if pin.command != declared.command {
        let words = format!("{path}.mcp: another command was pinned: {}", pin.command.join(" "));
        report(Code::ConfigUnpinned, declared.at, &words, &fix);
    } else if let Some(request) = &declared.installs
        && let Some(why) = installed::missing(shelf, server, (request, &pin))
    {
        report(Code::ConfigUnpinned, declared.at, &format!("{path}.mcp: {why}"), &fix);
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
            report(Code::ConfigSchema, declared.at, &format!("{path}.mcp: {fault}"), &fix);
            None
        }
    }
}
