//! The journal of a turn: what is recorded before and after a model call, what a later attempt sees of it,
//! and how a call with an unknown outcome ends.

use std::sync::Arc;

use systole_core::pump::event::Effect;
use systole_core::pump::state::Journal;
use systole_core::types::limits;
use systole_wire::journal::EarlierEntry;

use super::*;
use systole_core::pump::fold::apply_record;

impl DecideStage {
    /// The listener of call 1 sends this under the due attempt.
    pub(crate) fn writes(&mut self, turn: u32, said: JudgedContent) -> Vec<String> {
        self.says(&root(), "1", turn, said)
    }

    fn journal(&self) -> &Journal {
        &self.state.find_thread(&root()).unwrap().calls["1"].journal
    }
}

/// The agent is out with its first turn.
fn out() -> DecideStage {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage
}

/// `careful` is out: its attempts are recorded, and not repeated if their outcome is unknown.
fn out_with_care() -> DecideStage {
    let mut stage = DecideStage::new();
    stage.asks("k", "careful", None);
    let (thread, call) = (root(), CallPath::new_top(1));
    stage.happens(EventKind::Sending { thread, call, turn: 1 });
    stage
}

#[test]
fn out_an_entry_is_recorded_and_answered_and_the_turn_is_still_out() {
    let mut stage = out();
    assert_eq!(
        stage.writes(1, journals(8, started())),
        ["root 2 journal/model-started agent -> - 1 t1", "=> answer 8"]
    );
    assert_eq!(
        stage.writes(1, journals(9, result(8, "so"))),
        ["root 3 journal/model-result agent -> - 1 t1", "=> answer 9"]
    );
    let body = bodies(&stage)[&3].clone();
    let recalled = EarlierEntry::from_body(body.as_bytes()).unwrap();
    assert_eq!(recalled, EarlierEntry { attempt: 1, id: 9, entry: result(8, "so") });
    assert!(!body.contains("delivery"), "a reader of the log must not be able to answer: {body}");
    assert_eq!(stage.replies("1", 1, vec![final_()])[0], "root 4 message/final agent -> operator 1 t1.0");
}

#[test]
fn the_same_entry_again_is_answered_again_and_nothing_is_recorded() {
    let mut stage = out();
    stage.writes(1, journals(8, started()));
    assert_eq!(stage.writes(1, journals(8, started())), ["=> answer 8"]);
    stage.writes(1, journals(9, result(8, "so")));
    assert_eq!(stage.writes(1, journals(9, result(8, "so"))), ["=> answer 9"]);
    assert_eq!(stage.writes(1, journals(8, started())), ["=> answer 8"], "with its result on record too");
}

#[test]
fn the_same_number_with_other_bytes_is_refused() {
    let mut stage = out();
    stage.writes(1, journals(8, started()));
    let refused = ["root 3 refusal/payload.id-conflict core -> agent 1", "=> answer 8 payload.id-conflict"];
    assert_eq!(stage.writes(1, journals(8, result(8, "so"))), refused);
    assert_eq!(stage.journal().own.len(), 1);
}

#[test]
fn a_result_of_no_start_is_refused_with_the_starts_that_wait() {
    let mut stage = out();
    let told = stage.writes(1, journals(9, result(8, "so")));
    assert_eq!(told, ["root 2 refusal/payload.invalid core -> agent 1", "=> answer 9 payload.invalid"]);
    assert!(bodies(&stage)[&2].contains("entry 9 is the result of 8, which this attempt never began"));
    stage.writes(1, journals(8, started()));
    stage.writes(1, journals(9, result(8, "so")));
    for (of, words) in [(8, "entry 8 has its result already"), (9, "entry 9 is a result itself")] {
        stage.writes(1, journals(10, result(of, "more")));
        let last = bodies(&stage).into_values().last().unwrap();
        assert!(last.contains(words), "{last}");
    }
}

#[test]
fn an_attempt_may_make_so_many_entries_and_a_result_always_has_room() {
    let mut stage = out();
    let starts = limits::JOURNAL as u64 / 2;
    for id in 1..=starts {
        assert_eq!(stage.writes(1, journals(id, started())).len(), 2);
    }
    let told = stage.writes(1, journals(100, started()));
    assert_eq!(told[1], "=> answer 100 reply.too-many-items");
    for id in 1..=starts {
        assert_eq!(stage.writes(1, journals(100 + id, result(id, "so"))).len(), 2, "{id}");
    }
    assert_eq!(stage.journal().own.len(), limits::JOURNAL);
    // The limit applies to one delivery.
    stage.replies("1", 1, vec![note()]);
    assert_eq!(stage.writes(2, journals(1, started()))[1], "=> answer 1");
}

#[test]
fn a_later_attempt_is_told_how_much_there_is_and_given_it_in_order() {
    let mut stage = out();
    stage.writes(1, journals(8, started()));
    stage.writes(1, journals(9, result(8, "so")));
    stage.loses("1", 1, 1, Code::ListenerLost);
    assert_eq!((stage.journal().past.as_slice(), stage.journal().own.len()), (&[2, 3][..], 0));
    // Its own entries count from zero again, and are its own until it is lost too.
    assert_eq!(stage.writes(1, journals(8, started()))[1], "=> answer 8");
    assert_eq!(stage.writes(1, asks(7, 0)), ["=> recall 7 from 0 [2, 3]"]);
    assert_eq!(stage.writes(1, asks(7, 1)), ["=> recall 7 from 1 [3]"]);
    assert_eq!(stage.writes(1, asks(7, 9)), ["=> recall 7 from 9 []"]);
    stage.loses("1", 1, 2, Code::ListenerLost);
    assert_eq!(stage.journal().past, [2, 3, 5]);
    // The next turn has its own journal.
    stage.replies("1", 1, vec![note()]);
    assert_eq!(stage.journal(), &Journal::default());
}

