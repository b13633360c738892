//! What the doors tell of a run: the same events with the same ids in any process, and from each id the exact rest.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use systole_core::rules::outcome::CallJudgement;
use systole_core::types::ports::{LogReader as _, Position};
use systole_core::types::primitive::TodoList;
use systole_core::types::record::{MessageRole, Record, RecordCode};
use systole_kit::reply::AnswerPart;
use systole_log::sqlite;
use systole_queries::run_events::{
    CallPlace, PlacedEvent, RunCursor, RunEvent, RunFold, RunHistory, SpokenWords,
};

use crate::log_records::fixtures;
use crate::organism::folder;
use crate::program::systole;

type PlacedRecords = Vec<(Position, Arc<Record>)>;

/// The records of a log of the fixtures, as this version opens it.
fn read_fixture(name: &str) -> PlacedRecords {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join(name);
    fs::copy(fixtures().join(name), &copy).unwrap();
    read_records(&copy)
}

fn read_records(log: &Path) -> PlacedRecords {
    let reader = sqlite::open_reading(log).unwrap();
    let placed = reader.read_after(Position(0), usize::MAX).unwrap().into_iter();
    placed.map(|(position, record)| (position, Arc::new(record))).collect()
}

/// Every run that a message from outside began.
fn list_runs(records: &PlacedRecords) -> Vec<CallPlace> {
    let requests = records.iter().filter(|(_, record)| {
        record.header.code == Some(RecordCode::Role(MessageRole::Request))
            && record.header.thread.parent().is_none()
    });
    let place = |record: &Record| CallPlace {
        thread: record.header.thread.clone(),
        call: record.header.call.clone().unwrap(),
    };
    requests.map(|(_, record)| place(record)).collect()
}

fn follow(records: &PlacedRecords, run: &CallPlace, known: Option<RunCursor>) -> (RunFold, Vec<PlacedEvent>) {
    let mut fold = RunFold::new(run.clone(), known);
    let is_of_run = |record: &Record| {
        record.header.thread == run.thread && record.header.call.as_ref() == Some(&run.call)
    };
    let since = records.iter().skip_while(|(_, record)| !is_of_run(record));
    let events = since.flat_map(|(position, record)| fold.take_record(*position, record)).collect();
    (fold, events)
}

fn describe_list(list: &TodoList) -> String {
    let steps =
        list.steps.iter().map(|step| format!(" [{}] {}", if step.is_done { "x" } else { " " }, step.text));
    format!("{}:{}", list.condition, steps.collect::<String>())
}

/// An event in a line, without the bytes of records.
fn describe(placed: &PlacedEvent) -> String {
    let short = |at: &CallPlace| format!("{} {}", at.thread.as_str().rsplit('.').next().unwrap(), at.call);
    let what = match &placed.event {
        RunEvent::Called { at, to, record } => format!("called {} {to} by #{}", short(at), record.0.0),
        RunEvent::Returned { at, judgement, record } => {
            format!("returned {} {judgement:?} by #{}", short(at), record.0.0)
        }
        RunEvent::Asked { id, record } => format!("asked {id} by #{}", record.0.0),
        RunEvent::Decided { id, record } => format!("decided {id} by #{}", record.0.0),
        RunEvent::Todo(lists) => {
            format!("todo {}", lists.iter().map(describe_list).collect::<Vec<_>>().join("; "))
        }
        RunEvent::Ended { judgement, record } => format!("ended {judgement:?} by #{}", record.0.0),
        other => format!("{other:?}"),
    };
    let cursor = placed.cursor.map(|cursor| cursor.to_string()).unwrap_or_default();
    format!("{cursor} {what}")
}

fn describe_all(events: &[PlacedEvent]) -> Vec<String> {
    events.iter().map(describe).collect()
}

const LOGS: [&str; 6] = [
    "log-v8.db",
    "log-v3-threads.db",
    "log-v2-threads.db",
    "log-v2-broadcast.db",
    "log-v2-models.db",
    "log-v2-time.db",
];

