//! A global element in prompt text: its name, its purpose, and everything that may be inside it.
//!
//! A schema and a name come in. A line goes out, or the line with an example, flags and attributes below it. The line
//! is enough to write the payload: it says what the schema says, and no more. A type is written out once, and later
//! uses point back, so the line is never much longer than the schema. Words and values of the schema are escaped: no
//! author of a schema, such as a foreign server, can write markup of the prompt around the line.

pub(crate) mod brief;
pub(crate) mod inside;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::build::example;
use crate::explain::wording;
use crate::limits;
use crate::shape::{
    AttributeUse, ComplexContent, ComplexType, Declaration, JsonShape, Particle, SchemaShape, SimpleType,
    Term, TypeId, TypeShape, Wildcard,
};
use systole_wire::writer::{escape, make_visible};

/// The words for a value that is spelt as JSON.
const JSON: &str = "JSON, as text";

/// `- <search>: Finds text. Parameters: <query>(text, required), <limit>(whole number 1 to 100, optional)`.
pub(crate) fn write_line(schema: &SchemaShape, element: &str) -> Option<String> {
    let declaration = schema.find_global(element)?;
    let mut telling = PromptWriter { schema, told: BTreeMap::new(), names: BTreeMap::new() };
    let at = PromptPlace { namespace: &declaration.namespace, path: vec![&declaration.name], depth: 0 };
    let about = schema
        .find_about(declaration)
        .map_or("No description.".to_owned(), |about| make_sentence(&escape_words(about)));
    let (parts, lead) = match schema.find_type(declaration.of) {
        TypeShape::Complex(complex) => {
            telling.describe_type(declaration.of, &at);
            (telling.describe_root(complex, &at), in_order(&complex.content))
        }
        TypeShape::Simple(simple) => (vec![own_text(&value_words(simple))], ""),
        TypeShape::Anything => (Vec::new(), ""),
    };
    let head = format!("- <{}>: {about}", declaration.name);
    Some(match parts.as_slice() {
        [] => format!("{head} No parameters."),
        parts => format!("{head} Parameters{lead}: {}", parts.join(", ")),
    })
}

/// The line, and below it the smallest example, its special properties, and its required attributes.
pub(crate) fn write_entry(schema: &SchemaShape, element: &str) -> Option<String> {
    let declaration = schema.find_global(element)?;
    let mut entry = write_line(schema, element)?;
    if let Some(example) =
        example::build_smallest(schema, element).and_then(|bytes| String::from_utf8(bytes).ok())
    {
        entry.extend(["\n  Example: ", &example_in_one_line(&example)]);
    }
    if declaration.dangerous {
        entry.push_str("\n  Flags: dangerous, so that a person is asked before it is delivered");
    }
    if declaration.marks.together {
        entry.push_str(
            "\n  Flags: together, so that all of one reply happen as one change set, the edits first",
        );
    }
    if let TypeShape::Complex(complex) = schema.find_type(declaration.of) {
        let required = complex.attributes.iter().filter(|attribute| attribute.required);
        let names: Vec<&str> = required.map(|attribute| attribute.name.as_str()).collect();
        if !names.is_empty() {
            entry.extend(["\n  Required attributes: ", &names.join(", ")]);
        }
    }
    Some(entry)
}

/// Words as a sentence, so that the next words begin a new one.
fn make_sentence(words: &str) -> String {
    let ends = words.ends_with(['.', '!', '?', ':', '…']);
    if ends { words.to_owned() } else { format!("{words}.") }
}

