//! Readers around the reader of a log, so that every view works unchanged on a part of it.
//!
//! A reader comes in; a reader that shows less goes out. `past` ends at a position, `visible` has only the threads of
//! one client.

mod past;
mod visible;

pub use past::PastLog;
pub use visible::VisibleLog;
