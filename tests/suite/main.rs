//! The one suite binary of the root package: a module per topic.

// Marked as test code so that the lints treat its helper functions as they treat test functions.
#[cfg(test)]
mod judge;
#[cfg(test)]
mod schema_agreement;
#[cfg(test)]
mod schema_and_judge;
