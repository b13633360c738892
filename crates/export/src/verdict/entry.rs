//! One record outside of its log: its header and its commitment, and its body if the reader may have it. It is the extra
//! part of a proof file, so that its leaf can be computed from it alone.

use systole_core::types::body_parts::{BodyParts, PartSeal};
use systole_core::types::fields::{FieldReader, write_field};
use systole_core::types::ids::Digest;
use systole_core::types::record::{Header, Record};
use systole_proof::limits::EXTRA_BYTES;
use systole_proof::tree::{TreeHash, hash_leaf};

/// What the first field says.
const FORM: &[u8] = b"systole entry v1";

/// A record outside of its log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProvedEntry {
    /// The header, as it is hashed.
    header: Vec<u8>,
    commitment: Digest,
    /// The body, and what is known of its parts.
    body: Option<(BodyParts, Vec<u8>)>,
}

impl ProvedEntry {
    /// The entry of a record, with its body if that fits into a proof file.
    pub fn from_record(record: &Record) -> ProvedEntry {
        let header = record.header_bytes();
        let commitment = record.parts.commit_body(&record.body);
        let body = Some((record.parts.clone(), record.body.to_vec()));
        let whole = ProvedEntry { header, commitment, body };
        if whole.to_bytes().len() > EXTRA_BYTES { ProvedEntry { body: None, ..whole } } else { whole }
    }

    /// Its bytes: fields with their lengths.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        write_field(&mut out, FORM);
        write_field(&mut out, &self.header);
        write_field(&mut out, &self.commitment.0);
        if let Some((parts, body)) = &self.body {
            write_field(&mut out, body);
            let seals = std::iter::once(&parts.rest).chain(parts.values.iter().map(|(_, seal)| seal));
            seals.for_each(|seal| match seal {
                PartSeal::Kept(salt) => write_field(&mut out, salt),
                PartSeal::Erased(commitment) => write_field(&mut out, &commitment.0),
            });
        }
        out
    }

    /// Reads the bytes of an entry. The body has to be the one that was committed to.
    pub fn read_entry(bytes: &[u8]) -> Result<ProvedEntry, String> {
        let mut fields = FieldReader::new(bytes);
        if fields.take_field()? != FORM {
            return Err("it is no entry of a log of Systole, or one of a later version".to_owned());
        }
        let header = fields.take_field()?.to_vec();
        let commitment_read = Digest(fields.take_exact("commitment")?);
        let body = match fields.has_more() {
            true => {
                let body = fields.take_field()?.to_vec();
                Some((read_parts(&mut fields, &header)?, body))
            }
            false => None,
        };
        fields.check_end()?;
        if let Some((parts, body)) = &body {
            let mut blank = body.clone();
            parts.blank_holes(&mut blank);
            if blank != *body || parts.commit_body(body) != commitment_read {
                return Err("the body is not the one that the record commits to".to_owned());
            }
        }
        Ok(ProvedEntry { header, commitment: commitment_read, body })
    }

    /// The leaf of the record.
    pub fn leaf(&self) -> TreeHash {
        hash_leaf(&[self.header.as_slice(), &self.commitment.0].concat())
    }

    /// The header and the length of the body, or why this version cannot read it.
    pub fn read_header(&self) -> Result<(Header, u64), String> {
        Header::from_bytes(&self.header).map(|(header, length, _)| (header, length))
    }

    /// The body, if it is there.
    pub fn body(&self) -> Option<&[u8]> {
        self.body.as_ref().map(|(_, body)| body.as_slice())
    }
}

/// The parts of a body: a salt, or a commitment of 32 bytes, for the rest and for each place that the header names.
fn read_parts(fields: &mut FieldReader<'_>, header: &[u8]) -> Result<BodyParts, String> {
    let (_, _, holes) = Header::from_bytes(header)?;
    let mut seal = || {
        let bytes = fields.take_field()?;
        let kept = <[u8; 16]>::try_from(bytes).map(PartSeal::Kept);
        kept.or_else(|_| <[u8; 32]>::try_from(bytes).map(|hash| PartSeal::Erased(Digest(hash))))
            .map_err(|_| "a salt has no known length".to_owned())
    };
    let rest = seal()?;
    let values = holes.into_iter().map(|hole| Ok((hole, seal()?))).collect::<Result<_, String>>()?;
    Ok(BodyParts { rest, values })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use systole_core::types::ids::{MessageId, Name, ThreadId};
    use systole_core::types::record::{RecordKind, head_zero};
    use systole_core::types::time::Millis;

    fn record(body: &[u8]) -> Record {
        let header = Header {
            thread: ThreadId::new_sys(),
            seq: 1,
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
            time: Millis(0),
            config: Digest([1; 32]),
            code: None,
        };
        header.seal_record(Arc::from(body), [7; 16], head_zero(&ThreadId::new_sys()))
    }

    #[test]
    fn an_entry_has_the_leaf_of_its_record_with_and_without_the_body() {
        let record = record(b"<a/>");
        let entry = ProvedEntry::from_record(&record);
        let bytes = entry.to_bytes();
        assert_eq!(ProvedEntry::read_entry(&bytes), Ok(entry.clone()));
        assert_eq!((entry.leaf(), entry.body()), (record.leaf.0, Some(&b"<a/>"[..])));
        let bare = ProvedEntry { body: None, ..entry };
        assert_eq!(ProvedEntry::read_entry(&bare.to_bytes()), Ok(bare.clone()));
        assert_eq!(bare.leaf(), record.leaf.0);
        for end in 0..bytes.len() {
            let read = ProvedEntry::read_entry(bytes.get(..end).unwrap());
            assert!(read.is_err() || read == Ok(bare.clone()), "cut after {end}");
        }
        let changed = String::from_utf8_lossy(&bytes).replace("<a/>", "<b/>");
        assert!(ProvedEntry::read_entry(changed.as_bytes()).is_err());
    }

    #[test]
    fn a_body_that_does_not_fit_is_left_out() {
        let record = record(&vec![b'a'; EXTRA_BYTES]);
        let entry = ProvedEntry::from_record(&record);
        assert_eq!((entry.body(), entry.leaf()), (None, record.leaf.0));
        assert!(entry.to_bytes().len() <= EXTRA_BYTES);
    }
}
