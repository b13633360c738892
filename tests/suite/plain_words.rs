//! The program's messages about something that does not exist, cannot be read or has no name: always what was meant,
//! why it failed, and what to do; never only the text of the operating system, and never a sentence without a
//! subject.

use std::path::Path;

use crate::audit_stage::{Actor, cast};
use crate::organism::folder;
use crate::program::{Ran, systole, systole_with_stdin};

const FILE: &str = "organism: {name: hello, entry: greeter}
listeners:
  greeter: {run: [sh, greeter.sh], mode: once, accepts: [ask, empty, search], returns: [answer], entry: true}
console: {listen: '127.0.0.1:0'}
payloads:
  empty: {}
  search: {query: word, limit?: int 1..10}
";

const GREETER: &str = "cat >/dev/null; exit 0\n";

fn house() -> tempfile::TempDir {
    folder(&[("organism.yaml", FILE), ("greeter.sh", GREETER)])
}

/// Checks the exit code, and that the output has all of these texts.
#[track_caller]
fn tells(ran: &Ran, code: i32, all: &[&str]) {
    let told = [ran.stdout.as_str(), ran.stderr.as_str()].concat();
    assert_eq!(ran.code, Some(code), "{ran:?}");
    for words in all {
        assert!(told.contains(words), "no {words:?} in\n{told}");
    }
}

#[test]
fn every_command_reports_an_empty_name_as_empty() {
    let house = house();
    let systole = |arguments: &[&str]| systole(house.path(), arguments);
    tells(
        &systole(&["send", "", "x"]),
        2,
        &["error: the name of the element is empty; open are ask, empty, search"],
    );
    for what in ["show", "example", "prompt", "json"] {
        let words =
            ["error: the name of the element is empty", "there are empty, search, ask, ask-with, answer"];
        tells(&systole(&["schema", what, ""]), 2, &words);
    }
    tells(
        &systole(&["explain", ""]),
        2,
        &["error: the word is empty", "try: systole explain, which lists all codes"],
    );
    tells(
        &systole(&["listener", "try", ""]),
        2,
        &["error: the name of the listener is empty", "try: greeter; "],
    );
    tells(&systole(&["send", "empty", ".=x"]), 4, &["\n  .: empty holds nothing\n"]);
    // In a log with several threads none is the default, least of all the thread `sys`.
    for key in ["a", "b"] {
        tells(&systole(&["send", "--key", key, "search", "query=x"]), 1, &["taken as record 1"]);
    }
    for arguments in [
        &["tree", ""][..],
        &["why", ""],
        &["log", ""],
        &["todo", ""],
        &["trail", ""],
        &["cancel", ""],
        &["pause", ""],
        &["resume", ""],
        &["retry", ""],
        &["end", ""],
        &["ask", "--thread", "", "x"],
        &["send", "--thread", "", "search", "query=x"],
    ] {
        let ran = systole(arguments);
        tells(&ran, 2, &["error: the name of the thread is empty\n", "  try: @last, or one of systole ps\n"]);
        assert!(!ran.stderr.contains("sys\n"), "{ran:?}");
    }
    for only in ["~\n", "null\n", "--- ~\n", "''\n", "\"\"\n"] {
        std::fs::write(house.path().join("organism.yaml"), only).unwrap();
        tells(&systole(&["check"]), 3, &["error[config.missing]: the file is empty"]);
    }
}

#[test]
fn a_code_that_only_shares_letters_with_another_is_not_near_to_it() {
    let house = house();
    for (typed, fix) in [
        ("zzzz", "systole explain, which lists all codes"),
        ("threat", "systole explain thread"),
        ("thread-spwaned", "systole explain thread-spawned"),
        ("dialekt", "systole explain dialect"),
        ("not-a-per", "systole explain route.not-a-peer"),
        ("unreach", "systole explain config.unreached"),
    ] {
        let ran = systole(house.path(), &["explain", typed]);
        tells(&ran, 2, &[&format!("  try: {fix}\n")]);
    }
}

