//! Interactions of the parts of the pump: timers and the queue, messages and wrap-up, notices and the
//! inbox, a spawn and the budget that it uses up. The tests of each single part are next to this file.

use super::budgets::messages;
use super::*;
use systole_core::pump::wall::RunningBudget;
use systole_core::types::budget::Budgets;

fn heat() -> ThreadId {
    root().make_child("heat").unwrap()
}

fn open_call<'s>(stage: &'s DecideStage, thread: &ThreadId) -> &'s systole_core::pump::state::Call {
    &stage.state.find_thread(thread).unwrap().calls["1"]
}

/// An agent whose second turn is due and whose timer fires when the tea is ready.
fn with_tea() -> DecideStage {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![set_timer("id=\"tea\" after=\"1m\"", "")]);
    stage
}

#[test]
fn a_timer_that_would_open_a_call_waits_until_one_more_may_wait() {
    let mut stage = with_tea();
    stage.replies("1", 2, vec![final_()]);
    for n in 2..=18 {
        stage.asks(&format!("k{n}"), "tool", Some(&root()));
    }
    assert!(stage.fires("tea", 0).is_empty(), "one is open and sixteen wait behind it");
    let told = stage.replies("2", 1, vec![final_()]);
    assert_eq!(told[1..], ["=> tool 3 t1 a1", "=> wait for tea until 60020"], "there is room again");
    assert!(stage.fires("tea", 0)[0].ends_with("timer/opens core -> agent 19"));
    let told = stage.asks("k20", "tool", Some(&root()));
    assert_eq!(told[1], "=> refused thread.busy", "the call of the timer waits like any other");
}

#[test]
fn a_timer_fires_into_the_call_that_set_it_however_many_wait_behind_that() {
    let mut stage = with_tea();
    for n in 2..=17 {
        stage.asks(&format!("k{n}"), "tool", Some(&root()));
    }
    assert!(stage.fires("tea", 0)[0].ends_with("timer/fired core -> agent 1"));
}

#[test]
fn a_notice_is_kept_though_other_news_waits_for_the_same_turn() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent")]);
    let word = || for_thread(heat().as_str(), PayloadKind::For(name("agent")), "agent");
    stage.replies("1", 2, (0..64).map(|_| word()).collect());
    let notice =
        |words: &str| JudgedContent::Notice { code: "agent.second-action".into(), words: words.into() };
    let mut said = |words: &str| {
        let told = stage.says(&heat(), "1", 1, notice(words));
        let last = stage.records.last().unwrap();
        (told.len(), String::from_utf8_lossy(&last.body).into_owned())
    };
    for n in 0..64 {
        let (records, body) = said(&format!("notice {n}"));
        assert!(records == 1 && body.contains(&format!("notice {n}")), "{n}: {body}");
    }
    let (records, body) = said("too many");
    assert!(records == 1 && body.contains("64 notices wait"), "{body}");
    assert_eq!(said("and more").0, 0);
}

#[test]
fn a_timer_that_fires_during_the_final_is_not_lost_if_a_note_is_beside_the_final() {
    let mut stage = with_tea();
    stage.fires("tea", 0);
    let told = stage.replies("1", 2, vec![note(), final_()]);
    assert_eq!(told.last().unwrap(), "=> wait for tea until 60020", "{told:?}");
}

#[test]
fn a_firing_that_came_in_the_wrap_up_turn_outlives_the_report_of_the_core() {
    let mut stage = with_tea();
    for turn in 2..=4 {
        stage.replies("1", turn, vec![note()]);
    }
    stage.fires("tea", 0);
    let told = stage.replies("1", 5, vec![note()]);
    assert!(told[1].contains("outcome/budget.messages"), "{told:?}");
    assert_eq!(told.last().unwrap(), "=> wait for tea until 60020", "no turn has shown it");
    assert!(stage.fires("tea", 0)[0].ends_with("timer/opens core -> agent 2"));
}

