//! `systole erase`: values and bodies are taken out of a log, nothing is left of them in any file beside it, and
//! everything still verifies.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use systole_core::types::body_parts::{BodyHole, PartSeal};
use systole_core::types::ids::{CallPath, Digest};
use systole_core::types::ports::{
    Commit, LogBatch, LogReader as _, LogWriter as _, Position, StoredDocument,
};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind, TimerEffect, head_zero};
use systole_export::erasing::{self, ErasureScope, ErasureTargets};
use systole_log::sqlite;

use crate::approving::waits;
use crate::broker::NatsServer;
use crate::log_page::{python, with_program};
use crate::log_records::{Author, Folder, batch, edit_at, name, read_all, root};
use crate::program::{Ran, Running, systole};
use crate::pumps::machine;
use crate::replay::{log_in, named, placed, plays, question, stop};

#[track_caller]
pub(crate) fn done(ran: &Ran) -> &str {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    &ran.stdout
}

#[track_caller]
pub(crate) fn assert_refused(ran: &Ran, code: i32, words: &str) {
    assert_eq!(ran.code, Some(code), "{words}: {ran:?}");
    assert!(ran.stderr.contains(words) && ran.stderr.contains("try: "), "{words}: {ran:?}");
}

pub(crate) fn json(at: &Path, arguments: &[&str]) -> Value {
    let ran = systole(at, &[arguments, &["--json"]].concat());
    done(&ran);
    ran.json_lines().remove(0)
}

/// Runs a command on a log without an organism's file.
fn on(folder: &Folder, arguments: &[&str]) -> Ran {
    systole(folder.path(), &[arguments, &["--log", "organism.db"]].concat())
}

fn json_on(folder: &Folder, arguments: &[&str]) -> Value {
    json(folder.path(), &[arguments, &["--log", "organism.db"]].concat())
}

fn positions(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(ToString::to_string).collect()
}

/// The files beside a log, and the log, that have these bytes.
pub(crate) fn files_with(log: &Path, text: &str) -> Vec<String> {
    let file = log.file_name().unwrap().to_str().unwrap();
    let folder = std::fs::read_dir(log.parent().unwrap()).unwrap().map(|entry| entry.unwrap());
    let all = folder.filter(|entry| entry.file_name().to_str().unwrap().starts_with(file));
    let found = all.filter(|entry| {
        let bytes = std::fs::read(entry.path()).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    });
    found.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

pub(crate) fn write(folder: &Folder, batch: &LogBatch) {
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    let config = StoredDocument { hash: Digest::hash_bytes(b"config"), bytes: Arc::from(&b"config"[..]) };
    let batch = LogBatch { documents: [&batch.documents[..], &[config]].concat(), ..batch.clone() };
    let batch = &batch;
    assert!(matches!(opened.writer.commit_batch(batch), Commit::Committed(_)));
}

/// The agent of the examples, whose tool takes a sensitive word, with one answered question. Its thread has the word
/// as a marked value, in answers of the model, in prompts, and in places that are not marked.
pub(crate) fn agent() -> tempfile::TempDir {
    let folder = named("agent");
    let file = folder.path().join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("word: word, letter"));
    std::fs::write(file, text.replace("word: word, letter", "word: sensitive text, letter")).unwrap();
    plays(folder.path(), &[("assistant", question("How many r are in strawberry?"))]);
    folder
}

/// The position of the record with the marked value.
pub(crate) fn find_marked(log: &Path) -> String {
    let with_values = read_all(log).into_iter().position(|record| !record.parts.values.is_empty());
    (with_values.unwrap() + 1).to_string()
}

pub(crate) fn the_other_verifiers_agree(log: &Path) {
    let snapshot = systole_checker::log::LogSnapshot::open_file(log).unwrap();
    let report = systole_checker::check_under(&snapshot, &[], &systole_checker::RunSettings::default());
    assert!(report.is_clean() && report.counts.erased > 0, "{report}");
    let ran = python(with_program().path(), &["verify.py", log.to_str().unwrap()]);
    assert!(ran.status.success(), "{ran:?}");
}

