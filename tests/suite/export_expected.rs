//! Test files that replay an export and say what is expected of it: equal, valid, or true by XPath.

use std::path::Path;

use crate::export::done;
use crate::export_replayed::{change, exported, says};
use crate::program::{Ran, systole};
use crate::replay::{agent, named, payload, plays};

/// Runs one test over `case.test.zip` with these further keys.
fn judged(at: &Path, keys: &str) -> Ran {
    let text = format!("tests:\n  - name: case\n    export: case.test.zip\n{keys}");
    std::fs::write(at.join("case.test.yaml"), text).unwrap();
    systole(at, &["test", "case.test.yaml"])
}

const VALID: &str = "    expect: valid\n";

/// Runs the test with a change of the organism's file, and takes the change back.
#[track_caller]
fn under(at: &Path, (from, to): (&str, &str), keys: &str, code: i32, words: &str) {
    change(at, from, to);
    says(&judged(at, keys), code, words);
    change(at, to, from);
}

#[test]
fn c6_an_export_is_expected_equal_or_only_valid() {
    let folder = exported();
    let at = folder.path();
    for keys in ["", "    expect: exact\n", VALID] {
        says(&judged(at, keys), 0, "ok case.test.yaml: case (");
    }
    // Another prompt is a difference, and nothing refuses it.
    let prompt = ("in one sentence", "in two sentences");
    under(at, prompt, "", 1, "case.test.yaml:3:13: the replay of sess-");
    under(at, prompt, "", 1, "+ You answer questions in two sentences.");
    under(at, prompt, "    expect: exact\n", 1, "journal: prompt");
    under(at, prompt, VALID, 0, "1 passed");

    // What is refused now is named with its reason, whether a schema or a right refuses it.
    let schema = ("times: int 0..", "times: int 0..2");
    under(at, schema, VALID, 1, "case.test.yaml:3:13: a message is refused now: call 1/1.1 turn 1 item 0,");
    under(at, schema, VALID, 1, "3 is more than 2, the largest allowed");
    under(at, schema, "", 1, "is refused by the new schema");
    under(at, ("peers: [letters]", "peers: []"), VALID, 1, "is not a known action");
    under(at, ("returns: [times]", "returns: [count]"), VALID, 1, "your answers are:");
    // A call that no one may make any more, and one that a person now has to approve.
    let text = std::fs::read_to_string(at.join("organism.yaml")).unwrap();
    std::fs::write(at.join("organism.yaml"), text.replace("assistant", "helper")).unwrap();
    says(&judged(at, VALID), 1, "is refused now came refused: route.not-a-peer");
    std::fs::write(at.join("organism.yaml"), &text).unwrap();
    let asks = ("returns: [times]", "returns: [times]\n    approval: {when: always}");
    under(at, asks, VALID, 1, "does not end expected an answer");
    under(at, asks, VALID, 1, "waits for a person: approval a1 (count, letters)");

    // The settings of a test are those of its replay.
    let set = "    expect: valid\n    set: {budgets.tokens: 6k}\n";
    says(&judged(at, set), 1, "a message is refused now: call 1, refusal: is new");
}

#[test]
fn c6_a_call_has_to_end_as_it_did() {
    let folder = named("agent");
    let at = folder.path();
    let count = payload("agent", "count", "<word>strawberry</word><letter>r</letter>");
    change(at, "times: int 0..", "times: int 0..2");
    change(at, "returns: [times]", "returns: [times]\n    entry: true");
    plays(at, &[("letters", count)]);
    done(systole(at, &["export", "@last", "-o", "case.test.zip"]));
    says(&judged(at, VALID), 0, "1 passed");
    // What was refused then is an answer under a wider schema.
    change(at, "times: int 0..2", "times: int 0..");
    says(&judged(at, VALID), 1, "3:13: call 1 of sess-");
    says(&judged(at, VALID), 1, "ends in another way expected the failure listener.failed came an answer: <");
    says(&judged(at, "    xpath: //times[. = 3]\n"), 1, "ends in another way");
}

