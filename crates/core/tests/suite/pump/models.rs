//! Tokens and money: reserved before a model call, settled by its result, and refused if a limit leaves no
//! room. A call that may only answer gets one answer beyond the limit.

use systole_core::types::budget::{Budgets, UsedAmounts};
use systole_wire::journal::{JournalEntry, ModelCallOutcome, ModelStarted};
use systole_wire::money::Money;

use super::budgets::stage;
use super::*;

fn start(tokens: Option<u64>, money: Option<&str>) -> JudgedContent {
    let reserve_money = money.map(|money| Money::parse(money).unwrap());
    let (model, prompt) = ("m".to_owned(), prompt('a'));
    journals(
        8,
        JournalEntry::Started(ModelStarted {
            model,
            prompt,
            guided: None,
            reserve_tokens: tokens,
            reserve_money,
            wait_ms: None,
        }),
    )
}

/// The same under another number.
fn numbered(id: u64, said: JudgedContent) -> JudgedContent {
    match said {
        JudgedContent::Journal { entry, .. } => JudgedContent::Journal { id, entry },
        other => other,
    }
}

fn outcome(of: u64, tokens: Option<(u64, u64)>, money: Option<&str>) -> JudgedContent {
    let (stop, text) = ("end".to_owned(), "so".to_owned());
    let (tokens_in, tokens_out) = tokens.unzip();
    let money = money.map(|money| Money::parse(money).unwrap());
    journals(
        9,
        JournalEntry::Result(ModelCallOutcome {
            of,
            stop,
            tokens_in,
            tokens_out,
            money,
            text,
            blobs: Vec::new(),
            details: Box::default(),
        }),
    )
}

fn tokens(most: u64) -> DecideStage {
    let mut stage = stage(Budgets { tokens: Some(most), ..Budgets::default() });
    stage.asks("k", "agent", None);
    stage
}

fn money(most: &str) -> DecideStage {
    let mut stage = stage(Budgets { money: Money::parse(most), ..Budgets::default() });
    stage.asks("k", "agent", None);
    stage
}

fn used(stage: &DecideStage) -> UsedAmounts {
    stage.state.find_thread(&root()).unwrap().budget_uses[&1].used
}

fn spent(stage: &DecideStage) -> Option<String> {
    used(stage).spent.money().map(|money| money.to_string())
}

#[test]
fn b15_a_start_keeps_what_it_may_use_and_its_result_gives_the_rest_back() {
    let mut stage = tokens(1_000);
    assert_eq!(stage.writes(1, start(Some(600), Some("0.5 USD")))[1], "=> answer 8");
    assert_eq!((used(&stage).tokens, spent(&stage).as_deref()), (600, Some("0.5 USD")));
    stage.writes(1, outcome(8, Some((100, 20)), Some("0.013 USD")));
    assert_eq!((used(&stage).tokens, spent(&stage).as_deref()), (120, Some("0.013 USD")));
    assert_eq!(used(&stage).messages, 0, "a model call is no message");
}

#[test]
fn b15_what_a_result_does_not_say_stays_kept() {
    let mut stage = tokens(1_000);
    stage.writes(1, start(Some(600), Some("0.5 USD")));
    stage.writes(1, outcome(8, None, None));
    assert_eq!((used(&stage).tokens, spent(&stage).as_deref()), (600, Some("0.5 USD")));
}

#[test]
fn b15_an_attempt_that_is_lost_keeps_what_may_have_been_paid() {
    let mut stage = tokens(1_000);
    stage.writes(1, start(Some(600), None));
    stage.loses("1", 1, 1, Code::ListenerLost);
    assert_eq!(used(&stage).tokens, 600);
    let told = stage.writes(1, start(Some(600), None));
    assert_eq!(
        told[0], "root 4 refusal/budget.tokens core -> agent 1",
        "there is no room for another: {told:?}"
    );
    // The same happens when the turn is over without a result.
    stage.replies("1", 1, vec![note()]);
    assert_eq!(used(&stage).tokens, 600);
}

#[test]
fn b15_a_start_over_budget_is_refused_and_the_call_wraps_up_after_its_open_turn() {
    let mut stage = tokens(1_000);
    stage.writes(1, start(Some(900), None));
    stage.writes(1, outcome(8, Some((800, 50)), None));
    assert_eq!(
        stage.writes(1, numbered(10, start(Some(151), None))),
        [
            "root 5 refusal/budget.tokens core -> agent 1",
            "root 6 message/wrap-up core -> agent 1",
            "=> answer 10 budget.tokens",
        ]
    );
    let bodies = bodies(&stage);
    let words = "850 of 1000 tokens are used or kept, and 151 are wanted for this model call";
    assert!(bodies[&5].contains(words), "{}", bodies[&5]);
    assert!(bodies[&6].contains("what=\"tokens\" used=\"850\" limit=\"1000\""), "{}", bodies[&6]);
    // The turn that is out keeps its reply, of which only a final counts; then comes the last turn.
    let told = stage.replies("1", 1, vec![call("tool"), note()]);
    assert_eq!(told[0], "root 7 refusal/budget.tokens core -> agent 1 t1.0");
    assert_eq!(told.last().unwrap(), "=> agent 1 t2 a1");
    assert!(stage.state.find_thread(&root()).unwrap().calls["1"].is_wrapping_up());
}

