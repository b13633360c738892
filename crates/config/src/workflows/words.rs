//! Checks the words of a goal: the fields of the request in them, and whether the goal sees the request.
//!
//! Input: a declared goal and what it can see. Mistakes are reported with their place and a fix.

use systole_kit::schema::{PayloadPart, PayloadPartKind, find_nearest};
use systole_workflow::{WordPart, split_words};

use super::super::diagnostics::Diagnostics;
use super::super::names::one_of;
use super::super::tree::Span;
use super::super::value::At;
use super::declaration::Goal;
use super::scope::{Gives, Scope};
use super::steps::REQUEST;
use systole_core::types::codes::Code;

/// Reports a goal that hides the request and names it.
pub(super) fn check_request(diagnostics: &mut Diagnostics, goal: &Goal, place: &str) {
    let (Some(request), Some(sees)) = (&goal.hides_request, &goal.sees) else { return };
    let named = sees.iter().find(|path| path.value.split('/').next() == Some(REQUEST));
    match named {
        Some(named) if request.value => {
            let message = format!("{place}.sees: `{}` is named, and `request: hidden` hides it", named.value);
            let fix = "leave one of them out";
            diagnostics.report_value_beside(named.at, &message, fix, (request.at, "it is hidden here"));
        }
        None if !request.value && sees.is_empty() => {
            let message = format!("{place}.request: `sees: []` hides the request too");
            diagnostics.report_value(request.at, &message, "sees: [request]");
        }
        _ => {}
    }
}

/// Reports every field in the words that no request can fill.
pub(super) fn check_fields(
    diagnostics: &mut Diagnostics,
    scope: &Scope<'_>,
    words: &At<String>,
    place: &str,
) {
    let Some(Gives::Payloads(requests)) = scope.find(REQUEST).map(|known| &known.gives) else { return };
    for part in split_words(&words.value) {
        let WordPart::Field(name) = part else { continue };
        let found = requests.iter().find_map(|request| request.find_part(name));
        let (code, why, fix) = match found {
            None => {
                let parts: Vec<PayloadPart<'_>> = requests.iter().flat_map(PayloadPart::parts).collect();
                let code = Code::ConfigUnknownName;
                (code, "is not a field of the request".to_owned(), suggest_field(name, &parts))
            }
            Some(field) if field.is_list() && !scope.is_item(REQUEST, &[name.to_owned()]) => {
                let why = "may come several times, and words hold one value".to_owned();
                (
                    Code::ConfigValue,
                    why,
                    format!("each: {REQUEST}/{name} at the step, or sees: [{REQUEST}/{name}]"),
                )
            }
            Some(field) if is_item_alone(scope, &field) => continue,
            Some(field) if field.kind() == PayloadPartKind::Parts => {
                let why = "is not a single value".to_owned();
                (Code::ConfigValue, why, format!("sees: [{REQUEST}/{name}]"))
            }
            Some(_) => continue,
        };
        let at = find_place(diagnostics, words, name);
        diagnostics.report(code, at, &format!("{place}: `${name}` {why}"), &fix);
    }
}

/// Whether a field holds nothing but a list, of which the place sees one item.
fn is_item_alone(scope: &Scope<'_>, field: &PayloadPart<'_>) -> bool {
    let parts = field.parts();
    let [item] = parts.as_slice() else { return false };
    let path = [field.name().to_owned(), item.name().to_owned()];
    item.kind() != PayloadPartKind::Parts && scope.is_item(REQUEST, &path)
}

/// The nearest field, or all of them.
fn suggest_field(name: &str, parts: &[PayloadPart<'_>]) -> String {
    let names = || parts.iter().map(PayloadPart::name);
    match find_nearest(name, names()) {
        Some(near) => format!("${near}"),
        None if parts.is_empty() => format!("$${name} for the text itself; the request has no fields"),
        None => {
            let fields: Vec<String> = names().map(|field| format!("${field}")).collect();
            format!("{}; or $${name} for the text itself", one_of(fields.iter().map(String::as_str)))
        }
    }
}

/// The place of a field in the file, or that of all words if they are not written as they are read.
fn find_place(diagnostics: &Diagnostics, words: &At<String>, name: &str) -> Span {
    let is_as_written = diagnostics.text().get(words.at.start..words.at.end) == Some(&words.value);
    let offset = (name.as_ptr() as usize).saturating_sub(words.value.as_ptr() as usize);
    match is_as_written && offset > 0 {
        true => Span { start: words.at.start + offset - 1, end: words.at.start + offset + name.len() },
        false => words.at,
    }
}
