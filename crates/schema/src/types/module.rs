//! What the modules of both languages share: where they find other modules, the lines at their head, and lines of text.

use std::sync::Arc;

use super::classes::{ClassTable, FieldType};
use crate::limits::TYPE_LINE;

/// Where a module finds what it uses.
#[derive(Clone, Copy, Debug)]
pub struct ModulePlaces<'a> {
    /// The module of the SDK with the base classes, as an import names it.
    pub runtime: &'a str,
    /// Namespaces and their modules, as an import names them.
    pub modules: &'a [(String, String)],
}

impl ModulePlaces<'_> {
    pub(super) fn find_module(&self, namespace: &str) -> Option<&str> {
        self.modules.iter().find(|(known, _)| known == namespace).map(|(_, module)| module.as_str())
    }
}

/// The lines at the head of a module: what its classes admit beyond the schema.
pub(super) fn list_head(table: &ClassTable) -> Vec<String> {
    let mut lines: Vec<String> = table.beyond.iter().map(|rule| format!("- {rule}")).collect();
    if !lines.is_empty() {
        lines.insert(0, "Only the organism judges these rules, and no class here:".to_owned());
    }
    lines
}

/// The other modules that the classes of a module name.
pub(super) fn list_modules<'p>(
    table: &ClassTable,
    places: &'p ModulePlaces<'_>,
) -> impl Iterator<Item = (&'p str, &'p str)> {
    let mut used: Vec<Arc<str>> = Vec::new();
    for class in &table.classes {
        let listed = class.listed.iter().flat_map(|listed| &listed.of);
        class.children.iter().chain(listed).for_each(|field| collect_modules(&field.of, &mut used));
    }
    let all = places.modules.iter().map(|(namespace, module)| (namespace.as_str(), module.as_str()));
    all.filter(move |(namespace, _)| used.iter().any(|one| **one == **namespace))
}

fn collect_modules(of: &FieldType, used: &mut Vec<Arc<str>>) {
    match of {
        FieldType::Foreign(_, namespace) => used.push(Arc::clone(namespace)),
        FieldType::Items(item) => collect_modules(&item.of, used),
        _ => {}
    }
}

/// The words of a text in lines.
pub(super) fn split_lines(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if !line.is_empty() && line.chars().count().saturating_add(word.chars().count()) >= TYPE_LINE {
            lines.push(word.to_owned());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines
}
