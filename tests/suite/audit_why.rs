//! C7: `why` names the leaf cause of a wait, since when it lasts, what ends it, and the command.

use systole_core::pump::state::ThreadState;
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::record::{MessageRole, RecordCode, RecordKind, TimerEffect};
use systole_core::types::time::Millis;
use systole_queries::anew::AnewLinks;
use systole_queries::log_state::LogState;
use systole_queries::posts::DueCalls;
use systole_queries::why::{
    AfterAttempt, CallWait, FailedAttempt, ModelPause, ThreadWaits, WaitReason, in_lines, list_broken, waits,
};
use systole_show::layout::{clock, moment};

use super::audit_stage::{
    Actor, cast, flat, look, narrow, payload, standing, standing_in, stop, until, words,
};
use super::organism::{ask, outcome, start};

const HUNG: Actor<'_> = Actor("search", "search", "found", &["timeout: 1h"]);

#[tokio::test]
async fn c7_why_names_a_hung_listener_its_program_its_start_and_the_end_of_the_wait() {
    let folder = cast(&[HUNG]);
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("search", "login"), None).await.unwrap();
    let found = standing(&organism, &receipt.thread);
    let [leaf] = found.leaves()[..] else { panic!("{found:?}") };
    assert_eq!((leaf.listener.as_str(), leaf.call.as_str(), leaf.turn), ("search", "1", 1));
    let request = organism.reader().of_thread(&receipt.thread, 1, 1).unwrap().remove(0).1;
    assert_eq!(leaf.since, request.header.time, "it is out since it was asked");
    let CallWait::Out { deadline: Some(deadline), idle_ms: None, then } = leaf.cause else {
        panic!("{leaf:?}")
    };
    assert_eq!((deadline, then), (request.header.time.add_ms(3_600_000), AfterAttempt::Attempt(2)));

    let (report, line) = words(&found, None);
    assert!(report.contains("search attempt 1 of 3 out for"), "{report}");
    assert!(report.contains("program: python3 actor.py"), "{report}");
    let since = clock(leaf.since);
    assert!(report.contains(&format!("waits since {since}")), "{report}");
    assert_eq!(report.matches(&since).count(), 1, "the moment is said once: {report}");
    assert!(report.contains(&format!("timeout at {}", moment(deadline, leaf.since))), "{report}");
    assert!(flat(&report).contains("; then attempt 2"), "{report}");
    let next = format!("next: systole log {} --from 1", receipt.thread.as_str());
    assert!(report.ends_with(&next), "{report}");
    assert!(line.contains("for search: attempt 1 of 3 out"), "{line}");
    assert!(line.ends_with(&format!("systole why {}", receipt.thread.as_str())), "{line}");
    stop(organism).await;
}

#[tokio::test]
async fn c7_back_off_tells_how_the_last_attempt_failed_and_the_fix() {
    let fails =
        "run: [sh, -c, \"read line; echo Traceback >&2; echo \\\"KeyError: 'SEARCH_ROOT'\\\" >&2; exit 1\"]";
    let folder = cast(&[Actor(
        "search",
        "search",
        "found",
        &[fails, "mode: once", "retry: {attempts: 3, backoff: 1h..1h}"],
    )]);
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("search", "login"), None).await.unwrap();
    until(&organism, |r| r.header.kind == RecordKind::Attempt).await;
    let found = standing(&organism, &receipt.thread);
    let [leaf] = found.leaves()[..] else { panic!("{found:?}") };
    let CallWait::BackOff { until } = leaf.cause else { panic!("{leaf:?}") };
    let (report, line) = words(&found, None);
    assert!(report.contains("search attempt 2 of 3 in back-off for"), "{report}");
    assert!(report.contains("before: exited 1 after"), "{report}");
    assert!(report.contains("last words on stderr: KeyError: 'SEARCH_ROOT'"), "{report}");
    assert!(!report.contains("stderr: Traceback"), "only the last line is printed: {report}");
    assert!(
        flat(&report)
            .contains("sees only PATH, HOME, LANG, TZ; name SEARCH_ROOT under listeners.search.pass"),
        "{report}"
    );
    assert!(report.contains(&format!("ends with: attempt 2 at {}", moment(until, leaf.since))), "{report}");
    assert!(line.contains("attempt 2 of 3 in back-off"), "{line}");
    stop(organism).await;
}

