//! Cosignatures of witnesses over checkpoints, in the form `cosignature/v1`: a time and an Ed25519 signature.
//!
//! These functions make and check the bytes of a cosignature. [`SignedNote`](crate::note::SignedNote) holds them.

use crate::key::{SignerKey, VerifierKey};

/// The latest time that a cosignature can have, in seconds since 1970.
pub const LATEST: u64 = i64::MAX as u64;

/// The bytes that a witness signs: the time, and the whole text of the checkpoint without signatures.
#[must_use]
pub fn write_signed_message(seconds: u64, text: &str) -> String {
    format!("cosignature/v1\ntime {seconds}\n{text}")
}

/// The time in 8 bytes and the signature. The caller has checked the kind of the key and the time.
pub(crate) fn sign_text(key: &SignerKey, seconds: u64, text: &str) -> Vec<u8> {
    let signature = key.sign_message(write_signed_message(seconds, text).as_bytes());
    [seconds.to_be_bytes().as_slice(), signature.as_slice()].concat()
}

/// The time of a cosignature that this key made over this text.
pub(crate) fn verify_time(key: &VerifierKey, text: &str, cosignature: &[u8]) -> Option<u64> {
    let (seconds, signature) = cosignature.split_first_chunk()?;
    let seconds = u64::from_be_bytes(*seconds);
    let is_right =
        seconds <= LATEST && key.is_signature_of(write_signed_message(seconds, text).as_bytes(), signature);
    is_right.then_some(seconds)
}
