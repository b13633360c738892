//! The doors for the outside, over HTTP and over the broker.
//!
//! `http` opens the address of all doors, `routes` lists them. `wire` accepts messages over the broker. The crate
//! `doorway` bounds the connections, `hall` has what the doors share, and `console` shows the log to people.
//! Nothing here judges a payload or keeps its own record: it shows only the log.

mod a2a;
mod acp;
mod ag_ui;
pub mod http;
mod limits;
mod live_routes;
mod mcp;
mod openai;
pub mod reloading;
mod retrying;
pub mod routes;
pub mod schedule_orders;
pub mod wire;
pub mod witness_door;
