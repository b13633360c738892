//! Timers: set, cancelled, fired into an inbox or into a new top call, and what ends them.

use super::*;

const CORE: &str = "xmlns=\"https://xml-pipeline.org/ns/core/v1\"";

/// An agent at work that set these timers in its first turn; its second is due.
fn with(timers: Vec<JudgedItem>) -> DecideStage {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, timers);
    stage
}

/// The body of the last record.
fn said(stage: &DecideStage) -> String {
    String::from_utf8_lossy(&stage.records.last().unwrap().body).into_owned()
}

fn timers(stage: &DecideStage) -> Vec<&str> {
    stage.state.find_thread(&root()).unwrap().timers.keys().map(TimerId::as_str).collect()
}

/// A root at rest whose agent has left a one-minute timer. The result of the call that it opens goes to `watch` and
/// to `other`.
fn told_of(pace: &str, note: &str) -> DecideStage {
    let mut page = composition();
    let agent = page.listeners.get_mut(&name("agent")).unwrap();
    agent.timer_tell = vec![name("watch"), name("other")];
    let mut stage = DecideStage::under(page);
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![set_timer(&format!("id=\"tea\" {pace}"), note)]);
    stage.replies("1", 2, vec![final_()]);
    stage.passes(60_000);
    stage
}

/// The news in the log.
fn news(stage: &DecideStage) -> Vec<String> {
    let bodies = stage.records.iter().map(|record| String::from_utf8_lossy(&record.body).into_owned());
    bodies.filter(|body| body.starts_with("<timer-finished")).collect()
}

#[test]
fn b8_timer_finished_goes_to_its_listeners_in_order_and_their_answers_are_dropped() {
    let mut stage = told_of("after=\"1m\"", "drink &quot;it&quot;");
    stage.fires("tea", 0);
    assert_eq!(
        stage.replies("2", 1, vec![final_()]),
        [
            "root 6 message/tell core -> watch 3",
            "root 7 message/tell core -> other 4",
            "root 8 message/final agent -> core 2 t1.0",
            "=> watch 3 t1 a1",
        ]
    );
    assert_eq!(
        news(&stage)[0],
        format!(
            "<timer-finished {CORE} id=\"tea\" outcome=\"answered\" note=\"drink &quot;it&quot;\" thread=\"{}\" call=\"2\" \
             listener=\"agent\"><done xmlns=\"urn:test\"/></timer-finished>",
            root()
        )
    );
    assert_eq!(stage.records[5].header.cause, Some(stage.records[4].header.id), "the firing");
    // The news causes no further news, and the agent gets nothing.
    let told = stage.replies("3", 1, vec![]);
    assert_eq!(told, ["root 9 outcome/handled watch -> core 3 t1", "=> other 4 t1 a1"]);
    let told = stage.replies("4", 1, vec![final_()]);
    assert_eq!(told, ["root 10 message/final other -> core 4 t1.0"]);
    assert!(stage.state.find_thread(&root()).unwrap().calls.is_empty());
    assert_eq!(stage.asks("k2", "agent", Some(&root()))[0], "root 11 message/request operator -> agent 5");
}

#[test]
fn b8_a_call_of_a_timer_that_fails_is_news_as_well() {
    let mut stage = told_of("after=\"1m\"", "drink it");
    stage.fires("tea", 0);
    for attempt in 1..=3 {
        stage.loses("2", 1, attempt, Code::ListenerLost);
    }
    let news = news(&stage);
    assert_eq!(news.len(), 2);
    assert!(news[0].contains("outcome=\"failed\"") && news[0].contains("<system-error"), "{news:?}");
}

#[test]
fn b8_news_without_a_taker_is_a_dead_letter_and_causes_no_further_news() {
    let mut stage = told_of("after=\"1m\"", "drink it");
    stage.fires("tea", 0);
    stage.replies("2", 1, vec![final_()]);
    for attempt in 1..=3 {
        stage.loses("3", 1, attempt, Code::ListenerLost);
    }
    assert_eq!(news(&stage).len(), 2, "those of the timer's call");
    assert_eq!(stage.state.find_thread(&root()).unwrap().calls.keys().next().unwrap().as_str(), "4");
}

#[test]
fn b8_a_call_from_a_client_sends_no_timer_news() {
    let mut stage = told_of("after=\"1m\"", "drink it");
    stage.asks("k2", "agent", Some(&root()));
    assert_eq!(stage.replies("2", 1, vec![final_()]), ["root 6 message/final agent -> operator 2 t1.0"]);
}

