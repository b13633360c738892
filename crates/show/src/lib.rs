//! Text for people: columns, colour and times of a terminal. Nothing hostile passes through.

pub mod blocks;
pub mod clocks;
pub mod columns;
pub mod layout;
pub mod limits;
pub mod phrase;
