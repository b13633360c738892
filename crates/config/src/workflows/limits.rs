//! Compares the greatest possible use of workflows with the budgets. A file that cannot work as written is rejected,
//! and budgets that the file does not set get enough room for its workflows.
//!
//! Input: complete workflows. Output: mistakes and budgets. `systole_workflow` computes the bound itself.

use std::collections::BTreeSet;

use systole_agent::spec::{AgentSpec, ModelSpec};
use systole_kit::money::Money;
use systole_workflow::bound::{BoundCount, RunBound, find_bound};
use systole_workflow::spec::Workflow;

use super::super::agent_configs::Thinking;
use super::super::diagnostics::Diagnostics;
use super::super::era::Era;
use super::super::file_sections::Declared;
use super::super::tree::Span;
use super::super::value::At;
use crate::limits;
use systole_core::types::budget::Budgets;

/// The bounds of all workflows.
pub fn bounds(workflows: &[Workflow]) -> Vec<RunBound> {
    let find = |name: &str| workflows.iter().find(|workflow| workflow.name == name);
    workflows.iter().map(|workflow| find_bound(workflow, &find)).collect()
}

/// The bounds of runs. Workflows that can call themselves are reported, and then there is no bound.
pub(crate) fn check_circles(
    diagnostics: &mut Diagnostics,
    declared: &Declared,
    workflows: &[Workflow],
) -> Vec<RunBound> {
    if has_no_circle(diagnostics, declared) { bounds(workflows) } else { Vec::new() }
}

fn has_no_circle(diagnostics: &mut Diagnostics, declared: &Declared) -> bool {
    let mut message: BTreeSet<&str> = BTreeSet::new();
    for party in declared.parties.iter().filter(|party| party.workflow.is_some()) {
        let name = party.key.value.as_str();
        let Some(circle) = circle(declared, name).filter(|_| !message.contains(name)) else { continue };
        message.extend(circle.iter().map(|(name, _)| *name));
        let names: Vec<&str> = circle.iter().map(|(name, _)| *name).collect();
        let words = format!("{}: the workflow calls itself, {name} -> {}", party.path(), names.join(" -> "));
        let at = circle.first().map_or(party.key.at, |(_, at)| *at);
        let fix = "workflows that call one another in one direction; `repeat` does steps again";
        diagnostics.report_value(at, &words, fix);
    }
    message.is_empty()
}

/// The shortest path from a workflow back to itself: the called parties, and the places that name them.
fn circle<'d>(declared: &'d Declared, start: &str) -> Option<Vec<(&'d str, Span)>> {
    let peers = |name: &str| {
        let party = declared.parties.iter().find(|party| party.key.value == name);
        // Only goals give tasks, so a path to a task taker starts at the workflow.
        let takers = party.filter(|party| party.workflow.is_some()).into_iter();
        let takers = takers.flat_map(|party| &party.task_takers);
        let called = party.into_iter().flat_map(|party| &party.peers);
        called.chain(takers).map(|peer| (peer.value.as_str(), peer.at))
    };
    let mut ways: std::collections::VecDeque<Vec<(&str, Span)>> =
        peers(start).map(|peer| vec![peer]).collect();
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        let (last, _) = *way.last()?;
        if last == start {
            return Some(way);
        }
        if seen.insert(last) {
            ways.extend(peers(last).map(|peer| way.iter().copied().chain([peer]).collect::<Vec<_>>()));
        }
    }
    None
}

/// The budgets, with room for the largest workflow in every budget that the file does not set.
pub(crate) fn allow(declared: &Declared, agents: &[AgentSpec], bounds: &[RunBound], era: Era) -> Budgets {
    let mut budgets = declared.keys.budgets.budgets();
    let is_open = |key: &str| !declared.keys.budgets.own.has(key);
    let most = |of: fn(&RunBound) -> u64| bounds.iter().map(of).max().unwrap_or(0);
    if is_open("messages") {
        let more = most(|bound| bound.messages.fixed);
        budgets.messages = budgets.messages.saturating_add(more).min(limits::BUDGET_MESSAGES.into());
    }
    if is_open("children") {
        let more = most(|bound| bound.children.fixed);
        budgets.children = budgets.children.saturating_add(more).min(limits::BUDGET_CHILDREN.into());
    }
    if is_open("requests") {
        let runs = bounds.iter().map(|bound| count_requests(agents, bound, budgets.children));
        // One more: the last is kept for a final.
        let most = runs.max().unwrap_or(0).saturating_add(1).min(limits::BUDGET_REQUESTS.into());
        budgets.requests = budgets.requests.max(Some(most));
    }
    budgets.requests = budgets.requests.filter(|_| era.limits_requests);
    budgets.keeps_finals = era.keeps_finals;
    if is_open("depth") {
        let deepest = if era.limits_requests { limits::DEPTH } else { limits::EARLIER_DEPTH };
        let more = usize::try_from(most(|bound| bound.depth.into())).unwrap_or(deepest);
        budgets.depth = budgets.depth.saturating_add(more).min(deepest);
    }
    budgets
}

/// Requests that are enough for a run: each of its messages may go to the agent with the most turns, and each item of a
/// list without an end is a child.
fn count_requests(agents: &[AgentSpec], bound: &RunBound, children: u64) -> u64 {
    let items = bound.messages.per_item.iter().map(|(each, _)| each.saturating_mul(children));
    let messages = items.fold(bound.messages.fixed, u64::saturating_add);
    // After the last turn comes one that may only answer.
    let turns = agents.iter().map(|agent| u64::from(agent.turns) + 1).max().unwrap_or(0);
    messages.saturating_mul(turns)
}

