//! The parts of a record's body: the values that a schema marks as sensitive, and the rest.
//!
//! Each part has a salt and a commitment. A part can be erased with its salt: its commitment stays, so the record
//! still verifies, and nothing in the log tells what the part was. Pure: bytes and salts go in, hashes come out.

use sha2::{Digest as _, Sha256};

use super::ids::Digest;
use crate::types::limits;

/// What stands in place of erased bytes, if it has room.
pub const ERASED_TEXT: &str = "[erased]";
/// What stands in place of bytes that are left out of a copy.
pub const LEFT_OUT_TEXT: &str = "[left out]";

/// The place of a sensitive value in a body. Never empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BodyHole {
    /// Its first byte.
    pub at: u32,
    /// How many bytes it has.
    pub length: u32,
}

impl BodyHole {
    /// The place of a range of bytes; `None` if the range is empty or too far away.
    pub fn from_range(range: std::ops::Range<usize>) -> Option<BodyHole> {
        let length = u32::try_from(range.len()).ok().filter(|length| *length > 0)?;
        Some(BodyHole { at: u32::try_from(range.start).ok()?, length })
    }

    /// The bytes of a body that it covers.
    pub fn to_range(self) -> std::ops::Range<usize> {
        let at = self.at as usize;
        at..at.saturating_add(self.length as usize)
    }
}

/// The places of sensitive values, as a record can carry them: in order, apart, not too many.
pub fn in_order(mut holes: Vec<BodyHole>) -> Vec<BodyHole> {
    holes.sort_by_key(|hole| (hole.at, std::cmp::Reverse(hole.length)));
    let mut end = 0;
    // A value inside another one is erased with it.
    holes.retain(|hole| {
        let is_apart = hole.to_range().start >= end;
        end = end.max(hole.to_range().end);
        is_apart
    });
    match (holes.first(), holes.last()) {
        (Some(first), Some(last)) if holes.len() > limits::BODY_PARTS => {
            BodyHole::from_range(first.to_range().start..last.to_range().end).into_iter().collect()
        }
        _ => holes,
    }
}

/// What is known of one part besides its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartSeal {
    /// The part is in the body; this is its salt.
    Kept([u8; 16]),
    /// The part is erased; this is its commitment.
    Erased(Digest),
}

impl PartSeal {
    /// The commitment of the part: `c_i` of the format.
    pub fn commit_part<'b>(&self, part: impl IntoIterator<Item = &'b [u8]>) -> Digest {
        match self {
            PartSeal::Kept(salt) => {
                let hash = Sha256::new().chain_update([0x03]).chain_update(salt);
                Digest(part.into_iter().fold(hash, |hash, bytes| hash.chain_update(bytes)).finalize().into())
            }
            PartSeal::Erased(commitment) => *commitment,
        }
    }

    /// Whether the part is erased.
    pub const fn is_erased(&self) -> bool {
        matches!(self, PartSeal::Erased(_))
    }
}

/// The parts of one body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BodyParts {
    /// Part 0: the body without the sensitive values.
    pub rest: PartSeal,
    /// Parts 1 and on: the sensitive values, in order.
    pub values: Vec<(BodyHole, PartSeal)>,
}

impl From<[u8; 16]> for BodyParts {
    /// A body without sensitive values, with this salt.
    fn from(salt: [u8; 16]) -> BodyParts {
        BodyParts { rest: PartSeal::Kept(salt), values: Vec::new() }
    }
}

impl BodyParts {
    /// The places of the sensitive values.
    pub fn holes(&self) -> impl Iterator<Item = BodyHole> {
        self.values.iter().map(|(hole, _)| *hole)
    }

    /// The same parts without some of them, by number, and the body without their bytes. Part 0 is the rest.
    pub fn remove_parts(
        &self,
        numbers: impl IntoIterator<Item = usize>,
        body: &[u8],
    ) -> (BodyParts, Vec<u8>) {
        let (mut parts, commitments) = (self.clone(), self.commit_parts(body));
        for number in numbers {
            let seal = match number.checked_sub(1) {
                None => Some(&mut parts.rest),
                Some(at) => parts.values.get_mut(at).map(|(_, seal)| seal),
            };
            if let (Some(seal), Some(commitment)) = (seal, commitments.get(number)) {
                *seal = PartSeal::Erased(*commitment);
            }
        }
        let mut body = body.to_vec();
        parts.blank_holes(&mut body);
        (parts, body)
    }

