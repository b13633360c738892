//! The vocabulary of a server: its XSD, and the way between payloads and JSON.
//!
//! A list of tools comes in; an XSD with one element per tool goes out. Payloads become arguments and structured answers
//! become payloads, each judged by the tool's own schema. The same tools give the same bytes.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use systole_kit::characters::is_legal;
use systole_kit::name::is_ncname;
use systole_kit::schema::{PayloadFinding, SchemaModel};
use systole_kit::writer::XmlWriter;
use systole_kit::{DocumentLimits, Payload};

use super::judge::{Judge, SchemaBreach, shortened};
use super::names::{self, NameScope};
use super::read::ShapeReader;
use super::remark::{MappingRemark, RemarkKind, ToolSide};
use super::shape::{NamedShape, Shape, ShapeField, ShapeNode};
use super::tool::{RefusedTool, ToolBounds, ToolDefinition};
use super::trial;
use super::write::{self, GlobalElement, XsdWriter};

/// The part that holds all arguments, if they are no object with known properties.
const ARGUMENTS: &str = "arguments";

/// The same for an answer.
const ANSWER: &str = "result";

/// Most parts of an answer whose omission is reported.
const LEFT_OUT: usize = 32;

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

/// The tools of a server as elements.
#[derive(Debug)]
pub struct ToolVocabulary {
    /// The namespace of its elements.
    pub namespace: String,
    /// The XSD.
    pub xsd: String,
    /// The tools, by name.
    pub tools: Vec<ToolElement>,
    /// What the XSD does not say of the tools' schemas.
    pub remarks: Vec<MappingRemark>,
    /// Tools that have no element.
    pub refused: Vec<RefusedTool>,
    model: SchemaModel,
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
    has_one_part: [bool; 2],
    judges: [Option<Judge>; 2],
}

/// A call that can be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolArguments<'v> {
    /// The name of the tool on the wire.
    pub tool: &'v str,
    /// The arguments.
    pub arguments: Map<String, Value>,
}

/// An answer that can be delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolAnswer {
    /// The payload.
    pub payload: Vec<u8>,
    /// The places of parts that the output schema does not declare, such as `/found/extra`. They are not in the payload.
    pub left_out: Vec<String>,
}

/// Why there is no vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VocabularyFault {
    /// The server's name cannot be part of a namespace.
    #[error("{0} is no name for a server. Use letters, digits, - and _")]
    Name(String),
    /// The list is longer than the bounds allow.
    #[error("the server lists {listed} tools, at most {most} are taken. Select some with `tools:`")]
    TooMany {
        /// How many it lists.
        listed: usize,
        /// How many are taken.
        most: usize,
    },
    /// The XSD of all tools together is refused.
    #[error("the XSD of these tools is refused: {0}. Select fewer with `tools:`")]
    Refused(String),
}

/// Why a payload cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentFault {
    /// It is no call of a tool of this server.
    #[error("{0} is no tool of this server")]
    NoTool(String),
    /// It has no form as JSON.
    #[error("{}", .0.message)]
    NoJson(Box<PayloadFinding>),
    /// The tool's own schema refuses the arguments.
    #[error("{}: {}", if .0.place.is_empty() { "/" } else { .0.place.as_str() }, .0.message)]
    Breach(SchemaBreach),
}

/// Why an answer cannot be delivered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerFault {
    /// The server has no such tool, or the tool has no output schema.
    #[error("{0} has no typed answer")]
    Untyped(String),
    /// The answer does not follow the tool's own output schema.
    #[error("{}: {}", if .0.place.is_empty() { "/" } else { .0.place.as_str() }, .0.message)]
    Breach(SchemaBreach),
    /// The answer follows the output schema, but has no form as a payload.
    #[error("{0}")]
    NoPayload(String),
}

