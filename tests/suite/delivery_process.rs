//! Programs that stay: real shell and Python processes, their answers, their ends.

use std::collections::BTreeMap;

use systole::edges::delivery::Pace;
use systole::words::composition::{Program, Reach};
use systole::words::ports::{CallBack, Heard};

use crate::stage::{Cast, QUICK, Stage, alive, cast, folder, program, shell, until};

/// Reads a line, takes the delivery out of it, and does CASE with it.
const LOOP: &str = r#"
say() { printf '<%s xmlns="urn:systole:listener:v1" delivery="%s">%s</%s>\n' "$1" "$2" "$3" "$1"; }
answer() { say reply "$1" '<pong xmlns="urn:t"/>'; }
while IFS= read -r line; do
  d=${line#*delivery=\"}; d=${d%%\"*}
  CASE
done
"#;

/// A shell script that does this for every line, with the delivery in `$d`.
fn each(case: &str) -> Cast {
    shell(&LOOP.replace("CASE", case))
}

fn said(what: &str, delivery: &str, inside: &str) -> String {
    let start = ["said <", what, " xmlns=\"urn:systole:listener:v1\" delivery=\"", delivery, "\">"].concat();
    [&start, inside, "</", what, ">"].concat()
}

fn pong(delivery: &str) -> String {
    said("reply", delivery, "<pong xmlns=\"urn:t\"/>")
}

#[tokio::test]
async fn d3_a_shell_script_that_stays_answers() {
    let mut stage = each("answer $d").start().joined().await;
    for delivery in ["d1", "d2"] {
        stage.hand(delivery);
        assert_eq!(stage.report().await, pong(delivery));
    }
    assert!(stage.stop().await.is_empty());
}

#[tokio::test]
async fn two_that_are_out_are_answered_out_of_order() {
    let case = "case $d in d1) first=$d;; d2) answer $d; answer $first;; esac";
    let mut stage = each(case).in_flight(2).start().joined().await;
    stage.hand("d1");
    stage.hand("d2");
    assert_eq!(stage.report().await, pong("d2"));
    assert_eq!(stage.report().await, pong("d1"));
}

#[tokio::test]
async fn a_line_break_in_a_document_does_not_break_the_line() {
    let mut stage = each("answer \"$d\"; say progress $d \"$line\"").start().joined().await;
    stage.hand_words("d1", "one\ntwo");
    assert_eq!(stage.report().await, pong("d1"));
    stage.expect("said <progress", "one&#10;two").await;
}

#[tokio::test]
async fn framing_by_length_carries_the_stored_bytes() {
    let script = r#"
import sys
print("good morning")
line = sys.stdin.buffer.readline()
document = sys.stdin.buffer.read(int(line))
assert b"one\ntwo" in document, document
reply = b'<reply xmlns="urn:systole:listener:v1" delivery="d1">\n<pong xmlns="urn:t"/></reply>'
sys.stdout.buffer.write(b"%d\n%s" % (len(reply), reply))
sys.stdout.flush()
sys.stdin.read()
"#;
    let reach = program(&["python3", "-c", script], "/".into());
    let mut stage = cast(Reach::Process(Program { by_length: true, ..reach })).start().joined().await;
    stage.hand_words("d1", "one\ntwo");
    stage.expect("said <reply", "delivery=\"d1\">\n<pong").await;
}

#[tokio::test]
async fn b11_a_death_is_told_with_last_words_and_the_program_starts_again() {
    let case = r#"case $d in d1) echo "KeyError: 'SEARCH_ROOT'" >&2; exit 1;; *) answer $d;; esac"#;
    let mut stage = each(case).start().joined().await;
    stage.hand("d1");
    let gone = stage.expect("gone d1 listener.lost: exited 1 after ", "").await;
    assert!(gone.ends_with("; last words on stderr: KeyError: 'SEARCH_ROOT'"), "{gone}");
    stage.expect("left: exited 1", "KeyError").await;
    stage.expect("joined", "").await;
    stage.hand("d2");
    assert_eq!(stage.report().await, pong("d2"));
}

#[tokio::test]
async fn a_reply_written_right_before_the_death_counts() {
    let mut stage = each("answer $d; exit 7").start().joined().await;
    stage.hand("d1");
    assert_eq!(stage.report().await, pong("d1"));
    stage.expect("left: exited 7", "no words on stderr").await;
}

#[tokio::test]
async fn row_23_a_reply_that_breaks_off_with_the_program_is_a_loss() {
    for (tail, counts) in [("</reply>", true), ("</reply", false), ("", false)] {
        let script = LOOP.replace(
            "CASE",
            "printf '%s' \"<reply xmlns='urn:systole:listener:v1' delivery='$d'>TAIL\"; exit 1",
        );
        let mut stage = shell(&script.replace("TAIL", tail)).start().joined().await;
        stage.hand("d1");
        let begins = if counts { "said <reply" } else { "gone d1 listener.lost: exited 1 after" };
        stage.expect(begins, "<reply").await;
    }
}

#[tokio::test]
async fn more_than_the_slots_is_refused_and_never_queued() {
    let mut stage = each("say progress $d got").start().joined().await;
    for delivery in ["d1", "d2", "d3"] {
        stage.hand(delivery);
    }
    stage.expect("gone d3 listener.throttled", "").await;
    assert_eq!(stage.report().await, said("progress", "d1", "got"));
    assert_eq!(stage.report().await, said("progress", "d2", "got"));
}

#[tokio::test]
async fn exit_0_without_an_answer_is_a_loss_even_with_stdin_unread() {
    let mut stage = shell("read -r first; exit 0").start().joined().await;
    stage.hand_words("d1", &"x".repeat(900_000));
    stage.expect("gone d1 listener.lost: exited 0 without answering after", "").await;
}

#[tokio::test]
async fn a_signal_is_named() {
    let mut stage = each("kill -SEGV $$").start().joined().await;
    stage.hand("d1");
    stage.expect("gone d1 listener.lost: killed by signal 11 (SEGV) after", "").await;
}

#[tokio::test]
async fn a_program_that_closes_its_stdout_and_goes_on_is_stopped() {
    let mut stage = shell("read -r line; exec 1>&-; read -r line; sleep 1000").start().joined().await;
    stage.hand("d1");
    stage.expect("gone d1 listener.lost: stopped after", "closed its stdin or stdout and went on").await;
}

#[tokio::test]
async fn after_five_deaths_in_a_row_a_listener_is_down_until_it_stays_up() {
    let folder = folder("down_after_five");
    let script = "echo try >> tries; test -e here || { echo no here >&2; exit 3; }\n".to_owned()
        + &LOOP.replace("CASE", "answer $d");
    let reach = Reach::Process(program(&["/bin/sh", "-c", &script], folder.clone()));
    let mut stage = cast(reach).start();
    for _ in 0..4 {
        stage.expect("joined", "").await;
        stage.expect("left: exited 3", "last words on stderr: no here").await;
    }
    stage.expect("joined", "").await;
    stage.expect("down: exited 3", "last words on stderr: no here").await;
    stage.hand("d1");
    stage.expect("gone d1 listener.down: exited 3", "no here").await;
    // Two more tries that fail change nothing for the pump, so nothing is reported of them.
    let tries =
        || std::fs::read_to_string(folder.join("tries")).is_ok_and(|tries| tries.lines().count() >= 8);
    until("it was tried again", tries).await;
    std::fs::write(folder.join("here"), "").unwrap();
    stage.expect("joined", "").await;
    stage.hand("d2");
    assert_eq!(stage.report().await, pong("d2"));
}

#[tokio::test]
async fn an_answer_breaks_the_row_of_deaths() {
    let mut stage = each("answer $d; exit 1").start().joined().await;
    for _ in 0..7 {
        stage.hand("d1");
        assert_eq!(stage.report().await, pong("d1"));
        stage.expect("left: exited 1", "").await;
        stage.expect("joined", "").await;
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_down_at_once() {
    for (run, tried) in [
        ("no-such-program", "cannot start no-such-program, looked for in /"),
        ("./missing.sh", "cannot start ./missing.sh from /: No such file or directory"),
        ("./etc", "cannot start ./etc from /: Permission denied"),
    ] {
        let mut stage = cast(Reach::Process(program(&[run], "/".into()))).start();
        stage.expect(&["down: ", tried].concat(), "(os error").await;
        stage.hand("d1");
        stage.expect(&["gone d1 listener.down: ", tried].concat(), "").await;
    }
}

#[tokio::test]
async fn stray_text_is_kept_like_stderr_and_is_no_failure() {
    let case = "echo starting up; answer $d; read -r line; exit 1";
    let mut stage = each(case).start().joined().await;
    stage.hand("d1");
    assert_eq!(stage.report().await, pong("d1"));
    stage.hand("d2");
    stage.expect("gone d2 listener.lost: exited 1", "last words on stderr: starting up").await;
}

#[tokio::test]
async fn what_begins_like_a_reply_goes_up_however_broken() {
    let mut stage =
        each("echo '<reply delivery='; say notice $d a; say reply $d '<a></b>'").start().joined().await;
    stage.hand("d1");
    assert_eq!(stage.report().await, "said <reply delivery=");
    assert_eq!(stage.report().await, said("notice", "d1", "a"));
    assert_eq!(stage.report().await, said("reply", "d1", "<a></b>"));
    // Its last document named the delivery, so nothing is owed any more.
    assert!(stage.stop().await.is_empty());
}

#[tokio::test]
async fn the_environment_is_exactly_as_promised() {
    let script = "tr '\\0' '\\n' < /proc/$$/environ >&2; read -r line; exit 1";
    let reach = program(&["/bin/sh", "-c", script], "/".into());
    let reach = Program {
        env: [("REGION".to_owned(), "eu".to_owned())].into(),
        pass: vec!["SMTP_HOST".to_owned(), "NOT_SET".to_owned()],
        ..reach
    };
    let ours = [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/root"),
        ("LANG", "C.UTF-8"),
        ("TZ", "UTC"),
        ("SYSTOLE_MODE", "x"),
        ("SMTP_HOST", "mail"),
        ("ANTHROPIC_API_KEY", "secret"),
        ("REGION", "us"),
        ("LD_PRELOAD", "evil.so"),
    ];
    let surroundings = ours.map(|(name, value)| (name.into(), value.into())).into();
    let mut stage = Cast { surroundings, ..cast(Reach::Process(reach)) }.start().joined().await;
    stage.hand("d1");
    let gone = stage.expect("gone d1 listener.lost", "").await;
    let mut seen: Vec<&str> = gone.split_once("stderr: ").unwrap().1.lines().collect();
    seen.sort_unstable();
    assert_eq!(
        seen,
        [
            "HOME=/root",
            "LANG=C.UTF-8",
            "PATH=/usr/bin:/bin",
            "PYTHONUNBUFFERED=1",
            "REGION=eu",
            "SMTP_HOST=mail",
            "SYSTOLE_LISTENER=echo",
            "SYSTOLE_MODE=x",
            "SYSTOLE_ORGANISM=hello",
            "TZ=UTC",
        ]
    );
}

#[tokio::test]
async fn row_13_a_stream_without_a_line_break_is_ended_with_reason() {
    let mut stage = shell("read -r line; tr '\\0' x < /dev/zero").start().joined().await;
    stage.hand("d1");
    stage.expect("gone d1 listener.lost: stopped after", "a line has more than 8388608 bytes").await;
    stage.expect("left: stopped after", "").await;
}

#[tokio::test]
async fn a_program_that_reads_slowly_gets_everything() {
    let script = r#"
import re, sys, os
line = b""
while not line.endswith(b"\n"):
    line += os.read(0, 1000)
delivery = re.search(rb'delivery="(.*?)"', line).group(1)
print('<progress xmlns="urn:systole:listener:v1" delivery="%s">%d</progress>' % (delivery.decode(), line.count(b"~")))
sys.stdin.read()
"#;
    let mut stage =
        cast(Reach::Process(program(&["python3", "-c", script], "/".into()))).start().joined().await;
    stage.hand_words("d1", &"~".repeat(900_000));
    stage.expect("said <progress", ">900000</progress>").await;
}

#[tokio::test]
async fn d5_a_slow_pump_makes_the_program_wait_and_loses_nothing() {
    let case = "i=0; while [ $i -lt 5000 ]; do say progress $d $i; i=$((i+1)); done; echo done > finished; answer $d";
    let folder = folder("slow_pump");
    let script = LOOP.replace("CASE", case);
    let reach = Reach::Process(program(&["/bin/sh", "-c", &script], folder.clone()));
    let mut stage = cast(reach).start().joined().await;
    stage.hand("d1");
    assert_eq!(stage.report().await, said("progress", "d1", "0"));
    // 5,000 lines are more than the pipe, one chunk and the queue of reports hold.
    assert!(!folder.join("finished").exists());
    for i in 1..5000 {
        assert_eq!(stage.report().await, said("progress", "d1", &i.to_string()));
    }
    assert_eq!(stage.report().await, pong("d1"));
}

#[tokio::test]
async fn a_grandchild_dies_with_the_program() {
    let mut stage = each("sleep 1000 & say progress $d $!; exec 1>&-; kill -9 $$").start().joined().await;
    stage.hand("d1");
    let progress = stage.expect("said <progress", "").await;
    let pid = progress.split(['>', '<']).nth(2).unwrap().to_owned();
    stage.expect("gone d1 listener.lost: killed by signal 9 (KILL)", "").await;
    until("the grandchild is gone", || !alive(&pid)).await;
}

#[tokio::test]
async fn a_grandchild_that_left_the_group_and_holds_the_pipes_delays_nobody() {
    let folder = folder("left_the_group");
    let case = "case $d in d1) setsid sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 1000' & ;; *) exit 1;; esac";
    let reach = program(&["/bin/sh", "-c", &LOOP.replace("CASE", case)], folder.clone());
    let mut stage = cast(Reach::Process(reach)).in_flight(2).start().joined().await;
    stage.hand("d1");
    until("it has left", || folder.join("pid").exists()).await;
    stage.hand("d2");
    for _ in 0..2 {
        stage.expect("gone d", "listener.lost: exited 1").await;
    }
    let pid = std::fs::read_to_string(folder.join("pid")).unwrap().trim().parse().unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
}

#[tokio::test]
async fn a_stopped_program_that_holds_a_called_back_delivery_is_killed() {
    let case =
        "case $d in d3) answer $d;; d1) say progress $d got;; d2) say progress $d got; kill -STOP $$;; esac";
    let mut stage = each(case).in_flight(2).start().joined().await;
    for delivery in ["d1", "d2"] {
        stage.hand(delivery);
        assert_eq!(stage.report().await, said("progress", delivery, "got"));
    }
    stage.call_back("d1", CallBack::TimedOut);
    let mut gone = [stage.report().await, stage.report().await];
    gone.sort_unstable();
    for (gone, begins) in
        gone.iter().zip(["gone d1 listener.timeout: stopped", "gone d2 listener.lost: stopped"])
    {
        assert!(
            gone.starts_with(begins) && gone.contains("held on to a delivery that was called back"),
            "{gone}"
        );
    }
    stage.expect("left: stopped after", "").await;
    stage.expect("joined", "").await;
    stage.hand("d3");
    assert_eq!(stage.report().await, pong("d3"));
}

#[tokio::test]
async fn b10_a_program_is_told_of_a_cancel_and_may_still_answer() {
    let case = "case $line in '<cancel '*) answer $d;; *) say progress $d got;; esac";
    let patient = Pace { called_back_ms: 60_000, ..QUICK };
    let mut stage = each(case).paced(patient).start().joined().await;
    stage.hand("d1");
    assert_eq!(stage.report().await, said("progress", "d1", "got"));
    stage.call_back("d1", CallBack::Cancelled);
    assert_eq!(stage.report().await, pong("d1"));
    // It is settled: calling it back once more does nothing.
    stage.call_back("d1", CallBack::Cancelled);
    assert!(stage.stop().await.is_empty());
}

#[tokio::test]
async fn what_was_never_sent_is_called_back_at_once() {
    let slow_to_restart = Pace { first_pause_ms: 60_000, longest_pause_ms: 60_000, ..QUICK };
    let mut stage = shell("exit 1").paced(slow_to_restart).start().joined().await;
    stage.expect("left: exited 1", "").await;
    stage.hand("d1");
    stage.call_back("d1", CallBack::Cancelled);
    stage.expect("gone d1 thread.cancelled: called back before the listener had it", "").await;
    stage.hand("d2");
    assert_eq!(stage.stop().await.len(), 1);
}

#[tokio::test]
async fn b10_what_waits_behind_a_stuck_document_is_called_back_at_once() {
    let mut stage = shell("sleep 1000").in_flight(2).start().joined().await;
    stage.hand_words("d1", &"x".repeat(900_000));
    stage.hand("d2");
    stage.call_back("d2", CallBack::Cancelled);
    stage.expect("gone d2 thread.cancelled: called back before the listener had it", "").await;
}

#[tokio::test]
async fn a_stop_ends_the_program_that_ignores_it_and_all_it_started() {
    let case =
        "trap '' TERM; sleep 1000 & say progress $d \"$$ $!\"; trap '' TERM; while :; do sleep 1000; done";
    let mut stage = each(case).start().joined().await;
    stage.hand("d1");
    let progress = stage.expect("said <progress", "").await;
    let pids = progress.split(['>', '<']).nth(2).unwrap().to_owned();
    let rest = stage.stop().await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert!(rest[0].starts_with("gone d1 listener.lost: stopped with the organism after"), "{rest:?}");
    for pid in pids.split(' ') {
        until("a process is gone", || !alive(pid)).await;
    }
}

#[tokio::test]
async fn a_reply_within_the_grace_of_a_stop_lands() {
    let script = LOOP.replace("CASE", "held=$d; say progress $d held") + "answer $held";
    let patient = Pace { eof_ms: 60_000, ..QUICK };
    let mut stage = shell(&script).paced(patient).start().joined().await;
    stage.hand("d1");
    assert_eq!(stage.report().await, said("progress", "d1", "held"));
    assert_eq!(stage.stop().await, [pong("d1")]);
}

/// The delivery a report is about, if it settles one.
fn settled(report: &Heard) -> Option<String> {
    match report {
        Heard::Gone { token, .. } => Some(token.0.to_string()),
        Heard::Said { document, .. } => {
            let text = String::from_utf8_lossy(document);
            Some(text.split('"').nth(3).unwrap().to_owned())
        }
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_delivery_has_one_report_whatever_happens() {
    const ALL: usize = 400;
    const OUT: usize = 4;
    // It dies over every seventh, keeps every eleventh for ever, and answers the rest, but no cancel.
    let case = "n=${d#d}
        case $line in '<cancel '*) continue;; esac
        if [ $((n % 7)) = 3 ]; then exit 1; elif [ $((n % 11)) != 5 ]; then answer $d; fi";
    let restless = Pace { called_back_ms: 1, deaths: 1_000, longest_pause_ms: 2, ..QUICK };
    let mut stage = each(case).in_flight(OUT).paced(restless).start();
    let mut reports = BTreeMap::<String, usize>::new();
    let mut handed = 0;
    while reports.len() < ALL {
        while handed < ALL && handed - reports.len() < OUT {
            let delivery = ["d", &handed.to_string()].concat();
            stage.hand(&delivery);
            if handed % 11 == 5 || handed % 5 == 0 {
                stage.call_back(&delivery, CallBack::TimedOut);
            }
            handed += 1;
        }
        if let Some(delivery) = settled(&stage.next().await) {
            *reports.entry(delivery).or_default() += 1;
        }
    }
    assert_eq!(stage.stop().await.iter().filter(|rest| !rest.starts_with("left")).count(), 0);
    reports.retain(|_, times| *times != 1);
    assert!(reports.is_empty(), "{reports:?}");
}

/// A program that is at work on `d1` and ends for nothing but a signal, and its process id.
async fn at_work() -> (Stage, String) {
    let mut stage = each("say progress $d $$; exec sleep 1000").start().joined().await;
    stage.hand("d1");
    let progress = stage.expect("said <progress", "").await;
    (stage, progress.split(['>', '<']).nth(2).unwrap().to_owned())
}

#[tokio::test]
async fn carriers_that_are_dropped_leave_no_process() {
    let (stage, pid) = at_work().await;
    drop(stage);
    until("the program is gone", || !alive(&pid)).await;
}

#[test]
fn a_runtime_that_is_dropped_leaves_no_process() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let dropped = runtime();
    let (_stage, pid) = dropped.block_on(at_work());
    drop(dropped);
    runtime().block_on(until("the program is gone", || !alive(&pid)));
}

/// Where the organism that is to be killed has its folder; set only by the test that kills it.
const VICTIM: &str = "SUITE_VICTIM_FOLDER";

#[tokio::test]
#[ignore = "the organism that the next test kills"]
async fn victim() {
    let Some(folder) = std::env::var_os(VICTIM) else { return };
    let script = "echo $$ > pid.new; mv pid.new pid; while read -r line; do :; done; touch saw_the_end";
    let reach = Reach::Process(program(&["/bin/sh", "-c", script], folder.into()));
    let _stage = cast(reach).start().joined().await;
    std::future::pending().await
}

#[tokio::test]
async fn a_killed_organism_ends_its_programs_by_the_end_of_their_stdin() {
    let folder = folder("killed_organism");
    let mut organism = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "delivery_process::victim"])
        .env(VICTIM, &folder)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    until("the program runs", || folder.join("pid").exists()).await;
    organism.kill().unwrap();
    organism.wait().unwrap();
    until("the program saw the end", || folder.join("saw_the_end").exists()).await;
    let pid = std::fs::read_to_string(folder.join("pid")).unwrap();
    until("the program is gone", || !alive(pid.trim())).await;
}

#[tokio::test]
async fn a_delivery_nobody_takes_is_reported_too() {
    let mut stage = each("answer $d").start().joined().await;
    stage.hand_to("nobody", "d1");
    stage.expect("gone d1 route.unavailable", "").await;
    stage.carriers.stop().await;
    // More than the queue of reports holds, so some have to wait for room.
    for delivery in ["d2", "d3", "d4", "d5", "d6", "d7"] {
        stage.hand(delivery);
    }
    for _ in 0..6 {
        stage.expect("gone d", "listener.down: the listener was stopped").await;
    }
}
