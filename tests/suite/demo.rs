//! `systole demo` as a reader runs it, and the command that it ends with.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn systole(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_systole"))
        .args(arguments)
        .envs([("TZ", "UTC"), ("COLUMNS", "80")])
        .env("TMPDIR", folder)
        .current_dir(folder)
        .output()
        .unwrap()
}

#[test]
fn h1_the_demo_shows_agents_a_refusal_its_mend_a_thread_a_kill_and_what_expires_and_its_last_line_runs() {
    let folder = tempfile::tempdir().unwrap();
    for round in ["first", "again"] {
        let ran = systole(&["demo"], folder.path());
        let said = String::from_utf8(ran.stdout).unwrap();
        assert!(ran.status.success(), "{round}: {said}{}", String::from_utf8_lossy(&ran.stderr));
        for words in [
            "todo-until",
            "limit>50</",
            "payload.invalid: limit: 50 is more than 10, the largest allowed",
            "limit>10</",
            ".pace is recorded before",
            "its model is asked, which is on disk before",
            "is gone",
            "attempt 2 at the researcher, recorded first: model.unknown-outcome",
            "At rest some 70",
            "Nothing is wrong with",
            "nobody here answers, so the request expires",
            "approval a1 has expired",
            "That is not on the",
            "1 of unknown outcome",
        ] {
            assert!(said.contains(words), "{round}: {words} is not in\n{said}");
        }
        // The last line is a command: how long it is depends on where the program and the folder lie.
        let fits = |line: &str| line.chars().count() <= 80 || line.starts_with("next: ");
        assert!(said.lines().all(fits), "{said}");
        assert!(!said.contains('\u{1b}'), "no colour where nobody looks");
        let next = said.lines().last().and_then(|line| line.strip_prefix("next: ")).unwrap().to_owned();
        let shown = Command::new("sh").args(["-c", &next]).current_dir(folder.path()).output().unwrap();
        assert!(String::from_utf8_lossy(&shown.stdout).contains("not on the board"), "{next}: {shown:?}");
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 1, "only the demo's own folder: {left:?}");
}

/// Runs its arguments on a terminal, and answers there once it is asked.
const AT_A_TERMINAL: &str = r#"
import os, pty, sys
answers, said = [sys.argv[1]], b""
def read(fd):
    global said
    data = os.read(fd, 4096)
    said += data
    if b"It is your turn" in said and answers:
        os.write(fd, answers.pop().encode() + b"\n")
    return data
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[2:], read)))
"#;

#[test]
fn h1_the_reader_approves_or_rejects_at_the_terminal() {
    for (answer, told, ends) in [
        ("y", "approval a1 is approved by operator", "That is on the"),
        ("what\nno", "approval a1 is rejected by operator", "That is not on the"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let ran = Command::new("python3")
            .args(["-c", AT_A_TERMINAL, answer, env!("CARGO_BIN_EXE_systole"), "demo"])
            .env("TMPDIR", folder.path())
            .env("NO_COLOR", "1")
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
        for words in ["y approves, n rejects; after 30", told, ends] {
            assert!(said.contains(words), "{words} is not in\n{said}");
        }
        assert_eq!(said.contains("y or n, and Enter"), answer != "y");
        let board = folder
            .path()
            .join(["systole-demo-", &rustix::process::getuid().as_raw().to_string(), "/board"].concat());
        let pinned = std::fs::read_dir(board).map_or(0, |notes| notes.count());
        assert_eq!(pinned, usize::from(answer == "y"), "only what was approved is on the board, and once");
    }
}

#[test]
fn h1_a_folder_of_somebody_elses_is_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    let taken =
        folder.path().join(["systole-demo-", &rustix::process::getuid().as_raw().to_string()].concat());
    std::fs::create_dir(&taken).unwrap();
    std::fs::write(taken.join("precious"), "x").unwrap();
    let ran = systole(&["demo"], folder.path());
    assert_eq!(ran.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("is not the demo's"), "{ran:?}");
    assert!(taken.join("precious").exists());
}

/// What the clerk answers when the stock's refusal says `advice`.
fn clerk_told(advice: &str) -> String {
    let envelope = |payload: &str| {
        [
            "<message xmlns=\"https://xml-pipeline.org/ns/envelope/v1\"><meta><from>core</from><thread>t</thread>",
            "<stamp xmlns=\"urn:systole:stamp:v1\" call=\"1\" delivery=\"d\"/></meta>",
            payload,
            "</message>\n",
        ]
        .concat()
    };
    let order = "<order xmlns=\"https://xml-pipeline.org/ns/clerk/v1\"><item>tea</item><quantity>0</quantity><street>s</street></order>";
    let refusal = [
        "<answers xmlns=\"https://xml-pipeline.org/ns/core/v1\"><item ordinal=\"2\"><system-error>",
        advice,
        "</system-error></item></answers>",
    ]
    .concat();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/beat");
    let mut clerk = Command::new("python3")
        .arg("listeners/clerk.py")
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = [envelope(order), envelope(&refusal)].concat();
    std::io::Write::write_all(&mut clerk.stdin.take().unwrap(), input.as_bytes()).unwrap();
    String::from_utf8(clerk.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn h1_a_refusal_that_says_something_else_ends_the_rehearsal() {
    let folder = tempfile::tempdir().unwrap();
    let ask = |limit: &str| {
        let team = folder.path().join(limit);
        crate::session::copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("config/team"), &team);
        let file = std::fs::read_to_string(team.join("organism.yaml")).unwrap();
        std::fs::write(team.join("organism.yaml"), file.replace("int 1..10", &["int 1..", limit].concat()))
            .unwrap();
        systole(&["ask", "What makes a heart beat?"], &team)
    };
    let taken = ask("10");
    assert!(taken.status.success(), "{taken:?}");
    let (ran, said) = {
        let ran = ask("20");
        (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
    };
    assert_eq!(ran, Some(1), "{said}");
    assert!(said.contains("needs `limit: 50 is more than 10, the largest allowed` in the prompt"), "{said}");
}

#[test]
fn h1_the_clerk_mends_by_what_the_refusal_says_and_by_nothing_else() {
    let told =
        |number: &str| clerk_told(&["<try>&lt;a:quantity&gt;", number, "&lt;/a:quantity&gt;</try>"].concat());
    assert!(told("1").lines().last().unwrap().contains("quantity>1<"), "{}", told("1"));
    assert!(told("7").lines().last().unwrap().contains("quantity>7<"), "{}", told("7"));
    assert!(clerk_told("").lines().last().unwrap().contains("failure"), "without advice it is lost");
}
