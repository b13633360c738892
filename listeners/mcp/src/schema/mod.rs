//! The tools of an MCP server as a vocabulary: JSON Schema to XSD, arguments and answers, pins.
//!
//! A list of tools comes in; an XSD goes out, with one element per tool, one per typed answer, and a remark for every
//! keyword that the XSD does not say. Nothing here starts a program, opens a socket or reads a file.
//!
//! A client goes through these steps:
//!
//! 1. [`PinFile::from_text`] and [`ListDifference::between`]: the pinned tools, and whether the server still has them.
//! 2. [`ToolVocabulary::from_tools`]: the XSD, and a [`ToolElement`] for each tool.
//! 3. [`ToolVocabulary::read_arguments`]: from a payload to the arguments of `tools/call`, judged by the tool's own schema.
//! 4. [`ToolVocabulary::write_answer`]: from `structuredContent` to a payload, judged by the tool's own schema.
//!
//! ```
//! use serde_json::json;
//! use systole_mcp::schema::{ToolDefinition, ToolVocabulary, VocabularyOptions};
//!
//! let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
//! let tool = ToolDefinition::new("read_file", schema);
//! let vocabulary = ToolVocabulary::from_tools("files", &[tool], &VocabularyOptions::default()).unwrap();
//! assert!(vocabulary.xsd.contains(r#"<xs:element name="path" type="xs:string"/>"#));
//!
//! let payload = br#"<read_file xmlns="https://xml-pipeline.org/ns/mcp/files/v1"><path>a.txt</path></read_file>"#;
//! let call = vocabulary.read_arguments(payload).unwrap();
//! assert_eq!((call.tool, call.arguments["path"].as_str()), ("read_file", Some("a.txt")));
//! ```

mod allof;
mod canonical;
mod difference;
mod fields;
mod judge;
mod keyword;
mod listed_values;
mod making;
mod names;
mod pattern;
mod pin;
mod read;
mod remark;
mod several;
mod shape;
mod simple;
mod sorted_json;
mod tool;
mod trial;
mod vocabulary;
mod write;
mod write_values;

pub use canonical::hash_of_tools;
pub use difference::ListDifference;
pub use judge::SchemaBreach;
pub(crate) use judge::judge_once;
pub use making::{ToolElement, VocabularyOptions};
pub use pin::{PIN_FORMAT, PinFault, PinFile, PinnedPackage};
pub use remark::{MappingRemark, RemarkKind, ToolSide};
pub use tool::{RefusedTool, ToolBounds, ToolDefinition};
pub(crate) use vocabulary::replace_characters;
pub use vocabulary::{
    AnswerFault, ArgumentFault, ToolAnswer, ToolArguments, ToolVocabulary, VocabularyFault,
};
