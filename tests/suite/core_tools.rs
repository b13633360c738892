//! What an agent may ask of the core itself: every example in its prompt, and every native tool, passes the real door
//! of the pump, and its answer comes back.

use std::path::Path;

use crate::organism::folder;
use crate::program::{Ran, systole};

/// The answer to each primitive. A plan is recorded, and has no answer.
const ANSWERED: [(&str, Option<&str>); 11] = [
    ("spawn-thread", Some("thread-spawned")),
    ("await-threads", Some("await-over")),
    ("cancel-thread", Some(STRANGER)),
    ("set-timer", Some("timer-set")),
    ("cancel-timer", Some("timer-cancelled")),
    ("ask-person", Some("person-said")),
    ("clear-context", Some("context-cleared")),
    ("recall", Some("recalled")),
    ("todo-until", None),
    ("describe", Some("description")),
    ("list-capabilities", Some("capabilities")),
];

/// No example can know the id of a child: the door accepts it, and the pump knows no such thread.
const STRANGER: &str = "unknown_thread";

const ECHO: &str = "echo '<said xmlns=\"https://xml-pipeline.org/ns/hello/v1\">heard</said>'\n";

/// An organism of one agent and an echo. The agent's model gives these replies.
fn organism(keys: &str, replies: &str) -> tempfile::TempDir {
    let yaml = format!(
        "organism: {{name: hello}}
models: {{main: {{provider: script}}}}
payloads: {{say: text, said: text}}
agents: {{helper: {{model: main, turns: 20, prompt: {{identity: You answer.}}, {keys}}}}}
listeners: {{echo: {{run: [sh, echo.sh], mode: once, accepts: [say], returns: [said]}}}}
"
    );
    folder(&[("organism.yaml", &yaml), ("echo.sh", ECHO), ("replies.yaml", replies)])
}