#[test]
fn c9_an_erased_value_is_in_no_file_and_everything_still_verifies() {
    let folder = agent();
    let at = folder.path();
    let log = log_in(at);
    let key = done(&systole(at, &["keygen", "--origin", "example.org/a"])).to_owned();
    std::fs::write(at.join("proof.policy"), format!("log {key}quorum none\n")).unwrap();
    std::fs::write(at.join("note"), done(&systole(at, &["checkpoint"]))).unwrap();
    done(&systole(at, &["find", "strawberry"]));
    let heads: Vec<Digest> = read_all(&log).iter().map(|record| record.head).collect();

    let at_position = find_marked(&log);
    // What `run --detach` keeps of this start and of the one before.
    let outputs = ["hello.db.out", "hello.db.out.before"];
    outputs.iter().for_each(|output| std::fs::write(at.join(output), "question: strawberry\n").unwrap());
    let all = ["hello.db", "hello.db.out", "hello.db.out.before"];
    let dry = json(at, &["erase", &at_position, "--dry-run"]);
    let mut there = files_with(&log, "strawberry");
    there.sort();
    assert_eq!(there, all, "a dry run changes nothing");
    let first = json(at, &["erase", &at_position]);
    let named: Vec<&str> =
        first["outputs"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
    assert!(named.iter().zip(outputs).all(|(path, output)| path.ends_with(output)), "{first:#}");
    assert_eq!(files_with(&log, "strawberry"), ["hello.db"], "the unmarked places");
    assert_eq!(first["erased"], dry["erased"]);
    assert_eq!(
        first["erased"].as_array().unwrap().len(),
        3,
        "the value and two answers of the model: {first:#}"
    );
    assert!(!first["documents"].as_array().unwrap().is_empty(), "prompts go: {first:#}");
    // The question and the answer have the word in a place that is not marked.
    let rest = positions(&first["repeated_at"]);
    assert_eq!(rest.len(), 2, "{first:#}");
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    let second = systole(at, &[&["erase", "--whole", "--reason", "asked for"], &rest[..]].concat());
    assert!(done(&second).contains("every record still verifies"), "{second:?}");
    for file in ["strawberry", "straw"] {
        assert_eq!(files_with(&log, file), [""; 0]);
    }

    // The hashes are as before, a checkpoint from before still anchors, and the holes are listed.
    let after: Vec<Digest> = read_all(&log).iter().map(|record| record.head).collect();
    assert_eq!(after[..heads.len()], heads[..]);
    let verified = json(at, &["verify", "--policy", "proof.policy", "--against", "note"]);
    assert_eq!(verified["verdict"], format!("anchored up to #{}", heads.len()));
    assert_eq!(verified["erased"].as_array().unwrap().len(), 5, "{verified:#}");
    assert_eq!(verified["erased_documents"], first["documents"].as_array().unwrap().len());
    let listed = systole(at, &["verify"]);
    assert!(done(&listed).contains(&format!("#{at_position}")), "{listed:?}");
    assert!(listed.stdout.contains(&format!("#{} whole", rest[0])), "{listed:?}");
    done(&systole(at, &["doctor"]));
    the_other_verifiers_agree(&log);
    let told = read_all(&log).pop().unwrap();
    let told = String::from_utf8_lossy(&told.body).into_owned();
    let number = rustix::process::geteuid().as_raw();
    let by = if number == 0 { "root".to_owned() } else { told.clone() };
    assert!(told.contains("<erased ") && told.contains(" by=\"") && told.contains(&by), "{told}");

    for again in [&["erase", &at_position][..], &["erase", "--whole", rest[0], rest[1]]] {
        let ran = systole(at, again);
        assert!(done(&ran).contains("nothing is left to erase"), "{ran:?}");
    }
}

#[test]
fn c9_what_is_erased_is_shown_as_erased_and_its_thread_goes_on() {
    let folder = agent();
    let at = folder.path();
    let log = log_in(at);
    let rest = positions(&json(at, &["erase", "--dry-run", &find_marked(&log)])["repeated_at"]);
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    done(&systole(at, &[&["erase", "--whole", &find_marked(&log)], &rest[..]].concat()));
    for command in [&["log"][..], &["tree", "@last"], &["trail", "@last"], &["ps"], &["find", "erased"]] {
        let ran = systole(at, command);
        assert!(done(&ran).contains("[erased]"), "{command:?}: {ran:?}");
        assert!(!ran.stdout.contains("strawberry") && !ran.stdout.contains("not a payload"), "{ran:?}");
    }
    let prompt = systole(at, &["context", "@last"]);
    assert!(prompt.stderr.contains("is erased"), "{prompt:?}");
    let replayed = systole(at, &["replay", "@last"]);
    assert_eq!(replayed.code, Some(5), "{replayed:?}");
    let value = json(at, &["schema", "diff", "organism.yaml", "organism.yaml", "--log", "hello.db"]);
    assert_eq!((&value["log"]["refused"], &value["log"]["erased"]), (&0.into(), &3.into()), "{value:#}");
    let costs = systole(at, &["cost"]);
    assert!(done(&costs).contains("2 of unknown outcome"), "{costs:?}");

    // The next turn of the agent is shown what is left.
    let asked = systole(at, &["ask", "--thread", "@last", "And now?"]);
    assert!(done(&asked).contains("scripted: "), "{asked:?}");
    let prompt = systole(at, &["context", "@last"]);
    assert!(done(&prompt).contains("[erased]") && prompt.stdout.contains("And now?"), "{prompt:?}");
    done(&systole(at, &["doctor"]));
    the_other_verifiers_agree(&log);
    assert_eq!(json(at, &["verify"])["verdict"], "sound");
}

#[test]
fn c9_a_value_inside_the_first_payload_of_a_child_is_erased_with_the_child_s_own() {
    let folder = placed("team");
    let at = folder.path();
    let file = at.join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("question: text"));
    std::fs::write(file, text.replace("question: text", "question: sensitive text")).unwrap();
    plays(at, &[("coordinator", question("What makes a heart beat?"))]);
    let log = log_in(at);
    let value = "How fast does the node fire?";
    let carries = |record: &&Record| !record.parts.values.is_empty();
    let carrying: Vec<Record> = read_all(&log).iter().filter(carries).cloned().collect();
    assert_eq!(carrying.len(), 2, "the item that spawns the child, and the child's first record");
    assert_eq!(files_with(&log, value), ["team.db"]);
    let told = json(at, &["erase", &find_marked(&log)]);
    assert_eq!(told["repeated_at"], serde_json::json!([]), "{told:#}");
    assert_eq!(files_with(&log, value), [""; 0]);
    let left = read_all(&log);
    let bodies = left.iter().filter(carries).map(|record| String::from_utf8_lossy(&record.body).into_owned());
    for body in bodies {
        assert!(body.contains("question>[erased]**"), "{body}");
        assert!(body.contains("<research"), "only the value goes: {body}");
    }
    assert_eq!(json(at, &["verify"])["verdict"], "sound");
    done(&systole(at, &["doctor"]));
    the_other_verifiers_agree(&log);
}

