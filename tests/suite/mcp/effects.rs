//! What tools of MCP servers did may not happen twice unseen when a failed thread is tried again.

use super::house::{ToolHouse, python};
use crate::program::{Ran, Running};

/// An agent that uses the tool for a goal of a workflow, and whose model then fails.
fn house(safe: &str) -> ToolHouse {
    let house = ToolHouse::rogue("well", "");
    let file = format!(
        "organism: {{name: hands}}
models: {{main: {{provider: script}}}}
agents: {{clerk: {{model: main, dialect: native, peers: [rogue], prompt: {{identity: You work.}}}}}}
workflows: {{job: {{by: clerk, goals: [part: Do it.]}}}}
listeners:
  rogue: {{mcp: [{}, rogue.py], sandbox: {{write: [./state]}}, safe: [{safe}], entry: true}}
",
        python()
    );
    house.write("organism.yaml", &file);
    house.write("replies.yaml", "clerk: [{call: {work: {}}}, {error: {status: 400}}]\n");
    house.write("ask.xml", "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Go.</ask>");
    house.pinned();
    house
}

fn send(house: &ToolHouse) -> Ran {
    house.systole(&["send", "--to", "job", "--file", "ask.xml", "--key", "k"])
}

fn count_calls(house: &ToolHouse) -> usize {
    house.read("state/heard").matches("tools/call").count()
}

#[test]
fn d10_what_a_person_let_a_tool_do_below_a_run_does_not_happen_again_unless_it_is_allowed() {
    let house = house("");
    assert_eq!(send(&house).code, Some(6));
    assert_eq!(house.systole(&["approve", "a1"]).code, Some(0));
    let failed = send(&house);
    assert_eq!((failed.code, count_calls(&house)), (Some(1), 1), "{failed:?}");
    let shown = house.systole(&["retry", "@last"]);
    assert!(shown.stderr.contains("rogue in sess-") && shown.stderr.contains(".part: <work>"), "{shown:?}");
    let refused = house.systole(&["retry", "@last", "--yes"]);
    assert_eq!((refused.code, count_calls(&house)), (Some(4), 1), "{refused:?}");
    assert!(refused.stderr.contains("retry.effects"), "{refused:?}");
    house.write("replies.yaml", "clerk: [{say: It was done before.}]\n");
    let organism = Running::organism(house.path());
    let allowed = house.systole(&["retry", "@last", "--yes", "--wait", "--again-with-effects"]);
    assert_eq!((allowed.code, count_calls(&house)), (Some(0), 1), "{allowed:?}");
    drop(organism);
}

#[test]
fn d10_a_tool_that_only_reads_is_no_effect_below_a_run() {
    let house = house("work");
    let failed = send(&house);
    assert_eq!((failed.code, count_calls(&house)), (Some(1), 1), "{failed:?}");
    house.write("replies.yaml", "clerk: [{call: {work: {}}}, {say: Done.}]\n");
    let organism = Running::organism(house.path());
    let ran = house.systole(&["retry", "@last", "--yes", "--wait"]);
    assert_eq!((ran.code, count_calls(&house)), (Some(0), 2), "{ran:?}");
    drop(organism);
}

#[test]
fn d10_a_tool_whose_server_died_in_the_call_is_called_again_only_if_its_effects_may_happen_twice() {
    let house = ToolHouse::rogue("dies", "");
    house.pinned();
    assert_eq!(house.systole(&["send", "--to", "rogue", "work"]).code, Some(1));
    house.write("state/how", "well");
    let refused = house.systole(&["retry", "@last", "--yes"]);
    assert_eq!((refused.code, count_calls(&house)), (Some(4), 1), "{refused:?}");
    assert!(refused.stderr.contains("retry.effects"), "{refused:?}");
    let organism = Running::organism(house.path());
    let allowed = house.systole(&["retry", "@last", "--yes", "--wait", "--again-with-effects"]);
    assert_eq!((allowed.code, count_calls(&house)), (Some(0), 2), "{allowed:?}");
    assert!(allowed.stdout.contains("<text>done</text>"), "{allowed:?}");
    drop(organism);
    assert_eq!(house.systole(&["verify", "--state"]).code, Some(0));
}
