//! A record as a line of `records.jsonl`: each field of its header as the log hashes it, and its parts with their
//! salts. A part that was left out has only its hash, and the record still verifies.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest as _, Sha256};

use systole_core::types::body_parts::{BodyHole, BodyParts, PartSeal, read_holes};
use systole_core::types::fields::{number_field, write_field};
use systole_core::types::ids::Digest;
use systole_core::types::ports::Position;
use systole_core::types::record::{Header, Record, RecordCode};

/// A record outside of its log. The order of the fields is that of the header.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportedRecord {
    /// Its position in the log. Only a proof shows it; no head does.
    pub position: u64,
    /// The fields of the header.
    pub thread: String,
    /// The number in the thread.
    pub seq: u64,
    /// The id.
    pub id: String,
    /// The kind.
    pub kind: String,
    /// The sender.
    pub from: String,
    /// The addressee.
    #[serde(deserialize_with = "read_present")]
    pub to: Option<String>,
    /// The call.
    #[serde(deserialize_with = "read_present")]
    pub call: Option<String>,
    /// The turn.
    #[serde(deserialize_with = "read_present")]
    pub turn: Option<u32>,
    /// The place of the item in the turn.
    #[serde(deserialize_with = "read_present")]
    pub ordinal: Option<u32>,
    /// The record that caused it.
    #[serde(deserialize_with = "read_present")]
    pub cause: Option<String>,
    /// The idempotency key.
    #[serde(deserialize_with = "read_present")]
    pub key: Option<String>,
    /// What a child continues.
    #[serde(deserialize_with = "read_present")]
    pub origin: Option<String>,
    /// The time.
    pub time: String,
    /// The configuration.
    pub config: String,
    /// The meaning.
    #[serde(deserialize_with = "read_present")]
    pub code: Option<String>,
    /// The bytes of the whole body.
    pub length: u64,
    /// Where the later parts belong in it.
    pub holes: String,
    /// The parts.
    pub parts: Vec<ExportedPart>,
    /// The head of the thread after it.
    pub head: String,
}

/// A part of a body. Without salt and value it was left out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportedPart {
    /// Its hash.
    pub c: String,
    /// Its salt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
    /// Its bytes, if they are UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes, if they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hex: Option<String>,
}

/// A field that may be null, and not missing.
fn read_present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(d: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(d)
}

/// What the hashes of a line show.
pub struct HashedLine {
    /// The leaf.
    pub leaf: Digest,
    /// The head that the line claims.
    pub head: Digest,
    /// How many parts were left out.
    pub dropped: usize,
    /// The body: whole, or only its part 0 if a later part was left out. `None` if part 0 was.
    pub body: Option<Vec<u8>>,
}

impl ExportedPart {
    /// A part of a log's record. One that is erased there has only its hash.
    fn from_seal(seal: &PartSeal, value: &[u8]) -> ExportedPart {
        let c = seal.commit_part([value]).to_string();
        let PartSeal::Kept(salt) = seal else { return ExportedPart { c, salt: None, text: None, hex: None } };
        let (text, hex) = match std::str::from_utf8(value) {
            Ok(text) => (Some(text.to_owned()), None),
            Err(_) => (None, Some(write_hex(value))),
        };
        ExportedPart { c, salt: Some(write_hex(salt)), text, hex }
    }

    /// Whether it was left out.
    pub(super) const fn is_dropped(&self) -> bool {
        self.salt.is_none() && self.text.is_none() && self.hex.is_none()
    }

    /// Its hash, and its bytes if they were not left out.
    fn read_part(&self, number: usize) -> Result<(Digest, Option<Vec<u8>>), String> {
        let form = || format!("part {number} has another form");
        let c = parse_digest(&self.c).ok_or_else(|| format!("the hash of part {number} is not hex"))?;
        let value = match (&self.salt, &self.text, &self.hex) {
            (None, None, None) => return Ok((c, None)),
            (Some(_), Some(text), None) => text.clone().into_bytes(),
            (Some(_), None, Some(hex)) => read_hex(hex).ok_or_else(form)?,
            _ => return Err(form()),
        };
        let salt = self.salt.as_deref().and_then(read_hex).and_then(|salt| salt.try_into().ok());
        if hash_part(&salt.ok_or_else(form)?, &value) != c {
            return Err(format!("part {number} is not the one that was hashed"));
        }
        Ok((c, Some(value)))
    }
}

