//! What waits for a person, and who decides it: a text answers one question once, and an approval counts for what was shown.

use serde_json::{Value, json};

use super::agent::{Agent, answer, message, request, say, say_to, state};
use crate::mcp::doors_house::{DESK, GUEST, SUITE, TOKENS, doors_house, run_doors};
use crate::program::{Running, ask, run_file, systole};

fn pay(id: &str) -> Value {
    message(id, &json!({"data": {"pay": {"to": "bob", "cents": 5}}}))
}

fn decide(request: &Value, approved: bool) -> Value {
    json!({"data": {"request": request, "approved": approved, "note": "as agreed"}})
}

fn send_to(agent: &Agent, id: &str, task: &Value, part: &Value) -> Value {
    agent.send(&say_to(id, task, part))
}

fn refuse(agent: &Agent, id: &str, task: &Value, part: &Value) -> (i64, String) {
    agent.fault("SendMessage", &json!({"message": say_to(id, task, part)}))
}

#[test]
fn g14_what_is_approved_is_what_was_shown() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let agent = Agent::new(folder.path(), SUITE);
    let waits = agent.send(&pay("p1"));
    assert_eq!(state(&waits), "AUTH_REQUIRED", "{waits}");
    let shown = request(&waits).as_str().unwrap().to_owned();
    let text = waits["status"]["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(text.contains("<cents>5</cents>"), "what waits is shown in full: {text}");
    let (id, hash) = shown.split_once('.').unwrap();
    let other = if hash.starts_with('0') { hash.replacen('0', "1", 1) } else { format!("0{}", &hash[1..]) };
    for (part, words) in [
        (decide(&json!(format!("{id}.{other}")), true), "was not shown here as it is"),
        (decide(&json!(format!("{id}.{}", &hash[..15])), true), "was not shown here as it is"),
        (decide(&json!(id), true), "is no request of this task"),
        (decide(&json!("a99.0123456789abcdef"), true), "was decided before"),
        (json!({"data": {"approved": true}}), "data for a task has request"),
        (json!({"data": {"request": shown, "approved": true, "cents": 9}}), "it has no field \"cents\""),
        (json!({"data": {"request": shown}}), "approved is missing"),
        (json!({"text": "yes"}), "a text decides nothing here"),
    ] {
        let (number, told) = refuse(&agent, "wrong", &waits, &part);
        assert!(number == -32602 && told.contains(words), "{part}: {told}");
    }
    assert_eq!(state(&agent.get(&waits)), "AUTH_REQUIRED", "nothing was decided");
    let done = send_to(&agent, "right", &waits, &decide(&json!(shown), true));
    assert_eq!((state(&done), answer(&done)["text"].as_str().map(str::is_empty)), ("COMPLETED", Some(false)));
    // The same decision again is taken, and another one is not.
    assert_eq!(send_to(&agent, "right", &waits, &decide(&json!(shown), true)), done);
    let (_, told) = refuse(&agent, "no", &waits, &decide(&json!(shown), false));
    assert!(told.contains("was decided before"), "{told}");
    agent.judge();
    organism.interrupt();
}

#[test]
fn g14_only_who_may_decide_does_and_the_others_learn_where() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let guest = Agent::new(folder.path(), GUEST);
    let waits = guest.send(&pay("p1"));
    assert_eq!((state(&waits), request(&waits)), ("AUTH_REQUIRED", &Value::Null), "{waits}");
    let words = waits["status"]["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(words.starts_with("waits for a1: a person decides, at http"), "{words}");
    let listed = ask(&run_file(folder.path()), "GET", "/v1/approvals", &[], "").json;
    let hash = listed["approvals"][0]["hash"].as_str().unwrap_or_else(|| panic!("{listed}"));
    let known = json!(format!("a1.{}", &hash[..16]));
    let (_, told) = refuse(&guest, "mine", &waits, &decide(&known, true));
    assert!(told.contains("may not decide"), "{told}");
    let (number, told) = refuse(&guest, "text", &waits, &json!({"text": "yes"}));
    assert!(number == -32004 && told.contains("/approvals"), "{told}");
    // Another client does not even see it.
    let suite = Agent::new(folder.path(), SUITE);
    let (number, _) = refuse(&suite, "theirs", &waits, &decide(&known, true));
    assert_eq!(number, -32001);
    // To answer questions is not to approve.
    let desk = Agent::new(folder.path(), DESK);
    let own = desk.send(&pay("p2"));
    assert_eq!((state(&own), request(&own)), ("AUTH_REQUIRED", &Value::Null), "{own}");
    assert_eq!(state(&guest.get(&waits)), "AUTH_REQUIRED", "nothing was decided");
    let log = systole(folder.path(), &["log"]).stdout;
    assert!(log.contains("guest may not decide"), "it is on record: {log}");
    guest.judge();
    organism.interrupt();
}

