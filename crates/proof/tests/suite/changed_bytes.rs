//! Any single changed byte of a note, a proof or a request is refused, or changes nothing that matters. Any bytes at
//! all are read without a panic.

use proptest::prelude::*;
use systole_proof::checkpoint::SignedCheckpoint;
use systole_proof::key::{SignerKey, VerifierKey};
use systole_proof::note::SignedNote;
use systole_proof::policy::TrustPolicy;
use systole_proof::proof_file::EntryProof;
use systole_proof::tree::Frontier;
use systole_proof::witness::{AddCheckpoint, WitnessAnswer};

use crate::parties::{checkpoint, keys, leaf, log, witness};
use crate::proof_files::{INDEX, policy, proof};
use crate::witnessing::{answered, known, request};

fn cosigned() -> SignedCheckpoint {
    let mut signed = checkpoint(5);
    signed.add_cosignature(&witness(1), 1000).unwrap();
    signed
}

/// A text, and the signatures that verify: each with its key and time.
type VerifiedText = (String, Vec<(usize, Option<u64>)>);

/// Nothing if the note is refused.
fn verified(bytes: &[u8], known: &[VerifierKey]) -> Option<VerifiedText> {
    let note = SignedNote::parse(bytes).ok()?;
    let verified = note.verify_with(known).ok()?;
    let made = verified.iter().map(|signature| (signature.key, signature.seconds)).collect();
    Some((note.text().to_owned(), made))
}

fn check_note(changed: &[u8], original: &SignedCheckpoint) {
    // With one known key nothing can be left: the note is refused, or is what it was.
    for key in [log(), witness(1)] {
        let known = keys(&[&key]);
        if let Some(found) = verified(changed, &known) {
            assert_eq!(Some(found), verified(original.to_string().as_bytes(), &known));
        }
    }
    // With both, a changed name or id makes one of the signatures that of a stranger.
    if let Some((text, made)) = verified(changed, &keys(&[&log(), &witness(1)])) {
        assert_eq!(text, original.note().text());
        assert!(
            !made.is_empty() && made.iter().all(|one| [(0, None), (1, Some(1000))].contains(one)),
            "{made:?}"
        );
    }
}

fn check_proof(changed: &[u8]) {
    let Ok(read) = EntryProof::parse(changed) else { return };
    let Ok(verdict) = read.verify_leaf(&leaf(INDEX), None, &policy()) else { return };
    let original = proof(Some(b"extra"));
    assert_eq!((read.index(), read.hashes()), (original.index(), original.hashes()));
    assert_eq!(read.checkpoint().checkpoint(), original.checkpoint().checkpoint());
    assert_eq!(verdict.is_quorum, !verdict.cosigned.is_empty());
    assert!(verdict.cosigned.iter().all(|by| by.seconds == 1000));
}

fn check_request(changed: &[u8]) {
    let WitnessAnswer::Cosigned(cosigned) = answered(changed, &known(5)) else { return };
    assert_eq!(cosigned.checkpoint(), checkpoint(7).checkpoint());
}

/// Every byte, with several other values.
fn every_byte(whole: &[u8], check: impl Fn(&[u8])) {
    for place in 0..whole.len() {
        for flip in [0x01, 0x02, 0x04, 0x20, 0x80] {
            let mut changed = whole.to_vec();
            changed[place] ^= flip;
            check(&changed);
        }
        for other in [b'\n', b' ', b'+', b'0', 0] {
            let mut changed = whole.to_vec();
            if std::mem::replace(&mut changed[place], other) != other {
                check(&changed);
            }
        }
        check(&[&whole[..place], &whole[place + 1..]].concat());
        check(&whole[..place]);
    }
}

#[test]
fn no_changed_byte_of_a_note_counts() {
    let original = cosigned();
    every_byte(original.to_string().as_bytes(), |changed| check_note(changed, &original));
}

#[test]
fn no_changed_byte_of_a_proof_counts() {
    every_byte(proof(Some(b"extra")).to_string().as_bytes(), check_proof);
}

#[test]
fn no_changed_byte_of_a_request_counts() {
    every_byte(request(5, 7).to_string().as_bytes(), check_request);
}

/// The proofs above hold because every part of these texts is read, and because there is something to refuse.
#[test]
fn the_unchanged_texts_are_accepted() {
    let original = cosigned();
    let both = verified(original.to_string().as_bytes(), &keys(&[&log(), &witness(1)])).unwrap();
    assert_eq!(both.1, [(0, None), (1, Some(1000))]);
    assert!(proof(Some(b"extra")).verify_leaf(&leaf(INDEX), None, &policy()).unwrap().is_quorum);
    assert_eq!(answered(request(5, 7).to_string().as_bytes(), &known(5)).status(), 200);
}

/// A text with one other byte.
fn changed_byte(whole: String) -> impl Strategy<Value = Vec<u8>> {
    (0..whole.len(), any::<u8>()).prop_map(move |(place, byte)| {
        let mut changed = whole.clone().into_bytes();
        changed[place] = byte;
        changed
    })
}

fn anything() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "\n",
        "\n\n",
        "\u{2014} ",
        "old ",
        "index ",
        "extra ",
        "c2sp.org/tlog-proof@v1\n",
        "log ",
        "witness w ",
        "group g ",
        "quorum ",
        "none",
        "0",
        "18446744073709551615",
        "AAAAAAA=",
        "PRIVATE+KEY+",
        "a+00000000+",
        "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n",
    ];
    let piece = prop_oneof![
        8 => proptest::sample::select(pieces.map(|piece| piece.as_bytes().to_vec()).to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..40),
    ];
    proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_other_byte_in_a_note_counts(changed in changed_byte(cosigned().to_string())) {
        check_note(&changed, &cosigned());
    }

    #[test]
    fn no_other_byte_in_a_proof_counts(changed in changed_byte(proof(Some(b"extra")).to_string())) {
        check_proof(&changed);
    }

    #[test]
    fn no_other_byte_in_a_request_counts(changed in changed_byte(request(5, 7).to_string())) {
        check_request(&changed);
    }

    /// What is read is written again byte for byte: no two texts have the same meaning.
    #[test]
    fn anything_is_refused_or_read_as_it_is(bytes in anything()) {
        if let Ok(note) = SignedNote::parse(&bytes) {
            prop_assert_eq!(note.to_string().into_bytes(), bytes.clone());
        }
        if let Ok(proof) = EntryProof::parse(&bytes) {
            prop_assert_eq!(proof.to_string().into_bytes(), bytes.clone());
        }
        if let Ok(request) = AddCheckpoint::parse(&bytes) {
            prop_assert_eq!(request.to_string().into_bytes(), bytes.clone());
        }
        if let Ok(frontier) = Frontier::from_bytes(&bytes) {
            prop_assert_eq!(frontier.to_bytes(), bytes.clone());
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(key) = VerifierKey::parse(&text) {
            prop_assert_eq!(key.to_string(), text.as_ref());
        }
        prop_assert!(SignerKey::parse(&text).is_err());
        let _ = TrustPolicy::parse(&bytes).map(|policy| policy.judge_checkpoint(&cosigned(), None));
    }
}
