//! Streams of runs over AG-UI: they are cut or killed and go on behind each id; and requests that are no runs, of others, or
//! of pages that may not come here.

use std::io::Write as _;

use serde_json::{Value, json};

use super::ag_ui::{ALL, WebApp, count};
use super::chats::{HELD, SEARCHES, WEB, house, run_with_web};
use super::house::AgentHouse;
use super::relay::Relay;
use crate::program::{Answer, Running, answer, ask_as, connect, head, run_file};

#[test]
fn g11_a_thought_comes_once_where_its_stream_was_cut() {
    let thinks = "{thinking: I think about all of it., say: It is so., chunk: 4, delay: 20ms}";
    for cut in [500, 700, 900, 1100] {
        let house = house(&[thinks], ALL);
        let organism = run_with_web(&house);
        let relay = Relay::new(run_file(house.path()).address);
        let mut app = WebApp::start_at(&house, &relay.address.to_string(), WEB);
        relay.cut_after([cut]);
        let said = app.run(&json!({"say": "What?"}));
        let messages = said["messages"].as_array().unwrap();
        assert_eq!((messages.len(), relay.count_cuts()), (3, 1), "cut after {cut}: {said}");
        // Its end may be missing: it is on no record.
        assert!("I think about all of it.".starts_with(messages[1][1].as_str().unwrap()), "{said}");
        assert_eq!(messages[2], json!(["assistant", "It is so."]), "cut after {cut}: {said}");
        organism.interrupt();
    }
}

#[test]
fn g11_a_stream_goes_on_after_a_cut_and_after_a_kill_with_other_words() {
    let house = house(&[HELD, "{say: First words come. But otherwise., chunk: 5}"], ALL);
    let organism = run_with_web(&house);
    let relay = Relay::new(run_file(house.path()).address);
    let mut app = WebApp::start_at(&house, &relay.address.to_string(), WEB);
    relay.cut_after([300, 450, 60]);
    app.send(&json!({"say": "What?"}));
    let mut heard = String::new();
    while heard.trim_end() != "First words come." {
        heard += app.hear().as_str().unwrap();
        assert!("First words come. ".starts_with(&heard), "{heard:?}");
    }
    assert_eq!(relay.count_cuts(), 3, "the stream was cut, and the rest came once");
    drop(organism);
    house.mock.release();
    let organism = run_with_web(&house);
    relay.lead_to(run_file(house.path()).address);
    let said = app.end();
    let all = json!([["user", "What?"], ["assistant", "First words come. But otherwise."]]);
    assert_eq!((&said["messages"], &said["thrown"]), (&all, &Value::Null), "{said}");
    assert_eq!((count(&said, "RUN_STARTED"), count(&said, "RUN_FINISHED")), (1, 1), "{said}");
    organism.interrupt();
}

/// What an agent says it will do, and then that it is done.
pub(super) const PLANS: &str = "{call: {todo_until: {condition: it is found, steps: [{done: false, text: look}, {done: false, text: tell}]}}}";
pub(super) const DONE: &str = "{call: {todo_until: {condition: it is found, steps: [{done: true, text: look}, {done: true, text: tell}]}}}";

/// An event of a stream: its id, and what it says.
type SentEvent = (Option<String>, Option<Value>);

fn read_events(text: &str) -> Vec<SentEvent> {
    let field = |event: &str, name: &str| {
        event.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim_start().to_owned())
    };
    let blocks = text.split("\n\n").filter(|event| !event.trim().is_empty());
    let read = |event: &str| {
        (field(event, "id:"), field(event, "data:").map(|data| serde_json::from_str(&data).unwrap()))
    };
    blocks.map(read).collect()
}

