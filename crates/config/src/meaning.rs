//! Checks the organism as a whole for likely mistakes: listeners that no message can reach, answers that no listener
//! uses, items that could go to two listeners, calls in a circle. None of these prevents a run, so each is a warning
//! with its own code.
//!
//! Input: a declaration without mistakes, and its composition. Output: the warnings, sorted by place. This module
//! rejects nothing: ambiguous and undeliverable items were already rejected.

use std::collections::{BTreeSet, VecDeque};

use systole_agent::spec::{ModelThinking, Provider};

use super::compose::Composed;
use super::diagnostic::Diagnostic;
use super::diagnostics::Diagnostics;
use super::file_sections::Declared;
use super::lookup::Shipped;
use super::party::Party;
use super::prompt_checks;
use super::schemas::PAYLOADS;
use super::tree::Span;
use super::value::At;
use super::workflows;
use systole_core::types::codes::Code;
use systole_core::types::composition::{ElementSchema, Listener};

/// All warnings. `found` are the earlier ones.
pub(super) fn warnings(
    diagnostics: &Diagnostics,
    declared: &Declared,
    composed: &Composed,
    found: Vec<(usize, Diagnostic)>,
) -> Vec<Diagnostic> {
    let mut warnings = Warnings { diagnostics, declared, composed, found };
    let called = warnings.list_called();
    warnings.warn_unreached(&called);
    warnings.unread_answers(&called);
    warnings.several_takers();
    warnings.several_open();
    warnings.warn_shadowed();
    warnings.circles();
    warnings.unused_elements();
    warnings.warn_unpriced();
    warnings.warn_forced();
    warnings.found.extend(prompt_checks::warnings(diagnostics, declared));
    warnings.found.sort_by_key(|(order, _)| *order);
    warnings.found.into_iter().map(|(_, warning)| warning).collect()
}

struct Warnings<'a> {
    diagnostics: &'a Diagnostics,
    declared: &'a Declared,
    composed: &'a Composed,
    found: Vec<(usize, Diagnostic)>,
}

/// A warning about a span of the file.
struct Warning<'w> {
    code: Code,
    at: Span,
    words: String,
    fix: &'w str,
    second: Option<(Span, &'w str)>,
}

impl<'a> Warnings<'a> {
    fn warn(&mut self, warning: Warning<'_>) {
        let place = self.diagnostics.place(warning.at);
        let mut message = Diagnostic::new(warning.code, place, &warning.words, Some(warning.fix));
        if let Some((at, words)) = warning.second {
            message = message.seeing(self.diagnostics.place(at), words);
        }
        self.found.push((warning.at.start, message));
    }

