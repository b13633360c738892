//! Steps that a thread of their own does as a whole: groups and loops that are tried again, and steps whose time ends
//! although a person is asked inside.

use rustix::process::Signal;

use super::house::WorkflowHouse;
use super::supervision::{CLEAN, choose, listed, send};
use crate::program::{Events, ask, run_file};

/// The goals of a log with this id.
fn count(house: &WorkflowHouse, goal: &str) -> usize {
    let marked = format!("<current-goal id=\"{goal}\"");
    house.goals().iter().filter(|body| body.contains(&marked)).count()
}

const BOTH: &str = "
workflows:
  stubborn:
    by: writer
    goals:
      - both: {goals: [first: Begin., second: Go on.], retry: {attempts: 3, backoff: 1s..1s}}
      - answer: {do: Say it., sees: [both]}
";

#[test]
fn f2_a_group_is_tried_again_as_a_whole_and_all_its_outputs_are_known_after_it() {
    let replies = r#"
- {if: '<current-goal id="first">', say: a, times: always}
- {if: '<current-goal id="second">', need: ['<goal id="first">'], error: {status: 400}, times: 2}
- {if: '<current-goal id="second">', say: b, times: always}
- {if: "<goal id=\"first\">\na\n  </goal>\n\n  <goal id=\"second\">\nb\n", say: a and b, times: always}
"#;
    let house = WorkflowHouse::build(BOTH, replies);
    let ran = house.systole(&["ask", "Go."]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "a and b\n"), "{ran:?}");
    assert_eq!((count(&house, "first"), count(&house, "second")), (3, 3));
    house.judged();

    let replies = r#"
- {if: '<current-goal id="first">', say: a, times: always}
- {if: '<current-goal id="second">', error: {status: 400}, times: always}
"#;
    let house = WorkflowHouse::build(BOTH, replies);
    let ran = house.systole(&["ask", "Go."]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let (cause, rest) = ran.stderr.split_once('\n').unwrap();
    assert!(cause.starts_with("error: model.invalid-request: "), "{ran:?}");
    assert!(
        rest.starts_with("  at: stubborn, step both: second, writer\n  try: systole explain model."),
        "{ran:?}"
    );
    let cause = cause.strip_prefix("error: ").unwrap();
    let flat =
        |arguments: &[&str]| house.systole(arguments).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = flat(&["why", "@last"]);
    for words in [&format!("failed: {cause}"), "at: stubborn, step both: second, writer next: ", " --all"] {
        assert!(why.contains(words), "no {words:?} in {why}");
    }
    let all = flat(&["why", "@last", "--all"]);
    let chain = "listener.failed stubborn workflow.step-failed step both: second listener.failed writer \
                 model.invalid-request next:";
    assert!(all.contains(chain), "{all}");
    let ps = flat(&["ps"]);
    assert!(ps.contains(" failed ") && ps.contains(" model.invalid-request: "), "{ps}");
    // The last record is the outcome of the run itself, which passes on the code of its writer.
    let log = house.systole(&["log", "@last", "--json"]).stdout;
    let last = log.lines().rfind(|line| line.contains("\"outcome\"")).unwrap();
    let codes = "code=\\\"listener.failed\\\" first-code=\\\"model.invalid-request\\\"";
    assert!(last.contains(codes) && last.contains("message=\\\"stubborn: workflow.step-failed: "), "{last}");
    assert_eq!((count(&house, "first"), count(&house, "second")), (3, 3));
    house.judged();
}

#[test]
fn f2_a_loop_that_is_tried_again_counts_its_passes_anew() {
    let goals = "
workflows:
  polish:
    by: writer
    goals:
      - sides:
          parallel:
            - draft:
                repeat: {until: converged, at_most: 5}
                goals: [improve: Improve it.]
                retry: {attempts: 2, backoff: 1s..1s}
            - other: Do the other.
      - answer: {do: Give it., sees: [draft, other]}
";
    let replies = r#"
- {if: 'id="improve" loop="draft" iteration="1"', say: one, times: always}
- {if: 'id="improve" loop="draft" iteration="2"', error: {status: 400}, times: 1}
- {if: 'id="improve" loop="draft" iteration="2"', say: two, times: always}
- {if: 'id="improve" loop="draft" iteration="3"', say: CONVERGED, times: always}
- {if: '<current-goal id="other">', say: o, times: always}
- {if: "<goal id=\"improve\">\ntwo\n  </goal>\n\n  <goal id=\"other\">\no\n", say: It is two., times: always}
"#;
    let house = WorkflowHouse::build(goals, replies);
    let ran = house.systole(&["ask", "Go."]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "It is two.\n"), "{ran:?}");
    assert_eq!(count(&house, "improve"), 2 + 3, "{:?}", house.goals());
    house.judged();
}

#[test]
fn f8_a_kill_in_the_pause_before_another_try_costs_no_request() {
    let goals = BOTH.replace("1s..1s", "3s..3s");
    let replies = r#"
- {if: '<current-goal id="first">', say: a, times: always}
- {if: '<current-goal id="second">', error: {status: 400}, times: 1}
- {if: '<current-goal id="second">', say: b, times: always}
- {if: '<current-goal id="answer">', say: both, times: always}
"#;
    let house = WorkflowHouse::build(&goals, replies);
    let organism = house.run();
    let body = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Go.</ask>";
    let run = run_file(house.path());
    assert_eq!(ask(&run, "POST", "/v1/messages", &[("Idempotency-Key", "k")], body).status, 202);
    let mut events = Events::open(&run, "?from=0", &[]);
    while !events.next().expect("a timer is set").2.to_string().contains("<timer-set ") {}
    organism.signal(Signal::KILL);
    assert_eq!(organism.end().code, None);
    let organism = house.run();
    let done = send(&house, "k");
    assert!(done.code == Some(0) && done.stdout.contains("both"), "{done:?}");
    assert_eq!(organism.interrupt().code, Some(130));
    assert_eq!((count(&house, "first"), count(&house, "second"), house.mock.count().requests), (2, 2, 5));
    house.judged();
}

