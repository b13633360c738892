//! Proof files: their form, what they prove, and forms that are refused.

use systole_proof::checkpoint::SignedCheckpoint;
use systole_proof::limits::{EXTRA_BYTES, PROOF_FILE_BYTES};
use systole_proof::policy::TrustPolicy;
use systole_proof::proof_file::{EntryProof, ProofFileFault};
use systole_proof::tree::TreeFault;

use crate::parties::{at, checkpoint, leaf, leaves, log, path, witness};

pub(crate) const SIZE: u64 = 13;
pub(crate) const INDEX: u64 = 5;

pub(crate) fn policy() -> TrustPolicy {
    let lines = format!("log {}\nwitness w1 {}\nquorum w1\n", log().verifier(), witness(1).verifier());
    TrustPolicy::parse(lines.as_bytes()).unwrap()
}

pub(crate) fn proof(extra: Option<&[u8]>) -> EntryProof {
    let mut signed = checkpoint(SIZE);
    signed.add_cosignature(&witness(1), 1000).unwrap();
    let hashes = path(at(INDEX), &leaves(SIZE));
    EntryProof::new(extra.map(<[u8]>::to_vec), INDEX, hashes, signed).unwrap()
}

fn fault(text: &str) -> String {
    EntryProof::parse(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_proof_is_written_read_and_verified() {
    for extra in [None, Some(&b""[..]), Some(b"header and commitment")] {
        let text = proof(extra).to_string();
        let read = EntryProof::parse(text.as_bytes()).unwrap();
        assert_eq!((&read, read.to_string()), (&proof(extra), text));
        assert_eq!((read.extra(), read.index(), read.hashes().len()), (extra, INDEX, 4));
        for expected in [None, Some(log().verifier())] {
            let verdict = read.verify_leaf(&leaf(INDEX), expected, &policy()).unwrap();
            assert_eq!((verdict.cosigned.len(), verdict.witnesses, verdict.is_quorum), (1, 1, true));
        }
    }
}

#[test]
fn the_lines_of_a_proof_are_those_of_the_format() {
    let text = proof(Some(b"ab")).to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..3], ["c2sp.org/tlog-proof@v1", "extra YWI=", "index 5"]);
    assert_eq!((lines[7], lines[8], lines[9]), ("", "example.org/acme", "13"));
    assert!(text.ends_with(&proof(None).checkpoint().to_string()));
}

#[test]
fn a_proof_of_something_else_proves_nothing() {
    let refused = |proof: EntryProof, index| proof.verify_leaf(&leaf(index), None, &policy()).unwrap_err();
    assert_eq!(refused(proof(None), 6), ProofFileFault::Tree(TreeFault::WrongRoot(SIZE)));
    let hashes = || path(at(INDEX), &leaves(SIZE));
    let other = EntryProof::new(None, 99, hashes(), checkpoint(SIZE)).unwrap();
    assert_eq!(
        refused(other, INDEX).to_string(),
        "the entry is not proved: leaf 99 is not in a tree of 13 leaves"
    );
    let other = EntryProof::new(None, INDEX, hashes(), checkpoint(SIZE + 1)).unwrap();
    assert!(matches!(refused(other, INDEX), ProofFileFault::Tree(_)));
    let unknown = TrustPolicy::parse(b"quorum none").unwrap();
    let fault = proof(None).verify_leaf(&leaf(INDEX), None, &unknown).unwrap_err().to_string();
    assert!(fault.starts_with("in the checkpoint after the empty line: the policy names no log"), "{fault}");
    // Too few witnesses are said, and no error.
    let alone = EntryProof::new(None, INDEX, hashes(), checkpoint(SIZE)).unwrap();
    assert!(!alone.verify_leaf(&leaf(INDEX), None, &policy()).unwrap().is_quorum);
}

#[test]
fn a_proof_of_another_form_is_refused_with_its_line() {
    let text = proof(Some(b"ab")).to_string();
    let hash = text.lines().nth(3).unwrap();
    let changed = |from: &str, to: &str| fault(&text.replacen(from, to, 1));
    assert_eq!(fault(""), "line 1: no empty line before a checkpoint");
    assert_eq!(changed("@v1", "@v2"), "line 1: the first line is not c2sp.org/tlog-proof@v1");
    assert_eq!(changed("c2sp", "\n\nc2sp"), "line 1: the first line is not c2sp.org/tlog-proof@v1");
    assert_eq!(changed("YWI=", "YWI"), "line 2: the extra part is not canonical base64");
    let index = "not index, a space and a decimal number without leading zeros";
    for wrong in ["index 05", "index +5", "index", "index 5 ", "indx 5"] {
        assert_eq!(changed("index 5", wrong), format!("line 3: {index}"), "{wrong}");
    }
    assert_eq!(changed("extra YWI=", "extra YWI=\nextra YWI="), format!("line 3: {index}"));
    assert_eq!(changed("extra YWI=", "Extra YWI="), format!("line 2: {index}"));
    assert_eq!(changed(hash, &hash[1..]), "line 4: not a hash of 32 bytes in canonical base64");
    assert_eq!(changed(hash, &format!("{hash} ")), "line 4: not a hash of 32 bytes in canonical base64");
    assert_eq!(changed(hash, &format!("{hash}\n").repeat(64)), "line 67: more than 63 hashes");
    assert_eq!(
        changed("\n13\n", "\n013\n"),
        "in the checkpoint after the empty line: line 2: the size is not a decimal number without leading zeros"
    );
    assert_eq!(
        changed("\u{2014} ", "- "),
        "in the checkpoint after the empty line: line 5: a signature has the form: em dash, space, name, space, base64"
    );
    assert!(fault(&"a".repeat(PROOF_FILE_BYTES + 1)).starts_with("the proof has 524289 bytes"));
    let extra = |bytes| EntryProof::new(Some(vec![0; bytes]), 0, Vec::new(), checkpoint(1));
    let largest = extra(EXTRA_BYTES).unwrap();
    assert_eq!(EntryProof::parse(largest.to_string().as_bytes()).unwrap(), largest);
    assert_eq!(extra(EXTRA_BYTES + 1).unwrap_err(), ProofFileFault::Extra(EXTRA_BYTES + 1));
    assert!(EntryProof::new(None, 0, vec![[0; 32]; 64], checkpoint(1)).is_err());
}

#[test]
fn a_checkpoint_stays_as_it_is_in_a_proof() {
    // An extension line and an unknown signature are not ours, and are kept.
    let mut text = checkpoint(SIZE).to_string();
    text.push_str("\u{2014} a AAAAAAA=\n");
    let foreign = SignedCheckpoint::parse(text.as_bytes()).unwrap();
    let written = EntryProof::new(None, INDEX, Vec::new(), foreign).unwrap().to_string();
    assert!(written.ends_with(&format!("index 5\n\n{text}")));
}
