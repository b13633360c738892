//! Numbers: each limit stands in the table of its crate, and no further bare number comes into the code. It must be what
//! `tools/house-figures --numbers` counts.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use super::hold;

/// Constants that are no limits: the numbers of a format, a kernel or a protocol, each where the format is written.
const FACTS: [(&str, &str); 58] = [
    ("crates/bus/src/silence.rs", "FORMAT"),
    ("crates/carriers/src/leases.rs", "TOKEN_DIGITS"),
    ("crates/carriers/src/process/warden.rs", "KILL"),
    ("crates/carriers/src/process/warden.rs", "TERM"),
    ("crates/core/src/pump/state.rs", "ROW_VERSION"),
    ("crates/core/src/pump/state/budget_use.rs", "CHILD"),
    ("crates/core/src/rules/loops.rs", "SPREAD"),
    ("crates/core/src/types/fields.rs", "LENGTH_DIGITS"),
    ("crates/core/src/types/ids.rs", "STEM_BYTES"),
    ("crates/core/src/types/record.rs", "FORMAT"),
    ("crates/export/src/archive/entry.rs", "CENTRAL_BYTES"),
    ("crates/export/src/archive/entry.rs", "DATE"),
    ("crates/export/src/archive/entry.rs", "END_BYTES"),
    ("crates/export/src/archive/entry.rs", "LOCAL_BYTES"),
    ("crates/export/src/archive/entry.rs", "VERSION"),
    ("crates/export/src/redaction.rs", "DIGITS"),
    ("crates/judge/src/judge.rs", "INTERNAL_FAULT"),
    ("crates/log/src/nats/bundle.rs", "KNOWN"),
    ("crates/log/src/nats/bundle.rs", "PARTITION"),
    ("crates/log/src/nats/bundle.rs", "WHOLE"),
    ("crates/log/src/checkpoint_file.rs", "OPEN_FLAGS"),
    ("crates/log/src/checkpoint_file.rs", "ROOT"),
    ("crates/log/src/checkpoint_file.rs", "WAITS_NOT"),
    ("crates/log/src/index/mod.rs", "APPLICATION_ID"),
    ("crates/log/src/index/mod.rs", "FORM"),
    ("crates/log/src/search/mod.rs", "APPLICATION_ID"),
    ("crates/log/src/search/mod.rs", "FORM"),
    ("crates/log/src/sqlite/faults.rs", "PAGE_BYTES"),
    ("crates/log/src/sqlite/layout.rs", "APPLICATION_ID"),
    ("crates/log/src/sqlite/layout.rs", "COPY_ID"),
    ("crates/log/src/sqlite/migrate.rs", "WITH_TIP"),
    ("crates/log/src/sqlite/rows.rs", "SUM"),
    ("crates/log/src/slot_file.rs", "SLOT"),
    ("crates/log/src/sqlite/wal.rs", "HEADER"),
    ("crates/proof/src/cosignature.rs", "LATEST"),
    ("crates/sandbox/src/entering/mod.rs", "REFUSED"),
    ("crates/sandbox/src/entering/network.rs", "LOOPBACK"),
    ("crates/sandbox/src/entering/network.rs", "REQUEST_BYTES"),
    ("crates/sandbox/src/entering/syscalls.rs", "IO_OF_PROCESS"),
    ("crates/sandbox/src/entering/syscalls.rs", "KIND"),
    ("crates/sandbox/src/entering/syscalls.rs", "SYS_FCHMODAT2"),
    ("crates/sandbox/src/entering/syscalls.rs", "SYS_KEXEC_FILE_LOAD"),
    ("crates/sandbox/src/entering/syscalls.rs", "X32"),
    ("crates/wire/src/framing.rs", "LENGTH_DIGITS"),
    ("crates/wire/src/money.rs", "DECIMALS"),
    ("crates/witness/src/tiles.rs", "HEIGHT"),
    ("crates/witness/src/tiles.rs", "WIDTH"),
    ("listeners/agent/src/model/script.rs", "ANY_NUMBER"),
    ("listeners/kit/src/extract/stream_buffer.rs", "SIGN"),
    ("listeners/kit/src/extract/stream_buffer.rs", "TAG_END"),
    ("listeners/mcp/src/client/http/stream.rs", "BROKEN_STREAM"),
    ("listeners/mcp/src/schema/pin.rs", "PIN_FORMAT"),
    ("listeners/mcp/src/schema/shape.rs", "SAFE"),
    ("listeners/workspace/src/disk/writing.rs", "NEW_FOLDER"),
    ("listeners/workspace/src/resolve/realize.rs", "NEW_FILE"),
    ("listeners/workspace/src/resolve/realize.rs", "NEW_PROGRAM"),
    ("src/cli/first_process.rs", "SIGNALLED"),
    ("src/cli/permissions/mod.rs", "PORT"),
];

/// The most whole numbers with so many digits outside constants. A number falls with the change that makes it smaller.
const LITERALS: [(&str, u32); 2] =
    [("literals of three digits", 141), ("literals of four digits and more", 100)];