#[test]
fn b8_news_waits_behind_requests_that_came_before_it() {
    let mut stage = told_of("every=\"1m\"", "drink it");
    stage.fires("tea", 0);
    stage.asks("k2", "agent", Some(&root()));
    let told = stage.replies("2", 1, vec![final_()]);
    assert_eq!(told[0], "root 7 message/tell core -> watch 4");
    assert!(told.contains(&"=> agent 3 t1 a1".to_owned()), "{told:?}");
    stage.asks("k3", "agent", Some(&root()));
    assert_eq!(stage.replies("3", 1, vec![final_()]).last().unwrap(), "=> watch 4 t1 a1");
}

#[test]
fn b8_the_message_that_set_a_timer_pays_for_its_news() {
    let mut stage = told_of("after=\"1m\"", "drink it");
    stage.fires("tea", 0);
    stage.replies("2", 1, vec![final_()]);
    let thread = stage.state.find_thread(&root()).unwrap();
    let calls = &thread.calls;
    assert_eq!((calls["3"].budget_use, calls["4"].budget_use), (1, 1));
    assert_eq!(
        thread.budget_uses.keys().copied().collect::<Vec<_>>(),
        [1],
        "no other budget is opened for it"
    );
}

#[test]
fn b8_a_long_note_is_told_in_part() {
    let mut stage = told_of("after=\"1m\"", &"ä".repeat(1_001));
    stage.fires("tea", 0);
    stage.replies("2", 1, vec![final_()]);
    let news = news(&stage);
    assert!(news[0].contains(&format!("note=\"{}…\"", "ä".repeat(1_000))), "{news:?}");
}

#[test]
fn a_timer_is_answered_with_its_id_and_its_moment_and_waited_for() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    assert_eq!(
        stage.replies("1", 1, vec![set_timer("id=\"tea\" after=\"1m\"", "drink it")]),
        [
            "root 2 timer/set agent -> - 1 t1.0",
            "root 3 message/answer core -> agent 1/1.0",
            "=> agent 1 t2 a1",
            "=> wait for tea until 60020",
        ]
    );
    assert_eq!(said(&stage), format!("<timer-set {CORE} id=\"tea\" due=\"1970-01-01T00:17:40.020Z\"/>"));
}

#[test]
fn missing_ids_are_made_and_taken_ones_are_refused() {
    let mut stage = with(vec![
        set_timer("after=\"1m\"", ""),
        set_timer("id=\"t2\" every=\"1m\"", ""),
        set_timer("after=\"1m\"", ""),
    ]);
    assert_eq!(timers(&stage), ["t1", "t2", "t3"]);
    let told = stage.replies("1", 2, vec![set_timer("id=\"t2\" after=\"1m\"", "")]);
    assert_eq!(told, ["root 8 refusal/payload.invalid core -> agent 1 t2.0", "=> agent 1 t3 a1"]);
    assert!(said(&stage).contains("a timer t2 is set in this thread"), "{}", said(&stage));
}

#[test]
fn no_more_timers_of_a_thread_are_set_than_the_limit() {
    let mut stage = with((0..32).map(|_| set_timer("after=\"1m\"", "")).collect());
    let told = stage.replies("1", 2, vec![set_timer("after=\"1m\"", "")]);
    assert!(told[0].contains("refusal/thread.limit"), "{told:?}");
    assert_eq!(timers(&stage).len(), 32);
}

#[test]
fn a_timer_fires_into_the_inbox_of_the_call_that_set_it_with_its_note() {
    let mut stage = with(vec![set_timer("id=\"tea\" after=\"1m\"", "a &lt; b"), call("tool")]);
    stage.passes(60_000);
    assert_eq!(
        stage.fires("tea", 0),
        ["root 5 timer/fired core -> agent 1", "=> wait for tea until 60020, once it was shown"]
    );
    assert_eq!(said(&stage), format!("<timer-fired {CORE} id=\"tea\">a &lt; b</timer-fired>"));
    assert_eq!(stage.records.last().unwrap().header.cause, Some(stage.records[1].header.id));
    stage.replies("1/1.1", 1, vec![final_()]);
    let call = &stage.state.find_thread(&root()).unwrap().calls["1"];
    assert_eq!(call.shown_inbox().collect::<Vec<_>>(), [5]);
    // The reply to the turn that showed it ends it.
    let told = stage.replies("1", 2, vec![note()]);
    assert!(told.contains(&"=> wait no more for tea".to_owned()), "{told:?}");
    assert!(timers(&stage).is_empty());
}

