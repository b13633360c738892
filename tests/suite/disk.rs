//! Faults of the disk in a whole organism, injected by strace into the real process: death between a
//! write and its sync, a disk that is full and then has room again, a sync that fails. The page cache
//! survives all of them, so these tests do not show the effect of a power cut.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use systole_api::types::ApiRefusal;
use systole_checker::log::LogSnapshot;
use systole_checker::{RunSettings, check_under};
use systole_client::client::{DoorClient, OutgoingMessage};
use systole_soak as soak;
use systole_soak::life::{self, LifeSettings, PATIENCE};

use crate::kills::Trial;
use crate::program::{ask_as, systole};

/// The system calls that make a write durable.
const SYNC: &str = "fdatasync,fsync";

/// A life under a fault: which calls fail, how, and when.
fn under(inject: &str) -> LifeSettings {
    let (calls, _) = inject.split_once(':').unwrap();
    let only = format!("trace={calls}");
    let fault = format!("inject={inject}");
    let mut tracer = vec!["strace", "-f", "-qq", "-o", "/dev/null", "-e", &only, "-e", &fault];
    if !inject.contains("signal=") {
        // Now only those calls stop the process, and all others run at full speed. With a signal to
        // inject, strace 6.1 does not see that moment.
        tracer.push("--seccomp-bpf");
    }
    LifeSettings { tracer: tracer.into_iter().map(str::to_owned).collect(), ..LifeSettings::default() }
}

/// Whether strace may trace here. If not, the test prints that and shows nothing.
fn may_trace() -> bool {
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let may = strace.status().is_ok_and(|status| status.success());
    if !may {
        println!("SKIPPED: strace is not here, or may not trace");
    }
    may
}

#[test]
fn c3_death_before_a_sync_loses_nothing_that_was_acknowledged() {
    if !may_trace() {
        return;
    }
    let trial = Trial::new(7);
    trial.lives();
    for n in [1, 2, 3, 5, 8, 13, 21] {
        let fault = format!("{SYNC}:signal=SIGKILL:when={n}");
        let (mut life, _) = trial.begin(&under(&fault));
        assert!(life.ends_within(PATIENCE), "{fault} never struck");
        trial.crowd.board().take_down();
        let status = life.end().unwrap();
        let words = life::last_words(&trial.house);
        assert_eq!(status.signal(), Some(Signal::KILL.as_raw()), "{fault}: {status}: {words}");
    }
    trial.judged("death before a sync");
}

