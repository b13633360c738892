//! Compares what is inside of elements: attributes, and the order and number of children.

use std::collections::HashMap;

use super::{ChangeEffect, ModelComparison};
use crate::shape::{AttributeUse, ComplexContent, ComplexType, Particle, SimpleType, Term};

/// The name of a part, for people and to tell the parts of a group apart.
fn name_part(part: &Particle) -> String {
    match &part.term {
        Term::Element(declaration) => declaration.name.clone(),
        Term::Sequence(_) => "(sequence)".to_owned(),
        Term::Choice(_) => "(choice)".to_owned(),
        Term::All(_) => "(all)".to_owned(),
        Term::Wildcard(_) => "(any)".to_owned(),
    }
}

/// What identifies a part: the same key in two groups is the same part.
fn make_key(part: &Particle) -> String {
    match &part.term {
        Term::Element(declaration) => format!("{{{}}}{}", declaration.namespace, declaration.name),
        _ => name_part(part),
    }
}

/// The keys of a group's parts. The second part with a key gets another one than the first.
fn make_keys(parts: &[Particle]) -> Vec<String> {
    let mut found: Vec<String> = Vec::with_capacity(parts.len());
    let mut counts: HashMap<String, usize> = HashMap::new();
    for part in parts {
        let key = make_key(strip_wrapping(part));
        let count = counts.entry(key.clone()).or_default();
        *count += 1;
        found.push(format!("{key} {count}"));
    }
    found
}

/// A group that only holds another particle once is that particle.
fn strip_wrapping(part: &Particle) -> &Particle {
    let mut part = part;
    loop {
        let (Term::Sequence(parts) | Term::Choice(parts)) = &part.term else { return part };
        match parts.as_slice() {
            [only] if part.min == 1 && part.max == Some(1) => part = only,
            _ => return part,
        }
    }
}

fn describe_occurs(min: u32, max: Option<u32>) -> String {
    match (min, max) {
        (0, Some(1)) => "optional".to_owned(),
        (1, Some(1)) => "required".to_owned(),
        (min, None) => format!("{min} or more"),
        (min, Some(max)) if min == max => format!("exactly {min}"),
        (min, Some(max)) => format!("{min} to {max}"),
    }
}

