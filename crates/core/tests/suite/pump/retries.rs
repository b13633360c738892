//! Failed roots that are tried again: what the failed turn shows and costs then, and what is refused.

use super::*;
use systole_core::pump::event::{PauseOrder, RetryOrder};
use systole_core::rules::retry_payload;
use systole_core::types::budget::Budgets;
use systole_core::types::client::{Client, Role};
use systole_core::types::composition::ListenerSection;
use systole_core::types::person::{PersonDecision, PersonRequestId};

/// The order of that client, about the root as it stands.
pub(crate) fn order(stage: &DecideStage, by: &str) -> RetryOrder {
    RetryOrder {
        ticket: Ticket(9),
        by: name(by),
        thread: root(),
        seen: stage.state.find_thread(&root()).map(|thread| thread.head),
        note: None,
        effects: Vec::new(),
        allows_effects: false,
        steps: None,
    }
}

fn give(stage: &mut DecideStage, order: RetryOrder) -> Vec<String> {
    stage.happens(EventKind::Ordered(ClientOrder::Retry(order)))
}

fn retry(stage: &mut DecideStage) -> Vec<String> {
    let order = order(stage, "operator");
    give(stage, order)
}

fn fails(stage: &mut DecideStage, turn: u32) -> Vec<String> {
    let said = JudgedContent::new_failure("upstream-down", false, "503");
    stage.says(&root(), "1", turn, said)
}

/// An agent that called a tool, has its answer, and failed in its second turn.
fn begin_failed() -> DecideStage {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![note(), call("tool")]);
    stage.replies("1/1.1", 1, vec![final_()]);
    fails(&mut stage, 2);
    stage
}

/// What the due turn of the call shows.
fn shown(stage: &DecideStage, attempt: u32) -> String {
    let call = &stage.state.find_thread(&root()).unwrap().calls["1"];
    let found = |seq| {
        let own = stage.records.iter().find(|r| r.header.thread == root() && r.header.seq == seq);
        own.cloned().map(Arc::new)
    };
    let lease = stage.lease(&root(), "1", call.settled + 1, attempt);
    let delivered = delivered(call, lease, found);
    assert_eq!(delivered.stamp.attempt, attempt);
    String::from_utf8(delivered.payload.bytes().to_vec()).unwrap() + &delivered.stamp.key
}

#[test]
fn d10_the_turn_that_failed_goes_out_again_and_shows_the_same_under_the_same_key() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![note(), call("tool"), spawn(Some("side"), "tool")]);
    stage.replies("1/1.1", 1, vec![final_()]);
    let (first, seen) = (shown(&stage, 1), stage.sees(&root(), "1"));
    assert_eq!(
        fails(&mut stage, 2)[..2],
        [
            "root 7 outcome/dead-letter core -> agent 1 t2".to_owned(),
            "side 2 terminal/thread.cancelled core -> core".to_owned()
        ]
    );
    assert_eq!(
        retry(&mut stage),
        ["root 10 steer/reopened core -> agent 1 t2", "=> done", "=> agent 1 t2 a2"],
        "{:?}",
        bodies(&stage)
    );
    assert_eq!(shown(&stage, 2), first, "the child's end came later, and is shown in the next turn");
    assert_eq!(stage.sees(&root(), "1"), seen, "and so is its view");
    let told = stage.replies("1", 2, vec![note()]);
    assert_eq!(told[1], "=> agent 1 t3 a1");
    assert!(shown(&stage, 1).contains("outcome=\"cancelled\""), "{}", shown(&stage, 1));
    assert_eq!(stage.replies("1", 3, vec![final_()])[0], "root 12 message/final agent -> operator 1 t3.0");
    assert_eq!(retry(&mut stage)[1], "=> refused retry.not-failed");
}

