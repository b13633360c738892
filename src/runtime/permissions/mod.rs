//! Who may publish and hear what at the broker: each listener over NATS, the pump, and an auditor.
//!
//! In comes a composition; out come parties with their rights, for people and as the configuration of a nats-server.
//! Both are made from the same rights. It holds no key, opens no connection and writes nothing.

mod rights;
mod server;

pub use rights::{Party, Right, Way, parties};
pub use server::{Server, written};
