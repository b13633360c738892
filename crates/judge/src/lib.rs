//! Validity: libxml2 behind a door.
//!
//! Only this crate knows libxml2. It compiles checked schemas once and says whether gated payload
//! bytes are valid. It never words a refusal for an agent (the kit's model does) and never touches a
//! file or the network.

mod import_memory;
mod judge;
mod limits;
pub mod trial;
pub mod trial_process;
pub mod xpath;
pub mod xpath_filter;
pub mod xpath_process;

pub use judge::{CompiledSchemaId, LibxmlJudge, SchemaSetError, SchemaSource, SchemaVerdict};
