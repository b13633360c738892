//! Policies: the form of the file, what it refuses with which line, and which witnesses make a quorum.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use systole_proof::checkpoint::{CheckpointFault, SignedCheckpoint};
use systole_proof::key::{SignatureKind, SignerKey};
use systole_proof::limits::{POLICY_BYTES, POLICY_ENTRIES, POLICY_LINES};
use systole_proof::note::{NoteFault, SignedNote};
use systole_proof::policy::{PolicyFault, PolicyVerdict, TrustPolicy};

use crate::parties::{checkpoint, log, witness};

/// The example of the page of the format, with keys.
fn two_levels() -> String {
    let key = |number| witness(number).verifier().to_string();
    let [x1, x2, x3, y1, y2, y3] = [1, 2, 3, 4, 5, 6].map(key);
    format!(
        "log {}\n\nwitness X1 {x1}\nwitness X2 {x2}\nwitness X3 {x3}\ngroup X-witnesses 2 X1 X2 X3\n\n\
         witness Y1 {y1}\nwitness Y2 {y2}\nwitness Y3 {y3}\ngroup Y-witnesses any Y1 Y2 Y3\n\n\
         group X-and-Y all X-witnesses Y-witnesses\nquorum X-and-Y\n",
        log().verifier()
    )
}

fn cosigned(numbers: &[u8]) -> SignedCheckpoint {
    let mut signed = checkpoint(5);
    numbers
        .iter()
        .for_each(|number| signed.add_cosignature(&witness(*number), 1000 + u64::from(*number)).unwrap());
    signed
}

fn judge(policy: &str, numbers: &[u8]) -> PolicyVerdict {
    TrustPolicy::parse(policy.as_bytes()).unwrap().judge_checkpoint(&cosigned(numbers), None).unwrap()
}

fn fault(policy: &str) -> String {
    TrustPolicy::parse(policy.as_bytes()).unwrap_err().to_string()
}

#[test]
fn the_example_of_the_format_asks_for_two_and_one() {
    for (numbers, is_quorum) in [
        (&[][..], false),
        (&[1, 2, 3], false),
        (&[4, 5, 6], false),
        (&[1, 4, 5, 6], false),
        (&[1, 3, 5], true),
        (&[1, 2, 3, 4, 5, 6], true),
        // The same witness twice is one witness, and an unknown one is none.
        (&[1, 1, 4], false),
        (&[1, 7, 4], false),
    ] {
        assert_eq!(judge(&two_levels(), numbers).is_quorum, is_quorum, "{numbers:?}");
    }
}

#[test]
fn a_verdict_names_the_witnesses_and_the_log() {
    let verdict = judge(&two_levels(), &[5, 1, 9]);
    let named: Vec<_> = verdict.cosigned.iter().map(|by| (by.witness.as_str(), by.seconds)).collect();
    assert_eq!(named, [("X1", 1001), ("Y2", 1005)]);
    assert_eq!((verdict.witnesses, verdict.is_quorum, &verdict.log), (6, false, log().verifier()));
    let mut twice = cosigned(&[1]);
    twice.add_cosignature(&witness(1), 900).unwrap();
    twice.add_cosignature(&witness(1), 1100).unwrap();
    let verdict =
        TrustPolicy::parse(two_levels().as_bytes()).unwrap().judge_checkpoint(&twice, None).unwrap();
    assert_eq!((verdict.cosigned.len(), verdict.cosigned[0].seconds), (1, 900));
}

#[test]
fn a_single_witness_or_none_can_be_the_quorum() {
    let [one, two] = [1, 2].map(|number| format!("witness w{number} {}\n", witness(number).verifier()));
    let log = log().verifier().to_string();
    let policy = |quorum| format!("log {log} https://example.org/log\n{one}{two}quorum {quorum}\n");
    assert!(judge(&policy("none"), &[]).is_quorum);
    assert!(!judge(&policy("w1"), &[2]).is_quorum);
    assert!(judge(&policy("w1"), &[1]).is_quorum);
    let read = TrustPolicy::parse(policy("w1").as_bytes()).unwrap();
    assert_eq!(read.logs()[0].url.as_deref(), Some("https://example.org/log"));
    assert_eq!((read.witnesses().len(), read.witnesses()[1].name.as_str()), (2, "w2"));
    TrustPolicy::parse(b"quorum none").unwrap();
}

#[test]
fn blanks_comments_and_foreign_bytes_are_taken_as_the_format_says() {
    let (log, one) = (log().verifier().to_string(), witness(1).verifier().to_string());
    let text =
        format!("# a\n \t \n\t# b \u{e9}\n  log\t\t{log}\t\n witness \u{212a} {one} \n\nquorum  \u{212a}\t");
    assert!(judge(&text, &[1]).is_quorum);
    // A name is bytes: `K` and the Kelvin sign are two names, and a name need not be UTF-8.
    assert_eq!(
        fault(&text.replace("quorum  \u{212a}", "quorum K")),
        "line 7: \"K\" is no witness and no group of an earlier line"
    );
    let (before, between) = (format!("log {log}\nwitness "), format!(" {one}\nquorum "));
    let named = |one: &[u8], other: &[u8]| {
        TrustPolicy::parse(&[before.as_bytes(), one, between.as_bytes(), other, b"\n"].concat())
    };
    assert!(named(b"\xff", b"\xff").unwrap().judge_checkpoint(&cosigned(&[1]), None).unwrap().is_quorum);
    named(b"\xff", b"\xfe").unwrap_err();
}

