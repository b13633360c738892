//! `xml`: actions are elements in the model's text, which the kit's extractor takes out.
//!
//! Quoted, cut or broken elements have no effect, and the model sees why. Prose next to an action is a thought.

use std::sync::Arc;

use systole_kit::extract::{
    Completion, ElementRole, ExtractEvent, ExtractedAction, Extractor, KnownElement, KnownNames, NameRepair,
    RepairKind, StreamEnd, TextProblem,
};
use systole_kit::schema::TextElements;
use systole_kit::{Payload, QName, namespaces};
use systole_workflow::CONVERGED;

use super::{AnswerAction, AnswerRepair, ReadAnswer, together, write_final, write_report};
use crate::contracts::AgentContracts;
use crate::failures::AgentFailure;
use crate::model::{self, EnoughCheck};
use crate::model_answer::HeardAnswer;
use crate::primitives::{self, PLAN};
use crate::prompt;
use crate::spec::{ActionLimit, AgentSpec, ThinkingRule};

/// What many models write in place of `<thinking>`, unless it is the name of an action or a final.
const THINK: &str = "think";

pub(super) fn read_answer(agent: &AgentSpec, contracts: &AgentContracts, heard: &HeardAnswer) -> ReadAnswer {
    let text = heard.joined_text();
    let events = extract_events(collect_names(agent, contracts), contracts, heard.stop, &text);
    let mut taken = EventReading::new(contracts, &text).read_events(agent, events);
    if prompt::is_copied(agent, contracts, &text) {
        taken = ReadAnswer::default();
        taken.add_failure("example-copied", "");
    }
    taken
}

/// The thoughts and plans of an answer that holds nothing else. Names of actions have no meaning in it.
pub(super) fn note_alone(
    agent: &AgentSpec,
    contracts: &AgentContracts,
    heard: &HeardAnswer,
) -> Option<ReadAnswer> {
    let text = heard.joined_text();
    let events = extract_events(
        KnownNames::new().with_element(build_own_element(agent)),
        contracts,
        heard.stop,
        &text,
    );
    let is_other = |event: &ExtractEvent| {
        matches!(
            event,
            ExtractEvent::Prose(_)
                | ExtractEvent::Action(_)
                | ExtractEvent::Completion(_)
                | ExtractEvent::Problem(_)
        )
    };
    if events.iter().any(is_other) {
        return None;
    }
    Some(EventReading::new(contracts, &text).read_events(agent, events)).filter(|taken| taken.is_note)
}

/// The first action in a text that begins a line, of an agent whose actions are native calls.
pub(super) fn find_action(agent: &AgentSpec, contracts: &AgentContracts, text: &str) -> Option<QName> {
    let events = extract_events(collect_names(agent, contracts), contracts, model::StopReason::Length, text);
    let actions = events.into_iter().filter_map(|event| match event {
        ExtractEvent::Action(action) => Some(*action),
        _ => None,
    });
    let begins_line = |action: &ExtractedAction| {
        let before = text.get(..action.span.start.offset).unwrap_or_default();
        before.rsplit('\n').next().is_none_or(|line| line.trim().is_empty())
    };
    let is_tool = |action: &ExtractedAction| action.role != ElementRole::Returns && !is_ending(action);
    actions
        .into_iter()
        .find(|action| is_tool(action) && begins_line(action))
        .map(|it| it.payload.name().clone())
}

fn extract_events(
    names: KnownNames,
    contracts: &AgentContracts,
    stop: model::StopReason,
    text: &str,
) -> Vec<ExtractEvent> {
    let stop = match stop {
        // An answer cut by us is complete up to the cut.
        model::StopReason::End | model::StopReason::Tool | model::StopReason::Cut => StreamEnd::End,
        model::StopReason::Length => StreamEnd::Length,
        model::StopReason::Filtered => StreamEnd::Broken,
    };
    let mut extractor = Extractor::new(names.into(), systole_kit::DocumentLimits::default());
    let mut events = Vec::new();
    extractor.push(text.as_bytes(), &mut events);
    // An element left open is reported among the problems.
    let _open = extractor.finish(stop, &mut |event| fits_schema(contracts, event), &mut events);
    events
}

