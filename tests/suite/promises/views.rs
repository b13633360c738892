//! B7: a listener's own view of its call, cleared and read again; and the questions that its delivery lets it
//! ask, by programs and by a listener in this process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rustix::process::Signal;
use sha2::{Digest as _, Sha256};
use systole_carriers::from_conversation;
use systole_core::types::composition::Reach;
use systole_core::types::ids::{Digest, Name};
use systole_core::types::record::Record;
use systole_kit::ask::{BytePage, MessageSpot, PumpQuestion, ViewEntry, ViewedMessage};
use systole_kit::journal::{JournalEntry, ModelCallOutcome, ModelStarted};
use systole_kit::line::{Line, NotTaken};
use systole_kit::reply::Item;
use systole_kit::{DocumentLimits, Payload, reply};

use super::cast::{BOSS, ECHO, HANG, PlanHouse, body, cast, code, judged, plain, say};
use crate::log_records::salt_of;
use crate::program::{Events, Running, ask, run_file};

/// The boss's further plan: five messages, then a clear of four of them.
const CLEARS: &str = "[say('echo', 'alpha'), note('thinking')], [clear(1)]";

#[tokio::test]
async fn b7_a_clear_is_confirmed_can_be_recalled_and_changes_no_log() {
    let house =
        PlanHouse::open(&[("boss", "peers: [echo], turns: 9, entry: true", BOSS), ("echo", "", ECHO)]).await;
    let plan = format!("[{CLEARS}, [recall(2, 4)], everything]");
    let (receipt, told) = house.ask("k", "boss", &plan).await;
    assert!(told.contains("echo heard alpha") && told.contains("thinking"), "it reads them again: {told}");
    let records: Vec<Record> =
        house.records().into_iter().filter(|r| r.header.thread == receipt.thread).collect();
    let codes: Vec<&str> = records.iter().map(code).collect();
    let all = ["request", "call", "note", "final", "clear", "answer", "recall", "answer", "final"];
    assert_eq!(codes, all, "and nothing is gone");
    let cleared = body(&records[5]);
    assert!(
        cleared.contains("kept_messages=\"4\" from_seq=\"0\" to_seq=\"0\""),
        "one turn is kept whole: {cleared}"
    );
    house.close().await;
}

/// The digest of records as the page on views defines it, only from the contents of the log.
fn digest(records: &[&Record]) -> String {
    let hash = |prefix: u8, parts: &[&[u8]]| -> [u8; 32] {
        parts
            .iter()
            .fold(Sha256::new().chain_update([prefix]), |hash, part| hash.chain_update(part))
            .finalize()
            .into()
    };
    let leaves: Vec<[u8; 32]> = records
        .iter()
        .map(|r| hash(0, &[&r.header_bytes(), &hash(5, &[&hash(3, &[&salt_of(r), &r.body])])]))
        .collect();
    let leaves: Vec<&[u8]> = leaves.iter().map(|leaf| &leaf[..]).collect();
    Digest(hash(6, &leaves)).to_string()
}

/// Answers once the log has the answer of the other.
const LATE: &str = r#"
log = sqlite3.connect("file:hello.db?mode=ro", uri=True)
query = "SELECT count(*) FROM line WHERE code = 'final' AND body LIKE '%heard two%'"
for turn in turns():
    while not log.execute(query).fetchone()[0]: time.sleep(0.01)
    reply(turn.delivery, said(turn.text))
"#;

#[tokio::test]
async fn b7_the_digest_of_a_clear_can_be_computed_from_the_log() {
    let house = PlanHouse::open(&[
        ("boss", "peers: [echo, late], turns: 9, entry: true", BOSS),
        ("echo", "in_flight: 4", ECHO),
        ("late", "", LATE),
    ])
    .await;
    let plan =
        "[[say('late', 'one'), say('echo', 'two'), note('so')], [note('then')], [clear(1)], everything]";
    let (receipt, _) = house.ask("k", "boss", plan).await;
    let records = house.records();
    let own = |word: &str, text: &str| {
        let is_it =
            |r: &&Record| r.header.thread == receipt.thread && code(r) == word && plain(r).contains(text);
        records.iter().find(is_it).unwrap_or_else(|| panic!("{word} {text}"))
    };
    // Its items, then their answers in the order of the items, though the second answer came first.
    let order =
        [own("call", "one"), own("call", "two"), own("note", "so"), own("final", "one"), own("final", "two")];
    assert!(order[3].header.seq > order[4].header.seq, "the quick one is recorded first");
    let said = body(own("answer", "context-cleared"));
    assert!(said.contains("from_seq=\"2\" to_seq=\"6\"") && said.contains(&digest(&order)), "{said}");
    house.close().await;
}

