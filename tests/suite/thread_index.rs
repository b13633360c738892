//! The index beside a log and the list of threads that is made of it: what it says, on all faces, and what becomes of a
//! file that does not fit, cannot be written or is held.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rusqlite::Connection;
use serde_json::Value;
use systole_core::rules::core_payload;
use systole_core::rules::retry_payload::{self, RetryTerms};
use systole_core::types::codes::Code;
use systole_core::types::ids::{CallPath, Digest, ThreadId};
use systole_core::types::ports::{Commit, LogWriter as _, Position};
use systole_core::types::record::{Header, MessageRole, Record, RecordCode, RecordKind, SteerEffect};
use systole_core::types::time::Millis;
use systole_log::sqlite;

use crate::console::{ALICE, house, running, sent};
use crate::log_records::{Author, Folder, batch, name, root};
use crate::open::Opened;
use crate::organism::say;
use crate::program::{Ran, Running, ask, ask_as, command, run_file, systole};

/// How the call of a root ends.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Open,
    Answered,
    Failed,
    Cancelled,
}

/// A root that `client` opened with one call of `writer`, and its end.
fn conversation(author: &mut Author, n: u64, (client, end): (&str, End)) -> Vec<Record> {
    let thread = root(n);
    let request = format!("<ask xmlns=\"urn:t\"><text>question {n}</text></ask>");
    let mut records = vec![author.record(&thread, request.as_bytes(), |header| {
        (header.from, header.to, header.call) =
            (name(client), Some(name("writer")), Some(CallPath::new_top(1)));
        header.code = Some(RecordCode::Role(MessageRole::Request));
    })];
    records.extend(close(author, n, (client, end)));
    records
}

/// The end of the call of such a root, if it has one.
fn close(author: &mut Author, n: u64, (client, end): (&str, End)) -> Option<Record> {
    let (kind, code, body) = match end {
        End::Open => return None,
        End::Answered => (
            RecordKind::Message,
            RecordCode::Role(MessageRole::Final),
            "<answer xmlns=\"urn:t\">yes</answer>".to_owned(),
        ),
        End::Failed => (
            RecordKind::Outcome,
            RecordCode::Code(Code::ListenerFailed),
            "<system-error xmlns=\"https://xml-pipeline.org/ns/core/v1\" code=\"listener.failed\" \
             first-code=\"model.refused\" retry_allowed=\"false\" message=\"writer: model.refused: no\"/>"
                .to_owned(),
        ),
        End::Cancelled => (
            RecordKind::Outcome,
            RecordCode::Code(Code::CancelledThread),
            "<final-report xmlns=\"https://xml-pipeline.org/ns/core/v1\"/>".to_owned(),
        ),
    };
    Some(author.record(&root(n), body.as_bytes(), |header| {
        (header.kind, header.code, header.call) = (kind, Some(code), Some(CallPath::new_top(1)));
        (header.from, header.to) = (name("writer"), Some(name(client)));
        header.time.0 += n;
    }))
}

/// The call of such a root, which failed, is open again.
fn reopen(author: &mut Author, n: u64) -> Record {
    let terms = RetryTerms { by: name("ann"), number: 1, note: None, has_effects: false };
    author.record(&root(n), &retry_payload::write_reopened(&terms), |header| {
        (header.kind, header.from) = (RecordKind::Steer, name("core"));
        header.code = Some(RecordCode::Steering(SteerEffect::Reopened));
        (header.to, header.call, header.turn) = (Some(name("writer")), Some(CallPath::new_top(1)), Some(1));
    })
}

fn write(folder: &Folder, records: Vec<Record>) {
    let mut opened = sqlite::open_log(&folder.log()).unwrap();
    assert!(matches!(opened.writer.commit_batch(&batch(records)), Commit::Committed(_)));
}

/// A log with that many roots, of which the first `working` are open. Of the others every fifth failed, and every
/// seventh was cancelled.
fn log_of(count: u64, working: u64) -> (Folder, Author) {
    let (folder, mut author) = (Folder::new(), Author::default());
    let records = make_roots(&mut author, count, working);
    write(&folder, records);
    (folder, author)
}

const ORGANISM: &str = "organism: {name: t}
payloads: {ask: text, answer: text}
listeners:
  writer: {run: [cat], accepts: [ask], returns: [answer], entry: true}
