//! The one suite binary of the root package: a module per topic.
//!
//! The modules stand under `cfg(test)` so that the lints treat what stands between the tests as test code too.

#[cfg(test)]
mod config;
#[cfg(test)]
mod core_schema;
#[cfg(test)]
mod judge;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tidy;
