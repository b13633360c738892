//! `systole fork`: the beginning of a thread in a log of its own, from which it goes on differently.

use crate::log_evidence::thread;
use crate::organism::folder;
use crate::program::{Running, systole};
use crate::replay::{FIRST, agent, heads, log_in, placed, plays, question, stop};

#[test]
fn c5_a_fork_shares_its_prefix_and_goes_on_under_another_file() {
    let folder = agent();
    let at = folder.path();
    let root = thread(at, FIRST);
    let forked = systole(at, &["fork", &format!("{root}@2"), "-o", "fork.db", "--json"]);
    assert_eq!(forked.code, Some(0), "{forked:?}");
    let told = forked.json_lines().remove(0);
    assert_eq!((&told["turn"], &told["call"]), (&2.into(), &"1".into()));

    // The copied records are the same, with their hashes; then comes the marker, whose origin is the last head.
    let (first, second) = (heads(at, "hello.db", root.as_str()), heads(at, "fork.db", root.as_str()));
    let shared = second.len() - 1;
    for (one, other) in first.iter().zip(&second).take(shared) {
        for field in ["seq", "id", "kind", "code", "time", "body", "head"] {
            assert_eq!(one[field], other[field], "{field}: {one} {other}");
        }
    }
    assert_eq!(first[shared]["turn"], 2);
    assert!(second[shared]["body"].as_str().unwrap().starts_with("<forked "), "{}", second[shared]);
    assert_eq!(second[shared]["origin"], second[shared - 1]["head"]);
    assert_eq!(second[shared]["origin"], told["continues"]);
    for command in ["verify", "doctor"] {
        let ran = systole(at, &[command, "--log", "fork.db"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }

    // It goes on under another file, and the threads differ from that turn on.
    let text = std::fs::read_to_string(at.join("organism.yaml")).unwrap();
    let edited = text.replace("in one sentence.", "in two sentences.").replace("hello.db", "fork.db");
    std::fs::write(at.join("organism.yaml"), edited).unwrap();
    let mut running = Running::organism_set(at, &["--show", "--set", "console.listen=127.0.0.1:0"], &[]);
    running.shows("There are 3 letters");
    stop(running);
    let ran =
        systole(at, &["diff", root.as_str(), root.as_str(), "--log", "hello.db", "--against", "fork.db"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("call 1 turn 2, journal: prompt"), "{ran:?}");
    let ran = systole(at, &["replay", "--log", "fork.db", root.as_str()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn c5_a_turn_that_a_call_does_not_have_is_refused() {
    let failing = "organism: {name: hello}\nlisteners:\n  bad: {run: [sh, -c, exit 3], accepts: [ask], returns: [answer], entry: true, retry: {attempts: 1}}\nlog: {path: ./hello.db}\n";
    let failed = folder(&[("organism.yaml", failing)]);
    assert_eq!(systole(failed.path(), &["send", "ask", "x"]).code, Some(1));
    let answered = agent();
    for (at, beyond, last) in [(failed.path(), [2, 99], 1), (answered.path(), [3, 99], 2)] {
        for turn in beyond {
            let ran = systole(at, &["fork", &format!("@last@{turn}"), "-o", "fork.db"]);
            let words = format!("call 1 has no turn {turn}; its last is {last}");
            assert!(ran.code == Some(2) && ran.stderr.contains(&words), "{words}: {ran:?}");
            assert!(!at.join("fork.db").exists());
        }
        let ran = systole(at, &["fork", &format!("@last@{last}"), "-o", "fork.db"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
}

#[test]
fn c5_a_fork_in_the_middle_of_work_is_refused() {
    let folder = placed("team");
    let at = folder.path();
    plays(at, &[("coordinator", question("What makes a heart beat?"))]);
    let log = log_in(at);
    let log = log.to_str().unwrap();
    let fork = |turn: &str, more: &[&str]| {
        systole(at, &[&["fork", turn, "--log", log, "-o", "fork.db"], more].concat())
    };
    let mut at_work = 0;
    for turn in 1..=5 {
        let ran = fork(&format!("@last@{turn}"), &[]);
        if ran.stderr.contains("was at work") {
            assert_eq!(ran.code, Some(2), "{ran:?}");
            at_work += 1;
        }
        for end in ["", "-wal", "-shm", ".tip", ".secret", ".lock"] {
            drop(std::fs::remove_file(at.join(format!("fork.db{end}"))));
        }
    }
    assert!(at_work > 0, "the coordinator's children work between two of its turns");
    for (turn, more, words) in [
        ("@last", &[][..], "names no turn"),
        ("@last@99999999999999999999", &[][..], "try: systole fork @last@2"),
        ("sys@1", &[][..], "sys has no turns"),
        ("@last@99", &[], "has no turn 99"),
        ("@last@0", &[], "has no turn 0"),
        ("@last@1", &["--call", "7"], "has no call 7"),
    ] {
        let ran = fork(turn, more);
        assert_eq!(ran.code, Some(2), "{turn}: {ran:?}");
        assert!(ran.stderr.contains(words), "{turn}: {ran:?}");
        assert!(!at.join("fork.db").exists(), "{turn}");
    }
    std::fs::write(at.join("fork.db"), "mine").unwrap();
    let ran = fork("@last@1", &[]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(std::fs::read(at.join("fork.db")).unwrap(), b"mine");
}
