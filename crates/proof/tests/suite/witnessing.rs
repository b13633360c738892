//! A witness: every answer of the protocol, in the order in which its page asks for the checks.

use systole_proof::checkpoint::{Checkpoint, SignedCheckpoint};
use systole_proof::key::{SignatureKind, SignerKey};
use systole_proof::limits::{REQUEST_BYTES, SIGNATURES};
use systole_proof::tree::TreeHash;
use systole_proof::witness::{AddCheckpoint, WitnessAnswer, WitnessedLog, answer_request, take_cosignatures};

use crate::parties::{ORIGIN, at, checkpoint, consistency, keys, leaf, leaves, log, root, witness};

pub(crate) fn known(size: u64) -> WitnessedLog {
    WitnessedLog { keys: keys(&[&log()]), size, root: root(&leaves(size)) }
}

pub(crate) fn request(old: u64, new: u64) -> AddCheckpoint {
    let proof = consistency(at(old), &leaves(new));
    AddCheckpoint { old, proof, checkpoint: checkpoint(new) }
}

pub(crate) fn answered(body: &[u8], known: &WitnessedLog) -> WitnessAnswer {
    answer_request(body, &witness(1), 1000, |origin| (origin == ORIGIN).then_some(known)).unwrap()
}

fn told(request: &AddCheckpoint, known: &WitnessedLog) -> (u16, String) {
    let answer = answered(request.to_string().as_bytes(), known);
    (answer.status(), answer.body())
}

#[test]
fn a_log_that_grows_is_cosigned() {
    let mut state = WitnessedLog::new(keys(&[&log()]));
    for (old, new) in [(0, 0), (0, 1), (1, 1), (1, 7), (7, 8), (8, 70)] {
        let request = request(old, new);
        let answer = answered(request.to_string().as_bytes(), &state);
        let WitnessAnswer::Cosigned(cosigned) = &answer else { panic!("{old} to {new}: {answer:?}") };
        assert_eq!((answer.status(), answer.content_type()), (200, "text/plain; charset=utf-8"));
        // The witness keeps the signature of the log and its own.
        cosigned.verify_with(log().verifier()).unwrap();
        let all = cosigned.note().verify_with(&keys(&[&log(), &witness(1)])).unwrap();
        assert_eq!((all.len(), all[1].seconds), (2, Some(1000)));
        // The log adds the line to its checkpoint.
        let taken = take_cosignatures(&request.checkpoint, answer.body().as_bytes(), &keys(&[&witness(1)]));
        assert_eq!(taken.unwrap(), **cosigned);
        let checkpoint = cosigned.checkpoint();
        (state.size, state.root) = (checkpoint.size(), *checkpoint.root());
    }
    assert_eq!((state.size, state.root), (70, root(&leaves(70))));
}

#[test]
fn a_request_is_written_as_the_protocol_says_and_read_again() {
    let request = request(5, 7);
    let body = request.to_string();
    assert_eq!(body.lines().next(), Some("old 5"));
    assert_eq!(body.lines().position(str::is_empty), Some(1 + request.proof.len()));
    assert!(body.ends_with(&format!("\n\n{}", request.checkpoint)));
    assert_eq!(AddCheckpoint::parse(body.as_bytes()).unwrap(), request);
}

/// The example of the page of the protocol.
#[test]
fn the_example_of_the_protocol_is_read_and_written() {
    let body = "old 20852014\nPlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=\njrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=\n\
        5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=\n/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=\n\n\
        example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\
        \u{2014} example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n\
        \u{2014} example.com/behind-the-sofa opLqBQsREYCgu6xQkYQwJr9fo45a62DN9EdmHXnZdXNqlcVGlCum2Wks+49/V6267UEjw6QUXTS5Rovnzv++qbSzm9Q=\n";
    let read = AddCheckpoint::parse(body.as_bytes()).unwrap();
    assert_eq!((read.old, read.proof.len(), read.checkpoint.note().signatures().len()), (20_852_014, 4, 2));
    assert_eq!(read.to_string(), body);
    let answer = answered(body.as_bytes(), &known(5));
    assert_eq!(
        (answer.status(), answer.body().as_str()),
        (404, "this witness does not know the log example.com/behind-the-sofa\n")
    );
}

