//! Elements, their attributes and what is inside them, in GBNF.

use super::spell::{ValuePlace, join_choices, write_literal, write_value};
use super::{AddedAttribute, GrammarWriter, NoGrammar};
use crate::limits::GRAMMAR_ITEMS;
use crate::shape::{AttributeUse, ComplexContent, ComplexType, Declaration, Particle, Term, TypeShape};

/// A line end and an indent, between elements.
const LAYOUT: &str = "(\"\\n\" \" \"{0,8})?";

impl<'m> GrammarWriter<'m, '_> {
    /// The rule of a global element, with further attributes.
    pub(super) fn write_root(
        &mut self,
        declaration: &'m Declaration,
        added: &[AddedAttribute],
    ) -> Result<String, NoGrammar> {
        let (at, name) = self.grammar.begin_rule(&declaration.name);
        let more: String = added.iter().map(write_added).collect();
        let path = format!("/{}", declaration.name);
        let text =
            self.write_element(declaration, (&declaration.name, &more), &declaration.namespace, &path)?;
        self.grammar.end_rule(at, text);
        Ok(name)
    }

    /// The rule of an element inside elements of a namespace.
    fn rule_of(
        &mut self,
        declaration: &'m Declaration,
        around: &str,
        path: &str,
    ) -> Result<String, NoGrammar> {
        // Names alone are enough in the namespace around, and in none.
        let namespace = match &*declaration.namespace {
            "" => String::new(),
            namespace if namespace == around => String::new(),
            namespace => format!(" xmlns=\"{namespace}\""),
        };
        let tag = format!("{}{namespace}", declaration.name);
        let key = (declaration.of.0, tag.clone());
        if let Some(known) = self.elements.get(&key) {
            return Ok(known.clone());
        }
        let (at, name) = self.grammar.begin_rule(&declaration.name);
        self.elements.insert(key, name.clone());
        let inside = if declaration.namespace.is_empty() { around } else { &declaration.namespace };
        let path = format!("{path}/{}", declaration.name);
        let text = self.write_element(declaration, (&tag, ""), inside, &path)?;
        self.grammar.end_rule(at, text);
        Ok(name)
    }

    fn write_element(
        &mut self,
        declaration: &'m Declaration,
        (tag, more): (&str, &str),
        inside: &str,
        path: &str,
    ) -> Result<String, NoGrammar> {
        let (start, close) =
            (write_literal(&format!("<{tag}")), write_literal(&format!("</{}>", declaration.name)));
        Ok(match self.schema.find_type(declaration.of) {
            TypeShape::Anything => return Err(NoGrammar { path: path.to_owned() }),
            TypeShape::Simple(simple) => {
                let value = self.write_inner_text(simple, path);
                format!("{start}{more} \">\" {value} {close}")
            }
            TypeShape::Complex(complex) => {
                let attributes = self.write_attributes(complex, path);
                match self.write_content(complex, inside, path)? {
                    None => format!("{start}{more}{attributes} \"/>\""),
                    Some(content) => format!("{start}{more}{attributes} \">\" {content} {close}"),
                }
            }
        })
    }

    fn write_attributes(&mut self, complex: &ComplexType, path: &str) -> String {
        complex.attributes.iter().map(|attribute| self.write_attribute(attribute, path)).collect()
    }

    fn write_attribute(&mut self, attribute: &AttributeUse, path: &str) -> String {
        let value = self.write_simple(
            &attribute.simple,
            ValuePlace::Attribute,
            &format!("{path}/@{}", attribute.name),
        );
        let name = write_literal(&format!(" {}=\"", attribute.name));
        if attribute.required {
            format!(" {name} {value} \"\\\"\"")
        } else {
            format!(" ({name} {value} \"\\\"\")?")
        }
    }

    /// What is between the tags; `None` if nothing may be.
    fn write_content(
        &mut self,
        complex: &'m ComplexType,
        around: &str,
        path: &str,
    ) -> Result<Option<String>, NoGrammar> {
        Ok(match &complex.content {
            ComplexContent::Empty => None,
            ComplexContent::Text(simple) => Some(self.write_inner_text(simple, path)),
            ComplexContent::Free => Some(self.grammar.write_any_text()),
            ComplexContent::Children(particle) => {
                let layout = self.grammar.share_rule("layout", LAYOUT);
                let children = self.write_particle(particle, around, path)?;
                Some(children.map_or_else(|| layout.clone(), |children| format!("{layout} {children}")))
            }
        })
    }

    /// Children, each with the layout behind it; `None` if there are none.
    fn write_particle(
        &mut self,
        particle: &'m Particle,
        around: &str,
        path: &str,
    ) -> Result<Option<String>, NoGrammar> {
        if particle.max == Some(0) {
            return Ok(None);
        }
        let once = match &particle.term {
            Term::Element(declaration) => {
                let rule = self.rule_of(declaration, around, path)?;
                let layout = self.grammar.share_rule("layout", LAYOUT);
                Some(format!("({rule} {layout})"))
            }
            // What may be left out is left out.
            Term::Wildcard(_) if particle.min == 0 => {
                self.grammar.note_open(path, "any further element: none is written");
                return Ok(None);
            }
            Term::Wildcard(_) => {
                let none = || NoGrammar { path: path.to_owned() };
                let rule = self.grammar.any_element.clone().ok_or_else(none)?;
                let layout = self.grammar.share_rule("layout", LAYOUT);
                Some(format!("({rule} {layout})"))
            }
            // Any order is allowed; the one of the schema is written.
            Term::Sequence(parts) | Term::All(parts) => {
                let mut row = Vec::new();
                for part in parts {
                    row.extend(self.write_particle(part, around, path)?);
                }
                (!row.is_empty()).then(|| format!("({})", row.join(" ")))
            }
            Term::Choice(parts) => self.write_choice(parts, around, path)?,
        };
        let Some(once) = once else { return Ok(None) };
        let usize_of = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        let counts = (usize_of(particle.min), particle.max.map(usize_of));
        Ok(Some(self.count(&once, counts, GRAMMAR_ITEMS, path)))
    }

    /// One of several. One that holds any element is left out if there are others.
    fn write_choice(
        &mut self,
        parts: &'m [Particle],
        around: &str,
        path: &str,
    ) -> Result<Option<String>, NoGrammar> {
        let (mut each, mut fault, mut may_be_none) = (Vec::new(), None, false);
        for part in parts {
            match self.write_particle(part, around, path) {
                Ok(Some(text)) => each.push(text),
                Ok(None) => may_be_none = true,
                Err(none) => fault = Some(none),
            }
        }
        match (each.as_slice(), fault) {
            ([], Some(none)) if !may_be_none => Err(none),
            ([], _) => Ok(None),
            (each, _) if may_be_none => Ok(Some(format!("{}?", join_choices_grouped(each)))),
            (each, _) => Ok(Some(join_choices_grouped(each))),
        }
    }
}

fn write_added(added: &AddedAttribute) -> String {
    let name = write_literal(&format!(" {}=\"", added.name));
    let values: Vec<String> =
        added.values.iter().map(|value| write_value(value, ValuePlace::Attribute)).collect();
    let whole = format!("{name} {} \"\\\"\"", join_choices(&values));
    if added.is_required { format!(" {whole}") } else { format!(" ({whole})?") }
}

fn join_choices_grouped(each: &[String]) -> String {
    format!("({})", join_choices(each))
}
