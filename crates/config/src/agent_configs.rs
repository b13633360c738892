//! Builds the data of agents from the declarations of agents and models. It looks up models, fallbacks and tools,
//! takes contracts from the composition, and opens the files that only an agent reads.
//!
//! Input: the declaration and its composition. Output: plain data. This module calls no model and reads no
//! environment. The pump never sees its output.

use std::sync::Arc;

use serde_json::Value as Json;
use systole_agent::model::script::Script;
use systole_agent::spec::{
    AgentSpec, CoreToolGroup, Dialect, ElementContract, ModelSpec, NamedSchema, NamedSchemas, Output, Peer,
    PeerBroadcast, Provider, ThinkingRule, ToolChoice, WhenFull,
};
use systole_kit::money::Currency;
use systole_kit::schema::find_nearest;

use super::agent_keys::AgentConfig;
use super::compose::Composed;
use super::diagnostic::Diagnostic;
use super::diagnostics::Diagnostics;
use super::era::Era;
use super::file_sections::Declared;
use super::models::ModelDeclaration;
use super::names::one_of;
use super::party::Party;
use super::schemas::{Absent, Shelf};
use super::tree::Span;
use super::value::At;
use super::workflows;
use systole_core::rules::introspection::META_XSD;
use systole_core::types::codes::Code;
use systole_core::types::composition::{self, ElementSchema, Listener, ViewScope};
use systole_core::types::ids::Name;

/// The data that agents are built from.
pub(super) struct Thinking {
    pub(super) agents: Vec<AgentSpec>,
    pub(super) models: Vec<ModelSpec>,
    /// Warnings, each with its sort position.
    pub(super) warnings: Vec<(usize, Diagnostic)>,
}

/// Looks everything up. The result is only complete if there are no mistakes.
pub(super) fn resolve(
    diagnostics: &mut Diagnostics,
    declared: &Declared,
    composed: &Composed,
    (shelf, has_scripts): (&dyn Shelf, bool),
    era: Era,
) -> Thinking {
    let mut scripts = Vec::new();
    let mut models = Vec::new();
    for one in &declared.keys.models.value {
        models.push(model(diagnostics, one, declared));
        if let Some(model) = models.last_mut().filter(|_| has_scripts) {
            read_script(diagnostics, one, model, shelf, &mut scripts);
        }
    }
    let warnings = list_unscripted(diagnostics, declared, &scripts);
    circles(diagnostics, &declared.keys.models.value);
    one_currency(diagnostics, declared);
    let schema = |name: &str, text: Arc<[u8]>| NamedSchema { name: name.to_owned(), text };
    let collected = composed.collected.schemas.iter();
    // In the order of the composition, so that its indexes are valid. The introspection schema comes last.
    let schemas: NamedSchemas = collected
        .map(|one| schema(&one.name, Arc::clone(&one.text)))
        .chain([schema("meta.xsd", META_XSD.into())])
        .collect();
    let agent_configs =
        declared.parties.iter().filter_map(|party| Some((party, party.agent_config.as_ref()?)));
    let agents = agent_configs.filter_map(|(party, agent_config)| {
        let found = Found { party, agent_config, declared, composed, schemas: &schemas };
        let agent = found.agent(diagnostics, shelf)?;
        Some(AgentSpec { reads_as_before: !era.limits_requests, ..agent })
    });
    Thinking { agents: agents.collect(), models, warnings }
}

/// The answers of a script model, and the place that names their file.
struct Answers {
    path: String,
    at: Span,
    script: Script,
}

/// Warns about answers that are never given: for an agent that does not exist, and native calls for an agent whose
/// dialect has none.
fn list_unscripted(
    diagnostics: &Diagnostics,
    declared: &Declared,
    scripts: &[Answers],
) -> Vec<(usize, Diagnostic)> {
    let mut found = Vec::new();
    for Answers { path, at, script } in scripts {
        let mut warn = |words: &str, fix: &str| {
            found.push((
                at.start,
                Diagnostic::new(Code::ConfigScript, diagnostics.place(*at), words, Some(fix)),
            ));
        };
        for agent in script.agents() {
            let agent_configs =
                || declared.parties.iter().filter_map(|party| Some((party, party.agent_config.as_ref()?)));
            let Some((_, agent_config)) = agent_configs().find(|(party, _)| party.key.value == agent) else {
                let known = || agent_configs().map(|(party, _)| party.key.value.as_str());
                let fix = find_nearest(agent, known()).map_or_else(|| one_of(known()), str::to_owned);
                warn(&format!("{path}.file: it has answers for `{agent}`, and no agent has that name"), &fix);
                continue;
            };
            if let Some(number) = script.first_call(agent).filter(|_| !agent_config.is_native()) {
                let words = format!(
                    "{path}.file: answer {number} of `{agent}` is a `call`, and its dialect has no native calls"
                );
                warn(&words, "say: with the action as XML, or dialect: native for the agent");
            }
        }
    }
    found
}

