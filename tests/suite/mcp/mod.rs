//! Tools of MCP servers as elements of an organism.

mod grammar;
mod mapping;
mod samples;
