//! The messages about listeners that fail, each in its own way.

use systole_core::types::codes::Code;

use super::ExampleBook;
use crate::promises::cast::{BOSS, CRASH, ECHO, HANG, PlanHouse, SILENT, cast, say};

/// Reports a failure.
const FAILS: &str = r#"
for turn in turns():
    print(f'<reply xmlns="urn:systole:listener:v1" delivery="{turn.delivery}"><failure code="upstream-down" retry="false">the service answered 503</failure></reply>', flush=True)
"#;

/// Answers a foreign delivery as often as its input says, and then its own.
const STALE: &str = r#"
for turn in turns():
    for n in range(int(turn.text)): reply("0" * 64, said(f"late {n}"))
    reply(turn.delivery, said(ask("0" * 64, "<view/>")))
"#;

/// Begins a model call, and dies.
const BUYER: &str = r#"
for turn in turns():
    print(f'<journal xmlns="urn:systole:listener:v1" id="1" delivery="{turn.delivery}" kind="model-started" model="m" prompt="{"0" * 64}"/>', flush=True)
    sys.stdin.readline()
    sys.exit("out of memory")
"#;

const ONCE: &str = "entry: true, retry: {attempts: 1, backoff: 1ms..1ms}";

pub(super) async fn show(book: &mut ExampleBook) {
    let slow = format!("{ONCE}, timeout: 300ms");
    let paid = format!("{ONCE}, on_unknown: fail");
    let parts = [
        ("fails", ONCE, FAILS),
        ("hangs", &slow, HANG),
        ("crashes", ONCE, CRASH),
        ("silent", ONCE, SILENT),
        ("stale", ONCE, STALE),
        ("buyer", &paid, BUYER),
    ];
    let house = PlanHouse::open(&parts).await;
    for (code, who, text, done) in [
        (Code::ListenerFailed, "fails", "x", "a listener answers with a <failure>"),
        (Code::ListenerTimeout, "hangs", "x", "a listener with `timeout: 300ms` that never answers"),
        (Code::ListenerLost, "crashes", "x", "a program that dies over what it is asked"),
        (Code::ListenerSilent, "silent", "x", "an empty reply where an answer is owed"),
        (
            Code::UnknownOutcome,
            "buyer",
            "x",
            "a program that begins a model call and dies, with `on_unknown: fail`",
        ),
        (Code::StaleLease, "stale", "1", "a reply to a delivery that never was"),
        (
            Code::ListenerThrottled,
            "stale",
            "60",
            "sixty replies to deliveries that never were, and a question",
        ),
    ] {
        house.ask(code.as_str(), who, text).await;
        book.take(&house.records(), code, done);
    }
    house.close().await;
    down(book).await;
    unavailable(book).await;
}

/// Calls do not wait for who is away.
const NO_WAIT: &str = "limits: {outage: 0s}\n";

async fn down(book: &mut ExampleBook) {
    let folder = cast(&[("gone", ONCE, ECHO)]);
    let path = folder.path().join("organism.yaml");
    let text = std::fs::read_to_string(&path).unwrap().replace("[python3, gone.py]", "[./gone]");
    std::fs::write(&path, text + NO_WAIT).unwrap();
    let house = PlanHouse::in_folder(folder).await;
    house.ask("down", "gone", "x").await;
    let done = "a listener whose program is not there, with `limits: {outage: 0s}`";
    book.take(&house.records(), Code::ListenerDown, done);
    house.close().await;
}

/// A called listener is removed from the file before the next start.
async fn unavailable(book: &mut ExampleBook) {
    let parts = [
        ("boss", "peers: [mute, echo], turns: 9, entry: true", BOSS),
        ("mute", "timeout: 1h", HANG),
        ("echo", "", ECHO),
    ];
    let folder = cast(&parts);
    let path = folder.path().join("organism.yaml");
    std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + NO_WAIT).unwrap();
    let house = PlanHouse::in_folder(folder).await;
    let receipt =
        house.send("k", &say("boss", "[[say('mute', 'x')], everything]"), None, None).await.unwrap();
    let called = |record: &systole_core::types::record::Record| {
        record.header.to.as_ref().is_some_and(|to| to.as_str() == "mute")
    };
    house.until("mute is called", called).await;
    let folder = house.close().await;
    let path = folder.path().join("organism.yaml");
    let text = std::fs::read_to_string(&path).unwrap().replace("peers: [mute, echo]", "peers: [echo]");
    let text: String =
        text.lines().filter(|line| !line.starts_with("  mute:")).flat_map(|line| [line, "\n"]).collect();
    std::fs::write(&path, text).unwrap();
    let house = PlanHouse::in_folder(folder).await;
    house.outcomes(&[receipt]).await;
    let done = "a called listener is taken out of the file, with `limits: {outage: 0s}`";
    book.take(&house.records(), Code::Unavailable, done);
    house.close().await;
}
