//! Answers on their way to an editor: what is shown while it comes, what is taken back, and what comes after a kill.

use serde_json::{Value, json};

use super::super::ag_ui::{ALL, WebApp};
use super::super::ag_ui_streams::{DONE, PLANS, join_chunks};
use super::super::chat_files::{RED, house_that_sees};
use super::super::chats::{HELD, WEB, house, run_with_web};
use super::super::house::{AgentHouse, AgentPlan};
use super::editor::{Editor, join_answer, join_texts, reason, updates};
use crate::program::{ask_as, run_file};

#[test]
fn g13_words_come_while_the_model_holds_back_the_rest_and_after_a_kill_with_other_words() {
    let house = house(&[HELD, "{say: First words come. But otherwise., chunk: 5}"], "");
    let organism = house.run();
    let mut editor = Editor::in_session(house.path(), &json!({}));
    let prompt = editor.prompt("What?");
    let mut heard = Vec::new();
    while join_answer(&heard).trim_end() != "First words come." {
        heard.push(editor.read());
    }
    // It is killed in the middle of the answer, and another one comes of the repeated attempt.
    organism.signal(rustix::process::Signal::KILL);
    organism.end();
    house.mock.release();
    let organism = house.run();
    let (rest, end) = editor.end(prompt);
    assert_eq!(reason(&end), "end_turn");
    let all = [heard, rest].concat();
    // An editor cannot take back what it shows.
    assert_eq!(
        join_answer(&all),
        "First words come.Another answer:\n\nFirst words come. But otherwise.",
        "{all:?}"
    );
    let ids: Vec<&str> =
        updates(&all, "agent_message_chunk").iter().map(|one| one["messageId"].as_str().unwrap()).collect();
    assert!(
        ids.first() != ids.last() && ids.last().unwrap().ends_with("~1"),
        "it is another message: {ids:?}"
    );
    assert_eq!(house.asked().len(), 2);
    let loaded = {
        let params = json!({"sessionId": editor.session, "cwd": house.path(), "mcpServers": []});
        let id = editor.send("session/load", &params);
        editor.end(id).0
    };
    assert_eq!(join_answer(&loaded), "First words come. But otherwise.", "the record has it once");
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_todo_lists_are_the_plan() {
    let house = house(&[PLANS, DONE, "{say: Done.}"], "");
    let organism = house.run();
    let mut editor = Editor::in_session(house.path(), &json!({}));
    let prompt = editor.prompt("Where?");
    let (all, end) = editor.end(prompt);
    assert_eq!((reason(&end), join_answer(&all).as_str()), ("end_turn", "Done."), "{all:?}");
    let entry = |text: &str, status: &str| json!({"content": text, "priority": "medium", "status": status});
    let plans: Vec<&Value> = updates(&all, "plan").iter().map(|plan| &plan["entries"]).collect();
    let wanted = ["pending", "completed"].map(|now| json!([entry("look", now), entry("tell", now)]));
    assert_eq!(plans, wanted.iter().collect::<Vec<_>>(), "{all:?}");
    let loaded = {
        let params = json!({"sessionId": editor.session, "cwd": house.path(), "mcpServers": []});
        let id = editor.send("session/load", &params);
        editor.end(id).0
    };
    assert_eq!(updates(&loaded, "plan").last().map(|plan| &plan["entries"]), wanted.last(), "{loaded:?}");
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_what_is_said_before_a_call_is_a_message_of_its_own() {
    let replies = [
        "{say: I look., chunk: 4, delay: 20ms, call: {search: {query: moon}}}",
        "{say: There it is., thinking: I see., chunk: 5}",
    ];
    let house = house(&replies, "");
    let organism = house.run();
    let mut editor = Editor::in_session(house.path(), &json!({}));
    let prompt = editor.prompt("Where?");
    let (mut all, asked) = editor.next_request();
    editor.choose(&asked, "allow");
    let (rest, end) = editor.end(prompt);
    all.extend(rest);
    assert_eq!(reason(&end), "end_turn", "{end}");
    assert_eq!(join_answer(&all), "I look.There it is.", "{all:?}");
    let ids: Vec<&str> =
        updates(&all, "agent_message_chunk").iter().map(|one| one["messageId"].as_str().unwrap()).collect();
    assert_ne!(ids.first(), ids.last(), "{ids:?}");
    assert_eq!(join_texts(&all, "agent_thought_chunk"), "I see.");
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_a_prompt_is_cancelled_while_its_model_thinks_and_another_follows() {
    let house = house(&[HELD, "{say: Two.}"], "");
    let organism = house.run();
    let mut editor = Editor::in_session(house.path(), &json!({}));
    let prompt = editor.prompt("What?");
    editor.read_until(|one| !join_answer(std::slice::from_ref(one)).is_empty());
    editor.cancel();
    let (_, end) = editor.end(prompt);
    assert_eq!(reason(&end), "cancelled");
    let prompt = editor.prompt("And?");
    let (all, end) = editor.end(prompt);
    assert_eq!((join_answer(&all).as_str(), reason(&end)), ("Two.", "end_turn"));
    // The close of a session stops what is open in it, too.
    assert_eq!(editor.ask("session/close", &json!({"sessionId": editor.session}))["result"], json!({}));
    house.mock.release();
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_an_editor_that_dies_in_mid_answer_has_it_when_it_comes_again() {
    let house = house(&[HELD, "{say: Two.}"], "");
    let organism = house.run();
    let mut editor = Editor::in_session(house.path(), &json!({}));
    editor.prompt("What?");
    editor.read_until(|one| !join_answer(std::slice::from_ref(one)).is_empty());
    let session = editor.session.clone();
    editor.die();
    let mut editor = Editor::start(house.path(), &json!({}));
    editor.session = session;
    let resume = json!({"sessionId": editor.session, "cwd": house.path(), "mcpServers": []});
    assert_eq!(editor.ask("session/resume", &resume)["result"], json!({}));
    let prompt = editor.prompt("And?");
    house.mock.release();
    let (all, end) = editor.end(prompt);
    assert_eq!(reason(&end), "end_turn");
    assert_eq!(join_answer(&all), "First words come. And then the rest.Two.", "both answers, each once");
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_a_run_that_ends_before_the_next_prompt_is_told_too() {
    let house = house(&[HELD, "{say: Two.}", "{say: Three.}"], "");
    let organism = house.run();
    let mut editor = Editor::in_session(house.path(), &json!({}));
    editor.prompt("What?");
    editor.read_until(|one| !join_answer(std::slice::from_ref(one)).is_empty());
    let session = editor.session.clone();
    editor.die();
    let mut editor = Editor::start(house.path(), &json!({}));
    editor.session = session;
    let load = json!({"sessionId": editor.session, "cwd": house.path(), "mcpServers": []});
    let load = editor.send("session/load", &load);
    assert!(join_answer(&editor.end(load).0).contains("the next prompt goes on with it"));
    house.mock.release();
    let settled = || house.systole(&["log", "@last"]).stdout.contains("And then the rest.");
    while !settled() {}
    let prompt = editor.prompt("And?");
    assert_eq!(join_answer(&editor.end(prompt).0), "First words come. And then the rest.Two.");
    let prompt = editor.prompt("And now?");
    assert_eq!(join_answer(&editor.end(prompt).0), "Three.", "each comes once");
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_a_second_prompt_waits_for_the_end_of_the_first() {
    let house = house(&[HELD, "{say: Two.}"], "");
    let organism = house.run();
    let mut editor = Editor::in_session(house.path(), &json!({}));
    let first = editor.prompt("What?");
    editor.read_until(|one| !join_answer(std::slice::from_ref(one)).is_empty());
    let second = editor.prompt("And?");
    let (_, refused) = editor.end(second);
    assert_eq!(refused["error"]["code"], -32600);
    assert!(refused["error"]["message"].as_str().unwrap().contains("still open: cancel it"), "{refused}");
    house.mock.release();
    assert_eq!(reason(&editor.end(first).1), "end_turn");
    let third = editor.prompt("And?");
    assert_eq!(join_answer(&editor.end(third).0), "Two.");
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_a_prompt_is_cancelled_while_no_organism_runs() {
    // The repeated attempt is held back too: an answer that is there is not cancelled.
    let house = house(&[HELD, HELD], "");
    let organism = house.run();
    let mut editor = Editor::in_session(house.path(), &json!({}));
    let prompt = editor.prompt("What?");
    editor.read_until(|one| !join_answer(std::slice::from_ref(one)).is_empty());
    organism.signal(rustix::process::Signal::KILL);
    organism.end();
    editor.cancel();
    let organism = house.run();
    let (_, end) = editor.end(prompt);
    assert_eq!(reason(&end), "cancelled", "{end}");
    house.mock.release();
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_one_conversation_goes_on_at_every_door_of_its_client() {
    let clients = format!("{ALL}\n").replace("doors: [ag-ui], ", "");
    let house = house(&["{say: One.}", "{say: Two.}", "{say: Three.}"], &clients);
    let organism = run_with_web(&house);
    let mut app = WebApp::start(&house);
    let said_there = app.run(&json!({"say": "In the app?"}));
    assert_eq!(said_there["messages"][1][1], "One.", "{said_there}");
    let run = run_file(house.path());
    let bearer = format!("Bearer {WEB}");
    let headers = [("Authorization", bearer.as_str()), ("Systole-Wait", "60")];
    let listed = ask_as(&run, "GET", "/v1/threads?name=agui.", &headers, "").json;
    let thread = listed["threads"][0]["thread"].as_str().unwrap_or_else(|| panic!("{listed}")).to_owned();
    let ask = r#"<ask xmlns="https://xml-pipeline.org/ns/talk/v1">By a program?</ask>"#;
    let answer = ask_as(&run, "POST", &format!("/v1/messages?thread={thread}"), &headers, ask);
    assert!(answer.body.contains("Two."), "{}", answer.body);
    let variables = [("WEB_TOKEN", WEB)];
    let mut editor = Editor::start_with(house.path(), &["acp", "--client", "web"], &variables, &json!({}));
    let sessions = editor.ask("session/list", &json!({}))["result"]["sessions"].clone();
    assert_eq!(sessions[0]["sessionId"], json!(thread), "{sessions}");
    editor.session = thread.clone();
    let load =
        editor.send("session/load", &json!({"sessionId": thread, "cwd": house.path(), "mcpServers": []}));
    let (read, _) = editor.end(load);
    let users = join_texts(&read, "user_message_chunk");
    assert_eq!((users.as_str(), join_answer(&read).as_str()), ("In the app?By a program?", "One.Two."));
    let prompt = editor.prompt("In the editor?");
    assert_eq!(join_answer(&editor.end(prompt).0), "Three.");
    // It is one transcript at the door where it began.
    let seen = app.run(&json!({"show": true}));
    let messages: Vec<&str> =
        seen["messages"].as_array().unwrap().iter().map(|one| one[1].as_str().unwrap()).collect();
    assert_eq!(messages, ["In the app?", "One.", "By a program?", "Two.", "In the editor?", "Three."]);
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

/// The ids of a stream, each with the text of the answer up to there.
fn read_places(body: &str) -> Vec<(String, String)> {
    let (mut text, mut places) = (String::new(), Vec::new());
    for line in body.lines() {
        if let Some(data) = line.strip_prefix("data: ") {
            let message: Value = serde_json::from_str(data).unwrap();
            text += &join_answer(&[message]);
        } else if let Some(id) = line.strip_prefix("id: ") {
            // The id of an event stands before or behind its data.
            places.push((id.to_owned(), String::new()));
        }
        if let (true, Some(last)) = (line.is_empty(), places.last_mut()) {
            last.1 = text.clone();
        }
    }
    places
}

#[test]
fn g13_behind_each_id_the_rest_comes_also_where_an_attempt_did_not_count() {
    let replies = "- {call: {search: {query: moon}}}\n\
                   - {thinking: I try., say: First it is so., chunk: 4, delay: 40ms, cut: true}\n\
                   - {thinking: I think about it for a while., say: It is there., chunk: 4, delay: 40ms}\n";
    let plan = AgentPlan { replies, agent: ", on_unknown: retry", ..AgentPlan::default() };
    let house = AgentHouse::build(&plan);
    let organism = house.run();
    let run = run_file(house.path());
    let bearer = format!("Bearer {}", run.guests.acp.as_ref().unwrap().secret());
    let editor = Editor::in_session(house.path(), &json!({}));
    let prompt = json!([{"type": "text", "text": "Where?"}]);
    let params = json!({"sessionId": editor.session, "prompt": prompt});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "session/prompt", "params": params}).to_string();
    let post = |more: &[(&str, &str)]| {
        let mut headers = vec![("authorization", bearer.as_str()), ("idempotency-key", "k1")];
        headers.extend(more);
        let answer = ask_as(&run, "POST", "/acp", &headers, &body);
        assert!(answer.body.contains("end_turn"), "{}", answer.body);
        read_places(&join_chunks(&answer.body))
    };
    let places = post(&[]);
    let whole = &places.last().unwrap().1;
    assert!(whole.starts_with("First") && whole.ends_with("Another answer:\n\nIt is there."), "{whole:?}");
    assert!(places.iter().any(|(id, _)| id.contains('!')), "an id between the two answers: {places:?}");
    for (id, text) in &places {
        let rest = post(&[("last-event-id", id), ("acp-again", "9")]);
        let all = format!("{text}{}", rest.last().map(|(_, rest)| rest.as_str()).unwrap_or_default());
        let (wrong, right) = all.split_once("Another answer:\n\n").unwrap_or(("", &all));
        assert!("First it is so.".starts_with(wrong) && right == "It is there.", "behind {id}: {all:?}");
    }
    assert_eq!(house.asked().len(), 3, "no request was made twice");
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_what_a_prompt_brings_reaches_the_model() {
    let house = house_that_sees(&["{say: Red.}"], "");
    let organism = house.run();
    let mut editor = Editor::start(house.path(), &json!({}));
    editor.begin_session(house.path());
    let prompt = json!([
        {"type": "text", "text": "What is wrong here?"},
        {"type": "resource", "resource": {"uri": "file:///home/ada/my%20notes.md", "text": "a ```` b"}},
        {"type": "resource_link", "uri": "file:///home/ada/main.rs", "name": "main.rs"},
        {"type": "image", "data": RED, "mimeType": "image/png"},
    ]);
    let prompt = editor.send("session/prompt", &json!({"sessionId": editor.session, "prompt": prompt}));
    let (all, end) = editor.end(prompt);
    assert_eq!((join_answer(&all).as_str(), reason(&end)), ("Red.", "end_turn"), "{end}");
    let asked = house.asked().last().unwrap().body.to_string();
    for part in [
        "What is wrong here?",
        r"[/home/ada/my notes.md]\n`````\na ```` b\n`````\n",
        "[/home/ada/main.rs]",
        RED,
    ] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}