fn model(diagnostics: &mut Diagnostics, one: &ModelDeclaration, declared: &Declared) -> ModelSpec {
    let path = format!("models.{}", one.key.value);
    let others: Vec<&str> = names(declared).filter(|name| *name != one.key.value).collect();
    // A model that names itself is reported as a circle.
    for named in one.fallback.iter().filter(|named| named.value != one.key.value) {
        known_model(diagnostics, named, &format!("{path}.fallback"), &others);
    }
    one.model.clone()
}

/// Reads the answers of a script model.
fn read_script(
    diagnostics: &mut Diagnostics,
    one: &ModelDeclaration,
    model: &mut ModelSpec,
    shelf: &dyn Shelf,
    scripts: &mut Vec<Answers>,
) {
    let (Provider::Script, Some(named)) = (model.provider, &one.script) else { return };
    let path = format!("models.{}", one.key.value);
    match shelf.find(&named.value) {
        Ok(found) => {
            let read = script(diagnostics, named, &path, shelf);
            scripts.extend(read.map(|script| Answers { path, at: named.at, script }));
            model.file = Some(found);
        }
        Err(Absent { why, .. }) => {
            let message = format!("{path}.file: {why}");
            let fix = "file: PATH, the answers of the script, from this file's folder";
            diagnostics.report(Code::ConfigUnreadable, named.at, &message, fix);
        }
    }
}

/// Reads the answers of a script and reports mistakes in them. The organism needs them when it starts.
fn script(
    diagnostics: &mut Diagnostics,
    named: &At<String>,
    path: &str,
    shelf: &dyn Shelf,
) -> Option<Script> {
    let read = match shelf.read(&named.value) {
        Ok(None) => return None,
        Ok(Some(bytes)) => match std::str::from_utf8(&bytes) {
            Ok(text) => Script::from_text(text).map_err(|unusable| unusable.to_string()),
            Err(_) => Err("it is not UTF-8".to_owned()),
        }
        .map_err(|why| format!("{}: {why}", named.value)),
        Err(Absent { why, .. }) => Err(why),
    };
    match read {
        Ok(script) => Some(script),
        Err(why) => {
            let message = format!("{path}.file: {why}");
            let fix = "an answer as docs/reference/script.md has it";
            diagnostics.report(Code::ConfigUnreadable, named.at, &message, fix);
            None
        }
    }
}

fn names(declared: &Declared) -> impl Iterator<Item = &str> {
    declared.keys.models.value.iter().map(|one| one.key.value.as_str())
}

/// Reports the name of an unknown model.
fn known_model(diagnostics: &mut Diagnostics, named: &At<String>, path: &str, known: &[&str]) {
    if known.contains(&named.value.as_str()) {
        return;
    }
    let message = format!("{path}: no model is called `{}`", named.value);
    let fix = match find_nearest(&named.value, known.iter().copied()) {
        Some(near) => near.to_owned(),
        None if known.is_empty() => {
            format!("models: {{{}: {{provider: …, model: …}}}} at the top of the file", named.value)
        }
        None => one_of(known.iter().copied()),
    };
    diagnostics.report(Code::ConfigUnknownName, named.at, &message, &fix);
}

/// Reports prices in a second currency. An organism counts in one currency, and calls in another would all be
/// refused.
fn one_currency(diagnostics: &mut Diagnostics, declared: &Declared) {
    let priced = declared.keys.models.value.iter().filter_map(|one| Some((one, one.currency.as_ref()?)));
    let priced: Vec<(&ModelDeclaration, &At<Currency>)> = priced.collect();
    let budget = declared.keys.budgets.currency();
    let Some(first) = budget.as_ref().or_else(|| priced.first().map(|(_, currency)| *currency)) else {
        return;
    };
    for (one, currency) in priced.iter().filter(|(_, currency)| currency.value != first.value) {
        let (own, other) = (currency.value.as_str(), first.value.as_str());
        let key = &one.key.value;
        let message = format!(
            "models.{key}.price.currency: `{own}` is not `{other}`, and an organism counts in one currency"
        );
        let fix = format!("currency: {other}, with its amounts in that");
        let second = (first.at, if budget.is_some() { "the budget" } else { "the first one" });
        diagnostics.report_value_beside(currency.at, &message, &fix, second);
    }
}

