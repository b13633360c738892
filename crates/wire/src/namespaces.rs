//! The namespaces of the wire; routing compares them byte for byte.
//!
//! Nothing comes in; constants go out.

/// The envelope.
pub const ENVELOPE: &str = "https://xml-pipeline.org/ns/envelope/v1";
/// Primitives and system payloads.
pub const CORE: &str = "https://xml-pipeline.org/ns/core/v1";
/// Introspection.
pub const META: &str = "https://xml-pipeline.org/ns/meta/v1";
/// `<ask>` and `<answer>`.
pub const TALK: &str = "https://xml-pipeline.org/ns/talk/v1";
/// Searching source code.
pub const CODE: &str = "https://xml-pipeline.org/ns/code/v1";
/// Commands: edits of files and shells.
pub const COMMANDS: &str = "https://xml-pipeline.org/ns/commands/v1";
/// Proposed edits and commands.
pub const PROPOSALS: &str = "https://xml-pipeline.org/ns/proposals/v1";
/// Change sets and their results.
pub const WORKSPACE: &str = "https://xml-pipeline.org/ns/workspace/v1";
/// Workflows.
pub const WORKFLOW: &str = "https://xml-pipeline.org/ns/workflow/v1";
/// The pump's stamp on an envelope.
pub const STAMP: &str = "urn:systole:stamp:v1";
/// The listener protocol: replies, notices, progress.
pub const LISTENER: &str = "urn:systole:listener:v1";
/// Annotations in a schema.
pub const SCHEMA: &str = "urn:systole:schema:v1";
/// `xsi:type` and related attributes, whose values are names with a prefix.
pub const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";
/// The fixed namespace of the prefix `xml`.
pub const XML: &str = "http://www.w3.org/XML/1998/namespace";
/// The fixed namespace of the prefix `xmlns`; no other prefix may have it.
pub const XMLNS: &str = "http://www.w3.org/2000/xmlns/";
/// The namespace of the answers of MCP servers that have no type of their own, and of what servers ask a person.
pub const MCP: &str = "https://xml-pipeline.org/ns/mcp/v1";
