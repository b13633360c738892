//! The one suite of the root package: a module per topic, one binary to build and to run.
#![cfg(test)]

mod audit_stage;
mod audit_tree;
mod audit_why;
mod cli_look;
mod config;
mod core_schema;
mod delivery_process;
mod judge;
mod log_contract;
mod log_file;
mod log_records;
mod log_writer;
mod organism;
mod stage;
