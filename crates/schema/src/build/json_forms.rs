//! Writes the elements whose JSON form an annotation names: maps, choices, JSON as text, and `null`.
//!
//! A JSON value comes in; an element is written. A choice takes the first of its elements that fits, so the search for
//! it has a bound: a value of hostile origin could otherwise lead into each branch of each branch.

use crate::build::given::{GivenPart, GivenValue, text_as_json};
use crate::build::{BuildSpot, PayloadBuilder, ValueRole};
use crate::explain::{describe, wording};
use crate::form::{EntryMap, EntryValue, JsonForm};
use crate::limits::{self, DEPTH};
use crate::shape::{Declaration, JsonNull, Particle, Term};
use systole_wire::writer::{XmlName, XmlWriter};

impl<'m> PayloadBuilder<'m> {
    /// An object with any keys: an entry for each.
    pub(crate) fn write_map(
        &mut self,
        writer: &mut XmlWriter,
        declaration: &'m Declaration,
        map: &EntryMap<'m>,
        part: &GivenPart,
        spot: BuildSpot<'_>,
    ) {
        let GivenValue::Record(entries) = &part.given else {
            let message = format!("{}: is {}, an object is needed", declaration.name, part.given.kind());
            let expected =
                format!("an object with any keys; {}", self.describe_expected(map.entry, map.particle));
            let fix = format!("\"{}\": {{…}}", declaration.key());
            return self.report_slip(spot.path, part, message, expected, fix);
        };
        let all: Vec<&GivenPart> = entries.iter().map(|(_, part)| part).collect();
        self.check_count(map.entry, map.particle, &all, spot);
        let Some(start) = self.open_element(writer, declaration, part, spot) else { return };
        start.content(|inside| {
            for (at, (key, part)) in entries.iter().enumerate() {
                let path = spot.extend_path(&map.entry.name, at, entries.len());
                let spot = BuildSpot { path: &path, around: &declaration.namespace, ..spot };
                self.write_entry(inside, map, key, part, spot);
            }
        });
    }

    fn write_entry(
        &mut self,
        writer: &mut XmlWriter,
        map: &EntryMap<'m>,
        key: &str,
        part: &GivenPart,
        spot: BuildSpot<'_>,
    ) {
        let path = format!("{}/@{}", spot.path, map.key.name);
        let expected = wording::name_attribute(map.key);
        let role = ValueRole { path: &path, name: key, key, expected, optional: false };
        let spelt = GivenPart { given: GivenValue::Text(key.to_owned()), offset: part.offset };
        let Some(spelt) = self.check_value(&map.key.simple, &role, &spelt) else { return };
        let own = match map.value {
            EntryValue::Value(simple) => {
                let expected = format!("{key}: {}", describe::describe_simple(simple));
                let role = ValueRole { path: spot.path, name: key, key, expected, optional: false };
                let Some(written) = self.check_value(simple, &role, part) else { return };
                Some(written)
            }
            EntryValue::Json => {
                let Some(written) = self.spelt_as_json(key, part, spot) else { return };
                Some(written)
            }
            EntryValue::Child(..) => None,
        };
        let Some(start) = self.open_element(writer, map.entry, part, spot) else { return };
        let Some(name) = XmlName::new(&map.key.name) else { return };
        let start = start.attr(name, &spelt);
        match (own, map.value) {
            (None, EntryValue::Child(_, value))
                if part.given == GivenValue::Null && value.marks.null != JsonNull::Never =>
            {
                start.empty();
            }
            (None, EntryValue::Child(particle, value)) => {
                let path = format!("{}/{}", spot.path, value.name);
                let spot = BuildSpot { path: &path, around: &map.entry.namespace, ..spot };
                start.content(|inside| self.write_child(inside, value, particle, part, spot));
            }
            (own, _) => start.text(&own.unwrap_or_default()),
        }
    }

    /// The first of several elements that fits. If unknown keys are left out, one without them comes first.
    pub(crate) fn choice_of(
        &mut self,
        writer: &mut XmlWriter,
        declaration: &'m Declaration,
        parts: &'m [Particle],
        part: &GivenPart,
        spot: BuildSpot<'_>,
    ) {
        if spot.depth >= DEPTH {
            let message = format!("{}: is nested deeper than {DEPTH}", declaration.name);
            let expected = format!("at most {DEPTH} elements inside one another");
            return self.report_slip(spot.path, part, message, expected, "nest it less deep".to_owned());
        }
        let Some(start) = self.open_element(writer, declaration, part, spot) else { return };
        start.content(|inside| {
            let passes: &[bool] = if self.extras.is_some() { &[true, false] } else { &[true] };
            for is_strict in passes {
                for branch in parts {
                    if self.is_written(inside, declaration, branch, part, *is_strict, spot) {
                        return;
                    }
                }
            }
            let name = |part: &Particle| match &part.term {
                Term::Element(branch) => branch.name.clone(),
                _ => String::new(),
            };
            let names: Vec<String> = parts.iter().map(name).collect();
            let message = format!("{}: fits none of {}", declaration.name, names.join(", "));
            let expected = format!("one of {}", names.join(", "));
            self.report_slip(
                spot.path,
                part,
                message,
                expected,
                "write it as one of them is described".to_owned(),
            );
        });
    }

