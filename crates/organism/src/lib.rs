//! The organism as it runs: the pump's loop, the validators, hosting, the lifecycle from start to drain.
//!
//! In comes a checked composition; out come a running organism, its doors for messages and orders, and its end. It decides
//! nothing about messages.

pub mod anew;
pub mod at_rest;
pub mod broker;
pub mod compiled_schemas;
pub mod copying;
mod document_turns;
pub mod erasing;
pub mod folder_copies;
pub mod forking;
pub mod front;
pub mod hosting;
pub mod indexing;
pub mod inline_listeners;
mod keeping;
pub mod keyring;
mod limits;
pub mod live_messages;
pub mod live_words;
pub mod missing_part;
pub mod order;
pub mod permissions;
pub mod plan;
pub mod planning;
pub mod prompt_view;
pub mod proving;
pub mod pump_loop;
pub mod question_payload;
mod refusals;
pub mod reloading;
pub mod replaying;
pub mod resting_verdict;
pub mod runfile;
pub mod running;
mod scheduling;
pub mod sent_files;
pub mod skipping;
pub mod standing_by;
pub mod steer_payload;
mod stuck_calls;
pub mod tail;
mod tail_reader;
pub mod trying;
pub mod validators;
pub mod waiting;
pub mod waiting_view;
pub mod work_folders;
pub mod workflow_steps;