#[test]
fn b15_the_turn_that_is_out_may_still_answer() {
    let mut stage = tokens(1_000);
    stage.writes(1, start(Some(1_001), None));
    assert_eq!(stage.replies("1", 1, vec![final_()])[0], "root 4 message/final agent -> operator 1 t1.0");
}

/// A call in its wrap-up turn, with this many of a thousand tokens used.
fn wrapping_up(used: u64) -> DecideStage {
    let mut stage = tokens(1_000);
    stage.writes(1, start(Some(used), None));
    stage.writes(1, outcome(8, Some((used, 0)), None));
    stage.writes(1, numbered(10, start(Some(1_001), None)));
    stage.replies("1", 1, vec![note()]);
    stage
}

#[test]
fn b15_the_wrap_up_turn_allows_one_model_answer_over_the_limit_and_no_second() {
    for full in [900, 1_000] {
        let mut stage = wrapping_up(full);
        assert_eq!(stage.writes(2, start(Some(500), None))[1], "=> answer 8", "{full}");
        assert_eq!(used(&stage).tokens, full + 500);
        let told = stage.writes(2, numbered(10, start(Some(1), None)));
        assert_eq!(told.last().unwrap(), "=> answer 10 budget.tokens");
        assert!(!told.iter().any(|line| line.contains("wrap-up")), "it is the last turn already: {told:?}");
        stage.writes(2, outcome(8, Some((400, 100)), None));
        let told = stage.writes(2, numbered(11, start(Some(1), None)));
        assert_eq!(told.last().unwrap(), "=> answer 11 budget.tokens", "it was used");
        assert!(stage.replies("1", 2, vec![final_()])[0].contains("message/final"));
    }
}

#[test]
fn b15_of_a_tree_no_second_call_has_an_answer_beyond_the_limit() {
    let mut stage = tokens(1_000);
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent")]);
    let heat = root().make_child("heat").unwrap();
    // The parent uses what its child's ceiling does not reserve; both have no room left.
    stage.writes(2, start(Some(1_000), None));
    stage.writes(2, outcome(8, Some((1_000, 0)), None));
    stage.writes(2, numbered(10, start(Some(1), None)));
    stage.says(&heat, "1", 1, start(Some(1), None));
    stage.says(&heat, "1", 1, JudgedContent::Items(vec![note()]));
    stage.replies("1", 2, vec![note()]);
    assert_eq!(stage.says(&heat, "1", 2, start(Some(200), None)).last().unwrap(), "=> answer 8");
    assert_eq!(stage.writes(3, start(Some(1), None)).last().unwrap(), "=> answer 8 budget.tokens");
}

#[test]
fn b15_a_call_with_one_turn_that_gives_no_final_closes_with_a_report_of_the_core() {
    let with = |said| {
        let mut stage = stage(Budgets { tokens: Some(10), ..Budgets::default() });
        stage.asks("k", "tool", None);
        stage.writes(1, start(Some(11), None));
        stage.writes(1, said)
    };
    let failure = JudgedContent::new_failure("no-model", false, "refused");
    let again = JudgedContent::Again { code: "agent.empty-response".into(), words: "nothing".into() };
    for said in [JudgedContent::Items(Vec::new()), failure, again] {
        let told = with(said);
        assert!(told.last().unwrap().contains("outcome/budget.tokens core -> operator 1"), "{told:?}");
    }
    assert!(with(JudgedContent::Items(vec![final_()]))[0].contains("message/final"));
}

#[test]
fn b15_no_word_joins_a_call_with_one_turn_that_may_only_answer() {
    let mut stage = stage(Budgets { tokens: Some(10), ..Budgets::default() });
    stage.asks("k", "tool", None);
    stage.writes(1, start(Some(11), None));
    let told = stage.steers("operator", "tool", Some(&root()));
    assert_eq!(told.last().unwrap(), "=> refused budget.messages", "no turn would show it");
}

#[test]
fn b15_money_is_counted_in_millionths_and_in_one_currency() {
    let mut stage = money("0.000003 USD");
    assert_eq!(stage.writes(1, start(None, Some("0.000003 USD")))[1], "=> answer 8");
    stage.writes(1, outcome(8, None, Some("0.000002 USD")));
    let told = stage.writes(1, numbered(10, start(None, Some("0.000002 USD"))));
    assert_eq!(told[0], "root 4 refusal/budget.money core -> agent 1");
    let words = "0.000002 USD of 0.000003 USD are used or kept, and 0.000002 USD are wanted";
    assert!(bodies(&stage)[&4].contains(words), "{}", bodies(&stage)[&4]);
}

