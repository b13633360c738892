//! The rules that bind the parts of a record to one another, as JSON Schema and in words: which are required, which
//! exclude one another, which belong together.
//!
//! The places of a record come in; rules for their keys go out. It says nothing about the values of the keys.

use serde_json::{Map, Value, json};

use crate::form::{ANY, RecordSlot, count_most, find_lone, is_same};
use crate::shape::{Declaration, Particle, Term};

/// The rules of a record beyond the forms of its parts.
#[derive(Default)]
pub(crate) struct BondRules {
    pub(crate) required: Vec<String>,
    pub(crate) bonds: Vec<KeyBond>,
}

/// A rule that binds several parts to one another.
pub(crate) struct KeyBond {
    schema: Value,
    words: String,
}

impl BondRules {
    pub(crate) fn into_fields(self) -> Map<String, Value> {
        let mut fields = Map::new();
        if !self.required.is_empty() {
            fields.insert("required".to_owned(), Value::from(self.required));
        }
        if !self.bonds.is_empty() {
            let all = self.bonds.into_iter().map(|bond| bond.schema);
            fields.insert("allOf".to_owned(), all.collect());
        }
        fields
    }

    fn is_empty(&self) -> bool {
        self.required.is_empty() && self.bonds.is_empty()
    }

    pub(crate) fn words(&self) -> Vec<String> {
        self.bonds.iter().map(|bond| bond.words.clone()).collect()
    }
}

/// The keys of a record, which its rules use.
pub(crate) struct SlotKeys<'s, 'm>(pub(crate) &'s [RecordSlot<'m>]);

impl SlotKeys<'_, '_> {
    fn find_key(&self, declaration: &Declaration) -> String {
        let slot = self.0.iter().find(|slot| is_same(slot.declaration, declaration));
        slot.map_or_else(|| declaration.name.clone(), |slot| slot.key.clone())
    }

    /// Adds the requirements of a required particle.
    pub(crate) fn add_needed(&self, particle: &Particle, rules: &mut BondRules) {
        if particle.min == 0 {
            return self.add_optional(particle, rules);
        }
        match &particle.term {
            Term::Element(declaration) => rules.required.push(self.find_key(declaration)),
            Term::Wildcard(_) => rules.required.push(ANY.to_owned()),
            _ if particle.max != Some(1) => {
                if let Some(only) = find_lone(particle).filter(|_| !particle.term.may_be_empty()) {
                    rules.required.push(self.find_key(only));
                }
            }
            Term::Sequence(parts) | Term::All(parts) => {
                parts.iter().for_each(|part| self.add_needed(part, rules));
            }
            Term::Choice(parts) => match parts.as_slice() {
                [only] => self.add_needed(only, rules),
                parts => rules.bonds.push(self.bind_choice(parts)),
            },
        }
    }

    /// Adds the rule of an optional group: none of it, or all that it needs.
    fn add_optional(&self, particle: &Particle, rules: &mut BondRules) {
        let is_group = !matches!(particle.term, Term::Element(_) | Term::Wildcard(_));
        if !is_group || particle.max != Some(1) {
            return;
        }
        let mut whole = BondRules::default();
        self.add_needed(&Particle { min: 1, ..particle.clone() }, &mut whole);
        if !whole.is_empty() {
            let mut needed = whole.words();
            if !whole.required.is_empty() {
                needed.insert(0, format!("{} must be", whole.required.join(", ")));
            }
            let names = self.join_names(particle, &whole.required).replace('?', "");
            let words = format!("if any of {names} is there, {}", needed.join(", and "));
            let schema = json!({ "anyOf": [self.forbid_keys(&[particle]), whole.into_fields()] });
            rules.bonds.push(KeyBond { schema, words });
        }
    }

    /// One of several, and none of the others.
    fn bind_choice(&self, parts: &[Particle]) -> KeyBond {
        let alone = |part: &Particle| match &part.term {
            Term::Element(declaration) if part.min > 0 => {
                Some(json!({ "required": [self.find_key(declaration)] }))
            }
            _ => None,
        };
        let rules_of = |part: &Particle| {
            let mut rules = BondRules::default();
            self.add_needed(part, &mut rules);
            rules
        };
        let named = |part: &Particle| {
            let rules = rules_of(part);
            let (names, more) = (self.join_names(part, &rules.required), rules.words());
            if more.is_empty() { names } else { format!("{names} ({})", more.join("; ")) }
        };
        let branch = |(at, part): (usize, &Particle)| {
            let others = parts.iter().enumerate().filter(|(other, _)| *other != at);
            let mut branch = rules_of(part).into_fields();
            branch.extend(self.forbid_keys(&others.map(|(_, part)| part).collect::<Vec<_>>()));
            Value::Object(branch)
        };
        let each: Vec<String> = parts.iter().map(named).collect();
        let lead =
            if parts.iter().any(Particle::may_be_absent) { "at most one of " } else { "exactly one of " };
        let words = format!("{lead}{}", each.join(" | "));
        let schema = match parts.iter().map(alone).collect::<Option<Vec<_>>>() {
            Some(alone) => json!({ "oneOf": alone }),
            None => json!({ "anyOf": parts.iter().enumerate().map(branch).collect::<Vec<_>>() }),
        };
        KeyBond { schema, words }
    }

    /// The keys of a particle, with a mark after the optional ones.
    fn join_names(&self, particle: &Particle, required: &[String]) -> String {
        let mut declared = Vec::new();
        particle.term.collect_elements(&mut declared);
        let mut keys: Vec<String> = declared.iter().map(|declaration| self.find_key(declaration)).collect();
        if has_wildcard(particle) {
            keys.push(ANY.to_owned());
        }
        let marked = keys.into_iter().map(|key| if required.contains(&key) { key } else { key + "?" });
        marked.collect::<Vec<_>>().join(", ")
    }

    /// None of these.
    fn forbid_keys(&self, particles: &[&Particle]) -> Map<String, Value> {
        let mut keys = Map::new();
        for particle in particles {
            let mut declared = Vec::new();
            particle.term.collect_elements(&mut declared);
            keys.extend(declared.iter().map(|declaration| (self.find_key(declaration), Value::from(false))));
            if has_wildcard(particle) {
                keys.insert(ANY.to_owned(), Value::from(false));
            }
        }
        Map::from_iter([("properties".to_owned(), Value::Object(keys))])
    }
}

fn has_wildcard(particle: &Particle) -> bool {
    count_most(particle, &|term| matches!(term, Term::Wildcard(_))) != Some(0)
}
