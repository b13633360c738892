//! The code that both sides of the wire share: the gate for incoming bytes, the payload cut out of them, the
//! documents of the listener protocol, and the one writer for all outgoing XML.
//!
//! This crate reads no clock, draws no random number, opens no file or socket, and knows nothing about the pump.
//! Bytes come in; values, or a [`Fault`] that says how to fix them, go out.

pub mod answers;
pub mod ask;
pub mod attributes;
pub mod characters;
pub mod codes;
pub mod elements;
pub mod envelope;
pub mod failure;
pub mod file_reference;
pub mod framing;
pub mod gate;
pub mod journal;
pub mod limits;
pub mod money;
pub mod name;
pub mod namespaces;
pub mod payload;
pub mod place;
pub mod prompt_link;
pub mod pump_documents;
pub mod reply;
mod required_attributes;
mod scope;
pub mod writer;

pub use failure::{CANCELLED, Failure};
pub use limits::DocumentLimits;
pub use name::QName;
pub use payload::Payload;
pub use place::{Fault, Place};
