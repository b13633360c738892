//! A payload as the labels of its schema and their values, in the order of its form.
//!
//! A composition and a record come in; pairs of texts go out, or none if no schema of it fits.

use systole_kit::schema::{FormField, FormInput, FormValues};
use systole_kit::{DocumentLimits, payload::Payload};

use systole_core::types::composition::Composition;
use systole_core::types::record::Record;
use systole_payloads::open_elements;
use systole_queries::full;
use systole_show::columns::plain;

/// The labels and values of a record's payload.
pub(super) fn pairs(organism: &Composition, record: &Record) -> Vec<(String, String)> {
    find_labels(organism, record).unwrap_or_default()
}

fn find_labels(organism: &Composition, record: &Record) -> Option<Vec<(String, String)>> {
    let h = &record.header;
    let read = Payload::parse(&record.body, &DocumentLimits::default()).ok()?;
    let taken = h.to.as_ref().and_then(|to| organism.find_listener(to)?.find_accepted(read.name()));
    let schema = taken.or_else(|| organism.find_listener(&h.from)?.find_returned(read.name()))?;
    let model = open_elements::find_model(organism, schema)?;
    let values: FormValues = model.form_values(&record.body).ok()?;
    let form = model.draw_form(&read.name().local, &values)?;
    let mut pairs = Vec::new();
    form.fields.iter().for_each(|field| add(field, "", &mut pairs));
    Some(pairs)
}

fn add(field: &FormField, above: &str, pairs: &mut Vec<(String, String)>) {
    if pairs.len() >= crate::limits::TABLE_ROWS || !field.has_values() {
        return;
    }
    let label = match above {
        "" => plain(&field.label),
        above => format!("{above} › {}", plain(&field.label)),
    };
    match &field.input {
        FormInput::Group(fields) => fields.iter().for_each(|inner| add(inner, &label, pairs)),
        FormInput::Several { places, .. } => {
            for (number, place) in (1..).zip(places) {
                add(place, &format!("{above}{}{number}", if above.is_empty() { "" } else { " " }), pairs);
            }
        }
        FormInput::OneOf(alternatives) => {
            let chosen = alternatives.iter().filter(|one| one.fields.iter().any(FormField::has_values));
            chosen.for_each(|one| one.fields.iter().for_each(|inner| add(inner, &label, pairs)));
        }
        _ => pairs.push((label, full::shown_text(&field.value).text)),
    }
}
