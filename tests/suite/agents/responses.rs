//! Responses and conversations, by the OpenAI client of another author: asked for whole, in pieces and later; cut, killed
//! and gone on with; decided, stopped, and continued.

use std::io::Write as _;
use std::net::TcpListener;

use serde_json::{Value, json};
use systole_mock_model::AnswerEnd;

use super::chats::{ChatClient, DECIDES, HELD, OPEN, SEARCHES, WEB, find_url, house, run_with_web};
use super::house::{AgentHouse, AgentPlan};
use crate::program::{PATIENCE, ask, run_file};

const CLIENT: &str = include_str!("response_client.py");

/// A client of the API for responses.
struct Responses(ChatClient);

impl Responses {
    fn start(house: &AgentHouse) -> Responses {
        Responses::start_as(house, run_file(house.path()).token.secret())
    }

    fn start_as(house: &AgentHouse, token: &str) -> Responses {
        Responses(ChatClient::start_program(house.path(), token, CLIENT))
    }

    /// The libraries for JavaScript.
    fn start_javascript(house: &AgentHouse, token: &str) -> Responses {
        let program = ("door_clients.mjs", include_str!("door_clients.mjs"));
        Responses(ChatClient::start_node(house.path(), program, &[&find_url(house.path()), token]))
    }

    /// The next event of a stream; what came of the request, if it is over.
    fn next(&self) -> Result<Value, Value> {
        let line = self.0.read_line();
        if line.get("event").is_some() { Ok(line) } else { Err(line) }
    }

    /// What comes of a request, or the error.
    fn ask(&mut self, wanted: &Value) -> Value {
        self.0.send(wanted);
        self.end()
    }

    fn end(&self) -> Value {
        loop {
            if let Err(said) = self.next() {
                return if said["said"].is_null() { said } else { said["said"].clone() };
            }
        }
    }

    /// The events that a request gets.
    fn list_events(&mut self, wanted: &Value) -> Vec<Value> {
        self.0.send(wanted);
        std::iter::from_fn(|| self.next().ok()).collect()
    }
}

