//! What the commands of *look* show of an organism elsewhere: the same bytes as beside the log, cut to what the client
//! may see.

use super::{FarStage, failed};
use crate::program::Ran;
use crate::reading::{ALICE, BOB, CAROL};
use systole_queries::query::{QueryFace, QueryPage, QueryRoute, QueryRow};
use systole_queries::questions::QUERIES;

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
        ("slow --by week", 2),
        ("ps --state dead", 2),
        ("context @last", 2),
        ("blob 12", 2),
    ] {
        assert_eq!(same(&stage, command).code, Some(exit), "{command}");
    }
    assert_eq!(stage.stage.last(), last, "looking records nothing");
    stage.stage.organism.interrupt();
}

/// What is typed on the pages of questions, as the fields of an address.
const TYPED: [(&str, &[&str]); 3] = [
    (
        "cost",
        &[
            "by=agent",
            "by=model",
            "by=client",
            "by=day&since=2020-01-01",
            "agent=helper&until=2100-01-01",
            "client=operator&by=model",
            "model=none",
        ],
    ),
    ("todo", &["seq=2"]),
    ("slow", &["by=model", "listener=helper", "by=listener&since=2020-01-01", "until=2100-01-01&model=none"]),
];

/// The command that a page prints.
fn printed(page: &str) -> Vec<String> {
    let (_, behind) = page.split_once("<code data-copy>systole ").unwrap_or_else(|| panic!("{page}"));
    let words = behind.split_once("</code>").map_or("", |(command, _)| command).split(' ');
    words.map(str::to_owned).collect()
}

/// An address with more fields.
fn with_fields(path: &str, fields: &[&str]) -> String {
    let fields: Vec<&str> = fields.iter().copied().filter(|one| !one.is_empty()).collect();
    if fields.is_empty() { path.to_owned() } else { format!("{path}?{}", fields.join("&")) }
}

/// What a client gets of a question: the page for programs, its route, and the command that the page prints for the
/// operator. The three are one answer, or refuse alike.
fn one_answer(stage: &FarStage, (row, page): (&QueryRow, &QueryPage), thread: &str, fields: &[&str]) {
    let url = stage.url();
    let host = url.trim_start_matches("http://");
    let get = |token: &str, path: &str, accept: &str| {
        let headers = [("Accept", accept), ("Host", host)];
        stage.stage.asks(token, "GET", &with_fields(path, fields), &headers, "")
    };
    let path = |path: &str| path.replace("{thread}", thread);
    let same_place = |route: &&QueryRoute| route.path.contains("{thread}") == page.path.contains("{thread}");
    let route = row.routes.iter().find(same_place).map(|route| path(route.path));
    let shown = get(BOB, &path(page.path), "text/html");
    if shown.status != 200 {
        // A thread may have no answer, as one without a prompt.
        let of_route = route.iter().map(|route| get(BOB, route, "application/json").status);
        return of_route.for_each(|status| assert_eq!((status, shown.status), (404, 404), "{shown:?}"));
    }
    let mut command = printed(&shown.body);
    command.push("--json".to_owned());
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let near = stage.near(&words);
    assert_eq!(near.code, Some(0), "{words:?}: {near:?}");
    // Who sees less of the log does not know its positions.
    let is_past = fields.iter().any(|field| field.starts_with("at="));
    for token in [BOB, ALICE].into_iter().filter(|token| *token == BOB || !is_past) {
        let page = get(token, &path(page.path), "application/json");
        let route = route.iter().map(|route| get(token, route, "application/json"));
        let route = route.inspect(|route| assert_eq!(route.json, page.json, "{words:?} {route:?}"));
        assert!(route.count() > 0 || !row.has(QueryFace::Route));
        let far = stage.far(token, &words);
        if token == BOB {
            assert_eq!((far.code, &far.stdout), (near.code, &near.stdout), "{words:?}");
        }
        match page.status {
            200 => {
                let (mut answer, mut page) = (far.json_lines().remove(0), page.json);
                if token == ALICE {
                    // Each stands for what the client sees: the command reads that alone, the page does not say it.
                    for one in [&mut answer, &mut page] {
                        one["index"] = serde_json::Value::Null;
                    }
                }
                assert_eq!(answer, page, "{words:?}");
            }
            // What belongs to others is refused on each face.
            404 => assert_eq!(failed(&far).0, Some(2), "{words:?}: {far:?}"),
            _ => {
                let (exit, said) = failed(&far);
                let one_line = said.split_whitespace().collect::<Vec<_>>().join(" ");
                let message = page.json["message"].as_str().unwrap_or_default();
                assert!(page.status == 403 && exit == Some(4), "{words:?}: {far:?}");
                assert!(one_line.contains(message), "{words:?}: {page:?} {far:?}");
            }
        }
    }
}

/// The records of the thread of an agent, by their numbers and codes.
fn list_records(stage: &FarStage) -> Vec<(u64, String)> {
    let records = stage.near(&["log", &stage.stage.asked, "--json"]).json_lines();
    let number = |one: &serde_json::Value| one["seq"].as_u64().unwrap();
    records.iter().map(|one| (number(one), one["code"].as_str().unwrap_or_default().to_owned())).collect()
}

/// The pages about a record of a thread name it, and so does the command. That of a prompt leads to the one before.
fn names_their_record(stage: &FarStage, records: &[(u64, String)]) {
    let thread = &stage.stage.asked;
    let url = stage.url();
    let headers = [("Accept", "text/html"), ("Host", url.trim_start_matches("http://"))];
    let page = |path: &str| stage.stage.asks(BOB, "GET", &format!("/t/{thread}/{path}"), &headers, "").body;
    let prompts: Vec<u64> =
        records.iter().filter(|(_, code)| code == "model-started").map(|(seq, _)| *seq).collect();
    let [.., before, last] = prompts.as_slice() else { panic!("{records:?}") };
    for (name, seq) in [("context", *last), ("todo", records.last().unwrap().0)] {
        let shown = page(name);
        assert!(shown.contains(&format!("<span class=\"count\">as of record {seq}</span>")), "{shown}");
        assert!(shown.contains(&format!("systole {name} {thread}@{seq}</code>")), "{shown}");
    }
    let shown = page("context");
    assert!(shown.contains(&format!("href=\"/t/{thread}/context?seq={before}\"")), "{shown}");
}

#[test]
fn h11_a_question_has_one_answer_on_every_face() {
    let stage = FarStage::start();
    let last = stage.stage.last();
    let (mut pages, moments) = (0, ["".to_owned(), format!("at={last}"), format!("at={}", last / 2)]);
    for row in QUERIES {
        let Some(page) = row.page.as_ref().filter(|_| row.has(QueryFace::Command)) else { continue };
        let of_row = TYPED.iter().filter(|(name, _)| *name == row.name);
        for fields in of_row.flat_map(|(_, typed)| typed.iter().copied()).chain([""]) {
            for moment in &moments {
                one_answer(&stage, (row, page), &stage.stage.asked, &[fields, moment]);
                pages += 1;
            }
            // The client without `read` has this one.
            one_answer(&stage, (row, page), &stage.stage.waits, &[fields]);
        }
    }
    assert!(pages > 20, "{pages}");
    names_their_record(&stage, &list_records(&stage));
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
