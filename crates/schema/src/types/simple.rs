//! The simple types of a module: one table of facets for the reader and the writer, and a type in each language.
//!
//! A simple type comes in; its place in the table, and its type as Python or TypeScript writes it, go out.

use super::literal::{Literal, quote_text};
use super::regex;
use crate::judge::builtin::{Builtin, TypeFamily, WhiteSpace};
use crate::limits::{EXACT_WHOLE, SAFE_DIGITS};
use crate::shape::{SimpleType, SimpleVariety, ValueBound};

/// Which language a type is written for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeLanguage {
    Python,
    TypeScript,
}

/// The facets of the simple types, each once, with the types of both languages.
#[derive(Default)]
pub(super) struct SimpleTable {
    pub(super) rows: Vec<SimpleRow>,
    /// Patterns that the two languages cannot check alike.
    pub(super) unchecked: Vec<String>,
}

pub(super) struct SimpleRow {
    pub(super) facets: Literal,
    python: String,
    typescript: String,
}

impl SimpleTable {
    /// The place of a type, which is added if it is new.
    pub(super) fn add(&mut self, simple: &SimpleType) -> usize {
        let mut facets = Vec::new();
        let (python, typescript) = match &simple.variety {
            SimpleVariety::Atomic(base) => {
                facets.push(("base", Literal::new_text(base.name())));
                if simple.space != base.white_space() {
                    facets.push(("space", Literal::new_text(name_space(simple.space))));
                }
                if base.family() == TypeFamily::Whole && !is_exact(simple, *base) {
                    facets.push(("wide", Literal::Number(1)));
                }
                name_types(simple, *base)
            }
            SimpleVariety::List(item) => {
                let at = self.add(item);
                facets.push(("list", Literal::new_count(at)));
                let item = self.find_types(at);
                (format!("tuple[{}, ...]", item.0), format!("readonly ({})[]", item.1))
            }
            SimpleVariety::Union(members) => {
                let places: Vec<usize> = members.iter().map(|member| self.add(member)).collect();
                facets.push((
                    "union",
                    Literal::List(places.iter().map(|at| Literal::new_count(*at)).collect()),
                ));
                let types: Vec<_> = places.iter().map(|at| self.find_types(*at)).collect();
                let join = |pick: fn(&(String, String)) -> &String| {
                    let mut each: Vec<&str> = Vec::new();
                    for one in types.iter().map(pick) {
                        if !each.contains(&one.as_str()) {
                            each.push(one);
                        }
                    }
                    each.join(" | ")
                };
                (join(|types| &types.0), join(|types| &types.1))
            }
        };
        self.add_facets(simple, &mut facets);
        let facets = Literal::Object(facets);
        if let Some(known) = self.rows.iter().position(|row| row.facets == facets) {
            return known;
        }
        self.rows.push(SimpleRow { facets, python, typescript });
        self.rows.len().saturating_sub(1)
    }

    fn find_types(&self, at: usize) -> (String, String) {
        self.rows.get(at).map(|row| (row.python.clone(), row.typescript.clone())).unwrap_or_default()
    }

    /// The type of a row as a language writes it.
    pub(super) fn write_type(&self, at: usize, language: TypeLanguage) -> &str {
        self.rows.get(at).map_or("", |row| match language {
            TypeLanguage::Python => &row.python,
            TypeLanguage::TypeScript => &row.typescript,
        })
    }

    fn add_facets(&mut self, simple: &SimpleType, facets: &mut Vec<(&'static str, Literal)>) {
        if !simple.values.is_empty() {
            let values = simple.values.iter().map(|value| Literal::new_text(&value.value));
            facets.push(("values", Literal::List(values.collect())));
        }
        let mut steps = Vec::new();
        for step in &simple.patterns {
            let written: Option<Vec<Literal>> =
                step.iter().map(|one| regex::write_regex(&one.value.tree).map(Literal::Text)).collect();
            match written {
                Some(step) => steps.push(Literal::List(step)),
                // One pattern of a step is enough, so all of them are left out.
                None => self.unchecked.extend(step.iter().map(|one| one.value.source.clone())),
            }
        }
        if !steps.is_empty() {
            facets.push(("patterns", Literal::List(steps)));
        }
        let counts = [
            ("length", &simple.length),
            ("minLength", &simple.min_length),
            ("maxLength", &simple.max_length),
            ("totalDigits", &simple.total_digits),
            ("fractionDigits", &simple.fraction_digits),
        ];
        for (name, count) in counts {
            facets.extend(count.as_ref().map(|count| (name, Literal::new_count(count.value))));
        }
        for (name, bound) in [("min", &simple.least), ("max", &simple.most)] {
            let pair = |bound: &ValueBound| {
                Literal::List(vec![Literal::new_text(&bound.value), Literal::Number(bound.inclusive.into())])
            };
            facets.extend(bound.as_ref().map(|bound| (name, pair(bound))));
        }
    }
}

fn name_space(space: WhiteSpace) -> &'static str {
    match space {
        WhiteSpace::Preserve => "preserve",
        WhiteSpace::Replace => "replace",
        WhiteSpace::Collapse => "collapse",
    }
}

/// The types of a value in both languages.
fn name_types(simple: &SimpleType, base: Builtin) -> (String, String) {
    let (python, typescript) = match base.family() {
        TypeFamily::Text if !simple.values.is_empty() => {
            let mut values: Vec<String> = Vec::new();
            for value in simple.values.iter().map(|value| quote_text(&value.value)) {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            return (format!("Literal[{}]", values.join(", ")), values.join(" | "));
        }
        TypeFamily::Text => ("str", "string"),
        TypeFamily::Truth => ("bool", "boolean"),
        TypeFamily::Whole if is_exact(simple, base) => ("int", "number"),
        TypeFamily::Whole => ("int", "bigint"),
        TypeFamily::Decimal => ("Decimal", "DecimalText"),
        TypeFamily::Floating => ("float", "number"),
        TypeFamily::Bytes => ("bytes", "Uint8Array"),
        TypeFamily::Span => ("Duration", "DurationText"),
        TypeFamily::Moment => match base {
            Builtin::Date => ("Date", "DateText"),
            Builtin::Time => ("Time", "TimeText"),
            _ => ("DateTime", "DateTimeText"),
        },
    };
    (python.to_owned(), typescript.to_owned())
}

/// Whether every value of a whole number is exact as a binary fraction of 64 bits.
fn is_exact(simple: &SimpleType, base: Builtin) -> bool {
    if simple.total_digits.as_ref().is_some_and(|digits| digits.value <= SAFE_DIGITS) {
        return true;
    }
    let fits = |value: &str| value.parse::<i128>().is_ok_and(|value| value.abs() <= EXACT_WHOLE);
    if !simple.values.is_empty() {
        return simple.values.iter().all(|value| fits(&value.value));
    }
    let (least, most) = base.limits();
    let holds = |bound: &Option<ValueBound>, limit: Option<&str>| {
        bound.as_ref().is_some_and(|bound| fits(&bound.value)) || limit.is_some_and(fits)
    };
    holds(&simple.least, least) && holds(&simple.most, most)
}