/// Detects the end of the first action, or of the final if only a final is accepted. The text after it is not read.
/// The end is reported only if the same words mean the same without anything after them, for any pieces.
pub(super) fn build_check(agent: &AgentSpec, contracts: &AgentContracts, only_final: bool) -> EnoughCheck {
    let names: Arc<KnownNames> = collect_names(agent, contracts).into();
    let joined = together::list_elements(contracts);
    EnoughCheck::new(move || {
        let mut extractor = Extractor::new(Arc::clone(&names), systole_kit::DocumentLimits::default());
        let joined = joined.clone();
        let is_wanted = move |event: &ExtractEvent| match event {
            ExtractEvent::Completion(_) => true,
            // More of the same change set may follow.
            ExtractEvent::Action(action) if joined.contains(action.payload.name()) => false,
            ExtractEvent::Action(action) => !only_final || is_ending(action),
            _ => false,
        };
        Box::new(move |words| {
            let mut bytes = 0;
            // Everything that is complete ends with a `>`.
            words.split_inclusive('>').find_map(|part| {
                let mut events = Vec::new();
                extractor.push(part.as_bytes(), &mut events);
                bytes += part.len();
                events.iter().any(&is_wanted).then_some(bytes)
            })
        })
    })
}

/// Whether an action answers the agent's call.
fn is_ending(action: &ExtractedAction) -> bool {
    action.role == ElementRole::Returns || action.payload.name().is_named(namespaces::CORE, "final-report")
}

/// The names that mean something in the agent's text.
fn collect_names(agent: &AgentSpec, contracts: &AgentContracts) -> KnownNames {
    let mut names = KnownNames::new().with_element(build_own_element(agent));
    if agent.reads_as_before {
        names = names.with_text_behind_thinking();
    }
    if contracts.text_final().is_some() || contracts.finals.is_empty() || contracts.may_converge() {
        names = names.with_text_result();
    }
    if !contracts.has_element(THINK) {
        names = names.with_element(KnownElement::new(ElementRole::Thinking, "", THINK));
    }
    let report = KnownElement::new(ElementRole::Primitive, namespaces::CORE, "final-report");
    names = names.with_element(report.with_texts(Some(TextElements::new_text())));
    // Every extractor already knows plans.
    for primitive in primitives::list_known(agent, contracts).filter(|primitive| primitive.local != PLAN) {
        let known = KnownElement::new(ElementRole::Primitive, primitive.namespace, primitive.local);
        names = names.with_element(known.with_texts(primitive.text_elements()));
    }
    // Models put an action into a section as they see it in the prompt.
    names = prompt::sections::list_names(agent).fold(names, KnownNames::with_wrapper);
    for known in &contracts.finals {
        names = names.with_element(build_element(ElementRole::Returns, known));
    }
    for action in &contracts.actions {
        let known = build_element(ElementRole::Peer, &action.known);
        let known = if action.needs_approval { known.with_approval() } else { known };
        let known = if action.broadcast.is_empty() { known } else { known.for_all() };
        names = names.with_element(action.takers.iter().fold(known, |known, taker| known.taken_by(taker)));
    }
    names
}

/// The agent's own root tag.
fn build_own_element(agent: &AgentSpec) -> KnownElement {
    KnownElement::new(
        ElementRole::Own,
        &format!("https://xml-pipeline.org/ns/{}/v1", agent.name),
        &agent.name,
    )
}

/// Whether a payload whose end tag was added follows its schema, as far as our model of the schema can tell.
fn fits_schema(contracts: &AgentContracts, event: &ExtractEvent) -> bool {
    let action = match event {
        ExtractEvent::Action(action) => action,
        // A completion is words, and a plan's form was already checked.
        ExtractEvent::Completion(_) | ExtractEvent::Plan(_) => return true,
        _ => return false,
    };
    let actions = contracts.actions.iter().map(|action| &action.known);
    let known = actions.chain(&contracts.finals).find(|known| known.element == *action.payload.name());
    known.is_some_and(|known| known.model.explain_payload(action.payload.bytes()).is_none())
}

