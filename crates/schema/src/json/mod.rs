//! Payloads and JSON: the JSON Schema of an element, values read from JSON, and payloads taken apart into values.

pub(crate) mod bonds;
pub(crate) mod ecma;
pub(crate) mod schema;
pub(crate) mod spelling;
pub(crate) mod text;
pub(crate) mod unfold;
pub(crate) mod value;
