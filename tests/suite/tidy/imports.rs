//! The allowed imports. Crates form one order, so do the rooms (source folders) of the core, and foreign crates stay in
//! their places.

use super::rust::{code_of, line_of, words};
use super::{Source, hold, sources};

/// A crate of the product: its folder, the crates of ours that its `Cargo.toml` names, and the rooms of the core that
/// it may name.
pub(crate) type CrateArrows = (&'static str, &'static [&'static str], &'static [&'static str]);

const NOTHING: &[&str] = &[];
const TYPES: &[&str] = &["types"];
const TYPES_AND_RULES: &[&str] = &["types", "rules"];
const WHOLE_CORE: &[&str] = &["types", "rules", "pump"];

/// The arrows between crates, from below to above. An arrow is here, in the `Cargo.toml`, and in
/// `docs/ARCHITECTURE.md`.
pub(crate) const CRATES: [CrateArrows; 39] = [
    ("crates/wire", &[], NOTHING),
    ("crates/schema", &["wire"], NOTHING),
    ("crates/core", &["schema", "wire"], NOTHING),
    ("crates/proof", &[], NOTHING),
    ("crates/http", &[], NOTHING),
    ("crates/folder", &["schema"], NOTHING),
    ("crates/sandbox", &[], NOTHING),
    ("tests/checker", &[], NOTHING),
    ("listeners/kit", &["schema", "wire"], NOTHING),
    ("listeners/sdk", &["schema", "wire"], NOTHING),
    ("listeners/workflow", &["kit"], NOTHING),
    ("listeners/agent", &["http", "kit", "workflow"], NOTHING),
    ("listeners/code", &["folder", "kit"], NOTHING),
    ("listeners/mcp", &["http", "kit"], NOTHING),
    ("listeners/workspace", &["folder", "kit"], NOTHING),
    ("crates/schedule", &["core"], TYPES),
    ("crates/system", &["core", "proof"], TYPES),
    ("crates/bus", &["core", "system"], TYPES),
    ("crates/judge", &["kit", "system"], NOTHING),
    ("crates/show", &["core", "kit"], TYPES),
    ("crates/log", &["bus", "core", "proof", "system"], TYPES),
    ("crates/witness", &["core", "http", "log", "proof", "system"], TYPES),
    ("crates/carriers", &["bus", "core", "kit", "sandbox", "system"], TYPES),
    ("crates/queries", &["core", "kit", "log", "schedule", "show"], WHOLE_CORE),
    ("crates/follow", &["bus", "core", "http", "log", "queries", "system", "wire"], WHOLE_CORE),
    ("crates/export", &["core", "kit", "log", "proof", "queries", "show"], WHOLE_CORE),
    (
        "crates/config",
        &[
            "agent",
            "bus",
            "code",
            "core",
            "follow",
            "judge",
            "kit",
            "mcp",
            "proof",
            "schedule",
            "show",
            "system",
            "witness",
            "workflow",
            "workspace",
        ],
        TYPES_AND_RULES,
    ),
    (
        "crates/organism",
        &[
            "agent", "bus", "carriers", "config", "core", "export", "follow", "http", "judge", "kit", "log",
            "proof", "queries", "system", "witness", "workflow",
        ],
        WHOLE_CORE,
    ),
    ("listeners/conform", &["carriers", "config", "core", "judge", "kit", "organism", "system"], TYPES),
    (
        "crates/api",
        &["core", "export", "follow", "kit", "log", "organism", "queries", "show"],
        TYPES_AND_RULES,
    ),
    ("crates/payloads", &["api", "core", "kit", "organism", "queries", "show"], TYPES_AND_RULES),
    ("crates/client", &["api", "core", "export", "kit", "log", "organism", "queries"], TYPES_AND_RULES),
    (
        "crates/rehearsal",
        &[
            "agent", "api", "carriers", "config", "core", "judge", "kit", "log", "organism", "queries",
            "system",
        ],
        TYPES_AND_RULES,
    ),
    ("crates/doorway", &["api", "core", "log", "system"], TYPES),
    (
        "crates/following",
        &["api", "bus", "core", "doorway", "kit", "log", "organism", "queries"],
        TYPES_AND_RULES,
    ),
    (
        "crates/hall",
        &[
            "api",
            "core",
            "doorway",
            "export",
            "following",
            "kit",
            "log",
            "organism",
            "payloads",
            "queries",
            "show",
            "system",
        ],
        TYPES_AND_RULES,
    ),
    (
        "crates/console",
        &[
            "api", "core", "doorway", "export", "hall", "kit", "log", "organism", "payloads", "proof",
            "queries", "show", "system",
        ],
        TYPES_AND_RULES,
    ),
    (
        "crates/doors",
        &[
            "api",
            "bus",
            "console",
            "core",
            "doorway",
            "following",
            "hall",
            "kit",
            "log",
            "organism",
            "payloads",
            "proof",
            "queries",
            "show",
            "system",
            "witness",
        ],
        TYPES_AND_RULES,
    ),
    (
        ".",
        &[
            "agent",
            "api",
            "bus",
            "carriers",
            "client",
            "config",
            "conform",
            "core",
            "doors",
            "doorway",
            "export",
            "follow",
            "following",
            "hall",
            "http",
            "judge",
            "kit",
            "log",
            "mcp",
            "organism",
            "proof",
            "queries",
            "rehearsal",
            "sandbox",
            "sdk",
            "show",
            "system",
            "witness",
            "workflow",
            "workspace",
        ],
        WHOLE_CORE,
    ),
];

/// A room of the core, and the rooms that it may name.
const CORE_ROOMS: [(&str, &[&str]); 3] =
    [("types", &[]), ("rules", &["types"]), ("pump", &["types", "rules"])];

/// The sources of the core.
const CORE: &str = "crates/core/src/";

/// The only places where a foreign crate may be named.
const FOREIGN: [(&str, &[&str]); 15] = [
    ("croner", &["crates/schedule/src/"]),
    ("askama", &["crates/console/src/"]),
    (
        "tokio",
        &[
            "crates/system/src/",
            "crates/bus/src/",
            "crates/log/src/",
            "crates/witness/src/",
            "crates/follow/src/",
            "crates/carriers/src/",
            "crates/organism/src/",
            "crates/client/src/",
            "crates/console/src/",
            "crates/doors/src/",
            "crates/doorway/src/",
            "crates/following/src/",
            "crates/hall/src/",
            "crates/rehearsal/src/",
            "listeners/conform/src/",
            "src/",
        ],
    ),
    ("libxml", &["crates/judge/src/"]),
    ("rusqlite", &["crates/log/src/"]),
    (
        "async_nats",
        &["crates/bus/src/", "crates/log/src/nats", "crates/carriers/src/nats", "listeners/kit/src/nats/"],
    ),
    ("nkeys", &["crates/system/src/keyfiles"]),
    (
        "axum",
        &[
            "crates/console/src/",
            "crates/doors/src/",
            "crates/doorway/src/",
            "crates/following/src/",
            "crates/hall/src/",
        ],
    ),
    ("clap", &["src/cli/", "listeners/conform/src/command"]),
    ("clap_complete", &["src/cli/completions"]),
    ("opentelemetry_proto", &["crates/follow/src/otlp/"]),
    ("prost", &["crates/follow/src/otlp/"]),
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

/// The crate that a source of the product belongs to.
fn crate_of(path: &str) -> Option<&'static CrateArrows> {
    // The section of a listener is in its folder, and a module of the configuration.
    let is_section = path.starts_with("listeners/") && path.split('/').nth(2)?.starts_with("section");
    let path = if is_section { "crates/config/src/" } else { path };
    CRATES.iter().find(|(folder, ..)| {
        let sources = if *folder == "." { "src/".to_owned() } else { format!("{folder}/src/") };
        path.starts_with(&sources)
    })
}

fn breaches_of(source: &Source) -> Vec<String> {
    let code = code_of(&source.text);
    let place = |at: usize| format!("{}:{}", source.path, line_of(&source.text, at));
    let mut breaches = Vec::new();
    if let Some((room, _)) = source.path.strip_prefix(CORE).and_then(|inner| inner.split_once('/')) {
        let inner = source.path.strip_prefix(CORE).unwrap_or_default();
        match CORE_ROOMS.iter().find(|(name, _)| *name == room) {
            Some((_, allowed)) => {
                let others = named(&code, "crate::").into_iter().chain(leaving(inner, &code));
                for (at, other) in
                    others.filter(|(_, other)| other != room && !allowed.contains(&other.as_str()))
                {
                    breaches.push(format!("{}: {room} names {other}", place(at)));
                }
            }
            None => breaches.push(format!("{}: {room} is not a room", source.path)),
        }
    }
    let owner = crate_of(&source.path);
    if let Some((folder, _, rooms)) = owner {
        for (at, other) in named(&code, "systole_core::") {
            if !rooms.contains(&other.as_str()) {
                breaches.push(format!("{}: {folder} names {other} of the core", place(at)));
            }
        }
    }
    for (krate, homes) in FOREIGN {
        // Of the listeners and the crates below them, the rule covers only the use of NATS, which has one home there.
        let is_ruled = owner.is_some_and(|(folder, _, rooms)| !rooms.is_empty() || *folder == "crates/core")
            || (krate == "async_nats" && source.path.starts_with("listeners/"))
            || (krate == "libxml" && source.path.starts_with("crates/"));
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

/// The crates of ours that the text of a `Cargo.toml` names as dependencies, sorted.
fn ours_of(manifest: &str) -> Vec<String> {
    let (_, after) = manifest.split_once("[dependencies]\n").unwrap_or_default();
    let own = after.split_once("\n[").map_or(after, |(own, _)| own);
    let names = own.lines().filter_map(|line| line.strip_prefix("systole-"));
    let name = |line: &str| line.split(['.', ' ']).next().unwrap_or_default().to_owned();
    let mut ours: Vec<String> = names.map(name).collect();
    ours.sort();
    ours
}

#[test]
fn crates_name_the_crates_of_the_table() {
    let mut breaches = Vec::new();
    for (folder, ours, _) in CRATES {
        let manifest = std::fs::read_to_string(format!("{folder}/Cargo.toml")).unwrap();
        // The workspace's own table comes first in the manifest of the root.
        let manifest = manifest.split_once("[package]").map_or("", |(_, after)| after);
        let found = ours_of(manifest);
        if found != ours {
            breaches.push(format!(
                "{folder}/Cargo.toml names {found:?}, and CRATES of tests/suite/tidy/imports.rs says {ours:?}"
            ));
        }
    }
    hold("an arrow between crates is only in one of two places", &breaches);
}

#[test]
fn an_arrow_leads_from_a_later_crate_to_an_earlier_one() {
    let mut earlier: Vec<&str> = Vec::new();
    for (folder, ours, _) in CRATES {
        for other in ours {
            assert!(earlier.contains(other), "{folder} names {other}, which comes after it in CRATES");
        }
        earlier.push(folder.rsplit('/').next().unwrap());
    }
    let product = ["crates", "listeners"].map(|folder| std::fs::read_dir(folder).unwrap());
    for entry in product.into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.to_str().unwrap().replace('\\', "/");
        let is_listed = CRATES.iter().any(|(folder, ..)| *folder == name);
        assert_eq!(is_listed, path.join("Cargo.toml").exists(), "{name} is not in CRATES");
    }
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
    for judge in ["tests/checker/src/", "crates/proof/src/", "tests/mock-model/src/"] {
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
    for folder in ["src/", "crates/"] {
        let found = naming(folder, &["systole_soak", "systole_mock_model"]);
        hold("the product names a tool of the tests", &found);
    }
}

#[test]
fn the_core_depends_on_no_crate_that_reaches_outside() {
    let manifest = std::fs::read_to_string("crates/core/Cargo.toml").unwrap();
    let (_, after) = manifest.split_once("[dependencies]\n").unwrap();
    let (own, _) = after.split_once("\n[").unwrap();
    let named: Vec<&str> = own.lines().filter_map(|line| line.split([' ', '.']).next()).collect();
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
    breach("listeners/code/section.rs", "use systole_core::pump::x;");
    breach("crates/core/src/rules/a.rs", "use crate::{types::x, pump::{y, z}};");
    breach("crates/core/src/rules/a.rs", "fn f() { crate::edges::log() }");
    breach("crates/core/src/types/a.rs", "use super::super::rules::x;");
    breach("crates/core/src/shed/a.rs", "");
    breach("crates/carriers/src/a.rs", "use systole_core::pump::state::Thread;");
    breach("crates/doors/src/a.rs", "use systole_core::{types::x, pump::y};");
    breach("crates/core/src/types/a.rs", "fn f() { jiff::Timestamp::now() }");
    breach("crates/core/src/pump/decide.rs", "use tokio::sync::mpsc;");
    breach("crates/queries/src/a.rs", "use tokio::sync::mpsc;");
    breach("crates/organism/src/a.rs", "fn f(p: libxml::parser::Parser) {}");
    breach("crates/carriers/src/mailbox.rs", "use async_nats::Client;");
    breach("crates/organism/src/a.rs", "fn f(client: async_nats::Client) {}");
    breach("listeners/kit/src/stdio.rs", "use async_nats::Client;");
    breach("crates/wire/src/gate.rs", "use std::fs::read;");
    breach("crates/proof/src/note.rs", "use std::time::SystemTime;");
    breach("listeners/agent/src/a.rs", "fn f(client: async_nats::Client) {}");
    breach("crates/core/src/rules/a.rs", "use std::fs;");
    breach("crates/carriers/src/a.rs", "use nix::unistd::close;");
    assert_eq!(
        ours_of("[dependencies]\nsystole-b.workspace = true\nsystole-a = 1\nx = 1\n\n[lints]\nsystole-c"),
        ["a", "b"]
    );
    let fine = "use super::types; // crate::rules\nuse crate::types::x; const A: &str = \"crate::cli\";";
    let found = breaches_of(&Source { path: "crates/core/src/rules/a.rs".to_owned(), text: fine.to_owned() });
    assert!(found.is_empty(), "{found:?}");
}