#[test]
fn c9_a_large_body_goes_from_its_document_unless_another_record_has_it() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let text =
        |n: u64| format!("<note xmlns=\"urn:t\">{}</note>", format!("large text {n}. ").repeat(20_000));
    let mut records = vec![];
    for (thread, n) in [(1, 1), (2, 2), (3, 2)] {
        records.push(author.record(&root(thread), text(n).as_bytes(), |_| {}));
    }
    write(&folder, &batch(records));
    let log = folder.log();
    let first = json_on(&folder, &["erase", "1", "--whole"]);
    assert_eq!(first["repeated_at"], serde_json::json!([]), "{first:#}");
    assert_eq!(files_with(&log, "large text 1"), [""; 0]);
    assert_eq!(files_with(&log, "large text 2"), ["organism.db"]);
    let reader = sqlite::open_reading(&log).unwrap();
    assert_eq!(
        reader.read_document(Digest::hash_bytes(text(1).as_bytes())).unwrap(),
        None,
        "its plain hash goes too"
    );
    let second = json_on(&folder, &["erase", "2", "--whole"]);
    assert_eq!(second["repeated_at"], serde_json::json!([3]), "{second:#}");
    assert_eq!(read_all(&log)[2].body.len(), text(2).len(), "the other record has its body");
    done(&on(&folder, &["erase", "3", "--whole"]));
    assert_eq!(files_with(&log, "large text 2"), [""; 0]);
    assert_eq!(json_on(&folder, &["verify"])["verdict"], "sound");
    let ran = python(with_program().path(), &["verify.py", log.to_str().unwrap()]);
    assert!(ran.status.success(), "{ran:?}");
}

