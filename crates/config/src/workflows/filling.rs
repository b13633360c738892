//! Builds the payload of a call from earlier outputs: each field of its schema, in schema order, with the path of its
//! value.
//!
//! Input: the written `with` and the called element. Output: the fields, or a report of each field that is missing,
//! unknown, or of another type.

use systole_kit::schema::{PayloadPart, PayloadPartKind, SchemaModel, find_nearest};
use systole_workflow::call_payload;
use systole_workflow::spec::{CallStep, Path, PayloadField, ValueSource};

use super::super::diagnostics::Diagnostics;
use super::super::names::one_of;
use super::super::tree::Span;
use super::super::value::At;
use super::paths::{self, Found, Leads};
use super::scope::{Gives, Scope};
use super::step_order::StepOrder;
use super::step_values::With;
use systole_core::types::codes::Code;

/// The name of an element's own text.
const OWN_TEXT: &str = PayloadField::OWN_TEXT;

/// The element to fill, and the place for reports.
pub(super) struct Target<'t> {
    /// The called element.
    pub(super) element: &'t PayloadPart<'t>,
    /// The place of `with`, or of the step if there is no `with`.
    pub(super) at: Span,
    /// The name of that place, for people.
    pub(super) place: &'t str,
}

/// The fields of a call.
pub(super) fn fields(
    diagnostics: &mut Diagnostics,
    scope: &Scope<'_>,
    order: &StepOrder,
    with: &[With],
    target: &Target<'_>,
) -> Vec<PayloadField> {
    let before = diagnostics.mistakes();
    let slots = slots(target.element);
    let mut is_whole = true;
    let mut filled: Vec<(String, ValueSource)> = Vec::new();
    for one in with {
        match one {
            With::Unread => is_whole = false,
            With::Goal(goal) => filled.extend(copy_fields(diagnostics, scope, order, goal, &slots, target)),
            With::Path { field, path } => {
                let Some(slot) = slot(diagnostics, field, &slots, target) else { continue };
                let place = format!("{}.{}", target.place, field.value);
                if let Some(found) = paths::find(diagnostics, scope, order, path, &place)
                    && goes_into(diagnostics, scope, &found, slot, path.at, &place)
                {
                    filled.push((slot.name.to_owned(), ValueSource::Path(found.path)));
                }
            }
            With::Text { field, text } => {
                let Some(slot) = slot(diagnostics, field, &slots, target) else { continue };
                if let Some(fault) = slot.part.find_fault(&text.value) {
                    let message = format!("{}.{}: {fault}", target.place, field.value);
                    diagnostics.report_value(text.at, &message, "a value that the field can have");
                }
                filled.push((slot.name.to_owned(), ValueSource::Text(text.value.clone())));
            }
        }
    }
    // Missing fields are reported only if there are no other mistakes, which may be their cause.
    if is_whole && diagnostics.mistakes() == before {
        missing(diagnostics, &slots, &filled, target);
    }
    let field = |slot: &Slot<'_>| {
        let (_, source) = filled.iter().find(|(name, _)| name == slot.name)?;
        Some(PayloadField {
            name: slot.name.to_owned(),
            is_attribute: slot.part.is_attribute(),
            is_optional: slot.least == 0,
            source: source.clone(),
        })
    };
    slots.iter().filter_map(field).collect()
}

/// Checks that the fields of a call can make a valid payload, with values that each of them can have. Optional fields may
/// be absent, so one of several payloads is enough.
pub(super) fn prove(
    diagnostics: &mut Diagnostics,
    call: &CallStep,
    model: &SchemaModel,
    target: &Target<'_>,
) {
    let values = |field: &PayloadField| match &field.source {
        ValueSource::Text(text) => Some(vec![text.clone()]),
        ValueSource::Path(_) => {
            let slots = slots(target.element);
            let slot = slots.iter().find(|slot| slot.name == field.name)?;
            Some(vec![slot.part.sample()?; usize::try_from(slot.least.max(1)).ok()?])
        }
    };
    let samples: Option<Vec<_>> = call.fields.iter().map(|field| Some((field, values(field)?))).collect();
    let Some(samples) = samples else { return };
    let is_optional =
        |field: &PayloadField| field.is_optional && matches!(field.source, ValueSource::Path(_));
    let with_one = |one: Option<&PayloadField>| {
        let is_there = |field: &PayloadField| !is_optional(field) || one == Some(field);
        samples.iter().filter(|(field, _)| is_there(field)).cloned().collect()
    };
    let one_by_one = call.fields.iter().filter(|field| is_optional(field)).map(|field| with_one(Some(field)));
    let mut all = [samples.clone(), with_one(None)].into_iter().chain(one_by_one);
    let fault = |values: &Vec<(&PayloadField, Vec<String>)>| {
        call_payload(call, values).map(|payload| model.explain_payload(payload.bytes()))
    };
    if all.any(|values| fault(&values) == Some(None)) {
        return;
    }
    let why = fault(&samples).flatten().map(|finding| format!(": {}: {}", finding.path, finding.message));
    let local = &call.element.local;
    let message =
        format!("{}: these fields make no valid `{local}`{}", target.place, why.unwrap_or_default());
    let fix = format!("the fields of one valid `{local}`");
    diagnostics.report_value(target.at, &message, &fix);
}

