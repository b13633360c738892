//! A part of a payload reached by a path: an element or an attribute, how often it may occur, and its possible
//! values.
//!
//! A schema and the name of a global element come in. It judges no payload and words only an impossible value.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::explain::amend;
use crate::form::{ElementInside, JsonRecord, count_least, count_most, is_of};
use crate::judge::builtin::TypeFamily;
use crate::judge::check_value;
use crate::shape::{Declaration, SchemaShape, SimpleType, SimpleVariety, TypeId, ValueBound};

/// A part of a payload.
#[derive(Clone, Debug)]
pub struct PayloadPart<'m> {
    schema: &'m SchemaShape,
    name: &'m str,
    holds: PartContent<'m>,
    is_attribute: bool,
    least: u32,
    most: Option<u32>,
}

#[derive(Clone, Debug)]
enum PartContent<'m> {
    Element(TypeId),
    Attribute(&'m Arc<SimpleType>),
}

/// The content of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadPartKind {
    /// Text, or any other value that is compared as written.
    Text,
    /// True or false.
    Flag,
    /// A number.
    Number,
    /// Other parts, or nothing.
    Parts,
}

impl<'m> PayloadPart<'m> {
    /// A global element.
    pub(crate) fn of_global(schema: &'m SchemaShape, element: &'m Declaration) -> Self {
        let holds = PartContent::Element(element.of);
        Self { schema, name: &element.name, holds, is_attribute: false, least: 1, most: Some(1) }
    }

