//! The rows of the table `fold` and its marks: how they are written, and which of them can be trusted.
//!
//! Both are a cache that saves folding threads again; neither is evidence. A flipped bit in them must not change a
//! thread, so each row has a checksum. The marks have a checksum over the checkpoint and a sum over the threads at
//! work, which reveals a missing row. What does not fit counts as not stored, and is folded again from the records.
//! Nothing here knows what a row means.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest as _, Sha256};

use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{FoldRow, Position};

/// Bytes of a row's checksum.
const SUM: usize = 16;

/// The table, since format 3.
pub(super) const FOLD: &str = "
CREATE TABLE fold (
  thread INTEGER PRIMARY KEY, seq INTEGER NOT NULL, working INTEGER NOT NULL, bytes BLOB NOT NULL,
  sum BLOB NOT NULL
) STRICT;
CREATE INDEX fold_working ON fold (thread) WHERE working = 1;
";

/// The start of every query whose rows `checked` reads.
macro_rules! rows_where {
    ($tail:literal) => {
        concat!(
            "SELECT f.thread, t.text, f.seq, f.working, f.bytes, f.sum ",
            "FROM fold f LEFT JOIN thread t ON t.id = f.thread ",
            $tail
        )
    };
}
pub(super) use rows_where;

/// The content of the marks, if their checksum fits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct FoldMarks {
    /// Opening need only fold the records after this position.
    pub(super) checkpoint: Position,
    /// The sum over the threads whose row says that they are at work.
    working: i64,
}

/// The rows of the threads at work.
pub(super) struct WorkingRows {
    /// One row for each; a row with a wrong checksum is here without bytes, and its thread is folded again.
    pub(super) rows: Vec<FoldRow>,
    /// How many of them have a wrong checksum.
    pub(super) corrupt: usize,
    /// Whether these are all threads at work.
    pub(super) is_complete: bool,
}

impl FoldMarks {
    /// Reads them; `None` if they do not fit together.
    pub(super) fn read_marks(connection: &Connection) -> rusqlite::Result<Option<FoldMarks>> {
        let value = |name: &str| -> rusqlite::Result<Option<i64>> {
            let mut find = connection.prepare_cached("SELECT value FROM mark WHERE name = ?1")?;
            let found = find.query_row([name], |row| Ok(row.get::<_, i64>(0).ok())).optional()?;
            Ok(found.flatten())
        };
        let (checkpoint, working, sum) = (value("checkpoint")?, value("working")?, value("sum")?);
        let (Some(checkpoint), Some(working)) = (checkpoint, working) else { return Ok(None) };
        let Ok(position) = u64::try_from(checkpoint) else { return Ok(None) };
        let marks = FoldMarks { checkpoint: Position(position), working };
        Ok((sum == Some(marks.sum_marks())).then_some(marks))
    }

    /// Writes them.
    fn write_marks(self, connection: &Connection) -> rusqlite::Result<()> {
        let mut set =
            connection.prepare_cached("INSERT OR REPLACE INTO mark (name, value) VALUES (?1, ?2)")?;
        let checkpoint = i64::try_from(self.checkpoint.0).unwrap_or(i64::MAX);
        for (name, value) in
            [("checkpoint", checkpoint), ("working", self.working), ("sum", self.sum_marks())]
        {
            set.execute(params![name, value])?;
        }
        Ok(())
    }

    fn sum_marks(self) -> i64 {
        let parts = [&self.checkpoint.0.to_be_bytes()[..], &self.working.to_be_bytes()];
        first_eight("systole marks v1", &parts)
    }
}

/// Drops every row, so that every thread is folded again.
pub(super) fn remove_rows(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM fold", [])?;
    FoldMarks::default().write_marks(connection)
}

