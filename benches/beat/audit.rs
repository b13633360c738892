//! What an auditor runs on a log of a million records, as a user runs it, start of the program included: `systole verify`
//! beside SHA-256 alone, and `systole export` of one thread beside the same in a log of a hundredth of the records.

use std::path::Path;
use std::process::Command;

use rusqlite::Connection;
use sha2::{Digest as _, Sha256};

use crate::find;
use crate::report::{Table, seconds, sized};

/// Runs a command on the log. It has to succeed.
fn run(log: &Path, arguments: &[&str]) -> String {
    systole(&[arguments, &["--log", log.to_str().unwrap()]].concat())
}

fn systole(arguments: &[&str]) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_systole")).args(arguments).output().unwrap();
    let said = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    said
}

/// The seconds to export one thread of a log.
fn exported(log: &Path, more: &[&str]) -> f64 {
    let file = log.with_extension("zip");
    let arguments = ["export", "sess-000000000003", "--out", file.to_str().unwrap()];
    let took = seconds(|| run(log, &[&arguments, more].concat())).0;
    std::fs::remove_file(file).unwrap();
    took
}

/// Hashes the bytes of every body once, and looks at nothing else.
fn hashed(log: &Path) {
    let connection = Connection::open(log).unwrap();
    let mut bodies = connection.prepare("SELECT body FROM record").unwrap();
    let mut rows = bodies.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        std::hint::black_box(Sha256::digest(row.get_ref(0).unwrap().as_blob().unwrap()));
    }
}

/// All of it.
pub(crate) fn of_a_log(table: &mut Table) {
    let all = sized("AUDITED", 1_000_000) as u64;
    let folder = tempfile::tempdir_in("target").unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let (log, small) = (folder.join("bench.db"), folder.join("small.db"));
    find::write(&log, 0..all);
    find::write(&small, 0..all / 100);
    let (mut verified, mut alone, mut proved) = (Vec::new(), Vec::new(), Vec::new());
    for log in [&log, &small] {
        let key = log.with_extension("key");
        let key = key.to_str().unwrap();
        systole(&["keygen", "--origin", "example.org/bench", "--out", key]);
        run(log, &["checkpoint", "--key", key]);
    }
    for _ in 0..table.runs {
        let (took, said) = seconds(|| run(&log, &["verify"]));
        assert!(said.contains("verdict: "), "{said}");
        verified.push((took, seconds(|| hashed(&log)).0));
        alone.push((exported(&log, &["--no-proof"]) * 1e3, exported(&small, &["--no-proof"]) * 1e3));
        proved.push((exported(&log, &[]) * 1e3, alone.last().unwrap().0));
    }
    table.add(&format!("verify of {all} records, beside SHA-256"), "s", "linear", &verified);
    table.add("export without proof, beside a log of a hundredth", "ms", "1.0", &alone);
    table.add("export with its proof, beside without", "ms", "", &proved);
}
