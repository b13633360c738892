//! A payload in a file: an element with its fields, an element alone, XML, or the path of an XML file. Input:
//! the written payload. Output: its bytes, and the form in which payloads are compared.

use std::path::Path;

use systole_kit::schema::{SchemaModel, find_nearest};
use systole_kit::{DocumentLimits, Payload, QName};

use crate::diagnostics::Diagnostics;
use crate::traps;
use crate::tree::{Node, Span, Value};
use crate::value::At;
use systole_core::rules::introspection::model_of;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, ElementSchema, SchemaId};

const FIX: &str =
    "{ELEMENT: TEXT}, {ELEMENT: {FIELD: VALUE}}, ELEMENT alone, XML, or the path of an .xml file";

/// An unresolved payload.
pub(crate) enum WrittenPayload {
    /// An element with any content.
    Element(String),
    /// XML, byte for byte.
    Xml(Vec<u8>),
    /// An element, and its fields as `name=value`.
    Fields(String, Vec<String>),
}

/// An expected payload.
#[derive(Clone, Debug)]
pub struct ExpectedPayload {
    /// The element.
    pub element: String,
    /// The whole payload. `None` if every payload with this element matches.
    pub exact: Option<ExactPayload>,
}

/// A whole payload, in two forms.
#[derive(Clone, Debug)]
pub struct ExactPayload {
    /// The document.
    pub xml: Vec<u8>,
    /// Its name with its namespace.
    pub name: QName,
    /// Its content. Prefixes and white space between elements do not count.
    pub json: serde_json::Value,
    /// The schema that judges it.
    pub schema: SchemaId,
}

/// Reads a payload.
pub(crate) fn read_payload(
    diagnostics: &mut Diagnostics,
    node: &Node,
    path: &str,
    folder: &Path,
) -> Option<At<WrittenPayload>> {
    let value = match &node.value {
        Value::Text { text, .. } if text.trim_start().starts_with('<') => {
            WrittenPayload::Xml(text.trim().as_bytes().to_vec())
        }
        Value::Text { text, .. } if text.ends_with(".xml") => match std::fs::read(folder.join(text)) {
            Ok(bytes) => WrittenPayload::Xml(bytes),
            Err(error) => {
                let told = format!("{path}: {text}: {}", systole_system::system::describe_error(&error));
                diagnostics.report(Code::ConfigUnreadable, node.span, &told, FIX);
                return None;
            }
        },
        Value::Text { text, .. } if is_name(text) => WrittenPayload::Element(text.clone()),
        Value::Map(entries) if entries.len() == 1 && entries.iter().all(|entry| is_name(&entry.key)) => {
            let entry = entries.first()?;
            let mut fields = Vec::new();
            match &entry.value.value {
                Value::Nothing => {}
                Value::Text { text, .. } => fields.push(format!(".={text}")),
                _ => flatten(&entry.value, "", &mut fields),
            }
            WrittenPayload::Fields(entry.key.clone(), fields)
        }
        Value::Reported => return None,
        Value::Map(entries)
            if entries.windows(2).any(|two| match two {
                [before, after] => traps::cut_step(diagnostics, node, before, after, path),
                _ => false,
            }) =>
        {
            return None;
        }
        _ => {
            diagnostics.report(Code::ConfigKind, node.span, &format!("{path}: this is not a payload"), FIX);
            return None;
        }
    };
    Some(At { at: node.span, value })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
}

/// Turns fields into the command-line form: `address.city=Rome`, `line[2].sku=b`.
fn flatten(node: &Node, path: &str, into: &mut Vec<String>) {
    match &node.value {
        Value::Text { text, .. } => into.push(format!("{path}={text}")),
        Value::Nothing | Value::Reported => into.push(format!("{path}=")),
        Value::Map(entries) => {
            for entry in entries {
                let inner = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
                flatten(&entry.value, &inner, into);
            }
        }
        Value::List(items) => {
            for (number, item) in (1..).zip(items) {
                flatten(item, &format!("{path}[{number}]"), into);
            }
        }
    }
}

/// The elements among which a payload is looked up, and their description for messages.
pub(crate) struct Among<'c> {
    pub(crate) composition: &'c Composition,
    pub(crate) elements: Vec<&'c ElementSchema>,
    pub(crate) what: &'c str,
}