/// A planner that calls `search` twice at once and spawns a thread for `deputy`, which calls the hung
/// `dig`. One search answers, the other hangs too.
fn two_levels() -> tempfile::TempDir {
    let calls = concat!(
        "env: {TURN_1: '<spawn-thread xmlns=\"https://xml-pipeline.org/ns/core/v1\" suggested_sub_id=\"heat\">",
        "<initial-payload><search xmlns=\"urn:t\">deep</search></initial-payload></spawn-thread>",
        "<dig xmlns=\"urn:t\">here</dig>'}"
    );
    let deputy = "env: {TURN_1: '<dig xmlns=\"urn:t\">there</dig>'}";
    cast(&[
        Actor("planner", "plan", "planned", &[calls, "turns: 9", "peers: [deputy, dig]"]),
        Actor("deputy", "search", "found", &[deputy, "turns: 9", "peers: [dig]"]),
        Actor("dig", "dig", "dug", &["in_flight: 2"]),
    ])
}

#[tokio::test]
async fn c7_the_leaves_are_found_through_a_call_and_through_a_child_thread() {
    let folder = two_levels();
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("plan", "all"), None).await.unwrap();
    let child = receipt.thread.make_child("heat").unwrap();
    let dug = |thread: &ThreadId| {
        let thread = thread.clone();
        move |r: &systole_core::types::record::Record| {
            r.header.thread == thread
                && r.header.code == Some(RecordCode::Role(MessageRole::Call))
                && r.header.to == Some(Name::parse("dig").unwrap())
        }
    };
    until(&organism, dug(&receipt.thread)).await;
    until(&organism, dug(&child)).await;
    let found = standing(&organism, &receipt.thread);
    let [planner] = &found.reasons[..] else { panic!("{found:?}") };
    assert!(matches!(planner.cause, CallWait::Joining { answered: 1, items: 2 }), "{planner:?}");
    let leaves: Vec<(&str, &str)> =
        found.leaves().iter().map(|l| (l.thread.as_str(), l.call.as_str())).collect();
    assert_eq!(leaves, [(receipt.thread.as_str(), "1/1.1"), (child.as_str(), "1/1.0")]);
    let (report, line) = words(&found, None);
    assert!(report.contains("planner is in turn 1, 1 of 2 items answered (call 1)"), "{report}");
    assert!(report.contains("\n  └─ dig attempt 1 of 3 out"), "{report}");
    assert!(report.contains(&format!("└─ deputy in its own thread {}", child.as_str())), "{report}");
    assert!(report.contains("\n    └─ dig attempt 1 of 3 out"), "{report}");
    assert_eq!(line.matches("for dig: attempt 1 of 3 out").count(), 2, "each leaf is a wait: {line}");
    assert!(line.contains(&format!("systole why {}", child.as_str())), "{line}");

    let below = standing(&organism, &child);
    assert_eq!(below.leaves().len(), 1, "a child is asked for by itself: {below:?}");
    stop(organism).await;
}