#[test]
fn g14_a_text_answers_one_question_and_only_once() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let mut agent = Agent::new(folder.path(), DESK);
    let asked = agent.send(&message("b1", &json!({"data": {"book": {"name": "Ada"}}})));
    assert_eq!(state(&asked), "INPUT_REQUIRED", "{asked}");
    let (number, told) = refuse(&agent, "b2", &asked, &json!({"text": "roof"}));
    assert!(number == -32602 && told.contains("one of window, door"), "{told}");
    let done = send_to(&agent, "b3", &asked, &json!({"text": "window"}));
    assert_eq!((state(&done), answer(&done)["text"].as_str()), ("COMPLETED", Some("chosen: window")));
    assert_eq!(send_to(&agent, "b3", &asked, &json!({"text": "window"})), done, "it is the same message");
    let (number, told) = refuse(&agent, "b4", &asked, &json!({"text": "window"}));
    assert!(number == -32004 && told.contains("without taskId"), "{told}");
    // The answer to a question that is shown names it, also after a restart.
    let asked = agent.send(&message("b5", &json!({"data": {"test_streaming_elicitation": {}}})));
    drop(organism);
    let organism = run_doors(folder.path());
    agent.come_again(folder.path());
    let form = json!({"data": {"request": request(&asked), "note": "seven"}});
    let done = send_to(&agent, "b6", &asked, &form);
    assert_eq!(answer(&done)["text"], "chosen: seven", "{done}");
    agent.judge();
    organism.interrupt();
}

#[test]
fn g14_what_is_decided_elsewhere_goes_on_in_the_stream() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    // Who may decide is asked: the stream is over. Who follows the task then, or may not decide, waits for the others.
    let agent = Agent::new(folder.path(), SUITE);
    let asked: Vec<Value> = agent.stream("SendStreamingMessage", &json!({"message": pay("p1")})).collect();
    let is_asked = |update: &Value| {
        [&update["task"], &update["statusUpdate"]].iter().any(|told| state(told) == "AUTH_REQUIRED")
    };
    assert!(is_asked(asked.last().unwrap()), "{asked:?}");
    let waits = agent.get(&asked[0]["task"]);
    let guest = Agent::new(folder.path(), GUEST);
    let streams = [
        (&agent, agent.stream("SubscribeToTask", &json!({"id": waits["id"]})), "a1"),
        (&guest, guest.stream("SendStreamingMessage", &json!({"message": pay("p1")})), "a2"),
    ];
    for (agent, mut updates, request) in streams {
        assert!(updates.any(|update| is_asked(&update)));
        let decided = systole(folder.path(), &["approve", request]);
        assert_eq!(decided.code, Some(0), "{}", decided.stderr);
        let rest: Vec<Value> = updates.collect();
        assert_eq!(state(&rest.last().unwrap()["statusUpdate"]), "COMPLETED", "{rest:?}");
        let times: Vec<&str> =
            rest.iter().filter_map(|update| update["statusUpdate"]["status"]["timestamp"].as_str()).collect();
        assert!(times.is_sorted(), "{times:?}");
        agent.judge();
    }
    organism.interrupt();
}

#[test]
fn g14_the_note_of_a_rejection_says_what_is_wrong() {
    let folder = doors_house();
    let organism: Running = run_doors(folder.path());
    let agent = Agent::new(folder.path(), SUITE);
    let waits = agent.send(&pay("p1"));
    let done = send_to(&agent, "no", &waits, &decide(request(&waits), false));
    let words = done["status"]["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(state(&done) == "REJECTED" && words.contains("as agreed"), "{done}");
    let next = agent.send(&say("again", "hello"));
    assert_eq!(state(&next), "COMPLETED", "{next}");
    agent.judge();
    organism.interrupt();
}

#[test]
fn g14_the_history_has_the_questions_that_the_client_has_answered() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let agent = Agent::new(folder.path(), DESK);
    let begin = "tck-input-required, please";
    let task = agent.send(&say("q1", begin));
    let again = "tck-input-required again";
    send_to(&agent, "q2", &task, &json!({"text": again}));
    let done = send_to(&agent, "q3", &task, &json!({"text": "by the door"}));
    assert_eq!(state(&done), "COMPLETED", "{done}");
    let question = "Which table for anybody?";
    let all = [begin, question, again, question, "by the door"];
    let read = |length: Option<u64>| {
        let mut params = json!({"id": task["id"]});
        if let Some(length) = length {
            params["historyLength"] = json!(length);
        }
        let task = agent.result("GetTask", &params);
        let messages = task["history"].as_array().cloned().unwrap_or_default();
        let text = |one: &Value| one["parts"][0]["text"].as_str().unwrap().to_owned();
        let roles = messages.iter().map(|one| one["role"].as_str().unwrap().to_owned());
        (messages.iter().map(text).collect::<Vec<_>>(), roles.collect::<Vec<_>>())
    };
    let (texts, roles) = read(None);
    assert_eq!(texts, all);
    assert_eq!(roles, ["ROLE_USER", "ROLE_AGENT", "ROLE_USER", "ROLE_AGENT", "ROLE_USER"]);
    for length in 0..7_u32 {
        let newest = all.iter().rev().take(length as usize).rev().copied().collect::<Vec<_>>();
        assert_eq!(read(Some(length.into())).0, newest, "{length}");
    }
    agent.judge();
    organism.interrupt();
    // What another person has answered is no message of this client.
    let organism = run_doors(folder.path());
    let agent = Agent::new(folder.path(), GUEST);
    let task = agent.send(&say("q1", begin));
    assert_eq!(state(&task), "AUTH_REQUIRED", "{task}");
    let waiting = ask(&run_file(folder.path()), "GET", "/v1/approvals", &[], "").json["approvals"][0].clone();
    let id = waiting["id"].as_str().unwrap();
    let answered = systole(folder.path(), &["choose", id, "--note", "by the window"]);
    assert_eq!(answered.code, Some(0), "{}", answered.stderr);
    let history = agent.get(&task)["history"].clone();
    assert_eq!(history.as_array().map(Vec::len), Some(1), "{history}");
    organism.interrupt();
}

