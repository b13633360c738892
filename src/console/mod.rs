//! The outside's doors, over HTTP and over the broker, and the way of our own commands to it.
//!
//! `http` takes messages and gives out the log as it grows; `client` is the other end of it; `wire` takes messages that come
//! over the broker; `told` is what goes between them as JSON; `strangers` closes connections that show no token. Nothing here judges a payload or keeps a trace of its own: what it
//! shows is the log.

pub mod client;
pub mod ending;
pub mod events;
pub mod http;
mod inbound;
mod knocks;
mod steering;
mod strangers;
pub mod told;
mod waiting;
pub mod wire;