#[tokio::test]
async fn c7_a_wait_for_children_shows_how_many_are_missing_and_the_open_child() {
    let calls = concat!(
        "env: {TURN_1: '<spawn-thread xmlns=\"https://xml-pipeline.org/ns/core/v1\" suggested_sub_id=\"heat\">",
        "<initial-payload><search xmlns=\"urn:t\">deep</search></initial-payload></spawn-thread>",
        "<await-threads xmlns=\"https://xml-pipeline.org/ns/core/v1\" mode=\"all\"/>'}"
    );
    let folder = cast(&[Actor("planner", "plan", "planned", &[calls, "turns: 9", "peers: [search]"]), HUNG]);
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("plan", "all"), None).await.unwrap();
    until(&organism, |r| r.header.code == Some(RecordCode::Role(MessageRole::Await))).await;
    let found = standing(&organism, &receipt.thread);
    let [planner] = &found.reasons[..] else { panic!("{found:?}") };
    assert_eq!(planner.cause, CallWait::Awaiting { finished: 0, enough: 1, timer: None });
    let [leaf] = found.leaves()[..] else { panic!("{found:?}") };
    assert_eq!(leaf.thread, receipt.thread.make_child("heat").unwrap(), "the child is what ends the wait");
    let (report, line) = words(&found, None);
    assert!(report.contains("planner is in turn 1, awaits 1 thread, 0 finished (call 1)"), "{report}");
    assert!(line.contains("for search: attempt 1 of 3 out"), "{line}");
    stop(organism).await;
}

#[tokio::test]
async fn c7_a_wait_for_a_timer_names_it_and_its_moment_also_where_the_thread_rests() {
    let core = "xmlns=\"https://xml-pipeline.org/ns/core/v1\"";
    let timer = format!("<set-timer {core} id=\"tea\" every=\"1h\">drink</set-timer>");
    let sleeps = format!("env: {{TURN_1: '{timer}<await-threads {core} mode=\"all\"/>'}}");
    let rests = format!("env: {{TURN_1: '{timer}', TURN_2: '<found xmlns=\"urn:t\">now</found>'}}");
    let folder = cast(&[
        Actor("planner", "plan", "planned", &[&sleeps, "turns: 9"]),
        Actor("search", "search", "found", &[&rests, "turns: 9"]),
    ]);
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("plan", "all"), None).await.unwrap();
    until(&organism, |r| r.header.code == Some(RecordCode::Role(MessageRole::Await))).await;
    let found = standing(&organism, &receipt.thread);
    let [leaf] = found.leaves()[..] else { panic!("{found:?}") };
    let CallWait::Awaiting { enough: 0, timer: Some((id, due)), .. } = &leaf.cause else {
        panic!("{leaf:?}")
    };
    assert_eq!((id.as_str(), *due), ("tea", leaf.since.add_ms(3_600_000)));
    let (report, line) = words(&found, None);
    assert!(report.contains("planner is in turn 1, awaits timer tea, due in 59 m"), "{report}");
    // In an hour it may be another day.
    let since = leaf.since;
    assert!(report.contains(&format!("ends with: timer tea at {}", moment(*due, since))), "{report}");
    assert!(line.contains("for planner: awaits timer tea"), "{line}");

    let receipt = ask(&organism, "k2", &payload("search", "x"), None).await.unwrap();
    outcome(&organism, &receipt).await;
    let found = standing(&organism, &receipt.thread);
    assert_eq!((found.life, found.timers.len()), (ThreadState::Resting, 1));
    let (report, _) = words(&found, Some("systole run"));
    let told = format!("timer tea at {}, in 59 m", moment(found.timers[0].due, since));
    assert!(report.contains(&told) && report.contains("opens a call of search"), "{report}");
    assert!(report.contains("systole run"), "nothing fires while nothing runs: {report}");
    stop(organism).await;
}

