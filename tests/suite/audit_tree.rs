//! The tree and the lines of a log, as people read them.

use std::sync::Arc;

use systole_core::rules::core_payload;
use systole_core::types::codes::Code;
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::ports::{Clock as _, LogWriter as _, Position};
use systole_core::types::record::{Header, MessageRole, Record, RecordCode, RecordKind, head_zero};
use systole_core::types::refusal::Refusal;
use systole_core::types::time::Millis;
use systole_log::memory::MemoryLog;
use systole_organism::running::Organism;
use systole_queries::narrate::{as_json, narrate};
use systole_queries::posts::DueCalls;
use systole_queries::thread_end::ThreadStatus;
use systole_queries::tree::{draw, read, to_json};
use systole_queries::why::{ThreadWaits, WaitReason};
use systole_system::clock::WallClock;

use super::audit_stage::{Actor, cast, look, narrow, payload, standing, steady, stop, until};
use super::log_records::{bare, batch};
use super::organism::{ask, outcome, start, told};

/// A planner that searches, once wrongly; then spawns a thread that never ends and makes a call that fails; and
/// answers in its fourth turn. In its third turn it sees that a child is still running.
pub(crate) fn busy() -> tempfile::TempDir {
    let spawn = concat!(
        "<spawn-thread xmlns=\"https://xml-pipeline.org/ns/core/v1\" suggested_sub_id=\"heat\">",
        "<initial-payload><dig xmlns=\"urn:t\">deep</dig></initial-payload></spawn-thread>"
    );
    let env = format!(
        "env: {{TURN_1: '<search xmlns=\"urn:t\">one</search><search xmlns=\"urn:t\"><b/></search>', TURN_2: '{spawn}<scan xmlns=\"urn:t\">all</scan>', TURN_3: '<planned xmlns=\"urn:t\">done</planned>', TURN_4: '<planned xmlns=\"urn:t\">done</planned>'}}"
    );
    let fails = "run: [sh, -c, 'read line; echo no luck >&2; exit 3']";
    cast(&[
        Actor("planner", "plan", "planned", &[&env, "turns: 9", "peers: [search, dig, scan]"]),
        Actor("search", "search", "found", &["env: {TURN_1: '<found xmlns=\"urn:t\">x</found>'}"]),
        Actor("scan", "scan", "scanned", &[fails, "mode: once", "retry: {attempts: 2, backoff: 1ms..1ms}"]),
        Actor("dig", "dig", "dug", &[]),
    ])
}

fn drawn(organism: &Organism, thread: &ThreadId) -> (String, serde_json::Value) {
    let reader = &**organism.reader();
    let whole = look(reader, Some(std::process::id()));
    let now = WallClock.now();
    let posts = DueCalls::at(&whole, now);
    let found = whole.thread(reader, thread).unwrap().unwrap();
    let standing = ThreadWaits::of(reader, &whole, &posts, &found).unwrap();
    let reasons = |thread: &ThreadId, call: &CallPath| standing.find(thread, call) as Option<&WaitReason>;
    let tree = read(reader, thread).unwrap().unwrap();
    (narrow(&draw(&tree, standing.status(), &reasons, now)), to_json(&tree, &reasons, now))
}

