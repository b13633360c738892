//! Reads the annotations for JSON (`systole:json`, `systole:json-form`, `systole:json-null`), for files, and the name of a
//! tool.
//!
//! A declaration comes in; its marks go out, or why they can have no effect. A mark without effect would be a false
//! promise, so it is refused: on a whole payload, on a type of another shape, on a part that is never missing, and a key
//! that two parts of one content have.

use std::collections::HashMap;

use crate::form::JsonForm;
use crate::judge::builtin::{Builtin, TypeFamily, WhiteSpace};
use crate::read::XsdReading;
use crate::shape::{
    ComplexContent, ComplexType, Declaration, ElementMarks, JsonNull, JsonShape, Particle, SimpleType,
    SimpleVariety, Term, TypeId, TypeShape, ValueBound,
};
use crate::tree::XmlElement;
use systole_wire::file_reference::FILE_TYPES;
use systole_wire::limits::FILE_BYTES;
use systole_wire::namespaces::SCHEMA;

/// The marks that only a part of a payload can have.
const OF_PARTS: [&str; 3] = ["json", "json-form", "json-null"];

/// The one word of `systole:together`: the element that payloads of one reply are put into.
const CHANGE_SET: &str = "change-set";

/// The value of one of our annotations.
fn find_mark<'e>(element: &'e XmlElement, name: &str) -> Option<&'e str> {
    let found = element.attributes.iter().find(|attribute| attribute.name.is_named(SCHEMA, name))?;
    Some(&found.value)
}

/// Whether a declaration marks its value as sensitive.
pub(crate) fn is_sensitive(element: &XmlElement) -> bool {
    find_mark(element, "sensitive") == Some("true")
}

/// Whether a declaration says that its element refers to a file.
pub(crate) fn is_file(element: &XmlElement) -> bool {
    find_mark(element, "file") == Some("true")
}

/// Whether an element names its JSON form.
pub(crate) fn is_shaped(element: &XmlElement) -> bool {
    find_mark(element, "json-form").is_some()
}

/// The marks of a declaration; unknown words are reported by `known_words`.
pub(crate) fn marks_of(element: &XmlElement) -> ElementMarks {
    let null = match find_mark(element, "json-null") {
        Some("true") => JsonNull::Missing,
        Some("accepted") => JsonNull::Accepted,
        _ => JsonNull::Never,
    };
    let shape = match find_mark(element, "json-form") {
        Some("map") => JsonShape::Map,
        Some("choice") => JsonShape::Choice,
        Some("text") => JsonShape::Text,
        Some("null") => JsonShape::Null,
        _ => JsonShape::Usual,
    };
    let text = |name| find_mark(element, name).map(str::to_owned);
    let together = find_mark(element, "together") == Some(CHANGE_SET);
    ElementMarks {
        tool: text("tool"),
        key: text("json"),
        together,
        sensitive: is_sensitive(element),
        file: is_file(element),
        null,
        shape,
    }
}