#[test]
fn a_full_disk_fails_senders_but_not_readers() {
    if !may_trace() {
        return;
    }
    let trial = Trial::new(8);
    trial.lives();
    // After the writes that open the log; eight tries of the writer, which take nine seconds.
    let (life, runs) = trial.begin(&under("pwrite64:error=ENOSPC:when=40..47"));
    assert!(runs, "{}", life::last_words(&trial.house));
    let board = trial.crowd.board();
    let client = DoorClient::from_run_file(&trial.house.run_file().unwrap());
    // Each of these is refused for its own fault, and recorded, until nothing can be recorded.
    let refused = (0..1_000).map(|n| refused(&client, n)).find(|refusal| refusal.code != "payload.invalid");
    let refused = refused.expect("the fault never struck");
    assert_eq!(refused.code, "ingress.unavailable", "{refused:?}");

    // The health checks say it without a word: the server answers, and takes nothing.
    let run = trial.house.run_file().unwrap();
    let probe = |path: &str| ask_as(&run, "GET", path, &[], "").status;
    assert_eq!((probe("/healthz"), probe("/readyz")), (200, 503));

    // Each command that an operator asks says so, with the fix.
    let organism = trial.house.organism();
    std::thread::scope(|all| {
        for (command, exit) in [("ps", 0), ("why", 0), ("doctor", 3)] {
            let (folder, organism) = (trial.house.folder(), organism.to_str().unwrap());
            all.spawn(move || {
                let looked = systole(folder, &[command, "--organism", organism]);
                let told = flat(&[&*looked.stdout, &looked.stderr].concat());
                assert_eq!(looked.code, Some(exit), "{command}: {looked:?}");
                assert!(
                    told.contains("cannot be written: the disk is full; new messages"),
                    "{command}: {told}"
                );
                assert!(
                    told.contains("try: free space on that disk; it goes on by itself"),
                    "{command}: {told}"
                );
            });
        }
    });

    // Now nothing is stored, but everything that only reads still works.
    assert!(refused.retry_allowed && refused.message.contains("full"), "{refused:?}");
    let mut events = client.follow_records(0, Some("sys"), Some(PATIENCE)).unwrap();
    assert_eq!(events.next().unwrap().unwrap().seq, 1);
    let running = check_under(
        &LogSnapshot::open_file(&trial.house.log()).unwrap(),
        &[],
        &RunSettings { running: true, ..RunSettings::default() },
    );
    assert!(running.is_clean() && running.counts.records > 0, "{running}");
    for command in ["ps", "log"] {
        let looked = systole(trial.house.folder(), &[command, "--organism", organism.to_str().unwrap()]);
        assert!(looked.code == Some(0) && looked.stdout.contains("sess-"), "{command}: {looked:?}");
    }

    assert!(board.acknowledges(board.acknowledged() + 5, PATIENCE), "work is not taken up again");
    life.ask_to_stop();
    let status = life.end().unwrap();
    board.take_down();
    let words = std::fs::read_to_string(trial.house.words()).unwrap();
    assert!(status.success(), "{status}: {words}");
    let [begins, ends] =
        ["cannot be written: the disk is full; ", " note: /"].map(|line| words.matches(line).count());
    assert_eq!((begins, ends), (1, 1), "{words}");
    trial.judged("a full disk");
}

#[test]
fn stop_says_that_the_disk_was_full() {
    if !may_trace() {
        return;
    }
    let trial = Trial::new(15);
    trial.lives();
    let (mut life, runs) = trial.begin(&under("pwrite64:error=ENOSPC:when=40+"));
    assert!(runs, "{}", life::last_words(&trial.house));
    let client = DoorClient::from_run_file(&trial.house.run_file().unwrap());
    assert!((2_000..3_000).any(|n| refused(&client, n).code == "ingress.unavailable"));
    let organism = trial.house.organism();
    let stopped = systole(trial.house.folder(), &["stop", "--now", "--organism", organism.to_str().unwrap()]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    assert!(stopped.stderr.contains("has stopped\nnote: until it stopped, "), "{stopped:?}");
    assert!(stopped.stderr.contains("cannot be written: the disk is full"), "{stopped:?}");
    assert!(stopped.stderr.contains("nothing that was acknowledged is lost"), "{stopped:?}");
    assert!(life.ends_within(PATIENCE));
    trial.crowd.board().take_down();
    drop(life.end());
    trial.judged("a stop on a full disk");
}

/// A text without its line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn c15_a_tip_that_cannot_be_written_is_said_once_and_when_it_is_written_again() {
    if !may_trace() {
        return;
    }
    let trial = Trial::new(14);
    trial.lives();
    let mut settings = under("pwrite64:error=EIO:when=3..20");
    let tip = format!("{}.tip", trial.house.log().display());
    settings.tracer.extend(["-P".to_owned(), tip]);
    let (life, runs) = trial.begin(&settings);
    assert!(runs, "{}", life::last_words(&trial.house));
    let board = trial.crowd.board();
    assert!(board.acknowledges(board.acknowledged() + 60, PATIENCE), "{}", life::last_words(&trial.house));
    life.ask_to_stop();
    let status = life.end().unwrap();
    board.take_down();
    let words = std::fs::read_to_string(trial.house.words()).unwrap();
    assert!(status.success(), "{status}: {words}");
    let [begins, ends] = ["a log that loses its end may not be noticed; try: ", "the tip of "]
        .map(|line| words.matches(line).count());
    // The tracer counts for each thread, and two of them write the tip: what fails may end in between.
    assert!(begins == ends && (1..=2).contains(&begins), "{words}");
    trial.judged("a tip that cannot be written");
}