#[tokio::test]
async fn wrong_numbers_are_refused_with_a_fix() {
    let house = PlanHouse::open(&[("boss", "turns: 30, entry: true", BOSS)]).await;
    let wrong =
        ["clear(-1)", "clear('x')", "clear('')", "clear('1.5')", "recall('x', 1)", "recall(1, 1, length=0)"];
    let plan = format!("[[{}, f'<clear-context xmlns=\"{{CORE}}\"/>'], everything]", wrong.join(", "));
    let (receipt, _) = house.ask("k", "boss", &plan).await;
    let records = house.records();
    let refused: Vec<String> = records
        .iter()
        .filter(|r| r.header.thread == receipt.thread && code(r) == "payload.invalid")
        .map(plain)
        .collect();
    assert_eq!(refused.len(), wrong.len() + 1);
    for told in &refused {
        assert!(told.contains("<expected>") && (told.contains("<try>") || told.contains("keep")), "{told}");
    }
    assert!(refused[0].contains("keep") && refused[0].contains("-1"), "{}", refused[0]);
    house.close().await;
}

#[test]
fn b7_what_was_cleared_before_a_restart_is_recalled_after_it() {
    let folder =
        cast(&[("boss", "peers: [echo], turns: 9, entry: true, timeout: 1h", BOSS), ("echo", "", ECHO)]);
    let held = "lambda turn: [time.sleep(0.02) for _ in iter(lambda: os.path.exists('gate'), True)] and [] or [recall(1, 6)]";
    let plan = format!(
        "[{}, {held}, lambda turn: [said(turn.line + ask(turn.delivery, '<view/>'))]]",
        CLEARS.replace("clear(1)", "clear(0)")
    );
    let organism = Running::organism(folder.path());
    let taken = ask(&run_file(folder.path()), "POST", "/v1/messages", &[], &say("boss", &plan));
    let thread = taken.json["thread"].as_str().unwrap().to_owned();
    let mut events = Events::open(&run_file(folder.path()), &format!("?from=0&thread={thread}"), &[]);
    while !events.next().expect("it runs").2["body"].as_str().unwrap().contains("<context-cleared") {}
    organism.signal(Signal::KILL);
    organism.end();

    std::fs::write(folder.path().join("gate"), "").unwrap();
    let organism = Running::organism(folder.path());
    let mut events = Events::open(&run_file(folder.path()), &format!("?from=0&thread={thread}"), &[]);
    let is_end = |record: serde_json::Value| record["code"] == "final" && record["from"] == "boss";
    while !is_end(events.next().expect("the boss answers").2) {}
    assert_eq!(organism.interrupt().code, Some(130));
    judged(folder.path());
    let told = said_last(folder.path());
    // The recall shows what was said before the clear; the view itself no longer does.
    let (recalled, view) = told.split_once("<answer ").expect("it asked for its view");
    assert!(recalled.contains("alpha") && recalled.contains("thinking"), "{recalled}");
    let shows = |number: u64| {
        let start = format!("<message seq=\"{number}\" from=");
        view.split(&start).skip(1).any(|rest| rest.split('>').next().is_some_and(|tag| tag.contains("sort=")))
    };
    assert!(shows(1) && !shows(2) && !shows(4) && shows(5), "{view}");
}

/// The body of the last final in the log of that folder.
fn said_last(folder: &std::path::Path) -> String {
    let log = systole_checker::log::LogSnapshot::open_file(&folder.join("hello.db")).unwrap();
    let mut last = String::new();
    log.read_each(|record| {
        let record = record.unwrap();
        if record.code.as_deref() == Some("final") {
            last = String::from_utf8(record.body).unwrap().replace("&lt;", "<");
        }
    })
    .unwrap();
    last
}