#[test]
fn d10_the_attempts_that_the_file_allows_are_counted_anew() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    let lose = |stage: &mut DecideStage, attempt| stage.loses("1", 1, attempt, Code::ListenerFailed);
    for attempt in 1..=3 {
        lose(&mut stage, attempt);
    }
    retry(&mut stage);
    assert_eq!(lose(&mut stage, 3), Vec::<String>::new(), "what an earlier attempt says is over");
    let again = [lose(&mut stage, 4), lose(&mut stage, 5)];
    assert_eq!([&again[0][1], &again[1][1]], ["=> tool 1 t1 a5", "=> tool 1 t1 a6"]);
    assert!(lose(&mut stage, 6)[0].contains("outcome/dead-letter"), "three more, as the file allows");
    retry(&mut stage);
    let call = &stage.state.find_thread(&root()).unwrap().calls["1"];
    assert_eq!((call.retries, call.attempts, call.own_attempt()), (2, 7, 1));
    let terms = stage.records.iter().filter_map(|r| retry_payload::read_reopened(&r.body));
    assert_eq!(terms.map(|terms| terms.number).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn d10_what_a_model_was_paid_for_is_not_paid_again() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.says(&root(), "1", 1, journals(1, started()));
    stage.says(&root(), "1", 1, journals(2, result(1, "so")));
    fails(&mut stage, 1);
    retry(&mut stage);
    assert_eq!(stage.says(&root(), "1", 1, asks(3, 0)), ["=> recall 3 from 0 [2, 3]"]);
}

#[test]
fn d10_the_purse_of_the_request_goes_on_where_it_stood() {
    let mut page = composition();
    page.budgets = Some(Budgets { messages: 100, wall_ms: Some(100_000), ..Budgets::default() });
    let mut stage = DecideStage::under(page);
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![call("tool")]);
    stage.replies("1/1.0", 1, vec![final_()]);
    stage.passes(30_000);
    let told = fails(&mut stage, 2);
    assert_eq!(told[1..], ["root 5 outcome/listener.failed core -> operator 1", "=> time stands"]);
    let purse = |stage: &DecideStage| stage.state.find_thread(&root()).unwrap().budget_uses[&1].clone();
    let before = purse(&stage);
    assert_eq!((before.used.messages, before.ran_ms, before.runs), (1, 30_030, None));
    stage.passes(3_600_000);
    let told = retry(&mut stage);
    assert_eq!(
        told,
        [
            "root 6 steer/reopened core -> agent 1 t2",
            "root 7 timer/wall core -> - 1",
            "=> done",
            "=> agent 1 t2 a2",
            "=> time runs, next mark in 49970"
        ]
    );
    assert_eq!(
        (purse(&stage).used, purse(&stage).ran_ms),
        (before.used, before.ran_ms),
        "an hour at rest is free"
    );
    stage.replies("1", 2, vec![final_()]);
    assert!(stage.state.find_thread(&root()).unwrap().budget_uses.is_empty());
}

#[test]
fn d10_it_goes_on_under_the_current_configuration() {
    let mut stage = begin_failed();
    let mut page = composition();
    page.hash = Digest([8; 32]);
    stage.state.book = CompositionBook::open_at(Arc::new(page));
    retry(&mut stage);
    let thread = stage.state.find_thread(&root()).unwrap();
    assert_eq!(thread.calls["1"].config, Digest([8; 32]));
    assert_eq!(thread.budget_uses[&1].config, Digest([8; 32]));
    assert_eq!(stage.records.last().unwrap().header.config, Digest([8; 32]));
}

#[test]
fn d10_a_listener_that_is_no_longer_in_the_file_cannot_go_on() {
    let mut stage = begin_failed();
    let mut page = composition();
    (page.hash, _) = (Digest([8; 32]), page.listeners.remove("agent"));
    stage.state.book = CompositionBook::open_at(Arc::new(page));
    assert_eq!(retry(&mut stage)[1], "=> refused route.unavailable");
}

