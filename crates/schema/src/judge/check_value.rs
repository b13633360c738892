//! Checks one text value against a simple type, and finds a value to write instead.
//!
//! A value as written comes in, its error and a value that fits go out. `amend` finds that value, and it is always
//! checked against the same type.

use crate::explain::amend::suggest_value;
use crate::judge::value::{WrongValue, blanks_fault, find_fault};
use crate::shape::SimpleType;

/// The error of a value, if it has one.
pub(crate) fn check_value(simple: &SimpleType, written: &str) -> Option<WrongValue> {
    let value = simple.space.normalize_value(written);
    let Some((words, fragment)) = find_fault(simple, &value) else {
        return blanks_fault(simple, written, value);
    };
    Some(WrongValue { words, fragment, instead: suggest_value(simple, &value) })
}
