//! The key `sandbox` of a listener: what its program may read, write and use.
//!
//! Input: the node. Output: the declaration. Whether its folders are there, and what they contain, is checked by
//! `sandbox_paths`.

use super::diagnostics::Diagnostics;
use super::names::single;
use super::tree::Value;
use super::value::{self, At, Fields, fields};
use systole_core::types::codes::Code;
use systole_core::types::composition::ProgramSandbox;

/// The one text that the key may have: no sandbox.
const NONE: &str = "none";
const EXAMPLE: &str = "sandbox: {write: [./out]}, or sandbox: none";

/// The sandbox of a program as the file declares it.
pub(super) struct SandboxDeclaration {
    pub(super) read: Vec<At<String>>,
    pub(super) write: Vec<At<String>>,
    /// The limits, without paths.
    pub(super) limits: ProgramSandbox,
}

/// Reads the key. `None` if the program runs without a sandbox.
pub(super) fn read(diagnostics: &mut Diagnostics, own: &Fields<'_>) -> Option<SandboxDeclaration> {
    let (node, path) = own.get("sandbox")?;
    if matches!(&node.value, Value::Text { .. }) {
        let found = value::text(diagnostics, node, &path)?;
        if found.value != NONE {
            let message = format!("{path}: `{}` is neither a map nor `{NONE}`", found.value);
            diagnostics.report(Code::ConfigValue, found.at, &message, Some(EXAMPLE));
        }
        return None;
    }
    if let Value::List(_) = &node.value {
        value::wrong_kind(diagnostics, node, &path, "a map", EXAMPLE);
        return None;
    }
    let section = fields(diagnostics, node, node.span, "listeners.NAME.sandbox", &path)?;
    let mut paths = |key: &str| {
        let Some((node, path)) = section.get(key) else { return Vec::new() };
        let found = value::texts(diagnostics, node, &path).unwrap_or_default();
        single(diagnostics, found, &path)
    };
    let (read, write) = (paths("read"), paths("write"));
    let mut limits = ProgramSandbox { net: net(diagnostics, &section), ..ProgramSandbox::default() };
    limits.processes = section.count(diagnostics, "processes").unwrap_or(limits.processes);
    limits.memory_bytes =
        section.measure(diagnostics, "memory").map_or(limits.memory_bytes, |found| found.value);
    limits.output_bytes =
        section.measure(diagnostics, "output").map_or(limits.output_bytes, |found| found.value);
    Some(SandboxDeclaration { read, write, limits })
}

/// The addresses of the network: `host:port`, in lower case.
fn net(diagnostics: &mut Diagnostics, section: &Fields<'_>) -> Vec<String> {
    let Some((node, path)) = section.get("net") else { return Vec::new() };
    let found = value::texts(diagnostics, node, &path).unwrap_or_default();
    let mut addresses = Vec::new();
    for one in single(diagnostics, found, &path) {
        if is_address(&one.value) {
            addresses.push(one.value.to_ascii_lowercase());
        } else {
            let message = format!("{path}: `{}` is no address with a port", one.value);
            diagnostics.report(Code::ConfigValue, one.at, &message, Some("HOST:PORT, as pypi.org:443"));
        }
    }
    addresses
}

fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let is_name = |host: &str| {
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
    };
    let is_host = is_name(host) || text.parse::<std::net::SocketAddr>().is_ok();
    is_host && port.parse::<u16>().is_ok_and(|port| port > 0)
}

impl SandboxDeclaration {
    /// The sandbox of a program that may read and write nothing of this machine but the system's folders.
    pub(super) fn strictest() -> SandboxDeclaration {
        SandboxDeclaration { read: Vec::new(), write: Vec::new(), limits: ProgramSandbox::default() }
    }

    /// What the program's start needs. Files that must stay outside are added later.
    pub(super) fn resolved(&self, directory: &std::path::Path) -> ProgramSandbox {
        let joined =
            |paths: &[At<String>]| paths.iter().map(|path| directory.join(&path.value)).collect::<Vec<_>>();
        ProgramSandbox { read: joined(&self.read), write: joined(&self.write), ..self.limits.clone() }
    }
}