#[test]
fn a_policy_of_another_form_is_refused_with_its_line() {
    let log = format!("log {}\n", log().verifier());
    let [one, two] = [1, 2].map(|number| format!("witness w{number} {}\n", witness(number).verifier()));
    let key = |number| witness(number).verifier().to_string();
    let base = format!("{log}{one}{two}");
    let after = |line: &str| fault(&format!("{base}{line}\nquorum none\n"));
    for (line, expected) in [
        ("wittness w3 x", "unknown keyword \"wittness\"; use log, witness, group or quorum"),
        ("log", "the line has the form: log VERIFIER_KEY [URL]"),
        ("witness w3", "the line has the form: witness NAME VERIFIER_KEY [URL]"),
        ("witness w3 a b c", "the line has the form: witness NAME VERIFIER_KEY [URL]"),
        ("group g all", "the line has the form: group NAME all|any|NUMBER MEMBER.."),
        ("group g", "the line has the form: group NAME all|any|NUMBER MEMBER.."),
        ("quorum w1 w2", "the line has the form: quorum NAME"),
        ("quorum w3", "\"w3\" is no witness and no group of an earlier line"),
        ("group g 1 w1 w3", "\"w3\" is no witness and no group of an earlier line"),
        ("group g 1 w1 g", "\"g\" is no witness and no group of an earlier line"),
        ("group g 1 none", "\"none\" is no witness and no group of an earlier line"),
        ("group w1 1 w2", "the name \"w1\" is used before; choose another one (none is predefined)"),
        ("group none 1 w2", "the name \"none\" is used before; choose another one (none is predefined)"),
        (
            "group g 2 w1 w1",
            "\"w1\" is a member already; each witness and each group can be in one group, once",
        ),
        (
            "group g 1 w1\ngroup h 1 w1",
            "\"w1\" is a member already; each witness and each group can be in one group, once",
        ),
        ("group g 3 w1 w2", "the threshold \"3\" of a group of 2 is not all, any or a number from 1 to 2"),
        ("group g 0 w1", "the threshold \"0\" of a group of 1 is not all, any or a number from 1 to 1"),
        ("group g 01 w1", "the threshold \"01\" of a group of 1 is not all, any or a number from 1 to 1"),
        ("group g -1 w1", "the threshold \"-1\" of a group of 1 is not all, any or a number from 1 to 1"),
        ("group g ALL w1", "the threshold \"ALL\" of a group of 1 is not all, any or a number from 1 to 1"),
        ("# \u{7f}", "a control character; only tabs and line breaks are allowed"),
        ("quorum none\r", "a control character; only tabs and line breaks are allowed"),
        ("witness w3 x", "a verifier key has the form NAME+ID+BASE64, with eight small hex digits as ID"),
    ] {
        let number = 4 + line.matches('\n').count();
        assert_eq!(after(line), format!("line {number}: {expected}"), "{line}");
    }
    assert_eq!(
        after(&format!("witness w3 {}", key(1))),
        "line 4: the same public key is on line 2; each log and each witness has its own"
    );
    assert!(after(&log).starts_with("line 4: the same public key is on line 1;"));
    assert!(after(&format!("witness w1 {}", key(3))).contains("line 4: the name \"w1\" is used before"));
    assert!(after(&format!("log {}", key(3))).contains("line 4: a log needs a key of type 0x01"));
    assert!(
        after(&log.replace("log ", "witness w3 ")).contains("line 4: a witness needs a key of type 0x04")
    );
    assert_eq!(fault(&base), "the policy has no quorum line; add one, for example: quorum none");
    assert_eq!(fault("quorum none\nquorum none\n"), "line 2: a second quorum line; keep one");
    let url =
        [b"log ".as_slice(), log.trim_start_matches("log ").trim_end().as_bytes(), b" \xff\nquorum none\n"];
    assert_eq!(
        TrustPolicy::parse(&url.concat()).unwrap_err().to_string(),
        "line 1: the address is not UTF-8"
    );
}