impl ExportedRecord {
    /// A record of a log.
    pub fn from_record(position: Position, record: &Record) -> ExportedRecord {
        let (h, BodyParts { rest, values }) = (&record.header, &record.parts);
        let between: Vec<u8> = record.parts.rest_of(&record.body).flatten().copied().collect();
        let value = |(hole, seal): &(BodyHole, PartSeal)| {
            ExportedPart::from_seal(seal, record.body.get(hole.to_range()).unwrap_or_default())
        };
        let parts = std::iter::once(ExportedPart::from_seal(rest, &between)).chain(values.iter().map(value));
        ExportedRecord {
            position: position.0,
            thread: h.thread.to_string(),
            seq: h.seq,
            id: h.id.to_string(),
            kind: h.kind.as_str().to_owned(),
            from: h.from.to_string(),
            to: h.to.as_ref().map(ToString::to_string),
            call: h.call.as_ref().map(ToString::to_string),
            turn: h.turn,
            ordinal: h.ordinal,
            cause: h.cause.map(|cause| cause.to_string()),
            key: h.key.as_ref().map(ToString::to_string),
            origin: h.origin.map(|origin| origin.to_string()),
            time: h.time.to_string(),
            config: h.config.to_string(),
            code: h.code.map(|code| RecordCode::as_str(code).to_owned()),
            length: record.body.len() as u64,
            holes: record.parts.field(),
            parts: parts.collect(),
            head: record.head.to_string(),
        }
    }

    /// The record, as a log would have it. Signs stand in the place of what was left out.
    pub fn to_record(&self) -> Result<Record, String> {
        let hashed = self.hash_again()?;
        let (header, length, holes) = Header::from_bytes(&self.write_header())?;
        let length =
            usize::try_from(length).ok().filter(|length| *length as u64 <= crate::limits::BODY_BYTES);
        let mut body = vec![b'*'; length.ok_or("its body is too large")?];
        let (mut seals, mut values) = (Vec::new(), Vec::new());
        for (number, part) in self.parts.iter().enumerate() {
            let (c, value) = part.read_part(number)?;
            let salt = part.salt.as_deref().and_then(read_hex).and_then(|salt| salt.try_into().ok());
            seals.push(salt.map_or(PartSeal::Erased(c), PartSeal::Kept));
            values.push(value);
        }
        let (mut seals, mut values) = (seals.into_iter(), values.into_iter());
        let rest = seals.next().ok_or("it has no parts")?;
        let mut between = values.next().flatten().unwrap_or_default().into_iter();
        let mut at = 0;
        for (hole, value) in holes.iter().zip(values) {
            fill_range(&mut body, at..hole.to_range().start, &mut between);
            at = hole.to_range().end;
            fill_range(&mut body, hole.to_range(), &mut value.unwrap_or_default().into_iter());
        }
        fill_range(&mut body, at..usize::MAX, &mut between);
        let parts = BodyParts { rest, values: holes.into_iter().zip(seals).collect() };
        parts.blank_holes(&mut body);
        Ok(Record { header, body: Arc::from(body), parts, leaf: hashed.leaf, head: hashed.head })
    }

