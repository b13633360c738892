//! What a thread costs, with everything below it: the list of threads, its JSON and `systole cost` say the same, while it
//! works, at rest and at every position.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{Commit, LogReader, LogWriter as _, Position};
use systole_core::types::record::Header;
use systole_core::types::time::Millis;
use systole_log::memory::MemoryLog;
use systole_log::sqlite;
use systole_queries::costs::{self, CountedTrees};
use systole_queries::lanes::{self, TimeLane};
use systole_queries::log_reads::PastLog;
use systole_queries::tree::{self, ThreadTree};

use crate::log_records::{Author, batch, read_all};
use crate::organism::folder;
use crate::program::{Running, ask, page, run_file, systole};

/// boss asks helper in a thread below its own. Both use a model with a price.
const FILE: &str = "organism: {name: hello}
models:
  main: {provider: script, file: replies.yaml, price: {in: 3, out: 15, per: 1M, currency: USD}}
agents:
  boss: {model: main, dialect: native, actions: many, peers: [helper], prompt: {identity: You lead.}}
  helper: {model: main, dialect: native, peers: [], prompt: {identity: You help.}}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";
const REPLIES: &str = "boss:
  - call: {spawn_thread: {label: first, tool: ask, arguments: {.: below}}}
    usage: {in: 1234567, out: 89012}
  - call: {await_threads: {mode: all}}
    usage: {in: 1000, out: 100}
  - say: It is done.
    usage: {in: 1, out: 1}
helper:
  - say: Below it is done.
    usage: {in: 345678, out: 90123}
";

fn sends(at: &Path, thread: Option<&str>, wait: bool) -> String {
    let to = thread.map(|thread| format!("&thread={thread}")).unwrap_or_default();
    let headers: &[(&str, &str)] = if wait { &[("Systole-Wait", "240")] } else { &[] };
    let body = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">What is smaller?</ask>";
    let sent = ask(&run_file(at), "POST", &format!("/v1/messages?to=boss{to}"), headers, body);
    assert!(matches!(sent.status, 200 | 202), "{sent:?}");
    sent.json["thread"].as_str().unwrap().to_owned()
}

fn json(at: &Path, path: &str) -> Value {
    let shown = ask(&run_file(at), "GET", path, &[], "");
    assert_eq!(shown.status, 200, "{path}: {shown:?}");
    shown.json
}

/// What `systole cost` says of all requests of a thread.
fn said(at: &Path, thread: &str, position: Option<u64>) -> Value {
    let position = position.map(|position| position.to_string());
    let past = position.iter().flat_map(|position| ["--at", position]);
    let ran = systole(at, &["cost", thread, "--json"].into_iter().chain(past).collect::<Vec<_>>());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json_lines()[0]["all"].clone()
}

/// What the list says of a thread, for a program.
fn listed(at: &Path, thread: &str, query: &str) -> Value {
    let list = json(at, &format!("/threads{query}"));
    let found = list["threads"].as_array().unwrap().iter().find(|one| one["thread"] == thread).cloned();
    found.unwrap_or_else(|| panic!("{thread} is not in {list}"))["cost"].clone()
}

/// The cells of tokens and money in the row of a thread.
fn cells(at: &Path, thread: &str, query: &str) -> (String, String) {
    let shown = page(&run_file(at), "GET", &format!("/threads{query}"), "text/html", &[]);
    let row = shown.body.split("<tr").find(|row| row.contains(&format!(">{thread}<"))).unwrap().to_owned();
    let cell = |label: &str| {
        let (_, after) = row.split_once(&format!("data-label=\"{label}\">")).unwrap();
        after.split_once("</td>").unwrap().0.to_owned()
    };
    (cell("tokens"), cell("money"))
}

fn told(tokens: &str, money: &str) -> (String, String) {
    (tokens.to_owned(), money.to_owned())
}

