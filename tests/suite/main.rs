//! The one suite binary of the root package: a module per topic.

mod config;
mod core_schema;
mod judge;