#[tokio::test]
async fn c7_the_time_of_a_message_is_reported_with_whether_it_runs() {
    let core = "xmlns=\"https://xml-pipeline.org/ns/core/v1\"";
    let sleeps =
        format!("env: {{TURN_1: '<set-timer {core} after=\"1h\"/><await-threads {core} mode=\"all\"/>'}}");
    let folder = cast(&[Actor("planner", "plan", "planned", &[&sleeps, "turns: 9"]), HUNG]);
    let file = folder.path().join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text + "budgets: {wall: 30m}\n").unwrap();
    let organism = start(folder.path()).await;
    let works = ask(&organism, "k1", &payload("search", "login"), None).await.unwrap();
    let waits = ask(&organism, "k2", &payload("plan", "all"), None).await.unwrap();
    until(&organism, |r| r.header.code == Some(RecordCode::Timing(TimerEffect::Wall))).await;
    let mut found = standing(&organism, &works.thread);
    found.times[0].runs = found.times[0].runs.map(|since| Millis(since.0 - 300_000));
    let (report, _) = words(&found, None);
    let time = report.lines().find(|line| line.contains("time: 5 m")).unwrap_or_else(|| panic!("{report}"));
    assert!(time.ends_with(" of 30 m used"), "{report}");
    let (report, _) = words(&standing(&organism, &waits.thread), None);
    assert!(report.contains("of 30 m used, not counted while this lasts"), "{report}");
    stop(organism).await;
}

#[tokio::test]
async fn c7_who_waits_for_a_slot_learns_its_place_and_who_is_out() {
    let folder = cast(&[HUNG]);
    let organism = start(folder.path()).await;
    let first = ask(&organism, "k1", &payload("search", "one"), None).await.unwrap();
    let second = ask(&organism, "k2", &payload("search", "two"), None).await.unwrap();
    let third = ask(&organism, "k3", &payload("search", "three"), None).await.unwrap();
    let cause = |thread: &ThreadId| standing(&organism, thread).leaves()[0].cause.clone();
    assert!(matches!(cause(&first.thread), CallWait::Out { .. }));
    assert!(matches!(cause(&second.thread), CallWait::Queued { place: 1, slots: 1, .. }));
    assert!(matches!(cause(&third.thread), CallWait::Queued { place: 2, slots: 1, .. }));
    let (report, line) = words(&standing(&organism, &third.thread), None);
    assert!(report.contains("waits for a slot, number 2 behind 1 out"), "{report}");
    assert!(report.contains("in_flight of search"), "{report}");
    assert!(line.contains("number 2 behind 1 out"), "{line}");
    stop(organism).await;
}

#[tokio::test]
async fn c7_as_many_are_out_as_the_listener_has_slots() {
    let folder = cast(&[Actor("search", "search", "found", &["in_flight: 2"])]);
    let organism = start(folder.path()).await;
    let mut causes = Vec::new();
    for key in ["k1", "k2", "k3"] {
        let receipt = ask(&organism, key, &payload("search", key), None).await.unwrap();
        causes.push(standing(&organism, &receipt.thread).leaves()[0].cause.clone());
    }
    assert_eq!(causes.pop(), Some(CallWait::Queued { place: 1, slots: 2, full: None }));
    assert!(causes.iter().all(|cause| matches!(cause, CallWait::Out { .. })), "{causes:?}");
    stop(organism).await;
}

#[tokio::test]
async fn c7_who_waited_for_the_one_slot_is_out_since_it_was_free() {
    // The first message waits for the test, then fails; the second one hangs.
    let waits = "run: [sh, -c, 'read line; if mkdir first; then cat go; exit 1; fi; exec sleep 1000']";
    let keys = [waits, "mode: once", "timeout: 1h", "retry: {attempts: 1, backoff: 1s..1s}"];
    let folder = cast(&[Actor("search", "search", "found", &keys)]);
    let go = folder.path().join("go");
    assert!(std::process::Command::new("mkfifo").arg(&go).status().unwrap().success());
    let organism = start(folder.path()).await;
    let first = ask(&organism, "k1", &payload("search", "one"), None).await.unwrap();
    let second = ask(&organism, "k2", &payload("search", "two"), None).await.unwrap();
    assert!(matches!(standing(&organism, &second.thread).leaves()[0].cause, CallWait::Queued { .. }));
    tokio::task::spawn_blocking(move || std::fs::write(go, "go").unwrap()).await.unwrap();
    let over = outcome(&organism, &first).await;
    let found = standing(&organism, &second.thread);
    let leaf = found.leaves()[0];
    assert!(matches!(leaf.cause, CallWait::Out { then: AfterAttempt::Fails, .. }), "{leaf:?}");
    assert_eq!(leaf.since, over.header.time);
    stop(organism).await;
}

