//! Records for the tests of the log: chains that are sealed as the pump seals them, and a folder that
//! is deleted after its test. Counters replace clocks and randomness, so a run can be repeated.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use systole_core::types::body_parts::{BodyHole, PartSeal};
use systole_core::types::fields::write_field;
use systole_core::types::ids::{CallPath, Digest, Key, MessageId, Name, ThreadId};
use systole_core::types::ports::{LogBatch, LogReader as _, Position, StoredDocument};
use systole_core::types::record::{Header, MessageRole, Record, RecordCode, RecordKind, head_zero};
use systole_core::types::time::Millis;
use systole_log::sqlite;

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

pub(crate) fn key(text: &str) -> Key {
    Key::parse(text).unwrap()
}

/// The n-th root thread.
pub(crate) fn root(n: u64) -> ThreadId {
    ThreadId::parse(&format!("sess-{n:012x}")).unwrap()
}

/// Writes the threads of a test: it knows the last number and head of each.
#[derive(Clone, Default)]
pub(crate) struct Author {
    ends: HashMap<ThreadId, (u64, Digest)>,
    made: u64,
    /// The configuration of its records; without one, a hash that no document has.
    config: Option<Digest>,
}

/// The header of a note, with no other field set.
pub(crate) fn bare(thread: &ThreadId, seq: u64) -> Header {
    Header {
        thread: thread.clone(),
        seq,
        id: MessageId([1; 16]),
        kind: RecordKind::Message,
        from: name("researcher"),
        to: None,
        call: None,
        turn: None,
        ordinal: None,
        cause: None,
        key: None,
        origin: None,
        time: Millis(1_795_158_000_000),
        config: Digest([0; 32]),
        code: Some(RecordCode::Role(MessageRole::Note)),
    }
}

impl Author {
    /// The author of records of that configuration.
    pub(crate) fn of_configuration(config: Digest) -> Author {
        Author { config: Some(config), ..Author::default() }
    }

    /// A note of a thread, with a body of `size` bytes.
    pub(crate) fn note(&mut self, thread: &ThreadId, size: usize) -> Record {
        let body: Vec<u8> = (0..size).map(|i| b'a' + u8::try_from((i + size) % 26).unwrap()).collect();
        self.record(thread, &body, |_| {})
    }

    /// The next record of a thread, its header changed by `change` before it is sealed.
    pub(crate) fn record(
        &mut self,
        thread: &ThreadId,
        body: &[u8],
        change: impl FnOnce(&mut Header),
    ) -> Record {
        let (seq, before) = self.ends.get(thread).copied().unwrap_or_else(|| (0, head_zero(thread)));
        self.made += 1;
        let mut header = Header {
            id: MessageId(u128::from(self.made).to_be_bytes()),
            time: Millis(1_795_158_000_000 + self.made),
            config: self.config.unwrap_or_else(|| Digest::hash_bytes(b"config")),
            ..bare(thread, seq + 1)
        };
        change(&mut header);
        let salt = u128::from(self.made).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        let record = header.seal_record(Arc::from(body), salt, before);
        self.ends.insert(thread.clone(), (record.header.seq, record.head));
        record
    }

    /// A record with two sensitive values: part 0 and each value is erased or not.
    pub(crate) fn in_parts(&mut self, thread: &ThreadId, erased: [bool; 3]) -> Record {
        let text = "<pay iban=\"DE02\"><name>Ann Lee, Oslo</name></pay>";
        let mut record = self.record(thread, text.as_bytes(), |_| {});
        let hole = |at, length| BodyHole { at, length };
        let salts = [PartSeal::Kept([1; 16]), PartSeal::Kept([2; 16])];
        record.parts.values = [hole(11, 4), hole(23, 13)].into_iter().zip(salts).collect();
        let before = head_zero(thread);
        assert_eq!(record.header.seq, 1);
        let whole = record.header.clone().seal_record(record.body.clone(), record.parts.clone(), before);
        let numbers = (0..3).filter(|number| erased[*number]);
        let (parts, body) = whole.parts.remove_parts(numbers, &whole.body);
        let record = whole.header.clone().seal_record(Arc::from(body), parts, before);
        assert_eq!((record.leaf, record.head), (whole.leaf, whole.head), "erasing changes no hash");
        self.ends.insert(thread.clone(), (1, record.head));
        record
    }

