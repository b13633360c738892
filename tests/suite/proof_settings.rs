//! The section `proof` of the organism's file: what is wrong in it, in its key or in its policy is said with the place
//! and the fix, by `check` and by `run`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::log_evidence::house;
use crate::program::{Ran, systole};
use crate::proof_witnesses::{log_key, with_proof};

#[track_caller]
fn done(ran: Ran) -> String {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

/// The message of `check` and `run`, which both refuse the file.
#[track_caller]
fn refused(at: &Path, words: &[&str]) {
    for command in ["check", "run"] {
        let ran = systole(at, &[command]);
        assert_eq!(ran.code, Some(3), "{command}: {words:?}: {ran:?}");
        let said = [ran.stdout.as_str(), ran.stderr.as_str()].concat();
        // Lines are broken to fit the terminal.
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in [words, &["organism.yaml:"]].concat() {
            assert!(said.contains(words), "{command}: no {words:?} in {said}");
        }
        assert!(!said.contains("PRIVATE+KEY+example"), "{said}");
    }
}

#[tokio::test]
async fn c2_what_is_wrong_about_the_key_or_the_policy_is_refused_with_its_place() {
    let folder = house().await;
    let at = folder.path();
    let log = log_key(at);
    let witness = done(systole(at, &["keygen", "--origin", "example.net/w", "--witness", "-o", "w.key"]));
    let policy = |text: &str| std::fs::write(at.join("p"), text).unwrap();
    let whole = format!("log {log}\nwitness w {witness}quorum w\n");
    policy(&whole);
    with_proof(at, ", every: 1h, to: [./kept, \"https://w.example/path/\"], policy: p");
    done(systole(at, &["check", "--strict"]));

    // The key.
    std::fs::set_permissions(at.join("house.key"), PermissionsExt::from_mode(0o644)).unwrap();
    refused(at, &["other users may read this signing key (mode 0644)", "chmod 600", "proof.key"]);
    std::fs::set_permissions(at.join("house.key"), PermissionsExt::from_mode(0o600)).unwrap();
    let file = at.join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let with = |before: &str, after: &str| std::fs::write(&file, text.replace(before, after)).unwrap();
    with("origin: example.org/house", "origin: example.org/other");
    refused(at, &["the key in house.key is that of example.org/house", "origin: example.org/house"]);
    with("key: house.key", "key: w.key");
    refused(at, &["w.key has the key of a witness"]);
    with("key: house.key", "key: p");
    std::fs::set_permissions(at.join("p"), PermissionsExt::from_mode(0o600)).unwrap();
    refused(at, &["p: a signer key has the form", "the file that systole keygen made"]);

    // The places and the times.
    with("https://w.example/path/", "ftp://w.example");
    refused(at, &["`ftp://w.example`: its scheme is neither http nor https"]);
    with("./kept", "https://w.example/path/");
    refused(at, &["is listed twice"]);
    with("every: 1h", "every: 1ms");
    refused(at, &["less than 1s"]);
    with("every: 1h, ", "often: 1h, ");
    refused(at, &["`often` is not a key of proof"]);
    with(", policy: p", "");
    refused(at, &["no `policy` names its key", "witness NAME KEY"]);
    with("key: house.key, ", "");
    refused(at, &["proof has no `key`"]);

    // The policy.
    std::fs::write(&file, &text).unwrap();
    policy(&whole.replace("quorum w", "quorum w2"));
    refused(at, &["proof.policy: p: line 3: \"w2\" is no witness"]);
    policy(&format!("log {log}\nquorum none\n"));
    refused(at, &["it names no witness"]);
    policy(&format!("witness w {witness}quorum w\n"));
    refused(at, &["it does not name the key of example.org/house", &format!("log {log}")]);
    let other = done(systole(at, &["keygen", "--origin", "example.org/house", "-o", "other.key"]));
    policy(&format!("log {other}witness w {witness}quorum w\n"));
    refused(at, &["it does not name the key of example.org/house", &format!("log {log}")]);
    policy(&"#\n".repeat(200_000));
    refused(at, &["it has more than 262144 bytes"]);
    std::fs::remove_file(at.join("p")).unwrap();
    refused(at, &["proof.policy: p: there is no such file"]);
    // Who only reads the log needs neither.
    std::fs::remove_file(at.join("house.key")).unwrap();
    done(systole(at, &["log", "sys"]));
    // A key that is elsewhere is no mistake in the file, but nothing runs without it.
    policy(&whole);
    done(systole(at, &["check"]));
    let ran = systole(at, &["run"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("house.key: there is no such file, and `proof.key` names it"), "{ran:?}");
    assert!(ran.stderr.contains("systole keygen --origin example.org/house -o "), "{ran:?}");
}

#[tokio::test]
async fn c2_a_log_that_may_lose_what_is_signed_is_not_signed() {
    let folder = house().await;
    let at = folder.path();
    log_key(at);
    with_proof(at, "");
    let file = at.join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let relaxed = "log: {path: ./hello.db, nats: nats://127.0.0.1:1, durability: relaxed}";
    std::fs::write(&file, text.replace("log: {path: ./hello.db}", relaxed)).unwrap();
    refused(at, &["the broker may lose records that are signed already", "log.durability: always"]);
}

#[tokio::test]
async fn c2_a_listener_does_not_get_the_key() {
    let folder = house().await;
    let at = folder.path();
    log_key(at);
    std::fs::create_dir(at.join("src")).unwrap();
    std::fs::rename(at.join("house.key"), at.join("src/house.key")).unwrap();
    with_proof(at, "");
    let file = at.join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap().replace("key: house.key", "key: src/house.key");
    let name = text.split("listeners:\n  ").nth(1).unwrap().split(':').next().unwrap().to_owned();
    std::fs::write(
        &file,
        text.replace(&format!("  {name}:\n"), &format!("  hands: {{code: ./src}}\n  {name}:\n")),
    )
    .unwrap();
    refused(at, &["`./src` holds the signing key, which no listener may read"]);
    let sandboxed = format!("  {name}:\n    sandbox: {{read: [./src]}}\n");
    std::fs::write(&file, text.replace(&format!("  {name}:\n"), &sandboxed)).unwrap();
    refused(at, &["`./src` contains the signing key"]);
}
