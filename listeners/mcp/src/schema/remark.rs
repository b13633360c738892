//! What an XSD does not say of a JSON Schema: which keyword, where, and what follows from it.

use std::fmt;

/// A keyword of a tool's JSON Schema that its XSD does not say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MappingRemark {
    /// The tool.
    pub tool: String,
    /// Whose schema it is.
    pub side: ToolSide,
    /// The place of the keyword, as a JSON pointer into that schema.
    pub place: String,
    /// The keyword.
    pub keyword: String,
    /// What became of it.
    pub kind: RemarkKind,
    /// Why, and what follows.
    pub reason: String,
}

/// One of the two schemas of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolSide {
    /// `inputSchema`.
    Arguments,
    /// `outputSchema`.
    Answer,
}

/// What became of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemarkKind {
    /// The XSD does not check it; the tool's own schema does, before the call.
    Dropped,
    /// The XSD admits less: some values that the tool would take cannot be sent.
    Narrowed,
    /// The part holds JSON as text.
    JsonText,
}

impl fmt::Display for MappingRemark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            ToolSide::Arguments => "inputSchema",
            ToolSide::Answer => "outputSchema",
        };
        let Self { tool, place, keyword, reason, .. } = self;
        let line = format!("{tool}: {side}{place}: {keyword}: {reason}");
        // Names of properties and unknown keywords are the server's, and may hold line breaks.
        out.write_str(&line.replace(['\n', '\r'], " "))
    }
}
