//! Reads simple types: restrictions, with every derivation step folded into one.
//!
//! A part of the schema's tree comes in; a `SimpleType` goes out, or unfit constructs are noted with the
//! reading. A facet is unfit if its base does not know it, or if its value is not a value of the base.
//! `read_variety` reads lists and unions.

use std::sync::Arc;

use crate::judge::builtin::{Builtin, TypeFamily, WhiteSpace};
use crate::judge::pattern::CompiledPattern;
use crate::judge::value;
use crate::nearest::find_nearest;
use crate::read::beyond::construct_words;
use crate::read::{Simply, XSD, XsdReading};
use crate::shape::{FacetValue, SimpleType, SimpleVariety, ValueBound};
use crate::tree::XmlElement;

impl<'t> XsdReading<'t> {
    /// The built-in type of this local name, if the profile has it.
    pub(crate) fn built_in(&mut self, element: &XmlElement, local: &str) -> Option<Builtin> {
        let found = Builtin::from_name(local);
        if found.is_none() {
            let near = find_nearest(local, Builtin::NAMES.iter().copied()).map(|near| format!("xs:{near}"));
            let fix = match local {
                "QName" | "NOTATION" => "use xs:string",
                "ID" | "IDREF" | "IDREFS" | "ENTITY" | "ENTITIES" => {
                    "use xs:NCName and check it in the listener"
                }
                "NMTOKENS" => "use an xs:list of xs:NMTOKEN",
                "anyType" | "anySimpleType" => "name the type, or use xs:any with processContents=\"lax\"",
                "gYear" | "gMonth" | "gDay" | "gYearMonth" | "gMonthDay" => {
                    "use xs:date, or xs:string with a pattern"
                }
                _ => near.as_deref().unwrap_or("use a built-in type of the profile, as xs:string"),
            };
            let message = format!("the type xs:{local} is not in the profile");
            self.report_unfit(element.span.start, &format!("xs:{local}"), &message, fix);
        }
        found
    }

    /// A simple type by the name written in an attribute of `element`.
    pub(crate) fn simple_by_name(
        &mut self,
        element: &'t XmlElement,
        written: &str,
        step: usize,
    ) -> Option<Arc<SimpleType>> {
        match element.resolve_name(written) {
            Some(name) if *name.namespace == *XSD => {
                self.built_in(element, &name.local).map(|base| Arc::new(SimpleType::new_plain(base)))
            }
            Some(name) => {
                let at = self.find_defined(element, written, &name)?;
                match self.named.get(&(at, name.local.as_str())) {
                    Some(named) if matches!(named.simple, Simply::Open) => {
                        let message = format!("the type {written} is part of itself");
                        self.unfit_at(element, &message, "build it from other types");
                        None
                    }
                    Some(named) if named.element.name.local == "simpleType" => {
                        self.simple_named(at, named.name, step)
                    }
                    _ => {
                        let message = format!("{written} is not a simple type");
                        self.unfit_at(element, &message, "name a simple type");
                        None
                    }
                }
            }
            None => {
                let message = format!("the prefix of {written} is not declared");
                self.unfit_at(element, &message, "declare the prefix on xs:schema");
                None
            }
        }
    }

    pub(crate) fn simple_named(&mut self, at: usize, name: &'t str, step: usize) -> Option<Arc<SimpleType>> {
        let named = self.named.get_mut(&(at, name))?;
        match &named.simple {
            Simply::Read(read) => return read.clone(),
            Simply::Open => return None,
            Simply::Unread => named.simple = Simply::Open,
        }
        let element = named.element;
        let read = self.with_paper(at, |reading| {
            reading.only_attributes(element, &["name"]);
            reading.read_simple(element, step.saturating_add(1))
        });
        if let Some(named) = self.named.get_mut(&(at, name)) {
            named.simple = Simply::Read(read.clone());
        }
        read
    }

