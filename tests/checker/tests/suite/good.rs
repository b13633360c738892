//! A log without faults, which contains most possible events; all other tests plant their faults in it.
//!
//! Thread A: alice asks twice more before her first question is closed; an agent calls a peer, takes a note
//! and spawns a child in one reply; the peer's attempt fails once; an item is refused. Thread B: one
//! question, one answer. Thread D: cancelled with a running child and an open nested call. Thread E: an
//! agent waits for its child. Thread F: an agent waits for its timer, which fires again after its answer.
//! Thread G: requests that wait for a person. Thread Q: questions to a person. Thread H: items that go to
//! several.

use systole_checker::RunSettings;
use systole_checker::record::RecordHash;

use crate::book::SealedBook;
use crate::script::{Line, Script, line};

pub(crate) const A: &str = "sess-aaaaaaaaaaaa";
pub(crate) const HEAT: &str = "sess-aaaaaaaaaaaa.heat";
pub(crate) const B: &str = "sess-bbbbbbbbbbbb";
pub(crate) const D: &str = "sess-dddddddddddd";
pub(crate) const E: &str = "sess-eeeeeeeeeeee";
pub(crate) const E1: &str = "sess-eeeeeeeeeeee.c1";
pub(crate) const F: &str = "sess-ffffffffffff";
pub(crate) const G: &str = "sess-000000000001";
pub(crate) const F1: &str = "sess-ffffffffffff.c1";
pub(crate) const D1: &str = "sess-dddddddddddd.-1";

pub(crate) fn spawned(id: &str, parent: &str, first: &str) -> String {
    r#"<thread-spawned xmlns="https://xml-pipeline.org/ns/core/v1" assigned_id="ID" parent_id="PARENT" head="HEAD(FIRST)"/>"#
        .replace("ID", id)
        .replace("PARENT", parent)
        .replace("FIRST", first)
}

pub(crate) fn finished(id: &str, outcome: &str, last: &str, payload: &str) -> String {
    let start = r#"<thread-finished xmlns="https://xml-pipeline.org/ns/core/v1" id="ID" outcome="OUTCOME" head="HEAD(LAST)"/>"#
        .replace("ID", id)
        .replace("OUTCOME", outcome)
        .replace("LAST", last);
    if payload.is_empty() {
        start
    } else {
        [start.strip_suffix("/>").unwrap(), ">", payload, "</thread-finished>"].concat()
    }
}

pub(crate) fn attempt(number: u32) -> String {
    r#"<attempt xmlns="https://xml-pipeline.org/ns/core/v1" number="N" due="2026-11-20T07:00:00.000Z">down</attempt>"#
        .replace('N', &number.to_string())
}

pub(crate) fn dead_letter(attempts: u32) -> String {
    r#"<dead-letter xmlns="https://xml-pipeline.org/ns/core/v1" delivery="x" attempts="N"/>"#
        .replace('N', &attempts.to_string())
}

pub(crate) fn cleared(kept: u64, from: u64, to: u64) -> String {
    let start = "<context-cleared xmlns=\"https://xml-pipeline.org/ns/core/v1\"";
    let range = format!("kept_messages=\"{kept}\" from_seq=\"{from}\" to_seq=\"{to}\"");
    format!("{start} {range} digest=\"{}\"/>", "0".repeat(64))
}

pub(crate) fn recalled(from: u64, to: u64, part: &str) -> String {
    let start = "<recalled xmlns=\"https://xml-pipeline.org/ns/core/v1\"";
    format!(
        "{start} from_seq=\"{from}\" to_seq=\"{to}\" {part}><message seq=\"{from}\" from=\"a\">x</message></recalled>"
    )
}

/// The number of its records.
pub(crate) const RECORDS: u64 = 115;

/// The answer of thread A's child.
pub(crate) const WARM: &str = "<warm xmlns=\"urn:e\">21</warm>";

