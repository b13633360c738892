//! From what is declared of agents and models to what the agents are made from: models, fallbacks and tools are
//! looked up, contracts are those of the composition, and the files that only an agent reads are opened.
//!
//! In come the declaration and what was composed of it, out comes plain data. It asks no model and reads no
//! environment, and the pump never sees what it makes.

use std::sync::Arc;

use serde_json::Value as Json;
use systole_agent::model::script::Script;
use systole_agent::spec::{
    Agent, Contract, Dialect, Model, Output, Peer, Provider, Schema, Schemas, ToolChoice,
};
use systole_kit::money::Currency;
use systole_kit::schema::nearest;

use super::agents::Mind;
use super::compose::{Composed, one_of};
use super::declared::{Declared, Party};
use super::desk::Desk;
use super::diagnostic::Diagnostic;
use super::models::Declaration;
use super::schemas::{Absent, Shelf};
use super::value::At;
use super::workflows;
use super::yaml::Span;
use systole_core::rules::introspection::META_XSD;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Element, Listener, Sees};

/// What the house makes agents from.
pub(super) struct Thinking {
    pub(super) agents: Vec<Agent>,
    pub(super) models: Vec<Model>,
    /// What may not be meant, each with the place it is sorted by.
    pub(super) warnings: Vec<(usize, Diagnostic)>,
}

/// Looks everything up. What comes out is only whole if the desk is still clean.
pub(super) fn resolve(
    desk: &mut Desk,
    declared: &Declared,
    composed: &Composed,
    shelf: &dyn Shelf,
    has_scripts: bool,
) -> Thinking {
    let mut scripts = Vec::new();
    let mut models = Vec::new();
    for one in &declared.models {
        models.push(model(desk, one, declared));
        if let Some(model) = models.last_mut().filter(|_| has_scripts) {
            scripted(desk, one, model, shelf, &mut scripts);
        }
    }
    let warnings = unscripted(desk, declared, &scripts);
    circles(desk, &declared.models);
    one_currency(desk, declared);
    let schema = |name: &str, text: Arc<[u8]>| Schema { name: name.to_owned(), text };
    let collected = composed.collected.schemas.iter();
    // In the order of the composition, so that its numbers hold; introspection stands behind.
    let schemas: Schemas = collected
        .map(|one| schema(&one.name, Arc::clone(&one.text)))
        .chain([schema("meta.xsd", META_XSD.into())])
        .collect();
    let minds = declared.parties.iter().filter_map(|party| Some((party, party.mind.as_ref()?)));
    let agents = minds.filter_map(|(party, mind)| {
        let found = Found { party, mind, declared, composed, schemas: &schemas };
        found.agent(desk, shelf)
    });
    Thinking { agents: agents.collect(), models, warnings }
}

/// The answers of a model that is a script, and where the file of them is named.
struct Answers {
    path: String,
    at: Span,
    script: Script,
}

/// Warns about answers that nobody ever gives: of an agent that there is not, and native calls of an agent whose
/// dialect has none.
fn unscripted(desk: &Desk, declared: &Declared, scripts: &[Answers]) -> Vec<(usize, Diagnostic)> {
    let mut found = Vec::new();
    for Answers { path, at, script } in scripts {
        let mut warn = |words: &str, mend: &str| {
            found.push((at.start, Diagnostic::new(Code::ConfigScript, desk.place(*at), words, Some(mend))));
        };
        for agent in script.agents() {
            let minds = || declared.parties.iter().filter_map(|party| Some((party, party.mind.as_ref()?)));
            let Some((_, mind)) = minds().find(|(party, _)| party.key.value == agent) else {
                let known = || minds().map(|(party, _)| party.key.value.as_str());
                let mend = nearest(agent, known()).map_or_else(|| one_of(known()), str::to_owned);
                warn(
                    &format!("{path}.file: it has answers for `{agent}`, and no agent has that name"),
                    &mend,
                );
                continue;
            };
            if let Some(number) = script.first_call(agent).filter(|_| !mind.is_native()) {
                let words = format!(
                    "{path}.file: answer {number} of `{agent}` is a `call`, and its dialect has no native calls"
                );
                warn(&words, "say: with the action as XML, or dialect: native for the agent");
            }
        }
    }
    found
}

fn model(desk: &mut Desk, one: &Declaration, declared: &Declared) -> Model {
    let path = format!("models.{}", one.key.value);
    let others: Vec<&str> = names(declared).filter(|name| *name != one.key.value).collect();
    // That it names itself is told as a circle.
    for named in one.fallback.iter().filter(|named| named.value != one.key.value) {
        known_model(desk, named, &format!("{path}.fallback"), &others);
    }
    one.model.clone()
}

