//! C1 and C10: what is in the log before anyone gets it, and what the log stores once.

use rusqlite::Connection;

use super::cast::{BOSS, ECHO, PlanHouse, code, say};

/// Looks up in the log what it was handed, before it replies: the request by its stamp, and each
/// answer and arrival by its place.
const AUDITOR: &str = r#"
import hashlib
log = sqlite3.connect("file:hello.db?mode=ro", uri=True)
def stored(thread, seq): return log.execute("SELECT id, CAST(body AS BLOB), head FROM line WHERE thread = ? AND seq = ?", (thread, seq)).fetchone()
def looked(turn):
    if turn.number == 1:
        id, body, _ = stored(turn.thread, int(turn.stamp["seq"])) or ("", b"", "")
        same = turn.stamp["id"].replace("-", "") == id and hashlib.sha256(body).hexdigest() == turn.stamp["sha256"]
        return [f"request {'logged' if same else 'missing'}"]
    words = []
    for item in turn.payload.findall("{%s}item" % CORE):
        found = stored(turn.thread, int(item.get("seq")))
        words.append(f"item {'logged' if found else 'missing'}")
    return words
seen = []
for turn in turns():
    seen += looked(turn)
    if turn.number == 1: reply(turn.delivery, say("echo", "a"), say("echo", "b"), note("c"), "<x xmlns='urn:x'/>")
    else: reply(turn.delivery, said(", ".join(seen)))
"#;

#[tokio::test]
async fn c1_nothing_reaches_a_listener_unlogged() {
    let house = PlanHouse::open(&[
        ("auditor", "peers: [echo], turns: 3, entry: true", AUDITOR),
        ("echo", "in_flight: 4", ECHO),
        ("boss", "peers: [auditor], turns: 3, entry: true", BOSS),
    ])
    .await;
    let (receipt, told) = house.ask("k", "auditor", "").await;
    assert!(told.contains("request logged, item logged, item logged, item logged, item logged"), "{told}");
    let (_, told) = house.ask("k2", "boss", "[[say('auditor', ''), say('auditor', '')], everything]").await;
    assert!(told.contains("request logged") && !told.contains("missing"), "{told}");
    // All messages are there, in order, including the refusal.
    let records = house.records();
    let thread: Vec<_> = records.iter().filter(|r| r.header.thread == receipt.thread).collect();
    let mut codes: Vec<&str> = thread.iter().map(|r| code(r)).collect();
    assert_eq!(codes[..5], ["request", "call", "call", "note", "route.not-a-peer"]);
    codes.drain(..5);
    assert_eq!(codes, ["final", "final", "final"], "two answers and the one to the door");
    let mut heads =
        thread.iter().scan(systole_core::types::record::head_zero(&receipt.thread), |head, record| {
            let fits = record.is_valid_after(*head);
            *head = record.head;
            Some(fits)
        });
    assert!(heads.all(|fits| fits), "each with its place in the chain");
    assert!(thread.windows(2).all(|pair| pair[0].header.time <= pair[1].header.time));
    house.close().await;
}

fn count(folder: &std::path::Path, query: &str) -> i64 {
    let log = Connection::open(folder.join("hello.db")).unwrap();
    log.query_row(query, [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn c10_configurations_and_refused_bytes_are_stored_once_and_growth_is_linear() {
    let mut house = PlanHouse::open(&[("echo", "entry: true, in_flight: 16", ECHO)]).await;
    let mut sizes = Vec::new();
    for round in 0..3 {
        let mut receipts = Vec::new();
        for n in 0..200 {
            let document = say("echo", &format!("{round} {n} {}", "x".repeat(200)));
            receipts.push(house.send(&format!("k{round}-{n}"), &document, None, None).await.unwrap());
        }
        house.outcomes(&receipts).await;
        house.send("bad", "<nothing xmlns='urn:x'/>", None, None).await.unwrap_err();
        let folder = house.close().await;
        sizes.push(std::fs::metadata(folder.path().join("hello.db")).unwrap().len());
        assert_eq!(count(folder.path(), "SELECT count(*) FROM config"), 1, "one configuration");
        // The configuration and the refused bytes, however often they came.
        assert_eq!(count(folder.path(), "SELECT count(*) FROM document"), 2);
        assert_eq!(
            count(folder.path(), "SELECT count(*) FROM line WHERE code = 'route.not-a-peer'"),
            round + 1
        );
        house = PlanHouse::in_folder(folder).await;
    }
    let (second, third) = (sizes[1] - sizes[0], sizes[2] - sizes[1]);
    assert!(third < second + second / 4, "{sizes:?}");
    house.close().await;
}
