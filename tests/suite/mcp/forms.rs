//! What waits for a person, as a form of the host: in the result of the call in 2026-07-28, on its stream before.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::doors_house::{
    DESK, GUEST, SUITE, TOKENS, call, call_again, call_for, doors_house, form_host, only_form, run_doors,
};
use super::host::{ModelHost, error, result};
use super::house::prepared;
use crate::program::{PATIENCE, Running, command, connect, head, lines, run_file, systole};

fn accept(content: &Value) -> Value {
    json!({"action": "accept", "content": content})
}

fn pay() -> Value {
    call("pay", &json!({"to": "Ada", "cents": 1200}))
}

fn book(name: &str) -> Value {
    call("book", &json!({"name": name}))
}

fn texts(result: &Value) -> Vec<&str> {
    let content = result["content"].as_array().unwrap_or_else(|| panic!("no content: {result}"));
    content.iter().map(|one| one["text"].as_str().unwrap()).collect()
}

#[test]
fn g3_a_form_in_a_result_decides_in_the_call_that_is_made_again() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let host = form_host(folder.path(), SUITE);
    let asked = call_for(&host, &pay());
    let (name, form) = only_form(&asked);
    assert_eq!(asked["resultType"], "input_required");
    assert!(name.starts_with("a1."), "{name}");
    let shown = form["message"].as_str().unwrap();
    assert!(shown.contains("Ada") && shown.contains("1200") && shown.contains("hash"), "{shown}");
    assert_eq!(form["requestedSchema"]["required"], json!(["approved"]));

    // A second call with the same key joins it, and is asked the same.
    let again = call_again(&pay(), &asked, &accept(&json!({"approved": true, "note": "go on"})));
    let paid = call_for(&host, &again);
    assert_eq!((&paid["isError"], texts(&paid)), (&json!(false), vec!["Ada1200"]), "{paid}");
    // The same answer once more gets the same result, and pays nothing twice.
    assert_eq!(texts(&call_for(&host, &again)), ["Ada1200"]);
    let log = systole(folder.path(), &["log", paid["_meta"]["systole/thread"].as_str().unwrap()]);
    assert_eq!(log.stdout.matches("<pay>").count(), 1, "{}", log.stdout);

    // A question has its choices, and its word is the answer.
    let asked = call_for(&host, &book("Ben"));
    let (_, form) = only_form(&asked);
    assert_eq!(form["requestedSchema"]["properties"]["choice"]["enum"], json!(["window", "door"]));
    let booked = call_for(&host, &call_again(&book("Ben"), &asked, &accept(&json!({"choice": "door"}))));
    assert_eq!(texts(&booked), ["chosen: door"]);
    organism.interrupt();
}

#[test]
fn g3_a_form_outlives_a_killed_organism() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let asked = call_for(&form_host(folder.path(), SUITE), &pay());
    organism.signal(rustix::process::Signal::KILL);
    organism.end();
    let organism = run_doors(folder.path());
    let again = call_again(&pay(), &asked, &accept(&json!({"approved": true})));
    assert_eq!(texts(&call_for(&form_host(folder.path(), SUITE), &again)), ["Ada1200"]);
    organism.interrupt();
}

#[test]
fn g3_declining_rejects_or_stops_and_cancelling_leaves_it_to_others() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let host = form_host(folder.path(), SUITE);
    let declined = json!({"action": "decline"});
    let asked = call_for(&host, &pay());
    let rejected = call_for(&host, &call_again(&pay(), &asked, &declined));
    assert_eq!(rejected["isError"], true);
    assert!(texts(&rejected)[0].contains("declined, without a note"), "{rejected}");
    let asked = call_for(&host, &pay());
    let not_approved = accept(&json!({"approved": false, "note": "too much"}));
    let rejected = call_for(&host, &call_again(&pay(), &asked, &not_approved));
    assert!(texts(&rejected)[0].contains("too much"), "{rejected}");
    let asked = call_for(&host, &book("Ben"));
    let stopped = call_for(&host, &call_again(&book("Ben"), &asked, &declined));
    assert!(stopped["isError"] == true && texts(&stopped)[0].contains("cancelled"), "{stopped}");

    // What is only left goes on waiting, and is not shown once more in this call.
    let asked = call_for(&host, &pay());
    let left = call_again(&pay(), &asked, &json!({"action": "cancel"}));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| call_for(&host, &left));
        let id = only_form(&asked).0.split('.').next().unwrap().to_owned();
        assert_eq!(systole(folder.path(), &["approve", &id]).code, Some(0));
        assert_eq!(texts(&waits.join().unwrap()), ["Ada1200"]);
    });
    organism.interrupt();
}

