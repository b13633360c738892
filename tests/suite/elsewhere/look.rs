//! What the commands of *look* show of an organism elsewhere: the same bytes as beside the log, cut to what the client
//! may see.

use super::{FarStage, failed};
use crate::program::Ran;
use crate::reading::{ALICE, BOB, CAROL};

/// Every command of *look* that works elsewhere, and the list of `approve`.
fn looks(stage: &FarStage) -> Vec<String> {
    let (asked, waits, at) = (&stage.stage.asked, &stage.stage.waits, stage.stage.last());
    let before = at / 2;
    let config = stage.near(&["log", "-n", "1", "--json"]).json_lines()[0]["config"].clone();
    let config = config.as_str().unwrap();
    let mut all: Vec<String> = Vec::new();
    for moment in [format!("--at {at}"), format!("--at {before}")] {
        for command in ["ps", "ps -n 0 --children", "why", "approve", "decisions", "log", "log -n 3"] {
            all.push(format!("{command} {moment}"));
        }
        for command in ["why", "tree", "todo", "log", "cost"] {
            all.push(format!("{command} {asked} {moment}"));
        }
        all.push(format!("why {waits} {moment}"));
        all.push(format!("context {asked} {moment}"));
        all.push(format!("cost --since 2020-01-01 {moment}"));
    }
    all.extend([
        format!("tree {}", stage.stage.rests),
        format!("trail {asked}"),
        format!("trail {waits}@1"),
        "trail --text hello".to_owned(),
        "log --from 2".to_owned(),
        format!("log {asked} --from 2 -n 2"),
        "log --since 2020-01-01".to_owned(),
        format!("todo {asked}@4"),
        format!("cost {asked}"),
        "cost --since 2020-01-01 --agent helper".to_owned(),
        "cost --by model".to_owned(),
        "cost --by client --client operator --until 2100-01-01".to_owned(),
        format!("cost --by day --at {before}", before = at / 2),
        "find hello".to_owned(),
        "find hello of --limit 1".to_owned(),
        "find --kind approval".to_owned(),
        "find --xpath //*[local-name()='text']".to_owned(),
        format!("find --thread {asked} --from helper"),
        "find nothingofthekind".to_owned(),
        format!("blob {config}"),
    ]);
    all
}

fn same(stage: &FarStage, command: &str) -> Ran {
    let words: Vec<&str> = command.split(' ').collect();
    let (near, far) = (stage.near(&words), stage.far(BOB, &words));
    assert_eq!(far.stdout, near.stdout, "{command}\n{far:?}");
    assert_eq!((far.code, &far.stderr), (near.code, &near.stderr), "{command}");
    far
}

#[test]
fn h11_each_look_from_elsewhere_is_the_same() {
    let stage = FarStage::start();
    let mut shown = 0;
    for command in looks(&stage) {
        let ran = same(&stage, &command);
        shown += usize::from(ran.code == Some(0) && !ran.stdout.is_empty());
        same(&stage, &format!("{command} --json"));
    }
    assert!(shown > 35, "{shown} looks show something");
    let raw = same(&stage, &format!("log {} --raw", stage.stage.asked));
    assert!(raw.stdout.contains("What is smaller?"), "{raw:?}");
    // What is wrong is said in the same words.
    let last = stage.stage.last();
    for (command, exit) in [
        ("tree sess-0123", 2),
        ("why nothing", 2),
        ("ps --at 99999999", 2),
        ("trail @last@99", 2),
        ("find", 2),
        ("cost --since never", 2),
        ("cost --since 1h --until 2h", 2),
        ("cost --agent two,words", 2),
        ("cost --by week", 2),
        ("context @last", 2),
        ("blob 12", 2),
    ] {
        assert_eq!(same(&stage, command).code, Some(exit), "{command}");
    }
    assert_eq!(stage.stage.last(), last, "looking records nothing");
    stage.stage.organism.interrupt();
}

/// Every question with fields, as the fields of an address.
const ASKED: [&str; 7] = [
    "by=agent",
    "by=model",
    "by=client",
    "by=day&since=2020-01-01",
    "agent=helper&until=2100-01-01",
    "client=operator&by=model",
    "model=none",
];

/// The words of the command that asks what an address asks.
fn words(fields: &str) -> Vec<String> {
    let options = fields.split('&').filter_map(|field| field.split_once('='));
    let options = options.flat_map(|(name, value)| [format!("--{name}"), value.to_owned()]);
    ["cost".to_owned(), "--json".to_owned()].into_iter().chain(options).collect()
}

