//! The one suite of the root package: a module per topic, one binary to build and to run.
#![cfg(test)]

mod audit_finding;
mod audit_stage;
mod audit_tree;
mod audit_why;
mod cli_look;
mod cli_run;
mod cli_send;
mod config;
mod core_schema;
mod delivery_process;
mod following;
mod http;
mod judge;
mod log_contract;
mod log_file;
mod log_records;
mod log_writer;
mod organism;
mod program;
mod stage;
