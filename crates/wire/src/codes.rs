//! The codes that the kit itself refuses with, each with its meaning.
//!
//! The pump has the project's whole table; this module has only the codes that can be decided from bytes
//! alone. Nothing comes in; constants go out.

/// The bytes are not an XML 1.0 document with namespaces: wrong encoding, unbalanced tags, an illegal
/// character or name, a duplicate attribute, a second root, or a namespace declaration that the recommendation
/// forbids.
pub const MALFORMED: &str = "payload.malformed";
/// The document, a name, or the number of attributes or declarations of one element is over its limit.
pub const TOO_LARGE: &str = "payload.too-large";
/// A reply has more items than can be read.
pub const TOO_MANY_ITEMS: &str = "reply.too-many-items";
/// Elements are nested deeper than the limit.
pub const TOO_DEEP: &str = "payload.too-deep";
/// Legal XML that has no place here: a DOCTYPE or a processing instruction.
pub const FORBIDDEN_CONSTRUCT: &str = "payload.forbidden-construct";
/// A namespace in which only the pump, or no one, may send a payload.
pub const FORBIDDEN_NAMESPACE: &str = "payload.forbidden-namespace";
/// The payload's element is in no namespace, so no listener can accept it.
pub const NO_NAMESPACE: &str = "payload.no-namespace";
/// A prefix without a declaration in scope.
pub const UNDECLARED: &str = "payload.undeclared";
/// Well-formed, but not the envelope or protocol document that was expected at this place.
pub const INVALID: &str = "payload.invalid";
