//! Documents: what records name by a hash, each stored once. A document that is made of fields, as a configuration
//! is, is stored in pieces, so that two configurations share the schemas that both have.
//!
//! Bytes go in and the same bytes come out. Which document is a configuration is not known here.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension as _, params};

use systole_core::types::fields::FieldReader;
use systole_core::types::ids::Digest;

use crate::limits;

/// The pieces. Since format 6.
pub(super) const PIECE: &str = "CREATE TABLE piece (hash BLOB PRIMARY KEY, bytes BLOB NOT NULL) STRICT;";

/// How the row of a document in pieces begins. The hashes of the pieces follow, in order.
const LIST: &[u8] = b"systole pieces v1\n";

/// The pieces of a document; one if it is not made of fields.
fn split_pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let mut fields = FieldReader::new(bytes);
    let (mut ends, mut before) = (Vec::new(), 0);
    while fields.has_more() {
        let Ok(value) = fields.take_field() else { return vec![bytes] };
        if value.len() >= limits::PIECE_LEAST_BYTES {
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
pub(super) fn store_document(connection: &Connection, hash: Digest, bytes: &[u8]) -> rusqlite::Result<()> {
    let pieces = if bytes.len() > limits::DOCUMENT_BYTES { Vec::new() } else { split_pieces(bytes) };
    if pieces.len() < 2 {
        return set_row(connection, hash, bytes);
    }
    // The body of a record, or a log of an older format, may have it whole.
    let there = "SELECT 1 FROM document WHERE hash = ?1 AND length(bytes) > 0";
    if connection.prepare_cached(there)?.exists([hash.0])? {
        return Ok(());
    }
    let mut other = connection.prepare_cached("SELECT 1 FROM piece WHERE hash = ?1 AND bytes <> ?2")?;
    let sql = "INSERT INTO piece (hash, bytes) VALUES (?1, ?2) ON CONFLICT (hash) DO NOTHING";
    let mut keep = connection.prepare_cached(sql)?;
    let mut list = LIST.to_vec();
    for piece in pieces {
        let name = Digest::hash_bytes(piece);
        // What someone changed stays as it is found, and harms no later document.
        if other.exists(params![name.0, piece])? {
            return set_row(connection, hash, bytes);
        }
        keep.execute(params![name.0, piece])?;
        list.extend(name.0);
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
pub(super) fn read_document(connection: &Connection, hash: Digest) -> rusqlite::Result<Option<Vec<u8>>> {
    let row: Option<Vec<u8>> = connection
        .prepare_cached("SELECT bytes FROM document WHERE hash = ?1")?
        .query_row([hash.0], |row| row.get(0))
        .optional()?;
    row.map(|row| put_together(connection, hash, row)).transpose()
}

/// The names in a row, if it is a list: a document that fits its hash as it stands is none.
fn list_names(hash: Digest, row: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    let list = row.strip_prefix(LIST).filter(|_| Digest::hash_bytes(row) != hash)?;
    Some(list.chunks(size_of::<Digest>()))
}

/// The bytes of a document with this row. A list that is not whole, or names too much, is given as it stands: it does
/// not fit the hash.
pub(super) fn put_together(connection: &Connection, hash: Digest, row: Vec<u8>) -> rusqlite::Result<Vec<u8>> {
    let joined = list_names(hash, &row).map(|names| join_pieces(connection, names)).transpose()?.flatten();
    Ok(joined.filter(|whole| !whole.is_empty()).unwrap_or(row))
}

fn join_pieces<'r>(
    connection: &Connection,
    names: impl Iterator<Item = &'r [u8]>,
) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut find = connection.prepare_cached("SELECT bytes FROM piece WHERE hash = ?1")?;
    let mut whole = Vec::new();
    for name in names {
        let piece: Option<Vec<u8>> = find.query_row([name], |row| row.get(0)).optional()?;
        match piece.filter(|piece| whole.len() + piece.len() <= limits::DOCUMENT_BYTES) {
            Some(piece) => whole.extend(piece),
            None => return Ok(None),
        }
    }
    Ok(Some(whole))
}

/// Finds the documents that have a text, each with whether it is a configuration. The bodies of records are left out.
pub(super) fn with_text(connection: &Connection, text: &[u8]) -> rusqlite::Result<Vec<(Digest, bool)>> {
    let mut find = connection.prepare_cached("SELECT hash FROM piece WHERE instr(bytes, ?1) > 0")?;
    let pieces: HashSet<Vec<u8>> = find.query_map([text], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let sql = "SELECT d.hash, EXISTS (SELECT 1 FROM config c WHERE c.hash = d.hash), instr(d.bytes, ?1) > 0, \
               CASE WHEN substr(d.bytes, 1, length(?2)) = ?2 THEN d.bytes END FROM document d \
               WHERE d.id NOT IN (SELECT document FROM large) \
               AND (instr(d.bytes, ?1) > 0 OR substr(d.bytes, 1, length(?2)) = ?2)";
    let mut find = connection.prepare_cached(sql)?;
    let mut rows = find.query(params![text, LIST])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (hash, list) = (Digest(row.get(0)?), row.get::<_, Option<Vec<u8>>>(3)?);
        let has_text = match list.as_ref().and_then(|list| list_names(hash, list)) {
            Some(mut names) => names.any(|name| pieces.contains(name)),
            None => row.get(2)?,
        };
        if has_text {
            found.push((hash, row.get(1)?));
        }
    }
    Ok(found)
}

/// Takes the bytes of a document out. The body of a record stays.
pub(super) fn erase_document(connection: &Connection, hash: Digest) -> rusqlite::Result<()> {
    let sql = "UPDATE document SET bytes = x'' WHERE hash = ?1 AND id NOT IN (SELECT document FROM large)";
    connection.prepare_cached(sql)?.execute([hash.0]).map(drop)
}

/// Removes the pieces that no document has any more.
pub(super) fn drop_unnamed(connection: &Connection) -> rusqlite::Result<()> {
    for name in list_unnamed(connection)? {
        connection.execute("DELETE FROM piece WHERE hash = ?1", [name])?;
    }
    Ok(())
}

/// The pieces that no document has.
pub(super) fn list_unnamed(connection: &Connection) -> rusqlite::Result<HashSet<Vec<u8>>> {
    let mut find = connection.prepare("SELECT hash FROM piece")?;
    let mut left: HashSet<Vec<u8>> = find.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut find =
        connection.prepare("SELECT hash, bytes FROM document WHERE substr(bytes, 1, length(?1)) = ?1")?;
    let mut rows = find.query([LIST])?;
    while let Some(row) = rows.next()? {
        let list: Vec<u8> = row.get(1)?;
        for name in list_names(Digest(row.get(0)?), &list).into_iter().flatten() {
            left.remove(name);
        }
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use systole_core::types::fields::write_field;

    fn made_of(values: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        values.iter().for_each(|value| write_field(&mut out, value));
        out
    }

    #[test]
    fn c10_long_fields_are_pieces_and_short_ones_between_them_are_one() {
        let long = [b'x'; limits::PIECE_LEAST_BYTES];
        let document = made_of(&[b"form", &long, b"a", b"", &long, &long, b"end"]);
        let pieces = split_pieces(&document);
        assert_eq!(pieces.concat(), document);
        let lengths: Vec<usize> = pieces.iter().map(|piece| piece.len()).collect();
        assert_eq!(
            lengths,
            [
                7,
                limits::PIECE_LEAST_BYTES + 5,
                7,
                limits::PIECE_LEAST_BYTES + 5,
                limits::PIECE_LEAST_BYTES + 5,
                6
            ]
        );
    }

    #[test]
    fn c10_what_is_not_made_of_fields_is_one_piece() {
        let long = [b'x'; limits::PIECE_LEAST_BYTES];
        let whole = made_of(&[b"form", &long]);
        for document in [&whole[1..], &whole[..whole.len() - 1], b"organism: {}", &made_of(&[&long])] {
            assert_eq!(split_pieces(document), [document]);
        }
    }
}
