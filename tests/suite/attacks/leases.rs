//! Row 33: replies to deliveries that belong to others, are over, or are made up.

use crate::organism::{ECHO_XSD, folder};
use crate::program::{Events, Running, ask, run_file};
use crate::siege::Siege;

/// A victim that reveals its delivery and answers when the gate opens, a thief that answers in its
/// place, and a sloth that answers only deliveries that it was told to forget.
const YAML: &str = r#"organism: {name: hello}
listeners:
  victim: {run: [python3, victim.py], schema: victim.xsd, accepts: [say], returns: [said], entry: true}
  thief: {run: [python3, thief.py], schema: thief.xsd, accepts: [say], returns: [said], entry: true}
  sloth: {run: [python3, sloth.py], schema: sloth.xsd, accepts: [say], returns: [said], entry: true, timeout: 300ms, retry: {attempts: 1}}
log: {path: ./hello.db}
console: {listen: "127.0.0.1:0"}
"#;

const PRELUDE: &str = r#"import re, sys
def said(who, delivery, text):
    print(f'<reply xmlns="urn:systole:listener:v1" delivery="{delivery}"><said xmlns="https://xml-pipeline.org/ns/{who}/v1"><text>{text}</text></said></reply>', flush=True)
def deliveries():
    for line in sys.stdin:
        yield line, re.search(r'delivery="([^"]*)"', line).group(1)
for line, delivery in deliveries():
"#;

const VICTIM: &str =
    "    open('token', 'w').write(delivery)\n    said('victim', delivery, open('gate').read())\n";
const THIEF: &str = "    said('victim', open('token').read(), 'stolen')\n    said('thief', open('token').read(), 'stolen')\n    said('thief', '0' * 64, 'made up')\n    said('thief', delivery, 'mine')\n    said('thief', delivery, 'twice')\n";
const SLOTH: &str = "    if line.startswith('<cancel'): said('sloth', delivery, 'late')\n";

fn say(who: &str) -> String {
    format!("<say xmlns=\"https://xml-pipeline.org/ns/{who}/v1\"><text>x</text></say>")
}

#[test]
fn row_33_a_reply_counts_only_from_who_holds_the_lease_and_while_it_does() {
    let xsd = |who: &str| ECHO_XSD.replace("/echo/", &format!("/{who}/"));
    let program = |body: &str| format!("{PRELUDE}{body}");
    let folder = folder(&[
        ("organism.yaml", YAML),
        ("victim.xsd", &xsd("victim")),
        ("thief.xsd", &xsd("thief")),
        ("sloth.xsd", &xsd("sloth")),
        ("victim.py", &program(VICTIM)),
        ("thief.py", &program(THIEF)),
        ("sloth.py", &program(SLOTH)),
    ]);
    for pipe in ["gate", "token"] {
        let made = std::process::Command::new("mkfifo").arg(folder.path().join(pipe)).status().unwrap();
        assert!(made.success());
    }
    let organism = Running::organism(folder.path());
    let run = run_file(folder.path());
    let mut events = Events::open(&run, "?from=0", &[]);
    let mut until = |what: &dyn Fn(&serde_json::Value) -> bool| loop {
        let record = events.next().expect("it still runs").2;
        if what(&record) {
            return record;
        }
    };
    let post = |who: &str| ask(&run, "POST", "/v1/messages", &[], &say(who)).json;

    // The victim is asked, and reveals its delivery to any reader of the pipe.
    let victims = post("victim");
    let token = std::fs::read_to_string(folder.path().join("token")).unwrap();
    std::fs::remove_file(folder.path().join("token")).unwrap();
    std::fs::write(folder.path().join("token"), &token).unwrap();
    post("thief");
    for _ in 0..3 {
        let refused = until(&|r| r["code"] == "reply.stale-lease");
        assert_eq!(
            (&refused["kind"], &refused["to"], &refused["thread"]),
            (&"refusal".into(), &"thief".into(), &"sys".into())
        );
        assert!(refused["body"].as_str().unwrap().contains("hash=\""), "{refused}");
        assert!(!refused["body"].as_str().unwrap().contains(&token), "a live token is not told: {refused}");
    }
    let own = until(&|r| r["code"] == "final");
    assert!(own["body"].as_str().unwrap().contains(">mine<"), "{own}");
    let twice = until(&|r| r["code"] == "reply.stale-lease");
    assert_eq!((&twice["to"], &twice["kind"]), (&"thief".into(), &"refusal".into()));

    // The victim's lease is still valid.
    std::fs::write(folder.path().join("gate"), "after all").unwrap();
    let answer = until(&|r| r["code"] == "final" && r["thread"] == victims["thread"]);
    assert!(answer["body"].as_str().unwrap().contains(">after all<"), "{answer}");

    let slow = post("sloth");
    let outcome = until(&|r| r["kind"] == "outcome" && r["code"] == "listener.timeout");
    assert_eq!(outcome["thread"], slow["thread"]);
    let late = until(&|r| r["code"] == "reply.stale-lease");
    assert_eq!(
        (&late["to"], &late["thread"]),
        (&"sloth".into(), &slow["thread"]),
        "it is told where it belongs"
    );
    assert_eq!(organism.interrupt().code, Some(130));
}

#[test]
fn row_33_a_notice_under_a_delivery_that_is_over_is_not_taken() {
    let siege = Siege::begin();
    let notice =
        "b'<notice xmlns=\"urn:systole:listener:v1\" delivery=\"' + D + b'\" code=\"x\">late</notice>'";
    let struck = siege.strike(&format!("[struck('first'), {notice}]"));
    assert!(struck.told.contains("first"), "{struck:?}");
    siege.serves("meanwhile");
    assert!(!siege.after(0).iter().any(|(_, r)| r.header.code.is_some_and(|c| c.as_str() == "inbox")));
    siege.ends_well();
}
