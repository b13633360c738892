//! The bundle: the content of one message of the log's stream. Pure: records and documents become bytes, and bytes
//! become records and documents again.
//!
//! A bundle is one whole commit. It names the previous bundle by hash, so the bundles of a partition are a chain. It
//! is known by its own hash: if that hash is at the end of the stream, the stream has these very bytes. A version
//! that does not know a bundle's form refuses it. Nothing of a bundle that does not fit is ever handed on.

use std::sync::Arc;

use systole_core::types::body_parts::{BodyParts, PartSeal};
use systole_core::types::fields::{FieldReader, number_field, write_field};
use systole_core::types::ids::Digest;
use systole_core::types::ports::StoredDocument;
use systole_core::types::record::{Header, Record};

use crate::limits;

/// The only partition (`docs/decisions/0022`).
pub(super) const PARTITION: u32 = 0;

const FORM: &[u8] = b"systole bundle v2";
/// Bundles of older versions, whose bodies have no parts.
const FORM_BEFORE: &[u8] = b"systole bundle v1";
const APART: &[u8] = b"systole bundle apart v1";
/// A body that is in the bundle.
const WHOLE: u8 = b'b';
/// The hash of a document that the log already held, in place of a body with the same bytes.
const KNOWN: u8 = b'd';

/// Whether the partition has an owner after a bundle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FoldStanding {
    /// Its writer continues.
    Owned,
    /// Its writer has let go: the next one need not wait.
    Free,
}

impl FoldStanding {
    const fn as_str(self) -> &'static str {
        match self {
            FoldStanding::Owned => "owned",
            FoldStanding::Free => "free",
        }
    }

    fn parse(text: &str) -> Option<FoldStanding> {
        [FoldStanding::Owned, FoldStanding::Free].into_iter().find(|stands| stands.as_str() == text)
    }
}

/// One copy of the log, and the process that has this copy open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WriterNode(pub(super) [u8; 16]);

/// The part before the records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BundleHead {
    /// The partition of these records. There is one partition, with all records.
    pub(super) partition: u32,
    /// How often the partition has been taken over: each take-over writes a higher epoch.
    pub(super) epoch: u64,
    /// The writer.
    pub(super) node: WriterNode,
    /// Whether the writer continues.
    pub(super) stands: FoldStanding,
    /// The hash of the partition's bundle before this one.
    pub(super) previous: Option<Digest>,
    /// The number of records in the partition before this bundle's first.
    pub(super) before: u64,
}

/// A bundle.
#[derive(Clone, Debug)]
pub(super) struct RecordBundle {
    pub(super) head: BundleHead,
    /// Documents that the log did not hold before.
    pub(super) documents: Vec<StoredDocument>,
    pub(super) records: Vec<Arc<Record>>,
}

/// The bytes of a bundle, and its hash.
#[derive(Clone, Debug)]
pub(super) struct SealedBundle {
    pub(super) bytes: Vec<u8>,
    pub(super) hash: Digest,
    /// The sensitive values of its records, which are stored as objects and not in the stream.
    pub(super) values: Vec<ValueObject>,
}

/// A sensitive value as it is stored: its salt, then its bytes.
#[derive(Clone, Debug)]
pub(super) struct ValueObject {
    /// Its commitment, which is the name of the object.
    pub(super) commitment: Digest,
    /// The content of the object.
    pub(super) bytes: Vec<u8>,
}