#[test]
fn a_firing_that_is_late_or_comes_twice_is_one() {
    let mut stage = with(vec![set_timer("id=\"tea\" after=\"1m\"", ""), call("tool")]);
    stage.passes(3_600_000);
    assert_eq!(stage.fires("tea", 3_540_000)[0], "root 5 timer/fired core -> agent 1");
    assert!(!said(&stage).contains("missed"), "one that fires once misses nothing: {}", said(&stage));
    assert!(stage.fires("tea", 3_540_000).is_empty(), "it has not been shown yet");
}

#[test]
fn what_was_missed_is_counted_and_moments_keep_their_distance() {
    let mut stage = with(vec![set_timer("id=\"tick\" every=\"10s\"", ""), call("tool")]);
    stage.passes(35_000);
    assert_eq!(
        stage.fires("tick", 25_000),
        ["root 5 timer/fired core -> agent 1", "=> wait for tick until 40020, once it was shown"],
        "due at 10020, 20020 and 30020, now 35030"
    );
    assert!(said(&stage).contains("missed=\"2\""), "{}", said(&stage));
}

#[test]
fn a_busy_call_is_told_once_and_again_when_that_was_shown() {
    let mut stage = with(vec![set_timer("id=\"tick\" every=\"10s\"", ""), call("tool")]);
    stage.passes(10_000);
    stage.fires("tick", 0);
    for _ in 0..3 {
        stage.passes(10_000);
        assert!(stage.fires("tick", 0).is_empty());
    }
    stage.replies("1/1.1", 1, vec![final_()]);
    let told = stage.replies("1", 2, vec![note()]);
    assert_eq!(told.last().unwrap(), "=> wait for tick until 20020", "due long ago, and free to fire");
    assert_eq!(stage.fires("tick", 20_050)[0], "root 8 timer/fired core -> agent 1");
    assert!(said(&stage).contains("missed=\"2\""), "{}", said(&stage));
}

#[test]
fn a_clock_that_was_set_moves_the_next_moment_and_nothing_else() {
    for (jump, next) in [(0, 20_020), (86_400_000, 86_420_020)] {
        let mut stage = with(vec![set_timer("id=\"tick\" every=\"10s\"", ""), call("tool")]);
        stage.passes(10_000 + jump);
        let told = stage.fires("tick", 0);
        let due = stage.state.find_thread(&root()).unwrap().timers["tick"].due.count_since(Millis(1_000_000));
        assert!(due.abs_diff(next) <= 10, "{due}, {told:?}");
        assert!(!said(&stage).contains("missed"), "no time has passed: {}", said(&stage));
    }
    // The clock was set back: the firing says so, counts as on time, and the next one is one interval later.
    let mut stage = with(vec![set_timer("id=\"tick\" every=\"1h\"", ""), call("tool")]);
    stage.fires("tick", 0);
    let due = stage.state.find_thread(&root()).unwrap().timers["tick"].due;
    assert_eq!(due, stage.records.last().unwrap().header.time.add_ms(3_600_000));
    assert!(said(&stage).contains("clock=\"set-back\""), "{}", said(&stage));
}

#[test]
fn a_wait_without_children_is_over_when_a_timer_fires() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    let told = stage.replies("1", 1, vec![wait("all", &[]), set_timer("after=\"1m\"", "")]);
    assert!(!told.iter().any(|line| line.starts_with("=> agent")), "{told:?}");
    let told = stage.fires("t1", 0);
    assert_eq!(
        told[..3],
        [
            "root 5 timer/fired core -> agent 1",
            "root 6 message/answer core -> agent 1/1.0",
            "=> agent 1 t2 a1",
        ]
    );
    assert!(said(&stage).contains("reason=\"timer\" finished=\"0\" open=\"0\""), "{}", said(&stage));
}

#[test]
fn a_timer_ends_a_wait_for_children_and_leaves_them_running() {
    let mut stage = with(vec![spawn(Some("a"), "tool"), set_timer("after=\"1m\"", "")]);
    stage.replies("1", 2, vec![wait("all", &[])]);
    assert!(stage.fires("t1", 0).contains(&"=> agent 1 t3 a1".to_owned()));
    assert!(said(&stage).contains("reason=\"timer\" finished=\"0\" open=\"1\""), "{}", said(&stage));
    assert!(!stage.state.find_thread(&root().make_child("a").unwrap()).unwrap().ended);
}

#[test]
fn a_firing_that_was_not_shown_yet_ends_a_wait_at_once() {
    let mut stage = with(vec![spawn(Some("a"), "tool"), set_timer("after=\"1m\"", "")]);
    stage.fires("t1", 0);
    assert!(stage.replies("1", 2, vec![wait("all", &[])]).contains(&"=> agent 1 t3 a1".to_owned()));
    assert!(said(&stage).contains("reason=\"timer\""), "{}", said(&stage));
}