#[test]
fn a_firing_that_the_wrap_up_turn_shows_is_over_with_its_report() {
    let mut stage = with_tea();
    for turn in 2..=3 {
        stage.replies("1", turn, vec![note()]);
    }
    stage.fires("tea", 0);
    stage.replies("1", 4, vec![note()]);
    let told = stage.replies("1", 5, vec![note()]);
    assert!(told.contains(&"=> wait no more for tea".to_owned()), "{told:?}");
}

#[test]
fn b15_the_spawn_that_uses_most_of_the_budget_warns_its_child_and_its_callers_next_turn() {
    let mut stage = messages(5);
    stage.replies("1", 1, vec![call("tool"), call("tool"), call("tool")]);
    for item in ["1/1.0", "1/1.1", "1/1.2"] {
        stage.replies(item, 1, vec![final_()]);
    }
    assert_eq!(
        stage.replies("1", 2, vec![spawn(Some("heat"), "agent")]),
        [
            "root 8 message/spawn agent -> - 1 t2.0",
            "heat 1 message/begin agent -> agent 1",
            "root 9 message/inbox core -> agent 1",
            "root 10 message/answer core -> agent 1/2.0",
            "heat 2 message/inbox core -> agent 1",
            "=> agent 1 t3 a1",
            "=> agent heat:1 t1 a1",
        ]
    );
    assert_eq!(open_call(&stage, &root()).shown_inbox().collect::<Vec<_>>(), [9]);
    stage.says(&heat(), "1", 1, JudgedContent::Items(vec![note()]));
    assert_eq!(open_call(&stage, &heat()).shown_inbox().collect::<Vec<_>>(), [2]);
}

#[test]
fn a_child_that_has_no_turn_left_for_a_word_does_not_wrap_its_parent_up() {
    let mut stage = messages(1);
    stage.replies("1", 1, vec![spawn(Some("heat"), "tool")]);
    let word = for_thread(heat().as_str(), PayloadKind::For(name("tool")), "tool");
    assert_eq!(
        stage.replies("1", 2, vec![word]),
        ["root 5 refusal/budget.messages core -> agent 1 t2.0", "=> agent 1 t3 a1"],
        "it asked for no message"
    );
    let told = stage.replies("1", 3, vec![call("tool")]);
    assert!(told[1].contains("message/wrap-up"), "and here it does: {told:?}");
}

#[test]
fn a_word_is_taken_for_the_wrap_up_turn_though_it_is_one_more_than_the_file_allows() {
    let mut composition = composition();
    composition.budgets = Some(Budgets { wall_ms: Some(100_000), ..Budgets::default() });
    let mut stage = DecideStage::under(composition);
    stage.asks("k", "agent", None);
    for turn in 1..4 {
        stage.replies("1", turn, vec![note()]);
    }
    let told = stage.steers("operator", "agent", Some(&root()));
    assert_eq!(told.last().unwrap(), "=> refused budget.messages", "its last turn may be out");
    stage.passes(100_000);
    let told = stage.happens(EventKind::Elapsed(RunningBudget { thread: root(), budget_use: 1 }));
    assert!(told.iter().any(|line| line.contains("message/wrap-up")), "{told:?}");
    let told = stage.steers("operator", "agent", Some(&root()));
    let seq = stage.state.find_thread(&root()).unwrap().seq;
    assert_eq!(told.last().unwrap(), &format!("=> receipt #{seq}"), "turn 5 shows it");
    stage.replies("1", 4, vec![note()]);
    assert!(open_call(&stage, &root()).shown_inbox().any(|shown| shown == seq));
    let told = stage.replies("1", 5, vec![note()]);
    assert!(told.iter().any(|line| line.contains("outcome/budget.time")), "{told:?}");
}

#[test]
fn a_call_that_may_only_answer_is_told_nothing_that_no_turn_would_show() {
    let mut stage = messages(1);
    let told = stage.replies("1", 1, vec![call("tool"), call("other")]);
    assert!(told.iter().any(|line| line.contains("message/wrap-up")), "{told:?}");
    let told = stage.steers("operator", "agent", Some(&root()));
    assert_eq!(told.last().unwrap(), "=> refused budget.messages", "turn 2 of 40 is its last");
}
