//! The fields of a payload as a page shows them, for sending and for amending. Without scripts everything works: a
//! blank place of a repeated part is left out, and a button shows one more.
//!
//! A form that was made from the schema comes in, with the mistakes in its values; markup goes out. Every text is
//! escaped by the template.

use askama::Template;
use serde_json::{Value, json};
use systole_kit::schema::{FormAlternative, FormField, FormInput, FormMistake, PageForm};

use systole_queries::full;
use systole_show::columns::plain;

/// Fields next to each other, and everything inside them.
#[derive(Template)]
#[template(path = "inputs.html")]
pub(super) struct FormInputs {
    fields: Vec<InputView>,
}

/// One field.
struct InputView {
    name: String,
    label: String,
    /// The name in the schema, if the label is another.
    term: Option<String>,
    about: String,
    limits: String,
    hint: String,
    value: String,
    /// Characters of the value that look like others, or like nothing.
    closely: Vec<String>,
    mistakes: Vec<String>,
    /// The choice whether the part is sent without values, as posted.
    presence: Option<String>,
    kind: InputKind,
}

enum InputKind {
    Line(&'static str),
    Lines { rows: usize, is_xml: bool },
    Options(Vec<InputOption>),
    Group(FormInputs),
    File { held: Vec<(String, String)>, accept: String, is_held: bool },
    OneOf { options: Vec<InputOption>, alternatives: Vec<AlternativeView> },
    Several { places: FormInputs, more: Option<String> },
}

struct InputOption {
    value: String,
    label: String,
    is_chosen: bool,
}

struct AlternativeView {
    label: String,
    is_open: bool,
    inner: FormInputs,
}

/// Where the buttons that only show something lead.
#[derive(Clone, Copy)]
struct InputSurroundings<'c> {
    mistakes: &'c [FormMistake],
    shows: &'c str,
}

impl FormInputs {
    /// The fields of a form. `shows` is the address that shows the form again.
    pub(super) fn of(form: &PageForm, mistakes: &[FormMistake], shows: &str) -> FormInputs {
        FormInputs::all(&form.fields, InputSurroundings { mistakes, shows })
    }

    /// Whether one of the fields takes a file.
    pub(super) fn has_files(&self) -> bool {
        self.fields.iter().any(|field| match &field.kind {
            InputKind::File { .. } => true,
            InputKind::Group(inner) | InputKind::Several { places: inner, .. } => inner.has_files(),
            InputKind::OneOf { alternatives, .. } => alternatives.iter().any(|one| one.inner.has_files()),
            InputKind::Line(_) | InputKind::Lines { .. } | InputKind::Options(_) => false,
        })
    }

    /// No fields.
    pub(super) fn none() -> FormInputs {
        FormInputs { fields: Vec::new() }
    }

    /// The places of a repeated part.
    fn number_inputs(places: &[FormField], context: InputSurroundings<'_>) -> FormInputs {
        let mut inputs = FormInputs::all(places, context);
        for (number, place) in (1..).zip(&mut inputs.fields) {
            place.label = format!("{} {number}", place.label);
        }
        inputs
    }

    fn all(fields: &[FormField], context: InputSurroundings<'_>) -> FormInputs {
        FormInputs { fields: fields.iter().map(|field| InputView::of(field, context)).collect() }
    }
}

impl InputView {
    fn of(field: &FormField, context: InputSurroundings<'_>) -> InputView {
        // A reference is one thing to a person.
        let inside = format!("{}/", field.name);
        let is_mine =
            |name: &str| name == field.name || (!field.accept.is_empty() && name.starts_with(&inside));
        let mine = context.mistakes.iter().filter(|mistake| is_mine(&mistake.name));
        let asks = field.may_be_kept();
        InputView {
            name: field.name.clone(),
            label: plain(&field.label),
            term: (field.term != field.label && !field.term.is_empty()).then(|| plain(&field.term)),
            about: plain(&field.about),
            limits: plain(&field.limits),
            hint: plain(&field.hint),
            value: field.value.clone(),
            closely: full::shown_text(&field.value).notes,
            mistakes: mine.map(|mistake| plain(&mistake.message)).collect(),
            presence: asks.then(|| field.presence.clone()),
            kind: InputKind::of(field, context),
        }
    }

    fn has_mistake(&self) -> bool {
        !self.mistakes.is_empty()
    }
}