#[test]
fn a_cancelled_timer_does_not_fire() {
    let mut stage = with(vec![set_timer("id=\"tea\" after=\"1m\"", "")]);
    assert_eq!(
        stage.replies("1", 2, vec![cancel_timer("tea")]),
        [
            "root 4 timer/cancel agent -> - 1 t2.0",
            "root 5 message/answer core -> agent 1/2.0",
            "=> agent 1 t3 a1",
            "=> wait no more for tea",
        ]
    );
    assert_eq!(said(&stage), format!("<timer-cancelled {CORE} id=\"tea\"/>"));
    assert!(stage.fires("tea", 0).is_empty());
}

#[test]
fn a_timer_that_was_set_anew_is_not_fired_by_the_old_ones_time() {
    let mut stage = with(vec![set_timer("id=\"tea\" after=\"1m\"", "")]);
    let old = Arc::new(stage.records[1].clone());
    stage.replies("1", 2, vec![cancel_timer("tea")]);
    stage.replies("1", 3, vec![set_timer("id=\"tea\" after=\"1h\"", ""), call("tool")]);
    let timer = TimerId::parse("tea").unwrap();
    assert!(stage.happens(EventKind::Due { thread: root(), timer, set: old, late_ms: 0 }).is_empty());
}

#[test]
fn a_timer_that_is_not_ones_own_is_unknown() {
    let mut stage = with(vec![set_timer("id=\"tea\" after=\"1m\"", ""), call("agent")]);
    let told = stage.replies("1/1.1", 1, vec![cancel_timer("tea")]);
    assert_eq!(told[0], "root 5 refusal/timer.unknown core -> agent 1/1.1 t1.0");
    let told = stage.replies("1/1.1", 2, vec![cancel_timer("nonsense")]);
    assert_eq!(told[0], "root 6 refusal/timer.unknown core -> agent 1/1.1 t2.0");
    assert_eq!(timers(&stage), ["tea"]);
}

#[test]
fn timers_of_a_nested_call_end_with_it() {
    let mut stage = with(vec![call("agent")]);
    stage.replies("1/1.0", 1, vec![set_timer("id=\"tea\" after=\"1m\"", "")]);
    assert_eq!(
        stage.replies("1/1.0", 2, vec![final_()]),
        [
            "root 5 timer/cancelled core -> - 1/1.0",
            "root 6 message/final agent -> agent 1/1.0 t2.0",
            "=> agent 1 t2 a1",
            "=> wait no more for tea",
        ]
    );
    assert!(stage.fires("tea", 0).is_empty());
}

#[test]
fn timers_of_a_child_end_with_it() {
    let mut stage = with(vec![spawn(Some("a"), "agent")]);
    let a = root().make_child("a").unwrap();
    stage.says(&a, "1", 1, JudgedContent::Items(vec![set_timer("id=\"tea\" after=\"1m\"", "")]));
    let told = stage.says(&a, "1", 2, JudgedContent::Items(vec![final_()]));
    assert!(told.contains(&"=> wait no more for tea".to_owned()), "{told:?}");
    assert!(stage.state.find_thread(&a).unwrap().timers.is_empty());
}

#[test]
fn timers_end_with_their_thread() {
    let mut stage = with(vec![set_timer("id=\"tea\" after=\"1m\"", "")]);
    stage.replies("1", 2, vec![final_()]);
    let told = stage.happens(EventKind::Ordered(ClientOrder::Cancel {
        ticket: Ticket(2),
        by: Name::new_operator(),
        thread: root(),
    }));
    assert!(told.contains(&"=> wait no more for tea".to_owned()), "{told:?}");
    assert!(stage.fires("tea", 0).is_empty(), "nothing is appended to an ended thread");
}

#[test]
fn a_resting_root_is_opened_by_its_timer_for_the_same_listener() {
    let mut stage = with(vec![set_timer("id=\"tick\" every=\"1h\"", "look again")]);
    stage.replies("1", 2, vec![final_()]);
    let row = stage.state.find_thread(&root()).unwrap().to_row();
    assert!(row.working, "it rests, and opening a log must find it");
    stage.passes(3_600_000);
    assert_eq!(
        stage.fires("tick", 0),
        [
            "root 5 timer/opens core -> agent 2",
            "=> agent 2 t1 a1",
            "=> wait for tick until 7200020, once it was shown",
        ]
    );
    assert!(said(&stage).contains(">look again</timer-fired>"), "{}", said(&stage));
    // One call at a time: while the call that it opened is at work, the timer waits.
    assert!(stage.fires("tick", 0).is_empty());
    let told = stage.replies("2", 1, vec![final_()]);
    assert_eq!(told[0], "root 6 message/final agent -> core 2 t1.0");
    assert_eq!(told.last().unwrap(), "=> wait for tick until 7200020");
}

