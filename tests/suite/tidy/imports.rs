//! The allowed imports. The rooms (source folders) form one order, and foreign crates stay in their places.

use super::rust::{code_of, line_of, words};
use super::{Source, hold, sources};

/// A crate of rooms (source folders).
struct CrateRooms {
    sources: &'static str,
    rooms: &'static [Room],
}

/// A room, the rooms of its crate that it may name, and the rooms of the core.
type Room = (&'static str, &'static [&'static str], &'static [&'static str]);

/// The rooms. All may name the kit and the crates below it; the `Cargo.toml` of those crates limits what they name.
const CRATES: [CrateRooms; 2] = [
    CrateRooms {
        sources: "crates/core/src/",
        rooms: &[("types", &[], &[]), ("rules", &["types"], &[]), ("pump", &["types", "rules"], &[])],
    },
    CrateRooms {
        sources: "src/",
        rooms: &[
            ("edges", &[], &["types"]),
            ("audit", &["edges"], &["types", "rules", "pump"]),
            ("config", &["edges", "audit"], &["types", "rules"]),
            ("runtime", &["edges", "audit", "config"], &["types", "rules", "pump"]),
            // The console names what it shows; see docs/decisions/0002.
            ("console", &["edges", "audit", "runtime"], &["types", "rules"]),
            ("cli", &["edges", "audit", "config", "runtime", "console"], &["types", "rules", "pump"]),
        ],
    },
];

/// The only places where a foreign crate may be named.
const FOREIGN: [(&str, &[&str]); 18] = [
    ("askama", &["crates/doors/src/pages/"]),
    ("tokio", &["src/edges/", "crates/organism/src/", "crates/doors/src/", "src/cli/", "src/main.rs"]),
    ("libxml", &["crates/judge/src/"]),
    ("rusqlite", &["crates/log/src/"]),
    ("dashmap", &["src/edges/"]),
    (
        "async_nats",
        &["crates/bus/src/", "crates/log/src/nats", "crates/carriers/src/nats", "listeners/kit/src/nats/"],
    ),
    ("nkeys", &["crates/system/src/keyfiles"]),
    ("clap", &["src/cli/", "src/main.rs"]),
    ("clap_complete", &["src/cli/completions"]),
    // What an agent is comes from the file; the core never hears of models. See docs/decisions/0016.
    ("systole_agent", &["crates/config/src/", "crates/organism/src/", "src/cli/"]),
    // A server's tools are made into a listener by the file and the running organism. See docs/decisions/0049.
    ("systole_mcp", &["crates/config/src/", "crates/organism/src/", "crates/doors/src/mcp", "src/cli/"]),
    // A listener of code is made from the file like an agent. See docs/decisions/0048.
    ("systole_code", &["crates/config/src/", "crates/organism/src/", "src/cli/"]),
    ("systole_workspace", &["crates/config/src/", "crates/organism/src/", "src/cli/"]),
    // A workflow is data of the file and a listener like any other. See docs/decisions/0033.
    ("systole_workflow", &["crates/config/src/", "crates/organism/src/", "src/cli/"]),
    // The core and the loader know a sandbox as data. See docs/decisions/0047.
    ("systole_sandbox", &["crates/carriers/src/process/", "src/cli/mod.rs", "src/cli/doctor/sandbox.rs"]),
    ("landlock", &[]),
    ("seccompiler", &[]),
    ("nix", &[]),
];

/// Names that a room without clock, random ids and I/O cannot use.
// An address is data; opening a socket is not.
const IMPURE: [&str; 10] = [
    "std::fs",
    "std::net::Tcp",
    "std::net::Udp",
    "std::process",
    "std::thread",
    "std::env",
    "std::io",
    "Instant",
    "SystemTime",
    "Timestamp::now",
];
const PURE: [&str; 5] = [
    "crates/wire/src/",
    "crates/schema/src/",
    "crates/core/src/",
    "crates/proof/src/",
    "listeners/mcp/src/schema/",
];

/// The rooms that a source names in its crate or in another, with the byte position of each.
fn named(code: &str, krate: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(krate) {
        let after = &code[at + krate.len()..];
        if let Some(group) = after.strip_prefix('{') {
            found.extend(heads(group).into_iter().map(|head| (at, head)));
        } else if let Some((0, word)) = words(after).next() {
            found.push((at, word.to_owned()));
        }
    }
    found
}

/// Chains of `super` that leave the room: they would bypass the rule. `path` is that of the file in its crate.
fn leaving(path: &str, code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    // A chain of `super` that leaves the room would bypass the rule.
    let below = path.split('/').count().saturating_sub(2) + usize::from(!path.ends_with("/mod.rs"));
    for (at, _) in code.match_indices("super::") {
        let fresh = !code[..at].ends_with("super::");
        let chain = code[at..].split("super::").take_while(|between| between.is_empty()).count();
        // A test module inside a file is one level deeper.
        let inside = usize::from(code[..at].contains("mod tests {"));
        if fresh && chain > below + inside {
            found.push((at, "a room through `super`".to_owned()));
        }
    }
    found
}

/// The first word of each part of a group: `a::b, c` gives `a` and `c`.
fn heads(group: &str) -> Vec<String> {
    let (mut depth, mut heads, mut fresh) = (0, Vec::new(), true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => fresh = true,
            c if fresh && depth == 0 && c.is_alphabetic() => {
                heads.extend(words(&group[at..]).next().map(|(_, word)| word.to_owned()));
                fresh = false;
            }
            _ => {}
        }
    }
    heads
}

fn breaches_of(source: &Source) -> Vec<String> {
    let code = code_of(&source.text);
    let place = |at: usize| format!("{}:{}", source.path, line_of(&source.text, at));
    let mut breaches = Vec::new();
    for CrateRooms { sources, rooms } in CRATES {
        let Some(inner) = source.path.strip_prefix(sources) else { continue };
        let Some((room, _)) = inner.split_once('/') else { continue };
        let Some((_, allowed, of_core)) = rooms.iter().find(|(name, ..)| *name == room) else {
            breaches.push(format!("{}: {room} is not a room", source.path));
            continue;
        };
        for (at, other) in named(&code, "crate::").into_iter().chain(leaving(inner, &code)) {
            let whole = other.as_str() == room || allowed.contains(&other.as_str());
            // Among the edges, the reading side may name only the log.
            let log = room != "audit" || other != "edges" || code[at..].starts_with("crate::edges::log");
            if !whole || !log {
                breaches.push(format!("{}: {room} names {other}", place(at)));
            }
        }
        let others = named(&code, "systole_core::").into_iter();
        for (at, other) in others.filter(|(_, other)| !of_core.contains(&other.as_str())) {
            breaches.push(format!("{}: {room} names {other} of the core", place(at)));
        }
    }
    for (krate, homes) in FOREIGN {
        // The rule covers `src/`. Of the crates in `listeners/` it covers only the use of NATS, which has one
        // home there.
        let is_ruled = source.path.starts_with("src/")
            || source.path.starts_with("crates/core/")
            || (krate == "async_nats" && source.path.starts_with("listeners/"));
        let at_home = !is_ruled || homes.iter().any(|home| source.path.starts_with(home));
        let uses =
            words(&code).find(|(at, word)| *word == krate && code[at + word.len()..].starts_with("::"));
        if let (Some((at, _)), false) = (uses, at_home) {
            breaches.push(format!("{}: {krate} is named outside of its home", place(at)));
        }
    }
    let pure = PURE.iter().any(|krate| source.path.starts_with(krate));
    for way_out in IMPURE.iter().filter(|_| pure) {
        if let Some(at) = code.find(way_out) {
            breaches.push(format!("{}: {way_out} in a room without I/O", place(at)));
        }
    }
    breaches
}

#[test]
fn rooms_import_in_one_direction() {
    let breaches: Vec<String> = sources().iter().flat_map(breaches_of).collect();
    hold("a room names what it may not", &breaches);
}

#[test]
fn one_file_of_the_schema_crate_reads_xml() {
    let reads = |source: &&Source| {
        let code = code_of(&source.text);
        let named: Vec<&str> = words(&code).map(|(_, word)| word).collect();
        source.path.starts_with("crates/schema/src/")
            && named.contains(&"quick_xml")
            && named.iter().any(|word| word.ends_with("Reader"))
    };
    let all = sources();
    let readers: Vec<&str> = all.iter().filter(reads).map(|source| source.path.as_str()).collect();
    assert_eq!(readers, ["crates/schema/src/tree.rs"]);
}

#[test]
fn a_listener_stands_on_the_kit_alone() {
    let banned = ["systole", "rusqlite", "libxml", "axum"];
    hold("a listener names what is not the kit", &naming("listeners/", &banned));
}

#[test]
fn what_judges_shares_no_code_with_what_it_judges() {
    let of_ours =
        ["systole", "systole_core", "systole_kit", "systole_wire", "systole_schema", "systole_agent"];
    for judge in ["crates/checker/src/", "crates/proof/src/", "tests/mock-model/src/"] {
        hold("a judge names what it judges", &naming(judge, &of_ours));
    }
}

/// The places below a folder that name one of these crates.
fn naming(folder: &str, banned: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| source.path.starts_with(folder)) {
        let code = code_of(&source.text);
        for (at, word) in words(&code).filter(|(_, word)| banned.contains(word)) {
            found.push(format!("{}:{}: {word}", source.path, line_of(&source.text, at)));
        }
    }
    found
}

#[test]
fn the_product_depends_on_no_tool_of_the_tests() {
    let manifest = std::fs::read_to_string("Cargo.toml").unwrap();
    let (_, after) = manifest.split_once("[dependencies]\n").unwrap();
    let (own, _) = after.split_once("\n[").unwrap();
    assert!(own.contains("systole-core"), "{own}");
    assert!(!own.contains("\"tests/"), "{own}");
    hold("the product names a tool of the tests", &naming("src/", &["systole_soak", "systole_mock_model"]));
}

#[test]
fn the_core_depends_on_no_crate_that_reaches_outside() {
    let manifest = std::fs::read_to_string("crates/core/Cargo.toml").unwrap();
    let (_, after) = manifest.split_once("[dependencies]\n").unwrap();
    let (own, _) = after.split_once("\n[").unwrap();
    let named: Vec<&str> = own.lines().filter_map(|line| Some(line.split_once(" = ")?.0)).collect();
    let pure = [
        "foldhash",
        "jiff",
        "postcard",
        "serde",
        "sha2",
        "smallvec",
        "smol_str",
        "systole-schema",
        "systole-wire",
        "thiserror",
        "uuid",
    ];
    assert_eq!(named, pure);
}

#[test]
fn a_breach_is_seen_however_it_is_written() {
    let breach = |path: &str, text: &str| {
        let found = breaches_of(&Source { path: path.to_owned(), text: text.to_owned() });
        assert_eq!(found.len(), 1, "{path}: {text}: {found:?}");
    };
    breach("crates/core/src/types/a.rs", "use crate::rules::x;");
    breach("crates/core/src/rules/a.rs", "use crate::{types::x, pump::{y, z}};");
    breach("crates/core/src/rules/a.rs", "fn f() { crate::edges::log() }");
    breach("crates/core/src/types/a.rs", "use super::super::rules::x;");
    breach("crates/log/src/lib.rs", "use super::super::rules::x;");
    breach("src/audit/a.rs", "use crate::edges::schemas::Judge;");
    breach("src/edges/a.rs", "use systole_core::pump::state::Thread;");
    breach("crates/doors/src/a.rs", "use systole_core::{types::x, pump::y};");
    breach("crates/core/src/types/a.rs", "fn f() { jiff::Timestamp::now() }");
    breach("crates/core/src/pump/decide.rs", "use tokio::sync::mpsc;");
    breach("crates/organism/src/a.rs", "fn f(p: libxml::parser::Parser) {}");
    breach("crates/carriers/src/mailbox.rs", "use async_nats::Client;");
    breach("crates/organism/src/a.rs", "fn f(client: async_nats::Client) {}");
    breach("listeners/kit/src/stdio.rs", "use async_nats::Client;");
    breach("crates/wire/src/gate.rs", "use std::fs::read;");
    breach("crates/proof/src/note.rs", "use std::time::SystemTime;");
    breach("listeners/agent/src/a.rs", "fn f(client: async_nats::Client) {}");
    breach("crates/core/src/pump/a.rs", "use systole_agent::spec::Agent;");
    breach("src/edges/a.rs", "fn f(model: systole_agent::spec::Model) {}");
    breach("crates/core/src/pump/a.rs", "use systole_workflow::spec::Workflow;");
    breach("crates/core/src/rules/a.rs", "use std::fs;");
    breach("crates/config/src/a.rs", "use systole_sandbox::SandboxLevel;");
    breach("src/edges/a.rs", "use nix::unistd::close;");
    breach("src/shed/a.rs", "");
    let fine = "use super::types; // crate::rules\nuse crate::types::x; const A: &str = \"crate::cli\";";
    let found = breaches_of(&Source { path: "crates/core/src/rules/a.rs".to_owned(), text: fine.to_owned() });
    assert!(found.is_empty(), "{found:?}");
}
