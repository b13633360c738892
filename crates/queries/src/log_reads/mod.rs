//! Readers around the reader of a log, so that every view works unchanged on a part of it.
//!
//! A reader comes in; a reader that shows less goes out. `past` ends at a position, `visible` has only the threads of
//! one client, and `working` reads only the states that a reader elsewhere begins with.

mod past;
mod visible;
mod working;

pub use past::PastLog;
pub use visible::VisibleLog;
pub use working::working_threads;
