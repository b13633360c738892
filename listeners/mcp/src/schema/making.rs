//! Makes the elements of a vocabulary: one tool after the other, each tried alone.
//!
//! Definitions of tools come in; payloads, named types and remarks go out. A tool that has no element is listed with
//! the reason, and the others stay.

use std::collections::BTreeSet;

use serde_json::Value;
use systole_kit::writer::XmlWriter;

use super::judge::{JsonJudge, shorten_text};
use super::names::{self, NameScope};
use super::read::ShapeReader;
use super::remark::{MappingRemark, RemarkKind, ToolSide};
use super::shape::{ElementShape, NamedShape, ShapeField, ShapeNode};
use super::tool::{RefusedTool, ToolBounds, ToolDefinition};
use super::trial;
use super::write::{self, GlobalElement, XsdWriter};
use super::write_values;

/// The part that holds all arguments, if they are no object with known properties.
pub(super) const ARGUMENTS: &str = "arguments";

/// The same for an answer.
pub(super) const ANSWER: &str = "result";

/// Choices about a vocabulary.
#[derive(Clone, Debug, Default)]
pub struct VocabularyOptions {
    /// The bounds of the list.
    pub bounds: ToolBounds,
    /// Names that no tool may have, such as those of primitives and of the listener.
    pub reserved: Vec<String>,
    /// Tools that need no approval, by their names on the wire. All others are marked as dangerous.
    pub safe: BTreeSet<String>,
}

/// A tool and its elements.
#[derive(Debug)]
pub struct ToolElement {
    /// Its name on the wire.
    pub tool: String,
    /// The element that calls it.
    pub element: String,
    /// The element of its typed answer, if it has an output schema.
    pub answer: Option<String>,
    /// Whether a person must approve each call.
    pub is_dangerous: bool,
    /// Whether one part holds everything: of the call, of the answer.
    pub(super) has_one_part: [bool; 2],
    pub(super) judges: [Option<JsonJudge>; 2],
}

/// A payload of the vocabulary: an element, what it stands for, and its content.
pub(super) struct VocabularyPayload {
    name: String,
    tool: Option<String>,
    is_dangerous: bool,
    about: Option<String>,
    fields: Vec<ShapeField>,
}

/// A vocabulary while it is made.
pub(super) struct VocabularyBuilder<'o> {
    namespace: &'o str,
    options: &'o VocabularyOptions,
    names: NameScope,
    type_names: NameScope,
    pub(super) types: Vec<NamedShape>,
    pub(super) payloads: Vec<VocabularyPayload>,
    pub(super) elements: Vec<ToolElement>,
    pub(super) remarks: Vec<MappingRemark>,
    pub(super) refused: Vec<RefusedTool>,
}

impl<'o> VocabularyBuilder<'o> {
    pub(super) fn new(namespace: &'o str, options: &'o VocabularyOptions) -> Self {
        let type_names = NameScope::with_taken(&["bool", "integer", "number"]);
        let (payloads, elements, remarks, refused) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (names, types) = (NameScope::default(), Vec::new());
        Self { namespace, options, names, type_names, types, payloads, elements, remarks, refused }
    }

    pub(super) fn add_tools(&mut self, tools: &[ToolDefinition]) {
        let mut order: Vec<(usize, &ToolDefinition)> = tools.iter().enumerate().collect();
        order.sort_by_key(|(_, tool)| &tool.name);
        let listed: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let mut last: Option<&str> = None;
        for (at, tool) in order {
            let twice = (last == Some(&tool.name)).then(|| "its name is listed twice".to_owned());
            last = Some(&tool.name);
            let refused = twice
                .or_else(|| self.options.bounds.find_breach(tool))
                .or_else(|| self.add_tool(tool, &listed).err());
            if let Some(reason) = refused {
                let place = at.saturating_add(1);
                self.refused.push(RefusedTool { tool: shorten_text(&tool.name), place, reason });
            }
        }
    }

    /// Adds a tool, or says why not.
    fn add_tool(&mut self, tool: &ToolDefinition, listed: &[&str]) -> Result<(), String> {
        let input = self.build_judge(tool, ToolSide::Arguments, &tool.input_schema)?;
        let output = match &tool.output_schema {
            Some(schema) => self.build_judge(tool, ToolSide::Answer, schema)?,
            None => None,
        };
        let (element, answer) = names::name_tool(&mut self.names, &tool.name, &self.options.reserved, listed);
        let is_dangerous = !self.options.safe.contains(&tool.name);
        let (fields, one) = self.build_side(tool, ToolSide::Arguments, &tool.input_schema);
        let words =
            tool.description.clone().filter(|words| !words.trim().is_empty()).or_else(|| tool.title.clone());
        self.payloads.push(VocabularyPayload {
            name: element.clone(),
            tool: Some(tool.name.clone()),
            is_dangerous,
            about: words,
            fields,
        });
        let (mut has_one_part, mut typed) = ([one, false], None);
        if let Some(schema) = &tool.output_schema {
            let (fields, one) = self.build_side(tool, ToolSide::Answer, schema);
            has_one_part = [has_one_part[0], one];
            let about = Some(format!("The answer of {}.", tool.name));
            self.payloads.push(VocabularyPayload {
                name: answer.clone(),
                tool: None,
                is_dangerous: false,
                about,
                fields,
            });
            typed = Some(answer);
        }
        let judges = [input, output];
        let tool = tool.name.clone();
        self.elements.push(ToolElement { tool, element, answer: typed, is_dangerous, has_one_part, judges });
        Ok(())
    }

