//! The classes of a namespace, as both languages have them: names, fields, types, and how often a part comes.
//!
//! Models come in. Classes go out, which follow the same reading as command-line fields and JSON. It writes no text.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::beyond;
use super::names::{TakenNames, name_class, name_field};
use super::simple::SimpleTable;
use crate::form::{ElementInside, JsonForm, JsonRecord, RecordSlot, count_least, count_most, is_of};
use crate::shape::{
    AttributeUse, Declaration, Particle, SchemaShape, SimpleType, Term, TypeId, TypeShape, Wildcard,
};

/// Everything that a module declares.
#[derive(Default)]
pub(super) struct ClassTable {
    pub(super) namespace: Arc<str>,
    /// The global elements, with the names of their classes.
    pub(super) elements: Vec<(String, String)>,
    pub(super) classes: Vec<PayloadClass>,
    pub(super) simple: SimpleTable,
    /// What the classes admit and the schema does not.
    pub(super) beyond: Vec<String>,
}

/// A payload, or an element with parts inside one.
#[derive(Default)]
pub(super) struct PayloadClass {
    pub(super) name: String,
    /// The local name of a global element.
    pub(super) element: Option<String>,
    pub(super) documentation: Option<String>,
    pub(super) attributes: Vec<ClassField>,
    pub(super) text: Option<ClassField>,
    pub(super) children: Vec<ClassField>,
    pub(super) listed: Option<ListedField>,
    pub(super) any: Option<AnyField>,
}

/// A field of one value, or of several.
pub(super) struct ClassField {
    pub(super) field: String,
    /// The name in XML, and its namespace; none for text.
    pub(super) name: String,
    pub(super) namespace: Arc<str>,
    pub(super) of: FieldType,
    pub(super) min: u32,
    pub(super) max: Option<u32>,
    pub(super) default: Option<String>,
    pub(super) sensitive: bool,
    pub(super) documentation: Option<String>,
}

impl ClassField {
    /// Whether several are allowed.
    pub(super) fn is_many(&self) -> bool {
        self.max != Some(1)
    }
}

/// The type of one value.
pub(super) enum FieldType {
    /// A simple type, by its place in the table.
    Simple(usize),
    /// Any text.
    Text,
    Class(String),
    /// A class of another namespace.
    Foreign(String, Arc<str>),
    /// A list of elements inside the element.
    Items(Box<ClassField>),
    /// Any element.
    Markup,
    File,
}

/// Children whose order matters.
pub(super) struct ListedField {
    pub(super) field: String,
    pub(super) of: Vec<ClassField>,
    pub(super) any: bool,
    pub(super) min: u32,
    pub(super) max: Option<u32>,
}

/// The elements that a wildcard admits.
pub(super) struct AnyField {
    pub(super) field: String,
    /// The child before which they are written.
    pub(super) at: usize,
    pub(super) many: bool,
    pub(super) min: u32,
    /// The namespace that they must not have.
    pub(super) other: Option<Arc<str>>,
}

/// The classes of the models of one namespace.
pub(super) fn collect_classes(schemas: &[&SchemaShape], is_known: &dyn Fn(&str) -> bool) -> ClassTable {
    let mut table = ClassTable::default();
    if let Some(first) = schemas.first() {
        table.namespace = Arc::clone(&first.namespace);
    }
    let mut taken = TakenNames::default();
    let mut own = Vec::new();
    for schema in schemas {
        let mut named = Vec::new();
        for declaration in schema.list_own() {
            if table.elements.iter().all(|(local, _)| *local != declaration.name) {
                let class = taken.take(name_class(&declaration.name));
                table.elements.push((declaration.name.clone(), class.clone()));
                named.push((declaration, class));
            }
        }
        own.push(named);
    }
    for (schema, named) in schemas.iter().copied().zip(own) {
        let reading = ClassReading {
            schema,
            is_known,
            table: &mut table,
            taken: &mut taken,
            parts: HashMap::new(),
            waiting: VecDeque::new(),
        };
        reading.read_elements(named);
    }
    table.beyond.extend(list_unchecked(&table.simple));
    replace_hiding_names(&mut table);
    table
}