#[test]
fn c9_a_document_that_was_erased_and_is_said_again_is_there_again() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let prompt = StoredDocument {
        hash: Digest::hash_bytes(b"the prompt: DE02"),
        bytes: Arc::from(&b"the prompt: DE02"[..]),
    };
    let with_prompt = |record| LogBatch { documents: vec![prompt.clone()], ..batch([record]) };
    write(&folder, &with_prompt(author.in_parts(&root(1), [false; 3])));
    let told = json_on(&folder, &["erase", "1"]);
    assert_eq!(told["documents"], serde_json::json!([prompt.hash.to_string()]));
    let document = || sqlite::open_reading(&folder.log()).unwrap().read_document(prompt.hash).unwrap();
    assert_eq!(document().as_deref(), Some(&b"[erased]"[..]));
    write(&folder, &with_prompt(author.note(&root(2), 9)));
    assert_eq!(document().as_deref(), Some(&b"the prompt: DE02"[..]));
    assert_eq!(json_on(&folder, &["verify"])["verdict"], "sound");
}

#[test]
fn c9_what_stands_in_the_place_of_an_erased_value_and_codes_are_not_looked_for() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let prompt: Arc<[u8]> = Arc::from(&b"the prompt of another: [erased]*****"[..]);
    let prompt = StoredDocument { hash: Digest::hash_bytes(&prompt), bytes: prompt };
    let refusal = |words: &str| format!("<system-error code=\"payload.malformed\">{words}</system-error>");
    let mut write_refusal = |thread, words: &str| {
        author.record(&root(thread), refusal(words).as_bytes(), |header| {
            (header.kind, header.code) = (RecordKind::Refusal, RecordCode::parse("payload.malformed"));
        })
    };
    let refusals = [write_refusal(2, "one person's words"), write_refusal(3, "what another wrote")];
    let [one, other] = refusals;
    let records = [author.in_parts(&root(1), [false; 3]), one, other];
    write(&folder, &LogBatch { documents: vec![prompt], ..batch(records) });
    done(&on(&folder, &["erase", "1"]));
    let told = json_on(&folder, &["erase", "1", "--whole"]);
    assert_eq!((&told["documents"], &told["repeated_at"]), (&serde_json::json!([]), &serde_json::json!([])));
    done(&on(&folder, &["erase", "2", "--whole"]));
    assert!(files_with(&folder.log(), "one person's words").is_empty());
    assert_eq!(files_with(&folder.log(), "what another wrote"), ["organism.db"]);
}