#[test]
fn g3_only_a_host_that_shows_forms_to_a_client_that_may_decide_gets_one() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    // A task says at once whether a form is shown, without a wait.
    let status = |token: &str, params: &Value, has_forms: bool| {
        let host = ModelHost::new(folder.path(), token).with_tasks();
        let host = if has_forms { host.with_forms() } else { host };
        let answer = call_for(&host, params);
        if answer["resultType"] == "input_required" {
            return "form".to_owned();
        }
        let task = host.task(answer["taskId"].as_str().unwrap());
        assert!(task["inputRequests"].is_null(), "{task}");
        task["statusMessage"].as_str().unwrap().to_owned()
    };
    assert!(status(SUITE, &pay(), false).contains("a person decides"));
    assert!(status(GUEST, &pay(), true).contains("a person decides"));
    assert!(status(DESK, &pay(), true).contains("a person decides"), "`answer` is for questions alone");
    assert_eq!(status(DESK, &book("Ben"), true), "form");
    assert_eq!(status(SUITE, &pay(), true), "form");

    // A client that has the name of a form, and may not decide it, decides nothing.
    let host = form_host(folder.path(), SUITE);
    let asked = call_for(&host, &pay());
    let again = call_again(&pay(), &asked, &accept(&json!({"approved": true})));
    for token in [GUEST, DESK] {
        let (_, code, words) = error(&form_host(folder.path(), token).states("tools/call", &again));
        assert!(code == -32602 && words.contains("requestState names no call"), "{words}");
    }
    let mut forged = again.clone();
    forged["requestState"] = json!(format!("{}-TAMPERED", asked["requestState"].as_str().unwrap()));
    assert!(error(&host.states("tools/call", &forged)).2.contains("requestState names no call"));
    assert_eq!(texts(&call_for(&host, &again)), ["Ada1200"]);
    organism.interrupt();
}

#[test]
fn g3_a_task_asks_its_client_and_takes_the_answer() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let host = ModelHost::new(folder.path(), SUITE).with_tasks().with_forms();
    let left = call_again(&pay(), &call_for(&host, &pay()), &json!({"action": "cancel"}));
    let task = call_for(&host, &left);
    assert_eq!(task["resultType"], "task", "{task}");
    let id = task["taskId"].as_str().unwrap();
    let waiting = host.task_when(id, "input_required");
    let (name, _) = only_form(&waiting);
    let update = |responses: Value| json!({"taskId": id, "inputResponses": responses});
    let wrong = error(&host.states("tasks/update", &update(json!({&name: accept(&json!({}))}))));
    assert!(wrong.1 == -32602 && wrong.2.contains("approved is missing"), "{wrong:?}");
    let other = update(json!({"other": accept(&json!({})), &name: accept(&json!({"approved": true}))}));
    assert_eq!(result(&host.states("tasks/update", &other)), json!({"resultType": "complete"}));
    let done = host.task_when(id, "completed");
    assert_eq!(texts(&done["result"]), ["Ada1200"]);
    organism.interrupt();
}

