//! The one suite binary of the kit: a module per topic.

// Marked as test code so that the lints treat its helper functions as they treat test functions.
#[cfg(test)]
mod schema;
