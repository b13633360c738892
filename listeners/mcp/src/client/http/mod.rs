//! A server at an address: MCP over streamable HTTP.
//!
//! The protocol's own library keeps sessions and headers. Every byte comes through the client here, which bounds it:
//! no redirect is followed, no proxy is asked, and an answer that is too long or no MCP ends with its reason.

mod address;
mod keys;
mod request;
mod stream;

pub(crate) use address::is_here;
pub use address::{AddressFault, ServerAddress};
pub use keys::KeyedServer;
pub(super) use request::BoundedHttp;
pub(super) use stream::BROKEN_STREAM;
