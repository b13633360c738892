//! Reports errors in the attributes of an element: unknown, wrong, missing, or a type chosen by the document.
//!
//! An element and its declared attributes come in; a `PayloadFinding` goes out, or nothing.

use crate::explain::{FindingWords, INSTANCE, PayloadRole, PayloadSpot, PayloadWalk};
use crate::explain::{amend, describe, wording};
use crate::finding::PayloadFinding;
use crate::judge::check_value;
use crate::judge::value::WrongValue;
use crate::nearest::find_nearest;
use crate::shape::AttributeUse;
use crate::tree::{ElementAttribute, XmlElement};

impl PayloadWalk<'_> {
    pub(crate) fn check_attributes(
        &self,
        spot: &PayloadSpot<'_>,
        role: PayloadRole<'_>,
        declared: &[AttributeUse],
    ) -> Option<PayloadFinding> {
        for attribute in &spot.element.attributes {
            let name = attribute.name.local.as_str();
            let namespace = &*attribute.name.namespace;
            if namespace == INSTANCE && matches!(name, "schemaLocation" | "noNamespaceSchemaLocation") {
                continue;
            }
            let known = declared.iter().find(|d| namespace.is_empty() && d.name == name);
            let Some(known) = known else {
                return Some(self.unknown_attribute(spot, role, attribute, declared));
            };
            if let Some(wrong) = check_value::check_value(&known.simple, &attribute.value) {
                return Some(self.wrong_attribute(spot, known, wrong));
            }
        }
        declared
            .iter()
            .find(|d| is_missing(spot.element, d))
            .map(|missing| self.missing_attribute(spot, missing))
    }

    /// The fix for an unknown attribute: remove it, or rename it to a similar declared name or to a missing
    /// required one.
    fn unknown_attribute(
        &self,
        spot: &PayloadSpot<'_>,
        role: PayloadRole<'_>,
        attribute: &ElementAttribute,
        declared: &[AttributeUse],
    ) -> PayloadFinding {
        let element = spot.element;
        let (name, key) = (attribute.name.local.as_str(), attribute.key.as_str());
        let free = || declared.iter().filter(|d| element.find_attribute(&d.name).is_none());
        let near = find_nearest(name, free().map(|d| d.name.as_str()));
        let mut message = format!("{}: the attribute {key} is not known", element.name.local);
        if let Some(near) = near {
            message.push_str(&format!(", did you mean {near}"));
        }
        let meant = free().find(|d| Some(d.name.as_str()) == near);
        let instead = meant.or_else(|| free().find(|d| is_missing(element, d)));
        if let (None, Some(missing)) = (near, instead) {
            message.push_str(&format!("; {} is missing", missing.name));
        }
        let is_right = |d: &AttributeUse| check_value::check_value(&d.simple, &attribute.value).is_none();
        let made =
            instead.filter(|d| !is_right(d)).and_then(|d| amend::suggest_value(&d.simple, &attribute.value));
        let is_unknown = instead.is_some_and(|d| !is_right(d)) && made.is_none();
        let edited = self.source.with_head(element, |attributes| match instead {
            None => attributes.retain(|(known, _)| known != key),
            Some(instead) => {
                for (known, value) in attributes.iter_mut().filter(|(known, _)| known == key) {
                    known.clone_from(&instead.name);
                    value.clone_from(made.as_ref().unwrap_or(&attribute.value));
                }
            }
        });
        let expected = if declared.is_empty() {
            format!("{}: no attributes", element.name.local)
        } else {
            let all: Vec<String> = declared.iter().map(wording::name_attribute).collect();
            format!("attributes of {}: {}", element.name.local, all.join("; "))
        };
        let said = FindingWords {
            message,
            expected,
            received: self.source.show_element(element),
            schema: instead.map_or_else(|| role.declaration.fragment.clone(), |d| d.fragment.clone()),
            fix: edited.filter(|_| !is_unknown).unwrap_or_else(|| match instead {
                Some(instead) => {
                    let value = made.as_deref().unwrap_or("…");
                    format!("write {}=\"{value}\" instead of {key}", instead.name)
                }
                None => format!("leave the attribute {key} out"),
            }),
        };
        self.make_finding(attribute_path(spot, key), self.source.attribute_offset(element, key), said)
    }

    fn wrong_attribute(
        &self,
        spot: &PayloadSpot<'_>,
        known: &AttributeUse,
        wrong: WrongValue,
    ) -> PayloadFinding {
        let element = spot.element;
        let edited = wrong.instead.as_ref().and_then(|instead| {
            self.source.with_head(element, |attributes| {
                for (_, value) in attributes.iter_mut().filter(|(key, _)| *key == known.name) {
                    value.clone_from(instead);
                }
            })
        });
        let said = FindingWords {
            message: format!("{}: {}", known.name, wrong.words),
            expected: wording::name_attribute(known),
            received: self.source.show_element(element),
            schema: wrong.fragment.unwrap_or_else(|| known.fragment.clone()),
            fix: edited.unwrap_or_else(|| attribute_words(known, wrong.instead)),
        };
        let offset = self.source.attribute_offset(element, &known.name);
        self.make_finding(attribute_path(spot, &known.name), offset, said)
    }

    fn missing_attribute(&self, spot: &PayloadSpot<'_>, missing: &AttributeUse) -> PayloadFinding {
        let element = spot.element;
        let sample = amend::find_sample(&missing.simple);
        let edited = sample.as_ref().and_then(|sample| {
            self.source.with_head(element, |attributes| {
                attributes.push((missing.name.clone(), sample.clone()));
            })
        });
        let said = FindingWords {
            message: format!("{}: the attribute {} is missing", element.name.local, missing.name),
            expected: wording::name_attribute(missing),
            received: self.source.show_element(element),
            schema: missing.fragment.clone(),
            fix: edited.unwrap_or_else(|| attribute_words(missing, sample)),
        };
        self.make_finding(attribute_path(spot, &missing.name), element.span.start, said)
    }

    /// The first element that chooses its own type. The judge refused the payload and nothing else is wrong with
    /// it, so the type is unknown, is not allowed here, or is violated.
    pub(crate) fn chosen_type(&self, spot: &PayloadSpot<'_>) -> Option<PayloadFinding> {
        let element = spot.element;
        if let Some(chosen) = element.attributes.iter().find(|a| a.name.is_named(INSTANCE, "type")) {
            let (name, key) = (&element.name.local, chosen.key.as_str());
            let value = describe::quote_value(&chosen.value);
            let edited =
                self.source.with_head(element, |attributes| attributes.retain(|(known, _)| known != key));
            let said = FindingWords {
                message: format!("{name}: {key}={value} does not fit: the schema says which type {name} has"),
                expected: format!("{name} without {key}"),
                received: self.source.show_element(element),
                schema: String::new(),
                fix: edited.unwrap_or_else(|| format!("leave the attribute {key} out")),
            };
            let offset = self.source.attribute_offset(element, key);
            return Some(self.make_finding(attribute_path(spot, key), offset, said));
        }
        let siblings: Vec<&XmlElement> = element.children().collect();
        siblings.iter().find_map(|child| {
            self.chosen_type(&PayloadSpot { up: Some(spot), element: child, siblings: &siblings })
        })
    }
}

fn is_missing(element: &XmlElement, declared: &AttributeUse) -> bool {
    declared.required && element.find_attribute(&declared.name).is_none()
}

/// The fix of an attribute whose element is too long to repeat.
fn attribute_words(attribute: &AttributeUse, value: Option<String>) -> String {
    match value {
        Some(value) => format!("write {}=\"{value}\"", attribute.name),
        None => format!("give {} a value: {}", attribute.name, describe::describe_simple(&attribute.simple)),
    }
}

fn attribute_path(spot: &PayloadSpot<'_>, key: &str) -> String {
    format!("{}/@{key}", spot.path())
}
