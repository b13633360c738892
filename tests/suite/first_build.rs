//! `tools/build` with a real cargo, on a package of three crates: it says how far it is, and nothing where nothing is
//! to be built. A build that fails says why and has cargo's exit code.

use std::path::Path;
use std::process::Command;

const PACKAGE: &str = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";

/// A package with a library and a program, which needs two others.
fn package() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for name in ["stock", "till"] {
        write(&format!("{name}/Cargo.toml"), &PACKAGE.replace("shop", name));
        write(&format!("{name}/src/lib.rs"), "");
    }
    let needs = "[dependencies]\nstock = {path = \"stock\"}\ntill = {path = \"till\"}\n";
    write("Cargo.toml", &[PACKAGE, needs].concat());
    write("src/lib.rs", "");
    write("src/main.rs", "fn main() {}\n");
    let mut cargo = Command::new("cargo");
    cargo.args(["generate-lockfile", "--quiet", "--offline"]).current_dir(folder.path());
    assert!(cargo.status().unwrap().success());
    folder
}

/// Builds, and returns the exit code, the output without the command that is printed first, and the errors.
fn build(folder: &Path) -> (Option<i32>, String, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/build");
    let mut command = Command::new(script);
    command.current_dir(folder).env("CARGO_TARGET_DIR", folder.join("target"));
    // The tests run in a cargo of their own.
    let ours = std::env::vars().filter(|(name, _)| name.starts_with("CARGO_PKG") || name == "RUSTFLAGS");
    for (name, _) in ours {
        command.env_remove(name);
    }
    let ran = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let said = text(ran.stdout);
    let (first, rest) = said.split_once('\n').unwrap();
    assert!(first.contains("cargo build --locked "), "{first}");
    // Other tests use cargo's caches at the same time.
    let errors = text(ran.stderr);
    let errors = errors.lines().filter(|line| !line.trim_start().starts_with("Blocking waiting "));
    (ran.status.code(), rest.to_owned(), errors.map(|line| format!("{line}\n")).collect())
}

#[test]
fn the_first_build_says_how_long_it_takes_and_how_far_it_is() {
    let folder = package();
    let at = folder.path();
    let (code, said, errors) = build(at);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("building 4 crates; with ") && lines[0].ends_with(" min"), "{said}");
    let counts = lines[1..].iter().map(|line| line.split(',').next().unwrap());
    assert_eq!(counts.collect::<Vec<_>>(), [1, 2, 3, 4].map(|n| format!("{n} of 4 crates")));

    assert_eq!(build(at), (Some(0), String::new(), String::new()), "nothing is left to build");

    std::fs::write(at.join("src/main.rs"), "fn main() {\n").unwrap();
    let (code, _, errors) = build(at);
    assert!(code == Some(101) && errors.contains("src/main.rs:1:13"), "{errors}");
}