pub(crate) fn script() -> Script {
    let mut lines =
        vec![line("boot", "sys", "message", "told"), line("stray", "sys", "refusal", "thread.unknown")];
    lines.extend(thread_a());
    lines.extend([
        line("b-ask", B, "message", "request")
            .between("bob", "planner")
            .on("1")
            .key("k-b")
            .says("<q>token-b</q>"),
        line("b-final", B, "message", "final")
            .between("planner", "bob")
            .on("1")
            .at(1, 0)
            .because("b-ask")
            .says("<r>token-b</r>"),
    ]);
    lines.extend(thread_d());
    lines.extend(thread_e());
    lines.extend(thread_f());
    lines.extend(thread_f_again());
    lines.extend(child_of_f());
    lines.extend(thread_g());
    lines.extend(crate::questions::thread_q());
    lines.extend(crate::takers::thread_h());
    Script(lines)
}

/// The waiting payload in thread G, and a person's replacement for it.
pub(crate) const WILD: &str = "<q>wild</q>";
pub(crate) const MILD: &str = "<q>mild</q>";

pub(crate) fn requested(id: &str, payload: &str) -> String {
    r#"<approval-requested xmlns="https://xml-pipeline.org/ns/core/v1" id="ID" hash="HASH" expires="2026-11-20T08:00:00.000Z"/>"#
        .replace("ID", id)
        .replace("HASH", &RecordHash::hash_bytes(payload.as_bytes()).to_string())
}

pub(crate) fn decided(id: &str, outcome: &str, payload: Option<&str>) -> String {
    let hash =
        payload.map_or(String::new(), |p| format!(" hash=\"{}\"", RecordHash::hash_bytes(p.as_bytes())));
    r#"<approval-decided xmlns="https://xml-pipeline.org/ns/core/v1" id="ID" outcome="OUT" by="pia"HASH/>"#
        .replace("ID", id)
        .replace("OUT", outcome)
        .replace("HASH", &hash)
}

/// Four questions that wait for a person, all asked before the first was decided.
fn thread_g() -> Vec<Line> {
    let g = |name, kind, code| line(name, G, kind, code);
    let ask =
        |name, call, key| g(name, "message", "request").between("gus", "guard").on(call).key(key).says(WILD);
    let asks = |name, call, cause, id| {
        let asks = g(name, "approval", "requested").between("core", "person").on(call).because(cause);
        asks.says(&requested(id, WILD))
    };
    let says = |name, call, cause, code, body: String| {
        g(name, "approval", code).between("core", "pia").on(call).because(cause).says(&body)
    };
    let last = |name, call, cause| {
        g(name, "message", "final").between("guard", "gus").on(call).at(1, 0).because(cause)
    };
    let gone =
        |name, call, cause, code| g(name, "outcome", code).between("core", "gus").on(call).because(cause);
    vec![
        ask("g-1", "1", "k-g1"),
        asks("g-asks-1", "1", "g-1", "a1"),
        line("g-counts", "sys", "approval", "requested")
            .between("core", "person")
            .says(&requested("a1", WILD)),
        g("g-tell", "message", "tell").between("core", "watch").on("1/0.0").because("g-asks-1"),
        ask("g-2", "2", "k-g2"),
        asks("g-asks-2", "2", "g-2", "a2"),
        g("g-tell-2", "message", "tell").between("core", "watch").on("2/0.0").because("g-asks-2"),
        g("g-told-2", "outcome", "handled").between("watch", "core").on("2/0.0").because("g-tell-2"),
        ask("g-3", "3", "k-g3"),
        asks("g-asks-3", "3", "g-3", "a3"),
        says("g-yes", "1", "g-1", "approved", decided("a1", "approved", Some(WILD))),
        g("g-told", "outcome", "thread.cancelled").between("core", "core").on("1/0.0").because("g-tell"),
        last("g-final", "1", "g-yes"),
        g("g-mild", "approval", "amendment").between("pia", "guard").on("2").because("g-2").says(MILD),
        says("g-other", "2", "g-2", "amended", decided("a2", "amended", Some(MILD))),
        last("g-final-2", "2", "g-other"),
        says("g-no", "3", "g-3", "rejected", decided("a3", "rejected", None)),
        gone("g-rejected", "3", "g-3", "approval.rejected"),
        g("g-pause", "steer", "paused"),
    ]
}

