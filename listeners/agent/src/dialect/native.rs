//! `native`: actions are the model's native calls. An answer without a call is the final.
//!
//! A call becomes a payload by the schema of its element, without coercion. A call that does not follow the schema
//! fails, and its model sees why. Cut-off calls are never executed.

use std::collections::BTreeSet;

use systole_kit::schema::find_nearest;
use systole_kit::{Payload, QName};

use super::{AnswerAction, ReadAnswer, TurnRules, goals, json_schema, together, xml};
use crate::contracts::AgentContracts;
use crate::failures::AgentFailure;
use crate::model::{NativeCall, StopReason};
use crate::model_answer::HeardAnswer;
use crate::primitives::{self, PLAN};
use crate::prompt::{self, NativeTool, ToolMeaning};
use crate::show::describe_slip;
use crate::spec::{ActionLimit, AgentSpec, OutputFormat};

pub(super) fn read_answer(
    agent: &AgentSpec,
    contracts: &AgentContracts,
    heard: &HeardAnswer,
    allowed: TurnRules<'_>,
) -> ReadAnswer {
    let written = find_written_call(agent, contracts, &heard.joined_text(), allowed);
    if heard.calls().next().is_some() {
        let mut taken = read_calls(agent, contracts, heard);
        taken.reasons.extend(written);
        return taken;
    }
    let mut taken = ReadAnswer::default();
    match written {
        Some(written) => taken.reasons.push(written),
        None => read_final(agent, contracts, heard, allowed, &mut taken),
    }
    taken
}

/// The fault of a text that has a tool as an element, outside of quotes, on a line of its own.
pub(super) fn find_written_call(
    agent: &AgentSpec,
    contracts: &AgentContracts,
    text: &str,
    allowed: TurnRules<'_>,
) -> Option<AgentFailure> {
    let element = xml::find_action(agent, contracts, text).filter(|_| allowed.refuses_more())?;
    let reason = AgentFailure::from_slug("unknown-action", describe_written(contracts, &element))?;
    Some(AgentFailure { about: Some(element.local.to_string()), ..reason })
}

/// What the model must do instead of writing a tool as an element.
pub(super) fn describe_written(contracts: &AgentContracts, element: &QName) -> String {
    let tools = prompt::list_native(contracts);
    let is_meant = |native: &&NativeTool| match &native.means {
        ToolMeaning::Peer { action, .. } => {
            contracts.actions.get(*action).is_some_and(|action| action.known.element == *element)
        }
        ToolMeaning::Core(primitive) => {
            (primitive.namespace, primitive.local) == (&*element.ns, &*element.local)
        }
    };
    let names: Vec<String> =
        tools.iter().filter(is_meant).map(|native| format!("`{}`", native.tool.name)).collect();
    let tool = if names.is_empty() { String::new() } else { format!(" {}", names.join(" or ")) };
    format!(
        "{} is a native call: call the tool{tool} instead of writing an element. Put markup that you only \
         quote into a code fence.",
        element.local
    )
}

/// The calls of an answer that has some.
pub(super) fn read_calls(agent: &AgentSpec, contracts: &AgentContracts, heard: &HeardAnswer) -> ReadAnswer {
    let mut taken = ReadAnswer::default();
    let text = heard.joined_text();
    if !text.trim().is_empty() {
        taken.thoughts.push(text.trim().to_owned());
    }
    if heard.stop == StopReason::Length {
        // The last call may be cut, with arguments that are complete by chance.
        taken.add_failure("output-truncated", "");
        let failed = heard.calls().filter_map(|call| find_failure(call, "output-truncated", ""));
        taken.failed_calls = failed.collect();
        return taken;
    }
    let tools = prompt::list_native(contracts);
    let mut ids = BTreeSet::new();
    for call in heard.calls() {
        let act = if !ids.insert(call.id.clone()) {
            Err(AgentFailure::from_slug("tool-payload-invalid", "Two calls of this answer have one id."))
        } else if taken.acts.len() + taken.plans.len() >= crate::limits::ACTIONS {
            Err(AgentFailure::from_slug("too-many-actions", ""))
        } else {
            read_call(contracts, &tools, call)
        };
        match act {
            // A plan is recorded with the note and gets no other answer.
            Ok(act) if act.payload.name().is_named(systole_kit::namespaces::CORE, PLAN) => {
                taken.planned_calls.push(call.id.clone());
                taken.plans.push(act.payload);
            }
            Ok(act) => taken.acts.push(act),
            Err(reason) => taken.failed_calls.extend(reason.map(|reason| (call.id.clone(), reason))),
        }
    }
    together::join_changes(contracts, &mut taken);
    if agent.actions == ActionLimit::One {
        let beyond = taken.acts.split_off(taken.acts.len().min(1));
        let calls = beyond.into_iter().flat_map(|act| act.into_calls());
        let failed = calls.filter_map(|call| Some((call, AgentFailure::from_slug("too-many-actions", "")?)));
        taken.failed_calls.extend(failed);
    }
    let told = taken.failed_calls.iter().map(|(_, reason)| reason.clone());
    taken.reasons.extend(told);
    taken
}

