//! A global element in one line of prompt text: its name, what it is for, and its parameters.
//!
//! A schema and a name come in, a line goes out. It never says more than the schema does.

use super::shape::{AttributeUse, Content, Declaration, Particle, Schema, Term, Type};
use super::{value, wording};

/// `- <search>: Finds text. Parameters: <query>(text, required), <limit>(whole number, optional)`.
pub(super) fn line(schema: &Schema, element: &str) -> Option<String> {
    let declaration = schema.global(element)?;
    let mut line = ["- <", &declaration.name, ">"].concat();
    if let Some(about) = &declaration.documentation {
        line.extend([": ", about]);
    }
    let mut parameters = Vec::new();
    match schema.of(declaration.of) {
        Type::Complex(complex) => {
            parameters.extend(complex.attributes.iter().map(attribute));
            match &complex.content {
                Content::Children(particle) => children(schema, particle, true, &mut parameters),
                Content::Text(simple) => {
                    parameters.push(["content(", &value::describe(simple), ")"].concat())
                }
                Content::Free => parameters.push("content(text)".to_owned()),
                Content::Empty => {}
            }
        }
        Type::Simple(simple) => parameters.push(["content(", &value::describe(simple), ")"].concat()),
        Type::Anything => {}
    }
    if !parameters.is_empty() {
        line.push_str(if declaration.documentation.is_some() { " Parameters: " } else { ": Parameters: " });
        line.push_str(&parameters.join(", "));
    }
    Some(line)
}

fn attribute(attribute: &AttributeUse) -> String {
    let how = if attribute.required { "required" } else { "optional" };
    ["attribute ", &attribute.name, "(", &value::describe(&attribute.simple), ", ", how, ")"].concat()
}

/// What stands in a choice is not required, though one of it is.
fn children(schema: &Schema, particle: &Particle, required: bool, out: &mut Vec<String>) {
    let required = required && particle.min > 0;
    match &particle.term {
        Term::Element(declaration) => out.push(parameter(schema, declaration, particle, required)),
        Term::Sequence(parts) | Term::All(parts) => {
            parts.iter().for_each(|part| children(schema, part, required, out));
        }
        Term::Choice(parts) => parts.iter().for_each(|part| children(schema, part, false, out)),
        Term::Wildcard(_) => out.push("any payload".to_owned()),
    }
}

fn parameter(schema: &Schema, declaration: &Declaration, particle: &Particle, required: bool) -> String {
    let how = if required { "required" } else { "optional" };
    let times = match particle.max {
        Some(1) => String::new(),
        _ => wording::times(particle.min, particle.max)
            .map(|times| [", ", &times].concat())
            .unwrap_or_default(),
    };
    let of = wording::of_type(schema, schema.of(declaration.of));
    // Whoever writes the payload has to know where an element is of another namespace than its own.
    let namespace = match &*declaration.namespace {
        namespace if *namespace == *schema.namespace => String::new(),
        namespace => [" xmlns=\"", namespace, "\""].concat(),
    };
    let about = declaration.documentation.as_ref().map(|about| ["; ", about].concat()).unwrap_or_default();
    ["<", &declaration.name, &namespace, ">(", &of, ", ", how, &times, &about, ")"].concat()
}