#[test]
fn d10_only_a_failed_root_is_tried_again_and_each_only_once() {
    let mut stage = DecideStage::new();
    stage.happens(EventKind::Booted { listeners: vec![name("tool")], program: None });
    assert_eq!(
        retry(&mut stage),
        ["sys 2 refusal/thread.unknown core -> operator", "=> refused thread.unknown"]
    );
    stage.asks("k", "agent", None);
    assert_eq!(retry(&mut stage)[1], "=> refused retry.not-failed", "it is at work");
    fails(&mut stage, 1);
    let first = order(&stage, "operator");
    assert_eq!(give(&mut stage, first.clone())[1], "=> done");
    assert_eq!(give(&mut stage, first)[1], "=> refused retry.not-failed", "the second order comes too late");
    stage.replies("1", 1, vec![final_()]);
    assert_eq!(retry(&mut stage)[1], "=> refused retry.not-failed");
}

#[test]
fn d10_a_child_is_tried_again_only_with_its_root() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![spawn(Some("side"), "tool")]);
    let child = root().make_child("side").unwrap();
    stage.says(&child, "1", 1, JudgedContent::Items(vec![refused()]));
    let order = RetryOrder { thread: child, seen: None, ..order(&stage, "operator") };
    assert_eq!(give(&mut stage, order).last().unwrap(), "=> refused retry.not-failed");
}

#[test]
fn d10_an_answer_that_is_invalid_settled_the_turn() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    stage.replies("1", 1, vec![refused()]);
    assert_eq!(retry(&mut stage)[1], "=> refused retry.settled");
}

/// The report of an agent that could not do it.
fn gives_up() -> JudgedItem {
    let core = "https://xml-pipeline.org/ns/core/v1";
    let report =
        format!("<final-report xmlns=\"{core}\" source=\"model\" outcome=\"failure\">No.</final-report>");
    let report = Payload::parse(report.as_bytes(), &DocumentLimits::default()).unwrap();
    JudgedItem::Admitted(Admitted::new(PayloadKind::Final, Verdict::from_valid(report)))
}

#[test]
fn d10_an_agent_that_gave_up_settled_the_turn() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![gives_up()]);
    assert_eq!(retry(&mut stage)[1], "=> refused retry.settled");
}

#[test]
fn d10_an_agent_that_gave_up_in_its_wrap_up_turn_had_used_everything_up() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    for turn in 1..=4 {
        stage.replies("1", turn, vec![note()]);
    }
    stage.replies("1", 5, vec![gives_up()]);
    assert_eq!(stage.records.last().unwrap().header.code.unwrap().as_str(), "final");
    assert_eq!(retry(&mut stage)[1], "=> refused retry.spent");
}

#[test]
fn d10_a_later_message_leaves_the_failed_call_closed() {
    let mut stage = begin_failed();
    stage.asks("later", "quiet", Some(&root()));
    assert_eq!(retry(&mut stage)[1], "=> refused retry.superseded");
    stage.says(&root(), "2", 1, JudgedContent::Items(Vec::new()));
    assert_eq!(retry(&mut stage)[1], "=> refused retry.not-failed", "the later one was answered");
}

#[test]
fn d10_a_message_that_waited_behind_the_failed_call_takes_its_place() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    stage.asks("later", "tool", Some(&root()));
    fails(&mut stage, 1);
    assert_eq!(retry(&mut stage)[1], "=> refused retry.superseded");
    let said = JudgedContent::new_failure("upstream-down", false, "503");
    stage.says(&root(), "2", 1, said);
    assert_eq!(
        retry(&mut stage)[0],
        "root 8 steer/reopened core -> tool 2 t1",
        "the last call is what failed"
    );
}

#[test]
fn d10_what_a_person_decided_stays_decided() {
    let mut stage = DecideStage::new();
    stage.happens(EventKind::Booted { listeners: vec![name("tool")], program: None });
    stage.asks("k", "guarded", None);
    stage.rules(1, None, PersonDecision::Reject);
    assert_eq!(retry(&mut stage)[1], "=> refused retry.decided");
    let mut stage = begin_failed();
    let (ticket, by) = (Ticket(5), Name::new_operator());
    stage.happens(EventKind::Ordered(ClientOrder::End { ticket, by, thread: root() }));
    assert_eq!(retry(&mut stage).last().unwrap(), "=> refused retry.decided");
}

