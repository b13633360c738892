//! Adds to parties what workflows need: their agents accept goals and return outputs, and a workflow calls itself for
//! branches.
//!
//! `adapt` works on the declarations, before any element is looked up. `link` adds the elements of the workflow
//! vocabulary and the payloads of goals. Unknown names are reported here.

use std::collections::BTreeMap;

use systole_agent::spec::Dialect;
use systole_kit::QName;
use systole_kit::schema::find_nearest;

use super::super::diagnostics::Diagnostics;
use super::super::file_sections::Declared;
use super::super::lookup::{Lookup, Resolved};
use super::super::names::one_of;
use super::super::party::Party;
use super::super::value::At;
use super::declaration::{Goal, Step, Work, WorkflowDeclaration};
use super::{VOCABULARY, supervising};
use systole_core::types::codes::Code;
use systole_core::types::composition::ElementSchema;

/// The elements of a workflow's calls to itself: request and answer.
const BRANCH: [&str; 2] = ["branch", "branch-output"];
/// The elements of its calls to agents: request, and the answer if the goal names no payload.
const GOAL: [&str; 2] = ["goal-request", "goal-output"];

/// Whether only workflows and their agents exchange this element.
pub(crate) fn is_own(name: &QName) -> bool {
    *name.ns == *systole_kit::namespaces::WORKFLOW
}

/// The payloads of goals, by the workflow's name and the written local name.
pub(crate) type Links = BTreeMap<(String, String), ElementSchema>;

/// Finds the agents and listeners of each workflow, and adds to what they accept and return.
pub(crate) fn adapt(diagnostics: &mut Diagnostics, declared: &mut Declared) {
    let mut peers = Vec::new();
    for (at, party) in declared.parties.iter().enumerate() {
        if let Some(workflow) = &party.workflow {
            peers.push((at, peers_of(diagnostics, declared, party, workflow)));
        }
    }
    for (at, named) in peers {
        for one in &named {
            let found = declared.parties.iter_mut().find(|party| party.key.value == one.name.value);
            if let Some(party) = found {
                party.share_percent.get_or_insert(100);
                add(&mut party.task_takers, &one.task_takers);
                if one.is_agent {
                    serve(diagnostics, party);
                }
            }
        }
        if let Some(party) = declared.parties.get_mut(at) {
            for one in &named {
                let others = one.task_takers.iter().filter(|taker| taker.value != party.key.value);
                let others: Vec<At<String>> = others.cloned().collect();
                add(&mut party.task_takers, &others);
            }
            party.peers = named.into_iter().filter(|one| one.is_called).map(|one| one.name).collect();
        }
    }
    // Several workflows may name an agent. The agent may give tasks if one of them allows it.
    for party in declared.parties.iter_mut().filter(|party| !party.task_takers.is_empty()) {
        if let Some(agent_config) =
            party.agent_config.as_mut().filter(|agent_config| agent_config.has_free_dialect())
        {
            agent_config.keys.dialect.value = Dialect::Xml;
        }
    }
}

/// Adds names that are not yet in the list.
fn add(names: &mut Vec<At<String>>, more: &[At<String>]) {
    for name in more {
        if !names.iter().any(|known| known.value == name.value) {
            names.push(name.clone());
        }
    }
}

/// A party that a workflow names.
struct Peer {
    name: At<String>,
    is_agent: bool,
    /// Whether the workflow itself calls it.
    is_called: bool,
    /// Agents to which it gives tasks.
    task_takers: Vec<At<String>>,
}

impl Peer {
    fn new(name: &At<String>, is_agent: bool, is_called: bool) -> Peer {
        Peer { name: name.clone(), is_agent, is_called, task_takers: Vec::new() }
    }
}

