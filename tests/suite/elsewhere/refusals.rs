//! Addresses and tokens that do not work, and commands that work only where the organism is: each says what is wrong,
//! and exits as documented.

use super::{FarStage, failed, from};
use crate::program::{systole, systole_with};
use crate::reading::BOB;

#[test]
fn h11_each_wrong_address_or_token_is_named_with_its_fix() {
    let stage = FarStage::start();
    let (away, url) = (stage.away.path(), stage.url());
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let closed = format!("http://{closed}");
    for (url, token, exit, words) in [
        (url.as_str(), "wrong-token-0123456789", 4, "ingress.unauthorized"),
        (&url, "", 2, "SYSTOLE_TOKEN holds no token"),
        (&url, "two words", 2, "SYSTOLE_TOKEN holds a blank"),
        (&closed, BOB, 5, "nothing answers at"),
        ("127.0.0.1:7474", BOB, 2, "SYSTOLE_URL `127.0.0.1:7474`: it has no scheme"),
        ("http://192.0.2.1:7474", BOB, 2, "without TLS"),
        ("https://127.0.0.1:1", BOB, 5, "nothing answers at"),
    ] {
        for command in [&["ps"][..], &["approve", "a1"], &["ask", "Who?"], &["pause", "--all"]] {
            let ran = from(away, url, token, command);
            assert_eq!(failed(&ran).0, Some(exit), "{url} {command:?} {ran:?}");
            assert!(ran.stderr.contains(words), "{url} {command:?} {ran:?}");
            assert!(ran.stderr.contains("try"), "{url} {command:?} {ran:?}");
            assert!(token.is_empty() || !ran.stderr.contains(token), "the token is shown: {ran:?}");
        }
    }
    let named = systole_with(away, &["ps", "--url", &url, "--token-env", "MINE"], &[("MINE", BOB)]);
    assert_eq!(named.code, Some(0), "{named:?}");
    let unset = systole_with(away, &["--url", &url, "ps", "--token-env", "MINE"], &[]);
    assert_eq!((unset.code, unset.stderr.contains("MINE holds no token")), (Some(2), true), "{unset:?}");
    let role = stage.far(BOB, &["reject", "a1", "--note", "no"]);
    assert_eq!((role.code, role.stderr.contains("ingress.forbidden")), (Some(4), true), "{role:?}");
    stage.stage.organism.interrupt();
}

#[test]
fn h11_a_command_that_works_only_beside_the_log_takes_no_address() {
    let stage = FarStage::start();
    let (away, url) = (stage.away.path(), stage.url());
    let set = [("SYSTOLE_TOKEN", BOB)];
    for command in [
        "run",
        "check",
        "stop",
        "console",
        "blame a:1",
        "verify",
        "export @last",
        "replay",
        "diff a b",
        "fork a --out b",
        "backup --out b",
        "doctor",
        "graph",
        "explain payload.invalid",
        "listener try echo",
        "schema show",
        "prove 1",
        "erase 1",
    ] {
        let mut words: Vec<&str> = command.split(' ').collect();
        words.extend(["--url", &url]);
        let ran = systole_with(away, &words, &set);
        assert_eq!(failed(&ran).0, Some(2), "{command} {ran:?}");
        assert!(ran.stderr.contains("--url"), "{command} {ran:?}");
    }
    for place in [["--log", "x.db"], ["--organism", "x.yaml"], ["--set", "a=b"]] {
        let ran = systole_with(away, &[&["ps", "--url", &url][..], &place[..]].concat(), &set);
        assert_eq!(failed(&ran).0, Some(2), "{ran:?}");
    }
    let alone = systole(away, &["ps", "--token-env", "MINE"]);
    assert_eq!((failed(&alone).0, alone.stderr.contains("no address")), (Some(2), true), "{alone:?}");
    // The variable means only commands that can: the others work where they are, and so does a named place.
    let there = stage.stage.path();
    let checked = from(there, &url, BOB, &["check"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let local = from(there, "http://127.0.0.1:1", BOB, &["ps", "--log", "hello.db"]);
    assert_eq!(local.code, Some(0), "{local:?}");
    let help = systole(away, &["ps", "--help"]).stdout;
    assert!(help.contains("--url") && help.contains("--token-env"), "{help}");
    let help = systole(away, &["check", "--help"]).stdout;
    assert!(!help.contains("--url") && !help.contains("--token-env"), "{help}");
    stage.stage.organism.interrupt();
}