fn build_element(role: ElementRole, known: &crate::contracts::ElementModel) -> KnownElement {
    let made = KnownElement::new(role, &known.element.ns, &known.element.local);
    let made = made.with_texts(known.model.find_texts(&known.element.local));
    let made = if known.is_qualified() { made } else { made.without_namespace() };
    if known.has_attribute("to") { made.with_own_to() } else { made }
}

struct EventReading<'a> {
    contracts: &'a AgentContracts,
    text: &'a str,
    taken: ReadAnswer,
    /// Whether it is read as by earlier versions.
    as_before: bool,
    prose: Vec<String>,
    thinks: bool,
    /// Whether tags hold a thought or a plan.
    notes: bool,
    /// Fixes of the next action, completion or plan.
    repairs: Vec<AgentFailure>,
}

impl<'a> EventReading<'a> {
    fn new(contracts: &'a AgentContracts, text: &'a str) -> Self {
        let (prose, repairs) = (Vec::new(), Vec::new());
        let (taken, as_before) = (ReadAnswer::default(), false);
        Self { contracts, text, taken, as_before, prose, thinks: false, notes: false, repairs }
    }

    fn read_events(mut self, agent: &AgentSpec, events: Vec<ExtractEvent>) -> ReadAnswer {
        self.as_before = agent.reads_as_before;
        events.into_iter().for_each(|event| self.read_event(event));
        self.finish(agent)
    }

    fn read_event(&mut self, event: ExtractEvent) {
        match event {
            ExtractEvent::Live(_) => {}
            ExtractEvent::Thinking(span) => {
                self.thinks = true;
                let inside = self.text.get(span.start.offset..span.end).unwrap_or_default();
                self.taken.thoughts.extend(Some(inside.trim().to_owned()).filter(|it| !it.is_empty()));
            }
            ExtractEvent::Thought(thought) => {
                self.assign_repairs(None);
                self.notes = true;
                self.taken.thoughts.extend(Some(thought.text).filter(|text| !text.is_empty()));
            }
            ExtractEvent::Plan(plan) => {
                self.assign_repairs(None);
                self.notes = true;
                self.taken.plans.push(plan.payload);
            }
            ExtractEvent::Prose(span) => {
                self.prose.extend(self.text.get(span.start.offset..span.end).map(str::to_owned));
            }
            ExtractEvent::Action(action) => self.take_action(*action),
            ExtractEvent::Completion(completion) => self.take_completion(&completion),
            ExtractEvent::Repair(repaired) => {
                if let Some(slug) = repaired.repair.slug() {
                    self.repairs.extend(AgentFailure::from_slug(slug.as_str(), repair_told(&repaired)));
                }
            }
            ExtractEvent::Problem(problem) => {
                let reason = AgentFailure::from_slug(problem.slug.as_str(), describe_problem(&problem));
                let about = problem.element.clone();
                let line = Some(problem.place.line);
                self.taken.reasons.extend(reason.map(|reason| AgentFailure { about, line, ..reason }));
            }
        }
    }

    /// Assigns the preceding fixes to this item.
    fn assign_repairs(&mut self, act: Option<usize>) {
        let repairs = self.repairs.drain(..).map(|reason| AnswerRepair { reason, act });
        self.taken.repairs.extend(repairs);
    }

    fn take_action(&mut self, action: ExtractedAction) {
        let is_report = action.payload.name().is_named(namespaces::CORE, "final-report");
        if is_report {
            return self.take_ending(take_own_report(action.payload));
        }
        if action.role == ElementRole::Returns {
            self.taken.ending_origin = Some(action.origin);
            return self.take_ending(Some(action.payload));
        }
        self.assign_repairs(Some(self.taken.acts.len()));
        self.taken.acts.push(AnswerAction {
            to: action.to,
            thread: action.thread,
            name: action.payload.name().local.to_string(),
            payload: action.payload,
            call: None,
            origin: Some(action.origin),
            is_task: false,
            parts: Vec::new(),
        });
    }

