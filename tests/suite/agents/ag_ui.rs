//! Runs over AG-UI, by the stock client of the protocol's authors: what it shows; interrupts and their answers; and
//! several tabs.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::chats::{ChatClient, HELD, SEARCHES, WEB, approve_searches, house, run_with_web};
use super::house::{AgentHouse, AgentPlan, Critic};
use crate::program::{ask, run_file};

pub(super) const ALL: &str = "doors: {ag-ui: {show: all}}\nclients: {web: {token_env: WEB_TOKEN, doors: [ag-ui], roles: [approve-own]}}";
const FETCH: &str = include_str!("../../../docs/doors/resuming-fetch.mjs");

/// A web app in its process.
pub(super) struct WebApp(ChatClient);

impl WebApp {
    pub(super) fn start(house: &AgentHouse) -> WebApp {
        WebApp::start_at(house, &run_file(house.path()).address.to_string(), WEB)
    }

    pub(super) fn start_at(house: &AgentHouse, address: &str, token: &str) -> WebApp {
        std::fs::write(house.path().join("resuming-fetch.mjs"), FETCH).unwrap();
        let program = ("ag_ui_client.mjs", include_str!("ag_ui_client.mjs"));
        WebApp(ChatClient::start_node(house.path(), program, &[&format!("http://{address}"), token]))
    }

    pub(super) fn send(&mut self, wanted: &Value) {
        self.0.send(wanted);
    }

    /// The next words of a run that is on its way.
    pub(super) fn hear(&self) -> Value {
        let line = self.0.read_line();
        assert!(line.get("event").is_some(), "{line}");
        line["event"].clone()
    }

    /// Hears up to so many pieces. What the client has if the run is over before.
    pub(super) fn hear_up_to(&self, pieces: u64) -> Option<Value> {
        for _ in 0..pieces {
            let line = self.0.read_line();
            if line.get("event").is_none() {
                return Some(line["said"].clone());
            }
        }
        None
    }

    /// What the client has once the run is over.
    pub(super) fn end(&self) -> Value {
        loop {
            let line = self.0.read_line();
            if line.get("event").is_none() {
                assert!(!line["said"].is_null(), "{line}");
                let warned = line["warnings"].as_array().is_some_and(Vec::is_empty);
                assert!(warned, "the client had to put right what came: {line}");
                return line["said"].clone();
            }
        }
    }

    pub(super) fn run(&mut self, wanted: &Value) -> Value {
        self.send(wanted);
        self.end()
    }
}

pub(super) fn count(said: &Value, kind: &str) -> usize {
    said["kinds"].as_array().unwrap().iter().filter(|one| *one == kind).count()
}

fn first_interrupt(said: &Value) -> Value {
    assert_eq!(said["outcome"]["type"], "interrupt", "{said}");
    said["interrupts"][0].clone()
}

const FOUND: &str = r#"{"query":"moon"}"#;

#[test]
fn g11_a_stock_client_and_an_agent_have_one_conversation_also_after_a_restart() {
    let house = house(&["{thinking: I think., say: One.}", "{say: Two.}", "{say: Three.}"], ALL);
    let organism = run_with_web(&house);
    let mut app = WebApp::start(&house);
    let first = app.run(&json!({"say": "first?", "run": "r1"}));
    let thought = json!([["user", "first?"], ["reasoning", "I think."], ["assistant", "One."]]);
    assert_eq!(first["messages"], thought, "{first}");
    assert_eq!((&first["result"], &first["outcome"]["type"]), (&json!("One."), &json!("success")));
    assert!(first["usage"][0]["inputTokens"].as_u64().is_some_and(|tokens| tokens > 0), "{first}");
    assert_eq!((&first["customs"], first["errors"].as_array().map(Vec::len)), (&json!([]), Some(0)));
    let second = app.run(&json!({"say": "second?", "tools": [{"name": "x", "description": "y"}]}));
    assert_eq!(second["result"], "Two.");
    assert_eq!(second["customs"], json!([["systole.ignored", ["tools"]]]), "{second}");
    organism.interrupt();
    // The same thread goes on over the routes for programs, and is read by a new tab.
    let organism = run_with_web(&house);
    let path = "/v1/messages?thread=@agui.t";
    let other = ask(&run_file(house.path()), "POST", path, &[], "<ask>x</ask>");
    assert_ne!(
        other.json["thread"],
        first["ids"][1].as_str().unwrap().split('#').next().unwrap(),
        "{other:?}"
    );
    let mut tab = WebApp::start(&house);
    let third = tab.run(&json!({"say": "third?"}));
    assert_eq!(third["result"], "Three.");
    assert!(house.asked().last().unwrap().body.to_string().contains("first?"), "the thread is the memory");
    let read = tab.run(&json!({"show": true, "tab": "new"}));
    let said = json!([
        ["user", "first?"],
        ["assistant", "One."],
        ["user", "second?"],
        ["assistant", "Two."],
        ["user", "third?"],
        ["assistant", "Three."],
    ]);
    assert_eq!((&read["messages"], read["thrown"].is_null()), (&said, true), "{read}");
    organism.interrupt();
}

