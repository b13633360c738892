//! Requests to models: each start counts, unless its result says that it failed and cost nothing. The last request is
//! kept for a call that may only answer. With this limit, refused items are messages, and a call that is nested too
//! deep may only answer.

use systole_core::types::budget::Budgets;
use systole_wire::journal::{JournalEntry, ModelCallOutcome};

use super::budgets::stage;
use super::*;

fn requests(most: u64) -> DecideStage {
    let mut stage = stage(Budgets { requests: Some(most), ..Budgets::default() });
    stage.asks("k", "agent", None);
    stage
}

/// A start of the agent in that turn of call 1. Returns what answers it.
fn starts(stage: &mut DecideStage, turn: u32, id: u64) -> String {
    stage.says(&root(), "1", turn, journals(id, started())).pop().unwrap()
}

/// A start in the first turn of that call. Returns what answers it.
fn ask_start(stage: &mut DecideStage, path: &str, id: u64) -> String {
    stage.says(&root(), path, 1, journals(id, started())).pop().unwrap()
}

fn ends(stage: &mut DecideStage, id: u64, of: u64, stop: &str, tokens: u64) {
    let (tokens_in, tokens_out) = (Some(tokens), Some(0));
    let (stop, text) = (stop.to_owned(), "so".to_owned());
    let outcome = ModelCallOutcome {
        of,
        stop,
        tokens_in,
        tokens_out,
        money: None,
        text,
        blobs: Vec::new(),
        details: Box::default(),
    };
    stage.says(&root(), "1", 1, journals(id, JournalEntry::Result(outcome)));
}

fn count_used(stage: &DecideStage) -> u64 {
    stage.state.find_thread(&root()).unwrap().budget_uses[&1].used.requests
}

#[test]
fn a_request_counts_unless_it_failed_and_cost_nothing() {
    let mut stage = requests(10);
    assert_eq!(starts(&mut stage, 1, 1), "=> answer 1");
    assert_eq!(count_used(&stage), 1, "from its start on");
    ends(&mut stage, 2, 1, "model.unavailable", 0);
    assert_eq!(count_used(&stage), 0);
    for (id, stop, tokens) in [(3, "end", 0), (5, "model.truncated", 7)] {
        starts(&mut stage, 1, id);
        ends(&mut stage, id + 1, id, stop, tokens);
    }
    assert_eq!(count_used(&stage), 2, "an answer of a model that reports nothing, and what may be paid");
    starts(&mut stage, 1, 7);
    stage.loses("1", 1, 1, Code::ListenerLost);
    assert_eq!(count_used(&stage), 3, "the outcome is unknown");
}

#[test]
fn b15_the_last_request_is_kept_for_a_final() {
    let mut stage = requests(3);
    starts(&mut stage, 1, 1);
    starts(&mut stage, 1, 2);
    assert_eq!(starts(&mut stage, 1, 3), "=> answer 3 budget.requests");
    let bodies = bodies(&stage);
    let refusal = bodies.values().find(|body| body.contains("budget.requests")).unwrap();
    assert!(
        refusal.contains("2 of 3 requests are used or kept, and the last one is kept for a final"),
        "{refusal}"
    );
    assert!(bodies.values().any(|body| body.contains("<budget-exceeded") && body.contains("\"requests\"")));
    stage.replies("1", 1, vec![note()]);
    assert_eq!(starts(&mut stage, 2, 1), "=> answer 1", "the wrap-up turn");
    assert_eq!(starts(&mut stage, 2, 2), "=> answer 2 budget.requests", "not even then a fourth");
    assert!(stage.replies("1", 2, vec![final_()])[0].contains("message/final"));
    // One request is enough for a model that answers at once.
    let mut stage = requests(1);
    assert_eq!(starts(&mut stage, 1, 1), "=> answer 1");
    assert_eq!(starts(&mut stage, 1, 2), "=> answer 2 budget.requests");
}

