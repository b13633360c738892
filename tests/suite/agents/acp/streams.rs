//! Answers on their way to an editor: what is shown while it comes, what is taken back, and what comes after a kill.

use serde_json::json;

use super::super::ag_ui::{ALL, WebApp};
use super::super::chats::{HELD, WEB, house, run_with_web};
use super::editor::{Editor, answered, reason, said, updates};
use crate::program::{ask_as, run_file};

#[test]
fn g13_words_come_while_the_model_holds_back_the_rest_and_after_a_kill_with_other_words() {
    let house = house(&[HELD, "{say: First words come. But otherwise., chunk: 5}"], "");
    let organism = house.run();
    let mut editor = Editor::in_session(house.path(), &json!({}));
    let prompt = editor.prompt("What?");
    let mut heard = Vec::new();
    while answered(&heard).trim_end() != "First words come." {
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
        answered(&all),
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
    assert_eq!(answered(&loaded), "First words come. But otherwise.", "the record has it once");
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
    assert_eq!(answered(&all), "I look.There it is.", "{all:?}");
    let ids: Vec<&str> =
        updates(&all, "agent_message_chunk").iter().map(|one| one["messageId"].as_str().unwrap()).collect();
    assert_ne!(ids.first(), ids.last(), "{ids:?}");
    assert_eq!(said(&all, "agent_thought_chunk"), "I see.");
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_a_prompt_is_cancelled_while_its_model_thinks_and_another_follows() {
    let house = house(&[HELD, "{say: Two.}"], "");
    let organism = house.run();
    let mut editor = Editor::in_session(house.path(), &json!({}));
    let prompt = editor.prompt("What?");
    editor.read_until(|one| !answered(std::slice::from_ref(one)).is_empty());
    editor.cancel();
    let (_, end) = editor.end(prompt);
    assert_eq!(reason(&end), "cancelled");
    let prompt = editor.prompt("And?");
    let (all, end) = editor.end(prompt);
    assert_eq!((answered(&all).as_str(), reason(&end)), ("Two.", "end_turn"));
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
    editor.read_until(|one| !answered(std::slice::from_ref(one)).is_empty());
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
    assert_eq!(answered(&all), "First words come. And then the rest.Two.", "both answers, each once");
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_a_run_that_ends_before_the_next_prompt_is_told_too() {
    let house = house(&[HELD, "{say: Two.}", "{say: Three.}"], "");
    let organism = house.run();
    let mut editor = Editor::in_session(house.path(), &json!({}));
    editor.prompt("What?");
    editor.read_until(|one| !answered(std::slice::from_ref(one)).is_empty());
    let session = editor.session.clone();
    editor.die();
    let mut editor = Editor::start(house.path(), &json!({}));
    editor.session = session;
    let load = json!({"sessionId": editor.session, "cwd": house.path(), "mcpServers": []});
    let load = editor.send("session/load", &load);
    assert!(answered(&editor.end(load).0).contains("the next prompt goes on with it"));
    house.mock.release();
    let settled = || house.systole(&["log", "@last"]).stdout.contains("And then the rest.");
    while !settled() {}
    let prompt = editor.prompt("And?");
    assert_eq!(answered(&editor.end(prompt).0), "First words come. And then the rest.Two.");
    let prompt = editor.prompt("And now?");
    assert_eq!(answered(&editor.end(prompt).0), "Three.", "each is told once");
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_a_second_prompt_waits_for_the_end_of_the_first() {
    let house = house(&[HELD, "{say: Two.}"], "");
    let organism = house.run();
    let mut editor = Editor::in_session(house.path(), &json!({}));
    let first = editor.prompt("What?");
    editor.read_until(|one| !answered(std::slice::from_ref(one)).is_empty());
    let second = editor.prompt("And?");
    let (_, refused) = editor.end(second);
    assert_eq!(refused["error"]["code"], -32600);
    assert!(refused["error"]["message"].as_str().unwrap().contains("still open: cancel it"), "{refused}");
    house.mock.release();
    assert_eq!(reason(&editor.end(first).1), "end_turn");
    let third = editor.prompt("And?");
    assert_eq!(answered(&editor.end(third).0), "Two.");
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
    editor.read_until(|one| !answered(std::slice::from_ref(one)).is_empty());
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
    let users = said(&read, "user_message_chunk");
    assert_eq!((users.as_str(), answered(&read).as_str()), ("In the app?By a program?", "One.Two."));
    let prompt = editor.prompt("In the editor?");
    assert_eq!(answered(&editor.end(prompt).0), "Three.");
    // It is one transcript at the door where it began.
    let seen = app.run(&json!({"show": true}));
    let messages: Vec<&str> =
        seen["messages"].as_array().unwrap().iter().map(|one| one[1].as_str().unwrap()).collect();
    assert_eq!(messages, ["In the app?", "One.", "By a program?", "Two.", "In the editor?", "Three."]);
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}
