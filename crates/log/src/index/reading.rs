//! What is read from an index: roots in an order, sums, and the slowest.

use std::collections::BTreeMap;

use rusqlite::types::Value;
use rusqlite::{OptionalExtension as _, Row, params_from_iter};

use super::IndexFile;
use super::fault::{IndexFault, to_signed};
use super::rows::{
    CallTotal, HourKey, HourSum, ModelSum, RootCount, RootRow, RootSelection, SlowRow, SumSelection,
};

/// The conditions of a question, and the values in them.
#[derive(Default)]
struct Conditions {
    words: Vec<String>,
    values: Vec<Value>,
}

impl Conditions {
    /// Adds a condition, in which `?` is the value.
    fn add(&mut self, words: &str, value: Option<impl Into<Value>>) {
        let Some(value) = value else { return };
        self.values.push(value.into());
        self.words.push(words.replace('?', &format!("?{}", self.values.len())));
    }

    fn write_where(&self) -> String {
        match self.words.as_slice() {
            [] => String::new(),
            words => format!("WHERE {}", words.join(" AND ")),
        }
    }
}

impl SumSelection {
    fn write_conditions(&self) -> Conditions {
        let mut conditions = Conditions::default();
        conditions.add("hour >= ?", self.since.map(to_signed));
        conditions.add("hour < ?", self.until.map(to_signed));
        conditions.add("client = ?", self.client.clone());
        conditions.add("listener = ?", self.listener.clone());
        conditions.add("(model <> '') = ?", Some(i64::from(self.of_models)));
        conditions.add("model = ?", self.model.clone());
        conditions
    }
}

impl IndexFile {
    /// Passes on the roots of a selection, in its order, until `take` has enough.
    pub fn visit_roots(
        &self,
        wanted: &RootSelection,
        take: &mut dyn FnMut(RootRow) -> bool,
    ) -> Result<(), IndexFault> {
        let column = wanted.order.column();
        let mut conditions = Conditions::default();
        conditions.add("outcome = ?", wanted.outcome.map(str::to_owned));
        conditions.add("is_paused = ?", wanted.is_paused.map(i64::from));
        conditions.add("is_ended = ?", wanted.is_ended.map(i64::from));
        conditions.add("(name <> '' AND substr(name, 1, length(?)) = ?)", wanted.name.clone());
        conditions.add("client = ?", wanted.client.clone());
        if let Some((entry, others)) = &wanted.entry {
            let others =
                format!("[{}]", others.iter().map(|id| format!("\"{id}\"")).collect::<Vec<_>>().join(","));
            conditions.values.extend([Value::from(entry.clone()), Value::from(others)]);
            let last = conditions.values.len();
            let words =
                format!("(entry = ?{} OR thread IN (SELECT value FROM json_each(?{last})))", last - 1);
            conditions.words.push(words);
        }
        conditions.add("(code = ? OR first_code = ?)", wanted.code.clone());
        conditions.add("since >= ?", wanted.since.map(to_signed));
        conditions.add("since < ?", wanted.until.map(to_signed));
        if let Some((value, position)) = wanted.after {
            conditions.values.extend([Value::from(value), Value::from(to_signed(position))]);
            let last = conditions.values.len();
            conditions.words.push(format!("({column}, position) < (?{}, ?{last})", last - 1));
        }
        let sql = format!(
            "SELECT {} FROM root {} ORDER BY {column} DESC, position DESC",
            RootRow::COLUMNS,
            conditions.write_where()
        );
        let mut find = self.connection.prepare_cached(&sql)?;
        let mut rows = find.query(params_from_iter(conditions.values))?;
        while let Some(row) = rows.next()? {
            if !take(RootRow::read(row)?) {
                break;
            }
        }
        Ok(())
    }

    /// The row of a root; `None` if there is none.
    pub fn find_root(&self, thread: &str) -> Result<Option<RootRow>, IndexFault> {
        let sql = format!("SELECT {} FROM root WHERE thread = ?1", RootRow::COLUMNS);
        Ok(self.connection.prepare_cached(&sql)?.query_row([thread], RootRow::read).optional()?)
    }

