//! Programs that start once for each message.

use systole_carriers::CarrierWaits;
use systole_core::types::composition::{ListenerProgram, Reach};
use systole_core::types::ports::CallBack;
use systole_kit::DocumentLimits;
use systole_kit::reply::{ListenerDocument, ReplyContent};

use crate::stage::{CarrierStage, QUICK, alive, cast, folder, program, shell_once, until};

/// The local names of the items in the reply to `d1`, or in place of an item the code of its fault.
async fn items(stage: &mut CarrierStage) -> Vec<String> {
    let said = stage.expect("said ", "").await;
    let word =
        ListenerDocument::parse(said.strip_prefix("said ").unwrap().as_bytes(), &DocumentLimits::default());
    let Ok(ListenerDocument::Reply { delivery, said: ReplyContent::Items(items) }) = word else {
        panic!("{word:?}")
    };
    assert_eq!(delivery, "d1");
    let name = |item: systole_kit::reply::Item| match item.payload {
        Ok(payload) => payload.name().to_string(),
        Err(fault) => fault.code.to_owned(),
    };
    items.into_iter().map(name).collect()
}

#[tokio::test]
async fn d3_one_process_per_message_and_a_shell_script_is_enough() {
    let script = r#"grep -q '<ask' && echo '<pong xmlns="urn:t"/>'"#;
    let mut stage = shell_once(script).start().joined().await;
    for _ in 0..3 {
        stage.hand("d1");
        assert_eq!(items(&mut stage).await, ["{urn:t}pong"]);
    }
    assert!(stage.stop().await.is_empty());
}

#[tokio::test]
async fn elements_in_any_layout_are_items_and_the_rest_is_stray() {
    let script =
        r#"printf 'thinking…\n<a xmlns="urn:t">\n  <b/>\n</a> and <!-- so --> <p:c\nxmlns:p="urn:u"\n/>'"#;
    let mut stage = shell_once(script).start().joined().await;
    stage.hand("d1");
    assert_eq!(items(&mut stage).await, ["{urn:t}a", "{urn:u}c"]);
}

#[tokio::test]
async fn exit_0_without_output_is_an_empty_reply_even_with_stdin_unread() {
    let mut stage = shell_once("exit 0").start().joined().await;
    stage.hand_words("d1", &"x".repeat(900_000));
    assert!(items(&mut stage).await.is_empty());
}

#[tokio::test]
async fn what_is_wrong_with_an_element_is_left_to_the_judge() {
    for (output, code) in [
        ("<a xmlns=\"urn:t\"><b></a>", "payload.malformed"),
        ("<a xmlns=\"urn:t\">", "payload.malformed"),
        // An item without a namespace does not inherit the one of the reply.
        ("<a/>", "payload.no-namespace"),
    ] {
        let mut stage = shell_once(&format!("printf '%s' '{output}'")).start().joined().await;
        stage.hand("d1");
        assert_eq!(items(&mut stage).await, [code], "{output}");
    }
}

#[tokio::test]
async fn another_exit_code_is_a_failure_with_last_words() {
    let script = "echo '<pong xmlns=\"urn:t\"/>'; echo one; echo two >&2; exit 1";
    let mut stage = shell_once(script).start().joined().await;
    stage.hand("d1");
    let gone = stage.expect("gone d1 listener.failed: exited 1 after 0.", " s; last words on stderr: ").await;
    assert!(gone.contains("one") && gone.contains("two"), "{gone}");
}

#[tokio::test]
async fn a_signal_is_a_loss() {
    let mut stage = shell_once("kill -KILL $$").start().joined().await;
    stage.hand("d1");
    stage.expect("gone d1 listener.lost: killed by signal 9 (KILL) after", "").await;
}

#[tokio::test]
async fn several_run_beside_each_other() {
    // Each waits for the other's file, so neither ends unless both run.
    let script =
        r#"d=$(sed 's/.*delivery="\([^"]*\)".*/\1/'); touch $d; until test -e d1 -a -e d2; do :; done"#;
    let reach = program(&["/bin/sh", "-c", script], folder("beside_each_other"));
    let mut stage =
        cast(Reach::Process(ListenerProgram { stays: false, ..reach })).in_flight(2).start().joined().await;
    stage.hand("d1");
    stage.hand("d2");
    for _ in 0..2 {
        stage.expect("said ", "delivery=\"d").await;
    }
}