#[test]
fn h11_a_question_has_one_answer_on_every_face() {
    let stage = FarStage::start();
    let (at, mut rows) = (stage.stage.last(), 0);
    for fields in ASKED {
        let words = words(fields);
        let near = |moment: &[&str]| {
            let words: Vec<&str> = words.iter().map(String::as_str).chain(moment.iter().copied()).collect();
            let (near, far) = (stage.near(&words), stage.far(BOB, &words));
            assert_eq!((near.code, &near.stdout), (far.code, &far.stdout), "{words:?}");
            near.json_lines().remove(0)
        };
        let asks = |path: String| stage.stage.asks(BOB, "GET", &path, &[], "").json;
        let now = near(&[]);
        assert_eq!(asks(format!("/v1/cost?{fields}")), now, "{fields}");
        assert_eq!(asks(format!("/cost?{fields}")), now, "{fields}");
        rows += now["rows"].as_array().unwrap().len();
        let position = (at / 2).to_string();
        let then = near(&["--at", &position]);
        assert_eq!(asks(format!("/v1/cost?{fields}&at={position}")), then, "{fields}");
        assert_eq!(asks(format!("/cost?{fields}&at={position}")), then, "{fields}");
    }
    assert!(rows >= ASKED.len() - 1, "{rows} rows are shown");
    // All threads are for the role that reads, in the same words.
    let refused = stage.far(ALICE, &["cost", "--by", "agent"]);
    let said = failed(&refused);
    assert_eq!(said.0, Some(4), "{refused:?}");
    for path in ["/v1/cost", "/cost"] {
        let message = stage.stage.asks(ALICE, "GET", path, &[], "").json["message"].clone();
        let one_line = said.1.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(one_line.contains(message.as_str().unwrap()), "{path}: {message} {refused:?}");
    }
    stage.stage.organism.interrupt();
}

#[test]
fn h11_a_client_without_read_sees_its_own_threads_alone() {
    let stage = FarStage::start();
    let (own, other) = (stage.stage.waits.clone(), stage.stage.rests.clone());
    let threads = stage.far(ALICE, &["ps", "-n", "0", "--children", "--json"]);
    let listed = threads.json_lines()[0]["threads"].as_array().unwrap().clone();
    assert_eq!(listed.len(), 1, "{threads:?}");
    assert_eq!(listed[0]["thread"], own.as_str());
    let records = stage.far(ALICE, &["log", "-n", "0", "--json"]).json_lines();
    let near = stage.near(&["log", &own, "--json"]).json_lines();
    assert!(records.len() >= 2 && records.iter().all(|record| record["thread"] == own.as_str()));
    let bodies = |all: &[serde_json::Value]| all.iter().map(|one| one["body"].clone()).collect::<Vec<_>>();
    assert_eq!(bodies(&records), bodies(&near));
    let found = stage.far(ALICE, &["find", "hello"]);
    assert!(found.stdout.contains(&own) && !found.stdout.contains(&other), "{found:?}");
    for command in ["why", "tree", "todo", "log", "cost", "trail"] {
        assert_eq!(stage.far(ALICE, &[command, &own]).code, Some(0), "{command}");
        let (others, never) =
            (stage.far(ALICE, &[command, &other]), stage.far(ALICE, &[command, "sess-0123456789ab"]));
        assert_eq!(failed(&others).0, Some(2), "{command}");
        assert_eq!(others.stderr.replace(&other, "X"), never.stderr.replace("sess-0123456789ab", "X"));
    }
    // A document belongs to no thread, so it is for the role that reads.
    let config = records[0]["config"].as_str().unwrap();
    let blob = stage.far(ALICE, &["blob", config]);
    assert_eq!(failed(&blob).0, Some(4));
    assert!(
        blob.stderr.contains("ingress.forbidden") && blob.stderr.contains("stored documents"),
        "{blob:?}"
    );
    // Decisions of all clients are for the role that reads.
    let decisions = stage.far(ALICE, &["decisions"]);
    assert!(failed(&decisions).1.contains("ingress.forbidden"), "{decisions:?}");
    // Who only decides sees what waits, its thread, and no other thread of others.
    let waiting = stage.far(CAROL, &["approve", "--json"]).json_lines()[0]["approvals"].clone();
    assert_eq!((waiting[0]["id"].as_str(), waiting.as_array().unwrap().len()), (Some("a1"), 1));
    let seen = stage.far(CAROL, &["ps", "--json"]).json_lines()[0]["threads"].clone();
    assert_eq!((seen.as_array().unwrap().len(), seen[0]["thread"].as_str()), (1, Some(own.as_str())));
    assert_eq!(stage.far(CAROL, &["log", &own]).code, Some(0));
    assert_eq!(failed(&stage.far(CAROL, &["log", &other])).0, Some(2));
    stage.stage.organism.interrupt();
}
