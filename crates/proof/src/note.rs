//! Signed notes of C2SP: a text, an empty line, and a line for each signature.

use std::fmt;

use thiserror::Error;

use crate::cosignature;
use crate::encoding::{decode_base64, encode_base64};
use crate::key::{SignatureKind, SignerKey, VerifierKey, check_name};
use crate::limits;

/// How a line of a signature begins: an em dash and a space.
const DASH: &str = "\u{2014} ";

/// Why a note is refused or cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoteFault {
    /// The note is too long.
    #[error("the note has {0} bytes: {most} at most", most = limits::NOTE_BYTES)]
    TooLong(usize),
    /// A line is refused.
    #[error("line {line}: {what}")]
    Line {
        /// The line of the note, from 1.
        line: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A signature by a known key is wrong.
    #[error("line {line}: the signature of {name} is wrong: the text was changed, or another key signed it")]
    WrongSignature {
        /// The line of the note, from 1.
        line: usize,
        /// The name of the key.
        name: String,
    },
    /// No known key signed.
    #[error("no signature of the note is by a known key")]
    Unsigned,
    /// The key is of the other kind.
    #[error("the key {name} makes no {wanted}")]
    Kind {
        /// The name of the key.
        name: String,
        /// What it should make.
        wanted: &'static str,
    },
    /// The time of a cosignature is refused.
    #[error("a cosignature cannot have the time {0}: seconds since 1970, from 1 to 2^63 - 1")]
    Time(u64),
}

/// A line of a signature. It proves nothing before [`SignedNote::verify_with`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteSignature {
    name: String,
    id: [u8; 4],
    bytes: Vec<u8>,
}

impl NoteSignature {
    /// The name of the key.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The id of the key.
    #[must_use]
    pub fn id(&self) -> [u8; 4] {
        self.id
    }

    /// The bytes after the id. Their form depends on the kind of the key.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn parse(line: &str) -> Result<Self, &'static str> {
        let parts = line.strip_prefix(DASH).and_then(|line| line.split_once(' '));
        let (name, base64) = parts.ok_or("a signature has the form: em dash, space, name, space, base64")?;
        check_name(name)
            .map_err(|_| "the name of a key has 1 to 255 bytes, without spaces and plus signs")?;
        let bytes = decode_base64(base64).ok_or("the signature is not canonical base64")?;
        match bytes.split_first_chunk() {
            Some((id, rest)) if !rest.is_empty() => {
                Ok(Self { name: name.to_owned(), id: *id, bytes: rest.to_vec() })
            }
            _ => Err("the signature is shorter than 5 bytes"),
        }
    }
}

impl fmt::Display for NoteSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base64 = encode_base64(&[self.id.as_slice(), &self.bytes].concat());
        writeln!(f, "{DASH}{} {base64}", self.name)
    }
}

/// A signature that a known key made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedSignature {
    /// The place of the signature in the note.
    pub place: usize,
    /// The place of its key among the known ones.
    pub key: usize,
    /// The time of a cosignature, in seconds since 1970.
    pub seconds: Option<u64>,
}

/// A text and its signatures. `Display` writes the note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedNote {
    text: String,
    signatures: Vec<NoteSignature>,
}

impl SignedNote {
    /// A note that is to be signed. Its text ends with a line break.
    ///
    /// # Errors
    /// If the text is too long, does not end with a line break, or contains another control character.
    pub fn from_text(text: &str) -> Result<Self, NoteFault> {
        let last = text.lines().count().max(1);
        check_text(text)?;
        if !text.ends_with('\n') {
            return Err(NoteFault::Line { line: last, what: "the text does not end with a line break" });
        }
        Ok(Self { text: text.to_owned(), signatures: Vec::new() })
    }

    /// Reads a note. Its signatures are not verified.
    ///
    /// # Errors
    /// If the note is too long, or a line does not have the form of the format.
    pub fn parse(bytes: &[u8]) -> Result<Self, NoteFault> {
        if bytes.len() > limits::NOTE_BYTES {
            return Err(NoteFault::TooLong(bytes.len()));
        }
        let at = |line, what| NoteFault::Line { line, what };
        let all = str::from_utf8(bytes).map_err(|fault| {
            let before = bytes.get(..fault.valid_up_to()).unwrap_or_default();
            at(1 + count_line_breaks(before), "not UTF-8")
        })?;
        let last = all.lines().count().max(1);
        let split = all.rfind("\n\n").ok_or(at(last, "no empty line before signatures"))?;
        let (text, signatures) = all.split_at(split + 1);
        check_text(text)?;
        let first = 2 + count_line_breaks(text.as_bytes());
        let signatures = signatures.strip_prefix('\n').unwrap_or_default();
        if signatures.is_empty() {
            return Err(at(first, "no signature"));
        }
        if !signatures.ends_with('\n') {
            return Err(at(last, "the last line does not end with a line break"));
        }
        let mut note = Self { text: text.to_owned(), signatures: Vec::new() };
        for (line, signature) in (first..).zip(signatures.split_terminator('\n')) {
            if note.signatures.len() == limits::SIGNATURES {
                return Err(at(line, "more than 100 signatures"));
            }
            note.signatures.push(NoteSignature::parse(signature).map_err(|what| at(line, what))?);
        }
        Ok(note)
    }

