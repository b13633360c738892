//! What every listener stands on: the gate that bytes pass, the payload cut out of them, the documents of the
//! listener protocol, and the one writer through which XML leaves.
//!
//! Nothing here reads a clock, draws a number, opens a file or a socket, or knows the pump. Bytes come in;
//! values, or a [`Fault`] that says how to mend them, go out.

pub mod answers;
pub mod attributes;
pub mod characters;
pub mod codes;
pub mod elements;
pub mod envelope;
pub mod framing;
pub mod gate;
pub mod limits;
pub mod name;
pub mod namespaces;
pub mod payload;
pub mod place;
pub mod reply;
pub mod schema;
mod scope;
pub mod writer;

pub use limits::Limits;
pub use name::QName;
pub use payload::Payload;
pub use place::{Fault, Place};