log: {path: organism.db}
console: {listen: '127.0.0.1:0'}
";

/// The same log, begun by an organism that has stopped, and the number of its records.
fn log_of_organism(count: u64, working: u64) -> (Folder, u64) {
    let folder = Folder::new();
    fs::write(folder.path().join("organism.yaml"), ORGANISM).unwrap();
    assert_eq!(Running::organism(folder.path()).interrupt().code, Some(130));
    let of_organism = systole(folder.path(), &["log", "-n", "0", "--json"]).json_lines();
    let config = of_organism.last().unwrap()["config"].as_str().unwrap();
    let config = Digest::parse(config).unwrap();
    let records = make_roots(&mut Author::of_configuration(config), count, working);
    let last = of_organism.len() + records.len();
    write(&folder, records);
    (folder, last as u64)
}

fn make_roots(author: &mut Author, count: u64, working: u64) -> Vec<Record> {
    let records = (0..count).flat_map(|n| {
        let end = match n {
            n if n < working => End::Open,
            n if n % 5 == 0 => End::Failed,
            n if n % 7 == 0 => End::Cancelled,
            _ => End::Answered,
        };
        conversation(author, n, (if n % 2 == 0 { "ann" } else { "bob" }, end))
    });
    records.collect()
}

fn ps(folder: &Path, arguments: &[&str]) -> Ran {
    ps_of(folder, "organism.db", arguments)
}

fn ps_of(folder: &Path, log: &str, arguments: &[&str]) -> Ran {
    systole(folder, &[&["ps", "--log", log], arguments].concat())
}

fn names_of(answer: &Value) -> Vec<String> {
    let threads = answer["threads"].as_array().unwrap().iter();
    threads.map(|thread| thread["thread"].as_str().unwrap().to_owned()).collect()
}

/// The threads that `systole ps` lists.
#[track_caller]
fn listed_of(folder: &Path, log: &str, arguments: &[&str]) -> Vec<String> {
    let ran = ps_of(folder, log, &[&["-n", "0", "--json"], arguments].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    names_of(&ran.json_lines()[0])
}

#[track_caller]
fn list_threads(folder: &Path, arguments: &[&str]) -> Vec<String> {
    listed_of(folder, "organism.db", arguments)
}

/// All that an index says, without the order in which it was written.
fn dump(file: &Path) -> Vec<String> {
    let index = Connection::open(file).unwrap();
    let mut rows = Vec::new();
    for table in ["state", "root", "call", "request", "sum", "refusal", "slow"] {
        let mut all = index.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = all.column_count();
        let mut found = all.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            let values = (0..columns).map(|column| format!("{:?}", row.get_ref(column).unwrap()));
            rows.push(format!("{table}: {}", values.collect::<Vec<_>>().join("|")));
        }
    }
    rows.sort();
    rows
}

#[test]
fn h14_31_that_are_open_among_3100_are_31_on_every_face() {
    let (folder, last) = log_of_organism(3_100, 31);
    let at = folder.path();
    let working: Vec<String> = (0..31).rev().map(|n| root(n).to_string()).collect();
    assert_eq!(list_threads(at, &["--state", "working"]), working);
    let opened = Opened::of(at, "organism.db");
    let pages = |path: &str, filter: &str| {
        let (mut all, mut after) = (Vec::new(), String::new());
        loop {
            let part = opened.json(&format!("{path}?{filter}{after}"));
            assert_eq!(part["index"]["position"], last, "{path} {filter}{after}: {part}");
            all.extend(names_of(&part));
            match part["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => return all,
            }
        }
    };
    for (filter, arguments, count) in [
        ("state=waiting", vec!["--state", "waiting"], 0),
        ("state=working", vec!["--state", "working"], 31),
        ("failed=true", vec!["--failed"], 613),
        ("state=cancelled", vec!["--state", "cancelled"], 350),
        ("state=answered", vec!["--state", "answered"], 3_100 - 31 - 613 - 350),
        ("code=model.refused&client=bob", vec!["--code", "model.refused", "--client", "bob"], 307),
        ("code=listener.failed&sort=duration", vec!["--code", "listener.failed", "--sort", "duration"], 613),
        ("listener=writer&q=question+309", vec!["--listener", "writer", "--q", "question 309"], 11),
        ("listener=absent", vec!["--listener", "absent"], 0),
        ("state=ended", vec!["--state", "ended"], 0),
        ("since=2020-01-01&until=2021-01-01", vec!["--since", "2020-01-01", "--until", "2021-01-01"], 0),
    ] {
        let by_command = list_threads(at, &arguments);
        assert_eq!(by_command.len(), count, "{filter}");
        assert_eq!(pages("/v1/threads", &format!("limit=300&{filter}")), by_command, "{filter}");
        assert_eq!(pages("/threads", filter), by_command, "{filter}");
        let page = opened.page(&format!("/threads?{filter}"));
        assert_eq!(page.body.matches("data-row=").count(), count.min(100), "{filter}");
    }
    let slowest = list_threads(at, &["--failed", "--sort", "duration"]);
    assert_eq!(slowest[0], root(3_095).to_string(), "the last one that failed took longest");
    assert_eq!(
        ps(at, &["--state", "working", "--client", "eve"]).stderr.lines().next(),
        Some("no thread fits the filter")
    );
}