/// Writes rows. With a checkpoint, opening need only fold the records after that position. Part of a transaction.
pub(super) fn set_rows(
    connection: &Connection,
    rows: &[(i64, &FoldRow)],
    checkpoint: Option<Position>,
) -> rusqlite::Result<()> {
    if rows.is_empty() && checkpoint.is_none() {
        return Ok(());
    }
    let marks = FoldMarks::read_marks(connection)?;
    let mut working = marks.map_or(0, |marks| marks.working);
    for (number, row) in rows {
        let share = hash_share(row.thread.as_str());
        let mut find = connection.prepare_cached("SELECT working FROM fold WHERE thread = ?1")?;
        // If this value is the corrupt one, the sum no longer fits, and the next start finds that.
        let was_working: Option<i64> = find.query_row([number], |row| row.get(0)).optional()?;
        if was_working == Some(1) {
            working = working.wrapping_sub(share);
        }
        if row.working {
            working = working.wrapping_add(share);
        }
        let mut set = connection.prepare_cached(
            "INSERT OR REPLACE INTO fold (thread, seq, working, bytes, sum) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        let seq = i64::try_from(row.seq).unwrap_or(i64::MAX);
        set.execute(params![number, seq, row.working, row.bytes, row_sum(row)])?;
    }
    // Marks that became corrupt while the organism runs stay corrupt: the next start then trusts no row.
    let Some(before) = marks else { return Ok(()) };
    FoldMarks { checkpoint: checkpoint.unwrap_or(before.checkpoint), working }.write_marks(connection)
}

/// The rows of the threads at work, checked against the marks.
pub(super) fn read_working(connection: &Connection, marks: FoldMarks) -> rusqlite::Result<WorkingRows> {
    let mut statement = connection.prepare_cached(rows_where!("WHERE f.working = 1 ORDER BY t.text"))?;
    let mut found = statement.query([])?;
    let (mut rows, mut sum, mut corrupt) = (Vec::new(), 0_i64, 0);
    while let Some(row) = found.next()? {
        match check_row(row) {
            CheckedRow::Sound(row) => rows.push(row),
            CheckedRow::Corrupt(_, Some(thread)) => {
                corrupt += 1;
                rows.push(FoldRow { thread, seq: 0, working: true, bytes: Vec::new() });
            }
            CheckedRow::Corrupt(_, None) => continue,
        }
        sum = sum.wrapping_add(rows.last().map_or(0, |row| hash_share(row.thread.as_str())));
    }
    Ok(WorkingRows { rows, corrupt, is_complete: sum == marks.working })
}

/// Prepares what opening reads: if the marks do not fit, or a thread at work has no row, every row is dropped.
/// Returns what was wrong, if anything.
pub(super) fn heal_rows(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let marks = FoldMarks::read_marks(connection)?;
    let found = marks.map(|marks| read_working(connection, marks)).transpose()?;
    // A start reads the row of `sys` too.
    let sys = connection
        .prepare_cached(rows_where!("WHERE t.text = 'sys'"))?
        .query_row([], |row| Ok(matches!(check_row(row), CheckedRow::Corrupt(..))))
        .optional()?;
    let corrupt_sys = usize::from(sys == Some(true));
    match found.filter(|working| working.is_complete).map(|working| working.corrupt + corrupt_sys) {
        Some(0) => Ok(None),
        Some(corrupt) => Ok(Some(format!(
            "corrupt rows in its cache (the table fold): {corrupt}; their threads are folded again from their records"
        ))),
        None => {
            connection.execute_batch("BEGIN IMMEDIATE")?;
            remove_rows(connection)?;
            connection.execute_batch("COMMIT")?;
            let why = "its cache (the table fold) was corrupt and was emptied; \
                       every thread is folded again from its records";
            Ok(Some(why.to_owned()))
        }
    }
}

/// A row and whether its checksum fits.
pub(super) enum CheckedRow {
    /// It fits.
    Sound(FoldRow),
    /// It does not fit, or the row cannot be read at all; the row's number, and its thread if that is known.
    Corrupt(i64, Option<ThreadId>),
}

/// Reads a row of `rows_where!`. A column of the wrong type is corrupt like any other.
pub(super) fn check_row(row: &rusqlite::Row<'_>) -> CheckedRow {
    let number = row.get(0).unwrap_or_default();
    let text = match row.get_ref(1) {
        Ok(ValueRef::Text(text)) => std::str::from_utf8(text).ok(),
        _ => None,
    };
    let Some(thread) = text.and_then(|text| ThreadId::parse(text).ok()) else {
        return CheckedRow::Corrupt(number, None);
    };
    let columns = || -> rusqlite::Result<(i64, i64, Vec<u8>, [u8; SUM])> {
        Ok((row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
    };
    if let Ok((seq, working @ (0 | 1), bytes, sum)) = columns()
        && let Ok(seq) = u64::try_from(seq)
    {
        let row = FoldRow { thread: thread.clone(), seq, working: working == 1, bytes };
        if row_sum(&row) == sum {
            return CheckedRow::Sound(row);
        }
    }
    CheckedRow::Corrupt(number, Some(thread))
}

fn row_sum(row: &FoldRow) -> [u8; SUM] {
    let parts =
        [row.thread.as_str().as_bytes(), &row.seq.to_be_bytes(), &[u8::from(row.working)], &row.bytes];
    let hash = hash_parts("systole fold v1", &parts);
    let mut sum = [0; SUM];
    sum.copy_from_slice(hash.get(..SUM).unwrap_or(&[0; SUM]));
    sum
}

/// The share of one thread at work in the sum.
fn hash_share(thread: &str) -> i64 {
    first_eight("systole working v1", &[thread.as_bytes()])
}

pub(super) fn first_eight(domain: &str, parts: &[&[u8]]) -> i64 {
    let hash = hash_parts(domain, parts);
    hash.first_chunk().map_or(0, |first| i64::from_be_bytes(*first))
}

/// SHA-256 over the parts, each with its length before it.
fn hash_parts(domain: &str, parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new_with_prefix(domain);
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
