//! What a listener of code finds, shows and refuses, on real folders.
#![cfg(test)]

mod confined;
mod found;
mod questions;
mod room;
mod vocabulary;