#[test]
fn a_policy_is_bounded() {
    let full = format!("{}quorum none\n", "#\n".repeat(POLICY_LINES - 1));
    TrustPolicy::parse(full.as_bytes()).unwrap();
    assert_eq!(fault(&format!("#\n{full}")), "line 1001: too many lines: 1000 at most");
    assert!(fault(&"#".repeat(POLICY_BYTES + 1)).starts_with("the policy has 262145 bytes"));
    let many = |count: usize| -> String {
        let line = |number: usize| {
            let mut seed = [3; 32];
            seed[0] = u8::try_from(number).unwrap();
            let key = SignerKey::generate("w", SignatureKind::Cosignature, &seed).unwrap();
            format!("witness w{number} {}\n", key.verifier())
        };
        (0..count).map(line).collect::<String>() + "quorum none\n"
    };
    TrustPolicy::parse(many(POLICY_ENTRIES).as_bytes()).unwrap();
    assert_eq!(fault(&many(POLICY_ENTRIES + 1)), "line 65: too many witness lines: 64 at most");
    let logs = |count: usize| -> String {
        let line = |number: usize| {
            let key =
                SignerKey::generate("l", SignatureKind::Plain, &[u8::try_from(number).unwrap(); 32]).unwrap();
            format!("log {}\n", key.verifier())
        };
        (0..count).map(line).collect::<String>() + "quorum none\n"
    };
    TrustPolicy::parse(logs(POLICY_ENTRIES).as_bytes()).unwrap();
    assert_eq!(fault(&logs(POLICY_ENTRIES + 1)), "line 65: too many log lines: 64 at most");
    // The deepest policy: each group has only the one before it.
    let groups = |count: usize| {
        let group = |number: usize| format!("group g{} all g{number}\n", number + 1);
        let groups: String = (0..count).map(group).collect();
        format!("log {}\nwitness g0 {}\n{groups}quorum g{count}\n", log().verifier(), witness(1).verifier())
    };
    assert!(judge(&groups(POLICY_ENTRIES), &[1]).is_quorum);
    assert!(!judge(&groups(POLICY_ENTRIES), &[2]).is_quorum);
    assert_eq!(fault(&groups(POLICY_ENTRIES + 1)), "line 67: too many group lines: 64 at most");
}

#[test]
fn only_a_known_log_counts() {
    let policy = |text: &str| TrustPolicy::parse(text.as_bytes()).unwrap();
    let (listed, none) = (policy(&two_levels()), policy("quorum none\n"));
    let signed = checkpoint(5);
    assert_eq!(
        none.judge_checkpoint(&signed, None).unwrap_err().to_string(),
        "the policy names no log example.org/acme; add a line: log VERIFIER_KEY"
    );
    // The log that the caller expects counts, and no other one, although the policy lists it.
    none.judge_checkpoint(&signed, Some(log().verifier())).unwrap();
    let renewed = SignerKey::generate(log().verifier().name(), SignatureKind::Plain, &[2; 32]).unwrap();
    let fault = listed.judge_checkpoint(&signed, Some(renewed.verifier())).unwrap_err();
    assert_eq!(fault.to_string(), "no signature of the note is by a known key");
    let other = SignerKey::generate("example.org/other", SignatureKind::Plain, &[2; 32]).unwrap();
    assert!(matches!(listed.judge_checkpoint(&signed, Some(other.verifier())), Err(PolicyFault::Log(_))));
    // A listed log signs for itself alone: under the name of another log its signature is that of a stranger.
    let mut note = SignedNote::from_text(signed.note().text()).unwrap();
    note.sign_with(&other).unwrap();
    let borrowed = SignedCheckpoint::from_note(note).unwrap();
    let lines = format!("log {}\nquorum none\n", other.verifier());
    assert!(matches!(policy(&lines).judge_checkpoint(&borrowed, None), Err(PolicyFault::UnknownLog(_))));
    let lines = format!("log {}\n{lines}", log().verifier());
    let fault = policy(&lines).judge_checkpoint(&borrowed, None).unwrap_err();
    assert_eq!(fault, PolicyFault::Log(CheckpointFault::Note(NoteFault::Unsigned)));
    // Two keys of one log: each is enough.
    let both = policy(&format!("log {}\nlog {}\nquorum none\n", renewed.verifier(), log().verifier()));
    assert_eq!(both.judge_checkpoint(&signed, None).unwrap().log, *log().verifier());
}

#[test]
fn a_wrong_cosignature_of_a_known_witness_is_a_fault() {
    let policy = TrustPolicy::parse(two_levels().as_bytes()).unwrap();
    let judged = |line: &str| {
        let joined = SignedCheckpoint::parse(format!("{}{line}", checkpoint(5)).as_bytes()).unwrap();
        policy.judge_checkpoint(&joined, None)
    };
    let right = cosigned(&[1]).note().signatures()[1].to_string();
    assert_eq!(judged(&right).unwrap().cosigned[0].seconds, 1001);
    // A cosignature is bound to its checkpoint and to its time.
    let mut other = checkpoint(6);
    other.add_cosignature(&witness(1), 1001).unwrap();
    assert!(matches!(judged(&other.note().signatures()[1].to_string()), Err(PolicyFault::Witness(_))));
    let (before, base64) = right.trim_end().rsplit_once(' ').unwrap();
    let mut bytes = BASE64_STANDARD.decode(base64).unwrap();
    bytes[4 + 7] ^= 1;
    let later = format!("{before} {}\n", BASE64_STANDARD.encode(&bytes));
    assert!(matches!(judged(&later), Err(PolicyFault::Witness(_))));
}