fn peers_of(
    diagnostics: &mut Diagnostics,
    declared: &Declared,
    party: &Party,
    workflow: &WorkflowDeclaration,
) -> Vec<Peer> {
    let mut found: Vec<Peer> = Vec::new();
    let mut put = |one: Peer| match found.iter_mut().find(|peer| peer.name.value == one.name.value) {
        Some(known) => {
            known.is_agent |= one.is_agent;
            known.is_called |= one.is_called;
            add(&mut known.task_takers, &one.task_takers);
        }
        None => found.push(one),
    };
    let mut reported: Vec<usize> = Vec::new();
    // Tasks of a whole workflow are checked once for each agent.
    let mut mute: Vec<(usize, &String)> = Vec::new();
    for step in workflow.every_step() {
        let path = format!("{}.{}", party.path(), step.id.value);
        match &step.work {
            Work::Do(goal) => {
                // A name that is written once for many goals is reported once.
                let mut known = |diagnostics: &mut Diagnostics, name: &At<String>, place: &str| {
                    let is_new = !reported.contains(&name.at.start);
                    let is_agent = is_agent(diagnostics, declared, name, place, is_new);
                    if !is_agent {
                        reported.push(name.at.start);
                    }
                    is_agent
                };
                let tasks_path = if goal.tasks.is_some() { path.clone() } else { party.path() };
                let tasks_path = format!("{tasks_path}.tasks");
                let supervised = workflow.tasks_of(goal).and_then(|tasks| tasks.supervise.as_ref());
                let taker = workflow.tasks_of(goal).map(|tasks| &tasks.by);
                let taker = taker.filter(|taker| known(diagnostics, taker, &tasks_path));
                for name in agents(diagnostics, workflow, goal, step, &path) {
                    let place = if goal.by.is_empty() { party.path() } else { path.clone() };
                    if known(diagnostics, name, &place) {
                        let is_told = |taker: &At<String>| mute.contains(&(taker.at.start, &name.value));
                        if let Some(taker) = taker.filter(|taker| !is_told(taker)) {
                            mute.push((taker.at.start, &name.value));
                            can_give_tasks(diagnostics, declared, name, taker, &tasks_path);
                        }
                        // A supervised task goes to the workflow, which runs it.
                        let by_workflow =
                            supervised.map(|by| At { at: by.at, value: party.key.value.clone() });
                        let task_takers: Vec<At<String>> = taker
                            .map(|taker| by_workflow.unwrap_or_else(|| taker.clone()))
                            .into_iter()
                            .collect();
                        put(Peer { name: name.clone(), is_agent: true, is_called: true, task_takers });
                    }
                }
                if let Some(taker) = taker {
                    put(Peer::new(taker, true, supervised.is_some()));
                }
            }
            Work::Call { to: Some(to), .. } if is_party(diagnostics, declared, to, &path) => {
                put(Peer::new(to, false, true));
            }
            _ => {}
        }
    }
    let of_tasks = supervising::check_tasks(diagnostics, declared, party, workflow);
    for name in supervising::check(diagnostics, declared, party, workflow).into_iter().chain(of_tasks) {
        put(Peer::new(name, true, true));
    }
    found
}

fn agents<'d>(
    diagnostics: &mut Diagnostics,
    workflow: &'d WorkflowDeclaration,
    goal: &'d Goal,
    step: &Step,
    path: &str,
) -> &'d [At<String>] {
    let agents = workflow.agents_of(goal);
    if agents.is_empty() {
        let message = format!("{path}: no agent pursues this goal");
        let fix = "by: AGENT here, or on the workflow for all of its goals";
        diagnostics.report(Code::ConfigMissing, step.id.at, &message, fix);
    }
    agents
}

fn is_agent(
    diagnostics: &mut Diagnostics,
    declared: &Declared,
    name: &At<String>,
    path: &str,
    is_new: bool,
) -> bool {
    let known = || {
        declared.parties.iter().filter(|party| party.agent_config.is_some()).map(|party| &*party.key.value)
    };
    if known().any(|known| known == name.value) {
        return true;
    }
    if !is_new {
        return false;
    }
    let other = declared.parties.iter().find(|party| party.key.value == name.value);
    let (message, fix) = match other {
        Some(other) => {
            let what = if other.workflow.is_some() { "a workflow" } else { "a listener" };
            if path.ends_with(".tasks") {
                (
                    format!("{path}.by: `{}` is {what}, and only agents take tasks", name.value),
                    one_of(known()),
                )
            } else {
                (
                    format!("{path}.by: `{}` is {what}, and agents pursue goals", name.value),
                    format!("call: ELEMENT with to: {}, or an agent", name.value),
                )
            }
        }
        None => (
            format!("{path}.by: no agent is called `{}`", name.value),
            match (find_nearest(&name.value, known()), known().next()) {
                (Some(near), _) => near.to_owned(),
                (None, Some(_)) => one_of(known()),
                (None, None) => format!("agents: {{{}: {{model: NAME}}}} at the top of the file", name.value),
            },
        ),
    };
    diagnostics.report(Code::ConfigUnknownName, name.at, &message, &fix);
    false
}

/// Reports an agent that must give tasks although the file forbids it to make calls.
fn can_give_tasks(
    diagnostics: &mut Diagnostics,
    declared: &Declared,
    name: &At<String>,
    taker: &At<String>,
    path: &str,
) {
    let party = declared.parties.iter().find(|party| party.key.value == name.value);
    let agent_config = party.and_then(|party| party.agent_config.as_ref());
    let is_plain = agent_config.is_some_and(|agent_config| {
        agent_config.keys.dialect.value == Dialect::Plain && !agent_config.has_free_dialect()
    });
    if let Some(party) = party.filter(|_| is_plain) {
        let message = format!("{path}: `{}` has `dialect: plain` and can give no tasks", name.value);
        let fix = format!("dialect: xml, native or xml-final at {}", party.path());
        diagnostics.report_value_beside(taker.at, &message, &fix, (party.key.at, "the agent"));
    }
}