    /// The text that is signed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// All signatures, also those of unknown keys.
    #[must_use]
    pub fn signatures(&self) -> &[NoteSignature] {
        &self.signatures
    }

    /// Signs with the key of a log.
    ///
    /// # Errors
    /// If the key makes cosignatures, or the note is full.
    pub fn sign_with(&mut self, key: &SignerKey) -> Result<(), NoteFault> {
        check_kind(key.verifier(), SignatureKind::Plain)?;
        self.add_bytes(key, key.sign_message(self.text.as_bytes()).to_vec())
    }

    /// Signs with the key of a witness. The time is in seconds since 1970. The text has to be that of a checkpoint.
    ///
    /// # Errors
    /// If the key makes no cosignatures, the time is out of range, or the note is full.
    pub fn add_cosignature(&mut self, key: &SignerKey, seconds: u64) -> Result<(), NoteFault> {
        check_kind(key.verifier(), SignatureKind::Cosignature)?;
        if seconds == 0 || seconds > cosignature::LATEST {
            return Err(NoteFault::Time(seconds));
        }
        self.add_bytes(key, cosignature::sign_text(key, seconds, &self.text))
    }

    fn add_bytes(&mut self, key: &SignerKey, bytes: Vec<u8>) -> Result<(), NoteFault> {
        let key = key.verifier();
        self.append_signature(NoteSignature { name: key.name().to_owned(), id: key.id(), bytes })
    }

    /// Adds a signature that another party made.
    ///
    /// # Errors
    /// If the note is full.
    pub fn append_signature(&mut self, signature: NoteSignature) -> Result<(), NoteFault> {
        if self.signatures.len() >= limits::SIGNATURES {
            return Err(NoteFault::Line {
                line: self.find_line(limits::SIGNATURES),
                what: "more than 100 signatures",
            });
        }
        self.signatures.push(signature);
        Ok(())
    }

    /// The signatures that known keys made. Signatures of unknown keys are ignored.
    ///
    /// # Errors
    /// If a signature that names a known key is wrong, or if no known key signed.
    pub fn verify_with(&self, known: &[VerifierKey]) -> Result<Vec<VerifiedSignature>, NoteFault> {
        let mut verified = Vec::new();
        for (place, signature) in self.signatures.iter().enumerate() {
            for (at, key) in known.iter().enumerate() {
                if key.name() != signature.name || key.id() != signature.id {
                    continue;
                }
                let seconds = self.check_signature(key, signature).ok_or_else(|| {
                    NoteFault::WrongSignature { line: self.find_line(place), name: signature.name.clone() }
                })?;
                verified.push(VerifiedSignature { place, key: at, seconds });
            }
        }
        if verified.is_empty() { Err(NoteFault::Unsigned) } else { Ok(verified) }
    }

    /// The time of a right signature; one without a time has `Some(None)`.
    fn check_signature(&self, key: &VerifierKey, signature: &NoteSignature) -> Option<Option<u64>> {
        match key.kind() {
            SignatureKind::Plain => {
                key.is_signature_of(self.text.as_bytes(), &signature.bytes).then_some(None)
            }
            SignatureKind::Cosignature => {
                cosignature::verify_time(key, &self.text, &signature.bytes).map(Some)
            }
        }
    }

    /// The note with only the signatures at these places.
    pub(crate) fn with_only(&self, is_kept: impl Fn(usize) -> bool) -> Self {
        let all = self.signatures.iter().enumerate();
        let signatures = all.filter(|(place, _)| is_kept(*place)).map(|(_, signature)| signature.clone());
        Self { text: self.text.clone(), signatures: signatures.collect() }
    }

    fn find_line(&self, place: usize) -> usize {
        count_line_breaks(self.text.as_bytes()) + 2 + place
    }
}

impl fmt::Display for SignedNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        self.signatures.iter().try_for_each(|signature| write!(f, "{signature}"))
    }
}

fn count_line_breaks(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

fn check_text(text: &str) -> Result<(), NoteFault> {
    let at = |place: usize, what| {
        let line = 1 + count_line_breaks(text.as_bytes().get(..place).unwrap_or_default());
        Err(NoteFault::Line { line, what })
    };
    if text.len() > limits::TEXT_BYTES {
        return at(limits::TEXT_BYTES, "the text is longer than 16 KiB");
    }
    match text.find(|c: char| c < ' ' && c != '\n') {
        Some(place) => at(place, "a control character; only line breaks are allowed"),
        None => Ok(()),
    }
}

fn check_kind(key: &VerifierKey, wanted: SignatureKind) -> Result<(), NoteFault> {
    if key.kind() == wanted {
        return Ok(());
    }
    let wanted = match wanted {
        SignatureKind::Plain => "signatures of logs: it is the key of a witness (type 0x04)",
        SignatureKind::Cosignature => "cosignatures: it is the key of a log (type 0x01)",
    };
    Err(NoteFault::Kind { name: key.name().to_owned(), wanted })
}
