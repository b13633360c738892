//! `systole demo` as a reader runs it, and the command that it prints last.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::terminal::Terminal;

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
fn h1_the_demo_shows_every_scene_and_its_last_line_runs() {
    let folder = tempfile::tempdir().unwrap();
    for round in ["first", "again"] {
        let ran = systole(&["demo"], folder.path());
        let said = String::from_utf8(ran.stdout).unwrap();
        assert!(ran.status.success(), "{round}: {said}{}", String::from_utf8_lossy(&ran.stderr));
        for words in [
            "What makes a heart beat?",
            "record 1 of sess-",
            "<search> query=\"heart beat\" limit=50",
            "limit: 50 is more than 10, the largest allowed",
            "<limit>10</limit>, or leave limit out",
            "<search> query=\"heart beat\" limit=10",
            "<thinking>The question is how fast",
            "is gone; it could not save anything",
            "reads the log, asks only researcher again",
            "At rest some 70 times a minute.",
            "There is no terminal to ask at, so the request expires.",
            "Approval a1 has expired.",
            "That is not on the board.",
            "records, none altered; your answer is among them",
            "10 answered, 1 cut off by the kill",
        ] {
            assert!(unwrapped(&said).contains(words), "{round}: {words} is not in\n{said}");
        }
        // The width of the command depends on the paths of the program and the folder.
        let fits = |line: &str| line.chars().count() <= 80 || line.starts_with("next: ");
        assert!(said.lines().all(fits), "{said}");
        assert!(
            said.lines().count() <= 40,
            "it fits on two screens of 24 lines, with room to spare:\n{said}"
        );
        assert!(steps(&said).iter().all(|lines| (1..=5).contains(lines)), "{said}");
        assert!(!said.contains('\u{1b}'), "no colour without a terminal");
        let next: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("next: ")).collect();
        let shown = Command::new("sh").args(["-c", next[0]]).current_dir(folder.path()).output().unwrap();
        assert!(String::from_utf8_lossy(&shown.stdout).contains("approval.expired"), "{next:?}: {shown:?}");
        assert!(next[1].ends_with(" init hello"), "{next:?}");
        let log = next[0].split_once("--log ").unwrap().1.trim_matches('\'');
        let read = systole_checker::log::LogSnapshot::open_file(Path::new(log)).unwrap();
        let report = systole_checker::check_log(&read, &[]);
        assert!(report.findings.is_empty() && report.counts.records > 50, "{report:?}");
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 1, "only the demo's own folder: {left:?}");
}

/// A wrapped text, on one line.
fn unwrapped(said: &str) -> String {
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The number of lines below the heading of each step.
fn steps(said: &str) -> Vec<usize> {
    let is_heading = |part: &&str| part.starts_with(|c: char| c.is_ascii_digit());
    let steps: Vec<usize> =
        said.split("\n\n").filter(is_heading).map(|part| part.lines().count() - 1).collect();
    assert_eq!(steps.len(), 5, "{said}");
    steps
}

/// Starts the demo on a terminal, and waits until it asks.
fn asked(folder: &Path) -> Terminal {
    let variables = [("TMPDIR", folder.to_str().unwrap()), ("NO_COLOR", "1")];
    let mut terminal = Terminal::start(folder, &["demo"], &variables);
    terminal.shows("It expires after 20 s.");
    terminal
}

/// The number of notes on the demo's board.
fn pinned(folder: &Path) -> usize {
    let board = format!("systole-demo-{}/board", rustix::process::getuid().as_raw());
    std::fs::read_dir(folder.join(board)).map_or(0, |notes| notes.count())
}

#[test]
fn h1_the_reader_approves_or_rejects_at_the_terminal() {
    for (typed, told, ends) in [
        ("y\n", "Approval a1: approved by operator.", "That is on the board."),
        ("what\nno\n", "Approval a1: rejected by operator.", "That is not on the board."),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut terminal = asked(folder.path());
        terminal.types(typed);
        let (code, said) = terminal.end();
        assert_eq!(code, Some(0), "{said}");
        assert!(unwrapped(&said).contains(told) && unwrapped(&said).contains(ends), "{said}");
        assert_eq!(said.contains("Please type y or n"), typed != "y\n", "{said}");
        assert_eq!(pinned(folder.path()), usize::from(typed == "y\n"), "only what was approved, and once");
    }
}

/// One deadline applies, for any input.
#[test]
fn h1_the_demo_ends_well_when_no_one_answers_and_when_only_nonsense_is_typed() {
    let (silent, nonsense) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (unanswered, mut answered) = (asked(silent.path()), asked(nonsense.path()));
    for _ in 0..5 {
        let told = answered.seen().matches("Please type y or n").count();
        answered.types("maybe\n");
        while answered.seen().matches("Please type y or n").count() == told {
            answered.shows_more();
        }
    }
    for (terminal, folder) in [(unanswered, &silent), (answered, &nonsense)] {
        let (code, said) = terminal.end();
        assert_eq!(code, Some(0), "{said}");
        for words in
            ["No answer, so the request expires.", "Approval a1 has expired.", "none altered; your answer"]
        {
            assert!(unwrapped(&said).contains(words), "{words} is not in\n{said}");
        }
        assert_eq!(pinned(folder.path()), 0);
    }
}

/// Starts the demo with stdin on one terminal and stdout on another, closes the first when the demo asks, and waits
/// for all processes that it started. With `hangup`, both are the demo's own terminal, which disappears as a whole.
const CLOSES: &str = r#"
import ctypes, os, pty, signal, sys
signal.alarm(300)
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)    # orphans of the demo become children of this process
said = b""
def read(fd):
    global said
    try: got = os.read(fd, 4096)
    except OSError: return False
    said += got
    return bool(got)
