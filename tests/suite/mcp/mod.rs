//! Tools of MCP servers as elements of an organism.

mod grammar;
mod house;
mod listeners;
mod mapping;
mod samples;
