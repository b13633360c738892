//! Goals under supervision, from the outside: what their agents, their supervisors and people are asked, and what follows.

use rustix::process::Signal;
use serde_json::Value;

use super::house::WorkflowHouse;
use crate::golden::golden;
use crate::program::Ran;

/// A clean course of the goal `answer`.
pub(super) const CLEAN: &str = r#"
- {if: 'Do not pursue this goal yet.', say: '{"goal": "answer", "scope": "All of it.", "prediction": ["It is short."]}', times: always}
- {if: 'You have pursued this goal.', say: '{"goal": "answer", "met": "yes", "scope-left": false}', times: always}
- {if: "<current-goal id=\"answer\">\nSay it.", say: It is said., times: always}
"#;

/// A course with something left, and no words of the supervisor.
pub(super) const LEFT: &str = r#"
- {if: 'Do not pursue this goal yet.', say: '{"goal": "answer", "scope": "All of it."}', times: always}
- {if: 'You have pursued this goal.', say: '{"goal": "answer", "met": "partly", "scope-left": true, "concern": ["No dates."]}', times: always}
- {if: '<correction source=', say: It is said better., times: always}
- {if: "<current-goal id=\"answer\">\nSay it.", say: It is said., times: always}
"#;

/// A supervisor that asks a person.
pub(super) const PAUSES: &str = r#"
- {if: 'Judge how this goal was pursued.', say: '{"goal": "answer", "value": "pause", ".": "Who decides that?"}', times: always}
"#;

/// A workflow of one goal that is supervised so.
pub(super) fn watched(by: &str) -> String {
    format!("\nworkflows: {{watched: {{by: writer, supervise: {by}, goals: [{{answer: Say it.}}]}}}}\n")
}

/// Sends the question under that key and says what came of it: code 6 while a person is waited for.
pub(super) fn send(house: &WorkflowHouse, key: &str) -> Ran {
    let body = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Go.</ask>";
    std::fs::write(house.path().join("ask.xml"), body).unwrap();
    house.systole(&["send", "--file", "ask.xml", "--key", key])
}

pub(super) fn listed(house: &WorkflowHouse) -> Vec<Value> {
    let ran = house.systole(&["approve", "--json"]);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    json["approvals"].as_array().unwrap().clone()
}

/// Answers the oldest question. It is long, so it is answered by its hash as well.
pub(super) fn choose(house: &WorkflowHouse, choice: &str, note: &str) {
    let asked = listed(house);
    let (id, hash) = (asked[0]["id"].as_str().unwrap(), asked[0]["hash"].as_str().unwrap());
    let note = if note.is_empty() { vec![] } else { vec!["--note", note] };
    let chosen = house.systole(&[&["choose", id, choice, "--hash", hash][..], &note].concat());
    assert_eq!(chosen.code, Some(0), "{chosen:?}");
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn f4_every_request_of_a_supervised_goal_is_golden_and_later_goals_see_its_last_output_alone() {
    let goals = "
payloads: {plan: {summary: line, days: int 1..9}}
workflows:
  watched:
    by: writer
    supervise: critic
    goals:
      - plan: {do: Plan it., gives: plan}
      - answer: Say it.
";
    let replies = r#"
- {if: "<current-goal id=\"plan\">\nDo not", say: '{"goal": "plan", "scope": "A plan.", "prediction": ["It fits & holds."], "assumption": ["a", "b", "c", "d"]}', times: always}
- {if: "<current-goal id=\"plan\">\nYou have", say: '{"goal": "plan", "met": "partly", "scope-left": true, "concern": ["No dates."]}', times: always}
- {if: "It was corrected once", say: '{"goal": "plan", "value": "continue", ".": ""}', times: always}
- {if: "<current-goal id=\"plan\">\nJudge", say: '{"goal": "plan", "value": "reorient", ".": "Say <when>."}', times: always}
- {if: "<correction source=\"supervisor\">\nSay &lt;when&gt;.", say: '{"summary": "On Monday.", "days": 2}', times: always}
- {if: "<current-goal id=\"plan\">\nPlan it.", say: '{"summary": "Soon.", "days": 9}', times: always}
"#;
    let house = WorkflowHouse::build(goals, &format!("{replies}{CLEAN}"));
    let ran = house.systole(&["ask", "Go."]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "It is said.\n"), "{ran:?}");
    let found: Vec<String> = house.goals_in_order();
    assert_eq!(found.len(), 7 + 3);
    golden("tests/suite/golden/workflows/supervised.xml", found.join("\n\n") + "\n");
    // Why the supervisor was asked is in the notes, and that it was not asked as well.
    let notes = house.bodies("<watched ").concat();
    let all = ["commitment-not-met", "scope-left", "assumptions-over-3", "concern-raised"];
    let all = all.map(|one| format!("<trigger>{one}</trigger>")).concat();
    for noted in [
        format!(" goal=\"plan\">{all}</reconcile>"),
        format!(" goal=\"plan:2\">{all}</reconcile>"),
        " goal=\"answer\"></reconcile>".to_owned(),
    ] {
        assert_eq!(notes.matches(&noted).count(), 1, "{noted}: {notes}");
    }
    house.judged();
}

