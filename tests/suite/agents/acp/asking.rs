//! What waits for a person, in an editor: who is asked, what counts, and what is taken back.

use std::path::Path;

use serde_json::{Value, json};

use super::super::chats::{SEARCHES, WEB, house};
use super::super::house::KEY;
use super::editor::{Editor, join_answer, join_texts, reason};
use crate::mcp::doors_house::{TOKENS, doors_house};
use crate::program::{Running, ask_as, run_file, systole};

fn forms() -> Value {
    json!({"elicitation": {"form": {}}})
}

/// The organism of the doors with that entry.
fn doors(entry: &str) -> (tempfile::TempDir, Running) {
    let folder = doors_house();
    let file = folder.path().join("organism.yaml");
    let yaml = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, yaml.replace("entry: plain}", &format!("entry: {entry}}}"))).unwrap();
    let organism = Running::organism_with(folder.path(), &TOKENS);
    (folder, organism)
}

fn book(name: &str) -> String {
    json!({"book": {"name": name}}).to_string()
}

fn pay() -> String {
    json!({"pay": {"to": "Ada", "cents": 1200}}).to_string()
}

fn approvals(folder: &Path) -> String {
    systole(folder, &["approve"]).stdout
}

#[test]
fn g13_a_question_is_a_form_where_the_editor_shows_forms() {
    let (folder, organism) = doors("booking");
    let mut editor = Editor::in_session(folder.path(), &forms());
    let prompt = editor.prompt(&book("Ben"));
    let (_, asked) = editor.next_request();
    assert_eq!(asked["method"], "elicitation/create");
    assert_eq!(asked["params"]["requestedSchema"]["properties"]["choice"]["enum"], json!(["window", "door"]));
    // A wrong answer is asked again, with the reason.
    editor.answer(&asked, &json!({"action": "accept", "content": {"choice": "roof"}}));
    let (_, again) = editor.next_request();
    let words = again["params"]["message"].as_str().unwrap();
    assert!(words.contains("no such choice") && words.contains("Which table for Ben?"), "{words}");
    assert_ne!(again["id"], asked["id"]);
    editor.answer(&again, &json!({"action": "accept", "content": {"choice": "door"}}));
    let (after, end) = editor.end(prompt);
    assert_eq!((join_answer(&after).as_str(), reason(&end)), ("chosen: door", "end_turn"));

    // Declined, it has no answer, and its run is stopped. Left, it waits for someone else.
    let prompt = editor.prompt(&book("Ben"));
    let (_, asked) = editor.next_request();
    editor.answer(&asked, &json!({"action": "decline"}));
    assert_eq!(reason(&editor.end(prompt).1), "cancelled");
    let prompt = editor.prompt(&book("Cem"));
    let (_, asked) = editor.next_request();
    editor.answer(&asked, &json!({"action": "cancel"}));
    let id = asked["params"]["_meta"]["systole/request"].as_str().unwrap().to_owned();
    let (told, end) = editor.end(prompt);
    assert!(join_answer(&told).contains(&format!("{id} waits: http://")), "{told:?}");
    assert_eq!(reason(&end), "end_turn");
    assert_eq!(systole(folder.path(), &["choose", &id, "window"]).code, Some(0));
    let prompt = editor.prompt(&book("Eve"));
    let (rest, asked) = editor.next_request();
    assert_eq!(join_answer(&rest), "chosen: window", "what was decided elsewhere comes with the next prompt");
    editor.answer(&asked, &json!({"action": "accept", "content": {"choice": "door"}}));
    assert_eq!(join_answer(&editor.end(prompt).0), "chosen: door");
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_without_forms_the_next_prompt_answers_a_question() {
    let (folder, organism) = doors("booking");
    let mut editor = Editor::in_session(folder.path(), &json!({}));
    let prompt = editor.prompt(&book("Ben"));
    let (asked, end) = editor.end(prompt);
    assert_eq!(reason(&end), "end_turn");
    let words = join_answer(&asked);
    for part in ["Which table for Ben?", "window, door", "Your next message is the answer."] {
        assert!(words.contains(part), "{words}");
    }
    let prompt = editor.prompt("roof");
    let (_, refused) = editor.end(prompt);
    assert_eq!(refused["error"]["code"], -32602);
    let fix = refused["error"]["message"].as_str().unwrap();
    assert!(fix.contains("window") && fix.contains("door"), "{fix}");
    // It is also asked in an editor that goes on with the session.
    let params = json!({"sessionId": editor.session, "cwd": folder.path(), "mcpServers": []});
    for method in ["session/load", "session/resume"] {
        let id = editor.send(method, &params);
        let (shown, end) = editor.end(id);
        assert!(join_answer(&shown).contains("Which table for Ben?"), "{method}: {shown:?}");
        assert_eq!(end["result"], json!({}));
    }
    let prompt = json!([
        {"type": "text", "text": "door"},
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
    ]);
    let refused = editor.ask("session/prompt", &json!({"sessionId": editor.session, "prompt": prompt}));
    assert!(refused["error"]["message"].as_str().unwrap().contains("without files"), "{refused}");
    let prompt = editor.prompt(" door\n");
    let (after, end) = editor.end(prompt);
    assert_eq!((join_answer(&after).as_str(), reason(&end)), ("chosen: door", "end_turn"));
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_an_answer_that_is_posted_again_is_no_second_message() {
    let (folder, organism) = doors("booking");
    let mut editor = Editor::in_session(folder.path(), &json!({}));
    let prompt = editor.prompt(&book("Ben"));
    editor.end(prompt);
    let resume = json!({"sessionId": editor.session, "cwd": "/", "mcpServers": []});
    let resume = json!({"jsonrpc": "2.0", "id": 6, "method": "session/resume", "params": resume}).to_string();
    let run = run_file(folder.path());
    let token = run.guests.acp.as_ref().unwrap().secret();
    let bearer = format!("Bearer {token}");
    let prompt = json!([{"type": "text", "text": "door"}]);
    let params = json!({"sessionId": editor.session, "prompt": prompt});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "session/prompt", "params": params}).to_string();
    let post = |body: &str, more: &[(&str, &str)]| {
        let mut headers =
            vec![("authorization", bearer.as_str()), ("idempotency-key", "k1"), ("acp-session", "other")];
        headers.extend(more);
        ask_as(&run, "POST", "/acp", &headers, body).body
    };
    // An answer to a question that this editor was not shown is none.
    let early = post(&body, &[]);
    assert!(early.contains("not sent") && early.contains("Which table for Ben?"), "{early}");
    assert!(post(&resume, &[]).contains("Which table for Ben?"));
    let first = post(&body, &[]);
    assert!(first.contains("chosen: door") && first.contains("end_turn"), "{first}");
    // The answer broke off behind its first id, or before it.
    let id = first.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    assert!(id.contains('@'), "{first}");
    for more in [vec![("last-event-id", id.trim()), ("acp-again", "5")], vec![("acp-again", "60000")]] {
        let again = post(&body, &more);
        assert!(again.contains("chosen: door") && again.contains("end_turn"), "{more:?}: {again}");
    }
    let log = systole(folder.path(), &["log", "@last"]).stdout;
    assert_eq!(log.matches("<book>").count(), 1, "{log}");
    // What was said before the prompt was first posted is no answer to it.
    let other = post(&body, &[("acp-again", "0")]);
    assert!(other.contains("takes no text"), "{other}");
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_what_is_decided_elsewhere_is_taken_back_and_an_answer_counts_for_what_was_shown() {
    let (folder, organism) = doors("bank");
    let mut editor = Editor::in_session(folder.path(), &json!({}));
    let prompt = editor.prompt(&pay());
    let (_, first) = editor.next_request();
    // An answer that is none of the options, and one to another hash, change nothing.
    editor.choose(&first, "for-ever");
    let (_, again) = editor.next_request();
    assert!(
        again["params"]["toolCall"]["content"].to_string().contains("none of those that it has"),
        "{again}"
    );
    let id = again["id"].as_str().unwrap();
    let hash = id.split('/').nth(1).unwrap().split('.').nth(1).unwrap();
    let forged = json!({"id": id.replace(hash, "0000000000000000")});
    editor.choose(&forged, "allow");
    assert!(approvals(folder.path()).contains("<pay>"), "it still waits");
    let request = again["params"]["_meta"]["systole/request"].as_str().unwrap().to_owned();
    assert_eq!(systole(folder.path(), &["reject", &request, "--note", "not today"]).code, Some(0));
    let (before, end) = editor.end(prompt);
    let withdrawn = before.iter().find(|one| one["method"] == "$/cancel_request");
    assert_eq!(withdrawn.map(|one| &one["params"]["requestId"]), Some(&again["id"]), "{before:?}");
    assert!(end["error"]["message"].as_str().unwrap().contains("not today"), "{end}");
    // An answer that comes too late decides nothing.
    editor.choose(&again, "allow");
    let prompt = editor.prompt(&pay());
    let (_, asked) = editor.next_request();
    editor.choose(&asked, "allow");
    let (after, _) = editor.end(prompt);
    assert_eq!(join_answer(&after), "Ada1200");
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_only_who_may_decide_is_asked() {
    let (folder, organism) = doors("bank");
    let start = |client: &str| {
        let arguments = ["acp", "--client", client];
        let mut editor = Editor::start_with(folder.path(), &arguments, &TOKENS, &forms());
        editor.begin_session(folder.path());
        editor
    };
    for client in ["guest", "desk"] {
        let mut editor = start(client);
        let prompt = editor.prompt(&pay());
        let (_, told) =
            editor.read_until(|one| !join_texts(std::slice::from_ref(one), "agent_thought_chunk").is_empty());
        let words = join_texts(&[told], "agent_thought_chunk");
        assert!(words.contains("waits for a person") && words.contains("/approvals"), "{client}: {words}");
        let id = words.split(' ').next().unwrap();
        assert_eq!(systole(folder.path(), &["approve", id]).code, Some(0));
        assert_eq!(join_answer(&editor.end(prompt).0), "Ada1200", "{client}");
        assert_eq!(editor.leave(), Some(0));
    }
    let mut editor = start("suite");
    let prompt = editor.prompt(&pay());
    let (_, asked) = editor.next_request();
    // Another client has the name of what waits, and decides nothing.
    let mut other = start("desk");
    other.choose(&asked, "allow");
    assert_eq!(other.leave(), Some(0));
    assert!(approvals(folder.path()).contains("<pay>"), "it still waits");
    editor.choose(&asked, "allow");
    assert_eq!(join_answer(&editor.end(prompt).0), "Ada1200");
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_what_a_person_left_ends_the_prompt_and_is_asked_with_the_next() {
    let (folder, organism) = doors("bank");
    let mut editor = Editor::in_session(folder.path(), &json!({}));
    let prompt = editor.prompt(&pay());
    let (_, asked) = editor.next_request();
    editor.answer(&asked, &json!({"outcome": {"outcome": "cancelled"}}));
    let (told, end) = editor.end(prompt);
    assert_eq!(reason(&end), "end_turn");
    assert!(
        join_answer(&told).contains("a1 waits: http://") && join_answer(&told).contains("goes on with it"),
        "{told:?}"
    );
    let prompt = editor.prompt(&pay());
    let (_, first) = editor.next_request();
    assert_eq!(first["params"]["_meta"], asked["params"]["_meta"], "the earlier one first");
    editor.choose(&first, "reject");
    let (between, second) = editor.next_request();
    assert!(join_answer(&between).contains("declined, without a note"), "{between:?}");
    editor.choose(&second, "allow");
    let (after, end) = editor.end(prompt);
    assert_eq!((join_answer(&after).as_str(), reason(&end)), ("Ada1200", "end_turn"));
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_an_organism_that_comes_back_at_the_same_address_is_found_with_its_new_token() {
    let (folder, organism) = doors("bank");
    let mut editor = Editor::in_session(folder.path(), &json!({}));
    let prompt = editor.prompt(&pay());
    editor.next_request();
    let listen = format!("console.listen={}", run_file(folder.path()).address);
    organism.signal(rustix::process::Signal::KILL);
    organism.end();
    let organism = Running::organism_set(folder.path(), &["--set", &listen], &TOKENS);
    let (_, asked) = editor.next_request();
    editor.choose(&asked, "allow");
    assert_eq!(join_answer(&editor.end(prompt).0), "Ada1200");
    assert!(editor.ask("session/list", &json!({}))["result"]["sessions"].is_array());
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}

#[test]
fn g13_a_permission_outlives_a_killed_organism() {
    let house = house(&[SEARCHES, "{say: There.}"], "");
    let organism = house.run();
    let mut editor = Editor::in_session(house.path(), &json!({}));
    let prompt = editor.prompt("Where?");
    let (_, first) = editor.next_request();
    organism.signal(rustix::process::Signal::KILL);
    organism.end();
    let organism = Running::organism_with(house.path(), &[("MODEL_KEY", KEY), ("WEB_TOKEN", WEB)]);
    // It is asked again, once the organism is there, and the answer to the first request counts too.
    let (_, asked) = editor.next_request();
    assert_eq!(asked["params"]["_meta"], first["params"]["_meta"]);
    editor.choose(&first, "allow");
    let (after, end) = editor.end(prompt);
    assert_eq!((join_answer(&after).as_str(), reason(&end)), ("There.", "end_turn"), "{after:?}");
    assert_eq!(house.asked().len(), 2, "no request to a model was made twice");
    assert_eq!(editor.leave(), Some(0));
    organism.interrupt();
}
