//! The session in the README is run, word for word: every command, in a copy of the folder it names. Only
//! times of day and stretches of time are taken out on both sides.

use std::path::Path;
use std::process::Command;

/// The commands of the first console block, each with what it prints.
fn session(page: &str) -> Vec<(String, String)> {
    let block = page.split("```console\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let mut steps: Vec<(String, String)> = Vec::new();
    for line in block.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => steps.push((command.to_owned(), String::new())),
            None => steps.last_mut().unwrap().1.push_str(&[line, "\n"].concat()),
        }
    }
    steps
}

/// A text without its times: `10:08:41` and `1.1 s`.
fn timeless(text: &str) -> String {
    let mut out = String::new();
    let mut digits = false;
    for c in text.chars() {
        let is_time = c.is_ascii_digit();
        if !is_time || !digits {
            out.push(if is_time { '0' } else { c });
        }
        digits = is_time;
    }
    out
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn the_session_in_the_readme_is_what_one_sees() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    copy(&root.join("config/beat"), folder.path());
    let program = Path::new(env!("CARGO_BIN_EXE_systole"));
    let path = std::env::var("PATH").unwrap();
    let path = [program.parent().unwrap().to_str().unwrap(), ":", &path].concat();
    let steps = session(&std::fs::read_to_string(root.join("README.md")).unwrap());
    assert_eq!(steps.len(), 3, "the session was found");
    for (command, shown) in steps {
        let whole = ["{ ", &command, "; } 2>&1"].concat();
        let ran = Command::new("sh")
            .args(["-c", &whole])
            .current_dir(folder.path())
            .env("PATH", &path)
            .output()
            .unwrap();
        let said = String::from_utf8(ran.stdout).unwrap();
        // The ids of hashes and threads stay as they are; a run of digits is any time.
        let hexless = |text: &str| if command.contains("tree") { timeless(text) } else { text.to_owned() };
        assert_eq!(hexless(&said), hexless(&shown), "{command}");
    }
}