#[test]
fn a_request_of_another_form_is_malformed() {
    let body = request(5, 7).to_string();
    let told = |body: &str| {
        let answer = answered(body.as_bytes(), &known(5));
        (answer.status(), answer.body())
    };
    let malformed = |expected: &str| (400, format!("{expected}\n"));
    assert_eq!(told(""), malformed("line 1: no empty line before a checkpoint"));
    let old = malformed("line 1: not old, a space and a decimal number without leading zeros");
    for wrong in ["old 05", "old", "old 5 ", "Old 5", "old -5", "5"] {
        assert_eq!(told(&body.replacen("old 5", wrong, 1)), old, "{wrong}");
    }
    let hash = body.lines().nth(1).unwrap();
    let not_a_hash = malformed("line 2: not a hash of 32 bytes in canonical base64");
    assert_eq!(told(&body.replacen(hash, "AAAA", 1)), not_a_hash);
    let many = format!("{hash}\n").repeat(64);
    assert_eq!(
        told(&body.replacen(&format!("{hash}\n"), &many, 1)),
        malformed("line 65: more than 63 hashes")
    );
    let in_checkpoint =
        "in the checkpoint after the empty line: line 3: the root is not 32 bytes in canonical base64";
    let top = body.lines().nth(4 + request(5, 7).proof.len()).unwrap();
    assert_eq!(told(&body.replacen(top, "AAAA", 1)), malformed(in_checkpoint));
    assert_eq!(told(&"a".repeat(REQUEST_BYTES + 1)).0, 400);
}

#[test]
fn only_a_known_log_with_its_own_key_is_cosigned() {
    let stranger = SignerKey::generate("example.org/other", SignatureKind::Plain, &[3; 32]).unwrap();
    let three = |origin| Checkpoint::new(origin, 3, root(&leaves(3))).unwrap();
    let unknown = SignedCheckpoint::sign_with(three("example.org/other"), &stranger).unwrap();
    let ask = |checkpoint| told(&AddCheckpoint { old: 0, proof: Vec::new(), checkpoint }, &known(0));
    assert_eq!(ask(unknown).0, 404);
    let forged = SignerKey::generate(ORIGIN, SignatureKind::Plain, &[3; 32]).unwrap();
    let forged = SignedCheckpoint::sign_with(three(ORIGIN), &forged).unwrap();
    assert_eq!(ask(forged.clone()), (403, "no signature of the note is by a known key\n".to_owned()));
    // A wrong signature of the known key, beside a right one too.
    let other = checkpoint(4).note().signatures()[0].to_string();
    for signatures in [other.clone(), format!("{}{other}", checkpoint(3).note().signatures()[0])] {
        let text = format!("{}\n{signatures}", checkpoint(3).note().text());
        assert_eq!(ask(SignedCheckpoint::parse(text.as_bytes()).unwrap()).0, 403);
    }
    // The signature of a stranger is passed over, and the witness does not keep it.
    let both = format!("{}{}", checkpoint(3), forged.note().signatures()[0]);
    let request = format!("old 0\n\n{both}");
    let WitnessAnswer::Cosigned(kept) = answered(request.as_bytes(), &known(0)) else { panic!("{request}") };
    assert_eq!(kept.note().signatures().len(), 2);
    kept.verify_with(log().verifier()).unwrap();
    // A log that signs as often as a note allows leaves room for the cosignature.
    let line = checkpoint(3).note().signatures()[0].to_string();
    let full = format!("old 0\n\n{}\n{}", checkpoint(3).note().text(), line.repeat(SIGNATURES));
    let WitnessAnswer::Cosigned(kept) = answered(full.as_bytes(), &known(0)) else { panic!("{full}") };
    assert_eq!(kept.note().signatures().len(), 2);
}

