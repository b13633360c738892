//! What one outside message may use: the budget of a tree, ceilings of children, depth, warnings.

use super::*;
use systole_core::types::budget::Budgets;

/// An organism in which an outside message may use this much, and agents think long enough for it.
pub(super) fn stage(budgets: Budgets) -> DecideStage {
    let mut composition = composition();
    composition.budgets = Some(budgets);
    let agent = composition.listeners.get_mut(&name("agent")).unwrap();
    agent.turns = 40;
    DecideStage::under(composition)
}

pub(super) fn messages(most: u64) -> DecideStage {
    let mut stage = stage(Budgets { messages: most, ..Budgets::default() });
    stage.asks("k", "agent", None);
    stage
}

fn calls(count: usize) -> Vec<JudgedItem> {
    (0..count).map(|_| call("tool")).collect()
}

/// The tools answer all items of the last reply of call 1.
fn answers(stage: &mut DecideStage, turn: u32, count: usize) {
    for ordinal in 0..count {
        stage.replies(&format!("1/{turn}.{ordinal}"), 1, vec![final_()]);
    }
}

fn body_of(stage: &DecideStage, word: &str) -> Vec<String> {
    let found = stage.records.iter().filter(|r| {
        let body = String::from_utf8_lossy(&r.body);
        body.contains(word)
    });
    found.map(|r| format!("{} {}", r.header.thread, String::from_utf8_lossy(&r.body))).collect()
}

#[test]
fn b15_a_reservation_is_refused_once_all_messages_are_used_and_the_call_wraps_up() {
    let mut stage = messages(10);
    stage.replies("1", 1, calls(10));
    answers(&mut stage, 1, 10);
    let told = stage.replies("1", 2, vec![note(), call("other")]);
    assert_eq!(
        told,
        [
            "root 23 message/note agent -> - 1 t2.0",
            "root 24 refusal/budget.messages core -> agent 1 t2.1",
            "root 25 message/wrap-up core -> agent 1 t2",
            "=> agent 1 t3 a1",
        ]
    );
    let bodies = bodies(&stage);
    assert!(bodies[&24].contains("10 of 10 messages are used"), "{}", bodies[&24]);
    assert!(bodies[&25].contains("what=\"messages\" used=\"10\" limit=\"10\""), "{}", bodies[&25]);
}

#[test]
fn b15_at_four_fifths_every_open_call_with_a_further_turn_is_warned_once() {
    let mut stage = messages(10);
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent"), call("agent"), call("tool")]);
    let told = stage.replies("1/1.1", 1, calls(4));
    assert!(!told.iter().any(|line| line.contains("inbox")), "seven of ten: {told:?}");
    let told = stage.replies("1/1.1/1.0", 1, vec![final_()]);
    assert!(!told.iter().any(|line| line.contains("inbox")), "an answer uses nothing: {told:?}");
    let heat = root().make_child("heat").unwrap();
    let told = stage.says(&heat, "1", 1, JudgedContent::Items(calls(1)));
    let warned: Vec<&String> = told.iter().filter(|line| line.contains("message/inbox")).collect();
    assert_eq!(
        warned,
        [
            "root 11 message/inbox core -> agent 1",
            "heat 3 message/inbox core -> agent 1",
            "root 12 message/inbox core -> agent 1/1.1",
        ],
        "neither the tool, nor anybody twice"
    );
    let warnings = body_of(&stage, "<budget-warning");
    assert!(warnings.iter().all(|w| w.contains("what=\"messages\" used=\"8\" limit=\"10\"")), "{warnings:?}");
    let told = stage.says(&heat, "1/1.0", 1, JudgedContent::Items(vec![final_()]));
    assert!(!told.iter().any(|line| line.contains("inbox")));
    let told = stage.says(&heat, "1", 2, JudgedContent::Items(calls(1)));
    assert!(!told.iter().any(|line| line.contains("inbox")), "once: {told:?}");
}

#[test]
fn b15_a_warning_ends_a_wait() {
    let mut stage = messages(5);
    let heat = root().make_child("heat").unwrap();
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent"), wait("all", &[])]);
    stage.says(&heat, "1", 1, JudgedContent::Items(calls(2)));
    assert!(body_of(&stage, "<budget-warning").iter().all(|w| w.starts_with(heat.as_str())), "its ceiling");
    answers_in(&mut stage, &heat, 1, 2);
    // The ceiling is two of the four that were left; nothing raises it, so it wraps the child up.
    let told = stage.says(&heat, "1", 2, JudgedContent::Items(calls(1)));
    assert!(told[0].contains("refusal/budget.messages"), "{told:?}");
    assert!(told.iter().any(|line| line.starts_with("heat") && line.contains("wrap-up")), "{told:?}");
}

fn answers_in(stage: &mut DecideStage, thread: &ThreadId, turn: u32, count: usize) {
    for ordinal in 0..count {
        stage.says(thread, &format!("1/{turn}.{ordinal}"), 1, JudgedContent::Items(vec![final_()]));
    }
}

