//! The ledger of lines: `tools/ledger.txt` says how many lines of code each crate has, outside tests. It must be what
//! `tools/house-figures` counts, so each change of size is seen in the diff. No crate is too large.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::hold;

const LEDGER: &str = "tools/ledger.txt";
const WRITE_AGAIN: &str = "tools/house-figures --ledger > tools/ledger.txt";

/// The most lines of a crate.
const MOST_LINES: i64 = 20_000;
/// The crates that have more. A crate leaves this list with the change that makes it small enough.
const LARGER: [&str; 0] = [];

/// The ledger of the project in this folder, as the script counts it now.
fn count_lines(root: &Path) -> String {
    let ran = Command::new("python3").args(["tools/house-figures", "--ledger"]).arg(root).output();
    let ran = ran.expect("tools/prepare installs python3");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

/// The lines of each crate, and their sum under the name `sum`.
fn read_rows(ledger: &str) -> BTreeMap<&str, i64> {
    let rows = ledger.lines().filter(|line| !line.starts_with('#'));
    let read = rows.map(|row| {
        let (folder, lines) =
            row.split_once(' ').unwrap_or_else(|| panic!("no number in this row of the ledger: {row}"));
        let lines =
            lines.trim().parse().unwrap_or_else(|fault| panic!("{fault} in this row of the ledger: {row}"));
        (folder, lines)
    });
    read.collect()
}

/// Where the ledger differs from what was counted.
fn list_differences(ledger: &str, counted: &str) -> Vec<String> {
    let (before, now) = (read_rows(ledger), read_rows(counted));
    let mut differences = Vec::new();
    for (folder, lines) in &now {
        match before.get(folder) {
            Some(listed) if listed == lines => {}
            Some(listed) => {
                differences
                    .push(format!("{folder}: {listed} in the ledger, {lines} now ({:+})", lines - listed));
            }
            None => differences.push(format!("{folder}: not in the ledger, {lines} now")),
        }
    }
    let gone = before.iter().filter(|(folder, _)| !now.contains_key(*folder));
    differences
        .extend(gone.map(|(folder, listed)| format!("{folder}: {listed} in the ledger, no such crate")));
    if differences.is_empty() && ledger != counted {
        differences.push("the numbers are right; the first line, the order or the blanks differ".to_owned());
    }
    differences
}

/// The crates whose size does not fit the list of larger crates.
fn list_wrong_sizes(ledger: &str, larger: &[&str]) -> Vec<String> {
    let mut rows = read_rows(ledger);
    rows.remove("sum");
    let wrong =
        rows.iter().filter_map(|(folder, lines)| match (larger.contains(folder), *lines > MOST_LINES) {
            (false, true) => Some(format!("{folder}: {lines} lines, {MOST_LINES} at most")),
            (true, false) => Some(format!("{folder}: only {lines} lines. Take it off the list LARGER")),
            (true, true) | (false, false) => None,
        });
    let absent = larger.iter().filter(|folder| !rows.contains_key(*folder));
    wrong
        .chain(absent.map(|folder| format!("{folder}: no such crate. Take it off the list LARGER")))
        .collect()
}

#[test]
fn the_ledger_has_the_lines_of_every_crate() {
    let ledger = fs::read_to_string(LEDGER).unwrap_or_default();
    let rule = format!("the lines of code changed; `{WRITE_AGAIN}` writes the ledger again");
    hold(&rule, &list_differences(&ledger, &count_lines(Path::new("."))));
}

#[test]
fn no_crate_is_too_large() {
    let ledger = fs::read_to_string(LEDGER).unwrap();
    hold("the size of a crate", &list_wrong_sizes(&ledger, &LARGER));
}

#[test]
fn a_difference_to_the_ledger_names_its_crate() {
    let counted = "# Head\na  10\nb  20\nsum  30\n";
    assert_eq!(list_differences(counted, counted), [""; 0]);
    let differences = list_differences("# Head\na  12\nc  5\nsum  17\n", counted);
    let expected = [
        "a: 12 in the ledger, 10 now (-2)",
        "b: not in the ledger, 20 now",
        "sum: 17 in the ledger, 30 now (+13)",
        "c: 5 in the ledger, no such crate",
    ];
    assert_eq!(differences, expected);
    assert_eq!(list_differences("# Head\nb  20\na  10\nsum  30\n", counted).len(), 1);
}

#[test]
fn a_crate_is_on_the_list_of_larger_ones_only_if_it_is_larger() {
    let ledger = "a  20000\nb  20001\nc  30000\nsum  70001\n";
    assert_eq!(list_wrong_sizes(ledger, &["b", "c"]), [""; 0]);
    let expected = [
        "a: only 20000 lines. Take it off the list LARGER",
        "b: 20001 lines, 20000 at most",
        "d: no such crate. Take it off the list LARGER",
    ];
    assert_eq!(list_wrong_sizes(ledger, &["a", "c", "d"]), expected);
}

#[test]
fn a_line_of_code_has_more_than_blanks_and_comments_and_is_in_no_test() {
    let library = "//! Header.\n\npub fn one() -> &'static str { /* a\n b */ \"// two\n\nlines\" }\n// Comment.\n\
                   #[cfg(test)]\nmod checks;\n#[cfg(test)]\nmod tests {\n    fn two() {}\n}\n\
                   macro_rules! m {\n    () => {};\n}\n";
    let files = [
        ("crates/one/Cargo.toml", ""),
        ("crates/one/src/lib.rs", library),
        ("crates/one/src/checks.rs", "fn three() {}\n"),
        ("crates/one/src/checks/deep.rs", "fn four() {}\n"),
        ("crates/one/tests/suite/main.rs", "fn five() {}\n"),
        ("listeners/two/section/Cargo.toml", ""),
        ("listeners/two/section/src/lib.rs", "/* /* a */\n b */ fn six() { let quote = '\"'; } // \"\n"),
        ("src/main.rs", "fn main() {\n    run();\n}\n"),
        ("benches/beat/main.rs", "fn main() {}\n"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let expected = [("crates/one", 6), ("listeners/two/section", 1), ("src", 3), ("sum", 10)];
    assert_eq!(read_rows(&count_lines(folder.path())), BTreeMap::from(expected));
}
