//! The accounting after many deaths: each request that the mock of a model got is compared with the starts and
//! results in the log. It only reads.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use systole_core::types::codes::Code;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::LogReader;
use systole_core::types::record::{ApprovalEffect, MessageRole, Record, RecordCode, RecordKind};
use systole_kit::journal::{EarlierEntry, JournalEntry, ModelCallOutcome};
use systole_kit::prompt_link::{self, ParsedLink};
use systole_log::sqlite;
use systole_queries::{costs, prompts};

use super::house::AgentHouse;
use super::strait;

/// An organism that died often.
pub(super) struct Field {
    pub(super) house: AgentHouse,
    /// The number of requests that the mock had seen at the end of each life.
    pub(super) asked_by: Vec<u64>,
    /// The number of questions, each in its own thread.
    pub(super) questions: u64,
}

/// A start in the log.
struct Start {
    thread: ThreadId,
    turn: u32,
    attempt: u32,
    id: u64,
    /// The life that wrote it, from 0.
    life: usize,
    prompt: String,
    result: Option<ModelCallOutcome>,
}

/// The totals, to be printed.
#[derive(Default)]
pub(super) struct Tally {
    requests: usize,
    starts: usize,
    results: usize,
    unknown: usize,
    never_arrived: usize,
    threads: usize,
    finals: usize,
    failed: BTreeMap<String, usize>,
    micros: u64,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tally { requests, starts, results, unknown, never_arrived, threads, finals, failed, micros } =
            self;
        write!(
            out,
            "{starts} starts, {requests} requests, {results} results, {unknown} unknown outcomes of which {never_arrived} never \
             reached the model; {threads} threads, {finals} finals, failed: {failed:?}; {micros} millionths of a dollar"
        )
    }
}

/// The cost of a turn's answer, by the usage that the mock reports: 3 and 15 dollars for a million tokens.
fn price(turn: u32) -> (u64, u64, u64) {
    let (read, written) = (1000 * u64::from(turn), 10 * u64::from(turn));
    (read, written, read * 3 + written * 15)
}

/// Compares the log with what the mock saw.
pub(super) fn held(field: &Field, policy: &str) -> Tally {
    field.house.judged();
    let records = field.house.records();
    let starts = starts(&records);
    let mut tally = Tally { starts: starts.len(), ..Tally::default() };
    requests_have_starts(field, &starts, &mut tally);
    every_thread_has_its_end(field, &records, &starts, &mut tally);
    money_is_what_was_charged(field, &starts, &mut tally);
    if policy == "fail" {
        let mut prompts = BTreeSet::new();
        assert!(starts.iter().all(|start| prompts.insert(&start.prompt)), "nothing is begun twice");
    }
    tally
}

fn starts(records: &[Record]) -> Vec<Start> {
    let (mut starts, mut life): (Vec<Start>, usize) = (Vec::new(), 0);
    for record in records {
        let h = &record.header;
        life += usize::from(h.thread.as_str() == "sys" && record.body.starts_with(b"<boot "));
        let Some(EarlierEntry { attempt, id, entry }) = journal(record) else { continue };
        let (thread, turn, life) = (h.thread.clone(), h.turn.unwrap(), life - 1);
        assert_eq!(h.call.as_ref().unwrap().as_str(), "1", "only calls from outside ask a model");
        match entry {
            JournalEntry::Started(started) => {
                let (prompt, result) = (started.prompt, None);
                starts.push(Start { thread, turn, attempt, id, life, prompt, result });
            }
            JournalEntry::Result(outcome) => {
                let its = |start: &&mut Start| {
                    (&start.thread, start.turn, start.attempt, start.id)
                        == (&thread, turn, attempt, outcome.of)
                };
                let start = starts.iter_mut().find(its).expect("a result has its start");
                assert!(start.result.replace(outcome).is_none(), "one result for each start");
                assert_eq!(start.life, life, "an answer belongs to the life that asked for it");
            }
        }
    }
    starts
}

fn journal(record: &Record) -> Option<EarlierEntry> {
    (record.header.kind == RecordKind::Journal).then(|| EarlierEntry::from_body(&record.body).ok())?
}

/// The texts that a request and a prompt in the log share: the system prompt, and everything that the model was told.
/// Each question has its number, so no two calls share them.
type Shared = Vec<String>;

