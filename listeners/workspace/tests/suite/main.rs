//! What a workspace changes, runs, refuses and takes back, on real folders.
#![cfg(test)]

mod commands;
mod edits;
mod flow;
mod hostile;
mod killed;
mod room;
mod spellings;
mod undo;
mod unfinished;
mod vocabulary;
