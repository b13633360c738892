//! The variables of our own process that programs may inherit.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// The variables that programs may inherit, read once when the process begins.
pub type InheritedVariables = BTreeMap<OsString, OsString>;