/// Reads the answers of a model that is a script.
fn scripted(
    desk: &mut Desk,
    one: &Declaration,
    model: &mut Model,
    shelf: &dyn Shelf,
    scripts: &mut Vec<Answers>,
) {
    let (Provider::Script, Some(named)) = (model.provider, &one.script) else { return };
    let path = format!("models.{}", one.key.value);
    match shelf.find(&named.value) {
        Ok(found) => {
            let read = script(desk, named, &path, shelf);
            scripts.extend(read.map(|script| Answers { path, at: named.at, script }));
            model.file = Some(found);
        }
        Err(Absent { why, .. }) => {
            let told = format!("{path}.file: {why}");
            let mend = "file: PATH, the answers of the script, from this file's folder";
            desk.tell(Code::ConfigUnreadable, named.at, &told, Some(mend));
        }
    }
}

/// Reads the answers of a script, which the organism needs at its start, and reports what is wrong with them.
fn script(desk: &mut Desk, named: &At<String>, path: &str, shelf: &dyn Shelf) -> Option<Script> {
    let read = match shelf.read(&named.value) {
        Ok(None) => return None,
        Ok(Some(bytes)) => match std::str::from_utf8(&bytes) {
            Ok(text) => Script::read(text).map_err(|unusable| unusable.words),
            Err(_) => Err("it is not UTF-8".to_owned()),
        }
        .map_err(|why| format!("{}: {why}", named.value)),
        Err(Absent { why, .. }) => Err(why),
    };
    match read {
        Ok(script) => Some(script),
        Err(why) => {
            let told = format!("{path}.file: {why}");
            let mend = "an answer as docs/reference/script.md has it";
            desk.tell(Code::ConfigUnreadable, named.at, &told, Some(mend));
            None
        }
    }
}

fn names(declared: &Declared) -> impl Iterator<Item = &str> {
    declared.models.iter().map(|one| one.key.value.as_str())
}

/// Tells of the name of a model that none of the known ones has.
fn known_model(desk: &mut Desk, named: &At<String>, path: &str, known: &[&str]) {
    if known.contains(&named.value.as_str()) {
        return;
    }
    let told = format!("{path}: no model is called `{}`", named.value);
    let mend = match nearest(&named.value, known.iter().copied()) {
        Some(near) => near.to_owned(),
        None if known.is_empty() => {
            format!("models: {{{}: {{provider: …, model: …}}}} at the top of the file", named.value)
        }
        None => one_of(known.iter().copied()),
    };
    desk.tell(Code::ConfigUnknownName, named.at, &told, Some(&mend));
}

/// Tells of prices in a second currency: an organism counts in one, and every call in another would be refused.
fn one_currency(desk: &mut Desk, declared: &Declared) {
    let priced = declared.models.iter().filter_map(|one| Some((one, one.currency.as_ref()?)));
    let priced: Vec<(&Declaration, &At<Currency>)> = priced.collect();
    let budget = declared.currency.as_ref();
    let Some(first) = budget.or_else(|| priced.first().map(|(_, currency)| *currency)) else { return };
    for (one, currency) in priced.iter().filter(|(_, currency)| currency.value != first.value) {
        let (own, other) = (currency.value.as_str(), first.value.as_str());
        let told = ["models.", &one.key.value, ".price.currency: `", own, "` is not `", other];
        let told = format!("{}`, and an organism counts in one currency", told.concat());
        let mend = format!("currency: {other}, with its amounts in that");
        let second = (first.at, if budget.is_some() { "the budget" } else { "the first one" });
        desk.tell_seeing(Code::ConfigValue, currency.at, &told, Some(&mend), second);
    }
}

/// Tells of models that stand in for one another in a circle: where none can answer nobody would be asked last.
fn circles(desk: &mut Desk, models: &[Declaration]) {
    let mut told: Vec<&str> = Vec::new();
    for start in models {
        let name = start.key.value.as_str();
        let Some(way) = circle(models, start).filter(|_| !told.contains(&name)) else { continue };
        let names: Vec<&str> = way.iter().map(|named| named.value.as_str()).collect();
        told.extend(names.iter().copied());
        let (Some(first), Some(last)) = (way.first(), way.last()) else { continue };
        let words = format!("models.{name}.fallback: a circle, {name} -> {}", names.join(" -> "));
        let mend = Some("an order that ends: a model stands in for none that stands in for it");
        if way.len() > 1 {
            desk.tell_seeing(Code::ConfigValue, first.at, &words, mend, (last.at, "back again"));
        } else {
            desk.tell(Code::ConfigValue, first.at, &words, mend);
        }
    }
}

/// The shortest way from a model back to itself, as the fallbacks that are named on it.
fn circle<'m>(models: &'m [Declaration], start: &'m Declaration) -> Option<Vec<&'m At<String>>> {
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

/// An agent with what its names are looked up in.
struct Found<'d> {
    party: &'d Party,
    mind: &'d Mind,
    declared: &'d Declared,
    composed: &'d Composed,
    schemas: &'d Schemas,
}