    fn take_completion(&mut self, completion: &Completion) {
        let words = completion.text.as_deref().unwrap_or(&completion.markup);
        if self.contracts.is_ended_by(words) {
            return self.mark_converged();
        }
        if self.contracts.text_final().is_none() && !self.contracts.finals.is_empty() {
            let finals: Vec<String> =
                self.contracts.finals.iter().map(|known| format!("<{}>", known.element.local)).collect();
            self.repairs.clear();
            let words =
                format!("Your final is {}; write it in place of <attempt_completion>.", finals.join(" or "));
            return self.taken.add_failure("slot-mismatch", words);
        }
        self.take_ending(write_final(self.contracts, words, "success"));
    }

    /// The answer is the word that ends the loop of the goal.
    fn mark_converged(&mut self) {
        let output = self.contracts.goal.as_ref().and_then(|goal| goal.write_output(CONVERGED, true));
        self.take_ending(output);
    }

    fn take_ending(&mut self, payload: Option<Payload>) {
        if self.taken.ending.is_some() {
            self.repairs.clear();
            let slug = if self.as_before { "second-action" } else { "second-final" };
            return self.taken.add_failure(slug, "The first one was taken.");
        }
        self.assign_repairs(None);
        self.taken.ending = payload;
    }

    fn finish(mut self, agent: &AgentSpec) -> ReadAnswer {
        let says_nothing_else = self.taken.acts.is_empty() && self.taken.ending.is_none();
        if says_nothing_else && self.contracts.is_ended_by(&self.prose.concat()) {
            self.prose.clear();
            self.taken.reasons.retain(|reason| reason.failure.slug != "prose-only");
            self.mark_converged();
        }
        together::join_changes(self.contracts, &mut self.taken);
        let most = if agent.actions == ActionLimit::One { 1 } else { crate::limits::ACTIONS };
        if self.taken.acts.len() > most {
            self.taken.acts.truncate(most);
            self.taken.repairs.retain(|repair| repair.act.is_none_or(|act| act < most));
            let slug = if agent.actions == ActionLimit::One { "second-action" } else { "too-many-actions" };
            self.taken.add_failure(slug, "");
        }
        let acts = !self.taken.acts.is_empty() || self.taken.ending.is_some();
        self.taken.is_note = self.notes && !acts && self.taken.reasons.is_empty();
        if acts || self.taken.is_note {
            self.taken.thoughts.append(&mut self.prose);
        }
        if acts && agent.thinking == ThinkingRule::Required && !self.thinks {
            self.taken.add_failure("thinking-missing", "");
        }
        self.taken
    }
}

/// A report written by the model always names a model as its source. A report that does not follow its schema stays
/// as it is and is refused.
fn take_own_report(payload: Payload) -> Option<Payload> {
    let told = |name: &str| payload.find_attribute(name);
    match (told("source"), told("outcome"), payload.parse_child()) {
        (Some(_), Some(outcome), Err(_)) => {
            write_report("model", &outcome, told("reason").as_deref(), &payload.text())
        }
        _ => Some(payload),
    }
}

/// The message to the model about a fix.
fn repair_told(repaired: &NameRepair) -> String {
    match repaired.repair {
        RepairKind::EndTag => {
            format!("{} was added, and the element was executed. Do not send it again.", repaired.meant)
        }
        RepairKind::Fence => format!("It is <{}>.", repaired.meant),
        RepairKind::Verbatim => {
            format!("It is the text of <{}> at line {}.", repaired.written, repaired.place.line)
        }
        _ => format!("You wrote <{}>; it was read as <{}>.", repaired.written, repaired.meant),
    }
}

/// The message to the model about a problem in its text.
fn describe_problem(problem: &TextProblem) -> String {
    let (line, column) = (problem.place.line.to_string(), problem.place.column.to_string());
    let mut words = format!("Line {line}, column {column} of your answer: {}.", problem.message);
    words.extend(problem.expected.as_ref().map(|expected| format!("\nExpected: {expected}")));
    words.extend(problem.fix.as_ref().map(|fix| format!("\nTry: {fix}")));
    if !problem.near.is_empty() {
        words.extend(["\nDid you mean: ", &problem.near.join(", "), "?"]);
    }
    words
}