fn thread_a() -> Vec<Line> {
    let a = |name, kind, code| line(name, A, kind, code);
    vec![
        a("ask", "message", "request").between("alice", "planner").on("1").key("k-a").says("<q>token-a</q>"),
        a("call", "message", "call").between("planner", "search").on("1").at(1, 0).because("ask"),
        a("note", "message", "note").between("planner", "").on("1").at(1, 1).because("ask"),
        a("spawn", "message", "spawn").between("planner", "").on("1").at(1, 2).because("ask"),
        Line {
            origin: Some("spawn"),
            ..line("begin", HEAT, "message", "begin").between("planner", "helper").on("1").because("spawn")
        },
        a("spawned", "message", "answer")
            .between("core", "planner")
            .on("1/1.2")
            .because("spawn")
            .says(&spawned(HEAT, A, "begin")),
        Line { turn: Some(1), ..a("attempt", "attempt", "listener.failed") }
            .between("core", "search")
            .on("1/1.0")
            .because("call")
            .says(&attempt(2)),
        a("ask-2", "message", "request").between("alice", "planner").on("2").key("k-a2"),
        a("found", "message", "final").between("search", "planner").on("1/1.0").at(1, 0).because("call"),
        line("warm", HEAT, "message", "final")
            .between("helper", "planner")
            .on("1")
            .at(1, 0)
            .because("begin")
            .says(WARM),
        a("finished", "message", "inbox")
            .between("core", "planner")
            .on("1")
            .because("warm")
            .says(&finished(HEAT, "answered", "warm", WARM)),
        a("refused", "refusal", "payload.invalid")
            .between("core", "planner")
            .on("1")
            .at(2, 0)
            .because("found"),
        a("ask-3", "message", "request").between("alice", "planner").on("3").key("k-a3"),
        a("note-3", "message", "note").between("planner", "").on("1").at(3, 1).because("refused"),
        a("final", "message", "final")
            .between("planner", "alice")
            .on("1")
            .at(3, 0)
            .because("refused")
            .says("<r>token-a</r>"),
        Line { turn: Some(1), ..a("handled", "outcome", "handled") }
            .between("planner", "alice")
            .on("2")
            .because("final"),
        Line { turn: Some(1), ..a("letter", "outcome", "dead-letter") }
            .between("core", "planner")
            .on("3")
            .because("handled")
            .says(&dead_letter(1)),
        a("failed", "outcome", "listener.lost").between("core", "alice").on("3").because("handled"),
    ]
}

fn thread_d() -> Vec<Line> {
    let d = |name, kind, code| line(name, D, kind, code);
    vec![
        d("d-ask", "message", "request").between("dora", "planner").on("1").key("k-d"),
        d("d-call", "message", "call").between("planner", "search").on("1").at(1, 0).because("d-ask"),
        d("d-spawn", "message", "spawn").between("planner", "").on("1").at(1, 1).because("d-ask"),
        Line {
            origin: Some("d-spawn"),
            ..line("d-begin", D1, "message", "begin").between("planner", "helper").on("1").because("d-spawn")
        },
        d("d-spawned", "message", "answer")
            .between("core", "planner")
            .on("1/1.1")
            .because("d-spawn")
            .says(&spawned(D1, D, "d-begin")),
        line("d-child-end", D1, "terminal", "thread.cancelled").between("core", "dora"),
        d("d-finished", "message", "inbox")
            .between("core", "planner")
            .on("1")
            .because("d-child-end")
            .says(&finished(D1, "cancelled", "d-child-end", "")),
        d("d-end", "terminal", "thread.cancelled").between("core", "dora"),
    ]
}

pub(crate) fn over(reason: &str, finished: u32, open: u32) -> String {
    format!(
        r#"<await-over xmlns="https://xml-pipeline.org/ns/core/v1" reason="{reason}" finished="{finished}" open="{open}"/>"#
    )
}

