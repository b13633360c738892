//! Random changes to logs, judged by the product and by programs in Python that share no code with it. They
//! have to agree about each: it is found, or only a checkpoint shows it, or it changed nothing that is evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rusqlite::Connection;
use rusqlite::types::Value as SqlValue;
use serde_json::Value;
use systole_core::types::ids::Digest;
use systole_export::verdict::GatheredLog;
use systole_organism::prompt_view::READING;
use systole_soak::dice::SeededDice;

use crate::export::erase;
use crate::log_evidence::{drop_thread, house, number, place_again, rewrite, sensitive_house, thread};
use crate::program::systole;

/// Changes to a log, unless `SYSTOLE_CASES` sets their number.
const LOGS: u32 = 300;
/// Tables that hold evidence. What the others hold is made again from them.
const EVIDENCE: [&str; 7] = ["record", "thread", "word", "config", "document", "large", "part"];

pub(crate) fn cases(usual: u32) -> u32 {
    std::env::var("SYSTOLE_CASES").ok().map_or(usual, |cases| cases.parse().unwrap())
}

/// A program in Python that judges one path after another.
pub(crate) struct Judge {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Judge {
    pub(crate) fn start(arguments: &[&str]) -> Judge {
        let mut command = Command::new("python3");
        command
            .args(arguments)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Judge { child, stdin, stdout }
    }

    pub(crate) fn judge(&mut self, path: &Path) -> Value {
        writeln!(self.stdin, "{}", path.display()).unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _waited = self.child.wait();
    }
}

/// The root of a log, or nothing if it is damaged, as the product and as Python see it.
fn both(judge: &mut Judge, log: &Path) -> [Result<String, String>; 2] {
    let product = GatheredLog::verify_log(log, &BTreeSet::new(), &[], READING);
    let product =
        product.map(|(_, gathered)| Digest(gathered.root).to_string()).map_err(|fault| fault.to_string());
    let found = judge.judge(log);
    let text = |name: &str| found[name].as_str().unwrap().to_owned();
    let python = if found["ok"] == true { Ok(text("root")) } else { Err(text("why")) };
    [product, python]
}

/// The tables of a log with their columns.
fn columns(log: &Connection) -> BTreeMap<String, Vec<String>> {
    let tables =
        "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'";
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut statement = log.prepare(tables).unwrap();
    let rows =
        statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).unwrap();
    rows.map(Result::unwrap).for_each(|(table, column)| found.entry(table).or_default().push(column));
    found
}

/// Another value in the place of this one.
fn other(value: SqlValue, dice: &mut SeededDice) -> SqlValue {
    match value {
        SqlValue::Null => SqlValue::Integer(1),
        SqlValue::Integer(number) => match dice.below(4) {
            0 => SqlValue::Integer(number.wrapping_add(1)),
            1 => SqlValue::Integer(-number),
            2 => SqlValue::Integer(1 << dice.below(63)),
            _ => SqlValue::Null,
        },
        SqlValue::Text(text) => match dice.below(3) {
            0 => SqlValue::Text(text + "x"),
            1 => SqlValue::Text(text.chars().skip(1).collect()),
            _ => SqlValue::Null,
        },
        SqlValue::Blob(mut bytes) => {
            match dice.below(4) {
                0 => bytes.push(0),
                1 => drop(bytes.pop()),
                _ if bytes.is_empty() => bytes.push(b'x'),
                _ => {
                    let at = usize::try_from(dice.below(bytes.len() as u64)).unwrap();
                    bytes[at] ^= 1 << dice.below(8);
                }
            }
            SqlValue::Blob(bytes)
        }
        SqlValue::Real(_) => SqlValue::Null,
    }
}

/// A change that was made.
struct MadeChange {
    /// What kind of change.
    class: String,
    /// What exactly.
    what: String,
    /// Whether it is in a table with evidence.
    is_evidence: bool,
}

