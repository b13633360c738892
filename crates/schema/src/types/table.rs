//! The table of a module: what the reader and the writer of an SDK know of each class. Both languages have the same.

use std::sync::Arc;

use super::classes::{AnyField, ClassField, ClassTable, FieldType, ListedField, PayloadClass};
use super::literal::Literal;

/// An entry of the table in the making.
type Fields = Vec<(&'static str, Literal)>;

pub(super) fn draw_table(table: &ClassTable) -> Literal {
    let elements = table.elements.iter().map(|(local, class)| (local.clone(), Literal::new_text(class)));
    let classes = table.classes.iter().map(|class| (class.name.clone(), draw_class(&table.namespace, class)));
    Literal::Object(vec![
        ("namespace", Literal::new_text(&table.namespace)),
        ("elements", Literal::Named(elements.collect())),
        ("classes", Literal::Named(classes.collect())),
        ("simple", Literal::List(table.simple.rows.iter().map(|row| row.facets.clone()).collect())),
    ])
}

fn draw_class(own: &Arc<str>, class: &PayloadClass) -> Literal {
    let mut fields: Fields = Vec::new();
    fields.extend(class.element.as_ref().map(|element| ("element", Literal::new_text(element))));
    if !class.attributes.is_empty() {
        fields.push(("attributes", Literal::List(class.attributes.iter().map(draw_attribute).collect())));
    }
    if let Some(text) = &class.text {
        let mut drawn = vec![("field", Literal::new_text(&text.field)), ("type", draw_type(own, &text.of))];
        push_sensitive(text, &mut drawn);
        fields.push(("text", Literal::Object(drawn)));
    }
    if !class.children.is_empty() {
        let children = class.children.iter().map(|child| draw_child(own, child));
        fields.push(("children", Literal::List(children.collect())));
    }
    fields.extend(class.listed.as_ref().map(|listed| ("listed", draw_listed(own, listed))));
    fields.extend(class.any.as_ref().map(|any| ("any", draw_any(any))));
    Literal::Object(fields)
}

fn draw_attribute(attribute: &ClassField) -> Literal {
    let mut drawn: Fields = vec![
        ("name", Literal::new_text(&attribute.name)),
        ("field", Literal::new_text(&attribute.field)),
        ("type", draw_type(&Arc::default(), &attribute.of)),
    ];
    if attribute.min > 0 {
        drawn.push(("required", Literal::Number(1)));
    }
    push_default(attribute, &mut drawn);
    push_sensitive(attribute, &mut drawn);
    Literal::Object(drawn)
}

fn draw_child(own: &Arc<str>, child: &ClassField) -> Literal {
    let mut drawn: Fields = vec![("name", Literal::new_text(&child.name))];
    push_namespace(own, child, &mut drawn);
    drawn.extend([("field", Literal::new_text(&child.field)), ("type", draw_type(own, &child.of))]);
    push_counts(child.min, child.max, &mut drawn);
    push_default(child, &mut drawn);
    push_sensitive(child, &mut drawn);
    Literal::Object(drawn)
}

fn draw_listed(own: &Arc<str>, listed: &ListedField) -> Literal {
    let mut of: Vec<Literal> = Vec::new();
    for one in &listed.of {
        let mut drawn: Fields = vec![("name", Literal::new_text(&one.name))];
        push_namespace(own, one, &mut drawn);
        drawn.push(("type", draw_type(own, &one.of)));
        push_sensitive(one, &mut drawn);
        of.push(Literal::Object(drawn));
    }
    if listed.any {
        of.push(Literal::Object(vec![("type", draw_type(own, &FieldType::Markup))]));
    }
    let mut drawn: Fields = vec![("field", Literal::new_text(&listed.field)), ("of", Literal::List(of))];
    push_counts(listed.min, listed.max, &mut drawn);
    Literal::Object(drawn)
}

fn draw_any(any: &AnyField) -> Literal {
    let mut drawn: Fields =
        vec![("field", Literal::new_text(&any.field)), ("at", Literal::new_count(any.at))];
    if any.many {
        drawn.push(("many", Literal::Number(1)));
    }
    if any.min > 0 {
        drawn.push(("min", Literal::Number(any.min.into())));
    }
    drawn.extend(any.other.as_ref().map(|other| ("other", Literal::new_text(other))));
    Literal::Object(drawn)
}

fn draw_type(own: &Arc<str>, of: &FieldType) -> Literal {
    Literal::Object(match of {
        FieldType::Simple(at) => vec![("simple", Literal::new_count(*at))],
        FieldType::Text => vec![("string", Literal::Number(1))],
        FieldType::Class(name) => vec![("class", Literal::new_text(name))],
        FieldType::Foreign(name, module) => {
            vec![("class", Literal::new_text(name)), ("module", Literal::new_text(module))]
        }
        FieldType::Items(item) => vec![("items", draw_child(own, item))],
        FieldType::Markup => vec![("markup", Literal::Number(1))],
        FieldType::File => vec![("file", Literal::Number(1))],
    })
}

fn push_namespace(own: &Arc<str>, child: &ClassField, drawn: &mut Fields) {
    if child.namespace != *own {
        drawn.push(("ns", Literal::new_text(&child.namespace)));
    }
}

fn push_counts(min: u32, max: Option<u32>, drawn: &mut Fields) {
    if min != 1 {
        drawn.push(("min", Literal::Number(min.into())));
    }
    if max != Some(1) {
        drawn.push(("max", Literal::Number(max.unwrap_or(0).into())));
    }
}

fn push_default(field: &ClassField, drawn: &mut Fields) {
    drawn.extend(field.default.as_ref().map(|default| ("default", Literal::new_text(default))));
}

fn push_sensitive(field: &ClassField, drawn: &mut Fields) {
    if field.sensitive {
        drawn.push(("sensitive", Literal::Number(1)));
    }
}