/// Reports models that are each other's fallback in a circle: if none can answer, there would be no last one.
fn circles(diagnostics: &mut Diagnostics, models: &[ModelDeclaration]) {
    let mut message: Vec<&str> = Vec::new();
    for start in models {
        let name = start.key.value.as_str();
        let Some(way) = circle(models, start).filter(|_| !message.contains(&name)) else { continue };
        let names: Vec<&str> = way.iter().map(|named| named.value.as_str()).collect();
        message.extend(names.iter().copied());
        let (Some(first), Some(last)) = (way.first(), way.last()) else { continue };
        let words = format!("models.{name}.fallback: a circle, {name} -> {}", names.join(" -> "));
        let fix = "an order that ends: no model may be its own fallback, directly or through others";
        if way.len() > 1 {
            diagnostics.report_value_beside(first.at, &words, fix, (last.at, "back again"));
        } else {
            diagnostics.report_value(first.at, &words, fix);
        }
    }
}

/// The shortest path from a model back to itself, as the fallback names on it.
fn circle<'m>(models: &'m [ModelDeclaration], start: &'m ModelDeclaration) -> Option<Vec<&'m At<String>>> {
    let mut ways: std::collections::VecDeque<Vec<&At<String>>> =
        start.fallback.iter().map(|named| vec![named]).collect();
    let mut seen = Vec::new();
    while let Some(way) = ways.pop_front() {
        let last = way.last()?.value.as_str();
        if last == start.key.value {
            return Some(way);
        }
        if !seen.contains(&last) {
            seen.push(last);
            let next = models.iter().find(|one| one.key.value == last).map_or(&[][..], |one| &one.fallback);
            ways.extend(next.iter().map(|named| way.iter().copied().chain([named]).collect()));
        }
    }
    None
}

/// An agent, with the data that its names are looked up in.
struct Found<'d> {
    party: &'d Party,
    agent_config: &'d AgentConfig,
    declared: &'d Declared,
    composed: &'d Composed,
    schemas: &'d NamedSchemas,
}