#[tokio::test]
async fn a_program_asks_for_its_view_for_schemas_and_for_what_was_refused() {
    let house = PlanHouse::open(&[
        ("boss", "peers: [echo], turns: 9, entry: true", BOSS),
        ("echo", "", ECHO),
        ("hidden", "", HANG),
    ])
    .await;
    let questions = "lambda turn: [said('|'.join(ask(turn.delivery, q, n) for n, q in enumerate([\
                     '<view from-seq=\"2\"/>', '<schema name=\"echo\"/>', '<schema name=\"hidden\"/>', '<schema name=\"never\"/>', \
                     '<blob hash=\"%s\"/>' % re.search('hash=\"([0-9a-f]+)\"', turn.line).group(1), '<blob hash=\"00\"/>', \
                     '<put-blob>a &amp; b&#10;</put-blob>', '<blob hash=\"%s\"/>' % hashlib.sha256(b'a & b\\n').hexdigest()])))]";
    let plan = format!("[[say('echo', 'a &lt; b'), '<nonsense xmlns=\"urn:x\"/>'], {questions}]");
    let (_, told) = house.ask("k", "boss", &plan).await;
    let answers: Vec<&str> = told.split('|').collect();
    let [view, own, hidden, never, blob, no_blob, put, unshown] = answers[..] else { panic!("{told}") };
    assert!(view.contains("id=\"0\"") && view.contains("count=\"4\""), "{view}");
    assert!(view.contains("seq=\"2\" from=\"boss\" sort=\"said\" turn=\"1\" ordinal=\"0\">"), "{view}");
    assert!(view.contains("seq=\"3\" from=\"echo\" sort=\"answer\" turn=\"1\" ordinal=\"0\">"), "{view}");
    assert!(own.contains("name=\"echo\" total=") && own.contains("targetNamespace"), "{own}");
    let words = |answer: &str| {
        let (_, words) = answer.split_once("<system-error").expect("refused");
        words.split("</system-error>").next().unwrap().to_owned()
    };
    assert_eq!(words(hidden), words(never), "one that is hidden and one that never was");
    assert!(words(hidden).contains("route.not-a-peer"), "{hidden}");
    assert!(blob.contains("nonsense xmlns"), "{blob}");
    assert!(no_blob.contains("no document of this hash is named in your view"), "{no_blob}");
    let hash = Digest::hash_bytes(b"a & b\n").to_string();
    assert!(put.ends_with(&format!(" hash=\"{hash}\" total=\"6\"/></answer>")), "{put}");
    assert_eq!(words(unshown), words(no_blob), "a stored text is shown to no other call");
    assert_eq!(
        house.organism.reader().read_document(Digest::hash_bytes(b"a & b\n")).unwrap().unwrap()[..],
        *b"a & b\n"
    );
    let folder = house.close().await;
    // A check of the whole log accepts a document that no record names.
    let summary = systole_log::sqlite::verify_all(&folder.path().join("hello.db")).unwrap();
    assert!(summary.documents >= 2, "{summary:?}");
}

#[tokio::test]
async fn a_listener_in_this_process_reads_its_view_and_its_schema() {
    let seen: Arc<Mutex<Vec<ViewedMessage>>> = Arc::default();
    let keeps = seen.clone();
    let listener = from_conversation(move |asked, line: Arc<dyn Line>| {
        let keeps = keeps.clone();
        async move {
            let item = |document: &str| {
                Item::plain(Payload::parse(document.as_bytes(), &DocumentLimits::default()).unwrap())
            };
            let turn = asked.stamp.turn;
            let ns = "xmlns=\"https://xml-pipeline.org/ns/inner/v1\"";
            if turn == 1 {
                return reply::ReplyContent::Items(vec![item(&format!("<inner {ns}>one</inner>"))]);
            }
            *keeps.lock().unwrap() = line.view(0).await.unwrap().messages().cloned().collect();
            let schema = line
                .ask(PumpQuestion::Schema { name: "inner".into(), element: None, from: 0 })
                .await
                .unwrap();
            let schema = BytePage::from_payload(&schema.unwrap()).unwrap();
            let other = line.ask(PumpQuestion::Schema { name: "boss".into(), element: None, from: 0 }).await;
            assert!(matches!(other, Err(NotTaken::Refused { .. })), "{other:?}");
            let section = line.configuration("listeners.inner").await.unwrap();
            assert!(section.starts_with("run:\n  - python3\n  - inner.py\n"), "{section}");
            assert!(section.ends_with("returns:\n  - said\nturns: 3\n"), "{section}");
            let other = line.configuration("listeners.boss").await;
            assert!(matches!(other, Err(NotTaken::Refused { .. })), "{other:?}");
            let text = format!("{} bytes", schema.bytes.len());
            reply::ReplyContent::Items(vec![item(&format!("<said {ns}><text>{text}</text></said>"))])
        }
    });
    let folder =
        cast(&[("boss", "peers: [inner], turns: 4, entry: true", BOSS), ("inner", "turns: 3", HANG)]);
    let inner = Name::parse("inner").unwrap();
    let organism = crate::organism::start_with(folder.path(), |composition, inline| {
        composition.listeners.get_mut(&inner).unwrap().reach = Reach::Inline;
        *inline = BTreeMap::from([(inner.clone(), listener)]);
    })
    .await;
    let house = PlanHouse { folder, organism };
    let (_, told) = house.ask("k", "boss", "[[say('inner', 'x')], everything]").await;
    let bytes = std::fs::read(house.folder.path().join("inner.xsd")).unwrap().len();
    assert!(told.contains(&format!("{bytes} bytes")), "{told}");
    let seen: Vec<(u64, String, MessageSpot)> =
        seen.lock().unwrap().iter().map(|shown| (shown.seq, shown.from.clone(), shown.spot)).collect();
    assert_eq!(
        seen,
        [
            (1, "boss".to_owned(), MessageSpot::Request),
            (2, "inner".to_owned(), MessageSpot::Said { turn: 1, ordinal: 0 })
        ]
    );
    house.close().await;
}