fn thread_e() -> Vec<Line> {
    let e = |name, kind, code| line(name, E, kind, code);
    vec![
        e("e-ask", "message", "request").between("eve", "planner").on("1").key("k-e"),
        e("e-spawn", "message", "spawn").between("planner", "").on("1").at(1, 0).because("e-ask"),
        Line {
            origin: Some("e-spawn"),
            ..line("e-begin", E1, "message", "begin").between("planner", "helper").on("1").because("e-spawn")
        },
        e("e-spawned", "message", "answer")
            .between("core", "planner")
            .on("1/1.0")
            .because("e-spawn")
            .says(&spawned(E1, E, "e-begin")),
        e("e-wait", "message", "await").between("planner", "").on("1").at(1, 1).because("e-ask"),
        line("e-warm", E1, "message", "final")
            .between("helper", "planner")
            .on("1")
            .at(1, 0)
            .because("e-begin")
            .says(WARM),
        e("e-finished", "message", "inbox")
            .between("core", "planner")
            .on("1")
            .because("e-warm")
            .says(&finished(E1, "answered", "e-warm", WARM)),
        e("e-over", "message", "answer")
            .between("core", "planner")
            .on("1/1.1")
            .because("e-finished")
            .says(&over("done", 1, 0)),
        e("e-final", "message", "final").between("planner", "eve").on("1").at(2, 0).because("e-over"),
    ]
}

pub(crate) fn set(id: &str, due: &str) -> String {
    format!(
        r#"<timer-set xmlns="https://xml-pipeline.org/ns/core/v1" id="{id}" due="2026-11-20T{due}.000Z"/>"#
    )
}