#[tokio::test]
async fn c7_after_a_restart_the_attempt_that_was_lost_with_the_pump_is_reported() {
    let folder = cast(&[HUNG]);
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("search", "one"), None).await.unwrap();
    stop(organism).await;
    let organism = start(folder.path()).await;
    until(&organism, |r| r.header.kind == RecordKind::Attempt).await;
    let found = standing(&organism, &receipt.thread);
    let leaf = found.leaves()[0];
    assert!(matches!(leaf.cause, CallWait::Out { then: AfterAttempt::Attempt(3), .. }), "{leaf:?}");
    let (report, _) = words(&found, None);
    assert!(
        flat(&report).contains("before: the pump stopped while the delivery may have been out"),
        "{report}"
    );
    stop(organism).await;
}

#[tokio::test]
async fn c7_an_unreadable_configuration_is_reported_without_guesses() {
    let folder = cast(&[HUNG]);
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("search", "one"), None).await.unwrap();
    let reader = organism.reader();
    let whole = LogState::look(&**reader, &|_| Err("it is in another tongue".to_owned()), Some(1)).unwrap();
    let posts = DueCalls::at(&whole, Millis(0));
    let thread = whole.thread(&**reader, &receipt.thread).unwrap().unwrap();
    let found = ThreadWaits::of(&**reader, &whole, &posts, &thread).unwrap();
    let (report, _) = words(&found, None);
    assert!(report.contains("its configuration cannot be read"), "{report}");
    assert!(report.contains("it is in another tongue"), "{report}");
    assert!(!report.contains("timeout"), "{report}");
    stop(organism).await;
}

#[tokio::test]
async fn c7_a_later_message_is_held_behind_the_one_that_is_open() {
    let folder = cast(&[HUNG]);
    let organism = start(folder.path()).await;
    let first = ask(&organism, "k1", &payload("search", "one"), None).await.unwrap();
    ask(&organism, "k2", &payload("search", "two"), Some(first.thread.as_str())).await.unwrap();
    let found = standing(&organism, &first.thread);
    assert_eq!(found.leaves().len(), 1, "only what can end the wait is a leaf");
    let (report, _) = words(&found, None);
    assert!(report.contains("search is held until call 1 is over (call 2)"), "{report}");
    stop(organism).await;
}

#[tokio::test]
async fn c7_resting_and_ended_threads_say_so() {
    let folder =
        cast(&[Actor("search", "search", "found", &["env: {TURN_1: '<found xmlns=\"urn:t\">x</found>'}"])]);
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("search", "one"), None).await.unwrap();
    outcome(&organism, &receipt).await;
    let found = standing(&organism, &receipt.thread);
    assert_eq!(found.life, ThreadState::Resting);
    let (report, _) = words(&found, None);
    assert!(report.contains("rests since 0."), "{report}");
    assert!(report.contains("systole send --thread sess-"), "{report}");
    assert!(organism.handle().cancel_thread(Name::new_operator(), receipt.thread.clone()).await.is_some());
    let (report, _) = words(&standing(&organism, &receipt.thread), None);
    assert!(report.contains("  ended at "), "{report}");
    stop(organism).await;
}

#[tokio::test]
async fn c7_without_an_organism_why_shows_no_open_delivery_and_the_start_command() {
    let folder = cast(&[HUNG]);
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("search", "one"), None).await.unwrap();
    stop(organism).await;
    let reader = systole_log::sqlite::open_reading(&folder.path().join("hello.db")).unwrap();
    let found = standing_in(&reader, None, &receipt.thread);
    assert!(matches!(found.leaves()[0].cause, CallWait::Stopped), "{found:?}");
    let (report, line) = words(&found, Some("systole run -f organism.yaml"));
    assert!(report.contains("search attempt 1 of 3 (call 1)"), "{report}");
    assert!(
        flat(&report).contains("no organism runs on this log; it goes on with: systole run -f organism.yaml"),
        "{report}"
    );
    assert!(line.contains("waits for the organism to run"), "{line}");
    assert_eq!(look(&reader, None).working().len(), 1);
}

