//! Ed25519 keys of signed notes, as text in the form that Go's `note` package uses.

use std::fmt;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::encoding::{decode_base64, encode_base64};
use crate::limits;

/// How the text of a secret key begins.
pub(crate) const SECRET_PREFIX: &str = "PRIVATE+KEY+";

/// What a key signs with. Both kinds are Ed25519; they differ in the signed message and in the key id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureKind {
    /// The text of the note: type 0x01, for logs.
    Plain,
    /// The text of a checkpoint with a time: type 0x04, for witnesses.
    Cosignature,
}

impl SignatureKind {
    fn to_byte(self) -> u8 {
        match self {
            Self::Plain => 1,
            Self::Cosignature => 4,
        }
    }

    fn from_byte(byte: u8) -> Result<Self, NoteKeyFault> {
        match byte {
            1 => Ok(Self::Plain),
            4 => Ok(Self::Cosignature),
            other => Err(NoteKeyFault::Type(other)),
        }
    }
}

/// What is wrong with the text or the name of a key. No message shows a secret.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoteKeyFault {
    /// The text is too long.
    #[error("a key of {0} bytes is too long: {most} at most", most = limits::KEY_BYTES)]
    TooLong(usize),
    /// The text does not have the parts of a key.
    #[error("a {0} key has the form {1}, with eight small hex digits as ID")]
    Form(&'static str, &'static str),
    /// The name is refused.
    #[error("the name of the key {0}")]
    Name(&'static str),
    /// The last part is not base64, or does not have 33 bytes.
    #[error("the last part of the key is not 33 bytes in base64: the type and 32 bytes of Ed25519")]
    Bytes,
    /// The type is unknown.
    #[error("keys of type 0x{0:02x} are not supported: use 0x01 (Ed25519) or 0x04 (Ed25519 cosignature)")]
    Type(u8),
    /// The bytes are no public key, or one for which signatures can be made without its secret.
    #[error("the last part of the key is no public key of Ed25519 that is safe to use")]
    Unsafe,
    /// The ID belongs to another key.
    #[error("the ID of the key is {said}, but name, type and public key give {computed}; copy the key again")]
    Id {
        /// The ID in the text.
        said: String,
        /// The ID that the rest of the text gives.
        computed: String,
    },
}

/// Checks the name of a key, which is also the origin of a log.
///
/// # Errors
/// The rest of a sentence that begins with the name.
pub(crate) fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        Err("is empty")
    } else if name.len() > limits::NAME_BYTES {
        Err("is longer than 255 bytes")
    } else if name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '+') {
        Err("contains a space, a control character or a plus sign; a URL without https:// is a good name")
    } else {
        Ok(())
    }
}

/// A key that makes signatures. It is wiped from memory when it is dropped, and never printed by `Debug`.
#[derive(Clone)]
pub struct SignerKey {
    secret: SigningKey,
    public: VerifierKey,
}

impl SignerKey {
    /// A new key from 32 random bytes, which the caller draws.
    ///
    /// # Errors
    /// If the name is refused.
    pub fn generate(name: &str, kind: SignatureKind, random: &[u8; 32]) -> Result<Self, NoteKeyFault> {
        check_name(name).map_err(NoteKeyFault::Name)?;
        let secret = SigningKey::from_bytes(random);
        let public = VerifierKey::from_public(name, kind, secret.verifying_key());
        Ok(Self { secret, public })
    }

    /// Reads a key: `PRIVATE+KEY+NAME+ID+BASE64`.
    ///
    /// # Errors
    /// If the text is not such a key, or its ID is wrong.
    pub fn parse(text: &str) -> Result<Self, NoteKeyFault> {
        let form = NoteKeyFault::Form("signer", "PRIVATE+KEY+NAME+ID+BASE64");
        let parts = text.strip_prefix(SECRET_PREFIX).ok_or_else(|| form.clone())?;
        let (name, id, kind, bytes) = split_parts(parts, text.len(), form)?;
        let key = Self::generate(name, kind, &bytes)?;
        key.public.check_id(id)?;
        Ok(key)
    }

    /// The key with its secret, as [`SignerKey::parse`] takes it: only for the file of the key.
    #[must_use]
    pub fn secret_text(&self) -> String {
        let VerifierKey { name, kind, .. } = &self.public;
        let bytes = [&[kind.to_byte()], self.secret.as_bytes().as_slice()].concat();
        format!("{SECRET_PREFIX}{name}+{}+{}", self.public.id_text(), encode_base64(&bytes))
    }

