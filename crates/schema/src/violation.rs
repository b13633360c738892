//! What the profile refuses in a schema.

/// A construct outside the profile, or one that is itself wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileViolation {
    /// The document of the construct, by its offered name; `None` for the schema itself.
    pub document: Option<String>,
    /// Line of the construct in the schema document, from 1.
    pub line: u64,
    /// Column of the construct in the schema document, in characters from 1.
    pub column: u64,
    /// The construct by name, such as `xs:import` or `maxOccurs`.
    pub construct: String,
    /// Why it is refused.
    pub message: String,
    /// What to write instead.
    pub fix: String,
}
