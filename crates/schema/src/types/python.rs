//! The module of a namespace in Python: a frozen dataclass for each class, and the table.

use super::classes::{ClassField, ClassTable, FieldType, PayloadClass};
use super::module::{ModulePlaces, list_head, list_modules, split_lines};
use super::simple::TypeLanguage;
use super::table::draw_table;

/// The names that the SDK's module has, of which a module imports those that it uses.
const RUNTIME: [&str; 8] = ["Date", "DateTime", "Duration", "Element", "File", "Part", "Payload", "Time"];

pub(super) fn write_module(table: &ClassTable, places: &ModulePlaces<'_>) -> String {
    let classes: Vec<String> = table.classes.iter().map(|class| write_class(table, places, class)).collect();
    let body = classes.concat();
    let uses = |name: &str| {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        body.split(|c: char| !is_word(c)).any(|word| word == name)
    };
    let mut out = String::from("# Written by `systole sdk python`: do not edit, write it again.\n");
    let about = format!("Payloads of {}.", table.namespace);
    out.push_str(&write_docstring("", &[vec![about], list_head(table)].concat()));
    out.push_str("from __future__ import annotations\n\n");
    let fields = if body.contains(" = field(") { ", field" } else { "" };
    out.push_str(&format!("from dataclasses import dataclass{fields}\n"));
    if uses("Decimal") {
        out.push_str("from decimal import Decimal\n");
    }
    if uses("Literal") {
        out.push_str("from typing import Literal\n");
    }
    let names: Vec<&str> = RUNTIME.into_iter().filter(|name| uses(name)).chain(["bind"]).collect();
    out.push_str(&format!("\nfrom {} import {}\n", places.runtime, names.join(", ")));
    let others: Vec<String> =
        list_modules(table, places).map(|(_, module)| format!("import {module}\n")).collect();
    out.push_str(&others.concat());
    out.push_str(&body);
    out.push_str(&format!("\n\nTABLE: dict[str, object] = {}\n", draw_table(table).write(0)));
    let names: Vec<String> = table.classes.iter().map(|class| format!("    {},\n", class.name)).collect();
    out.push_str(&format!("\nbind(\n    TABLE,\n{})\n", names.concat()));
    out
}

fn write_class(table: &ClassTable, places: &ModulePlaces<'_>, class: &PayloadClass) -> String {
    let base = if class.element.is_some() { "Payload" } else { "Part" };
    let mut out = format!("\n\n@dataclass(frozen=True, kw_only=True)\nclass {}({base}):\n", class.name);
    let before = out.len();
    if let Some(about) = &class.documentation {
        out.push_str(&write_docstring("    ", std::slice::from_ref(about)));
    }
    for field in class.children.iter().chain(&class.text).chain(&class.attributes) {
        let of = write_type(table, places, &field.of);
        out.push_str(&write_field(field, &of));
        if let Some(about) = &field.documentation {
            out.push_str(&write_docstring("    ", std::slice::from_ref(about)));
        }
    }
    if let Some(listed) = &class.listed {
        let mut of: Vec<String> = listed.of.iter().map(|one| write_type(table, places, &one.of)).collect();
        of.extend(listed.any.then(|| "Element".to_owned()));
        let default = if listed.min == 0 { " = ()" } else { "" };
        out.push_str(&format!("    {}: tuple[{}, ...]{default}\n", listed.field, of.join(" | ")));
    }
    if let Some(any) = &class.any {
        let of = match (any.many, any.min) {
            (true, 0) => "tuple[Element, ...] = ()",
            (true, _) => "tuple[Element, ...]",
            (false, 0) => "Element | None = None",
            (false, _) => "Element",
        };
        out.push_str(&format!("    {}: {of}\n", any.field));
    }
    if out.len() == before {
        out.push_str("    pass\n");
    }
    out
}

fn write_field(field: &ClassField, of: &str) -> String {
    let is_optional = field.min == 0 || field.default.is_some();
    let (of, default) = match (field.is_many(), is_optional) {
        (true, true) => (format!("tuple[{of}, ...]"), Some("()")),
        (true, false) => (format!("tuple[{of}, ...]"), None),
        (false, true) => (format!("{of} | None"), Some("None")),
        (false, false) => (of.to_owned(), None),
    };
    let value = match (default, field.sensitive) {
        (Some(default), true) => format!(" = field(default={default}, repr=False)"),
        (None, true) => " = field(repr=False)".to_owned(),
        (Some(default), false) => format!(" = {default}"),
        (None, false) => String::new(),
    };
    format!("    {}: {of}{value}\n", field.field)
}

fn write_type(table: &ClassTable, places: &ModulePlaces<'_>, of: &FieldType) -> String {
    match of {
        FieldType::Simple(at) => table.simple.write_type(*at, TypeLanguage::Python).to_owned(),
        FieldType::Text => "str".to_owned(),
        FieldType::Class(name) => name.clone(),
        FieldType::Foreign(name, namespace) => {
            format!("{}.{name}", places.find_module(namespace).unwrap_or_default())
        }
        FieldType::Items(item) => format!("tuple[{}, ...]", write_type(table, places, &item.of)),
        FieldType::Markup => "Element".to_owned(),
        FieldType::File => "File".to_owned(),
    }
}

/// A docstring of paragraphs, each of which begins a line.
fn write_docstring(indent: &str, paragraphs: &[String]) -> String {
    let lines: Vec<String> = paragraphs.iter().flat_map(|words| split_lines(words)).collect();
    let safe = |line: &String| line.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"");
    let text = lines.iter().map(safe).collect::<Vec<_>>().join(&format!("\n{indent}"));
    // A quote at the end would end the string too early.
    let text = if text.ends_with('"') { format!("{text} ") } else { text };
    let end = if lines.len() > 1 { format!("\n{indent}") } else { String::new() };
    format!("{indent}\"\"\"{text}{end}\"\"\"\n")
}
