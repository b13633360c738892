//! A run, which a message from outside began, as doors tell it: one reading for all of them. Records and words on their
//! way come in; events go out, each with the id from which a client goes on.

mod cursor;
mod event;
mod fold;
mod open_text;
mod run_history;
mod run_id;

pub use cursor::RunCursor;
pub use event::{CallPlace, PlacedEvent, RunEvent, RunRecord, SpokenWords};
pub use fold::{RunFold, read_words};
pub use run_history::RunHistory;
pub use run_id::RunId;
