//! The doors for the outside, over HTTP and over the broker.
//!
//! `http` accepts messages and streams the growing log. `wire` accepts messages over the broker. `pages` shows the log to
//! people. The crate `doorway` bounds the connections.
//! Nothing here judges a payload or keeps its own record: it shows only the log.

mod a2a;
mod acp;
mod ag_ui;
pub mod door_reloads;
mod door_row;
pub mod http;
mod http_state;
mod inbound;
mod limits;
mod live_routes;
mod log_view;
mod mcp;
mod openai;
mod pages;
mod reading;
mod record_files;
pub mod reloading;
mod request_refusals;
mod retrying;
pub mod routes;
mod runs;
pub mod schedule_orders;
mod steering;
mod waiting;
pub mod wire;
pub mod witness_door;
