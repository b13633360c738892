//! Signatures over statements about files, in the form of DSSE (<https://github.com/secure-systems-lab/dsse>). A
//! signature covers the type of the statement, so it is never taken for one over a checkpoint.

use crate::encoding::{decode_base64, encode_base64};
use crate::key::{SignatureKind, SignerKey, VerifierKey};

/// The bytes that are signed: the type and the payload, each with its length.
fn write_signed_message(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut message = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    message.extend_from_slice(payload);
    message
}

/// The name of a key in a statement: `NAME+ID`.
#[must_use]
pub fn make_key_id(key: &VerifierKey) -> String {
    format!("{}+{:08x}", key.name(), u32::from_be_bytes(key.id()))
}

/// The payload as base64, as the statement has it.
#[must_use]
pub fn encode_payload(payload: &[u8]) -> String {
    encode_base64(payload)
}

/// The payload from its base64.
#[must_use]
pub fn decode_payload(text: &str) -> Option<Vec<u8>> {
    decode_base64(text)
}

/// The signature over a payload in base64. `None` if the key makes cosignatures.
#[must_use]
pub fn sign_payload(key: &SignerKey, payload_type: &str, payload: &[u8]) -> Option<String> {
    let message = write_signed_message(payload_type, payload);
    (key.verifier().kind() == SignatureKind::Plain).then(|| encode_base64(&key.sign_message(&message)))
}

/// Whether this is the key's signature over the payload, in base64.
#[must_use]
pub fn verify_payload(key: &VerifierKey, payload_type: &str, payload: &[u8], signature: &str) -> bool {
    let message = write_signed_message(payload_type, payload);
    key.kind() == SignatureKind::Plain
        && decode_base64(signature).is_some_and(|signature| key.is_signature_of(&message, &signature))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signed_bytes_are_those_of_the_format() {
        let message = write_signed_message("http://example.com/HelloWorld", b"hello world");
        assert_eq!(message, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    }

    #[test]
    fn a_signature_is_over_the_type_and_the_payload_and_only_a_log_signs() {
        let key = SignerKey::generate("example.org/a", SignatureKind::Plain, &[7; 32]).unwrap();
        let signature = sign_payload(&key, "type", b"payload").unwrap();
        let is_right = |kind: &str, payload: &[u8], signature: &str| {
            verify_payload(key.verifier(), kind, payload, signature)
        };
        assert!(is_right("type", b"payload", &signature));
        assert!(!is_right("typ", b"payload", &signature) && !is_right("type", b"Payload", &signature));
        assert!(!is_right("type", b"payload", &signature.replace(&signature[..1], "-")));
        let other = SignerKey::generate("example.org/a", SignatureKind::Plain, &[8; 32]).unwrap();
        assert!(!verify_payload(other.verifier(), "type", b"payload", &signature));
        let witness = SignerKey::generate("example.org/w", SignatureKind::Cosignature, &[7; 32]).unwrap();
        assert_eq!(sign_payload(&witness, "type", b"payload"), None);
        assert!(!verify_payload(witness.verifier(), "type", b"payload", &signature));
        assert!(make_key_id(key.verifier()).starts_with("example.org/a+"));
    }
}
