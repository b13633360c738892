//! The reading side: what a log says to whoever asks, whether an organism runs on it or not.
//!
//! Records and folds come in; trees, reasons and lines for people go out. This room never writes a
//! log, never starts anything, and lets nothing from a payload reach a terminal unescaped. It holds no
//! second truth: what is open is the pump's own fold, what is over stands in the records.

pub mod causes;
pub mod chains;
pub mod columns;
pub mod costs;
pub mod exposed;
pub mod finding;
pub mod full;
pub mod glance;
mod goal;
pub mod graph;
pub mod kinship;
pub mod layout;
pub mod narrate;
pub mod orphans;
pub mod pauses;
pub mod persons;
pub mod posts;
pub mod prompts;
pub mod roll;
pub mod runs;
pub mod texts;
pub mod todo;
pub mod trail;
pub mod tree;
pub mod whole;
pub mod why;