/// What the script finds here.
static FOUND: LazyLock<String> = LazyLock::new(|| read_numbers(Path::new(".")));

/// What the script finds in the project of this folder.
fn read_numbers(root: &Path) -> String {
    let ran = Command::new("python3").args(["tools/house-figures", "--numbers"]).arg(root).output();
    let ran = ran.expect("tools/prepare installs python3");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

/// The folder of a crate, by the path of a file in it.
fn crate_of(path: &str) -> &str {
    path.split_once("/src/").map_or("src", |(folder, _)| folder)
}

/// The numeric constants outside of the tables that are no facts.
fn list_strays(found: &str, facts: &[(&str, &str)]) -> Vec<String> {
    let constants = found.lines().filter_map(|line| line.split_once(' ')).filter_map(|(place, name)| {
        let path = place.split_once(".rs:")?.0;
        Some((format!("{path}.rs"), place, name))
    });
    let strays = constants.filter(|(path, _, name)| !facts.contains(&(path.as_str(), name)));
    let strays = strays.map(|(path, place, name)| {
        let table = match crate_of(&path) {
            "src" => "src/limits.rs".to_owned(),
            "crates/core" => "crates/core/src/types/limits.rs".to_owned(),
            folder => format!("{folder}/src/limits.rs"),
        };
        format!(
            "{place}: write {name} into {table}, as `/// Unit, and the reason.` and `pub(crate) const NAME: TYPE = VALUE;`"
        )
    });
    let gone = facts.iter().filter(|(path, name)| {
        !found
            .lines()
            .any(|line| line.starts_with(&format!("{path}:")) && line.ends_with(&format!(" {name}")))
    });
    strays.chain(gone.map(|(path, name)| format!("{path}: no {name}. Take it off the list FACTS"))).collect()
}

/// The kinds of bare numbers of which there are too many.
fn list_too_many(found: &str, most: &[(&str, u32)]) -> Vec<String> {
    let counts = found.lines().filter_map(|line| line.split_once(": "));
    let counts: Vec<(&str, u32)> =
        counts.filter_map(|(kind, count)| Some((kind, count.parse().ok()?))).collect();
    let count_of =
        |kind: &str| counts.iter().find(|(other, _)| *other == kind).map_or(u32::MAX, |(_, count)| *count);
    let over = most.iter().filter(|(kind, most)| count_of(kind) > *most);
    over.map(|(kind, most)| format!("{kind}: {}, {most} at most; give the new one a name", count_of(kind)))
        .collect()
}

#[test]
fn every_limit_stands_in_the_table_of_its_crate() {
    hold("a number that limits something stands in one table", &list_strays(&FOUND, &FACTS));
}

#[test]
fn no_further_bare_number_is_written() {
    hold("bare numbers", &list_too_many(&FOUND, &LITERALS));
}

#[test]
fn a_stray_limit_is_told_where_to_go() {
    let found = "crates/bus/src/log.rs:7 MOST\ncrates/core/src/a.rs:1 LEAST\nsrc/cli/run.rs:9 PAUSE\n\
                 crates/bus/src/file.rs:2 FORMAT\nliterals of three digits: 4\n";
    let strays = list_strays(found, &[("crates/bus/src/file.rs", "FORMAT"), ("src/gone.rs", "FORMAT")]);
    let way = "as `/// Unit, and the reason.` and `pub(crate) const NAME: TYPE = VALUE;`";
    let expected = [
        format!("crates/bus/src/log.rs:7: write MOST into crates/bus/src/limits.rs, {way}"),
        format!("crates/core/src/a.rs:1: write LEAST into crates/core/src/types/limits.rs, {way}"),
        format!("src/cli/run.rs:9: write PAUSE into src/limits.rs, {way}"),
        "src/gone.rs: no FORMAT. Take it off the list FACTS".to_owned(),
    ];
    assert_eq!(strays, expected);
}

#[test]
fn one_bare_number_more_is_too_many() {
    let found = "src/cli/run.rs:9 PAUSE\nliterals of three digits: 4\nliterals of four digits and more: 2\n";
    assert_eq!(list_too_many(found, &[("literals of three digits", 4)]), [""; 0]);
    let most = [("literals of three digits", 3), ("literals of four digits and more", 2), ("others", 1)];
    let expected = [
        "literals of three digits: 4, 3 at most; give the new one a name",
        "others: 4294967295, 1 at most; give the new one a name",
    ];
    assert_eq!(list_too_many(found, &most), expected);
}

#[test]
fn a_table_is_no_place_of_a_stray_and_a_test_has_none() {
    let files = [
        ("crates/one/Cargo.toml", ""),
        (
            "crates/one/src/lib.rs",
            "const MOST: usize = 7;\nfn f() -> u32 { 1234 + 100 }\n#[cfg(test)]\nmod tests { const A: u8 = 1; }\n",
        ),
        ("crates/one/src/limits.rs", "pub(crate) const LEAST: u64 = 1_000;\n"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let expected =
        "crates/one/src/lib.rs:1 MOST\nliterals of three digits: 1\nliterals of four digits and more: 1\n";
    assert_eq!(read_numbers(folder.path()), expected);
}