#[test]
fn b15_each_call_that_has_asked_a_model_keeps_a_request_for_its_final() {
    let mut composition = composition();
    composition.budgets = Some(Budgets { requests: Some(5), ..Budgets::default() });
    composition.listeners = [("agent", "critic"), ("critic", "agent")]
        .map(|(who, other)| (name(who), listener(who, &[other], 10, &["done"])))
        .into();
    let mut stage = DecideStage::under(composition);
    stage.asks("k", "agent", None);
    assert_eq!(ask_start(&mut stage, "1", 1), "=> answer 1");
    stage.replies("1", 1, vec![call("critic")]);
    assert_eq!(ask_start(&mut stage, "1/1.0", 1), "=> answer 1");
    // Two are kept for the finals of both, so the third call has one request, and not one of theirs.
    stage.replies("1/1.0", 1, vec![call("agent")]);
    let told = ask_start(&mut stage, "1/1.0/1.0", 1);
    assert_eq!(told, "=> answer 1 budget.requests");
    let refusal = bodies(&stage).into_values().find(|body| body.contains("budget.requests")).unwrap();
    assert!(
        refusal.contains("2 of 5 requests are used or kept, and the last 3 are kept for finals"),
        "{refusal}"
    );
    stage.replies("1/1.0/1.0", 1, vec![note()]);
    let wraps = |stage: &mut DecideStage, path: &str| {
        stage.says(&root(), path, 2, journals(1, started())).pop().unwrap()
    };
    assert_eq!(wraps(&mut stage, "1/1.0/1.0"), "=> answer 1", "its final");
    stage.replies("1/1.0/1.0", 2, vec![final_()]);
    // The calls above have theirs.
    assert_eq!(wraps(&mut stage, "1/1.0"), "=> answer 1 budget.requests", "and no more");
    stage.replies("1/1.0", 2, vec![note()]);
    let last = stage.says(&root(), "1/1.0", 3, journals(1, started())).pop().unwrap();
    assert_eq!(last, "=> answer 1");
    stage.replies("1/1.0", 3, vec![final_()]);
    assert_eq!(wraps(&mut stage, "1"), "=> answer 1 budget.requests");
    stage.replies("1", 2, vec![note()]);
    let last = stage.says(&root(), "1", 3, journals(1, started())).pop().unwrap();
    assert_eq!((last.as_str(), count_used(&stage)), ("=> answer 1", 5));
    assert!(stage.replies("1", 3, vec![final_()])[0].contains("message/final"));
}

#[test]
fn a_configuration_that_keeps_one_request_for_all_does_so_still() {
    let mut stage = stage(Budgets { requests: Some(4), keeps_finals: false, ..Budgets::default() });
    stage.asks("k", "agent", None);
    starts(&mut stage, 1, 1);
    stage.replies("1", 1, vec![call("agent")]);
    assert_eq!(ask_start(&mut stage, "1/1.0", 1), "=> answer 1");
    assert_eq!(ask_start(&mut stage, "1/1.0", 2), "=> answer 2", "the final of the call above has none");
    assert_eq!(ask_start(&mut stage, "1/1.0", 3), "=> answer 3 budget.requests");
}

#[test]
fn b15_unusable_answers_give_the_warning_of_other_messages() {
    for (keeps_finals, is_warned) in [(true, true), (false, false)] {
        let mut stage = stage(Budgets { messages: 5, keeps_finals, ..Budgets::default() });
        stage.asks("k", "agent", None);
        let again = || JudgedContent::Again { code: "agent.prose-only".to_owned(), words: "no".to_owned() };
        for turn in 1..=3 {
            let told = stage.says(&root(), "1", turn, again());
            assert!(!told.iter().any(|line| line.contains("inbox")), "{told:?}");
        }
        let told = stage.says(&root(), "1", 4, again());
        assert_eq!(told.iter().any(|line| line.contains("message/inbox")), is_warned, "{told:?}");
        let warning = bodies(&stage).into_values().find(|body| body.contains("<budget-warning"));
        assert_eq!(warning.is_some_and(|body| body.contains("used=\"4\" limit=\"5\"")), is_warned);
    }
}

#[test]
fn the_requests_of_a_child_count_for_its_parent() {
    let mut stage = requests(10);
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent")]);
    let heat = root().make_child("heat").unwrap();
    for id in [1, 2] {
        stage.says(&heat, "1", 1, journals(id, started()));
    }
    stage.says(&heat, "1", 1, JudgedContent::Items(vec![refused()]));
    stage.says(&heat, "1", 2, JudgedContent::Items(vec![final_()]));
    let finished = bodies(&stage).into_values().find(|body| body.contains("<thread-finished")).unwrap();
    assert!(finished.contains("messages=\"1\"") && finished.contains("requests=\"2\""), "{finished}");
    assert_eq!(count_used(&stage), 2);
}

#[test]
fn a_refused_item_counts_as_a_message() {
    let mut stage = stage(Budgets { messages: 5, ..Budgets::default() });
    stage.asks("k", "agent", None);
    for turn in 1..=3 {
        let told = stage.replies("1", turn, vec![refused()]);
        assert!(!told.iter().any(|line| line.contains("inbox")), "{told:?}");
    }
    let told = stage.replies("1", 4, vec![refused()]);
    assert!(told[0].contains("message/inbox"), "four of five: {told:?}");
    stage.replies("1", 5, vec![refused()]);
    let told = stage.replies("1", 6, vec![refused()]);
    assert!(told.iter().any(|line| line.contains("message/wrap-up")), "there is no sixth: {told:?}");
    assert!(stage.replies("1", 7, vec![final_()])[0].contains("message/final"));
}