#[test]
fn b15_of_two_children_over_budget_together_the_second_is_refused_before_it_starts() {
    // Each may have half of what is left, which together is more than there is.
    let mut stage = messages(10);
    let (a, b) = (root().make_child("a").unwrap(), root().make_child("b").unwrap());
    let mut listed = composition();
    listed.budgets = Some(Budgets { messages: 10, ..Budgets::default() });
    for listener in listed.listeners.values_mut() {
        listener.share_percent = 100;
        listener.turns = listener.turns.max(2);
    }
    stage.state.book = CompositionBook::open_at(Arc::new(listed));
    stage.replies("1", 1, vec![spawn(Some("a"), "agent"), spawn(Some("b"), "agent")]);
    stage.says(&a, "1", 1, JudgedContent::Items(calls(8)));
    let told = stage.says(&b, "1", 1, JudgedContent::Items(calls(1)));
    assert_eq!(told[0], "b 3 refusal/budget.messages core -> agent 1 t1.0", "{told:?}");
    let sent = stage
        .records
        .iter()
        .filter(|r| matches!(r.header.code.map(RecordCode::as_str), Some("call" | "spawn")));
    assert_eq!(sent.count(), 10, "the overrun is no message");
    let refusal = body_of(&stage, "are used, and this request has no more");
    assert!(refusal[0].starts_with(b.as_str()), "{refusal:?}");
    let told = stage.says(&b, "1", 2, JudgedContent::Items(vec![final_()]));
    assert!(told[0].contains("message/final"), "it can still answer: {told:?}");
}

#[test]
fn b15_a_child_gets_half_of_the_rest_and_its_parent_is_charged_at_its_end() {
    let mut stage = messages(21);
    let heat = root().make_child("heat").unwrap();
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent")]);
    let spawned = body_of(&stage, "<thread-spawned");
    assert!(spawned[0].contains("messages=\"10\""), "{spawned:?}");
    stage.says(&heat, "1", 1, JudgedContent::Items(vec![call("tool"), spawn(Some("deep"), "tool")]));
    let deep = body_of(&stage, "<thread-spawned");
    assert!(deep[1].contains("messages=\"4\""), "its own ceiling, less two, halved: {deep:?}");
    stage.says(&heat, "1/1.0", 1, JudgedContent::Items(vec![final_()]));
    stage.says(&heat, "1", 2, JudgedContent::Items(vec![final_()]));
    stage.says(&heat, "1", 3, JudgedContent::Items(vec![final_()]));
    let finished = body_of(&stage, "<thread-finished");
    let own = finished.iter().find(|f| f.starts_with(&format!("{} ", root()))).unwrap();
    assert!(own.contains("messages=\"2\" children=\"1\""), "{own}");
    let budget_use = &stage.state.find_thread(&root()).unwrap().budget_uses[&1];
    assert_eq!((budget_use.used.messages, budget_use.used.children), (3, 2));
}

#[test]
fn b15_children_are_counted_over_the_whole_tree() {
    let mut stage = stage(Budgets { children: 3, ..Budgets::default() });
    stage.asks("k", "agent", None);
    let heat = root().make_child("heat").unwrap();
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent")]);
    stage.says(&heat, "1", 1, JudgedContent::Items(vec![spawn(None, "tool"), spawn(None, "tool")]));
    let told = stage.replies("1", 2, vec![spawn(None, "tool")]);
    assert_eq!(told.last().unwrap(), "=> agent 1 t3 a1");
    assert!(told[0].contains("refusal/budget.children"), "{told:?}");
    let told = stage.replies("1", 3, vec![call("tool")]);
    assert!(told[0].contains("message/call"), "what is no child goes on: {told:?}");
}

#[test]
fn row_36_depth_counts_the_calls_above_a_spawn() {
    let mut stage = stage(Budgets { depth: 4, ..Budgets::default() });
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![call("agent")]);
    stage.replies("1/1.0", 1, vec![spawn(Some("heat"), "agent")]);
    let heat = root().make_child("heat").unwrap();
    let told = stage.says(&heat, "1", 1, JudgedContent::Items(vec![call("agent")]));
    assert!(told[0].contains("message/call"), "fourth: {told:?}");
    let told = stage.says(&heat, "1/1.0", 1, JudgedContent::Items(vec![call("agent"), spawn(None, "tool")]));
    let refused = told.iter().filter(|line| line.contains("refusal/budget.depth")).count();
    assert_eq!(refused, 2, "{told:?}");
    let told = stage.says(&heat, "1/1.0", 2, JudgedContent::Items(vec![final_()]));
    assert!(told[0].contains("final"), "what is too deep may still answer: {told:?}");
}

#[test]
fn each_message_from_outside_has_its_own_budget_use() {
    let mut stage = messages(2);
    stage.asks("k2", "agent", Some(&root()));
    stage.replies("1", 1, calls(2));
    answers(&mut stage, 1, 2);
    stage.replies("1", 2, vec![final_()]);
    let told = stage.replies("2", 1, calls(1));
    assert!(told[0].contains("message/call"), "{told:?}");
    assert_eq!(stage.state.find_thread(&root()).unwrap().budget_uses.keys().collect::<Vec<_>>(), [&2]);
}

#[test]
fn a_call_that_a_timer_opens_is_paid_by_the_message_in_which_it_was_set() {
    let mut stage = messages(2);
    stage.replies("1", 1, vec![call("tool"), set_timer("id=\"tick\" every=\"1m\"", "")]);
    stage.replies("1/1.0", 1, vec![final_()]);
    stage.replies("1", 2, vec![final_()]);
    stage.fires("tick", 0);
    stage.replies("2", 1, calls(1));
    stage.replies("2/1.0", 1, vec![final_()]);
    let told = stage.replies("2", 2, calls(1));
    assert!(told[0].contains("refusal/budget.messages"), "{told:?}");
}

#[test]
fn a_tree_that_began_before_there_were_budgets_has_none() {
    let mut stage = DecideStage::new();
    stage.asks("k", "agent", None);
    let told = stage.replies("1", 1, calls(60));
    assert!(told.iter().all(|line| !line.contains("refusal")), "{told:?}");
    stage.replies("1", 2, Vec::new());
}
