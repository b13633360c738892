//! Signed notes: the examples of the format's page and of Go, forms that are refused, and known and unknown keys.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use systole_proof::key::{SignatureKind, SignerKey, VerifierKey};
use systole_proof::limits::{NOTE_BYTES, SIGNATURES, TEXT_BYTES};
use systole_proof::note::{NoteFault, SignedNote};

use crate::keys::{GO_SIGNER, GO_VERIFIER};
use crate::parties::{WITNESS_SEED, checkpoint, keys, log, witness};

/// The example of the page of the format.
const SPEC_KEY: &str = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
const SPEC_NOTE: &str = "This is an example message.\n\n\
    \u{2014} example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n";

const GO_TEXT: &str =
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const GO_LINE: &str = "\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

fn fault(note: &str) -> String {
    SignedNote::parse(note.as_bytes()).unwrap_err().to_string()
}

#[test]
fn the_example_of_the_format_verifies() {
    let note = SignedNote::parse(SPEC_NOTE.as_bytes()).unwrap();
    assert_eq!(note.text(), "This is an example message.\n");
    assert_eq!(note.to_string(), SPEC_NOTE);
    let verified = note.verify_with(&[VerifierKey::parse(SPEC_KEY).unwrap()]).unwrap();
    assert_eq!((verified.len(), verified[0].key, verified[0].seconds), (1, 0, None));
    let changed = SignedNote::parse(SPEC_NOTE.replace("example m", "exemple m").as_bytes()).unwrap();
    let wrong = changed.verify_with(&[VerifierKey::parse(SPEC_KEY).unwrap()]).unwrap_err();
    assert_eq!(wrong, NoteFault::WrongSignature { line: 3, name: "example.com/foo".to_owned() });
}

#[test]
fn the_note_of_go_is_signed_again_byte_for_byte() {
    let mut note = SignedNote::from_text(GO_TEXT).unwrap();
    note.sign_with(&SignerKey::parse(GO_SIGNER).unwrap()).unwrap();
    assert_eq!(note.to_string(), format!("{GO_TEXT}\n{GO_LINE}"));
    note.verify_with(&[VerifierKey::parse(GO_VERIFIER).unwrap()]).unwrap();
}

fn signed(text: &str, signers: &[&SignerKey]) -> SignedNote {
    let mut note = SignedNote::from_text(text).unwrap();
    signers.iter().for_each(|signer| note.sign_with(signer).unwrap());
    note
}

/// A note with the signatures of two other notes, whose texts may be others.
fn joined(text: &str, one: &SignedNote, other: &SignedNote) -> SignedNote {
    let signatures: String =
        [one, other].into_iter().flat_map(SignedNote::signatures).map(ToString::to_string).collect();
    SignedNote::parse(format!("{text}\n{signatures}").as_bytes()).unwrap()
}

#[test]
fn unknown_keys_are_ignored_and_known_ones_are_not() {
    let (known, stranger) = (log(), SignerKey::parse(GO_SIGNER).unwrap());
    let alone = signed("text\n", &[&stranger]);
    assert_eq!(alone.verify_with(&keys(&[&known])).unwrap_err(), NoteFault::Unsigned);
    let verified = signed("text\n", &[&stranger, &known]).verify_with(&keys(&[&known])).unwrap();
    assert_eq!((verified.len(), verified[0].place, verified[0].key), (1, 1, 0));

    // The wrong signature of a stranger is nothing; that of a known key is a fault, even beside a right one.
    let right = signed("text\n", &[&known]);
    let of_stranger = joined("text\n", &signed("other\n", &[&stranger]), &right);
    assert_eq!(of_stranger.verify_with(&keys(&[&known])).unwrap().len(), 1);
    let wrong = signed("other\n", &[&known]);
    for (note, line) in [(joined("text\n", &right, &wrong), 4), (joined("text\n", &wrong, &right), 3)] {
        let fault = note.verify_with(&keys(&[&known])).unwrap_err();
        assert_eq!(
            fault.to_string(),
            format!(
                "line {line}: the signature of example.org/acme is wrong: the text was changed, \
                 or another key signed it"
            )
        );
    }
}

#[test]
fn a_key_that_shares_its_name_with_a_known_one_is_unknown() {
    let other = SignerKey::generate(log().verifier().name(), SignatureKind::Plain, &[9; 32]).unwrap();
    let mut note = SignedNote::from_text("text\n").unwrap();
    note.sign_with(&other).unwrap();
    assert_eq!(note.verify_with(&keys(&[&log()])).unwrap_err(), NoteFault::Unsigned);
    // So is one that shares its id and signed rightly, but has another name.
    let renamed = signed("text\n", &[&log()]).to_string().replace("example.org/acme", "example.org/other");
    let renamed = SignedNote::parse(renamed.as_bytes()).unwrap();
    assert_eq!(renamed.signatures()[0].id(), log().verifier().id());
    assert_eq!(renamed.verify_with(&keys(&[&log()])).unwrap_err(), NoteFault::Unsigned);
}

/// A cosignature as another program would write it.
fn foreign_cosignature(text: &str, seconds: u64) -> SignedNote {
    let key = ed25519_of_theirs::SigningKey::from_bytes(&WITNESS_SEED);
    let message = format!("cosignature/v1\ntime {seconds}\n{text}");
    let signature = ed25519_of_theirs::Signer::sign(&key, message.as_bytes()).to_bytes();
    let verifier = witness(1).verifier().clone();
    let bytes = [verifier.id().as_slice(), &seconds.to_be_bytes(), &signature].concat();
    let line = format!("\u{2014} {} {}\n", verifier.name(), BASE64_STANDARD.encode(bytes));
    SignedNote::parse(format!("{text}\n{line}").as_bytes()).unwrap()
}

