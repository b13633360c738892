//! How a value of a simple type is filled in, and an example of it.
//!
//! A type comes in; the kind of input goes out.

use super::FormInput;
use crate::explain::amend;
use crate::judge::builtin::{Builtin, TypeFamily};
use crate::judge::check_value;
use crate::limits;
use crate::shape::AttributeUse;
use crate::shape::{SimpleType, SimpleVariety, ValueBound};

pub(super) fn choose_input(simple: &SimpleType) -> FormInput {
    if (1..=limits::FORM_ENTRIES).contains(&simple.values.len()) {
        let admitted =
            simple.values.iter().filter(|one| check_value::check_value(simple, &one.value).is_none());
        return FormInput::Choice(admitted.map(|one| one.value.clone()).collect());
    }
    let SimpleVariety::Atomic(base) = simple.variety else { return FormInput::Line };
    match base.family() {
        TypeFamily::Truth => FormInput::YesNo,
        TypeFamily::Whole => {
            let (low, high) = base.limits();
            let bound = |bound: &Option<ValueBound>, limit: Option<&str>| {
                let own = bound.as_ref().filter(|bound| bound.inclusive).map(|bound| bound.value.clone());
                own.or_else(|| limit.map(str::to_owned))
            };
            FormInput::Whole { least: bound(&simple.least, low), most: bound(&simple.most, high) }
        }
        TypeFamily::Decimal | TypeFamily::Floating => FormInput::Decimal,
        TypeFamily::Moment => match base {
            Builtin::Date => FormInput::Date,
            Builtin::Time => FormInput::Time,
            _ => FormInput::DateTime,
        },
        TypeFamily::Text if base == Builtin::String && simple.patterns.is_empty() && is_long(simple) => {
            FormInput::Text
        }
        TypeFamily::Text | TypeFamily::Span => FormInput::Line,
        TypeFamily::Bytes => FormInput::Text,
    }
}

fn is_long(simple: &SimpleType) -> bool {
    let limit = [&simple.length, &simple.max_length].into_iter().flatten().map(|facet| facet.value).min();
    limit.is_none_or(|limit| limit > limits::FORM_LINE)
}

/// An example, or the default of a value that is left out.
pub(super) fn make_hint(simple: &SimpleType, default: Option<&str>) -> String {
    match default {
        Some(default) => format!("if left out: {default}"),
        None if matches!(choose_input(simple), FormInput::Text | FormInput::Choice(_) | FormInput::YesNo) => {
            String::new()
        }
        None => match amend::find_sample(simple) {
            // Any text would do.
            None => String::new(),
            Some(sample) if sample == "text" => String::new(),
            Some(sample) => format!("for example {sample}"),
        },
    }
}

pub(super) fn attribute_hint(attribute: &AttributeUse) -> String {
    make_hint(&attribute.simple, attribute.default.as_deref())
}