#[test]
fn b15_a_call_that_is_nested_too_deep_may_only_answer() {
    let mut stage = stage(Budgets { depth: 2, ..Budgets::default() });
    stage.asks("k", "agent", None);
    stage.replies("1", 1, vec![call("agent")]);
    let told = stage.replies("1/1.0", 1, vec![call("agent")]);
    assert!(told[0].contains("refusal/budget.depth"), "{told:?}");
    assert!(told.iter().any(|line| line.contains("message/wrap-up")), "{told:?}");
    let bodies = bodies(&stage);
    assert!(bodies.values().any(|body| body.contains("what=\"depth\" used=\"2\" limit=\"2\"")), "{bodies:?}");
    let told = stage.replies("1/1.0", 2, vec![note(), call("tool")]);
    assert!(told.iter().any(|line| line.contains("outcome/budget.depth")), "{told:?}");
}

#[test]
fn a_configuration_without_that_limit_keeps_its_rules() {
    let mut stage = stage(Budgets { messages: 5, depth: 3, requests: None, ..Budgets::default() });
    stage.asks("k", "agent", None);
    for turn in 1..=6 {
        stage.replies("1", turn, vec![refused(), refused()]);
    }
    for id in 0..30 {
        assert_eq!(starts(&mut stage, 7, id), format!("=> answer {id}"));
    }
    stage.replies("1", 7, vec![spawn(Some("heat"), "agent")]);
    let heat = root().make_child("heat").unwrap();
    stage.says(&heat, "1", 1, journals(1, started()));
    stage.says(&heat, "1", 1, JudgedContent::Items(vec![refused()]));
    stage.says(&heat, "1", 2, JudgedContent::Items(vec![call("agent")]));
    let told = stage.says(&heat, "1/2.0", 1, JudgedContent::Items(vec![call("tool")]));
    assert!(told[0].contains("refusal/budget.depth"), "{told:?}");
    assert!(!told.iter().any(|line| line.contains("wrap-up")), "it goes on: {told:?}");
    stage.says(&heat, "1/2.0", 2, JudgedContent::Items(vec![final_()]));
    stage.says(&heat, "1", 3, JudgedContent::Items(vec![final_()]));
    let finished = bodies(&stage).into_values().find(|body| body.contains("<thread-finished")).unwrap();
    assert!(finished.contains("messages=\"1\"") && !finished.contains("requests="), "{finished}");
}

/// Two agents that only ask each other, as long as they may. Returns how often a model was asked.
fn play_ping_pong(stage: &mut DecideStage) -> usize {
    let (mut asked, mut due) = (0, stage.asks("k", "agent", None));
    loop {
        let ready: Vec<String> =
            due.iter().filter_map(|line| line.strip_prefix("=> ")).map(str::to_owned).collect();
        // `agent 1/1.0 t2 a1`
        let next = ready.iter().find_map(|line| match line.split(' ').collect::<Vec<_>>()[..] {
            [who, call, turn, "a1"] => {
                Some((who.to_owned(), call.to_owned(), turn[1..].parse::<u32>().unwrap()))
            }
            _ => None,
        });
        let Some((who, path, turn)) = next else { return asked };
        let told = stage.says(&root(), &path, turn, journals(1, started())).pop().unwrap();
        asked += usize::from(told == "=> answer 1");
        let is_last = stage.state.find_thread(&root()).unwrap().calls[path.as_str()].is_wrapping_up();
        let other = if who == "agent" { "critic" } else { "agent" };
        let said = match (told == "=> answer 1", is_last) {
            (true, true) => vec![final_()],
            (true, false) => vec![call(other)],
            // As an agent does that no model may answer for.
            (false, _) => vec![note()],
        };
        due = stage.replies(&path, turn, said);
    }
}

#[test]
fn b15_two_agents_that_only_ask_each_other_end_within_300_requests() {
    let with = |budgets: Budgets| {
        let mut composition = composition();
        composition.budgets = Some(budgets);
        composition.listeners = [("agent", "critic"), ("critic", "agent")]
            .map(|(who, other)| (name(who), listener(who, &[other], 10, &["done"])))
            .into();
        let mut stage = DecideStage::under(composition);
        let asked = play_ping_pong(&mut stage);
        assert!(stage.state.find_thread(&root()).unwrap().calls.is_empty(), "the request has its answer");
        asked
    };
    assert_eq!(with(Budgets::default()), 300);
    let before = with(Budgets { requests: None, ..Budgets::default() });
    assert!(before > 900, "{before}");
}
