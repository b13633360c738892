//! The picture of a run in `tree`: declared steps with state, count, pass, person and one line of output, now and at a
//! position.

use serde_json::{Value, json};
use systole_show::columns::width;

use super::house::WorkflowHouse;
use super::shown::{GOALS, REPLIES};

/// The picture of the last thread.
fn picture(house: &WorkflowHouse, more: &[&str]) -> Value {
    let ran = house.systole(&[&["tree", "--json"], more].concat());
    let tree: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    tree["picture"].clone()
}

/// A step at any depth.
fn step<'v>(picture: &'v Value, name: &str) -> &'v Value {
    fn found<'v>(rows: &'v Value, name: &str) -> Option<&'v Value> {
        rows.as_array()?.iter().find_map(|row| match row["step"] == name {
            true => Some(row),
            false => found(&row["steps"], name),
        })
    }
    found(&picture["steps"], name).unwrap_or_else(|| panic!("no {name} in {picture}"))
}

#[test]
fn f10_each_declared_step_has_its_state_its_count_and_one_line_of_output() {
    let house = WorkflowHouse::build(GOALS, REPLIES);
    assert_eq!(house.systole(&["ask", "Go."]).code, Some(6), "only a person can go on");
    let seen = picture(&house, &[]);
    assert_eq!((&seen["name"], &seen["state"]), (&"checked".into(), &"waits-for-person".into()));
    let pick = step(&seen, "pick");
    assert_eq!((&pick["state"], &pick["who"]), (&"done".into(), &json!(["writer"])));
    assert!(pick["output"].as_str().unwrap().starts_with("good1 good2 lost"), "{pick}");
    assert!(pick["thread"].as_str().unwrap().ends_with(".pick"), "{pick}");
    assert!(pick["used"]["requests"] == 1, "{pick}");
    let review = step(&seen, "review");
    assert_eq!(review["items"], json!({"done": 3, "failed": 1, "running": 4, "of": 12}));
    assert_eq!(review["state"], "waits-for-person");
    assert_eq!(step(&seen, "gate")["state"], "waits-for-person");
    assert_eq!(step(&seen, "answer")["state"], "not-yet");

    let text = house.systole(&["tree"]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 6, "a line for the run and for each of five steps:\n{text}");
    assert!(lines.iter().all(|line| width(line) <= 80), "{text}");
    for (at, words) in [
        (1, "  ✓ pick    writer  "),
        (2, "  ? review  3 of 12, 1 failed, 4 running  "),
        (4, "    ? gate  0 done, 4 running  waits for a person ("),
        (5, "  – answer  writer"),
    ] {
        assert!(lines[at].starts_with(words), "no {words:?} in\n{text}");
    }
    let all = house.systole(&["tree", "--all"]).stdout;
    assert!(all.contains("note <checked>") && all.contains("1/1.1  thread "), "{all}");
    let log = house.systole(&["log", "-n", "0", "--json"]).json_lines();
    let asked = log.iter().find(|record| record["to"] == "checked").unwrap()["position"].to_string();
    let asked = asked.trim_matches('"');
    assert_eq!(picture(&house, &["--at", asked])["steps"][0]["state"], "not-yet", "as it was at a position");
}

/// Three levels of loops, a step that is skipped, a failure that is kept and tried again, and hostile output.
const DEEP: &str = "
workflows:
  deep:
    by: writer
    goals:
      - outer:
          repeat: {until: converged, at_most: 3}
          goals:
            - middle:
                repeat: {until: converged, at_most: 4}
                goals:
                  - inner: {repeat: {until: converged, at_most: 5}, goals: [improve: Improve it.]}
                  - settle: Is it settled?
            - judge: Is it good?
      - risky: {do: Try it., failed: keep, retry: {attempts: 2, backoff: 1ms..1ms}}
      - answer: Give it.
";

const DEEP_REPLIES: &str = "
- {if: '<current-goal id=\"risky\">', error: {status: 400}, times: always}
- {if: '<current-goal id=\"answer\">', say: \"Red \\e[31m\\u202Eand\\nback\", times: always}
- {if: 'iteration=\"1\"', say: Better., times: always}
- {say: CONVERGED, times: always}
";

#[test]
fn f10_loops_in_loops_failures_and_hostile_outputs_stay_a_line_each() {
    let house = WorkflowHouse::build(DEEP, DEEP_REPLIES);
    let asked = house.systole(&["ask", "Go."]);
    assert_eq!(asked.code, Some(0), "{asked:?}");
    let seen = picture(&house, &[]);
    assert_eq!(seen["state"], "done");
    for (name, most) in [("outer", 3), ("middle", 4), ("inner", 5)] {
        let row = step(&seen, name);
        assert_eq!((&row["state"], &row["at_most"]), (&"done".into(), &most.into()), "{row}");
        assert!(row["pass"].as_u64().is_some() && row["used"]["requests"].as_u64() > Some(0), "{row}");
    }
    assert_eq!(step(&seen, "improve")["state"], "done");
    let risky = step(&seen, "risky");
    assert_eq!((&risky["state"], &risky["tries"]), (&"failed".into(), &2.into()), "{risky}");
    let text = house.systole(&["tree"]).stdout;
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text:?}");
    assert_eq!(text.lines().count(), 9, "{text}");
    assert!(text.lines().all(|line| width(line) <= 80), "{text}");
    assert!(text.contains("✗ risky") && text.contains("try 2"), "{text}");
}
