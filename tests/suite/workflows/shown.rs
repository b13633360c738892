//! Runs of workflows as `ps` and `why` show them, in progress and over: the step, pass and item of each thread.

use serde_json::{Value, json};

use super::house::WorkflowHouse;
use crate::program::{PATIENCE, Ran, ask, page, run_file};

/// Twelve items, four at once. Two are good and one fails, so that three are over; those after them wait for a person.
pub(super) const GOALS: &str = "
payloads: {files: [line, 1..20], seen: {good: bool}}
workflows:
  checked:
    by: writer
    goals:
      - pick: {do: List them., gives: files}
      - review:
          each: pick/item
          at_once: 4
          failed: keep
          goals:
            - look: {do: Look at it., gives: seen}
            - gate: {ask: Is it good enough?, choices: [keep, drop], when: {look/good: false}}
      - answer: Say it.
";

pub(super) const REPLIES: &str = r#"
- {if: '<current-goal id="pick">', say: '{"item": ["good1", "good2", "lost", "d", "e", "f", "g", "h", "i", "j", "k", "l"]}', times: always}
- {if: "\ngood", say: '{"good": true}', times: always}
- {if: "\nlost\n", error: {status: 400}, times: always}
- {if: '<current-goal id="look">', say: '{"good": false}', times: always}
"#;

fn value(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

/// The thread whose id ends with that.
fn thread<'v>(listed: &'v Value, end: &str) -> &'v Value {
    let mut threads = listed["threads"].as_array().unwrap().iter();
    let found = threads.find(|one| one["thread"].as_str().unwrap().ends_with(end));
    found.unwrap_or_else(|| panic!("no {end} in {listed}"))
}

#[test]
fn f7_ps_and_why_show_the_progress_of_a_run_and_the_purpose_of_its_threads() {
    let house = WorkflowHouse::build(GOALS, REPLIES);
    let ran = house.systole(&["ask", "Go."]);
    assert_eq!(ran.code, Some(6), "only a person can go on: {ran:?}");

    let listed = value(&house.systole(&["ps", "--children", "-n", "0", "--json"]));
    let run = listed["threads"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| !one["thread"].as_str().unwrap().contains('.'));
    let far = json!([{"step": "review", "loop": null, "pass": null, "done": 3, "failed": 1, "running": 4, "of": 12}]);
    assert_eq!(run.unwrap()["steps"], far);
    let fourth = &thread(&listed, ".review-4")["goal"];
    assert_eq!(
        (&fourth["workflow"], &fourth["step"], &fourth["item"]),
        (&"checked".into(), &"review".into(), &4.into())
    );
    assert!(
        fourth["sentence"].as_str().unwrap().starts_with("review: for each item of pick/item, 4 at once")
    );
    let look = &thread(&listed, ".review-1.look")["goal"];
    assert_eq!(
        (&look["step"], &look["item"]),
        (&"look".into(), &Value::Null),
        "a thread that is over: {look}"
    );

    let text = house.wide(&["ps", "--children", "-n", "0"]);
    assert!(text.contains("review: 3 of 12 done (1 failed), 4 running; "), "{text}");
    assert!(text.contains("review, item 4: "), "{text}");
    assert!(text.contains("pick: <files>"), "{text}");

    let waits = value(&house.systole(&["why", "--json"]));
    assert_eq!(waits["waits"][0]["goal"]["step"], "gate", "{waits}");
    let all = house.wide(&["why"]);
    assert!(all.contains("gate: for a person: question a1"), "{all}");
    let why = house.wide(&["why", "@last"]);
    for words in [
        "step: review: 3 of 12 done (1 failed), 4 running",
        "goal: review, item 4: for each item of pick/item, 4 at once",
        "goal: gate: if look/good is false: asks a person: Is it good enough?",
    ] {
        assert!(
            why.split_whitespace().collect::<Vec<_>>().join(" ").contains(words),
            "no {words:?} in\n{why}"
        );
    }
}

