//! Reads lists and unions: their items and members, as far as XSD 1.0 and the judge support them.
//!
//! An `xs:list` or `xs:union` comes in; a `SimpleType` goes out, or unfit constructs are noted with the reading.
//! A list never holds lists. A union of unions is one union of all their members, as in libxml2. So a member
//! that is a restricted union, whose restriction would be lost there, is unfit.

use std::sync::Arc;

use crate::limits;
use crate::read::XsdReading;
use crate::shape::{SimpleType, SimpleVariety};
use crate::tree::XmlElement;

impl<'t> XsdReading<'t> {
    pub(crate) fn read_list(&mut self, element: &'t XmlElement, step: usize) -> Option<Arc<SimpleType>> {
        self.only_attributes(element, &["itemType"]);
        let members = self.list_members(element);
        let item = match (element.find_attribute("itemType"), members.as_slice()) {
            (Some(written), []) => self.simple_by_name(element, written, step)?,
            (None, [inner]) if inner.name.local == "simpleType" => {
                self.only_attributes(inner, &[]);
                self.read_simple(inner, step.saturating_add(1))?
            }
            _ => {
                let message = "a list has one type of item, as itemType or as an xs:simpleType inside";
                self.unfit_at(element, message, "add itemType=\"xs:string\"");
                return None;
            }
        };
        if holds_lists(&item) {
            let fix = "let the items be no lists, or repeat an element that holds a list";
            self.unfit_at(element, "an item of a list cannot be a list itself", fix);
            return None;
        }
        Some(Arc::new(SimpleType::new_list(item)))
    }

    pub(crate) fn read_union(&mut self, element: &'t XmlElement, step: usize) -> Option<Arc<SimpleType>> {
        self.only_attributes(element, &["memberTypes"]);
        let mut members = Vec::new();
        for written in element.find_attribute("memberTypes").unwrap_or_default().split_whitespace() {
            members.push(self.simple_by_name(element, written, step)?);
        }
        for inner in self.list_members(element) {
            if inner.name.local != "simpleType" {
                let message = "xs:union holds only xs:simpleType";
                self.unfit_at(inner, message, "wrap it into an xs:simpleType");
                return None;
            }
            self.only_attributes(inner, &[]);
            members.push(self.read_simple(inner, step.saturating_add(1))?);
        }
        let mut flat = Vec::new();
        for member in members {
            match &member.variety {
                SimpleVariety::Union(_) if member.has_facets() => {
                    let message = "a member is a union with facets of its own, which libxml2 loses";
                    self.unfit_at(element, message, "restrict the outer union, or the members one by one");
                    return None;
                }
                SimpleVariety::Union(inner) => flat.extend(inner.iter().map(Arc::clone)),
                _ => flat.push(member),
            }
        }
        if flat.is_empty() {
            self.unfit_at(element, "a union has no member", "add memberTypes=\"xs:int xs:date\"");
            return None;
        }
        if flat.len() > limits::MEMBERS {
            let (count, most) = (flat.len().to_string(), limits::MEMBERS.to_string());
            let message = format!("the union has {count} members, at most {most} are taken");
            self.unfit_at(element, &message, "use an xs:choice of elements");
            return None;
        }
        Some(Arc::new(SimpleType::new_union(flat)))
    }
}

fn holds_lists(simple: &SimpleType) -> bool {
    match &simple.variety {
        SimpleVariety::Atomic(_) => false,
        SimpleVariety::List(_) => true,
        SimpleVariety::Union(members) => members.iter().any(|member| holds_lists(member)),
    }
}
