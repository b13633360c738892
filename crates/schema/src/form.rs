//! How a payload looks as plain values: which type is one value, which a list, which a record of named parts.
//!
//! A type of the model comes in, its form goes out. Fields of a command line, JSON and the JSON Schema all follow
//! this one reading, so that they cannot differ. Nothing is read, written or worded here.
//!
//! A payload is a record. Its attributes and child elements stand under their names; an attribute that has the name
//! of a child element stands under `..name`, text of its own under `.`, and elements that a wildcard lets in under
//! `.any`. None of these can be the name of an element, because no name begins with a dot.

use crate::shape::{
    AttributeUse, Complex, Content, Declaration, Particle, Schema, Simple, Term, Type, TypeId,
};

/// The key of an element's own text, and of children whose order matters.
pub(crate) const OWN: &str = ".";

/// The key of what a wildcard lets in.
pub(crate) const ANY: &str = ".any";

/// The name of the elements of a list in the compact form.
const ITEM: &str = "item";

/// What stands for an element.
pub(crate) enum Form<'m> {
    /// One value of a simple type.
    Value(&'m Simple),
    /// Any text.
    Text,
    /// A list of what stands for each `<item>`, the only thing inside.
    Items(&'m Particle, &'m Declaration),
    /// Named parts.
    Record(Record<'m>),
    /// XML as it stands.
    Markup,
}

/// Named parts: attributes and what is inside.
pub(crate) struct Record<'m> {
    pub(crate) attributes: &'m [AttributeUse],
    pub(crate) inside: Inside<'m>,
}

/// What an element holds between its tags.
pub(crate) enum Inside<'m> {
    Nothing,
    Value(&'m Simple),
    Text,
    /// Children that can be put back in order by their names alone.
    Named(&'m Particle),
    /// Children whose order says something that their names do not.
    Listed(&'m Particle),
}

/// A place for child elements of one name.
#[derive(Clone)]
pub(crate) struct Slot<'m> {
    pub(crate) particle: &'m Particle,
    pub(crate) declaration: &'m Declaration,
    /// Its local name: a content has no two elements of one name in two namespaces.
    pub(crate) key: String,
    /// Whether several may come.
    pub(crate) many: bool,
}

impl<'m> Form<'m> {
    /// The form of an element inside a payload.
    pub(crate) fn of(schema: &'m Schema, of: TypeId) -> Self {
        match schema.of(of) {
            Type::Simple(simple) => Self::Value(simple),
            Type::Anything => Self::Markup,
            Type::Complex(complex) => {
                let record = Record::of(complex);
                match (&record.inside, record.attributes) {
                    (Inside::Value(simple), []) => Self::Value(simple),
                    (Inside::Text, []) => Self::Text,
                    (Inside::Named(particle), []) => match items(particle) {
                        Some((particle, declaration)) => Self::Items(particle, declaration),
                        None => Self::Record(record),
                    },
                    _ => Self::Record(record),
                }
            }
        }
    }
}

impl<'m> Record<'m> {
    /// The form of a whole payload, which is always a record.
    pub(crate) fn of_root(schema: &'m Schema, of: TypeId) -> Self {
        match schema.of(of) {
            Type::Simple(simple) => Self { attributes: &[], inside: Inside::Value(simple) },
            Type::Complex(complex) => Self::of(complex),
            Type::Anything => Self { attributes: &[], inside: Inside::Text },
        }
    }

    fn of(complex: &'m Complex) -> Self {
        let inside = match &complex.content {
            Content::Empty => Inside::Nothing,
            Content::Text(simple) => Inside::Value(simple),
            Content::Free => Inside::Text,
            Content::Children(particle) if is_told_by_names(particle, &mut Vec::new()) => {
                Inside::Named(particle)
            }
            Content::Children(particle) => Inside::Listed(particle),
        };
        Self { attributes: &complex.attributes, inside }
    }

    pub(crate) fn particle(&self) -> Option<&'m Particle> {
        match self.inside {
            Inside::Named(particle) | Inside::Listed(particle) => Some(particle),
            Inside::Nothing | Inside::Value(_) | Inside::Text => None,
        }
    }

    /// Whether it has text of its own.
    pub(crate) fn has_text(&self) -> bool {
        matches!(self.inside, Inside::Value(_) | Inside::Text)
    }

    /// The places for child elements, each name once, in the order of the schema.
    pub(crate) fn slots(&self) -> Vec<Slot<'m>> {
        let mut found: Vec<Slot<'m>> = Vec::new();
        let Some(content) = self.particle() else { return found };
        each_element(content, &mut |particle, declaration| {
            if !found.iter().any(|slot| is_same(slot.declaration, declaration)) {
                let many = most(content, &|term| is_of(term, declaration)).is_none_or(|n| n > 1);
                found.push(Slot { particle, declaration, key: declaration.name.clone(), many });
            }
        });
        found
    }

    /// Whether a wildcard stands in it, and whether it lets in several elements.
    pub(crate) fn wildcard(&self) -> Option<bool> {
        let most = most(self.particle()?, &|term| matches!(term, Term::Wildcard(_)));
        match most {
            Some(0) => None,
            Some(1) => Some(false),
            _ => Some(true),
        }
    }

    /// The key under which an attribute stands.
    pub(crate) fn key(&self, attribute: &AttributeUse) -> String {
        let mut taken = false;
        if let Some(content) = self.particle() {
            each_element(content, &mut |_, declaration| taken |= declaration.name == attribute.name);
        }
        if taken { format!("..{}", attribute.name) } else { attribute.name.clone() }
    }
}