impl InputKind {
    fn of(field: &FormField, context: InputSurroundings<'_>) -> InputKind {
        let value = field.value.as_str();
        match &field.input {
            // A browser drops line breaks from an input of one line.
            FormInput::Line | FormInput::Whole { .. } | FormInput::Decimal if value.contains('\n') => {
                InputKind::lines(value, false)
            }
            FormInput::Line | FormInput::Time | FormInput::DateTime => InputKind::Line("text"),
            FormInput::Whole { .. } => InputKind::Line("numeric"),
            FormInput::Decimal => InputKind::Line("decimal"),
            FormInput::Date if is_plain_day(value) => InputKind::Line("date"),
            FormInput::Date => InputKind::Line("text"),
            FormInput::Text => InputKind::lines(value, false),
            FormInput::Xml => InputKind::lines(value, true),
            FormInput::YesNo => InputKind::Options(options(["true", "false"].into_iter(), value)),
            FormInput::Choice(values) => {
                InputKind::Options(options(values.iter().map(String::as_str), value))
            }
            FormInput::Group(fields) if !field.accept.is_empty() => InputKind::File {
                held: fields.iter().map(|inner| (inner.name.clone(), inner.value.clone())).collect(),
                accept: field.accept.join(","),
                is_held: fields.iter().any(FormField::has_values),
            },
            FormInput::Group(fields) => InputKind::Group(FormInputs::all(fields, context)),
            FormInput::OneOf(alternatives) => {
                let option = |one: &FormAlternative| InputOption {
                    value: one.value.clone(),
                    label: plain(&one.label),
                    is_chosen: one.value == value,
                };
                let is_free = value.is_empty();
                let shown = |one: &FormAlternative| AlternativeView {
                    label: plain(&one.label),
                    is_open: is_free || one.value == value || one.fields.iter().any(FormField::has_values),
                    inner: FormInputs::all(&one.fields, context),
                };
                InputKind::OneOf {
                    options: alternatives.iter().map(option).collect(),
                    alternatives: alternatives.iter().map(shown).collect(),
                }
            }
            FormInput::Several { places, may_add } => InputKind::Several {
                places: FormInputs::number_inputs(places, context),
                more: may_add.then(|| context.shows.to_owned()),
            },
        }
    }

    fn lines(value: &str, is_xml: bool) -> InputKind {
        InputKind::Lines { rows: value.lines().count().clamp(2, 16), is_xml }
    }
}

/// The values to choose from. A value of another spelling stays as it is.
fn options<'v>(values: impl Iterator<Item = &'v str>, value: &str) -> Vec<InputOption> {
    let mut found: Vec<InputOption> = values
        .map(|one| InputOption { value: one.to_owned(), label: plain(one), is_chosen: one == value })
        .collect();
    if !value.is_empty() && !found.iter().any(|one| one.is_chosen) {
        found.push(InputOption { value: value.to_owned(), label: plain(value), is_chosen: true });
    }
    found
}

/// Whether an input for days shows the value: it knows no time zones.
fn is_plain_day(value: &str) -> bool {
    let is_digit =
        |(at, byte): (usize, u8)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() };
    value.is_empty() || (value.len() == 10 && value.bytes().enumerate().all(is_digit))
}

/// A mistake on one line.
pub(super) fn describe_mistake(mistake: &FormMistake) -> String {
    match mistake.expected.as_str() {
        "" => plain(&mistake.message),
        expected => format!("{} (allowed: {})", plain(&mistake.message), plain(expected)),
    }
}

/// The fields of a form for a program.
pub(super) fn as_json(form: &PageForm) -> Value {
    json!({"element": form.element, "about": form.about, "fields": fields_as_json(&form.fields)})
}

fn fields_as_json(fields: &[FormField]) -> Vec<Value> {
    fields.iter().map(field_as_json).collect()
}

fn field_as_json(field: &FormField) -> Value {
    let mut value = json!({
        "name": field.name, "label": field.label, "required": field.is_required, "limits": field.limits,
        "value": field.value,
    });
    let (kind, more) = match &field.input {
        FormInput::Line => ("line", json!({})),
        FormInput::Text => ("text", json!({})),
        FormInput::Whole { least, most } => ("whole", json!({"least": least, "most": most})),
        FormInput::Decimal => ("decimal", json!({})),
        FormInput::YesNo => ("yes-no", json!({})),
        FormInput::Choice(values) => ("choice", json!({"values": values})),
        FormInput::Date => ("date", json!({})),
        FormInput::Time => ("time", json!({})),
        FormInput::DateTime => ("date-time", json!({})),
        FormInput::Xml => ("xml", json!({})),
        FormInput::Group(fields) if !field.accept.is_empty() => {
            ("file", json!({"fields": fields_as_json(fields), "accept": field.accept}))
        }
        FormInput::Group(fields) => ("group", json!({"fields": fields_as_json(fields)})),
        FormInput::OneOf(alternatives) => {
            let one = |one: &FormAlternative| json!({"value": one.value, "label": one.label, "fields": fields_as_json(&one.fields)});
            ("one-of", json!({"alternatives": alternatives.iter().map(one).collect::<Vec<_>>()}))
        }
        FormInput::Several { places, may_add } => {
            ("several", json!({"places": fields_as_json(places), "may_add": may_add}))
        }
    };
    if let (Some(fields), Value::Object(more)) = (value.as_object_mut(), more) {
        fields.insert("kind".to_owned(), Value::from(kind));
        fields.extend(more);
    }
    value
}

/// The mistake that a refusal is, at its field.
pub(super) fn mistake_of(name: String, refusal: &systole_core::types::refusal::Refusal) -> FormMistake {
    FormMistake {
        name,
        message: refusal.message.to_string(),
        expected: refusal.expected.clone().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_a_special_input_would_lose_gets_a_plain_one() {
        assert!(is_plain_day("2026-01-31") && is_plain_day(""));
        assert!(!is_plain_day("2026-01-31Z") && !is_plain_day("12026-01-3"));
        let kept = options(["true", "false"].into_iter(), "1");
        assert_eq!(kept.iter().filter(|one| one.is_chosen).map(|one| one.value.as_str()).next(), Some("1"));
    }
}
