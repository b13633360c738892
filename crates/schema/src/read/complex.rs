//! Reads complex types: attributes, groups, elements and how often each may occur.
//!
//! A part of the schema's tree comes in; shapes go out, or unfit constructs are noted with the reading. It
//! refuses what a greedy match could not decide: nested counters, and one name with two types.

use std::collections::HashMap;
use std::sync::Arc;

use crate::read::beyond::construct_words;
use crate::read::marks::is_sensitive;
use crate::read::{XsdReading, mark_of_danger, read_documentation};
use crate::shape::{AttributeUse, ComplexContent, ComplexType, Declaration, Particle, Term, Wildcard};
use crate::tree::{NodeName, XmlElement};

impl<'t> XsdReading<'t> {
    pub(crate) fn read_complex(&mut self, element: &'t XmlElement) -> Option<ComplexType> {
        let mixed = element.find_attribute("mixed").is_some_and(|mixed| matches!(mixed, "true" | "1"));
        let before = self.faults();
        let mut attributes = Vec::new();
        let mut content = None;
        for member in self.list_members(element) {
            match member.name.local.as_str() {
                "sequence" | "choice" | "all" if content.is_none() => {
                    content = self.read_particle(member, true).map(ComplexContent::Children);
                }
                "simpleContent" if content.is_none() => {
                    content = self.simple_content(member, &mut attributes)
                }
                "attribute" => attributes.extend(self.read_attribute(member)),
                other => {
                    let (message, fix) = construct_words(other);
                    self.unfit_at(member, message, fix);
                }
            }
        }
        let content = match content {
            Some(ComplexContent::Children(particle)) if holds_nothing(&particle) => ComplexContent::Empty,
            Some(content) => content,
            None => ComplexContent::Empty,
        };
        if let ComplexContent::Children(particle) = &content {
            self.same_name_same_type(element, particle);
            self.one_wildcard(element, particle);
        }
        let content = match (mixed, content) {
            (false, content) => content,
            (true, ComplexContent::Empty) => ComplexContent::Free,
            (true, _) => {
                let fix = "leave mixed out, or put the text into an element of its own";
                self.unfit_at(element, "text between elements (mixed) is not supported", fix);
                return None;
            }
        };
        let complex = ComplexType { documentation: read_documentation(element), attributes, content };
        self.defaults_in_place(element, &complex);
        self.marks_in_place(element, &complex);
        (self.faults() == before).then_some(complex)
    }

    fn simple_content(
        &mut self,
        element: &'t XmlElement,
        attributes: &mut Vec<AttributeUse>,
    ) -> Option<ComplexContent> {
        let members = self.list_members(element);
        let [extension] = members.as_slice() else {
            self.unfit_at(element, "xs:simpleContent holds no xs:extension", "extend a simple type");
            return None;
        };
        if extension.name.local != "extension" {
            let message = "xs:simpleContent is one xs:extension";
            self.unfit_at(extension, message, "define a restricted simple type and extend that");
            return None;
        }
        self.only_attributes(extension, &["base"]);
        for member in self.list_members(extension) {
            if member.name.local == "attribute" {
                attributes.extend(self.read_attribute(member));
            } else {
                let (message, fix) = construct_words(&member.name.local);
                self.unfit_at(member, message, fix);
            }
        }
        let base = extension.find_attribute("base").unwrap_or_default();
        self.simple_by_name(extension, base, 0).map(ComplexContent::Text)
    }

    fn read_attribute(&mut self, element: &'t XmlElement) -> Option<AttributeUse> {
        self.only_attributes(element, &["name", "type", "use", "default"]);
        let Some(name) = element.find_attribute("name") else {
            self.unfit_at(element, "an attribute has no name", "add name=\"…\"");
            return None;
        };
        let required = match element.find_attribute("use") {
            None | Some("optional") => false,
            Some("required") => true,
            Some(_) => {
                self.report_unfit(
                    element.span.start,
                    "use",
                    "use is not optional or required",
                    "leave it out",
                );
                return None;
            }
        };
        let members = self.list_members(element);
        let simple = match (element.find_attribute("type"), members.as_slice()) {
            (Some(written), []) => self.simple_by_name(element, written, 0)?,
            (None, [inner]) if inner.name.local == "simpleType" => self.read_simple(inner, 0)?,
            _ => {
                self.unfit_at(element, "an attribute needs one simple type", "add type=\"xs:string\"");
                return None;
            }
        };
        let default = self.attribute_default(element, &simple, required);
        let fragment = self.cut_fragment(element);
        let (name, documentation) = (name.to_owned(), read_documentation(element));
        self.known_words(element);
        let sensitive = is_sensitive(element);
        Some(AttributeUse { name, documentation, simple, required, sensitive, default, fragment })
    }

