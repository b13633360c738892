//! Programs that stay running: real shell and Python processes, their input and their output.

use systole_carriers::CarrierWaits;
use systole_core::types::composition::{ListenerProgram, Reach};
use systole_core::types::ports::CallBack;

use crate::script::{LOOP, each, pong, said};
use crate::stage::{Cast, QUICK, cast, folder, program, shell};

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
    let mut stage = cast(Reach::Process(ListenerProgram { by_length: true, ..reach })).start().joined().await;
    stage.hand_words("d1", "one\ntwo");
    stage.expect("said <reply", "delivery=\"d1\">\n<pong").await;
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
    let reach = ListenerProgram {
        env: [("REGION".to_owned(), "eu".to_owned())].into(),
        pass: vec!["SMTP_HOST".to_owned(), "NOT_SET".to_owned()],
        ..reach
    };
    let ours = [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/root"),
        ("LANG", "C.UTF-8"),
        ("TZ", "UTC"),
        ("SYSTOLE_OWN", "x"),
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
            "SYSTOLE_MODE=stay",
            "SYSTOLE_ORGANISM=hello",
            "SYSTOLE_OWN=x",
            "SYSTOLE_PROTOCOL=1",
            "TZ=UTC",
        ]
    );
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
async fn b10_a_program_is_told_of_a_cancel_and_may_still_answer() {
    let case = "case $line in '<cancel '*) answer $d;; *) say progress $d got;; esac";
    let patient = CarrierWaits { called_back_ms: 60_000, ..QUICK };
    let mut stage = each(case).paced(patient).start().joined().await;
    stage.hand("d1");
    assert_eq!(stage.report().await, said("progress", "d1", "got"));
    stage.call_back("d1", CallBack::Cancelled);
    assert_eq!(stage.report().await, pong("d1"));
    // The delivery is settled: calling it back again does nothing.
    stage.call_back("d1", CallBack::Cancelled);
    assert!(stage.stop().await.is_empty());
}

#[tokio::test]
async fn what_was_never_sent_is_called_back_at_once() {
    let slow_to_restart = CarrierWaits { first_pause_ms: 60_000, longest_pause_ms: 60_000, ..QUICK };
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
async fn a_delivery_without_a_listener_is_reported_too() {
    let mut stage = each("answer $d").start().joined().await;
    stage.hand_to("nobody", "d1");
    stage.expect("gone d1 route.unavailable", "").await;
    stage.carriers.stop_all().await;
    // More than fit in the queue of reports, so some wait for room.
    for delivery in ["d2", "d3", "d4", "d5", "d6", "d7"] {
        stage.hand(delivery);
    }
    for _ in 0..6 {
        stage.expect("gone d", "listener.down: the listener was stopped").await;
    }
}

#[tokio::test]
async fn a_turn_whose_record_holds_no_payload_is_gone_as_damaged() {
    let mut stage = each("answer $d").start().joined().await;
    stage.hand_damaged("d1");
    stage.expect("gone d1 thread.damaged: a record that this turn shows holds no payload: ", "").await;
    stage.hand("d2");
    stage.expect("said <", "delivery=").await;
}
