//! `systole find` in a log of a million records: making the search file, a rare word, a word with filters, and bringing
//! the file up to date. The floor reads the bodies with plain rusqlite, as a search without a file would.

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use systole_core::types::ids::{Digest, MessageId, Name, ThreadId};
use systole_core::types::ports::{Commit, LogBatch, LogWriter, StoredDocument};
use systole_core::types::record::{Header, MessageRole, Record, RecordCode, RecordKind, head_zero};
use systole_core::types::time::Millis;
use systole_log::search::{self, LogQuery, SearchField, SearchTerm};
use systole_log::sqlite;
use systole_queries::search::{LogSearch, phrase};

use crate::report::{Table, seconds, sized};

/// Messages of a thread.
pub(crate) const THREAD: u64 = 10;
/// Words of a message, and different words of the log.
const WORDS: u64 = 40;
const VOCABULARY: u64 = 20_000;
/// Records of a commit.
const COMMIT: usize = 10_000;

/// A number from a counter, the same in every run.
fn mixed(n: u64) -> u64 {
    let mut n = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    n ^= n >> 32;
    n = n.wrapping_mul(0xd6e8_feb8_6659_fd93);
    n ^ (n >> 32)
}

/// A message of words of which few are frequent and most are rare.
fn body(n: u64, rare: bool) -> Vec<u8> {
    let mut text = String::from("<note xmlns=\"urn:bench\"><text>");
    for at in 0..WORDS {
        let drawn = mixed(n * WORDS + at);
        let word = (drawn % VOCABULARY) * (mixed(drawn) % VOCABULARY) / VOCABULARY;
        text.push_str(&format!("w{word:x} "));
    }
    if rare {
        text.push_str("axolotl");
    }
    text.push_str("</text></note>");
    text.into_bytes()
}

/// Writes notes from one number to another.
pub(crate) fn write(log: &Path, numbers: std::ops::Range<u64>) {
    write_changed(log, numbers, |_, _| None);
}

/// The same, each with what is changed in its header, and another body if there is one.
pub(crate) fn write_changed(
    log: &Path,
    numbers: std::ops::Range<u64>,
    change: impl Fn(u64, &mut Header) -> Option<Vec<u8>>,
) {
    let mut writer = sqlite::open_log(log).unwrap().writer;
    let config: Arc<[u8]> = Arc::from(&b"config"[..]);
    let document = StoredDocument { hash: Digest::hash_bytes(&config), bytes: config };
    let mut batch = LogBatch { documents: vec![document], ..LogBatch::default() };
    let (mut head, mut thread) = (Digest([0; 32]), ThreadId::new_sys());
    for n in numbers.clone() {
        if n % THREAD == 0 {
            thread = ThreadId::parse(&format!("sess-{:012x}", n / THREAD)).unwrap();
            head = head_zero(&thread);
        }
        let from = format!("agent-{}", n % 7);
        let mut header = Header {
            thread: thread.clone(),
            seq: n % THREAD + 1,
            id: MessageId(u128::from(n + 1).to_be_bytes()),
            kind: RecordKind::Message,
            from: Name::parse(&from).unwrap(),
            to: None,
            call: None,
            turn: None,
            ordinal: None,
            cause: None,
            key: None,
            origin: None,
            time: Millis(1_795_158_000_000 + n * 100),
            config: Digest::hash_bytes(b"config"),
            code: Some(RecordCode::Role(MessageRole::Note)),
        };
        let changed = change(n, &mut header);
        let body = changed.unwrap_or_else(|| body(n, n % 250_000 == 1_234));
        let record: Record = header.seal_record(Arc::from(body), [7; 16], head);
        head = record.head;
        batch.records.push(Arc::new(record));
        if batch.records.len() == COMMIT || n + 1 == numbers.end {
            assert!(matches!(writer.commit_batch(&batch), Commit::Committed(_)));
            batch.records.clear();
        }
    }
}

/// Opens the search file and finds, as the command does; returns the hits.
pub(crate) fn find(log: &Path, query: &LogQuery, limit: usize) -> usize {
    let reader = sqlite::open_reading(log).unwrap();
    let mut told = |_, _| {};
    let mut search = LogSearch::open(log, &reader, &mut told).unwrap();
    let mut hits = 0;
    let more = |_| {
        hits += 1;
        hits < limit
    };
    search.newest(query, &mut told, more).unwrap();
    hits
}

/// Reads every body and looks for a word.
fn plain(log: &Path) -> usize {
    let connection = Connection::open(log).unwrap();
    let mut bodies = connection.prepare("SELECT body FROM record").unwrap();
    let mut rows = bodies.query([]).unwrap();
    let mut found = 0;
    while let Some(row) = rows.next().unwrap() {
        let body = row.get_ref(0).unwrap().as_blob().unwrap();
        found += usize::from(body.windows(7).any(|seven| seven == b"axolotl"));
    }
    found
}

/// All of it.
pub(crate) fn in_a_log(table: &mut Table) {
    let all = sized("FOUND", 1_000_000) as u64 / THREAD * THREAD;
    let folder = tempfile::tempdir_in("target").unwrap();
    let log = folder.path().join("bench.db");
    write(&log, 0..all);
    let bytes = |path: &Path| std::fs::metadata(path).unwrap().len() as f64;
    let of = |words: &[&str], terms: Vec<SearchTerm>| LogQuery {
        phrases: words.iter().map(|words| phrase(words)).collect(),
        terms,
        ..LogQuery::default()
    };
    let rare = of(&["axolotl"], Vec::new());
    let term = |field, value: &str| vec![SearchTerm::new(field, value)];
    let thread = of(&["w1"], term(SearchField::Thread, "sess-0000000003e8"));
    let common = of(&["w1"], term(SearchField::From, "agent-3"));
    let (mut made, mut looked, mut filtered, mut newest, mut grown) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut size = Vec::new();
    let mut end = all;
    for _ in 0..table.runs {
        search::forget_file(&log).unwrap();
        let (took, hits) = seconds(|| find(&log, &rare, usize::MAX));
        assert_eq!(hits as u64, end.saturating_sub(1_234).div_ceil(250_000));
        let (floor, found) = seconds(|| plain(&log));
        assert_eq!(found, hits);
        made.push((took, floor));
        size.push((bytes(&folder.path().join("bench.db.find")) / 1e6, bytes(&log) / 1e6));
        looked.push((seconds(|| find(&log, &rare, usize::MAX)).0 * 1e3, floor * 1e3));
        filtered.push((seconds(|| find(&log, &thread, usize::MAX)).0 * 1e3, floor * 1e3));
        newest.push((seconds(|| find(&log, &common, 100)).0 * 1e3, floor * 1e3));
        write(&log, end..end + 1_000);
        end += 1_000;
        grown.push((seconds(|| find(&log, &rare, usize::MAX)).0 * 1e3, floor * 1e3));
    }
    table.add(&format!("making the search file of {all} records"), "s", "linear", &made);
    table.add("its size beside the log", "MB", "", &size);
    table.add("a rare word", "ms", "100 ms", &looked);
    table.add("a common word of one thread", "ms", "100 ms", &filtered);
    table.add("the newest 100 of a common word and a sender", "ms", "", &newest);
    table.add("a rare word after 1,000 new records", "ms", "", &grown);
}