    /// Its local name.
    pub fn name(&self) -> &'m str {
        self.name
    }

    /// Whether it is an attribute.
    pub fn is_attribute(&self) -> bool {
        self.is_attribute
    }

    /// How often it must occur at least.
    pub fn least(&self) -> u32 {
        self.least
    }

    /// How often it may occur at most; `None` for any number.
    pub fn most(&self) -> Option<u32> {
        self.most
    }

    /// Whether it may occur more than once.
    pub fn is_list(&self) -> bool {
        self.most.is_none_or(|most| most > 1)
    }

    /// The kind of its content.
    pub fn kind(&self) -> PayloadPartKind {
        match self.inside() {
            Some(ElementInside::Text) => PayloadPartKind::Text,
            Some(ElementInside::Value(simple)) => kind_of(simple),
            Some(ElementInside::Nothing | ElementInside::Named(_) | ElementInside::Listed(_)) => {
                PayloadPartKind::Parts
            }
            None => match &self.holds {
                PartContent::Attribute(simple) => kind_of(simple),
                PartContent::Element(_) => PayloadPartKind::Parts,
            },
        }
    }

    /// The parts inside it: attributes, then elements, both in the order of the schema.
    pub fn parts(&self) -> Vec<PayloadPart<'m>> {
        let Some(record) = self.record() else { return Vec::new() };
        let attributes = record.attributes.iter().map(|attribute| PayloadPart {
            schema: self.schema,
            name: &attribute.name,
            holds: PartContent::Attribute(&attribute.simple),
            is_attribute: true,
            least: u32::from(attribute.required),
            most: Some(1),
        });
        let mut parts: Vec<PayloadPart<'m>> = attributes.collect();
        let Some(content) = record.particle() else { return parts };
        for slot in record.slots() {
            let is_it = |term: &_| is_of(term, slot.declaration);
            parts.push(PayloadPart {
                schema: self.schema,
                name: &slot.declaration.name,
                holds: PartContent::Element(slot.declaration.of),
                is_attribute: false,
                least: count_least(content, &is_it),
                most: count_most(content, &is_it),
            });
        }
        parts
    }

    /// The part with that name inside it. An element comes before an attribute of the same name.
    pub fn find_part(&self, name: &str) -> Option<PayloadPart<'m>> {
        let parts = self.parts();
        let found = parts.iter().rfind(|part| part.name == name && !part.is_attribute);
        found.or_else(|| parts.iter().find(|part| part.name == name)).cloned()
    }

    /// Its possible values, if they are listed.
    pub fn values(&self) -> Vec<&'m str> {
        let values = self.simple().map(|simple| simple.values.as_slice()).unwrap_or_default();
        values.iter().map(|value| value.value.as_str()).collect()
    }

    /// Some value that it can have; `None` if none is known.
    pub fn sample(&self) -> Option<String> {
        self.simple().map_or_else(|| Some("x".to_owned()), amend::find_sample)
    }

    /// Why it can never have this value, worded to follow its name; `None` if it can.
    pub fn find_fault(&self, value: &str) -> Option<String> {
        check_value::check_value(self.simple()?, value).map(|wrong| wrong.words)
    }

    /// Whether none of its values lies in this range. Both ends belong to the range; a missing end is open.
    pub fn is_beyond(&self, from: Option<&str>, to: Option<&str>) -> bool {
        let Some(simple) = self.simple() else { return false };
        let SimpleVariety::Atomic(base) = simple.variety else { return false };
        let below = |one: &str, other: &str| base.compare_values(one, other) == Some(Ordering::Less);
        if !simple.values.is_empty() {
            let fits = |value: &str| {
                !from.is_some_and(|from| below(value, from)) && !to.is_some_and(|to| below(to, value))
            };
            return !simple.values.iter().any(|value| fits(&value.value));
        }
        let (smallest, largest) = base.limits();
        let before = |end: &str, bound: &ValueBound| {
            below(end, &bound.value) || (!bound.inclusive && base.is_same(end, &bound.value))
        };
        let behind = |end: &str, bound: &ValueBound| {
            below(&bound.value, end) || (!bound.inclusive && base.is_same(end, &bound.value))
        };
        let too_small = |to: &str| {
            simple.least.as_ref().is_some_and(|bound| before(to, bound))
                || smallest.is_some_and(|smallest| below(to, smallest))
        };
        let too_large = |from: &str| {
            simple.most.as_ref().is_some_and(|bound| behind(from, bound))
                || largest.is_some_and(|largest| below(largest, from))
        };
        to.is_some_and(too_small) || from.is_some_and(too_large)
    }

    /// Whether one value is less than the other.
    pub fn is_less(&self, one: &str, other: &str) -> bool {
        let atomic = self.simple().and_then(|simple| match simple.variety {
            SimpleVariety::Atomic(base) => Some(base),
            SimpleVariety::List(_) | SimpleVariety::Union(_) => None,
        });
        atomic.is_some_and(|base| base.compare_values(one, other) == Some(Ordering::Less))
    }

    fn record(&self) -> Option<JsonRecord<'m>> {
        match self.holds {
            PartContent::Element(of) => Some(JsonRecord::of_root(self.schema, of)),
            PartContent::Attribute(_) => None,
        }
    }

    fn inside(&self) -> Option<ElementInside<'m>> {
        self.record().map(|record| record.inside)
    }

    fn simple(&self) -> Option<&'m SimpleType> {
        match (&self.holds, self.inside()) {
            (PartContent::Attribute(simple), _) => Some(simple),
            (_, Some(ElementInside::Value(simple))) => Some(simple),
            _ => None,
        }
    }
}

fn kind_of(simple: &SimpleType) -> PayloadPartKind {
    match simple.variety {
        SimpleVariety::Atomic(base) => match base.family() {
            TypeFamily::Truth => PayloadPartKind::Flag,
            TypeFamily::Whole | TypeFamily::Decimal => PayloadPartKind::Number,
            TypeFamily::Text
            | TypeFamily::Floating
            | TypeFamily::Moment
            | TypeFamily::Span
            | TypeFamily::Bytes => PayloadPartKind::Text,
        },
        SimpleVariety::List(_) | SimpleVariety::Union(_) => PayloadPartKind::Text,
    }
}
