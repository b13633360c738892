//! What an auditor runs on a log of a million records: `systole verify` beside SHA-256 alone, and `systole prove` of
//! one record. Both run as a user runs them, start of the program included.

use std::path::Path;
use std::process::Command;

use rusqlite::Connection;
use sha2::{Digest as _, Sha256};

use crate::find;
use crate::report::{Table, seconds, sized};

/// Runs a command on the log and expects success.
fn run(log: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    let ran =
        command.args(arguments).arg("--log").arg(log).current_dir(log.parent().unwrap()).output().unwrap();
    let said = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    said
}

/// Hashes the bytes of every body once, without looking at anything else.
fn hashed(log: &Path) -> usize {
    let connection = Connection::open(log).unwrap();
    let mut bodies = connection.prepare("SELECT body FROM record").unwrap();
    let mut rows = bodies.query([]).unwrap();
    let mut bytes = 0;
    while let Some(row) = rows.next().unwrap() {
        let body = row.get_ref(0).unwrap().as_blob().unwrap();
        bytes += body.len();
        std::hint::black_box(Sha256::digest(body));
    }
    bytes
}

/// All of it.
pub(crate) fn of_a_log(table: &mut Table) {
    let all = sized("AUDITED", 1_000_000) as u64;
    let folder = tempfile::tempdir_in("target").unwrap();
    let log = folder.path().join("bench.db");
    find::write(&log, 0..all);
    let mut verified = Vec::new();
    for _ in 0..table.runs {
        let (took, said) = seconds(|| run(&log, &["verify"]));
        assert!(said.contains("verdict: sound"), "{said}");
        verified.push((took, seconds(|| hashed(&log)).0));
    }
    table.add(&format!("verify of {all} records, floor SHA-256"), "s", "linear", &verified);
}
