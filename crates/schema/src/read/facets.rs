//! Checks the facets of one restriction against one another and against those of its base.
//!
//! The facets as written come in, with the type before and after them. Facets that contradict one another or allow
//! more than the base are noted with the reading. It refuses nothing that libxml2 compiles: stored schemas must stay
//! readable. Its benefit is the place, which libxml2 omits for most of these errors.

use std::cmp::Ordering;

use crate::judge::builtin::Builtin;
use crate::read::XsdReading;
use crate::shape::{FacetValue, SimpleType, SimpleVariety, ValueBound};
use crate::tree::XmlElement;

const NARROW: &str = "correct one of them: a restriction may only narrow its base";

/// Facets of one restriction that exclude one another.
const EXCLUSIVE: [(&str, &str); 4] = [
    ("minInclusive", "minExclusive"),
    ("maxInclusive", "maxExclusive"),
    ("length", "minLength"),
    ("length", "maxLength"),
];

impl XsdReading<'_> {
    pub(crate) fn facets_agree(&mut self, facets: &[&XmlElement], base: &SimpleType, simple: &SimpleType) {
        let named = |name: &str| facets.iter().copied().find(|facet| facet.name.local == name);
        for (one, other) in EXCLUSIVE {
            if let (Some(_), Some(facet)) = (named(one), named(other)) {
                let message = format!("xs:{one} is beside it, and a type has only one of the two");
                return self.unfit_at(facet, &message, "leave one of them out");
            }
        }
        let has_least = named("minInclusive").or(named("minExclusive")).is_some();
        for facet in facets {
            let wrong = match &*facet.name.local {
                "minInclusive" | "minExclusive" => report_outside(simple.least.as_ref(), base),
                "maxInclusive" | "maxExclusive" => {
                    let empty = has_least.then(|| nothing_between(simple)).flatten();
                    empty.or_else(|| report_outside(simple.most.as_ref(), base))
                }
                "length" => report_more(&simple.length, &base.max_length, "maxLength of its base")
                    .or_else(|| report_less(&simple.length, &base.min_length, "minLength of its base")),
                "minLength" => report_less(&simple.min_length, &base.min_length, "minLength of its base"),
                "maxLength" => report_more(&simple.max_length, &base.max_length, "maxLength of its base"),
                "totalDigits" => {
                    report_more(&simple.total_digits, &base.total_digits, "totalDigits of its base")
                }
                "fractionDigits" => {
                    let own = named("totalDigits").and_then(|_| {
                        report_more(&simple.fraction_digits, &simple.total_digits, "totalDigits")
                    });
                    own.or_else(|| {
                        report_more(
                            &simple.fraction_digits,
                            &base.fraction_digits,
                            "fractionDigits of its base",
                        )
                    })
                }
                _ => None,
            };
            if let Some(message) = wrong {
                self.unfit_at(facet, &message, NARROW);
            }
        }
    }
}

fn report_more(
    count: &Option<FacetValue<usize>>,
    limit: &Option<FacetValue<usize>>,
    of: &str,
) -> Option<String> {
    let (count, limit) = (count.as_ref()?.value, limit.as_ref()?.value);
    (count > limit).then(|| format!("{count} is more than {limit}, the {of}"))
}

fn report_less(
    count: &Option<FacetValue<usize>>,
    limit: &Option<FacetValue<usize>>,
    of: &str,
) -> Option<String> {
    let (count, limit) = (count.as_ref()?.value, limit.as_ref()?.value);
    (count < limit).then(|| format!("{count} is less than {limit}, the {of}"))
}

fn find_kind(simple: &SimpleType) -> Option<Builtin> {
    match simple.variety {
        SimpleVariety::Atomic(kind) => Some(kind),
        _ => None,
    }
}

/// A bound outside the base.
fn report_outside(bound: Option<&ValueBound>, base: &SimpleType) -> Option<String> {
    let (kind, bound) = (find_kind(base)?, bound?);
    let beyond = |limit: &Option<ValueBound>, order: Ordering| {
        let limit = limit.as_ref()?;
        (kind.compare_values(&bound.value, &limit.value) == Some(order)).then(|| limit.value.clone())
    };
    if let Some(most) = beyond(&base.most, Ordering::Greater) {
        return Some(format!("{} is more than {most}, the greatest value of its base", bound.value));
    }
    let least = beyond(&base.least, Ordering::Less)?;
    Some(format!("{} is less than {least}, the smallest value of its base", bound.value))
}

/// Two bounds without a value between them. Two exclusive bounds may be equal, as in libxml2.
fn nothing_between(simple: &SimpleType) -> Option<String> {
    let (least, most) = (simple.least.as_ref()?, simple.most.as_ref()?);
    let empty = match find_kind(simple)?.compare_values(&least.value, &most.value)? {
        Ordering::Greater => true,
        Ordering::Equal => least.inclusive != most.inclusive,
        Ordering::Less => false,
    };
    let name = if least.inclusive { "minInclusive" } else { "minExclusive" };
    empty.then(|| format!("{} leaves no value, because xs:{name} is {}", most.value, least.value))
}
