//! Builds a payload from input values: it puts each part where the schema wants it, escaped by the kit's writer.
//!
//! The input comes in as parts without a schema. Bytes go out, or every error, with all missing parts at once. The
//! walk over single values cannot see some errors, such as the order in a list; the model finds those in the bytes
//! afterwards. It does not guess: it writes no default and coerces no value.

pub(crate) mod children;
pub(crate) mod example;
pub(crate) mod fields;
mod files;
pub(crate) mod given;
pub(crate) mod json_forms;
pub(crate) mod markup;
mod refill;
pub(crate) mod sketch;
pub(crate) mod value_messages;

pub use files::{GivenFile, RefusedFile, TakeFile, TakenFile};

use std::borrow::Cow;

use crate::build::files::ReportedFile;
use crate::build::given::{GivenPart, GivenValue, ValueManner, ValueSlip};
use crate::explain::wording;
use crate::explain::{self, describe};
use crate::form::{ElementInside, JsonForm, JsonRecord, OWN, RecordSlot, is_same};
use crate::json::spelling;
use crate::judge::check_value;
use crate::limits::{self, DEPTH};
use crate::shape::{AttributeUse, Declaration, Particle, SchemaShape, SimpleType, Term};
use crate::tree::line_and_column;
use systole_wire::characters;
use systole_wire::writer::{StartTag, XmlName, XmlWriter};

/// Builds the payload of a global element; `source` is the text that the places of the parts refer to, if there is
/// one.
pub(crate) fn build_payload(
    schema: &SchemaShape,
    declaration: &Declaration,
    part: &GivenPart,
    manner: ValueManner,
    source: Option<&[u8]>,
    files: Option<TakeFile<'_>>,
) -> Result<Vec<u8>, Vec<ValueSlip>> {
    let (slips, extras) = (Vec::new(), None);
    let building = PayloadBuilder { schema, manner, source, files, slips, extras, tried: 0 };
    build_document(building, declaration, part).map(|(bytes, _)| bytes)
}

/// Builds the payload of a global element from JSON, without the keys that its schema does not know. Their places come
/// with it.
pub(crate) fn payload_of_known(
    schema: &SchemaShape,
    declaration: &Declaration,
    part: &GivenPart,
) -> Result<(Vec<u8>, Vec<String>), Vec<ValueSlip>> {
    let (manner, extras) = (ValueManner::Json, Some(Vec::new()));
    let (source, files, slips) = (None, None, Vec::new());
    let building = PayloadBuilder { schema, manner, source, files, slips, extras, tried: 0 };
    build_document(building, declaration, part)
}

fn build_document<'m>(
    mut building: PayloadBuilder<'m>,
    declaration: &'m Declaration,
    part: &GivenPart,
) -> Result<(Vec<u8>, Vec<String>), Vec<ValueSlip>> {
    let schema = building.schema;
    let mut writer = XmlWriter::new();
    let record = JsonRecord::of_root(schema, declaration.of);
    let spot = BuildSpot { path: &format!("/{}", declaration.name), depth: 0, around: "" };
    building.write_record(&mut writer, declaration, &record, part, spot);
    let bytes = writer.finish();
    if building.slips.is_empty() {
        building.slips.extend(explain::find_first(schema, &bytes).map(|finding| ValueSlip {
            path: finding.path,
            place: None,
            message: finding.message,
            expected: finding.expected,
            received: finding.received,
            fix: finding.fix,
        }));
    }
    if building.slips.is_empty() {
        Ok((bytes, building.extras.unwrap_or_default()))
    } else {
        Err(building.slips)
    }
}

/// A place in the payload.
#[derive(Clone, Copy)]
pub(crate) struct BuildSpot<'p> {
    pub(crate) path: &'p str,
    pub(crate) depth: usize,
    /// The namespace of an element without its own declaration.
    pub(crate) around: &'p str,
}

impl BuildSpot<'_> {
    pub(crate) fn extend_path(self, name: &str, at: usize, of: usize) -> String {
        match of {
            0 | 1 => format!("{}/{name}", self.path),
            _ => format!("{}/{name}[{}]", self.path, at.saturating_add(1)),
        }
    }
}