impl RecordBundle {
    /// Its bytes. If `is_known` says that the log holds a body's bytes as a document, the body is stored as its hash.
    pub(super) fn seal_bundle(&self, is_known: impl Fn(Digest) -> bool) -> SealedBundle {
        let bodies: usize = self.records.iter().map(|record| record.body.len() + 1024).sum();
        let documents: usize = self.documents.iter().map(|document| document.bytes.len() + 128).sum();
        let mut out = Vec::with_capacity(bodies + documents + 512);
        let BundleHead { partition, epoch, node, stands, previous, before } = &self.head;
        write_field(&mut out, FORM);
        number_field(&mut out, Some(u64::from(*partition)));
        number_field(&mut out, Some(*epoch));
        write_field(&mut out, &node.0);
        write_field(&mut out, stands.as_str().as_bytes());
        write_field(
            &mut out,
            previous.map(|previous| previous.to_hex()).as_ref().map_or(&[], |hex| &hex[..]),
        );
        number_field(&mut out, Some(*before));
        number_field(&mut out, Some(self.documents.len() as u64));
        for document in &self.documents {
            write_field(&mut out, &document.bytes);
        }
        number_field(&mut out, Some(self.records.len() as u64));
        let (mut body, mut values) = (Vec::new(), Vec::new());
        for record in &self.records {
            write_field(&mut out, &record.header_bytes());
            body.clear();
            match known_as(record, &is_known) {
                Some(hash) => {
                    body.push(KNOWN);
                    body.extend_from_slice(&hash.to_hex());
                }
                None => {
                    body.push(WHOLE);
                    record.parts.rest_of(&record.body).for_each(|piece| body.extend_from_slice(piece));
                }
            }
            write_field(&mut out, &body);
            match &record.parts.rest {
                PartSeal::Kept(salt) => write_field(&mut out, salt),
                PartSeal::Erased(commitment) => write_field(&mut out, &commitment.0),
            }
            write_field(&mut out, &record.head.0);
            let commitments: Vec<[u8; 32]> =
                split_values(record, &mut values).map(|commitment| commitment.0).collect();
            write_field(&mut out, commitments.as_flattened());
        }
        let hash = Digest::hash_bytes(&out);
        SealedBundle { bytes: out, hash, values }
    }

    /// Reads a bundle. `document` returns what the log already held.
    pub(super) fn from_bytes(
        bytes: &[u8],
        document: impl Fn(Digest) -> Result<Option<Arc<[u8]>>, String>,
    ) -> Result<RecordBundle, String> {
        let mut fields = FieldReader::new(bytes);
        let (has_parts, head) = read_head(&mut fields)?;
        let mut documents = Vec::new();
        for _ in 0..fields.take_number("documents")? {
            let bytes: Arc<[u8]> = Arc::from(fields.take_field()?);
            documents.push(StoredDocument { hash: Digest::hash_bytes(&bytes), bytes });
        }
        let held = |hash: Digest| match documents.iter().find(|found: &&StoredDocument| found.hash == hash) {
            Some(found) => Ok(Some(found.bytes.clone())),
            None => document(hash),
        };
        let mut records = Vec::new();
        for _ in 0..fields.take_number("records")? {
            records.push(Arc::new(read_record(&mut fields, has_parts, &held)?));
        }
        fields.check_end()?;
        Ok(RecordBundle { head, documents, records })
    }
}

impl SealedBundle {
    /// A message for bytes that are too many for one message: they are stored apart, under their hash.
    pub(super) fn list_apart(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(128);
        write_field(&mut out, APART);
        write_field(&mut out, &self.hash.to_hex());
        out
    }
}

/// The kind of a message in the stream.
pub(super) enum BundleMessage {
    /// A bundle, by its hash.
    Bundle(Digest),
    /// The hash of a bundle that is stored apart.
    Apart(Digest),
}

impl BundleMessage {
    /// The kind of these bytes; does not look at what a bundle holds.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<BundleMessage, String> {
        let mut fields = FieldReader::new(bytes);
        match fields.take_field()? {
            FORM | FORM_BEFORE => Ok(BundleMessage::Bundle(Digest::hash_bytes(bytes))),
            APART => {
                let hash = fields.take_parsed("hash", Digest::parse)?;
                fields.check_end()?;
                Ok(BundleMessage::Apart(hash))
            }
            _ => Err("it is not a bundle of this version".to_owned()),
        }
    }
}

