//! What a thread costs, with everything below it: the list of threads, its JSON and `systole cost` say the same, while it
//! works, at rest and at every position.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{Commit, LogReader, LogWriter as _, Position};
use systole_core::types::record::Header;
use systole_core::types::time::Millis;
use systole_log::index::{IndexFile, RootSelection, SumSelection};
use systole_log::memory::MemoryLog;
use systole_log::sqlite;
use systole_queries::costs::{self, CostRow};
use systole_queries::index::LogIndex;
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
    an_index_that_grows_has_the_costs_of_the_journal(at, &thread);
    a_tree_grows_to_what_is_read_at_once(at, &thread);
    a_model_that_answers_at_once_keeps_its_cost(at, &thread);
}

/// An index that grows record by record says at each what the journal says, and is at the end equal to one made at once.
fn an_index_that_grows_has_the_costs_of_the_journal(at: &Path, thread: &ThreadId) {
    let log: Arc<dyn LogReader> = Arc::new(sqlite::open_reading(&at.join("hello.db")).unwrap());
    let mut grown = LogIndex::apart();
    let mut seen = 0;
    for position in 1..=log.read_last().unwrap().0 {
        let past = PastLog::new(log.clone(), Position(position));
        let index = grown.read_whole(&past, &mut |_, _| true).unwrap();
        let rows = costs::read(&past, thread).unwrap();
        let Some(root) = index.find_root(thread.as_str()).unwrap() else { continue };
        let all = CostRow::of_index(root.requests, root.unknown, &root.used);
        assert_eq!(all, costs::sum(&rows), "at {position}");
        let mut sums = costs::CostRows::new();
        let models = SumSelection { of_models: true, ..SumSelection::default() };
        for (key, sum) in index.list_sums(&models).unwrap() {
            let unknown = if key.outcome == "unknown" { sum.count } else { 0 };
            let row = CostRow::of_index(sum.count, unknown, &sum.used);
            let name = Name::parse(&key.listener).unwrap();
            let place = sums.entry((name, key.model)).or_default();
            *place = costs::join_rows([&*place, &row]);
        }
        assert_eq!(sums, rows, "at {position}");
        seen += rows.len();
    }
    assert!(seen > 20, "{seen} rows were compared");
    let all = |index: &IndexFile| {
        let mut roots = Vec::new();
        let take = &mut |row| {
            roots.push(row);
            true
        };
        index.visit_roots(&RootSelection::default(), take).unwrap();
        let of = |of_models| SumSelection { of_models, ..SumSelection::default() };
        let sums = [false, true].map(|of_models| index.list_sums(&of(of_models)).unwrap());
        let slow = [false, true].map(|of_models| index.list_slowest(&of(of_models), usize::MAX).unwrap());
        (roots, sums, slow, index.read_end().unwrap())
    };
    let grown = all(grown.read_whole(&*log, &mut |_, _| true).unwrap());
    let mut fresh = LogIndex::apart();
    assert_eq!(grown, all(fresh.read_whole(&*log, &mut |_, _| true).unwrap()));
    assert!(grown.1[0].iter().map(|(_, sum)| sum.count).sum::<i64>() >= 2, "boss and helper were called");
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