/// Whether two declarations are of one name.
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

/// How many of the terms that are meant may come in all; none for any number.
pub(crate) fn most(particle: &Particle, meant: &impl Fn(&Term) -> bool) -> Option<u32> {
    let once = match &particle.term {
        term @ (Term::Element(_) | Term::Wildcard(_)) => Some(u32::from(meant(term))),
        Term::Sequence(parts) | Term::All(parts) => parts
            .iter()
            .map(|part| most(part, meant))
            .try_fold(0_u32, |sum, part| part.map(|part| sum.saturating_add(part))),
        Term::Choice(parts) => parts
            .iter()
            .map(|part| most(part, meant))
            .try_fold(0_u32, |largest, part| part.map(|part| largest.max(part))),
    };
    match (once, particle.max) {
        (Some(0), _) => Some(0),
        (Some(once), Some(max)) => Some(once.saturating_mul(max)),
        _ => None,
    }
}

/// How many of the terms that are meant must come at least.
pub(crate) fn least(particle: &Particle, meant: &impl Fn(&Term) -> bool) -> u32 {
    let once = match &particle.term {
        term @ (Term::Element(_) | Term::Wildcard(_)) => u32::from(meant(term)),
        Term::Sequence(parts) | Term::All(parts) => {
            parts.iter().map(|part| least(part, meant)).fold(0, u32::saturating_add)
        }
        Term::Choice(parts) => parts.iter().map(|part| least(part, meant)).min().unwrap_or(0),
    };
    once.saturating_mul(particle.min)
}

/// The elements that are supplied where they were left out: those with a default that come at most once, and whose
/// absence no choice and no inner group explains.
pub(crate) fn supplied<'m>(particle: &'m Particle, found: &mut Vec<&'m Declaration>) {
    match &particle.term {
        Term::Element(declaration) => {
            if declaration.default.is_some() && (particle.min, particle.max) == (0, Some(1)) {
                found.push(declaration);
            }
        }
        Term::Sequence(parts) | Term::All(parts) if (particle.min, particle.max) == (1, Some(1)) => {
            parts.iter().for_each(|part| supplied(part, found));
        }
        Term::Sequence(_) | Term::All(_) | Term::Choice(_) | Term::Wildcard(_) => {}
    }
}

/// Whether each name has one place, so that children can be put back in order by their names. A group that
/// repeats holds one name only, or its rounds would be lost.
fn is_told_by_names<'m>(particle: &'m Particle, seen: &mut Vec<Option<&'m Declaration>>) -> bool {
    let parts = match &particle.term {
        Term::Element(declaration) => return is_new(Some(declaration), seen),
        Term::Wildcard(_) => return is_new(None, seen),
        Term::Sequence(parts) | Term::Choice(parts) | Term::All(parts) => parts,
    };
    if particle.max.is_some_and(|max| max <= 1) {
        return parts.iter().all(|part| is_told_by_names(part, seen));
    }
    lone(particle).is_some_and(|declaration| is_new(Some(declaration), seen))
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
pub(crate) fn lone(particle: &Particle) -> Option<&Declaration> {
    let mut found: Vec<&Declaration> = Vec::new();
    each_element(particle, &mut |_, declaration| found.push(declaration));
    let wild = most(particle, &|term| matches!(term, Term::Wildcard(_))) != Some(0);
    let (first, others) = found.split_first()?;
    (!wild && others.iter().all(|other| is_same(first, other))).then_some(*first)
}

/// The element of a list in the compact form: a sequence of `item` and nothing beside it.
fn items(particle: &Particle) -> Option<(&Particle, &Declaration)> {
    let inner = match &particle.term {
        Term::Sequence(parts) if (particle.min, particle.max) == (1, Some(1)) => match parts.as_slice() {
            [only] => only,
            _ => return None,
        },
        _ => return None,
    };
    match &inner.term {
        Term::Element(declaration) if declaration.name == ITEM => Some((inner, declaration)),
        _ => None,
    }
}