fn of_request(body: &Value) -> Shared {
    let messages = body["messages"].as_array().unwrap().iter();
    let told = messages.filter(|message| message["role"] != "assistant");
    told.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

fn of_prompt(log: &dyn LogReader, prompt: &str) -> Shared {
    let mut shared = Vec::new();
    for link in prompts::links(log, prompt).unwrap() {
        match prompt_link::read_link(&link).expect("a link") {
            ParsedLink::Base { system, .. } => shared.push(system.to_owned()),
            ParsedLink::Segment { messages, .. } => {
                let messages = messages.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
                for message in messages.filter(|message| message["role"] == "user") {
                    shared.extend(texts_of(&message));
                }
            }
            ParsedLink::Prompt { header: "", .. } => {}
            ParsedLink::Prompt { header, .. } => panic!("an ordinary turn has no header: {header}"),
        }
    }
    shared
}

/// The messages of a provider that one message of a prompt becomes: each result, and the texts together.
fn texts_of(message: &Value) -> Vec<String> {
    let parts = message["parts"].as_array().unwrap();
    let of = |read: fn(&Value) -> &Value| parts.iter().filter_map(move |part| read(part).as_str());
    let mut found: Vec<String> = of(|part| &part["result"]["text"]).map(str::to_owned).collect();
    let texts: Vec<&str> = of(|part| &part["text"]).collect();
    found.extend((!texts.is_empty()).then(|| texts.join("\n")));
    found
}

/// Each request to the mock belongs to its own start, and each result to its own request.
fn requests_have_starts(field: &Field, starts: &[Start], tally: &mut Tally) {
    let log = sqlite::open_reading(&field.house.path().join("hello.db")).unwrap();
    let mut known = BTreeMap::new();
    for start in starts {
        let earlier = known.insert(of_prompt(&log, &start.prompt), start.prompt.as_str());
        assert!(earlier.is_none_or(|earlier| earlier == start.prompt), "two prompts read the same");
    }
    let mut asked: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for seen in field.house.asked() {
        assert_eq!((seen.status, seen.scripted), (200, true), "{seen:?}");
        let prompt = known.get(&of_request(&seen.body)).unwrap_or_else(|| panic!("no start: {seen:?}"));
        asked.entry(prompt).or_default().push(seen.number);
        tally.requests += 1;
    }
    let mut began: BTreeMap<&str, Vec<&Start>> = BTreeMap::new();
    starts.iter().for_each(|start| began.entry(&start.prompt).or_default().push(start));
    for (prompt, starts) in &began {
        let requests = asked.get(prompt).map_or(&[][..], Vec::as_slice);
        let results = starts.iter().filter(|start| start.result.is_some()).count();
        let ends: Vec<_> = starts.iter().map(|start| (start.life, &start.result)).collect();
        let words = format!(
            "requests {requests:?}, {results} results: {prompt}, lives and ends {ends:?}\n{}",
            told(&field.house, &starts[0].thread)
        );
        assert!(results <= requests.len() && requests.len() <= starts.len(), "{words}");
        assert!(results <= 1, "what was bought is not bought again: {words}");
        // In order of time: at the end of a life, each request has a start that was already on disk.
        for (life, by) in field.asked_by.iter().enumerate() {
            let came = requests.iter().filter(|number| *number <= by).count();
            let on_disk = starts.iter().filter(|start| start.life <= life).count();
            assert!(came <= on_disk, "life {life}: {words}");
        }
        tally.results += results;
        tally.unknown += starts.len() - results;
        tally.never_arrived += starts.len() - requests.len();
    }
}

/// The log of a thread, for the message of a failed check.
fn told(house: &AgentHouse, thread: &ThreadId) -> String {
    let own = |record: &&Record| record.header.thread == *thread;
    let line = |record: &Record| {
        let text = String::from_utf8_lossy(&record.body);
        let h = &record.header;
        format!("{} {:?} {:?} {}", h.from, h.kind, h.code, text.get(..300).unwrap_or(&text))
    };
    house.records().iter().filter(own).map(line).collect::<Vec<_>>().join("\n")
}

/// Each thread has one end, and reports each start without a result as an unknown outcome.
fn every_thread_has_its_end(field: &Field, records: &[Record], starts: &[Start], tally: &mut Tally) {
    let mut threads: BTreeMap<&ThreadId, Vec<&Record>> = BTreeMap::new();
    let of_threads = records.iter().filter(|record| record.header.thread.as_str() != "sys");
    of_threads.for_each(|record| threads.entry(&record.header.thread).or_default().push(record));
    assert_eq!(threads.len() as u64, field.questions, "a thread for each question");
    for (thread, records) in threads {
        let is = |record: &&&Record, kind, mark| {
            let h = &record.header;
            h.call.as_ref().is_some_and(|call| call.as_str() == "1") && (h.kind, h.code) == (kind, Some(mark))
        };
        let unknown = RecordCode::Code(Code::UnknownOutcome);
        let count = |kind, mark| records.iter().filter(|record| is(record, kind, mark)).count();
        let finals = count(RecordKind::Message, RecordCode::Role(MessageRole::Final));
        let failed: Vec<String> = records
            .iter()
            .filter(|record| record.header.kind == RecordKind::Outcome && is_end(record))
            .map(|record| record.header.code.map_or("none", RecordCode::as_str).to_owned())
            .collect();
        let words = || format!("{thread}: {}", field.house.systole(&["log", thread.as_str()]).stdout);
        assert_eq!(finals + failed.len(), 1, "one end: {}", words());
        let rejected = records.iter().filter(|record| is_rejected(record, &records)).count();
        let told = count(RecordKind::Attempt, unknown) + count(RecordKind::Outcome, unknown) + rejected;
        let open = starts.iter().filter(|s| s.thread == *thread && s.result.is_none()).count();
        assert_eq!(told, open, "each start without a result is reported: {}", words());
        tally.threads += 1;
        tally.finals += finals;
        failed.into_iter().for_each(|code| *tally.failed.entry(code).or_default() += 1);
    }
}

fn is_end(record: &Record) -> bool {
    let h = &record.header;
    h.call.as_ref().is_some_and(|call| call.as_str() == "1") && h.code != Some(RecordCode::DeadLetter)
}

/// Whether a person rejected a repeated request to a model whose answer is unknown.
fn is_rejected(record: &Record, records: &[&Record]) -> bool {
    let attribute = |record: &Record, name: &str| {
        let body = String::from_utf8_lossy(&record.body).into_owned();
        let begin = format!(" {name}=\"");
        body.split_once(&begin).and_then(|(_, rest)| rest.split_once('"')).map(|(value, _)| value.to_owned())
    };
    let mark = |record: &Record, what| record.header.code == Some(RecordCode::Approving(what));
    let asks = |request: &&&Record| {
        mark(request, ApprovalEffect::Requested)
            && attribute(request, "id") == attribute(record, "id")
            && attribute(request, "unknown").is_some_and(|words| words.contains("model.unknown-outcome"))
    };
    mark(record, ApprovalEffect::Rejected) && records.iter().any(|request| asks(&request))
}

/// For each start, the money in the log equals what the mock charged; and `cost` reports the same for each thread.
fn money_is_what_was_charged(field: &Field, starts: &[Start], tally: &mut Tally) {
    let log = sqlite::open_reading(&field.house.path().join("hello.db")).unwrap();
    let mut charged: BTreeMap<u32, usize> = BTreeMap::new();
    for seen in field.house.asked() {
        *charged.entry(strait::turn(seen.body.to_string().as_bytes())).or_default() += 1;
    }
    let mut of_threads: BTreeMap<&ThreadId, (u64, u64, u64)> = BTreeMap::new();
    for start in starts {
        let row = of_threads.entry(&start.thread).or_default();
        row.0 += 1;
        let Some(result) = &start.result else {
            row.1 += 1;
            continue;
        };
        let (read, written, micros) = price(start.turn);
        let found = (result.tokens_in, result.tokens_out, result.money.map(|money| money.micros));
        assert_eq!(found, (Some(read), Some(written), Some(micros)), "{}: {result:?}", start.thread);
        row.2 += micros;
        tally.micros += micros;
    }
    for (thread, (requests, unknown, micros)) in of_threads {
        let rows = costs::read(&log, thread).unwrap();
        let row = rows.values().next().unwrap();
        let told = (row.requests, row.unknown, row.money.values().sum::<u64>());
        assert_eq!((rows.len(), told), (1, (requests, unknown, micros)), "{thread}");
    }
    // A charge without a result is at most what the log reports as unknown.
    for (turn, requests) in charged {
        let of_turn = || starts.iter().filter(|start| start.turn == turn);
        let results = of_turn().filter(|start| start.result.is_some()).count();
        assert!((results..=of_turn().count()).contains(&requests), "turn {turn}: {requests} requests");
    }
}
