//! The form of a payload as plain values: which type is one value, which is a list, which is a record of named
//! parts.
//!
//! A type of the model comes in, its form goes out. Command-line fields, JSON and the JSON Schema all follow this
//! one reading, so they cannot differ. It reads, writes and words nothing.
//!
//! A payload is a record. Its attributes and child elements have their names as keys. An attribute with the name of
//! a child element gets the key `..name`, the element's own text `.`, and elements that a wildcard admits `.any`.
//! None of these can be the name of an element, because no name begins with a dot.

use crate::shape::{
    AttributeUse, ComplexContent, ComplexType, Declaration, JsonShape, Particle, SchemaShape, SimpleType,
    Term, TypeId, TypeShape,
};

/// The key of an element's own text, and of children whose order matters.
pub(crate) const OWN: &str = ".";

/// The key of the elements that a wildcard admits.
pub(crate) const ANY: &str = ".any";

/// The name of the elements of a list in the compact form.
const ITEM: &str = "item";

/// The names of the elements of a map, of their attribute, and of the element in one whose value is no text.
const ENTRY: &str = "entry";
const KEY: &str = "key";
const VALUE: &str = "value";

/// The form of an element.
pub(crate) enum JsonForm<'m> {
    /// One value of a simple type.
    Value(&'m SimpleType),
    /// Any text.
    Text,
    /// A list with the form of each `<item>`, the only content.
    Items(&'m Particle, &'m Declaration),
    /// Named parts.
    Record(JsonRecord<'m>),
    /// XML, unchanged.
    Markup,
    /// An object with any keys.
    Map(EntryMap<'m>),
    /// The form of the one element inside, which is one of these.
    Choice(&'m [Particle]),
    /// JSON, spelled as text.
    Json,
    /// Nothing: `null`.
    Null,
}

/// Elements called `entry`, each with a key.
pub(crate) struct EntryMap<'m> {
    pub(crate) particle: &'m Particle,
    pub(crate) entry: &'m Declaration,
    pub(crate) key: &'m AttributeUse,
    pub(crate) value: EntryValue<'m>,
}

/// The value of an entry.
#[derive(Clone, Copy)]
pub(crate) enum EntryValue<'m> {
    /// Its own text.
    Value(&'m SimpleType),
    /// Its own text, which spells JSON.
    Json,
    /// The element inside it.
    Child(&'m Particle, &'m Declaration),
}

/// Named parts: attributes and the content.
pub(crate) struct JsonRecord<'m> {
    pub(crate) attributes: &'m [AttributeUse],
    pub(crate) inside: ElementInside<'m>,
}

/// The content of an element.
pub(crate) enum ElementInside<'m> {
    Nothing,
    Value(&'m SimpleType),
    Text,
    /// Children whose names are enough to restore their order.
    Named(&'m Particle),
    /// Children whose order carries information.
    Listed(&'m Particle),
}

/// A place for child elements of one name.
#[derive(Clone)]
pub(crate) struct RecordSlot<'m> {
    pub(crate) particle: &'m Particle,
    pub(crate) declaration: &'m Declaration,
    /// Its key in JSON, which is its local name if no annotation says otherwise: no content has two elements of one
    /// name in two namespaces.
    pub(crate) key: String,
    /// Whether several are allowed.
    pub(crate) many: bool,
}

impl<'m> JsonForm<'m> {
    /// The JSON form of an element inside a payload. If the type does not have the form that an annotation names,
    /// the form is that of the type.
    pub(crate) fn from_declaration(schema: &'m SchemaShape, declaration: &Declaration) -> Self {
        let named = match declaration.marks.shape {
            JsonShape::Usual => None,
            JsonShape::Map => entry_map(schema, declaration.of).map(Self::Map),
            JsonShape::Choice => list_branches(schema, declaration.of).map(Self::Choice),
            JsonShape::Text => is_text(schema, declaration.of).then_some(Self::Json),
            JsonShape::Null => is_empty(schema, declaration.of).then_some(Self::Null),
        };
        named.unwrap_or_else(|| Self::of_type(schema, declaration.of))
    }

    /// The form of a type: that of command-line fields, and of JSON if no annotation names another.
    pub(crate) fn of_type(schema: &'m SchemaShape, of: TypeId) -> Self {
        match schema.find_type(of) {
            TypeShape::Simple(simple) => Self::Value(simple),
            TypeShape::Anything => Self::Markup,
            TypeShape::Complex(complex) => {
                let record = JsonRecord::from_complex(complex);
                match (&record.inside, record.attributes) {
                    (ElementInside::Value(simple), []) => Self::Value(simple),
                    (ElementInside::Text, []) => Self::Text,
                    (ElementInside::Named(particle), []) => match find_items(particle) {
                        Some((particle, declaration)) => Self::Items(particle, declaration),
                        None => Self::Record(record),
                    },
                    _ => Self::Record(record),
                }
            }
        }
    }
}

impl<'m> JsonRecord<'m> {
    /// The form of a whole payload, which is always a record.
    pub(crate) fn of_root(schema: &'m SchemaShape, of: TypeId) -> Self {
        match schema.find_type(of) {
            TypeShape::Simple(simple) => Self { attributes: &[], inside: ElementInside::Value(simple) },
            TypeShape::Complex(complex) => Self::from_complex(complex),
            TypeShape::Anything => Self { attributes: &[], inside: ElementInside::Text },
        }
    }

    fn from_complex(complex: &'m ComplexType) -> Self {
        let inside = match &complex.content {
            ComplexContent::Empty => ElementInside::Nothing,
            ComplexContent::Text(simple) => ElementInside::Value(simple),
            ComplexContent::Free => ElementInside::Text,
            ComplexContent::Children(particle) if is_told_by_names(particle, &mut Vec::new()) => {
                ElementInside::Named(particle)
            }
            ComplexContent::Children(particle) => ElementInside::Listed(particle),
        };
        Self { attributes: &complex.attributes, inside }
    }

    pub(crate) fn particle(&self) -> Option<&'m Particle> {
        match self.inside {
            ElementInside::Named(particle) | ElementInside::Listed(particle) => Some(particle),
            ElementInside::Nothing | ElementInside::Value(_) | ElementInside::Text => None,
        }
    }

    /// Whether it has its own text.
    pub(crate) fn has_text(&self) -> bool {
        matches!(self.inside, ElementInside::Value(_) | ElementInside::Text)
    }

    /// The places for child elements, each name once, in schema order.
    pub(crate) fn slots(&self) -> Vec<RecordSlot<'m>> {
        let mut found: Vec<RecordSlot<'m>> = Vec::new();
        let Some(content) = self.particle() else { return found };
        each_element(content, &mut |particle, declaration| {
            if !found.iter().any(|slot| is_same(slot.declaration, declaration)) {
                let many = count_most(content, &|term| is_of(term, declaration)).is_none_or(|n| n > 1);
                found.push(RecordSlot { particle, declaration, key: declaration.key().to_owned(), many });
            }
        });
        found
    }

    /// Whether it has a wildcard, and whether that admits several elements.
    pub(crate) fn wildcard(&self) -> Option<bool> {
        let most = count_most(self.particle()?, &|term| matches!(term, Term::Wildcard(_)));
        match most {
            Some(0) => None,
            Some(1) => Some(false),
            _ => Some(true),
        }
    }

    /// The key of an attribute.
    pub(crate) fn name_key(&self, attribute: &AttributeUse) -> String {
        let mut taken = false;
        if let Some(content) = self.particle() {
            each_element(content, &mut |_, declaration| {
                taken |= declaration.name == attribute.name || declaration.key() == attribute.name;
            });
        }
        if taken { format!("..{}", attribute.name) } else { attribute.name.clone() }
    }
}