impl<'c> Among<'c> {
    /// All elements that any listener accepts or returns.
    pub(crate) fn all(composition: &'c Composition, what: &'c str) -> Among<'c> {
        let listeners = composition.listeners.values();
        let elements = listeners.flat_map(|listener| listener.accepts.iter().chain(&listener.returns));
        Among { composition, elements: elements.collect(), what }
    }

    fn element(&self, diagnostics: &mut Diagnostics, local: &str, at: Span) -> Option<&'c ElementSchema> {
        let found = self.elements.iter().find(|element| *element.name.local == *local).copied();
        if found.is_none() {
            let mut known: Vec<&str> = self.elements.iter().map(|element| &*element.name.local).collect();
            known.sort_unstable();
            known.dedup();
            let near = find_nearest(local, known.iter().copied());
            let fix = near.map_or_else(|| format!("one of {}", known.join(", ")), str::to_owned);
            let told = format!("{}: no such element `{local}`", self.what);
            diagnostics.report(Code::ConfigUnknownElement, at, &told, &fix);
        }
        found
    }

    fn model(&self, schema: SchemaId) -> Option<SchemaModel> {
        model_of(self.composition, &self.composition.schemas.get(schema.0)?.text)
    }

    /// The document of a payload. XML is not checked: a test may send something that is refused.
    pub(crate) fn document(
        &self,
        diagnostics: &mut Diagnostics,
        written: &At<WrittenPayload>,
    ) -> Option<Vec<u8>> {
        let (local, fields): (&str, &[String]) = match &written.value {
            WrittenPayload::Xml(bytes) => return Some(bytes.clone()),
            WrittenPayload::Element(local) => (local, &[]),
            WrittenPayload::Fields(local, fields) => (local, fields),
        };
        let element = self.element(diagnostics, local, written.at)?;
        let arguments: Vec<&str> = fields.iter().map(String::as_str).collect();
        match self.model(element.schema)?.from_fields(local, &arguments)? {
            Ok(document) => Some(document),
            Err(slips) => {
                for slip in slips {
                    diagnostics.report_value(written.at, &slip.message, &slip.fix);
                }
                None
            }
        }
    }

    /// An expected payload.
    pub(crate) fn expect_payload(
        &self,
        diagnostics: &mut Diagnostics,
        written: &At<WrittenPayload>,
    ) -> Option<ExpectedPayload> {
        if let WrittenPayload::Element(local) = &written.value {
            self.element(diagnostics, local, written.at)?;
            return Some(ExpectedPayload { element: local.clone(), exact: None });
        }
        let xml = self.document(diagnostics, written)?;
        let payload = match Payload::parse(&xml, &DocumentLimits::FROM_PUMP) {
            Ok(payload) => payload,
            Err(fault) => {
                let told = format!("{}: {}", self.what, fault.message);
                diagnostics.report_value(written.at, &told, "one XML element");
                return None;
            }
        };
        let name = payload.name().clone();
        let schema = self.elements.iter().find(|element| element.name == name).map(|element| element.schema);
        let Some(schema) = schema else {
            self.element(diagnostics, &name.local, written.at)?;
            let told = format!("{}: no listener takes or gives {name}", self.what);
            diagnostics.report(Code::ConfigUnknownElement, written.at, &told, "the namespace of the schema");
            return None;
        };
        match self.model(schema)?.to_json(&xml) {
            Ok(json) => {
                let exact = ExactPayload { xml, name: name.clone(), json, schema };
                Some(ExpectedPayload { element: name.local.to_string(), exact: Some(exact) })
            }
            Err(finding) => {
                let told = format!("{}: {}", self.what, finding.message);
                diagnostics.report_value(written.at, &told, "a payload that its schema takes");
                None
            }
        }
    }
}

impl ExpectedPayload {
    /// Whether a payload matches.
    pub fn is(&self, composition: &Composition, payload: &[u8]) -> bool {
        let Ok(read) = Payload::parse(payload, &DocumentLimits::FROM_PUMP) else { return false };
        let Some(exact) = &self.exact else { return *read.name().local == *self.element };
        let schema = composition.schemas.get(exact.schema.0);
        let model = schema.and_then(|schema| model_of(composition, &schema.text));
        let json = model.and_then(|model| model.to_json(payload).ok());
        *read.name() == exact.name && json.as_ref() == Some(&exact.json)
    }
}