    fn read_particle(&mut self, element: &'t XmlElement, outermost: bool) -> Option<Particle> {
        let (min, max) = self.read_occurs(element)?;
        let term = match element.name.local.as_str() {
            "element" => Term::Element(self.local_element(element)?),
            "any" => Term::Wildcard(self.read_wildcard(element)?),
            "sequence" => Term::Sequence(self.read_group(element)),
            "choice" => Term::Choice(self.read_group(element)),
            "all" => {
                let parts = self.read_group(element);
                self.all_rules(element, outermost, max, &parts);
                Term::All(parts)
            }
            other => {
                let (message, fix) = construct_words(other);
                self.unfit_at(element, message, fix);
                return None;
            }
        };
        if matches!(term, Term::Wildcard(_)) && (min > 1 || max.is_some_and(|max| max > 1)) {
            // libxml2 takes one element for a wildcard that is required twice.
            let fix = "use minOccurs 0 or 1 and maxOccurs 1 or unbounded";
            self.report_unfit(element.span.start, "maxOccurs", "xs:any is not counted reliably", fix);
        }
        let repeated = max.is_none_or(|max| max > 1);
        let counted = min > 1 || max.is_some();
        if repeated && counts_inside(&term, counted) {
            let fix = "give the inner elements a parent of their own, or use minOccurs 0 or 1 with unbounded";
            let message = "a repeated group holds a repetition (nested counters)";
            self.report_unfit(element.span.start, "maxOccurs", message, fix);
        }
        Some(Particle { min, max, term })
    }

    fn read_group(&mut self, element: &'t XmlElement) -> Vec<Particle> {
        self.only_attributes(element, &["minOccurs", "maxOccurs"]);
        let members = self.list_members(element);
        // A particle that may occur at most zero times does not exist.
        members
            .into_iter()
            .filter_map(|m| self.read_particle(m, false))
            .filter(|p| p.max != Some(0))
            .collect()
    }

    fn all_rules(&mut self, element: &XmlElement, outermost: bool, max: Option<u32>, parts: &[Particle]) {
        let simple_parts = parts.iter().all(|p| matches!(p.term, Term::Element(_)) && p.max == Some(1));
        if !outermost || max != Some(1) || !simple_parts {
            let message = "xs:all must be the whole content of a type, with elements that come at most once";
            self.unfit_at(
                element,
                message,
                "use xs:sequence, or give repeated elements a parent of their own",
            );
        }
    }

    fn local_element(&mut self, element: &'t XmlElement) -> Option<Declaration> {
        self.only_attributes(element, &["name", "type", "ref", "form", "minOccurs", "maxOccurs"]);
        self.no_part_is_dangerous(element);
        self.no_part_is_together(element);
        self.known_words(element);
        if let Some(written) = element.find_attribute("ref") {
            return self.read_reference(element, written);
        }
        let Some(name) = element.find_attribute("name") else {
            self.unfit_at(element, "an element has neither name nor ref", "add name=\"…\"");
            return None;
        };
        let namespace = match element.find_attribute("form") {
            None if self.is_qualified() => self.target(),
            None | Some("unqualified") => Arc::from(""),
            Some("qualified") => self.target(),
            Some(_) => {
                let message = "form is neither qualified nor unqualified";
                self.report_unfit(element.span.start, "form", message, "leave form out");
                return None;
            }
        };
        let of = self.type_of(element)?;
        self.await_type(element, of);
        Some(self.make_declaration(element, (namespace, name), of))
    }

