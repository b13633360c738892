//! Tools of MCP servers as elements of an organism.

mod adding;
mod asking;
mod at_address;
mod cancelling;
mod effects;
mod grammar;
mod host;
mod hostile_packages;
mod hosts;
mod house;
mod installing;
mod listeners;
mod login;
mod mapping;
mod pictures;
mod samples;
mod sent_files;
mod serving;
mod shapes;
mod shown_files;
