//! Paths into earlier outputs: `request/question`, `plan/step/name`, `evaluate[critic]/score`.
//!
//! Input: a text of the file and a scope. Output: the path with its target, or a report of its first unknown word,
//! with the most similar known one.

use systole_kit::schema::{PayloadPart, PayloadPartKind, find_nearest};
use systole_workflow::spec;

use super::super::diagnostics::Diagnostics;
use super::super::names::one_of;
use super::super::tree::Span;
use super::super::value::At;
use super::scope::{Gives, Known, Scope};
use super::step_order::StepOrder;
use super::steps::REQUEST;
use systole_core::types::codes::Code;

/// The target of a path.
pub(super) enum Leads<'m> {
    /// An element or an attribute.
    Part(PayloadPart<'m>),
    /// A person's choice: one of these.
    Choice(Vec<At<String>>),
    /// Text.
    Words,
    /// No output, only inner steps.
    Group,
    /// Unknown, because of a mistake that was already reported.
    Unknown,
}

/// A resolved path.
pub(super) struct Found<'s, 'm> {
    pub(super) path: spec::Path,
    pub(super) known: &'s Known<'m>,
    pub(super) leads: Leads<'m>,
    /// The index of its first field that may repeat.
    pub(super) list: Option<usize>,
    /// Whether any field before the last one may repeat.
    pub(super) is_nested_list: bool,
    /// Whether any field before the last one is optional.
    pub(super) is_in_optional: bool,
}

/// A written path, split into its parts.
struct Written<'p> {
    goal: (&'p str, Span),
    agent: Option<(&'p str, Span)>,
    fields: Vec<(&'p str, Span)>,
}

/// Resolves a path. `place` is its description for people.
pub(super) fn find<'s, 'm>(
    diagnostics: &mut Diagnostics,
    scope: &'s Scope<'m>,
    order: &StepOrder,
    named: &At<String>,
    place: &str,
) -> Option<Found<'s, 'm>> {
    let written = taken_apart(diagnostics, named, place)?;
    let Some(known) = scope.find(written.goal.0) else {
        unknown_goal(diagnostics, scope, order, &written, place);
        return None;
    };
    let agent = agent_of(diagnostics, known, &written, place).ok()?;
    let path = spec::Path {
        goal: known.id.clone(),
        agent,
        fields: written.fields.iter().map(|(field, _)| (*field).to_owned()).collect(),
    };
    let Inside { leads, list, is_nested_list, is_in_optional } =
        inside(diagnostics, scope, known, &written, place)?;
    Some(Found { path, known, leads, list, is_nested_list, is_in_optional })
}

fn taken_apart<'p>(diagnostics: &mut Diagnostics, named: &'p At<String>, place: &str) -> Option<Written<'p>> {
    let text = named.value.as_str();
    let file = diagnostics.text();
    // The parts of a quoted text have no places of their own.
    let is_as_written = file.get(named.at.start..named.at.end) == Some(text);
    let span = |part: &str| {
        let offset = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        match is_as_written {
            true => Span { start: named.at.start + offset, end: named.at.start + offset + part.len() },
            false => named.at,
        }
    };
    let mut parts = text.split('/');
    let head = parts.next().unwrap_or_default();
    let (goal, agent) = match head.split_once('[') {
        Some((goal, rest)) => (goal, Some(rest.strip_suffix(']').unwrap_or(""))),
        None => (head, None),
    };
    let is_word = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    let fields: Vec<(&str, Span)> =
        parts.map(|part| part.strip_prefix('@').unwrap_or(part)).map(|part| (part, span(part))).collect();
    let is_path = is_word(goal)
        && !goal.contains('.')
        && agent.is_none_or(is_word)
        && fields.iter().all(|(field, _)| is_word(field));
    if !is_path {
        let bare = text.trim_matches(['$', '{', '}', ' ', '/']).replace(['.', ' '], "/");
        let fix = if is_word(&bare.replace('/', "-")) && bare != text {
            bare
        } else {
            "GOAL/FIELD, as request/name".to_owned()
        };
        let message = format!("{place}: `{text}` is no path");
        diagnostics.report_value(named.at, &message, &fix);
        return None;
    }
    Some(Written { goal: (goal, span(goal)), agent: agent.map(|agent| (agent, span(agent))), fields })
}