/// Changes something in a log, and says what; `None` if SQLite refused it.
fn change(path: &Path, dice: &mut SeededDice) -> Option<MadeChange> {
    let log = Connection::open(path).unwrap();
    log.execute_batch(
        "PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON",
    )
    .unwrap();
    let tables = columns(&log);
    let all: Vec<&String> = tables.keys().collect();
    let names: Vec<&str> = match dice.below(8) {
        0 => all.iter().map(|name| name.as_str()).filter(|name| !EVIDENCE.contains(name)).collect(),
        // Most of the evidence is in one table.
        1..=4 => vec!["record"],
        _ => EVIDENCE.to_vec(),
    };
    let pick = |dice: &mut SeededDice, count: usize| usize::try_from(dice.below(count as u64)).unwrap();
    let table = names[pick(dice, names.len())];
    let is_evidence = EVIDENCE.contains(&table);
    let rows: i64 = log.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
    if rows == 0 {
        return None;
    }
    let offset = dice.below(rows.unsigned_abs());
    // One number for each row.
    let key = if table == "part" { "(pos * 10000 + number)" } else { "rowid" };
    let row: i64 = log
        .query_row(&format!("SELECT {key} FROM {table} LIMIT 1 OFFSET {offset}"), [], |row| row.get(0))
        .ok()?;
    let columns = &tables[table];
    let column = &columns[pick(dice, columns.len())];
    let read = |row: i64, column: &str| -> Option<SqlValue> {
        log.query_row(&format!("SELECT {column} FROM {table} WHERE {key} = {row}"), [], |row| row.get(0)).ok()
    };
    let set = |row: i64, value: SqlValue| {
        log.execute(&format!("UPDATE {table} SET {column} = ?1 WHERE {key} = ?2"), (value, row)).ok()
    };
    let (class, what) = match dice.below(6) {
        0 => {
            log.execute(&format!("DELETE FROM {table} WHERE {key} = {row}"), []).ok()?;
            (format!("{table}: a row deleted"), format!("row {row} of {table} deleted"))
        }
        1 => {
            // The same value in two rows, or two rows that change places.
            let offset = dice.below(rows.unsigned_abs());
            let sql = format!("SELECT {key} FROM {table} LIMIT 1 OFFSET {offset}");
            let second: i64 = log.query_row(&sql, [], |row| row.get(0)).ok()?;
            let (one, two) = (read(row, column)?, read(second, column)?);
            if one == two {
                return None;
            }
            set(row, two)?;
            let what = format!("{table}.{column} of row {row} is that of row {second}");
            (format!("{table}.{column}: from another row"), what)
        }
        // An empty log has nothing to say.
        2 if table == "record" && row > 1 => {
            log.execute("DELETE FROM record WHERE pos >= ?1", [row]).ok()?;
            log.execute("DELETE FROM large WHERE pos >= ?1", [row]).ok()?;
            log.execute("DELETE FROM part WHERE pos >= ?1", [row]).ok()?;
            // Caches and entries would give it away.
            log.execute_batch("DELETE FROM fold; UPDATE mark SET value = 0").ok()?;
            place_again(path.parent().unwrap());
            ("cut".to_owned(), format!("cut before {row}"))
        }
        _ => {
            let before = read(row, column)?;
            let after = other(before.clone(), dice);
            set(row, after.clone()).filter(|_| before != after)?;
            let what = format!("{table}.{column} of row {row}: {before:?} became {after:?}");
            (format!("{table}.{column}: another value"), what)
        }
    };
    Some(MadeChange { class, what, is_evidence })
}

/// What a random change was found to be.
#[derive(Default, Debug)]
struct Tally {
    seen: u32,
    found: u32,
    /// It fits together, and only a checkpoint shows it.
    needs_checkpoint: BTreeSet<String>,
    /// The records are the same: what was changed is named by none of them, or made again from them.
    same: BTreeSet<String>,
}

/// For each class of changes, how many of them were found, and how many were not, with the reason.
#[derive(Default)]
pub(crate) struct ClassTable(BTreeMap<String, BTreeMap<&'static str, u32>>);

impl ClassTable {
    pub(crate) fn count(&mut self, class: &str, result: &'static str) {
        *self.0.entry(class.to_owned()).or_default().entry(result).or_default() += 1;
    }

    pub(crate) fn print(&self) {
        let mut sums: BTreeMap<&str, u32> = BTreeMap::new();
        for (class, results) in &self.0 {
            println!("  {class}: {results:?}");
            results.iter().for_each(|(result, count)| *sums.entry(result).or_default() += count);
        }
        println!("  all: {sums:?}");
    }
}

/// A log without a write-ahead log, so that its file is all of it.
fn settle(path: &Path) {
    let log = Connection::open(path).unwrap();
    log.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    log.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).unwrap();
}