fn post(house: &AgentHouse, token: &str, headers: &[(&str, &str)], body: &Value) -> (u16, String) {
    let bearer = format!("Bearer {token}");
    let mut all = vec![("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    all.extend_from_slice(headers);
    let answer = ask_as(&run_file(house.path()), "POST", "/ag-ui/helper", &all, &body.to_string());
    let is_stream = answer.header("transfer-encoding") == Some("chunked");
    (answer.status, if is_stream { join_chunks(&answer.body) } else { answer.body })
}

/// A body without the lengths of its chunks.
pub(super) fn join_chunks(body: &str) -> String {
    let (mut joined, mut rest) = (String::new(), body);
    while let Some((length, after)) = rest.split_once("\r\n") {
        let (chunk, after) = after.split_at(usize::from_str_radix(length, 16).unwrap());
        joined += chunk;
        rest = after.strip_prefix("\r\n").unwrap_or_default();
    }
    joined
}

fn input(run: &str, messages: &Value) -> Value {
    json!({"threadId": "t", "runId": run, "messages": messages, "tools": [], "context": [], "state": {}})
}

fn user(text: &str) -> Value {
    json!([{"id": "m", "role": "user", "content": text}])
}

#[test]
fn g11_behind_each_id_the_rest_comes_in_any_process() {
    let house = house(
        &[DONE, "{say: I look., chunk: 2, call: {search: {query: moon}}}", "{say: There it is., chunk: 3}"],
        ALL,
    );
    let organism = run_with_web(&house);
    let asked = input("r1", &user("Where?"));
    let (status, first) = post(&house, WEB, &[], &asked);
    let events = read_events(&first);
    assert_eq!(status, 200, "{first}");
    let id = events.last().unwrap().1.as_ref().unwrap()["outcome"]["interrupts"][0]["id"].clone();
    let mut decided = input("r2", &user("Where?"));
    decided["resume"] = json!([{"interruptId": id, "status": "resolved", "payload": {"approved": true}}]);
    let (_, second) = post(&house, WEB, &[], &decided);
    assert!(second.contains("RUN_FINISHED"), "{second}");
    organism.interrupt();
    let organism = run_with_web(&house);
    let mut tries = 0;
    for (body, sent) in [(&asked, None), (&decided, Some(read_events(&second)))] {
        let (_, whole) = post(&house, WEB, &[], body);
        let whole = read_events(&whole);
        let last = whole.last().unwrap().1.clone();
        assert_eq!(last.as_ref().unwrap()["result"], "There it is.", "{whole:#?}");
        let sent = sent.unwrap_or_else(|| whole.clone());
        for (at, (id, _)) in sent.iter().enumerate() {
            let Some(id) = id else { continue };
            tries += 1;
            let (status, rest) = post(&house, WEB, &[("Last-Event-ID", id)], body);
            assert_eq!(status, 200, "behind {id}: {rest}");
            let mut rests = vec![read_events(&rest)];
            if body.get("resume").is_none() {
                // Who reads the thread goes on in the run where it was, also if that is over.
                let path = "/ag-ui/helper/threads/t";
                let read = get(&house, &format!("Bearer {WEB}"), path, &[("Last-Event-ID", id)]);
                rests.push(read_events(&join_chunks(&read.body)));
            }
            for rest in rests {
                // What is sent as one text or as many is the same.
                let had = &sent[..=at];
                let begins =
                    |(_, data): &SentEvent| data.as_ref().is_some_and(|one| one["type"] == "RUN_STARTED");
                assert!(!rest.iter().any(begins), "behind {id}: {rest:#?}");
                let together: Vec<SentEvent> = had.iter().chain(&rest).cloned().collect();
                assert_eq!(settle(&together), settle(&whole), "behind {id}");
            }
        }
    }
    assert!(tries > 8, "{tries}");
    for wrong in ["2.0.0.811c9dc5", "2.1.1.811c9dc5", "2.999999.1.811c9dc5", "1.4.1.811c9dc5", "x", ""] {
        let (status, refused) = post(&house, WEB, &[("Last-Event-ID", wrong)], &asked);
        assert_eq!(status, 400, "{wrong}: {refused}");
        assert!(refused.contains("Last-Event-ID"), "{refused}");
    }
    organism.interrupt();
}

#[test]
fn g11_the_todo_lists_are_the_state() {
    let house = house(&[PLANS, DONE, "{say: Done.}"], ALL);
    let organism = run_with_web(&house);
    let (_, sent) = post(&house, WEB, &[], &input("r1", &user("Where?")));
    let events = read_events(&sent);
    let states = events.iter().filter_map(|(id, data)| Some((id, data.as_ref()?["snapshot"].as_object()?)));
    let states: Vec<_> = states.collect();
    let todo = |done: bool| {
        let steps = json!([{"done": done, "text": "look"}, {"done": done, "text": "tell"}]);
        json!([{"condition": "it is found", "steps": steps}])
    };
    let shown: Vec<&Value> = states.iter().map(|(_, state)| &state["todo"]).collect();
    assert_eq!(shown, [&todo(false), &todo(true), &todo(true)], "{events:#?}");
    assert!(states[0].0.is_some(), "a client goes on behind it");
    assert_eq!(states[2].1["usage"]["requests"], 3, "{events:#?}");
    organism.interrupt();
}

#[test]
fn g11_messages_that_came_in_many_lines_go_back_in_one() {
    let house = house(&[SEARCHES], ALL);
    let organism = run_with_web(&house);
    let lines = serde_json::to_string_pretty(&input("r1", &user("Where?"))).unwrap().replace('\n', "\r\n");
    let bearer = format!("Bearer {WEB}");
    let headers = [("Authorization", bearer.as_str())];
    let answer = ask_as(&run_file(house.path()), "POST", "/ag-ui/helper", &headers, &lines);
    let text = join_chunks(&answer.body);
    // A client reads the first line of an event's data.
    let mut events = read_events(&text).into_iter().filter_map(|(_, data)| data);
    let messages = events.rfind(|event| event["type"] == "MESSAGES_SNAPSHOT").unwrap();
    assert_eq!(messages["messages"][0], user("Where?")[0], "{text}");
    organism.interrupt();
}

/// What a client has after these events: the answer, and all other events that are not said again.
fn settle(events: &[SentEvent]) -> (String, Vec<Value>) {
    let (mut text, mut others) = (String::new(), Vec::new());
    for event in events.iter().filter_map(|(_, data)| data.as_ref()) {
        match event["type"].as_str().unwrap() {
            "TEXT_MESSAGE_CHUNK" => text += event["delta"].as_str().unwrap(),
            "MESSAGES_SNAPSHOT" => text.clear(),
            "RUN_STARTED" => {}
            _ => others.push(event.clone()),
        }
    }
    (text, others)
}

const GUARDED: &str = "doors: {ag-ui: {cors: [\"https://app.example\"]}}\nclients: {web: {token_env: WEB_TOKEN, doors: [ag-ui]}, other: {token_env: OTHER_TOKEN}}";
const OTHER: &str = "other-token-012345678";

fn run_guarded(house: &AgentHouse) -> Running {
    let variables = [("MODEL_KEY", super::house::KEY), ("WEB_TOKEN", WEB), ("OTHER_TOKEN", OTHER)];
    Running::organism_with(house.path(), &variables)
}

fn get(house: &AgentHouse, bearer: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
    let all = [&[("Authorization", bearer)], headers].concat();
    ask_as(&run_file(house.path()), "GET", path, &all, "")
}

#[test]
fn g11_what_cannot_be_a_run_is_refused_with_its_place() {
    let house = house(&["{say: One.}", "{say: Two.}"], GUARDED);
    let organism = run_guarded(&house);
    let run = run_file(house.path());
    let said =
        |(status, text): (u16, String)| (status, serde_json::from_str::<Value>(&text).unwrap_or(json!(text)));
    let (status, first) = post(&house, WEB, &[], &input("r1", &user("a")));
    assert_eq!(status, 200);
    let thread = read_events(&first)[1].1.as_ref().unwrap()["messageId"].as_str().unwrap().to_owned();
    let thread = thread.split('#').next().unwrap();
    for (body, words) in [
        (json!({"threadId": "t"}), "the body is not a run: missing field `runId`"),
        (input("r9", &json!([])), "the last message must be the user's"),
        (input("r9", &user(" ")), "the last message must be the user's"),
        (input("", &user("a")), "runId must have 1 to 256 bytes"),
        (
            input("r9", &json!([{"id": "m", "role": "user", "content": [{"type": "image"}]}])),
            "part of type \"image\"",
        ),
        (input("r9", &json!(vec![user("a")[0].clone(); 2001])), "2001 are more than the 2000"),
    ] {
        let (status, refused) = said(post(&house, WEB, &[], &body));
        assert_eq!(status, 400, "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(words), "{refused}");
    }
    let (web, other) = (format!("Bearer {WEB}"), format!("Bearer {OTHER}"));
    let mut large = connect(&run);
    let announced = (9_u64 << 20).to_string();
    large
        .write_all(head("POST", "/ag-ui/helper", &[("Authorization", &web)], &announced).as_bytes())
        .unwrap();
    let refused = answer(large);
    assert_eq!((refused.status, &refused.json["code"]), (413, &json!("payload.too-large")), "{refused:?}");
    // A thread of another client is one that never was, by its id and by its name.
    let mut theirs = input("r9", &user("a"));
    theirs["threadId"] = json!(thread);
    let (status, refused) = said(post(&house, OTHER, &[], &theirs));
    assert_eq!((status, &refused["code"]), (404, &json!("thread.unknown")), "{refused}");
    for path in ["/ag-ui/helper/threads/t", &format!("/ag-ui/helper/threads/{thread}")] {
        assert_eq!(
            (get(&house, &web, path, &[]).status, get(&house, &other, path, &[]).status),
            (200, 404),
            "{path}"
        );
    }
    let lost = get(&house, &web, "/ag-ui/helpr", &[]);
    assert_eq!(lost.status, 404);
    assert!(lost.json["try"].as_str().unwrap().contains("did you mean helper?"), "{lost:?}");
    assert_eq!(get(&house, &web, "/ag-ui/helper", &[]).json["transport"]["resumable"], true);
    assert_eq!(
        (get(&house, "Bearer no", "/ag-ui/helper", &[]).status, get(&house, &web, "/ag-ui", &[]).status),
        (401, 404)
    );
    organism.interrupt();
}

#[test]
fn g11_only_pages_that_the_file_names_may_read_answers() {
    let house = house(&["{say: One.}"], GUARDED);
    let organism = run_guarded(&house);
    let (run, web) = (run_file(house.path()), format!("Bearer {WEB}"));
    let app = ("Origin", "https://app.example");
    let asks = [app, ("Access-Control-Request-Method", "POST")];
    let preflight = ask_as(&run, "OPTIONS", "/ag-ui/helper", &asks, "");
    assert_eq!(
        (preflight.status, preflight.header("access-control-allow-origin")),
        (204, Some("https://app.example"))
    );
    let named = get(&house, &web, "/ag-ui/helper", &[app]);
    assert_eq!(
        (named.status, named.header("access-control-allow-origin")),
        (200, Some("https://app.example"))
    );
    let denied = get(&house, "Bearer no", "/ag-ui/helper", &[app]);
    assert_eq!(
        (denied.status, denied.header("access-control-allow-origin")),
        (401, Some("https://app.example"))
    );
    for origin in ["https://evil.example", "http://app.example", "https://app.example.evil.example", "null"] {
        let foreign = get(&house, &web, "/ag-ui/helper", &[("Origin", origin)]);
        assert_eq!((foreign.status, foreign.header("access-control-allow-origin")), (403, None), "{origin}");
        let asks = [("Origin", origin), ("Access-Control-Request-Method", "POST")];
        let preflight = ask_as(&run, "OPTIONS", "/ag-ui/helper", &asks, "");
        assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (401, None));
    }
    organism.interrupt();
}