fn unknown_goal(
    diagnostics: &mut Diagnostics,
    scope: &Scope<'_>,
    order: &StepOrder,
    written: &Written<'_>,
    place: &str,
) {
    let (goal, at) = written.goal;
    if order.is_unread(goal) {
        return;
    }
    if let Some(other) = order.place_of(goal) {
        let why = order.why_unseen(goal);
        let message = format!("{place}: `{goal}` {why}");
        let fix = "a goal that is done before, or this step behind it";
        return diagnostics.report_beside(
            Code::ConfigUnknownName,
            at,
            &message,
            fix,
            (other, "it stands here"),
        );
    }
    let known = || std::iter::once(REQUEST).chain(scope.known.iter().map(|known| known.id.as_str()));
    let message = format!("{place}: no goal before this has the id `{goal}`");
    let fix = find_nearest(goal, known())
        .or_else(|| find_nearest(goal, order.ids()))
        .map_or_else(|| one_of(known()), str::to_owned);
    diagnostics.report(Code::ConfigUnknownName, at, &message, &fix);
}

/// The agent that a path names, if any. Only a goal with several agents can have one in its path.
fn agent_of(
    diagnostics: &mut Diagnostics,
    known: &Known<'_>,
    written: &Written<'_>,
    place: &str,
) -> Result<Option<String>, Reported> {
    let agents = || known.agents.iter().map(String::as_str);
    match &written.agent {
        None => Ok(None),
        Some((agent, at)) if known.agents.is_empty() => {
            let message =
                format!("{place}: `{}` has one output, and `[{agent}]` names one of several", known.id);
            diagnostics.report_beside(
                Code::ConfigUnknownName,
                *at,
                &message,
                &known.id,
                (known.at, "the goal"),
            );
            Err(Reported)
        }
        Some((agent, at)) => {
            if agents().any(|known| known == *agent) {
                return Ok(Some((*agent).to_owned()));
            }
            let message = format!("{place}: `{agent}` does not pursue `{}`", known.id);
            let fix = find_nearest(agent, agents()).map_or_else(|| one_of(agents()), str::to_owned);
            diagnostics.report_beside(Code::ConfigUnknownName, *at, &message, &fix, (known.at, "the goal"));
            Err(Reported)
        }
    }
}

/// The mistake was already reported.
struct Reported;

/// The target of a path's fields; the parts are as in `Found`.
struct Inside<'m> {
    leads: Leads<'m>,
    list: Option<usize>,
    is_nested_list: bool,
    is_in_optional: bool,
}