    /// The judge of one schema. There is none if the schema refers to others, which are never fetched.
    fn build_judge(
        &mut self,
        tool: &ToolDefinition,
        side: ToolSide,
        schema: &Value,
    ) -> Result<Option<JsonJudge>, String> {
        match JsonJudge::from_schema(schema) {
            Ok(judge) => Ok(Some(judge)),
            Err(_) if has_outer_reference(schema) => {
                let reason =
                    "it leads out of the schema, so nothing but the XSD checks the values".to_owned();
                let (tool, place, keyword) = (tool.name.clone(), String::new(), "$ref".to_owned());
                let kind = RemarkKind::Dropped;
                self.remarks.push(MappingRemark { tool, side, place, keyword, kind, reason });
                Ok(None)
            }
            Err(reason) => Err(format!("one of its schemas is no JSON Schema: {reason}")),
        }
    }

    /// The content of one of the two elements, and whether it is one part that holds everything.
    fn build_side(
        &mut self,
        tool: &ToolDefinition,
        side: ToolSide,
        schema: &Value,
    ) -> (Vec<ShapeField>, bool) {
        let mut reader = ShapeReader::new(schema, (&tool.name, side), &mut self.types, &mut self.type_names);
        let node = reader.read_schema(schema, "");
        let remarks = std::mem::take(&mut reader.remarks);
        let inside = match &node.shape {
            ElementShape::Named(at) => {
                self.types.get(*at).and_then(|named| named.node.as_ref()).map(|node| &node.shape)
            }
            shape => Some(shape),
        };
        let (fields, one) = match inside {
            Some(ElementShape::Object(fields)) if !node.nullable => (fields.clone(), false),
            _ => (vec![build_only_part(side, node)], true),
        };
        let payload = |fields| VocabularyPayload {
            name: "trial".to_owned(),
            tool: None,
            is_dangerous: false,
            about: None,
            fields,
        };
        let xsd = write_document(self.namespace, &[payload(fields.clone())], &self.types);
        let Some(reason) = trial::find_document_refusal(&xsd) else {
            self.remarks.extend(remarks);
            return (fields, one);
        };
        let reason = format!("the schema profile refuses what it means: {reason}");
        let (tool, place, keyword) = (tool.name.clone(), String::new(), "schema".to_owned());
        self.remarks.push(MappingRemark { tool, side, place, keyword, kind: RemarkKind::JsonText, reason });
        (vec![build_only_part(side, ShapeNode::new_json())], true)
    }
}

/// The one part of an element whose JSON is no object with known properties.
fn build_only_part(side: ToolSide, node: ShapeNode) -> ShapeField {
    let name = match side {
        ToolSide::Arguments => ARGUMENTS,
        ToolSide::Answer => ANSWER,
    };
    ShapeField { key: name.to_owned(), name: name.to_owned(), node, required: true, default: None }
}

/// Whether a schema refers to another document.
fn has_outer_reference(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(has_outer_reference),
        Value::Object(fields) => fields.iter().any(|(key, value)| match value {
            Value::String(target) => {
                ["$ref", "$schema", "$id", "$dynamicRef"].contains(&key.as_str()) && !target.starts_with('#')
            }
            value => has_outer_reference(value),
        }),
        _ => false,
    }
}

/// The whole document.
pub(super) fn write_document(
    namespace: &str,
    payloads: &[VocabularyPayload],
    types: &[NamedShape],
) -> Vec<u8> {
    let mut writer = XmlWriter::with_capacity(1 << 12);
    write::open_schema(&mut writer, namespace).content(|inside| {
        let mut writing = XsdWriter::new(types);
        for payload in payloads {
            let VocabularyPayload { name, tool, is_dangerous, about, fields } = payload;
            let (tool, about, is_dangerous) = (tool.as_deref(), about.as_deref(), *is_dangerous);
            writing.write_global(inside, &GlobalElement { name, tool, is_dangerous, about, fields });
        }
        writing.write_named_types(inside);
        write_values::write_named_bases(inside, &writing.bases);
        inside.text("\n\n");
    });
    let mut bytes = writer.finish();
    bytes.push(b'\n');
    bytes
}
