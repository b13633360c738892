//! Reads a record from its row: puts the interned parts back, checks every column against its grammar, and
//! computes the leaf again. A row goes in; a record comes out, or an error that names what does not fit. The
//! hashes that the row claims are never trusted here: `verify` compares them.

use std::sync::Arc;

use rusqlite::Row;
use rusqlite::types::{FromSql, ValueRef};

use systole_core::types::body_parts::{BodyParts, PartSeal, read_holes};
use systole_core::types::ids::{CallPath, Digest, Key, MessageId, Name, ThreadId};
use systole_core::types::ports::Position;
use systole_core::types::record::{Header, Record, RecordCode, RecordKind};
use systole_core::types::time::Millis;

/// The start of every query for records. The joins are outer joins: a row whose thread or sender is missing is
/// damage to report, not a row to leave out.
macro_rules! records_where {
    ($tail:literal) => {
        concat!(
            "SELECT r.pos, t.text, r.seq, r.id, k.text, s.text, a.text, r.call, r.turn, r.ordinal, r.cause, ",
            "r.key, r.origin, r.time, c.hash, m.text, r.salt, r.head, ",
            // A large body is stored among the documents. No payload is empty, so few rows are looked up for
            // nothing.
            "CASE WHEN length(r.body) > 0 THEN r.body ELSE coalesce((SELECT d.bytes FROM large l ",
            "JOIN document d ON d.id = l.document WHERE l.pos = r.pos), r.body) END, r.thread, ",
            "(SELECT group_concat(number || ':' || at || '+' || length || ':' || hex(seal), ',') FROM ",
            "(SELECT p.number, p.at, p.length, p.seal FROM part p WHERE p.pos = r.pos ORDER BY p.number)) FROM record r ",
            "LEFT JOIN thread t ON t.id = r.thread LEFT JOIN word k ON k.id = r.kind ",
            "LEFT JOIN word s ON s.id = r.sender LEFT JOIN word a ON a.id = r.addressee ",
            "LEFT JOIN config c ON c.id = r.config LEFT JOIN word m ON m.id = r.code ",
            $tail
        )
    };
}
pub(super) use records_where;

/// A record as the file has it, with unchecked hashes.
pub(super) struct StoredRecord {
    pub(super) position: Position,
    /// The number of its thread in the file.
    pub(super) thread: i64,
    pub(super) header: Header,
    body: Arc<[u8]>,
    parts: BodyParts,
    pub(super) head: Digest,
}

impl StoredRecord {
    /// The record, with the head that the file claims.
    pub(super) fn into_claimed(self) -> (Position, Record) {
        // The leaf does not depend on the head that it is sealed after, and the stored head replaces that head.
        let record = self.header.seal_record(self.body, self.parts, self.head);
        (self.position, Record { head: self.head, ..record })
    }

    /// The record, if the head that the file claims follows from its bytes and `before`.
    pub(super) fn into_proved(self, before: Digest) -> Option<(Position, Record)> {
        let record = self.header.seal_record(self.body, self.parts, before);
        (record.head == self.head).then_some((self.position, record))
    }
}

/// What does not fit in a row, in words.
pub(super) struct UnfitRow(pub(super) String);

fn make_unfit(column: &str, why: impl std::fmt::Display) -> UnfitRow {
    UnfitRow(format!("{column}: {why}"))
}

/// Reads a row of `records_where!`.
pub(super) fn read_stored(row: &Row<'_>) -> Result<StoredRecord, UnfitRow> {
    let header = Header {
        thread: ThreadId::parse(read_needed(row, 1, "thread")?).map_err(|e| make_unfit("thread", e))?,
        seq: read_natural(row, 2, "seq")?,
        id: MessageId(read_bytes(row, 3, "id")?),
        kind: parse_known(RecordKind::parse, read_needed(row, 4, "kind")?, "kind")?,
        from: Name::parse(read_needed(row, 5, "sender")?).map_err(|e| make_unfit("sender", e))?,
        to: parse_optional(read_text(row, 6, "addressee")?, Name::parse, "addressee")?,
        call: parse_optional(read_text(row, 7, "call")?, CallPath::parse, "call")?,
        turn: read_optional(row, 8, "turn")?,
        ordinal: read_optional(row, 9, "ordinal")?,
        cause: read_optional(row, 10, "cause")?.map(MessageId),
        key: parse_optional(read_text(row, 11, "key")?, Key::parse, "key")?,
        origin: read_optional(row, 12, "origin")?.map(Digest),
        time: Millis(read_natural(row, 13, "time")?),
        config: Digest(read_bytes(row, 14, "config")?),
        code: read_text(row, 15, "code")?.map(|m| parse_known(RecordCode::parse, m, "code")).transpose()?,
    };
    let body = row.get_ref(18).map_err(|e| make_unfit("body", e))?;
    let body: Arc<[u8]> = Arc::from(body.as_blob().map_err(|e| make_unfit("body", e))?);
    let parts = read_parts(row, body.len())?;
    if parts.has_erased() {
        let mut blank = body.to_vec();
        parts.blank_holes(&mut blank);
        if *blank != *body {
            return Err(make_unfit("body", "it has other bytes in place of an erased part"));
        }
    }
    let position = Position(read_natural(row, 0, "pos")?);
    Ok(StoredRecord {
        position,
        thread: row.get(19).map_err(|e| make_unfit("thread", e))?,
        header,
        body,
        parts,
        head: Digest(read_bytes(row, 17, "head")?),
    })
}

