//! The changes of one commit of an index. Rows that many records change are kept in memory and written once.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::fault::{IndexFault, to_signed};
use super::rows::{HourKey, HourSum, ModelSum, OpenCall, OpenRequest, RequestKey, RootRow, SlowRow};
use crate::limits::SLOWEST;

/// The changes of one commit.
pub struct IndexBatch<'c> {
    connection: &'c Connection,
    roots: HashMap<String, RootRow>,
    sums: BTreeMap<HourKey, HourSum>,
    refusals: BTreeMap<String, u64>,
    /// By their sums, without the outcome.
    slow: BTreeMap<HourKey, Vec<SlowRow>>,
}

impl<'c> IndexBatch<'c> {
    pub(super) fn new(connection: &'c Connection) -> IndexBatch<'c> {
        IndexBatch {
            connection,
            roots: HashMap::new(),
            sums: BTreeMap::new(),
            refusals: BTreeMap::new(),
            slow: BTreeMap::new(),
        }
    }

    /// The row of a root; `None` if there is none.
    pub fn find_root(&mut self, thread: &str) -> Result<Option<&mut RootRow>, IndexFault> {
        if !self.roots.contains_key(thread) {
            let sql = format!("SELECT {} FROM root WHERE thread = ?1", RootRow::COLUMNS);
            let mut find = self.connection.prepare_cached(&sql)?;
            let Some(row) = find.query_row([thread], RootRow::read).optional()? else { return Ok(None) };
            self.roots.insert(thread.to_owned(), row);
        }
        Ok(self.roots.get_mut(thread))
    }

    /// Adds a root.
    pub fn add_root(&mut self, row: RootRow) {
        self.roots.insert(row.thread.clone(), row);
    }

    /// Opens a call.
    pub fn open_call(&mut self, thread: &str, path: &str, call: &OpenCall) -> Result<(), IndexFault> {
        let sql = "INSERT OR REPLACE INTO call (thread, path, listener, opened, is_tell) \
            VALUES (?1, ?2, ?3, ?4, ?5)";
        let mut insert = self.connection.prepare_cached(sql)?;
        insert.execute(params![thread, path, call.listener, to_signed(call.opened), call.is_tell])?;
        Ok(())
    }

    /// Closes a call and drops the calls below it; `None` if it is not open.
    pub fn close_call(&mut self, thread: &str, path: &str) -> Result<Option<OpenCall>, IndexFault> {
        let sql = "DELETE FROM call WHERE thread = ?1 AND path = ?2 RETURNING listener, opened, is_tell";
        let mut close = self.connection.prepare_cached(sql)?;
        let closed = close.query_row([thread, path], read_call).optional()?;
        // In the order of texts, `0` follows `/`.
        let sql = "DELETE FROM call WHERE thread = ?1 AND path > ?2 || '/' AND path < ?2 || '0'";
        self.connection.prepare_cached(sql)?.execute([thread, path])?;
        Ok(closed)
    }

    /// Closes all calls of a thread, and returns them with their paths.
    pub fn close_calls(&mut self, thread: &str) -> Result<Vec<(String, OpenCall)>, IndexFault> {
        let sql = "DELETE FROM call WHERE thread = ?1 RETURNING listener, opened, is_tell, path";
        let mut close = self.connection.prepare_cached(sql)?;
        let closed = close.query_map([thread], |row| Ok((row.get(3)?, read_call(row)?)))?;
        Ok(closed.collect::<Result<_, _>>()?)
    }

    /// Begins a request to a model.
    pub fn open_request(&mut self, key: &RequestKey, request: &OpenRequest) -> Result<(), IndexFault> {
        let sql = "INSERT OR REPLACE INTO request (thread, path, turn, attempt, entry, listener, model, started) \
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let (entry, started) = (to_signed(key.entry), to_signed(request.started));
        self.connection.prepare_cached(sql)?.execute(params![
            key.thread,
            key.path,
            key.turn,
            key.attempt,
            entry,
            request.listener,
            request.model,
            started
        ])?;
        Ok(())
    }

    /// Ends a request to a model; `None` if it had not begun.
    pub fn close_request(&mut self, key: &RequestKey) -> Result<Option<OpenRequest>, IndexFault> {
        let sql = "DELETE FROM request WHERE thread = ?1 AND path = ?2 AND turn = ?3 AND attempt = ?4 \
            AND entry = ?5 RETURNING listener, model, started";
        let mut close = self.connection.prepare_cached(sql)?;
        let key = params![key.thread, key.path, key.turn, key.attempt, to_signed(key.entry)];
        let read = |row: &Row<'_>| {
            let started = row.get::<_, i64>(2)?.unsigned_abs();
            Ok(OpenRequest { listener: row.get(0)?, model: row.get(1)?, started })
        };
        Ok(close.query_row(key, read).optional()?)
    }

    /// Adds to the sums of an hour.
    pub fn add_sum(&mut self, key: HourKey, sum: &HourSum) {
        self.sums.entry(key).or_default().add(sum);
    }

    /// Counts refusals with a code.
    pub fn add_refusals(&mut self, code: &str, count: u64) {
        *self.refusals.entry(code.to_owned()).or_default() += count;
    }

