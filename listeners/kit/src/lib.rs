//! kit
pub mod schema;