#[test]
fn g11_an_interrupt_is_approved_rejected_and_edited() {
    let searches = |query: &str| format!("{{say: I look., call: {{search: {{query: {query}}}}}}}");
    let replies = [
        searches("moon"),
        "{say: There.}".into(),
        searches("sun"),
        "{say: Not there.}".into(),
        searches("stars"),
        "{say: Comets.}".into(),
    ];
    let replies: Vec<&str> = replies.iter().map(String::as_str).collect();
    let house = house(&replies, ALL);
    let organism = run_with_web(&house);
    let mut app = WebApp::start(&house);
    let asked = app.run(&json!({"say": "Where is the moon?"}));
    let interrupt = first_interrupt(&asked);
    // What was said before the call is no answer.
    let calls = json!(["calls", ["search.search", FOUND]]);
    assert_eq!(asked["messages"], json!([["user", "Where is the moon?"], calls]), "{asked}");
    assert_eq!((&interrupt["reason"], &interrupt["toolCallId"]), (&json!("tool_call"), &asked["ids"][1]));
    assert!(interrupt["message"].as_str().unwrap().contains("<query>moon</query>"), "{interrupt}");
    assert_eq!(interrupt["responseSchema"]["properties"]["editedArgs"]["required"], json!(["query"]));
    assert_eq!(asked["states"][0]["waits"], json!([interrupt["id"]]));
    let approve = json!({"resume": [{"status": "resolved", "payload": {"approved": true}}]});
    let done = app.run(&approve);
    let all = json!([["user", "Where is the moon?"], calls, ["tool", "FOUND moon"], ["assistant", "There."]]);
    assert_eq!((&done["messages"], &done["states"][0]["waits"]), (&all, &json!([])), "{done}");
    // The same decision again is taken, another one is not.
    let id = &interrupt["id"];
    let again = app.run(&json!({"tab": "b", "resume": [{"interruptId": id, "status": "resolved", "payload": {"approved": true}}]}));
    assert_eq!((&again["result"], count(&again, "RUN_STARTED")), (&json!("There."), 1), "{again}");
    let other = app.run(&json!({"tab": "c", "resume": [{"interruptId": id, "status": "resolved", "payload": {"approved": false}}]}));
    assert_eq!(other["errors"][0][0], "approval.decided", "{other}");
    app.run(&json!({"say": "And the sun?"}));
    let rejected = app
        .run(&json!({"resume": [{"status": "resolved", "payload": {"approved": false, "note": "too hot"}}]}));
    assert!(rejected["messages"].to_string().contains("web rejected it: too hot"), "{rejected}");
    assert_eq!(rejected["result"], "Not there.");
    let stars = app.run(&json!({"say": "And the stars?"}));
    let id = first_interrupt(&stars)["id"].clone();
    let edit = |args: Value| json!({"resume": [{"interruptId": id, "status": "resolved", "payload": {"approved": true, "editedArgs": args}}]});
    let wrong = app.run(&edit(json!({"query": 5, "more": 1})));
    let words = wrong["errors"][0][1].as_str().unwrap_or_else(|| panic!("{wrong}"));
    assert!(
        words.contains("more: is not known in search") && words.contains("query: is a number"),
        "{words}"
    );
    let edited = app.run(&edit(json!({"query": "comets"})));
    assert_eq!(edited["result"], "Comets.", "{edited}");
    assert!(edited["messages"].to_string().contains("FOUND comets"), "{edited}");
    for (query, tab) in [("comets", "d"), ("mars", "e")] {
        let mut again = edit(json!({"query": query}));
        again["tab"] = json!(tab);
        let said = app.run(&again);
        let is_same = tab == "d";
        assert_eq!(
            (said["result"] == "Comets.", said["errors"][0][0] == "approval.decided"),
            (is_same, !is_same),
            "{said}"
        );
    }
    organism.interrupt();
}