impl ToolVocabulary {
    /// The vocabulary of a server. The order of the tools does not matter.
    ///
    /// # Errors
    /// If there is no vocabulary at all. A tool that has no element is listed as refused.
    pub fn of(
        server: &str,
        tools: &[ToolDefinition],
        options: &VocabularyOptions,
    ) -> Result<Self, VocabularyFault> {
        if !is_ncname(server) || !server.is_ascii() {
            return Err(VocabularyFault::Name(shortened(server)));
        }
        let (listed, most) = (tools.len(), options.bounds.tools);
        if listed > most {
            return Err(VocabularyFault::TooMany { listed, most });
        }
        let namespace = format!("https://xml-pipeline.org/ns/mcp/{server}/v1");
        let mut making = Making::new(&namespace, options);
        making.all(tools);
        let Making { payloads, types, elements, mut remarks, refused, .. } = making;
        let (elements, xsd) = (elements, document(&namespace, &payloads, &types));
        let model = SchemaModel::read(&xsd).map_err(|unfit| {
            let first = unfit.first().map(|first| format!("{}: {}", first.construct, first.message));
            VocabularyFault::Refused(first.unwrap_or_default())
        })?;
        remarks.sort();
        let xsd = String::from_utf8(xsd).map_err(|error| VocabularyFault::Refused(error.to_string()))?;
        Ok(Self { namespace, xsd, tools: elements, remarks, refused, model })
    }

    /// The tool that an element of the vocabulary calls.
    #[must_use]
    pub fn tool(&self, element: &str) -> Option<&ToolElement> {
        self.tools.iter().find(|tool| tool.element == element)
    }

    /// The arguments that a payload stands for. The payload must be valid under the XSD.
    ///
    /// # Errors
    /// If it is no call, if JSON cannot say it, or if the tool's own schema refuses it.
    pub fn arguments(&self, payload: &[u8]) -> Result<ToolArguments<'_>, ArgumentFault> {
        let no_tool = |name: &str| ArgumentFault::NoTool(shortened(name));
        let read = Payload::read(payload, &DocumentLimits::default())
            .map_err(|fault| no_tool(&fault.to_string()))?;
        let root = read.name();
        let tool = self.tool(&root.local).filter(|_| *root.ns == *self.namespace);
        let tool = tool.ok_or_else(|| no_tool(&root.local))?;
        let value =
            self.model.to_json(payload).map_err(|finding| ArgumentFault::NoJson(Box::new(finding)))?;
        let [has_one_part, _] = tool.has_one_part;
        let value = unwrapped(value, has_one_part, ARGUMENTS);
        let [judge, _] = &tool.judges;
        if let Some(breach) = judge.as_ref().and_then(|judge| judge.breach(&value)) {
            return Err(ArgumentFault::Breach(breach));
        }
        match value {
            Value::Object(arguments) => Ok(ToolArguments { tool: &tool.tool, arguments }),
            _ => Err(ArgumentFault::Breach(SchemaBreach {
                place: String::new(),
                keyword: "type".to_owned(),
                rule: String::new(),
                message: "the arguments must be an object".to_owned(),
            })),
        }
    }

    /// The payload of a structured answer. Characters that XML cannot carry are shown as escapes.
    ///
    /// # Errors
    /// If the tool has no typed answer, or the answer does not follow the tool's own schema.
    pub fn answer(&self, tool: &str, structured: &Value) -> Result<ToolAnswer, AnswerFault> {
        let known = self.tools.iter().find(|known| known.tool == tool);
        let typed = known.and_then(|known| Some((known, known.answer.as_deref()?)));
        let (known, element) = typed.ok_or_else(|| AnswerFault::Untyped(shortened(tool)))?;
        let [_, judge] = &known.judges;
        if let Some(breach) = judge.as_ref().and_then(|judge| judge.breach(structured)) {
            return Err(AnswerFault::Breach(breach));
        }
        let mut value = carried(structured);
        let [_, has_one_part] = known.has_one_part;
        if has_one_part {
            value = Value::Object(Map::from_iter([(ANSWER.to_owned(), value)]));
        }
        match self.model.from_known_json(element, &value) {
            Some(Ok((payload, mut left_out))) => {
                left_out.truncate(LEFT_OUT);
                let left_out = left_out.iter().map(|place| shortened(place)).collect();
                Ok(ToolAnswer { payload, left_out })
            }
            Some(Err(slips)) => {
                let first = slips.first().map(|slip| format!("{}: {}", slip.path, slip.message));
                Err(AnswerFault::NoPayload(shortened(&first.unwrap_or_default())))
            }
            None => Err(AnswerFault::Untyped(shortened(tool))),
        }
    }
}