#[test]
fn h14_a_listed_failure_says_who_asked_what_and_why_it_failed() {
    let (folder, _) = log_of(6, 1);
    let ran = ps(folder.path(), &["--failed", "--json"]);
    let entry = &ran.json_lines()[0]["threads"][0];
    assert_eq!((&entry["state"], &entry["code"]), (&"failed".into(), &"listener.failed".into()), "{entry}");
    assert_eq!((&entry["first_code"], &entry["by"]), (&"model.refused".into(), &"bob".into()), "{entry}");
    assert_eq!(
        (&entry["subject"], &entry["to"]),
        (&"text=\"question 5\"".into(), &"writer".into()),
        "{entry}"
    );
    let shown = ps(folder.path(), &["--failed"]);
    let second = shown.stdout.lines().last().unwrap();
    assert!(second.contains("bob → writer") && second.contains("question 5"), "{shown:?}");
}

#[test]
fn h14_a_wrong_filter_says_where_and_what_fits() {
    let (folder, _) = log_of(6, 1);
    let at = folder.path();
    for (arguments, words) in [
        (vec!["--state", "dead"], "'dead' for '--state"),
        (vec!["--since", "soon"], "--since `soon`: this is not a time"),
        (vec!["--since", "1h", "--until", "2h"], "--until is not after --since"),
        (vec!["--listener", "<a>"], "--listener `<a>`: this is not a name"),
        (vec!["--code", "model refused"], "--code `model refused`: nothing fails with such a code"),
        (vec!["--failed", "--state", "working"], "--state `working`: no thread is in this state and failed"),
        (vec!["--sort", "age"], "'age' for '--sort"),
        (vec!["--failed", "--children"], "--children"),
    ] {
        let ran = ps(at, &arguments);
        assert!(ran.code == Some(2) && ran.stderr.contains(words), "{arguments:?}: {ran:?}");
    }
    let opened = Opened::of(at, "organism.db");
    for (query, words) in [
        ("state=dead", "state: one of paused, working"),
        ("since=soon", "since: this is not a time"),
        ("code=a+b", "code: nothing fails with such a code"),
        ("failed=yes", "failed: true or false"),
        ("sort=age", "sort: one of opened, since"),
        ("failed=true&children=true", "failed: it does not go with children=true"),
        ("after=sess-00000000ffff", "there is no such thread"),
    ] {
        let page = opened.page(&format!("/v1/threads?{query}"));
        assert!(page.status >= 400 && page.body.contains(words), "{query}: {page:?}");
    }
}

