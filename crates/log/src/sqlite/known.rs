//! What the writer remembers of the stored data: the numbers of words and threads, and what it needs to refuse a record
//! that would break a rule of the log.
//!
//! All of it is a memory of the file, and can be read again at any time. It is forgotten with a batch that was not
//! committed.

use rusqlite::{Connection, OptionalExtension};

use super::places;
use super::recent::RecentMap;
use crate::BatchRule;
use crate::limits::{KNOWN_CONFIGS, KNOWN_THREADS, KNOWN_WORDS, RUN_RECORDS};
use systole_core::types::fast_maps::{FastMap, FastSet};
use systole_core::types::ids::{CallPath, Digest, ThreadId};
use systole_core::types::ports::Position;
use systole_core::types::record::Header;

/// What the writer remembers of the stored data.
pub(super) struct KnownRows {
    /// The last position of the log.
    pub(super) last: Position,
    /// The records without entries of places; `None` after a batch that was not committed.
    newest: Option<NewestSeqs>,
    words: RecentMap<Box<str>, i64>,
    configs: RecentMap<Digest, i64>,
    threads: RecentMap<ThreadId, NumberedThread>,
}

/// A thread's number in the file, and the seq of its last record.
#[derive(Clone, Copy)]
struct NumberedThread {
    id: i64,
    last_seq: u64,
}

/// The records that have no entries of places yet, as far as their numbers and items go.
#[derive(Default)]
struct NewestSeqs {
    /// The last position with entries.
    placed: Position,
    /// The first and the last of these records in each thread that has any, by the thread's number in the file.
    threads: FastMap<i64, (u64, u64)>,
    items: FastSet<(i64, CallPath, u32, u32)>,
}

impl KnownRows {
    /// Nothing but the last position.
    pub(super) fn new_at(last: Position) -> KnownRows {
        KnownRows {
            last,
            newest: None,
            words: RecentMap::new(KNOWN_WORDS),
            configs: RecentMap::new(KNOWN_CONFIGS),
            threads: RecentMap::new(KNOWN_THREADS),
        }
    }

    /// After a batch that was not committed: the numbers that it assigned are not valid.
    pub(super) fn forget_all(&mut self) {
        self.words.clear();
        self.configs.clear();
        self.threads.clear();
        self.newest = None;
    }

    /// Reads what it must know of the records without entries, if it has forgotten that.
    pub(super) fn remember_all(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if self.newest.is_none() {
            self.newest = Some(NewestSeqs::read_newest(connection)?);
        }
        Ok(())
    }

    /// Takes the next record of a thread. Returns the thread's number, or the rule that the record would break.
    pub(super) fn check_header(
        &mut self,
        connection: &Connection,
        header: &Header,
    ) -> rusqlite::Result<Result<i64, BatchRule>> {
        let NumberedThread { id, last_seq } = self.find_numbered(connection, &header.thread)?;
        if header.seq != last_seq + 1 {
            return Ok(Err(BatchRule::Sequence { last: last_seq }));
        }
        self.threads.insert(header.thread.clone(), NumberedThread { id, last_seq: header.seq });
        let is_new = match &mut self.newest {
            Some(newest) => newest.check_header(connection, id, header)?,
            None => false,
        };
        Ok(if is_new { Ok(id) } else { Err(BatchRule::Item) })
    }

    /// Writes the entries of places for the newest records, if there are enough of them.
    pub(super) fn place_threads(&mut self, connection: &Connection, last: Position) -> rusqlite::Result<()> {
        if let Some(newest) =
            self.newest.as_mut().filter(|newest| last.0.saturating_sub(newest.placed.0) >= RUN_RECORDS)
        {
            places::place_records(connection, newest.placed, last)?;
            newest.threads.clear();
            newest.items.clear();
            newest.placed = last;
        }
        Ok(())
    }

    pub(super) fn number_word(&mut self, connection: &Connection, text: &str) -> rusqlite::Result<i64> {
        if let Some(id) = self.words.get(text) {
            return Ok(*id);
        }
        let found = connection
            .prepare_cached("SELECT id FROM word WHERE text = ?1")?
            .query_row([text], |row| row.get(0))
            .optional()?;
        let id = match found {
            Some(id) => id,
            None => connection.prepare_cached("INSERT INTO word (text) VALUES (?1)")?.insert([text])?,
        };
        self.words.insert(text.into(), id);
        Ok(id)
    }