#[test]
fn d10_what_a_person_decided_further_below_stays_decided_too() {
    for first in ["approval.rejected", "thread.cancelled", "workflow.stopped"] {
        let mut stage = DecideStage::new();
        stage.asks("k", "agent", None);
        let mut said = JudgedContent::new_failure("goal.failed", false, "the second goal");
        let JudgedContent::Failure { first_code, .. } = &mut said else { unreachable!() };
        *first_code = Some(first.to_owned());
        stage.says(&root(), "1", 1, said);
        assert_eq!(retry(&mut stage)[1], "=> refused retry.decided", "{first}");
    }
}

#[test]
fn d10_a_request_that_no_one_decided_about_in_time_is_asked_about_once_more() {
    let mut stage = DecideStage::new();
    stage.happens(EventKind::Booted { listeners: vec![name("tool")], program: None });
    stage.asks("k", "guarded", None);
    let request = PersonRequestId(1);
    let place = CallPath::new_top(1);
    stage.happens(EventKind::Expired { thread: root(), place, request });
    let told = retry(&mut stage);
    assert_eq!(told[0], "root 7 steer/reopened core -> guarded 1 t1");
    assert_eq!(told[1], "root 8 approval/requested core -> person 1");
    assert!(told.contains(&"=> a2 expires in 60000".to_owned()), "{told:?}");
    assert!(!told.iter().any(|line| line.starts_with("=> guarded")), "{told:?}");
    stage.rules(2, None, PersonDecision::Approve);
    assert!(stage.state.find_thread(&root()).unwrap().calls["1"].approval.is_none());
}

#[test]
fn d10_what_is_used_up_stays_used_up() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    for turn in 1..=5 {
        stage.replies("1", turn, vec![note()]);
    }
    assert_eq!(stage.records.last().unwrap().header.code.unwrap().as_str(), "budget.messages");
    assert_eq!(retry(&mut stage)[1], "=> refused retry.spent");
}

#[test]
fn d10_an_order_about_a_thread_that_has_gone_on_since_the_preview_is_refused() {
    let mut stage = begin_failed();
    let before = order(&stage, "operator");
    let (ticket, by, thread) = (Ticket(5), Name::new_operator(), Some(root()));
    let pause = PauseOrder { ticket, by, thread, halts: true, note: None };
    stage.happens(EventKind::Ordered(ClientOrder::Pause(pause)));
    assert_eq!(give(&mut stage, before)[1], "=> refused retry.moved");
    let blind = RetryOrder { seen: None, ..order(&stage, "operator") };
    assert_eq!(give(&mut stage, blind)[1], "=> done");
}

#[test]
fn d10_an_attempt_that_may_have_done_its_work_goes_out_again_only_if_its_effects_may_happen_twice() {
    let mut stage = DecideStage::new();
    stage.asks("k", "careful", None);
    stage.happens(EventKind::Sending { thread: root(), call: CallPath::new_top(1), turn: 1 });
    stage.loses("1", 1, 1, Code::ListenerLost);
    assert_eq!(retry(&mut stage)[1], "=> refused retry.effects");
    let allowed = RetryOrder { allows_effects: true, ..order(&stage, "operator") };
    assert_eq!(give(&mut stage, allowed)[..2], ["root 6 steer/reopened core -> careful 1 t1", "=> done"]);
    assert!(bodies(&stage)[&6].contains("effects=\"true\""), "{}", bodies(&stage)[&6]);
    let failed = JudgedContent::new_failure("no", false, "card is over");
    stage.says(&root(), "1", 1, failed);
    assert_eq!(retry(&mut stage)[1], "=> done", "that it did not happen is known now");
}

#[test]
fn d10_an_earlier_attempt_that_may_have_done_its_work_counts_behind_a_known_failure() {
    let mut stage = DecideStage::under(unknown::asking());
    stage.asks("k", "careful", None);
    stage.happens(EventKind::Sending { thread: root(), call: CallPath::new_top(1), turn: 1 });
    unknown::loses(&mut stage, 1, 1, Code::ListenerLost);
    stage.rules(1, None, PersonDecision::Approve);
    stage.says(&root(), "1", 1, JudgedContent::new_failure("no", false, "card is over"));
    assert_eq!(retry(&mut stage)[1], "=> refused retry.effects");
}