/// The refusal of a message that no listener accepts.
fn refused(client: &DoorClient, number: u64) -> ApiRefusal {
    let document = b"<pay xmlns=\"https://xml-pipeline.org/ns/till/v1\"><tokn>full</tokn></pay>";
    let key = format!("wrong-{number}");
    *client
        .send_message(&OutgoingMessage { key: &key, to: None, thread: None, subject: None, document })
        .unwrap()
        .unwrap_err()
}

#[test]
fn a_sync_that_fails_once_costs_nothing() {
    if !may_trace() {
        return;
    }
    // Listeners that are killed say much behind it, so all its words are read.
    let read_words = |trial: &Trial| std::fs::read_to_string(trial.house.words()).unwrap_or_default();
    let is_told = |words: &str| {
        words.contains(": a write failed: ") && words.contains("is repeated, and nothing is lost")
    };
    let mut told = Vec::new();
    for n in [4, 9] {
        let trial = Trial::new(9 + n);
        trial.lives();
        let fault = format!("{SYNC}:error=EIO:when={n}");
        let (mut life, runs) = trial.begin(&under(&fault));
        assert!(runs, "{fault}: {}", life::last_words(&trial.house));
        let board = trial.crowd.board();
        let more = board.acknowledged() + 20;
        // Either enough is accepted, or the organism ends.
        let decided =
            |_| board.acknowledges(more, Duration::from_secs(1)) || life.ends_within(Duration::ZERO);
        assert!((0..PATIENCE.as_secs()).any(decided), "{fault}: {}", life::last_words(&trial.house));
        let goes_on = board.acknowledged() >= more;
        if goes_on {
            // A write is repeated a second after it has failed, unless it was of another file.
            for _ in 0..10 {
                if is_told(&read_words(&trial)) || life.ends_within(Duration::ZERO) {
                    break;
                }
                board.acknowledges(u64::MAX, Duration::from_secs(1));
            }
            life.ask_to_stop();
        }
        // It may also have stopped because it was not sure: with an error, and not with a guess.
        let over = life.ends_within(PATIENCE);
        let status = life.end().unwrap();
        board.take_down();
        let words = life::last_words(&trial.house);
        let closed = [Some(5), Some(7)].contains(&status.code()) && words.contains("error");
        assert!(over && (status.success() || closed), "{fault}: {status}: {words}");
        told.push(read_words(&trial));
        trial.judged(&fault);
    }
    assert!(told.iter().any(|words| is_told(words)), "no failed write was reported with its end: {told:#?}");
}

#[test]
fn a_disk_that_syncs_no_more_closes_the_log_and_is_no_reason_to_acknowledge() {
    if !may_trace() {
        return;
    }
    let trial = Trial::new(12);
    trial.lives();
    let (life, runs) = trial.begin(&under(&format!("{SYNC}:error=EIO:when=11+")));
    assert!(runs, "{}", life::last_words(&trial.house));
    let status = life.end().unwrap();
    trial.crowd.board().take_down();
    let words = life::last_words(&trial.house);
    assert!([Some(5), Some(7)].contains(&status.code()) && words.contains("I/O"), "{status}: {words}");
    trial.judged("no sync any more");
}

#[test]
fn a_disk_that_is_full_from_the_start_is_reported_with_the_place() {
    if !may_trace() {
        return;
    }
    let trial = Trial::new(13);
    let (life, runs) = trial.begin(&under("pwrite64:error=ENOSPC:when=1+"));
    assert!(!runs);
    let status = life.end().unwrap();
    let words = life::last_words(&trial.house);
    assert!(
        status.code() == Some(5) && words.contains("soak.db") && words.contains("full"),
        "{status}: {words}"
    );
    drop(soak::rest(&trial.house, &LifeSettings::default(), trial.crowd));
}
