//! A workflow with a thousand items, of which three fail.

use rustix::process::Signal;

use super::house::WorkflowHouse;
use crate::program::{Events, ask, run_file};

const ITEMS: usize = 1000;

fn organism() -> &'static str {
    r"
payloads: {files: [word, 1..1000], review: {score: int 0..10}}
workflows:
  survey:
    by: writer
    goals:
      - pick: {do: List the files., gives: files}
      - review: {each: pick/item, at_once: 8, do: Review this file., gives: review, failed: keep}
      - answer: Name those that failed.
"
}

fn replies() -> String {
    let files: Vec<String> = (1..=ITEMS).map(|number| format!("\"file-{number:04}\"")).collect();
    let mut replies = format!(
        "- {{if: '<current-goal id=\"pick\">', say: '{{\"item\": [{}]}}', times: always}}\n",
        files.join(", ")
    );
    replies += "- {if: '<current-goal id=\"answer\">', say: Three failed., times: always}\n";
    for failing in [17, 500, 999] {
        replies += &format!("- {{if: 'file-{failing:04}', error: {{status: 400}}, times: always}}\n");
    }
    replies + "- {if: '<current-goal id=\"review\">', say: '{\"score\": 7}', times: always}\n"
}

#[test]
fn f5_a_thousand_items_of_which_three_fail_are_joined_and_the_three_are_named() {
    let house = WorkflowHouse::build(organism(), &replies());
    let mut running = house.run();
    let body = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Survey it.</ask>";
    let receipt = ask(&run_file(house.path()), "POST", "/v1/messages", &[("Idempotency-Key", "k")], body);
    assert_eq!(receipt.status, 202, "{receipt:?}");
    let (mut from, mut ended) = (0, 0);
    // It is killed twice on the way.
    for most in [ITEMS / 3, 2 * ITEMS / 3, ITEMS + 1] {
        let mut events = Events::open(&run_file(house.path()), &format!("?from={from}"), &[]);
        while ended < most {
            let (id, _, data) = events.next().expect("the organism lives");
            from = id;
            let is_end = data["body"].as_str().is_some_and(|body| body.starts_with("<thread-finished "));
            ended += usize::from(is_end);
        }
        if most < ITEMS {
            running.signal(Signal::KILL);
            assert_eq!(running.end().code, None);
            running = house.run();
        } else {
            let is_end = |data: serde_json::Value| data["code"] == "final" && data["call"] == "1";
            while !is_end(events.next().expect("the workflow answers").2) {}
        }
    }
    assert_eq!(running.interrupt().code, Some(130));
    house.judged();
    let goals = house.goals();
    assert_eq!(goals.len(), ITEMS + 2);
    let join = goals.iter().find(|goal| goal.contains("<current-goal id=\"answer\">")).unwrap();
    let failed: Vec<&str> = join.lines().filter(|line| line.contains("outcome=\"failed\"")).collect();
    let names = [17, 500, 999].map(|item| format!("  <goal id=\"review[{item}]\" outcome=\"failed\">"));
    assert_eq!(failed, names, "in the order of the list");
    assert_eq!(join.matches("<goal id=\"review[").count(), ITEMS);
}
