//! Lays out the values for child elements in the order of the schema: groups, choices, lists, wildcards.
//!
//! A record's fields come in; elements are written in their places. A missing required part is noted for the
//! record. This module itself reports a choice made twice and a value that should be a list but is not.

use std::collections::HashMap;

use crate::build::given::{GivenPart, GivenValue, ValueManner};
use crate::build::markup;
use crate::build::value_messages::known_names;
use crate::build::{AbsentPart, BuildSpot, GivenFields, PayloadBuilder};
use crate::form::{ANY, JsonRecord, OWN, RecordSlot, find_lone};
use crate::shape::{Declaration, JsonNull, Particle, Term};
use crate::tree;
use systole_wire::writer::XmlWriter;

impl<'m> PayloadBuilder<'m> {
    /// The parts given for the child elements of one name.
    fn find_instances<'g>(
        &mut self,
        fields: &GivenFields<'g, 'm>,
        slot: &RecordSlot<'m>,
        spot: BuildSpot<'_>,
    ) -> Vec<&'g GivenPart> {
        let name = &slot.key;
        let mut found = Vec::new();
        let is_nullable = slot.declaration.marks.null != JsonNull::Never;
        for part in fields.find_parts(name) {
            match (&part.given, self.manner, slot.many) {
                (GivenValue::Null, ValueManner::Json, false) if is_nullable => {}
                (GivenValue::List(parts), ValueManner::Fields, _)
                | (GivenValue::List(parts), ValueManner::Json, true) => {
                    found.extend(parts);
                }
                (_, ValueManner::Json, true) => {
                    let path = spot.extend_path(name, 0, 1);
                    let message = format!("{name}: is {}, a list is needed", part.given.kind());
                    let fix = format!("\"{name}\": [{}]", part.show_for(self.manner));
                    self.report_slip(
                        &path,
                        part,
                        message,
                        self.describe_expected(slot.declaration, slot.particle),
                        fix,
                    );
                }
                _ => found.push(part),
            }
        }
        found
    }

    /// Writes the values for a particle, once in each of its places.
    pub(crate) fn write_group(
        &mut self,
        writer: &mut XmlWriter,
        particle: &'m Particle,
        needed: bool,
        fields: &mut GivenFields<'_, 'm>,
        spot: BuildSpot<'_>,
    ) {
        let given = has_any(particle, fields);
        let needed = needed && particle.min > 0;
        if !given && (!needed || particle.may_be_absent()) {
            return;
        }
        match &particle.term {
            Term::Element(_) => self.write_elements(writer, particle, false, fields, spot),
            Term::Wildcard(_) => self.write_wildcard(writer, particle, fields, spot),
            _ if particle.max != Some(1) => self.write_repetition(writer, particle, fields, spot),
            Term::Sequence(parts) | Term::All(parts) => {
                parts.iter().for_each(|part| self.write_group(writer, part, true, fields, spot));
            }
            Term::Choice(parts) => self.write_choice(writer, parts, fields, spot),
        }
    }

    /// A group of one name that repeats: its elements one after another.
    fn write_repetition(
        &mut self,
        writer: &mut XmlWriter,
        particle: &'m Particle,
        fields: &mut GivenFields<'_, 'm>,
        spot: BuildSpot<'_>,
    ) {
        let slot = find_lone(particle).and_then(|declaration| fields.find_slot(declaration));
        if let Some(slot) = slot {
            self.write_elements(writer, slot.particle, true, fields, spot);
        }
    }

    fn write_elements(
        &mut self,
        writer: &mut XmlWriter,
        particle: &'m Particle,
        is_repeated: bool,
        fields: &mut GivenFields<'_, 'm>,
        spot: BuildSpot<'_>,
    ) {
        let Term::Element(declaration) = &particle.term else { return };
        let Some(slot) = fields.find_slot(declaration) else { return };
        let before = self.slips.len();
        let parts = self.find_instances(fields, &slot, spot);
        if parts.is_empty() && particle.min > 0 && self.slips.len() == before {
            fields.absent.push(AbsentPart::Element(RecordSlot { particle, ..slot }));
        }
        if !is_repeated {
            self.check_count(declaration, particle, &parts, spot);
        }
        for (at, part) in parts.iter().enumerate() {
            let path = spot.extend_path(&declaration.name, at, parts.len());
            self.write_child(writer, declaration, particle, part, BuildSpot { path: &path, ..spot });
        }
    }

    /// Checks the number of elements of one name.
    pub(crate) fn check_count(
        &mut self,
        declaration: &'m Declaration,
        particle: &'m Particle,
        parts: &[&GivenPart],
        spot: BuildSpot<'_>,
    ) {
        let (least, most) = (usize::try_from(particle.min), particle.max.map(usize::try_from));
        let (name, count) = (&declaration.name, parts.len());
        let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
        let beyond = most.and_then(Result::ok).filter(|most| count > *most);
        let path = spot.extend_path(name, count.saturating_sub(1), count);
        let Some(last) = parts.last() else { return };
        if let Some(most) = beyond {
            let over = count.saturating_sub(most);
            let are = if most == 1 { " is allowed" } else { " are allowed" };
            let message = format!("{name}: comes {times}, at most {most}{are}");
            let expected = self.describe_expected(declaration, particle);
            self.report_slip(&path, last, message, expected, format!("leave {over} of them out"));
        } else if let Ok(least) = least
            && count < least
        {
            let message = format!("{name}: comes {times}, at least {least} are needed");
            let expected = self.describe_expected(declaration, particle);
            let more = least.saturating_sub(count).to_string();
            self.report_slip(&path, last, message, expected, format!("add {more} more"));
        }
    }

    fn write_choice(
        &mut self,
        writer: &mut XmlWriter,
        parts: &'m [Particle],
        fields: &mut GivenFields<'_, 'm>,
        spot: BuildSpot<'_>,
    ) {
        let chosen: Vec<&'m Particle> = parts.iter().filter(|part| has_any(part, fields)).collect();
        match chosen.as_slice() {
            [] => {
                let slots =
                    parts.iter().filter_map(first_of).filter_map(|first| fields.find_slot(first)).collect();
                fields.absent.push(AbsentPart::OneOf(slots));
            }
            [only] => self.write_group(writer, only, true, fields, spot),
            [first, second, ..] => {
                let names = [first, second].map(|part| given_name(part, fields).unwrap_or_default());
                let [name, rival] = names;
                let message = format!("{rival}: cannot be beside {name}, only one of them is allowed");
                let firsts = parts.iter().filter_map(first_of);
                let both: Vec<String> =
                    firsts.filter_map(|d| fields.find_slot(d)).map(|slot| slot.key).collect();
                let expected = format!("one of {}", both.join(", "));
                let fix = format!("leave {name} or {rival} out");
                if let Some(part) = fields.find_parts(&rival).next() {
                    self.report_slip(&spot.extend_path(&rival, 0, 1), part, message, expected, fix);
                }
            }
        }
    }

    /// Children whose order was given.
    pub(crate) fn write_listed_rows(
        &mut self,
        writer: &mut XmlWriter,
        record: &JsonRecord<'m>,
        fields: &mut GivenFields<'_, 'm>,
        spot: BuildSpot<'_>,
    ) {
        let mut rows: Vec<(&str, &GivenPart)> = Vec::new();
        if self.manner == ValueManner::Fields {
            for (key, part) in fields.entries {
                match &part.given {
                    GivenValue::List(parts) => rows.extend(parts.iter().map(|part| (key.as_str(), part))),
                    _ if key == ANY => rows.push((key, part)),
                    _ => {}
                }
            }
        } else {
            let Some(part) = fields.find_parts(OWN).next() else {
                fields.absent.push(AbsentPart::Rows);
                return;
            };
            rows = self.collect_rows(part, record, fields, spot.path);
        }
        let mut totals: HashMap<&str, usize> = HashMap::new();
        for (key, _) in &rows {
            let total = totals.entry(key).or_insert(0);
            *total = total.saturating_add(1);
        }
        let mut met: HashMap<&str, usize> = HashMap::new();
        for (key, part) in &rows {
            let before = met.entry(key).or_insert(0);
            let path = spot.extend_path(key, *before, totals.get(key).copied().unwrap_or_default());
            *before = before.saturating_add(1);
            let spot = BuildSpot { path: &path, ..spot };
            let slot = fields.slots.iter().find(|slot| slot.key == *key).cloned();
            match slot {
                Some(slot) => self.write_child(writer, slot.declaration, slot.particle, part, spot),
                None if *key == ANY && record.wildcard().is_some() => self.write_markup(writer, part, spot),
                None => {}
            }
        }
    }

    /// The rows of a list: objects with one key each.
    fn collect_rows<'g>(
        &mut self,
        part: &'g GivenPart,
        record: &JsonRecord<'m>,
        fields: &GivenFields<'_, 'm>,
        path: &str,
    ) -> Vec<(&'g str, &'g GivenPart)> {
        let expected = "a list of objects with one element each, in order".to_owned();
        let example = fields.slots.first().map_or("name", |slot| slot.key.as_str());
        let fix = format!("\".\": [{{\"{example}\": …}}, …]");
        let GivenValue::List(parts) = &part.given else {
            let message = format!("{OWN}: is {}, a list is needed", part.given.kind());
            self.report_slip(path, part, message, expected, fix);
            return Vec::new();
        };
        let mut known = known_names(fields);
        known.extend(record.wildcard().map(|_| ANY));
        let mut rows = Vec::with_capacity(parts.len());
        for part in parts {
            let row = match &part.given {
                GivenValue::Record(entries) => match entries.as_slice() {
                    [(key, part)] => Some((key.as_str(), part)),
                    _ => None,
                },
                _ => None,
            };
            match row {
                Some((key, part)) if known.contains(&key) => rows.push((key, part)),
                Some((key, part)) => self.report_stranger(key, part, &known, path),
                None => {
                    let message = "an entry is not an object with one key".to_owned();
                    self.report_slip(path, part, message, expected.clone(), fix.clone());
                }
            }
        }
        rows
    }

    fn write_wildcard(
        &mut self,
        writer: &mut XmlWriter,
        particle: &Particle,
        fields: &mut GivenFields<'_, 'm>,
        spot: BuildSpot<'_>,
    ) {
        let mut found = Vec::new();
        for part in fields.find_parts(ANY) {
            match (&part.given, self.manner, particle.max) {
                (GivenValue::List(parts), ValueManner::Json, None) => found.extend(parts),
                _ => found.push(part),
            }
        }
        if found.is_empty() && particle.min > 0 {
            fields.absent.push(AbsentPart::Wildcard);
        }
        for (at, part) in found.iter().enumerate() {
            let path = spot.extend_path(ANY, at, found.len());
            self.write_markup(writer, part, BuildSpot { path: &path, ..spot });
        }
    }

    /// A declared element that was given whole, as XML.
    pub(crate) fn whole_element(
        &mut self,
        writer: &mut XmlWriter,
        declaration: &Declaration,
        (part, text): (&GivenPart, &str),
        spot: BuildSpot<'_>,
    ) {
        let name = &declaration.name;
        let message = match tree::read_tree(text.as_bytes()) {
            Err(fault) => format!("{name}: {}", fault.words),
            Ok(element) if !element.name.is_named(&declaration.namespace, name) => {
                format!("{name}: the XML is an element of another name, {}", element.tag.as_str())
            }
            Ok(element) => match markup::write_element(writer, &element, spot.around) {
                Some(()) => return,
                None => format!("{name}: holds a name that XML does not allow"),
            },
        };
        let expected = format!("the element {name} as XML, with its xmlns");
        let fix = format!("write it as <{name} xmlns=\"{}\">…</{name}>", declaration.namespace);
        self.report_slip(spot.path, part, message, expected, fix);
    }

    /// An element that was given as XML.
    pub(crate) fn write_markup(&mut self, writer: &mut XmlWriter, part: &GivenPart, spot: BuildSpot<'_>) {
        let path = spot.path;
        let expected = "one element as XML, with its xmlns".to_owned();
        let fix = "write it as <name xmlns=\"urn:example\">…</name>".to_owned();
        let GivenValue::Text(text) = &part.given else {
            let message = format!("{ANY}: is {}, text is needed", part.given.kind());
            return self.report_slip(path, part, message, expected, fix);
        };
        match tree::read_tree(text.as_bytes()) {
            Ok(element) => {
                if markup::write_element(writer, &element, spot.around).is_none() {
                    let message = format!("{ANY}: holds a name that XML does not allow");
                    self.report_slip(path, part, message, expected, fix);
                }
            }
            Err(fault) => {
                self.report_slip(path, part, format!("{ANY}: {}", fault.words), expected, fix);
            }
        }
    }
}

fn has_any(particle: &Particle, fields: &GivenFields<'_, '_>) -> bool {
    given_name(particle, fields).is_some()
}

/// The first key of a particle under which something was given.
fn given_name(particle: &Particle, fields: &GivenFields<'_, '_>) -> Option<String> {
    match &particle.term {
        Term::Element(declaration) => {
            let key = fields.find_slot(declaration)?.key;
            fields.find_parts(&key).next().is_some().then_some(key)
        }
        Term::Wildcard(_) => fields.find_parts(ANY).next().map(|_| ANY.to_owned()),
        Term::Sequence(parts) | Term::Choice(parts) | Term::All(parts) => {
            parts.iter().find_map(|part| given_name(part, fields))
        }
    }
}

fn first_of(particle: &Particle) -> Option<&Declaration> {
    let mut found = Vec::new();
    particle.term.collect_elements(&mut found);
    found.into_iter().next()
}
