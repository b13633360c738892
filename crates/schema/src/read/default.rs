//! Reads `systole:default`: the value that a reader supplies for a missing element or attribute.
//!
//! A declaration comes in; its default goes out, or why it can never be supplied. A default that is never supplied
//! would be a false promise, so it is refused: on required parts, on parts that may repeat, inside a choice, on parts
//! that are not text, and if the type does not admit it.

use crate::explain::describe;
use crate::form::{JsonForm, collect_supplied};
use crate::judge::check_value;
use crate::read::XsdReading;
use crate::read::marks::{is_file, is_shaped};
use crate::shape::{ComplexContent, ComplexType, Declaration, SimpleType, TypeId};
use crate::tree::XmlElement;
use systole_wire::namespaces::SCHEMA;

/// A default whose type was not read yet.
pub(crate) struct AwaitingDefault<'t> {
    paper: usize,
    element: &'t XmlElement,
    of: TypeId,
}

/// The default that an annotation gives.
pub(crate) fn find_annotation(element: &XmlElement) -> Option<&str> {
    let found = element.attributes.iter().find(|attribute| attribute.name.is_named(SCHEMA, "default"))?;
    Some(&found.value)
}

impl<'t> XsdReading<'t> {
    /// A global element is a whole payload, which cannot be omitted.
    pub(crate) fn no_default(&mut self, element: &XmlElement) {
        if find_annotation(element).is_some() {
            let message = "systole:default is on a whole payload, which is never left out";
            self.unfit_at(element, message, "leave it out, or put it on a part");
        }
    }

    /// Notes a default for a later check against its type.
    pub(crate) fn await_type(&mut self, element: &'t XmlElement, of: TypeId) {
        if find_annotation(element).is_some() || is_shaped(element) || is_file(element) {
            self.defaults.push(AwaitingDefault { paper: self.at, element, of });
        }
    }

    /// Checks every default against its type, once all types are read.
    pub(crate) fn hold_defaults(&mut self) {
        for AwaitingDefault { paper, element, of } in std::mem::take(&mut self.defaults) {
            self.with_paper(paper, |reading| reading.hold_default(element, of));
        }
    }

    fn hold_default(&mut self, element: &XmlElement, of: TypeId) {
        self.hold_shape(element, of);
        self.hold_file(element, of);
        let Some(default) = find_annotation(element) else { return };
        let wrong = match JsonForm::of_type(self.read_so_far(), of) {
            JsonForm::Text => None,
            JsonForm::Value(simple) => find_fault(simple, default),
            _ => {
                let message = "systole:default is on an element that is not one value";
                Some((message.to_owned(), "leave it out, or put it on a part".to_owned()))
            }
        };
        if let Some((message, fix)) = wrong {
            self.report_unfit(element.span.start, "default", &message, &fix);
        }
    }

    /// The default of an attribute, from the annotation or from the schema language itself.
    pub(crate) fn attribute_default(
        &mut self,
        element: &XmlElement,
        simple: &SimpleType,
        required: bool,
    ) -> Option<String> {
        let default = find_annotation(element).or_else(|| element.find_attribute("default"))?;
        if required {
            let message = "a default is on a required attribute";
            self.report_unfit(
                element.span.start,
                "default",
                message,
                "leave use=\"required\" out, or the default",
            );
        } else if let Some((message, fix)) = find_fault(simple, default) {
            self.report_unfit(element.span.start, "default", &message, &fix);
        }
        Some(default.to_owned())
    }

    /// Reports every default in a content that can never be supplied.
    pub(crate) fn defaults_in_place(&mut self, element: &XmlElement, complex: &ComplexType) {
        let ComplexContent::Children(particle) = &complex.content else { return };
        let mut within_reach: Vec<&Declaration> = Vec::new();
        collect_supplied(particle, &mut within_reach);
        let mut all = Vec::new();
        particle.term.collect_elements(&mut all);
        for declaration in all.into_iter().filter(|declaration| declaration.default.is_some()) {
            if !within_reach.iter().any(|reached| std::ptr::eq(*reached, declaration)) {
                let message = format!("{} has a default and is never supplied", declaration.name);
                let fix = "give it minOccurs=\"0\" and put it directly into one xs:sequence or xs:all that comes once";
                self.report_unfit(element.span.start, "default", &message, fix);
            }
        }
    }
}

fn find_fault(simple: &SimpleType, default: &str) -> Option<(String, String)> {
    let wrong = check_value::check_value(simple, default)?;
    let fix =
        wrong.instead.map_or_else(|| describe::describe_simple(simple), |instead| format!("write {instead}"));
    Some((format!("the default {}", wrong.words), fix))
}
