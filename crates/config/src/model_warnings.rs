//! Warnings about models and the agents that ask them: a tool call in every request, so that no final ever comes, and
//! a budget that is used up by a few requests.
//!
//! Input: a declaration without mistakes, with its agents and models. Output: warnings. None of them prevents a run.

use serde_json::{Map, Value};
use systole_agent::model::reserve_cost;
use systole_agent::spec::{AgentSpec, Dialect, ModelSpec};

use super::agent_configs::Thinking;
use super::diagnostic::Diagnostic;
use super::diagnostics::Diagnostics;
use super::file_sections::Declared;
use super::limits::FEWEST_REQUESTS;
use super::models::ModelDeclaration;
use super::party::Party;
use super::tree::Span;
use systole_core::types::codes::Code;

/// All warnings, each with its sort position.
pub(super) fn warnings(
    diagnostics: &Diagnostics,
    declared: &Declared,
    thinking: &Thinking,
) -> Vec<(usize, Diagnostic)> {
    let agents: Vec<AskingAgent<'_>> = list_agents(declared, thinking).collect();
    let mut found = warn_forced(diagnostics, declared, &agents);
    found.extend(warn_tokens(diagnostics, declared, &agents));
    found.extend(warn_money(diagnostics, declared, &agents));
    found
}

/// An agent with its model.
struct AskingAgent<'a> {
    party: &'a Party,
    agent: &'a AgentSpec,
    model: &'a ModelSpec,
}

impl AskingAgent<'_> {
    /// The tokens of its prompt and tools.
    fn measure_prompt(&self) -> Option<u64> {
        systole_agent::measure_agent(self.agent, self.model).ok().map(|size| size.tokens)
    }

    /// Whether its final is text, while its model calls tools.
    fn ends_in_text(&self) -> bool {
        matches!(self.agent.dialect, Dialect::Native | Dialect::XmlFinal) && !self.agent.peers.is_empty()
    }
}

fn list_agents<'a>(declared: &'a Declared, thinking: &'a Thinking) -> impl Iterator<Item = AskingAgent<'a>> {
    declared.parties.iter().filter_map(|party| {
        let agent = thinking.agents.iter().find(|agent| agent.name == party.key.value)?;
        let model = thinking.models.iter().find(|model| model.name == agent.model)?;
        Some(AskingAgent { party, agent, model })
    })
}

/// Models that must call a tool in every request. Then the final of an agent that gives it as text never comes.
fn warn_forced(
    diagnostics: &Diagnostics,
    declared: &Declared,
    agents: &[AskingAgent<'_>],
) -> Vec<(usize, Diagnostic)> {
    let forcing = declared.keys.models.value.iter().filter(|one| does_force_call(&one.model.params));
    let warning = |one: &ModelDeclaration| {
        let name = &one.key.value;
        let asks = |asking: &&AskingAgent<'_>| {
            asking.ends_in_text()
                && (asking.model.name == *name || asking.model.fallback.iter().any(|other| other == name))
        };
        let party = agents.iter().find(asks)?.party;
        let words = format!(
            "models.{name}.params force a tool call in every request, also in the one for the final, which is text: \
             {} never gives it",
            party.path()
        );
        let fix = format!("the forced call out of `params`; `tool_choice: required` at {}", party.path());
        let at = one.params.unwrap_or(one.key.at);
        let asker = party.agent_config.as_ref().and_then(|config| config.keys.model.as_ref());
        let asker = asker.map(|model| (model.at, "it asks this model"));
        Some(build_warning(diagnostics, (Code::ConfigForcedTool, at), &words, &fix, asker))
    };
    forcing.filter_map(warning).collect()
}

/// Whether parameters force a tool call, in the words of any provider.
fn does_force_call(params: &Map<String, Value>) -> bool {
    let forces = |choice: &Value| match choice {
        Value::String(word) => matches!(word.as_str(), "required" | "any"),
        Value::Object(choice) => {
            let kind = choice.get("type").and_then(Value::as_str);
            kind.is_some_and(|kind| !matches!(kind, "auto" | "none"))
        }
        _ => false,
    };
    let by_mode = |names: [&str; 2]| {
        let mode = params.get(names[0])?.get(names[1])?.get("mode")?.as_str()?;
        Some(mode.eq_ignore_ascii_case("any"))
    };
    let modes = [["toolConfig", "functionCallingConfig"], ["tool_config", "function_calling_config"]];
    params.get("tool_choice").is_some_and(forces)
        || modes.into_iter().any(|names| by_mode(names) == Some(true))
}