/// Looks only for bodies that the log keeps as documents.
fn known_as(record: &Record, is_known: &impl Fn(Digest) -> bool) -> Option<Digest> {
    let Record { body, parts, .. } = record;
    let is_large = body.len() > systole_core::types::limits::LARGE_BODY;
    let is_document = is_large && parts.values.is_empty() && !parts.has_erased();
    is_document.then(|| Digest::hash_bytes(body)).filter(|hash| is_known(*hash))
}

/// The commitments of a record's sensitive values; the values that are not erased join those to be stored.
fn split_values<'r>(
    record: &'r Record,
    values: &'r mut Vec<ValueObject>,
) -> impl Iterator<Item = Digest> + 'r {
    record.parts.values.iter().map(|(hole, seal)| {
        let value = record.body.get(hole.to_range()).unwrap_or_default();
        let commitment = seal.commit_part([value]);
        if let PartSeal::Kept(salt) = seal {
            values.push(ValueObject { commitment, bytes: [&salt[..], value].concat() });
        }
        commitment
    })
}

/// A record whose sensitive values are read: `value` returns the object with that name, or `None` if it is not there,
/// so that the value is erased.
pub(super) fn with_values(
    record: &Record,
    mut value: impl FnMut(Digest) -> Option<Vec<u8>>,
) -> Result<Record, String> {
    let (mut body, mut parts) = (record.body.to_vec(), record.parts.clone());
    for (hole, seal) in &mut parts.values {
        let PartSeal::Erased(commitment) = *seal else { continue };
        let Some(object) = value(commitment) else { continue };
        let kept = object.split_first_chunk::<16>().map(|(salt, value)| (PartSeal::Kept(*salt), value));
        let fits = kept.filter(|(kept, value)| {
            value.len() == hole.to_range().len() && kept.commit_part([*value]) == commitment
        });
        let (kept, value) =
            fits.ok_or_else(|| format!("the object {commitment} is not the value of that name"))?;
        if let Some(place) = body.get_mut(hole.to_range()) {
            place.copy_from_slice(value);
        }
        *seal = kept;
    }
    let sealed = record.header.clone().seal_record(Arc::from(body), parts, record.head);
    Ok(Record { head: record.head, ..sealed })
}

/// Reads only the head.
pub(super) fn head_of(bytes: &[u8]) -> Result<BundleHead, String> {
    read_head(&mut FieldReader::new(bytes)).map(|(_, head)| head)
}

/// The head, and whether the bodies of this form have parts.
fn read_head(fields: &mut FieldReader<'_>) -> Result<(bool, BundleHead), String> {
    let has_parts = match fields.take_field()? {
        FORM => true,
        FORM_BEFORE => false,
        _ => return Err("it is not a bundle of this version".to_owned()),
    };
    let head = BundleHead {
        partition: fields.take_parsed("partition", str::parse)?,
        epoch: fields.take_number("epoch")?,
        node: WriterNode(fields.take_exact("node")?),
        stands: fields.take_known("whether it is owned", FoldStanding::parse)?,
        previous: fields.take_optional("the bundle before", Digest::parse)?,
        before: fields.take_number("records before")?,
    };
    Ok((has_parts, head))
}