/// Whether two declarations have the same name.
pub(crate) fn is_same(one: &Declaration, other: &Declaration) -> bool {
    one.name == other.name && one.namespace == other.namespace
}

pub(crate) fn is_of(term: &Term, meant: &Declaration) -> bool {
    matches!(term, Term::Element(declaration) if is_same(declaration, meant))
}

fn each_element<'m>(particle: &'m Particle, found: &mut impl FnMut(&'m Particle, &'m Declaration)) {
    match &particle.term {
        Term::Element(declaration) => found(particle, declaration),
        Term::Wildcard(_) => {}
        Term::Sequence(parts) | Term::Choice(parts) | Term::All(parts) => {
            parts.iter().for_each(|part| each_element(part, found));
        }
    }
}

/// How many matching terms may occur in total; `None` for any number.
pub(crate) fn count_most(particle: &Particle, meant: &impl Fn(&Term) -> bool) -> Option<u32> {
    let once = match &particle.term {
        term @ (Term::Element(_) | Term::Wildcard(_)) => Some(u32::from(meant(term))),
        Term::Sequence(parts) | Term::All(parts) => parts
            .iter()
            .map(|part| count_most(part, meant))
            .try_fold(0_u32, |sum, part| part.map(|part| sum.saturating_add(part))),
        Term::Choice(parts) => parts
            .iter()
            .map(|part| count_most(part, meant))
            .try_fold(0_u32, |largest, part| part.map(|part| largest.max(part))),
    };
    match (once, particle.max) {
        (Some(0), _) => Some(0),
        (Some(once), Some(max)) => Some(once.saturating_mul(max)),
        _ => None,
    }
}