/// A value's name and the allowed values.
pub(crate) struct ValueRole<'r> {
    pub(crate) path: &'r str,
    /// Its name in messages.
    pub(crate) name: &'r str,
    /// Its key in JSON.
    pub(crate) key: &'r str,
    pub(crate) expected: String,
    pub(crate) optional: bool,
}

/// A missing required part.
pub(crate) enum AbsentPart<'m> {
    Attribute(&'m AttributeUse, String),
    Element(RecordSlot<'m>),
    OneOf(Vec<RecordSlot<'m>>),
    /// Own text, with a description of what is allowed.
    Text(String, Option<&'m SimpleType>),
    /// The list of children whose order matters.
    Rows,
    Wildcard,
}

pub(crate) struct PayloadBuilder<'m> {
    pub(crate) schema: &'m SchemaShape,
    pub(crate) manner: ValueManner,
    source: Option<&'m [u8]>,
    /// Takes the files that are given in place of references.
    files: Option<TakeFile<'m>>,
    pub(crate) slips: Vec<ValueSlip>,
    /// The places of unknown keys, if these are left out instead of refused.
    pub(crate) extras: Option<Vec<String>>,
    /// What the branches of choices have tried so far.
    pub(crate) tried: usize,
}

/// The fields of one record during writing.
pub(crate) struct GivenFields<'g, 'm> {
    pub(crate) entries: &'g [(String, GivenPart)],
    pub(crate) slots: Vec<RecordSlot<'m>>,
    pub(crate) absent: Vec<AbsentPart<'m>>,
}

impl<'g, 'm> GivenFields<'g, 'm> {
    /// The place of a declared element.
    pub(crate) fn find_slot(&self, declaration: &Declaration) -> Option<RecordSlot<'m>> {
        self.slots.iter().find(|slot| is_same(slot.declaration, declaration)).cloned()
    }

    pub(crate) fn find_parts(&self, key: &str) -> impl Iterator<Item = &'g GivenPart> + use<'g> {
        let key = key.to_owned();
        self.entries.iter().filter(move |(known, _)| *known == key).map(|(_, part)| part)
    }
}

impl<'m> PayloadBuilder<'m> {
    pub(crate) fn report_slip(
        &mut self,
        path: &str,
        part: &GivenPart,
        message: String,
        expected: String,
        fix: String,
    ) {
        if self.slips.len() >= limits::SLIPS {
            return;
        }
        let received = part.show_for(self.manner);
        let place = self.source.map(|source| line_and_column(source, part.offset));
        self.slips.push(ValueSlip { path: path.to_owned(), place, message, expected, received, fix });
    }

    /// Writes an element that has attributes or children.
    fn write_record(
        &mut self,
        writer: &mut XmlWriter,
        declaration: &'m Declaration,
        record: &JsonRecord<'m>,
        part: &GivenPart,
        spot: BuildSpot<'_>,
    ) {
        let GivenValue::Record(entries) = &part.given else {
            return self.not_a_record(declaration, record, part, spot.path);
        };
        if spot.depth >= DEPTH {
            let message = format!("{}: is nested deeper than {DEPTH}", declaration.name);
            let expected = format!("at most {DEPTH} elements inside one another");
            return self.report_slip(spot.path, part, message, expected, "nest it less deep".to_owned());
        }
        let taken = match self.take_file((declaration, record), entries, part, spot.path) {
            Ok(taken) => taken,
            Err(ReportedFile) => return,
        };
        let entries = taken.as_ref().unwrap_or(entries);
        let slots = record.slots();
        let entries = &*self.without_nulls(record, &slots, entries);
        let mut fields = GivenFields { entries, slots, absent: Vec::new() };
        self.report_unknown(declaration, record, &fields, spot.path);
        let Some(mut start) = self.open_element(writer, declaration, part, spot) else { return };
        let spot = BuildSpot { around: &declaration.namespace, ..spot };
        for attribute in record.attributes {
            start = self.write_attribute(start, record, attribute, &mut fields, spot);
        }
        match record.inside {
            ElementInside::Nothing => start.empty(),
            _ => start.content(|inside| self.write_inside(inside, declaration, record, &mut fields, spot)),
        }
        let absent = std::mem::take(&mut fields.absent);
        self.report_missing(declaration, part, &absent, spot.path);
    }

    /// The entries of a record without the optional ones that are `null` where no value is: many models spell what they
    /// leave out.
    fn without_nulls<'g>(
        &self,
        record: &JsonRecord<'m>,
        slots: &[RecordSlot<'m>],
        entries: &'g [(String, GivenPart)],
    ) -> Cow<'g, [(String, GivenPart)]> {
        let is_null = |(_, part): &(String, GivenPart)| part.given == GivenValue::Null;
        if self.manner == ValueManner::Fields || !entries.iter().any(is_null) {
            return Cow::Borrowed(entries);
        }
        let may_miss = |key: &str| {
            let takes_no_null = |slot: &RecordSlot<'m>| {
                let form = JsonForm::from_declaration(self.schema, slot.declaration);
                slot.particle.min == 0 && !self.may_be_null(&form)
            };
            let attributes = record.attributes.iter();
            slots.iter().any(|slot| slot.key == key && takes_no_null(slot))
                || attributes.into_iter().any(|one| !one.required && record.name_key(one) == key)
        };
        let kept = entries.iter().filter(|entry| !(is_null(entry) && may_miss(&entry.0)));
        Cow::Owned(kept.cloned().collect())
    }

    /// Whether `null` may be a value of this form, or of one that it stands for.
    fn may_be_null(&self, form: &JsonForm<'m>) -> bool {
        let is_open = |form: &JsonForm<'_>| matches!(form, JsonForm::Null | JsonForm::Json);
        let JsonForm::Choice(parts) = form else { return is_open(form) };
        parts.iter().any(|part| match &part.term {
            Term::Element(branch) => {
                let form = JsonForm::from_declaration(self.schema, branch);
                is_open(&form) || matches!(form, JsonForm::Choice(_))
            }
            _ => true,
        })
    }

    pub(crate) fn open_element<'w, 'n>(
        &mut self,
        writer: &'w mut XmlWriter,
        declaration: &'n Declaration,
        part: &GivenPart,
        spot: BuildSpot<'_>,
    ) -> Option<StartTag<'w, 'n>> {
        let Some(name) = XmlName::new(&declaration.name) else {
            let message = format!("{}: is not a name of XML with namespaces", declaration.name);
            self.report_slip(
                spot.path,
                part,
                message,
                "a legal name".to_owned(),
                "correct the schema".to_owned(),
            );
            return None;
        };
        let start = writer.open(name);
        Some(if *declaration.namespace == *spot.around { start } else { start.xmlns(&declaration.namespace) })
    }

    fn write_attribute<'w, 'n>(
        &mut self,
        start: StartTag<'w, 'n>,
        record: &JsonRecord<'m>,
        attribute: &'m AttributeUse,
        fields: &mut GivenFields<'_, 'm>,
        spot: BuildSpot<'_>,
    ) -> StartTag<'w, 'n> {
        let key = record.name_key(attribute);
        let mut given = fields.find_parts(&key);
        let Some(part) = given.next() else {
            if attribute.required {
                fields.absent.push(AbsentPart::Attribute(attribute, key));
            }
            return start;
        };
        let path = format!("{}/@{}", spot.path, attribute.name);
        let role = ValueRole {
            path: &path,
            name: &key,
            key: &key,
            expected: wording::name_attribute(attribute),
            optional: !attribute.required,
        };
        if let Some(second) = given.next() {
            self.report_twice(&role, second);
        }
        match (self.check_value(&attribute.simple, &role, part), XmlName::new(&attribute.name)) {
            (Some(written), Some(name)) => start.attr(name, &written),
            _ => start,
        }
    }

    fn report_twice(&mut self, role: &ValueRole<'_>, part: &GivenPart) {
        let message = format!("{}: comes twice, at most once is allowed", role.name);
        self.report_slip(role.path, part, message, role.expected.clone(), format!("keep one {}", role.name));
    }

    fn write_inside(
        &mut self,
        writer: &mut XmlWriter,
        declaration: &'m Declaration,
        record: &JsonRecord<'m>,
        fields: &mut GivenFields<'_, 'm>,
        spot: BuildSpot<'_>,
    ) {
        match record.inside {
            ElementInside::Nothing => {}
            ElementInside::Value(simple) => {
                self.write_own(writer, declaration, Some(simple), fields, spot.path)
            }
            ElementInside::Text => self.write_own(writer, declaration, None, fields, spot.path),
            ElementInside::Named(particle) => self.write_group(writer, particle, true, fields, spot),
            ElementInside::Listed(_) => self.write_listed_rows(writer, record, fields, spot),
        }
    }

    /// The element's own text.
    fn write_own(
        &mut self,
        writer: &mut XmlWriter,
        declaration: &'m Declaration,
        simple: Option<&'m SimpleType>,
        fields: &mut GivenFields<'_, 'm>,
        path: &str,
    ) {
        let described = simple.map_or_else(|| "text".to_owned(), describe::describe_simple);
        let expected = format!("{}: {described}", declaration.name);
        let mut given = fields.find_parts(OWN);
        let Some(part) = given.next() else {
            // On a command line, no text means empty text if that is allowed; JSON is explicit.
            let empty = simple.is_none_or(|simple| check_value::check_value(simple, "").is_none());
            if self.manner == ValueManner::Json || !empty {
                fields.absent.push(AbsentPart::Text(expected, simple));
            }
            return;
        };
        let role = ValueRole { path, name: &declaration.name, key: OWN, expected, optional: false };
        if let Some(second) = given.next() {
            self.report_twice(&role, second);
        }
        let written = match simple {
            Some(simple) => self.check_value(simple, &role, part),
            None => self.read_text(&role, part),
        };
        writer.text(&written.unwrap_or_default());
    }

    /// One child element.
    pub(crate) fn write_child(
        &mut self,
        writer: &mut XmlWriter,
        declaration: &'m Declaration,
        particle: &'m Particle,
        part: &GivenPart,
        spot: BuildSpot<'_>,
    ) {
        if let GivenValue::Xml(text) = &part.given {
            return self.whole_element(writer, declaration, (part, text), spot);
        }
        let deeper = BuildSpot { depth: spot.depth.saturating_add(1), ..spot };
        let role = || ValueRole {
            path: spot.path,
            name: &declaration.name,
            key: declaration.key(),
            expected: self.describe_expected(declaration, particle),
            optional: particle.min == 0,
        };
        let form = match self.manner {
            ValueManner::Json => JsonForm::from_declaration(self.schema, declaration),
            ValueManner::Fields => JsonForm::of_type(self.schema, declaration.of),
        };
        let written = match form {
            JsonForm::Record(record) => return self.write_record(writer, declaration, &record, part, deeper),
            JsonForm::Items(inner, item) => {
                return self.write_items(writer, declaration, (inner, item), part, deeper);
            }
            JsonForm::Markup => return self.write_markup(writer, part, spot),
            JsonForm::Map(map) => return self.write_map(writer, declaration, &map, part, deeper),
            JsonForm::Choice(parts) => return self.choice_of(writer, declaration, parts, part, deeper),
            JsonForm::Json => return self.json_element(writer, declaration, part, spot),
            JsonForm::Null => return self.write_null(writer, declaration, part, spot),
            JsonForm::Value(simple) => {
                let role = role();
                self.check_value(simple, &role, part)
            }
            JsonForm::Text => {
                let role = role();
                self.read_text(&role, part)
            }
        };
        if let (Some(written), Some(start)) = (written, self.open_element(writer, declaration, part, spot)) {
            start.text(&written);
        }
    }

    fn write_items(
        &mut self,
        writer: &mut XmlWriter,
        declaration: &'m Declaration,
        (particle, item): (&'m Particle, &'m Declaration),
        part: &GivenPart,
        spot: BuildSpot<'_>,
    ) {
        let GivenValue::List(parts) = &part.given else {
            let message = format!("{}: is {}, a list is needed", declaration.name, part.given.kind());
            let expected = format!("a list; {}", self.describe_expected(item, particle));
            let fix = format!("\"{}\": [{}]", declaration.key(), part.show_for(self.manner));
            return self.report_slip(spot.path, part, message, expected, fix);
        };
        let all: Vec<&GivenPart> = parts.iter().collect();
        self.check_count(item, particle, &all, spot);
        let Some(start) = self.open_element(writer, declaration, part, spot) else { return };
        start.content(|inside| {
            for (at, part) in parts.iter().enumerate() {
                let path = spot.extend_path(&item.name, at, parts.len());
                let spot = BuildSpot { path: &path, around: &declaration.namespace, ..spot };
                self.write_child(inside, item, particle, part, spot);
            }
        });
    }

    /// Any text, as given.
    fn read_text(&mut self, role: &ValueRole<'_>, part: &GivenPart) -> Option<String> {
        let GivenValue::Text(text) = &part.given else {
            let message = format!("{}: is {}, text is needed", role.name, part.given.kind());
            self.report_slip(
                role.path,
                part,
                message,
                role.expected.clone(),
                "write it in quotes".to_owned(),
            );
            return None;
        };
        (!self.refuse_illegal(role, part, text)).then(|| text.clone())
    }

    /// Reports a character that XML cannot carry.
    pub(crate) fn refuse_illegal(&mut self, role: &ValueRole<'_>, part: &GivenPart, text: &str) -> bool {
        let found = characters::first_illegal(text);
        if let Some((_, character)) = found {
            // Not as an escape: the code that shows the message would escape it again.
            let named = format!("U+{:04X}", u32::from(character));
            let message = format!("{}: holds {named}, a character that XML cannot carry", role.name);
            self.report_slip(role.path, part, message, role.expected.clone(), "leave it out".to_owned());
        }
        found.is_some()
    }

    /// A value of a simple type in XML spelling.
    pub(crate) fn check_value(
        &mut self,
        simple: &SimpleType,
        role: &ValueRole<'_>,
        part: &GivenPart,
    ) -> Option<String> {
        let written = match (&part.given, self.manner) {
            (GivenValue::Text(_), ValueManner::Fields) => Ok(self.read_text(role, part)?),
            (_, ValueManner::Fields) => Err("a value".to_owned()),
            (_, ValueManner::Json) => spelling::spell_given(simple, &part.given),
        };
        let (words, instead) = match written {
            Ok(written) => {
                if self.refuse_illegal(role, part, &written) {
                    return None;
                }
                let Some(wrong) = check_value::check_value(simple, &written) else { return Some(written) };
                (wrong.words, wrong.instead)
            }
            Err(needed) => {
                let words = format!("is {}, {needed} is needed", part.given.kind());
                (words, spelling::suggest_meant(simple, &part.given))
            }
        };
        let mut fix = match instead {
            Some(instead) => self.spell_assignment(simple, role, &instead),
            None => format!("write {}", describe::describe_simple(simple)),
        };
        if role.optional {
            fix.push_str(&format!(", or leave {} out", role.name));
        }
        let message = format!("{}: {words}", role.name);
        self.report_slip(role.path, part, message, role.expected.clone(), fix);
        None
    }

    /// A value next to its name, in the syntax of the input.
    pub(crate) fn spell_assignment(&self, simple: &SimpleType, role: &ValueRole<'_>, value: &str) -> String {
        match self.manner {
            ValueManner::Fields => format!("{}={}", field_path(role.path), sketch::quote_text(value)),
            ValueManner::Json => format!("\"{}\": {}", role.key, spelling::to_json(simple, value)),
        }
    }
}

/// A path as a command-line field: `/order/line[2]/sku` is `line[2].sku`, the root itself is `.`.
pub(crate) fn field_path(path: &str) -> String {
    let inner = path.trim_start_matches('/').split_once('/').map_or(OWN, |(_, inner)| inner);
    inner.replace('/', ".")
}