if sys.argv[1] == "hangup":
    pid, screen = pty.fork()
    if pid == 0: os.execvp(sys.argv[2], sys.argv[2:])
    keys = screen
else:
    keys, stdin = pty.openpty()
    screen, stdout = pty.openpty()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.dup2(stdin, 0), os.dup2(stdout, 1)
        os.closerange(3, 64)
        os.execvp(sys.argv[2], sys.argv[2:])
    os.close(stdin), os.close(stdout)
while b"It expires after" not in said: read(screen)
os.close(keys)
while keys != screen and read(screen): pass
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
try:
    while True: os.wait()
except ChildProcessError: pass
sys.stdout.buffer.write(said)
print("\nended", code)
"#;

#[test]
fn h1_the_demo_leaves_nothing_behind_when_its_terminal_closes() {
    // After a hangup the demo ends by the signal, or because it can no longer read and write, whichever comes first.
    for (how, ends, words) in [
        (
            "input",
            &["ended 0"][..],
            "There is no more input, so the demo rejects it. Approval a1: rejected by operator.",
        ),
        ("hangup", &["ended -1", "ended 5"], "It expires after 20 s."),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let ran = Command::new("python3")
            .args(["-c", CLOSES, how, env!("CARGO_BIN_EXE_systole"), "demo"])
            .env("TMPDIR", folder.path())
            .env("NO_COLOR", "1")
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success(), "{how}: {said}{}", String::from_utf8_lossy(&ran.stderr));
        assert!(ends.iter().any(|end| said.trim_end().ends_with(end)), "{how}: {said}");
        assert!(unwrapped(&said).contains(words), "{how}: {said}");
        assert_eq!(pinned(folder.path()), 0);
    }
}

#[test]
fn h1_without_python_the_demo_says_so_in_one_line_and_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_systole"))
        .arg("demo")
        .env("PATH", folder.path())
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    let told = String::from_utf8(ran.stderr).unwrap();
    assert_eq!((ran.status.code(), ran.stdout.len(), told.lines().count()), (Some(5), 0, 1), "{told}");
    assert!(told.starts_with("error: the demo needs python3, which is not on PATH; install it"), "{told}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was written");
}

#[test]
fn h1_a_folder_that_the_demo_did_not_make_is_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join(format!("systole-demo-{}", rustix::process::getuid().as_raw()));
    std::fs::create_dir(&taken).unwrap();
    std::fs::write(taken.join("precious"), "x").unwrap();
    let ran = systole(&["demo"], folder.path());
    assert_eq!(ran.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("is not the demo's"), "{ran:?}");
    assert!(taken.join("precious").exists());
}

/// The clerk's answer if the stock's refusal says `advice`.
fn clerk_told(advice: &str) -> String {
    let envelope = |payload: &str| {
        format!(
            "<message xmlns=\"https://xml-pipeline.org/ns/envelope/v1\"><meta><from>core</from><thread>t</thread><stamp xmlns=\"urn:systole:stamp:v1\" call=\"1\" delivery=\"d\"/></meta>{payload}</message>\n"
        )
    };
    let order = "<order xmlns=\"https://xml-pipeline.org/ns/clerk/v1\"><item>tea</item><quantity>0</quantity><street>s</street></order>";
    let refusal = format!(
        "<answers xmlns=\"https://xml-pipeline.org/ns/core/v1\"><item ordinal=\"2\"><system-error>{advice}</system-error></item></answers>"
    );
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
        std::fs::write(team.join("organism.yaml"), file.replace("int 1..10", &format!("int 1..{limit}")))
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
fn h1_the_clerk_fixes_its_call_using_only_the_refusal() {
    let told =
        |number: &str| clerk_told(&format!("<try>&lt;a:quantity&gt;{number}&lt;/a:quantity&gt;</try>"));
    assert!(told("1").lines().last().unwrap().contains("quantity>1<"), "{}", told("1"));
    assert!(told("7").lines().last().unwrap().contains("quantity>7<"), "{}", told("7"));
    assert!(clerk_told("").lines().last().unwrap().contains("failure"), "without advice it is lost");
}
