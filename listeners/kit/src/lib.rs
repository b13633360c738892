//! The base of every listener: the gate that checks bytes, the payload cut out of them, the documents of the listener
//! protocol, and the only writer that produces XML.
//!
//! Nothing here reads a clock, uses random numbers, opens a file or a socket, or knows the pump. There are three
//! exceptions. [`stdio`] turns a function into a program and uses the streams and signals of its process; `pipe` (with the
//! feature of that name) does so with a future for each delivery, and `nats` (likewise) over a broker. Bytes come in; values, or a [`Fault`]
//! that says how to fix the bytes, go out.
//!
//! ```
//! use systole_kit::reply::{Item, ReplyContent, ListenerDocument};
//! use systole_kit::writer::XmlWriter;
//! use systole_kit::{Fault, DocumentLimits, Payload};
//!
//! # fn main() -> Result<(), Fault> {
//! let mut found = XmlWriter::new();
//! found.open("found").xmlns("https://xml-pipeline.org/ns/search/v1").text("a < b && c");
//! let found = Payload::parse(&found.finish(), &DocumentLimits::default())?;
//! let reply = ListenerDocument::Reply { delivery: "d1".to_owned(), said: ReplyContent::Items(vec![Item::plain(found)]) };
//! assert_eq!(ListenerDocument::parse(&reply.to_document()?, &DocumentLimits::default())?, reply);
//!
//! let fault = Payload::parse(b"<found xmlns='u'>a < b</found>", &DocumentLimits::default()).unwrap_err();
//! assert_eq!(fault.to_string(), "a < begins no tag at line 1, column 20");
//! assert_eq!(fault.fix.as_deref(), Some("write &lt; for <"));
//! # Ok(())
//! # }
//! ```

pub mod extract;
mod failures;
pub mod limits;
pub mod line;
#[cfg(feature = "nats")]
pub mod nats;
pub mod open_calls;
pub mod package_name;
#[cfg(feature = "pipe")]
pub mod pipe;
pub mod protocol;
mod pump_reader;
pub mod stdio;
mod turn;

pub use systole_schema as schema;
pub use systole_schema::compact;
pub use systole_wire::{
    DocumentLimits, Fault, Payload, Place, QName, answers, ask, attributes, characters, codes, elements,
    envelope, file_reference, framing, gate, journal, money, name, namespaces, payload, place, prompt_link,
    pump_documents, reply, writer,
};
