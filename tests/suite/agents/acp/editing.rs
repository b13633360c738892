//! The organism `config/coder` in editors: a change that a person allows is the one that runs.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::editor::{Editor, Library, join_answer, reason, updates};
use crate::program::{Running, systole};

const TASK: &str = "The tests fail. Fix them.";
const WAS: &str = "    return amount - amount * discount\n";
const NOW: &str = "    return amount - amount * discount / 100\n";

/// A copy of that organism, and the folder that it works in.
pub(super) fn coder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/coder");
    std::fs::create_dir(folder.path().join("project")).unwrap();
    for name in ["organism.yaml", "replies.yaml", "project/prices.py", "project/test_prices.py"] {
        std::fs::copy(from.join(name), folder.path().join(name)).unwrap();
    }
    let file = folder.path().join("organism.yaml");
    let yaml = std::fs::read_to_string(&file).unwrap();
    // Where the tests look for a log.
    std::fs::write(&file, format!("{yaml}log: {{path: ./hello.db}}\nconsole: {{listen: \"127.0.0.1:0\"}}\n"))
        .unwrap();
    let root = std::fs::canonicalize(folder.path().join("project")).unwrap();
    (folder, root)
}

fn prices(root: &Path) -> String {
    std::fs::read_to_string(root.join("prices.py")).unwrap()
}

fn diff_of(call: &Value) -> &Value {
    let content = call["content"].as_array().unwrap_or_else(|| panic!("no content: {call}"));
    content.iter().find(|one| one["type"] == "diff").unwrap_or_else(|| panic!("no diff: {call}"))
}

#[test]
fn g13_the_change_that_a_person_allows_is_shown_as_a_diff_and_runs() {
    let (folder, root) = coder();
    let mut editor = Editor::start(folder.path(), &json!({}));
    editor.begin_session(&root);
    let prompt = editor.prompt(TASK);
    let (before, asked) = editor.next_request();
    assert_eq!(asked["method"], "session/request_permission");
    let call = &asked["params"]["toolCall"];
    let shown = diff_of(call);
    assert_eq!(
        (&shown["path"], &shown["oldText"], &shown["newText"]),
        (&json!(root.join("prices.py")), &json!(WAS), &json!(NOW))
    );
    assert_eq!(call["locations"], json!([{"path": root.join("prices.py"), "line": 7}]));
    let kinds: Vec<&str> = asked["params"]["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["allow_once", "reject_once"], "what is allowed for ever is never offered");
    // What runs beside the edit is shown too, with the hash of all of it.
    let hash = asked["params"]["_meta"]["systole/hash"].as_str().unwrap();
    let words = call["content"].as_array().unwrap().last().unwrap()["content"]["text"].as_str().unwrap();
    assert!(words.contains("python3 -m unittest") && words.contains(hash), "{words}");
    assert!(prices(&root).contains(WAS), "nothing has happened yet");
    let calls = updates(&before, "tool_call");
    let kinds: Vec<&str> = calls.iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["search", "edit", "edit"]);
    assert_eq!(calls[2]["toolCallId"], call["toolCallId"], "the permission is about the call that was shown");

    editor.choose(&asked, "allow");
    let (after, end) = editor.end(prompt);
    assert_eq!(reason(&end), "end_turn");
    assert!(join_answer(&after).contains("all 3 tests pass"), "{after:?}");
    assert!(prices(&root).contains(NOW), "what was shown is what runs");
    let ended: Vec<&Value> =
        updates(&after, "tool_call_update").into_iter().filter(|one| one["status"] == "completed").collect();
    assert_eq!(ended.len(), 2, "{after:?}");
    assert!(ended.iter().any(|one| one["toolCallId"] == call["toolCallId"] && one["content"].is_null()));
    let log = systole(folder.path(), &["log", end["result"]["_meta"]["systole/thread"].as_str().unwrap()]);
    assert!(log.stdout.contains("approved"), "{}", log.stdout);
    assert_eq!(editor.leave(), Some(0));
    assert!(systole(folder.path(), &["blame", "project/prices.py:7"]).stdout.contains("acp"));
}

