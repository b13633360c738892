//! Signatures over statements about files, in the form of DSSE (<https://github.com/secure-systems-lab/dsse>). A
//! signature covers the type of the statement, so it is never taken for one over a checkpoint.

use crate::encoding::{base64_of, bytes_of};
use crate::key::{SignatureKind, SignerKey, VerifierKey};

/// The bytes that are signed: the type and the payload, each with its length.
fn signed_message(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut message = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    message.extend_from_slice(payload);
    message
}

/// The name of a key in a statement: `NAME+ID`.
#[must_use]
pub fn key_id(key: &VerifierKey) -> String {
    format!("{}+{:08x}", key.name(), u32::from_be_bytes(key.id()))
}

/// The payload as base64, as the statement has it.
#[must_use]
pub fn encoded(payload: &[u8]) -> String {
    base64_of(payload)
}

/// The payload from its base64.
#[must_use]
pub fn decoded(text: &str) -> Option<Vec<u8>> {
    bytes_of(text)
}

/// The signature over a payload in base64. `None` if the key makes cosignatures.
#[must_use]
pub fn sign(key: &SignerKey, payload_type: &str, payload: &[u8]) -> Option<String> {
    let message = signed_message(payload_type, payload);
    (key.verifier().kind() == SignatureKind::Plain).then(|| base64_of(&key.signature_of(&message)))
}

/// Whether this is the key's signature over the payload, in base64.
#[must_use]
pub fn verify(key: &VerifierKey, payload_type: &str, payload: &[u8], signature: &str) -> bool {
    let message = signed_message(payload_type, payload);
    key.kind() == SignatureKind::Plain
        && bytes_of(signature).is_some_and(|signature| key.is_signature_of(&message, &signature))
}