#[test]
fn a_timer_that_outlived_its_call_waits_behind_the_call_that_is_open() {
    let mut stage = with(vec![set_timer("id=\"tea\" after=\"1m\"", "")]);
    stage.replies("1", 2, vec![final_()]);
    stage.asks("k2", "tool", Some(&root()));
    assert_eq!(
        stage.fires("tea", 0),
        ["root 6 timer/opens core -> agent 3", "=> wait no more for tea"],
        "held, and fired once"
    );
    let told = stage.replies("2", 1, vec![final_()]);
    assert_eq!(told.last().unwrap(), "=> agent 3 t1 a1");
}

#[test]
fn a_later_top_call_of_the_same_listener_may_cancel_what_an_earlier_one_left() {
    let mut stage = with(vec![set_timer("id=\"tea\" after=\"1m\"", "")]);
    stage.replies("1", 2, vec![final_()]);
    stage.asks("k2", "agent", Some(&root()));
    let told = stage.replies("2", 1, vec![cancel_timer("tea"), wait("all", &[])]);
    assert!(told.contains(&"=> wait no more for tea".to_owned()), "{told:?}");
}

#[test]
fn a_wait_is_not_for_timers_that_an_earlier_call_left() {
    let mut stage = with(vec![set_timer("id=\"tea\" after=\"1m\"", "")]);
    stage.replies("1", 2, vec![final_()]);
    stage.asks("k2", "agent", Some(&root()));
    let told = stage.replies("2", 1, vec![wait("all", &[])]);
    assert!(told.contains(&"=> agent 2 t2 a1".to_owned()), "{told:?}");
}

#[test]
fn a_firing_that_its_call_never_saw_is_not_lost() {
    let mut stage = with(vec![set_timer("id=\"tea\" after=\"1m\"", "")]);
    stage.fires("tea", 0);
    // Turn 2 was ready before the firing came, so its final was given without knowing of it.
    let told = stage.replies("1", 2, vec![final_()]);
    assert_eq!(told.last().unwrap(), "=> wait for tea until 60020", "it is due again");
    assert_eq!(stage.fires("tea", 0)[0], "root 6 timer/opens core -> agent 2");
    assert!(timers(&stage).is_empty());
}

/// A fired one-shot timer is over for the whole reply to the turn that showed it, for items at any place in the
/// reply.
#[test]
fn what_fired_once_and_was_shown_may_be_set_anew_by_the_first_item() {
    let seen = || {
        let mut stage = with(vec![set_timer("id=\"tea\" after=\"1m\"", ""), wait("all", &[])]);
        stage.passes(60_000);
        stage.fires("tea", 0);
        stage
    };
    for first in [vec![], vec![note()]] {
        let (mut named, mut unnamed, mut cancelled) = (seen(), seen(), seen());
        let items = |item| first.iter().map(|_| note()).chain([item]).collect::<Vec<JudgedItem>>();
        named.replies("1", 2, items(set_timer("id=\"tea\" after=\"1m\"", "")));
        assert_eq!(timers(&named), ["tea"], "{:?}", said(&named));
        unnamed.replies("1", 2, items(set_timer("after=\"1m\"", "")));
        assert_eq!(timers(&unnamed), ["t1"]);
        let told = cancelled.replies("1", 2, items(cancel_timer("tea")));
        assert!(told.iter().any(|line| line.contains("refusal/timer.unknown")), "{told:?}");
    }
}

#[test]
fn a_firing_that_its_call_has_seen_is_over_with_the_answer() {
    let mut stage = with(vec![set_timer("id=\"tea\" after=\"1m\"", ""), wait("all", &[])]);
    stage.fires("tea", 0);
    let told = stage.replies("1", 2, vec![final_()]);
    assert_eq!(told.last().unwrap(), "=> wait no more for tea");
}

#[test]
fn turns_1_may_set_a_timer_and_be_called_by_it() {
    let mut stage = DecideStage::new();
    stage.asks("k", "quiet", None);
    let told = stage.replies("1", 1, vec![set_timer("every=\"1h\"", "")]);
    assert_eq!(told[2], "root 4 outcome/handled quiet -> operator 1 t1");
    assert_eq!(stage.fires("t1", 0)[..2], ["root 5 timer/opens core -> quiet 2", "=> quiet 2 t1 a1"]);
}