/// Reports workflows that cannot run within the budgets of the file.
pub(crate) fn check(
    diagnostics: &mut Diagnostics,
    declared: &Declared,
    thinking: &Thinking,
    workflows: &[Workflow],
    bounds: &[RunBound],
) {
    for (workflow, bound) in workflows.iter().zip(bounds) {
        let party = declared.parties.iter().find(|party| party.key.value == workflow.name);
        let Some(at) = party.map(|party| party.key.at) else { continue };
        let one = Checked { diagnostics, name: &workflow.name, at, bound };
        one.check(declared, thinking);
    }
}

/// One workflow, for comparison with the budgets.
struct Checked<'c> {
    diagnostics: &'c mut Diagnostics,
    name: &'c str,
    at: Span,
    bound: &'c RunBound,
}

impl Checked<'_> {
    fn check(mut self, declared: &Declared, thinking: &Thinking) {
        let budgets = declared.keys.budgets.budgets();
        let place = |key: &str| declared.keys.budgets.own.value_place(key);
        self.depth(place("depth"), budgets.depth);
        let children = limits::BUDGET_CHILDREN.into();
        self.count(
            &self.bound.children,
            "children",
            "child threads",
            (place("children"), budgets.children, children),
        );
        let messages = limits::BUDGET_MESSAGES.into();
        self.count(
            &self.bound.messages,
            "messages",
            "calls and spawns",
            (place("messages"), budgets.messages, messages),
        );
        self.cost(declared, thinking);
    }

    fn depth(&mut self, written: Option<Span>, allowed: usize) {
        let depth = usize::try_from(self.bound.depth).unwrap_or(usize::MAX);
        let nesting = self.bound.nesting.join(" > ");
        if depth > limits::DEPTH {
            let message = format!("workflows.{}: its threads nest {depth} deep: {nesting}", self.name);
            let fix =
                format!("{} at most: fewer branches with several steps inside one another", limits::DEPTH);
            self.diagnostics.report_value(self.at, &message, &fix);
        } else if let Some(at) = written.filter(|_| depth > allowed) {
            let message = format!("budgets.depth: {} nests {depth} deep: {nesting}", self.name);
            self.diagnostics.report_value_beside(
                at,
                &message,
                &format!("depth: {depth}, or more"),
                (self.at, "the workflow"),
            );
        }
    }

    fn count(
        &mut self,
        count: &BoundCount,
        key: &str,
        what: &str,
        (written, allowed, most): (Option<Span>, u64, u64),
    ) {
        let needed = count.fixed;
        if needed > most {
            let message =
                format!("workflows.{}: it may need {needed} {what}, and the limit is {most}", self.name);
            let fix = "shorter lists, as [line, 1..200], or fewer passes";
            self.diagnostics.report_value(self.at, &message, fix);
        } else if let Some(at) = written.filter(|_| needed > allowed) {
            let message = format!(
                "budgets.{key}: {allowed} is less than the {needed} {what} that {} may need",
                self.name
            );
            let fix = format!("{key}: {needed}, or more; or shorter lists and fewer passes");
            self.diagnostics.report_value_beside(at, &message, &fix, (self.at, "the workflow"));
        }
    }

    /// Checks that the requests that every run makes fit into the budgets.
    fn cost(&mut self, declared: &Declared, thinking: &Thinking) {
        let mut tokens = 0_u64;
        let mut micros = 0_u64;
        for (agent, count) in &self.bound.certain_of {
            let Some((agent, model)) = find_agent(thinking, agent) else { continue };
            let Ok(measured) = systole_agent::measure_agent(agent, model) else { continue };
            let own = count.saturating_mul(measured.tokens);
            tokens = tokens.saturating_add(own);
            micros =
                micros.saturating_add(model.price.map_or(0, |price| cost(price.tokens_in, own, price.per)));
        }
        let requests: u64 = self.bound.certain_of.values().sum();
        let of = format!("the {requests} model requests that {} always makes", self.name);
        let second = (self.at, "the workflow");
        let budgets = &declared.keys.budgets;
        let most = u64::from(budgets.requests.value);
        if let Some(at) = budgets.own.value_place("requests").filter(|_| requests >= most) {
            let message =
                format!("budgets.requests: {most} is too few for {of} and one that is kept for a final");
            let fix = format!("requests: {}, or more; or fewer goals", requests + 1);
            self.diagnostics.report_value_beside(at, &message, &fix, second);
        }
        if let Some(At { at, value: most }) = budgets.tokens.as_ref().filter(|most| tokens > most.value) {
            let message = format!("budgets.tokens: {most} is less than {tokens}, which is what {of} need");
            self.diagnostics.report_value_beside(*at, &message, "more tokens, or fewer goals", second);
        }
        if let Some(At { at, value: most }) = budgets.money.as_ref().filter(|most| micros > most.value.micros)
        {
            let needed = Money { micros, currency: most.currency };
            let message = format!("budgets.money: {most} is less than {needed}, which is what {of} cost");
            self.diagnostics.report_value_beside(
                *at,
                &message,
                "more money, fewer goals, or a cheaper model",
                second,
            );
        }
    }
}

fn find_agent<'t>(thinking: &'t Thinking, agent: &str) -> Option<(&'t AgentSpec, &'t ModelSpec)> {
    let agent = thinking.agents.iter().find(|one| one.name == agent)?;
    Some((agent, thinking.models.iter().find(|model| model.name == agent.model)?))
}

/// The cost of `tokens` tokens in millionths, rounded down.
fn cost(price: Money, tokens: u64, per: u64) -> u64 {
    let whole = u128::from(price.micros).saturating_mul(tokens.into());
    u64::try_from(whole.checked_div(per.into()).unwrap_or(0)).unwrap_or(u64::MAX)
}