    pub(super) fn number_config(&mut self, connection: &Connection, hash: Digest) -> rusqlite::Result<i64> {
        if let Some(id) = self.configs.get(&hash) {
            return Ok(*id);
        }
        let found = connection
            .prepare_cached("SELECT id FROM config WHERE hash = ?1")?
            .query_row([hash.0], |row| row.get(0))
            .optional()?;
        let id = match found {
            Some(id) => id,
            None => connection.prepare_cached("INSERT INTO config (hash) VALUES (?1)")?.insert([hash.0])?,
        };
        self.configs.insert(hash, id);
        Ok(id)
    }

    /// The number of a thread in the file; a new thread gets one.
    pub(super) fn number_thread(
        &mut self,
        connection: &Connection,
        thread: &ThreadId,
    ) -> rusqlite::Result<i64> {
        self.find_numbered(connection, thread).map(|numbered| numbered.id)
    }

    fn find_numbered(
        &mut self,
        connection: &Connection,
        thread: &ThreadId,
    ) -> rusqlite::Result<NumberedThread> {
        if let Some(numbered) = self.threads.get(thread) {
            return Ok(*numbered);
        }
        let numbered = read_number(connection, self.newest.as_ref(), thread)?;
        self.threads.insert(thread.clone(), numbered);
        Ok(numbered)
    }
}

impl NewestSeqs {
    fn read_newest(connection: &Connection) -> rusqlite::Result<NewestSeqs> {
        places::heal_places(connection, false)?;
        let mut newest = NewestSeqs {
            placed: places::read_placed(connection)?.unwrap_or_default(),
            ..NewestSeqs::default()
        };
        let mut find = connection.prepare_cached(
            "SELECT thread, seq, call, turn, ordinal FROM record WHERE pos > ?1 ORDER BY pos",
        )?;
        let mut found = find.query([i64::try_from(newest.placed.0).unwrap_or(i64::MAX)])?;
        while let Some(row) = found.next()? {
            let (thread, seq): (_, i64) = (row.get(0)?, row.get(1)?);
            newest.count_record(thread, seq.unsigned_abs());
            // Opening has verified these records, so a call that cannot be read is in none of them.
            let call = row.get_ref(2)?.as_str_or_null()?.and_then(|call| CallPath::parse(call).ok());
            if let (Some(call), Some(turn), Some(ordinal)) = (call, row.get(3)?, row.get(4)?) {
                newest.items.insert((thread, call, turn, ordinal));
            }
        }
        Ok(newest)
    }

    fn count_record(&mut self, thread: i64, seq: u64) {
        self.threads.entry(thread).or_insert((seq, seq)).1 = seq;
    }

    /// Takes the next record of a thread; returns whether no other record has its item.
    fn check_header(
        &mut self,
        connection: &Connection,
        thread: i64,
        header: &Header,
    ) -> rusqlite::Result<bool> {
        self.count_record(thread, header.seq);
        let (Some(call), Some(turn), Some(ordinal)) = (&header.call, header.turn, header.ordinal) else {
            return Ok(true);
        };
        if !self.items.insert((thread, call.clone(), turn, ordinal)) {
            return Ok(false);
        }
        // A thread that began with these records has no entries.
        let has_entries = self.threads.get(&thread).is_none_or(|(first, _)| *first > 1);
        Ok(!(has_entries && places::has_item(connection, thread, (call.as_str(), turn, ordinal))?))
    }
}

/// The thread's numbers in the file; a new thread gets one.
fn read_number(
    connection: &Connection,
    newest: Option<&NewestSeqs>,
    thread: &ThreadId,
) -> rusqlite::Result<NumberedThread> {
    let text = thread.as_str();
    let found = connection
        .prepare_cached("SELECT id FROM thread WHERE text = ?1")?
        .query_row([text], |row| row.get(0))
        .optional()?;
    let Some(id) = found else {
        let id = connection.prepare_cached("INSERT INTO thread (text) VALUES (?1)")?.insert([text])?;
        return Ok(NumberedThread { id, last_seq: 0 });
    };
    let last_seq = match newest.and_then(|newest| newest.threads.get(&id)) {
        Some((_, last)) => *last,
        None => places::last_seq(connection, id)?,
    };
    Ok(NumberedThread { id, last_seq })
}
