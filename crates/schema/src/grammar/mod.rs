//! A global element as a grammar in GBNF: what a server that holds answers to a grammar lets a model write.
//!
//! A schema and a name come in. Rules go out that admit only payloads of the element, written by local names as an
//! answer has them; and a line for each rule of the schema that they leave open, since the pump judges everything
//! anyway. The grammar may admit less than the schema: one order where any is allowed, one spelling of a number. It
//! never admits text that would end an element early.

mod content;
mod number;
pub(crate) mod pattern;
mod spell;
#[cfg(test)]
mod tests;
mod text;
mod value;

use std::collections::BTreeMap;
use std::fmt;

use crate::shape::{Declaration, SchemaShape};

/// Rules, and what they leave open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grammar {
    /// Each with its text, in the order in which they were begun. The text comes when it is known.
    rules: Vec<(String, Option<String>)>,
    /// The rule of what may stand where a schema has to have any element.
    pub any_element: Option<String>,
    /// Whether all text is escaped. Otherwise text that holds no elements may also be written as it is.
    is_escaped: bool,
    /// Rules of the schemas that the grammar does not hold, each as `/search/query: words`.
    pub open: Vec<String>,
}

/// An attribute that a model writes on an element, and that is not in its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedAttribute {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Vec<String>,
    /// Whether it has to be there.
    pub is_required: bool,
}

/// Why there is no grammar of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoGrammar {
    /// The place in the payload.
    pub path: String,
}

impl fmt::Display for NoGrammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has to hold any element, which no grammar can say", self.path)
    }
}

impl std::error::Error for NoGrammar {}

impl Grammar {
    /// Adds the rules of a global element, with further attributes, and returns the name of its own. If there is none,
    /// nothing is added.
    pub(crate) fn add_element(
        &mut self,
        schema: &SchemaShape,
        root: &Declaration,
        added: &[AddedAttribute],
    ) -> Result<String, NoGrammar> {
        let mut grammar = self.clone();
        let name = GrammarWriter::new(schema, &mut grammar).write_root(root, added)?;
        *self = grammar;
        Ok(name)
    }

    /// A grammar whose text is always escaped.
    #[must_use]
    pub fn with_escapes() -> Self {
        Self { is_escaped: true, ..Self::default() }
    }

    /// Adds a rule of the caller, and returns its name.
    pub fn add_rule(&mut self, wanted: &str, text: String) -> String {
        let (at, name) = self.begin_rule(wanted);
        self.end_rule(at, text);
        name
    }

    /// The whole grammar, whose root is one of these rules.
    #[must_use]
    pub fn write_text(&self, root: &str) -> String {
        let rules = self.rules.iter().filter_map(|(name, text)| Some((name, text.as_ref()?)));
        rules.fold(format!("root ::= {root}\n"), |all, (name, text)| format!("{all}{name} ::= {text}\n"))
    }

    /// Begins a rule, with a name of its own.
    fn begin_rule(&mut self, wanted: &str) -> (usize, String) {
        let bare: String = wanted.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let bare = format!("x-{}", bare.trim_matches('-'));
        let is_taken = |name: &str| self.rules.iter().any(|(taken, _)| taken == name);
        let name = std::iter::once(bare.clone())
            .chain((2..).map(|n: usize| format!("{bare}-{n}")))
            .find(|name| !is_taken(name))
            .unwrap_or(bare);
        self.rules.push((name.clone(), None));
        (self.rules.len() - 1, name)
    }

    fn end_rule(&mut self, at: usize, text: String) {
        if let Some((_, place)) = self.rules.get_mut(at) {
            *place = Some(text);
        }
    }

    /// A rule that many use, made once. No element has a name with two hyphens before it.
    fn share_rule(&mut self, name: &str, text: &str) -> String {
        let name = format!("x--{name}");
        if !self.rules.iter().any(|(taken, _)| *taken == name) {
            self.rules.push((name.clone(), Some(text.to_owned())));
        }
        name
    }

    fn note_open(&mut self, path: &str, words: &str) {
        let line = format!("{path}: {words}");
        if !self.open.contains(&line) {
            self.open.push(line);
        }
    }
}

/// Writes the rules of one schema.
struct GrammarWriter<'m, 'g> {
    schema: &'m SchemaShape,
    grammar: &'g mut Grammar,
    /// The rule of each element, by its type and its tag.
    elements: BTreeMap<(usize, String), String>,
    /// Whether blank texts are left out.
    needs_words: bool,
}

impl<'m, 'g> GrammarWriter<'m, 'g> {
    fn new(schema: &'m SchemaShape, grammar: &'g mut Grammar) -> Self {
        Self { schema, grammar, elements: BTreeMap::new(), needs_words: false }
    }
}