fn is_party(diagnostics: &mut Diagnostics, declared: &Declared, name: &At<String>, path: &str) -> bool {
    let known = || declared.parties.iter().map(|party| &*party.key.value);
    if known().any(|known| known == name.value) {
        return true;
    }
    let message = format!("{path}.to: nothing here is called `{}`", name.value);
    let fix = find_nearest(&name.value, known()).map_or_else(|| one_of(known()), str::to_owned);
    diagnostics.report(Code::ConfigUnknownName, name.at, &message, &fix);
    false
}

/// Turns an agent into one that works on goals.
fn serve(diagnostics: &mut Diagnostics, party: &mut Party) {
    let path = party.path();
    let Some(agent_config) = &mut party.agent_config else { return };
    agent_config.serves_goals = true;
    if !agent_config.takes_talk {
        return;
    }
    agent_config.takes_talk = false;
    party.accepts.clear();
    if agent_config.gives_talk {
        agent_config.gives_talk = false;
        party.returns.clear();
    }
    if let Some(at) = agent_config.keys.own.place_of("entry").filter(|_| party.entry) {
        let message =
            format!("{path}.entry: it takes goals of workflows alone, and none of them comes from outside");
        diagnostics.report_value(at, &message, "accepts: [ask] beside it, or leave it out");
    }
    party.entry = false;
    if agent_config.has_free_dialect() && party.peers.is_empty() {
        agent_config.keys.dialect.value = Dialect::Plain;
    }
}

/// Adds the elements that workflows and their agents exchange to what they accept and return.
pub(crate) fn link(
    diagnostics: &mut Diagnostics,
    declared: &Declared,
    lookup: &mut Lookup,
    resolved: &mut [Resolved<'_>],
) -> Links {
    let mut links = Links::new();
    let mut given: Vec<(String, At<ElementSchema>)> = Vec::new();
    for party in &declared.parties {
        let Some(workflow) = &party.workflow else { continue };
        for step in workflow.every_step() {
            let Work::Do(goal) = &step.work else { continue };
            let Some(named) = &goal.gives else { continue };
            let path = format!("{}.{}.gives", party.path(), step.id.value);
            let found = lookup.elements(diagnostics, party, std::slice::from_ref(named), &path);
            for element in found {
                links.insert((party.key.value.clone(), named.value.clone()), element.value.clone());
                let agents = workflow.agents_of(goal).iter();
                given.extend(agents.map(|agent| (agent.value.clone(), element.clone())));
            }
        }
    }
    let supervised = declared.parties.iter().filter_map(|party| party.workflow.as_ref());
    for (workflow, one) in
        supervised.flat_map(|own| supervising::goals(own).into_iter().map(move |one| (own, one)))
    {
        let mut give = |agent: &At<String>, local: &str| {
            let name = At { at: agent.at, value: local.to_owned() };
            given.extend(
                lookup.of_vocabulary(VOCABULARY, &name).map(|element| (agent.value.clone(), element)),
            );
        };
        for agent in workflow.agents_of(one.goal) {
            supervising::OF_AGENT.iter().for_each(|local| give(agent, local));
        }
        one.agent().into_iter().for_each(|agent| give(agent, supervising::OF_SUPERVISOR));
    }
    for party in &declared.parties {
        let Some(workflow) = &party.workflow else { continue };
        for (_, by, taker) in supervising::list_of_tasks(party, workflow) {
            let mut give = |agent: &At<String>, local: &str| {
                let name = At { at: agent.at, value: local.to_owned() };
                let found = lookup.of_vocabulary(VOCABULARY, &name);
                given.extend(found.map(|element| (agent.value.clone(), element)));
            };
            supervising::OF_AGENT.iter().for_each(|local| give(taker, local));
            give(by, supervising::OF_SUPERVISOR);
        }
    }
    for one in resolved.iter_mut() {
        let at = one.party.key.at;
        let mut both = |[taken, given]: [&str; 2]| {
            let mut named =
                |local: &str| lookup.of_vocabulary(VOCABULARY, &At { at, value: local.to_owned() });
            one.accepts.extend(named(taken));
            one.returns.extend(named(given));
        };
        if let Some(workflow) = &one.party.workflow {
            both(BRANCH);
            if !supervising::list_of_tasks(one.party, workflow).is_empty() {
                both(GOAL);
            }
        }
        if one.party.agent_config.as_ref().is_some_and(|agent_config| agent_config.serves_goals) {
            both(GOAL);
        }
        for (_, element) in given.iter().filter(|(agent, _)| *agent == one.party.key.value) {
            if !one.returns.iter().any(|known| known.value == element.value) {
                one.returns.push(element.clone());
            }
        }
    }
    links
}