impl XsdReading<'_> {
    /// A whole payload is always an object, and never missing.
    pub(crate) fn no_json_marks(&mut self, element: &XmlElement) {
        for name in OF_PARTS.into_iter().filter(|name| find_mark(element, name).is_some()) {
            let message = format!("systole:{name} is on a whole payload, whose JSON is always an object");
            self.report_unfit(element.span.start, name, &message, "put it on a part");
        }
    }

    /// Only whole payloads are put together.
    pub(crate) fn no_part_is_together(&mut self, element: &XmlElement) {
        if find_mark(element, "together").is_some() {
            let message = "systole:together is on a part of a payload; only whole payloads are put together";
            self.report_unfit(element.span.start, "together", message, "put it on the global element");
        }
    }

    /// Reports marks of an element or attribute whose value is no word of theirs.
    pub(crate) fn known_words(&mut self, element: &XmlElement) {
        self.note_marks(is_sensitive(element), is_file(element));
        let words: [(&str, &[&str]); 5] = [
            ("file", &["true"]),
            ("sensitive", &["true", "false"]),
            ("json-null", &["true", "accepted"]),
            ("json-form", &["map", "choice", "text", "null"]),
            ("together", &[CHANGE_SET]),
        ];
        for (name, known) in words {
            if let Some(other) = find_mark(element, name).filter(|value| !known.contains(value)) {
                let fix = format!("write one of {}, or leave it out", known.join(", "));
                self.report_unfit(element.span.start, name, &format!("systole:{name} is `{other}`"), &fix);
            }
        }
    }

    /// Checks that a type has the form that an annotation names, once all types are read.
    pub(crate) fn hold_shape(&mut self, element: &XmlElement, of: TypeId) {
        let wanted = marks_of(element).shape;
        if wanted == JsonShape::Usual {
            return;
        }
        let schema = self.read_so_far();
        let probe = Declaration { marks: Box::new(marks_of(element)), of, ..Declaration::default() };
        let is_it = matches!(
            (wanted, JsonForm::from_declaration(schema, &probe)),
            (JsonShape::Map, JsonForm::Map(_))
                | (JsonShape::Choice, JsonForm::Choice(_))
                | (JsonShape::Text, JsonForm::Json)
                | (JsonShape::Null, JsonForm::Null)
        );
        // An entry of a map is text beside its key.
        let is_entry = wanted == JsonShape::Text && is_keyed_text(&JsonForm::of_type(schema, of));
        if is_it || is_entry {
            return;
        }
        let (message, fix) = match wanted {
            JsonShape::Map => (
                "systole:json-form=\"map\" is on an element that is no map",
                "give it an xs:sequence of one element entry with a required attribute key",
            ),
            JsonShape::Choice => (
                "systole:json-form=\"choice\" is on an element whose content is not one xs:choice",
                "give it an xs:choice of elements that come once",
            ),
            JsonShape::Null => ("systole:json-form=\"null\" is on an element with content", "leave it empty"),
            JsonShape::Text | JsonShape::Usual => {
                ("systole:json-form=\"text\" is on an element that is no text", "give it type=\"xs:string\"")
            }
        };
        self.report_unfit(element.span.start, "json-form", message, fix);
    }

    /// Checks that a type is that of a reference to a file, once all types are read. A payload with such a part is then
    /// never without the file.
    pub(crate) fn hold_file(&mut self, element: &XmlElement, of: TypeId) {
        if is_file(element) && !is_reference(self.read_so_far().find_type(of)) {
            let message = "systole:file is on an element whose type is not that of a file";
            let fix = "declare it in the compact form, as photo: file; `systole schema show` prints its type";
            self.report_unfit(element.span.start, "file", message, fix);
        }
    }

    /// Reports two parts of one content with the same key, and `null` for a part that is never missing.
    pub(crate) fn marks_in_place(&mut self, element: &XmlElement, complex: &ComplexType) {
        let ComplexContent::Children(particle) = &complex.content else { return };
        let mut all = Vec::new();
        particle.term.collect_elements(&mut all);
        let mut keys: HashMap<&str, &str> = HashMap::new();
        for declaration in &all {
            let first = *keys.entry(declaration.key()).or_insert(&declaration.name);
            if first != declaration.name {
                let message = format!("{first} and {} have the same key in JSON", declaration.name);
                self.report_unfit(
                    element.span.start,
                    "json",
                    &message,
                    "give one of them another systole:json",
                );
            }
        }
        let mut fixed = Vec::new();
        never_missing(particle, &mut fixed);
        for declaration in fixed.into_iter().filter(|declaration| declaration.marks.null != JsonNull::Never) {
            let message =
                format!("{} has systole:json-null and is never missing, or repeats", declaration.name);
            let fix = "give it minOccurs=\"0\" and put it directly into one xs:sequence or xs:all";
            self.report_unfit(element.span.start, "json-null", &message, fix);
        }
    }
}

/// The pattern of a hash.
const DIGITS: &str = "[0-9a-f]{64}";

/// Whether each instance of a type has the form by which readers of a log know a reference to a file.
fn is_reference(of: &TypeShape) -> bool {
    let TypeShape::Complex(ComplexType { attributes, content: ComplexContent::Empty, .. }) = of else {
        return false;
    };
    let find = |name: &str| attributes.iter().find(|one| one.required && one.name == name);
    let (Some(hash), Some(media), Some(bytes)) = (find("sha256"), find("type"), find("bytes")) else {
        return false;
    };
    let is_plain = |simple: &SimpleType| {
        matches!(simple.variety, SimpleVariety::Atomic(base) if base == Builtin::String)
            && matches!(simple.space, WhiteSpace::Preserve)
    };
    // Each step of a derivation holds, so one that admits only digits is enough.
    let has_digits_only =
        hash.simple.patterns.iter().any(|step| step.iter().all(|one| one.value.source == DIGITS));
    let read_bound = |bound: &ValueBound| bound.value.trim().parse::<usize>().ok();
    // Each number from 1 to the largest file is read, however it is written.
    let is_size = |simple: &SimpleType| {
        matches!(simple.variety, SimpleVariety::Atomic(base) if base.family() == TypeFamily::Whole)
            && simple.least.as_ref().and_then(read_bound).is_some_and(|least| least > 0)
            && simple.most.as_ref().and_then(read_bound).is_some_and(|most| most <= FILE_BYTES)
    };
    let values = &media.simple.values;
    has_digits_only
        && is_plain(&hash.simple)
        && is_plain(&media.simple)
        && !values.is_empty()
        && values.iter().all(|one| FILE_TYPES.contains(&one.value.as_str()))
        && is_size(&bytes.simple)
        && attributes.iter().all(|one| one.required || one.name == "name")
        && attributes.len() <= 4
}

fn is_keyed_text(form: &JsonForm<'_>) -> bool {
    matches!(form, JsonForm::Record(record) if record.has_text() && record.attributes.len() == 1)
}

/// The elements for which a missing one cannot mean `null`.
fn never_missing<'m>(particle: &'m Particle, found: &mut Vec<&'m Declaration>) {
    match &particle.term {
        Term::Sequence(parts) | Term::All(parts) if (particle.min, particle.max) == (1, Some(1)) => {
            parts.iter().for_each(|part| never_missing(part, found));
        }
        Term::Element(_) if (particle.min, particle.max) == (0, Some(1)) => {}
        term => term.collect_elements(found),
    }
}
