//! Questions about payloads, answered in the same commit.

use super::*;

fn question() -> JudgedItem {
    let answer = payload("capabilities").bytes().clone();
    item(PayloadKind::Primitive(FoundAnswer::Answer(answer)), "list-capabilities")
}

#[test]
fn a_question_is_recorded_and_answered_at_once() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    assert_eq!(
        stage.replies("1", 1, vec![question(), call("tool")]),
        [
            "root 2 message/introspect agent -> - 1 t1.0",
            "root 3 message/answer core -> agent 1/1.0",
            "root 4 message/call agent -> tool 1 t1.1",
            "=> tool 1/1.1 t1 a1",
        ],
        "it does not hold up what stands beside it, and is joined with it"
    );
    assert_eq!(bodies(&stage)[&3], "<capabilities xmlns=\"urn:test\"/>");
    assert_eq!(stage.replies("1/1.1", 1, vec![final_()]).last().unwrap(), "=> agent 1 t2 a1");
}

#[test]
fn a_listener_with_one_turn_could_not_read_an_answer() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    let told = stage.replies("1", 1, vec![question()]);
    assert_eq!(told[0], "root 2 refusal/budget.messages core -> tool 1 t1.0");
}
