//! Reopening a large log: the time it takes, the cost of the first message in a thread that is read back
//! from disk, and the memory of a great many idle threads. Each opening has its own process, so that its
//! memory starts empty.

use std::path::Path;

use rusqlite::Connection;
use systole_organism::plan::LogPlace;

use crate::child::{numbers, resident_mb, said};
use crate::grown::{Growing, pattern, root};
use crate::report::{Table, median, now, seconds, sized, worked};
use crate::walk::{self, Course, GRACE, Stage};

/// The child: opens the log, prints the time and the memory, sends that many messages one after another,
/// and prints how long each took to be on disk.
pub(crate) fn open(log: &Path, kind: &str, count: usize) {
    let course = Course::new(1, 1, Stage::Home);
    walk::runtime().block_on(async {
        let (before, began) = (worked().0, now());
        let organism = walk::start(LogPlace::File(log.to_owned()), &course, 1).await;
        println!("opened {}", began.elapsed().as_secs_f64());
        println!("worked {}", worked().0 - before);
        println!("resident {}", resident_mb("self"));
        let words: &[&str] = if kind == "both" { &["long", "short"] } else { &[kind] };
        for n in 0..count {
            for word in words {
                let thread = (*word != "new").then(|| root(&format!("{word}-{n}")));
                let key = format!("again-{word}-{n}-{}", std::process::id());
                let message = walk::message(&key, course.walk(), thread.as_ref());
                let began = now();
                walk::ask(&organism, message).await;
                println!("{word} {}", began.elapsed().as_secs_f64());
            }
        }
        println!("touched {}", resident_mb("self"));
        organism.stop(GRACE).await;
    });
}

/// The seconds that plain rusqlite needs to open the file and read the records that are verified at
/// opening.
fn plain_reading(log: &Path) -> f64 {
    let (took, read) = seconds(|| {
        let connection = Connection::open(log).unwrap();
        let mut newest = connection.prepare("SELECT * FROM record ORDER BY pos DESC LIMIT 10000").unwrap();
        let mut rows = newest.query([]).unwrap();
        let mut bytes = 0;
        while let Some(row) = rows.next().unwrap() {
            bytes += row.get_ref("body").unwrap().as_blob().unwrap().len();
        }
        bytes
    });
    assert!(read > 0, "the log has records");
    took
}

/// A log of a million messages: opening it, and the next message in a long thread and in a short one.
pub(crate) fn messages(table: &mut Table) {
    const LONG: usize = 10_000;
    const SHORT: usize = 10;
    let all = sized("MESSAGES", 1_000_000);
    let folder = tempfile::tempdir_in("target").unwrap();
    let log = folder.path().join("bench.db");
    let long = (all / LONG / 5).max(2);
    let (took, ()) = seconds(|| {
        let (long_walk, short_walk) = (pattern(4_999, 512), pattern(4, 512));
        let mut growing = Growing::new(&log);
        (0..long).for_each(|n| growing.add(&long_walk, &format!("long-{n}")));
        let rest = all.saturating_sub(long * LONG) / SHORT;
        (0..rest.max(long)).for_each(|n| growing.add(&short_walk, &format!("short-{n}")));
        growing.close();
    });
    println!("a log of {all} records was made in {took:.1} s, {long} of its threads with {LONG} each");
    let (mut opened, mut work, mut woken, mut awake) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..table.runs {
        let floor = plain_reading(&log);
        let said = said(&["reopen", log.to_str().unwrap(), "both", &long.to_string()]);
        opened.push((numbers(&said, "opened")[0] * 1e3, floor * 1e3));
        work.push((numbers(&said, "worked")[0] * 1e3, f64::NAN));
        woken.push((median(&numbers(&said, "long")) * 1e6, median(&numbers(&said, "short")) * 1e6));
        awake.push((numbers(&said, "resident")[0], f64::NAN));
    }
    table.add(&format!("reopening a log of {all} messages"), "ms", "50 ms", &opened);
    table.add("  processor time of that", "ms", "", &work);
    table.add("next message, thread of 10,000 beside one of 10", "us", "at most 1.2", &woken);
    table.add("resident after reopening", "MB", "", &awake);
}

/// A great many idle threads: memory compared with an empty organism, and with one that had the same
/// number of messages.
pub(crate) fn threads(table: &mut Table) {
    let all = sized("THREADS", 1_000_000);
    let touched = sized("TOUCHED", 1_000).to_string();
    let folder = tempfile::tempdir_in("target").unwrap();
    let log = folder.path().join("bench.db");
    let (took, ()) = seconds(|| {
        let walk = pattern(0, 1);
        let mut growing = Growing::new(&log);
        (0..all).for_each(|n| growing.add(&walk, &format!("idle-{n}")));
        growing.close();
    });
    println!("a log of {all} threads was made in {took:.1} s");
    let (mut opened, mut used) = (Vec::new(), Vec::new());
    for run in 0..table.runs {
        let empty = folder.path().join(format!("empty-{run}.db"));
        let empty = said(&["reopen", empty.to_str().unwrap(), "new", &touched]);
        let full = said(&["reopen", log.to_str().unwrap(), "idle", &touched]);
        let pair = |word| (numbers(&full, word)[0], numbers(&empty, word)[0]);
        opened.push(pair("resident"));
        used.push(pair("touched"));
    }
    table.add(&format!("resident with {all} idle threads, opened"), "MB", "floor + 50 MB", &opened);
    table.add(&format!("resident with {touched} of them touched"), "MB", "floor + 50 MB", &used);
}