#[test]
fn f2_a_timeout_ends_a_question_inside_its_step_also_over_a_kill() {
    let gate = "{goals: [look: Look., gate: {ask: Go on?, choices: [go]}], timeout: 4s, failed: keep}";
    let supervised = "{do: Say it., supervise: person, timeout: 4s, failed: keep}";
    for (step, id) in [(gate, "both"), (supervised, "answer")] {
        let goals = format!(
            "\nworkflows: {{gated: {{by: writer, goals: [{{{id}: {step}}}, {{end: {{do: Say what came of it., sees: [{id}]}}}}]}}}}\n"
        );
        let replies = format!(
            "
- {{if: \"<goal id=\\\"{id}\\\" outcome=\\\"failed\\\">\\nworkflow.timeout: it took longer than 4s\\n\", say: Too late., times: always}}
- {{if: '<current-goal id=\"look\">', say: seen, times: always}}
{CLEAN}"
        );
        let house = WorkflowHouse::build(&goals, &replies);
        let organism = house.run();
        assert_eq!(send(&house, "k").code, Some(6), "a person is asked");
        let asked = listed(&house);
        assert_eq!(asked.len(), 1);
        organism.signal(Signal::KILL);
        assert_eq!(organism.end().code, None);
        let organism = house.run();
        let mut events = Events::open(&run_file(house.path()), "?from=0", &[]);
        let is_end = |data: serde_json::Value| {
            data["thread"].as_str().is_some_and(|thread| !thread.contains('.')) && data["code"] == "final"
        };
        while !is_end(events.next().expect("the workflow answers").2) {}
        let done = send(&house, "k");
        assert!(done.code == Some(0) && done.stdout.contains("Too late."), "{done:?}");
        assert_eq!(listed(&house), Vec::<serde_json::Value>::new(), "the question is over");
        let late = house.systole(&["choose", asked[0]["id"].as_str().unwrap(), "go"]);
        assert_eq!(late.code, Some(4), "{late:?}");
        assert_eq!(organism.interrupt().code, Some(130));
        house.judged();
    }
}

#[test]
fn f4_a_question_shows_the_output_of_a_step_that_another_thread_did() {
    let both = "{goals: [first: Begin., second: Go on.], retry: {attempts: 2}}";
    let supervised = "{goals: [second: {do: Go on., supervise: critic, timeout: 1h}]}";
    for both in [both, supervised] {
        let goals = format!(
            "
workflows:
  gated:
    by: writer
    goals:
      - both: {both}
      - gate: {{ask: Good?, choices: [go, stop], shows: [second]}}
      - answer: Say it.
"
        );
        let replies = r#"
- {if: 'Do not pursue this goal yet.', say: '{"goal": "second", "scope": "All."}', times: always}
- {if: 'You have pursued this goal.', say: '{"goal": "second", "met": "yes", "scope-left": false}', times: always}
- {if: '<current-goal id="first">', say: a, times: always}
- {if: '<current-goal id="second">', say: This is the plan., times: always}
- {if: '<current-goal id="answer">', say: done, times: always}
"#;
        let house = WorkflowHouse::build(&goals, replies);
        let sent = send(&house, "k");
        assert_eq!(sent.code, Some(6), "{sent:?}");
        let shown = house.wide(&["approve"]);
        assert!(shown.contains("This is the plan."), "{shown}");
        choose(&house, "go", "");
        assert_eq!(send(&house, "k").code, Some(0));
        house.judged();
    }
}

#[test]
fn f4_a_person_who_says_stop_is_not_asked_again_by_retry() {
    let goals = "
workflows:
  gated:
    by: writer
    goals:
      - both: {goals: [answer: {do: Say it., supervise: person}], retry: {attempts: 3, backoff: 1s..1s}}
";
    let house = WorkflowHouse::build(goals, CLEAN);
    assert_eq!(send(&house, "k").code, Some(6));
    choose(&house, "stop", "Not this.");
    let done = send(&house, "k");
    assert!(done.code == Some(1), "{done:?}");
    assert!(
        done.stderr.contains("error: workflow.stopped: answer: Not this.\n  at: gated, step both\n"),
        "{done:?}"
    );
    assert_eq!(count(&house, "answer"), 3, "a commitment, an output and its assessment");
    house.judged();
}

#[test]
fn f7_a_budget_for_each_child_is_not_the_budget_of_a_whole_group() {
    let goals = "
workflows:
  frugal:
    by: writer
    budget: {messages: 2}
    goals:
      - both: {goals: [first: Begin., second: Go on., third: End.], retry: {attempts: 2}}
      - answer: {do: Say it., supervise: critic, timeout: 1h}
";
    let replies = format!("{CLEAN}- {{say: x, times: always}}\n");
    let house = WorkflowHouse::build(goals, &replies);
    let ran = house.systole(&["ask", "Go."]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "It is said.\n"), "{ran:?}");
    house.judged();
}