#[test]
fn g3_an_answer_counts_for_what_was_shown_alone() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let host = form_host(folder.path(), SUITE);
    let asked = call_for(&host, &pay());
    let (name, _) = only_form(&asked);
    let hash = name.split('.').nth(1).unwrap();
    let other = format!("a1.{}", hash.replace(|_: char| true, "0"));
    let mut forged = call_again(&pay(), &asked, &accept(&json!({"approved": true})));
    forged["inputResponses"] = json!({other: accept(&json!({"approved": true}))});
    let once_more = call_for(&host, &forged);
    assert_eq!(once_more["resultType"], "input_required", "{once_more}");
    let shown = once_more["inputRequests"][&name]["params"]["message"].as_str().unwrap();
    assert!(shown.starts_with("a1 was not shown here as it is"), "{once_more}");
    // Neither counts the hash in part, nor what the form does not have.
    let answer = |name: &str, content: Value| {
        let mut params = call_again(&pay(), &asked, &json!({}));
        params["inputResponses"] = json!({name: accept(&content)});
        only_form(&call_for(&host, &params)).1["message"].as_str().unwrap().to_owned()
    };
    assert!(answer("a1.0", json!({"approved": true})).starts_with("a1 was not shown"));
    assert!(answer(&name[..5], json!({"approved": true})).starts_with("a1 was not shown"));
    let edited = json!({"approved": true, "editedArgs": {"to": "Mallory", "cents": 9}});
    assert!(answer(&name, edited).contains("it has no field \"editedArgs\", but approved, note"));
    assert!(answer(&name, json!([true, "n"])).contains("it is no object"));
    assert!(answer(&name, json!(null)).contains("it is no object"));

    // What does not fit is asked for again, with the reason before it.
    let unfit = call_again(&pay(), &asked, &accept(&json!({"approved": "maybe"})));
    let (_, form) = only_form(&call_for(&host, &unfit));
    assert!(form["message"].as_str().unwrap().starts_with("the form of a1 is not filled in"), "{form}");

    // Decided by another meanwhile: the host gets the result, and that its answer did not count.
    assert_eq!(systole(folder.path(), &["reject", "a1", "--note", "no money"]).code, Some(0));
    let late = call_for(&host, &call_again(&pay(), &asked, &accept(&json!({"approved": true}))));
    let said = texts(&late);
    assert!(said[0].contains("no money") && said[1].contains("a1 was decided before"), "{late}");
    let late = call_for(&host, &call_again(&pay(), &asked, &json!({"action": "decline"})));
    assert_eq!(texts(&late).len(), 1, "to decline is what was decided: {late}");
    let many: Value =
        (0..65).map(|at| (format!("a{at}.x"), json!({}))).collect::<serde_json::Map<_, _>>().into();
    let mut params = call_again(&pay(), &asked, &json!({}));
    params["inputResponses"] = many;
    assert!(error(&host.states("tools/call", &params)).2.contains("65 answers, more than 64"));
    // The answers belong to the call that asked.
    params["inputResponses"] = json!({});
    params.as_object_mut().unwrap().remove("requestState");
    assert!(error(&host.states("tools/call", &params)).2.contains("params.requestState is missing"));
    let mut other = call_again(&book("Ben"), &asked, &json!({}));
    other["inputResponses"] = json!({});
    assert!(error(&host.states("tools/call", &other)).2.contains("requestState is of no call of book"));
    let question = call_for(&host, &book("Ben"));
    let unanswered = call_again(&book("Ben"), &question, &accept(&json!({"choice": null})));
    let (_, form) = only_form(&call_for(&host, &unanswered));
    assert!(form["message"].as_str().unwrap().contains("not filled in: choice is missing"), "{form}");
    for responses in [json!(7), json!([1])] {
        let mut params = call_again(&pay(), &asked, &json!({}));
        params["inputResponses"] = responses;
        assert!(error(&host.states("tools/call", &params)).2.contains("params.inputResponses is an object"));
    }
    organism.interrupt();
}

fn run_host(folder: &Path, arguments: &[&str]) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/mcp/form_host.py");
    let mut command = Command::new("python3");
    command.arg(script).args(arguments).env("PYTHONPATH", prepared("mcp-python")).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = Running::of(command.spawn().unwrap()).end();
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
}

#[test]
fn g3_the_python_client_shows_forms_over_stdio_and_over_http() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let url = format!("http://{}/mcp", run_file(folder.path()).address);
    let file = folder.path().join("organism.yaml").display().to_string();
    let variables = json!(TOKENS.iter().copied().collect::<std::collections::BTreeMap<_, _>>()).to_string();
    let over_http = ["http", &url, SUITE];
    let over_stdio =
        ["stdio", env!("CARGO_BIN_EXE_systole"), "mcp", "-f", &file, "--client", "suite", &variables];
    let run = |mode: &str, how: &[&str], tool: (&str, Value), answers: Value| {
        let (arguments, answers) = (tool.1.to_string(), answers.to_string());
        run_host(folder.path(), &[&[mode, tool.0, &arguments, &answers], how].concat())
    };
    let order = || ("pay", json!({"to": "Ada", "cents": 1200}));
    for how in [&over_http as &[&str], &over_stdio] {
        for (mode, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
            let seen = run(mode, how, order(), json!([accept(&json!({"approved": true}))]));
            assert_eq!((&seen["version"], &seen["texts"]), (&json!(version), &json!(["Ada1200"])), "{seen}");
            assert!(seen["shown"][0]["message"].as_str().unwrap().contains("1200"), "{seen}");
            // A wrong answer is asked for again, on the same call.
            let answers = json!([accept(&json!({"seat": 1})), accept(&json!({"choice": "window"}))]);
            let seen = run(mode, how, ("book", json!({"name": "Ben"})), answers);
            assert_eq!(seen["texts"], json!(["chosen: window"]), "{seen}");
            assert!(seen["shown"][1]["message"].as_str().unwrap().starts_with("the form of a"), "{seen}");
            let seen = run(mode, how, order(), json!([{"action": "decline"}]));
            assert_eq!(seen["error"], true, "{seen}");
        }
    }
    organism.interrupt();
}

