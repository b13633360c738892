//! Answers on their way to an editor: what is shown while it comes, what is taken back, and what comes after a kill.

use serde_json::json;

use super::super::chats::{HELD, house};
use super::editor::{Editor, answered, reason, said, updates};

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
fn g13_an_answer_that_does_not_count_is_followed_by_another() {
    let replies = [
        "{say: I look., chunk: 4, call: {search: {query: moon, limit: 1000}}}",
        "{say: There it is., thinking: I see., chunk: 5}",
    ];
    let house = house(&replies, "");
    let organism = house.run();
    let mut editor = Editor::in_session(house.path(), &json!({}));
    let prompt = editor.prompt("Where?");
    let (all, end) = editor.end(prompt);
    assert_eq!(reason(&end), "end_turn", "{end}");
    let words = answered(&all);
    assert!(words.ends_with("There it is."), "{words:?}");
    let ids: Vec<&str> =
        updates(&all, "agent_message_chunk").iter().map(|one| one["messageId"].as_str().unwrap()).collect();
    if words.contains("I look.") {
        assert!(words.contains("Another answer:"), "{words:?}");
        assert_ne!(ids.first(), ids.last(), "another message");
    }
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
