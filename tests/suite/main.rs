//! The one suite binary of the root package: a module per topic.

// Marked as test code so that the lints treat its helper functions as they treat test functions.
#[cfg(test)]
mod delivery_ends;
#[cfg(test)]
mod delivery_inline;
#[cfg(test)]
mod delivery_once;
#[cfg(test)]
mod delivery_process;
#[cfg(test)]
mod first_listeners;
#[cfg(test)]
mod script;
#[cfg(test)]
mod stage;