#[test]
fn b18_from_each_id_of_a_run_the_exact_rest_is_told() {
    let mut kinds = BTreeSet::new();
    for log in LOGS {
        let records = read_fixture(log);
        for run in list_runs(&records) {
            let (_, whole) = follow(&records, &run, None);
            let told = describe_all(&whole);
            let ids: BTreeSet<String> =
                whole.iter().filter_map(|one| Some(one.cursor?.to_string())).collect();
            assert_eq!(ids.len(), whole.len(), "each has an id of its own: {told:#?}");
            for (at, placed) in whole.iter().enumerate() {
                kinds.insert(format!("{:?}", placed.event).split([' ', '(']).next().unwrap().to_owned());
                let (fold, mut rest) = follow(&records, &run, placed.cursor);
                assert!(fold.is_met());
                let known = rest.iter().take_while(|one| one.is_known).count();
                assert_eq!(known, at + 1, "{log} {run:?} from {}", told[at]);
                rest.drain(..known);
                assert!(rest.iter().all(|one| !one.is_known));
                assert_eq!(describe_all(&rest), told[at + 1..], "{log} {run:?} from {}", told[at]);
                assert!(!fold.is_lost(Position(u64::MAX)), "{}", told[at]);
            }
            // Ids that this run never gave.
            for wrong in ["2.0.1.811c9dc5", "2.1.0.811c9dc5", "2.999999.1.811c9dc5"] {
                let (fold, _) = follow(&records, &run, Some(RunCursor::parse(wrong).unwrap()));
                assert!(fold.is_lost(Position(u64::MAX)), "{wrong} {told:#?}");
            }
        }
    }
    let wanted = ["Asked", "Called", "Decided", "Ended", "Returned", "Started"];
    assert!(wanted.iter().all(|kind| kinds.contains(*kind)), "{kinds:?}");
}

#[test]
fn b18_the_history_of_a_run_is_read_from_its_threads_alone_and_says_the_same() {
    let (mut runs, mut shorter) = (0, 0);
    for log in LOGS {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join(log);
        fs::copy(fixtures().join(log), &copy).unwrap();
        let (records, reader) = (read_records(&copy), sqlite::open_reading(&copy).unwrap());
        let end = records.last().unwrap().0;
        for run in list_runs(&records) {
            let is_first = |record: &Record| {
                record.header.thread == run.thread && record.header.call.as_ref() == Some(&run.call)
            };
            let since = records.iter().skip_while(|(_, record)| !is_first(record)).count();
            let seq = records.iter().find(|(_, record)| is_first(record)).unwrap().1.header.seq;
            let mut history = RunHistory::open(&reader, (&run.thread, seq), end).unwrap().unwrap();
            let (mut fold, mut told, mut read) = (RunFold::new(run.clone(), None), Vec::new(), Vec::new());
            loop {
                let page = history.read_page(&reader).unwrap();
                if page.is_empty() {
                    break;
                }
                for (position, record) in page {
                    assert!(record.header.thread.is_within(&run.thread));
                    read.push(position);
                    told.extend(fold.take_record(position, &record.into()));
                }
            }
            assert!(read.is_sorted(), "{read:?}");
            assert_eq!(describe_all(&told), describe_all(&follow(&records, &run, None).1), "{log} {run:?}");
            (runs, shorter) = (runs + 1, shorter + usize::from(read.len() < since));
        }
    }
    assert!(runs > 10 && shorter > 5, "{runs} runs, {shorter} read less than the log");
}

#[test]
fn b18_a_run_begins_once_and_ends_as_its_record_says_and_each_return_had_its_call() {
    for log in LOGS {
        let records = read_fixture(log);
        for run in list_runs(&records) {
            let (fold, events) = follow(&records, &run, None);
            let told = describe_all(&events);
            assert!(matches!(events[0].event, RunEvent::Started), "{told:#?}");
            let (mut open, mut is_over) = (BTreeSet::new(), false);
            for placed in &events {
                let is_start = matches!(placed.event, RunEvent::Started);
                assert!(!is_over || is_start, "nothing comes after the end: {told:#?}");
                match &placed.event {
                    RunEvent::Called { at, .. } => {
                        assert!(open.insert(at.clone()), "called twice: {told:#?}")
                    }
                    RunEvent::Returned { at, .. } => assert!(open.remove(at), "not called: {told:#?}"),
                    RunEvent::Ended { judgement, record: (_, record) } => {
                        is_over = true;
                        let h = &record.header;
                        let is_call = h.call.as_ref().is_none_or(|call| *call == run.call);
                        let is_own = is_call && h.thread == run.thread;
                        assert!(is_own, "{told:#?}");
                        assert_eq!(CallJudgement::of_record(record), Some(*judgement));
                    }
                    _ => {}
                }
            }
            assert!(!is_over || !fold.is_quiet(), "what is over waits for no one");
        }
    }
}

