//! Makes the payload of a call out of earlier outputs: each field of its schema with the path that it comes from, in the
//! order of the schema.
//!
//! In come `with` as it is written and the element that is called, out come the fields, or a report of each that is
//! missing, unknown, or of another type.

use systole_kit::schema::{Part, PartKind, nearest};
use systole_workflow::spec::{Field, Path, Source};

use super::super::compose::one_of;
use super::super::desk::Desk;
use super::super::value::At;
use super::super::yaml::Span;
use super::With;
use super::paths::{self, Found, Leads};
use super::resolve::Order;
use super::scope::{Gives, Scope};
use systole_core::types::codes::Code;

/// The name of an element's own text.
pub(super) const OWN_TEXT: &str = ".";

/// What is filled, and where.
pub(super) struct Target<'t> {
    /// The element that is called.
    pub(super) element: &'t Part<'t>,
    /// Where `with` is written, or the step if it is not.
    pub(super) at: Span,
    /// How people call that place.
    pub(super) place: &'t str,
}

/// The fields of a call.
pub(super) fn fields(
    desk: &mut Desk,
    scope: &Scope<'_>,
    order: &Order,
    with: &[With],
    target: &Target<'_>,
) -> Vec<Field> {
    let before = desk.mistakes();
    let slots = slots(target.element);
    let mut is_whole = true;
    let mut filled: Vec<(String, Source)> = Vec::new();
    for one in with {
        match one {
            With::Unread => is_whole = false,
            With::Goal(goal) => filled.extend(copied(desk, scope, order, goal, &slots, target)),
            With::Path { field, path } => {
                let Some(slot) = slot(desk, field, &slots, target) else { continue };
                let place = format!("{}.{}", target.place, field.value);
                if let Some(found) = paths::find(desk, scope, order, path, &place)
                    && goes_into(desk, scope, &found, slot, path.at, &place)
                {
                    filled.push((slot.name.to_owned(), Source::Path(found.path)));
                }
            }
            With::Text { field, text } => {
                let Some(slot) = slot(desk, field, &slots, target) else { continue };
                if let Some(fault) = slot.part.fault(&text.value) {
                    let told = format!("{}.{}: {fault}", target.place, field.value);
                    desk.tell(Code::ConfigValue, text.at, &told, Some("a value that the field can have"));
                }
                filled.push((slot.name.to_owned(), Source::Text(text.value.clone())));
            }
        }
    }
    // What is missing follows from what is wrong, as long as something is.
    if is_whole && desk.mistakes() == before {
        missing(desk, &slots, &filled, target);
    }
    let field = |slot: &Slot<'_>| {
        let (_, source) = filled.iter().find(|(name, _)| name == slot.name)?;
        Some(Field {
            name: slot.name.to_owned(),
            is_attribute: slot.part.is_attribute(),
            is_optional: slot.least == 0,
            source: source.clone(),
        })
    };
    slots.iter().filter_map(field).collect()
}

/// A place in the payload that one field fills.
struct Slot<'t> {
    name: &'t str,
    part: Part<'t>,
    least: u32,
    is_list: bool,
}

/// The fields of an element; its own text stands under a dot.
fn slots<'t>(element: &'t Part<'t>) -> Vec<Slot<'t>> {
    let parts = element.parts().into_iter().map(|part| Slot {
        name: part.name(),
        least: part.least(),
        is_list: part.is_list(),
        part,
    });
    let mut slots: Vec<Slot<'t>> = parts.collect();
    if element.kind() != PartKind::Parts {
        slots.push(Slot { name: OWN_TEXT, part: element.clone(), least: 1, is_list: false });
    }
    slots
}

fn slot<'s, 't>(
    desk: &mut Desk,
    field: &At<String>,
    slots: &'s [Slot<'t>],
    target: &Target<'_>,
) -> Option<&'s Slot<'t>> {
    let names = || slots.iter().map(|slot| slot.name);
    if let Some(found) = slots.iter().find(|slot| slot.name == field.value) {
        if found.part.kind() != PartKind::Parts {
            return Some(found);
        }
        let told = format!(
            "{}: `{}` holds further elements, and only single values are filled",
            target.place, field.value
        );
        desk.tell(
            Code::ConfigValue,
            field.at,
            &told,
            Some("an agent that `gives` the payload whole, and a listener that takes it"),
        );
        return None;
    }
    let told = format!("{}: `{}` is no field of `{}`", target.place, field.value, target.element.name());
    let mend = nearest(&field.value, names()).map_or_else(|| one_of(names()), str::to_owned);
    desk.tell(Code::ConfigUnknownName, field.at, &told, Some(&mend));
    None
}

