//! A rehearsed organism continues where it was: after an approval in another process, and for each call
//! separately.

use crate::organism::folder;
use crate::program::{Ran, Running, systole};

const FILE: &str = "organism: {name: hello, entry: clerk}
models: {main: {provider: script}}
agents:
  clerk: {model: main, dialect: xml, peers: [vault], turns: 6, prompt: {identity: You grant what is asked for.}}
payloads: {grant: {who: word}, done: {who: word}}
listeners:
  vault: {run: [python3, vault.py], accepts: [grant], returns: [done], approval: {when: always}}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";

const REPLIES: &str = "clerk:
  - {if: it snows, say: \"<thinking>Never.</thinking><attempt_completion><result>It snows.</result></attempt_completion>\"}
  - say: <thinking>I grant it.</thinking><grant><who>bob</who></grant>
  - need: [done]
    say: <thinking>That is done.</thinking><attempt_completion><result>Granted to bob.</result></attempt_completion>
";

const VAULT: &str = r#"
import sys, re
for line in sys.stdin:
    if line.startswith("<message"):
        delivery = re.search('delivery="([^"]*)"', line).group(1)
        print(f'<reply xmlns="urn:systole:listener:v1" delivery="{delivery}"><done xmlns="https://xml-pipeline.org/ns/hello/v1"><who>bob</who></done></reply>', flush=True)
"#;

#[test]
fn an_agent_continues_after_an_approval_in_another_process_without_a_second_request() {
    let folder = folder(&[("organism.yaml", FILE), ("replies.yaml", REPLIES), ("vault.py", VAULT)]);
    let at = folder.path();
    let ask = |key: &str| -> Ran { systole(at, &["send", "ask", "Let bob in", "--key", key]) };
    let waits = ask("k");
    assert_eq!(waits.code, Some(6), "{waits:?}");
    let approved = systole(at, &["approve", "a1"]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let answered = ask("k");
    assert!(answered.code == Some(0) && answered.stdout.contains("Granted to bob."), "{answered:?}");
    let none = systole(at, &["approve"]);
    assert!(none.stderr.contains("nothing waits for a person"), "{none:?}");

    // Every call begins at the top of the list, also in a process that has already answered one.
    let organism = Running::organism(at);
    for (key, id) in [("k2", "a2"), ("k3", "a3")] {
        let waits = ask(key);
        assert_eq!(waits.code, Some(6), "{waits:?}");
        assert!(waits.stderr.contains(&format!("approval {id} (grant, vault)")), "{waits:?}");
    }
    let both = systole(at, &["approve", "a2", "a3"]);
    assert_eq!(both.code, Some(0), "{both:?}");
    for key in ["k2", "k3"] {
        let answered = ask(key);
        assert!(answered.code == Some(0) && answered.stdout.contains("Granted to bob."), "{answered:?}");
    }
    organism.interrupt();
}
