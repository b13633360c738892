//! Compares the structure of a log file with its format: tables, indexes, triggers and views, and rows that no record
//! refers to. Hash chains prove only records. But a trigger can delete records, and a missing index lets a number be
//! used twice.
//!
//! A file goes in; its oddities come out, in words. Nothing is written, and nothing that the file defines is run.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;

use super::documents::list_unnamed;
use super::layout::{self, LogFileKind};
use super::log_file::{choose_manner, find_canonical, find_kind};
use super::make_fault;
use super::places::INDEXES_BEFORE;
use super::pool::connect_reading;
use systole_core::types::ports::LogFault;

/// What each format number added or changed. These objects may differ in a file with a lower number.
const CHANGED: [(u32, &[&str]); 5] = [
    (2, &["large", "line"]),
    (3, &["fold"]),
    (4, &["place", "item", "placed"]),
    (5, &["part"]),
    (6, &["piece"]),
];

/// Something that the format does not have, or has in another form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StructureOddity {
    /// What it is, with its name: `index record_key`.
    pub what: String,
    /// How it is odd.
    pub why: String,
    /// Whether the log is still reliable: something was added that changes nothing.
    pub is_harmless: bool,
}

/// An object of a database: its kind and name.
type ObjectName = (String, String);

/// Finds everything that is odd about a file.
pub fn list_oddities(path: &Path) -> Result<Vec<StructureOddity>, LogFault> {
    let path = find_canonical(path)?;
    let kind = find_kind(&path)?;
    let connection = connect_reading(&path, choose_manner(&path))?.connection;
    let as_fault = |e: rusqlite::Error| make_fault(&path, None, &e);
    let format = super::migrate::read_number(&connection).map_err(as_fault)?;
    let mut odd = compare_structures(
        &list_wanted(kind, format).map_err(as_fault)?,
        &list_objects(&connection).map_err(as_fault)?,
        format,
    );
    odd.extend(left_behind(&connection).map_err(as_fault)?);
    Ok(odd)
}

/// The objects that a new file has, and those that a file of that format still has.
fn list_wanted(kind: LogFileKind, format: u32) -> rusqlite::Result<BTreeMap<ObjectName, String>> {
    let fresh = Connection::open_in_memory()?;
    fresh.execute_batch(&layout::list_objects(kind))?;
    if format < 4 {
        fresh.execute_batch(INDEXES_BEFORE)?;
    }
    list_objects(&fresh)
}

fn compare_structures(
    wanted: &BTreeMap<ObjectName, String>,
    found: &BTreeMap<ObjectName, String>,
    format: u32,
) -> Vec<StructureOddity> {
    let later = |name: &str| CHANGED.iter().any(|(number, names)| *number > format && names.contains(&name));
    let odd = |(kind, name): &ObjectName, why: &str, is_harmless| StructureOddity {
        what: format!("{kind} {name}"),
        why: why.to_owned(),
        is_harmless,
    };
    let mut oddities = Vec::new();
    for (object, definition) in wanted.iter().filter(|((_, name), _)| !later(name)) {
        match found.get(object) {
            None => oddities.push(odd(object, "is missing", false)),
            Some(other) if other != definition => {
                oddities.push(odd(object, "is not defined as in the format", false));
            }
            Some(_) => {}
        }
    }
    for (object, definition) in found.iter().filter(|(object, _)| !wanted.contains_key(*object)) {
        // An object that only holds or orders its own rows changes nothing about the others.
        let is_harmless = object.0 != "trigger" && !definition.starts_with("CREATE UNIQUE");
        oddities.push(odd(object, "is not part of the format", is_harmless));
    }
    oddities
}

/// The objects of a database with their definitions. A table is defined by its columns, because its text differs once
/// a column was added.
fn list_objects(connection: &Connection) -> rusqlite::Result<BTreeMap<ObjectName, String>> {
    let sql = "SELECT type, name, coalesce(sql, '') FROM main.sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
    let mut found = BTreeMap::new();
    for row in rows {
        let (object, text): (ObjectName, String) = row?;
        let definition = match object.0.as_str() {
            "table" => list_columns(connection, &object.1)?,
            _ => text.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        found.insert(object, definition);
    }
    Ok(found)
}

fn list_columns(connection: &Connection, table: &str) -> rusqlite::Result<String> {
    let sql = "SELECT group_concat(name || ' ' || type || ' ' || \"notnull\" || ' ' || pk || ' ' || hidden, ', ') \
               FROM (SELECT * FROM pragma_table_xinfo(?1, 'main') ORDER BY cid)";
    let columns: Option<String> = connection.query_row(sql, [table], |row| row.get(0))?;
    let sql = "SELECT strict || ' ' || wr FROM pragma_table_list(?1) WHERE schema = 'main'";
    let options: String = connection.query_row(sql, [table], |row| row.get(0))?;
    Ok(format!("{}; {options}", columns.unwrap_or_default()))
}

/// Rows that were stored with records that are gone. Numbers are given without gaps, and only to things that a record
/// refers to.
fn left_behind(connection: &Connection) -> rusqlite::Result<Vec<StructureOddity>> {
    let mut odd = Vec::new();
    let mut add = |what: String, why: &str| {
        odd.push(StructureOddity { what, why: why.to_owned(), is_harmless: false });
    };
    let sql = "SELECT text FROM thread WHERE id NOT IN (SELECT thread FROM record) LIMIT ?1";
    let mut statement = connection.prepare(sql)?;
    for thread in statement.query_map([crate::limits::NAMED], |row| row.get::<_, String>(0))? {
        add(format!("thread {}", thread?), "has no record any more");
    }
    for table in ["thread", "word", "config"] {
        let sql = format!("SELECT coalesce(max(id), 0) - count(*) FROM {table}");
        let missing: i64 = connection.query_row(&sql, [], |row| row.get(0))?;
        if missing != 0 {
            add(format!("table {table}"), &format!("lacks rows that were written: {missing}"));
        }
    }
    let used = "SELECT kind FROM record UNION SELECT sender FROM record UNION SELECT addressee FROM record \
                WHERE addressee IS NOT NULL UNION SELECT code FROM record WHERE code IS NOT NULL";
    let unused = [
        ("word", format!("SELECT count(*) FROM word WHERE id NOT IN ({used})")),
        ("config", "SELECT count(*) FROM config WHERE id NOT IN (SELECT config FROM record)".to_owned()),
    ];
    if super::migrate::read_number(connection)? >= 5 {
        let sql = "SELECT count(*) FROM part WHERE pos NOT IN (SELECT pos FROM record)";
        let count: i64 = connection.query_row(sql, [], |row| row.get(0))?;
        if count != 0 {
            add("table part".to_owned(), &format!("has rows of records that are not there: {count}"));
        }
    }
    if super::migrate::read_number(connection)? >= 6 {
        let count = list_unnamed(connection)?.len();
        if count != 0 {
            add("table piece".to_owned(), &format!("has rows that no document names: {count}"));
        }
    }
    for (table, sql) in unused {
        let count: i64 = connection.query_row(&sql, [], |row| row.get(0))?;
        if count != 0 {
            add(format!("table {table}"), &format!("has rows that no record refers to any more: {count}"));
        }
    }
    Ok(odd)
}
