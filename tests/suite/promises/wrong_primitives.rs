//! Every primitive, used wrongly: each is refused in the thread with a code, a place and the fix, and the
//! messages are golden. `SYSTOLE_GOLDEN=1` writes them again; review them before you keep them.

use systole_core::types::record::RecordKind;
use systole_queries::glance::read_error;

use super::cast::{BOSS, ECHO, HANG, PlanHouse, body};
use crate::golden::golden;

/// The fault of an item, and the item, as a Python string in which `{me}` is the sender's own thread and
/// `{over}` the thread of a child that has ended.
const WRONG: &[(&str, &str)] = &[
    ("a wait for nothing", r#"<await-threads xmlns="{core}" mode="0"/>"#),
    ("a mode that is none", r#"<await-threads xmlns="{core}" mode="most"/>"#),
    ("an attribute that is none", r#"<await-threads xmlns="{core}" modus="all"/>"#),
    (
        "a wait for a thread of another call",
        r#"<await-threads xmlns="{core}" mode="all"><thread id="sess-000000000000"/></await-threads>"#,
    ),
    ("a wait for itself", r#"<await-threads xmlns="{core}" mode="all"><thread id="{me}"/></await-threads>"#),
    (
        "a thread that is no thread",
        r#"<await-threads xmlns="{core}" mode="all"><thread id="../etc"/></await-threads>"#,
    ),
    ("a timer in the past", r#"<set-timer xmlns="{core}" after="-5s">x</set-timer>"#),
    ("a timer at once", r#"<set-timer xmlns="{core}" after="0s">x</set-timer>"#),
    ("a period shorter than a second", r#"<set-timer xmlns="{core}" every="999ms">x</set-timer>"#),
    ("a timer in a century", r#"<set-timer xmlns="{core}" after="36500d">x</set-timer>"#),
    ("a span without a unit", r#"<set-timer xmlns="{core}" after="10">x</set-timer>"#),
    ("both after and every", r#"<set-timer xmlns="{core}" after="10s" every="10s">x</set-timer>"#),
    ("neither after nor every", r#"<set-timer xmlns="{core}">x</set-timer>"#),
    ("a timer that is set", r#"<set-timer xmlns="{core}" id="tea" after="10s">x</set-timer>"#),
    ("an id that is no label", r#"<set-timer xmlns="{core}" id="Tea Time" after="10s">x</set-timer>"#),
    ("a timer that is not set", r#"<cancel-timer xmlns="{core}" id="coffee"/>"#),
    ("a cancelling of nothing", r#"<cancel-timer xmlns="{core}"/>"#),
    ("a list without a condition", r#"<todo-until xmlns="{core}"><step done="true">a</step></todo-until>"#),
    ("a list of something else", r#"<todo-until xmlns="{core}" condition="c"><task>a</task></todo-until>"#),
    (
        "a step that is half done",
        r#"<todo-until xmlns="{core}" condition="c"><step done="half">a</step></todo-until>"#,
    ),
    ("a child of another call", r#"<cancel-thread xmlns="{core}" id="sess-000000000000.a"/>"#),
    ("its own thread", r#"<cancel-thread xmlns="{core}" id="{me}"/>"#),
    ("a child that has ended", r#"<cancel-thread xmlns="{core}" id="{over}"/>"#),
    ("a clear that keeps less than nothing", r#"<clear-context xmlns="{core}" keep="-1"/>"#),
    ("a clear that keeps some", r#"<clear-context xmlns="{core}" keep="some"/>"#),
    ("a clear that does not say what it keeps", r#"<clear-context xmlns="{core}"/>"#),
    ("a recall from before the first message", r#"<recall xmlns="{core}" from_seq="0" to_seq="2"/>"#),
    ("a recall backwards", r#"<recall xmlns="{core}" from_seq="3" to_seq="2"/>"#),
    ("a recall of more than there is", r#"<recall xmlns="{core}" from_seq="2" to_seq="99"/>"#),
    ("a recall from behind the text", r#"<recall xmlns="{core}" from_seq="4" to_seq="4" offset="1000"/>"#),
    ("a recall of nothing", r#"<recall xmlns="{core}" from_seq="1" to_seq="2" length="0"/>"#),
    ("a recall without an end", r#"<recall xmlns="{core}" from_seq="1"/>"#),
    ("a spawn without a payload", r#"<spawn-thread xmlns="{core}"/>"#),
    (
        "a spawn of two payloads",
        r#"<spawn-thread xmlns="{core}"><initial-payload><a xmlns="urn:a"/><b xmlns="urn:b"/></initial-payload></spawn-thread>"#,
    ),
    (
        "a spawn without a taker",
        r#"<spawn-thread xmlns="{core}"><initial-payload><a xmlns="urn:a"/></initial-payload></spawn-thread>"#,
    ),
    (
        "a spawn of an invalid payload",
        r#"<spawn-thread xmlns="{core}"><initial-payload><say xmlns="https://xml-pipeline.org/ns/echo/v1"/></initial-payload></spawn-thread>"#,
    ),
    ("a word that only the core says", r#"<timer-fired xmlns="{core}" id="tea">now</timer-fired>"#),
    ("a question about nothing", r#"<describe xmlns="https://xml-pipeline.org/ns/meta/v1"/>"#),
    (
        "a question about what is not there",
        r#"<describe xmlns="https://xml-pipeline.org/ns/meta/v1" element="secrets"/>"#,
    ),
    (
        "an item for a child that has ended",
        r#"<message xmlns="https://xml-pipeline.org/ns/envelope/v1"><meta><thread>{over}</thread></meta><say xmlns="https://xml-pipeline.org/ns/echo/v1"><text>x</text></say></message>"#,
    ),
    (
        "an item for a thread of another call",
        r#"<message xmlns="https://xml-pipeline.org/ns/envelope/v1"><meta><thread>sess-000000000000.a</thread></meta><say xmlns="https://xml-pipeline.org/ns/echo/v1"><text>x</text></say></message>"#,
    ),
];

const SETUP: &str = "[spawn(say('echo', 'x'), 'over'), timer('t', id='tea', after='1h')], [wait('all')]";

fn plan() -> String {
    let items: Vec<String> = WRONG.iter().map(|(_, item)| format!("r'''{item}'''")).collect();
    format!(
        "[{SETUP}, lambda turn: [i.replace('{{core}}', CORE).replace('{{me}}', turn.thread).replace('{{over}}', \
         turn.thread + '.over') for i in [{}]], [said('done')]]",
        items.join(", ")
    )
}

#[tokio::test]
async fn every_invalid_primitive_is_refused_with_its_place_and_fix() {
    let parts = [
        ("boss", "peers: [echo, mute], turns: 9, entry: true", BOSS),
        ("echo", "", ECHO),
        ("mute", "", HANG),
    ];
    let house = PlanHouse::open(&parts).await;
    let (receipt, _) = house.ask("k", "boss", &plan()).await;
    let records = house.records();
    let mut page = String::new();
    for (ordinal, (what, item)) in (0..).zip(WRONG) {
        let refused = records.iter().find(|r| {
            let h = &r.header;
            h.kind == RecordKind::Refusal
                && h.thread == receipt.thread
                && (h.turn, h.ordinal) == (Some(3), Some(ordinal))
        });
        let refused = refused.unwrap_or_else(|| panic!("{what} is refused: {item}"));
        assert!(records.iter().any(|r| Some(r.header.id) == refused.header.cause), "{what}");
        let code = refused.header.code.unwrap().as_str();
        page += &format!("{what}\n  {item}\n  {code}\n");
        match read_error(&refused.body) {
            Some(said) => {
                let parts = [("at", said.path), ("expected", said.expected), ("try", said.fix)];
                page += &format!("    {}\n", said.message);
                for (name, words) in parts {
                    page += &words.map_or_else(String::new, |words| format!("    {name}: {words}\n"));
                }
            }
            None => {
                let thread = receipt.thread.as_str();
                page += &format!("    {}\n", body(refused).replace(thread, "{me}"));
            }
        }
        page += "\n";
    }
    house.close().await;
    let page = page.replace(receipt.thread.as_str(), "{me}");
    golden("tests/suite/golden/wrong-primitives.txt", page);
}