#[test]
fn d10_a_thread_that_is_tried_again_is_listed_by_its_new_end() {
    let (folder, mut author) = log_of(6, 0);
    let at = folder.path();
    assert_eq!(list_threads(at, &["--failed"]), [root(5).to_string(), root(0).to_string()]);
    write(&folder, vec![reopen(&mut author, 5)]);
    assert_eq!(list_threads(at, &["--failed"]), [root(0).to_string()]);
    assert_eq!(list_threads(at, &["--code", "model.refused"]), [root(0).to_string()]);
    // No configuration says which program has it, so it waits.
    assert_eq!(list_threads(at, &["--state", "waiting"]), [root(5).to_string()]);
    let took = |n: u64| {
        let all = ps(at, &["-n", "0", "--json"]).json_lines()[0]["threads"].clone();
        let id = root(n).to_string();
        all.as_array().unwrap().iter().find(|thread| thread["thread"] == id.as_str()).unwrap().clone()
    };
    assert_eq!((&took(5)["retries"], &took(0)["retries"]), (&1.into(), &0.into()));
    let before = took(5)["took_ms"].as_u64().unwrap();
    let end = close(&mut author, 5, ("bob", End::Answered)).unwrap();
    write(&folder, vec![end]);
    let entry = took(5);
    assert_eq!((&entry["state"], &entry["first_code"]), (&"answered".into(), &Value::Null), "{entry}");
    assert!(entry["took_ms"].as_u64().unwrap() > before, "the time of both is counted: {entry}");
    let shown = ps(at, &["--state", "answered"]).stdout;
    assert!(shown.contains(", 1 retry: <ask>"), "{shown}");
    let grown = dump(&at_index(&folder));
    fs::remove_file(at_index(&folder)).unwrap();
    assert_eq!(list_threads(at, &["--failed"]), [root(0).to_string()]);
    assert_eq!(grown, dump(&at_index(&folder)));
}

#[test]
fn h14_an_index_that_is_damaged_foreign_newer_or_wrong_is_made_again() {
    let (folder, _) = log_of(60, 3);
    let (at, file) = (folder.path(), at_index(&folder));
    let failed = list_threads(at, &["--failed"]);
    let right = dump(&file);
    assert!(failed.len() == 11 && fs::metadata(&file).unwrap().permissions().mode() & 0o777 == 0o600);
    let whole = fs::read(&file).unwrap();
    let mut zeroed = whole.clone();
    zeroed[4096..].fill(0);
    for bytes in [&whole[..whole.len() / 2], &zeroed, b"", b"hello, world"] {
        fs::write(&file, bytes).unwrap();
        assert_eq!(list_threads(at, &["--failed"]), failed, "{} bytes", bytes.len());
        assert_eq!(dump(&file), right);
    }
    for sql in [
        "PRAGMA user_version = 99; DELETE FROM root",
        "UPDATE state SET leaf = x'00'; DELETE FROM root",
        "UPDATE state SET position = 7; DELETE FROM root",
        "DROP TABLE slow",
        "CREATE TRIGGER own AFTER INSERT ON root BEGIN DELETE FROM state; END",
    ] {
        Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        assert_eq!(list_threads(at, &["--failed"]), failed, "{sql}");
        assert_eq!(dump(&file), right, "{sql}");
    }
    let (other, _) = log_of(7, 0);
    assert_eq!(list_threads(other.path(), &["--failed"]).len(), 2);
    fs::copy(at_index(&other), &file).unwrap();
    assert_eq!(list_threads(at, &["--failed"]), failed, "the index of another log");
    // A link and a folder in its place are not touched.
    for place in ["link", "folder"] {
        fs::remove_file(&file).unwrap();
        fs::write(at.join("precious"), "kept").unwrap();
        match place {
            "link" => std::os::unix::fs::symlink(at.join("precious"), &file).unwrap(),
            _ => fs::create_dir(&file).unwrap(),
        }
        let ran = ps(at, &["--failed"]);
        assert!(ran.stderr.contains("the index of the log is made in memory"), "{ran:?}");
        assert!(ran.code == Some(0) && ran.stdout.contains(&failed[0][..9]), "{ran:?}");
        assert_eq!(fs::read_to_string(at.join("precious")).unwrap(), "kept");
    }
}

fn at_index(folder: &Folder) -> std::path::PathBuf {
    folder.path().join("organism.db.index")
}

#[test]
fn h14_an_index_that_was_killed_while_it_grew_is_the_one_made_at_once() {
    let (folder, mut author) = log_of(40, 5);
    let (at, file) = (folder.path(), at_index(&folder));
    let size = || {
        let files = [file.clone(), at.join("organism.db.index-wal")];
        files.iter().filter_map(|file| fs::metadata(file).ok()).map(|found| found.len()).sum::<u64>()
    };
    let mut killed = 0;
    for round in 0..30 {
        let more = (0..40).flat_map(|n| {
            let end =
                [End::Answered, End::Failed, End::Open, End::Cancelled][usize::try_from(n % 4).unwrap()];
            conversation(&mut author, 1_000 + round * 40 + n, ("ann", end))
        });
        let more: Vec<Record> = more.collect();
        write(&folder, more);
        let before = size();
        let mut child = command(at, &["ps", "--log", "organism.db"]).spawn().unwrap();
        // At the first sign of a change, or at once.
        while round % 3 > 0 && size() == before && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        killed += u32::from(child.wait().unwrap().code().is_none());
    }
    assert!(killed > 10, "only {killed} of 30 were killed in time");
    let failed = list_threads(at, &["--failed"]);
    let grown = dump(&file);
    fs::remove_file(&file).unwrap();
    assert_eq!(list_threads(at, &["--failed"]), failed);
    assert_eq!(grown, dump(&file));
    assert_eq!(failed.len(), 7 + 300);
}