#[tokio::test]
async fn c7_a_program_that_cannot_be_started_is_named() {
    let keys = ["run: [./no-such-program]", "retry: {attempts: 3, backoff: 1h..1h}"];
    let folder = cast(&[Actor("search", "search", "found", &keys)]);
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("search", "one"), None).await.unwrap();
    until(&organism, |r| r.header.kind == RecordKind::Attempt).await;
    let (report, _) = words(&standing(&organism, &receipt.thread), None);
    assert!(report.contains("program: ./no-such-program"), "{report}");
    assert!(report.contains("before: cannot start "), "{report}");
    stop(organism).await;
}

#[tokio::test]
async fn c7_after_a_failed_attempt_the_next_one_is_out_since_its_own_time() {
    let once = "run: [sh, -c, 'read line; if [ -e tried ]; then exec sleep 1000; fi; touch tried; exit 1']";
    let keys = [once, "mode: once", "timeout: 1h", "retry: {attempts: 2, backoff: 1ms..1ms}"];
    let folder = cast(&[Actor("search", "search", "found", &keys)]);
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("search", "one"), None).await.unwrap();
    until(&organism, |r| r.header.kind == RecordKind::Attempt).await;
    let repeat = organism.reader().of_thread(&receipt.thread, 2, 1).unwrap().remove(0).1;
    // The pause is a millisecond; the test reads the state until it is over.
    let found = loop {
        let found = standing(&organism, &receipt.thread);
        if !matches!(found.leaves()[0].cause, CallWait::BackOff { .. }) {
            break found;
        }
    };
    let leaf = found.leaves()[0];
    assert!(matches!(leaf.cause, CallWait::Out { then: AfterAttempt::Fails, .. }), "{leaf:?}");
    assert_eq!((leaf.attempt, leaf.failures.len()), (2, 1));
    assert_eq!(leaf.since, repeat.header.time.add_ms(1), "since the pause after the first attempt");
    let (report, _) = words(&found, None);
    assert!(report.contains("search attempt 2 of 2 out for"), "{report}");
    assert!(flat(&report).contains("; then the call fails"), "{report}");
    stop(organism).await;
}

/// A reason of the greatest length and hostility, with others below it.
fn hostile(depth: u32) -> WaitReason {
    let evil =
        "\u{1b}]0;title\u{7}\u{1b}[2J\u{202e}drawkcab\u{200b}\r\n日本語のとても長いテキスト".repeat(40);
    let thread = format!("sess-0123456789ab{}", ".a-label-of-thirty-two-letters-32".repeat(16));
    let call = (0..depth).fold(CallPath::new_top(999_999_999), |path, _| path.append_item(999_999_999, 63));
    let program = crate::stage::program(&["./x", &evil], "/".into());
    let words = format!("exited 1{evil}; last words on stderr: {evil}KeyError: {}", "X_".repeat(900));
    let cause = CallWait::Out {
        deadline: Some(Millis(u64::MAX)),
        idle_ms: Some(u64::MAX),
        then: AfterAttempt::Attempt(u32::MAX),
    };
    WaitReason {
        call,
        listener: Name::parse(&"n".repeat(63)).unwrap(),
        turn: u32::MAX,
        attempt: u32::MAX,
        failures: vec![FailedAttempt { code: None, words, at: Millis(0) }],
        program: Some(program),
        again: Some(ModelPause { model: evil.clone(), at: Millis(u64::MAX), again: Some((4, 10)) }),
        away: Some(evil),
        told_from: u64::MAX,
        below: if depth < 16 { vec![hostile(depth + 1)] } else { Vec::new() },
        ..waiting(&thread, 0, cause)
    }
}