/// A budget of tokens that few requests use up.
fn warn_tokens(
    diagnostics: &Diagnostics,
    declared: &Declared,
    agents: &[AskingAgent<'_>],
) -> Option<(usize, Diagnostic)> {
    let budget = declared.keys.budgets.tokens.as_ref()?;
    let reserve = |asking: &AskingAgent<'_>| asking.measure_prompt()?.checked_add(asking.model.max_output);
    let all = agents.iter().filter_map(|asking| Some((asking, reserve(asking)?)));
    let (asking, reserve) = all.max_by_key(|(_, reserve)| *reserve)?;
    let enough = reserve.saturating_mul(FEWEST_REQUESTS);
    if budget.value >= enough {
        return None;
    }
    let of =
        (budget.at, format!("budgets.tokens: {}", budget.value), reserve.to_string(), enough.to_string());
    Some(warn_small(diagnostics, of, "tokens", asking))
}

/// A budget of money that few requests use up.
fn warn_money(
    diagnostics: &Diagnostics,
    declared: &Declared,
    agents: &[AskingAgent<'_>],
) -> Option<(usize, Diagnostic)> {
    let budget = declared.keys.budgets.money.as_ref()?;
    let reserve = |asking: &AskingAgent<'_>| {
        let ModelSpec { price, max_output, .. } = asking.model;
        let money = reserve_cost(price.as_ref(), asking.measure_prompt()?, *max_output).money?;
        Some(money).filter(|money| money.currency == budget.value.currency)
    };
    let all = agents.iter().filter_map(|asking| Some((asking, reserve(asking)?)));
    let (asking, reserve) = all.max_by_key(|(_, reserve)| reserve.micros)?;
    let enough =
        systole_kit::money::Money { micros: reserve.micros.saturating_mul(FEWEST_REQUESTS), ..reserve };
    if budget.value.micros >= enough.micros {
        return None;
    }
    let of = (budget.at, format!("budgets.money: {}", budget.value), reserve.to_string(), enough.to_string());
    Some(warn_small(diagnostics, of, "the price", asking))
}

/// The warning for a budget with its place, its words, what a request keeps of it, and what would be enough.
fn warn_small(
    diagnostics: &Diagnostics,
    (at, budget, reserve, enough): (Span, String, String, String),
    what: &str,
    asking: &AskingAgent<'_>,
) -> (usize, Diagnostic) {
    let words = format!(
        "{budget} has no room for {FEWEST_REQUESTS} requests of {}: each keeps about {reserve} until its answer is \
         there, {what} of its prompt and of `max_output`",
        asking.party.path()
    );
    let fix = format!("{enough} or more, or a smaller `max_output` of models.{}", asking.model.name);
    let asker = Some((asking.party.key.at, "its prompt and its tools count"));
    build_warning(diagnostics, (Code::ConfigSmallBudget, at), &words, &fix, asker)
}

fn build_warning(
    diagnostics: &Diagnostics,
    (code, at): (Code, Span),
    words: &str,
    fix: &str,
    second: Option<(Span, &str)>,
) -> (usize, Diagnostic) {
    let mut message = Diagnostic::new(code, diagnostics.place(at), words, Some(fix));
    if let Some((at, words)) = second {
        message = message.seeing(diagnostics.place(at), words);
    }
    (at.start, message)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// The codes of the warnings about an organism with these keys of the model, of the agent and of the file.
    fn list_warned(model: &str, agent: &str, more: &str) -> Vec<&'static str> {
        let text = format!(
            "organism: {{name: hello}}\npayloads: {{search: {{query: text}}, found: text}}\n\
             models:\n  main: {{provider: openai, model: m{model}}}\n\
             listeners:\n  search: {{run: [cat], accepts: [search], returns: [found], entry: false}}\n\
             agents:\n  helper: {{model: main, prompt: {{identity: You help.}}{agent}}}\n{more}\n"
        );
        let file = crate::load_text(Path::new("/organism.yaml"), &text).unwrap_or_else(|no| panic!("{no}"));
        file.warnings.iter().map(|one| one.code.as_str()).collect()
    }

    #[test]
    fn parameters_that_force_a_call_are_warned_of_where_the_final_is_text() {
        let native = ", dialect: native, peers: [search]";
        let slot = ", dialect: xml-final, peers: [search]";
        for choice in [
            "tool_choice: required",
            "tool_choice: any",
            "tool_choice: {type: any}",
            "tool_choice: {type: tool, name: search}",
            "tool_choice: {type: function, function: {name: search}}",
            "toolConfig: {functionCallingConfig: {mode: ANY}}",
        ] {
            for agent in [native, slot] {
                let model = format!(", params: {{{choice}}}");
                assert_eq!(list_warned(&model, agent, ""), ["config.forced-tool"], "{choice} {agent}");
            }
        }
        for (choice, agent) in [
            ("tool_choice: auto", native),
            ("tool_choice: none", native),
            ("tool_choice: {type: auto}", native),
            ("temperature: 0.5", native),
            ("toolConfig: {functionCallingConfig: {mode: AUTO}}", native),
            ("tool_choice: required", ", dialect: native"),
            ("tool_choice: required", ", dialect: xml, peers: [search]"),
        ] {
            let warned = list_warned(&format!(", params: {{{choice}}}"), agent, "");
            assert!(!warned.contains(&"config.forced-tool"), "{choice} {agent}: {warned:?}");
        }
        let model =
            ", fallback: [spare]}\n  spare: {provider: openai, model: n, params: {tool_choice: required}";
        assert_eq!(list_warned(model, native, ""), ["config.forced-tool"], "of a fallback");
    }

    #[test]
    fn a_budget_below_three_reserves_is_warned_of() {
        let agent = ", dialect: plain";
        let price = ", price: {in: 3, out: 15, currency: USD}";
        // Without tools, the prompt has few tokens beside the 1,000 of the answer.
        for (more, warned) in [
            ("budgets: {tokens: 3000}", true),
            ("budgets: {tokens: 6000}", false),
            ("budgets: {money: 0.045 USD}", true),
            ("budgets: {money: 0.09 USD}", false),
            ("budgets: {messages: 5}", false),
        ] {
            let found = list_warned(&format!(", max_output: 1000{price}"), agent, more);
            assert_eq!(found.contains(&"config.small-budget"), warned, "{more}: {found:?}");
        }
    }
}