#[tokio::test]
async fn a_tree_shows_what_is_over_beside_what_is_open() {
    let folder = busy();
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("plan", "all"), None).await.unwrap();
    outcome(&organism, &receipt).await;
    let (text, json) = drawn(&organism, &receipt.thread);
    insta::assert_snapshot!(steady(&text), @r"
sess-0123456789ab  answered  opened 12:00:00
└─ 1  planner  <plan>  all  answered <planned> after 0.0 s, 4 turns
   ├─ 1/1.0  search  <search>  one  answered <found> after 0.0 s
   ├─ 1/1.1  refused: payload.invalid: b: is not allowed, only text s… (21 more)
   ├─ 1/2.0  thread sess-0123456789ab.heat
   │  ├─ 1  dig  <dig>  deep  cancelled
   │  └─ cancelled by core at 12:00:00
   ├─ 1/2.1  scan  <scan>  failed after 0.0 s, 1 retry: listener.fai… (62 more)
   │     all
   └─ 1/3.0  answered: children-open
");
    assert_eq!(json["calls"][0]["state"], "answered", "{json:#}");
    assert_eq!(json["calls"][0]["items"][2]["calls"][0]["state"], "cancelled", "{json:#}");

    let records = organism.reader().of_thread(&receipt.thread, 1, 100).unwrap();
    let lines: Vec<String> = records.iter().flat_map(|(_, r)| narrate(r, Some(&receipt.thread))).collect();
    insta::assert_snapshot!(steady(&narrow(&lines)), @r"
12:00:00  #1 operator → planner  opens call 1  <plan>  all
12:00:00  #2 planner → search  call 1/1.0  <search>  one
12:00:00  #3 refused to planner: payload.invalid  item 1/1.1
    b: is not allowed, only text stands inside <search>
    at: /search/b, line 1, column 140
    expected: search: text
    received: <b/>
    try: leave b out; write < as &lt; where it is meant as text
12:00:00  #4 search → planner  answers call 1/1.0  <found>  x
12:00:00  #5 planner  spawns, item 1/2.0  <spawn-thread>
    suggested_sub_id=heat initial-payload.dig=deep
12:00:00  #6 core → planner  answer to 1/2.0  <thread-spawned>
    assigned_id=sess-0123456789ab.heat messages=248
12:00:00  #7 planner → scan  call 1/2.1  <scan>  all
12:00:00  #8 attempt 2 at scan  call 1/2.1  at 12:00:00
    listener.failed: exited 3 after 0.0 s; last words on stderr: no luck
12:00:00  #9 dead letter of scan  call 1/2.1  after 2 attempts
12:00:00  #10 core → planner  call 1/2.1 failed: listener.failed
    scan: exited 3 after 0.0 s; last words on stderr: no luck
12:00:00  #11 answered to planner: children-open  item 1/3.0  <children-open>
    count=1
12:00:00  #12 core → planner  inbox of call 1  <thread-finished>
    id=sess-0123456789ab.heat outcome=cancelled
12:00:00  #13 planner → operator  answers call 1  <planned>  done
");
    stop(organism).await;
}

#[tokio::test]
async fn a_tree_tells_of_open_calls_what_they_wait_for() {
    let folder = cast(&[Actor("dig", "dig", "dug", &[])]);
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("dig", "deep"), None).await.unwrap();
    let (text, json) = drawn(&organism, &receipt.thread);
    assert!(text.contains("└─ 1  dig  <dig>  deep  attempt 1 of 3 out for "), "{text}");
    assert_eq!(json["calls"][0]["state"], "open");
    organism.handle().cancel_thread(Name::new_operator(), receipt.thread.clone()).await.unwrap();
    let (text, _) = drawn(&organism, &receipt.thread);
    assert!(text.contains("├─ 1  dig  <dig>  deep  cancelled"), "{text}");
    assert!(text.contains("└─ cancelled by operator at "), "{text}");
    stop(organism).await;
}

/// A record of a thread, with any body.
fn record(thread: &ThreadId, before: &[Record], kind: RecordKind, mark: RecordCode, body: &[u8]) -> Record {
    let header = Header {
        kind,
        from: Name::parse(&"a".repeat(63)).unwrap(),
        to: Some(Name::parse(&"b".repeat(63)).unwrap()),
        call: Some(CallPath::new_top(1)),
        turn: (!before.is_empty()).then(|| u32::try_from(before.len()).unwrap()),
        ordinal: (!before.is_empty()).then_some(0),
        code: Some(mark),
        ..bare(thread, before.len() as u64 + 1)
    };
    let head = before.last().map_or_else(|| head_zero(thread), |r| r.head);
    header.seal_record(Arc::from(body), [0; 16], head)
}

/// A thread with names of the greatest length, and payloads full of sequences that terminals obey.
fn hostile(thread: &ThreadId) -> Vec<Record> {
    let evil = "\u{1b}]0;title\u{7}\u{1b}[2J\u{202e}drawkcab\u{2066}\u{200b}\r\n日本語のとても長いテキスト"
        .repeat(40);
    let payload = format!("<q xmlns='urn:t'>{}</q>", evil.replace(['\u{1b}', '\u{7}'], ""));
    let long_element = format!("<{} xmlns='urn:t'/>", "é".repeat(120));
    let mut refusal = Refusal::new(Code::Invalid, evil.clone())
        .with_expected(&*evil)
        .with_received(&*evil)
        .fixed_by(&*evil);
    refusal.path = Some(format!("/{}", "x".repeat(300)));
    refusal.at = Some((u32::MAX, u32::MAX));
    let mut records: Vec<Record> = Vec::new();
    let mut add = |kind, mark, body: &[u8]| {
        let next = record(thread, &records, kind, mark, body);
        records.push(next);
    };
    add(RecordKind::Message, RecordCode::Role(MessageRole::Request), payload.as_bytes());
    add(RecordKind::Message, RecordCode::Role(MessageRole::Call), evil.as_bytes());
    add(RecordKind::Message, RecordCode::Role(MessageRole::Note), long_element.as_bytes());
    add(RecordKind::Refusal, RecordCode::Code(Code::Invalid), &core_payload::system_error(&refusal));
    add(
        RecordKind::Refusal,
        RecordCode::Code(Code::UnknownThread),
        &core_payload::system_thread_error(&evil, false, &evil),
    );
    let attempt = core_payload::AttemptRecord {
        number: 2,
        due: Millis(u64::MAX),
        code: Some(Code::ListenerFailed),
        with_pump: true,
        words: evil.clone(),
    };
    add(RecordKind::Attempt, RecordCode::Code(Code::ListenerFailed), &core_payload::write_attempt(&attempt));
    add(RecordKind::Outcome, RecordCode::DeadLetter, &core_payload::dead_letter(&evil, 3));
    add(RecordKind::Outcome, RecordCode::Code(Code::ListenerFailed), &core_payload::system_error(&refusal));
    add(RecordKind::Message, RecordCode::Role(MessageRole::Final), b"");
    add(RecordKind::Terminal, RecordCode::Code(Code::CancelledThread), b"\xff\xfe");
    records
}