    pub(crate) fn read_simple(&mut self, element: &'t XmlElement, step: usize) -> Option<Arc<SimpleType>> {
        if step > crate::limits::RESTRICTIONS {
            let message = "the type restricts itself, or the chain of restrictions is longer than 32";
            self.unfit_at(element, message, "restrict a built-in type");
            return None;
        }
        let members = self.list_members(element);
        let [made] = members.as_slice() else {
            let message = "a simple type is one xs:restriction, xs:list or xs:union";
            self.unfit_at(element, message, "restrict a built-in type");
            return None;
        };
        match made.name.local.as_str() {
            "restriction" => self.read_restriction(made, step),
            "list" => self.read_list(made, step),
            "union" => self.read_union(made, step),
            other => {
                let (message, fix) = construct_words(other);
                self.unfit_at(made, message, fix);
                None
            }
        }
    }

    fn read_restriction(&mut self, restriction: &'t XmlElement, step: usize) -> Option<Arc<SimpleType>> {
        self.only_attributes(restriction, &["base"]);
        let mut facets = self.list_members(restriction);
        let base = match (restriction.find_attribute("base"), facets.first().copied()) {
            (Some(written), _) => self.simple_by_name(restriction, written, step)?,
            (None, Some(inner)) if inner.name.local == "simpleType" => {
                facets.remove(0);
                self.read_simple(inner, step.saturating_add(1))?
            }
            (None, _) => {
                self.unfit_at(restriction, "a restriction has no base", "add base=\"xs:string\"");
                return None;
            }
        };
        let mut simple = Arc::unwrap_or_clone(Arc::clone(&base));
        self.read_facets(&mut simple, &facets);
        self.facets_agree(&facets, &base, &simple);
        Some(Arc::new(simple))
    }

