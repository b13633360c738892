//! The picture of a run: the declared steps of a workflow, or the calls of an agent's turns, each with its state, time,
//! money, person and one line of output.
//!
//! A log and the steps of its configuration come in; plain data goes out, which terminals, pages and programs render.
//! It reads the notes of the run through [`super::runs`], and decides nothing.

mod agent;
mod drawing;
mod reading;
mod rows;

pub use drawing::{draw, row_words};
pub use reading::{Look, Pictured, ReadSteps, read};
pub use rows::{DeclaredStep, PartCount, RunKind, RunPicture, StepKind, StepRow, StepState};