/// What was done, whether the log alone shows it, and how it is done.
type RebuiltLog<'a> = (&'a str, bool, Box<dyn Fn() + 'a>);

/// Changes a log again and again, and says what was found.
fn changed(log: &Path, judge: &mut Judge, count: u32, classes: &mut ClassTable) -> Tally {
    let whole = std::fs::read(log).unwrap();
    let [product, python] = both(judge, log);
    let root = product.unwrap();
    assert_eq!(python.unwrap(), root, "the log as it is");
    let (dice, mut tally) = (&mut SeededDice::new(22), Tally::default());
    while tally.seen < count {
        std::fs::write(log, &whole).unwrap();
        let Some(MadeChange { class, what, is_evidence }) = change(log, dice) else { continue };
        tally.seen += 1;
        let result = match both(judge, log) {
            [Err(_), Err(_)] => {
                tally.found += 1;
                "found"
            }
            // The product also compares the caches and the entries of positions with the records. So it may see that
            // the end is gone.
            [Err(why), Ok(_)]
                if why.contains("up to the checkpoint at position") || why.contains("the table place") =>
            {
                "found by a cache"
            }
            [Err(_), Ok(same)] if !is_evidence && same == root => "found, no evidence",
            [Ok(one), Ok(two)] if one == two && one == root => {
                tally.same.insert(what);
                "the same records"
            }
            [Ok(one), Ok(two)] if one == two => {
                tally.needs_checkpoint.insert(what);
                "only with a checkpoint"
            }
            verdicts => panic!("{what}: {verdicts:?}"),
        };
        classes.count(&class, result);
    }
    std::fs::write(log, &whole).unwrap();
    tally
}

#[tokio::test]
async fn c2_two_verifiers_without_common_code_agree_about_changed_logs() {
    let judge = &mut Judge::start(&["tests/verifier/systole_log.py", "--serve"]);
    let mut classes = ClassTable::default();
    // With bodies of several parts, and with a large one that is among the documents.
    for folder in [sensitive_house().await, house().await] {
        let log = folder.path().join("hello.db");
        settle(&log);
        let tally = changed(&log, judge, cases(LOGS) / 2, &mut classes);
        // Cutting the end leaves a shorter log that fits; nothing else does.
        let is_cut = |what: &String| what.starts_with("cut before") || what.contains("of record deleted");
        assert!(tally.needs_checkpoint.iter().all(is_cut), "{tally:#?}");
        // Words, threads and documents that no record names, and caches.
        let named = |what: &String| {
            ["record", "large", "part"].iter().any(|table| {
                what.starts_with(&format!("{table}.")) || what.contains(&format!("of {table} deleted"))
            })
        };
        assert!(!tally.same.iter().any(named), "{tally:#?}");
        assert!(tally.found * 2 > tally.seen, "{tally:#?}");
    }
    println!("{} changes of logs:", cases(LOGS));
    classes.print();
}

/// A thread that is written anew with all its hashes, and one that is gone: a child leaves its head in its parent.
#[tokio::test]
async fn c2_two_verifiers_agree_about_threads_that_were_written_anew_or_dropped() {
    let folder = sensitive_house().await;
    let at = folder.path();
    let log = at.join("hello.db");
    settle(&log);
    let whole = std::fs::read(&log).unwrap();
    let judge = &mut Judge::start(&["tests/verifier/systole_log.py", "--serve"]);
    let root = both(judge, &log)[0].clone().unwrap();
    let (parent, child) = (
        thread(at, "SELECT text FROM thread WHERE text LIKE 'sess-%' ORDER BY id"),
        thread(at, "SELECT text FROM thread WHERE text LIKE 'sess-%.heat'"),
    );
    let rebuilt: [RebuiltLog; 4] = [
        ("a root written anew", false, Box::new(|| rewrite(at, &parent, 2, "<other/>"))),
        ("a child written anew", true, Box::new(|| rewrite(at, &child, 1, "<dig xmlns=\"urn:t\">x</dig>"))),
        ("a child dropped", true, Box::new(|| drop_thread(at, child.as_str()))),
        (
            "the last root dropped",
            false,
            Box::new(|| {
                let last = "SELECT text FROM thread WHERE text LIKE 'sess-%' AND text NOT LIKE '%.%' ORDER BY id DESC";
                drop_thread(at, thread(at, last).as_str());
            }),
        ),
    ];
    for (what, is_found, rebuild) in rebuilt {
        std::fs::write(&log, &whole).unwrap();
        rebuild();
        match both(judge, &log) {
            [Err(_), Err(_)] => assert!(is_found, "{what}"),
            [Ok(one), Ok(two)] => assert!(!is_found && one == two && one != root, "{what}"),
            verdicts => panic!("{what}: {verdicts:?}"),
        }
    }
}