#[test]
fn h14_an_index_from_before_an_erasure_is_made_again_and_has_no_sensitive_value() {
    let (folder, mut author) = (Folder::new(), Author::default());
    write(&folder, vec![author.in_parts(&root(1), [false; 3])]);
    let (at, file) = (folder.path(), at_index(&folder));
    let has = |text: &str| fs::read(&file).unwrap().windows(text.len()).any(|part| part == text.as_bytes());
    let entry = ps(at, &["--json"]).json_lines()[0]["threads"][0].clone();
    assert!(entry["subject"].as_str().unwrap().contains("[sensitive]"), "{entry}");
    assert!(!has("Ann Lee") && !has("DE02") && has("[sensitive]"), "a sensitive value is not in the index");
    Connection::open(&file).unwrap().execute("UPDATE root SET subject = 'from before'", []).unwrap();
    assert_eq!(ps(at, &["--json"]).json_lines()[0]["threads"][0]["subject"], "from before", "it is a cache");
    let erased = core_payload::write_erasure("ann", None, &[(Position(1), vec![2])], &[]);
    let told = author.record(&ThreadId::new_sys(), &erased, |header| {
        (header.from, header.code) = (name("core"), Some(RecordCode::Role(MessageRole::Told)));
    });
    write(&folder, vec![told]);
    assert_eq!(ps(at, &["--json"]).json_lines()[0]["threads"][0]["subject"], entry["subject"]);
    assert!(!has("from before"));
    assert!(systole_log::index::forget_file(&folder.log()).unwrap() && !file.exists());
}

#[test]
fn h14_an_organism_whose_index_is_held_works_and_answers_and_each_client_sees_its_own() {
    let folder = house();
    let at = folder.path();
    let organism = running(at);
    let own = BTreeSet::from([sent(at, "echo", true), sent(at, "echo", true)]);
    // Without a question the organism itself keeps the file.
    let file = at.join("hello.db.index");
    let kept = || {
        let index = Connection::open(&file).ok()?;
        index.query_row("SELECT count(*) FROM root WHERE outcome = 'answered'", [], |row| row.get(0)).ok()
    };
    until("the index has both threads", || kept() == Some(2));
    let held = Connection::open(&file).unwrap();
    held.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let alice = [("Authorization", format!("Bearer {ALICE}"))];
    let alice: Vec<(&str, &str)> = alice.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let ask_alice = |method: &str, path: &str, body: &str| ask_as(&run_file(at), method, path, &alice, body);
    let document = say("hello");
    let waits = [alice.clone(), vec![("Systole-Wait", "240")]].concat();
    let answered = ask_as(&run_file(at), "POST", "/v1/messages?to=echo", &waits, &document);
    assert_eq!(answered.status, 200, "the pump waits for no index: {answered:?}");
    let of_alice = answered.json["thread"].as_str().unwrap().to_owned();
    for filter in ["", "?state=answered", "?sort=duration"] {
        let all = ask(&run_file(at), "GET", &format!("/v1/threads{filter}"), &[], "");
        assert_eq!(all.status, 200, "{all:?}");
        assert_eq!(names_of(&all.json).len(), 3, "{filter}: {all:?}");
        let seen = ask_alice("GET", &format!("/v1/threads{filter}"), "");
        assert_eq!(names_of(&seen.json), std::slice::from_ref(&of_alice), "{filter}: {seen:?}");
    }
    let count = |rows: &Value| rows["rows"][0]["count"].clone();
    assert_eq!(count(&ask(&run_file(at), "GET", "/v1/slow", &[], "").json), 3);
    assert_eq!(count(&ask_alice("GET", "/v1/slow", "").json), 1, "sums of its own threads alone");
    assert_eq!(kept(), Some(2), "the file is held all the time");
    drop(held);
    until("the index has the third thread", || kept() == Some(3));
    let listed: BTreeSet<String> = listed_of(at, "hello.db", &[]).into_iter().collect();
    assert_eq!(listed, &own | &BTreeSet::from([of_alice]));
    assert_eq!(organism.interrupt().code, Some(130));
}

