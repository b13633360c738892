//! Random changes to logs and exports, judged by the product and by programs in Python that share no code with it. They
//! have to agree about each: it is found, or only a checkpoint shows it, or it changed nothing that is evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rusqlite::Connection;
use rusqlite::types::Value as SqlValue;
use serde_json::{Value, json};
use systole::audit::export::statement::{self, ExportPredicate, FORM};
use systole::audit::verdict::GatheredLog;
use systole::edges::archive::ArchiveWriter;
use systole_core::types::ids::Digest;
use systole_soak::dice::SeededDice;

use crate::export::{done, keyed};
use crate::log_evidence::{drop_thread, number, place_again, rewrite, sensitive_house, thread};
use crate::program::systole;

/// Changes to a log and to an export, unless `SYSTOLE_CASES` sets both.
const LOGS: u32 = 300;
const EXPORTS: u32 = 100;
/// Tables that hold evidence. What the others hold is made again from them.
const EVIDENCE: [&str; 7] = ["record", "thread", "word", "config", "document", "large", "part"];

fn cases(usual: u32) -> u32 {
    std::env::var("SYSTOLE_CASES").ok().map_or(usual, |cases| cases.parse().unwrap())
}

/// A program in Python that judges one path after another.
struct Judge {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Judge {
    fn start(arguments: &[&str]) -> Judge {
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

    fn judge(&mut self, path: &Path) -> Value {
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
    let product = GatheredLog::of(log, &BTreeSet::new(), &[]);
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

/// Changes something in a log, and says what; `None` if SQLite refused it. Of a change to what is no evidence the
/// second value says so.
fn change(path: &Path, dice: &mut SeededDice) -> Option<(String, bool)> {
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
    let what = match dice.below(6) {
        0 => {
            log.execute(&format!("DELETE FROM {table} WHERE {key} = {row}"), []).ok()?;
            format!("row {row} of {table} deleted")
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
            format!("{table}.{column} of row {row} is that of row {second}")
        }
        // An empty log has nothing to say.
        2 if table == "record" && row > 1 => {
            log.execute("DELETE FROM record WHERE pos >= ?1", [row]).ok()?;
            log.execute("DELETE FROM large WHERE pos >= ?1", [row]).ok()?;
            log.execute("DELETE FROM part WHERE pos >= ?1", [row]).ok()?;
            // Caches and entries would give it away.
            log.execute_batch("DELETE FROM fold; UPDATE mark SET value = 0").ok()?;
            place_again(path.parent().unwrap());
            format!("cut before {row}")
        }
        _ => {
            let before = read(row, column)?;
            let after = other(before.clone(), dice);
            set(row, after.clone()).filter(|_| before != after)?;
            format!("{table}.{column} of row {row}: {before:?} became {after:?}")
        }
    };
    Some((what, is_evidence))
}

/// What a random change was found to be.
#[derive(Default, Debug)]
struct Tally {
    found: u32,
    /// It fits together, and only a checkpoint shows it.
    needs_checkpoint: BTreeSet<String>,
    /// The records are the same: what was changed is named by none of them, or made again from them.
    same: BTreeSet<String>,
    caches: u32,
}

/// A log without a write-ahead log, so that its file is all of it.
fn settle(path: &Path) {
    let log = Connection::open(path).unwrap();
    log.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    log.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).unwrap();
}

/// What was done, whether the log alone shows it, and how it is done.
type RebuiltLog<'a> = (&'a str, bool, Box<dyn Fn() + 'a>);

#[tokio::test]
async fn c2_two_verifiers_without_common_code_agree_about_changed_logs() {
    let folder = sensitive_house().await;
    let at = folder.path();
    let log = at.join("hello.db");
    settle(&log);
    let whole = std::fs::read(&log).unwrap();
    let judge = &mut Judge::start(&["tests/verifier/systole_log.py", "--serve"]);
    let [product, python] = both(judge, &log);
    let root = product.unwrap();
    assert_eq!(python.unwrap(), root, "the log as it is");
    let dice = &mut SeededDice::new(22);
    let (mut tally, mut seen) = (Tally::default(), 0);
    while seen < cases(LOGS) {
        std::fs::write(&log, &whole).unwrap();
        let Some((what, is_evidence)) = change(&log, dice) else { continue };
        seen += 1;
        match both(judge, &log) {
            [Err(_), Err(_)] => tally.found += 1,
            // The product also compares the caches and the entries of positions with the records. So it may see that
            // the end is gone.
            [Err(why), Ok(_)] if why.contains("up to the checkpoint at position") => tally.caches += 1,
            [Err(why), Ok(_)] if why.contains("the table place") => tally.caches += 1,
            [Err(_), Ok(same)] if !is_evidence && same == root => tally.caches += 1,
            [Ok(one), Ok(two)] if one == two && one == root => drop(tally.same.insert(what)),
            [Ok(one), Ok(two)] if one == two => drop(tally.needs_checkpoint.insert(what)),
            verdicts => panic!("{what}: {verdicts:?}"),
        }
    }
    println!("{seen} changes: {tally:#?}");
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
    assert!(tally.found * 2 > seen, "{tally:#?}");

    // A thread that is written anew with all its hashes, and one that is gone: a child leaves its head in its parent.
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

/// Runs the verifier of an export for each path, in one process.
const SERVE: &str = r#"
import contextlib, importlib.util, io, json, sys
spec = importlib.util.spec_from_file_location("verify", sys.argv[1])
verify = importlib.util.module_from_spec(spec)
spec.loader.exec_module(verify)
for line in sys.stdin:
    sys.argv = ["verify.py", line.rstrip("\n")]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = verify.main()
    words = [line[9:] for line in said.getvalue().splitlines() if line.startswith("verdict: ")]
    print(json.dumps({"code": code, "verdict": words[0] if words else None, "all": said.getvalue()}), flush=True)
"#;

/// Writes an export with these files, and a statement that fits them.
fn pack(path: &Path, files: &[(String, Vec<u8>)], without: &[String]) {
    let _gone = std::fs::remove_file(path);
    let mut archive = ArchiveWriter::create(path).unwrap();
    let mut hashes = Vec::new();
    for (name, bytes) in files.iter().filter(|(name, _)| name != "statement.json") {
        let mut entry = archive.entry(name, name == "verify.py").unwrap();
        entry.write_all(bytes).unwrap();
        hashes.push((name.as_str(), entry.end().unwrap()));
    }
    let predicate =
        ExportPredicate { form: FORM.to_owned(), threads: Vec::new(), last: 0, without: without.to_vec() };
    let mut entry = archive.entry("statement.json", false).unwrap();
    entry.write_all(statement::write(&hashes, &predicate, None).unwrap().as_bytes()).unwrap();
    entry.end().unwrap();
    archive.finish().unwrap();
}

/// Another value of JSON in the place of this one.
fn other_json(value: &mut Value, dice: &mut SeededDice) {
    *value = match (&*value, dice.below(4)) {
        (Value::String(text), 0) => json!(format!("{text}x")),
        (Value::String(text), 1) if !text.is_empty() => {
            let at = usize::try_from(dice.below(text.chars().count() as u64)).unwrap();
            let swap = |(place, c): (usize, char)| {
                if place != at {
                    c
                } else if c == '0' {
                    '1'
                } else {
                    '0'
                }
            };
            json!(text.chars().enumerate().map(swap).collect::<String>())
        }
        (Value::Number(number), 0 | 1) => json!(number.as_u64().unwrap_or_default() + 1),
        (Value::Array(all), 0 | 1) if !all.is_empty() => {
            let mut all = all.clone();
            let at = usize::try_from(dice.below(all.len() as u64)).unwrap();
            other_json(&mut all[at], dice);
            json!(all)
        }
        (Value::Object(all), 0 | 1) if !all.is_empty() => {
            let mut all = all.clone();
            let name =
                all.keys().nth(usize::try_from(dice.below(all.len() as u64)).unwrap()).unwrap().clone();
            match dice.below(3) {
                0 => drop(all.remove(&name)),
                _ => other_json(&mut all[&name], dice),
            }
            Value::Object(all)
        }
        (_, 2) => Value::Null,
        (Value::Null, _) => json!("x"),
        _ => json!(7),
    };
}

/// Changes the lines of a file, and says how.
fn change_lines(bytes: &mut Vec<u8>, dice: &mut SeededDice) -> String {
    let mut lines: Vec<String> =
        String::from_utf8(bytes.clone()).unwrap().lines().map(str::to_owned).collect();
    let pick = |dice: &mut SeededDice| usize::try_from(dice.below(lines.len() as u64)).unwrap();
    let (at, second) = (pick(dice), pick(dice));
    let what = match dice.below(8) {
        0 => {
            lines.remove(at);
            format!("line {at} removed")
        }
        1 => {
            lines.swap(at, second);
            format!("lines {at} and {second} swapped")
        }
        2 => {
            lines.insert(at, lines[second].clone());
            format!("line {second} again before {at}")
        }
        _ => {
            let mut value: Value = serde_json::from_str(&lines[at]).unwrap();
            let fields = value.as_object_mut().unwrap();
            let name =
                fields.keys().nth(usize::try_from(dice.below(fields.len() as u64)).unwrap()).unwrap().clone();
            match dice.below(6) {
                0 => drop(fields.remove(&name)),
                1 => drop(fields.insert(format!("{name}x"), json!(1))),
                _ => other_json(&mut fields[&name], dice),
            }
            lines[at] = value.to_string();
            format!("{name} of line {at}: {}", lines[at])
        }
    };
    *bytes = lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect();
    what
}

#[tokio::test]
async fn c2_two_verifiers_without_common_code_agree_about_changed_exports() {
    let folder = sensitive_house().await;
    let at = folder.path();
    keyed(at);
    done(systole(at, &["checkpoint"]));
    let root = thread(at, "SELECT text FROM thread WHERE text LIKE 'sess-%' ORDER BY id");
    done(systole(at, &["export", root.as_str(), "-o", "T.zip"]));
    let whole = std::fs::read(at.join("T.zip")).unwrap();
    let script = "import sys, json, zipfile\nz = zipfile.ZipFile(sys.argv[1])\n\
                  print(json.dumps([[n, z.read(n).decode()] for n in z.namelist()]))";
    let ran = Command::new("python3").args(["-c", script, "T.zip"]).current_dir(at).output().unwrap();
    let files: Vec<(String, String)> = serde_json::from_slice(&ran.stdout).unwrap();
    let files: Vec<(String, Vec<u8>)> =
        files.into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
    let judge = &mut Judge::start(&["-c", SERVE, "src/cli/export/verify.py"]);
    let path = at.join("changed.zip");
    pack(&path, &files, &[]);
    let size = number(at, "SELECT max(pos) FROM record");
    let agreed = |judge: &mut Judge, what: &str| {
        let ran = systole(at, &["verify", "changed.zip", "--json"]);
        let product = ran.json_lines().pop().unwrap_or_default();
        let python = judge.judge(&path);
        let is_damaged = |verdict: &Value| verdict.as_str().unwrap().starts_with("damaged");
        let codes = (ran.code.map(i64::from), python["code"].as_i64());
        assert!(codes.0.is_some() && codes.0 == codes.1, "{what}: {ran:?}\n{python}");
        assert_eq!(
            is_damaged(&product["verdict"]),
            is_damaged(&python["verdict"]),
            "{what}: {ran:?}\n{python}"
        );
        is_damaged(&product["verdict"])
    };
    assert!(!agreed(judge, "as it is"));
    let dice = &mut SeededDice::new(9);
    let mut found = 0;
    for _ in 0..cases(EXPORTS) {
        let what = if dice.below(3) == 0 {
            let mut bytes = whole.clone();
            let at = usize::try_from(dice.below(bytes.len() as u64)).unwrap();
            bytes[at] ^= 1 << dice.below(8);
            std::fs::write(&path, &bytes).unwrap();
            format!("a bit of byte {at}")
        } else {
            let mut files = files.clone();
            let name = ["records.jsonl", "records.jsonl", "documents.jsonl"]
                [usize::try_from(dice.below(3)).unwrap()];
            let (_, bytes) = files.iter_mut().find(|(known, _)| known == name).unwrap();
            let what = format!("{name}: {}", change_lines(bytes, dice));
            if dice.below(4) == 0 {
                files.retain(|(name, _)| name != "checkpoint.txt" && name != "proof.json");
            }
            pack(&path, &files, &[]);
            what
        };
        found += u32::from(agreed(judge, &what));
    }
    println!("{found} of {} changes are damage", cases(EXPORTS));
    assert!(found * 10 > cases(EXPORTS) * 8, "{found}");
    // A log that was written anew fits together in an export of its own, until its checkpoint is there.
    rewrite(at, &root, 2, "<other/>");
    done(systole(at, &["export", root.as_str(), "-o", "anew.zip", "--no-proof"]));
    std::fs::copy(at.join("anew.zip"), &path).unwrap();
    assert!(!agreed(judge, "written anew, without a checkpoint"));
    assert!(size > 0);
}
