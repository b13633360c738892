//! The only suite of the mock: raw connections, so that every byte of the wire is visible.
#![cfg(test)]

mod anthropic;
mod client;
mod cuts;
mod faults;
mod gemini;
mod ledger;
mod libraries;
mod ollama;
mod openai;
mod page;
mod program;
mod responses;