fn find_failure(call: &NativeCall, slug: &str, words: &str) -> Option<(String, AgentFailure)> {
    Some((call.id.clone(), AgentFailure::from_slug(slug, words)?))
}

fn read_final(
    agent: &AgentSpec,
    contracts: &AgentContracts,
    heard: &HeardAnswer,
    allowed: TurnRules<'_>,
    taken: &mut ReadAnswer,
) {
    let text = &*heard.answer_text();
    if text.trim().is_empty() {
        return taken
            .add_failure(if heard.has_reasoning() { "reasoning-only" } else { "empty-response" }, "");
    }
    if heard.stop == StopReason::Length {
        return taken.add_failure("output-truncated", "");
    }
    let text = &*match agent.output.schema.as_deref() {
        Some(schema) if contracts.json_final().is_none() => json_schema::drop_missing(schema, text),
        _ => text.into(),
    };
    if agent.output.format == OutputFormat::Json && contracts.json_final().is_none() {
        let (json, was_fenced) =
            if allowed.takes_more() { goals::strip_fence(text) } else { (text.trim(), false) };
        let value: serde_json::Value = match serde_json::from_str(json) {
            Ok(value) => value,
            Err(error) => return taken.add_failure("json-required", json_schema::describe_unread(&error)),
        };
        let schema = agent.output.schema.as_ref();
        if let Some(words) = schema.and_then(|schema| json_schema::check_value(schema, &value).err()) {
            return taken.add_failure("json-schema", words);
        }
        goals::note_fence(was_fenced, taken);
        return goals::take_final(contracts, json, taken);
    }
    goals::take_final(contracts, text, taken);
}

fn read_call(
    contracts: &AgentContracts,
    tools: &[NativeTool],
    call: &NativeCall,
) -> Result<AnswerAction, Option<AgentFailure>> {
    let Some(native) = tools.iter().find(|native| native.tool.name == call.name) else {
        let names: Vec<&str> = tools.iter().map(|native| native.tool.name.as_str()).collect();
        let words = match find_nearest(&call.name, names.iter().copied()) {
            Some(near) => format!("`{}` is not a tool; did you mean `{near}`?", call.name),
            None => format!("`{}` is not a tool; there are: {}", call.name, names.join(", ")),
        };
        let reason = AgentFailure::from_slug("unknown-action", words);
        return Err(reason.map(|reason| AgentFailure { about: Some(call.name.clone()), ..reason }));
    };
    let invalid = |words: String| AgentFailure::from_slug("tool-payload-invalid", words);
    // Several models send nothing at all if there are no arguments.
    let arguments = if call.arguments.trim().is_empty() { "{}" } else { call.arguments.as_str() };
    let made = |to, payload| {
        let (name, call) = (call.name.clone(), Some(call.id.clone()));
        AnswerAction {
            to,
            payload,
            name,
            call,
            thread: None,
            origin: None,
            is_task: false,
            parts: Vec::new(),
        }
    };
    let (at, to) = match &native.means {
        ToolMeaning::Peer { action, to } => (*action, to),
        ToolMeaning::Core(primitive) => {
            let named = tools.iter().filter_map(|native| {
                Some((native.tool.name.as_str(), prompt::find_spawnable(contracts, native)?))
            });
            let built = primitives::build_payload(primitive, arguments, &named.collect::<Vec<_>>());
            return built.map(|payload| made(None, payload)).map_err(invalid);
        }
    };
    let Some(action) = contracts.actions.get(at) else { return Err(invalid(String::new())) };
    let local = &action.known.element.local;
    let built = action.known.model.from_json_text(local, arguments.as_bytes());
    let bytes = match built {
        Some(Ok(bytes)) => bytes,
        Some(Err(slips)) => {
            let words: Vec<String> = slips.iter().map(describe_slip).collect();
            return Err(invalid(words.join("\n")));
        }
        None => return Err(invalid(String::new())),
    };
    let payload = Payload::parse(&bytes, &systole_kit::DocumentLimits::default());
    let payload = payload.map_err(|fault| invalid(fault.to_string()))?;
    Ok(made(to.clone(), payload))
}
