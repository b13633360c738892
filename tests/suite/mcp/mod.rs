//! Tools of MCP servers as elements of an organism.

mod asking;
mod at_address;
mod grammar;
mod house;
mod listeners;
mod mapping;
mod samples;