/// Words of a schema, without markup.
fn escape_words(words: &str) -> String {
    let mut bytes = Vec::with_capacity(words.len());
    escape(&mut bytes, words, false);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The words for a value. The values and patterns in them are the schema's.
fn value_words(simple: &SimpleType) -> String {
    escape_words(&in_one_line(&brief::describe_simple(simple)))
}

fn default_words(value: &str) -> String {
    format!("{} if left out", escape_words(&in_one_line(value)))
}

/// Text with values of a schema, in which every hidden character, line break and tab is shown. Words are folded, but a
/// folded value would be another value.
fn in_one_line(text: &str) -> String {
    make_visible(text).replace('\n', "\\u{a}").replace('\t', "\\u{9}")
}

/// An example in one line: a line break in one of its values becomes a reference, which XML reads as the same value.
fn example_in_one_line(example: &str) -> String {
    let is_break = |sign: char| matches!(sign, '\n' | '\r' | '\t' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let spelt = |sign: char| match is_break(sign) {
        true => format!("&#{};", u32::from(sign)),
        false => sign.to_string(),
    };
    example.chars().map(spelt).collect()
}

fn own_text(words: &str) -> String {
    format!("content({words})")
}

/// The note for children whose order matters.
fn in_order(content: &ComplexContent) -> &'static str {
    let ComplexContent::Children(particle) = content else { return "" };
    match &particle.term {
        Term::Sequence(parts) if parts.len() > 1 => ", in this order",
        _ => "",
    }
}

/// A place in a payload.
struct PromptPlace<'m> {
    namespace: &'m str,
    /// The names of the surrounding elements, outermost first.
    path: Vec<&'m str>,
    /// How many elements and groups surround it.
    depth: usize,
}

impl<'m> PromptPlace<'m> {
    fn go_deeper(&self) -> Self {
        Self { path: self.path.clone(), depth: self.depth.saturating_add(1), ..*self }
    }
}

struct PromptWriter<'m> {
    schema: &'m SchemaShape,
    /// Where each type is written out, by its place in the table and the namespace around its elements.
    told: BTreeMap<(usize, &'m str), Vec<&'m str>>,
    /// How many of these places have this name.
    names: BTreeMap<&'m str, usize>,
}

impl<'m> PromptWriter<'m> {
    fn describe_root(&mut self, complex: &'m ComplexType, at: &PromptPlace<'m>) -> Vec<String> {
        let mut parts: Vec<String> = complex.attributes.iter().map(describe_attribute).collect();
        match &complex.content {
            ComplexContent::Children(particle) => self.describe_particle(particle, at, &mut parts),
            ComplexContent::Text(simple) => parts.push(own_text(&value_words(simple))),
            ComplexContent::Free => parts.push(own_text("any text")),
            ComplexContent::Empty => {}
        }
        parts
    }

    fn describe_type(&mut self, id: TypeId, at: &PromptPlace<'m>) {
        self.told.insert((id.0, at.namespace), at.path.clone());
        if let Some(name) = at.path.last() {
            let places = self.names.entry(name).or_default();
            *places = places.saturating_add(1);
        }
    }

    /// Adds everything that a particle admits, in schema order.
    fn describe_particle(&mut self, particle: &'m Particle, at: &PromptPlace<'m>, out: &mut Vec<String>) {
        let at = &at.go_deeper();
        if at.depth > 2 * limits::DEPTH {
            return out.push("…".to_owned());
        }
        let once = (particle.min, particle.max) == (1, Some(1));
        match &particle.term {
            Term::Element(declaration) => {
                let how = if particle.min > 0 { "required" } else { "optional" };
                out.push(self.describe_element(declaration, &describe_often(how, particle), at));
            }
            Term::Wildcard(wildcard) => out.push(describe_wildcard(wildcard, particle)),
            Term::Sequence(parts) | Term::All(parts) if once => {
                parts.iter().for_each(|part| self.describe_particle(part, at, out));
            }
            Term::Sequence(parts) | Term::All(parts) => {
                let mut inside = Vec::new();
                parts.iter().for_each(|part| self.describe_particle(part, at, &mut inside));
                let lead = match wording::describe_times(particle.min, particle.max) {
                    Some(times) if particle.max != Some(1) => format!("{times} this group"),
                    _ => "optional, only together".to_owned(),
                };
                out.push(format!("{lead} [{}]", inside.join(", ")));
            }
            Term::Choice(parts) => out.push(self.describe_choice(particle, parts, at)),
        }
    }

