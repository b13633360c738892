//! The tests of the agent: its models over real sockets on this machine. Nothing outside of it is asked.
#![cfg(test)]

mod answers;
mod bench;
mod faults;
mod keys;
mod mocked;
mod models;
mod network;
mod requests;
mod server;
mod streams;
mod tls;
