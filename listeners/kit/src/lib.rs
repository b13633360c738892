//! What every listener stands on.
pub mod payload;
pub mod schema;