    /// The numbers of the erased parts.
    pub fn list_erased(&self) -> impl Iterator<Item = usize> + '_ {
        let seals = std::iter::once(&self.rest).chain(self.values.iter().map(|(_, seal)| seal));
        seals.enumerate().filter(|(_, seal)| seal.is_erased()).map(|(number, _)| number)
    }

    /// Whether any part is erased.
    pub fn has_erased(&self) -> bool {
        self.rest.is_erased() || self.values.iter().any(|(_, seal)| seal.is_erased())
    }

    /// The commitments of all parts of a body, in order.
    pub fn commit_parts(&self, body: &[u8]) -> Vec<Digest> {
        let mut all = vec![self.rest.commit_part(list_between(body, &self.values))];
        all.extend(self.values.iter().map(|(hole, seal)| {
            seal.commit_part(std::iter::once(body.get(hole.to_range()).unwrap_or_default()))
        }));
        all
    }

    /// The commitment of a body: what the leaf of its record covers.
    pub fn commit_body(&self, body: &[u8]) -> Digest {
        let hash = self
            .commit_parts(body)
            .iter()
            .fold(Sha256::new().chain_update([0x05]), |hash, part| hash.chain_update(part.0));
        Digest(hash.finalize().into())
    }

    /// The bytes of part 0, in pieces.
    pub fn rest_of<'b>(&'b self, body: &'b [u8]) -> impl Iterator<Item = &'b [u8]> + 'b {
        list_between(body, &self.values)
    }

    /// The field of the header: each place as `offset+length`, joined by commas.
    pub fn field(&self) -> String {
        let places: Vec<String> = self.holes().map(|hole| format!("{}+{}", hole.at, hole.length)).collect();
        places.join(",")
    }

    /// Writes over the erased parts of a body. Bytes in their place are covered by no hash, and could say anything.
    pub fn blank_holes(&self, body: &mut [u8]) {
        self.blank_as(ERASED_TEXT, body);
    }

    /// The same with another text, for parts that are left out of a copy.
    pub fn blank_as(&self, text: &str, body: &mut [u8]) {
        if self.rest.is_erased() {
            let mut at = 0;
            for hole in self.holes() {
                fill_range(text, body, at..hole.to_range().start);
                at = hole.to_range().end;
            }
            fill_range(text, body, at..body.len());
        }
        for (hole, _) in self.values.iter().filter(|(_, seal)| seal.is_erased()) {
            fill_range(text, body, hole.to_range());
        }
    }
}

/// The pieces of a body between its sensitive values.
fn list_between<'b>(
    body: &'b [u8],
    values: &'b [(BodyHole, PartSeal)],
) -> impl Iterator<Item = &'b [u8]> + 'b {
    let starts = std::iter::once(0).chain(values.iter().map(|(hole, _)| hole.to_range().end));
    let ends = values.iter().map(|(hole, _)| hole.to_range().start).chain(std::iter::once(body.len()));
    starts.zip(ends).map(|(start, end)| body.get(start..end).unwrap_or_default())
}

/// The text if it has room, then signs; all of it ASCII, so that text stays text.
fn fill_range(text: &str, body: &mut [u8], range: std::ops::Range<usize>) {
    let Some(bytes) = body.get_mut(range) else { return };
    bytes.fill(b'*');
    if let Some(start) = bytes.get_mut(..text.len()) {
        start.copy_from_slice(text.as_bytes());
    }
}

