//! Whether a schema allows given values and contents: simple types with their facets and patterns, and the children
//! of an element.

pub(crate) mod ambiguity;
pub(crate) mod automaton;
pub(crate) mod builtin;
pub(crate) mod calendar;
pub(crate) mod check_value;
pub(crate) mod classes;
pub(crate) mod content;
pub(crate) mod pattern;
pub(crate) mod positions;
pub(crate) mod uri;
pub(crate) mod value;