#[test]
fn f7_the_passes_of_a_loop_are_named() {
    let goals = "
workflows:
  polish:
    by: writer
    goals:
      - draft: {repeat: {until: converged, at_most: 5}, goals: [improve: Improve it.]}
      - answer: {do: Give it., sees: [draft]}
";
    let replies = r#"
- {if: 'iteration="1"', say: one, times: always}
- {if: 'iteration="2"', say: CONVERGED, times: always}
- {if: '<current-goal id="answer">', say: It is one., times: always}
"#;
    let house = WorkflowHouse::build(goals, replies);
    assert_eq!(house.systole(&["ask", "Go."]).code, Some(0));
    let listed = value(&house.systole(&["ps", "--children", "--json"]));
    let goal = &thread(&listed, ".draft-2-improve")["goal"];
    assert_eq!(
        (&goal["loop"], &goal["pass"], &goal["step"]),
        (&"draft".into(), &2.into(), &"improve".into())
    );
    let text = house.wide(&["ps", "--children"]);
    assert!(text.contains("improve, pass 2 of draft: <goal-output>"), "{text}");
    // A root that is over is at no step.
    assert_eq!(value(&house.systole(&["ps", "--json"]))["threads"][0]["steps"], json!([]));
}

#[test]
fn f2_ask_prints_that_a_loop_reached_its_limit_and_the_log_has_its_code() {
    let goals = "
workflows:
  polish:
    by: writer
    goals:
      - draft: {repeat: {until: converged, at_most: 2}, goals: [improve: Improve it.]}
      - answer: {do: Give it., sees: [draft]}
";
    let replies = r#"
- {if: '<current-goal id="improve"', say: better, times: always}
- {if: '<current-goal id="answer">', need: [outcome="not-converged"], say: It is better., times: always}
"#;
    let house = WorkflowHouse::build(goals, replies);
    let ran = house.systole(&["ask", "Go."]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "It is better."), "{ran:?}");
    let note = "note: draft: the loop did not converge in 2 passes; the run goes on with the last one";
    assert_eq!(ran.stderr.matches(note).count(), 1, "{ran:?}");
    let records = house.records();
    let limits =
        records.iter().filter(|one| String::from_utf8_lossy(&one.body).contains("workflow.loop-limit"));
    assert_eq!(limits.count(), 1);
}

#[test]
fn h4_the_map_shows_workflows_as_sentences_and_the_steps_that_run() {
    let house = WorkflowHouse::build(GOALS, REPLIES);
    let running = house.run();
    let still = map_of(&house);
    assert_eq!(still["running"], json!([]), "{still}");
    let asked = house.systole(&["ask", "Go."]);
    assert_eq!(asked.code, Some(6), "only a person can go on: {asked:?}");
    let end = tokio::time::Instant::now() + PATIENCE;
    let found = loop {
        let found = map_of(&house);
        if found["running"].as_array().unwrap().len() == 2 {
            break found;
        }
        assert!(tokio::time::Instant::now() < end, "{found}");
    };
    let step = |at: usize, name: &str| found["running"][at][name].clone();
    assert_eq!((step(0, "workflow"), step(0, "step")), ("checked".into(), "gate".into()), "{found}");
    assert_eq!((step(1, "workflow"), step(1, "step")), ("checked".into(), "review".into()), "{found}");
    let thread = found["running"][1]["threads"][0].as_str().unwrap().to_owned();
    let shown = page(&run_file(house.path()), "GET", "/map", "text/html", &[]).body;
    let workflow = shown.split("aria-label=\"Workflow checked\"").nth(1).unwrap();
    let steps: Vec<&str> = workflow.split("</section>").next().unwrap().split("<li").skip(1).collect();
    let lit: Vec<&&str> = steps.iter().filter(|step| step.contains("<strong>")).collect();
    assert!(steps.len() == 5 && lit.len() == 2, "{steps:?}");
    assert!(lit[0].contains("review: for each item of pick/item") && lit[0].contains(&thread), "{lit:?}");
    assert!(lit[1].contains("gate: if ") && lit[1].contains("runs in 4"), "{lit:?}");
    drop(running);
}

fn map_of(house: &WorkflowHouse) -> Value {
    let shown = ask(&run_file(house.path()), "GET", "/map", &[], "");
    assert_eq!(shown.status, 200, "{shown:?}");
    shown.json
}
