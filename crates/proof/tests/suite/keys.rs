//! Keys: Go's form, key ids, and texts that are refused.

use systole_proof::key::{NoteKeyFault, SignatureKind, SignerKey, VerifierKey};

use crate::parties::{log, witness};

/// The keys of the examples in the documentation of Go's package `note`.
pub(crate) const GO_SIGNER: &str =
    "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
pub(crate) const GO_VERIFIER: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";

#[test]
fn the_keys_of_go_are_read_and_written() {
    let key = SignerKey::parse(GO_SIGNER).unwrap();
    assert_eq!(key.secret_text(), GO_SIGNER);
    assert_eq!(key.verifier().to_string(), GO_VERIFIER);
    assert_eq!(*key.verifier(), VerifierKey::parse(GO_VERIFIER).unwrap());
    assert_eq!((key.verifier().name(), key.verifier().id()), ("PeterNeumann", [0xc7, 0x4f, 0x20, 0xa3]));
    assert_eq!(key.verifier().kind(), SignatureKind::Plain);
}

#[test]
fn a_generated_key_is_read_again() {
    for key in [log(), witness(1)] {
        let again = SignerKey::parse(&key.secret_text()).unwrap();
        assert_eq!(again.verifier(), key.verifier());
        assert_eq!(again.secret_text(), key.secret_text());
        assert_eq!(VerifierKey::parse(&key.verifier().to_string()).unwrap(), *key.verifier());
    }
    let other = SignerKey::generate(log().verifier().name(), SignatureKind::Cosignature, &[1; 32]).unwrap();
    assert_eq!(other.verifier().public_bytes(), log().verifier().public_bytes());
    assert_ne!(other.verifier().id(), log().verifier().id(), "the type is a part of the id");
}

#[test]
fn debug_does_not_show_the_secret() {
    let key = SignerKey::parse(GO_SIGNER).unwrap();
    for shown in [format!("{key:?}"), format!("{key:#?}"), format!("{:?}", Some(&key))] {
        assert!(shown.contains(GO_VERIFIER), "{shown}");
        assert!(!shown.contains("EKFALVFGyNhPJEMzD1QIDr") && !shown.contains("129, 10, 20, 2"), "{shown}");
    }
}

#[test]
fn a_signer_key_with_a_fault_is_refused_and_not_shown() {
    let read = |text: &str| SignerKey::parse(text).unwrap_err();
    let (id, base64) = ("c74f20a3", "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz");
    for text in [
        String::new(),
        "PRIVATE+KEY+".to_owned(),
        GO_VERIFIER.to_owned(),
        format!("PRIVATE+KEY+PeterNeumann+{id}"),
        // The name is forgotten, so that a part of the secret is in place of the ID.
        format!("PRIVATE+KEY+{id}+{base64}"),
        format!("PRIVATE+KEY++{id}+{base64}"),
        format!("PRIVATE+KEY+Peter Neumann+{id}+{base64}"),
        format!("PRIVATE+KEY+PeterNeumann+C74F20A3+{base64}"),
        format!("PRIVATE+KEY+PeterNeumann+c74f20a4+{base64}"),
        format!("PRIVATE+KEY+PeterNeuman+{id}+{base64}"),
        format!("PRIVATE+KEY+PeterNeumann+{id}+{base64}="),
        format!("PRIVATE+KEY+PeterNeumann+{id}+{}", &base64[..40]),
        format!("PRIVATE+KEY+PeterNeumann+{id}+B{}", &base64[1..]),
        format!("PRIVATE+KEY+PeterNeumann+{id}+{base64}\n"),
        format!("PRIVATE+KEY+{}+{id}+{base64}", "a".repeat(2000)),
    ] {
        let fault = read(&text).to_string();
        assert!(!fault.contains("EKFALVFGyNhPJEMzD1QIDr") && !fault.contains("Y7hfZx09iUv"), "{fault}");
    }
}

#[test]
fn a_verifier_key_with_a_fault_is_refused() {
    let fault = |text: &str| VerifierKey::parse(text).unwrap_err().to_string();
    let form = "a verifier key has the form NAME+ID+BASE64, with eight small hex digits as ID";
    assert_eq!(fault(""), form);
    assert_eq!(fault("PeterNeumann+c74f20a3"), form);
    assert_eq!(fault(&GO_VERIFIER.replace("c74f20a3", "0xc74f20")), form);
    assert_eq!(
        fault(&GO_VERIFIER.replace("c74f20a3", "c74f20a4")),
        "the ID of the key is c74f20a4, but name, type and public key give c74f20a3; copy the key again"
    );
    assert_eq!(
        fault(&GO_VERIFIER.replace("+AR", "+Ah")),
        "keys of type 0x02 are not supported: use 0x01 (Ed25519) or 0x04 (Ed25519 cosignature)"
    );
    assert!(fault(&GO_VERIFIER[..50]).starts_with("the last part of the key is not 33 bytes in base64"));
    assert!(fault(GO_SIGNER).contains("this is a secret signer key"));
    assert_eq!(VerifierKey::parse(&"a".repeat(1025)).unwrap_err(), NoteKeyFault::TooLong(1025));
    // The point of order one: every signature with S = 0 and the same point would pass a lenient check.
    let weak = format!("a+00000000+AQE{}", "A".repeat(41));
    assert_eq!(VerifierKey::parse(&weak).unwrap_err(), NoteKeyFault::Unsafe);
}

#[test]
fn names_are_bounded() {
    let generate = |name: &str| SignerKey::generate(name, SignatureKind::Plain, &[7; 32]);
    for name in ["a", "example.org/acme", "h\u{e9}las", &"a".repeat(255)] {
        generate(name).unwrap();
    }
    for name in ["", "a b", "a+b", "a\u{a0}b", "a\nb", "a\u{2003}b", "a\u{7f}", "a\0", &"a".repeat(256)] {
        let fault = generate(name).unwrap_err().to_string();
        assert!(fault.starts_with("the name of the key "), "{fault}");
    }
}