#[test]
fn g10_a_response_is_given_whole_in_pieces_and_again() {
    let house = house(&["{say: One.}", "{say: Two.}", "{say: Three.}", "{say: Branch.}"], OPEN);
    let organism = house.run();
    let mut client = Responses::start(&house);
    let first = client.ask(&json!({"create": {"input": "first?", "temperature": 0.5}}));
    assert_eq!((&first["status"], &first["text"]), (&json!("completed"), &json!("One.")), "{first}");
    assert_eq!(first["ignored"], "temperature");
    assert!(first["tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{first}");
    let again = client.ask(&json!({"get": first["id"]}));
    assert_eq!((&again["text"], &again["items"]), (&first["text"], &first["items"]));
    assert_eq!(client.ask(&json!({"input": first["id"]})), json!(["first?"]));
    // The helper of the library puts the pieces together by itself.
    let second = client.ask(&json!({"whole": {"input": "second?", "previous_response_id": first["id"]}}));
    assert_eq!(second["text"], "Two.", "{second}");
    assert!(last_request(&house).contains("first?"), "the thread has the memory");
    let third = client.ask(&json!({"stream": {"input": "third?", "previous_response_id": second["id"]}}));
    assert_eq!(third["texts"].as_object().unwrap().values().collect::<Vec<_>>(), ["Three."], "{third}");
    assert_eq!(third["kinds"][0], "response.created", "{third}");
    // A message behind an older response opens a new thread, and begins with what was said up to there.
    let branch = client.ask(&json!({"create": {"input": "or?", "previous_response_id": first["id"]}}));
    assert_eq!(branch["text"], "Branch.");
    let asked = last_request(&house);
    assert!(asked.contains("What the client reports of the chat") && !asked.contains("second?"), "{asked}");
    let threads = ask(&run_file(house.path()), "GET", "/v1/threads?name=resp.", &[], "").json;
    assert_eq!(threads["threads"].as_array().map(Vec::len), Some(2), "{threads}");
    organism.interrupt();
}

fn last_request(house: &AgentHouse) -> String {
    house.asked().last().expect("a request").body.to_string()
}

#[test]
fn g10_a_stream_that_broke_goes_on_behind_its_number_also_after_a_restart() {
    let house = house(&[HELD, "{say: First words come. But otherwise.}"], OPEN);
    let organism = house.run();
    let mut client = Responses::start(&house);
    client.0.send(&json!({"stream": {"input": "What?"}, "leave": 1}));
    let cut = client.end();
    let id = cut["id"].as_str().unwrap_or_else(|| panic!("no id: {cut}")).to_owned();
    let had = cut["texts"].as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned();
    assert!("First words come.".starts_with(had.trim_end()) && !had.is_empty(), "{cut}");
    assert_eq!(house.mock.seen()[0].end, AnswerEnd::Open, "the model has not said all");
    // Another connection gets what is behind a number, also one inside a text: three bytes less of it.
    let number = cut["number"].as_u64().unwrap() - 3 * 64;
    let mut other = Responses::start(&house);
    other.0.send(&json!({"watch": [id, number], "leave": 1}));
    let more = other.end();
    assert_eq!(more["kinds"], json!(["response.output_text.delta"]), "{more}");
    let more = more["texts"].as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned();
    let both = format!("{}{more}", &had[..had.len() - 3]);
    assert!("First words come. ".starts_with(&both) && both.starts_with(&had), "{had:?} {more:?}");
    // After a kill the attempt is made again, and says other words: the text of before is over.
    drop(organism);
    house.mock.release();
    let organism = house.run();
    let mut client = Responses::start(&house);
    let rest = client.ask(&json!({"watch": [id, cut["number"]]}));
    let texts: Vec<&Value> = rest["texts"].as_object().unwrap().values().collect();
    assert_eq!(texts, ["First words come. But otherwise."], "{rest}");
    let lost = &rest["kinds"].as_array().unwrap()[..3];
    let done = ["output_text.done", "content_part.done", "output_item.done"];
    assert_eq!(lost, done.map(|kind| json!(format!("response.{kind}"))), "{rest}");
    assert_eq!(rest["final"]["text"], "First words come. But otherwise.");
    assert_eq!(rest["final"]["items"].as_array().map(Vec::len), Some(1), "{rest}");
    // From each number the rest is the same.
    let whole = client.ask(&json!({"watch": [id, null]}));
    let kinds = whole["kinds"].as_array().unwrap();
    assert_eq!(kinds.last(), Some(&json!("response.completed")));
    let refused = client.ask(&json!({"watch": [id, 9_000_000_000_000_000_u64]}));
    assert_eq!((&refused["error"], &refused["body"]["param"]), (&json!(400), &json!("starting_after")));
    organism.interrupt();
}

#[test]
fn g10_from_each_number_of_a_response_the_rest_comes() {
    let house = house(&[SEARCHES, "{say: It is there.}"], "doors: {openai: {show: all}}");
    let organism = house.run();
    let mut client = Responses::start(&house);
    let asked = client.ask(&json!({"create": {"input": "Where is the moon?"}}));
    let request = asked["items"].as_array().unwrap().last().unwrap()[1].clone();
    let item = json!({"type": "mcp_approval_response", "approval_request_id": request, "approve": true});
    let decided = json!({"input": [item], "previous_response_id": asked["id"]});
    let answered = client.ask(&json!({"create": decided}));
    assert_eq!(answered["text"], "It is there.", "{answered}");
    for id in [&asked["id"], &answered["id"]] {
        let whole = client.list_events(&json!({"watch": [id, null]}));
        assert!(whole.len() > 8, "{whole:?}");
        for (at, event) in whole.iter().enumerate() {
            let rest = client.list_events(&json!({"watch": [id, event["number"]]}));
            assert_eq!(rest, whole[at + 1..], "from {event}");
        }
    }
    // The first response tells the whole run once it is over, and each thing that was done is an item.
    let items = client.ask(&json!({"get": asked["id"]}))["items"].clone();
    let kinds: Vec<&Value> = items.as_array().unwrap().iter().map(|item| &item[0]).collect();
    assert_eq!(kinds, ["call", "message"], "{items}");
    assert_eq!(
        items[0],
        json!(["call", "search", "search", r#"{"query":"moon"}"#, "FOUND moon", null]),
        "{items}"
    );
    organism.interrupt();
}

#[test]
fn g10_work_in_the_background_is_asked_for_and_stopped() {
    let house = house(&[HELD, "{say: Done.}"], OPEN);
    let organism = house.run();
    let mut client = Responses::start(&house);
    let begun = client.ask(&json!({"create": {"input": "Long?", "background": true}}));
    assert_eq!(begun["status"], "in_progress", "{begun}");
    house.mock.wait(PATIENCE, |seen| !seen.is_empty()).expect("the model is asked");
    let stopped = client.ask(&json!({"cancel": begun["id"]}));
    assert_eq!((&stopped["status"], &stopped["text"]), (&json!("cancelled"), &json!("")), "{stopped}");
    assert_eq!(client.ask(&json!({"get": begun["id"]}))["status"], "cancelled");
    let watched = client.ask(&json!({"watch": [begun["id"], null]}));
    assert_eq!(watched["final"]["status"], "cancelled", "{watched}");
    house.mock.release();
    // The thread rests, and goes on.
    let next = client.ask(&json!({"create": {"input": "Short?", "previous_response_id": begun["id"]}}));
    assert_eq!((&next["text"], &next["thread"]), (&json!("Done."), &begun["thread"]));
    organism.interrupt();
}

#[test]
fn g10_a_stream_that_ends_with_its_organism_is_an_error_of_the_stock_library() {
    let house = house(&[HELD], OPEN);
    let organism = house.run();
    let mut client = Responses::start(&house);
    client.0.send(&json!({"stream": {"input": "Long?"}}));
    house.mock.wait(PATIENCE, |seen| !seen.is_empty()).expect("the model is asked");
    organism.interrupt();
    let ended = client.end();
    assert_eq!(ended["error"], "APIError", "{ended}");
    assert!(ended["body"].as_str().is_some_and(|words| words.contains("the run goes on")), "{ended}");
    house.mock.release();
}

#[test]
fn g10_an_approval_item_decides_on_just_what_it_shows() {
    let house = house(&[SEARCHES, "{say: It is there.}", "{say: No.}"], DECIDES);
    let organism = run_with_web(&house);
    let mut client = Responses::start_as(&house, WEB);
    let asked = client.ask(&json!({"create": {"input": "Where is the moon?"}}));
    assert_eq!(asked["status"], "completed", "{asked}");
    let request = asked["items"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&request[0], &request[2], &request[3]), (&json!("asks"), &json!("search"), &json!("search")));
    assert!(request[4].as_str().is_some_and(|shown| shown.contains("moon")), "{request}");
    let decide = |id: &Value, approve: bool, behind: &Value| {
        let item = json!({"type": "mcp_approval_response", "approval_request_id": id, "approve": approve});
        json!({"create": {"input": [item], "previous_response_id": behind}})
    };
    let shown = &asked["items"].as_array().unwrap().iter().rev().nth(1).unwrap()[1];
    let words = shown.as_str().unwrap();
    assert!(words.contains("moon") && words.contains(request[1].as_str().unwrap()), "{asked}");
    let early = json!({"create": {"input": "And now?", "previous_response_id": asked["id"]}});
    let early = client.ask(&early);
    assert_eq!((&early["error"], &early["body"]["code"]), (&json!(409), &json!("response_waits")), "{early}");
    // One that does not count leaves the others undecided.
    let items = [&request[1], &json!("a9.0011")]
        .map(|id| json!({"type": "mcp_approval_response", "approval_request_id": id, "approve": false}));
    let both = json!({"create": {"input": items, "previous_response_id": asked["id"]}});
    let changed = json!(request[1].as_str().unwrap().replace('.', ".f00d"));
    for (wanted, status, code) in [
        (decide(&changed, true, &asked["id"]), 409, "approval.mismatch"),
        (decide(&json!("a9.0011"), true, &asked["id"]), 404, "approval.unknown"),
        (decide(&json!("a1"), true, &asked["id"]), 400, "invalid_request"),
        (decide(&request[1], true, &Value::Null), 400, "invalid_request"),
        (both, 404, "approval.unknown"),
    ] {
        let refused = client.ask(&wanted);
        assert_eq!(
            (&refused["error"], &refused["body"]["code"]),
            (&json!(status), &json!(code)),
            "{refused}"
        );
    }
    let answered = client.ask(&decide(&request[1], true, &asked["id"]));
    assert_eq!((&answered["status"], &answered["text"]), (&json!("completed"), &json!("It is there.")));
    assert_ne!(answered["id"], asked["id"]);
    assert_eq!(answered["thread"], asked["thread"]);
    assert_eq!(client.ask(&json!({"get": answered["id"]}))["items"], answered["items"]);
    // It was decided: once more is the same, otherwise is refused.
    assert_eq!(client.ask(&decide(&request[1], true, &asked["id"]))["text"], "It is there.");
    let again = client.ask(&decide(&request[1], true, &asked["id"]));
    assert!(
        again["items"].as_array().unwrap().iter().all(|item| item[0] != "asks"),
        "the rest alone: {again}"
    );
    for (id, approve) in [(&request[1], false), (&changed, true)] {
        let other = client.ask(&decide(id, approve, &asked["id"]));
        assert_eq!(other["body"]["code"], "approval.decided", "{other}");
    }
    organism.interrupt();
}

#[test]
fn g10_a_run_that_waits_for_its_client_is_stopped_too() {
    let house = house(&[SEARCHES], DECIDES);
    let organism = run_with_web(&house);
    let mut client = Responses::start_as(&house, WEB);
    let asked = client.ask(&json!({"create": {"input": "Where is the moon?"}}));
    assert_eq!(asked["status"], "completed", "{asked}");
    for _ in 0..2 {
        assert_eq!(client.ask(&json!({"cancel": asked["id"]}))["status"], "cancelled");
    }
    organism.interrupt();
}

/// The model sends an error in mid-answer, and says something else when it is asked again within the same attempt.
#[test]
fn g10_an_answer_that_the_model_begins_anew_is_an_item_of_its_own() {
    let (cut, other) =
        ("{say: First words come., chunk: 6, ok_error: true}", "{say: Other words at last., chunk: 6}");
    let house = house(&[cut, other, cut, other], OPEN);
    let organism = house.run();
    let mut client = Responses::start(&house);
    client.0.send(&json!({"stream": {"input": "What?"}}));
    let mut events = Vec::new();
    let said = loop {
        match client.next() {
            Ok(event) => events.push(event),
            Err(said) => break said,
        }
    };
    assert_each_cut_is_made_good(&mut client, &said["said"]["id"], &events, "Other words at last.");
    let again = client.ask(&json!({"whole": {"input": "What?"}}));
    assert_eq!(again["text"], "Other words at last.", "{again}");
    organism.interrupt();
}

/// The texts of the messages that a client has after these events.
fn show_texts(events: &[Value]) -> Vec<String> {
    let mut texts: Vec<(Value, String)> = Vec::new();
    for event in events {
        let item = &event["item"];
        if event["event"] == "response.output_text.delta" {
            let delta = event["delta"].as_str().unwrap();
            match texts.iter_mut().find(|(known, _)| known == item) {
                Some((_, text)) => text.push_str(delta),
                None => texts.push((item.clone(), delta.to_owned())),
            }
        }
        if event["event"] == "response.output_item.done" && event["status"] == "incomplete" {
            texts.retain(|(known, _)| known != item);
        }
    }
    texts.into_iter().map(|(_, text)| text).collect()
}

/// Wherever the stream was cut: what came before, and what comes behind that number, is the answer.
fn assert_each_cut_is_made_good(client: &mut Responses, id: &Value, events: &[Value], answer: &str) {
    for (at, last) in (1..).zip(events) {
        let rest = client.list_events(&json!({"watch": [id, last["number"]]}));
        let all = [&events[..at], &rest].concat();
        assert_eq!(show_texts(&all), [answer], "cut behind {last}, then {rest:#?}");
    }
}

#[test]
fn g10_a_child_that_works_beside_an_answer_makes_no_text_wrong() {
    let gate = TcpListener::bind("127.0.0.1:0").unwrap();
    let env = format!("{{DOOR: \"{}\"}}", gate.local_addr().unwrap().port());
    let spawns =
        "{say: I look., call: {spawn_thread: {label: side, tool: search, arguments: {query: moon}}}}";
    let replies = format!("- {spawns}\n- {HELD}");
    let house =
        AgentHouse::build(&AgentPlan { replies: &replies, rest: OPEN, env: &env, ..AgentPlan::default() });
    let organism = house.run();
    let mut client = Responses::start(&house);
    client.0.send(&json!({"stream": {"input": "Where is the moon?"}}));
    let mut events = Vec::new();
    let read_to = |client: &Responses, events: &mut Vec<Value>, is_it: &dyn Fn(&Value) -> bool| loop {
        let event = client.next().unwrap_or_else(|end| panic!("it has ended: {end} {events:?}"));
        events.push(event.clone());
        if is_it(&event) {
            return event;
        }
    };
    // The child's answer comes between the words of its parent's.
    let first =
        |event: &Value| event["event"] == "response.output_text.delta" && event["item"] != Value::Null;
    read_to(&client, &mut events, &|event| {
        first(event) && event["delta"].as_str().unwrap().starts_with("First")
    });
    gate.accept().unwrap().0.write_all(b"\n").unwrap();
    read_to(&client, &mut events, &|event| event["event"] == "response.mcp_call.completed");
    house.mock.release();
    let said = loop {
        match client.next() {
            Ok(event) => events.push(event),
            Err(said) => break said,
        }
    };
    let answer = "First words come. And then the rest.";
    let id = &said["said"]["id"];
    assert_eq!(
        (said["said"]["final"]["text"].as_str(), show_texts(&events)),
        (Some(answer), vec![answer.to_owned()]),
        "{events:#?}"
    );
    assert_each_cut_is_made_good(&mut client, id, &events, answer);
    organism.interrupt();
}

#[test]
fn g10_a_conversation_is_a_named_thread() {
    let house = house(&["{say: One.}", "{say: Two.}"], OPEN);
    let organism = house.run();
    let mut client = Responses::start(&house);
    let id = client.ask(&json!({"converse": true}))["id"].clone();
    assert_eq!(client.ask(&json!({"items": id})), json!([]));
    let first = client.ask(&json!({"create": {"input": "first?", "conversation": id}}));
    assert_eq!((&first["text"], &first["conversation"]), (&json!("One."), &id), "{first}");
    drop(organism);
    let organism = house.run();
    let mut client = Responses::start(&house);
    let second = client.ask(&json!({"stream": {"input": "second?", "conversation": id}}));
    assert_eq!(second["final"]["text"], "Two.", "{second}");
    let said = json!([["user", "first?"], ["assistant", "One."], ["user", "second?"], ["assistant", "Two."]]);
    assert_eq!(client.ask(&json!({"items": id})), said);
    let name = format!("@conv.{}", id.as_str().unwrap().strip_prefix("conv_").unwrap());
    let told = ask(&run_file(house.path()), "GET", &format!("/v1/threads?name={}", &name[1..]), &[], "").json;
    assert_eq!(told["threads"][0]["thread"], first["thread"], "{told}");
    for wrong in ["conv_", "conv_a/b", "x"] {
        let refused = client.ask(&json!({"create": {"input": "a", "conversation": wrong}}));
        assert_eq!((&refused["error"], &refused["body"]["param"]), (&json!(400), &json!("conversation")));
    }
    organism.interrupt();
}

#[test]
fn g10_the_same_request_for_a_response_again_is_one_message() {
    let house = house(&["{say: One.}", "{say: Two.}", "{say: Three.}", "{say: Four.}"], OPEN);
    let organism = house.run();
    let ask_anew = |wanted: &Value| Responses::start(&house).ask(wanted);
    let named = json!({"create": {"input": "Pay?"}, "headers": {"Idempotency-Key": "order 17"}});
    let (first, again) = (ask_anew(&named), ask_anew(&named));
    assert_eq!((&first["text"], &first["id"]), (&again["text"], &again["id"]));
    let second = ask_anew(&json!({"create": {"input": "What?"}}));
    let retry = json!({"x-stainless-retry-count": "1"});
    let repeated = ask_anew(&json!({"create": {"input": "What?"}, "headers": retry}));
    assert_eq!((&second["text"], &second["id"]), (&json!("Two."), &repeated["id"]));
    drop(organism);
    let organism = house.run();
    assert_eq!(Responses::start(&house).ask(&named)["id"], first["id"]);
    let behind = json!({"input": "And?", "previous_response_id": first["id"]});
    let third = Responses::start(&house).ask(&json!({"create": behind}));
    let repeated = Responses::start(&house).ask(&json!({"create": behind, "headers": retry}));
    assert_eq!((&third["text"], &third["id"]), (&json!("Three."), &repeated["id"]));
    // So is one that opened a thread of its own behind an older response.
    let branch = json!({"input": "Or?", "previous_response_id": first["id"]});
    let fourth = Responses::start(&house).ask(&json!({"create": branch}));
    let repeated = Responses::start(&house).ask(&json!({"create": branch, "headers": retry}));
    assert_eq!((&fourth["text"], &fourth["id"]), (&json!("Four."), &repeated["id"]));
    assert_ne!(fourth["thread"], first["thread"]);
    assert_eq!(house.asked().len(), 4);
    organism.interrupt();
}

#[test]
fn g10_what_is_no_response_of_this_client_is_not_there() {
    let house = house(&["{say: One.}"], DECIDES);
    let organism = run_with_web(&house);
    let mut operator = Responses::start(&house);
    let own = operator.ask(&json!({"create": {"input": "a"}}));
    assert_eq!(own["text"], "One.");
    let id = own["id"].as_str().unwrap().to_owned();
    let mut web = Responses::start_as(&house, WEB);
    let unknown = web.ask(&json!({"get": format!("{}0", &id[..id.len() - 1])}));
    for wanted in [
        json!({"get": id}),
        json!({"cancel": id}),
        json!({"input": id}),
        json!({"watch": [id, null]}),
        json!({"create": {"input": "a", "previous_response_id": id}}),
        json!({"get": "resp_x"}),
        json!({"get": format!("{id}~7")}),
    ] {
        let refused = web.ask(&wanted);
        assert_eq!(
            (&refused["error"], &refused["body"]["code"]),
            (&unknown["error"], &unknown["body"]["code"])
        );
        assert_eq!(refused["error"], 404, "{refused}");
    }
    for (wanted, param) in [
        (json!({"input": "a", "model": "helpr"}), "model"),
        (json!({"input": "a", "tool_choice": {"type": "web_search"}}), "tool_choice"),
        (json!({"input": [{"type": "function_call_output", "call_id": "c", "output": "o"}]}), "input"),
        (json!({"input": "a", "text": {"format": {"type": "json_object"}}}), "text"),
        (json!({"input": "a", "conversation": "conv_a", "previous_response_id": id}), "previous_response_id"),
    ] {
        let refused = operator.ask(&json!({"create": wanted}));
        assert_eq!(refused["body"]["param"], param, "{refused}");
    }
    assert_eq!(house.asked().len(), 1);
    organism.interrupt();
}

#[test]
fn g10_clients_in_javascript_are_answered_too() {
    let replies = ["{say: One.}", "{say: Two.}", "{say: Three.}", SEARCHES, "{say: It is there.}", HELD];
    let replies = [&replies[..], &["{say: Chat answer., chunk: 4}", "{say: Chat two., chunk: 4}"]].concat();
    let house = house(&replies, DECIDES);
    let organism = run_with_web(&house);
    let mut client = Responses::start_javascript(&house, WEB);
    let conversation = client.ask(&json!({"converse": true}))["id"].clone();
    let first = client.ask(&json!({"create": {"input": "first?", "conversation": conversation}}));
    let second = client.ask(&json!({"stream": {"input": "second?", "conversation": conversation}}));
    assert_eq!((&first["text"], &second["final"]), (&json!("One."), &json!("completed")), "{second}");
    // It reads a page of one item at a time.
    let said = json!([["user", "first?"], ["assistant", "One."], ["user", "second?"], ["assistant", "Two."]]);
    assert_eq!(client.ask(&json!({"items": conversation})), said);
    let third = client.ask(&json!({"whole": {"input": "third?", "previous_response_id": first["id"]}}));
    assert_eq!(third["text"], "Three.", "{third}");
    let asked = client.ask(&json!({"create": {"input": "Where is the moon?"}}));
    let request = asked["items"].as_array().unwrap().last().unwrap()[1].clone();
    let item = json!({"type": "mcp_approval_response", "approval_request_id": request, "approve": true});
    let decided = json!({"create": {"input": [item], "previous_response_id": asked["id"]}});
    assert_eq!(client.ask(&decided)["text"], "It is there.");
    // A stream is cut and gone on with, and the run is in the background for the client that stops it.
    let cut = client.ask(&json!({"stream": {"input": "What?", "background": true}, "leave": 1}));
    assert_eq!(client.ask(&json!({"get": cut["id"]}))["status"], "in_progress", "{cut}");
    house.mock.release();
    let rest = client.ask(&json!({"watch": [cut["id"], cut["number"]]}));
    let text = |said: &Value| {
        said["texts"].as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned()
    };
    assert_eq!(text(&cut) + &text(&rest), "First words come. And then the rest.", "{cut} {rest}");
    assert_eq!(client.ask(&json!({"cancel": cut["id"]}))["status"], "completed", "it is over");
    assert_eq!(client.ask(&json!({"get": "resp_x"}))["error"], 404);
    // The AI SDK chats with the whole history.
    let hello = json!([{"role": "user", "content": "hello"}]);
    let chat = client.ask(&json!({"chat": hello}));
    assert_eq!((&chat["text"], &chat["finish"]), (&json!("Chat answer."), &json!("stop")), "{chat}");
    let more = json!([hello[0], {"role": "assistant", "content": "Chat answer."}, {"role": "user", "content": "more"}]);
    assert_eq!(client.ask(&json!({"chat": more}))["text"], "Chat two.");
    assert!(house.asked().last().unwrap().body.to_string().contains("hello"), "it is one thread");
    organism.interrupt();
}
