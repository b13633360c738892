//! `systole trail`, as the installed binary: the chain of causes of a record, back to the door.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use serde_json::Value;
use systole_core::types::ids::{CallPath, MessageId, Name, ThreadId};
use systole_core::types::ports::{Commit, LogBatch, LogWriter as _};
use systole_core::types::record::{Header, MessageRole, RecordCode, RecordKind, TimerEffect, head_zero};
use systole_core::types::time::Millis;
use systole_log::memory::MemoryLog;
use systole_queries::causes;
use systole_queries::trail::Trail;

use super::audit_stage::{Actor, cast, flat, narrow, payload};
use crate::log_records::bare;
use crate::program::{Running, systole};
use crate::shaky_log::Shaky;

/// The output of a trail, with a check that each line fits a terminal.
#[track_caller]
pub(crate) fn told(folder: &Path, arguments: &[&str]) -> String {
    let ran = systole(folder, &[&["trail"], arguments].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    narrow(&ran.stdout.lines().map(str::to_owned).collect::<Vec<_>>())
}

/// The values of a trail in JSON.
#[track_caller]
pub(crate) fn values(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let ran = systole(folder, &[&["trail", "--json"], arguments].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The links of a trail: each place without the root's id, and the reason.
#[track_caller]
pub(crate) fn links(folder: &Path, arguments: &[&str]) -> Vec<(String, String)> {
    let values = values(folder, arguments);
    let links: Vec<&Value> = values.iter().filter(|value| value["place"].is_string()).collect();
    for pair in links.windows(2) {
        assert_eq!(pair[0]["because"], pair[1]["place"], "each names the one below it");
        assert!(pair[0]["record"]["position"].as_u64() > pair[1]["record"]["position"].as_u64());
    }
    assert!(links.last().unwrap()["because"].is_null());
    let root = links[0]["place"].as_str().unwrap().split(['@', '.']).next().unwrap().to_owned();
    let short = |value: &Value| value.as_str().unwrap().replace(&root, "");
    links.iter().map(|link| (short(&link["place"]), short(&link["why"]))).collect()
}

pub(crate) fn pairs<'a>(all: &'a [(&'a str, &'a str)]) -> Vec<(String, String)> {
    all.iter().map(|(place, why)| ((*place).to_owned(), (*why).to_owned())).collect()
}

/// A new folder with the files that `init` writes with these options.
pub(crate) fn example(name: &str, options: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let above = tempfile::tempdir().unwrap();
    let made = systole(above.path(), &[&["init", name], options].concat());
    assert_eq!(made.code, Some(0), "{made:?}");
    let folder = above.path().join(name);
    (above, folder)
}

/// The search of the team, which looks up the pace of the node only when the gate opens.
const GATED: &str = "while read -r line; do\n\
    case $line in *'node fires'*) read -r go < gate ;; esac\n\
    printf '%s\\n' \"$line\"\ndone | python3 listeners/search.py\n";

/// The example with a team of agents after its answer. The child ends when its parent waits for it, and never before:
/// the speed of each must not change any record.
pub(crate) fn team() -> (tempfile::TempDir, PathBuf) {
    let (above, team) = example("team", &["--team"]);
    let file = team.join("organism.yaml");
    let yaml = std::fs::read_to_string(&file).unwrap();
    let gated = yaml.replace("run: [python3, listeners/search.py]", "run: [sh, gated.sh]");
    assert_ne!(yaml, gated);
    std::fs::write(&file, gated).unwrap();
    std::fs::write(team.join("gated.sh"), GATED).unwrap();
    gate(&team);
    let organism = Running::organism(&team);
    let sent = systole(&team, &["send", "ask", "What makes a heart beat?", "--no-wait"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let mut follow = Running::start(&team, &["log", "@last", "--follow"]);
    follow.shows("waits, item");
    std::fs::write(team.join("gate"), "go\n").unwrap();
    follow.shows("answers call 1 ");
    organism.interrupt();
    (above, team)
}

/// Makes a pipe that gives nothing until something is written to it.
fn gate(folder: &Path) {
    let made = Command::new("mkfifo").arg("gate").current_dir(folder).status().unwrap();
    assert!(made.success());
}

#[test]
fn c12_the_answer_of_a_team_is_followed_over_a_thread_its_models_and_a_refusal_to_the_door() {
    let (_above, team) = team();
    let chain = [
        ("@38", "turn"),
        ("@34", "turn"),
        ("@33", "turn"),
        ("@29", "turn"),
        ("@25", "turn"),
        ("@21", "arrived"),
        ("@20", "ended"),
        (".pace@10", "turn"),
        (".pace@6", "turn"),
        (".pace@5", "turn"),
        (".pace@1", "spawned"),
        ("@14", "turn"),
        ("@10", "turn"),
        ("@9", "turn"),
        ("@5", "turn"),
        ("@1", "door"),
    ];
    assert_eq!(links(&team, &[]), pairs(&chain));
    assert_eq!(links(&team, &["@last@38"]), pairs(&chain), "the last record is meant where none is named");

    let all = values(&team, &["@last@25"]);
    let (review, door) = (&all[0], &all.last().unwrap()["door"]);
    let thread = review["record"]["thread"].as_str().unwrap();
    assert_eq!((&review["of"]["call"], &review["of"]["turn"]), (&"1".into(), &5.into()));
    // The end of the child, which ended the wait, was shown next to the end of the wait.
    assert_eq!(review["shown"], serde_json::json!([format!("{thread}@20")]));
    let model = &review["models"][0];
    assert_eq!(model["result"], format!("{thread}@23"));
    let context = systole(&team, &["context", "--json", model["start"].as_str().unwrap()]);
    let context: Value = serde_json::from_str(&context.stdout).unwrap();
    assert_eq!((&context["seq"], &context["turn"]), (&22.into(), &5.into()), "the prompt that led to it");
    assert_eq!(door["client"], "operator");
    assert_eq!(door["roles"], serde_json::json!(["read", "operate", "approve", "answer", "approve-own"]));
    assert_eq!(door["key"], all.last().unwrap()["record"]["key"]);

    let told = told(&team, &[]);
    assert!(told.contains(&format!("\n      systole context {thread}@35\n")), "{told}");
    assert!(told.contains("  ↑ of an item in turn 1 of call 1, opened by\n"), "{told}");
    let last = told.split("  ↑ ").last().unwrap();
    assert!(last.starts_with("from outside, by client operator\n    key "), "{last}");
    assert!(last.ends_with("\n    roles read, operate, approve, answer, approve-own"), "{last}");
}

#[test]
fn c12_decisions_timers_and_children_are_in_the_trail_while_the_organism_runs() {
    let folder = crate::replay::placed("beat");
    let beat = folder.path().to_owned();
    let order = std::fs::read_to_string(beat.join("order.xml")).unwrap();
    std::fs::write(beat.join("big.xml"), order.replace("<quantity>0<", "<quantity>30<")).unwrap();
    let organism = Running::organism(&beat);
    let sent = systole(&beat, &["send", "--no-wait", "--file", "big.xml", "--key", "k1"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let mut follow = Running::start(&beat, &["log", "@last", "--follow"]);
    follow.shows("a timer fired");
    let waiting = values(&beat, &["@last@10"]);
    assert_eq!(waiting[0]["why"], "person", "it can be asked before anybody has decided");
    assert_eq!(waiting[1]["record"]["to"], "till");
    assert_eq!(systole(&beat, &["approve", "a1", "--note", "fine"]).code, Some(0));
    follow.shows("answers call 1 ");

    let answer = values(&beat, &["@last"]);
    let of = |kind: &str| answer.iter().find(|link| link["record"]["kind"] == kind);
    let decided = of("approval").expect("a person let it go on");
    assert_eq!((&decided["record"]["to"], &decided["why"]), (&"operator".into(), &"person".into()));
    let charged = &answer[1]["record"];
    assert_eq!((&charged["from"], &answer[1]["because"]), (&"till".into(), &decided["place"]));
    let shown = answer[0]["shown"].as_array().unwrap();
    let log = systole(&beat, &["log", "@last", "--json"]);
    let records: Vec<Value> = log.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let timer = records.iter().find(|record| record["code"] == "fired").unwrap();
    let place =
        |record: &Value| Value::from(format!("{}@{}", record["thread"].as_str().unwrap(), record["seq"]));
    assert!(shown.contains(&place(timer)), "{shown:?}");
    assert!(told(&beat, &[]).contains("#14 approval a1 is approved by operator  call 1/2.1  fine\n"));
    assert_eq!(answer.last().unwrap()["door"]["key"], "k1");

    let fired = values(&beat, &[place(timer).as_str().unwrap()]);
    assert_eq!((&fired[0]["why"], &fired[1]["record"]["code"]), (&"timer".into(), &"set".into()));
    let finished = records.iter().find(|record| record["code"] == "inbox").unwrap();
    assert!(!shown.contains(&place(finished)), "the turn before was shown it: {shown:?}");
    let child = links(&beat, &[place(finished).as_str().unwrap()]);
    assert_eq!(child[0].1, "ended");
    assert_eq!(child[1..3], pairs(&[(".delivery@2", "turn"), (".delivery@1", "spawned")]));
    // The pump's own record of the request leads to the thread of the request.
    let sys = systole(&beat, &["log", "sys", "--json"]);
    let counted = sys.stdout.lines().find(|line| line.contains("\"requested\"")).unwrap();
    let counted: Value = serde_json::from_str(counted).unwrap();
    let asked = values(&beat, &[place(&counted).as_str().unwrap()]);
    assert_eq!(asked[1]["record"]["code"], "requested");
    assert_eq!(asked.last().unwrap()["why"], "door");
    let boot = values(&beat, &["sys@1"]);
    assert_eq!((boot.len(), &boot[0]["why"]), (1, &"own".into()));
    drop(organism);
}

const GATE: &str = "read line < gate\ncat > /dev/null\necho '<dug xmlns=\"urn:t\">'$line'</dug>'\n";

#[test]
fn c12_an_answer_that_had_to_wait_is_due_to_its_own_message_and_names_the_one_before() {
    let keys = ["run: [sh, gate.sh]", "mode: once", "approval: {when: always}"];
    let folder = cast(&[Actor("dig", "dig", "dug", &keys)]);
    std::fs::write(folder.path().join("gate.sh"), GATE).unwrap();
    gate(folder.path());
    for (name, text) in [("one.xml", "one"), ("two.xml", "two")] {
        std::fs::write(folder.path().join(name), payload("dig", text)).unwrap();
    }
    let organism = Running::organism(folder.path());
    let runs = |arguments: &[&str]| {
        let ran = systole(folder.path(), arguments);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    };
    runs(&["send", "--no-wait", "--file", "one.xml"]);
    runs(&["approve", "a1"]);
    // The second message continues while the first is still out.
    runs(&["send", "--no-wait", "--file", "two.xml", "--thread", "@last"]);
    runs(&["approve", "a2"]);
    let mut follow = Running::start(folder.path(), &["log", "@last", "--follow"]);
    follow.shows("approval a2 is approved");
    // Each of the two opens the gate once.
    std::fs::write(folder.path().join("gate"), "first\n").unwrap();
    follow.shows("first");
    std::fs::write(folder.path().join("gate"), "second\n").unwrap();
    follow.shows("second");
    assert_eq!(links(folder.path(), &["@last"]), pairs(&[("@8", "turn"), ("@4", "door")]));
    let told = flat(&told(folder.path(), &["@last@8"]));
    assert!(told.contains("↑ in turn 1 of call 2, opened after #7 by"), "{told}");
    assert!(told.contains("also shown: #6 <approval-decided> from operator"), "{told}");
    drop(organism);
}

#[test]
fn c12_the_trail_of_an_end_or_a_refusal_leads_to_the_client_that_caused_it() {
    let folder = cast(&[Actor("search", "search", "found", &["timeout: 1h"])]);
    std::fs::write(folder.path().join("good.xml"), payload("search", "x")).unwrap();
    std::fs::write(folder.path().join("bad.xml"), payload("serch", "the hidden word")).unwrap();
    let organism = Running::organism(folder.path());
    let sent = systole(folder.path(), &["send", "--no-wait", "--file", "good.xml"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    assert_eq!(systole(folder.path(), &["cancel", "@last"]).code, Some(0));
    let end = values(folder.path(), &["@last"]);
    assert_eq!((end.len(), &end[0]["record"]["kind"]), (1, &"terminal".into()));
    assert_eq!(end[0]["door"]["client"], "operator");
    assert!(end[0]["door"]["key"].is_null(), "an order has none");

    assert_eq!(systole(folder.path(), &["send", "--file", "bad.xml"]).code, Some(4));
    let found = values(folder.path(), &["--text", "the hidden word"]);
    assert_eq!((&found[0]["records"], &found[0]["ways"][0]["how"]), (&1.into(), &"refuses".into()));
    assert_eq!((&found[1]["record"]["kind"], &found[1]["why"]), (&"refusal".into(), &"door".into()));
    assert_eq!(found[1]["door"]["client"], "operator");
    let told = told(folder.path(), &["--text", "the hidden word"]);
    assert!(told.contains("in a payload that was refused\n"), "{told}");
    drop(organism);
}

#[test]
fn c12_missing_records_are_reported_with_the_fix_and_damage_is_never_shown_as_a_cause() {
    let folder = cast(&[Actor("dig", "dig", "dug", &["env: {TURN_1: '<dug xmlns=\"urn:t\">gold</dug>'}"])]);
    std::fs::write(folder.path().join("dig.xml"), payload("dig", "here")).unwrap();
    assert_eq!(systole(folder.path(), &["trail"]).code, Some(5), "nothing has run");
    assert_eq!(systole(folder.path(), &["send", "--file", "dig.xml"]).code, Some(0));
    let refused = |arguments: &[&str], exit: i32, words: &[&str]| {
        let ran = systole(folder.path(), &[&["trail"], arguments].concat());
        assert_eq!(ran.code, Some(exit), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.starts_with("error: "), "{ran:?}");
        for words in words {
            assert!(ran.stderr.contains(words), "{words}: {ran:?}");
        }
    };
    refused(&["@last@9"], 2, &["has no record 9; its last is 2\n", "  try: systole log sess-"]);
    refused(&["@last@0"], 2, &["has no record 0; its last is 2\n"]);
    refused(&["sess-ffff@1"], 2, &["no thread begins with \"sess-ffff\"", "  try: systole ps"]);
    refused(&["--text", " \n"], 2, &["the text is empty", "  try: --text with some words"]);
    refused(&["--text", "silver"], 2, &["no record holds that text\n", "  try: fewer words of it"]);
    refused(&["@last", "--text", "gold"], 2, &["cannot be used with"]);
    assert_eq!(links(folder.path(), &[]), pairs(&[("@2", "turn"), ("@1", "door")]));

    let log = rusqlite::Connection::open(folder.path().join("hello.db")).unwrap();
    let change = "UPDATE record SET body = CAST('<dig xmlns=\"urn:t\">there</dig>' AS BLOB) \
                  WHERE seq = 1 AND thread = (SELECT id FROM thread WHERE text <> 'sys')";
    assert_eq!(log.execute(change, []).unwrap(), 1);
    drop(log);
    refused(&["@last@1"], 7, &["damaged", "record 1 of thread sess-", "try: systole doctor"]);
    refused(&["@last@2"], 7, &["record 1 of thread sess-"]);
    refused(&["--text", "there"], 7, &["record 1 of thread sess-"]);
}

/// A long thread: a timer is set at its beginning, and fires at its end; in between messages come and are answered.
/// Each record has the clock value `time`.
fn long_thread(messages: u32, time: impl Fn(u64) -> u64) -> (MemoryLog, ThreadId) {
    let (mut log, thread) = (MemoryLog::new(), ThreadId::parse("sess-1f0c9a2b77d1").unwrap());
    let mut head = head_zero(&thread);
    let mut batch = LogBatch::default();
    let mut seq = 0;
    let mut record = |(kind, mark): (RecordKind, RecordCode),
                      (call, turn): (CallPath, Option<u32>),
                      cause: Option<MessageId>| {
        seq += 1;
        let mut random = [0; 10];
        random[..8].copy_from_slice(&u64::to_be_bytes(seq));
        let at = time(seq);
        let header = Header {
            id: MessageId::new(at, &random),
            kind,
            from: Name::parse("dig").unwrap(),
            to: Some(Name::new_operator()),
            call: Some(call),
            turn,
            ordinal: turn.map(|_| 0),
            cause,
            time: Millis(at),
            code: Some(mark),
            ..bare(&thread, seq)
        };
        let sealed = header.seal_record(Arc::from(&b"<dug xmlns='urn:t'/>"[..]), [0; 16], head);
        head = sealed.head;
        let id = sealed.header.id;
        batch.records.push(Arc::new(sealed));
        id
    };
    let (request, set) = (
        (RecordKind::Message, RecordCode::Role(MessageRole::Request)),
        (RecordKind::Timer, RecordCode::Timing(TimerEffect::Set)),
    );
    let answer = (RecordKind::Message, RecordCode::Role(MessageRole::Final));
    let first = record(request, (CallPath::new_top(1), None), None);
    let timer = record(set, (CallPath::new_top(1), Some(1)), Some(first));
    for number in 2..messages {
        let asked = record(request, (CallPath::new_top(number), None), None);
        record(answer, (CallPath::new_top(number), Some(1)), Some(asked));
    }
    record(
        (RecordKind::Timer, RecordCode::Timing(TimerEffect::Opens)),
        (CallPath::new_top(messages), None),
        Some(timer),
    );
    assert!(matches!(log.commit_batch(&batch), Commit::Committed(_)));
    (log, thread)
}

/// The numbers of a trail, and how many records it read.
fn followed(log: MemoryLog, thread: &ThreadId) -> (Vec<u64>, usize) {
    let reader = Shaky::of(log);
    let last = causes::last(&reader, thread).unwrap().unwrap();
    let mut seqs = Vec::new();
    let none = |_: &[u8]| Err("no configuration".to_owned());
    Trail::through(&reader, &none).follow(last, |link| seqs.push(link.placed.1.header.seq)).unwrap();
    (seqs, reader.was_read().len() + reader.walked())
}

#[test]
fn c12_the_cause_of_a_record_is_looked_up_and_the_log_between_is_not_read() {
    let (log, thread) = long_thread(10_000, |seq| 1_795_158_000_000 + seq / 3);
    let (seqs, read) = followed(log, &thread);
    assert_eq!(seqs, [19_999, 2, 1], "what fired, what set it, and the message it was set for");
    assert!(read < 400, "{read} records of 19,999 were read");

    // A clock that was set back in the middle hides the cause only from a binary search.
    let back = |seq: u64| 1_795_158_000_000 + if seq < 9_000 { seq * 10 } else { seq / 100 };
    let (log, thread) = long_thread(10_000, back);
    assert_eq!(followed(log, &thread).0, [19_999, 2, 1]);
}
