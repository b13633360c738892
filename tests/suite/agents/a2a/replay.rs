//! What the suite of A2A has sent is sent again, and has the answers that it had. The suite itself is no part of this
//! project: `make test-doors` runs it from a checkout, and keeps what was said.

use std::path::Path;
use std::process::Command;

use crate::mcp::doors_house::{SUITE, doors_house, run_doors};
use crate::program::run_file;

#[test]
fn g14_what_the_suite_of_a2a_has_sent_has_the_answers_that_it_had() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut replay = Command::new("python3");
    replay.arg(project.join("tests/doors/replay.py")).arg(project.join("tests/fixtures/doors/a2a-tck.jsonl"));
    let address = run_file(folder.path()).address.to_string();
    let replayed = replay.args([&address, SUITE]).output().unwrap();
    let (said, wrong) =
        (String::from_utf8_lossy(&replayed.stdout), String::from_utf8_lossy(&replayed.stderr));
    assert!(replayed.status.success(), "{said}{wrong}");
    organism.interrupt();
}
