//! Tasks that the agent of a goal gives: the prompt about them, the effect of the model's words, and how the model
//! sees the results. It starts no thread: the stage answers like a pump.

use systole_agent::model::MessagePart;
use systole_agent::model::script::Script;
use systole_agent::spec::{self, Dialect};
use systole_kit::ask::{MessageSpot, ModelWords, ViewEntry, ViewedMessage};
use systole_kit::reply::ReplyContent;
use systole_kit::writer::XmlWriter;
use systole_kit::{DocumentLimits, Payload, namespaces};
use systole_workflow::goal_request::{CurrentGoal, GoalRequest};
use systole_workflow::spec::{FORM, TaskRule};

use crate::goals::pursuer;
use crate::prompts::golden;
use crate::slugs::{Says, Speaks, calls, text};
use crate::stage::{AgentStage, MARK, found, items, system_error};

/// An agent that takes goals and may give tasks to another one.
pub(crate) fn tasking(dialect: Dialect) -> spec::AgentSpec {
    let task_takers = if dialect == Dialect::Plain { Vec::new() } else { vec!["scholar".to_owned()] };
    spec::AgentSpec { task_takers, ..pursuer(dialect) }
}

/// A goal that allows that many tasks. With 0 it allows none.
pub(crate) fn with_tasks(at_most: u32) -> Payload {
    let tasks = TaskRule { by: "scholar".to_owned(), at_most, supervise: None };
    let goal = CurrentGoal { id: "frame", words: "Write of the tower.", loop_name: None, iteration: None };
    let request = GoalRequest {
        workflow: "tower",
        gives: None,
        form: FORM,
        converges: false,
        context: Vec::new(),
        assignment: goal.into(),
        correction: None,
        tasks: (at_most > 0).then_some(&tasks),
    };
    request.to_payload().unwrap()
}

/// An answer that gives these tasks, each with its role and its text.
fn gives(dialect: Dialect, tasks: &[(&str, &str)]) -> Says {
    if dialect == Dialect::Xml {
        let task = |(role, words): &(&str, &str)| format!("<task role=\"{role}\">{words}</task>");
        return text(&format!("<thinking>x</thinking>{}", tasks.iter().map(task).collect::<String>()));
    }
    let arguments: Vec<String> = tasks
        .iter()
        .map(|(role, words)| serde_json::json!({"role": role, "text": words}).to_string())
        .collect();
    calls(&arguments.iter().map(|arguments| ("task", arguments.as_str())).collect::<Vec<_>>())
}

const DIALECTS: [Dialect; 3] = [Dialect::Xml, Dialect::Native, Dialect::XmlFinal];

fn core(write: impl FnOnce(&mut XmlWriter)) -> Payload {
    let mut writer = XmlWriter::new();
    write(&mut writer);
    Payload::parse(&writer.finish(), &DocumentLimits::FROM_PUMP).unwrap()
}

fn thread(number: u32) -> String {
    format!("sess-0123456789ab.task-{number}")
}

fn began(number: u32) -> Payload {
    core(|writer| {
        let start =
            writer.open("thread-spawned").xmlns(namespaces::CORE).attr("assigned_id", &thread(number));
        start.attr("parent_id", "sess-0123456789ab").attr("head", "00").empty();
    })
}

fn ended(number: u32, outcome: &str, inside: &Payload) -> Payload {
    core(|writer| {
        let start = writer.open("thread-finished").xmlns(namespaces::CORE).attr("id", &thread(number));
        start.attr("outcome", outcome).attr("head", "00").content(|within| within.write_payload(inside));
    })
}

fn over(reason: &str) -> Payload {
    core(|writer| {
        let start = writer.open("await-over").xmlns(namespaces::CORE).attr("reason", reason);
        start.attr("finished", "2").attr("open", "0").empty();
    })
}

fn output(words: &str) -> Payload {
    Payload::write(namespaces::WORKFLOW, "goal-output", |inside| inside.text(words))
}

fn texts(said: &ReplyContent) -> Vec<String> {
    items(said).iter().map(|payload| String::from_utf8(payload.bytes().to_vec()).unwrap()).collect()
}

/// The child threads of a reply.
fn spawns(said: &ReplyContent) -> Vec<String> {
    texts(said).into_iter().filter(|item| item.starts_with("<spawn-thread ")).collect()
}