    /// A global element of this namespace or of an imported one, used in a content.
    fn read_reference(&mut self, element: &'t XmlElement, written: &str) -> Option<Declaration> {
        let Some(name) = element.resolve_name(written) else {
            let message = format!("the prefix of {written} is not declared");
            self.report_unfit(element.span.start, "ref", &message, "declare the prefix on xs:schema");
            return None;
        };
        if ["name", "type", "form"].iter().any(|other| element.find_attribute(other).is_some())
            || !self.list_members(element).is_empty()
        {
            let message = "beside ref only minOccurs and maxOccurs are allowed";
            self.report_unfit(element.span.start, "ref", message, "leave the rest out, or leave ref out");
            return None;
        }
        self.paper_of(element, written, &name.namespace)?;
        let global = self.find_global(&name.namespace, &name.local);
        let known = |global: &Declaration| (global.of, global.documentation.clone(), global.marks.clone());
        let Some((of, about, marks)) = global.map(known) else {
            let place = if *name.namespace == *self.target() { "this schema" } else { &*name.namespace };
            let message = format!("the element {written} is not declared in {place}");
            self.report_unfit(element.span.start, "ref", &message, "declare it, or correct its name");
            return None;
        };
        self.await_type(element, of);
        let mut referred = self.make_declaration(element, (Arc::from(&*name.namespace), &name.local), of);
        referred.documentation = referred.documentation.or(about);
        referred.marks.sensitive |= marks.sensitive;
        referred.marks.file |= marks.file;
        Some(referred)
    }

    /// A person approves whole payloads. A dangerous part would pass without approval.
    fn no_part_is_dangerous(&mut self, element: &XmlElement) {
        let referred = element.find_attribute("ref").and_then(|written| element.resolve_name(written));
        if mark_of_danger(element).is_some() {
            let message = "systole:dangerous is on a part of a payload; a person approves whole payloads";
            self.unfit_at(element, message, "put it on the global element that this is part of");
        } else if referred.is_some_and(|name| self.is_dangerous(&name)) {
            let message = "a payload that is marked as dangerous would pass without approval as a part";
            self.unfit_at(element, message, "write its type out here, and mark the element around it");
        }
    }

    fn is_dangerous(&self, name: &NodeName) -> bool {
        self.find_global(&name.namespace, &name.local).is_some_and(|global| global.dangerous)
    }

    fn read_wildcard(&mut self, element: &XmlElement) -> Option<Wildcard> {
        self.only_attributes(element, &["namespace", "processContents", "minOccurs", "maxOccurs"]);
        let lax = element.find_attribute("processContents") == Some("lax");
        match element.find_attribute("namespace").unwrap_or("##any") {
            "##any" if lax => Some(Wildcard::Any),
            "##other" if lax => Some(Wildcard::Other(self.target())),
            _ => {
                let fix = "write namespace=\"##other\" processContents=\"lax\"";
                self.unfit_at(element, "xs:any is neither lax ##other nor lax ##any", fix);
                None
            }
        }
    }

    fn read_occurs(&mut self, element: &XmlElement) -> Option<(u32, Option<u32>)> {
        let mut read = |name: &str| -> Result<Option<u32>, ()> {
            match element.find_attribute(name) {
                None => Ok(Some(1)),
                Some("unbounded") if name == "maxOccurs" => Ok(None),
                Some(text) => match text.trim().parse::<u32>() {
                    Ok(count) if count <= crate::limits::OCCURS => Ok(Some(count)),
                    _ => {
                        let message = format!("{name} is {text}, more than 10000 or no count");
                        self.report_unfit(
                            element.span.start,
                            name,
                            &message,
                            "use unbounded, or at most 10000",
                        );
                        Err(())
                    }
                },
            }
        };
        let (min, max) = (read("minOccurs"), read("maxOccurs"));
        let (min, max) = (min.ok()?.unwrap_or(1), max.ok()?);
        if max.is_some_and(|max| max < min) {
            self.report_unfit(
                element.span.start,
                "minOccurs",
                "minOccurs is more than maxOccurs",
                "correct one of them",
            );
            return None;
        }
        Some((min, max))
    }