fn unwrapped(value: Value, has_one_part: bool, name: &str) -> Value {
    match value {
        Value::Object(mut fields) if has_one_part => fields.remove(name).unwrap_or_default(),
        other => other,
    }
}

/// A value whose texts XML can carry.
fn carried(value: &Value) -> Value {
    let text = |text: &str| -> String {
        let shown = |c: char| if is_legal(c) { c.to_string() } else { c.escape_unicode().to_string() };
        text.chars().map(shown).collect()
    };
    match value {
        Value::String(own) => Value::String(text(own)),
        Value::Array(items) => items.iter().map(carried).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (text(key), carried(value))).collect(),
        other => other.clone(),
    }
}

/// A payload of the vocabulary: an element, what it stands for, and its content.
struct MadePayload {
    name: String,
    tool: Option<String>,
    is_dangerous: bool,
    about: Option<String>,
    fields: Vec<ShapeField>,
}

/// A vocabulary while it is made.
struct Making<'o> {
    namespace: &'o str,
    options: &'o VocabularyOptions,
    names: NameScope,
    type_names: NameScope,
    types: Vec<NamedShape>,
    payloads: Vec<MadePayload>,
    elements: Vec<ToolElement>,
    remarks: Vec<MappingRemark>,
    refused: Vec<RefusedTool>,
}

impl<'o> Making<'o> {
    fn new(namespace: &'o str, options: &'o VocabularyOptions) -> Self {
        let type_names = NameScope::with(&["bool", "integer", "number"]);
        let (payloads, elements, remarks, refused) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (names, types) = (NameScope::default(), Vec::new());
        Self { namespace, options, names, type_names, types, payloads, elements, remarks, refused }
    }

    fn all(&mut self, tools: &[ToolDefinition]) {
        let mut order: Vec<(usize, &ToolDefinition)> = tools.iter().enumerate().collect();
        order.sort_by_key(|(_, tool)| &tool.name);
        let listed: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let mut last: Option<&str> = None;
        for (at, tool) in order {
            let twice = (last == Some(&tool.name)).then(|| "its name is listed twice".to_owned());
            last = Some(&tool.name);
            let refused =
                twice.or_else(|| self.options.bounds.breach(tool)).or_else(|| self.tool(tool, &listed).err());
            if let Some(reason) = refused {
                let place = at.saturating_add(1);
                self.refused.push(RefusedTool { tool: shortened(&tool.name), place, reason });
            }
        }
    }

