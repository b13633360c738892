//! `systole demo` as a reader runs it, and the command that it ends with.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn systole(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_systole"))
        .args(arguments)
        .env("TMPDIR", folder)
        .current_dir(folder)
        .output()
        .unwrap()
}

#[test]
fn h1_the_demo_shows_a_refusal_its_mend_a_child_and_a_kill_and_its_last_line_runs() {
    let folder = tempfile::tempdir().unwrap();
    for round in ["first", "again"] {
        let ran = systole(&["demo"], folder.path());
        let said = String::from_utf8(ran.stdout).unwrap();
        assert!(ran.status.success(), "{round}: {said}{}", String::from_utf8_lossy(&ran.stderr));
        for words in [
            "quantity>0</",
            "payload.invalid: quantity: 0 is less than 1, the smallest allowed",
            "quantity>1</",
            ".delivery is recorded before",
            "parcel>to Main Street, parcel 11</",
            "is gone",
            "attempt 2, recorded first",
            "invoice",
        ] {
            assert!(said.contains(words), "{round}: {words} is not in\n{said}");
        }
        // The last line is a command: how long it is depends on where the program and the folder lie.
        let fits = |line: &str| line.chars().count() <= 80 || line.starts_with("next: ");
        assert!(said.lines().all(fits), "{said}");
        assert!(!said.contains('\u{1b}'), "no colour where nobody looks");
        let next = said.lines().last().and_then(|line| line.strip_prefix("next: ")).unwrap().to_owned();
        let shown = Command::new("sh").args(["-c", &next]).current_dir(folder.path()).output().unwrap();
        assert!(String::from_utf8_lossy(&shown.stdout).contains("<invoice>"), "{next}: {shown:?}");
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 1, "only the demo's own folder: {left:?}");
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
        "<answers xmlns=\"https://xml-pipeline.org/ns/core/v1\"><item ordinal=\"1\"><system-error>",
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
fn h1_the_clerk_mends_by_what_the_refusal_says_and_by_nothing_else() {
    let told =
        |number: &str| clerk_told(&["<try>&lt;a:quantity&gt;", number, "&lt;/a:quantity&gt;</try>"].concat());
    assert!(told("1").lines().last().unwrap().contains("quantity>1<"), "{}", told("1"));
    assert!(told("7").lines().last().unwrap().contains("quantity>7<"), "{}", told("7"));
    assert!(clerk_told("").lines().last().unwrap().contains("failure"), "without advice it is lost");
}