#[test]
fn row_20_no_line_of_why_is_too_wide_or_obeyed() {
    let root = hostile(0);
    let standing = ThreadWaits {
        thread: root.thread.clone(),
        life: ThreadState::Working,
        paused: None,
        touched: Millis(0),
        seq: 1,
        reasons: vec![root],
        timers: Vec::new(),
        models: Vec::new(),
        times: Vec::new(),
        end: None,
        links: AnewLinks::default(),
    };
    let (report, line) = words(&standing, Some(&"systole run -f ".repeat(20)));
    assert!(report.contains("\\u{202e}drawkcab"), "{report}");
    assert!(line.contains("systole why"), "{line}");
}

/// A reason of `search` in a thread of that name, since that moment.
fn waiting(thread: &str, since: u64, cause: CallWait) -> WaitReason {
    WaitReason {
        thread: ThreadId::parse(thread).unwrap(),
        call: CallPath::new_top(1),
        listener: Name::parse("search").unwrap(),
        turn: 1,
        since: Millis(since),
        cause,
        attempt: 1,
        attempts: 3,
        failures: Vec::new(),
        program: None,
        away: None,
        again: None,
        told_from: 1,
        wraps_up: None,
        below: Vec::new(),
        goal: None,
        steps: Vec::new(),
    }
}

fn of_one(reason: WaitReason) -> ThreadWaits {
    let (thread, touched) = (reason.thread.root_of(), reason.since);
    ThreadWaits {
        thread,
        life: ThreadState::Working,
        paused: None,
        touched,
        seq: 1,
        reasons: vec![reason],
        timers: Vec::new(),
        models: Vec::new(),
        times: Vec::new(),
        end: None,
        links: AnewLinks::default(),
    }
}

fn person(expires: u64) -> CallWait {
    let id = systole_core::types::person::PersonRequestId(1);
    let hash = systole_core::types::ids::Digest([0; 32]);
    CallWait::Person {
        id,
        element: "shell".to_owned(),
        fields: String::new(),
        hash,
        until: Millis(expires),
        unknown: None,
    }
}

#[test]
fn c7_every_wait_is_one_line_in_its_form_the_longest_first() {
    let now = Millis(1_000_000_000);
    let mut asks = waiting("sess-1f0c9a2b77d1", now.0 - 252_000, person(now.0 + 3_312_000));
    asks.listener = Name::parse("workspace").unwrap();
    let queue = CallWait::Queued { place: 2, slots: 1, full: None };
    let standings = [
        of_one(waiting("sess-77b000000000.research", now.0 - 7_000, queue)),
        of_one(asks),
        of_one(waiting("sess-0123456789ab", now.0 - 8_000, CallWait::Stopped)),
    ];
    let found = waits(&standings, now);
    assert_eq!(
        in_lines(&found, now),
        [
            "sess-1f0c9a2b77d1          waits 4 m 12 s   for a person: approval a1 (shell, workspace), expires in 55 m             systole approve a1",
            "sess-0123456789ab          waits 8.0 s      for search: waits for the organism to run, attempt 1 of 3                 systole why sess-0123456789ab",
            "sess-77b000…000.research   waits 7.0 s      for search: attempt 1 of 3 waits for a slot, number 2 behind 1 out        systole why sess-77b000000000.research",
        ]
    );
    assert_eq!(
        in_lines(&found[..1], now),
        [
            "sess-1f0c9a2b77d1   waits 4 m 12 s   for a person: approval a1 (shell, workspace), expires in 55 m        systole approve a1"
        ]
    );
    let terminal = list_broken(&found, now);
    narrow(&terminal);
    for wait in &found {
        let whole = terminal.iter().filter(|line| line.ends_with(&wait.command)).count();
        assert_eq!(whole, 1, "a command is to be copied: {terminal:#?}");
    }
}

