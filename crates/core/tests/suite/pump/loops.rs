//! Calls that repeat themselves: warned, refused, and what counts as new.

use super::*;
use systole_core::types::budget::{Budgets, LoopLimits};

fn stage(loops: LoopLimits) -> DecideStage {
    let mut composition = composition();
    (composition.budgets, composition.loops) = (Some(Budgets::default()), Some(loops));
    let agent = composition.listeners.get_mut(&name("agent")).unwrap();
    agent.turns = 40;
    let mut stage = DecideStage::under(composition);
    stage.asks("k", "agent", None);
    stage
}

fn say(to: &str, n: u32) -> JudgedItem {
    let document = format!("<{to} xmlns=\"urn:test\" n=\"{n}\"/>");
    let payload = Payload::parse(document.as_bytes(), &DocumentLimits::default()).unwrap();
    JudgedItem::Admitted(Admitted::new(PayloadKind::For(name(to)), Verdict::from_valid(payload)))
}

fn answer(n: u32) -> JudgedItem {
    let payload = Payload::parse(
        format!("<done xmlns=\"urn:test\" n=\"{n}\"/>").as_bytes(),
        &DocumentLimits::default(),
    );
    JudgedItem::Admitted(Admitted::new(PayloadKind::Final, Verdict::from_valid(payload.unwrap())))
}

/// A call with its answer, as turn `turn` of call 1.
fn round(stage: &mut DecideStage, turn: u32, item: JudgedItem, heard: u32) -> Vec<String> {
    let told = stage.replies("1", turn, vec![item]);
    if told[0].contains("message/call") {
        stage.replies(&format!("1/{turn}.0"), 1, vec![answer(heard)]);
    }
    told
}

fn code_of(told: &[String]) -> &str {
    told[0].split(' ').nth(2).unwrap()
}

#[test]
fn b16_the_third_identical_call_gets_a_warning_and_the_fifth_is_refused() {
    let mut stage = stage(LoopLimits::default());
    for turn in 1..=2 {
        assert_eq!(round(&mut stage, turn, say("tool", 1), turn).len(), 2);
    }
    let told = round(&mut stage, 3, say("tool", 1), 3);
    assert_eq!(told[1], "root 7 message/inbox core -> agent 1", "{told:?}");
    assert!(bodies(&stage)[&7].contains("code=\"loop.repeated-call\""), "{}", bodies(&stage)[&7]);
    assert_eq!(round(&mut stage, 4, say("tool", 1), 4).len(), 2, "told once");
    for turn in 5..=6 {
        assert_eq!(code_of(&round(&mut stage, turn, say("tool", 1), 5)), "refusal/loop.repeated-call");
    }
    assert_eq!(code_of(&round(&mut stage, 7, say("tool", 2), 1)), "message/call", "another payload");
    assert_eq!(code_of(&round(&mut stage, 8, say("other", 1), 1)), "message/call", "another party");
}

#[test]
fn b16_the_same_call_of_another_call_is_another() {
    let mut stage = stage(LoopLimits { told: 1, refused: 2, ping_pong: 6 });
    stage.replies("1", 1, vec![call("tool"), call("agent")]);
    let told = stage.replies("1/1.1", 1, vec![call("tool")]);
    assert_eq!(code_of(&told), "message/call");
    stage.replies("1/1.1/1.0", 1, vec![final_()]);
    assert_eq!(code_of(&stage.replies("1/1.1", 2, vec![call("tool")])), "refusal/loop.repeated-call");
}

#[test]
fn b16_row_35_six_rounds_without_a_new_payload_are_ping_pong() {
    let mut stage = stage(LoopLimits { told: 100, refused: 101, ping_pong: 6 });
    // Two alternating payloads, and one answer: the first round of each is new.
    for turn in 1..=8 {
        assert_eq!(code_of(&round(&mut stage, turn, say("tool", turn % 2), 0)), "message/call", "{turn}");
    }
    assert_eq!(code_of(&round(&mut stage, 9, say("tool", 1), 0)), "refusal/loop.ping-pong");
    assert_eq!(code_of(&round(&mut stage, 10, say("tool", 7), 0)), "message/call", "what is new goes on");
    assert_eq!(code_of(&round(&mut stage, 11, say("tool", 1), 0)), "message/call", "and begins anew");
}

#[test]
fn b16_a_new_answer_is_a_new_payload() {
    let mut stage = stage(LoopLimits { told: 100, refused: 101, ping_pong: 2 });
    for turn in 1..=9 {
        assert_eq!(code_of(&round(&mut stage, turn, say("tool", 1), turn)), "message/call", "{turn}");
    }
}

/// One turn that calls both, and their answers, the second one first.
fn both(stage: &mut DecideStage, turn: u32, says: (u32, u32), heard: (u32, u32)) -> Vec<String> {
    let told = stage.replies("1", turn, vec![say("tool", says.0), say("other", says.1)]);
    let refused = |told: &[String], ordinal: usize| told[ordinal].contains("refusal/");
    for (ordinal, answered) in [(1, heard.1), (0, heard.0)] {
        if !refused(&told, ordinal) {
            stage.replies(&format!("1/{turn}.{ordinal}"), 1, vec![answer(answered)]);
        }
    }
    told.iter().take(2).map(|line| line.split(' ').nth(2).unwrap().to_owned()).collect()
}

#[test]
fn e7_turns_that_call_two_parties_and_bring_nothing_new_are_ping_pong() {
    let mut stage = stage(LoopLimits { told: 100, refused: 101, ping_pong: 6 });
    for turn in 1..=8 {
        let said = both(&mut stage, turn, (turn % 2, turn % 2), (0, 0));
        assert_eq!(said, ["message/call"; 2], "turn {turn}");
    }
    assert_eq!(both(&mut stage, 9, (1, 1), (0, 0)), ["refusal/loop.ping-pong"; 2]);
    assert_eq!(both(&mut stage, 10, (7, 1), (0, 0)), ["message/call"; 2], "beside something new");
    assert_eq!(both(&mut stage, 11, (1, 1), (0, 0)), ["message/call"; 2], "and that begins anew");
}

#[test]
fn e7_a_turn_with_one_new_call_or_one_new_answer_among_known_ones_is_progress() {
    let mut stage = stage(LoopLimits { told: 100, refused: 101, ping_pong: 1 });
    for turn in 1..=12 {
        // Whether the new one comes first or second, is a call or an answer.
        let (says, heard) = match turn % 4 {
            0 => ((turn, 1), (1, 1)),
            1 => ((1, turn), (1, 1)),
            2 => ((1, 1), (turn, 1)),
            _ => ((1, 1), (1, turn)),
        };
        assert_eq!(both(&mut stage, turn, says, heard), ["message/call"; 2], "turn {turn}");
    }
    assert_eq!(both(&mut stage, 13, (1, 1), (1, 1)), ["message/call"; 2], "the first that brings nothing");
    assert_eq!(both(&mut stage, 14, (1, 1), (1, 1)), ["refusal/loop.ping-pong"; 2]);
}

#[test]
fn e7_two_parties_in_turn_that_bring_nothing_new_are_ping_pong() {
    let mut stage = stage(LoopLimits { told: 100, refused: 101, ping_pong: 2 });
    let to = |turn: u32| if turn.is_multiple_of(2) { "tool" } else { "other" };
    for turn in 1..=6 {
        assert_eq!(code_of(&round(&mut stage, turn, say(to(turn), 1), 0)), "message/call", "{turn}");
    }
    assert_eq!(code_of(&round(&mut stage, 7, say(to(7), 1), 0)), "refusal/loop.ping-pong");
}