#[test]
fn d10_an_unknown_outcome_of_a_listener_without_effects_is_no_reason() {
    let mut stage = DecideStage::new();
    stage.asks("k", "tool", None);
    (1..=3).for_each(|attempt| drop(stage.loses("1", 1, attempt, Code::ListenerLost)));
    assert_eq!(retry(&mut stage)[1], "=> done");
}

#[test]
fn d10_effects_that_the_log_has_below_the_call_are_named() {
    let mut stage = begin_failed();
    let order = RetryOrder { effects: vec!["pay in sess-1.a: <charge>".into()], ..order(&stage, "operator") };
    assert_eq!(give(&mut stage, order)[1], "=> refused retry.effects");
    let words = bodies(&stage).pop_last().unwrap().1;
    assert!(words.contains("pay in sess-1.a: &lt;charge&gt;"), "{words}");
}

#[test]
fn d10_of_others_only_who_operates_tries_a_thread_again_and_only_they_allow_effects() {
    let mut stage = begin_failed();
    let client = |who, roles: &[Role]| {
        (name(who), Client { may: None, roles: roles.to_vec(), over_nats: false, doors: None, rate: None })
    };
    let clients = [client("alice", &[]), client("bob", &[Role::Operate])];
    let page = Composition { clients: clients.into_iter().collect(), ..composition() };
    stage.state.book = CompositionBook::open_at(Arc::new(page));
    let alice = order(&stage, "alice");
    assert_eq!(give(&mut stage, alice).last().unwrap(), "=> refused thread.unknown");
    let bob = order(&stage, "bob");
    assert_eq!(give(&mut stage, bob)[1], "=> done");
    fails(&mut stage, 2);
    stage.state.threads.get_mut(&root()).unwrap().opener.as_mut().unwrap().sender = name("alice");
    let opener = RetryOrder { allows_effects: true, ..order(&stage, "alice") };
    assert_eq!(give(&mut stage, opener).last().unwrap(), "=> refused ingress.forbidden");
    let opener = order(&stage, "alice");
    assert_eq!(give(&mut stage, opener)[1], "=> done", "who opened it");
}

/// The composition of the stage in which the agent is a workflow with these steps.
fn with_steps(hash: u8, steps: &str) -> Composition {
    let section = ListenerSection { path: "workflows.agent".into(), text: steps.into() };
    let sections = BTreeMap::from([(name("agent"), section)]);
    Composition { hash: Digest([hash; 32]), sections, ..composition() }
}

/// A run of a workflow that failed while a child of it ran.
fn failed_run() -> DecideStage {
    let mut stage = DecideStage::under(with_steps(7, "one two"));
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![note(), spawn(Some("side"), "tool")]);
    fails(&mut stage, 2);
    stage
}

#[test]
fn d10_a_run_of_a_workflow_is_told_and_sees_what_was_cancelled_beside_the_failure() {
    let mut stage = failed_run();
    assert_eq!(
        retry(&mut stage),
        [
            "root 8 steer/reopened core -> agent 1 t2",
            "root 9 message/inbox core -> agent 1",
            "=> done",
            "=> agent 1 t2 a2"
        ]
    );
    let shown = shown(&stage, 2);
    let (ended, told) = (shown.find("outcome=\"cancelled\""), shown.find("<retried"));
    assert!(ended.is_some() && ended < told, "{shown}");
    let seen = stage.sees(&root(), "1");
    assert!(seen.last().unwrap().contains("<retried by=\"operator\" retry=\"1\"/>"), "{seen:?}");
    assert_eq!(stage.replies("1", 2, vec![note()])[1], "=> agent 1 t3 a1");
    assert!(!self::shown(&stage, 1).contains("<retried"), "it is shown once");
}