/// How many matching terms must occur at least.
pub(crate) fn count_least(particle: &Particle, meant: &impl Fn(&Term) -> bool) -> u32 {
    let once = match &particle.term {
        term @ (Term::Element(_) | Term::Wildcard(_)) => u32::from(meant(term)),
        Term::Sequence(parts) | Term::All(parts) => {
            parts.iter().map(|part| count_least(part, meant)).fold(0, u32::saturating_add)
        }
        Term::Choice(parts) => parts.iter().map(|part| count_least(part, meant)).min().unwrap_or(0),
    };
    once.saturating_mul(particle.min)
}

/// The elements that are supplied if they are missing: those with a default that occur at most once, and whose
/// absence no choice and no inner group explains.
pub(crate) fn collect_supplied<'m>(particle: &'m Particle, found: &mut Vec<&'m Declaration>) {
    match &particle.term {
        Term::Element(declaration) => {
            if declaration.default.is_some() && (particle.min, particle.max) == (0, Some(1)) {
                found.push(declaration);
            }
        }
        Term::Sequence(parts) | Term::All(parts) if (particle.min, particle.max) == (1, Some(1)) => {
            parts.iter().for_each(|part| collect_supplied(part, found));
        }
        Term::Sequence(_) | Term::All(_) | Term::Choice(_) | Term::Wildcard(_) => {}
    }
}

/// Whether each name has one place, so that names are enough to restore the order of children. A repeated group has
/// only one name, or its rounds would be lost.
fn is_told_by_names<'m>(particle: &'m Particle, seen: &mut Vec<Option<&'m Declaration>>) -> bool {
    let parts = match &particle.term {
        Term::Element(declaration) => return is_new(Some(declaration), seen),
        Term::Wildcard(_) => return is_new(None, seen),
        Term::Sequence(parts) | Term::Choice(parts) | Term::All(parts) => parts,
    };
    if particle.max.is_some_and(|max| max <= 1) {
        return parts.iter().all(|part| is_told_by_names(part, seen));
    }
    find_lone(particle).is_some_and(|declaration| is_new(Some(declaration), seen))
}