impl ModelComparison<'_> {
    pub(super) fn compare_complexes(&mut self, old: &ComplexType, new: &ComplexType) {
        self.compare_attributes(&old.attributes, &new.attributes);
        match (&old.content, &new.content) {
            (ComplexContent::Empty, ComplexContent::Empty) | (ComplexContent::Free, ComplexContent::Free) => {
            }
            (ComplexContent::Text(old), ComplexContent::Text(new)) => self.compare_simples(old, new),
            (ComplexContent::Text(_), ComplexContent::Free) => {
                self.report_change(ChangeEffect::WIDER, "may now have any text")
            }
            (ComplexContent::Free, ComplexContent::Text(_)) => {
                self.report_change(ChangeEffect::NARROWER, "could have any text before")
            }
            (ComplexContent::Children(old), ComplexContent::Children(new)) => {
                self.compare_particles(old, new)
            }
            (ComplexContent::Empty, ComplexContent::Children(new)) if new.may_be_absent() => {
                self.report_change(ChangeEffect::WIDER, "may now have elements inside");
            }
            (ComplexContent::Children(old), ComplexContent::Empty) if old.may_be_absent() => {
                self.report_change(ChangeEffect::NARROWER, "may have no elements inside any more");
            }
            (ComplexContent::Empty, ComplexContent::Free) => {
                self.report_change(ChangeEffect::WIDER, "may now have text")
            }
            (ComplexContent::Free, ComplexContent::Empty) => {
                self.report_change(ChangeEffect::NARROWER, "may have no text any more")
            }
            _ => self.report_change(ChangeEffect::BOTH, "has content of another kind"),
        }
    }

    /// A type that had only text, and now has attributes or elements too.
    pub(super) fn of_simple_and_complex(
        &mut self,
        old: &SimpleType,
        new: &ComplexType,
        (with_attributes, otherwise): (ChangeEffect, ChangeEffect),
    ) {
        match &new.content {
            ComplexContent::Text(text) => {
                self.compare_simples(old, text);
                self.compare_attributes(&[], &new.attributes);
            }
            ComplexContent::Free => {
                self.report_change(with_attributes, "may now have any text");
                self.compare_attributes(&[], &new.attributes);
            }
            ComplexContent::Empty | ComplexContent::Children(_) => {
                self.report_change(otherwise, "had text, and now has elements or nothing")
            }
        }
    }

    /// A type that had attributes or elements, and now has only text.
    pub(super) fn of_complex_and_simple(&mut self, old: &ComplexType, new: &SimpleType) {
        match &old.content {
            ComplexContent::Text(text) => {
                self.compare_simples(text, new);
                self.compare_attributes(&old.attributes, &[]);
            }
            _ => self.report_change(ChangeEffect::BOTH, "now has only text"),
        }
    }

    fn compare_attributes(&mut self, old: &[AttributeUse], new: &[AttributeUse]) {
        for before in old {
            let part = format!("@{}", before.name);
            let Some(after) = new.iter().find(|after| after.name == before.name) else {
                let effect = if before.required { ChangeEffect::BOTH } else { ChangeEffect::NARROWER };
                self.tell_of(&part, effect, "is gone");
                continue;
            };
            match (before.required, after.required) {
                (false, true) => self.tell_of(&part, ChangeEffect::NARROWER, "was optional and is required"),
                (true, false) => self.tell_of(&part, ChangeEffect::WIDER, "was required and is optional"),
                _ => {}
            }
            if before.default != after.default {
                self.tell_of(&part, ChangeEffect::default(), "has another default");
            }
            self.path.push(part);
            self.compare_simples(&before.simple, &after.simple);
            self.path.pop();
        }
        for after in new.iter().filter(|after| old.iter().all(|before| before.name != after.name)) {
            let part = format!("@{}", after.name);
            match after.required {
                true => self.tell_of(&part, ChangeEffect::BOTH, "is new and required"),
                false => self.tell_of(&part, ChangeEffect::WIDER, "is new and optional"),
            }
        }
    }

    fn compare_particles(&mut self, old: &Particle, new: &Particle) {
        let (old, new) = (strip_wrapping(old), strip_wrapping(new));
        // A part can become a group that has it as a member.
        match (&old.term, &new.term) {
            (Term::Sequence(before), Term::Sequence(after)) => {
                self.compare_occurrences(old, new);
                self.compare_sequences(before, after);
            }
            (Term::Choice(before), Term::Choice(after)) => {
                self.compare_occurrences(old, new);
                self.compare_members(before, after, true);
            }
            (Term::All(before), Term::All(after)) => {
                self.compare_occurrences(old, new);
                self.compare_members(before, after, false);
            }
            (Term::Sequence(before), Term::All(after)) => {
                self.compare_occurrences(old, new);
                self.report_change(ChangeEffect::WIDER, "may now have its elements in any order");
                self.compare_members(before, after, false);
            }
            (Term::All(before), Term::Sequence(after)) => {
                self.compare_occurrences(old, new);
                self.report_change(ChangeEffect::NARROWER, "must now have its elements in this order");
                self.compare_members(before, after, false);
            }
            (Term::Element(before), Term::Element(after)) if make_key(old) == make_key(new) => {
                self.compare_occurrences(old, new);
                self.compare_declarations(before, after);
            }
            (Term::Wildcard(before), Term::Wildcard(after)) => {
                self.compare_occurrences(old, new);
                if before != after {
                    self.report_change(
                        ChangeEffect::BOTH,
                        "takes elements of other namespaces where any are allowed",
                    );
                }
            }
            (Term::Choice(before), _) => self.compare_moved(
                new,
                old,
                |comparison, once| {
                    comparison.compare_members(before, std::slice::from_ref(once), true);
                },
                false,
            ),
            (_, Term::Choice(after)) => self.compare_moved(
                old,
                new,
                |comparison, once| {
                    comparison.compare_members(std::slice::from_ref(once), after, true);
                },
                true,
            ),
            (Term::Sequence(before), Term::Element(_)) => {
                self.occurrences_of(&name_part(old), (old.min, old.max), (1, Some(1)));
                self.compare_sequences(before, std::slice::from_ref(new));
            }
            (Term::Element(_), Term::Sequence(after)) => {
                self.occurrences_of(&name_part(new), (1, Some(1)), (new.min, new.max));
                self.compare_sequences(std::slice::from_ref(old), after);
            }
            _ => self.report_change(ChangeEffect::BOTH, "has its elements in another kind of group"),
        }
    }

    /// A part on one side and a choice on the other: the part as often as it occurs, each time as the only choice.
    fn compare_moved(
        &mut self,
        part: &Particle,
        choice: &Particle,
        compare: impl FnOnce(&mut Self, &Particle),
        is_new: bool,
    ) {
        let once = Particle { min: 1, max: Some(1), term: part.term.clone() };
        let (of_part, of_choice) = ((part.min, part.max), (choice.min, choice.max));
        let (before, after) = if is_new { (of_part, of_choice) } else { (of_choice, of_part) };
        self.occurrences_of(&name_part(choice), before, after);
        compare(self, &once);
    }

    fn compare_occurrences(&mut self, old: &Particle, new: &Particle) {
        self.occurrences_of(&name_part(new), (old.min, old.max), (new.min, new.max));
    }

    fn occurrences_of(&mut self, part: &str, old: (u32, Option<u32>), new: (u32, Option<u32>)) {
        let most = |max: Option<u32>| max.unwrap_or(u32::MAX);
        let narrower = new.0 > old.0 || most(new.1) < most(old.1);
        let wider = new.0 < old.0 || most(new.1) > most(old.1);
        if narrower || wider {
            let words =
                format!("was {} and is {}", describe_occurs(old.0, old.1), describe_occurs(new.0, new.1));
            self.tell_of(part, ChangeEffect { narrower, wider }, words);
        }
    }

    /// Compares groups whose parts come in order: equal parts are paired without crossing.
    fn compare_sequences(&mut self, old: &[Particle], new: &[Particle]) {
        let (old_keys, new_keys) = (make_keys(old), make_keys(new));
        let pairs = pair_keys(&old_keys, &new_keys);
        for (at, part) in old.iter().enumerate().filter(|(at, _)| pairs.iter().all(|(one, _)| one != at)) {
            let is_moved = old_keys.get(at).is_some_and(|key| new_keys.contains(key));
            let effect = if part.may_be_absent() { ChangeEffect::NARROWER } else { ChangeEffect::BOTH };
            self.tell_of(
                &name_part(strip_wrapping(part)),
                effect,
                if is_moved { "is at another place" } else { "is gone" },
            );
        }
        for (at, part) in new.iter().enumerate() {
            if let Some((before, _)) = pairs.iter().find(|(_, one)| *one == at) {
                if let Some(before) = old.get(*before) {
                    self.compare_particles(before, part);
                }
                continue;
            }
            let is_optional = part.may_be_absent();
            let effect = if is_optional { ChangeEffect::WIDER } else { ChangeEffect::BOTH };
            let words = if is_optional { "is new here and optional" } else { "is new here and required" };
            self.tell_of(&name_part(strip_wrapping(part)), effect, words);
        }
    }

    /// Compares groups whose parts come in any order: choices, of which one occurs, and others, of which all do.
    fn compare_members(&mut self, old: &[Particle], new: &[Particle], is_choice: bool) {
        let (old_keys, new_keys) = (make_keys(old), make_keys(new));
        for (part, key) in old.iter().zip(&old_keys) {
            match new_keys.iter().position(|other| other == key).and_then(|at| new.get(at)) {
                Some(after) => self.compare_particles(part, after),
                None => {
                    let is_optional = is_choice || part.may_be_absent();
                    let effect = if is_optional { ChangeEffect::NARROWER } else { ChangeEffect::BOTH };
                    self.tell_of(&name_part(strip_wrapping(part)), effect, "is gone");
                }
            }
        }
        for (part, _) in new.iter().zip(&new_keys).filter(|(_, key)| !old_keys.contains(key)) {
            let is_optional = is_choice || part.may_be_absent();
            let effect = if is_optional { ChangeEffect::WIDER } else { ChangeEffect::BOTH };
            let words = if is_optional { "is new and optional" } else { "is new and required" };
            self.tell_of(&name_part(strip_wrapping(part)), effect, words);
        }
    }
}

/// The places of equal keys, in order and without crossing.
fn pair_keys(old: &[String], new: &[String]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let (mut from, mut at) = (0, 0);
    // No key occurs twice, so the next equal one is the only one; what it skips counts as changed.
    while let Some(key) = old.get(at) {
        let next = new.iter().enumerate().skip(from).find(|(_, other)| *other == key).map(|(place, _)| place);
        if let Some(place) = next {
            pairs.push((at, place));
            from = place + 1;
        }
        at += 1;
    }
    pairs
}