#[test]
fn d10_a_run_whose_steps_have_changed_keeps_its_own() {
    let mut stage = failed_run();
    let old = stage.state.book.current().unwrap().clone();
    let mut book = CompositionBook::open_at(Arc::new(with_steps(8, "one two three")));
    stage.state.book = book.clone();
    let changed = RetryOrder { steps: Some("one two".into()), ..order(&stage, "operator") };
    assert_eq!(
        give(&mut stage, changed).last().unwrap(),
        "=> refused route.unavailable",
        "they are not loaded"
    );
    book.add(old);
    stage.state.book = book;
    retry(&mut stage);
    assert_eq!(stage.state.find_thread(&root()).unwrap().calls["1"].config, Digest([7; 32]));
    fails(&mut stage, 2);
    stage.state.book = CompositionBook::open_at(Arc::new(with_steps(9, "one two")));
    let same = RetryOrder { steps: Some("one two".into()), ..order(&stage, "operator") };
    give(&mut stage, same);
    assert_eq!(stage.state.find_thread(&root()).unwrap().calls["1"].config, Digest([9; 32]));
}

/// A failed root of which news is worked on, tried again: call 3 is at work, and call 2 waits behind it.
fn begin_behind_news() -> DecideStage {
    let mut stage = DecideStage::new();
    let mut page = composition();
    page.listeners.get_mut("agent").unwrap().timer_tell = vec![name("watch")];
    stage.state.book = CompositionBook::open_at(Arc::new(page));
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![set_timer("id=\"tea\" after=\"1h\"", "")]);
    stage.replies("1", 2, vec![final_()]);
    stage.passes(3_600_000);
    stage.fires("tea", 0);
    let said = JudgedContent::new_failure("upstream-down", false, "503");
    let told = stage.says(&root(), "2", 1, said);
    assert!(told.contains(&"=> watch 3 t1 a1".to_owned()), "{told:?}");
    let told = retry(&mut stage);
    assert!(!told.iter().any(|line| line.starts_with("=> agent")), "{told:?}");
    stage
}

#[test]
fn b10_a_queued_run_that_is_stopped_lets_none_begin_beside_the_one_at_work() {
    let mut stage = begin_behind_news();
    stage.asks("k4", "agent", Some(&root()));
    let (ticket, by) = (Ticket(9), name("operator"));
    let order = ClientOrder::StopRun { ticket, by, thread: root(), call: 4 };
    let told = stage.happens(EventKind::Ordered(order));
    assert!(!told.iter().any(|line| line.starts_with("=> agent")), "{told:?}");
    let told = stage.says(&root(), "3", 1, JudgedContent::Items(Vec::new()));
    assert!(told.contains(&"=> agent 2 t1 a2".to_owned()), "{told:?}");
}

#[test]
fn d10_news_that_is_worked_on_goes_first_and_the_turn_still_shows_the_same() {
    let mut stage = begin_behind_news();
    let told = stage.says(&root(), "3", 1, JudgedContent::Items(Vec::new()));
    assert!(told.contains(&"=> agent 2 t1 a2".to_owned()), "{told:?}");
    assert_eq!(
        stage.says(&root(), "2", 1, JudgedContent::Items(vec![final_()])).len(),
        3,
        "the agent gets the same turn again"
    );
}

#[test]
fn d10_a_failed_root_is_the_same_after_a_restart() {
    let mut stage = begin_failed();
    let thread = stage.state.find_thread(&root()).unwrap().clone();
    let row = thread.to_row();
    assert!(!row.working, "nothing of it has to be loaded");
    let woken = Thread::from_row(&row).expect("this version reads it");
    assert_eq!(woken.failed, thread.failed);
    assert!(row.bytes.len() < 1_000, "{} bytes", row.bytes.len());
    stage.state.threads.insert(root(), woken);
    assert_eq!(retry(&mut stage)[1], "=> done");
}

#[test]
fn d10_a_paused_thread_is_open_again_and_still_paused() {
    let mut stage = begin_failed();
    let (ticket, by, thread) = (Ticket(5), Name::new_operator(), Some(root()));
    let pause = PauseOrder { ticket, by, thread, halts: true, note: None };
    stage.happens(EventKind::Ordered(ClientOrder::Pause(pause)));
    assert_eq!(retry(&mut stage)[1], "=> done");
    assert!(stage.state.find_thread(&root()).unwrap().paused.is_some());
}