    /// Adds a tool, or says why not.
    fn tool(&mut self, tool: &ToolDefinition, listed: &[&str]) -> Result<(), String> {
        let input = self.judge(tool, ToolSide::Arguments, &tool.input_schema)?;
        let output = match &tool.output_schema {
            Some(schema) => self.judge(tool, ToolSide::Answer, schema)?,
            None => None,
        };
        let (element, answer) = names::of_tool(&mut self.names, &tool.name, &self.options.reserved, listed);
        let is_dangerous = !self.options.safe.contains(&tool.name);
        let (fields, one) = self.side(tool, ToolSide::Arguments, &tool.input_schema);
        let words =
            tool.description.clone().filter(|words| !words.trim().is_empty()).or_else(|| tool.title.clone());
        self.payloads.push(MadePayload {
            name: element.clone(),
            tool: Some(tool.name.clone()),
            is_dangerous,
            about: words,
            fields,
        });
        let (mut has_one_part, mut typed) = ([one, false], None);
        if let Some(schema) = &tool.output_schema {
            let (fields, one) = self.side(tool, ToolSide::Answer, schema);
            has_one_part = [has_one_part[0], one];
            let about = Some(format!("The answer of {}.", tool.name));
            self.payloads.push(MadePayload {
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
    fn judge(
        &mut self,
        tool: &ToolDefinition,
        side: ToolSide,
        schema: &Value,
    ) -> Result<Option<Judge>, String> {
        match Judge::of(schema) {
            Ok(judge) => Ok(Some(judge)),
            Err(_) if leads_out(schema) => {
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
    fn side(&mut self, tool: &ToolDefinition, side: ToolSide, schema: &Value) -> (Vec<ShapeField>, bool) {
        let mut reader = ShapeReader::new(schema, (&tool.name, side), &mut self.types, &mut self.type_names);
        let node = reader.node(schema, "");
        let remarks = std::mem::take(&mut reader.remarks);
        let inside = match &node.shape {
            Shape::Named(at) => {
                self.types.get(*at).and_then(|named| named.node.as_ref()).map(|node| &node.shape)
            }
            shape => Some(shape),
        };
        let (fields, one) = match inside {
            Some(Shape::Object(fields)) if !node.nullable => (fields.clone(), false),
            _ => (vec![only_part(side, node)], true),
        };
        let payload = |fields| MadePayload {
            name: "trial".to_owned(),
            tool: None,
            is_dangerous: false,
            about: None,
            fields,
        };
        let xsd = document(self.namespace, &[payload(fields.clone())], &self.types);
        let Some(reason) = trial::refused_document(&xsd) else {
            self.remarks.extend(remarks);
            return (fields, one);
        };
        let reason = format!("the schema profile refuses what it means: {reason}");
        let (tool, place, keyword) = (tool.name.clone(), String::new(), "schema".to_owned());
        self.remarks.push(MappingRemark { tool, side, place, keyword, kind: RemarkKind::JsonText, reason });
        (vec![only_part(side, ShapeNode::json())], true)
    }
}

/// The one part of an element whose JSON is no object with known properties.
fn only_part(side: ToolSide, node: ShapeNode) -> ShapeField {
    let name = match side {
        ToolSide::Arguments => ARGUMENTS,
        ToolSide::Answer => ANSWER,
    };
    ShapeField { key: name.to_owned(), name: name.to_owned(), node, required: true, default: None }
}

/// Whether a schema refers to another document.
fn leads_out(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(leads_out),
        Value::Object(fields) => fields.iter().any(|(key, value)| match value {
            Value::String(target) => {
                ["$ref", "$schema", "$id", "$dynamicRef"].contains(&key.as_str()) && !target.starts_with('#')
            }
            value => leads_out(value),
        }),
        _ => false,
    }
}

/// The whole document.
fn document(namespace: &str, payloads: &[MadePayload], types: &[NamedShape]) -> Vec<u8> {
    let mut writer = XmlWriter::with_capacity(1 << 12);
    write::open_schema(&mut writer, namespace).content(|inside| {
        let mut writing = XsdWriter::new(types);
        for payload in payloads {
            let MadePayload { name, tool, is_dangerous, about, fields } = payload;
            let (tool, about, is_dangerous) = (tool.as_deref(), about.as_deref(), *is_dangerous);
            writing.global(inside, &GlobalElement { name, tool, is_dangerous, about, fields });
        }
        writing.named_types(inside);
        write::named_bases(inside, &writing.bases);
        inside.text("\n\n");
    });
    let mut bytes = writer.finish();
    bytes.push(b'\n');
    bytes
}