    fn describe_choice(
        &mut self,
        particle: &'m Particle,
        parts: &'m [Particle],
        at: &PromptPlace<'m>,
    ) -> String {
        let each: Vec<String> = parts.iter().map(|part| self.describe_alternative(part, at)).collect();
        let lead = match (particle.min, particle.max) {
            (1, Some(1)) if !particle.term.may_be_empty() => "exactly one of".to_owned(),
            (0 | 1, Some(1)) => "at most one of".to_owned(),
            (min, max) => {
                let times = wording::describe_times(min, max).unwrap_or_default();
                format!("{times}, each time one of")
            }
        };
        format!("{lead} [{}]", each.join(" | "))
    }

    /// One of several: once chosen, it is obviously required.
    fn describe_alternative(&mut self, part: &'m Particle, at: &PromptPlace<'m>) -> String {
        match &part.term {
            Term::Element(declaration) => {
                let how = if part.min > 0 { "" } else { "optional" };
                self.describe_element(declaration, &describe_often(how, part), at)
            }
            _ => {
                let mut inside = Vec::new();
                self.describe_particle(part, at, &mut inside);
                inside.join(", ")
            }
        }
    }

    /// `<limit>(whole number 1 to 100, optional; how many hits at most)`.
    fn describe_element(
        &mut self,
        declaration: &'m Declaration,
        often: &[String],
        at: &PromptPlace<'m>,
    ) -> String {
        let mut heads = Vec::new();
        let mut more = Vec::new();
        let mut path = at.path.clone();
        path.push(&declaration.name);
        let inside =
            PromptPlace { namespace: &declaration.namespace, path, depth: at.depth.saturating_add(1) };
        match self.schema.find_type(declaration.of) {
            TypeShape::Simple(_) if declaration.marks.shape == JsonShape::Text => heads.push(JSON.to_owned()),
            TypeShape::Simple(simple) => heads.push(value_words(simple)),
            TypeShape::Anything => heads.push("any element".to_owned()),
            TypeShape::Complex(complex) => {
                let shape = declaration.marks.shape;
                self.describe_complex((declaration.of, complex, shape), &inside, &mut heads, &mut more);
            }
        }
        heads.extend(often.iter().cloned());
        heads.extend(declaration.default.as_ref().map(|value| default_words(value)));
        let about =
            self.schema.find_about(declaration).map(|about| escape_words(about.trim_end_matches('.')));
        let mut words: Vec<String> = Vec::new();
        words.extend((!heads.is_empty()).then(|| heads.join(", ")));
        words.extend(about);
        words.extend(more);
        format!("{}({})", spell_tag(declaration, at), words.join("; "))
    }