#[tokio::test]
async fn a_program_reads_back_what_its_models_said() {
    let house =
        PlanHouse::open(&[("boss", "peers: [echo], turns: 9, entry: true", BOSS), ("echo", "", ECHO)]).await;
    let first = "lambda turn: (thinks(turn, '<say>a &\\n b</say>'), [say('echo', 'a')])[1]";
    let second =
        "lambda turn: [said(ask(turn.delivery, '<view words=\"true\"/>') + ask(turn.delivery, '<view/>'))]";
    let (receipt, told) = house.ask("k", "boss", &format!("[{first}, {second}]")).await;
    let (with, without) = told.split_once("</answer>").unwrap();
    let words = "</message><words turn=\"1\" stop=\"end\" in=\"9\" out=\"3\">&lt;say&gt;a &amp;&#10; b&lt;/say&gt;</words>\
                 <message seq=\"2\" from=\"boss\" sort=\"said\" turn=\"1\" ordinal=\"0\">";
    assert!(with.contains(words), "{with}");
    assert!(!without.contains("<words"), "{without}");
    let records = house.records();
    let began = records.iter().find(|r| r.header.thread == receipt.thread).unwrap().header.time;
    assert!(with.contains(&format!(" began=\"{}\"", &began.to_string()[..10])), "{with}");
    // The log has the prompt that the journal names.
    let started = records.iter().find(|r| code(r) == "model-started").unwrap();
    let hash = body(started).split("prompt=\"").nth(1).unwrap().split('"').next().unwrap();
    let prompt = house.organism.reader().read_document(Digest::parse(hash).unwrap()).unwrap().unwrap();
    assert_eq!(&prompt[..], b"prompt of turn 1");
    house.close().await;
}

/// The listener's view in each call: its mark, and a line for each shown item.
type Seen = Arc<Mutex<Vec<(String, Vec<String>)>>>;

/// A listener that thinks with a model: its first turn gives nothing, its second answers.
fn thinker(seen: &Seen) -> Arc<dyn systole_carriers::InlineListener> {
    let seen = seen.clone();
    from_conversation(move |asked, line: Arc<dyn Line>| {
        let seen = seen.clone();
        async move {
            let turn = asked.stamp.turn;
            let view = line.view_with_words(0).await.unwrap();
            seen.lock().unwrap().push((view.mark.clone(), view.shown.iter().map(shown_line).collect()));
            line.progress("thinking").await.unwrap();
            let prompt = line.put_blob(format!("prompt {turn}")).await.unwrap();
            assert_eq!(prompt, Digest::hash_bytes(format!("prompt {turn}").as_bytes()).to_string());
            let (reserve_tokens, reserve_money) = (None, None);
            let started = ModelStarted {
                model: "m".into(),
                prompt,
                guided: None,
                reserve_tokens,
                reserve_money,
                wait_ms: None,
            };
            let of = line.journal(JournalEntry::Started(started)).await.unwrap();
            let (stop, text) = ("end".to_owned(), format!("words of turn {turn}"));
            let outcome = ModelCallOutcome {
                of,
                stop,
                tokens_in: None,
                tokens_out: None,
                money: None,
                text,
                blobs: Vec::new(),
                details: Box::default(),
            };
            line.journal(JournalEntry::Result(outcome)).await.unwrap();
            line.notice("agent.repaired", "a fence was taken away").await.unwrap();
            if turn == 1 {
                return reply::ReplyContent::Again {
                    code: "agent.prose-only".into(),
                    words: "No action.".into(),
                };
            }
            let ns = "https://xml-pipeline.org/ns/inner/v1";
            Payload::write(ns, "said", |inside| inside.open("text").text("done")).into()
        }
    })
}