#[tokio::test]
async fn b10_a_called_back_one_is_killed_with_all_it_started() {
    let folder = folder("called_back_once");
    let script =
        "trap '' TERM; sleep 1000 & echo $$ $! > pids.new; mv pids.new pids; while :; do sleep 1000; done";
    let reach = program(&["/bin/sh", "-c", script], folder.clone());
    let mut stage = cast(Reach::Process(ListenerProgram { stays: false, ..reach })).start().joined().await;
    stage.hand("d1");
    until("it runs", || folder.join("pids").exists()).await;
    stage.call_back("d1", CallBack::TimedOut);
    stage.expect("gone d1 listener.timeout: stopped after", "it was called back").await;
    for pid in std::fs::read_to_string(folder.join("pids")).unwrap().split_whitespace() {
        until("a process is gone", || !alive(pid)).await;
    }
}

#[tokio::test]
async fn row_13_output_without_end_is_ended_with_reason() {
    for (script, why) in [
        ("echo '<a xmlns=\"urn:t\">'; tr '\\0' x < /dev/zero", "an element has more than 8388608 bytes"),
        ("yes '<a xmlns=\"urn:t\"/>'", "its output has more than 8388608 bytes"),
    ] {
        let mut stage = shell_once(script).start().joined().await;
        stage.hand("d1");
        stage.expect("gone d1 listener.failed: stopped after", why).await;
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_down_until_it_is() {
    let folder = folder("not_there_yet");
    let reach = program(&["./answer.sh"], folder.clone());
    let mut stage = cast(Reach::Process(ListenerProgram { stays: false, ..reach })).start();
    stage.expect("left: cannot start ./answer.sh from /", ": there is no such program").await;
    stage.hand("d1");
    stage.expect("away d1: cannot start ./answer.sh", "").await;
    // A link to a program that no process has open for writing.
    std::os::unix::fs::symlink("/bin/true", folder.join("answer.sh")).unwrap();
    stage.expect("joined", "").await;
    stage.hand("d1");
    assert!(items(&mut stage).await.is_empty());
}

#[tokio::test]
async fn what_ends_within_the_grace_of_a_stop_counts() {
    let folder = folder("stopped_in_time");
    let script = "touch runs; until test -e go; do :; done; echo '<pong xmlns=\"urn:t\"/>'";
    let reach = program(&["/bin/sh", "-c", script], folder.clone());
    let patient = CarrierWaits { eof_ms: 60_000, ..QUICK };
    let reach = Reach::Process(ListenerProgram { stays: false, ..reach });
    let mut stage = cast(reach).paced(patient).start().joined().await;
    stage.hand("d1");
    until("it runs", || folder.join("runs").exists()).await;
    // It may continue while the stop is in progress.
    tokio::join!(stage.carriers.stop_all(), async { std::fs::write(folder.join("go"), "").unwrap() });
    assert_eq!(items(&mut stage).await, ["{urn:t}pong"]);
}

#[tokio::test]
async fn a_stop_ends_what_runs() {
    let folder = folder("stopped_once");
    let reach = program(&["/bin/sh", "-c", "touch runs; sleep 1000"], folder.clone());
    let stage = cast(Reach::Process(ListenerProgram { stays: false, ..reach })).start().joined().await;
    stage.hand("d1");
    until("it runs", || folder.join("runs").exists()).await;
    let rest = stage.stop().await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert!(rest[0].starts_with("gone d1 listener.lost: stopped after"), "{rest:?}");
}

#[tokio::test]
async fn a_turn_whose_record_holds_no_payload_is_gone_as_damaged() {
    let mut stage = shell_once("cat > /dev/null; echo '<pong xmlns=\"urn:t\"/>'").start().joined().await;
    stage.hand_damaged("d1");
    stage.expect("gone d1 thread.damaged: a record that this turn shows holds no payload: ", "").await;
    stage.hand("d2");
    stage.expect("said <", "pong").await;
}
