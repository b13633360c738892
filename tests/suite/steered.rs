//! `systole steer` as a person uses it, and how a listener reads its request in a later turn.

use crate::organism::folder;
use crate::program::{Running, systole};

const FILE: &str = "organism: {name: hello}
listeners:
  sleeper: {run: [python3, sleeper.py], accepts: [ask], returns: [answer], turns: 4, entry: true}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";

/// Sleeps in its first turn, and replies in the next with what it got, with its stamp.
const SLEEPER: &str = r#"
import sys, re
from xml.sax.saxutils import escape
CORE = "https://xml-pipeline.org/ns/core/v1"
for line in sys.stdin:
    if not line.startswith("<message"): continue
    delivery = re.search('delivery="([^"]*)"', line).group(1)
    items = f'<set-timer xmlns="{CORE}" after="1h">late</set-timer><await-threads xmlns="{CORE}" mode="all"/>'
    if ' turn="1"' not in line:
        items = f'<answer xmlns="https://xml-pipeline.org/ns/talk/v1">{escape(line.strip())}</answer>'
    print(f'<reply xmlns="urn:systole:listener:v1" delivery="{delivery}">{items}</reply>', flush=True)
"#;

#[test]
fn e16_a_person_steers_with_words_alone_and_the_stamp_names_the_request() {
    let folder = folder(&[("organism.yaml", FILE), ("sleeper.py", SLEEPER)]);
    let at = folder.path();
    let none = systole(at, &["steer", "@last", "stop"]);
    assert_eq!(none.code, Some(5), "there is no log yet: {none:?}");
    let organism = Running::organism(at);
    // The second message of a thread: its request is not the thread's first record.
    for (key, thread) in [("k1", "new"), ("k2", "@last")] {
        let sent = systole(at, &["send", "ask", "Sleep", "--key", key, "--thread", thread, "--no-wait"]);
        assert_eq!(sent.code, Some(0), "{sent:?}");
        // A mistake in the file does not keep anyone from what runs.
        std::fs::write(at.join("organism.yaml"), FILE.to_owned() + "mode: onec\n").unwrap();
        let steered = systole(at, &["steer", "@last", "Stop & answer"]);
        assert_eq!(steered.code, Some(0), "{steered:?}");
        assert!(steered.stderr.contains("taken as record "), "{steered:?}");
        assert_eq!(steered.stderr.matches("runs with the file as it was").count(), 1, "{steered:?}");
        std::fs::write(at.join("organism.yaml"), FILE).unwrap();
        let answer = systole(at, &["send", "ask", "Sleep", "--key", key, "--thread", thread]);
        assert_eq!(answer.code, Some(0), "{answer:?}");
        assert!(
            answer.stdout.contains("from=\"operator\"") && answer.stdout.contains("Stop &amp;amp; answer"),
            "{answer:?}"
        );
        let receipt = sent.stderr.split("taken as record ").nth(1).unwrap();
        let seq = receipt.split(' ').next().unwrap();
        assert!(answer.stdout.contains(&format!(" request=\"{seq}\"")), "{seq} is its request: {answer:?}");
        assert!(answer.stdout.contains(" turn=\"2\""), "{answer:?}");
    }
    for (arguments, code, words) in [
        (["steer", "@last", "late"], 4, "thread.resting: no call is open"),
        (["steer", "@last", " "], 2, "no text"),
        (["steer", "nothing", "x"], 2, "nothing"),
    ] {
        let ran = systole(at, &arguments);
        assert!(ran.code == Some(code) && ran.stderr.contains(words), "{arguments:?}: {ran:?}");
    }
    organism.interrupt();
}