#[test]
fn c6_expressions_are_about_the_replayed_thread() {
    let folder = exported();
    let at = folder.path();
    let all = "    xpath:
      - //record[@to='operator']/answer[contains(., '3')]
      - count(//count) = 1
      - not(//budget-warning)
";
    says(&judged(at, all), 0, "1 passed");
    // Each has to hold, in a replay that is valid, or equal if that is asked for.
    let budget = ("listeners:", "budgets: {messages: 1}\nlisteners:");
    under(at, budget, all, 1, "case.test.yaml:7:9: the expression does not hold in the replay of sess-");
    under(at, budget, all, 1, "expected not(//budget-warning)");
    under(at, budget, all, 1, "core → assistant inbox of call 1 <budget-warning>");
    under(at, budget, "    xpath: //budget-warning\n", 0, "1 passed");
    under(at, budget, "    xpath: //budget-warning\n    expect: exact\n", 1, "3:13: the replay of sess-");
    under(at, ("times: int 0..", "times: int 0..2"), "    xpath: //answer\n", 1, "a message is refused now");
    says(&judged(at, "    xpath: //answer\n    expect: exact\n"), 0, "1 passed");
    says(
        &judged(at, "    xpath: //answer[. = '4']\n    expect: exact\n"),
        1,
        "4:12: the expression does not",
    );

    judged(at, "    xpath: //answer[. = '4']\n");
    let value = systole(at, &["test", "case.test.yaml", "--json"]).json_lines().remove(0);
    let failure = &value["failure"];
    assert_eq!((&value["passed"], &failure["line"]), (&false.into(), &4.into()), "{value:#}");
    assert_eq!(failure["expected"], "//answer[. = '4']", "{value:#}");
    // A prefix is known only when the expression runs.
    says(&judged(at, "    xpath: //p:answer\n"), 1, "case.test.yaml:4:12: `//p:answer`:");
}

#[test]
fn c6_mistakes_in_a_test_of_an_export_are_told_with_their_places() {
    let folder = exported();
    let at = folder.path();
    for (keys, words) in [
        ("    xpath: //answer[\n", "tests[1].xpath: `//answer[`: Invalid expression --> case.test.yaml:4:12"),
        ("    expect: vald\n", "tests[1].expect: `vald` is not exact or valid --> case.test.yaml:4:13"),
        ("    steps: [{send: {ask: x}}]\n", "tests[1].steps cannot be in one test with `export`"),
        ("    replies: {}\n", "tests[1].replies cannot be in one test with `export`"),
        ("    stand_ins: {}\n", "tests[1].stand_ins cannot be in one test with `export`"),
        ("    set: {models.main.none: 1}\n", "models.main"),
        ("  - {name: b, export: none.zip}\n", "none.zip: there is no such file --> case.test.yaml:4:23"),
        ("  - {name: b, export: listeners.d}\n", "listeners.d: it is a folder, not a file"),
        ("  - {name: b}\n", "tests[2] has no `steps`"),
        ("  - {name: b, expect: valid, steps: [{send: {ask: x}}]}\n", "tests[2].expect needs `export`"),
        ("  - {name: b, xpath: //x, steps: [{send: {ask: x}}]}\n", "tests[2].xpath needs `export`"),
    ] {
        std::fs::create_dir_all(at.join("listeners.d")).unwrap();
        says(&judged(at, keys), 3, words);
    }
    // What cannot be judged is not called failed, and damage is damage.
    let other = |name: &str| format!("  - {{name: other, export: {name}, expect: valid}}\n");
    says(&judged(at, &other("redacted.zip")), 5, "case.test.yaml:4:27: cannot be replayed: the export is");
    says(&judged(at, &other("redacted.zip")), 5, "1 cannot be replayed, 1 passed");
    std::fs::write(at.join("cut.zip"), &std::fs::read(at.join("case.test.zip")).unwrap()[..900]).unwrap();
    says(&judged(at, &other("cut.zip")), 7, "1 damaged, 1 passed");
    // A listener of another name has no recorded answer.
    change(at, "  letters:", "  counter:");
    change(at, "peers: [letters]", "peers: [counter]");
    says(&judged(at, VALID), 5, "case.test.yaml:3:13: the replay stops: no answer of counter at sess-");
    says(&judged(at, VALID), 5, "To fix it, write a test with steps");
}

#[test]
fn c6_settings_and_answers_of_the_file_are_for_its_other_tests() {
    let folder = agent();
    let at = folder.path();
    done(systole(at, &["export", "@last", "-o", "case.test.zip"]));
    let text = "replies: {assistant: [{say: <thinking>x</thinking>A.}]}
stand_ins: {letters: [{answer: {times: 9}}]}
tests:
  - {name: case, export: case.test.zip}
";
    std::fs::write(at.join("case.test.yaml"), text).unwrap();
    says(&systole(at, &["test", "case.test.yaml"]), 0, "1 passed");
}