pub(crate) fn fired(attributes: &str) -> String {
    format!(r#"<timer-fired xmlns="https://xml-pipeline.org/ns/core/v1" {attributes}>look</timer-fired>"#)
}

pub(crate) fn ended(id: &str) -> String {
    format!(r#"<thread-cancelled xmlns="https://xml-pipeline.org/ns/core/v1" id="{id}" threads="1"/>"#)
}

pub(crate) fn unset(id: &str) -> String {
    format!(r#"<timer-cancelled xmlns="https://xml-pipeline.org/ns/core/v1" id="{id}"/>"#)
}

fn later(line: Line, minutes: u64) -> Line {
    Line { time_ms: line.time_ms + minutes * 60_000, ..line }
}

fn fires(name: &'static str, code: &'static str) -> Line {
    line(name, F, "timer", code).between("core", "planner").because("f-set")
}

fn thread_f() -> Vec<Line> {
    let f = |name, kind, code| line(name, F, kind, code);
    vec![
        f("f-ask", "message", "request").between("fay", "planner").on("1").key("k-f"),
        f("f-set", "timer", "set").between("planner", "").on("1").at(1, 0).because("f-ask"),
        f("f-is-set", "message", "answer")
            .between("core", "planner")
            .on("1/1.0")
            .because("f-set")
            .says(&set("tick", "07:01:00")),
        f("f-brief", "timer", "set").between("planner", "").on("1").at(1, 1).because("f-ask"),
        f("f-brief-set", "message", "answer")
            .between("core", "planner")
            .on("1/1.1")
            .because("f-brief")
            .says(&set("brief", "09:00:00")),
        f("f-wait", "message", "await").between("planner", "").on("1").at(1, 2).because("f-ask"),
        later(fires("f-fired", "fired"), 1).on("1").says(&fired("id=\"tick\"")),
        later(f("f-over", "message", "answer"), 1)
            .between("core", "planner")
            .on("1/1.2")
            .because("f-fired")
            .says(&over("timer", 0, 0)),
        later(f("f-cancel", "timer", "cancel"), 1).between("planner", "").on("1").at(2, 0).because("f-over"),
        later(f("f-cancelled", "message", "answer"), 1)
            .between("core", "planner")
            .on("1/2.0")
            .because("f-cancel")
            .says(&unset("brief")),
        later(f("f-final", "message", "final"), 1)
            .between("planner", "fay")
            .on("1")
            .at(3, 0)
            .because("f-cancelled"),
    ]
}

/// The timer of thread F opens a call, which makes a call.
fn thread_f_again() -> Vec<Line> {
    let f = |name, kind, code| line(name, F, kind, code);
    vec![
        later(fires("f-opens", "opens"), 5).on("2").says(&fired("id=\"tick\" missed=\"3\"")),
        later(f("f-nested", "message", "call"), 5)
            .between("planner", "helper")
            .on("2")
            .at(1, 0)
            .because("f-opens"),
        later(f("f-inner", "timer", "set"), 5).between("helper", "").on("2/1.0").at(1, 0).because("f-nested"),
        later(f("f-inner-set", "message", "answer"), 5)
            .between("core", "helper")
            .on("2/1.0/1.0")
            .because("f-inner")
            .says(&set("inner", "08:00:00")),
        later(f("f-inner-gone", "timer", "cancelled"), 5)
            .between("core", "")
            .on("2/1.0")
            .because("f-inner-set")
            .says(&unset("inner")),
        later(f("f-helped", "message", "final"), 5)
            .between("helper", "planner")
            .on("2/1.0")
            .at(2, 0)
            .because("f-inner-set"),
    ]
}

/// That call spawns, steers and cancels a child.
fn child_of_f() -> Vec<Line> {
    let f = |name, kind, code| line(name, F, kind, code);
    let mut lines = vec![
        later(f("f-spawn", "message", "spawn"), 5)
            .between("planner", "")
            .on("2")
            .at(2, 0)
            .because("f-helped"),
        Line {
            origin: Some("f-spawn"),
            ..later(line("f-begin", F1, "message", "begin"), 5)
                .between("planner", "helper")
                .on("1")
                .because("f-spawn")
        },
        later(f("f-spawned", "message", "answer"), 5)
            .between("core", "planner")
            .on("2/2.0")
            .because("f-spawn")
            .says(&spawned(F1, F, "f-begin")),
        later(f("f-asks", "refusal", "route.not-a-peer"), 5)
            .between("core", "planner")
            .on("2")
            .because("f-spawned"),
        later(f("f-steer", "message", "steer"), 5)
            .between("planner", "")
            .on("2")
            .at(3, 0)
            .because("f-spawned"),
        later(line("f-steered", F1, "steer", "steered"), 5)
            .between("planner", "helper")
            .on("1")
            .because("f-steer"),
        later(f("f-handled", "message", "answer"), 5)
            .between("core", "planner")
            .on("2/3.0")
            .because("f-steer")
            .says("<handled xmlns=\"https://xml-pipeline.org/ns/core/v1\"/>"),
        later(f("f-clear", "message", "clear"), 5)
            .between("planner", "")
            .on("2")
            .at(3, 2)
            .because("f-spawned"),
        later(f("f-cleared", "message", "answer"), 5)
            .between("core", "planner")
            .on("2/3.2")
            .because("f-clear")
            .says(&cleared(1, 2, 3)),
        later(f("f-recall", "message", "recall"), 5)
            .between("planner", "")
            .on("2")
            .at(3, 3)
            .because("f-spawned"),
        later(f("f-recalled", "message", "answer"), 5)
            .between("core", "planner")
            .on("2/3.3")
            .because("f-recall")
            .says(&recalled(2, 3, "total=\"9\" offset=\"4\" next=\"7\"")),
        later(f("f-end", "message", "cancel-thread"), 5)
            .between("planner", "")
            .on("2")
            .at(3, 1)
            .because("f-spawned"),
    ];
    lines.extend(thread_f_ends());
    lines
}

/// It cancels its child, and answers.
fn thread_f_ends() -> Vec<Line> {
    let f = |name, kind, code| line(name, F, kind, code);
    vec![
        later(line("f-child-end", F1, "terminal", "thread.cancelled"), 5).between("core", "planner"),
        later(f("f-finished", "message", "inbox"), 5)
            .between("core", "planner")
            .on("2")
            .because("f-child-end")
            .says(&finished(F1, "cancelled", "f-child-end", "")),
        later(f("f-ended", "message", "answer"), 5)
            .between("core", "planner")
            .on("2/3.1")
            .because("f-end")
            .says(&ended(F1)),
        later(f("f-done", "message", "final"), 5)
            .between("planner", "core")
            .on("2")
            .at(4, 0)
            .because("f-ended"),
    ]
}

#[test]
fn a_good_log_gives_no_finding() {
    let report = SealedBook::of(&script()).check();
    assert!(report.is_clean() && report.open.is_empty(), "\n{report}");
    assert_eq!((report.counts.records, report.counts.threads), (RECORDS, 13));
}

#[test]
fn a_good_log_gives_no_finding_wherever_it_is_cut() {
    // Commits are complete: the lines of one event are never separated.
    let together = [
        "call",
        "note",
        "spawn",
        "begin",
        "warm",
        "note-3",
        "letter",
        "d-call",
        "d-spawn",
        "d-begin",
        "d-child-end",
        "d-finished",
        "e-spawn",
        "e-begin",
        "e-spawned",
        "e-warm",
        "e-finished",
        "f-set",
        "f-is-set",
        "f-brief",
        "f-brief-set",
        "f-fired",
        "f-cancel",
        "f-inner",
        "f-inner-gone",
        "g-told",
        "g-mild",
        "g-no",
        "q-item",
        "q-item-2",
        "q-item-3",
        "f-spawn",
        "f-begin",
        "f-steer",
        "f-steered",
        "f-clear",
        "f-recall",
        "f-end",
        "f-child-end",
        "f-finished",
    ];
    for length in 0..script().0.len() {
        let mut cut = script();
        cut.0.truncate(length);
        if cut.0.last().is_some_and(|line| together.contains(&line.name)) {
            continue;
        }
        let report =
            SealedBook::of(&cut).check_under(RunSettings { running: true, ..RunSettings::default() });
        assert!(report.is_clean(), "cut after {length} records:\n{report}");
    }
}

#[test]
fn what_clients_were_told_is_kept_and_counted() {
    let book = SealedBook::of(&script());
    let told = [
        book.sent("ask", "alice", "k-a").with_token("token-a").answered(&book, "final"),
        book.sent("ask", "alice", "k-a").with_token("token-a"),
        book.sent("ask-2", "alice", "k-a2").answered(&book, "handled"),
        book.sent("ask-3", "alice", "k-a3").answered(&book, "failed").with_token("only finals carry tokens"),
        book.sent("b-ask", "bob", "k-b").with_token("token-b").answered(&book, "b-final"),
        book.sent("d-ask", "dora", "k-d"),
        book.sent("b-ask", "bob", "k-never").refused("thread.busy"),
    ];
    let report = book.check_with(&told.map(|line| line.json()).concat());
    assert!(report.is_clean(), "\n{report}");
    let c = report.counts;
    assert_eq!((c.acked, c.lost, c.doubled, c.answered, c.failed, c.open), (5, 0, 0, 3, 2, 0));
}

#[test]
fn open_calls_are_reported_with_what_they_wait_for() {
    let mut script = script();
    for gone in ["letter", "failed", "final", "note-3", "handled", "b-final"] {
        script.remove(gone);
    }
    let report = SealedBook::of(&script).check();
    assert_eq!(report.found.into_iter().collect::<Vec<_>>(), [("rest", 4)]);
    let open: Vec<String> = report.open.iter().map(ToString::to_string).collect();
    let since = "is open since 2026-11-20T07:00:00.000Z and waits for";
    assert_eq!(
        open,
        [
            format!("call 1 to planner {since} turn 3"),
            format!("call 2 to planner {since} an earlier call"),
            format!("call 3 to planner {since} an earlier call"),
            format!("call 1 to planner {since} turn 1"),
        ]
    );
}