#[test]
fn row_20_no_line_of_the_log_is_too_wide_or_obeyed_whatever_a_record_holds() {
    let deep = format!("sess-0123456789ab{}", ".an-extremely-long-label-of-32".repeat(8));
    let thread = ThreadId::parse(&deep).unwrap();
    let records = hostile(&thread);
    for record in &records {
        for lines in [narrate(record, None), narrate(record, Some(&thread))] {
            assert!(lines.len() <= 17, "{} lines: {}", lines.len(), narrow(&lines));
            narrow(&lines);
        }
        assert!(!as_json(Position(1), record).to_string().chars().any(char::is_control));
    }
}

#[test]
fn row_20_no_line_of_a_tree_is_too_wide_or_obeyed() {
    let thread = ThreadId::parse("sess-0123456789ab").unwrap();
    let mut memory = MemoryLog::default();
    let batch = batch(hostile(&thread));
    assert!(matches!(memory.commit_batch(&batch), systole_core::types::ports::Commit::Committed(_)));
    let tree = read(&memory, &thread).unwrap().unwrap();
    let now = Millis(1_795_158_000_000);
    let text = narrow(&draw(&tree, ThreadStatus::Answered, &|_, _| None, now));
    assert!(text.contains("\\u{202e}drawkcab"), "{text}");
}

#[tokio::test]
async fn a_refusal_from_outside_is_reported_with_its_place_and_its_fix() {
    let folder = cast(&[Actor("dig", "dig", "dug", &[])]);
    let organism = start(folder.path()).await;
    until(&organism, |r| String::from_utf8_lossy(&r.body).contains("<listener-joined")).await;
    ask(&organism, "k1", "<dig xmlns=\"urn:t\"><b/></dig>", None).await.unwrap_err();
    let records = organism.reader().read_after(Position(0), 100).unwrap();
    let refused = records.iter().find(|(_, r)| r.header.kind == RecordKind::Refusal);
    let (_, refused) = refused.unwrap_or_else(|| panic!("{}", told(&organism)));
    insta::assert_snapshot!(steady(&narrow(&narrate(refused, None))), @r"
12:00:00  sys  #3 refused to operator: payload.invalid
    b: is not allowed, only text stands inside <dig>
    at: /dig/b, line 1, column 20
    expected: dig: text
    received: <b/>
    try: leave b out; write < as &lt; where it is meant as text
");
    stop(organism).await;
}

/// A planner that asks this many at once. None of them ever answers.
fn spread(takers: usize) -> tempfile::TempDir {
    let names: Vec<String> = (0..takers).map(|number| format!("t{number}")).collect();
    let peers = format!("peers: [{}]", names.join(", "));
    let planner = ["env: {TURN_1: '<search xmlns=\"urn:t\">x</search>'}", "turns: 9", &peers];
    let silent = ["run: [sh, -c, 'while read line; do :; done']"];
    let mut parts = vec![Actor("planner", "plan", "planned", &planner)];
    parts.extend(names.iter().map(|name| Actor(name, "search", "found", &silent)));
    let folder = cast(&parts);
    let file = folder.path().join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text + "broadcast: {search: first}\n").unwrap();
    folder
}