#[test]
fn f4_a_person_supervises_every_output_and_can_correct_it_once() {
    let house =
        WorkflowHouse::build(&watched("person"), &CLEAN.replace("It is said.", "It is <said> & done."));
    let sent = send(&house, "k");
    assert_eq!(sent.code, Some(6), "{sent:?}");
    let words = "The goal answer waits for you: writer has pursued it. Continue with its output, reorient it with a note, or stop?";
    assert_eq!(listed(&house)[0]["question"], words);
    let shown = flat(&house.systole(&["approve"]).stdout);
    for part in [
        "commit:answer",
        "All of it.",
        "It is &lt;said> &amp; done.",
        "assess:answer",
        "answer: systole choose a1 continue, or reorient, or stop",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    choose(&house, "reorient", "Say more.");
    assert_eq!(send(&house, "k").code, Some(6));
    let again = "The goal answer waits for you: writer has pursued it. It was corrected once. Continue with its output, or stop?";
    assert_eq!(listed(&house)[0]["question"], again);
    let hash = listed(&house)[0]["hash"].as_str().unwrap().to_owned();
    let refused = house.systole(&["choose", "a2", "reorient", "--hash", &hash]);
    assert!(refused.stderr.contains("question.invalid-choice"), "{refused:?}");
    choose(&house, "continue", "");
    let done = send(&house, "k");
    assert!(done.code == Some(0) && done.stdout.contains("It is &lt;said&gt; &amp; done."), "{done:?}");
    let goals = house.goals_in_order();
    assert_eq!(goals.len(), 5, "a commitment, and twice an output and its assessment");
    let correction = "<correction source=\"person\">\nSay more.\n</correction>";
    assert_eq!(
        goals.iter().map(|goal| goal.contains(correction)).collect::<Vec<_>>(),
        [false, false, false, true, true]
    );
    house.judged();
}

#[test]
fn f4_a_person_stops_a_paused_goal_and_the_run_fails_or_continues_as_configured() {
    let kept = "
workflows:
  watched:
    by: writer
    goals:
      - answer: {do: Say it., supervise: critic, failed: keep}
      - end: Say what came of it.
";
    let end = "- {if: \"outcome=\\\"failed\\\">\\nworkflow.stopped: Not this.\\n\", say: It was stopped., times: always}\n";
    for (goals, replies, code, words) in [
        (watched("critic"), format!("{PAUSES}{LEFT}"), 1, "workflow.stopped: answer: Not this."),
        (kept.to_owned(), format!("{end}{PAUSES}{LEFT}"), 0, "It was stopped."),
    ] {
        let house = WorkflowHouse::build(&goals, &replies);
        assert_eq!(send(&house, "k").code, Some(6));
        let asked = listed(&house)[0]["question"].as_str().unwrap().to_owned();
        let why = "critic has paused it. Why: commitment-not-met, scope-left, concern-raised.";
        assert!(asked.contains(why), "{asked}");
        let shown = flat(&house.systole(&["approve"]).stdout);
        assert!(shown.contains("verdict:answer") && shown.contains("Who decides that?"), "{shown}");
        choose(&house, "stop", "Not this.");
        let done = send(&house, "k");
        assert_eq!(done.code, Some(code), "{done:?}");
        assert!(flat(&format!("{}{}", done.stdout, done.stderr)).contains(words), "{done:?}");
        house.judged();
    }
}

#[test]
fn f4_a_paused_goal_is_corrected_by_a_person_and_the_supervisor_may_pause_it_once_more() {
    let house = WorkflowHouse::build(&watched("critic"), &format!("{PAUSES}{LEFT}"));
    assert_eq!(send(&house, "k").code, Some(6));
    choose(&house, "reorient", "");
    assert_eq!(send(&house, "k").code, Some(6));
    let choices = listed(&house)[0]["choices"].clone();
    assert_eq!(choices, serde_json::json!(["continue", "stop"]));
    choose(&house, "continue", "");
    let done = send(&house, "k");
    assert!(done.code == Some(0) && done.stdout.contains("It is said better."), "{done:?}");
    let goals = house.goals_in_order();
    assert_eq!(goals.len(), 7, "no goal is more than seven requests");
    assert!(goals[4].contains("\nA person wants this done again and wrote no note.\n"), "{}", goals[4]);
    house.judged();
}

#[test]
fn f4_a_paused_goal_waits_over_kills_and_ends_when_its_thread_is_cancelled() {
    let house = WorkflowHouse::build(&watched("critic"), &format!("{PAUSES}{LEFT}"));
    let organism = house.run();
    assert_eq!(send(&house, "k").code, Some(6));
    let waits = listed(&house);
    organism.signal(Signal::KILL);
    assert_eq!(organism.end().code, None);
    let organism = house.run();
    assert_eq!(listed(&house), waits, "nothing is lost and nothing is new");
    let requests = house.mock.count().requests;
    let ended = house.systole(&["cancel", "@last"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(listed(&house), Vec::<Value>::new());
    let late = house.systole(&["choose", "a1", "continue"]);
    assert_eq!(late.code, Some(4), "{late:?}");
    assert_eq!(organism.interrupt().code, Some(130));
    assert_eq!(house.mock.count().requests, requests);
    house.judged();
}

#[test]
fn f4_an_invalid_verdict_is_repaired_and_a_missing_verdict_fails_the_goal() {
    let repaired = r#"
- {if: 'Judge how', say: 'Looks fine.', times: 1}
- {if: 'Judge how', say: '{"goal": "answer", "value": "reorient", ".": " "}', times: 1}
- {if: 'Judge how', say: '{"goal": "answer", "value": "continue", ".": ""}', times: 1}
- {if: 'reorient needs a correction as the text of the verdict', say: '{"goal": "answer", "value": "continue", ".": ""}', times: always}
- {if: 'Error: ', say: '{"goal": "answer", "value": "reorient", ".": " "}', times: 1}
"#;
    let house = WorkflowHouse::build(&watched("critic"), &format!("{repaired}{LEFT}"));
    let ran = house.systole(&["ask", "Go."]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "It is said.\n"), "{ran:?}");
    house.judged();
    // Its final is a report of the agent listener then.
    let house = WorkflowHouse::build(
        &watched("critic"),
        &format!(
            "- {{if: 'Judge how', say: Looks fine., times: 1}}\n- {{if: 'Error: ', say: Looks fine., times: always}}\n{LEFT}"
        ),
    );
    let ran = house.systole(&["ask", "Go."]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let is_told = ran.stderr.starts_with("error: agent.no-answer: no usable answer of the model")
        && ran.stderr.contains("\n  at: watched, step answer\n");
    assert!(is_told, "{ran:?}");
    house.judged();
}

#[test]
fn f4_a_question_about_one_branch_holds_no_other_branch_up() {
    let goals = "
workflows:
  watched:
    by: writer
    goals:
      - both:
          parallel:
            - answer: {do: Say it., supervise: critic}
            - quick: {goals: [one: First., two: Second.]}
      - end: Say both.
";
    let others = r#"
- {if: '<current-goal id="one">', say: a, times: always}
- {if: '<current-goal id="two">', say: b, times: always}
- {if: '<current-goal id="end">', need: ['It is said', '<goal id="two">'], say: Both., times: always}
"#;
    let house = WorkflowHouse::build(goals, &format!("{others}{PAUSES}{LEFT}"));
    assert_eq!(send(&house, "k").code, Some(6));
    let goals = house.goals_in_order();
    assert!(goals.iter().any(|goal| goal.contains("<current-goal id=\"two\">")), "{goals:?}");
    choose(&house, "continue", "");
    let done = send(&house, "k");
    assert!(done.code == Some(0) && done.stdout.contains("Both."), "{done:?}");
    house.judged();
}