#[test]
fn c9_what_open_work_needs_is_not_erased() {
    // A payload that waits for a person.
    let grant =
        "<grant xmlns=\"urn:vault\" who=\"mallory\" role=\"ADMIN\"><why>a new colleague</why></grant>";
    let folder = waits(&[grant]);
    let at = folder.path();
    let log = log_in(at);
    let request = read_all(&log).iter().position(|r| *r.body == *grant.as_bytes()).unwrap() + 1;
    let before = std::fs::read(&log).unwrap();
    let ran = systole(at, &["erase", "--whole", &request.to_string()]);
    assert_refused(&ran, 6, "a1 waits for a person's approval");
    assert!(ran.stderr.contains("systole reject a1"), "{ran:?}");
    assert_eq!(std::fs::read(&log).unwrap(), before);

    // A call without an answer, and the same call once it is closed.
    let (folder, mut author) = (Folder::new(), Author::default());
    let role = |role: MessageRole| Some(RecordCode::Role(role));
    let open = author.record(&root(1), b"<ask xmlns='urn:t'>the long question</ask>", |header| {
        header.to = Some(name("search"));
        header.call = Some(CallPath::new_top(1));
        header.code = role(MessageRole::Request);
    });
    write(&folder, &batch([open]));
    let ran = on(&folder, &["erase", "--whole", "1"]);
    assert_refused(&ran, 6, "its call 1 to search is open");
    // `why` reads the log; only `end` needs the organism.
    assert!(
        ran.stderr.contains("shows what it waits for; or, while the organism runs, systole end"),
        "{ran:?}"
    );
    let answer = author.record(&root(1), b"<said xmlns='urn:t'>the answer</said>", |header| {
        header.call = Some(CallPath::new_top(1));
        header.turn = Some(1);
        header.code = role(MessageRole::Final);
    });
    write(&folder, &batch([answer]));
    done(&on(&folder, &["erase", "--whole", "1"]));
    assert_eq!(files_with(&folder.log(), "the long question"), [""; 0]);
    let listed = on(&folder, &["verify"]);
    assert!(done(&listed).contains("hashes: 0 documents, 1 record: #1 whole"), "{listed:?}");
}

#[test]
fn c9_a_timer_that_is_set_keeps_its_note() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let core = "xmlns='https://xml-pipeline.org/ns/core/v1'";
    let mut record = |body: &str, kind: RecordKind, code: RecordCode, call: CallPath, is_item: bool| {
        author.record(&root(1), body.as_bytes(), |header| {
            header.kind = kind;
            header.code = Some(code);
            header.call = Some(call);
            header.to = Some(name("cook"));
            header.turn = is_item.then_some(1);
            header.ordinal = is_item.then_some(1);
        })
    };
    let (top, message) = (CallPath::new_top(1), RecordKind::Message);
    let role = RecordCode::Role;
    let set = format!("<set-timer {core} id='tea' after='1m'>drink the tea</set-timer>");
    let answer = format!("<timer-set {core} id='tea' due='2026-11-20T07:00:00.000Z'/>");
    let records = [
        record("<ask xmlns='urn:t'>a</ask>", message, role(MessageRole::Request), top.clone(), false),
        record(&set, RecordKind::Timer, RecordCode::Timing(TimerEffect::Set), top.clone(), true),
        record(&answer, message, role(MessageRole::Answer), top.append_item(1, 1), false),
        record("<said xmlns='urn:t'>b</said>", message, role(MessageRole::Final), top, false),
    ];
    write(&folder, &batch(records));
    assert_refused(&on(&folder, &["erase", "--whole", "2"]), 6, "it set the timer tea");
    done(&on(&folder, &["erase", "--whole", "1"]));
    assert_eq!(files_with(&folder.log(), "drink the tea"), ["organism.db"]);
}