/// A field of the payload that can be filled.
struct Slot<'t> {
    name: &'t str,
    part: PayloadPart<'t>,
    least: u32,
    is_list: bool,
}

/// The fields of an element. Its own text has the name `.`.
fn slots<'t>(element: &'t PayloadPart<'t>) -> Vec<Slot<'t>> {
    let parts = element.parts().into_iter().map(|part| Slot {
        name: part.name(),
        least: part.least(),
        is_list: part.is_list(),
        part,
    });
    let mut slots: Vec<Slot<'t>> = parts.collect();
    if element.kind() != PayloadPartKind::Parts {
        slots.push(Slot { name: OWN_TEXT, part: element.clone(), least: 1, is_list: false });
    }
    slots
}

fn slot<'s, 't>(
    diagnostics: &mut Diagnostics,
    field: &At<String>,
    slots: &'s [Slot<'t>],
    target: &Target<'_>,
) -> Option<&'s Slot<'t>> {
    let names = || slots.iter().map(|slot| slot.name);
    if let Some(found) = slots.iter().find(|slot| slot.name == field.value) {
        if found.part.kind() != PayloadPartKind::Parts {
            return Some(found);
        }
        let message = format!(
            "{}: `{}` contains further elements, and only single values are filled",
            target.place, field.value
        );
        diagnostics.report_value(
            field.at,
            &message,
            "an agent that `gives` the payload whole, and a listener that takes it",
        );
        return None;
    }
    let message =
        format!("{}: `{}` is not a field of `{}`", target.place, field.value, target.element.name());
    let fix = find_nearest(&field.value, names()).map_or_else(|| one_of(names()), str::to_owned);
    diagnostics.report(Code::ConfigUnknownName, field.at, &message, &fix);
    None
}