#[test]
fn c7_a_message_that_is_held_and_a_timer_of_a_resting_thread_are_waits() {
    let now = Millis(1_000_000_000);
    let out = CallWait::Out { deadline: None, idle_ms: None, then: AfterAttempt::Fails };
    let mut standing = of_one(waiting("sess-0123456789ab", now.0 - 9_000, out));
    let held = CallWait::Held { behind: CallPath::new_top(1) };
    standing.reasons.push(waiting("sess-0123456789ab", now.0 - 5_000, held));
    let (id, listener) =
        (systole_core::types::ids::TimerId::parse("tea").unwrap(), Name::parse("dig").unwrap());
    let rests = ThreadWaits {
        thread: ThreadId::parse("sess-ffffffffffff").unwrap(),
        life: ThreadState::Resting,
        paused: None,
        touched: Millis(now.0 - 1_000),
        seq: 3,
        reasons: Vec::new(),
        timers: vec![systole_queries::why::ThreadTimer { id, listener, due: now.add_ms(60_000) }],
        models: Vec::new(),
        times: Vec::new(),
        end: None,
        links: AnewLinks::default(),
    };
    let found = waits(&[rests, standing], now);
    let told: Vec<(&str, &str)> = found.iter().map(|wait| (wait.cause, wait.what.as_str())).collect();
    assert_eq!(
        told,
        [
            ("out", "for search: attempt 1 of 3 out for 9.0 s"),
            ("held", "for call 1 of the same thread, which came first"),
            ("timer", "for timer tea of dig, due in 1 m"),
        ]
    );
}

#[tokio::test]
async fn c7_the_leaf_is_found_through_two_levels_of_threads_and_each_is_asked_for_alone() {
    let spawns = |label: &str, initial: &str| {
        format!(
            "env: {{TURN_1: '<spawn-thread xmlns=\"https://xml-pipeline.org/ns/core/v1\" suggested_sub_id=\"{label}\">\
             <initial-payload><{initial} xmlns=\"urn:t\">x</{initial}></initial-payload></spawn-thread>\
             <await-threads xmlns=\"https://xml-pipeline.org/ns/core/v1\" mode=\"all\"/>'}}"
        )
    };
    let (first, second) = (spawns("heat", "search"), spawns("deeper", "dig"));
    let folder = cast(&[
        Actor("planner", "plan", "planned", &[&first, "turns: 9", "peers: [deputy]"]),
        Actor("deputy", "search", "found", &[&second, "turns: 9", "peers: [dig]"]),
        Actor("dig", "dig", "dug", &["timeout: 1h"]),
    ]);
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("plan", "all"), None).await.unwrap();
    let child = receipt.thread.make_child("heat").unwrap();
    let grandchild = child.make_child("deeper").unwrap();
    let (deepest, awaits) = (grandchild.clone(), Some(RecordCode::Role(MessageRole::Await)));
    until(&organism, |r| r.header.thread == deepest).await;
    until(&organism, |r| r.header.thread == child && r.header.code == awaits).await;
    until(&organism, |r| r.header.thread == receipt.thread && r.header.code == awaits).await;
    let found = standing(&organism, &receipt.thread);
    let [leaf] = found.leaves()[..] else { panic!("{found:?}") };
    assert_eq!((&leaf.thread, leaf.listener.as_str()), (&grandchild, "dig"));
    assert!(matches!(leaf.cause, CallWait::Out { then: AfterAttempt::Attempt(2), .. }), "{leaf:?}");
    let list = waits(std::slice::from_ref(&found), leaf.since.add_ms(9_000));
    let [wait] = &list[..] else { panic!("{list:?}") };
    assert_eq!((&wait.thread, wait.what.as_str()), (&grandchild, "for dig: attempt 1 of 3 out for 9.0 s"));
    assert_eq!(wait.command, format!("systole why {}", grandchild.as_str()));
    let (report, _) = words(&found, None);
    for (indent, who) in [("", "planner"), ("  └─ ", "deputy"), ("    └─ ", "dig")] {
        assert!(report.contains(&format!("\n{indent}{who}")), "{report}");
    }
    stop(organism).await;
}
