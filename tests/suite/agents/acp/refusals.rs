//! What an editor may not, or cannot: each is the protocol's own error, with what to do, and nothing is half done.

use serde_json::{Value, json};

use super::super::chats::house;
use super::editing::coder;
use super::editor::{Editor, join_texts};
use crate::program::{Running, run_file, systole};

fn read_refusal(answer: &Value) -> (i64, &str) {
    let error = &answer["error"];
    let code = error["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"));
    (code, error["message"].as_str().unwrap())
}

#[test]
fn g13_bad_requests_are_errors_that_say_what_to_do() {
    let (folder, root) = coder();
    let mut editor = Editor::start(folder.path(), &json!({}));
    let outside = folder.path().parent().unwrap();
    let new = |cwd: Value| json!({"cwd": cwd, "mcpServers": []});
    for (cwd, words) in [
        (json!(outside), root.to_str().unwrap()),
        (json!(folder.path()), root.to_str().unwrap()),
        (json!(root.join("nothing/../../..")), root.to_str().unwrap()),
        (json!("project"), "no absolute path"),
        (Value::Null, "cwd is missing"),
    ] {
        let answer = editor.ask("session/new", &new(cwd));
        let (code, message) = read_refusal(&answer);
        assert!(code == -32602 && message.contains(words), "{message}");
    }
    editor.begin_session(&root.join(".").join("../project"));
    let session = editor.session.clone();
    let text = |text: &str| json!({"type": "text", "text": text});
    let audio = json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"});
    let picture = json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"});
    let broken = json!({"type": "image", "data": "?", "mimeType": "image/png"});
    let unknown = format!("{}0", &session[..session.len() - 1]);
    let unknown = if unknown == session { format!("{}1", &session[..session.len() - 1]) } else { unknown };
    for (session, prompt, code, words) in [
        (session.as_str(), json!([text(" ")]), -32602, "no text"),
        (&session, json!([]), -32602, "no text"),
        (&session, json!([text("a"), audio]), -32602, "prompt[1], of type \"audio\""),
        (&session, json!([text("a"), broken]), -32602, "not base64"),
        (&session, json!([text("a"), picture]), -32602, "coder takes no files"),
        ("nothing", json!([text("a")]), -32002, "session/list"),
        (&unknown, json!([text("a")]), -32002, "no session of yours"),
        ("sess-0123456789ab", json!([text("a")]), -32002, "no session of yours"),
        ("sess-0123456789ab.1", json!([text("a")]), -32002, "no session of yours"),
    ] {
        let answer = editor.ask("session/prompt", &json!({"sessionId": session, "prompt": prompt}));
        let (found, message) = read_refusal(&answer);
        assert!(found == code && message.contains(words), "{found}: {message}");
    }
    let listed = editor.ask("session/list", &json!({"cwd": "project"}));
    assert!(read_refusal(&listed).1.contains("no absolute path"), "{listed}");
    for (cursor, words) in [("x", "no such page"), ("-1", "no such page")] {
        let listed = editor.ask("session/list", &json!({"cursor": cursor}));
        assert!(read_refusal(&listed).1.contains(words), "{listed}");
    }
    for method in ["session/set_mode", "session/fork", "nothing"] {
        editor.write_line(&json!({"jsonrpc": "2.0", "id": 99, "method": method}).to_string());
        let (_, answer) = editor.read_until(|one| one["id"] == 99);
        let (code, message) = read_refusal(&answer);
        assert!(code == -32601 && message.contains("session/prompt"), "{message}");
    }
    for (line, code) in
        [("[]", -32600), ("{", -32700), (r#"{"jsonrpc": "2.0", "id": 1.5, "method": "x"}"#, -32600)]
    {
        editor.write_line(line);
        assert_eq!(read_refusal(&editor.read()).0, code, "{line}");
    }
    // A request whose id is too long has its answer under that id all the same.
    let id = "a".repeat(300);
    editor
        .write_line(&json!({"jsonrpc": "2.0", "id": id, "method": "session/list", "params": {}}).to_string());
    let (_, answer) = editor.read_until(|one| one["id"] == id);
    assert!(read_refusal(&answer).1.contains("256 bytes"), "{answer}");
    let long = "a".repeat(9 << 20);
    let answer = editor.ask("session/prompt", &json!({"sessionId": session, "prompt": [text(&long)]}));
    assert!(read_refusal(&answer).1.contains("larger than 8388608 bytes"), "{answer}");
    assert_eq!(editor.leave(), Some(0));
    assert_eq!(systole(folder.path(), &["ps"]).stdout.matches("sess-").count(), 0, "nothing was begun");
}

#[test]
fn g13_servers_of_the_editor_are_not_started_and_it_is_told() {
    let house = house(&[], "");
    let servers = json!([{"name": "files", "command": "/bin/false", "args": [], "env": []}]);
    for (capabilities, kind) in
        [(json!({"session": {"notices": {}}}), "notice"), (json!({}), "agent_thought_chunk")]
    {
        let variables = [("MODEL_KEY", super::super::house::KEY)];
        let mut editor = Editor::start_with(house.path(), &["acp"], &variables, &capabilities);
        editor.send("session/new", &json!({"cwd": house.path(), "mcpServers": servers}));
        let (_, told) = editor.read_until(|one| one["method"] == "session/update");
        let update = &told["params"]["update"];
        assert_eq!(update["sessionUpdate"], kind);
        let words = match kind {
            "notice" => update["title"].as_str().unwrap().to_owned(),
            _ => join_texts(std::slice::from_ref(&told), kind),
        };
        assert!(words.contains("not started: files"), "{words}");
        assert_eq!(editor.leave(), Some(0));
    }
}

#[test]
fn g13_a_session_of_another_client_is_one_that_never_was() {
    let clients =
        "clients: {web: {token_env: WEB_TOKEN, roles: [read]}, far: {token_env: FAR_TOKEN, doors: [v1]}}";
    let house = house(&["{say: One.}"], clients);
    let variables = [
        ("MODEL_KEY", super::super::house::KEY),
        ("WEB_TOKEN", "web-token-0123456789"),
        ("FAR_TOKEN", "far-token-0123456789"),
    ];
    let organism = Running::organism_with(house.path(), &variables);
    let mut own = Editor::in_session(house.path(), &json!({}));
    let prompt = own.prompt("What?");
    let thread = own.end(prompt).1["result"]["_meta"]["systole/thread"].as_str().unwrap().to_owned();
    let mut other = Editor::start_with(house.path(), &["acp", "--client", "web"], &variables, &json!({}));
    for session in [own.session.as_str(), &thread] {
        let params = json!({"sessionId": session, "cwd": house.path(), "mcpServers": []});
        for method in ["session/load", "session/resume", "session/close"] {
            let answer = other.ask(method, &params);
            assert_eq!(read_refusal(&answer).0, -32002, "{method}: {answer}");
        }
        other.session = session.to_owned();
        let prompt = other.prompt("Mine?");
        assert_eq!(read_refusal(&other.end(prompt).1).0, -32002);
        other.cancel();
    }
    assert_eq!(other.ask("session/list", &json!({}))["result"]["sessions"], json!([]));
    // By its own id the thread is a session of the client that opened it, at any door.
    own.session = thread;
    let load =
        own.send("session/load", &json!({"sessionId": own.session, "cwd": house.path(), "mcpServers": []}));
    assert_eq!(join_texts(&own.end(load).0, "user_message_chunk"), "What?");
    assert_eq!((own.leave(), other.leave()), (Some(0), Some(0)));
    organism.interrupt();
}

#[test]
fn g13_a_file_that_has_the_name_lets_no_guest_in() {
    let house = house(&[], "clients: {acp: {token_env: WEB_TOKEN}}");
    let variables = [("MODEL_KEY", super::super::house::KEY), ("WEB_TOKEN", "web-token-0123456789")];
    let organism = Running::organism_with(house.path(), &variables);
    assert!(run_file(house.path()).guests.acp.is_none());
    let ran = systole(house.path(), &["acp"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stderr.contains("lets no client `acp` in") && ran.stderr.contains("--client NAME"),
        "{ran:?}"
    );
    organism.interrupt();
}