    /// Writes one branch, and takes it back if it does not fit.
    fn is_written(
        &mut self,
        writer: &mut XmlWriter,
        around: &Declaration,
        branch: &'m Particle,
        part: &GivenPart,
        is_strict: bool,
        spot: BuildSpot<'_>,
    ) -> bool {
        let Term::Element(declaration) = &branch.term else { return false };
        if !may_fit(&JsonForm::from_declaration(self.schema, declaration), &part.given) {
            return false;
        }
        let cost = measure_part(part);
        if self.tried.saturating_add(cost) > limits::TRIED_VALUES {
            return false;
        }
        self.tried = self.tried.saturating_add(cost);
        let (mark, slips) = (writer.set_mark(), self.slips.len());
        let extras = self.extras.as_ref().map_or(0, Vec::len);
        let path = format!("{}/{}", spot.path, declaration.name);
        let inner = BuildSpot { path: &path, around: &around.namespace, ..spot };
        self.write_child(writer, declaration, branch, part, inner);
        let has_extras = self.extras.as_ref().map_or(0, Vec::len) > extras;
        if self.slips.len() == slips && !(is_strict && has_extras) {
            return true;
        }
        self.slips.truncate(slips);
        if let Some(known) = &mut self.extras {
            known.truncate(extras);
        }
        writer.rewind_to(mark);
        false
    }

    /// An element that holds JSON as text.
    pub(crate) fn json_element(
        &mut self,
        writer: &mut XmlWriter,
        declaration: &'m Declaration,
        part: &GivenPart,
        spot: BuildSpot<'_>,
    ) {
        if let Some(written) = self.spelt_as_json(&declaration.name, part, spot)
            && let Some(start) = self.open_element(writer, declaration, part, spot)
        {
            start.text(&written);
        }
    }

    fn spelt_as_json(&mut self, name: &str, part: &GivenPart, spot: BuildSpot<'_>) -> Option<String> {
        let mut written = String::new();
        spell_part(part, &mut written);
        let expected = "any JSON value".to_owned();
        let role = ValueRole { path: spot.path, name, key: name, expected, optional: false };
        (!self.refuse_illegal(&role, part, &written)).then_some(written)
    }

    /// An empty element that stands for `null`.
    pub(crate) fn write_null(
        &mut self,
        writer: &mut XmlWriter,
        declaration: &'m Declaration,
        part: &GivenPart,
        spot: BuildSpot<'_>,
    ) {
        if part.given != GivenValue::Null {
            let message = format!("{}: is {}, null is needed", declaration.name, part.given.kind());
            return self.report_slip(spot.path, part, message, "null".to_owned(), "write null".to_owned());
        }
        if let Some(start) = self.open_element(writer, declaration, part, spot) {
            start.empty();
        }
    }
}

/// Whether a value is of the kind that a form needs: most branches are told apart by that.
fn may_fit(form: &JsonForm<'_>, given: &GivenValue) -> bool {
    let is_single = matches!(given, GivenValue::Truth(_) | GivenValue::Number(_) | GivenValue::Text(_));
    match form {
        JsonForm::Value(_) => is_single || matches!(given, GivenValue::List(_)),
        JsonForm::Text | JsonForm::Markup => matches!(given, GivenValue::Text(_)),
        JsonForm::Items(..) => matches!(given, GivenValue::List(_)),
        JsonForm::Record(_) | JsonForm::Map(_) => matches!(given, GivenValue::Record(_)),
        JsonForm::Null => matches!(given, GivenValue::Null),
        JsonForm::Choice(_) | JsonForm::Json => true,
    }
}

/// What it costs to write a value once.
fn measure_part(part: &GivenPart) -> usize {
    let inner = |parts: &mut dyn Iterator<Item = usize>| parts.fold(1, usize::saturating_add);
    match &part.given {
        GivenValue::Null | GivenValue::Truth(_) => 1,
        GivenValue::Number(text) | GivenValue::Text(text) | GivenValue::Xml(text) => 1 + text.len() / 32,
        GivenValue::List(parts) => inner(&mut parts.iter().map(measure_part)),
        GivenValue::Record(entries) => inner(
            &mut entries.iter().map(|(key, part)| measure_part(part).saturating_add(1 + key.len() / 32)),
        ),
    }
}

/// A value as JSON without blanks; numbers as they were spelt. A character that XML cannot carry is escaped.
fn spell_part(part: &GivenPart, out: &mut String) {
    match &part.given {
        GivenValue::Null => out.push_str("null"),
        GivenValue::Truth(truth) => out.push_str(if *truth { "true" } else { "false" }),
        GivenValue::Number(spelt) => out.push_str(spelt),
        GivenValue::Text(text) | GivenValue::Xml(text) => escape_into(text, out),
        GivenValue::List(parts) => {
            out.push('[');
            for (at, part) in parts.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                spell_part(part, out);
            }
            out.push(']');
        }
        GivenValue::Record(fields) => {
            out.push('{');
            for (at, (key, part)) in fields.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                escape_into(key, out);
                out.push(':');
                spell_part(part, out);
            }
            out.push('}');
        }
    }
}

/// JSON escapes control characters itself, but not the two non-characters that XML forbids.
fn escape_into(text: &str, out: &mut String) {
    let spelt = text_as_json(text);
    out.push_str(&spelt.replace('\u{fffe}', "\\ufffe").replace('\u{ffff}', "\\uffff"));
}
