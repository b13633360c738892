//! What a change of a schema does to its payloads: for each global element, whether every old payload is still valid,
//! and whether every new one would have been.
//!
//! It claims nothing that it cannot see: what it cannot compare counts as both narrower and wider. Two models come in;
//! changes with their places go out. It judges no payload.

mod content;
mod simple;

use std::collections::HashSet;

use crate::shape::{Declaration, SchemaShape, TypeId, TypeShape};
use crate::tree;

/// What a change does to the payloads of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ChangeEffect {
    /// Some old payloads are refused now.
    pub narrower: bool,
    /// Some new payloads would have been refused before.
    pub wider: bool,
}

impl ChangeEffect {
    pub(crate) const NARROWER: Self = Self { narrower: true, wider: false };
    pub(crate) const WIDER: Self = Self { narrower: false, wider: true };
    pub(crate) const BOTH: Self = Self { narrower: true, wider: true };

    fn combine_with(self, other: Self) -> Self {
        Self { narrower: self.narrower || other.narrower, wider: self.wider || other.wider }
    }
}

/// How a global element changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementChange {
    /// The same payloads are valid.
    Same,
    /// It is new.
    Added,
    /// It is gone: no payload is valid any more.
    Removed,
    /// Every old payload is valid, and others too.
    Compatible,
    /// Some old payloads are refused.
    Narrower,
    /// Some old payloads are refused, and new ones would have been refused before.
    Incompatible,
}

impl ElementChange {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Compatible => "compatible",
            Self::Narrower => "narrower",
            Self::Incompatible => "incompatible",
        }
    }
}

/// One change inside an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartChange {
    /// The path of the part, such as `/order/item/@n`.
    pub path: String,
    /// What changed, worded to follow the path.
    pub words: String,
    /// What it does.
    pub effect: ChangeEffect,
    /// The line of the nearest declaration in the old schema; `None` if another document has it.
    pub old_line: Option<u64>,
    /// The same for the new schema.
    pub new_line: Option<u64>,
}

/// A global element of the old or the new schema, and what changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementDiff {
    /// Its local name.
    pub element: String,
    /// How it changed.
    pub change: ElementChange,
    /// The changes, in the order of the schema. One inside of many elements of the same type is told once.
    pub parts: Vec<PartChange>,
}

/// Both models with their texts, and the changes found so far in one element.
pub(crate) struct ModelComparison<'m> {
    old: &'m SchemaShape,
    new: &'m SchemaShape,
    texts: (&'m [u8], &'m [u8]),
    /// Types that are compared already, or right now: a type may contain itself.
    seen: HashSet<(usize, usize)>,
    path: Vec<String>,
    /// The offsets of the nearest declarations.
    at: (Option<usize>, Option<usize>),
    parts: Vec<PartChange>,
}

/// Compares the own global elements of two models; the texts are those that the models were read from.
pub(crate) fn compare_elements(
    (old, old_text): (&SchemaShape, &[u8]),
    (new, new_text): (&SchemaShape, &[u8]),
) -> Vec<ElementDiff> {
    let mut found = Vec::new();
    for before in old.list_own() {
        let Some(after) = new.find_global(&before.name) else {
            let (element, change) = (before.name.clone(), ElementChange::Removed);
            found.push(ElementDiff { element, change, parts: Vec::new() });
            continue;
        };
        let mut comparison = ModelComparison {
            old,
            new,
            texts: (old_text, new_text),
            seen: HashSet::new(),
            path: Vec::new(),
            at: (None, None),
            parts: Vec::new(),
        };
        comparison.compare_declarations(before, after);
        let parts = comparison.parts;
        let effect = parts.iter().fold(ChangeEffect::default(), |sum, part| sum.combine_with(part.effect));
        let change = match (effect.narrower, effect.wider) {
            (false, false) => ElementChange::Same,
            (false, true) => ElementChange::Compatible,
            (true, false) => ElementChange::Narrower,
            (true, true) => ElementChange::Incompatible,
        };
        found.push(ElementDiff { element: before.name.clone(), change, parts });
    }
    for after in new.list_own().filter(|after| old.find_global(&after.name).is_none()) {
        let (element, change) = (after.name.clone(), ElementChange::Added);
        found.push(ElementDiff { element, change, parts: Vec::new() });
    }
    found
}

impl ModelComparison<'_> {
    pub(crate) fn report_change(&mut self, effect: ChangeEffect, words: impl Into<String>) {
        let line = |schema: &SchemaShape, text: &[u8], at: Option<usize>| {
            // With imports the declaration may be in another document.
            at.filter(|_| schema.drawn_in.is_empty()).map(|at| tree::line_and_column(text, at).0)
        };
        self.parts.push(PartChange {
            path: format!("/{}", self.path.join("/")),
            words: words.into(),
            effect,
            old_line: line(self.old, self.texts.0, self.at.0),
            new_line: line(self.new, self.texts.1, self.at.1),
        });
    }

    /// Tells a change of a part that only one of the schemas has, or of an attribute.
    pub(crate) fn tell_of(&mut self, part: &str, effect: ChangeEffect, words: impl Into<String>) {
        self.path.push(part.to_owned());
        self.report_change(effect, words);
        self.path.pop();
    }

    /// Compares two elements of the same name.
    pub(crate) fn compare_declarations(&mut self, old: &Declaration, new: &Declaration) {
        let before = std::mem::replace(&mut self.at, (Some(old.offset), Some(new.offset)));
        self.path.push(new.name.clone());
        if old.default != new.default {
            // The same payloads are valid; a reader gets other values.
            self.report_change(ChangeEffect::default(), "has another default");
        }
        self.compare_types(old.of, new.of);
        self.path.pop();
        self.at = before;
    }

    fn compare_types(&mut self, old: TypeId, new: TypeId) {
        if !self.seen.insert((old.0, new.0)) {
            return;
        }
        match (self.old.find_type(old), self.new.find_type(new)) {
            (TypeShape::Anything, TypeShape::Anything) => {}
            (_, TypeShape::Anything) => self.report_change(ChangeEffect::WIDER, "may now have any content"),
            (TypeShape::Anything, _) => {
                self.report_change(ChangeEffect::NARROWER, "could have any content before")
            }
            (TypeShape::Simple(old), TypeShape::Simple(new)) => self.compare_simples(old, new),
            (TypeShape::Complex(old), TypeShape::Complex(new)) => self.compare_complexes(old, new),
            (TypeShape::Simple(old), TypeShape::Complex(new)) => {
                self.of_simple_and_complex(old, new, (ChangeEffect::WIDER, ChangeEffect::BOTH));
            }
            (TypeShape::Complex(old), TypeShape::Simple(new)) => self.of_complex_and_simple(old, new),
        }
    }
}