    /// A record with every field of the header set.
    pub(crate) fn full(&mut self, thread: &ThreadId) -> Record {
        self.record(thread, "<a>è</a>".as_bytes(), |header| {
            header.to = Some(name("search"));
            header.call = Some(CallPath::new_top(3).append_item(2, 1));
            header.turn = Some(7);
            header.ordinal = Some(2);
            header.cause = Some(MessageId([4; 16]));
            header.key = Some(key("k-1"));
            header.origin = Some(Digest([5; 32]));
            header.code = Some(RecordCode::Role(MessageRole::Call));
        })
    }
}

/// A batch of records only.
pub(crate) fn batch(records: impl IntoIterator<Item = Record>) -> LogBatch {
    LogBatch { records: records.into_iter().map(Arc::new).collect(), ..LogBatch::default() }
}

/// A folder for this test, removed at its end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let n = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("systole-log-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.0.join("organism.db")
    }

    /// Every file of the folder with the hash of its bytes.
    pub(crate) fn hashes(&self) -> Vec<(String, Digest)> {
        let mut all: Vec<_> = std::fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|e| {
                (e.file_name().into_string().unwrap(), Digest::hash_bytes(&std::fs::read(e.path()).unwrap()))
            })
            .collect();
        all.sort();
        all
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _left = std::fs::remove_dir_all(&self.0);
    }
}

/// The folder of the logs of older formats, from the crate of the test or above it.
pub(crate) fn fixtures() -> PathBuf {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.map(|folder| folder.join("tests/fixtures")).find(|folder| folder.is_dir()).unwrap()
}

pub(crate) fn fixture(format: u32) -> PathBuf {
    fixtures().join(format!("log-v{format}.db"))
}

/// Two documents that are made of fields and share a long one.
pub(crate) fn sharing() -> [StoredDocument; 2] {
    let shared = "shared ".repeat(1_000);
    [b"first", b"other"].map(|own| {
        let mut bytes = Vec::new();
        [&b"form"[..], own, shared.as_bytes(), b"end"]
            .iter()
            .for_each(|value| write_field(&mut bytes, value));
        StoredDocument { hash: Digest::hash_bytes(&bytes), bytes: bytes.into() }
    })
}

/// Every record of a log file, in order.
pub(crate) fn read_all(log: &Path) -> Vec<Record> {
    let stored = sqlite::open_reading(log).unwrap().read_after(Position(0), usize::MAX).unwrap();
    stored.into_iter().map(|(_, record)| record).collect()
}

/// The salt of a body without sensitive values.
pub(crate) fn salt_of(record: &Record) -> [u8; 16] {
    match record.parts.rest {
        PartSeal::Kept(salt) => salt,
        PartSeal::Erased(_) => panic!("it is erased"),
    }
}

/// Changes a log as a person with the file and `sqlite3` could.
pub(crate) fn edit_at(log: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(log).unwrap();
    connection.execute_batch(sql).unwrap();
    connection.close().unwrap();
}

/// The SQL that sets how far the entries of a log go, with a checksum that fits.
pub(crate) fn placed_at(pos: i64) -> String {
    let text = [b"systole placed v1", &8_u64.to_be_bytes()[..], &pos.to_be_bytes()].concat();
    let sum = i64::from_be_bytes(Digest::hash_bytes(&text).0[..8].try_into().unwrap());
    format!("UPDATE placed SET pos = {pos}, sum = {sum}")
}