#[test]
fn b18_the_events_of_a_run_with_children_approvals_and_timers() {
    let records = read_fixture("log-v3-threads.db");
    let (_, events) = follow(&records, &list_runs(&records)[0], None);
    let told = describe_all(&events).join("\n").replace(".811c9dc5", "");
    assert_eq!(
        told,
        "2.2.1 Started
2.4.1 Again
2.5.1 called heat 1 agent by #5
2.7.1 called sess-388364742678 1/1.1 tool by #7
2.8.2 todo a: [ ] -
2.13.1 called heat 1/1.0 careful by #13
2.16.1 returned heat 1/1.0 Failed by #16
2.18.1 returned heat 1 Answered by #18
2.20.1 returned sess-388364742678 1/1.1 Answered by #20
2.22.1 Again
2.23.1 called c2 1 tool by #23
2.26.1 called late 1 tool by #26
2.30.1 called sess-388364742678 1/2.3 guarded by #30
2.31.1 asked a1 by #31
2.34.1 called sess-388364742678 1/2.4 guarded by #34
2.35.1 asked a2 by #35
2.42.1 decided a1 by #42
2.42.2 returned sess-388364742678 1/2.3 Failed by #42
2.44.1 decided a2 by #44
2.46.1 returned sess-388364742678 1/2.4 Answered by #46
2.49.1 returned late 1 Answered by #49
2.52.1 Again
2.53.1 todo a: [ ] -; b: [x] x
2.54.1 returned c2 1 Cancelled by #54
2.56.2 ended Answered by #56"
    );
}

const FILE: &str = "organism: {name: hello}
models: {main: {provider: script, file: replies.yaml}}
agents: {helper: {model: main, dialect: native, peers: [], prompt: {identity: You help.}}}
log: {path: ./hello.db}
";

#[test]
fn b18_words_on_their_way_change_no_id_and_other_words_are_taken_back() {
    let replies = "helper:\n  - {say: heard you}\n";
    let folder = folder(&[("organism.yaml", FILE), ("replies.yaml", replies)]);
    let asked = systole(folder.path(), &["ask", "me"]);
    assert_eq!(asked.code, Some(0), "{asked:?}");
    let records = read_records(&folder.path().join("hello.db"));
    let run = list_runs(&records).remove(0);
    let (_, silent) = follow(&records, &run, None);
    let told = describe_all(&silent);
    assert!(told[1].ends_with("Text(\"heard you\")") && told.len() == 3, "{told:#?}");
    // The same run, of which someone hears words before the answer is on record.
    let hear = |words: &str| {
        let mut fold = RunFold::new(run.clone(), None);
        let mut events = Vec::new();
        for (position, record) in &records {
            if record.header.code == Some(RecordCode::Role(MessageRole::Final)) {
                events.extend(fold.take_words(SpokenWords {
                    at: run.clone(),
                    from: "helper".to_owned(),
                    of: (1, 1),
                    part: Some(AnswerPart::Answer),
                    before: Some(0),
                    words: words.to_owned(),
                    is_whole: false,
                }));
            }
            events.extend(fold.take_record(*position, record));
        }
        events
    };
    let what = |events: &[PlacedEvent]| -> Vec<String> {
        describe_all(events).iter().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
    };
    let (first, rest) = ("Text(\"heard \")", "Text(\"you\")");
    let heard = hear("heard ");
    let end = what(&silent)[2].clone();
    assert_eq!(what(&heard), ["Started", first, rest, &end]);
    let ids = |events: &[PlacedEvent]| events.iter().map(|one| one.cursor.unwrap()).collect::<Vec<_>>();
    assert_eq!(ids(&heard)[2..], ids(&silent)[1..]);
    let unknown = |cursor| {
        let (_, mut events) = follow(&records, &run, cursor);
        events.retain(|one| !one.is_known);
        what(&events)
    };
    assert_eq!(unknown(heard[1].cursor), [rest, &end]);
    // A repeated attempt said other words.
    let other = hear("hears ");
    let whole = "Text(\"heard you\")";
    assert_eq!(what(&other), ["Started", "Text(\"hears \")", "Retract", whole, &end]);
    assert_eq!(unknown(other[1].cursor), ["Retract", whole, &end]);
    // All was heard before: what is left to send is nothing, and keeps its number.
    assert_eq!(ids(&hear("heard you"))[2], ids(&silent)[2]);
}
