//! `systole ask`: a question and its answer, with a running organism and without one; and a conversation on a
//! terminal.

use std::path::Path;
use std::process::Command;

use crate::organism::folder;
use crate::program::{Ran, Running, systole, systole_with_stdin};
use crate::terminal::{Terminal, lines_that_stay};

/// The folder of the first listeners, with `answer` as the entry.
fn first() -> tempfile::TempDir {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/first-listeners");
    let folder = tempfile::tempdir().unwrap();
    for file in ["organism.yaml", "answer.sh", "answer.py"] {
        std::fs::copy(from.join(file), folder.path().join(file)).unwrap();
    }
    // The organisms of two tests may run at once.
    let yaml = std::fs::read_to_string(folder.path().join("organism.yaml")).unwrap();
    let yaml = yaml + "console: {listen: 127.0.0.1:0}\n";
    std::fs::write(folder.path().join("organism.yaml"), yaml).unwrap();
    folder
}

fn is(ran: &Ran, code: i32, stdout: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), stdout), "{ran:?}");
}

#[test]
fn a_question_in_words_has_an_answer_in_words() {
    let folder = first();
    let ask = |arguments: &[&str]| systole(folder.path(), &[&["ask"], arguments].concat());
    let alone = ask(&["a < b & \"c\""]);
    is(&alone, 0, "You asked: a < b & \"c\"\n");
    assert_eq!(alone.stderr, "", "nothing is said about the way");
    is(&ask(&["--to", "answer-py", "a < b & \"c\""]), 0, "You asked: a < b & \"c\"\n");
    is(&systole_with_stdin(folder.path(), &["ask"], "from a pipe\n"), 0, "You asked: from a pipe\n");
    is(&ask(&["What", "is  it", "--to", "answer-py", "now?"]), 0, "You asked: What is  it now?\n");

    let organism = Running::organism(folder.path());
    is(&ask(&["through"]), 0, "You asked: through\n");
    is(&ask(&["--thread", "@last", "again"]), 0, "You asked: again\n");
    let json = ask(&["--json", "--thread", "@last", "more"]);
    organism.interrupt();
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((json["outcome"].as_str(), json["receipt"]["seq"].as_u64()), (Some("answered"), Some(5)));
    assert_eq!(json["record"]["text"], "You asked: more", "{json}");
    assert_eq!(json["record"]["json"], serde_json::json!({".": "You asked: more"}), "{json}");
}

