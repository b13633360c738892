//! The view of a call: its content, its order, and its numbers.

use super::approvals::amendment;
use super::clearing::{calls, ends, thinks};
use super::*;

/// An agent that asks two tools and another agent at once, waits, and spawns the two children that it waits
/// for. The answers come in the given order.
fn conversation(answers: &[u32], children: &[&str]) -> DecideStage {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    let spawns = children_in_order().map(|label| spawn(Some(label), "tool"));
    let items = [thinks("first"), calls("tool", "a"), calls("other", "b"), calls("tool", "c"), refused()];
    // The wait is recorded last, at any place in the reply.
    stage.replies("1", 1, items.into_iter().chain([wait("all", &[])]).chain(spawns).collect());
    for ordinal in answers {
        let said = ends(&format!("answer {ordinal}"));
        stage.replies(&format!("1/1.{ordinal}"), 1, vec![said]);
    }
    for label in children {
        let child = root().make_child(label).unwrap();
        stage.says(&child, "1", 1, JudgedContent::Items(vec![ends(&format!("end of {label}"))]));
    }
    stage
}

fn children_in_order() -> impl Iterator<Item = &'static str> {
    ["early", "late"].into_iter()
}

#[test]
fn the_view_of_a_conversation_with_parallel_calls() {
    let mut stage = conversation(&[1, 2, 3], &["early", "late"]);
    stage.replies("1", 2, vec![calls("other", "d")]);
    stage.replies("1/2.0", 1, vec![ends("answer d")]);
    let lines = stage.sees(&root(), "1");
    assert_eq!(
        lines,
        [
            "1- operator: <agent/>",
            "2- agent: <thought>first</thought>",
            "3  agent: <tool>a</tool>",
            "4  agent: <other>b</other>",
            "5  agent: <tool>c</tool>",
            "6  agent: <await-threads mode=\"all\"></await-threads>",
            "7  agent: <spawn-thread/>",
            "8  agent: <spawn-thread/>",
            "9  tool: <done>answer 1</done>",
            "10  other: <done>answer 2</done>",
            "11  tool: <done>answer 3</done>",
            "12  core: <system-error code=\"payload.invalid\" retry_allowed=\"true\" message=\"wrong\"><try>right</try></system-error>",
            "13  core: <await-over reason=\"done\" finished=\"2\" open=\"0\"/>",
            "14  core: <thread-spawned assigned_id=\"root.early\" parent_id=\"root\" head=\"…\"/>",
            "15  core: <thread-spawned assigned_id=\"root.late\" parent_id=\"root\" head=\"…\"/>",
            "16  core: <thread-finished id=\"root.early\" outcome=\"answered\" head=\"…\"><done>end of early</done></thread-finished>",
            "17  core: <thread-finished id=\"root.late\" outcome=\"answered\" head=\"…\"><done>end of late</done></thread-finished>",
            "18- agent: <other>d</other>",
            "19  other: <done>answer d</done>",
        ]
    );
}

#[test]
fn b7_the_order_in_which_parallel_answers_came_moves_no_message() {
    let told = conversation(&[1, 2, 3], &["early", "late"]).sees(&root(), "1");
    assert_eq!(told.len(), 17);
    for answers in [[1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]] {
        for children in [["early", "late"], ["late", "early"]] {
            let other = conversation(&answers, &children);
            assert_eq!(other.sees(&root(), "1"), told, "{answers:?} {children:?}");
        }
    }
}

#[test]
fn numbers_stay_while_the_call_goes_on_and_attempts_change_nothing() {
    let mut stage = conversation(&[1, 2, 3], &["early", "late"]);
    let before = stage.sees(&root(), "1");
    stage.loses("1", 2, 1, Code::ListenerLost);
    assert_eq!(stage.sees(&root(), "1"), before, "a further attempt is shown the same");
    stage.says(&root(), "1", 2, JudgedContent::Items(vec![thinks("second")]));
    let after = stage.sees(&root(), "1");
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(after[before.len()..], ["18- agent: <thought>second</thought>"]);
}

#[test]
fn a_child_begins_with_its_initial_payload_alone_and_its_parent_sees_nothing_of_its_inside() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![thinks("before"), spawn(Some("heat"), "agent"), calls("agent", "inner")]);
    let heat = root().make_child("heat").unwrap();
    assert_eq!(stage.sees(&heat, "1"), ["1- agent: <agent/>"]);
    assert_eq!(
        stage.sees(&root(), "1/1.2"),
        ["1- agent: <agent>inner</agent>"],
        "nothing of what its caller holds"
    );
    stage.replies("1/1.2", 1, vec![calls("tool", "deep")]);
    stage.replies("1/1.2/1.0", 1, vec![ends("deeper")]);
    stage.replies("1/1.2", 2, vec![ends("inner answer")]);
    let seen = stage.sees(&root(), "1").join("\n");
    assert!(seen.contains("inner answer") && !seen.contains("deep"), "{seen}");
}

