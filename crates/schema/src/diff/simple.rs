//! Compares the values that two simple types admit.

use std::cmp::Ordering;

use super::{ChangeEffect, ModelComparison};
use crate::judge::builtin::{Builtin, TypeFamily};
use crate::limits;
use crate::shape::{FacetValue, SimpleType, SimpleVariety, ValueBound};

/// Whether every text is a value.
fn takes_all(simple: &SimpleType) -> bool {
    let any = matches!(
        simple.variety,
        SimpleVariety::Atomic(Builtin::String | Builtin::NormalizedString | Builtin::Token)
    );
    any && !is_restricted(simple)
}

fn is_restricted(simple: &SimpleType) -> bool {
    simple.has_facets()
        || simple.least.is_some()
        || simple.most.is_some()
        || simple.total_digits.is_some()
        || simple.fraction_digits.is_some()
}

impl ModelComparison<'_> {
    pub(super) fn compare_simples(&mut self, old: &SimpleType, new: &SimpleType) {
        match (takes_all(old), takes_all(new)) {
            (true, true) => return,
            (false, true) => return self.report_change(ChangeEffect::WIDER, "may now be any text"),
            (true, false) if new.values.is_empty() => {
                let words = format!("could be any text before, and is now {}", name_simple(new));
                return self.report_change(ChangeEffect::NARROWER, words);
            }
            _ => {}
        }
        match (&old.variety, &new.variety) {
            (SimpleVariety::Atomic(before), SimpleVariety::Atomic(after)) => {
                if !self.compare_bases(*before, *after) {
                    return;
                }
                self.compare_bounds(*after, old, new);
            }
            (SimpleVariety::List(before), SimpleVariety::List(after)) => self.compare_simples(before, after),
            (SimpleVariety::Union(before), SimpleVariety::Union(after)) if before.len() == after.len() => {
                before.iter().zip(after).for_each(|(before, after)| self.compare_simples(before, after));
            }
            _ => {
                return self.report_change(
                    ChangeEffect::BOTH,
                    format!("was {} and is {}", name_simple(old), name_simple(new)),
                );
            }
        }
        if old.space != new.space && (is_restricted(old) || is_restricted(new)) {
            self.report_change(ChangeEffect::BOTH, "treats blanks in another way");
        }
        self.compare_values(old, new);
        self.compare_counts(old, new);
        let patterns = |simple: &SimpleType| -> Vec<Vec<String>> {
            let step = |step: &Vec<FacetValue<_>>| step.iter().map(|one| one.fragment.clone()).collect();
            simple.patterns.iter().map(step).collect()
        };
        match (patterns(old), patterns(new)) {
            (before, after) if before == after => {}
            (before, after) if after.starts_with(&before) => {
                self.report_change(ChangeEffect::NARROWER, "has a new pattern")
            }
            (before, after) if before.starts_with(&after) => {
                self.report_change(ChangeEffect::WIDER, "has no such pattern any more")
            }
            _ => self.report_change(ChangeEffect::BOTH, "has another pattern"),
        }
    }

    /// Compares built-in types. Returns whether their facets can be compared.
    fn compare_bases(&mut self, old: Builtin, new: Builtin) -> bool {
        if old == new {
            return true;
        }
        let words = format!("was xs:{} and is xs:{}", old.name(), new.name());
        let is_text = |base| matches!(base, Builtin::String | Builtin::NormalizedString | Builtin::Token);
        match (old.family(), new.family()) {
            (TypeFamily::Whole, TypeFamily::Whole) => true,
            (TypeFamily::Whole, TypeFamily::Decimal) => {
                self.report_change(ChangeEffect::WIDER, words);
                true
            }
            (TypeFamily::Decimal, TypeFamily::Whole) => {
                self.report_change(ChangeEffect::NARROWER, words);
                true
            }
            _ if is_text(old) && is_text(new) => true,
            _ => {
                self.report_change(ChangeEffect::BOTH, words);
                false
            }
        }
    }

    /// Compares the smallest and the largest value, with the limits of the built-in types themselves.
    fn compare_bounds(&mut self, base: Builtin, old: &SimpleType, new: &SimpleType) {
        let limit = |simple: &SimpleType, is_least: bool| -> Option<ValueBound> {
            let SimpleVariety::Atomic(base) = simple.variety else { return None };
            let own = if is_least { &simple.least } else { &simple.most };
            let (least, most) = base.limits();
            let of_type = if is_least { least } else { most };
            let of_type = of_type.map(|value| ValueBound {
                value: value.to_owned(),
                inclusive: true,
                fragment: String::new(),
            });
            own.clone().or(of_type)
        };
        for (is_least, what) in [(true, "the smallest value"), (false, "the largest value")] {
            let (before, after) = (limit(old, is_least), limit(new, is_least));
            let effect = match (&before, &after) {
                (None, None) => continue,
                (None, Some(_)) => ChangeEffect::NARROWER,
                (Some(_), None) => ChangeEffect::WIDER,
                (Some(before), Some(after)) => match base.compare_values(&after.value, &before.value) {
                    Some(Ordering::Equal) if before.inclusive == after.inclusive => continue,
                    Some(Ordering::Equal) if after.inclusive => ChangeEffect::WIDER,
                    Some(Ordering::Equal) => ChangeEffect::NARROWER,
                    Some(order) if (order == Ordering::Greater) == is_least => ChangeEffect::NARROWER,
                    Some(_) => ChangeEffect::WIDER,
                    None => ChangeEffect::BOTH,
                },
            };
            let told = |bound: &Option<ValueBound>| match bound {
                None => "unlimited".to_owned(),
                Some(bound) if bound.inclusive => bound.value.clone(),
                Some(bound) => format!("{} (excluded)", bound.value),
            };
            self.report_change(effect, format!("{what} was {} and is {}", told(&before), told(&after)));
        }
    }

    /// Compares lists of allowed values.
    fn compare_values(&mut self, old: &SimpleType, new: &SimpleType) {
        let of = |simple: &SimpleType| -> Vec<String> {
            simple.values.iter().map(|value| value.value.clone()).collect()
        };
        let (before, after) = (of(old), of(new));
        match (before.is_empty(), after.is_empty()) {
            (true, true) => {}
            (true, false) => self
                .report_change(ChangeEffect::NARROWER, format!("must now be one of {}", list_values(&after))),
            (false, true) => self.report_change(ChangeEffect::WIDER, "has no list of values any more"),
            (false, false) => {
                let gone: Vec<String> =
                    before.iter().filter(|value| !after.contains(value)).cloned().collect();
                let fresh: Vec<String> =
                    after.iter().filter(|value| !before.contains(value)).cloned().collect();
                if !gone.is_empty() {
                    self.report_change(
                        ChangeEffect::NARROWER,
                        format!("may not be {} any more", list_values(&gone)),
                    );
                }
                if !fresh.is_empty() {
                    self.report_change(ChangeEffect::WIDER, format!("may now be {}", list_values(&fresh)));
                }
            }
        }
    }

    /// Compares lengths and digits.
    fn compare_counts(&mut self, old: &SimpleType, new: &SimpleType) {
        let value = |facet: &Option<FacetValue<usize>>| facet.as_ref().map(|facet| facet.value);
        // An exact length is both a smallest and a largest one.
        let least = |simple: &SimpleType| value(&simple.length).or(value(&simple.min_length)).unwrap_or(0);
        let most =
            |simple: &SimpleType| value(&simple.length).or(value(&simple.max_length)).unwrap_or(usize::MAX);
        let of = |facet: &Option<FacetValue<usize>>| value(facet).unwrap_or(usize::MAX);
        let (before, after) = (least(old), least(new));
        self.compare_count("the smallest length", before, after, after > before);
        for (what, before, after) in [
            ("the largest length", most(old), most(new)),
            ("the number of digits", of(&old.total_digits), of(&new.total_digits)),
            ("the number of digits after the point", of(&old.fraction_digits), of(&new.fraction_digits)),
        ] {
            self.compare_count(what, before, after, after < before);
        }
    }

    fn compare_count(&mut self, what: &str, before: usize, after: usize, is_narrower: bool) {
        if before == after {
            return;
        }
        let effect = if is_narrower { ChangeEffect::NARROWER } else { ChangeEffect::WIDER };
        let told =
            |count: usize| if count == usize::MAX { "unlimited".to_owned() } else { count.to_string() };
        self.report_change(effect, format!("{what} was {} and is {}", told(before), told(after)));
    }
}

/// A few values, quoted.
fn list_values(values: &[String]) -> String {
    let mut text: Vec<String> =
        values.iter().take(limits::CHANGED_VALUES).map(|value| format!("\"{value}\"")).collect();
    if values.len() > limits::CHANGED_VALUES {
        text.push(format!("{} more", values.len() - limits::CHANGED_VALUES));
    }
    text.join(", ")
}

/// A type in a word.
fn name_simple(simple: &SimpleType) -> String {
    match &simple.variety {
        SimpleVariety::Atomic(base) if is_restricted(simple) => format!("a restricted xs:{}", base.name()),
        SimpleVariety::Atomic(base) => format!("xs:{}", base.name()),
        SimpleVariety::List(_) => "a list".to_owned(),
        SimpleVariety::Union(_) => "a union".to_owned(),
    }
}
