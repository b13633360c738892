//! The broker: one connection to a NATS server, which is checked before it is used.
//!
//! In comes an address with credentials. Out comes a `Broker` that is new enough, keeps what it takes and has the
//! stream of this organism, or an `BrokerFault` that says what to change. Every wait here has a limit. It changes no
//! stream that it did not make, and repeats no secret, neither in words nor in `Debug`.

mod ahead;
mod broker;
mod bus;
mod confirmed_places;
mod credentials;
mod door;
mod fitness;
mod large_objects;
pub mod limits;
mod log;
pub mod managed;
mod marks;
mod monitor;
mod refusals;
mod silence;
mod source;
mod subjects;
mod unusable;
mod wire;
mod worker_count;

pub use ahead::MessagesAhead;
pub use broker::{Broker, WriterTerm};
pub use confirmed_places::ConfirmedPlaces;
pub use credentials::BrokerCredentials;
pub use door::{LoginFailures, ReplyRoute, UnreadMessage};
pub use large_objects::ObjectFault;
pub use limits::{LEFT_BEHIND, PATIENCE};
pub use log::{AppendResult, LogStream};
pub use refusals::{RefusedConnection, RefusedConnections};
pub use silence::WorkerSilence;
pub use source::{LogSource, StoredMessage, StreamExtent};
pub use subjects::{BrokerSubjects, to_token};
pub use unusable::BrokerFault;
pub use wire::{ConnectionState, LogCaller};
