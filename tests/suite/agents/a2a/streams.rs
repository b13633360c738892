//! Answers as they come: words while the model holds back the rest, what does not count, who works for a task, what waits
//! for its turn, and words for a task at work.

use serde_json::{Value, json};

use super::super::ag_ui::WebApp;
use super::super::chat_files::{RED, house_that_sees};
use super::super::chats::{HELD, SEARCHES, WEB, house, run_with_web};
use super::super::house::{AgentHouse, AgentPlan};
use super::agent::{Agent, answer, join_answer, list_states, say, say_to, state};
use crate::program::{ask_as, run_file};

/// The door, and a client whose person decides.
pub(super) const ALL: &str =
    "doors: {a2a: {show: all}}\nclients: {web: {token_env: WEB_TOKEN, doors: [a2a], roles: [approve-own]}}";

#[test]
fn g14_words_come_while_the_model_holds_back_the_rest_and_who_comes_later_has_all() {
    let house = house(&[HELD], ALL);
    let organism = run_with_web(&house);
    let agent = Agent::new(house.path(), WEB);
    let mut updates = agent.stream("SendStreamingMessage", &json!({"message": say("m1", "What?")}));
    let task = updates.next().unwrap()["task"].clone();
    let mut heard = Vec::new();
    while join_answer(&heard).len() < "First words".len() {
        heard.extend(updates.next());
    }
    assert!("First words come.".starts_with(join_answer(&heard).trim_end()), "{heard:?}");
    // A second one hears what was said so far, and then the rest.
    let mut later = agent.stream("SubscribeToTask", &json!({"id": task["id"]}));
    let mut second = vec![later.next().unwrap()];
    assert_eq!(second[0]["task"]["id"], task["id"]);
    while join_answer(&second).len() < join_answer(&heard).len() {
        second.extend(later.next());
    }
    house.mock.release();
    heard.extend(updates);
    second.extend(later);
    let whole = agent.get(&task);
    assert_eq!(answer(&whole)["text"], "First words come. And then the rest.");
    for had in [&heard, &second] {
        assert_eq!(json!(join_answer(had)), answer(&whole)["text"], "{had:?}");
        let last = had.iter().filter_map(|update| update.get("artifactUpdate")).next_back().unwrap();
        assert_eq!(last["lastChunk"], json!(true), "{last}");
    }
    agent.judge();
    organism.interrupt();
}

#[test]
fn g14_what_does_not_count_is_replaced() {
    let replies = "- {say: First it is so., chunk: 4, delay: 40ms, cut: true}\n\
                   - {say: It is there., chunk: 4, delay: 40ms}\n";
    let plan = AgentPlan { replies, agent: ", on_unknown: retry", rest: ALL, ..AgentPlan::default() };
    let house = AgentHouse::build(&plan);
    let organism = run_with_web(&house);
    let agent = Agent::new(house.path(), WEB);
    let updates: Vec<Value> =
        agent.stream("SendStreamingMessage", &json!({"message": say("m1", "Where?")})).collect();
    let mut said = updates.iter().enumerate();
    let mut texts = updates.iter().enumerate().map(|(at, _)| join_answer(&updates[..=at]));
    assert!(texts.any(|text| text.starts_with("First")), "{updates:?}");
    let emptied = said.find(|(_, one)| one["artifactUpdate"]["artifact"]["parts"] == json!([{"text": ""}]));
    let emptied = emptied.unwrap_or_else(|| panic!("it is taken back: {updates:?}"));
    assert_eq!(emptied.1["artifactUpdate"]["append"], json!(false));
    assert_eq!(join_answer(&updates), "It is there.");
    agent.judge();
    organism.interrupt();
}