#[test]
fn h4_the_list_of_threads_says_what_the_command_says_a_thread_cost() {
    let folder = folder(&[("organism.yaml", FILE), ("replies.yaml", REPLIES)]);
    let at = folder.path();
    let organism = Running::organism(at);
    let thread = sends(at, None, true);

    // It rests, and the thread below it is counted too.
    let all = said(at, &thread, None);
    assert_eq!((&all["requests"], &all["money"]), (&json!(4), &json!(["7.432278 USD"])), "{all}");
    assert_eq!(json(at, &format!("/v1/threads/{thread}/cost"))["all"], all);
    assert_eq!(listed(at, &thread, ""), all);
    assert_eq!(cells(at, &thread, ""), told("1760482", "7.432278 USD"));

    let before = json(at, &format!("/t/{thread}"))["tree"].clone();

    // It grows with the thread, and a new one begins with its own.
    sends(at, Some(&thread), true);
    let grown = said(at, &thread, None);
    assert_eq!(grown["money"], json!(["14.864556 USD"]), "{grown}");
    assert_eq!(listed(at, &thread, ""), grown);
    assert_eq!(cells(at, &thread, ""), told("3520964", "14.864556 USD"));

    // The page of the thread was shown before it grew. It has the tree of a page that is shown for the first time.
    let tree = json(at, &format!("/t/{thread}"))["tree"].clone();
    let end = json(at, "/v1/status")["position"].as_u64().unwrap();
    assert_eq!(tree, json(at, &format!("/t/{thread}?at={end}"))["tree"]);
    assert_ne!(tree, before);

    // At every position, before the first request too.
    let first = json(at, &format!("/t/{thread}"))["records"][0]["position"].as_u64().unwrap();
    for position in first..=end {
        let query = format!("?at={position}");
        let then = said(at, &thread, Some(position));
        assert_eq!(listed(at, &thread, &query), then, "at {position}");
    }
    assert_eq!(cells(at, &thread, &format!("?at={first}")), told("", ""));
    let unknown: Vec<u64> =
        (first..=end).filter(|position| said(at, &thread, Some(*position))["unknown"] == 1).collect();
    let open = unknown.first().unwrap_or_else(|| panic!("no request was ever open up to {end}"));
    assert_eq!(cells(at, &thread, &format!("?at={open}")), told("0+", ""), "what is not known is said");
    organism.interrupt();
    let thread = ThreadId::parse(&thread).unwrap();
    parts_are_counted_once(at, &thread);
    a_tree_grows_to_what_is_read_at_once(at, &thread);
    a_model_that_answers_at_once_keeps_its_cost(at, &thread);
}

/// A tree that is counted a few records at a time while the log grows has the sum of the whole tree.
fn parts_are_counted_once(at: &Path, thread: &ThreadId) {
    let log: Arc<dyn LogReader> = Arc::new(sqlite::open_reading(&at.join("hello.db")).unwrap());
    let end = log.read_last().unwrap();
    let roots = [thread.clone()];
    for (begin, most) in [(1, 1_000), (end.0 / 2, 1_000), (end.0 / 2, 1)] {
        let (mut trees, mut late) = (CountedTrees::default(), 0);
        for position in begin..=end.0 {
            let past = PastLog::new(log.clone(), Position(position));
            trees.go_on(&past).unwrap();
            let all = costs::sum(&costs::read(&past, thread).unwrap());
            match &trees.sums(&past, &roots, most).unwrap()[..] {
                [Some(sum)] => assert_eq!(*sum, all, "at {position}, {most} at once"),
                [None] => late += 1,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(late > 0, most == 1, "{late} sums from {begin} were late with {most} records at once");
    }
    let mut trees = CountedTrees::default();
    trees.go_on(&*log).unwrap();
    let sums: Vec<_> = (0..end.0).map(|_| trees.sums(&*log, &roots, 1).unwrap().remove(0)).collect();
    assert_eq!(sums.first(), Some(&None), "a long tree is not counted at once");
    assert_eq!(sums.last(), Some(&Some(costs::sum(&costs::read(&*log, thread).unwrap()))));
}

/// A tree that is read on whenever a record comes is the tree that is read at once.
fn a_tree_grows_to_what_is_read_at_once(at: &Path, thread: &ThreadId) {
    let log: Arc<dyn LogReader> = Arc::new(sqlite::open_reading(&at.join("hello.db")).unwrap());
    let mut grown: Option<ThreadTree> = None;
    for position in 1..=log.read_last().unwrap().0 {
        let past = PastLog::new(log.clone(), Position(position));
        match &mut grown {
            Some(tree) => tree.read_on(&past).unwrap(),
            None => grown = tree::read(&past, thread).unwrap(),
        }
        assert_eq!(grown, tree::read(&past, thread).unwrap(), "at {position}");
    }
    assert_eq!(grown.map(|tree| tree.children.len()), Some(2));
}

/// The page of a thread's time has the cost of a request that took less than a millisecond.
fn a_model_that_answers_at_once_keeps_its_cost(at: &Path, thread: &ThreadId) {
    let (mut memory, mut author) = (MemoryLog::new(), Author::default());
    let sealed = read_all(&at.join("hello.db")).into_iter().map(|record| {
        let header = Header { time: Millis(1_795_158_000_000), ..record.header.clone() };
        author.record(&record.header.thread, &record.body, |made| *made = header)
    });
    assert!(matches!(memory.commit_batch(&batch(sealed.collect::<Vec<_>>())), Commit::Committed(_)));
    let cost = costs::sum(&costs::read(&memory, thread).unwrap());
    let time = lanes::read(&memory, thread, &|_, _| 1, Millis(1_795_158_000_001)).unwrap().unwrap();
    assert_eq!(time.lanes.iter().map(TimeLane::tokens).sum::<u64>(), cost.tokens_in + cost.tokens_out);
    let money: Vec<String> = time.lanes.iter().flat_map(TimeLane::money).collect();
    assert_eq!(money.len(), 2, "boss and helper: {money:?}");
}
