//! The module of a namespace in TypeScript: an interface and a constructor for each class, and the table.

use super::classes::{ClassField, ClassTable, FieldType, PayloadClass};
use super::literal::quote_text;
use super::module::{ModulePlaces, list_head, list_modules, split_lines};
use super::simple::TypeLanguage;
use super::table::draw_table;

/// The types that the SDK's module has, of which a module imports those that it uses.
const RUNTIME: [&str; 9] = [
    "DateText",
    "DateTimeText",
    "DecimalText",
    "DurationText",
    "Element",
    "File",
    "Part",
    "Payload",
    "TimeText",
];

pub(super) fn write_module(table: &ClassTable, places: &ModulePlaces<'_>) -> String {
    let classes: Vec<String> =
        table.classes.iter().map(|class| write_interface(table, places, class)).collect();
    let body = classes.concat();
    let uses = |name: &str| body.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == name);
    let mut out = String::from("// Written by `systole sdk typescript`: do not edit, write it again.\n");
    let about = format!("Payloads of {}.", table.namespace);
    out.push_str(&write_comment("", &[vec![about], list_head(table)].concat()));
    let types = RUNTIME.into_iter().filter(|name| uses(name)).chain(["Table"]);
    let names: Vec<String> = types.map(|name| format!(", type {name}")).collect();
    out.push_str(&format!("import {{ bind{} }} from {};\n", names.concat(), quote_text(places.runtime)));
    for (_, module) in list_modules(table, places) {
        out.push_str(&format!("import * as {} from {};\n", name_alias(module), quote_text(module)));
    }
    out.push_str(&body);
    out.push_str(&format!("\nconst TABLE: Table = {};\n", draw_table(table).write(0)));
    out.push_str("\nconst shapes = bind(TABLE);\n");
    for class in &table.classes {
        let of = if class.element.is_some() { "payload" } else { "part" };
        out.push_str(&format!(
            "export const {0} = shapes.{of}<{0}>({1});\n",
            class.name,
            quote_text(&class.name)
        ));
    }
    out
}

fn write_interface(table: &ClassTable, places: &ModulePlaces<'_>, class: &PayloadClass) -> String {
    let mut out = String::from("\n");
    if let Some(about) = &class.documentation {
        out.push_str(&write_comment("", std::slice::from_ref(about)));
    }
    let base = match &class.element {
        Some(element) => format!("Payload<{}>", quote_text(&format!("{} {element}", table.namespace))),
        None => "Part".to_owned(),
    };
    out.push_str(&format!("export interface {} extends {base} {{\n", class.name));
    for field in class.children.iter().chain(&class.text).chain(&class.attributes) {
        if let Some(about) = &field.documentation {
            out.push_str(&write_comment("  ", std::slice::from_ref(about)));
        }
        out.push_str(&write_field(field, write_type(table, places, &field.of)));
    }
    if let Some(listed) = &class.listed {
        let mut of: Vec<String> = listed.of.iter().map(|one| write_type(table, places, &one.of)).collect();
        of.extend(listed.any.then(|| "Element".to_owned()));
        let sign = if listed.min == 0 { "?" } else { "" };
        out.push_str(&format!("  readonly {}{sign}: readonly ({})[];\n", listed.field, of.join(" | ")));
    }
    if let Some(any) = &class.any {
        let sign = if any.min == 0 { "?" } else { "" };
        let of = if any.many { "readonly Element[]" } else { "Element" };
        out.push_str(&format!("  readonly {}{sign}: {of};\n", any.field));
    }
    out + "}\n"
}

fn write_field(field: &ClassField, of: String) -> String {
    let sign = if field.min == 0 || field.default.is_some() { "?" } else { "" };
    let of = if field.is_many() { make_list(&of) } else { of };
    format!("  readonly {}{sign}: {of};\n", field.field)
}

fn make_list(of: &str) -> String {
    if of.contains(' ') { format!("readonly ({of})[]") } else { format!("readonly {of}[]") }
}

fn write_type(table: &ClassTable, places: &ModulePlaces<'_>, of: &FieldType) -> String {
    match of {
        FieldType::Simple(at) => table.simple.write_type(*at, TypeLanguage::TypeScript).to_owned(),
        FieldType::Text => "string".to_owned(),
        FieldType::Class(name) => name.clone(),
        FieldType::Foreign(name, namespace) => {
            format!("{}.{name}", name_alias(places.find_module(namespace).unwrap_or_default()))
        }
        FieldType::Items(item) => make_list(&write_type(table, places, &item.of)),
        FieldType::Markup => "Element".to_owned(),
        FieldType::File => "File".to_owned(),
    }
}

/// The name of another module in this one, which no class can have.
fn name_alias(module: &str) -> String {
    let bare = module.trim_start_matches(['.', '/']).trim_end_matches(".ts");
    format!("_{}", bare.replace(|c: char| !c.is_alphanumeric(), "_"))
}

/// A comment of paragraphs, each of which begins a line.
fn write_comment(indent: &str, paragraphs: &[String]) -> String {
    let lines: Vec<String> = paragraphs.iter().flat_map(|words| split_lines(words)).collect();
    let safe = |line: &String| line.replace("*/", "*\u{200b}/");
    match lines.as_slice() {
        [only] => format!("{indent}/** {} */\n", safe(only)),
        lines => {
            let text: Vec<String> = lines.iter().map(|line| format!("{indent} * {}\n", safe(line))).collect();
            format!("{indent}/**\n{}{indent} */\n", text.concat())
        }
    }
}