    /// libxml2 does not notice when two wildcards compete for one element. So a content has at most one
    /// wildcard, and `##any` comes last, after elements whose number is fixed.
    fn one_wildcard(&mut self, element: &XmlElement, particle: &Particle) {
        let (mut all, mut wildcards) = (Vec::new(), Vec::new());
        particle.term.collect_elements(&mut all);
        wildcards_in(&particle.term, &mut wildcards);
        if wildcards.len() > 1 {
            self.unfit_at(element, "a content has more than one xs:any", "keep one, with its own maxOccurs");
        }
        if !wildcards.is_empty() && !has_direct_wildcard(particle) {
            // Elsewhere libxml2 lets the wildcard run on into optional elements, or into another choice.
            let fix = "put the xs:any directly into one xs:sequence that comes once";
            self.unfit_at(element, "xs:any is in a choice, an inner group or a repeated one", fix);
        }
        if wildcards.iter().any(|wildcard| can_compete(particle, wildcard)) {
            let message = "xs:any would take elements beside it, whose number is not fixed";
            let fix =
                "write ##other where they are of this namespace, or give the xs:any a parent of its own";
            self.unfit_at(element, message, fix);
        }
    }

    /// Two elements of one name in one content must be identical: the path alone must be unambiguous.
    fn same_name_same_type(&mut self, element: &XmlElement, particle: &Particle) {
        let mut all = Vec::new();
        particle.term.collect_elements(&mut all);
        let mut seen: HashMap<&str, &Declaration> = HashMap::new();
        for declaration in all {
            let first = *seen.entry(&declaration.name).or_insert(declaration);
            if first.namespace != declaration.namespace {
                let message = format!("{} is declared twice, in two namespaces", declaration.name);
                self.unfit_at(element, &message, "give one of them a parent of its own");
            } else if first.of != declaration.of {
                let message = format!("{} is declared twice with different types", declaration.name);
                self.unfit_at(element, &message, "give both the same named type");
            }
        }
    }
}

fn holds_nothing(particle: &Particle) -> bool {
    match &particle.term {
        _ if particle.max == Some(0) => true,
        Term::Sequence(parts) | Term::All(parts) | Term::Choice(parts) => parts.iter().all(holds_nothing),
        Term::Element(_) | Term::Wildcard(_) => false,
    }
}

fn wildcards_in(term: &Term, found: &mut Vec<Wildcard>) {
    match term {
        Term::Wildcard(wildcard) => found.push(wildcard.clone()),
        Term::Element(_) => {}
        Term::Sequence(parts) | Term::Choice(parts) | Term::All(parts) => {
            parts.iter().for_each(|part| wildcards_in(&part.term, found));
        }
    }
}

fn has_direct_wildcard(particle: &Particle) -> bool {
    let Term::Sequence(parts) = &particle.term else { return false };
    let once = (particle.min, particle.max) == (1, Some(1));
    once && parts.iter().any(|part| matches!(part.term, Term::Wildcard(_)))
}

/// Whether a wildcard could take an element that another particle of its sequence needs. It cannot if all
/// such elements come before it and occur a fixed number of times.
fn can_compete(particle: &Particle, wildcard: &Wildcard) -> bool {
    let Term::Sequence(parts) = &particle.term else { return true };
    let mut before = true;
    parts.iter().any(|part| {
        let mut elements = Vec::new();
        part.term.collect_elements(&mut elements);
        let is_wanted = elements.iter().any(|element| wildcard.can_take(&element.namespace));
        before &= !matches!(part.term, Term::Wildcard(_));
        let is_fixed = before && matches!(part.term, Term::Element(_)) && part.max == Some(part.min);
        is_wanted && !is_fixed
    })
}

/// Whether a term contains a counter that a repetition around it would make ambiguous: any repetition inside
/// a counted one, or one with a minimum inside an uncounted one.
fn counts_inside(term: &Term, counted_outside: bool) -> bool {
    let (Term::Sequence(parts) | Term::Choice(parts) | Term::All(parts)) = term else {
        return false;
    };
    parts.iter().any(|part| {
        let repeated = part.max.is_none_or(|max| max > 1);
        let counter = part.min > 1 || (counted_outside && repeated);
        counter || counts_inside(&part.term, counted_outside)
    })
}
