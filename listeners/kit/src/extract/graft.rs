//! Turns an action as the model wrote it into a payload: adds its namespace, fixes its name, takes out `to`.
//!
//! It never changes content. The markup of one element and the declarations around it come in; edits go out.

use std::borrow::Cow;

use super::names::KnownElement;
use super::origin::{MarkupEdit, PayloadOrigin};
use super::outline::{ElementHead, has_bare_elements, name_declaration};
use crate::{Place, writer};

/// The declarations around an element, innermost last.
#[derive(Debug, Clone, Default)]
pub(super) struct NamespaceScope {
    declared: Vec<(String, String)>,
}

impl NamespaceScope {
    /// The declarations inside an element of this start tag.
    pub(super) fn enter(&self, head: &ElementHead<'_>) -> Self {
        let mut scope = self.clone();
        for (name, ..) in &head.attributes {
            let prefix = if *name == "xmlns" { Some("") } else { name.strip_prefix("xmlns:") };
            if let (Some(prefix), Some(uri)) = (prefix, head.read_attribute(name)) {
                scope.declared.retain(|(other, _)| other != prefix);
                scope.declared.push((prefix.to_owned(), uri.into_owned()));
            }
        }
        scope
    }

    /// The scope without the default namespace. Inside the own tag, a name without a prefix means the action
    /// of that name, not an element in the agent's namespace.
    pub(super) fn without_default(mut self) -> Self {
        self.declared.retain(|(prefix, _)| !prefix.is_empty());
        self
    }

    /// The namespace of a prefix.
    pub(super) fn find_namespace(&self, prefix: &str) -> Option<Cow<'_, str>> {
        self.declared.iter().find(|(other, _)| other == prefix).map(|(_, uri)| Cow::Borrowed(&**uri))
    }
}

/// The edits of one element.
pub(super) struct MarkupEdits<'r> {
    raw: &'r str,
    head: &'r ElementHead<'r>,
    scope: &'r NamespaceScope,
    /// Written before the name: a prefix with its colon.
    prefix: String,
    /// Written instead of the local name.
    local: Option<String>,
    /// Written after the name.
    declared: Vec<u8>,
    edits: Vec<MarkupEdit>,
}

impl<'r> MarkupEdits<'r> {
    pub(super) fn new(raw: &'r str, head: &'r ElementHead<'r>, scope: &'r NamespaceScope) -> Self {
        let (prefix, declared) = (String::new(), Vec::with_capacity(64));
        Self { raw, head, scope, prefix, local: None, declared, edits: Vec::new() }
    }

    /// Writes another local name.
    pub(super) fn rename(&mut self, local: &str) {
        self.local = Some(local.to_owned());
    }

    /// Adds the namespace declarations that the element needs. Returns whether the model had left its
    /// namespace out.
    pub(super) fn declare(&mut self, known: &KnownElement) -> bool {
        for (prefix, uri) in &self.scope.declared {
            let is_used = self.raw.contains(&format!("{prefix}:")) || prefix.is_empty();
            if is_used && self.head.read_attribute(&name_declaration(prefix)).is_none() {
                writer::declare(&mut self.declared, prefix, uri);
            }
        }
        let own = self.head.read_namespace().or_else(|| self.scope.find_namespace(self.head.prefix));
        let has_default =
            self.head.read_attribute("xmlns").is_some() || self.scope.find_namespace("").is_some();
        let is_bare = self.head.prefix.is_empty();
        if own.is_none() {
            if is_bare && !known.qualified && has_bare_elements(self.raw) {
                let prefix = self.free_prefix();
                writer::declare(&mut self.declared, &prefix, &known.ns);
                self.prefix = format!("{prefix}:");
            } else {
                writer::declare(&mut self.declared, self.head.prefix, &known.ns);
            }
        }
        // If only the root has a prefix, elements inside without one would be in no namespace.
        let inside = !is_bare && known.qualified && !has_default && has_bare_elements(self.raw);
        if inside {
            writer::declare(&mut self.declared, "", &known.ns);
        }
        own.is_none() || inside
    }

    /// A prefix that the markup does not use.
    fn free_prefix(&self) -> String {
        let mut number = 0_usize;
        loop {
            let prefix = if number == 0 { "p".to_owned() } else { format!("p{number}") };
            if !self.raw.contains(&format!("{prefix}:")) && !self.raw.contains(&*name_declaration(&prefix)) {
                return prefix;
            }
            number += 1;
        }
    }

    /// Removes an attribute and returns its value.
    pub(super) fn take_out(&mut self, name: &str) -> Option<String> {
        let value = self.head.read_attribute(name)?.into_owned();
        let (.., range) = self.head.attributes.iter().find(|(other, ..)| *other == name)?;
        self.edits.push(MarkupEdit { part: range.clone(), with: String::new() });
        Some(value)
    }

    /// Takes over the edits of an inner element.
    pub(super) fn adopt(&mut self, inner: MarkupEdits<'_>, at: usize) {
        let moved = inner.into_edits().into_iter();
        self.edits.extend(
            moved.map(|edit| MarkupEdit { part: edit.part.start + at..edit.part.end + at, with: edit.with }),
        );
    }

    fn into_edits(mut self) -> Vec<MarkupEdit> {
        let name = &self.head.name;
        let local_at = name.end - self.head.local.len();
        let changed = |local: &Option<String>, from: usize, to: usize| {
            local.as_ref().map(|local| MarkupEdit { part: from..to, with: local.clone() })
        };
        let before = |at: usize| MarkupEdit { part: at..at, with: self.prefix.clone() };
        let mut edits = Vec::new();
        if !self.prefix.is_empty() {
            edits.push(before(name.start));
        }
        edits.extend(changed(&self.local, local_at, name.end));
        if !self.declared.is_empty() {
            let with = String::from_utf8_lossy(&self.declared).into_owned();
            edits.push(MarkupEdit { part: name.end..name.end, with });
        }
        // The end tag has the same name, followed by whitespace only.
        let is_renamed = !self.prefix.is_empty() || self.local.is_some();
        if let Some(end) = (is_renamed && !self.head.empty).then(|| self.raw.rfind("</")).flatten() {
            let from = end + 2;
            if !self.prefix.is_empty() {
                edits.push(before(from));
            }
            let local_at = from + local_at - name.start;
            edits.extend(changed(&self.local, local_at, from + name.len()));
        }
        edits.append(&mut self.edits);
        edits.sort_by_key(|edit| (edit.part.start, edit.part.end));
        edits
    }

    /// The edited markup with its mapping back to the text.
    pub(super) fn finish(self, start: Place) -> PayloadOrigin {
        let raw = self.raw;
        PayloadOrigin::new(raw, start, self.into_edits())
    }
}
