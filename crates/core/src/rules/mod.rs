//! The rules: the case of an item, the texts of refusals and core payloads, the labels of children.
//! Pure functions; imports only `types`.

pub mod admit;
pub mod approval_payload;
pub mod attempt_payload;
pub mod budget_payload;
pub mod classify;
pub mod core_payload;
pub mod element;
pub mod first_cause;
pub mod follower_payload;
pub mod introspection;
pub mod labels;
pub mod loops;
mod outage;
pub mod outcome;
pub mod question;
pub mod refusing;
pub mod reload_payload;
pub mod retry_payload;
pub mod schedule_payload;
pub mod sent_files;
pub mod shutdown_payload;
pub mod stuck_payload;
pub mod todo;
pub mod view_payload;

pub use outage::outage_words;