impl Found<'_> {
    fn agent(&self, desk: &mut Desk, shelf: &dyn Shelf) -> Option<Agent> {
        let Found { party, mind, .. } = self;
        let path = party.path();
        if let Some(named) = &mind.model {
            let known: Vec<&str> = names(self.declared).collect();
            known_model(desk, named, &format!("{path}.model"), &known);
        }
        let tool_choice = mind.tool_choice.as_ref().and_then(|named| self.tool_choice(desk, named));
        let named = mind.schema.as_ref();
        let schema = named.and_then(|named| schema(desk, shelf, named, &format!("{path}.output.schema")));
        let own = self.listener(party.name.as_ref()?.as_str())?;
        // Agents that take tasks are among the peers of its listener.
        let peers = party.peers.iter().filter_map(|name| self.listener(&name.value)).map(|peer| Peer {
            name: peer.name.to_string(),
            accepts: contracts(peer.accepts.iter().filter(|one| !workflows::is_own(&one.name))),
            returns: contracts(peer.returns.iter().filter(|one| !workflows::is_own(&one.name))),
            needs_approval: peer.approval.always,
        });
        self.hides_tasks(desk, own);
        // What only goals ask for is added after the output in words.
        let output = own.returns.iter().position(|one| workflows::is_own(&one.name));
        let (returns, gives) = own.returns.split_at(output.map_or(own.returns.len(), |at| at + 1));
        Some(Agent {
            name: own.name.to_string(),
            model: mind.model.as_ref()?.value.clone(),
            dialect: mind.dialect,
            thinking: mind.thinking,
            actions: mind.actions,
            stop_early: mind.stop_early,
            sees_thread: mind.sees == Sees::Thread,
            attempts: mind.attempts,
            turns: party.turns,
            tool_output_max: mind.tool_output_max,
            tool_choice,
            output: Output { format: mind.format, schema },
            preamble: self.declared.preamble.as_ref().map(|preamble| preamble.value.clone()),
            prompt: mind.prompt.iter().filter_map(|section| section.spec()).collect(),
            accepts: contracts(&own.accepts),
            returns: contracts(returns),
            gives: contracts(gives),
            peers: peers.collect(),
            task_takers: party.task_takers.iter().map(|taker| taker.value.clone()).collect(),
            schemas: self.schemas.clone(),
        })
    }

    /// Reports an element with the name of a task: in text, the name would mean that element.
    fn hides_tasks(&self, desk: &mut Desk, own: &Listener) {
        if self.party.task_takers.is_empty() || self.mind.dialect != Dialect::Xml {
            return;
        }
        let is_task = |element: &Element| &*element.name.local == "task" && !workflows::is_own(&element.name);
        let peers = self.party.peers.iter().filter_map(|peer| self.listener(&peer.value));
        let taker =
            peers.filter(|peer| peer.accepts.iter().any(is_task)).map(|peer| peer.name.as_str()).next();
        let Some(who) = taker.or_else(|| own.returns.iter().any(is_task).then_some(own.name.as_str())) else {
            return;
        };
        let path = self.party.path();
        let told =
            format!("{path}: in `dialect: xml`, the element `task` of `{who}` hides the tasks of its goals");
        let mend = Some("dialect: native, or another name for that element");
        desk.tell(Code::ConfigValue, self.party.key.at, &told, mend);
    }

    fn listener(&self, name: &str) -> Option<&Listener> {
        self.composed.listeners.values().find(|listener| listener.name.as_str() == name)
    }

    /// What is said of the choice of tools; the name of a tool is an element of a peer, alone or behind the peer's.
    fn tool_choice(&self, desk: &mut Desk, named: &At<String>) -> Option<ToolChoice> {
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
        if tools.contains(&named.value) {
            return Some(ToolChoice::Tool(named.value.clone()));
        }
        let known = || ["auto", "required", "none"].into_iter().chain(tools.iter().map(String::as_str));
        let told = format!("{}.tool_choice: it has no tool `{}`", self.party.path(), named.value);
        let mend = nearest(&named.value, known()).map_or_else(|| one_of(known()), str::to_owned);
        desk.tell(Code::ConfigUnknownName, named.at, &told, Some(&mend));
        None
    }
}

fn contracts<'e>(elements: impl IntoIterator<Item = &'e Element>) -> Vec<Contract> {
    let contract = |one: &Element| Contract { element: one.name.clone(), schema: one.schema.0 };
    elements.into_iter().map(contract).collect()
}

/// The JSON Schema of a final: a file that holds an object of JSON, or a schema that is `true` or `false`.
fn schema(desk: &mut Desk, shelf: &dyn Shelf, named: &At<String>, path: &str) -> Option<Arc<Json>> {
    let mend = "a JSON Schema, as {\"type\": \"object\"}, in a file of this folder";
    let text = match shelf.read(&named.value) {
        Ok(text) => text?,
        Err(Absent { why, .. }) => {
            desk.tell(Code::ConfigUnreadable, named.at, &format!("{path}: {why}"), Some(mend));
            return None;
        }
    };
    match serde_json::from_slice::<Json>(&text) {
        Ok(json) if json.is_object() || json.is_boolean() => Some(Arc::new(json)),
        Ok(_) => {
            let told = format!("{path}: {} holds neither an object nor true or false", named.value);
            desk.tell(Code::ConfigSchema, named.at, &told, Some(mend));
            None
        }
        Err(error) => {
            let told = format!("{path}: {} is not JSON: {error}", named.value);
            desk.tell(Code::ConfigSchema, named.at, &told, Some(mend));
            None
        }
    }
}