    /// The key that verifies the signatures of this one.
    #[must_use]
    pub fn verifier(&self) -> &VerifierKey {
        &self.public
    }

    /// The Ed25519 signature of these bytes.
    pub(crate) fn sign_message(&self, message: &[u8]) -> [u8; 64] {
        self.secret.sign(message).to_bytes()
    }
}

impl fmt::Debug for SignerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignerKey({}, secret not shown)", self.public)
    }
}

/// A key that verifies signatures. Its text is `NAME+ID+BASE64`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    id: [u8; 4],
    kind: SignatureKind,
    public: VerifyingKey,
}

impl VerifierKey {
    fn from_public(name: &str, kind: SignatureKind, public: VerifyingKey) -> Self {
        let hash = Sha256::new()
            .chain_update(name)
            .chain_update([b'\n', kind.to_byte()])
            .chain_update(public.as_bytes())
            .finalize();
        let [a, b, c, d, ..] = <[u8; 32]>::from(hash);
        Self { name: name.to_owned(), id: [a, b, c, d], kind, public }
    }

    /// Reads a key: `NAME+ID+BASE64`.
    ///
    /// # Errors
    /// If the text is not such a key, or its ID is wrong.
    pub fn parse(text: &str) -> Result<Self, NoteKeyFault> {
        if text.starts_with(SECRET_PREFIX) {
            return Err(NoteKeyFault::Form("verifier", "NAME+ID+BASE64, and this is a secret signer key"));
        }
        let form = NoteKeyFault::Form("verifier", "NAME+ID+BASE64");
        let (name, id, kind, bytes) = split_parts(text, text.len(), form)?;
        check_name(name).map_err(NoteKeyFault::Name)?;
        let public = VerifyingKey::from_bytes(&bytes).map_err(|_| NoteKeyFault::Unsafe)?;
        if public.is_weak() {
            return Err(NoteKeyFault::Unsafe);
        }
        let key = Self::from_public(name, kind, public);
        key.check_id(id)?;
        Ok(key)
    }

    /// The name. That of a log is its origin.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first bytes of a hash over name, type and public key, by which signatures name their key.
    #[must_use]
    pub fn id(&self) -> [u8; 4] {
        self.id
    }

    /// What the key signs with.
    #[must_use]
    pub fn kind(&self) -> SignatureKind {
        self.kind
    }

    /// The public key alone. Two keys with the same bytes belong to the same owner, whatever their names are.
    #[must_use]
    pub fn public_bytes(&self) -> &[u8; 32] {
        self.public.as_bytes()
    }

    /// Whether this is the Ed25519 signature of these bytes. Signatures that another one could be made from are
    /// refused.
    pub(crate) fn is_signature_of(&self, message: &[u8], signature: &[u8]) -> bool {
        let signature = Signature::from_slice(signature);
        signature.is_ok_and(|signature| self.public.verify_strict(message, &signature).is_ok())
    }

    fn id_text(&self) -> String {
        format!("{:08x}", u32::from_be_bytes(self.id))
    }

    fn check_id(&self, said: &str) -> Result<(), NoteKeyFault> {
        let computed = self.id_text();
        if said == computed { Ok(()) } else { Err(NoteKeyFault::Id { said: said.to_owned(), computed }) }
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&[self.kind.to_byte()], self.public.as_bytes().as_slice()].concat();
        write!(f, "{}+{}+{}", self.name, self.id_text(), encode_base64(&bytes))
    }
}

type KeyParts<'a> = (&'a str, &'a str, SignatureKind, [u8; 32]);

/// Name, ID, kind and bytes of `NAME+ID+BASE64`. The base64 may contain plus signs.
fn split_parts(parts: &str, length: usize, form: NoteKeyFault) -> Result<KeyParts<'_>, NoteKeyFault> {
    if length > limits::KEY_BYTES {
        return Err(NoteKeyFault::TooLong(length));
    }
    let mut parts = parts.splitn(3, '+');
    let (Some(name), Some(id), Some(base64)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(form);
    };
    // An ID that is none may be a part of the secret, so it is not shown.
    if id.len() != 8 || !id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return Err(form);
    }
    let bytes = decode_base64(base64).ok_or(NoteKeyFault::Bytes)?;
    let (kind, bytes) = bytes.split_first().ok_or(NoteKeyFault::Bytes)?;
    let kind = SignatureKind::from_byte(*kind)?;
    Ok((name, id, kind, bytes.try_into().map_err(|_| NoteKeyFault::Bytes)?))
}