/// A call of 2025-11-25 whose messages are read as they come.
struct OpenStream(BufReader<std::net::TcpStream>);

impl OpenStream {
    fn begin(folder: &Path, token: &str, session: &str, params: &Value) -> OpenStream {
        let bearer = format!("Bearer {token}");
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Mcp-Session-Id", session),
        ];
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string();
        let mut stream = connect(&run_file(folder));
        stream.write_all(head("POST", "/mcp", &headers, &body.len().to_string()).as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        OpenStream(BufReader::new(stream))
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream has ended");
            if let Some(message) = line.strip_prefix("data: ") {
                return serde_json::from_str(message.trim()).unwrap();
            }
        }
    }
}

#[test]
fn g3_a_form_on_a_stream_is_answered_by_its_own_client_alone() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let began = ModelHost::new(folder.path(), SUITE)
        .asks("initialize", &json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}}));
    let session = began.header("mcp-session-id").unwrap().to_owned();
    let mut stream = OpenStream::begin(folder.path(), SUITE, &session, &pay());
    let asked = stream.next();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept(&json!({"approved": true}))});
    let post = |token: &str, session: &str, answer: &Value| {
        let headers = [("Mcp-Session-Id", session)];
        ModelHost::new(folder.path(), token).raw("POST", &answer.to_string(), &headers).status
    };
    assert_eq!(post(GUEST, &session, &answer), 400, "another client");
    for id in ["form-99", "x/a1.0/1", &asked["id"].as_str().unwrap().replace("a1.", "a1.0")] {
        let unknown = json!({"jsonrpc": "2.0", "id": id, "result": accept(&json!({"approved": true}))});
        assert_eq!(post(SUITE, &session, &unknown), 400, "{id}");
    }
    assert_eq!(post(SUITE, &session, &answer), 202);
    assert_eq!(texts(&stream.next()["result"]), ["Ada1200"]);
    assert_eq!(post(SUITE, &session, &answer), 202, "the same once more changes nothing");
    let other = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}});
    assert_eq!(post(SUITE, &session, &other), 400, "it was decided before");

    // Decided elsewhere: the form is taken back.
    let mut stream = OpenStream::begin(folder.path(), SUITE, &session, &pay());
    let asked = stream.next();
    assert_eq!(systole(folder.path(), &["approve", "a2"]).code, Some(0));
    let cancelled = stream.next();
    assert_eq!(
        (&cancelled["method"], &cancelled["params"]["requestId"]),
        (&json!("notifications/cancelled"), &asked["id"])
    );
    assert_eq!(texts(&stream.next()["result"]), ["Ada1200"]);

    // A host whose connection broke answers all the same, and calls again with its key.
    let mut keyed = pay();
    keyed["_meta"] = json!({"systole/key": "k1"});
    let mut stream = OpenStream::begin(folder.path(), SUITE, &session, &keyed);
    let asked = stream.next();
    drop(stream);
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept(&json!({"approved": true}))});
    assert_eq!(post(SUITE, &session, &answer), 202);
    let mut stream = OpenStream::begin(folder.path(), SUITE, &format!("2{session}"), &keyed);
    assert_eq!(texts(&stream.next()["result"]), ["Ada1200"]);

    // A program that never fills it in right is asked no more, and the call waits.
    let mut stream = OpenStream::begin(folder.path(), SUITE, &session, &pay());
    for _ in 0..5 {
        let asked = stream.next();
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let wrong = json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept(&json!({"user": "x"}))});
        assert_eq!(post(SUITE, &session, &wrong), 202);
    }
    assert_eq!(systole(folder.path(), &["approve", "a4"]).code, Some(0));
    let last = stream.next();
    let said = texts(&last["result"]);
    assert!(said[0] == "Ada1200" && said[1].contains("is not filled in"), "{last}");

    // Without a session that shows forms there is none.
    let mut stream = OpenStream::begin(folder.path(), SUITE, "plain", &pay());
    assert_eq!(systole(folder.path(), &["approve", "a5"]).code, Some(0));
    assert_eq!(texts(&stream.next()["result"]), ["Ada1200"]);
    organism.interrupt();
}