/// The equally named fields of a goal's output.
fn copied(
    desk: &mut Desk,
    scope: &Scope<'_>,
    order: &Order,
    goal: &At<String>,
    slots: &[Slot<'_>],
    target: &Target<'_>,
) -> Vec<(String, Source)> {
    let Some(found) = paths::find(desk, scope, order, goal, target.place) else { return Vec::new() };
    let mut filled = Vec::new();
    match (&found.leads, &found.known.gives) {
        (Leads::Unknown, _) => return Vec::new(),
        (Leads::Part(source), _) if source.kind() == PartKind::Parts => {
            if let [only] = slots
                && only.name == OWN_TEXT
            {
                let told = format!(
                    "{}: `{}` has fields, and `{}` is one value",
                    target.place,
                    goal.value,
                    target.element.name()
                );
                let first = source.parts().first().map_or("FIELD", Part::name);
                let mend = format!("with: {}/{first}, or another of its fields", goal.value);
                desk.tell(Code::ConfigValue, goal.at, &told, Some(&mend));
            }
            for slot in slots {
                let Some(field) = source.part(slot.name) else { continue };
                let mut path = found.path.clone();
                path.fields.push(slot.name.to_owned());
                let is_list = field.is_list() || found.list.is_some() || is_several(scope, &found);
                if fits(desk, &field, is_list, slot, goal.at, target.place) {
                    filled.push((slot.name.to_owned(), Source::Path(path)));
                }
            }
        }
        (Leads::Words, Gives::Choice(_)) if found.path.fields.is_empty() => {
            for name in ["choice", "note"] {
                if slots.iter().any(|slot| slot.name == name) {
                    let path = Path { fields: vec![name.to_owned()], ..found.path.clone() };
                    filled.push((name.to_owned(), Source::Path(path)));
                }
            }
        }
        (Leads::Words | Leads::Part(_) | Leads::Choice(_), _) => {
            let own = slots.iter().find(|slot| slot.name == OWN_TEXT);
            if let Some(slot) = own.filter(|_| target.element.parts().is_empty()) {
                if goes_into(desk, scope, &found, slot, goal.at, target.place) {
                    filled.push((OWN_TEXT.to_owned(), Source::Path(found.path.clone())));
                }
            } else {
                let told = format!(
                    "{}: `{}` gives one value, and `{}` has fields",
                    target.place,
                    goal.value,
                    target.element.name()
                );
                let first = slots.first().map_or("field", |slot| slot.name);
                desk.tell(
                    Code::ConfigValue,
                    goal.at,
                    &told,
                    Some(&format!("with: {{{first}: {}}}", goal.value)),
                );
            }
        }
        (Leads::Group, _) => {
            let told = format!("{}: `{}` gives nothing that could be sent", target.place, goal.value);
            desk.tell(Code::ConfigValue, goal.at, &told, Some("the id of a goal"));
        }
    }
    filled
}

/// Whether there are several outputs of that goal.
fn is_several(scope: &Scope<'_>, found: &Found<'_, '_>) -> bool {
    scope.is_fanned_out(found.known) || (!found.known.agents.is_empty() && found.path.agent.is_none())
}

/// Whether what a path leads to can stand in a field; reports it where it cannot.
fn goes_into(
    desk: &mut Desk,
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
            let told = format!("{place}: `{}` gives nothing that could be sent", found.known.id);
            desk.tell(Code::ConfigValue, at, &told, Some("a path to a value"));
            false
        }
        Leads::Part(part) => fits(desk, part, is_list, slot, at, place),
        Leads::Words | Leads::Choice(_) => {
            let is_text = slot.part.kind() == PartKind::Text;
            if !is_text {
                wrong_type(desk, "a text", slot, at, place);
            }
            is_text && one_value(desk, is_list, slot, at, place)
        }
    }
}

fn fits(desk: &mut Desk, source: &Part<'_>, is_list: bool, slot: &Slot<'_>, at: Span, place: &str) -> bool {
    let (from, into) = (source.kind(), slot.part.kind());
    if from == PartKind::Parts || into == PartKind::Parts {
        let told =
            format!("{place}: `{}` holds further elements, and only single values are copied", source.name());
        desk.tell(
            Code::ConfigValue,
            at,
            &told,
            Some("with: {field: PATH} for the fields that are single values"),
        );
        return false;
    }
    if into != PartKind::Text && from != into {
        wrong_type(desk, kind_words(from), slot, at, place);
        return false;
    }
    let known = slot.part.values();
    let stray = source.values().into_iter().find(|value| !known.is_empty() && !known.contains(value));
    if let Some(stray) = stray {
        let told =
            format!("{place}: `{}` may be `{stray}`, which `{}` does not take", source.name(), slot.name);
        desk.tell(Code::ConfigValue, at, &told, Some("the same values in both payloads"));
        return false;
    }
    one_value(desk, is_list, slot, at, place)
}

fn one_value(desk: &mut Desk, is_list: bool, slot: &Slot<'_>, at: Span, place: &str) -> bool {
    if is_list && !slot.is_list {
        let told = format!("{place}: there may be several values, and `{}` comes once", slot.name);
        desk.tell(
            Code::ConfigValue,
            at,
            &told,
            Some("a path to one value, or a step with `each` over the list"),
        );
        return false;
    }
    true
}

fn wrong_type(desk: &mut Desk, from: &str, slot: &Slot<'_>, at: Span, place: &str) {
    let told = format!("{place}: `{}` is {}, and this is {from}", slot.name, kind_words(slot.part.kind()));
    desk.tell(Code::ConfigValue, at, &told, Some("a path to a value of the same type"));
}

fn kind_words(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Text => "a text",
        PartKind::Flag => "true or false",
        PartKind::Number => "a number",
        PartKind::Parts => "no single value",
    }
}

/// Reports the fields that the payload needs and nothing fills.
fn missing(desk: &mut Desk, slots: &[Slot<'_>], filled: &[(String, Source)], target: &Target<'_>) {
    let is_filled = |slot: &&Slot<'_>| filled.iter().any(|(name, _)| name == slot.name);
    let lacking: Vec<&str> =
        slots.iter().filter(|slot| slot.least > 0 && !is_filled(slot)).map(|slot| slot.name).collect();
    if lacking.is_empty() {
        return;
    }
    let told = match lacking.as_slice() {
        [OWN_TEXT] => format!("{}: nothing fills `{}`, which is a text", target.place, target.element.name()),
        _ => format!(
            "{}: nothing fills `{}` of `{}`",
            target.place,
            lacking.join("`, `"),
            target.element.name()
        ),
    };
    let name = lacking.first().copied().unwrap_or_default();
    let mend = format!("with: {{{name}: PATH}}, or {{{name}: {{text: WORDS}}}}");
    desk.tell(Code::ConfigMissing, target.at, &told, Some(&mend));
}
