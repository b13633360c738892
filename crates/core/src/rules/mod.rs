//! What is allowed: which case an item is, what refusals and core payloads say, which label a child
//! gets. Pure functions; imports words and the kit.

pub mod admit;
pub mod approval_payload;
pub mod budget_payload;
pub mod classify;
pub mod core_payload;
pub mod introspection;
pub mod labels;
pub mod loops;
pub mod primitive;
pub mod question;
pub mod todo;
pub mod view_payload;
