//! The index of a log and the list that is made of it: the index of a million records beside the first `systole find`,
//! and the failed threads of a log over HTTP beside those of a log with a hundredth of its threads.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use systole_core::types::codes::Code;
use systole_core::types::ids::{CallPath, Name};
use systole_core::types::record::{MessageRole, RecordCode, RecordKind};
use systole_log::index::{self, IndexWait};
use systole_log::search::{self, LogQuery};
use systole_log::sqlite;
use systole_queries::index::LogIndex;
use systole_queries::search::phrase;

use crate::callers::DoorLine;
use crate::find::{self, THREAD};
use crate::report::{Table, seconds, sized};

const FAILED: &str = "<system-error xmlns=\"https://xml-pipeline.org/ns/core/v1\" code=\"listener.failed\" \
                      first-code=\"model.refused\" retry_allowed=\"false\" message=\"no\"/>";

/// Threads that are each asked once. Of the answers every tenth is a failure, or all are.
fn write(log: &Path, records: u64, all_fail: bool) {
    find::write_changed(log, 0..records, |n, header| {
        let at = n % THREAD;
        if at == 0 || at + 1 == THREAD {
            header.call = Some(CallPath::new_top(1));
        }
        match at {
            0 => {
                header.to = Some(Name::parse("writer").unwrap());
                header.code = Some(RecordCode::Role(MessageRole::Request));
                None
            }
            last if last + 1 == THREAD && (all_fail || (n / THREAD).is_multiple_of(10)) => {
                header.kind = RecordKind::Outcome;
                header.code = Some(RecordCode::Code(Code::ListenerFailed));
                Some(FAILED.as_bytes().to_vec())
            }
            last if last + 1 == THREAD => {
                header.code = Some(RecordCode::Role(MessageRole::Final));
                None
            }
            _ => None,
        }
    });
}

/// A page of the failed threads of a log, over HTTP.
struct OpenedLog {
    program: std::process::Child,
    line: DoorLine,
}

impl OpenedLog {
    async fn open(log: &Path) -> OpenedLog {
        let mut program = Command::new(env!("CARGO_BIN_EXE_systole"))
            .args(["open", log.to_str().unwrap(), "--no-browser"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let printed = BufReader::new(program.stdout.take().unwrap()).lines();
        let url = printed.map_while(Result::ok).find(|line| line.contains("http://")).unwrap();
        let (_, url) = url.split_once("http://").unwrap();
        let (address, token) = url.trim().split_once("/#").unwrap();
        OpenedLog { program, line: DoorLine::to(address, token).await }
    }

    /// Fetches the page, and returns the threads on it and the seconds that it took.
    async fn fetch_failed(&mut self) -> (usize, f64) {
        let begun = crate::report::now();
        let page = self.line.fetches("/v1/threads?state=failed&limit=100", "").await;
        (page.matches("\"state\":\"failed\"").count(), begun.elapsed().as_secs_f64())
    }
}

impl Drop for OpenedLog {
    fn drop(&mut self) {
        self.program.kill().unwrap();
        self.program.wait().unwrap();
    }
}

/// All of it.
pub(crate) fn of_threads(table: &mut Table) {
    let all = sized("FOUND", 1_000_000) as u64 / THREAD * THREAD;
    let folder = tempfile::tempdir_in("target").unwrap();
    let log = folder.path().canonicalize().unwrap().join("bench.db");
    write(&log, all, false);
    let rare = LogQuery { phrases: vec![phrase("axolotl")], ..LogQuery::default() };
    let mut made = Vec::new();
    for _ in 0..table.runs {
        search::forget_file(&log).unwrap();
        index::forget_file(&log).unwrap();
        let whole = seconds(|| {
            let reader = sqlite::open_reading(&log).unwrap();
            LogIndex::beside(&log, IndexWait::Patient).read_whole(&reader, &mut |_, _| true).unwrap();
        });
        made.push((whole.0, seconds(|| find::find(&log, &rare, usize::MAX)).0));
    }
    table.add(&format!("the index of {all} records, beside the first find"), "s", "0.5", &made);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (large, small) = (log.with_file_name("large.db"), log.with_file_name("small.db"));
    let threads = sized("LISTED", 10_000) as u64;
    write(&large, threads * THREAD, true);
    write(&small, threads / 100 * THREAD, true);
    let listed = runtime.block_on(async {
        let (mut large, mut small) = (OpenedLog::open(&large).await, OpenedLog::open(&small).await);
        let mut listed = Vec::new();
        for run in 0..table.runs * 20 + 1 {
            let (of_large, of_small) = (large.fetch_failed().await, small.fetch_failed().await);
            assert_eq!((of_large.0, of_small.0), (100, (threads / 100).min(100) as usize));
            // The first page makes the index.
            if run > 0 {
                listed.push((of_large.1 * 1e3, of_small.1 * 1e3));
            }
        }
        listed
    });
    let name = format!("a page of {threads} failed threads, beside one of a hundredth");
    table.add(&name, "ms", "2", &listed);
}
