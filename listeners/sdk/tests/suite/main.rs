//! The generated modules: those of the SDKs themselves, and what checkers of types say after a schema was edited.
#![cfg(test)]

mod edits;
#[path = "../../../../tests/suite/golden.rs"]
mod golden;
mod own_modules;