#[test]
fn g14_a_client_sees_of_a_run_what_the_file_shows() {
    for (show, words, has_payload) in [
        ("answer", None, false),
        ("steps", Some("search is asked"), false),
        ("all", Some("search is asked"), true),
    ] {
        let doors = ALL.replace("show: all", &format!("show: {show}"));
        let plan = AgentPlan {
            replies: "- {call: {search: {query: moon}}}\n- {say: There.}",
            rest: &doors,
            ..AgentPlan::default()
        };
        let house = AgentHouse::build(&plan);
        let organism = run_with_web(&house);
        let agent = Agent::new(house.path(), WEB);
        let updates: Vec<Value> =
            agent.stream("SendStreamingMessage", &json!({"message": say("m1", "Where?")})).collect();
        let told = list_states(&updates);
        let working = told.iter().find(|(state, words)| state == "WORKING" && !words.is_empty());
        assert_eq!(working.map(|(_, words)| words.as_str()), words, "{show}: {updates:?}");
        assert_eq!(json!(updates).to_string().contains(r#""query":"moon""#), has_payload, "{show}");
        assert_eq!(join_answer(&updates), "There.", "{show}");
        agent.judge();
        organism.interrupt();
    }
}

#[test]
fn g14_a_message_waits_for_its_turn_in_its_context_and_another_context_does_not() {
    let house = house(&[HELD, "{say: Next.}"], ALL);
    let organism = run_with_web(&house);
    let agent = Agent::new(house.path(), WEB);
    let within = |id: &str, context: &str| {
        let mut message = say(id, "What?");
        message["contextId"] = json!(context);
        message
    };
    let first = agent.send_only(&within("m1", "one"));
    let second = agent.send_only(&within("m2", "one"));
    assert_eq!((state(&first), state(&second)), ("WORKING", "SUBMITTED"));
    assert_eq!(first["contextId"], second["contextId"]);
    // Words for a task that waits for its turn would reach the one at work.
    let words = say_to("m3", &second, &json!({"text": "in French, please"}));
    let (number, told) = agent.fault("SendMessage", &json!({"message": words}));
    assert!(number == -32004 && told.contains("waits for its turn"), "{told}");
    // What waits for its turn is cancelled as well.
    let cancelled = agent.result("CancelTask", &json!({"id": second["id"]}));
    assert_eq!(state(&cancelled), "CANCELED");
    assert_eq!(state(&agent.get(&first)), "WORKING");
    house.mock.release();
    let mut updates = agent.stream("SubscribeToTask", &json!({"id": first["id"]}));
    let last = updates.by_ref().last().map(|update| state(&update["statusUpdate"]).to_owned());
    assert!(last.is_none_or(|last| last == "COMPLETED" || last == "?"));
    assert_eq!(state(&agent.get(&first)), "COMPLETED");
    agent.judge();
    organism.interrupt();
}

#[test]
fn g14_words_for_a_task_at_work_steer_it() {
    let house = house(&[SEARCHES, "{say: Done.}"], ALL);
    let organism = run_with_web(&house);
    let agent = Agent::new(house.path(), WEB);
    let waits = agent.send(&say("m1", "Where?"));
    assert_eq!(state(&waits), "AUTH_REQUIRED", "{waits}");
    let approve = json!({"data": {"request": super::agent::request(&waits), "approved": true}});
    let mut params = json!({"message": say_to("m2", &waits, &approve)});
    params["configuration"] = json!({"returnImmediately": true});
    agent.result("SendMessage", &params);
    let done = agent.result("GetTask", &json!({"id": waits["id"]}));
    assert!(["WORKING", "COMPLETED"].contains(&state(&done)), "{done}");
    agent.judge();
    organism.interrupt();

    let house = super::super::chats::house(&[HELD, "{say: Otherwise.}"], ALL);
    let organism = run_with_web(&house);
    let agent = Agent::new(house.path(), WEB);
    let task = agent.send_only(&say("m1", "What?"));
    for _ in 0..2 {
        let mut params = json!({"message": say_to("m2", &task, &json!({"text": "in French, please"}))});
        params["configuration"] = json!({"returnImmediately": true});
        assert_eq!(state(&agent.result("SendMessage", &params)["task"]), "WORKING");
    }
    let steered =
        house.records().iter().filter(|one| String::from_utf8_lossy(&one.body).contains("in French")).count();
    assert_eq!(steered, 1, "the same message again is no second one");
    house.mock.release();
    organism.interrupt();
}

#[test]
fn g14_what_a_message_brings_reaches_the_model() {
    let house = house_that_sees(&["{say: Red.}"], ALL);
    let organism = run_with_web(&house);
    let agent = Agent::new(house.path(), WEB);
    let parts = json!([
        {"text": "What is that?"},
        {"data": {"size": 4}},
        {"raw": RED, "mediaType": "image/png", "filename": "red.png"},
    ]);
    let done = agent.send(&json!({"messageId": "m1", "role": "ROLE_USER", "parts": parts}));
    assert_eq!(answer(&done)["text"], "Red.", "{done}");
    let asked = house.asked().last().unwrap().body.to_string();
    for part in ["What is that?", r#"```json\n{\"size\": 4}\n```"#, RED] {
        let part = part.replace("\": 4", "\":4");
        assert!(
            asked.contains(&part) || asked.replace("\\\": 4", "\\\":4").contains(&part),
            "{part}: {asked}"
        );
    }
    agent.judge();
    organism.interrupt();
}

#[test]
fn g14_a_conversation_of_other_doors_is_a_context_of_the_same_client() {
    let clients =
        "doors: {a2a: true, ag-ui: true}\nclients: {web: {token_env: WEB_TOKEN, roles: [approve-own]}}";
    let house = house(&["{say: One.}", "{say: Two.}", "{say: Three.}"], clients);
    let organism = run_with_web(&house);
    let mut app = WebApp::start(&house);
    app.run(&json!({"say": "In the app?"}));
    let (run, bearer) = (run_file(house.path()), format!("Bearer {WEB}"));
    let headers = [("Authorization", bearer.as_str()), ("Systole-Wait", "60")];
    let listed = ask_as(&run, "GET", "/v1/threads?name=agui.", &headers, "").json;
    let thread = listed["threads"][0]["thread"].as_str().unwrap_or_else(|| panic!("{listed}")).to_owned();
    let ask = r#"<ask xmlns="https://xml-pipeline.org/ns/talk/v1">By a program?</ask>"#;
    let told = ask_as(&run, "POST", &format!("/v1/messages?thread={thread}"), &headers, ask);
    assert!(told.body.contains("Two."), "{}", told.body);
    let agent = Agent::new(house.path(), WEB);
    let mut next = say("m1", "By an agent?");
    next["contextId"] = json!(thread);
    let done = agent.send(&next);
    assert_eq!((&done["contextId"], &answer(&done)["text"]), (&json!(thread), &json!("Three.")));
    let tasks =
        agent.result("ListTasks", &json!({"contextId": thread, "includeArtifacts": true}))["tasks"].clone();
    let said = |task: &Value| json!([task["history"][0]["parts"][0]["text"], answer(task)["text"]]);
    let said: Vec<Value> = tasks.as_array().unwrap().iter().rev().map(said).collect();
    let wanted = json!([["In the app?", "One."], ["By a program?", "Two."], ["By an agent?", "Three."]]);
    assert_eq!(json!(said), wanted, "{tasks}");
    // It is one transcript at the door where it began.
    let seen = app.run(&json!({"show": true}));
    let messages = seen["messages"].as_array().unwrap().iter().map(|one| one[1].as_str().unwrap());
    let read: Vec<&str> = messages.collect();
    assert_eq!(read, ["In the app?", "One.", "By a program?", "Two.", "By an agent?", "Three."]);
    agent.judge();
    organism.interrupt();
}