impl Found<'_> {
    fn agent(&self, diagnostics: &mut Diagnostics, shelf: &dyn Shelf) -> Option<AgentSpec> {
        let Found { party, agent_config, .. } = self;
        let (path, keys) = (party.path(), &agent_config.keys);
        if let Some(named) = &keys.model {
            let known: Vec<&str> = names(self.declared).collect();
            known_model(diagnostics, named, &format!("{path}.model"), &known);
        }
        let tool_choice = keys.tool_choice.as_ref().and_then(|named| self.tool_choice(diagnostics, named));
        let named = keys.output.schema.as_ref();
        let schema =
            named.and_then(|named| schema(diagnostics, shelf, named, &format!("{path}.output.schema")));
        let own = self.listener(party.name.as_ref()?.as_str())?;
        // Agents that accept tasks are also peers of its listener.
        let peers = party.peers.iter().filter_map(|name| self.listener(&name.value)).map(|peer| Peer {
            name: peer.name.to_string(),
            accepts: contracts(peer.accepts.iter().filter(|one| !workflows::is_own(&one.name))),
            returns: contracts(peer.returns.iter().filter(|one| !workflows::is_own(&one.name))),
            needs_approval: peer.approval.always,
        });
        self.hides_tasks(diagnostics, own);
        self.check_clearing(diagnostics);
        // The elements that only goals ask for come after the text output.
        let output = own.returns.iter().position(|one| workflows::is_own(&one.name));
        let (returns, gives) = own.returns.split_at(output.map_or(own.returns.len(), |at| at + 1));
        Some(AgentSpec {
            name: own.name.to_string(),
            model: keys.model.as_ref()?.value.clone(),
            dialect: keys.dialect.value,
            is_rehearsed: self.is_rehearsed(),
            thinking: keys.thinking.as_ref().map_or(ThinkingRule::Required, |thinking| thinking.value),
            reads_as_before: false,
            actions: agent_config.actions(),
            stop_early: keys.stop_early.value,
            sees_thread: keys.sees.value == ViewScope::Thread,
            attempts: keys.attempts.value,
            turns: party.turns,
            tool_output_max: usize::try_from(keys.tool_output_max.value).unwrap_or(usize::MAX),
            // Its model says which.
            files: Vec::new(),
            when_full: keys.when_full.value,
            tool_choice,
            core_tools: keys
                .core_tools
                .as_ref()
                .map_or_else(CoreToolGroup::list_all, |told| told.value.clone()),
            folders: self.folders(),
            output: Output { format: keys.output.format(), schema },
            preamble: self.declared.organism.preamble.as_ref().map(|preamble| preamble.value.clone()),
            prompt: keys.prompt.value.iter().filter_map(|section| section.spec()).collect(),
            accepts: contracts(&own.accepts),
            returns: contracts(returns),
            gives: contracts(gives),
            peers: peers.collect(),
            broadcasts: self.broadcasts(),
            task_takers: party.task_takers.iter().map(|taker| taker.value.clone()).collect(),
            schemas: self.schemas.clone(),
        })
    }

    /// The folders of the workspaces among its peers, as the file names them: a prompt is the same on every machine.
    fn folders(&self) -> Vec<String> {
        let is_peer = |party: &&Party| self.party.peers.iter().any(|peer| peer.value == party.key.value);
        let parties = self.declared.parties.iter().filter(is_peer);
        parties.filter_map(|party| party.built_in.as_ref()?.find_workspace()).map(str::to_owned).collect()
    }

    /// Whether a script answers in place of its model.
    fn is_rehearsed(&self) -> bool {
        let named = self.agent_config.keys.model.as_ref();
        let model = self
            .declared
            .keys
            .models
            .value
            .iter()
            .find(|one| named.is_some_and(|it| it.value == one.key.value));
        model.is_some_and(|one| one.model.provider == Provider::Script)
    }

    /// The elements that go to several peers at once. One that also went to an agent for tasks must name its peer: only
    /// goals choose who gets tasks.
    fn broadcasts(&self) -> Vec<PeerBroadcast> {
        let own = self.party.name.as_ref().and_then(|name| self.listener(name.as_str()));
        let is_addressed = |taker: &&Name| own.is_some_and(|own| own.peers.contains(taker));
        let is_peer = |taker: &&Name| self.party.peers.iter().any(|peer| peer.value == taker.as_str());
        let broadcast = |one: &composition::Broadcast| {
            let takers: Vec<&Name> = one.takers.iter().filter(is_addressed).collect();
            (takers.len() > 1 && takers.iter().all(is_peer)).then(|| PeerBroadcast {
                element: one.element.clone(),
                takers: takers.into_iter().map(ToString::to_string).collect(),
            })
        };
        self.composed.broadcasts.iter().filter_map(broadcast).collect()
    }

    /// Reports an agent that would clear the tasks that it has given.
    fn check_clearing(&self, diagnostics: &mut Diagnostics) {
        let keys = &self.agent_config.keys;
        if keys.when_full.value != WhenFull::Clear || self.party.task_takers.is_empty() {
            return;
        }
        let at = keys.own.value_place("when_full").unwrap_or(self.party.key.at);
        let path = self.party.path();
        let message = format!("{path}.when_full: `clear` would clear the tasks that the agent gives");
        diagnostics.report_value(at, &message, "when_full: final, or goals without tasks for this agent");
    }

    /// Reports an element with the name of a task: in text, the name would mean the element.
    fn hides_tasks(&self, diagnostics: &mut Diagnostics, own: &Listener) {
        if self.party.task_takers.is_empty() || self.agent_config.keys.dialect.value != Dialect::Xml {
            return;
        }
        let is_task =
            |element: &ElementSchema| &*element.name.local == "task" && !workflows::is_own(&element.name);
        let peers = self.party.peers.iter().filter_map(|peer| self.listener(&peer.value));
        let taker =
            peers.filter(|peer| peer.accepts.iter().any(is_task)).map(|peer| peer.name.as_str()).next();
        let Some(who) = taker.or_else(|| own.returns.iter().any(is_task).then_some(own.name.as_str())) else {
            return;
        };
        let path = self.party.path();
        let message =
            format!("{path}: in `dialect: xml`, the element `task` of `{who}` hides the tasks of its goals");
        let fix = "dialect: native, or another name for that element";
        diagnostics.report_value(self.party.key.at, &message, fix);
    }

    fn listener(&self, name: &str) -> Option<&Listener> {
        self.composed.listeners.values().find(|listener| listener.name.as_str() == name)
    }

    /// The tool choice. A tool's name is an element of a peer, with or without the peer's name before it.
    fn tool_choice(&self, diagnostics: &mut Diagnostics, named: &At<String>) -> Option<ToolChoice> {
        match named.value.as_str() {
            "auto" => return Some(ToolChoice::Auto),
            "required" => return Some(ToolChoice::Required),
            "none" => return Some(ToolChoice::None),
            _ => {}
        }
        let peers = self.party.peers.iter().filter_map(|peer| self.listener(&peer.value));
        let pairs: Vec<(&str, &str)> = peers
            .flat_map(|peer| {
                let taken = peer.accepts.iter().filter(|taken| !workflows::is_own(&taken.name));
                taken.map(|taken| (peer.name.as_str(), &*taken.name.local))
            })
            .collect();
        let alone = |local: &str| pairs.iter().filter(|(_, other)| *other == local).count() == 1;
        let tools: Vec<String> = pairs
            .iter()
            .map(|(peer, local)| if alone(local) { (*local).to_owned() } else { format!("{peer}__{local}") })
            .collect();
        let is_broadcast = self.broadcasts().iter().any(|one| *one.element.local == *named.value);
        if tools.contains(&named.value) || is_broadcast {
            return Some(ToolChoice::Tool(named.value.clone()));
        }
        let known = || ["auto", "required", "none"].into_iter().chain(tools.iter().map(String::as_str));
        let message = format!("{}.tool_choice: it has no tool `{}`", self.party.path(), named.value);
        let fix = find_nearest(&named.value, known()).map_or_else(|| one_of(known()), str::to_owned);
        diagnostics.report(Code::ConfigUnknownName, named.at, &message, &fix);
        None
    }
}