/// The parts of a body: of part 0 the seal is in the record, of each sensitive value it has a row.
fn read_parts(row: &Row<'_>, body_length: usize) -> Result<BodyParts, UnfitRow> {
    let rest = row.get_ref(16).map_err(|e| make_unfit("salt", e))?;
    let rest = read_seal(rest.as_blob().map_err(|e| make_unfit("salt", e))?)
        .ok_or_else(|| make_unfit("salt", "has no known length"))?;
    let Some(list) = read_text(row, 20, "part")? else { return Ok(BodyParts { rest, values: Vec::new() }) };
    let mut values = Vec::new();
    let mut places = Vec::new();
    for (number, part) in (1..).zip(list.split(',')) {
        let mut fields = part.split(':');
        let [said, place, hex] = [(); 3].map(|()| fields.next().unwrap_or_default());
        if said.parse() != Ok::<u64, _>(number) {
            return Err(make_unfit("part", "has no gaps in its numbers"));
        }
        let seal = decode_hex(hex)
            .and_then(|bytes| read_seal(&bytes))
            .ok_or_else(|| make_unfit("part", "has no known seal"))?;
        places.push(place);
        values.push(seal);
    }
    let holes =
        read_holes(places.join(",").as_bytes(), body_length as u64).map_err(|e| make_unfit("part", e))?;
    Ok(BodyParts { rest, values: holes.into_iter().zip(values).collect() })
}

/// A salt, or the commitment of what is erased: their lengths tell which.
fn read_seal(bytes: &[u8]) -> Option<PartSeal> {
    let kept = <[u8; 16]>::try_from(bytes).map(PartSeal::Kept);
    kept.or_else(|_| <[u8; 32]>::try_from(bytes).map(|hash| PartSeal::Erased(Digest(hash)))).ok()
}

/// The stored form of a seal.
pub(super) fn to_bytes(seal: &PartSeal) -> &[u8] {
    match seal {
        PartSeal::Kept(salt) => salt,
        PartSeal::Erased(commitment) => &commitment.0,
    }
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

fn read_text<'r>(row: &'r Row<'_>, at: usize, column: &str) -> Result<Option<&'r str>, UnfitRow> {
    let value = row.get_ref(at).map_err(|e| make_unfit(column, e))?;
    value.as_str_or_null().map_err(|e| make_unfit(column, e))
}

fn read_needed<'r>(row: &'r Row<'_>, at: usize, column: &str) -> Result<&'r str, UnfitRow> {
    read_text(row, at, column)?.ok_or_else(|| make_unfit(column, "is missing"))
}

fn read_optional<T: FromSql>(row: &Row<'_>, at: usize, column: &str) -> Result<Option<T>, UnfitRow> {
    match row.get_ref(at).map_err(|e| make_unfit(column, e))? {
        ValueRef::Null => Ok(None),
        value => T::column_result(value).map(Some).map_err(|e| make_unfit(column, e)),
    }
}

fn read_bytes<const N: usize>(row: &Row<'_>, at: usize, column: &str) -> Result<[u8; N], UnfitRow> {
    read_optional(row, at, column)?.ok_or_else(|| make_unfit(column, "is missing"))
}

fn read_natural(row: &Row<'_>, at: usize, column: &str) -> Result<u64, UnfitRow> {
    let number: i64 = read_optional(row, at, column)?.ok_or_else(|| make_unfit(column, "is missing"))?;
    u64::try_from(number).map_err(|e| make_unfit(column, e))
}

fn parse_known<T>(parse: impl Fn(&str) -> Option<T>, text: &str, column: &str) -> Result<T, UnfitRow> {
    parse(text).ok_or_else(|| UnfitRow(format!("{column}: {text} is not known to this version")))
}

fn parse_optional<T, E: std::fmt::Display>(
    text: Option<&str>,
    parse: impl Fn(&str) -> Result<T, E>,
    column: &str,
) -> Result<Option<T>, UnfitRow> {
    text.map(|t| parse(t).map_err(|e| make_unfit(column, e))).transpose()
}
