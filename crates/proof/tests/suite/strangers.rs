//! Other people's implementations verify our notes, and we verify theirs: the crates `signed_note` and
//! `tlog_tiles`, and OpenSSL.

use std::fs;
use std::path::Path;
use std::process::Command;

use signed_note::{Note, StandardSigner, StandardVerifier, Verifier, VerifierList};
use systole_proof::checkpoint::{Checkpoint, SignedCheckpoint};
use systole_proof::cosignature::write_signed_message;
use systole_proof::key::{SignatureKind, SignerKey, VerifierKey};
use systole_proof::note::SignedNote;
use tlog_tiles::tlog::Hash;

use crate::parties::{ORIGIN, checkpoint, keys, log, witness};

fn their_verifier(key: &SignerKey) -> StandardVerifier {
    StandardVerifier::new(&key.verifier().to_string()).unwrap()
}

#[test]
fn signed_note_reads_our_keys_and_we_read_its_keys() {
    for seed in 0..20 {
        let key = SignerKey::generate("example.org/log", SignatureKind::Plain, &[seed; 32]).unwrap();
        let signer = StandardSigner::new(&key.secret_text()).unwrap();
        let verifier = their_verifier(&key);
        let id = u32::from_be_bytes(key.verifier().id());
        assert_eq!((signed_note::Signer::key_id(&signer), verifier.key_id()), (id, id));

        let public = ed25519_public(key.verifier());
        let theirs = signed_note::new_ed25519_verifier_key("example.org/log", &public);
        assert_eq!(theirs, key.verifier().to_string());
        assert_eq!(VerifierKey::parse(&theirs).unwrap(), *key.verifier());
    }
}

/// The public key as the type that `signed_note` takes, which it names only in its own dependency.
fn ed25519_public(key: &VerifierKey) -> ed25519_of_theirs::VerifyingKey {
    ed25519_of_theirs::VerifyingKey::from_bytes(key.public_bytes()).unwrap()
}

#[test]
fn signed_note_verifies_our_notes_and_we_verify_its_notes() {
    for text in ["text\n", "a\n\nb\n", "\n", "h\u{e9}las \u{2014} \u{1f980}\n"] {
        let mut ours = SignedNote::from_text(text).unwrap();
        ours.sign_with(&log()).unwrap();
        let theirs = Note::from_bytes(ours.to_string().as_bytes()).unwrap();
        let known = VerifierList::new(vec![Box::new(their_verifier(&log()))]);
        let (verified, unknown) = theirs.verify(&known).unwrap();
        assert_eq!((verified.len(), unknown.len(), theirs.text()), (1, 0, text.as_bytes()));

        let mut theirs = Note::new(text.as_bytes(), &[]).unwrap();
        let signer = StandardSigner::new(&log().secret_text()).unwrap();
        theirs.add_sigs(&[&signer]).unwrap();
        assert_eq!(theirs.to_bytes(), ours.to_string().into_bytes());
        let read = SignedNote::parse(&theirs.to_bytes()).unwrap();
        assert_eq!(read.verify_with(&keys(&[&log()])).unwrap().len(), 1);
    }
}

#[test]
fn signed_note_passes_over_the_cosignatures_in_a_checkpoint() {
    let mut ours = checkpoint(7);
    ours.add_cosignature(&witness(1), 1_700_000_000).unwrap();
    ours.add_cosignature(&witness(2), 1_700_000_001).unwrap();
    let theirs = Note::from_bytes(ours.to_string().as_bytes()).unwrap();
    let (verified, unknown) =
        theirs.verify(&VerifierList::new(vec![Box::new(their_verifier(&log()))])).unwrap();
    assert_eq!((verified.len(), unknown.len()), (1, 2));
}

#[test]
fn tlog_tiles_reads_our_checkpoints_and_we_read_its_checkpoints() {
    for size in [0, 1, 7, 70] {
        let ours = checkpoint(size);
        let theirs = tlog_tiles::Checkpoint::from_bytes(ours.note().text().as_bytes()).unwrap();
        assert_eq!((theirs.origin(), theirs.size(), theirs.extension()), (ORIGIN, size, ""));
        assert_eq!(theirs.hash().0, *ours.checkpoint().root());

        let theirs = tlog_tiles::Checkpoint::new(ORIGIN, size, Hash([7; 32]), "extension\n").unwrap();
        let text = String::from_utf8(theirs.to_bytes()).unwrap();
        let read = Checkpoint::parse(&text).unwrap();
        assert_eq!((read.origin(), read.size(), read.root()), (ORIGIN, size, &[7; 32]));
        assert_eq!((read.extension(), read.to_string()), ("extension\n", text));
    }
}

/// Ed25519 as OpenSSL verifies it.
fn openssl_accepts(folder: &Path, key: &VerifierKey, message: &[u8], signature: &[u8]) -> bool {
    let path = |name: &str| folder.join(name);
    // SubjectPublicKeyInfo of Ed25519 (RFC 8410) is this and the 32 bytes.
    let header = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    fs::write(path("key.der"), [header.as_slice(), key.public_bytes()].concat()).unwrap();
    fs::write(path("message"), message).unwrap();
    fs::write(path("signature"), signature).unwrap();
    let mut openssl = Command::new("openssl");
    openssl
        .current_dir(folder)
        .args(["pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", "key.der"]);
    openssl.args(["-rawin", "-in", "message", "-sigfile", "signature"]);
    let done = openssl.output().expect("this test needs the program openssl, version 3, on the path");
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(
        said.contains("Signature Verif"),
        "openssl said {said} {}",
        String::from_utf8_lossy(&done.stderr)
    );
    done.status.success()
}

#[test]
fn openssl_verifies_signatures_and_cosignatures() {
    let folder = tempfile::tempdir().unwrap();
    let mut ours = checkpoint(9);
    ours.add_cosignature(&witness(1), 1_679_315_147).unwrap();
    let text = ours.note().text();
    let [signature, cosignature] = ours.note().signatures() else { panic!("{ours}") };
    let accepts = |key: &SignerKey, message: &str, signature: &[u8]| {
        openssl_accepts(folder.path(), key.verifier(), message.as_bytes(), signature)
    };
    assert!(accepts(&log(), text, signature.bytes()));
    assert!(!accepts(&log(), &text.replace('9', "8"), signature.bytes()));
    let (time, bytes) = cosignature.bytes().split_at(8);
    assert_eq!(time, 1_679_315_147u64.to_be_bytes());
    assert!(accepts(&witness(1), &format!("cosignature/v1\ntime 1679315147\n{text}"), bytes));
    assert!(accepts(&witness(1), &write_signed_message(1_679_315_147, text), bytes));
    assert!(!accepts(&witness(1), text, bytes));
}

/// The checkpoint that the pages of the formats show, with the cosignature of a witness. Their keys are not
/// published, so only the form can be compared.
#[test]
fn the_example_of_the_pages_is_read_and_written() {
    let example = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\
        \u{2014} example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n\
        \u{2014} witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n";
    let read = SignedCheckpoint::parse(example.as_bytes()).unwrap();
    assert_eq!(read.to_string(), example);
    assert_eq!(
        (read.checkpoint().origin(), read.checkpoint().size()),
        ("example.com/behind-the-sofa", 20_852_163)
    );
    let cosignature = read.note().signatures()[1].bytes();
    assert_eq!((cosignature.len(), &cosignature[..8]), (72, 1_679_315_147u64.to_be_bytes().as_slice()));
}