/// The patterns that no class checks.
fn list_unchecked(simple: &SimpleTable) -> Vec<String> {
    let mut patterns: Vec<String> = simple.unchecked.iter().map(|one| format!("the pattern {one}")).collect();
    patterns.sort();
    patterns.dedup();
    patterns
}

/// A field with the name of a class would hide the class from the fields below it.
fn replace_hiding_names(table: &mut ClassTable) {
    let classes: Vec<String> = table.classes.iter().map(|class| class.name.clone()).collect();
    for class in &mut table.classes {
        let mut taken = TakenNames::default();
        classes.iter().cloned().for_each(|name| taken.add(name));
        let own = || class.children.iter().chain(&class.text).chain(&class.attributes);
        own().for_each(|field| taken.add(field.field.clone()));
        for field in class.children.iter_mut().chain(&mut class.attributes) {
            if classes.contains(&field.field) {
                field.field = taken.take(field.field.clone());
            }
        }
    }
}

/// The class of a global element in the module of its own namespace.
fn name_global(schema: &SchemaShape, wanted: &Declaration) -> Option<String> {
    let mut taken = TakenNames::default();
    let mut same = schema.elements.iter().filter(|one| one.namespace == wanted.namespace);
    same.find_map(|one| {
        let class = taken.take(name_class(&one.name));
        (one.name == wanted.name).then_some(class)
    })
}

