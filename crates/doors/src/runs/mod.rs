//! What all doors know: a conversation is a thread, a run is one message from outside with all that follows, and a request
//! is what waits for a person. A door makes its own protocol of this; nothing here knows one.

pub(crate) mod decisions;
pub(crate) mod form_answers;
pub(crate) mod form_ledger;
pub(crate) mod forms;
pub(crate) mod open_forms;
pub(crate) mod own_roots;
pub(crate) mod posted_answers;
pub(crate) mod requests;
pub(crate) mod said_threads;
pub(crate) mod sending;
pub(crate) mod steering_words;
pub(crate) mod work;