#[test]
fn h14_the_state_is_how_the_call_that_closed_last_ended_and_calls_that_end_together_all_count() {
    let (folder, mut author) = (Folder::new(), Author::default());
    let (one, other) = (root(1), root(2));
    let mut records = Vec::new();
    let mut say = |thread: &ThreadId, role: MessageRole, change: &dyn Fn(&mut Header)| {
        records.push(author.record(thread, b"<a xmlns=\"urn:t\"/>", |header| {
            (header.from, header.to) = (name("ann"), Some(name("writer")));
            header.code = Some(RecordCode::Role(role));
            change(header);
        }));
    };
    for call in [1, 2] {
        say(&one, MessageRole::Request, &|header| header.call = Some(CallPath::new_top(call)));
    }
    say(&one, MessageRole::Final, &|header| {
        (header.kind, header.code) = (RecordKind::Outcome, Some(RecordCode::Code(Code::ListenerFailed)));
        header.call = Some(CallPath::new_top(2));
    });
    say(&one, MessageRole::Final, &|header| header.call = Some(CallPath::new_top(1)));
    say(&other, MessageRole::Request, &|header| header.call = Some(CallPath::new_top(1)));
    for ordinal in 1..=3 {
        say(&other, MessageRole::Call, &|header| {
            header.call = Some(CallPath::new_top(1));
            (header.turn, header.ordinal, header.to) = (Some(1), Some(ordinal), Some(name("job")));
            header.time = Millis(1_795_158_000_100);
        });
    }
    say(&other, MessageRole::Final, &|header| {
        (header.kind, header.code) = (RecordKind::Terminal, Some(RecordCode::Code(Code::CancelledThread)));
    });
    write(&folder, records);
    let at = folder.path();
    assert_eq!(list_threads(at, &["--state", "answered"]), [one.to_string()]);
    assert!(list_threads(at, &["--failed"]).is_empty());
    let slow = systole(at, &["slow", "--log", "organism.db", "--listener", "job", "--json"]);
    let slow = slow.json_lines().remove(0);
    assert_eq!((&slow["rows"][0]["count"], slow["slowest"].as_array().map(Vec::len)), (&3.into(), Some(3)));
}

#[test]
fn h14_counts_of_tokens_that_cannot_be_break_no_list_and_no_metric() {
    let usage = format!("usage: {{in: {}, out: {}}}", u64::MAX >> 1, u64::MAX >> 1);
    let organism = "organism: {name: t}
models: {main: {provider: script, file: replies.yaml, price: {in: 3, out: 15, per: 1M, currency: USD}}}
agents: {helper: {model: main, dialect: native, peers: [], prompt: {identity: You help.}}}
log: {path: hello.db}
console: {listen: '127.0.0.1:0'}
";
    let replies = format!("helper:\n  - {{say: Done., {usage}}}\n");
    let folder = crate::organism::folder(&[("organism.yaml", organism), ("replies.yaml", &replies)]);
    let at = folder.path();
    let organism = Running::organism(at);
    for _ in 0..3 {
        let asked = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">What?</ask>";
        let path = "/v1/messages?to=helper";
        assert_eq!(ask(&run_file(at), "POST", path, &[("Systole-Wait", "240")], asked).status, 200);
    }
    for path in ["/v1/threads", "/v1/slow?by=model", "/v1/cost?by=model", "/metrics"] {
        let shown = ask(&run_file(at), "GET", path, &[], "");
        assert_eq!(shown.status, 200, "{path}: {shown:?}");
    }
    organism.interrupt();
    for command in ["ps", "slow", "cost"] {
        assert_eq!(systole(at, &[command]).code, Some(0), "{command}");
    }
}

/// Waits until something is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    // A command takes long enough to be a pause.
    let is_so = || is_so() || systole(Path::new("."), &["--version"]).code != Some(0);
    assert!((0..5_000).any(|_| is_so()), "never: {what}");
}
