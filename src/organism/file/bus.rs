//! The broker over which listeners on other machines are reached, and which listeners those are.
//!
//! It never goes there: that is for whoever runs the organism. What the file says comes in; an address without
//! credentials, and who has no program, go out.

use super::declared::{Declared, Party};
use super::desk::Desk;
use super::value::{self, At, Fields, fields};
use super::yaml::{Node, Span};
use crate::words::codes::Code;

/// What stands under `bus`.
pub(super) struct Declaration {
    /// The address of the broker; none where what stands there is none.
    pub(super) url: Option<String>,
}

const EXAMPLE: &str = "nats: nats://127.0.0.1:4222";
/// Keys that say something of a program.
const PROGRAM: [&str; 5] = ["run", "env", "pass", "mode", "framing"];

/// Reads the section.
pub(super) fn read(desk: &mut Desk, node: &Node, path: &str) -> Option<Declaration> {
    let section = fields(desk, node, node.span, "bus", path)?;
    let (node, path) = section.need(desk, "nats", EXAMPLE)?;
    let found = value::text(desk, node, &path)?;
    Some(Declaration { url: url(desk, &found, &path) })
}

/// An address that a client of NATS can go to.
fn url(desk: &mut Desk, found: &At<String>, path: &str) -> Option<String> {
    let written = found.value.as_str();
    if written == "managed" {
        let told = [path, ": `managed` is known and not built yet"].concat();
        desk.tell(Code::ConfigNotBuilt, found.at, &told, Some("the address of a server that runs"));
        return None;
    }
    let rest = ["nats://", "tls://"].iter().find_map(|scheme| written.strip_prefix(scheme));
    let Some(rest) = rest else {
        let told = [path, ": `", written, "` is no address of a NATS server"].concat();
        desk.tell(Code::ConfigValue, found.at, &told, Some("nats://HOST:PORT, or tls://HOST:PORT"));
        return None;
    };
    if let Some((credentials, _)) = rest.rsplit_once('@') {
        desk.hide(found.at, credentials);
        let told = [path, ": a name, password or token stands in it, and is not repeated"].concat();
        desk.tell(Code::ConfigValue, found.at, &told, Some("the address alone"));
        return None;
    }
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !host.ends_with(':') => (host, port.parse::<u16>().is_ok()),
        _ => (rest, true),
    };
    let is_host = !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || "/?#,".contains(c));
    if !is_host || !port {
        let told = [path, ": `", written, "` is no address of a NATS server"].concat();
        desk.tell(Code::ConfigValue, found.at, &told, Some("nats://HOST:PORT, or tls://HOST:PORT"));
        return None;
    }
    Some(written.to_owned())
}

/// Reads whether a listener is reached over the broker; then it has no program.
pub(super) fn reached(desk: &mut Desk, own: &Fields<'_>) -> Option<Span> {
    let (node, path) = own.get("nats")?;
    if !value::flag(desk, node, &path)? {
        return None;
    }
    for key in PROGRAM {
        if let Some((other, other_path)) = own.get(key) {
            let told = [&other_path, ": a listener over NATS is no program of this organism"].concat();
            let second = (node.span, "reached over NATS");
            desk.tell_seeing(Code::ConfigValue, other.span, &told, Some("one of the two"), second);
        }
    }
    Some(node.span)
}

/// Tells of listeners that nobody can reach.
pub(super) fn check(desk: &mut Desk, declared: &Declared) {
    if declared.bus.is_some() {
        return;
    }
    let reached = |party: &&Party| party.nats.is_some();
    if let Some((party, at)) =
        declared.parties.iter().find(reached).and_then(|party| Some((party, party.nats?)))
    {
        let told = [&party.path(), ".nats: no broker is named over which it could be reached"].concat();
        let mend = ["bus: {", EXAMPLE, "} at the top of the file"].concat();
        desk.tell(Code::ConfigMissing, at, &told, Some(&mend));
    }
}