#[test]
fn a_message_with_a_name_that_is_nearly_right_is_given_the_right_one() {
    let house = house();
    let send = |ns: &str, name: &str| {
        let payload =
            format!("<{name} xmlns=\"https://xml-pipeline.org/ns/{ns}/v1\"><query>x</query></{name}>");
        systole_with_stdin(house.path(), &["send"], &payload)
    };
    let wanted = "  try      write <search xmlns=\"https://xml-pipeline.org/ns/hello/v1\">\n";
    tells(&send("hello", "serach"), 4, &["refused: payload.no-such-element", wanted]);
    tells(&send("other", "search"), 4, &["refused: route.not-a-peer", wanted]);
    tells(&send("hello", "zzzz"), 4, &["  try      one of the elements that the refusal lists\n"]);
}

#[test]
fn hidden_characters_are_shown_once_and_never_sent_to_a_terminal() {
    let house = house();
    let systole = |arguments: &[&str]| systole(house.path(), arguments);
    tells(
        &systole(&["send", "sea\u{202e}rch", "query=x"]),
        2,
        &["no listener takes sea\\u{202e}rch; try: search"],
    );
    tells(
        &systole(&["send", "search", "query=a\u{7}"]),
        4,
        &["query: holds U+0007, a character that XML cannot carry"],
    );
    tells(&systole(&["send", "search", "q\u{200b}uery=a"]), 4, &["q\\u{200b}uery: is not known in search"]);
    tells(&systole(&["send", "search", "query=x", "--key", "k"]), 1, &[]);
    tells(&systole(&["tree", "x\u{202e}\u{7}"]), 2, &["no thread begins with \"x\\u{202e}\\u{7}\"\n"]);
    for arguments in [
        &["ask", "--to", "x\u{202e}\ny", "hi"][..],
        &["listener", "new", "shell", "x\u{202e}\ny"],
        &["send", "--key", "x\u{202e}\ny", "search", "query=x"],
        &["che\u{202e}\nck"],
    ] {
        let ran = systole(arguments);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(!ran.stderr.contains('\u{202e}') && ran.stderr.contains("\\u{202e}"), "{ran:?}");
        assert!(!ran.stderr.contains("u{5c}") && !ran.stderr.contains("\u{202e}\ny"), "{ran:?}");
    }
}

#[test]
fn a_vocabulary_of_the_house_is_shown_by_its_name() {
    let house = house();
    let show = |name: &str| systole(house.path(), &["schema", "show", name]);
    for (name, xsd) in [
        ("talk", systole_config::TALK_XSD),
        ("talk/", systole_config::TALK_XSD),
        ("core", systole_config::CORE_XSD),
        ("envelope.xsd", systole_config::ENVELOPE_XSD),
    ] {
        let ran = show(name);
        assert_eq!((ran.code, ran.stdout.as_bytes()), (Some(0), xsd), "{name}: {}", ran.stderr);
    }
    let payloads = show("payloads");
    tells(&payloads, 0, &["made of payloads, SHA-256 "]);
    assert_eq!(payloads.stdout, show("search").stdout);
    // An element of the file comes first.
    let yaml = FILE.replace("empty: {}", "empty: {}\n  talk: {long: bool}");
    std::fs::write(house.path().join("organism.yaml"), yaml).unwrap();
    tells(&show("talk"), 0, &["made of payloads, SHA-256 "]);
    tells(&show("talc"), 2, &["no schema declares talc; did you mean talk"]);
}