/// Reads the field of a header. Every list of places has one spelling: in order, apart, not empty, inside the body.
pub fn read_holes(field: &[u8], body_length: u64) -> Result<Vec<BodyHole>, String> {
    if field.is_empty() {
        return Ok(Vec::new());
    }
    let text = std::str::from_utf8(field).map_err(|_| "holes: they are not text".to_owned())?;
    let number = |digits: &str| {
        let is_plain = digits == "0" || digits.starts_with(|first: char| ('1'..='9').contains(&first));
        digits.parse::<u32>().ok().filter(|_| is_plain)
    };
    let mut holes = Vec::new();
    let mut end = 0;
    for place in text.split(',') {
        let hole = place.split_once('+').and_then(|(at, length)| {
            Some(BodyHole { at: number(at)?, length: number(length).filter(|length| *length > 0)? })
        });
        let hole = hole.ok_or_else(|| format!("holes: {place:?} is no place in a body"))?;
        if u64::from(hole.at) < end
            || hole.to_range().end as u64 > body_length
            || holes.len() == limits::BODY_PARTS
        {
            return Err(format!("holes: {place} overlaps another, is beyond the body, or is one too many"));
        }
        end = hole.to_range().end as u64;
        holes.push(hole);
    }
    Ok(holes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"<pay iban=\"DE02\"><name>Ann Lee, Oslo</name></pay>";

    fn parts() -> BodyParts {
        let holes = [BodyHole { at: 11, length: 4 }, BodyHole { at: 23, length: 13 }];
        let values = holes.iter().zip(1..).map(|(hole, n)| (*hole, PartSeal::Kept([n; 16]))).collect();
        BodyParts { rest: PartSeal::Kept([0; 16]), values }
    }

    #[test]
    fn an_erased_part_keeps_the_commitment_and_changes_no_place() {
        let whole = parts();
        let before = whole.commit_body(BODY);
        for erased in 0..8_usize {
            let numbers = (0..3).filter(|number| erased & (1 << number) > 0);
            let (some, body) = whole.remove_parts(numbers, BODY);
            assert_eq!((some.commit_body(&body), body.len()), (before, BODY.len()), "{erased}");
            assert_eq!(some.has_erased(), erased > 0);
            assert_eq!(body == BODY, erased == 0, "{erased}");
            if erased == 2 {
                assert_eq!(&body, b"<pay iban=\"****\"><name>Ann Lee, Oslo</name></pay>");
            }
            if erased == 4 {
                assert_eq!(&body, b"<pay iban=\"DE02\"><name>[erased]*****</name></pay>");
            }
            // What is kept is covered, byte for byte.
            for at in 0..body.len() {
                let mut other = body.clone();
                other[at] ^= 1;
                let is_value = whole.holes().position(|hole| hole.to_range().contains(&at));
                let is_erased = is_value.map_or(erased & 1 > 0, |number| erased & (2 << number) > 0);
                assert_eq!(some.commit_body(&other) == before, is_erased, "{erased} at {at}");
            }
        }
    }

    #[test]
    fn a_body_without_values_has_the_commitment_of_older_records() {
        let c0 = Sha256::new().chain_update([3]).chain_update([9; 16]).chain_update(BODY).finalize();
        let expected = Sha256::new().chain_update([5]).chain_update(c0).finalize();
        assert_eq!(BodyParts::from([9; 16]).commit_body(BODY), Digest(expected.into()));
        assert_eq!(BodyParts::from([9; 16]).field(), "");
    }

    #[test]
    fn places_are_written_and_read_in_one_spelling() {
        assert_eq!(parts().field(), "11+4,23+13");
        let holes: Vec<BodyHole> = parts().holes().collect();
        assert_eq!(read_holes(b"11+4,23+13", 50), Ok(holes.clone()));
        assert_eq!(read_holes(b"", 0), Ok(Vec::new()));
        for wrong in [
            "11",
            "+4",
            "11+",
            "11+0",
            "011+4",
            "11+04",
            "11+4,",
            ",11+4",
            "11+4,14+1",
            "23+13,11+4",
            "-1+4",
            "46+5",
            "4294967295+4294967295",
            "11+4, 23+13",
            "4294967296+1",
            "11 +4",
            "\u{e9}",
        ] {
            assert!(read_holes(wrong.as_bytes(), 50).is_err(), "{wrong}");
        }
        let many: Vec<String> = (0..=limits::BODY_PARTS).map(|at| format!("{}+1", at * 2)).collect();
        assert!(read_holes(many.join(",").as_bytes(), 1 << 20).is_err());
        assert!(read_holes(many[..limits::BODY_PARTS].join(",").as_bytes(), 1 << 20).is_ok());
    }

    #[test]
    fn values_come_into_order_and_too_many_become_one() {
        let hole = |at, length| BodyHole { at, length };
        assert_eq!(in_order(vec![hole(9, 2), hole(1, 5), hole(2, 3)]), [hole(1, 5), hole(9, 2)]);
        let many: Vec<BodyHole> = (0..=1000).map(|n| hole(n * 3, 2)).collect();
        assert_eq!(in_order(many), [hole(0, 3002)]);
        assert_eq!(BodyHole::from_range(4..4), None);
    }
}