/// A record, with every sensitive value as if it were erased.
fn read_record(
    fields: &mut FieldReader<'_>,
    has_parts: bool,
    document: &impl Fn(Digest) -> Result<Option<Arc<[u8]>>, String>,
) -> Result<Record, String> {
    let (header, length, holes) = Header::from_bytes(fields.take_field()?)?;
    let named = |why: &str| format!("record {} of thread {}: {why}", header.seq, header.thread.as_str());
    let rest: Arc<[u8]> = match fields.take_field()?.split_first() {
        Some((&WHOLE, body)) => Arc::from(body),
        Some((&KNOWN, hash)) => {
            let hash = std::str::from_utf8(hash).ok().and_then(|hash| Digest::parse(hash).ok());
            let hash = hash.ok_or_else(|| named("names no document"))?;
            document(hash)?.ok_or_else(|| named("its body is a document that is not there"))?
        }
        _ => return Err(named("has no body")),
    };
    if length > limits::BODY_BYTES {
        return Err(named("its body is longer than any message"));
    }
    let apart: usize = holes.iter().map(|hole| hole.to_range().len()).sum();
    if (rest.len() + apart) as u64 != length {
        return Err(named("its body does not have the length that its header says"));
    }
    let seal = fields.take_field()?;
    let seal = <[u8; 16]>::try_from(seal)
        .map(PartSeal::Kept)
        .or_else(|_| <[u8; 32]>::try_from(seal).map(|commitment| PartSeal::Erased(Digest(commitment))));
    let seal = seal.map_err(|_| named("its salt has no known length"))?;
    let head = Digest(fields.take_exact("head")?);
    let commitments = if has_parts { fields.take_field()? } else { &[] };
    let (commitments, left) = commitments.as_chunks::<32>();
    if commitments.len() != holes.len() || !left.is_empty() {
        return Err(named("it does not have a commitment for each place of its header"));
    }
    let erased = |commitment: &[u8; 32]| PartSeal::Erased(Digest(*commitment));
    let values = holes.into_iter().zip(commitments.iter().map(erased)).collect();
    let parts = BodyParts { rest: seal, values };
    let body = if parts.has_erased() { spread_body(&rest, &parts) } else { rest };
    // The leaf does not depend on the head that it is sealed after. Whether the chain holds is checked when the
    // record is folded.
    let sealed = header.seal_record(body, parts, head);
    Ok(Record { head, ..sealed })
}