    /// The bytes of the header, as they were hashed.
    fn write_header(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        let text = |out: &mut Vec<u8>, text: Option<&String>| {
            write_field(out, text.map_or(&[], |text| text.as_bytes()));
        };
        write_field(&mut out, b"systole record v1");
        text(&mut out, Some(&self.thread));
        number_field(&mut out, Some(self.seq));
        [&self.id, &self.kind, &self.from].into_iter().for_each(|one| text(&mut out, Some(one)));
        [&self.to, &self.call].into_iter().for_each(|one| text(&mut out, one.as_ref()));
        number_field(&mut out, self.turn.map(u64::from));
        number_field(&mut out, self.ordinal.map(u64::from));
        [&self.cause, &self.key, &self.origin].into_iter().for_each(|one| text(&mut out, one.as_ref()));
        [&self.time, &self.config].into_iter().for_each(|one| text(&mut out, Some(one)));
        text(&mut out, self.code.as_ref());
        number_field(&mut out, Some(self.length));
        text(&mut out, Some(&self.holes));
        out
    }

    /// Hashes it again. The error says which part of it does not fit.
    pub fn hash_again(&self) -> Result<HashedLine, String> {
        if self.parts.is_empty() {
            return Err("it has no parts".to_owned());
        }
        let holes = read_holes(self.holes.as_bytes(), self.length)?;
        if holes.len() + 1 != self.parts.len() {
            return Err("it does not have a part for each hole".to_owned());
        }
        let mut all = Sha256::new_with_prefix([5]);
        let mut values = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let (c, value) = part.read_part(number)?;
            all.update(c.0);
            values.push(value);
        }
        let in_holes: u64 = holes.iter().map(|hole| u64::from(hole.length)).sum();
        let sizes = std::iter::once(self.length.saturating_sub(in_holes))
            .chain(holes.iter().map(|hole| u64::from(hole.length)));
        let fits = |(value, size): (&Option<Vec<u8>>, u64)| {
            value.as_ref().is_none_or(|value| value.len() as u64 == size)
        };
        if !values.iter().zip(sizes).all(fits) {
            return Err("its parts do not have the lengths that its header says".to_owned());
        }
        let commitment: [u8; 32] = all.finalize().into();
        let leaf = Sha256::new_with_prefix([0]).chain_update(self.write_header()).chain_update(commitment);
        let head = parse_digest(&self.head).ok_or("head is not hex")?;
        let dropped = values.iter().filter(|value| value.is_none()).count();
        let body = join_body(values, &holes);
        Ok(HashedLine { leaf: Digest(leaf.finalize().into()), head, dropped, body })
    }
}

/// Writes bytes over a range of a body, as far as there are any.
fn fill_range(body: &mut [u8], range: std::ops::Range<usize>, bytes: &mut impl Iterator<Item = u8>) {
    let end = range.end.min(body.len());
    let place = body.get_mut(range.start.min(end)..end).unwrap_or_default();
    place.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
}

/// The body from its parts.
fn join_body(values: Vec<Option<Vec<u8>>>, holes: &[BodyHole]) -> Option<Vec<u8>> {
    let is_whole = values.iter().all(Option::is_some);
    let mut values = values.into_iter();
    let first = values.next()??;
    if !is_whole || holes.is_empty() {
        return Some(first);
    }
    let (mut body, mut rest) = (Vec::new(), first.as_slice());
    for (hole, value) in holes.iter().zip(values.flatten()) {
        let (before, after) = rest.split_at_checked(hole.to_range().start - body.len())?;
        body.extend_from_slice(before);
        body.extend_from_slice(&value);
        rest = after;
    }
    body.extend_from_slice(rest);
    Some(body)
}

/// The hash of a part.
fn hash_part(salt: &[u8; 16], value: &[u8]) -> Digest {
    Digest(Sha256::new_with_prefix([3]).chain_update(salt).chain_update(value).finalize().into())
}

/// A hash in small hex digits.
pub(super) fn parse_digest(text: &str) -> Option<Digest> {
    Some(Digest(read_hex(text)?.try_into().ok()?))
}

/// Bytes as small hex digits.
pub fn write_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of small hex digits.
pub fn read_hex(hex: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    let pair = |[high, low]: &[u8; 2]| Some(digit(*high)? << 4 | digit(*low)?);
    rest.is_empty().then(|| pairs.iter().map(pair).collect())?
}
