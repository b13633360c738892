//! The key `sandbox` of a listener: what its program may read, write and use.
//!
//! Input: the node. Output: the declaration. Whether its folders are there, and what they contain, is checked by
//! `sandbox_paths`.

use super::diagnostics::Diagnostics;
use super::forms::{CountWithin, NameSet, SizeWithin};
use super::key::KeyForm;
use super::section::{Form, SectionKeys, form, section};
use super::tree::{Node, Value};
use super::value::{self, At};
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

section! { SandboxKeys {
    read: default(Vec::new()) <NameSet> "files and folders that it may read, paths from this file's folder";
    write: default(Vec::new()) <NameSet> "folders in which it may also write, paths from this file's folder";
    net: default(Vec::new()) <AddressSet> "addresses of the network that it may reach, as `host:port`, through a proxy that HTTPS_PROXY names; needs level full";
    processes: default(64) <CountWithin<1, 4096>> "most processes at once, {bounds}; if there are more, all are ended";
    memory: default(4 << 30) <SizeWithin<{ 16 << 20 }, { 1 << 40 }>> "most memory that it and all that it starts hold together, {bounds}; if they hold more, all are ended";
    output: default(1 << 30) <SizeWithin<{ 1 << 10 }, { 1 << 40 }>> "size of the largest file that it may write, {bounds}";
} }

form! {
    /// The sandbox of a program, or the word for none.
    pub(super) SandboxRule -> Option<SandboxDeclaration> { KeyForm::TextOrMap, read_rule, below SandboxKeys::ROWS }
}
form! {
    /// Addresses of the network: `host:port`, in lower case.
    pub(super) AddressSet -> Vec<String> { KeyForm::Set, read_addresses, show |_: &Vec<String>| "[]".to_owned() }
}

fn read_rule(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Option<SandboxDeclaration>> {
    if matches!(&node.value, Value::Text { .. }) {
        let found = value::text(diagnostics, node, path)?;
        if found.value != NONE {
            let message = format!("{path}: `{}` is neither a map nor `{NONE}`", found.value);
            diagnostics.report_value(found.at, &message, EXAMPLE);
        }
        return Some(None);
    }
    if let Value::List(_) = &node.value {
        value::wrong_kind(diagnostics, node, path, "a map", EXAMPLE);
        return None;
    }
    let keys = SandboxKeys::read(diagnostics, node, path)?;
    let limits = ProgramSandbox {
        net: keys.net.value,
        processes: keys.processes.value,
        memory_bytes: keys.memory.value,
        output_bytes: keys.output.value,
        ..ProgramSandbox::default()
    };
    Some(Some(SandboxDeclaration { read: keys.read.value, write: keys.write.value, limits }))
}

fn read_addresses(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<String>> {
    let mut addresses = Vec::new();
    for one in NameSet::read(diagnostics, node, path)? {
        if is_address(&one.value) {
            addresses.push(one.value.to_ascii_lowercase());
        } else {
            let message = format!("{path}: `{}` is no address with a port", one.value);
            diagnostics.report_value(one.at, &message, "HOST:PORT, as pypi.org:443");
        }
    }
    Some(addresses)
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
    pub(super) fn resolve_paths(&self, directory: &std::path::Path) -> ProgramSandbox {
        let joined =
            |paths: &[At<String>]| paths.iter().map(|path| directory.join(&path.value)).collect::<Vec<_>>();
        ProgramSandbox { read: joined(&self.read), write: joined(&self.write), ..self.limits.clone() }
    }
}