fn shown_line(shown: &ViewEntry) -> String {
    match shown {
        ViewEntry::Words(words) => format!("words of {}: {}", words.turn, words.text),
        ViewEntry::Message(ViewedMessage { seq, spot, payload, .. }) => {
            let told = ["code", "message"].map(|name| payload.find_attribute(name).unwrap_or_default());
            format!("{seq} {} {} {}", spot.parts().0, payload.name().local, told.join(" ")).trim().to_owned()
        }
    }
}

#[tokio::test]
async fn a_listener_in_this_process_that_thinks_reads_back_what_its_models_said() {
    let seen = Seen::default();
    let inner = Name::parse("inner").unwrap();
    let mut folder =
        cast(&[("boss", "peers: [inner], turns: 9, entry: true", BOSS), ("inner", "turns: 3", HANG)]);
    // The second time in another process of the organism, as far as it can know.
    let mut thread = None;
    for key in ["one", "two"] {
        let organism = crate::organism::start_with(folder.path(), |composition, inline| {
            composition.listeners.get_mut(&inner).unwrap().reach = Reach::Inline;
            *inline = BTreeMap::from([(inner.clone(), thinker(&seen))]);
        })
        .await;
        let house = PlanHouse { folder, organism };
        let document = say("boss", "[[say('inner', 'x')], everything]");
        let receipt = house.send(key, &document, None, thread.as_deref()).await.unwrap();
        let outcome = house.outcomes(std::slice::from_ref(&receipt)).await.remove(0);
        assert!(plain(&outcome).contains("<text>done</text>"), "{}", plain(&outcome));
        thread = Some(receipt.thread.to_string());
        folder = house.close().await;
    }
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    let marks: Vec<&str> = seen.iter().map(|(mark, _)| mark.as_str()).collect();
    let [one, again, other, _] = marks[..] else { panic!("{seen:?}") };
    assert!(one == again && one != other && one.len() == 8, "{marks:?}");
    let first = [
        "1 request say",
        "words of 1: words of turn 1",
        "2 answer system-error agent.prose-only No action.",
        "3 inbox system-error agent.repaired a fence was taken away",
    ];
    assert_eq!(seen[0].1, first[..1]);
    assert_eq!(seen[1].1, first);
    let earlier = [&first[..], &["words of 2: words of turn 2", "4 said said", "5 request say"]].concat();
    assert_eq!(seen[2].1, earlier);
}

#[tokio::test]
async fn a_program_reads_what_it_was_told_without_its_own_items() {
    let house =
        PlanHouse::open(&[("boss", "peers: [echo], turns: 9, entry: true", BOSS), ("echo", "", ECHO)]).await;
    let asks = "lambda turn: [said(ask(turn.delivery, '<view from-seq=\"2\" items=\"false\"/>'))]";
    let plan =
        format!("[[say('echo', 'loud'), note('aside'), spawn(say('echo', 'far'))], [wait('all')], {asks}]");
    let (_, told) = house.ask("k", "boss", &plan).await;
    let shown: Vec<&str> =
        told.split("<message seq=\"").skip(1).map(|m| m.split('"').next().unwrap()).collect();
    // 2 and 4 are the call and the spawn, 7 is the wait.
    assert_eq!(shown, ["3", "5", "6", "8", "9"], "{told}");
    assert!(told.contains("count=\"9\"") && told.contains(">aside</boss>"), "{told}");
    assert!(told.contains("echo heard loud") && told.contains("echo heard far"), "{told}");
    assert!(!told.contains(">loud<") && !told.contains("initial-payload"), "{told}");
    house.close().await;
}