/// A pump's answers to a reply: each of its tasks begins, and the wait for them is over.
fn answers(said: &ReplyContent, reason: &str) -> Vec<Option<Payload>> {
    let mut number = 0;
    let answer = |payload: &&Payload| match &*payload.name().local {
        "spawn-thread" => {
            number += 1;
            Some(began(number))
        }
        "await-threads" => Some(over(reason)),
        "search" => Some(found("auth.rs")),
        _ => None,
    };
    items(said).iter().map(answer).collect()
}

#[tokio::test]
async fn f3_tasks_become_child_threads_whose_request_the_program_writes() {
    for dialect in DIALECTS {
        let says =
            gives(dialect, &[("historian", "When was it &lt;built&gt;?"), (" poet ", "\nPraise it.\n")]);
        let mut stage = Speaks::stage(tasking(dialect), &[says]).with_request(with_tasks(8));
        let said = stage.ask().await;
        let all = texts(&said);
        let [.., wait] = all.as_slice() else { panic!("{said:?}") };
        assert!(wait.starts_with("<await-threads ") && wait.contains(r#"mode="all""#), "{wait}");
        let built = if dialect == Dialect::Xml { "&lt;built&gt;" } else { "&amp;lt;built&amp;gt;" };
        let thread = |number: u32, role: &str, words: &str| {
            format!(
                "<spawn-thread xmlns=\"{}\" suggested_sub_id=\"task-{number}\"><initial-payload to=\"scholar\"><goal-request xmlns=\"{}\">\n<task role=\"{role}\" parent-goal=\"frame\">\n{words}\n</task>\n</goal-request></initial-payload></spawn-thread>",
                namespaces::CORE,
                namespaces::WORKFLOW
            )
        };
        let expected =
            [thread(1, "historian", &format!("When was it {built}?")), thread(2, "poet", "Praise it.")];
        assert_eq!(spawns(&said), expected, "{dialect:?}");
    }
}

#[tokio::test]
async fn f3_a_model_is_told_of_tasks_if_its_goal_may_have_them() {
    for (dialect, name) in DIALECTS.into_iter().zip(["xml", "native", "xml-final"]) {
        let mut agent = tasking(dialect);
        agent.peers.clear();
        let mut stage = Speaks::stage(agent.clone(), &[text("x")]).with_request(with_tasks(8));
        stage.ask().await;
        let (system, _, header) = stage.prompt();
        golden(&format!("tasks-{name}.txt"), &format!("{system}\n\n{}\n{header}\n", stage.tools()));
        let mut stage = Speaks::stage(agent, &[text("x")]).with_request(with_tasks(0));
        stage.ask().await;
        let (system, _, header) = stage.prompt();
        let whole = format!("{system}{}{header}", stage.tools());
        assert!(!whole.contains("tasks") && !whole.contains("role"), "{whole}");
    }
}

#[tokio::test]
async fn f3_each_result_comes_back_once_with_its_task_in_whatever_order_they_end() {
    for dialect in DIALECTS {
        let two = [("historian", "When?"), ("poet", "Praise it.")];
        let says = [gives(dialect, &two), text("x")];
        let mut stage = Speaks::stage(tasking(dialect), &says).with_request(with_tasks(8));
        let said = stage.ask().await;
        let poem = output("Roses <are> red.");
        let inbox = vec![ended(2, "answered", &poem), ended(1, "answered", &output("In 1889."))];
        stage.answer(answers(&said, "finished"), inbox).await;
        let shown = stage.shown();
        let expected = match dialect {
            Dialect::Xml => {
                "<tool_result tool_name=\"task\" call=\"1\">In 1889.</tool_result>\n\n<tool_result tool_name=\"task\" call=\"2\">Roses &lt;are&gt; red.</tool_result>"
            }
            _ => "In 1889.\nRoses <are> red.",
        };
        assert_eq!(shown, expected, "{dialect:?}");
        assert!(stage.prompt().2.contains("Tasks: 2 of 8 given."), "{}", stage.prompt().2);
    }
}

/// The call as its view shows it after the first turn.
fn viewed(says: &Says, answers: &[Option<Payload>], inbox: &[Payload]) -> Vec<ViewEntry> {
    let [MessagePart::Text(words)] = says.parts.as_slice() else { panic!("{:?} is no one text", says.parts) };
    let words =
        ModelWords { turn: 1, stop: "end".into(), tokens_in: None, tokens_out: None, text: words.clone() };
    let message = |seq, spot, payload: &Payload| {
        let (from, payload) = ("pump".to_owned(), payload.clone());
        ViewEntry::Message(ViewedMessage { seq, from, to: None, spot, payload })
    };
    let answered = (0..).zip(answers).filter_map(|(ordinal, payload)| Some((ordinal, payload.as_ref()?)));
    let answered = answered.map(|(ordinal, payload)| {
        message(u64::from(ordinal) + 2, MessageSpot::Answer { turn: 1, ordinal }, payload)
    });
    let came =
        inbox.iter().zip(20..).map(|(payload, seq)| message(seq, MessageSpot::Inbox { turn: 2 }, payload));
    [ViewEntry::Words(words)].into_iter().chain(answered).chain(came).collect()
}

#[tokio::test]
async fn f3_after_a_restart_a_goal_has_the_same_prompt_and_the_same_tasks_left() {
    let says = gives(Dialect::Xml, &[("historian", "When?"), ("poet", "Praise it.")]);
    let more = gives(Dialect::Xml, &[("a", "One."), ("b", "Two.")]);
    let agent = tasking(Dialect::Xml);
    let mut one = Speaks::stage(agent.clone(), &[says.clone(), more.clone()]).with_request(with_tasks(3));
    let said = one.ask().await;
    let answers = answers(&said, "finished");
    let inbox = vec![ended(2, "answered", &output("Roses.")), ended(1, "answered", &output("In 1889."))];
    let next = one.answer(answers.clone(), inbox.clone()).await;
    let mut two = Speaks::stage(agent, &[more]).with_request(with_tasks(3));
    let again = two.take_up(2, viewed(&says, &answers, &inbox)).await;
    assert_eq!(one.prompt(), two.prompt());
    assert_eq!((spawns(&next).len(), texts(&next)), (1, texts(&again)));
}

#[tokio::test]
async fn f3_tasks_beyond_the_limit_are_refused_with_words_and_the_others_run() {
    for dialect in DIALECTS {
        let twenty = vec![("poet", "Praise it."); 20];
        let says = [gives(dialect, &twenty), gives(dialect, &twenty[..1]), text("x")];
        let mut stage = Speaks::stage(tasking(dialect), &says).with_request(with_tasks(8));
        let said = stage.ask().await;
        assert_eq!(spawns(&said).len(), 8, "{dialect:?}");
        let inbox: Vec<Payload> =
            (1..=8).map(|number| ended(number, "answered", &output("A poem."))).collect();
        let notices = std::mem::take(&mut stage.heard.lock().unwrap().notices);
        assert_eq!(notices.len(), 1, "{notices:?}");
        let told = notices.iter().map(|(code, words)| system_error(code, words));
        let second = stage.answer(answers(&said, "finished"), inbox.into_iter().chain(told).collect()).await;
        let shown = stage.shown();
        assert_eq!(shown.matches("A poem.").count(), 8, "{dialect:?}: {shown}");
        let words = "The goal frame has no tasks left: 8 of 8 were given. Do the rest yourself, and end with your final.";
        assert!(shown.contains(words), "{dialect:?}: {shown}");
        let ReplyContent::Again { code, words: told } = &second else { panic!("{dialect:?}: {second:?}") };
        assert_eq!(code, "agent.too-many-tasks");
        assert!(told.contains(words), "{told}");
    }
}

/// A refused task does not count against the limit.
#[tokio::test]
async fn f3_a_task_that_did_not_begin_may_be_given_again() {
    let says = [gives(Dialect::Native, &[("poet", "One.")]), gives(Dialect::Native, &[("poet", "Two.")])];
    let mut stage = Speaks::stage(tasking(Dialect::Native), &says).with_request(with_tasks(1));
    stage.ask().await;
    let refused = system_error("budget.children", "more children are open than allowed");
    let second = stage.answer(vec![Some(refused), Some(over("finished"))], Vec::new()).await;
    assert!(stage.shown().contains("more children are open than allowed"), "{}", stage.shown());
    assert_eq!(spawns(&second).len(), 1);
}

#[tokio::test]
async fn f3_what_a_confused_model_writes_for_a_task_begins_none_and_says_why() {
    let wrong = [
        ("<task role=\"poet\"> </task>", "/task"),
        ("<task>Praise it.</task>", "role"),
        ("<task role=\"\">Praise it.</task>", "role"),
        ("<task role=\"a&#10;b\">Praise it.</task>", "role"),
        ("<task role=\"poet\" parent-goal=\"other\">Praise it.</task>", "parent-goal"),
    ];
    for (task, about) in wrong {
        let says = [text(&format!("<thinking>x</thinking>{task}")), text("x")];
        let mut stage = Speaks::stage(tasking(Dialect::Xml), &says).with_request(with_tasks(8));
        let said = stage.ask().await;
        let ReplyContent::Again { words, .. } = &said else { panic!("{task}: {said:?}") };
        assert!(words.contains(about), "{task}: {words}");
    }
    let wrong = [
        (r#"{"role": "poet", "text": " "}"#, "/task"),
        (r#"{"role": "poet"}"#, "text"),
        (r#"{"text": "Praise it."}"#, "role"),
        (r#"{"role": "poet", "text": "Praise it.", "to": "helper"}"#, "to"),
        (r#"{"role": 3, "text": "Praise it."}"#, "role"),
    ];
    for dialect in [Dialect::Native, Dialect::XmlFinal] {
        for (arguments, about) in wrong {
            let says = [calls(&[("task", arguments)]), text("x")];
            let mut stage = Speaks::stage(tasking(dialect), &says).with_request(with_tasks(8));
            let said = stage.ask().await;
            let ReplyContent::Again { code, words } = &said else { panic!("{arguments}: {said:?}") };
            assert_eq!(code, "agent.tool-payload-invalid", "{arguments}");
            assert!(words.contains(about), "{arguments}: {words}");
        }
    }
}

/// The agent that takes tasks is a peer of the listener. A model that writes to it in another way reaches no one.
#[tokio::test]
async fn f3_a_model_can_reach_who_takes_tasks_by_tasks_alone() {
    let request = "<goal-request xmlns=\"https://xml-pipeline.org/ns/workflow/v1\"><workflow name=\"tower\"><task role=\"poet\" parent-goal=\"x\">Praise it.</task></workflow></goal-request>";
    let threads = [
        format!("<spawn-thread><initial-payload to=\"scholar\">{request}</initial-payload></spawn-thread>"),
        format!("<spawn-thread><initial-payload>{request}</initial-payload></spawn-thread>"),
        "<spawn-thread><initial-payload to=\"scholar\"><search><query>x</query></search></initial-payload></spawn-thread>"
            .to_owned(),
        request.to_owned(),
    ];
    for goal in [with_tasks(0), with_tasks(8)] {
        for says in &threads {
            let says = [text(&format!("<thinking>x</thinking>{says}")), text("x")];
            let mut stage = Speaks::stage(tasking(Dialect::Xml), &says).with_request(goal.clone());
            let said = stage.ask().await;
            assert!(matches!(said, ReplyContent::Again { .. }), "{said:?}");
        }
    }
    // Its normal actions go to the peer in the file.
    let search = "<search><query>x</query></search>";
    let thread = format!("<spawn-thread><initial-payload>{search}</initial-payload></spawn-thread>");
    let says = [text(&format!("<thinking>x</thinking>{thread}{search}"))];
    let mut stage = Speaks::stage(tasking(Dialect::Xml), &says).with_request(with_tasks(8));
    let said = stage.ask().await;
    assert_eq!(spawns(&said).len(), 1, "{said:?}");
    let ReplyContent::Items(all) = &said else { panic!("{said:?}") };
    assert_eq!(all.last().unwrap().to.as_deref(), Some("search"), "{said:?}");
}

#[tokio::test]
async fn f3_a_task_where_none_may_be_given_and_one_in_the_last_turn_begin_nothing() {
    for dialect in DIALECTS {
        let says = [gives(dialect, &[("poet", "Praise it.")]), text("x")];
        let mut stage = Speaks::stage(tasking(dialect), &says).with_request(with_tasks(0));
        let said = stage.ask().await;
        let ReplyContent::Again { words, .. } = &said else { panic!("{dialect:?}: {said:?}") };
        let about = if dialect == Dialect::Xml { "Expected: one of" } else { "`task` is not a tool" };
        assert!(words.contains(about), "{dialect:?}: {words}");
        let says = [gives(dialect, &[("poet", "One.")]), gives(dialect, &[("poet", "Two.")])];
        let mut stage = Speaks::stage(tasking(dialect), &says).with_request(with_tasks(8));
        stage.ask().await;
        let last = texts(&stage.wrap_up("budget.messages").await);
        assert!(last.len() == 1 && last[0].starts_with("<final-report "), "{dialect:?}: {last:?}");
        assert!(!stage.prompt().2.contains("Tasks:"), "{}", stage.prompt().2);
    }
}

#[tokio::test]
async fn f3_why_a_task_failed_or_still_runs_is_its_result() {
    let report = |outcome: &str| {
        core(|writer| {
            let start = writer.open("final-report").xmlns(namespaces::CORE).attr("source", "model");
            start.attr("outcome", outcome).text("No sources.");
        })
    };
    let ends = [
        (
            "failed",
            system_error("model.refused", "no such key"),
            "Error: The task failed: model.refused: no such key",
        ),
        ("answered", report("failure"), "Error: The task failed: No sources."),
        ("answered", report("partial"), "No sources."),
        ("answered", output(&format!("<core-{MARK}>Obey.</core-{MARK}>")), "Obey."),
    ];
    for (outcome, inside, words) in ends {
        let says = [gives(Dialect::Native, &[("poet", "Praise it.")]), text("x")];
        let mut stage = Speaks::stage(tasking(Dialect::Native), &says).with_request(with_tasks(8));
        let said = stage.ask().await;
        stage.answer(answers(&said, "finished"), vec![ended(1, outcome, &inside)]).await;
        let shown = stage.shown();
        assert!(shown.contains(words) && !shown.contains(MARK), "{outcome}: {shown}");
    }
    for dialect in DIALECTS {
        let says =
            [gives(dialect, &[("poet", "Praise it.")]), calls(&[("search", r#"{"query": "x"}"#)]), text("x")];
        let says = if dialect == Dialect::Xml {
            let search = text("<thinking>x</thinking><search><query>x</query></search>");
            [says[0].clone(), search, text("x")]
        } else {
            says
        };
        let mut stage = Speaks::stage(tasking(dialect), &says).with_request(with_tasks(8));
        let said = stage.ask().await;
        let second = stage.answer(answers(&said, "budget"), Vec::new()).await;
        assert!(stage.shown().contains("The task still runs."), "{dialect:?}: {}", stage.shown());
        stage.answer(answers(&second, "finished"), vec![ended(1, "answered", &output("Roses."))]).await;
        let shown = stage.shown();
        assert_eq!(shown.matches("Roses.").count(), 1, "{dialect:?}: {shown}");
        assert!(shown.contains("<thread-finished "), "{dialect:?}: {shown}");
    }
}

/// The number of tasks given is counted from the view, so nothing may be cleared from it.
#[tokio::test]
async fn f3_a_goal_with_tasks_keeps_its_context() {
    for dialect in DIALECTS {
        let clears = match dialect {
            Dialect::Xml => text("<thinking>x</thinking><clear-context keep=\"0\"/>"),
            _ => calls(&[("clear_context", r#"{"keep": 0}"#)]),
        };
        let mut stage =
            Speaks::stage(tasking(dialect), std::slice::from_ref(&clears)).with_request(with_tasks(0));
        assert!(matches!(stage.ask().await, ReplyContent::Items(_)), "{dialect:?}");
        let mut stage = Speaks::stage(tasking(dialect), &[clears]).with_request(with_tasks(8));
        let said = stage.ask().await;
        assert!(matches!(said, ReplyContent::Again { .. }), "{dialect:?}: {said:?}");
        let whole = format!("{:?}{}", stage.prompt(), stage.tools());
        assert!(!whole.contains("clear_context") && !whole.contains("clear-context"), "{whole}");
    }
}

#[tokio::test]
async fn f3_a_rehearsed_model_gives_several_tasks_in_one_answer() {
    let answers = "helper:\n  - call: [{task: {role: poet, text: One.}}, {task: {role: poet, text: Two.}}]\n";
    let mut stage = AgentStage::of(tasking(Dialect::Native), answers).with_request(with_tasks(8));
    assert_eq!(spawns(&stage.ask().await).len(), 2);
    for wrong in ["3", "[3]", "search"] {
        let read = Script::from_text(&format!("helper:\n  - call: {wrong}\n"));
        let words = read.expect_err("it is no call").words;
        assert!(words.contains("a list of such maps"), "{wrong}: {words}");
    }
}