impl<'m> Inside<'m> {
    fn one(leads: Leads<'m>) -> Inside<'m> {
        Inside { leads, list: None, is_nested_list: false, is_in_optional: false }
    }
}

/// Resolves the fields of a path.
fn inside<'m>(
    diagnostics: &mut Diagnostics,
    scope: &Scope<'m>,
    known: &Known<'m>,
    written: &Written<'_>,
    place: &str,
) -> Option<Inside<'m>> {
    let first = written.fields.first().copied();
    let nothing_inside = |diagnostics: &mut Diagnostics, why: String, fix: &str| {
        if let Some((_, at)) = first {
            diagnostics.report_beside(Code::ConfigUnknownName, at, &why, fix, (known.at, "the goal"));
        }
    };
    let id = &known.id;
    let leads = match (&known.gives, first) {
        (Gives::Payloads(roots), _) => return payload(diagnostics, scope, known, roots, written, place),
        (Gives::Unknown, _) => Leads::Unknown,
        (Gives::Choice(choices), Some(("choice", _))) if written.fields.len() == 1 => {
            Leads::Choice(choices.clone())
        }
        (Gives::Choice(_), Some(("note", _))) if written.fields.len() == 1 => Leads::Words,
        (Gives::Choice(_), Some((field, _))) => {
            let message = format!("{place}: `{field}` is not a field of what a person answers at `{id}`");
            nothing_inside(diagnostics, message, "choice or note");
            return None;
        }
        (Gives::Words, Some(_)) => {
            let message = format!("{place}: `{id}` gives text, which has no fields");
            nothing_inside(
                diagnostics,
                message,
                &format!("gives: PAYLOAD at `{id}`, a payload with that field"),
            );
            return None;
        }
        (Gives::Group(steps), Some((field, _))) => {
            let message = format!("{place}: `{id}` holds steps, and a path begins with one of them");
            let fix = match steps.as_slice() {
                [only] if only != field => format!("{only}/{field}"),
                _ if steps.iter().any(|step| step == field) => field.to_owned(),
                _ => one_of(steps.iter().map(String::as_str)),
            };
            nothing_inside(diagnostics, message, &fix);
            return None;
        }
        (Gives::Nothing, Some(_)) => {
            nothing_inside(
                diagnostics,
                format!("{place}: `{id}` only waits and gives nothing"),
                "another goal",
            );
            return None;
        }
        (Gives::Several, Some(_)) => {
            let message = format!("{place}: what `{id}` calls may answer with one of several elements");
            nothing_inside(diagnostics, message, "a listener that returns one element");
            return None;
        }
        (Gives::Words | Gives::Choice(_) | Gives::Several, None) => Leads::Words,
        (Gives::Group(_) | Gives::Nothing, None) => Leads::Group,
    };
    Some(Inside::one(leads))
}

fn payload<'m>(
    diagnostics: &mut Diagnostics,
    scope: &Scope<'m>,
    known: &Known<'m>,
    roots: &[PayloadPart<'m>],
    written: &Written<'_>,
    place: &str,
) -> Option<Inside<'m>> {
    // With several possible payloads, the first one that has the field is used. In the others the field is absent.
    let has_first = |root: &&PayloadPart<'m>| {
        written.fields.first().is_none_or(|(field, _)| root.find_part(field).is_some())
    };
    let Some(root) = roots.iter().find(has_first).or(roots.first()) else {
        return Some(Inside::one(Leads::Unknown));
    };
    let mut part = root.clone();
    let (mut list, mut is_nested_list, mut is_in_optional) = (None, false, false);
    let mut way: Vec<String> = Vec::new();
    for (nth, (field, at)) in written.fields.iter().enumerate() {
        let Some(next) = part.find_part(field) else {
            unknown_field(diagnostics, &part, (field, *at), known, place);
            return None;
        };
        way.push((*field).to_owned());
        let is_last = nth + 1 == written.fields.len();
        is_in_optional |= next.least() == 0 && !is_last;
        if next.is_list() && !scope.is_item(&known.id, &way) {
            is_nested_list |= !is_last;
            list.get_or_insert(nth);
        }
        part = next;
    }
    Some(Inside { leads: Leads::Part(part), list, is_nested_list, is_in_optional })
}

fn unknown_field(
    diagnostics: &mut Diagnostics,
    part: &PayloadPart<'_>,
    (field, at): (&str, Span),
    known: &Known<'_>,
    place: &str,
) {
    let parts = part.parts();
    let names = || parts.iter().map(PayloadPart::name);
    let message = format!("{place}: `{field}` is not a field of `{}`", part.name());
    let fix = match (find_nearest(field, names()), part.kind()) {
        (Some(near), _) => near.to_owned(),
        (None, PayloadPartKind::Parts) if !parts.is_empty() => one_of(names()),
        (None, _) => format!("the path without it: `{}` has no fields", part.name()),
    };
    diagnostics.report_beside(Code::ConfigUnknownName, at, &message, &fix, (known.at, "the goal"));
}