#[test]
fn g14_words_that_were_said_to_a_task_answer_no_question_when_they_come_again() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let agent = Agent::new(folder.path(), SUITE);
    let mut busy = say("o1", "test-resubscribe, and be slow");
    busy["contextId"] = json!("q");
    agent.send_only(&busy);
    let task = agent.send_only(&say("q1", "tck-input-required, please"));
    let hurry = say_to("q2", &task, &json!({"text": "please hurry up"}));
    assert_eq!(state(&agent.send_only(&hurry)), "WORKING");
    // What waits for its client says so, also before its turn, and each view says the same.
    let mut queued = pay("p1");
    queued["contextId"] = json!("q");
    let waits = agent.send_only(&queued);
    assert_eq!((state(&waits), state(&agent.get(&waits))), ("AUTH_REQUIRED", "AUTH_REQUIRED"));
    let listed = agent.result("ListTasks", &json!({"status": "TASK_STATE_AUTH_REQUIRED"}));
    assert_eq!(listed["tasks"][0]["id"], waits["id"], "{listed}");
    agent.wait_for_question(&task);
    assert_eq!(state(&agent.send_only(&hurry)), "INPUT_REQUIRED", "it was said before");
    // One text at once in many copies answers one question.
    let again = say_to("q3", &task, &json!({"text": "tck-input-required again"}));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                Agent::new(folder.path(), SUITE).send_only(&again);
            });
        }
    });
    agent.wait_for_question(&task);
    let done = send_to(&agent, "q4", &task, &json!({"text": "by the door"}));
    assert_eq!(state(&done), "COMPLETED", "{done}");
    let said = |done: &Value| done["history"].as_array().unwrap().len();
    assert_eq!(said(&done), 5, "two questions, and an answer to each: {done}");
    let late = agent.send(&hurry);
    assert_eq!((state(&late), said(&late)), ("COMPLETED", 5), "it was said before: {late}");
    let records = systole(folder.path(), &["log", task["contextId"].as_str().unwrap()]).stdout;
    assert_eq!(records.matches("please hurry up").count(), 1, "{records}");
    organism.interrupt();
}

#[test]
fn g14_a_context_with_too_many_messages_is_one_for_later() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let agent = Agent::new(folder.path(), SUITE);
    let send = |number: u64| {
        let mut message = say(&format!("m{number}"), "test-resubscribe");
        message["contextId"] = json!("q");
        let params = json!({"message": message, "configuration": {"returnImmediately": true}});
        agent.call("SendMessage", &params)
    };
    let refused = (0..40).map(send).find(|answer| answer["error"].is_object()).unwrap();
    assert_eq!(refused["error"]["code"], -32603, "what comes later is not wrong: {refused}");
    assert_eq!(refused["error"]["data"][0]["metadata"]["code"], "thread.busy", "{refused}");
    drop(organism);
}

#[test]
fn g14_a_request_reads_the_same_whatever_terminal_the_organism_has() {
    let folder = doors_house();
    let on_terminal = |columns: &'static str, zone: &'static str| {
        let terminal = [("COLUMNS", columns), ("CLICOLOR_FORCE", "1"), ("TZ", zone)];
        Running::organism_with(folder.path(), &[&TOKENS[..], &terminal].concat())
    };
    let organism = on_terminal("40", "Asia/Tokyo");
    let mut agent = Agent::new(folder.path(), SUITE);
    let tasks = [agent.send(&pay("p1")), agent.send(&say("q1", "tck-input-required, please"))];
    organism.interrupt();
    let organism = on_terminal("200", "America/Lima");
    agent.come_again(folder.path());
    for task in tasks {
        assert_eq!(agent.get(&task)["status"]["message"], task["status"]["message"]);
        let text = task["status"]["message"]["parts"][0]["text"].as_str().unwrap();
        assert!(text.lines().any(|line| line.len() > 60) && !text.contains('\u{1b}'), "{text}");
    }
    organism.interrupt();
}
