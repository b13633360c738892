//! Seals a script into a log file: tables, interned words, and the hashes. The hashes are implemented
//! here a second time, so that the judge's implementation is not tested against itself.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::{Connection, params};
use sha2::{Digest as _, Sha256};
use systole_checker::history::ClientHistory;
use systole_checker::log::LogSnapshot;
use systole_checker::record::{RecordHash, RecordId, write_moment};
use systole_checker::report::CheckReport;
use systole_checker::{RunSettings, check_log, check_under};

use crate::script::{Line, Script};

/// The tables of a log, without the indexes that would prevent planted faults.
const TABLES: &str = "
PRAGMA journal_mode = WAL;
PRAGMA application_id = 0x73797374;
PRAGMA user_version = 2;
CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE config (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE) STRICT;
CREATE TABLE thread (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE record (
  pos INTEGER PRIMARY KEY, thread INTEGER NOT NULL, seq INTEGER NOT NULL, id BLOB NOT NULL,
  kind INTEGER NOT NULL, sender INTEGER NOT NULL, addressee INTEGER,
  call TEXT, turn INTEGER, ordinal INTEGER, cause BLOB, key TEXT, origin BLOB,
  time INTEGER NOT NULL, config INTEGER NOT NULL, code INTEGER,
  salt BLOB NOT NULL, head BLOB NOT NULL, body BLOB NOT NULL
) STRICT;
CREATE TABLE document (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, bytes BLOB NOT NULL) STRICT;
CREATE TABLE large (pos INTEGER PRIMARY KEY, document INTEGER NOT NULL) STRICT;
INSERT INTO config (id, hash) VALUES (1, zeroblob(32));
";

/// A log file, and what is needed to point at its records.
pub(crate) struct SealedBook {
    path: PathBuf,
    connection: Connection,
    pub(crate) sealed: HashMap<&'static str, Sealed>,
}

/// A line with its place and its hashes.
pub(crate) struct Sealed {
    pub(crate) thread: &'static str,
    pub(crate) position: u64,
    pub(crate) seq: u64,
    pub(crate) id: RecordId,
    pub(crate) body: String,
    leaf: [u8; 32],
    head: [u8; 32],
}

/// A unique path.
pub(crate) fn fresh_path() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("checker-{}-{number}.db", std::process::id());
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

impl SealedBook {
    /// Seals a script.
    pub(crate) fn of(script: &Script) -> SealedBook {
        let path = fresh_path();
        let mut connection = Connection::open(&path).unwrap();
        connection.execute_batch(TABLES).unwrap();
        let mut sealed: HashMap<&'static str, Sealed> = HashMap::new();
        let mut threads: HashMap<&str, (u64, [u8; 32])> = HashMap::new();
        let all = connection.transaction().unwrap();
        for (line, position) in script.0.iter().zip(1..) {
            let zero = sha(&[&[2], b"systole thread v1", line.thread.as_bytes()]);
            let (seq, head) = threads.entry(line.thread).or_insert((0, zero));
            *seq += 1;
            let next = seal(line, position, *seq, *head, &sealed);
            *head = next.head;
            insert(&all, line, &next, &sealed);
            sealed.insert(line.name, next);
        }
        all.commit().unwrap();
        SealedBook { path, connection, sealed }
    }

    /// Changes the file after it was sealed.
    pub(crate) fn sql(&self, statement: &str) {
        let changed = self.connection.execute(statement, []).unwrap();
        assert_ne!(changed, 0, "{statement} changes nothing");
    }

    /// Runs a statement that changes no row.
    pub(crate) fn run(&self, statement: &str) {
        self.connection.execute_batch(statement).unwrap();
    }

    pub(crate) fn log(&self) -> LogSnapshot {
        LogSnapshot::open_file(&self.path).unwrap()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn check(&self) -> CheckReport {
        check_log(&self.log(), &[])
    }

    pub(crate) fn check_under(&self, terms: RunSettings) -> CheckReport {
        check_under(&self.log(), &[], &terms)
    }

    pub(crate) fn check_with(&self, history: &str) -> CheckReport {
        check_log(&self.log(), &[ClientHistory::parse(history).unwrap()])
    }

    /// The history line of the client that sent this record.
    pub(crate) fn sent(&self, name: &str, client: &str, key: &str) -> Told {
        let record = &self.sealed[name];
        let (thread, seq, position) = (record.thread.to_owned(), record.seq, record.position);
        Told {
            client: client.into(),
            key: key.into(),
            sha256: RecordHash::hash_bytes(record.body.as_bytes()),
            place: Some((thread, seq, record.id, position)),
            refused: None,
            answer: None,
            token: None,
        }
    }
}

impl Drop for SealedBook {
    fn drop(&mut self) {
        for ending in ["", "-wal", "-shm"] {
            let _gone = std::fs::remove_file(format!("{}{ending}", self.path.display()));
        }
    }
}

/// A line of a history, before it is written.
pub(crate) struct Told {
    pub(crate) client: String,
    pub(crate) key: String,
    pub(crate) sha256: RecordHash,
    pub(crate) place: Option<(String, u64, RecordId, u64)>,
    pub(crate) refused: Option<&'static str>,
    pub(crate) answer: Option<(u64, RecordHash)>,
    pub(crate) token: Option<&'static str>,
}

impl Told {
    pub(crate) fn with_token(mut self, token: &'static str) -> Told {
        self.token = Some(token);
        self
    }

    pub(crate) fn refused(mut self, code: &'static str) -> Told {
        (self.place, self.refused) = (None, Some(code));
        self
    }

    pub(crate) fn answered(mut self, book: &SealedBook, name: &str) -> Told {
        let record = &book.sealed[name];
        self.answer = Some((record.seq, RecordHash::hash_bytes(record.body.as_bytes())));
        self
    }

    pub(crate) fn json(&self) -> String {
        let null = || "null".to_owned();
        let acked = self.place.as_ref().map_or_else(null, |(thread, seq, id, position)| {
            format!(r#"{{"thread":"{thread}","seq":{seq},"id":"{id}","position":{position}}}"#)
        });
        let answer = self
            .answer
            .as_ref()
            .map_or_else(null, |(seq, sha256)| format!(r#"{{"seq":{seq},"sha256":"{sha256}"}}"#));
        let text = |value: Option<&str>| value.map_or_else(null, |text| format!("\"{text}\""));
        let (refused, token) = (text(self.refused), text(self.token));
        let (client, key, sha256) = (&self.client, &self.key, self.sha256);
        format!(
            "{{\"client\":\"{client}\",\"key\":\"{key}\",\"sha256\":\"{sha256}\",\"acked\":{acked},\
             \"refused\":{refused},\"answer\":{answer},\"token\":{token}}}\n"
        )
    }
}

fn seal(
    line: &Line,
    position: u64,
    seq: u64,
    before: [u8; 32],
    sealed: &HashMap<&'static str, Sealed>,
) -> Sealed {
    let mut body = line.body.clone();
    while let Some((start, rest)) = body.split_once("HEAD(") {
        let (name, end) = rest.split_once(')').unwrap();
        let head = sealed.get(name).map_or([0; 32], |record| record.head);
        body = [start, &hex(&head), end].concat();
    }
    let opt = |n: Option<u32>| n.map_or(String::new(), |n| n.to_string());
    let mut header = Vec::new();
    for field in [
        "systole record v1".to_owned(),
        line.thread.to_owned(),
        seq.to_string(),
        uuid(&line.id),
        line.kind.to_owned(),
        line.from.to_owned(),
        line.to.unwrap_or("").to_owned(),
        line.call.unwrap_or("").to_owned(),
        opt(line.turn),
        opt(line.ordinal),
        cause(line, sealed).map_or(String::new(), |id| uuid(&id)),
        line.key.unwrap_or("").to_owned(),
        origin(line, sealed).map_or(String::new(), |leaf| hex(&leaf)),
        write_moment(line.time_ms),
        "0".repeat(64),
        line.code.unwrap_or("").to_owned(),
        body.len().to_string(),
        String::new(),
    ] {
        header.extend(format!("{}:{field}\n", field.len()).into_bytes());
    }
    let part = sha(&[&[3], &salt(line), body.as_bytes()]);
    let leaf = sha(&[&[0], &header, &sha(&[&[5], &part])]);
    let head = sha(&[&[2], &before, &leaf]);
    Sealed { thread: line.thread, position, seq, id: RecordId(line.id), body, leaf, head }
}

/// The cause's id: of a line of the script, or an id that no line has.
fn cause(line: &Line, sealed: &HashMap<&'static str, Sealed>) -> Option<[u8; 16]> {
    let name = line.cause?;
    let strange = crate::script::line(name, "", "", "").id;
    Some(sealed.get(name).map_or(strange, |record| record.id.0))
}

fn origin(line: &Line, sealed: &HashMap<&'static str, Sealed>) -> Option<[u8; 32]> {
    line.origin.map(|name| sealed.get(name).map_or([0; 32], |record| record.leaf))
}

fn salt(line: &Line) -> [u8; 16] {
    let mut salt = line.id;
    salt.reverse();
    salt
}

fn insert(all: &Connection, line: &Line, record: &Sealed, sealed: &HashMap<&'static str, Sealed>) {
    let number = |table: &str, text: &str| -> i64 {
        all.execute(&format!("INSERT OR IGNORE INTO {table} (text) VALUES (?1)"), [text]).unwrap();
        all.query_row(&format!("SELECT id FROM {table} WHERE text = ?1"), [text], |row| row.get(0)).unwrap()
    };
    let word = |text: &str| number("word", text);
    all.prepare_cached("INSERT INTO record VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
        .unwrap()
        .execute(params![
            record.position.cast_signed(),
            number("thread", line.thread),
            record.seq.cast_signed(),
            line.id,
            word(line.kind),
            word(line.from),
            line.to.map(word),
            line.call,
            line.turn,
            line.ordinal,
            cause(line, sealed),
            line.key,
            origin(line, sealed),
            line.time_ms.cast_signed(),
            1,
            line.code.map(word),
            salt(line),
            record.head,
            record.body.as_bytes(),
        ])
        .unwrap();
}

fn sha(parts: &[&[u8]]) -> [u8; 32] {
    Sha256::digest(parts.concat()).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn uuid(id: &[u8; 16]) -> String {
    let hex = hex(id);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}
