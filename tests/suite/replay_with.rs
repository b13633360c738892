//! `systole replay --with`: the recorded requests of one listener go to another program.

use std::path::Path;

use serde_json::Value;

use crate::program::{Ran, systole};
use crate::replay::{agent, named, plays, question};

fn replayed(at: &Path, with: &str, more: &[&str]) -> Ran {
    systole(at, &[&["replay", "--log", "hello.db", "--with", with][..], more].concat())
}

fn difference(at: &Path, with: &str) -> Value {
    let ran = replayed(at, with, &["--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.json_lines()[0]["differences"][0].clone()
}

#[test]
fn c4_the_recorded_requests_of_a_listener_go_to_another_program() {
    let folder = agent();
    let at = folder.path();
    let whole = std::fs::read(at.join("hello.db")).unwrap();
    let script = std::fs::read_to_string(at.join("listeners/letters.py")).unwrap();
    // No model answers, and only the program that is named is started.
    std::fs::remove_file(at.join("replies.yaml")).unwrap();
    let touched = format!("open('started', 'a').write('x')\n{script}");
    std::fs::write(at.join("listeners/letters.py"), &touched).unwrap();
    std::fs::write(at.join("same.py"), &script).unwrap();
    let same = replayed(at, "letters=python3 same.py", &[]);
    assert_eq!(same.code, Some(0), "{same:?}");
    assert!(same.stdout.contains(", equal\n"), "{same:?}");
    assert!(same.stdout.contains("the program in place of letters got 1 request\n"), "{same:?}");
    assert!(!at.join("started").exists(), "the listener's own program is not started");

    // Another answer is the first difference, with both texts.
    let wrong = script.replace("str(times)", "str(times + 4)");
    assert_ne!(wrong, script);
    std::fs::write(at.join("wrong.py"), wrong).unwrap();
    let first = difference(at, "letters=python3 wrong.py");
    assert_eq!(
        (&first["part"], &first["recorded"]["thread"].is_string()),
        (&"body".into(), &true),
        "{first:#}"
    );
    let texts = [("recorded", ">3</"), ("replayed", ">7</")];
    for (side, text) in texts {
        assert!(first[side]["text"].as_str().unwrap().contains(text), "{first:#}");
    }
    let shown = replayed(at, "letters=python3 wrong.py", &["--all"]);
    assert!(shown.stdout.contains("first difference: sess-"), "{shown:?}");
    assert!(shown.stdout.contains("0 same, 1 differ"), "{shown:?}");

    // A program that is missing, that fails or that says nonsense is a difference, and ends.
    for (program, words) in [
        ("absent.py", "No such file or directory"),
        ("falls.py", "too bad"),
        ("nonsense.py", "not part of the listener protocol"),
    ] {
        if program == "falls.py" {
            std::fs::write(at.join(program), "import sys\nsys.stdin.readline()\nsys.exit('too bad')\n")
                .unwrap();
        } else if program == "nonsense.py" {
            std::fs::write(
                at.join(program),
                script.replace("ET.tostring(reply, encoding=\"unicode\")", "'<reply>'"),
            )
            .unwrap();
        }
        let ran = replayed(at, &format!("letters=python3 {program}"), &[]);
        assert_eq!(ran.code, Some(1), "{program}: {ran:?}");
        assert!(ran.stdout.contains("differs"), "{program}: {ran:?}");
        assert!(ran.stdout.contains(words), "{program}: {ran:?}");
    }
    assert_eq!(std::fs::read(at.join("hello.db")).unwrap(), whole, "a replay writes nothing");
}

#[test]
fn c4_a_program_that_starts_for_each_message_answers_every_recorded_request() {
    let folder = named("hello");
    let at = folder.path();
    let asked = ["one", "two", "three"].map(|words| ("greeter", question(words)));
    plays(at, &asked);
    let ran = replayed(at, "greeter=sh listeners/greeter.sh", &["--all"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("3 same, 0 differ"), "{ran:?}");
    assert!(ran.stdout.contains("the program in place of greeter got 3 requests"), "{ran:?}");
    // Nothing was compared, so nothing is different.
    let ran = replayed(at, "greeter=./typo", &[]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(!ran.stdout.contains("differs"), "{ran:?}");
    assert!(ran.stderr.contains("the program in place of greeter: cannot start ./typo"), "{ran:?}");
    let script = std::fs::read_to_string(at.join("listeners/greeter.sh")).unwrap();
    std::fs::write(at.join("edited.sh"), script.replace("Hello.", "Good day.")).unwrap();
    let ran = replayed(at, "greeter=sh edited.sh", &["--all"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for line in ["-   Hello. You said: one", "+   Good day. You said: one", "0 same, 3 differ"] {
        assert!(ran.stdout.contains(line), "no {line:?} in {ran:?}");
    }
}

#[test]
fn c4_a_name_that_gets_no_request_is_an_error_alone() {
    let folder = agent();
    let at = folder.path();
    let export = systole(at, &["export", "@last", "-o", "t.zip"]);
    assert_eq!(export.code, Some(0), "{export:?}");
    for more in [&[][..], &["--json"], &["--all"], &["--all", "--json"], &["--since", "1d"], &["t.zip"]] {
        let ran = systole(at, &[&["replay", "--with", "nobody=sh x.sh"], more].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{more:?}: {ran:?}");
        assert!(ran.stderr.contains("no request to nobody is recorded there"), "{more:?}: {ran:?}");
    }
}

#[test]
fn c4_what_cannot_stand_in_for_a_listener_is_refused() {
    let folder = agent();
    let at = folder.path();
    for (with, words) in [
        ("letters", "the name of a listener, `=` and a program"),
        ("letters=", "no program is named after `letters=`"),
        ("no name=sh", "is no name of a listener"),
        ("absent=sh x.sh", "no request to absent is recorded there"),
        ("assistant=sh x.sh", "assistant is no program that Systole starts"),
    ] {
        let ran = replayed(at, with, &[]);
        assert_eq!(ran.code, Some(2), "{with}: {ran:?}");
        assert!(ran.stderr.contains(words), "{with}: {ran:?}");
    }
}