struct ClassReading<'m, 't> {
    schema: &'m SchemaShape,
    /// Whether a namespace has a module.
    is_known: &'t dyn Fn(&str) -> bool,
    table: &'t mut ClassTable,
    taken: &'t mut TakenNames,
    /// The classes of types inside payloads.
    parts: HashMap<usize, String>,
    /// Those that are not written yet.
    waiting: VecDeque<(String, &'m Declaration)>,
}

impl<'m> ClassReading<'m, '_> {
    fn read_elements(mut self, named: Vec<(&'m Declaration, String)>) {
        for (declaration, class) in named {
            let record = JsonRecord::of_root(self.schema, declaration.of);
            let element = Some(declaration.name.clone());
            self.read_class(class, element, declaration, &record);
            // The classes inside follow the first payload that has them.
            while let Some((class, declaration)) = self.waiting.pop_front() {
                let record = JsonRecord::of_root(self.schema, declaration.of);
                self.read_class(class, None, declaration, &record);
            }
        }
    }

    fn read_class(
        &mut self,
        name: String,
        element: Option<String>,
        declaration: &'m Declaration,
        record: &JsonRecord<'m>,
    ) {
        let mut class = PayloadClass { name, element, ..PayloadClass::default() };
        class.documentation = self.schema.find_about(declaration).map(str::to_owned);
        let mut fields = TakenNames::default();
        match record.inside {
            ElementInside::Nothing => {}
            ElementInside::Value(simple) => class.text = Some(self.make_text(Some(simple), &mut fields)),
            ElementInside::Text => class.text = Some(self.make_text(None, &mut fields)),
            ElementInside::Named(particle) => self.read_children(&mut class, particle, record, &mut fields),
            ElementInside::Listed(particle) => self.read_listed(&mut class, particle, record, &mut fields),
        }
        for attribute in record.attributes {
            let field = self.read_attribute(attribute, &mut fields);
            class.attributes.push(field);
        }
        if declaration.marks.sensitive {
            let own = class.attributes.iter_mut().chain(&mut class.text).chain(&mut class.children);
            own.for_each(|field| field.sensitive = true);
        }
        self.table.beyond.extend(beyond::list_rules(&class.name, record));
        self.table.classes.push(class);
    }

    fn make_text(&mut self, simple: Option<&SimpleType>, fields: &mut TakenNames) -> ClassField {
        let of = simple.map_or(FieldType::Text, |simple| FieldType::Simple(self.table.simple.add(simple)));
        ClassField {
            field: fields.take("text".to_owned()),
            name: String::new(),
            namespace: Arc::default(),
            of,
            min: 1,
            max: Some(1),
            default: None,
            sensitive: false,
            documentation: None,
        }
    }

    fn read_attribute(&mut self, attribute: &AttributeUse, fields: &mut TakenNames) -> ClassField {
        ClassField {
            field: fields.take(name_field(&attribute.name)),
            name: attribute.name.clone(),
            namespace: Arc::default(),
            of: FieldType::Simple(self.table.simple.add(&attribute.simple)),
            min: u32::from(attribute.required),
            max: Some(1),
            default: attribute.default.clone(),
            sensitive: attribute.sensitive,
            documentation: attribute.documentation.clone(),
        }
    }

    fn read_children(
        &mut self,
        class: &mut PayloadClass,
        particle: &'m Particle,
        record: &JsonRecord<'m>,
        fields: &mut TakenNames,
    ) {
        for slot in record.slots() {
            let field = self.read_slot(&class.name, particle, &slot, fields);
            class.children.push(field);
        }
        let Some(many) = record.wildcard() else { return };
        let (mut at, mut found) = (0, None);
        find_wildcard(particle, &mut at, &mut found);
        let Some((at, wildcard)) = found else { return };
        let min = count_least(particle, &|term| matches!(term, Term::Wildcard(_)));
        let other = match wildcard {
            Wildcard::Any => None,
            Wildcard::Other(own) => Some(Arc::clone(own)),
        };
        class.any = Some(AnyField { field: fields.take("any".to_owned()), at, many, min, other });
    }

    fn read_slot(
        &mut self,
        class: &str,
        content: &'m Particle,
        slot: &RecordSlot<'m>,
        fields: &mut TakenNames,
    ) -> ClassField {
        let declaration = slot.declaration;
        let is_it = |term: &Term| is_of(term, declaration);
        ClassField {
            field: fields.take(name_field(&declaration.name)),
            name: declaration.name.clone(),
            namespace: Arc::clone(&declaration.namespace),
            of: self.find_field_type(class, declaration),
            min: count_least(content, &is_it),
            max: count_most(content, &is_it),
            default: declaration.default.clone(),
            sensitive: declaration.marks.sensitive,
            documentation: declaration.documentation.clone(),
        }
    }

    /// Children whose order matters: each has a class, so that the list says which is which.
    fn read_listed(
        &mut self,
        class: &mut PayloadClass,
        particle: &'m Particle,
        record: &JsonRecord<'m>,
        fields: &mut TakenNames,
    ) {
        let mut of = Vec::new();
        for slot in record.slots() {
            let mut field = self.read_slot(&class.name, particle, &slot, &mut TakenNames::default());
            (field.min, field.max) = (1, Some(1));
            if !matches!(field.of, FieldType::Class(_) | FieldType::Foreign(..)) {
                field.of = FieldType::Class(self.make_wrapper(&class.name, slot.declaration, field.of));
            }
            of.push(field);
        }
        let any = |_: &Term| true;
        class.listed = Some(ListedField {
            field: fields.take("items".to_owned()),
            of,
            any: record.wildcard().is_some(),
            min: count_least(particle, &any),
            max: count_most(particle, &any),
        });
    }

    /// A class around a value of a list of several kinds.
    fn make_wrapper(&mut self, class: &str, declaration: &Declaration, of: FieldType) -> String {
        let name = self.taken.take(format!("{class}{}", name_class(&declaration.name)));
        let mut wrapper = PayloadClass { name: name.clone(), ..PayloadClass::default() };
        wrapper.documentation = self.schema.find_about(declaration).map(str::to_owned);
        let mut field = self.make_text(None, &mut TakenNames::default());
        field.sensitive = declaration.marks.sensitive;
        match of {
            FieldType::Items(item) => wrapper.children.push(*item),
            FieldType::Markup => {
                let any = AnyField { field: "any".to_owned(), at: 0, many: true, min: 0, other: None };
                wrapper.any = Some(any);
            }
            of => wrapper.text = Some(ClassField { of, ..field }),
        }
        self.table.classes.push(wrapper);
        name
    }

    /// The type of an element inside a payload.
    fn find_field_type(&mut self, class: &str, declaration: &'m Declaration) -> FieldType {
        if declaration.marks.file {
            return FieldType::File;
        }
        match JsonForm::of_type(self.schema, declaration.of) {
            JsonForm::Value(simple) => FieldType::Simple(self.table.simple.add(simple)),
            JsonForm::Text => FieldType::Text,
            JsonForm::Items(particle, item) if !self.is_inside_itself(declaration.of) => {
                FieldType::Items(Box::new(ClassField {
                    field: "items".to_owned(),
                    name: item.name.clone(),
                    namespace: Arc::clone(&item.namespace),
                    of: self.find_field_type(&format!("{class}{}", name_class(&declaration.name)), item),
                    min: particle.min,
                    max: particle.max,
                    default: None,
                    sensitive: item.marks.sensitive,
                    documentation: None,
                }))
            }
            JsonForm::Record(_) | JsonForm::Items(..) => self.find_part(class, declaration),
            // Marks for JSON give these forms, and types alone do not.
            JsonForm::Markup | JsonForm::Map(_) | JsonForm::Choice(_) | JsonForm::Json | JsonForm::Null => {
                FieldType::Markup
            }
        }
    }

    fn find_part(&mut self, class: &str, declaration: &'m Declaration) -> FieldType {
        let global = self.schema.global_of(&declaration.namespace, &declaration.name);
        if global.is_some_and(|global| global.of == declaration.of) {
            if declaration.namespace != self.schema.namespace && (self.is_known)(&declaration.namespace) {
                let name = name_global(self.schema, declaration).unwrap_or_default();
                return FieldType::Foreign(name, Arc::clone(&declaration.namespace));
            }
            let is_own = declaration.namespace == self.schema.namespace;
            let own = self.table.elements.iter().find(|(local, _)| is_own && *local == declaration.name);
            if let Some((_, class)) = own {
                return FieldType::Class(class.clone());
            }
        }
        if let Some(known) = self.parts.get(&declaration.of.0) {
            return FieldType::Class(known.clone());
        }
        let name = self.taken.take(format!("{class}{}", name_class(&declaration.name).trim_end_matches('_')));
        self.parts.insert(declaration.of.0, name.clone());
        self.waiting.push_back((name.clone(), declaration));
        FieldType::Class(name)
    }

    /// Whether a type can be reached from itself.
    fn is_inside_itself(&self, of: TypeId) -> bool {
        let mut seen = HashSet::new();
        let mut next = vec![of];
        while let Some(id) = next.pop() {
            if let TypeShape::Complex(_) = self.schema.find_type(id) {
                for slot in JsonRecord::of_root(self.schema, id).slots() {
                    if slot.declaration.of == of {
                        return true;
                    }
                    if seen.insert(slot.declaration.of.0) {
                        next.push(slot.declaration.of);
                    }
                }
            }
        }
        false
    }
}

/// The wildcard of a content, and how many named children come before it.
fn find_wildcard<'m>(particle: &'m Particle, at: &mut usize, found: &mut Option<(usize, &'m Wildcard)>) {
    match &particle.term {
        Term::Element(_) if found.is_none() => *at = at.saturating_add(1),
        Term::Wildcard(wildcard) if found.is_none() => *found = Some((*at, wildcard)),
        Term::Sequence(parts) | Term::All(parts) | Term::Choice(parts) => {
            parts.iter().for_each(|part| find_wildcard(part, at, found));
        }
        Term::Element(_) | Term::Wildcard(_) => {}
    }
}