/// A listener that asks in each of its turns for the new records, and counts them.
fn counter(turns: u32, heard: &Arc<Mutex<Vec<u64>>>) -> Arc<dyn systole_carriers::InlineListener> {
    let heard = heard.clone();
    from_conversation(move |asked, line: Arc<dyn Line>| {
        let heard = heard.clone();
        async move {
            let turn = asked.stamp.turn;
            let from = heard.lock().unwrap().last().map_or(1, |last| last + 1);
            let view = line.view_without_items(from).await.unwrap();
            assert!(view.messages().all(|message| !matches!(message.spot, MessageSpot::Said { .. })));
            heard.lock().unwrap().extend(view.messages().map(|message| message.seq));
            let document = match turn {
                _ if turn == turns => {
                    "<said xmlns=\"https://xml-pipeline.org/ns/inner/v1\"><text>done</text></said>".to_owned()
                }
                _ => say("echo", &turn.to_string()),
            };
            reply::ReplyContent::Items(vec![Item::plain(
                Payload::parse(document.as_bytes(), &DocumentLimits::default()).unwrap(),
            )])
        }
    })
}

#[tokio::test]
async fn a_listener_that_goes_by_its_view_hears_everything_once_over_hundreds_of_turns() {
    const TURNS: u32 = 300;
    let heard: Arc<Mutex<Vec<u64>>> = Arc::default();
    let parts = [("inner", "peers: [echo], turns: 1000000, entry: true", HANG), ("echo", "", ECHO)];
    let inner = Name::parse("inner").unwrap();
    let folder = cast(&parts);
    let organism = crate::organism::start_with(folder.path(), |composition, inline| {
        composition.listeners.get_mut(&inner).unwrap().reach = Reach::Inline;
        *inline = BTreeMap::from([(inner.clone(), counter(TURNS, &heard))]);
    })
    .await;
    let house = PlanHouse { folder, organism };
    let (_, told) = house.ask("k", "inner", "go").await;
    assert!(told.contains("done"), "{told}");
    // The request, and after each call its answer.
    let expected: Vec<u64> =
        std::iter::once(1).chain((1..u64::from(TURNS)).map(|turn| turn * 2 + 1)).collect();
    assert_eq!(*heard.lock().unwrap(), expected);
    house.close().await;
}

/// A listener's reply with its own section and others' sections.
const SECTIONS: &str = "lambda turn: [said('|'.join(ask(turn.delivery, f'<configuration path=\"{path}\"/>', n) \
                        for n, path in enumerate(['listeners.boss', 'listeners.echo', 'listeners.never', 'agents.boss', 'boss', 'budgets', 'listeners'])))]";

#[tokio::test]
async fn a_listener_reads_the_section_that_its_call_began_with_and_no_other() {
    let folder = cast(&[
        ("boss", "peers: [echo], turns: 9, entry: true, env: {COLOUR: red}", BOSS),
        ("echo", "", ECHO),
    ]);
    let house = PlanHouse::in_folder(folder).await;
    let plan = format!("[[timer('now', after='1s'), wait('all')], {SECTIONS}]");
    let receipt = house.send("k", &say("boss", &plan), None, None).await.unwrap();
    house.until("its wait", |record| code(record) == "await").await;
    let folder = house.close().await;
    // By the time the turn comes, the file has changed.
    let file = folder.path().join("organism.yaml");
    let yaml = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, yaml.replace("COLOUR: red", "COLOUR: blue")).unwrap();
    let house = PlanHouse::in_folder(folder).await;
    let told = plain(&house.outcomes(std::slice::from_ref(&receipt)).await[0]);
    let answers: Vec<&str> = told.split('|').collect();
    let own = "<configuration xmlns=\"urn:systole:listener:v1\" path=\"listeners.boss\" total=\"";
    assert!(answers[0].contains(own), "{told}");
    assert!(
        answers[0].contains("&#10;env:&#10;  COLOUR: red&#10;") && !answers[0].contains("blue"),
        "{}",
        answers[0]
    );
    assert!(answers[0].contains("run:&#10;  - python3&#10;  - boss.py&#10;"), "{}", answers[0]);
    let words = |answer: &str| {
        let (_, words) = answer.split_once("<system-error").expect("refused");
        words.split("</system-error>").next().unwrap().to_owned()
    };
    let refused: Vec<String> = answers[1..].iter().map(|answer| words(answer)).collect();
    assert!(
        refused[0].contains("route.not-a-peer") && refused[0].contains("listeners.boss"),
        "{}",
        refused[0]
    );
    assert!(refused.iter().all(|one| *one == refused[0]), "{refused:#?}");
    // A call that begins now gets the new one.
    let (_, told) = house.ask("k2", "boss", &format!("[{SECTIONS}]")).await;
    assert!(told.contains("COLOUR: blue") && !told.contains("COLOUR: red"), "{told}");
    house.close().await;
}
