//! The vocabulary of a server: its XSD, and the way between payloads and JSON.
//!
//! A list of tools comes in; an XSD with one element per tool goes out. Payloads become arguments and structured answers
//! become payloads, each judged by the tool's own schema. The same tools give the same bytes.

use serde_json::{Map, Value};
use systole_kit::characters::is_legal;
use systole_kit::name::is_ncname;
use systole_kit::schema::{KnownPayload, PayloadFinding, SchemaModel};
use systole_kit::{DocumentLimits, Payload};

use super::judge::{SchemaBreach, shorten_text};
use super::making::{ANSWER, ARGUMENTS, ToolElement, VocabularyBuilder, VocabularyOptions, write_document};
use super::remark::MappingRemark;
use super::tool::{RefusedTool, ToolDefinition};

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
    pub fn from_tools(
        server: &str,
        tools: &[ToolDefinition],
        options: &VocabularyOptions,
    ) -> Result<Self, VocabularyFault> {
        if !is_ncname(server) || !server.is_ascii() {
            return Err(VocabularyFault::Name(shorten_text(server)));
        }
        let (listed, most) = (tools.len(), options.bounds.tools);
        if listed > most {
            return Err(VocabularyFault::TooMany { listed, most });
        }
        let namespace = format!("https://xml-pipeline.org/ns/mcp/{server}/v1");
        let mut making = VocabularyBuilder::new(&namespace, options);
        making.add_tools(tools);
        let VocabularyBuilder { payloads, types, elements, mut remarks, refused, .. } = making;
        let (elements, xsd) = (elements, write_document(&namespace, &payloads, &types));
        let model = SchemaModel::from_xsd(&xsd).map_err(|unfit| {
            let first = unfit.first().map(|first| format!("{}: {}", first.construct, first.message));
            VocabularyFault::Refused(first.unwrap_or_default())
        })?;
        remarks.sort();
        let xsd = String::from_utf8(xsd).map_err(|error| VocabularyFault::Refused(error.to_string()))?;
        Ok(Self { namespace, xsd, tools: elements, remarks, refused, model })
    }

    /// What an agent's prompt says of an element: its purpose and its parameters, in the words of the server.
    #[must_use]
    pub fn describe_element(&self, element: &str) -> Option<String> {
        self.model.write_prompt(element)
    }

    /// The tool that an element of the vocabulary calls.
    #[must_use]
    pub fn find_tool(&self, element: &str) -> Option<&ToolElement> {
        self.tools.iter().find(|tool| tool.element == element)
    }

    /// The arguments that a payload stands for. The payload must be valid under the XSD.
    ///
    /// # Errors
    /// If it is no call, if JSON cannot say it, or if the tool's own schema refuses it.
    pub fn read_arguments(&self, payload: &[u8]) -> Result<ToolArguments<'_>, ArgumentFault> {
        let no_tool = |name: &str| ArgumentFault::NoTool(shorten_text(name));
        let read = Payload::parse(payload, &DocumentLimits::default())
            .map_err(|fault| no_tool(&fault.to_string()))?;
        let root = read.name();
        let tool = self.find_tool(&root.local).filter(|_| *root.ns == *self.namespace);
        let tool = tool.ok_or_else(|| no_tool(&root.local))?;
        let value =
            self.model.to_json(payload).map_err(|finding| ArgumentFault::NoJson(Box::new(finding)))?;
        let [has_one_part, _] = tool.has_one_part;
        let value = unwrap_part(value, has_one_part, ARGUMENTS);
        let [judge, _] = &tool.judges;
        if let Some(breach) = judge.as_ref().and_then(|judge| judge.find_breach(&value)) {
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
    pub fn write_answer(&self, tool: &str, structured: &Value) -> Result<ToolAnswer, AnswerFault> {
        let known = self.tools.iter().find(|known| known.tool == tool);
        let typed = known.and_then(|known| Some((known, known.answer.as_deref()?)));
        let (known, element) = typed.ok_or_else(|| AnswerFault::Untyped(shorten_text(tool)))?;
        let [_, judge] = &known.judges;
        if let Some(breach) = judge.as_ref().and_then(|judge| judge.find_breach(structured)) {
            return Err(AnswerFault::Breach(breach));
        }
        let mut value = replace_unwritable(structured);
        let [_, has_one_part] = known.has_one_part;
        if has_one_part {
            value = Value::Object(Map::from_iter([(ANSWER.to_owned(), value)]));
        }
        match self.model.from_known_json(element, &value) {
            Some(Ok(KnownPayload { payload, mut left_out })) => {
                left_out.truncate(crate::limits::ANSWER_BLOCKS);
                let left_out = left_out.iter().map(|place| shorten_text(place)).collect();
                Ok(ToolAnswer { payload, left_out })
            }
            Some(Err(slips)) => {
                let first = slips.first().map(|slip| format!("{}: {}", slip.path, slip.message));
                Err(AnswerFault::NoPayload(shorten_text(&first.unwrap_or_default())))
            }
            None => Err(AnswerFault::Untyped(shorten_text(tool))),
        }
    }
}

fn unwrap_part(value: Value, has_one_part: bool, name: &str) -> Value {
    match value {
        Value::Object(mut fields) if has_one_part => fields.remove(name).unwrap_or_default(),
        other => other,
    }
}

/// A text that XML can carry: other characters are shown as escapes.
pub(crate) fn replace_characters(text: &str) -> String {
    let shown = |c: char| if is_legal(c) { c.to_string() } else { c.escape_unicode().to_string() };
    text.chars().map(shown).collect()
}

/// A value whose texts XML can carry.
fn replace_unwritable(value: &Value) -> Value {
    match value {
        Value::String(own) => Value::String(replace_characters(own)),
        Value::Array(items) => items.iter().map(replace_unwritable).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (replace_characters(key), replace_unwritable(value))).collect()
        }
        other => other.clone(),
    }
}