/// Every row that says where a sensitive value is and what its salt is, changed in every column.
#[tokio::test]
async fn c2_a_change_to_a_row_of_a_sensitive_value_is_found() {
    let folder = sensitive_house().await;
    let at = folder.path();
    let log = at.join("hello.db");
    settle(&log);
    let judge = &mut Judge::start(&["tests/verifier/systole_log.py", "--serve"]);
    let [product, python] = both(judge, &log);
    let root = product.unwrap();
    assert_eq!(python.unwrap(), root);
    let kept = std::fs::read(&log).unwrap();
    // A value that is gone has another seal. No hash shows it, but it has to be on record.
    let pos = erase(at).0;
    settle(&log);
    assert!(both(judge, &log).iter().all(Result::is_err), "no record says that it was erased");
    std::fs::write(&log, &kept).unwrap();
    assert_eq!(systole(at, &["erase", &pos.to_string()]).code, Some(0));
    settle(&log);
    let [product, python] = both(judge, &log);
    assert_eq!(product.unwrap(), python.unwrap());
    let erased = std::fs::read(&log).unwrap();
    let rows = number(at, "SELECT count(*) FROM part");
    assert!(rows >= 2, "{rows}");
    let changes = [
        "DELETE FROM part WHERE {row}",
        "UPDATE part SET pos = pos + 1 WHERE {row}",
        "UPDATE part SET pos = (SELECT max(pos) FROM record) + 1 WHERE {row}",
        "UPDATE part SET pos = 1 WHERE {row}",
        "UPDATE part SET number = number + 1 WHERE {row}",
        "UPDATE part SET number = 0 WHERE {row}",
        "UPDATE part SET number = -1 WHERE {row}",
        "UPDATE part SET at = at + 1 WHERE {row}",
        "UPDATE part SET at = at - 1 WHERE {row}",
        "UPDATE part SET at = 0 WHERE {row}",
        "UPDATE part SET at = -1 WHERE {row}",
        "UPDATE part SET length = length + 1 WHERE {row}",
        "UPDATE part SET length = length - 1 WHERE {row}",
        "UPDATE part SET length = 0 WHERE {row}",
        "UPDATE part SET length = 4294967296 WHERE {row}",
        "UPDATE part SET seal = zeroblob(16) WHERE {row}",
        "UPDATE part SET seal = zeroblob(32) WHERE {row}",
        "UPDATE part SET seal = zeroblob(0) WHERE {row}",
        "UPDATE part SET seal = CAST(substr(seal, 2) AS BLOB) WHERE {row}",
        "UPDATE part SET seal = (SELECT salt FROM record WHERE pos = part.pos) WHERE {row}",
        "UPDATE record SET body = CAST(replace(CAST(body AS TEXT), '***', '**x') AS BLOB) WHERE {row}",
        "INSERT INTO part SELECT pos, number + 1, at + length + 1, 1, seal FROM part WHERE {row}",
    ];
    let mut seen = 0;
    for whole in [&kept, &erased] {
        for row in 0..rows {
            let row = format!("pos = (SELECT pos FROM part ORDER BY pos, number LIMIT 1 OFFSET {row})");
            for change in changes {
                std::fs::write(&log, whole).unwrap();
                let connection = Connection::open(&log).unwrap();
                connection
                    .execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
                    .unwrap();
                let changed = connection.execute(&change.replace("{row}", &row), []).unwrap_or(0);
                connection.close().unwrap();
                // A body without signs is not changed.
                if changed == 0 || *whole == std::fs::read(&log).unwrap() {
                    continue;
                }
                match both(judge, &log) {
                    [Err(_), Err(_)] => seen += 1,
                    [Ok(one), Ok(two)] if change.contains("'***'") && one == two => {}
                    verdicts => panic!("{change} for {row}: {verdicts:?}"),
                }
            }
        }
    }
    assert!(seen >= 40, "{seen}");
}