#[test]
fn a_question_that_cannot_be_answered_is_reported_with_its_fix() {
    let folder = first();
    for nothing in ["", " \n"] {
        let none = systole(folder.path(), &["ask", nothing]);
        assert!(none.code == Some(2) && none.stderr.contains("no question"), "{none:?}");
    }
    let escape = systole(folder.path(), &["ask", "a\u{1b}[31mb"]);
    is(&escape, 4, "");
    assert!(escape.stderr.contains("the question holds U+001B as character 2"), "{escape:?}");
    assert!(!folder.path().join("organism.db").exists(), "nothing was recorded");
    std::fs::write(folder.path().join("answer.sh"), "#!/bin/sh\necho no luck >&2; exit 3\n").unwrap();
    let failed = systole(folder.path(), &["ask", "Who?"]);
    is(&failed, 1, "");
    assert!(failed.stderr.starts_with("error: listener.failed: answer: exited 3 "), "{failed:?}");
    assert!(failed.stderr.contains("no luck"), "{failed:?}");
    let unknown = systole(folder.path(), &["ask", "--to", "nobody", "hi"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("try: answer, answer-py"), "{unknown:?}");
    let unknown = systole(folder.path(), &["ask", "--thread", "sess-00000000", "hi"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");

    let beat = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/beat");
    let shop = systole(&beat, &["ask", "hi"]);
    is(&shop, 2, "");
    assert!(shop.stderr.contains("clerk does not take questions: it takes <order>"), "{shop:?}");
    assert!(shop.stderr.contains("try: systole send ") && !beat.join("beat.db").exists(), "{shop:?}");
}

#[test]
fn without_an_entry_the_only_one_that_takes_a_question_is_asked() {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/first-listeners");
    let read = |file: &str| std::fs::read_to_string(from.join(file)).unwrap();
    let yaml = read("organism.yaml").replace(", entry: answer}", "}");
    let files = |yaml: &str| folder(&[("organism.yaml", yaml), ("answer.py", &read("answer.py"))]);
    let both = systole(files(&yaml).path(), &["ask", "hi"]);
    assert!(
        both.code == Some(2)
            && both.stderr.contains("more than one listener takes a question: answer, answer-py"),
        "{both:?}"
    );
    let one: String =
        yaml.lines().filter(|line| !line.contains("answer.sh")).flat_map(|line| [line, "\n"]).collect();
    is(&systole(files(&one).path(), &["ask", "hi"]), 0, "You asked: hi\n");
    let none = systole(files(&one.replace(", entry: true", "")).path(), &["ask", "hi"]);
    assert!(
        none.code == Some(2) && none.stderr.contains("try: a listener with `accepts: [ask]`"),
        "{none:?}"
    );
}

/// Answers after something is written into the pipe `go`.
const WAITS: &str = "#!/bin/sh\nread line < go\necho '<answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Hello</answer>'\n";

#[test]
fn on_a_terminal_a_line_says_who_works_and_goes_when_the_answer_comes() {
    let folder = first();
    std::fs::write(folder.path().join("answer.sh"), WAITS).unwrap();
    assert!(Command::new("mkfifo").arg(folder.path().join("go")).status().unwrap().success());
    let say_go = || std::fs::write(folder.path().join("go"), "go\n").unwrap();
    let payload = folder.path().join("question.xml");
    std::fs::write(payload, "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Who?</ask>").unwrap();
    let waits = |arguments: &[&str]| {
        let mut terminal = Terminal::start(folder.path(), arguments, &[]);
        terminal.shows("answer works, ");
        say_go();
        let (code, screen) = terminal.end();
        assert_eq!(code, Some(0), "{screen}");
        assert!(!lines_that_stay(&screen).join("\n").contains("works"), "the line is taken away: {screen}");
        screen
    };
    assert_eq!(lines_that_stay(&waits(&["ask", "Who", "is", "there?"])), ["Hello"]);
    let organism = Running::organism(folder.path());
    assert_eq!(lines_that_stay(&waits(&["ask", "Who?"])), ["Hello"]);
    assert!(waits(&["send", "--to", "answer", "--file", "question.xml"]).contains("Hello"));
    organism.interrupt();

    // Otherwise the output does not mention the progress.
    let asking = Running::start(folder.path(), &["ask", "Who?"]);
    say_go();
    let asked = asking.end();
    assert_eq!((asked.code, asked.stdout.as_str(), asked.stderr.as_str()), (Some(0), "Hello\n", ""));
}

/// Types lines into a command on a terminal, each when it is asked for, and prints what the terminal shows.
const TYPIST: &str = r#"
import os, pty, select, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
def until(text):
    out = b""
    while text not in out:
        ready, _, _ = select.select([fd], [], [], 60)
        assert ready, out
        try: got = os.read(fd, 4096)
        except OSError: break
        if not got: break
        out += got
    sys.stdout.write(out.decode())
for line in ["one\n", "\n", "two\n", "\x04"]:
    until(b"> ")
    os.write(fd, line.encode())
until(b"never")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

#[test]
fn on_a_terminal_it_is_a_conversation_in_one_thread() {
    let folder = first();
    let talk = || {
        let program = env!("CARGO_BIN_EXE_systole");
        let ran =
            Command::new("python3").args(["-c", TYPIST, program, "ask"]).current_dir(folder.path()).output();
        let ran = ran.unwrap();
        let shown = String::from_utf8(ran.stdout).unwrap();
        assert!(ran.status.success(), "{shown} {}", String::from_utf8_lossy(&ran.stderr));
        for wanted in [
            "answer listens",
            "You asked: one",
            "You asked: two",
            "rests; go on with: systole ask --thread sess-",
        ] {
            assert!(shown.contains(wanted), "wanted {wanted:?}: {shown}");
        }
    };
    talk();
    let organism = Running::organism(folder.path());
    talk();
    organism.interrupt();
    let ps = systole(folder.path(), &["ps", "--json"]);
    assert_eq!(ps.stdout.matches("\"thread\":\"sess-").count(), 2, "a thread for each conversation: {ps:?}");
}
