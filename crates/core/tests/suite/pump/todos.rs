//! Todo lists: stored alone and from notes, the newest with the same condition, and one message to a
//! final that comes while steps are open.

use super::*;
use systole_core::pump::state::StepCount;
use systole_core::rules::todo;

fn asked() -> DecideStage {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage
}

fn lists(stage: &DecideStage) -> Vec<(u64, u64)> {
    let todos = &stage.state.find_thread(&root()).unwrap().calls["1"].todos;
    let mut counts: Vec<_> = todos.values().map(|StepCount { open, total }| (*open, *total)).collect();
    counts.sort();
    counts
}

#[test]
fn a_list_is_answered_by_being_recorded() {
    let mut stage = asked();
    assert_eq!(
        stage.replies("1", 1, vec![todo("done", "-x")]),
        ["root 2 message/todo agent -> - 1 t1.0", "=> agent 1 t2 a1"]
    );
    assert_eq!(lists(&stage), [(1, 2)]);
}

#[test]
fn the_newest_with_the_same_condition_stands() {
    let mut stage = asked();
    stage.replies("1", 1, vec![todo("a", "--"), todo("b", "-"), todo("a", "x-x")]);
    assert_eq!(lists(&stage), [(1, 1), (1, 3)]);
    stage.replies("1", 2, vec![note_with(&[("a", "xxx"), ("c", "")])]);
    assert_eq!(lists(&stage), [(0, 0), (0, 3), (1, 1)]);
}

#[test]
fn a_final_with_open_steps_is_answered_once_and_taken_the_second_time() {
    let mut stage = asked();
    stage.replies("1", 1, vec![note_with(&[("a", "-x-")]), todo("b", "x")]);
    assert_eq!(
        stage.replies("1", 2, vec![final_()]),
        ["root 4 refusal/todo-open core -> agent 1 t2.0", "=> agent 1 t3 a1"]
    );
    let body = String::from_utf8_lossy(&stage.records.last().unwrap().body).into_owned();
    assert!(body.contains("<todo-open") && body.contains("open=\"2\" total=\"4\""), "{body}");
    assert_eq!(stage.replies("1", 3, vec![final_()]), ["root 5 message/final agent -> operator 1 t3.0"]);
}

#[test]
fn a_list_is_folded_before_the_final_that_stands_beside_it() {
    let mut stage = asked();
    stage.replies("1", 1, vec![todo("a", "-")]);
    assert_eq!(
        stage.replies("1", 2, vec![final_(), todo("a", "x")]),
        ["root 3 message/todo agent -> - 1 t2.1", "root 4 message/final agent -> operator 1 t2.0"]
    );
    // And the other way round.
    let mut stage = asked();
    let told = stage.replies("1", 1, vec![final_(), note_with(&[("a", "-")])]);
    assert_eq!(told[1], "root 3 refusal/todo-open core -> agent 1 t1.0");
}

#[test]
fn children_come_first_and_a_call_is_told_once_in_all() {
    let mut stage = asked();
    stage.replies("1", 1, vec![spawn(Some("a"), "tool"), todo("a", "-")]);
    assert_eq!(stage.replies("1", 2, vec![final_()])[0], "root 5 refusal/children-open core -> agent 1 t2.0");
    assert!(stage.replies("1", 3, vec![final_()]).iter().any(|told| told.contains("message/final")));
}

#[test]
fn a_final_on_the_last_turn_is_taken_though_steps_are_open() {
    let mut stage = asked();
    for turn in 1..4 {
        stage.replies("1", turn, vec![todo("a", "-")]);
    }
    assert_eq!(stage.replies("1", 4, vec![final_()]), ["root 5 message/final agent -> operator 1 t4.0"]);
}

#[test]
fn lists_belong_to_their_call() {
    let mut stage = asked();
    stage.replies("1", 1, vec![call("agent"), todo("a", "-")]);
    let told = stage.replies("1/1.0", 1, vec![final_()]);
    assert_eq!(told[0], "root 4 message/final agent -> agent 1/1.0 t1.0");
}

#[test]
fn no_more_lists_of_a_call_are_kept_than_the_limit() {
    let mut stage = asked();
    stage.replies("1", 1, (0..32).map(|n| todo(&n.to_string(), "-")).collect());
    let told = stage.replies("1", 2, vec![todo("one more", "-"), todo("31", "x"), note_with(&[("x", "")])]);
    assert!(told[0].contains("refusal/payload.too-large") && told[2].contains("refusal/payload.too-large"));
    assert!(told[1].contains("message/todo"), "{told:?}");
    assert_eq!(lists(&stage).len(), 32);
}

#[test]
fn lists_in_notes_are_read_where_they_stand_and_what_is_none_is_refused() {
    let core = "xmlns=\"https://xml-pipeline.org/ns/core/v1\"";
    let read = |inside: &str| todo::read_lists(format!("<n xmlns=\"urn:n\">{inside}</n>").as_bytes());
    let good = format!(
        "<todo-until {core} condition=\"a\"> <step done=\"true\">o<![CDATA[n]]>e</step></todo-until>"
    );
    let lists = read(&format!("{good}x{good}")).unwrap();
    assert_eq!((lists.len(), lists[0].steps[0].text.as_str()), (2, "one"));
    assert!(read(&format!("<deeper>{good}</deeper>")).unwrap().is_empty(), "only those directly in the note");
    assert!(read("<todo-until condition=\"a\"/>").unwrap().is_empty(), "of the core alone");
    for bad in [
        format!("<todo-until {core}/>"),
        format!("<todo-until {core} condition=\"a\">text</todo-until>"),
        format!("<todo-until {core} condition=\"a\"><step>x</step></todo-until>"),
        format!("<todo-until {core} condition=\"a\"><step done=\"1\">x</step></todo-until>"),
        format!("<todo-until {core} condition=\"a\"><other done=\"true\"/></todo-until>"),
        format!("<todo-until {core} condition=\"a\"><step done=\"true\"><b/></step></todo-until>"),
    ] {
        let refusal = read(&bad).unwrap_err();
        assert!(refusal.code == Code::Invalid && refusal.expected.is_some(), "{bad}: {refusal:?}");
    }
}
