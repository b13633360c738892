//! The pump's side of NATS: a nats-server that belongs to the kit, a tap between it and the worker, and the pump
//! itself, which speaks to the server byte for byte.

mod client;
mod link;
mod rights;
mod server;
mod tap;

pub(crate) use link::{BrokerLink, PullRule};
pub(crate) use server::find_server;
pub(crate) use tap::TapRecord;
