//! The places of records: at which position each record of a thread is, and which items are recorded.
//!
//! An index that every commit kept up to date would dirty a page at another place of the file for each record. So
//! the entries of new records are written in runs: sorted, many at once, with the commit that makes enough of them.
//! The records after the last run are the last ones of the file, and are found by looking at those. They are few.
//!
//! All of this can be made again from the records, and is no evidence. How far the entries go has a checksum: without
//! it a flipped bit could hide records.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::rows::first_eight;
use systole_core::types::fast_maps::FastMap;
use systole_core::types::ports::Position;

/// The tables, since format 4.
pub(super) const PLACES: &str = "
CREATE TABLE place (
  thread INTEGER NOT NULL, seq INTEGER NOT NULL, pos INTEGER NOT NULL, PRIMARY KEY (thread, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE item (
  thread INTEGER NOT NULL, call TEXT NOT NULL, turn INTEGER NOT NULL, ordinal INTEGER NOT NULL,
  PRIMARY KEY (thread, call, turn, ordinal)
) STRICT, WITHOUT ROWID;
CREATE TABLE placed (pos INTEGER NOT NULL, sum INTEGER NOT NULL) STRICT;
";

/// The indexes that they replaced.
pub(super) const INDEXES_BEFORE: &str = "
CREATE UNIQUE INDEX record_seq ON record (thread, seq);
CREATE UNIQUE INDEX record_item ON record (thread, call, turn, ordinal) WHERE ordinal IS NOT NULL;
";

/// Drops those indexes.
pub(super) const WITHOUT_INDEXES_BEFORE: &str =
    "DROP INDEX IF EXISTS record_seq; DROP INDEX IF EXISTS record_item;";

/// How far the stand-ins of an older log go. In the file itself, it is not believed.
pub(super) const EVERYTHING: Position = Position(i64::MAX.unsigned_abs());

/// What a log of an older format gets in memory in place of these tables: its indexes know every record.
pub(super) const STAND_INS: &str = "
CREATE TEMP VIEW place AS SELECT thread, seq, pos FROM main.record;
CREATE TEMP TABLE placed (pos INTEGER NOT NULL, sum INTEGER NOT NULL);
";

/// The position up to which every record has its entries; `None` if that is corrupt.
fn read_known(connection: &Connection) -> rusqlite::Result<Option<Position>> {
    let sql = "SELECT pos, sum FROM placed WHERE (SELECT count(*) FROM placed) = 1";
    let mut find = connection.prepare_cached(sql)?;
    let found: Option<(i64, i64)> = find.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let sound = found.filter(|(pos, sum)| *sum == sum_of(*pos));
    Ok(sound.and_then(|(pos, _)| u64::try_from(pos).ok()).map(Position))
}

/// The same, if it fits the log: no entry is later than the last record, and no more records follow than may wait for
/// a run.
pub(super) fn read_placed(connection: &Connection) -> rusqlite::Result<Option<Position>> {
    let Some(placed) = read_known(connection)? else { return Ok(None) };
    let last = read_last(connection)?;
    let fits = placed <= last && last.0 - placed.0 < 2 * crate::limits::RUN_RECORDS;
    Ok((fits || placed == EVERYTHING && has_stand_ins(connection)?).then_some(placed))
}

fn has_stand_ins(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM temp.sqlite_schema WHERE name = 'placed'";
    connection.prepare_cached(sql)?.exists([])
}

/// Sets how far the entries go.
pub(super) fn set_placed(connection: &Connection, position: Position) -> rusqlite::Result<()> {
    let pos = to_signed(position);
    let mut change = connection.prepare_cached("UPDATE placed SET pos = ?1, sum = ?2")?;
    if change.execute([pos, sum_of(pos)])? == 0 {
        connection.execute("INSERT INTO placed (pos, sum) VALUES (?1, ?2)", [pos, sum_of(pos)])?;
    }
    Ok(())
}

/// Writes the entries of the records after one position up to another. Part of a transaction.
pub(super) fn place_records(
    connection: &Connection,
    after: Position,
    last: Position,
) -> rusqlite::Result<()> {
    // A second entry of the same name breaks the key of its table, and the transaction with it.
    let places = "INSERT INTO place (thread, seq, pos) SELECT thread, seq, pos FROM record \
                  WHERE pos > ?1 AND pos <= ?2 ORDER BY 1, 2";
    let items = "INSERT INTO item (thread, call, turn, ordinal) SELECT thread, call, turn, ordinal FROM record \
                 WHERE pos > ?1 AND pos <= ?2 AND ordinal IS NOT NULL AND turn IS NOT NULL AND call IS NOT NULL \
                 ORDER BY 1, 2, 3, 4";
    for sql in [places, items] {
        connection.prepare_cached(sql)?.execute([to_signed(after), to_signed(last)])?;
    }
    set_placed(connection, last)
}

/// Writes the entries of all records, if there are none yet. Part of a transaction.
pub(super) fn run_all(connection: &Connection) -> rusqlite::Result<()> {
    place_records(connection, Position(0), read_last(connection)?)
}

/// Makes all entries again if it is unknown how far they go, or if they are suspect anyway. Returns whether it was
/// unknown.
pub(super) fn heal_places(connection: &Connection, is_suspect: bool) -> rusqlite::Result<bool> {
    let is_unknown = read_placed(connection)?.is_none();
    if !is_suspect && !is_unknown {
        return Ok(false);
    }
    let work = connection.unchecked_transaction()?;
    work.execute_batch("DELETE FROM place; DELETE FROM item; DELETE FROM placed;")?;
    run_all(&work)?;
    work.commit()?;
    Ok(is_unknown)
}

/// Writes the entries that are missing, so that a closed log has them all.
pub(super) fn complete_places(connection: &Connection) -> rusqlite::Result<()> {
    let last = read_last(connection)?;
    if let Some(placed) = read_placed(connection)?.filter(|placed| *placed < last) {
        let work = connection.unchecked_transaction()?;
        place_records(&work, placed, last)?;
        work.commit()?;
    }
    Ok(())
}

fn read_last(connection: &Connection) -> rusqlite::Result<Position> {
    let mut find = connection.prepare_cached("SELECT coalesce(max(pos), 0) FROM record")?;
    find.query_row([], |row| row.get(0)).map(|last: i64| Position(last.unsigned_abs()))
}

/// The number of a thread's last record among those with entries; 0 if it has none there.
pub(super) fn last_seq(connection: &Connection, thread: i64) -> rusqlite::Result<u64> {
    let mut find = connection.prepare_cached("SELECT coalesce(max(seq), 0) FROM place WHERE thread = ?1")?;
    find.query_row([thread], |row| row.get(0)).map(i64::unsigned_abs)
}

/// Whether an item has an entry.
pub(super) fn has_item(
    connection: &Connection,
    thread: i64,
    (call, turn, ordinal): (&str, u32, u32),
) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM item WHERE thread = ?1 AND call = ?2 AND turn = ?3 AND ordinal = ?4";
    connection.prepare_cached(sql)?.exists(params![thread, call, turn, ordinal])
}

/// The first record without entries whose item is recorded before it. Only another program can have written it.
pub(super) fn repeated_item(connection: &Connection) -> rusqlite::Result<Option<Position>> {
    let placed = read_placed(connection)?.filter(|placed| *placed != EVERYTHING);
    let Some(placed) = placed else { return Ok(None) };
    let sql = "SELECT min(pos) FROM (SELECT max(r.pos) AS pos FROM record r \
               WHERE r.pos > ?1 AND r.ordinal IS NOT NULL AND r.turn IS NOT NULL AND r.call IS NOT NULL \
               GROUP BY r.thread, r.call, r.turn, r.ordinal \
               HAVING count(*) > 1 OR EXISTS (SELECT 1 FROM item i WHERE i.thread = r.thread AND i.call = r.call \
               AND i.turn = r.turn AND i.ordinal = r.ordinal))";
    let found: Option<i64> = connection.query_row(sql, [to_signed(placed)], |row| row.get(0))?;
    Ok(found.map(|pos| Position(pos.unsigned_abs())))
}

/// The records without entries: which of them belong to a thread. It is read once, and later only what was committed
/// since.
#[derive(Default)]
pub(super) struct NewestPlaces {
    /// The last position with entries; `None` if they cannot be trusted, and every record must be looked at.
    placed: Option<Position>,
    /// The last position that was read.
    read: i64,
    /// The numbers and positions of each thread's records, by the thread's number in the file.
    threads: FastMap<i64, Vec<(i64, i64)>>,
}

impl NewestPlaces {
    /// Reads what was committed since. Returns the last position with entries.
    fn renew_places(&mut self, connection: &Connection) -> rusqlite::Result<Option<i64>> {
        let placed = read_placed(connection)?;
        if placed != self.placed {
            *self = NewestPlaces { placed, read: placed.map_or(0, to_signed), threads: FastMap::default() };
        }
        if placed.is_none() {
            return Ok(None);
        }
        let mut find =
            connection.prepare_cached("SELECT pos, thread, seq FROM record WHERE pos > ?1 ORDER BY pos")?;
        let mut found = find.query([self.read])?;
        while let Some(row) = found.next()? {
            self.read = row.get(0)?;
            self.threads.entry(row.get(1)?).or_default().push((row.get(2)?, self.read));
        }
        Ok(placed.map(to_signed))
    }

    fn list_places(&self, thread: i64) -> &[(i64, i64)] {
        self.threads.get(&thread).map_or(&[], Vec::as_slice)
    }

    /// The numbers and positions of a thread's records from `seq` on, at most `limit`.
    pub(super) fn of_thread(
        &mut self,
        connection: &Connection,
        thread: &str,
        seq: i64,
        limit: usize,
    ) -> rusqlite::Result<Vec<(i64, i64)>> {
        let Some(thread) = read_number(connection, thread)? else { return Ok(Vec::new()) };
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let Some(placed) = self.renew_places(connection)? else {
            let sql = "SELECT seq, pos FROM record WHERE thread = ?1 AND seq >= ?2 ORDER BY pos LIMIT ?3";
            return connection.prepare_cached(sql)?.query_map([thread, seq, most], read_pair)?.collect();
        };
        let sql =
            "SELECT seq, pos FROM place WHERE thread = ?1 AND seq >= ?2 AND pos <= ?3 ORDER BY seq LIMIT ?4";
        let mut find = connection.prepare_cached(sql)?;
        let found = find.query_map([thread, seq, placed, most], read_pair)?;
        let mut found = found.collect::<Result<Vec<_>, _>>()?;
        let newest = self.list_places(thread).iter().filter(|(its, _)| *its >= seq);
        found.extend(newest.take(limit - found.len()));
        Ok(found)
    }

    /// The last record of a thread before the record `seq` at a position: its number and head. A second record with
    /// that number, further ahead, is found too.
    pub(super) fn find_before(
        &mut self,
        connection: &Connection,
        thread: i64,
        (seq, position): (i64, i64),
    ) -> rusqlite::Result<Option<(i64, [u8; 32])>> {
        if self.placed.is_none() || self.read < position - 1 {
            self.renew_places(connection)?;
        }
        let newest = self.list_places(thread);
        let newest = newest.get(..newest.partition_point(|(_, pos)| *pos < position)).unwrap_or_default();
        let found = match (newest.last(), self.placed) {
            (Some((_, pos)), _) => Some(*pos),
            (None, None) => None,
            (None, Some(placed)) => connection
                .prepare_cached(
                    "SELECT pos FROM place WHERE thread = ?1 AND seq <= ?2 AND pos < ?3 AND pos <= ?4 \
                     ORDER BY seq DESC LIMIT 1",
                )?
                .query_row([thread, seq, position, to_signed(placed)], |row| row.get(0))
                .optional()?,
        };
        let sql = "SELECT seq, head FROM record WHERE pos = ?1 AND thread = ?2";
        let mut head = connection.prepare_cached(sql)?;
        let found =
            found.map(|found| head.query_row([found, thread], read_pair).optional()).transpose()?.flatten();
        match found {
            Some((its, _)) if its + 1 == seq => Ok(found),
            None if seq == 1 && self.placed.is_some() => Ok(None),
            // The entries do not lead to the record before. They are no evidence, so the records have the last word.
            _ => connection
                .prepare_cached(
                    "SELECT seq, head FROM record WHERE thread = ?1 AND pos < ?2 ORDER BY pos DESC LIMIT 1",
                )?
                .query_row([thread, position], read_pair)
                .optional(),
        }
    }
}

fn read_pair<A: rusqlite::types::FromSql, B: rusqlite::types::FromSql>(
    row: &Row<'_>,
) -> rusqlite::Result<(A, B)> {
    Ok((row.get(0)?, row.get(1)?))
}

/// The number of a thread in the file.
fn read_number(connection: &Connection, thread: &str) -> rusqlite::Result<Option<i64>> {
    let mut find = connection.prepare_cached("SELECT id FROM thread WHERE text = ?1")?;
    find.query_row([thread], |row| row.get(0)).optional()
}

/// What is wrong with the entries, if anything. An older log has none.
pub(super) fn find_fault(connection: &Connection) -> rusqlite::Result<Option<&'static str>> {
    if read_known(connection)?.is_none() {
        return Ok(Some("the table placed does not fit its checksum"));
    }
    let Some(placed) = read_placed(connection)? else {
        return Ok(Some("the table placed does not fit the records"));
    };
    if placed == EVERYTHING {
        return Ok(None);
    }
    let differ = |sql: &str| connection.query_row(sql, [to_signed(placed)], |row| row.get::<_, bool>(0));
    // Each entry has its record, and there are as many of them: so each record has its entry, and only one.
    if differ(
        "SELECT (SELECT count(*) FROM place) <> (SELECT count(*) FROM record WHERE pos <= ?1) \
         OR EXISTS (SELECT 1 FROM place p LEFT JOIN record r ON r.pos = p.pos \
                    WHERE r.thread IS NOT p.thread OR r.seq IS NOT p.seq OR p.pos > ?1)",
    )? {
        return Ok(Some("the table place does not have each record once"));
    }
    let items = differ(
        "SELECT (SELECT count(*) FROM item) <> (SELECT count(*) FROM record WHERE pos <= ?1 AND ordinal IS NOT NULL \
                 AND turn IS NOT NULL AND call IS NOT NULL) \
         OR EXISTS (SELECT thread, call, turn, ordinal FROM item EXCEPT \
                    SELECT thread, call, turn, ordinal FROM record WHERE pos <= ?1 AND ordinal IS NOT NULL)",
    )?;
    Ok(items.then_some("the table item does not have each item once"))
}

/// What helps against a fault of the entries.
pub(super) const CURE: &str =
    "empty the table placed while no organism runs, and the next start makes all entries again";

fn to_signed(position: Position) -> i64 {
    i64::try_from(position.0).unwrap_or(i64::MAX)
}

fn sum_of(pos: i64) -> i64 {
    first_eight("systole placed v1", &[&pos.to_be_bytes()])
}