#[test]
fn c9_an_erasure_that_a_reader_keeps_from_its_end_is_finished_by_the_next_opening() {
    let folder = Folder::new();
    write(&folder, &batch([Author::default().in_parts(&root(1), [false; 3])]));
    let reader = rusqlite::Connection::open(folder.log()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM record").unwrap();
    let kept = on(&folder, &["erase", "1"]);
    assert_refused(&kept, 5, "the file still has old pages");
    drop(reader);
    assert!(read_all(&folder.log())[0].parts.has_erased());
    let next = on(&folder, &["erase", "1"]);
    assert!(done(&next).contains("nothing is left to erase"), "{next:?}");
    assert!(next.stderr.contains("an erasure was finished"), "{next:?}");
    assert_eq!(files_with(&folder.log(), "Ann Lee"), [""; 0]);
    assert_eq!(json_on(&folder, &["verify"])["verdict"], "sound");
}

#[test]
fn c9_a_wrong_order_to_erase_changes_nothing_and_names_the_fix() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let records = vec![author.in_parts(&root(1), [false; 3]), author.note(&root(2), 30)];
    write(&folder, &batch(records));
    let before = std::fs::read(folder.log()).unwrap();
    let erase = |more: &[&str]| on(&folder, &[&["erase"], more].concat());
    assert_refused(&erase(&["3"]), 2, "no record at position 3; its last is #2");
    assert_refused(&erase(&["1", "99"]), 2, "no record at position 99");
    assert_refused(&erase(&["2"]), 2, "no value that its schema marks as sensitive");
    assert_refused(&erase(&["0"]), 2, "neither a position nor a record");
    assert_refused(&erase(&["x"]), 2, "neither a position nor a record");
    assert_refused(&erase(&["sess-000000000001@7"]), 2, "has no record 7");
    assert_refused(&erase(&["1", "--reason", "Ann Lee, Oslo asked"]), 2, "the reason repeats what is erased");
    assert_refused(&systole(folder.path(), &["erase", "1", "--log", "none.db"]), 5, "none.db");
    assert_eq!(std::fs::read(folder.log()).unwrap(), before);
    edit_at(&folder.log(), "UPDATE record SET time = time + 1 WHERE pos = 2");
    let before = std::fs::read(folder.log()).unwrap();
    assert_refused(&erase(&["1"]), 7, "position 2");
    assert_eq!(std::fs::read(folder.log()).unwrap(), before);
}

#[test]
fn c9_a_running_organism_s_log_is_not_erased() {
    let folder = agent();
    let at = folder.path();
    let running = Running::organism_set(at, &["--set", "console.listen=127.0.0.1:0"], &[]);
    let position = find_marked(&log_in(at));
    assert_refused(&systole(at, &["erase", &position]), 5, "systole stop");
    assert!(done(&systole(at, &["erase", "--dry-run", &position])).contains("would erase"));
    stop(running);
    done(&systole(at, &["erase", &position]));
}

#[test]
fn c9_marked_values_are_found_in_a_record_of_a_thread_by_its_number() {
    let folder = Folder::new();
    write(&folder, &batch([Author::default().in_parts(&root(1), [false; 3])]));
    let told = json_on(&folder, &["erase", "sess-000000000001@1"]);
    assert_eq!(told["erased"], serde_json::json!([{"position": 1, "parts": [1, 2]}]));
    let body = String::from_utf8(read_all(&folder.log())[0].body.to_vec()).unwrap();
    assert_eq!(body, "<pay iban=\"****\"><name>[erased]*****</name></pay>");
    // A plan of the same from code, for what it finds nothing else.
    let reader = sqlite::open_reading(&folder.log()).unwrap();
    let targets = ErasureTargets { positions: [Position(1)].into(), ..ErasureTargets::default() };
    let plan = erasing::plan_erasure(&reader, &targets, ErasureScope::Bodies, None).unwrap();
    assert_eq!(plan.parts.get(&Position(1)), Some(&vec![0]), "part 0 is left for --whole");
}

/// A record with one sensitive value of that many bytes.
fn large_value(author: &mut Author, n: u64) -> Record {
    let value = format!("secret {n} ").repeat(3_000);
    let mut record = author.record(&root(n), format!("<a>{value}</a>").as_bytes(), |_| {});
    let hole = BodyHole::from_range(3..3 + value.len()).unwrap();
    record.parts.values = vec![(hole, PartSeal::Kept([7; 16]))];
    record.header.seal_record(record.body, record.parts, head_zero(&root(n)))
}