    /// Takes a call, or a request to a model, among the slowest of its hour if it is one of them.
    pub fn add_slow(&mut self, row: SlowRow) {
        let group = HourKey { outcome: String::new(), ..row.key.clone() };
        let rows = self.slow.entry(group).or_default();
        rows.push(row);
        rows.sort_by(|a, b| (b.took, a.position, &a.call).cmp(&(a.took, b.position, &b.call)));
        rows.truncate(SLOWEST);
    }

    pub(super) fn write_rows(self) -> Result<(), IndexFault> {
        self.write_roots()?;
        self.write_sums()?;
        self.write_refusals()?;
        self.write_slow()
    }

    fn write_roots(&self) -> Result<(), IndexFault> {
        let sql = format!(
            "INSERT OR REPLACE INTO root ({}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, \
             ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25)",
            RootRow::COLUMNS
        );
        let mut insert = self.connection.prepare_cached(&sql)?;
        let mut rows: Vec<&RootRow> = self.roots.values().collect();
        rows.sort_by_key(|row| row.position);
        for row in rows {
            insert.execute(params![
                to_signed(row.position),
                row.thread,
                row.client,
                row.entry,
                row.element,
                row.subject,
                to_signed(row.opened),
                to_signed(row.since),
                row.outcome,
                row.code,
                row.first_code,
                row.is_ended,
                row.is_paused,
                to_signed(row.took),
                row.requests,
                row.unknown,
                row.used.tokens_in,
                row.used.tokens_out,
                row.used.uncounted,
                row.used.unpriced,
                row.used.write_money(),
                row.used.sum_money(),
                row.retries,
                row.source,
                row.name,
            ])?;
        }
        Ok(())
    }

    fn write_sums(&self) -> Result<(), IndexFault> {
        let place = "hour = ?1 AND listener = ?2 AND model = ?3 AND client = ?4 AND outcome = ?5";
        let find = format!(
            "SELECT count, took, longest, tokens_in, tokens_out, uncounted, unpriced, money FROM sum WHERE {place}"
        );
        let remove = format!("DELETE FROM sum WHERE {place}");
        let insert =
            "INSERT OR REPLACE INTO sum VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
        for (key, added) in &self.sums {
            let hour = to_signed(key.hour);
            let place = params![hour, key.listener, key.model, key.client, key.outcome];
            let read = |row: &Row<'_>| {
                let used = ModelSum::read(row, 3)?;
                Ok(HourSum { count: row.get(0)?, took: row.get(1)?, longest: row.get(2)?, used })
            };
            let mut find = self.connection.prepare_cached(&find)?;
            let mut sum = find.query_row(place, read).optional()?.unwrap_or_default();
            sum.add(added);
            // A row that counts nothing is not there if the index is made at once.
            if sum.count == 0 {
                self.connection.prepare_cached(&remove)?.execute(place)?;
                continue;
            }
            let used = &sum.used;
            self.connection.prepare_cached(insert)?.execute(params![
                hour,
                key.listener,
                key.model,
                key.client,
                key.outcome,
                sum.count,
                sum.took,
                sum.longest,
                used.tokens_in,
                used.tokens_out,
                used.uncounted,
                used.unpriced,
                used.write_money(),
            ])?;
        }
        Ok(())
    }

    fn write_refusals(&self) -> Result<(), IndexFault> {
        let add = "INSERT INTO refusal (code, count) VALUES (?1, ?2) \
                   ON CONFLICT (code) DO UPDATE SET count = count + excluded.count";
        for (code, count) in &self.refusals {
            self.connection.prepare_cached(add)?.execute(params![code, to_signed(*count)])?;
        }
        Ok(())
    }

    fn write_slow(&self) -> Result<(), IndexFault> {
        let insert = "INSERT OR REPLACE INTO slow VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        let keep = "DELETE FROM slow WHERE hour = ?1 AND listener = ?2 AND model = ?3 AND client = ?4 \
            AND (took, position, call) IN (SELECT took, position, call FROM slow WHERE hour = ?1 AND listener = ?2 \
            AND model = ?3 AND client = ?4 ORDER BY took DESC, position, call LIMIT -1 OFFSET ?5)";
        for (group, rows) in &self.slow {
            let hour = to_signed(group.hour);
            for row in rows {
                self.connection.prepare_cached(insert)?.execute(params![
                    hour,
                    group.listener,
                    group.model,
                    group.client,
                    to_signed(row.took),
                    to_signed(row.position),
                    row.thread,
                    to_signed(row.seq),
                    row.call,
                    row.key.outcome,
                ])?;
            }
            let most = to_signed(SLOWEST as u64);
            let place = params![hour, group.listener, group.model, group.client, most];
            self.connection.prepare_cached(keep)?.execute(place)?;
        }
        Ok(())
    }
}

fn read_call(row: &Row<'_>) -> rusqlite::Result<OpenCall> {
    Ok(OpenCall { listener: row.get(0)?, opened: row.get::<_, i64>(1)?.unsigned_abs(), is_tell: row.get(2)? })
}