fn asked(folder: &Path) -> String {
    let ran = systole(folder, &["ask", "What is there?"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

/// The same for an agent that asks a person on the way. The person answers.
fn asked_with_a_person(folder: &Path, choice: &str) -> Ran {
    let send = || systole(folder, &["send", "ask", "What is there?", "--key", "k"]);
    let waits = send();
    assert_eq!(waits.code, Some(6), "{waits:?}");
    let chosen = systole(folder, &["choose", "a1", choice]);
    assert_eq!(chosen.code, Some(0), "{chosen:?}");
    send()
}

fn shown(folder: &Path, command: &str) -> String {
    let ran = systole(folder, &[command, "@last"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

/// The entries of the section about core tools: a line and an example each.
fn section(prompt: &str) -> Vec<(String, String)> {
    let section = prompt.split("<core_tools>\n").nth(1).expect("it is in the prompt");
    let lines: Vec<&str> = section.split("\n</core_tools>").next().unwrap().lines().collect();
    let pair = |pair: &[&str]| {
        let name = pair[0].strip_prefix("- <").and_then(|line| line.split_once(">: ")).unwrap().0;
        (name.to_owned(), pair[1].strip_prefix("  Example: ").unwrap().to_owned())
    };
    lines.chunks(2).map(pair).collect()
}

#[test]
fn e12_every_example_of_the_prompt_passes_the_door_and_is_answered() {
    let end = "<thinking>Done.</thinking><attempt_completion><result>All.</result></attempt_completion>";
    let first = organism("peers: [echo]", &format!("helper: [{{say: '{end}'}}]\n"));
    asked(first.path());
    let examples = section(&shown(first.path(), "context"));
    let names: Vec<&str> = examples.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ANSWERED.map(|(name, _)| name));

    let mut replies = "helper:\n".to_owned();
    for (_, example) in &examples {
        assert!(!example.contains('\''), "{example}");
        replies += &format!("  - say: '<thinking>I try.</thinking>{example}'\n");
    }
    replies += &format!("  - say: '{end}'\n  - say: '{end}'\n");
    let second = organism("peers: [echo]", &replies);
    let ended = asked_with_a_person(second.path(), "yes");
    assert!(ended.code == Some(0) && ended.stdout.contains("All."), "{ended:?}");
    let log = shown(second.path(), "log");
    for (turn, (name, answer)) in (1..).zip(ANSWERED) {
        let wanted = match answer {
            Some(STRANGER) => format!("thread.unknown ({STRANGER})  item 1/{turn}.1\n"),
            Some(answer) => format!("answer to 1/{turn}.1  <{answer}>"),
            None => format!("note 1/{turn}.0"),
        };
        assert!(log.contains(&wanted), "{name}: no {wanted} in\n{log}");
    }
    assert_eq!(log.matches("refused").count(), 1, "{log}");
}

/// The calls of every native tool, in order, and what each result must contain.
const CALLS: [(&str, &str); 10] = [
    ("{spawn_thread: {label: first, tool: say, arguments: {.: a & <b>}}}", "<thread-spawned "),
    ("{await_threads: {mode: all}}", "<await-over reason=\"done\" finished=\"1\" open=\"0\""),
    ("{cancel_thread: {id: sess-0123456789ab.first}}", "<system-thread-error "),
    ("{set_timer: {after: 10m, note: look & <see>, id: look}}", "<timer-set id=\"look\""),
    ("{cancel_timer: {id: look}}", "<timer-cancelled id=\"look\""),
    (
        "{ask_person: {question: a & <b>?, shows: [{seq: 1, label: it}], choices: [go, stop], expires: 1d}}",
        "<person-said outcome=\"chosen\" choice=\"go\" by=\"operator\"/>",
    ),
    (
        "{todo_until: {condition: a & b, steps: [{done: true, text: <look>}, {done: true, text: tell}]}}",
        "recorded",
    ),
    ("{recall: {from_seq: 1, to_seq: 1, offset: 0, length: 9}}", "<recalled from_seq=\"1\" to_seq=\"1\""),
    ("{clear_context: {keep: 100}}", "<context-cleared "),
    ("{say: {.: hello}}", "heard"),
];

#[test]
fn e12_every_native_tool_of_the_core_is_answered_as_the_result_of_its_call() {
    for dialect in ["native", "xml-final"] {
        let mut replies = "helper:\n".to_owned();
        for (call, _) in CALLS {
            replies += &format!("  - call: {call}\n");
        }
        // A script cannot know the code of a final's slot, so the last word is a report there.
        replies += "  - say: 'x'\n  - say: 'y'\n  - say: 'z'\n";
        let house = organism(&format!("peers: [echo], dialect: {dialect}, actions: many"), &replies);
        let ended = asked_with_a_person(house.path(), "go");
        assert_eq!(ended.code, Some(i32::from(dialect == "xml-final")), "{ended:?}");
        let ran = systole(house.path(), &["context", "@last", "--json"]);
        let prompt: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        let mut results = Vec::new();
        found(&prompt, &mut results);
        assert!(results.len() == CALLS.len(), "{dialect}: {results:?}\n{}", ran.stdout);
        for ((call, wanted), told) in CALLS.iter().zip(&results) {
            assert!(told.contains(wanted), "{dialect}: {call}: {told}");
        }
        let log = shown(house.path(), "log");
        let refused =
            log.lines().filter(|line| line.contains("refused to") && !line.contains("final-missing"));
        assert_eq!(refused.count(), 1, "only the stranger: {log}");
        let todo = shown(house.path(), "todo");
        assert!(todo.contains("until a & b\n  [x] <look>\n  [x] tell\n"), "{todo}");
        let tree = systole(house.path(), &["tree", "@last", "--all"]).stdout;
        assert!(tree.contains(".first"), "the label is the model's: {tree}");
    }
}

/// The text of every result in the value, in order.
fn found(value: &serde_json::Value, out: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(map) => {
            if let Some(text) = map.get("result").and_then(|result| result["text"].as_str()) {
                out.push(text.to_owned());
            }
            map.values().for_each(|inside| found(inside, out));
        }
        serde_json::Value::Array(list) => list.iter().for_each(|inside| found(inside, out)),
        _ => {}
    }
}

/// A long output is shown in part, with the call that reads on. The call works unchanged.
#[test]
fn e8_a_long_output_is_read_on_with_what_the_dialect_has() {
    let rows = [
        (
            "native",
            "call: {say: {.: x}}",
            "read on with recall (\\{\"from_seq\": 3, \"to_seq\": 3, \"offset\": 4096\\})",
            "call: {recall: {from_seq: 3, to_seq: 3, offset: 4096}}",
            "say: All.",
        ),
        (
            "xml",
            "say: <thinking>x</thinking><say>x</say>",
            "read on with &lt;recall from_seq=\"4\" to_seq=\"4\" offset=\"4096\"/&gt;",
            "say: <thinking>x</thinking><recall from_seq=\"4\" to_seq=\"4\" offset=\"4096\"/>",
            "say: <thinking>x</thinking><attempt_completion><result>All.</result></attempt_completion>",
        ),
    ];
    for (dialect, first, need, second, end) in rows {
        let replies = format!(
            "helper:\n  - {first}\n  - need: ['{need}']\n    {second}\n  - need: ['the end']\n    {end}\n"
        );
        let house = organism(&format!("peers: [echo], dialect: {dialect}"), &replies);
        let long = format!(
            "echo '<said xmlns=\"https://xml-pipeline.org/ns/hello/v1\">{}the end</said>'\n",
            "long ".repeat(1_000)
        );
        std::fs::write(house.path().join("echo.sh"), long).unwrap();
        assert_eq!(asked(house.path()), "All.\n", "{dialect}");
    }
}

/// A need that a script does not meet stays unmet in a second try: it is reported at once, with its reason.
#[test]
fn e13_an_unmet_need_is_reported_at_once_with_its_place() {
    let house = organism("peers: [echo]", "helper: [{say: x}, {need: [nowhere], say: y}, {say: z}]\n");
    let ran = systole(house.path(), &["ask", "What is there?"]);
    let told = "model main, agent helper: answer 2 needs `nowhere` in the prompt, which has none\n";
    assert!(ran.code == Some(1) && ran.stderr.contains(told), "{ran:?}");
    let log = shown(house.path(), "log");
    assert_eq!(log.matches("calls model main").count(), 2, "{log}");
}

/// An answer whose condition does not yet hold is skipped and stays available.
#[test]
fn e13_an_answer_on_condition_is_used_where_the_last_thing_shown_holds_it() {
    let end = |words: &str| {
        format!("<thinking>x</thinking><attempt_completion><result>{words}</result></attempt_completion>")
    };
    let replies = format!(
        "helper:\n  - {{if: heard, say: '{}'}}\n  - say: '<thinking>x</thinking><say>x</say>'\n  - {{if: nothing, say: '{}'}}\n  - {{if: heard, say: '{}'}}\n",
        end("Heard."),
        end("Not shown."),
        end("Too late.")
    );
    assert_eq!(asked(organism("peers: [echo]", &replies).path()), "Heard.\n");
}