#[test]
fn c9_a_killed_erasure_leaves_the_log_before_or_after_it_and_the_next_one_finishes() {
    let mut author = Author::default();
    let folder = Folder::new();
    let count = 60;
    write(&folder, &batch((1..=count).map(|n| large_value(&mut author, n))));
    let named: Vec<String> = (1..=count).map(|n| n.to_string()).collect();
    let order: Vec<&str> = ["erase"].into_iter().chain(named.iter().map(String::as_str)).collect();
    let mut states = [0, 0];
    for round in 0..24_u64 {
        let copy = Folder::new();
        std::fs::copy(folder.log(), copy.log()).unwrap();
        let running = Running::start(copy.path(), &[&order[..], &["--log", "organism.db"]].concat());
        let (_open, wait) = sync_channel::<()>(0);
        // The moment differs from round to round; a command that has ended by then is a state too.
        assert!(wait.recv_timeout(Duration::from_millis(20 + 23 * round)).is_err());
        running.signal(Signal::KILL);
        running.end();
        assert!(sqlite::verify_all(&copy.log()).is_ok(), "round {round}");
        let erased = read_all(&copy.log()).iter().filter(|record| record.parts.has_erased()).count() as u64;
        assert!(erased == 0 || erased == count, "all or nothing: {erased} in round {round}");
        states[usize::from(erased > 0)] += 1;
        done(&on(&copy, &order));
        assert_eq!(files_with(&copy.log(), "secret 1 secret"), [""; 0], "round {round}");
        assert_eq!(json_on(&copy, &["verify"])["verdict"], "sound");
    }
    assert!(states[0] > 0, "none was killed before its commit");
}

#[test]
fn c9_a_value_of_a_log_in_nats_is_removed_from_the_store_and_from_the_copy() {
    let server = NatsServer::start();
    let [one, other] = [(); 2].map(|()| {
        let folder = machine(&server, "durability: relaxed");
        let file = folder.path().join("organism.yaml");
        let text = std::fs::read_to_string(&file).unwrap().replace("accepts: [ask]", "accepts: [ask, tell]");
        std::fs::write(file, text + "payloads: {tell: {secret: sensitive text}}\n").unwrap();
        folder
    });
    let (at, log) = (one.path(), one.path().join("hello.db"));
    done(&systole(at, &["send", "tell", "secret=Ann Lee, Oslo"]));
    done(&systole(other.path(), &["copy"]));
    assert_eq!(files_with(&log, "Ann Lee"), ["hello.db"]);
    let record = read_all(&log).into_iter().find(|record| !record.parts.values.is_empty()).unwrap();
    let name = record.parts.commit_parts(&record.body)[1].to_string();
    let is_stored = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let jetstream = async_nats::jetstream::new(server.client().await);
            let objects = jetstream.get_object_store("SYSTOLE_shop_BLOBS").await.unwrap();
            objects.info(&name).await.is_ok_and(|found| !found.deleted)
        })
    };
    assert!(is_stored());

    let position = find_marked(&log);
    assert_refused(&systole(at, &["erase", "--whole", &position]), 2, "only sensitive values go");
    let running = Running::organism(at);
    assert_refused(&systole(at, &["erase", &position]), 5, "try: ");
    assert_refused(&systole(other.path(), &["erase", &position]), 5, "is written by");
    stop(running);
    let dry = json(at, &["erase", "--dry-run", &position]);
    assert!(is_stored() && !files_with(&log, "Ann Lee").is_empty());
    assert_eq!(json(at, &["erase", &position])["erased"], dry["erased"]);
    assert!(!is_stored(), "the object is removed");
    assert_eq!(files_with(&log, "Ann Lee"), [""; 0]);
    assert_eq!(json(at, &["verify"])["verdict"], "sound");
    let again = systole(at, &["erase", &position]);
    assert!(done(&again).contains("nothing is left to erase"), "{again:?}");

    // Another copy has it until it is made again.
    let theirs = other.path().join("hello.db");
    done(&systole(other.path(), &["copy"]));
    assert_eq!(files_with(&theirs, "Ann Lee"), ["hello.db"]);
    done(&systole(other.path(), &["copy", "--again"]));
    assert_eq!(files_with(&theirs, "Ann Lee"), [""; 0]);
    let erased = read_all(&theirs).into_iter().filter(|record| record.parts.has_erased()).count();
    assert_eq!((erased, json(other.path(), &["verify"])["verdict"].clone()), (1, "sound".into()));
    assert_eq!(systole(other.path(), &["ask", "hello"]).stdout, "heard\n");
}
