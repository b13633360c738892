//! Providers that report 0 tokens for input and output: budgets still limit the requests.

use super::house::{AgentHouse, AgentPlan, FORMS};

/// Requests that would be made without a budget.
const ENDLESS: u32 = 40;

#[test]
fn b15_a_provider_that_counts_nothing_is_held_by_its_budget_as_one_that_does_not_say() {
    for form in FORMS {
        let replies: String = (0..ENDLESS)
            .map(|at| format!("- {{call: {{search: {{query: moon {at}}}}}, usage: {{in: 0, out: 0}}}}\n"))
            .collect();
        let plan = AgentPlan { form, replies: &replies, agent: ", turns: 60", ..AgentPlan::default() };
        let house = AgentHouse::build(&AgentPlan {
            model: ", max_output: 100",
            rest: "budgets: {money: '0.02 USD'}",
            ..plan
        });
        let ran = house.ask("Where is the moon?");
        let words = || format!("{form}: {ran:?}\n{}", house.told());
        let outcomes = house.outcomes("helper");
        assert!(outcomes.iter().all(|o| o.count_tokens().is_none() && o.money.is_none()), "{outcomes:?}");
        // The reserve of each request stays used, so all requests but the last fit below the limit.
        let kept: Vec<u64> =
            house.started("helper").iter().map(|start| start.reserve_money.unwrap().micros).collect();
        let (last, before) = kept.split_last().expect("it was asked");
        assert!(before.iter().sum::<u64>() < 20_000 && *last > 0, "{kept:?} {}", words());
        assert!(kept.len() > 1 && kept.len() < 20, "{} requests: {}", kept.len(), words());
        assert_eq!(house.mock.count().requests, kept.len() as u64, "{}", words());
        house.judged();
    }
}
