//! What all doors know: a conversation is a thread, a run is one message from outside with all that follows, and a request
//! is what waits for a person. A door makes its own protocol of this; nothing here knows one.

pub mod decisions;
pub mod form_answers;
pub mod form_ledger;
pub mod forms;
pub mod open_forms;
pub mod own_roots;
pub mod posted_answers;
pub mod requests;
pub mod said_threads;
pub mod sending;
pub mod steering_words;
pub mod work;