#[test]
fn a_word_of_an_attempt_that_is_over_is_refused_with_an_answer_that_says_so() {
    let mut stage = out();
    stage.loses("1", 1, 1, Code::ListenerLost);
    let lease = stage.lease(&root(), "1", 1, 1);
    for said in [journals(8, started()), asks(8, 0)] {
        let judged = JudgedDocument { lease: lease.clone(), said, claimed: None, ticket: None };
        let told = stage.happens(EventKind::Replied(judged));
        assert!(told[0].contains("refusal/reply.stale-lease core -> agent"), "{told:?}");
        assert_eq!(told[1], "=> answer 8 reply.stale-lease");
    }
}

#[test]
fn out_lost_with_a_start_and_no_result_is_an_unknown_outcome_and_goes_out_again_where_it_may() {
    let mut stage = out();
    stage.writes(1, journals(8, started()));
    assert_eq!(
        stage.loses("1", 1, 1, Code::ListenerLost),
        ["root 3 attempt/model.unknown-outcome core -> agent 1 t1", "=> agent 1 t1 a2"]
    );
    let body = &bodies(&stage)[&3];
    assert!(body.contains("lost after its model call began, which may have been paid: entry 8"), "{body}");
    assert!(body.contains("listener.lost: last words"), "the record says how it was lost: {body}");
}

#[test]
fn out_lost_with_its_result_on_record_is_lost_like_any_other() {
    let mut stage = out();
    stage.writes(1, journals(8, started()));
    stage.writes(1, journals(9, result(8, "so")));
    assert_eq!(
        stage.loses("1", 1, 1, Code::ListenerLost)[0],
        "root 4 attempt/listener.lost core -> agent 1 t1"
    );
}

#[test]
fn out_lost_with_a_start_closes_the_call_where_unknown_outcomes_fail() {
    let mut stage = out_with_care();
    stage.writes(1, journals(8, started()));
    assert_eq!(
        stage.loses("1", 1, 1, Code::ListenerLost),
        [
            "root 4 outcome/dead-letter core -> careful 1 t1",
            "root 5 outcome/model.unknown-outcome core -> operator 1",
        ]
    );
}

#[test]
fn an_exit_code_says_nothing_of_a_model_that_was_called() {
    // Without a start the outcome is known, and the attempt may be repeated.
    let mut stage = out_with_care();
    assert!(stage.loses("1", 1, 1, Code::ListenerFailed)[0].contains("attempt/listener.failed"));
    let mut stage = out_with_care();
    stage.writes(1, journals(8, started()));
    let told = stage.loses("1", 1, 1, Code::ListenerFailed);
    assert_eq!(told[1], "root 5 outcome/model.unknown-outcome core -> operator 1");
}

#[test]
fn a_failure_that_leaves_a_start_open_is_not_tried_again_where_unknown_outcomes_fail() {
    let failure = |retry| JudgedContent::new_failure("upstream", retry, "503");
    let mut stage = out_with_care();
    stage.writes(1, journals(8, started()));
    assert_eq!(stage.writes(1, failure(true))[1], "root 5 outcome/model.unknown-outcome core -> operator 1");
    let mut stage = out_with_care();
    stage.writes(1, journals(8, started()));
    stage.writes(1, journals(9, result(8, "")));
    assert_eq!(stage.writes(1, failure(true))[0], "root 5 attempt/listener.failed core -> careful 1 t1");
    // If outcomes may be unknown it goes out again, and says so.
    let mut stage = out();
    stage.writes(1, journals(8, started()));
    assert_eq!(stage.writes(1, failure(true))[0], "root 3 attempt/model.unknown-outcome core -> agent 1 t1");
}

#[test]
fn a_child_s_journal_stands_in_the_child() {
    let mut stage = out();
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent")]);
    let heat = root().make_child("heat").unwrap();
    let told = stage.says(&heat, "1", 1, journals(8, started()));
    assert_eq!(told, ["heat 2 journal/model-started agent -> - 1 t1", "=> answer 8"]);
    let told = stage.says(&root(), "1", 2, journals(8, started()));
    assert_eq!(told[1], "=> answer 8", "the same number elsewhere is another entry");
}

#[test]
fn a_record_of_another_version_that_holds_no_entry_changes_nothing() {
    let mut stage = out();
    stage.writes(1, journals(8, started()));
    let mut record = stage.records.last().unwrap().clone();
    let before = stage.journal().clone();
    record.header.seq += 1;
    record.body = Arc::from(&b"<journal xmlns='urn:other'/>"[..]);
    apply_record(&mut stage.state, &record);
    assert_eq!(stage.journal(), &before);
}

#[test]
fn a_recall_names_the_delivery_that_asked() {
    let mut stage = out();
    let lease = stage.lease(&root(), "1", 1, 1);
    let judged = JudgedDocument { lease: lease.clone(), said: asks(7, 0), claimed: None, ticket: None };
    let event = Event {
        at: Millis(2_000_000),
        tick: Millis(1),
        seed: Seed([9; 16]),
        what: EventKind::Replied(judged),
    };
    let decision = decide_event(&mut stage.state, event);
    assert!(decision.facts.is_empty(), "a question leaves no trace");
    let [Effect::Recall(recall)] = decision.effects.as_slice() else { panic!("{:?}", decision.effects) };
    assert_eq!((&recall.lease, recall.id), (&lease, 7));
}
