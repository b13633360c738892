//! Documents: what records name by a hash, each stored once. A document that is made of fields, as a configuration
//! is, is stored in pieces, so that two configurations share the schemas that both have.
//!
//! Bytes go in and the same bytes come out. Which document is a configuration is not known here.

use rusqlite::{Connection, OptionalExtension as _, params};

use systole_core::types::fields::FieldReader;
use systole_core::types::ids::Digest;

/// The pieces. Since format 6.
pub(super) const PIECE: &str = "CREATE TABLE piece (hash BLOB PRIMARY KEY, bytes BLOB NOT NULL) STRICT;";

/// How the row of a document in pieces begins. The hashes of the pieces follow, in order.
const LIST: &[u8] = b"systole pieces v1\n";

/// A field with at least as many bytes is a piece by itself.
const APART: usize = 512;

/// The pieces of a document; one if it is not made of fields.
fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let mut fields = FieldReader::new(bytes);
    let (mut ends, mut before) = (Vec::new(), 0);
    while fields.has_more() {
        let Ok(value) = fields.take() else { return vec![bytes] };
        if value.len() >= APART {
            ends.extend([before, fields.position()]);
        }
        before = fields.position();
    }
    ends.push(bytes.len());
    let mut begin = 0;
    let cut = ends.into_iter().map(|end| bytes.get(std::mem::replace(&mut begin, end)..end));
    cut.flatten().filter(|piece| !piece.is_empty()).collect()
}

/// Stores a document, in pieces if it has several.
pub(super) fn set(connection: &Connection, hash: Digest, bytes: &[u8]) -> rusqlite::Result<()> {
    let pieces = pieces(bytes);
    if pieces.len() < 2 {
        return set_row(connection, hash, bytes);
    }
    let sql = "INSERT INTO piece (hash, bytes) VALUES (?1, ?2) ON CONFLICT (hash) DO NOTHING";
    let mut keep = connection.prepare_cached(sql)?;
    let mut list = LIST.to_vec();
    for piece in pieces {
        let hash = Digest::of(piece);
        keep.execute(params![hash.0, piece])?;
        list.extend(hash.0);
    }
    set_row(connection, hash, &list)
}

fn set_row(connection: &Connection, hash: Digest, row: &[u8]) -> rusqlite::Result<()> {
    // A document that was erased, and is said again, is there again.
    let sql = "INSERT INTO document (hash, bytes) VALUES (?1, ?2) ON CONFLICT (hash) \
               DO UPDATE SET bytes = excluded.bytes WHERE length(document.bytes) = 0";
    connection.prepare_cached(sql)?.execute(params![hash.0, row]).map(drop)
}

/// Stores a document in its own row, from where SQL reads the body of a record.
pub(super) fn set_whole(connection: &Connection, hash: Digest, bytes: &[u8]) -> rusqlite::Result<()> {
    let sql = "INSERT INTO document (hash, bytes) VALUES (?1, ?2) ON CONFLICT (hash) \
               DO UPDATE SET bytes = excluded.bytes WHERE length(document.bytes) <> length(excluded.bytes)";
    connection.prepare_cached(sql)?.execute(params![hash.0, bytes]).map(drop)
}

/// The bytes of a document, unchecked. Without bytes it is erased.
pub(super) fn get(connection: &Connection, hash: Digest) -> rusqlite::Result<Option<Vec<u8>>> {
    let row: Option<Vec<u8>> = connection
        .prepare_cached("SELECT bytes FROM document WHERE hash = ?1")?
        .query_row([hash.0], |row| row.get(0))
        .optional()?;
    row.map(|row| put_together(connection, hash, row)).transpose()
}

/// The bytes of a document with this row. A piece that is not there leaves a document without it, which then does not
/// fit its hash.
pub(super) fn put_together(connection: &Connection, hash: Digest, row: Vec<u8>) -> rusqlite::Result<Vec<u8>> {
    let Some(list) = row.strip_prefix(LIST).filter(|_| Digest::of(&row) != hash) else { return Ok(row) };
    let mut find = connection.prepare_cached("SELECT bytes FROM piece WHERE hash = ?1")?;
    let mut whole = Vec::new();
    for hash in list.chunks(size_of::<Digest>()) {
        let piece: Option<Vec<u8>> = find.query_row([hash], |row| row.get(0)).optional()?;
        whole.extend(piece.unwrap_or_else(|| LIST.to_vec()));
    }
    // A list of nothing is no erased document.
    Ok(if whole.is_empty() { row } else { whole })
}

/// The bodies of records are left out.
const WITH_TEXT: &str = "
SELECT d.hash, EXISTS (SELECT 1 FROM config c WHERE c.hash = d.hash) FROM document d
WHERE d.id NOT IN (SELECT document FROM large) AND (instr(d.bytes, ?1) > 0 OR (
  substr(d.bytes, 1, length(?2)) = ?2 AND EXISTS (
    SELECT 1 FROM piece p WHERE instr(p.bytes, ?1) > 0 AND instr(d.bytes, p.hash) > 0)))";

/// Finds the documents that have a text, each with whether it is a configuration.
pub(super) fn with_text(connection: &Connection, text: &[u8]) -> rusqlite::Result<Vec<(Digest, bool)>> {
    let mut find = connection.prepare_cached(WITH_TEXT)?;
    let rows = find.query_map(params![text, LIST], |row| Ok((Digest(row.get(0)?), row.get(1)?)))?;
    rows.collect()
}

/// Takes the bytes of a document out, and the pieces that no other document has. The body of a record stays.
pub(super) fn erase(connection: &Connection, hash: Digest) -> rusqlite::Result<()> {
    let sql = "SELECT 1 FROM document WHERE hash = ?1 AND substr(bytes, 1, length(?2)) = ?2";
    let is_list = connection.prepare_cached(sql)?.exists(params![hash.0, LIST])?;
    let sql = "UPDATE document SET bytes = x'' WHERE hash = ?1 AND id NOT IN (SELECT document FROM large)";
    connection.execute(sql, [hash.0])?;
    if !is_list {
        return Ok(());
    }
    let sql = "DELETE FROM piece WHERE NOT EXISTS (SELECT 1 FROM document d \
               WHERE substr(d.bytes, 1, length(?1)) = ?1 AND instr(d.bytes, piece.hash) > 0)";
    connection.execute(sql, [LIST]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use systole_core::types::fields::field;

    fn made_of(values: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        values.iter().for_each(|value| field(&mut out, value));
        out
    }

    #[test]
    fn c10_long_fields_are_pieces_and_short_ones_between_them_are_one() {
        let long = [b'x'; APART];
        let document = made_of(&[b"form", &long, b"a", b"", &long, &long, b"end"]);
        let pieces = pieces(&document);
        assert_eq!(pieces.concat(), document);
        let lengths: Vec<usize> = pieces.iter().map(|piece| piece.len()).collect();
        assert_eq!(lengths, [7, APART + 5, 7, APART + 5, APART + 5, 6]);
    }

    #[test]
    fn c10_what_is_not_made_of_fields_is_one_piece() {
        let long = [b'x'; APART];
        let whole = made_of(&[b"form", &long]);
        for document in [&whole[1..], &whole[..whole.len() - 1], b"organism: {}", &made_of(&[&long])] {
            assert_eq!(pieces(document), [document]);
        }
    }
}
