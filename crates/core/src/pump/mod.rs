//! Owns the order of events. `decide` says what follows from an event, and `apply` folds what was
//! recorded; both depend on nothing but the state and their arguments. The loop that drives them is
//! `systole_organism::pump_loop`.

mod approving;
mod asking;
mod awaiting;
pub mod buckets;
mod budget_use;
pub mod cancelling;
pub mod children;
mod closing;
pub mod decide;
mod decision_builder;
pub mod dispatch_queue;
mod ending;
pub mod engine;
pub mod event;
mod failing;
mod finishing;
pub mod fold;
mod gathering;
mod journaling;
mod looping;
mod losing;
pub mod outages;
pub mod pausing;
mod persons;
pub mod primitives;
mod questions;
mod refusing;
pub mod reopening;
pub mod replies;
pub mod replying;
mod requests;
mod reserving;
mod showing;
pub mod state;
mod steering;
mod thread_before;
mod timers;
mod todos;
mod turn;
pub mod turn_records;
pub mod view;
pub mod wake;
pub mod wall;
pub mod wheel;
mod wrapping;