#[test]
fn g11_an_interrupt_is_answered_as_it_is_or_not_at_all() {
    let house = house(&[SEARCHES, "{say: Not there.}", SEARCHES, "{say: There.}"], ALL);
    let organism = run_with_web(&house);
    let mut app = WebApp::start(&house);
    let asked = app.run(&json!({"say": "Where is the moon?", "run": "r1"}));
    let id = first_interrupt(&asked)["id"].as_str().unwrap().to_owned();
    // A tab that does not know of the interrupt leaves it out.
    let left = app.run(&json!({"tab": "b", "say": "And?"}));
    assert_eq!(left["errors"][0][0], "approval.open", "{left}");
    assert!(left["errors"][0][1].as_str().unwrap().starts_with(&id), "{left}");
    let answer = |id: &str, payload: Value| json!({"tab": "c", "resume": [{"interruptId": id, "status": "resolved", "payload": payload}]});
    let other = format!("{}.{}", id.split('.').next().unwrap(), "0".repeat(16));
    for (wanted, code) in [
        (answer(&other, json!({"approved": true})), "approval.mismatch"),
        (answer("a99.00", json!({"approved": true})), "approval.unknown"),
        (answer("nonsense", json!({"approved": true})), "approval.unknown"),
    ] {
        let refused = app.run(&wanted);
        let said = refused["errors"][0][0].clone();
        let thrown = refused["thrown"]["payload"]["code"].clone();
        assert!(said == code || thrown == code, "{code}: {refused}");
    }
    let taken = app.run(&json!({"tab": "g", "say": "Something else?", "run": "r1"}));
    assert_eq!(taken["thrown"]["status"], 409, "a run is one message: {taken}");
    let twice = json!({"interruptId": id, "status": "cancelled"});
    let twice = app.run(&json!({"tab": "h", "resume": [twice, twice]}));
    assert_eq!(twice["thrown"]["status"], 400, "{twice}");
    let unread = app.run(&answer(&id, json!({"okay": true})));
    assert_eq!(unread["thrown"]["status"], 400, "{unread}");
    let mut late = answer(&id, json!({"approved": true}));
    late["say"] = json!("One more thing");
    let lost = app.run(&late);
    assert!(lost["thrown"]["payload"]["message"].as_str().unwrap().contains("would be lost"), "{lost}");
    // Nothing of that has decided. A second tab with the same run is asked too, and its cancel rejects.
    let again = app.run(&json!({"tab": "d", "say": "Where is the moon?", "run": "r1"}));
    assert_eq!(first_interrupt(&again)["id"], id.as_str());
    let cancelled = app.run(&json!({"tab": "d", "resume": [{"status": "cancelled"}]}));
    assert_eq!(cancelled["result"], "Not there.", "{cancelled}");
    let late = app.run(&json!({"tab": "f", "resume": [{"interruptId": id, "status": "cancelled"}]}));
    assert_eq!(late["result"], "Not there.", "to leave what waits no longer changes nothing: {late}");
    organism.interrupt();
}

