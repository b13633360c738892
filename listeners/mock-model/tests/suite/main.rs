//! The one suite of the mock: raw connections, so that every byte of the wire is seen.
#![cfg(test)]

mod client;
mod openai;
