//! Checkpoints: their three lines, forms that are refused, and the key that a log signs with.

use systole_proof::checkpoint::{Checkpoint, CheckpointFault, SignedCheckpoint};
use systole_proof::key::{SignatureKind, SignerKey};
use systole_proof::limits::TREE_SIZE;

use crate::parties::{ORIGIN, checkpoint, log, root, witness};

const ROOT: &str = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=";

fn fault(text: &str) -> String {
    Checkpoint::parse(text).unwrap_err().to_string()
}

#[test]
fn a_checkpoint_has_three_lines() {
    let signed = checkpoint(3);
    let lines: Vec<&str> = signed.note().text().split_inclusive('\n').collect();
    assert_eq!((lines.len(), lines[0], lines[1]), (3, "example.org/acme\n", "3\n"));
    assert_eq!(signed.to_string().lines().count(), 5);
    let again = SignedCheckpoint::parse(signed.to_string().as_bytes()).unwrap();
    assert_eq!(again, signed);
    assert_eq!(again.verify_with(log().verifier()).unwrap().len(), 1);
    let empty = checkpoint(0);
    assert_eq!((empty.checkpoint().size(), empty.checkpoint().root()), (0, &root(&[])));
}

#[test]
fn a_checkpoint_of_another_form_is_refused_with_its_line() {
    Checkpoint::parse(&format!("a\n0\n{ROOT}\n")).unwrap();
    Checkpoint::parse(&format!("a\n{TREE_SIZE}\n{ROOT}\nextension\nanother\n")).unwrap();
    assert_eq!(fault(""), "line 1: no origin");
    assert_eq!(fault("a"), "line 1: no origin");
    assert_eq!(fault("a\n"), "line 2: no size of the tree");
    assert_eq!(fault("a\n1\n"), "line 3: no root");
    assert_eq!(fault(&format!("a\n1\n{ROOT}")), "line 3: no root");
    assert_eq!(fault(&format!("\n1\n{ROOT}\n")), "line 1: the origin is empty");
    for origin in ["a b", "a+b", "go.sum database tree", "a\u{a0}"] {
        assert!(fault(&format!("{origin}\n1\n{ROOT}\n")).starts_with("line 1: the origin contains"));
    }
    for size in ["", "01", "+1", "-1", " 1", "1 ", "1e3", "18446744073709551616"] {
        let expected = "line 2: the size is not a decimal number without leading zeros";
        assert_eq!(fault(&format!("a\n{size}\n{ROOT}\n")), expected, "{size:?}");
    }
    assert_eq!(
        fault(&format!("a\n{}\n{ROOT}\n", TREE_SIZE + 1)),
        "line 2: the tree is too large: 2^62 leaves at most"
    );
    for root in
        ["", &ROOT[..43], &ROOT.replace("2I=", "2J="), &ROOT.replace('/', "_"), "AAAA", &format!(" {ROOT}")]
    {
        let expected = "line 3: the root is not 32 bytes in canonical base64";
        assert_eq!(fault(&format!("a\n1\n{root}\n")), expected, "{root:?}");
    }
    let extension = "an extension line is empty or does not end with a line break";
    assert_eq!(fault(&format!("a\n1\n{ROOT}\n\n")), format!("line 4: {extension}"));
    assert_eq!(fault(&format!("a\n1\n{ROOT}\nx\ny")), format!("line 5: {extension}"));
}

#[test]
fn a_log_signs_with_its_own_key() {
    let three = || Checkpoint::new(ORIGIN, 3, [0; 32]).unwrap();
    let other = SignerKey::generate("example.org/other", SignatureKind::Plain, &[1; 32]).unwrap();
    assert_eq!(
        SignedCheckpoint::sign_with(three(), &other).unwrap_err().to_string(),
        "line 1: the origin is example.org/acme, and the key is that of example.org/other"
    );
    assert_eq!(
        SignedCheckpoint::sign_with(three(), &witness(1)).unwrap_err().to_string(),
        "witness.example/w1 is the key of a witness (type 0x04); a log signs with a key of type 0x01"
    );
    let signed = checkpoint(3);
    assert!(matches!(signed.verify_with(other.verifier()), Err(CheckpointFault::OtherLog { .. })));
    assert!(matches!(signed.verify_with(witness(1).verifier()), Err(CheckpointFault::NotALogKey(_))));
    let renewed = SignerKey::generate(ORIGIN, SignatureKind::Plain, &[2; 32]).unwrap();
    assert_eq!(
        signed.verify_with(renewed.verifier()).unwrap_err().to_string(),
        "no signature of the note is by a known key"
    );
    assert!(Checkpoint::new("a b", 0, [0; 32]).is_err());
    assert!(Checkpoint::new("a", TREE_SIZE + 1, [0; 32]).is_err());
}