#[test]
fn the_old_size_is_that_of_the_last_checkpoint() {
    assert_eq!(told(&request(5, 7), &known(6)), (409, "6\n".to_owned()));
    assert_eq!(told(&request(0, 7), &known(6)), (409, "6\n".to_owned()));
    assert_eq!(told(&request(5, 5), &known(6)), (409, "6\n".to_owned()));
    let conflict = answered(request(5, 7).to_string().as_bytes(), &known(6));
    assert_eq!(conflict.content_type(), "text/x.tlog.size");
    // Larger than the new size: that is wrong whatever the witness knows.
    let shrinks = AddCheckpoint { old: 9, ..request(5, 7) };
    for size in [5, 9] {
        let expected = "the old tree has 9 leaves, more than the 7 of the new one\n";
        assert_eq!(told(&shrinks, &known(size)), (400, expected.to_owned()));
    }
}

#[test]
fn a_tree_that_does_not_continue_the_last_one_is_refused() {
    let fork = |new: u64| -> SignedCheckpoint {
        let mut other = leaves(new);
        other[2] = leaf(99);
        let checkpoint = Checkpoint::new(ORIGIN, new, root(&other)).unwrap();
        SignedCheckpoint::sign_with(checkpoint, &log()).unwrap()
    };
    let status = |old, proof: Vec<TreeHash>, checkpoint, size| {
        told(&AddCheckpoint { old, proof, checkpoint }, &known(size)).0
    };
    let proof = || consistency(5, &leaves(7));
    assert_eq!(status(5, proof(), checkpoint(7), 5), 200);
    assert_eq!(status(5, proof(), fork(7), 5), 422);
    assert_eq!(status(5, proof()[1..].to_vec(), checkpoint(7), 5), 422);
    assert_eq!(status(5, Vec::new(), checkpoint(7), 5), 422);
    assert_eq!(status(5, Vec::new(), fork(5), 5), 422);
    assert_eq!(status(5, Vec::new(), checkpoint(5), 5), 200);
    assert_eq!(status(5, vec![leaf(0)], checkpoint(5), 5), 422);
    assert_eq!(status(0, vec![leaf(0)], checkpoint(7), 0), 422);
    let wrong_empty =
        SignedCheckpoint::sign_with(Checkpoint::new(ORIGIN, 0, leaf(0)).unwrap(), &log()).unwrap();
    assert_eq!(status(0, Vec::new(), wrong_empty, 0), 422);
    // The fork has a right proof of its own, which leads to another old root.
    let mut other = leaves(7);
    other[2] = leaf(99);
    assert_eq!(status(5, consistency(5, &other), fork(7), 5), 422);
}

#[test]
fn a_witness_that_cannot_cosign_says_so() {
    let body = request(0, 3).to_string();
    let log_of = |_: &str| None;
    assert_eq!(answer_request(body.as_bytes(), &witness(1), 0, log_of).unwrap().status(), 404);
    let state = known(0);
    let fault = |key: &SignerKey, seconds| {
        answer_request(body.as_bytes(), key, seconds, |_| Some(&state)).unwrap_err()
    };
    assert!(fault(&witness(1), 0).to_string().starts_with("a cosignature cannot have the time 0"));
    assert!(fault(&log(), 1000).to_string().contains("makes no cosignatures"));
}

#[test]
fn a_log_takes_only_cosignatures_of_known_witnesses() {
    let signed = checkpoint(3);
    let line = |key: &SignerKey| {
        let mut cosigned = signed.clone();
        cosigned.add_cosignature(key, 1000).unwrap();
        cosigned.note().signatures()[1].to_string()
    };
    let take = |answer: &str| take_cosignatures(&signed, answer.as_bytes(), &keys(&[&witness(1)]));
    let both = format!("{}{}", line(&witness(2)), line(&witness(1)));
    let taken = take(&both).unwrap();
    assert_eq!(taken.note().signatures().len(), 2);
    assert_eq!(taken.note().signatures()[1].name(), "witness.example/w1");
    for wrong in ["", "hello", &line(&witness(2)), "\n", &format!("\n{}", line(&witness(1)))] {
        take(wrong).unwrap_err();
    }
    let mut of_another = checkpoint(4);
    of_another.add_cosignature(&witness(1), 1000).unwrap();
    take(&of_another.note().signatures()[1].to_string()).unwrap_err();
    take(&line(&witness(2)).repeat(SIGNATURES)).unwrap_err();
    // A cosignature that was there before is no answer.
    take_cosignatures(&taken, line(&witness(2)).as_bytes(), &keys(&[&witness(1)])).unwrap_err();
}