    /// The roots that say they have the request of that root anew, the oldest first.
    pub fn list_sent_anew(&self, source: &str) -> Result<Vec<String>, IndexFault> {
        let sql = "SELECT thread FROM root WHERE source = ?1 AND source <> '' ORDER BY position";
        let mut find = self.connection.prepare_cached(sql)?;
        let rows = find.query_map([source], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// How many roots there are of each kind.
    pub fn count_roots(&self) -> Result<Vec<RootCount>, IndexFault> {
        let sql =
            "SELECT outcome, is_paused, is_ended, count(*) FROM root GROUP BY outcome, is_paused, is_ended";
        let mut find = self.connection.prepare_cached(sql)?;
        let read = |row: &Row<'_>| {
            let count = row.get::<_, i64>(3)?.unsigned_abs();
            Ok(RootCount { outcome: row.get(0)?, is_paused: row.get(1)?, is_ended: row.get(2)?, count })
        };
        let rows = find.query_map([], read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The calls of each listener and its requests to each model, by outcome.
    pub fn list_totals(&self) -> Result<Vec<CallTotal>, IndexFault> {
        let sql = "SELECT listener, model, outcome, count, took, tokens_in, tokens_out FROM sum";
        let mut find = self.connection.prepare_cached(sql)?;
        let mut rows = find.query([])?;
        let mut totals = BTreeMap::<(String, String, String), [u64; 4]>::new();
        while let Some(row) = rows.next()? {
            let sums = totals.entry((row.get(0)?, row.get(1)?, row.get(2)?)).or_default();
            for (sum, column) in sums.iter_mut().zip(3..) {
                *sum = sum.saturating_add(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0));
            }
        }
        let total = |((listener, model, outcome), sums): ((String, String, String), [u64; 4])| {
            let [count, took, tokens_in, tokens_out] = sums;
            CallTotal { listener, model, outcome, count, took, tokens_in, tokens_out }
        };
        Ok(totals.into_iter().map(total).collect())
    }

    /// What the requests to each model cost, in millionths by currency.
    pub fn sum_money(&self) -> Result<BTreeMap<(String, String), i64>, IndexFault> {
        let sql =
            "SELECT model, tokens_in, tokens_out, uncounted, unpriced, money FROM sum WHERE money <> ''";
        let mut find = self.connection.prepare_cached(sql)?;
        let mut rows = find.query([])?;
        let mut spent = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let model: String = row.get(0)?;
            for (currency, micros) in ModelSum::read(row, 1)?.money {
                let sum: &mut i64 = spent.entry((model.clone(), currency)).or_default();
                *sum = sum.saturating_add(micros);
            }
        }
        Ok(spent)
    }

    /// How many refusals there were with each code.
    pub fn list_refusals(&self) -> Result<Vec<(String, u64)>, IndexFault> {
        let mut find = self.connection.prepare_cached("SELECT code, count FROM refusal")?;
        let rows = find.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The sums of a selection, each with its place.
    pub fn list_sums(&self, wanted: &SumSelection) -> Result<Vec<(HourKey, HourSum)>, IndexFault> {
        let conditions = wanted.write_conditions();
        let sql = format!(
            "SELECT hour, listener, model, client, outcome, count, took, longest, tokens_in, tokens_out, \
             uncounted, unpriced, money FROM sum {}",
            conditions.write_where()
        );
        let mut find = self.connection.prepare_cached(&sql)?;
        let read = |row: &Row<'_>| {
            let sum = HourSum {
                count: row.get(5)?,
                took: row.get(6)?,
                longest: row.get(7)?,
                used: ModelSum::read(row, 8)?,
            };
            Ok((read_key(row, row.get(4)?)?, sum))
        };
        let rows = find.query_map(params_from_iter(conditions.values), read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The slowest of a selection, at most that many.
    pub fn list_slowest(&self, wanted: &SumSelection, most: usize) -> Result<Vec<SlowRow>, IndexFault> {
        let mut conditions = wanted.write_conditions();
        let place = conditions.write_where();
        conditions.values.push(Value::from(to_signed(most as u64)));
        let sql = format!(
            "SELECT hour, listener, model, client, outcome, took, position, thread, seq, call FROM slow {place} \
             ORDER BY took DESC, position, call LIMIT ?{}",
            conditions.values.len()
        );
        let mut find = self.connection.prepare_cached(&sql)?;
        let read = |row: &Row<'_>| {
            let number = |column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
            Ok(SlowRow {
                took: number(5)?,
                position: number(6)?,
                thread: row.get(7)?,
                seq: number(8)?,
                call: row.get(9)?,
                key: read_key(row, row.get(4)?)?,
            })
        };
        let rows = find.query_map(params_from_iter(conditions.values), read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn read_key(row: &Row<'_>, outcome: String) -> rusqlite::Result<HourKey> {
    Ok(HourKey {
        hour: row.get::<_, i64>(0)?.unsigned_abs(),
        listener: row.get(1)?,
        model: row.get(2)?,
        client: row.get(3)?,
        outcome,
    })
}