#[test]
fn g11_a_decision_is_joined_also_where_something_else_waits_by_now() {
    let sun = "{thinking: The sun., say: I look., call: {search: {query: sun}}}";
    let house = house(&[SEARCHES, sun, "{say: One., thinking: First.}"], ALL);
    let organism = run_with_web(&house);
    let mut app = WebApp::start(&house);
    let first = first_interrupt(&app.run(&json!({"say": "Where are they?"})))["id"].clone();
    let approve =
        json!({"resume": [{"interruptId": first, "status": "resolved", "payload": {"approved": true}}]});
    let second = app.run(&approve);
    let asked = first_interrupt(&second);
    assert_ne!(asked["id"], first, "{second}");
    // A thought on its way is on no record: a client that follows a moment late has nothing of it.
    let mut thoughts = second["messages"].as_array().unwrap().iter().filter(|one| one[0] == "reasoning");
    assert!(thoughts.all(|one| one[1] == "The sun."), "{second}");
    // The same request again, from a tab that has nothing of it, and once more from the tab that has all.
    let mut tab = approve.clone();
    tab["tab"] = json!("b");
    let joined = app.run(&tab);
    tab["forget"] = json!(true);
    let again = app.run(&tab);
    for said in [&joined, &again] {
        assert_eq!(first_interrupt(said), asked, "{said}");
    }
    assert_eq!(joined["messages"], again["messages"], "nothing comes twice");
    let found = json!(["tool", "FOUND moon"]);
    let count =
        |said: &Value| said["messages"].as_array().unwrap().iter().filter(|one| **one == found).count();
    assert_eq!((count(&second), count(&joined)), (1, 1), "{joined}");
    // What waits in a run that was stopped is left by a cancel.
    let stop = json!({"method": "POST", "path": "/ag-ui/helper/threads/t/stop"});
    assert_eq!(app.run(&stop)["status"], 200);
    let left = app.run(&json!({"resume": [{"status": "cancelled"}]}));
    assert_eq!((&left["outcome"]["type"], &left["interrupts"]), (&json!("cancelled"), &json!([])), "{left}");
    assert_eq!(app.run(&json!({"say": "And now?"}))["result"], "One.");
    organism.interrupt();
}

#[test]
fn g11_a_question_is_answered_or_its_run_is_stopped() {
    let asks = "{call: {ask_person: {question: Go?, choices: [go, stop], expires: 1d}}}";
    let answers = ALL.replace("approve-own", "answer");
    let house = house(&[asks, "{say: Gone.}", asks], &answers);
    let organism = run_with_web(&house);
    let mut app = WebApp::start(&house);
    let asked = app.run(&json!({"say": "Shall we?"}));
    let interrupt = first_interrupt(&asked);
    let form = &interrupt["responseSchema"]["properties"];
    assert_eq!(
        (&interrupt["reason"], form),
        (&json!("input_required"), &json!({"choice": {"type": "string", "enum": ["go", "stop"]}}))
    );
    assert!(interrupt["message"].as_str().unwrap().contains("Go?"), "{interrupt}");
    let choose = |choice: &str| json!({"resume": [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"choice": choice}}]});
    let wrong = app.run(&choose("perhaps"));
    assert_eq!(wrong["errors"][0][0], "question.invalid-choice", "{wrong}");
    let done = app.run(&choose("go"));
    assert_eq!(done["result"], "Gone.", "{done}");
    let late = |choice: &str, tab: &str| {
        let mut late = choose(choice);
        late["tab"] = json!(tab);
        late
    };
    assert_eq!(app.run(&late("go", "b"))["result"], "Gone.", "the same answer again is taken");
    assert_eq!(app.run(&late("stop", "c"))["errors"][0][0], "approval.decided");
    let second = first_interrupt(&app.run(&json!({"say": "And now?"})));
    let cancel = json!([{"interruptId": second["id"], "status": "cancelled"}]);
    for tab in [json!(null), json!("d")] {
        let stopped = app.run(&json!({"tab": tab, "resume": cancel}));
        assert_eq!(stopped["outcome"], json!({"type": "cancelled"}), "{stopped}");
    }
    organism.interrupt();
}

