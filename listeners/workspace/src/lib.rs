//! A listener that changes files below one folder and runs commands there.

mod fault;
mod limits;
mod text;
