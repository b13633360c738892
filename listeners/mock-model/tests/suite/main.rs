//! The one suite of the mock: raw connections, so that every byte of the wire is seen.
#![cfg(test)]

mod anthropic;
mod client;
mod cuts;
mod faults;
mod gemini;
mod ledger;
mod ollama;
mod openai;
mod page;