    fn party(&self, name: &str) -> Option<&'a Party> {
        self.declared.parties.iter().find(|party| party.key.value == name)
    }

    fn listener(&self, party: &Party) -> Option<&'a Listener> {
        party.name.as_ref().and_then(|name| self.composed.listeners.get(name))
    }

    fn is_open(&self, party: &Party) -> bool {
        self.listener(party).is_some_and(|listener| listener.entry)
    }

    /// The parties that a message can reach, from outside or through other reachable parties.
    fn list_called(&self) -> BTreeSet<&'a str> {
        let open = self.declared.parties.iter().filter(|party| self.is_open(party));
        let scheduled =
            self.declared.keys.schedules.value.iter().filter_map(|one| one.keys.as_ref()?.to.as_ref());
        let open = open.map(|party| party.key.value.as_str());
        let mut waiting: VecDeque<&'a str> = open.chain(scheduled.map(|to| to.value.as_str())).collect();
        let mut called = BTreeSet::new();
        while let Some(name) = waiting.pop_front() {
            if called.insert(name) {
                let named = self
                    .party(name)
                    .into_iter()
                    .flat_map(|party| party.peers.iter().chain(&party.task_takers));
                waiting.extend(named.map(|peer| peer.value.as_str()));
            }
        }
        called
    }

    /// Whether a reachable party notifies this listener of its requests for approval.
    fn is_told(&self, name: &str, called: &BTreeSet<&str>) -> bool {
        let parties = self.declared.parties.iter();
        let mut askers = parties.filter(|party| called.contains(party.key.value.as_str()));
        askers.any(|party| party.delivery.approval.tell.value.iter().any(|message| message.value == name))
    }

    fn warn_unreached(&mut self, called: &BTreeSet<&str>) {
        if called.is_empty() {
            let Some(first) = self.declared.parties.first() else { return };
            let fix = format!("entry: true at {}, or another", first.path());
            return self.warn(Warning {
                code: Code::ConfigUnreached,
                at: first.key.at,
                words: "no listener takes messages from outside, so no work can begin".to_owned(),
                fix: &fix,
                second: None,
            });
        }
        for party in &self.declared.parties {
            let name = party.key.value.as_str();
            if called.contains(name) || self.is_told(name, called) {
                continue;
            }
            let elements: Vec<&str> = party.accepts.iter().map(|element| element.value.as_str()).collect();
            let what = if elements.is_empty() {
                "anything".to_owned()
            } else {
                format!("`{}`", elements.join("`, `"))
            };
            let words = format!("{}: no one can send it {what}", party.path());
            self.warn(Warning {
                code: Code::ConfigUnreached,
                at: party.key.at,
                words,
                fix: "entry: true, or its name under `peers` of its sender",
                second: None,
            });
        }
    }

    /// A money budget counts only models with a price.
    fn warn_unpriced(&mut self) {
        let Some(budget) = self.declared.keys.budgets.currency() else { return };
        let agent_configs =
            self.declared.parties.iter().filter_map(|party| party.agent_config.as_ref()?.keys.model.as_ref());
        let named: BTreeSet<&str> = agent_configs.map(|model| model.value.as_str()).collect();
        let mut asked = named.clone();
        for model in &self.declared.keys.models.value {
            if named.contains(model.key.value.as_str()) {
                asked.extend(model.fallback.iter().map(|other| other.value.as_str()));
            }
        }
        let currency = budget.value.as_str();
        let fix = format!(
            "price: {{in: 3, out: 15, currency: {currency}}} with its own numbers, 0 for a free model"
        );
        for one in &self.declared.keys.models.value {
            let is_free = one.model.provider == Provider::Script || one.model.price.is_some();
            if is_free || !asked.contains(one.key.value.as_str()) {
                continue;
            }
            self.warn(Warning {
                code: Code::ConfigUnpriced,
                at: one.key.at,
                words: format!(
                    "models.{} has no price, so what it costs never counts towards budgets.money",
                    one.key.value
                ),
                fix: &fix,
                second: Some((budget.at, "the budget")),
            });
        }
    }

    /// Agents that must call a tool although their model reasons first.
    fn warn_forced(&mut self) {
        for party in &self.declared.parties {
            let Some(keys) = party.agent_config.as_ref().map(|config| &config.keys) else { continue };
            let (Some(choice), Some(named)) = (&keys.tool_choice, &keys.model) else { continue };
            let models = &self.declared.keys.models.value;
            let model = models.iter().find(|one| one.key.value == named.value);
            let thinking = model.and_then(|model| Some((model.key.at, model.model.thinking?)));
            let Some((at, _)) = thinking.filter(|(_, thinking)| *thinking != ModelThinking::Off) else {
                continue;
            };
            if matches!(choice.value.as_str(), "auto" | "none") {
                continue;
            }
            self.warn(Warning {
                code: Code::ConfigForcedTool,
                at: choice.at,
                words: format!(
                    "{}.tool_choice forces a call, which Anthropic and others refuse of a model that reasons",
                    party.path()
                ),
                fix: "tool_choice: auto, or a model without `thinking`",
                second: Some((at, "it has `thinking`")),
            });
        }
    }

    fn unread_answers(&mut self, called: &BTreeSet<&str>) {
        for party in &self.declared.parties {
            let name = party.key.value.as_str();
            let told_only = !called.contains(name) && self.is_told(name, called);
            if let Some(first) = party.returns.first().filter(|_| told_only) {
                let words = format!(
                    "{}.returns: it only gets word of approvals, so no one reads `{}`",
                    party.path(),
                    first.value.as_str()
                );
                self.warn(Warning {
                    code: Code::ConfigUnreadAnswer,
                    at: first.at,
                    words,
                    fix: "leave `returns` out, or its name under `peers` of its caller",
                    second: None,
                });
            }
        }
    }

    /// Senders whose item, without an addressee, could go to two peers. Agents and workflows always name the
    /// addressee.
    fn several_takers(&mut self) {
        let names_each = |party: &&Party| party.agent_config.is_some() || party.workflow.is_some();
        for party in self.declared.parties.iter().filter(|party| !names_each(party)) {
            let mut seen: Vec<(&systole_kit::QName, &At<String>)> = Vec::new();
            // One fix applies to all takers, so each element is reported once.
            let mut message: Vec<&systole_kit::QName> = Vec::new();
            for peer in &party.peers {
                let Some(taker) = self.party(&peer.value).and_then(|other| self.listener(other)) else {
                    continue;
                };
                for element in taker.accepts.iter().filter(|element| !element.is_for_itself()) {
                    if self.composed.broadcasts.iter().any(|broadcast| broadcast.element == element.name) {
                        continue;
                    }
                    let Some((_, first)) = seen.iter().find(|(known, _)| *known == &element.name) else {
                        seen.push((&element.name, peer));
                        continue;
                    };
                    if message.contains(&&element.name) {
                        continue;
                    }
                    message.push(&element.name);
                    let local = &*element.name.local;
                    let lead = format!("{}.peers: `{}", party.path(), peer.value);
                    let words = format!("{lead}` and `{}` both take `{local}`", first.value);
                    let fix =
                        format!("`broadcast: {{{local}: all}}`, or <to> in every item that is a `{local}`");
                    self.warn(Warning {
                        code: Code::ConfigSeveralTakers,
                        at: peer.at,
                        words,
                        fix: &fix,
                        second: Some((first.at, "it takes it too")),
                    });
                }
            }
        }
    }

    /// Messages from outside that, without an addressee, could go to two listeners.
    fn several_open(&mut self) {
        let mut seen: Vec<(&systole_kit::QName, &Party)> = Vec::new();
        let entry = self.composed.entry.as_ref().and_then(|name| self.composed.listeners.get(name));
        let open: Vec<&Party> = self.declared.parties.iter().filter(|party| self.is_open(party)).collect();
        for party in open {
            for element in self.listener(party).map_or(&[][..], |listener| &listener.accepts) {
                // Goals and branches always name their addressee. What a listener sends itself comes from no one else.
                if workflows::is_own(&element.name) || element.is_for_itself() {
                    continue;
                }
                let Some((_, first)) = seen.iter().find(|(known, _)| *known == &element.name) else {
                    seen.push((&element.name, party));
                    continue;
                };
                // The entry gets the elements that it accepts.
                if entry.is_some_and(|entry| entry.find_accepted(&element.name).is_some()) {
                    continue;
                }
                let at = |party: &Party| {
                    let named = party.accepts.iter().find(|named| *named.value == *element.name.local);
                    named.map_or(party.key.at, |named| named.at)
                };
                let lead = format!("{}.accepts: from outside `", party.path());
                let words = format!("{lead}{}` may go to `{}` as well", element.name.local, first.key.value);
                let fix = format!("organism.entry: {}, or <to> in every message", first.key.value);
                self.warn(Warning {
                    code: Code::ConfigSeveralTakers,
                    at: at(party),
                    words,
                    fix: &fix,
                    second: Some((at(first), "it takes it too")),
                });
            }
        }
    }

    /// Elements of shared schemas with the name of a built-in element: a listener that names one may mean the
    /// built-in one. A listener's own `schema` is explicit, so it does not count.
    fn warn_shadowed(&mut self) {
        for (name, outline) in self.composed.collected.outlines() {
            for Shipped { vocabulary, local } in &self.composed.shipped {
                let Some(place) = outline.find_declared(local) else { continue };
                let by_name = |party: &&Party| party.schema.as_ref().is_none_or(|own| own.value != name);
                let named = self.declared.parties.iter().filter(by_name).find_map(|party| {
                    let listener = self.listener(party)?;
                    let is_meant = |e: &&ElementSchema| e.schema == outline.id && e.name.local == *local;
                    listener.accepts.iter().chain(&listener.returns).find(is_meant)?;
                    let written = party.accepts.iter().chain(&party.returns);
                    Some((party, written.into_iter().find(|written| *written.value == **local)?))
                });
                let Some((party, named)) = named else { continue };
                let words = format!("`{local}` replaces {vocabulary}'s <{local}>");
                let fix = format!("another name, as {}-{local}; left out, ", party.key.value);
                let fix = format!("{}{vocabulary}'s is meant", fix.as_str());
                let message = Diagnostic::new(Code::ConfigShadowed, place.clone(), &words, Some(&fix));
                let message = message.seeing(self.diagnostics.place(named.at), "named here");
                self.found.push((outline.named.start, message));
            }
        }
    }

    /// Listeners that can call themselves through others, limited only by the default budgets.
    fn circles(&mut self) {
        if self.declared.keys.own.has("budgets") {
            return;
        }
        let mut message: BTreeSet<&str> = BTreeSet::new();
        for party in &self.declared.parties {
            let name = party.key.value.as_str();
            let Some(circle) = self.circle(party).filter(|_| !message.contains(name)) else { continue };
            let names: Vec<&str> = circle.iter().map(|peer| peer.value.as_str()).collect();
            message.extend(names.iter().copied());
            let (Some(first), Some(last)) = (circle.first(), circle.last()) else { continue };
            let way = format!("{name} -> {}", names.join(" -> "));
            let words = format!("{}.peers: a circle, {way}, and no `budgets` end it", party.path());
            self.warn(Warning {
                code: Code::ConfigCircle,
                at: first.at,
                words,
                fix: "budgets: {messages: 500, depth: 6}, with the numbers that you mean",
                second: (circle.len() > 1).then_some((last.at, "back again")),
            });
        }
    }

    /// The shortest path from a listener back to itself, as the peer names on it.
    fn circle(&self, start: &'a Party) -> Option<Vec<&'a At<String>>> {
        let mut ways: VecDeque<Vec<&'a At<String>>> = start.peers.iter().map(|peer| vec![peer]).collect();
        let mut seen = BTreeSet::new();
        while let Some(way) = ways.pop_front() {
            let last = way.last()?.value.as_str();
            if last == start.key.value {
                return Some(way);
            }
            if seen.insert(last) {
                let peers = self.party(last).map_or(&[][..], |party| &party.peers);
                ways.extend(peers.iter().map(|peer| way.iter().copied().chain([peer]).collect::<Vec<_>>()));
            }
        }
        None
    }

    /// Root elements of the schemas that no listener accepts or returns.
    fn unused_elements(&mut self) {
        let listeners = || self.composed.listeners.values();
        let used = |namespace: &str, element: &str| {
            listeners().any(|listener| {
                let own = listener.own_namespace() == namespace && listener.name.as_str() == element;
                own || listener
                    .accepts
                    .iter()
                    .chain(&listener.returns)
                    .any(|e| e.name.is_named(namespace, element))
            })
        };
        let mut found = Vec::new();
        // The tools of a server are the server's choice.
        for (name, outline) in self.composed.collected.outlines().filter(|(_, one)| one.tools.is_empty()) {
            for element in outline.elements.iter().filter(|element| !used(&outline.namespace, element)) {
                let Some(place) = outline.find_declared(element).filter(|_| !self.is_part(element)) else {
                    continue;
                };
                let words = format!("`{element}` is accepted and returned by no listener");
                let fix = "under `accepts` or `returns` of a listener, or leave it out";
                let mut message =
                    Diagnostic::new(Code::ConfigUnusedElement, place.clone(), &words, Some(fix));
                if name != PAYLOADS {
                    message =
                        message.seeing(self.diagnostics.place(outline.named), "the schema is named here");
                }
                found.push((outline.named.start, message));
            }
        }
        self.found.extend(found);
    }

    /// Whether some schema refers to this element inside another element.
    fn is_part(&self, element: &str) -> bool {
        let mut texts =
            self.composed.collected.schemas.iter().map(|schema| String::from_utf8_lossy(&schema.text));
        texts.any(|text| {
            text.split("ref=").skip(1).any(|after| {
                let value =
                    after.get(1..).and_then(|rest| rest.split(['"', '\'']).next()).unwrap_or_default();
                value.rsplit(':').next() == Some(element)
            })
        })
    }
}
