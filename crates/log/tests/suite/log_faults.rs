//! Faults below our code: a disk that is full or loses a sync, and death in the middle of a sync,
//! injected by strace into a process that writes a log. The page cache survives all of them, so these
//! tests do not show the effect of a power cut.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;

use systole_core::types::ids::{Digest, MessageId};
use systole_core::types::ports::{LogBatch, LogReader as _, Position};
use systole_log::sqlite;
use systole_log::writer::{BatchResult, WriterHandle};

use crate::log_records::{Author, Folder, batch, root};

const LOG: &str = "SYSTOLE_TEST_LOG";
/// Batches that the second process tries to write, of five records each.
const BATCHES: usize = 12;

fn batches() -> Vec<LogBatch> {
    let mut author = Author::default();
    (0..BATCHES).map(|_| batch((0..5).map(|n| author.note(&root(n), 3_000)))).collect()
}

/// Writes the batches one by one and reports the result of each. Run by the test below, under strace.
#[test]
#[ignore = "the second process of another test"]
fn process_that_meets_faults() {
    let Some(log) = std::env::var_os(LOG) else { return };
    let opened = sqlite::open_log(Path::new(&log)).unwrap();
    // One batch is in progress at a time; a stall may be reported before its end.
    let (tell, told) = sync_channel(4);
    let report = move |outcome| tell.send(outcome).unwrap();
    let alarms = opened.writer.alarms();
    let writer = WriterHandle::start_thread(Box::new(opened.writer), alarms, report).unwrap();
    'batches: for batch in batches() {
        writer.submit_batch(batch).unwrap();
        loop {
            match told.recv().unwrap() {
                BatchResult::Committed(position) => {
                    println!("acknowledged {}", position.0);
                    continue 'batches;
                }
                BatchResult::Stalled { words } => println!("stalled: {words}"),
                BatchResult::Broken(stop) => {
                    println!("{}: {}", if stop.is_damaged { "damaged" } else { "broken" }, stop.words);
                    break 'batches;
                }
            }
        }
    }
    writer.stop_thread();
    println!("ended");
}

/// The output of a process that wrote under a fault.
struct Run {
    said: Vec<String>,
    folder: Folder,
}

impl Run {
    fn under(inject: &str) -> Run {
        let folder = Folder::new();
        drop(sqlite::open_log(&folder.log()).unwrap());
        let strace = Command::new("strace")
            .args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("inject={inject}")])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "--nocapture", "log_faults::process_that_meets_faults"])
            .env(LOG, folder.log())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .output()
            .expect("strace is installed");
        let said = String::from_utf8(strace.stdout).unwrap().lines().map(str::to_owned).collect();
        Run { said, folder }
    }

    fn heard(&self, start: &str) -> bool {
        self.said.iter().any(|line| line.starts_with(start))
    }

    fn acknowledged(&self) -> u64 {
        let mut acks = self.said.iter().filter_map(|line| line.strip_prefix("acknowledged "));
        acks.next_back().map_or(0, |n| n.parse().unwrap())
    }

    /// Checks that what was acknowledged is stored, in whole batches only, each once, and that the log
    /// is still writable.
    fn check(&self, fault: &str) {
        let found = sqlite::verify_all(&self.folder.log()).unwrap_or_else(|e| panic!("{fault}: {e}")).last;
        let acknowledged = self.acknowledged();
        assert!(found.0 >= acknowledged, "{fault}: {acknowledged} acknowledged, {} found", found.0);
        assert!(found.0.is_multiple_of(5) && found.0 <= acknowledged + 5, "{fault}: {} found", found.0);
        let opened = sqlite::open_log(&self.folder.log()).unwrap();
        let stored = opened.reader.read_after(Position(0), usize::MAX).unwrap();
        let expected = batches().into_iter().flat_map(|batch| batch.records);
        let expected: Vec<(MessageId, Digest)> =
            expected.map(|r| (r.header.id, r.head)).take(stored.len()).collect();
        assert_eq!(
            stored.iter().map(|(_, r)| (r.header.id, r.head)).collect::<Vec<_>>(),
            expected,
            "{fault}"
        );
    }
}

/// Runs one fault at the first system call, the second, and so on, until it no longer strikes.
fn at_every(fault: impl Fn(usize) -> String, strikes: impl Fn(&Run) -> bool) -> usize {
    for n in 1..200 {
        let fault = fault(n);
        let run = Run::under(&fault);
        run.check(&fault);
        if !strikes(&run) {
            return n - 1;
        }
    }
    panic!("the fault never stops to strike");
}

fn whole(run: &Run) -> bool {
    run.heard("ended") && run.acknowledged() == 5 * BATCHES as u64
}

#[test]
#[ignore = "needs strace"]
fn death_at_every_sync_loses_nothing_that_was_acknowledged() {
    let struck = at_every(|n| format!("fdatasync,fsync:signal=SIGKILL:when={n}"), |run| !run.heard("ended"));
    assert!(struck >= BATCHES, "a sync for every commit: {struck}");
}

#[test]
#[ignore = "needs strace"]
fn a_failed_sync_is_looked_into_and_nothing_is_lost_or_doubled() {
    // One sync fails: the log is opened again, and the batch is stored in the end.
    for n in 1..=BATCHES + 2 {
        let fault = format!("fdatasync,fsync:error=EIO:when={n}");
        let run = Run::under(&fault);
        run.check(&fault);
        assert!(whole(&run) && !run.heard("stalled"), "{fault}: {:?}", run.said);
    }
    // From some moment every sync fails: the pump gives the log up.
    let run = Run::under("fdatasync,fsync:error=EIO:when=6+");
    run.check("every sync fails");
    assert!(run.heard("broken") && !run.heard("damaged"), "{:?}", run.said);
    // The next one fails too, when it is looked into: the log is sound all the same.
    let run = Run::under("fdatasync,fsync:error=EIO:when=6..7");
    run.check("two in a row");
    assert!(!run.heard("damaged"), "{:?}", run.said);
}

#[test]
#[ignore = "needs strace"]
fn a_full_disk_stalls_and_goes_on_when_there_is_room() {
    // From the first write of a commit; the earlier ones open the log.
    for n in [29, 30, 47, 77] {
        let fault = format!("pwrite64:error=ENOSPC:when={n}..{}", n + 3);
        let run = Run::under(&fault);
        run.check(&fault);
        assert!(run.heard("stalled") && whole(&run), "{fault}: {:?}", run.said);
    }
}