#[test]
fn earlier_calls_of_the_same_listener_come_first_as_they_were_asked_for() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.asks("k2", "tool", Some(&root()));
    stage.asks("k3", "agent", Some(&root()));
    stage.replies("1", 1, vec![calls("tool", "a"), calls("agent", "inside")]);
    stage.replies("1/1.1", 1, vec![ends("from inside")]);
    stage.replies("1/1.0", 1, vec![ends("answer a")]);
    stage.replies("1", 2, vec![thinks("on the way"), ends("over")]);
    stage.replies("2", 1, vec![ends("of the tool")]);
    let first = [
        "1- operator: <agent/>",
        "2  agent: <tool>a</tool>",
        "3  agent: <agent>inside</agent>",
        "4  tool: <done>answer a</done>",
        "5  agent: <done>from inside</done>",
        "6- agent: <thought>on the way</thought>",
        "7  agent: <done>over</done>",
        "8- operator: <agent/>",
    ];
    assert_eq!(stage.sees(&root(), "3"), first, "nothing of other listeners, nor of calls inside its own");
    stage.replies("3", 1, vec![calls("tool", "now")]);
    assert_eq!(
        stage.sees(&root(), "3/1.0"),
        [
            "1- agent: <tool>a</tool>",
            "2  tool: <done>answer a</done>",
            "3- operator: <tool/>",
            "4  tool: <done>of the tool</done>",
            "5- agent: <tool>now</tool>",
        ],
        "a nested call follows on what was asked for before it, nested or not"
    );
}

#[test]
fn calls_that_run_beside_each_other_do_not_see_each_other() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![calls("tool", "a"), calls("tool", "b")]);
    stage.replies("1/1.0", 1, vec![ends("answer a")]);
    assert_eq!(stage.sees(&root(), "1/1.1"), ["1- agent: <tool>b</tool>"], "though one has ended by now");
    stage.replies("1/1.1", 1, vec![ends("answer b")]);
    stage.replies("1", 2, vec![calls("tool", "c")]);
    let seen = stage.sees(&root(), "1/2.0");
    assert_eq!(seen.len(), 5);
    assert_eq!(
        (seen[0].as_str(), seen[2].as_str()),
        ("1- agent: <tool>a</tool>", "3- agent: <tool>b</tool>")
    );
}

#[test]
fn of_an_earlier_call_that_failed_stands_what_was_said_and_answered() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![calls("tool", "a"), thinks("so")]);
    stage.replies("1/1.0", 1, vec![ends("answer a")]);
    stage.says(&root(), "1", 2, JudgedContent::new_failure("x", false, "broken"));
    stage.asks("k2", "agent", Some(&root()));
    assert_eq!(
        stage.sees(&root(), "2"),
        [
            "1- operator: <agent/>",
            "2  agent: <tool>a</tool>",
            "3  agent: <thought>so</thought>",
            "4  tool: <done>answer a</done>",
            "5- operator: <agent/>",
        ]
    );
}

#[test]
fn a_request_that_a_person_amended_is_still_its_callers() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![calls("guarded", "wild")]);
    let mild =
        Payload::parse(b"<guarded xmlns=\"urn:test\">mild</guarded>", &DocumentLimits::default()).unwrap();
    stage.rules(1, None, amendment("guarded", mild));
    assert_eq!(stage.sees(&root(), "1/1.0"), ["1- agent: <guarded>mild</guarded>"]);
}

#[test]
fn b13_a_broadcast_is_shown_once_and_the_answers_follow_in_order_of_the_takers() {
    for answers in [[0, 1], [1, 0]] {
        let mut stage = DecideStage::new();
        stage.asks("k", "agent", None);
        stage.replies("1", 1, vec![to_each(GatherRule::All, &["tool", "other"]), thinks("first")]);
        for taker in answers {
            stage.replies(&format!("1/1.0:{taker}"), 1, vec![ends(&format!("answer {taker}"))]);
        }
        stage.replies("1", 2, vec![to_each(GatherRule::First, &["tool", "other"])]);
        stage.replies("1/2.0:1", 1, vec![ends("quick")]);
        assert_eq!(
            stage.sees(&root(), "1"),
            [
                "1- operator: <agent/>",
                "2- agent: <question/>",
                "3  agent: <thought>first</thought>",
                "4  tool: <done>answer 0</done>",
                "5  other: <done>answer 1</done>",
                "6- agent: <question/>",
                "7  other: <done>quick</done>",
            ]
        );
    }
}