/// Notes a declaration, or a wildcard.
fn is_new<'m>(met: Option<&'m Declaration>, seen: &mut Vec<Option<&'m Declaration>>) -> bool {
    let same = |known: &Option<&Declaration>| match (known, met) {
        (Some(known), Some(met)) => is_same(known, met),
        (None, None) => true,
        _ => false,
    };
    let new = !seen.iter().any(same);
    seen.push(met);
    new
}

/// The declaration of all elements of a group, if they have one name and there is no wildcard.
pub(crate) fn find_lone(particle: &Particle) -> Option<&Declaration> {
    let mut found: Vec<&Declaration> = Vec::new();
    each_element(particle, &mut |_, declaration| found.push(declaration));
    let wild = count_most(particle, &|term| matches!(term, Term::Wildcard(_))) != Some(0);
    let (first, others) = found.split_first()?;
    (!wild && others.iter().all(|other| is_same(first, other))).then_some(*first)
}

/// The element of a list in the compact form: a sequence of only `item`.
fn find_items(particle: &Particle) -> Option<(&Particle, &Declaration)> {
    find_only(particle, ITEM)
}

/// The only element of a sequence that comes once, if it has this name.
fn find_only<'m>(particle: &'m Particle, name: &str) -> Option<(&'m Particle, &'m Declaration)> {
    let inner = match &particle.term {
        Term::Sequence(parts) if (particle.min, particle.max) == (1, Some(1)) => match parts.as_slice() {
            [only] => only,
            _ => return None,
        },
        _ => return None,
    };
    match &inner.term {
        Term::Element(declaration) if declaration.name == name => Some((inner, declaration)),
        _ => None,
    }
}

/// A type whose content is only `<entry key="…">`.
fn entry_map(schema: &SchemaShape, of: TypeId) -> Option<EntryMap<'_>> {
    let TypeShape::Complex(map) = schema.find_type(of) else { return None };
    let (ComplexContent::Children(content), []) = (&map.content, map.attributes.as_slice()) else {
        return None;
    };
    let (particle, entry) = find_only(content, ENTRY)?;
    let TypeShape::Complex(inside) = schema.find_type(entry.of) else { return None };
    let key = match inside.attributes.as_slice() {
        [key] if key.name == KEY && key.required => key,
        _ => return None,
    };
    let value = match &inside.content {
        ComplexContent::Text(_) if entry.marks.shape == JsonShape::Text => EntryValue::Json,
        ComplexContent::Text(simple) => EntryValue::Value(simple),
        ComplexContent::Children(content) => {
            let (particle, value) = find_only(content, VALUE)?;
            (particle.max == Some(1)).then_some(EntryValue::Child(particle, value))?
        }
        ComplexContent::Empty | ComplexContent::Free => return None,
    };
    Some(EntryMap { particle, entry, key, value })
}

/// A type whose content is exactly one of several elements.
fn list_branches(schema: &SchemaShape, of: TypeId) -> Option<&[Particle]> {
    let TypeShape::Complex(complex) = schema.find_type(of) else { return None };
    let (ComplexContent::Children(content), []) = (&complex.content, complex.attributes.as_slice()) else {
        return None;
    };
    let parts = match &content.term {
        Term::Choice(parts) if (content.min, content.max) == (1, Some(1)) => parts,
        _ => return None,
    };
    let is_one =
        |part: &Particle| (part.min, part.max) == (1, Some(1)) && matches!(part.term, Term::Element(_));
    parts.iter().all(is_one).then_some(parts)
}

fn is_text(schema: &SchemaShape, of: TypeId) -> bool {
    matches!(JsonForm::of_type(schema, of), JsonForm::Value(_) | JsonForm::Text)
}

fn is_empty(schema: &SchemaShape, of: TypeId) -> bool {
    matches!(schema.find_type(of), TypeShape::Complex(complex)
        if complex.attributes.is_empty() && matches!(complex.content, ComplexContent::Empty))
}