/// The body for the bytes of part 0, with signs in place of everything erased.
fn spread_body(rest: &[u8], parts: &BodyParts) -> Arc<[u8]> {
    let mut body = Vec::with_capacity(rest.len());
    let mut rest = rest;
    for hole in parts.holes() {
        let (before, behind) =
            rest.split_at(hole.to_range().start.saturating_sub(body.len()).min(rest.len()));
        body.extend_from_slice(before);
        body.resize(body.len() + hole.to_range().len(), 0);
        rest = behind;
    }
    body.extend_from_slice(rest);
    parts.blank_holes(&mut body);
    Arc::from(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use systole_core::types::body_parts::BodyHole;
    use systole_core::types::ids::{MessageId, Name, ThreadId};
    use systole_core::types::record::head_zero;
    use systole_core::types::record::{Header, MessageRole, RecordCode, RecordKind};
    use systole_core::types::time::Millis;

    fn note(seq: u64) -> Header {
        Header {
            thread: ThreadId::parse("sess-1f0c9a2b77d1").unwrap(),
            seq,
            id: MessageId([1; 16]),
            kind: RecordKind::Message,
            from: Name::new_core(),
            to: None,
            call: None,
            turn: None,
            ordinal: None,
            cause: None,
            key: None,
            origin: None,
            time: Millis(1_795_158_000_007),
            config: Digest([1; 32]),
            code: Some(RecordCode::Role(MessageRole::Note)),
        }
    }

    fn bundle() -> RecordBundle {
        let mut head = head_zero(&note(1).thread);
        let mut sealed = |seq: u64, body: &[u8]| {
            let record = note(seq).seal_record(Arc::from(body), [9; 16], head);
            head = record.head;
            Arc::new(record)
        };
        let records = vec![sealed(1, b"<a/>"), sealed(2, &[b'x'; 100_000]), sealed(3, b"1:0\n")];
        let document = Arc::from(&b"a document"[..]);
        RecordBundle {
            head: BundleHead {
                partition: 0,
                epoch: 3,
                node: WriterNode([5; 16]),
                stands: FoldStanding::Owned,
                previous: Some(Digest([8; 32])),
                before: 41,
            },
            documents: vec![StoredDocument { hash: Digest::hash_bytes(&document), bytes: document }],
            records,
        }
    }

    fn nothing(_: Digest) -> Result<Option<Arc<[u8]>>, String> {
        Ok(None)
    }

    #[test]
    fn a_bundle_comes_apart_into_what_it_was_made_of() {
        let bundle = bundle();
        let sealed = bundle.seal_bundle(|_| false);
        let read = RecordBundle::from_bytes(&sealed.bytes, nothing).unwrap();
        assert_eq!((&read.head, &read.records), (&bundle.head, &bundle.records));
        assert_eq!(read.documents.len(), 1);
        assert_eq!(read.documents[0].hash, bundle.documents[0].hash);
        assert_eq!(head_of(&sealed.bytes), Ok(bundle.head.clone()));
        assert_eq!(read.seal_bundle(|_| false).bytes, sealed.bytes);
        assert!(
            matches!(BundleMessage::from_bytes(&sealed.bytes), Ok(BundleMessage::Bundle(hash)) if hash == sealed.hash)
        );
        assert!(
            matches!(BundleMessage::from_bytes(&sealed.list_apart()), Ok(BundleMessage::Apart(hash)) if hash == sealed.hash)
        );
    }

    #[test]
    fn a_large_body_that_the_log_holds_is_named_and_found_again() {
        let bundle = bundle();
        let large = bundle.records[1].body.clone();
        let sealed = bundle.seal_bundle(|hash| hash == Digest::hash_bytes(&large));
        assert!(sealed.bytes.len() < 4096, "{}", sealed.bytes.len());
        let read = RecordBundle::from_bytes(&sealed.bytes, |_| Ok(Some(large.clone()))).unwrap();
        assert_eq!(read.records, bundle.records);
        let absent = RecordBundle::from_bytes(&sealed.bytes, nothing).unwrap_err();
        assert_eq!(absent, "record 2 of thread sess-1f0c9a2b77d1: its body is a document that is not there");
    }

    const PAY: &[u8] = b"<pay iban=\"DE02\"><name>Ann Lee, Oslo</name></pay>";

    /// A bundle of one record with two sensitive values.
    fn with_two_values() -> RecordBundle {
        let hole = |at: usize, length| BodyHole::from_range(at..at + length).unwrap();
        let kept = |hole, n| (hole, PartSeal::Kept([n; 16]));
        let values = vec![kept(hole(11, 4), 1), kept(hole(23, 13), 2)];
        let parts = BodyParts { rest: PartSeal::Kept([9; 16]), values };
        let record = note(1).seal_record(Arc::from(PAY), parts, head_zero(&note(1).thread));
        RecordBundle { documents: Vec::new(), records: vec![Arc::new(record)], ..bundle() }
    }

    #[test]
    fn d1_sensitive_values_are_objects_and_a_record_without_one_is_erased_there() {
        let bundle = with_two_values();
        let whole = &*bundle.records[0];
        let sealed = bundle.seal_bundle(|_| false);
        for value in [&b"DE02"[..], b"Ann Lee"] {
            assert!(
                !sealed.bytes.windows(value.len()).any(|bytes| bytes == value),
                "it is not in the stream"
            );
        }
        let [iban, name] = &sealed.values[..] else { panic!("{:?}", sealed.values) };
        let commitments = whole.parts.commit_parts(PAY);
        assert_eq!([iban.commitment, name.commitment], commitments[1..]);
        let read = RecordBundle::from_bytes(&sealed.bytes, nothing).unwrap();
        let bare = &*read.records[0];
        assert_eq!(&*bare.body, b"<pay iban=\"****\"><name>[erased]*****</name></pay>");
        assert_eq!((bare.leaf, bare.head), (whole.leaf, whole.head));

        let object = |commitment: Digest| {
            let found = sealed.values.iter().find(|value| value.commitment == commitment);
            found.map(|value| value.bytes.clone())
        };
        assert_eq!(&with_values(bare, object).unwrap(), whole);
        let one =
            with_values(bare, |commitment| object(commitment).filter(|_| commitment == iban.commitment));
        let one = one.unwrap();
        assert_eq!(&*one.body, b"<pay iban=\"DE02\"><name>[erased]*****</name></pay>");
        assert_eq!((one.leaf, one.head), (whole.leaf, whole.head));
        assert!(one.is_valid_after(head_zero(&note(1).thread)));
        // A record that is read without its values makes the same bundle.
        assert_eq!(read.seal_bundle(|_| false).bytes, sealed.bytes);
    }

    #[test]
    fn d1_another_object_under_the_name_of_a_value_is_refused() {
        let sealed = with_two_values().seal_bundle(|_| false);
        let read = RecordBundle::from_bytes(&sealed.bytes, nothing).unwrap();
        let [iban, name] = &sealed.values[..] else { panic!("{:?}", sealed.values) };
        let mut changed = iban.bytes.clone();
        changed[17] ^= 1;
        let mut salted = iban.bytes.clone();
        salted[0] ^= 1;
        let longer = [&iban.bytes[..], b" "].concat();
        for other in [name.bytes.clone(), changed, salted, longer, iban.bytes[..15].to_vec(), Vec::new()] {
            let refused = with_values(&read.records[0], |_| Some(other.clone())).unwrap_err();
            assert_eq!(refused, format!("the object {} is not the value of that name", iban.commitment));
        }
    }

    #[test]
    fn d1_a_record_has_a_commitment_for_each_place_of_its_header() {
        let sealed = with_two_values().seal_bundle(|_| false);
        let text = sealed.bytes.len() - "64:".len() - 64 - 1;
        let (before, list) = sealed.bytes.split_at(text);
        assert!(list.starts_with(b"64:"), "the commitments are the last field");
        for count in [0_usize, 31, 32, 63, 65, 96] {
            let mut bytes = before.to_vec();
            write_field(&mut bytes, &vec![7; count]);
            let refused = RecordBundle::from_bytes(&bytes, nothing).unwrap_err();
            assert!(refused.contains("a commitment for each place"), "{count}: {refused}");
        }
        // A bundle of the first form has no such field, so its records have no places either.
        let older = String::from_utf8_lossy(FORM_BEFORE).into_owned();
        let mut bytes = Vec::new();
        write_field(&mut bytes, older.as_bytes());
        bytes.extend_from_slice(&sealed.bytes[bytes.len()..text]);
        let refused = RecordBundle::from_bytes(&bytes, nothing).unwrap_err();
        assert!(refused.contains("a commitment for each place"), "{refused}");
    }

    #[test]
    fn no_part_of_a_bundle_is_taken_for_a_whole_one() {
        let mut bundle = bundle();
        bundle.records.remove(1);
        let sealed = bundle.seal_bundle(|_| false);
        for end in 0..sealed.bytes.len() {
            assert!(
                RecordBundle::from_bytes(sealed.bytes.get(..end).unwrap(), nothing).is_err(),
                "cut after {end}"
            );
        }
        for at in 0..sealed.bytes.len() {
            let mut other = sealed.bytes.clone();
            other[at] ^= 1;
            // It is refused, or its hash makes it a different bundle: none passes for this one.
            if RecordBundle::from_bytes(&other, nothing).is_ok() {
                assert_ne!(Digest::hash_bytes(&other), sealed.hash);
            }
        }
        for word in ["", "systole", "18:systole bundle v2\n", "99999999999999999999:", "1:", "01:a\n"] {
            assert!(RecordBundle::from_bytes(word.as_bytes(), nothing).is_err(), "{word:?}");
            assert!(BundleMessage::from_bytes(word.as_bytes()).is_err(), "{word:?}");
        }
    }
}