#[test]
fn g11_a_run_that_is_tried_again_is_interrupted_and_goes_on() {
    let house = house(&["{error: {status: 400}}", SEARCHES, "{say: There.}"], ALL);
    let organism = run_with_web(&house);
    let mut app = WebApp::start(&house);
    let failed = app.run(&json!({"say": "Where is the moon?", "run": "r1"}));
    assert_eq!(failed["kinds"].as_array().unwrap().last().unwrap(), "RUN_ERROR", "{failed}");
    assert!(!failed["errors"][0][1].as_str().unwrap().is_empty(), "{failed}");
    let retried = house.systole(&["retry", "@last", "--yes"]);
    assert_eq!(retried.code, Some(0), "{retried:?}");
    let joined = app.run(&json!({"run": "r1"}));
    first_interrupt(&joined);
    let done = app.run(&json!({"resume": [{"status": "resolved", "payload": {"approved": true}}]}));
    assert_eq!(done["result"], "There.", "{done}");
    organism.interrupt();
}

#[test]
fn g11_who_may_not_decide_is_shown_what_waits_until_it_is_decided() {
    let house = house(
        &[SEARCHES, "{say: There.}"],
        "doors: {ag-ui: {show: answer}}\nclients: {web: {token_env: WEB_TOKEN}}",
    );
    let organism = run_with_web(&house);
    let mut app = WebApp::start(&house);
    app.send(&json!({"say": "Where is the moon?"}));
    let waits = std::iter::from_fn(|| Some(app.hear())).find_map(|heard| heard.get("activity").cloned());
    let at = format!("http://{}/approvals", run_file(house.path()).address);
    assert_eq!(waits, Some(json!({"requests": ["a1"], "at": at})));
    let mut other = WebApp::start(&house);
    let listed = ask(&run_file(house.path()), "GET", "/v1/approvals", &[], "").json.to_string();
    let hash = listed.split("\"hash\":\"").nth(1).unwrap_or_else(|| panic!("{listed}"));
    let id = format!("a1.{}", &hash[..16]);
    let mine = json!({"resume": [{"interruptId": id, "status": "resolved", "payload": {"approved": true}}]});
    let refused = other.run(&mine);
    assert_eq!(
        (&refused["errors"][0][0], refused["result"].is_null()),
        (&json!("ingress.forbidden"), true),
        "{refused}"
    );
    let approved =
        ask(&run_file(house.path()), "POST", "/v1/approvals/a1", &[], r#"{"outcome": "approved"}"#);
    assert_eq!(approved.status, 200, "{approved:?}");
    let done = app.end();
    assert_eq!(
        (&done["result"], &done["activities"][1]),
        (&json!("There."), &json!({"requests": []})),
        "{done}"
    );
    assert_eq!(done["messages"], json!([["user", "Where is the moon?"], ["assistant", "There."]]));
    organism.interrupt();
}

#[test]
fn g11_who_works_for_a_run_is_shown_also_while_it_waits() {
    let critic = format!("[{SEARCHES}, {{say: It is.}}]");
    let plan = AgentPlan {
        replies: "[{call: {ask: {\".\": Is it there?}}}, {say: The critic is content.}]",
        critic: Critic { acts: "dialect: native, peers: [search]", ..Critic::says(&critic) },
        rest: ALL,
        ..AgentPlan::default()
    };
    let house = approve_searches(AgentHouse::build(&plan));
    let organism = run_with_web(&house);
    let mut app = WebApp::start(&house);
    let asked = app.run(&json!({"say": "Is the moon there?"}));
    let helper =
        first_interrupt(&asked)["toolCallId"].as_str().unwrap().rsplit_once('/').unwrap().0.to_owned();
    let id = asked["interrupts"][0]["id"].clone();
    let begun = json!(["SUBAGENT_STARTED", "critic", helper, null, null]);
    let held = json!(["SUBAGENT_FINISHED", null, helper, null, {"type": "suspended", "interruptIds": [id]}]);
    assert_eq!(asked["subagents"], json!([begun, held]), "{asked}");
    let search = json!(["calls", ["search.search", FOUND]]);
    assert_eq!(asked["messages"][2], search, "{asked}");
    let done = app.run(&json!({"resume": [{"status": "resolved", "payload": {"approved": true}}]}));
    let over = json!(["SUBAGENT_FINISHED", null, helper, null, {"type": "success"}]);
    assert_eq!(done["subagents"], json!([begun, over]), "the same one goes on: {done}");
    let found = json!(["tool", "FOUND moon", helper]);
    assert!(done["messages"].as_array().unwrap().contains(&found), "{done}");
    assert_eq!(done["result"], "The critic is content.");
    organism.interrupt();
}

#[test]
fn g11_threads_below_a_run_are_helpers_of_it() {
    let spawn = |label: &str| {
        format!("{{call: {{spawn_thread: {{label: {label}, tool: ask, arguments: {{\".\": {label}?}}}}}}}}")
    };
    let wait = "{call: {await_threads: {mode: all}}}";
    let replies = format!("[{}, {}, {wait}, {{say: Done.}}]", spawn("one"), spawn("two"));
    let critic = Critic {
        acts: "dialect: native, peers: [search]",
        ..Critic::says("[{call: {search: {query: moon}}}, {say: Seen., times: always}]")
    };
    let plan = AgentPlan { replies: &replies, critic, rest: ALL, ..AgentPlan::default() };
    let house = AgentHouse::build(&plan);
    let organism = run_with_web(&house);
    let mut app = WebApp::start(&house);
    let done = app.run(&json!({"say": "Both?"}));
    assert_eq!(done["result"], "Done.", "{done}");
    let of = |kind: &str| {
        let all = done["subagents"].as_array().unwrap().iter().filter(|one| one[0] == kind);
        all.map(|one| one[2].as_str().unwrap()).collect::<BTreeSet<_>>()
    };
    let begun = of("SUBAGENT_STARTED");
    assert_eq!((begun.len(), &of("SUBAGENT_FINISHED")), (2, &begun), "{done}");
    let messages = done["messages"].as_array().unwrap();
    let found = messages.iter().find(|one| one[1] == "FOUND moon").unwrap_or_else(|| panic!("{done}"));
    assert!(begun.contains(found[2].as_str().unwrap()), "a helper searched: {done}");
    organism.interrupt();
}

#[test]
fn g11_a_stop_button_stops_the_run_and_a_lost_connection_does_not() {
    let house = house(&[HELD, HELD], ALL);
    let organism = run_with_web(&house);
    let mut app = WebApp::start(&house);
    app.send(&json!({"say": "What?", "run": "r1"}));
    let heard = app.hear();
    assert!("First words come.".starts_with(heard.as_str().unwrap().trim_end()), "{heard}");
    let mut other = WebApp::start(&house);
    let stop = json!({"method": "POST", "path": "/ag-ui/helper/threads/t/stop"});
    assert_eq!(other.run(&stop), json!({"status": 200, "body": {"threadId": "t", "stopped": ["r1"]}}));
    let stopped = app.end();
    assert_eq!(stopped["outcome"], json!({"type": "cancelled"}), "{stopped}");
    assert_eq!(stopped["messages"], json!([["user", "What?"]]), "what was said is no answer: {stopped}");
    // One who leaves stops nothing.
    let left = app.run(&json!({"say": "Again?", "run": "r2", "leave": 1, "plain": true, "thread": "u"}));
    assert!(left["result"].is_null(), "{left}");
    house.mock.release();
    let back = app.run(&json!({"run": "r2", "plain": true, "thread": "u"}));
    let all = json!([["user", "Again?"], ["assistant", "First words come. And then the rest."]]);
    assert_eq!(back["messages"], all, "what it had is sent again, once: {back}");
    assert_eq!(house.asked().len(), 2);
    organism.interrupt();
}

#[test]
fn g11_the_program_of_the_page_runs_as_it_stands() {
    let page = std::fs::read_to_string("docs/doors/ag-ui.md").unwrap();
    // All programs of the page are one.
    let parts = page.split("```js\n").skip(1).filter_map(|rest| rest.split("```").next());
    let program: String = parts.collect();
    let house = house(&[SEARCHES, "{say: I help.}"], ALL);
    let organism = run_with_web(&house);
    let program = program.replace("127.0.0.1:7474", &run_file(house.path()).address.to_string());
    std::fs::write(house.path().join("resuming-fetch.mjs"), FETCH).unwrap();
    let mut node = ChatClient::find_node(house.path(), ("page.mjs", &program));
    let ran = node.env("WEB_TOKEN", WEB).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "undefined\nI help.\n", "{ran:?}");
    assert!(FETCH.lines().count() <= 40);
    organism.interrupt();
}