    fn describe_complex(
        &mut self,
        (id, complex, shape): (TypeId, &'m ComplexType, JsonShape),
        at: &PromptPlace<'m>,
        heads: &mut Vec<String>,
        more: &mut Vec<String>,
    ) {
        let is_json = shape == JsonShape::Text;
        let value = |simple: &SimpleType| if is_json { JSON.to_owned() } else { value_words(simple) };
        match &complex.content {
            ComplexContent::Text(simple) => heads.push(value(simple)),
            ComplexContent::Free => heads.push("any text".to_owned()),
            ComplexContent::Empty => heads.push("empty".to_owned()),
            ComplexContent::Children(_) => {}
        }
        let is_plain =
            complex.attributes.is_empty() && !matches!(complex.content, ComplexContent::Children(_));
        if is_plain {
            return;
        }
        if let Some(known) = self.told_as(id, at) {
            return more.push(format!("the same as in {known}"));
        }
        self.describe_type(id, at);
        let mut parts: Vec<String> = complex.attributes.iter().map(describe_attribute).collect();
        let ComplexContent::Children(particle) = &complex.content else { return more.push(parts.join(", ")) };
        if let Some((each, item)) = find_repeated(particle) {
            parts.push(self.describe_items(each, item, at));
            return more.push(parts.join(", "));
        }
        self.describe_particle(particle, at, &mut parts);
        more.push(format!("of{}: {}", in_order(&complex.content), parts.join(", ")));
    }

    /// `1 or more <item> of: <sku>(word, required)`, or `1 to 10 <item>(word)`.
    fn describe_items(&mut self, each: &'m Particle, item: &'m Declaration, at: &PromptPlace<'m>) -> String {
        let count = describe_count(each);
        let written = self.describe_element(item, &[], at);
        // Only the content: the brackets would add nothing.
        let bare = format!("{}(of", spell_tag(item, at));
        match written.strip_prefix(&bare).and_then(|rest| rest.strip_suffix(')')) {
            Some(rest) => format!("{count} {} of{rest}", spell_tag(item, at)),
            None => format!("{count} {written}"),
        }
    }

    /// Where a type is written out, by the shortest words that name the place.
    fn told_as(&self, id: TypeId, at: &PromptPlace<'m>) -> Option<String> {
        let path = self.told.get(&(id.0, at.namespace))?;
        let name = path.last()?;
        let alone = self.names.get(name) == Some(&1);
        let shown = if alone { (*name).to_owned() } else { path.join("/") };
        Some(format!("<{shown}>"))
    }
}

/// An element's start tag, with its namespace if that differs from the surrounding element's.
fn spell_tag(declaration: &Declaration, at: &PromptPlace<'_>) -> String {
    let namespace = match &*declaration.namespace {
        namespace if *namespace == *at.namespace => String::new(),
        namespace => format!(" xmlns=\"{namespace}\""),
    };
    format!("<{}{namespace}>", declaration.name)
}

fn describe_attribute(attribute: &AttributeUse) -> String {
    let how = if attribute.required { ", required" } else { ", optional" };
    let default = attribute.default.as_ref().map(|value| format!(", {}", default_words(value)));
    let about = attribute.documentation.as_ref();
    let about = about.map(|about| format!("; {}", escape_words(about.trim_end_matches('.'))));
    let words = value_words(&attribute.simple);
    let (default, about) = (default.unwrap_or_default(), about.unwrap_or_default());
    format!("attribute {}({words}{how}{default}{about})", attribute.name)
}

/// Whether it is required, and how often it may occur.
fn describe_often(how: &str, particle: &Particle) -> Vec<String> {
    let times = wording::describe_times(particle.min, particle.max).filter(|_| particle.max != Some(1));
    let how = (!how.is_empty()).then(|| how.to_owned());
    how.into_iter().chain(times).collect()
}

fn describe_wildcard(wildcard: &Wildcard, particle: &Particle) -> String {
    let what = match wildcard {
        Wildcard::Any => "any element",
        Wildcard::Other(_) => "any element of another namespace",
    };
    let how = if particle.min > 0 { "required" } else { "optional" };
    format!("{what}({})", describe_often(how, particle).join(", "))
}

/// The only element of a content, if it may occur several times.
fn find_repeated(particle: &Particle) -> Option<(&Particle, &Declaration)> {
    let once = (particle.min, particle.max) == (1, Some(1));
    match &particle.term {
        Term::Sequence(parts) if once => match parts.as_slice() {
            [only] if only.max != Some(1) => match &only.term {
                Term::Element(declaration) => Some((only, declaration)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

fn describe_count(particle: &Particle) -> String {
    let least = particle.min.to_string();
    match (particle.min, particle.max) {
        (0, None) => "any number of".to_owned(),
        (_, None) => format!("{least} or more"),
        (0, Some(most)) => format!("at most {most}"),
        (least, Some(most)) if least == most => format!("exactly {most}"),
        (_, Some(most)) => format!("{least} to {most}"),
    }
}