    fn read_facets(&mut self, simple: &mut SimpleType, facets: &[&'t XmlElement]) {
        let (mut patterns, mut values) = (Vec::new(), Vec::new());
        // White space first: it affects the values of all other facets.
        let (spaces, others): (Vec<_>, Vec<_>) = facets.iter().partition(|f| f.name.local == "whiteSpace");
        for facet in spaces.into_iter().chain(others) {
            self.only_attributes(facet, &["value"]);
            let name = facet.name.local.as_str();
            if !can_apply(name, &simple.variety) {
                let fix = "leave the facet out, or change the base";
                self.unfit_at(facet, &format!("it does not apply to {}", base_name(simple)), fix);
                continue;
            }
            let value = facet.find_attribute("value").unwrap_or_default();
            match name {
                "pattern" => patterns.extend(self.read_pattern(facet, value)),
                "enumeration" => values.extend(self.read_enumeration(facet, simple, value)),
                "whiteSpace" => self.white_space(facet, simple, value),
                "minInclusive" | "minExclusive" | "maxInclusive" | "maxExclusive" => {
                    self.read_bound(facet, simple, value);
                }
                _ => self.read_count(facet, simple, value),
            }
        }
        if !patterns.is_empty() {
            simple.patterns.push(patterns);
        }
        if !values.is_empty() {
            simple.values = values;
        }
    }

    fn read_pattern(&mut self, facet: &XmlElement, value: &str) -> Option<FacetValue<CompiledPattern>> {
        if self.is_unfolded() {
            return None;
        }
        match CompiledPattern::parse(value) {
            Ok(pattern) if !self.can_unfold(pattern.steps()) => {
                let message = "the patterns of this schema unfold into more than 200000 steps together";
                self.unfit_at(facet, message, "write fewer patterns, or smaller counts");
                None
            }
            Ok(value) => Some(FacetValue { value, fragment: self.cut_fragment(facet) }),
            Err(reason) => {
                let message = format!("the pattern {value} is not allowed: {reason}");
                self.unfit_at(facet, &message, "write a simpler pattern");
                None
            }
        }
    }

    fn read_enumeration(
        &mut self,
        facet: &XmlElement,
        simple: &SimpleType,
        value: &str,
    ) -> Option<FacetValue<String>> {
        let value = simple.space.normalize_value(value);
        let known = match &simple.variety {
            SimpleVariety::Atomic(base) => base.can_spell(&value),
            _ => value::is_admitted(simple, &value),
        };
        if !known {
            self.foreign_value(facet, simple, &value);
            return None;
        }
        let is_list = |one: &SimpleType| matches!(one.variety, SimpleVariety::List(_));
        let may_be_list = match &simple.variety {
            SimpleVariety::Union(members) => members.iter().any(|member| is_list(member)),
            _ => is_list(simple),
        };
        if may_be_list && value.trim().is_empty() {
            let fix = "leave it out; if the list may be empty, leave out the element that holds it";
            self.unfit_at(facet, "libxml2 cannot enumerate the empty list", fix);
            return None;
        }
        Some(FacetValue { value, fragment: self.cut_fragment(facet) })
    }

    fn foreign_value(&mut self, facet: &XmlElement, simple: &SimpleType, value: &str) {
        let message = format!("{value} is not a value of {}", base_name(simple));
        self.unfit_at(facet, &message, "correct the value, or change the base");
    }

    fn white_space(&mut self, facet: &XmlElement, simple: &mut SimpleType, value: &str) {
        simple.space = match value {
            "preserve" if simple.space == WhiteSpace::Preserve => WhiteSpace::Preserve,
            "replace" if simple.space != WhiteSpace::Collapse => WhiteSpace::Replace,
            "collapse" => WhiteSpace::Collapse,
            _ => {
                self.unfit_at(facet, "it is less strict than the base, or unknown", "write collapse");
                return;
            }
        };
    }

    fn read_bound(&mut self, facet: &XmlElement, simple: &mut SimpleType, value: &str) {
        let value = simple.space.normalize_value(value);
        let spelt = matches!(simple.variety, SimpleVariety::Atomic(base) if base.can_spell(&value));
        if !spelt || value == "NaN" {
            self.foreign_value(facet, simple, &value);
            return;
        }
        let name = facet.name.local.as_str();
        let bound =
            ValueBound { value, inclusive: name.ends_with("Inclusive"), fragment: self.cut_fragment(facet) };
        if name.starts_with("min") {
            simple.least = Some(bound);
        } else {
            simple.most = Some(bound);
        }
    }

    fn read_count(&mut self, facet: &XmlElement, simple: &mut SimpleType, value: &str) {
        let Ok(count) = value.trim().parse::<u32>() else {
            self.unfit_at(facet, &format!("{value} is no count"), "write a whole number");
            return;
        };
        let fragment = self.cut_fragment(facet);
        let read = Some(FacetValue { value: usize::try_from(count).unwrap_or(usize::MAX), fragment });
        match facet.name.local.as_str() {
            "length" => simple.length = read,
            "minLength" => simple.min_length = read,
            "maxLength" => simple.max_length = read,
            "totalDigits" if count == 0 => self.unfit_at(facet, "0 digits leave no number", "1 or more"),
            "totalDigits" => simple.total_digits = read,
            "fractionDigits" => simple.fraction_digits = read,
            _ => self.unfit_at(facet, "it is not a facet of XSD 1.0", "leave it out"),
        }
    }
}

/// The base of a restriction by its own name, or by its kind.
fn base_name(simple: &SimpleType) -> String {
    match &simple.variety {
        SimpleVariety::Atomic(base) => format!("xs:{}", base.name()),
        SimpleVariety::List(_) => "a list".to_owned(),
        SimpleVariety::Union(_) => "a union".to_owned(),
    }
}

fn can_apply(facet: &str, variety: &SimpleVariety) -> bool {
    let family = match variety {
        SimpleVariety::Atomic(base) => base.family(),
        SimpleVariety::List(_) => {
            let known = ["pattern", "enumeration", "whiteSpace", "length", "minLength", "maxLength"];
            return known.contains(&facet);
        }
        SimpleVariety::Union(_) => return ["pattern", "enumeration"].contains(&facet),
    };
    match facet {
        "pattern" | "whiteSpace" => true,
        "enumeration" => family != TypeFamily::Truth,
        "length" | "minLength" | "maxLength" => matches!(family, TypeFamily::Text | TypeFamily::Bytes),
        "minInclusive" | "minExclusive" | "maxInclusive" | "maxExclusive" => {
            matches!(
                family,
                TypeFamily::Whole | TypeFamily::Decimal | TypeFamily::Floating | TypeFamily::Moment
            )
        }
        "totalDigits" | "fractionDigits" => matches!(family, TypeFamily::Whole | TypeFamily::Decimal),
        _ => false,
    }
}
