//! The rights to publish and subscribe at the broker: for each listener over NATS, the pump, and an auditor.
//!
//! Input: a composition. Output: parties with their rights, for people and as a nats-server configuration. Both
//! outputs are made from the same rights. This module holds no keys, opens no connections and writes nothing.

mod rights;
mod server;

pub use rights::{AccountCrossing, BrokerParty, BrokerRight, list_parties};
pub use server::{ServerSettings, write_configuration};