#[test]
fn g13_the_stock_libraries_allow_reject_cancel_list_and_load() {
    for library in Library::BOTH {
        let (folder, root) = coder();
        let new = json!({"new": {"cwd": root, "mcpServers": []}});
        let load = json!({"load": {"sessionId": "$session", "cwd": root, "mcpServers": []}});
        let script = json!({
            "steps": [
                new.clone(), {"prompt": TASK},
                new, {"prompt": TASK, "cancel_on": "permission"}, {"list": {}}, load.clone(),
                {"prompt": TASK}, {"list": {"cwd": root}}, load, {"close": {"sessionId": "$session"}},
            ],
            "permissions": ["reject", "allow"],
        });
        let (code, seen) = library.play(folder.path(), &script);
        assert_eq!((code, &seen["exit"]), (Some(0), &json!(0)), "{library:?}: {seen}");
        let results: Vec<&Value> =
            seen["steps"].as_array().unwrap().iter().map(|one| &one["result"]).collect();
        let reasons: Vec<&str> =
            [1, 3, 6].map(|at| results[at]["stopReason"].as_str().unwrap_or("none")).into();
        assert_eq!(reasons, ["end_turn", "cancelled", "end_turn"], "{library:?}: {seen}");
        let texts_of = |step: usize, kind: &str| -> String {
            let all = seen["updates"].as_array().unwrap().iter();
            let own = all.filter(|one| one["step"] == step && one["update"]["sessionUpdate"] == kind);
            own.map(|one| one["update"]["content"]["text"].as_str().unwrap()).collect()
        };
        let agent = "agent_message_chunk";
        assert!(texts_of(1, agent).contains("a person turned the change down"), "{library:?}: {seen}");
        assert!(texts_of(6, agent).contains("all 3 tests pass"), "{library:?}: {seen}");
        assert!(prices(&root).contains(NOW), "{library:?}");
        // A list has each session once, and a load has what was said in it.
        assert_eq!(results[4]["sessions"].as_array().map(Vec::len), Some(2), "{library:?}: {seen}");
        assert_eq!(results[7]["sessions"][0]["cwd"], json!(root), "{library:?}: {seen}");
        assert_eq!(texts_of(5, "user_message_chunk"), TASK, "{library:?}: {seen}");
        assert_eq!(texts_of(8, "user_message_chunk"), format!("{TASK}{TASK}"), "{library:?}: {seen}");
        assert_eq!(texts_of(8, agent), texts_of(6, agent), "{library:?}: {seen}");
        let diffs = seen["updates"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["step"] == 8 && one["update"]["content"][0]["type"] == "diff");
        assert_eq!(
            diffs.count(),
            2,
            "{library:?}: both changes that were shown, also the cancelled one: {seen}"
        );
    }
}

#[test]
fn g13_an_editor_that_dies_during_a_permission_loses_nothing() {
    for library in Library::BOTH {
        let (folder, root) = coder();
        let organism = Running::organism(folder.path());
        let script = json!({
            "steps": [{"new": {"cwd": root, "mcpServers": []}}, {"prompt": TASK}],
            "permissions": [{"then": "exit"}],
        });
        assert_eq!(library.play(folder.path(), &script).0, Some(9));
        let mut editor = Editor::start(folder.path(), &json!({}));
        let listed = editor.ask("session/list", &json!({}));
        let session = &listed["result"]["sessions"][0];
        assert_eq!(session["title"], TASK);
        editor.session = session["sessionId"].as_str().unwrap().to_owned();
        let load = json!({"sessionId": editor.session, "cwd": root, "mcpServers": []});
        let load = editor.send("session/load", &load);
        let (replayed, loaded) = editor.end(load);
        assert_eq!(loaded["result"], json!({}));
        assert!(join_answer(&replayed).contains("the next prompt goes on with it"), "{replayed:?}");
        assert!(prices(&root).contains(WAS), "no one has allowed it");
        // The next prompt goes on with what is open, and then with itself.
        let prompt = editor.prompt("And now?");
        let (_, asked) = editor.next_request();
        assert_eq!(diff_of(&asked["params"]["toolCall"])["newText"], NOW);
        editor.choose(&asked, "allow");
        let (between, also) = editor.next_request();
        assert!(join_answer(&between).contains("all 3 tests pass"), "{between:?}");
        assert!(prices(&root).contains(NOW));
        editor.choose(&also, "reject");
        let (after, end) = editor.end(prompt);
        assert_eq!(reason(&end), "end_turn");
        assert!(join_answer(&after).contains("a person turned the change down"), "{after:?}");
        assert_eq!(editor.leave(), Some(0));
        organism.interrupt();
    }
}