#[tokio::test]
async fn b13_takers_without_an_answer_are_listed_in_order_below_their_shared_item() {
    let folder = spread(11);
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("plan", "all"), None).await.unwrap();
    until(&organism, |r| r.header.call.as_ref().is_some_and(|call| call.as_str() == "1/1.0:10")).await;
    let found = standing(&organism, &receipt.thread);
    let waits: Vec<&str> = found.leaves().iter().map(|leaf| leaf.call.as_str()).collect();
    let calls: Vec<String> = (0..11).map(|number| format!("1/1.0:{number}")).collect();
    assert_eq!(waits, calls);
    let (text, json) = drawn(&organism, &receipt.thread);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[2], "   └─ 1/1.0  to 11 takers, until the first answers");
    assert!(lines[3].starts_with("      ├─ 1/1.0:0  t0  <search>  x  attempt 1 of 3 out"), "{text}");
    assert!(lines[13].starts_with("      └─ 1/1.0:10  t10  <search>"), "{text}");
    let item = &json["calls"][0]["items"][0];
    assert_eq!((&item["item"], &item["gather"]), (&"1/1.0".into(), &"first".into()), "{json:#}");
    assert_eq!(item["calls"][10]["call"], "1/1.0:10", "{json:#}");
}

/// A planner that searches, clears its view, reads it again and clears nothing more.
#[tokio::test]
async fn what_is_done_to_a_view_is_shown_by_its_numbers() {
    let core = |item: &str| item.replace("/>", " xmlns=\"https://xml-pipeline.org/ns/core/v1\"/>");
    let env = format!(
        "env: {{TURN_1: '{}', TURN_2: '{}', TURN_3: '{}{}', TURN_4: '{}'}}",
        payload("search", "one"),
        core("<clear-context keep=\"0\"/>"),
        core("<recall from_seq=\"2\" to_seq=\"3\"/>"),
        core("<clear-context keep=\"9\"/>"),
        payload("planned", "done"),
    );
    let folder = cast(&[
        Actor("planner", "plan", "planned", &[&env, "turns: 9", "peers: [search]"]),
        Actor("search", "search", "found", &["env: {TURN_1: '<found xmlns=\"urn:t\">x</found>'}"]),
    ]);
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &payload("plan", "all"), None).await.unwrap();
    outcome(&organism, &receipt).await;
    let (text, json) = drawn(&organism, &receipt.thread);
    insta::assert_snapshot!(steady(&text), @r"
sess-0123456789ab  answered  opened 12:00:00
└─ 1  planner  <plan>  all  answered <planned> after 0.0 s, 4 turns
   ├─ 1/1.0  search  <search>  one  answered <found> after 0.0 s
   ├─ 1/2.0  cleared messages 2 to 3 of its view
   ├─ 1/3.0  recalled messages 2 to 3 of its view
   └─ 1/3.1  cleared nothing of its view
");
    assert_eq!(json["calls"][0]["items"][1]["cleared"], serde_json::json!([2, 3]), "{json:#}");
    assert_eq!(json["calls"][0]["items"][2]["recalled"], serde_json::json!([2, 3]), "{json:#}");
    let records = organism.reader().of_thread(&receipt.thread, 5, 100).unwrap();
    let lines: Vec<String> = records.iter().flat_map(|(_, r)| narrate(r, Some(&receipt.thread))).collect();
    insta::assert_snapshot!(steady(&narrow(&lines)), @r#"
12:00:00  #5 core → planner  answer to 1/2.0  <context-cleared>
    kept_messages=1 from_seq=2 to_seq=3
12:00:00  #6 planner  reads its view again, item 1/3.0  <recall>
    from_seq=2 to_seq=3
12:00:00  #7 core → planner  answer to 1/3.0  <recalled>
    from_seq=2 to_seq=3 total=64 offset=0 message='<search
    xmlns="urn:t">one</search>' message='<found xmlns="urn:t">x</found>'
12:00:00  #8 planner  clears its view, item 1/3.1  <clear-context>  keep=9
12:00:00  #9 core → planner  answer to 1/3.1  <context-cleared>
    kept_messages=3 from_seq=0 to_seq=0
12:00:00  #10 planner → operator  answers call 1  <planned>  done
"#);
    stop(organism).await;
}

/// The timer of a call that closed long before is cancelled when its message times out, not together with that call.
#[test]
fn a_cancelled_timer_is_reported_with_the_call_that_set_it() {
    let thread = ThreadId::parse("sess-0123456789ab").unwrap();
    let mut record = hostile(&thread).remove(0);
    let timer = systole_core::types::ids::TimerId::parse("tea").unwrap();
    record.header.kind = systole_core::types::record::RecordKind::Timer;
    record.header.code = Some(RecordCode::Timing(systole_core::types::record::TimerEffect::Cancelled));
    record.header.call = Some(CallPath::new_top(1));
    (record.header.from, record.header.to) = (Name::new_core(), None);
    record.body = systole_core::rules::core_payload::timer_cancelled(&timer);
    let told = narrate(&record, Some(&thread)).join("\n");
    assert!(told.contains(" core  a timer is cancelled, set by call 1  <timer-cancelled>"), "{told}");
}