/// The system's error for a file is not enough: the message also says which file, what it was for, and what to do.
#[test]
fn read_and_write_errors_name_the_purpose_and_the_fix() {
    let house = house();
    let here = house.path();
    std::fs::create_dir(here.join("a-folder")).unwrap();
    std::fs::write(here.join("a-file"), "x").unwrap();
    std::os::unix::fs::symlink("nowhere", here.join("dangling")).unwrap();
    let own_words = |ran: &Ran| {
        let told = [ran.stdout.as_str(), ran.stderr.as_str()].concat();
        assert!(!told.contains("(os error") && told.contains("try: "), "{told}");
    };
    for (arguments, code, words) in [
        (&["init", "a-file"][..], 5, "a-file is a file, and not a folder"),
        (&["init", "a-file/in"], 5, "a-file is a file, and not a folder"),
        (&["init", "dangling"], 5, "dangling is a link to nothing, and not a folder"),
        (&["send", "--file", "nofile"], 2, "nofile, the payload: there is no such file"),
        (&["send", "--file", "a-folder"], 2, "a-folder, the payload: it is a folder, not a file"),
        (&["send", "--file", "a-file/x"], 2, "a-file/x, the payload: a part of the path is not a folder"),
        (&["amend", "a1", "--file", "nofile"], 2, "nofile, the payload: there is no such file"),
        (
            &["listener", "try", "greeter", "--file", "nofile"],
            2,
            "nofile, the payload: there is no such file",
        ),
        (
            &["listener", "try", "--schema", "no.xsd", "./x", "--send", "a"],
            2,
            "no.xsd, the schema: there is no such file",
        ),
        (&["ask", "--log", "nodir/x", "hi"], 5, "nodir/x: the folder for the log does not exist"),
        (
            &["send", "--log", "nodir/x", "search", "query=x"],
            5,
            "nodir/x: the folder for the log does not exist",
        ),
        (&["run", "--log", "nodir/x"], 5, "nodir/x: the folder for the log does not exist"),
        (&["run", "--log", "a-folder"], 5, "a-folder: it is a folder, not a log"),
        (&["ps", "--log", "a-folder"], 5, "a-folder: it is a folder, not a log"),
        (&["graph", "--out", "nodir/x.svg"], 5, "nodir/x.svg, the drawing: there is no such folder"),
        (
            &["graph", "--format", "svg", "--out", "a-folder"],
            5,
            "a-folder, the drawing: it is a folder, not a file",
        ),
    ] {
        let ran = systole(here, arguments);
        tells(&ran, code, &[words]);
        own_words(&ran);
    }
    for (make, words) in [
        ("a-file", "schemas is a file, and not a folder"),
        ("nowhere", "schemas is a link to nothing, and not a folder"),
    ] {
        std::os::unix::fs::symlink(make, here.join("schemas")).unwrap();
        let ran = systole(here, &["schema", "eject"]);
        std::fs::remove_file(here.join("schemas")).unwrap();
        tells(&ran, 5, &[words]);
        own_words(&ran);
    }
    assert_eq!(std::fs::read_to_string(here.join("organism.yaml")).unwrap(), FILE, "nothing was ejected");
}

#[test]
fn a_question_that_is_no_text_or_has_no_end_is_reported_with_its_fix() {
    let house = house();
    let asked = |bytes: &[u8]| {
        std::fs::write(house.path().join("question"), bytes).unwrap();
        let stdin = std::fs::File::open(house.path().join("question")).unwrap();
        let ran = std::process::Command::new(env!("CARGO_BIN_EXE_systole"))
            .arg("ask")
            .current_dir(house.path())
            .stdin(stdin)
            .output()
            .unwrap();
        (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
    };
    let (code, told) = asked(b"one\nt\xc3\xb6\xffwo");
    assert_eq!(code, Some(2), "{told}");
    assert!(
        told.contains("error: stdin, the question: byte 8 is not UTF-8\n  try: the question as UTF-8"),
        "{told}"
    );
    let (code, told) = asked(&vec![b'a'; 2_000_000]);
    assert_eq!(code, Some(2), "{told}");
    let words = "error: stdin, the question: it is longer than 1048576 bytes\n  try: a shorter one";
    assert!(told.contains(words), "{told}");
    // A character that the limit cuts is not reported as a UTF-8 fault.
    let (_, told) = asked("é".repeat(1_000_000).as_bytes());
    assert!(told.contains(words), "{told}");
    assert!(!Path::new(&house.path().join("organism.db")).exists(), "nothing was recorded");
}

#[test]
fn a_call_that_ends_at_a_budget_is_told_in_the_words_of_the_log() {
    let call = "'<search xmlns=\"urn:t\">login</search>'";
    let turns = format!("env: {{TURN_1: {call}, TURN_2: {call}, TURN_3: {call}, TURN_4: {call}}}");
    let house = cast(&[
        Actor("planner", "ask", "answer", &["peers: [search]", "turns: 5", &turns]),
        Actor("search", "search", "found", &["env: {TURN_1: '<found xmlns=\"urn:t\">x</found>'}"]),
    ]);
    let ran = systole(house.path(), &["ask", "--to", "planner", "--set", "budgets.messages=1", "hi"]);
    let words = "error: budget.messages: planner gave no final in its last turn, 3, after its messages were used up\n";
    tells(&ran, 1, &[words, "  try: a higher `budgets.messages` or `turns`, or fewer calls\n"]);
}