#[test]
fn a_cosignature_of_another_program_counts_up_to_the_latest_time() {
    let text = checkpoint(3).note().text().to_owned();
    let known = keys(&[&witness(1)]);
    for seconds in [0, 1, 1_679_315_147, (1 << 63) - 1] {
        let verified = foreign_cosignature(&text, seconds).verify_with(&known).unwrap();
        assert_eq!(verified[0].seconds, Some(seconds));
    }
    for seconds in [1 << 63, u64::MAX] {
        let fault = foreign_cosignature(&text, seconds).verify_with(&known).unwrap_err();
        assert!(matches!(fault, NoteFault::WrongSignature { line: 5, .. }), "{fault}");
    }
}

#[test]
fn empty_lines_belong_to_the_text() {
    for text in ["\n", "\n\n", "a\n\n", "a\n\nb\n", "\n\na\n", "\u{2014} a AAAAAAA=\n\nb\n"] {
        let mut note = SignedNote::from_text(text).unwrap();
        note.sign_with(&log()).unwrap();
        let again = SignedNote::parse(note.to_string().as_bytes()).unwrap();
        assert_eq!(again.text(), text, "{text:?}");
        again.verify_with(&keys(&[&log()])).unwrap();
    }
}

#[test]
fn a_note_of_another_form_is_refused_with_its_line() {
    let line = "\u{2014} a AAAAAAA=\n";
    assert_eq!(fault(""), "line 1: no empty line before signatures");
    assert_eq!(fault("text"), "line 1: no empty line before signatures");
    assert_eq!(fault(&format!("text\n{line}")), "line 2: no empty line before signatures");
    assert_eq!(fault("text\n\n"), "line 3: no signature");
    assert_eq!(
        fault(&format!("text\n\n{}", line.trim_end())),
        "line 3: the last line does not end with a line break"
    );
    let form = "line 4: a signature has the form: em dash, space, name, space, base64";
    for wrong in
        ["- a AAAAAAA=\n", "\u{2014} aAAAAAAA=\n", "\u{2014}  AAAAAAA=\n", "x\n", "\u{2013} a AAAAAAA=\n"]
    {
        let shown = fault(&format!("text\n\n{line}{wrong}"));
        let name = "line 4: the name of a key has 1 to 255 bytes, without spaces and plus signs";
        assert!(shown == form || shown == name, "{wrong:?}: {shown}");
    }
    for wrong in
        ["\u{2014} a  AAAAAAA=\n", "\u{2014} a AAAAAAA\n", "\u{2014} a AAAAAAB=\n", "\u{2014} a AAAAAAA= \n"]
    {
        assert_eq!(
            fault(&format!("text\n\n{wrong}")),
            "line 3: the signature is not canonical base64",
            "{wrong:?}"
        );
    }
    assert_eq!(fault("text\n\n\u{2014} a AAAAAA==\n"), "line 3: the signature is shorter than 5 bytes");
    assert_eq!(
        fault(&format!("a\nb\tc\n\n{line}")),
        "line 2: a control character; only line breaks are allowed"
    );
    assert_eq!(fault(&format!("a\r\n\n{line}")), "line 1: a control character; only line breaks are allowed");
    let bytes = [b"a\n\xff\n\n", line.as_bytes()].concat();
    assert_eq!(SignedNote::parse(&bytes).unwrap_err().to_string(), "line 2: not UTF-8");
}

#[test]
fn a_note_is_bounded() {
    let line = "\u{2014} a AAAAAAA=\n";
    SignedNote::parse(format!("text\n\n{}", line.repeat(SIGNATURES)).as_bytes()).unwrap();
    assert_eq!(
        fault(&format!("text\n\n{}", line.repeat(SIGNATURES + 1))),
        "line 103: more than 100 signatures"
    );
    let text = format!("{}\n", "a".repeat(TEXT_BYTES - 1));
    SignedNote::parse(format!("{text}\n{line}").as_bytes()).unwrap();
    assert_eq!(fault(&format!("a{text}\n{line}")), "line 1: the text is longer than 16 KiB");
    assert_eq!(fault(&"a".repeat(NOTE_BYTES + 1)), "the note has 262145 bytes: 262144 at most");
    // Sixteen post-quantum signatures have room.
    let large = format!("\u{2014} a {}\n", "AAAA".repeat(1700));
    SignedNote::parse(format!("text\n\n{}", large.repeat(16)).as_bytes()).unwrap();

    let mut note = SignedNote::from_text("text\n").unwrap();
    for _ in 0..SIGNATURES {
        note.sign_with(&log()).unwrap();
    }
    assert_eq!(note.sign_with(&log()).unwrap_err().to_string(), "line 103: more than 100 signatures");
    assert!(SignedNote::from_text("text").is_err());
    assert!(SignedNote::from_text("").is_err());
    assert!(SignedNote::from_text("a\tb\n").is_err());
}

#[test]
fn a_key_signs_only_what_it_is_for() {
    let mut note = SignedNote::from_text("text\n").unwrap();
    assert!(
        note.sign_with(&witness(1))
            .unwrap_err()
            .to_string()
            .starts_with("the key witness.example/w1 makes no ")
    );
    assert!(
        note.add_cosignature(&log(), 1)
            .unwrap_err()
            .to_string()
            .starts_with("the key example.org/acme makes no ")
    );
    for seconds in [0, 1 << 63, u64::MAX] {
        assert_eq!(note.add_cosignature(&witness(1), seconds).unwrap_err(), NoteFault::Time(seconds));
    }
    assert!(note.signatures().is_empty());
    note.add_cosignature(&witness(1), (1 << 63) - 1).unwrap();
    assert_eq!(note.verify_with(&keys(&[&witness(1)])).unwrap()[0].seconds, Some((1 << 63) - 1));
}
