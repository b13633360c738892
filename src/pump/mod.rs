//! Who owns order. `decide` says what follows from an event and `apply` folds what was recorded; both
//! are pure. `run` is the one loop around them.

mod approving;
mod asking;
mod awaiting;
pub mod buckets;
mod clearing;
mod closing;
pub mod compose;
pub mod decide;
pub mod desk;
mod draft;
mod ending;
pub mod event;
mod failing;
pub mod fold;
mod gathering;
pub mod heart;
mod journaling;
mod looping;
pub mod pausing;
mod primitives;
mod purse;
pub mod replies;
pub mod replying;
mod reserving;
pub mod run;
mod showing;
mod spawning;
pub mod state;
mod steering;
mod timers;
mod todos;
pub mod view;
pub mod wake;
pub mod wall;
pub mod wheel;
mod wrapping;