fn contracts<'e>(elements: impl IntoIterator<Item = &'e ElementSchema>) -> Vec<ElementContract> {
    let contract = |one: &ElementSchema| ElementContract { element: one.name.clone(), schema: one.schema.0 };
    elements.into_iter().map(contract).collect()
}

/// The JSON Schema of a final: a file with a JSON object, or with `true` or `false`.
fn schema(
    diagnostics: &mut Diagnostics,
    shelf: &dyn Shelf,
    named: &At<String>,
    path: &str,
) -> Option<Arc<Json>> {
    let fix = "a JSON Schema, as {\"type\": \"object\"}, in a file of this folder";
    let text = match shelf.read(&named.value) {
        Ok(text) => text?,
        Err(Absent { why, .. }) => {
            diagnostics.report(Code::ConfigUnreadable, named.at, &format!("{path}: {why}"), fix);
            return None;
        }
    };
    match serde_json::from_slice::<Json>(&text) {
        Ok(json) if json.is_object() || json.is_boolean() => Some(Arc::new(json)),
        Ok(_) => {
            let message = format!("{path}: {} holds neither an object nor true or false", named.value);
            diagnostics.report(Code::ConfigSchema, named.at, &message, fix);
            None
        }
        Err(error) => {
            let message = format!("{path}: {} is not JSON: {error}", named.value);
            diagnostics.report(Code::ConfigSchema, named.at, &message, fix);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn an_agent_that_gives_tasks_does_not_clear_its_view() {
        let load = |when_full: &str| {
            let agent = "prompt: {identity: You write.}, model: main, when_full";
            let text = format!(
                "organism: {{name: office}}\nmodels: {{main: {{provider: ollama, model: m}}}}\n\
                 agents:\n  writer: {{{agent}: {when_full}}}\n  scholar: {{{agent}: clear}}\n\
                 workflows:\n  book: {{by: writer, goals: [{{answer: {{do: Say it., tasks: {{by: scholar}}}}}}]}}\n"
            );
            crate::load_text(Path::new("organism.yaml"), &text)
        };
        load("final").unwrap();
        let told = load("clear").unwrap_err().to_string();
        assert!(told.contains("agents.writer.when_full: `clear` would"), "{told}");
    }
}
