//! The limits of each workflow for `systole check`: goals, requests to models, and their cost.
//!
//! A checked file comes in; lines or values go out. Everything is computed from the file alone; no model is asked.

use serde_json::{Value, json};
use systole_agent::spec::{AgentSpec, Dialect, ModelSpec};
use systole_kit::money::Money;
use systole_workflow::bound::{BoundCount, RunBound};

use crate::{OrganismFile, bounds};
use systole_show::columns::{self, wrapped};

/// The lines about the workflows of a file.
pub fn list_lines(file: &OrganismFile) -> Vec<String> {
    let mut lines = Vec::new();
    for (workflow, bound) in file.workflows.iter().zip(bounds(&file.workflows)) {
        let lead = format!("  {}: ", workflow.name);
        lines.extend(wrapped(&lead, 4, &describe_bound(file, &bound)));
    }
    lines
}

/// The same as values.
pub fn as_json(file: &OrganismFile) -> Vec<Value> {
    let one = |(workflow, bound): (&systole_workflow::spec::Workflow, RunBound)| {
        let used = GoalModelUse::from_bound(file, &bound);
        json!({"name": workflow.name, "goals": write_count(&bound.goals), "children": write_count(&bound.children),
               "messages": write_count(&bound.messages), "depth": bound.depth, "requests": write_count(&used.requests),
               "cost": used.cost.map(|cost| cost.to_string())})
    };
    file.workflows.iter().zip(bounds(&file.workflows)).map(one).collect()
}

fn write_count(count: &BoundCount) -> Value {
    let per_item: Vec<Value> =
        count.per_item.iter().map(|(count, list)| json!({"count": count, "list": list})).collect();
    json!({"most": count.fixed, "per_item": per_item})
}

fn describe_bound(file: &OrganismFile, bound: &RunBound) -> String {
    let used = GoalModelUse::from_bound(file, bound);
    let sum = if bound.terms.len() > 1 { format!("{} = ", bound.terms.join(" + ")) } else { String::new() };
    let mut parts = vec![format!("at most {sum}{}", describe_count(&bound.goals, "goal"))];
    parts.push(describe_count(&used.requests, "model request"));
    parts.extend(used.cost.map(|cost| cost.to_string()));
    let mut text = parts.join(", ");
    if let Some(unpriced) = used.unpriced {
        text.push_str(&format!("; {unpriced} has no price"));
    }
    text
}

/// A count with its noun: `212 goals`, `12 goals and 1 more for each item of pick/item`.
fn describe_count(count: &BoundCount, noun: &str) -> String {
    let mut text = columns::counted(count.fixed, noun);
    for (more, list) in &count.per_item {
        text.push_str(&format!(" and {more} more for each item of {list}"));
    }
    text
}

/// The most that the goals of a workflow can use of models.
struct GoalModelUse {
    requests: BoundCount,
    /// `None` if no model has a price, or if a list is unbounded.
    cost: Option<Money>,
    /// A model without a price, if another one has one.
    unpriced: Option<String>,
}

impl GoalModelUse {
    fn from_bound(file: &OrganismFile, bound: &RunBound) -> GoalModelUse {
        let mut used = GoalModelUse { requests: BoundCount::default(), cost: None, unpriced: None };
        let (mut priced, mut unpriced) = (Vec::new(), Vec::new());
        for (agent, asked) in &bound.asked_of {
            let Some(agent) = file.agents.iter().find(|one| one.name == *agent) else { continue };
            let requests = asked.clone().repeat_times(count_turns(agent));
            used.requests = used.requests.add_count(&requests);
            for model in file.models.iter().filter(|model| model.name == agent.model) {
                match find_dearest(file, model) {
                    Some(price) => priced.push((price, requests.clone())),
                    None => unpriced.push(model.name.clone()),
                }
            }
        }
        let Some((first, _)) = priced.first() else { return used };
        if priced.iter().all(|(_, requests)| requests.per_item.is_empty()) {
            let micros = priced.iter().map(|(price, requests)| price.micros.saturating_mul(requests.fixed));
            let micros = micros.fold(0, u64::saturating_add);
            used.cost = Some(Money { micros, currency: first.currency });
        }
        used.unpriced = unpriced.into_iter().next();
        used
    }
}

/// The most requests of one goal, without the retries after a provider's refusal.
fn count_turns(agent: &AgentSpec) -> u64 {
    // With `plain` any usable answer ends it.
    let turns = if agent.dialect == Dialect::Plain { agent.turns.min(agent.attempts) } else { agent.turns };
    turns.into()
}

/// The highest cost of one request, with the model itself or one of its fallbacks.
fn find_dearest(file: &OrganismFile, model: &ModelSpec) -> Option<Money> {
    let others = file.models.iter().filter(|one| model.fallback.contains(&one.name));
    let prices: Option<Vec<Money>> = std::iter::once(model).chain(others).map(price_request).collect();
    prices?.into_iter().max_by_key(|money| money.micros)
}

/// A request that fills the window.
fn price_request(model: &ModelSpec) -> Option<Money> {
    let price = model.price?;
    let read = model.window.saturating_sub(model.max_output);
    let of = |money: Money, tokens: u64| {
        let whole = u128::from(money.micros).saturating_mul(tokens.into());
        u64::try_from(whole.div_ceil(u128::from(price.per).max(1))).unwrap_or(u64::MAX)
    };
    let micros = of(price.tokens_in, read).saturating_add(of(price.tokens_out, model.max_output));
    Some(Money { micros, currency: price.tokens_in.currency })
}