#[test]
fn g3_the_answer_to_an_old_form_decides_what_it_showed_and_nothing_else() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let session = "0123456789abcdef-forms";
    let order = |to: &str| call("pay", &json!({"to": to, "cents": 1}));
    let old = OpenStream::begin(folder.path(), SUITE, session, &order("Ada")).next();
    organism.signal(rustix::process::Signal::KILL);
    organism.end();
    let organism = run_doors(folder.path());
    let mut stream = OpenStream::begin(folder.path(), SUITE, session, &order("Mallory"));
    let new = stream.next();
    assert_ne!(old["id"], new["id"]);
    let answer = json!({"jsonrpc": "2.0", "id": old["id"], "result": accept(&json!({"approved": true}))});
    let headers = [("Mcp-Session-Id", session)];
    let posted = ModelHost::new(folder.path(), SUITE).raw("POST", &answer.to_string(), &headers);
    assert_eq!(posted.status, 202, "{posted:?}");
    let waits = systole(folder.path(), &["approve"]).stdout;
    assert!(waits.contains("Mallory") && !waits.contains("Ada"), "{waits}");
    organism.interrupt();
}

#[test]
fn g3_a_host_over_stdio_is_asked_also_after_a_restart() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    command.args(["mcp", "--client", "suite"]).envs(TOKENS).current_dir(folder.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let (output, errors) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
    let mut say = |message: Value| writeln!(input, "{message}").unwrap();
    let hear = || serde_json::from_str::<Value>(&output.recv_timeout(PATIENCE).unwrap()).unwrap();
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}});
    say(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}));
    assert_eq!(hear()["result"]["protocolVersion"], "2025-11-25");
    let begin = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": pay()});
    say(begin(2));
    let first = hear();
    assert_eq!(first["method"], "elicitation/create", "{first}");
    organism.signal(rustix::process::Signal::KILL);
    organism.end();
    assert!(hear()["error"]["message"].as_str().unwrap().contains("the organism has stopped"));
    let organism = run_doors(folder.path());
    say(begin(3));
    let second = hear();
    assert_eq!(second["method"], "elicitation/create", "{second}");
    let accepts = |asked: &Value| json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept(&json!({"approved": true}))});
    say(accepts(&second));
    assert_eq!(texts(&hear()["result"]), ["Ada1200"]);
    // What is no answer to a form is not answered on stdout: only a person hears of it.
    say(json!({"jsonrpc": "2.0", "id": "form-1", "result": {}}));
    let line = errors.recv_timeout(PATIENCE).unwrap();
    assert!(
        line.contains("an answer was not taken: no request of this server waits for that answer"),
        "{line}"
    );
    say(json!({"jsonrpc": "2.0", "id": 4, "method": "ping"}));
    assert_eq!(hear(), json!({"jsonrpc": "2.0", "id": 4, "result": {}}));
    drop(input);
    child.wait().unwrap();
    organism.interrupt();
}

#[test]
fn g3_a_host_finds_an_organism_that_comes_back_at_the_same_address() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let mut command = command(folder.path(), &["mcp"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let output = lines(child.stdout.take().unwrap());
    let mut ask = |id: u64| {
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": "ping"})).unwrap();
        serde_json::from_str::<Value>(&output.recv_timeout(PATIENCE).unwrap()).unwrap()
    };
    assert_eq!(ask(1)["result"], json!({}));
    let listen = format!("console.listen={}", run_file(folder.path()).address);
    organism.signal(rustix::process::Signal::KILL);
    organism.end();
    // It lets its guests in with another token.
    let organism = Running::organism_set(folder.path(), &["--set", &listen], &TOKENS);
    assert_eq!(ask(2)["result"], json!({}));
    drop(input);
    child.wait().unwrap();
    organism.interrupt();
}

#[test]
fn g3_older_revisions_have_no_forms_and_a_named_mode_counts() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let session = |version: &str, elicitation: Value| {
        let params = json!({"protocolVersion": version, "capabilities": {"elicitation": elicitation}});
        let began = ModelHost::new(folder.path(), SUITE).asks("initialize", &params);
        began.header("mcp-session-id").unwrap().ends_with("-forms")
    };
    for (version, elicitation, shows) in [
        ("2025-11-25", json!({}), true),
        ("2025-11-25", json!({"form": {}, "url": {}}), true),
        ("2025-11-25", json!({"url": {}}), false),
        ("2025-06-18", json!({"applyDefaults": true}), true),
        ("2025-03-26", json!({}), false),
        ("2024-11-05", json!({}), false),
        ("2025-11-25", json!(null), false),
    ] {
        assert_eq!(session(version, elicitation.clone()), shows, "{version} {elicitation}");
    }
    organism.interrupt();
}
