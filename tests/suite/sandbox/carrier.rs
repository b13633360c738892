//! The carrier of programs keeps its promises for a program in a sandbox: answers, cancels, the end of the whole group,
//! last words.

use systole_core::types::composition::{ListenerProgram, Reach};
use systole_core::types::ports::{CallBack, CarrierReport};

use super::none_is_left;
use crate::script::{LOOP, pong};
use crate::stage::{Cast, cast, folder, program};

/// A shell script in a sandbox that does this for every line.
fn sandboxed(test: &str, case: &str) -> Cast {
    shell(test, &LOOP.replace("CASE", case))
}

fn shell(test: &str, script: &str) -> Cast {
    let plain = program(&["/bin/sh", "-c", script], folder(test));
    cast(Reach::Process(ListenerProgram { sandbox: Some(Box::default()), ..plain }))
}

#[tokio::test]
async fn g2_a_sandboxed_program_that_stays_answers_and_its_level_is_reported() {
    let mut stage = sandboxed("sandbox-answers", "answer $d").start();
    match stage.next().await {
        CarrierReport::Joined { sandbox, .. } => assert_eq!(sandbox, Some("full")),
        other => panic!("{other:?}"),
    }
    for delivery in ["d1", "d2"] {
        stage.hand(delivery);
        assert_eq!(stage.report().await, pong(delivery));
    }
    assert!(stage.stop().await.is_empty());
}

#[tokio::test]
async fn g2_last_words_and_exits_come_out_of_a_sandbox() {
    let mut stage = sandboxed("sandbox-words", "echo too bad >&2; exit 3").start().joined().await;
    stage.hand("d1");
    stage.expect("gone d1 listener.lost: exited 3", "last words on stderr: too bad").await;
    let mut stage = sandboxed("sandbox-killed", "kill -KILL $$").start().joined().await;
    stage.hand("d1");
    stage.expect("gone d1 listener.lost: killed by signal 9 (KILL)", "").await;
}

#[tokio::test]
async fn g2_a_sandboxed_program_that_ignores_a_cancel_is_killed_with_all_it_started() {
    let marker = format!("sandbox-stubborn-{}", std::process::id());
    let case = format!(
        "sh -c 'sleep 600; : {marker}' & setsid sh -c 'sleep 600; : {marker}' & say progress $d up; wait"
    );
    let script = format!("trap '' TERM\n{}", LOOP.replace("CASE", &case));
    let mut stage = shell("sandbox-stubborn", &script).start().joined().await;
    stage.hand("d1");
    stage.expect("said <progress", "up").await;
    stage.call_back("d1", CallBack::Cancelled);
    stage.expect("gone d1 thread.cancelled", "").await;
    stage.expect("left", "kept a delivery that was called back").await;
    drop(stage.stop().await);
    none_is_left(&marker).await;
}

#[tokio::test]
async fn g2_a_sandboxed_program_for_one_message_hears_term_and_may_end_by_itself() {
    let script = "cat > /dev/null; trap 'echo heard >&2; exit 5' TERM; echo ready >&2; \
                  while :; do sleep 0.05; done";
    let plain = program(&["/bin/sh", "-c", script], folder("sandbox-term"));
    let program = ListenerProgram { stays: false, sandbox: Some(Box::default()), ..plain };
    let mut stage = cast(Reach::Process(program)).start().joined().await;
    stage.hand("d1");
    // The program may be called back before it is ready; then TERM ends it without a word.
    stage.call_back("d1", CallBack::TimedOut);
    stage.expect("gone d1 listener.timeout", "called back").await;
    drop(stage.stop().await);
}

#[tokio::test]
async fn g2_a_program_that_is_not_there_is_reported_as_without_a_sandbox() {
    let plain = program(&["no-such-program"], folder("sandbox-missing"));
    let reach = ListenerProgram { sandbox: Some(Box::default()), ..plain };
    let mut stage = cast(Reach::Process(reach)).start();
    stage.expect("left: cannot start no-such-program, looked for in ", "there is no such program").await;
}