/// The fields of a goal's output with the same names.
fn copy_fields(
    diagnostics: &mut Diagnostics,
    scope: &Scope<'_>,
    order: &StepOrder,
    goal: &At<String>,
    slots: &[Slot<'_>],
    target: &Target<'_>,
) -> Vec<(String, ValueSource)> {
    let Some(found) = paths::find(diagnostics, scope, order, goal, target.place) else { return Vec::new() };
    let mut filled = Vec::new();
    match (&found.leads, &found.known.gives) {
        (Leads::Unknown, _) => return Vec::new(),
        (Leads::Part(source), _) if source.kind() == PayloadPartKind::Parts => {
            if let [only] = slots
                && only.name == OWN_TEXT
            {
                let message = format!(
                    "{}: `{}` has fields, and `{}` is one value",
                    target.place,
                    goal.value,
                    target.element.name()
                );
                let first = source.parts().first().map_or("FIELD", PayloadPart::name);
                let fix = format!("with: {}/{first}, or another of its fields", goal.value);
                diagnostics.report_value(goal.at, &message, &fix);
            }
            for slot in slots {
                let Some(field) = source.find_part(slot.name) else { continue };
                let mut path = found.path.clone();
                path.fields.push(slot.name.to_owned());
                let is_list = field.is_list() || found.list.is_some() || is_several(scope, &found);
                if fits(diagnostics, &field, is_list, slot, goal.at, target.place) {
                    filled.push((slot.name.to_owned(), ValueSource::Path(path)));
                }
            }
        }
        (Leads::Words, Gives::Choice(_)) if found.path.fields.is_empty() => {
            for name in ["choice", "note"] {
                if slots.iter().any(|slot| slot.name == name) {
                    let path = Path { fields: vec![name.to_owned()], ..found.path.clone() };
                    filled.push((name.to_owned(), ValueSource::Path(path)));
                }
            }
        }
        (Leads::Words | Leads::Part(_) | Leads::Choice(_), _) => {
            let own = slots.iter().find(|slot| slot.name == OWN_TEXT);
            if let Some(slot) = own.filter(|_| target.element.parts().is_empty()) {
                if goes_into(diagnostics, scope, &found, slot, goal.at, target.place) {
                    filled.push((OWN_TEXT.to_owned(), ValueSource::Path(found.path.clone())));
                }
            } else {
                let message = format!(
                    "{}: `{}` gives one value, and `{}` has fields",
                    target.place,
                    goal.value,
                    target.element.name()
                );
                let first = slots.first().map_or("field", |slot| slot.name);
                diagnostics.report_value(goal.at, &message, &format!("with: {{{first}: {}}}", goal.value));
            }
        }
        (Leads::Group, _) => {
            let message = format!("{}: `{}` gives no value that can be sent", target.place, goal.value);
            diagnostics.report_value(goal.at, &message, "the id of a goal");
        }
    }
    filled
}

/// Whether that goal has several outputs.
fn is_several(scope: &Scope<'_>, found: &Found<'_, '_>) -> bool {
    scope.is_fanned_out(found.known) || (!found.known.agents.is_empty() && found.path.agent.is_none())
}

/// Whether the value at a path fits into a field. Reports it if not.
fn goes_into(
    diagnostics: &mut Diagnostics,
    scope: &Scope<'_>,
    found: &Found<'_, '_>,
    slot: &Slot<'_>,
    at: Span,
    place: &str,
) -> bool {
    let is_list = found.list.is_some() || is_several(scope, found);
    match &found.leads {
        Leads::Unknown => false,
        Leads::Group => {
            let message = format!("{place}: `{}` gives no value that can be sent", found.known.id);
            diagnostics.report_value(at, &message, "a path to a value");
            false
        }
        Leads::Part(part) => fits(diagnostics, part, is_list, slot, at, place),
        Leads::Words | Leads::Choice(_) => {
            let is_text = slot.part.kind() == PayloadPartKind::Text;
            if !is_text {
                wrong_type(diagnostics, "a text", slot, at, place);
            }
            is_text && one_value(diagnostics, is_list, slot, at, place)
        }
    }
}

fn fits(
    diagnostics: &mut Diagnostics,
    source: &PayloadPart<'_>,
    is_list: bool,
    slot: &Slot<'_>,
    at: Span,
    place: &str,
) -> bool {
    let (from, into) = (source.kind(), slot.part.kind());
    if from == PayloadPartKind::Parts || into == PayloadPartKind::Parts {
        let message = format!(
            "{place}: `{}` contains further elements, and only single values are copied",
            source.name()
        );
        diagnostics.report_value(at, &message, "with: {field: PATH} for the fields that are single values");
        return false;
    }
    if into != PayloadPartKind::Text && from != into {
        wrong_type(diagnostics, kind_words(from), slot, at, place);
        return false;
    }
    let known = slot.part.values();
    let stray = source.values().into_iter().find(|value| !known.is_empty() && !known.contains(value));
    if let Some(stray) = stray {
        let message =
            format!("{place}: `{}` may be `{stray}`, which `{}` does not take", source.name(), slot.name);
        diagnostics.report_value(at, &message, "the same values in both payloads");
        return false;
    }
    one_value(diagnostics, is_list, slot, at, place)
}

fn one_value(diagnostics: &mut Diagnostics, is_list: bool, slot: &Slot<'_>, at: Span, place: &str) -> bool {
    if is_list && !slot.is_list {
        let message = format!("{place}: there may be several values, and `{}` comes once", slot.name);
        diagnostics.report_value(at, &message, "a path to one value, or a step with `each` over the list");
        return false;
    }
    true
}

fn wrong_type(diagnostics: &mut Diagnostics, from: &str, slot: &Slot<'_>, at: Span, place: &str) {
    let message = format!("{place}: `{}` is {}, and this is {from}", slot.name, kind_words(slot.part.kind()));
    diagnostics.report_value(at, &message, "a path to a value of the same type");
}

fn kind_words(kind: PayloadPartKind) -> &'static str {
    match kind {
        PayloadPartKind::Text => "a text",
        PayloadPartKind::Flag => "true or false",
        PayloadPartKind::Number => "a number",
        PayloadPartKind::Parts => "no single value",
    }
}

/// Reports required fields that are not filled.
fn missing(
    diagnostics: &mut Diagnostics,
    slots: &[Slot<'_>],
    filled: &[(String, ValueSource)],
    target: &Target<'_>,
) {
    let is_filled = |slot: &&Slot<'_>| filled.iter().any(|(name, _)| name == slot.name);
    let lacking: Vec<&str> =
        slots.iter().filter(|slot| slot.least > 0 && !is_filled(slot)).map(|slot| slot.name).collect();
    if lacking.is_empty() {
        return;
    }
    let message = match lacking.as_slice() {
        [OWN_TEXT] => format!("{}: nothing fills `{}`, which is a text", target.place, target.element.name()),
        _ => format!(
            "{}: nothing fills `{}` of `{}`",
            target.place,
            lacking.join("`, `"),
            target.element.name()
        ),
    };
    let name = lacking.first().copied().unwrap_or_default();
    let fix = format!("with: {{{name}: PATH}}, or {{{name}: {{text: WORDS}}}}");
    diagnostics.report(Code::ConfigMissing, target.at, &message, &fix);
}