#[test]
fn b15_money_in_another_currency_is_refused() {
    let mut stage = money("2 USD");
    let told = stage.writes(1, start(None, Some("1 EUR")));
    assert_eq!(told, ["root 2 refusal/payload.invalid core -> agent 1", "=> answer 8 payload.invalid"]);
    assert!(bodies(&stage)[&2].contains("this request is counted in USD"));
    // If nothing is limited, the first amount sets the currency.
    let mut stage = stage_without_limits();
    stage.writes(1, start(None, Some("1 EUR")));
    assert!(stage.writes(1, outcome(8, None, Some("1 USD")))[0].contains("refusal/payload.invalid"));
    assert_eq!(stage.writes(1, outcome(8, None, Some("0.5 EUR")))[1], "=> answer 9");
    // The same applies to a child, whose use is added to its parent's.
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent")]);
    let told = stage.says(&root().make_child("heat").unwrap(), "1", 1, start(None, Some("1 USD")));
    assert_eq!(told.last().unwrap(), "=> answer 8 payload.invalid");
}

fn stage_without_limits() -> DecideStage {
    let mut stage = stage(Budgets::default());
    stage.asks("k", "agent", None);
    stage
}

#[test]
fn b15_a_start_that_says_nothing_keeps_nothing_and_is_refused_once_all_is_used() {
    let mut stage = tokens(100);
    assert_eq!(stage.writes(1, journals(8, started()))[1], "=> answer 8");
    assert_eq!(used(&stage).tokens, 0);
    stage.writes(1, outcome(8, Some((100, 0)), None));
    assert_eq!(used(&stage).tokens, 100);
    let told = stage.writes(1, journals(10, started()));
    assert_eq!(told.last().unwrap(), "=> answer 10 budget.tokens");
}

#[test]
fn b15_a_child_gets_half_of_the_rest_and_its_use_is_charged_to_the_parent() {
    let budgets = Budgets { tokens: Some(1_000), money: Money::parse("2 USD"), ..Budgets::default() };
    let mut stage = stage(budgets);
    stage.asks("k", "agent", None);
    stage.writes(1, start(Some(200), Some("0.4 USD")));
    stage.replies("1", 1, vec![spawn(Some("heat"), "agent")]);
    let spawned = bodies(&stage).into_values().find(|body| body.contains("<thread-spawned")).unwrap();
    assert!(spawned.contains("tokens=\"400\" money=\"0.8 USD\""), "{spawned}");
    let heat = root().make_child("heat").unwrap();
    let told = stage.says(&heat, "1", 1, start(Some(401), None));
    assert!(told.last().unwrap().contains("budget.tokens"), "its ceiling: {told:?}");
    assert_eq!(told.iter().filter(|line| line.contains("wrap-up")).count(), 1, "and the child's alone");
    stage.says(&heat, "1", 1, numbered(10, start(Some(300), Some("0.1 USD"))));
    stage.says(&heat, "1", 1, JudgedContent::Items(vec![final_()]));
    let finished = bodies(&stage).into_values().find(|body| body.contains("<thread-finished")).unwrap();
    assert!(finished.contains("tokens=\"300\" money=\"0.1 USD\""), "{finished}");
    assert_eq!((used(&stage).tokens, spent(&stage).as_deref()), (500, Some("0.5 USD")));
}

#[test]
fn b15_at_four_fifths_of_what_was_used_every_open_call_is_warned_once() {
    let mut stage = tokens(1_000);
    let told = stage.writes(1, start(Some(900), None));
    assert!(!told.iter().any(|line| line.contains("inbox")), "kept is not used yet: {told:?}");
    let told = stage.writes(1, outcome(8, Some((700, 99)), None));
    assert!(!told.iter().any(|line| line.contains("inbox")), "{told:?}");
    stage.writes(1, numbered(10, start(Some(100), None)));
    let told = stage.writes(1, numbered(11, outcome(10, Some((1, 0)), None)));
    assert_eq!(told[1], "root 6 message/inbox core -> agent 1");
    assert!(bodies(&stage)[&6].contains("<budget-warning"), "{}", bodies(&stage)[&6]);
    assert!(bodies(&stage)[&6].contains("what=\"tokens\" used=\"800\" limit=\"1000\""));
    stage.writes(1, numbered(12, start(Some(100), None)));
    let told = stage.writes(1, numbered(13, outcome(12, Some((50, 0)), None)));
    assert!(!told.iter().any(|line| line.contains("inbox")), "once: {told:?}");
}

#[test]
fn a_refused_start_is_no_entry_of_the_journal() {
    let mut stage = tokens(10);
    stage.writes(1, start(Some(11), None));
    stage.loses("1", 1, 1, Code::ListenerLost);
    assert_eq!(stage.writes(1, asks(7, 0)), ["=> recall 7 from 0 []"]);
    assert!(stage.writes(1, journals(9, result(8, "so")))[0].contains("refusal/payload.invalid"));
}
