//! The tests of the agent: as its pump and its model see it, and its models over real sockets on this machine. They
//! contact nothing else.
#![cfg(test)]

mod answers;
mod bench;
mod broadcast;
mod caching;
mod core_tools;
mod early;
mod failures;
mod faults;
mod files;
mod forgiving;
mod goals;
#[path = "../../../../tests/suite/golden.rs"]
mod golden;
mod halves;
mod headers;
mod held;
mod hijacked;
mod injections;
mod judged;
mod keys;
mod matrix;
mod mocked;
mod models;
mod network;
mod notes;
mod overheard;
mod own_markup;
mod paid;
mod preparing;
mod prompts;
mod reach;
mod reader;
mod red_team;
mod requests;
mod responses;
mod rows;
mod server;
mod slots;
mod slugs;
mod stage;
mod streams;
mod strict;
mod structured;
mod supervised;
mod tasks;
mod text_anywhere;
mod tls;
mod together;
mod too_long;
mod window;
