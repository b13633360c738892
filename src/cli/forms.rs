//! A payload for programs that read JSON: beside its XML, its JSON form under `json` and its text under `text`. Every
//! command with payloads in `--json` uses this, so that the fields have the same names everywhere.
//!
//! A payload is read by the schema of the configuration under which it was judged. Without that schema its form is
//! null.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use systole_kit::DocumentLimits;
use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::payload::Payload;
use systole_kit::schema::SchemaModel;
use systole_kit::writer::visible_again;

use systole_config as config;
use systole_core::rules::introspection::{META_XSD, model_of};
use systole_core::types::ids::Digest;
use systole_core::types::ports::LogReader;
use systole_queries::persons::WaitingRequest;
use systole_queries::query::PayloadForms;

/// The models of the configurations seen so far.
#[derive(Default)]
pub(super) struct Forms(RefCell<HashMap<Digest, Vec<SchemaModel>>>);

impl Forms {
    /// A record, with the form and the text of its body.
    pub(super) fn add_to_record(&self, reader: &dyn LogReader, record: &impl Serialize) -> Value {
        let mut value = serde_json::to_value(record).unwrap_or_default();
        let config = value.get("config").and_then(Value::as_str).and_then(|hash| Digest::parse(hash).ok());
        self.add_beside(reader, config, "body", &mut value);
        value
    }

    fn write_form(&self, reader: &dyn LogReader, config: Digest, payload: &[u8]) -> Option<Value> {
        let root = Payload::parse(payload, &DocumentLimits::FROM_PUMP).ok()?;
        let mut known = self.0.borrow_mut();
        let models = known.entry(config).or_insert_with(|| read_models(reader, config));
        let model = models.iter().find(|model| model.has_element(&root.name().ns, &root.name().local))?;
        model.to_json(payload).ok()
    }
}

impl PayloadForms for Forms {
    fn add_beside(&self, reader: &dyn LogReader, config: Option<Digest>, name: &str, value: &mut Value) {
        let Some(fields) = value.as_object_mut() else { return };
        let Some(payload) = fields.get(name).and_then(Value::as_str).map(str::to_owned) else { return };
        let form = config.and_then(|config| self.write_form(reader, config, payload.as_bytes()));
        fields.insert("json".to_owned(), form.unwrap_or_default());
        fields.insert("text".to_owned(), read_text(payload.as_bytes()).map_or(Value::Null, Value::String));
    }
}

/// The model of the schema by which a payload was judged.
pub(super) fn find_model(reader: &dyn LogReader, config: Digest, payload: &[u8]) -> Option<SchemaModel> {
    let root = Payload::parse(payload, &DocumentLimits::FROM_PUMP).ok()?;
    read_models(reader, config)
        .into_iter()
        .find(|model| model.has_element(&root.name().ns, &root.name().local))
}

/// What the server of an MCP tool says of it, if a waiting payload calls one.
pub(super) fn describe_tool(reader: &dyn LogReader, one: &WaitingRequest) -> Option<String> {
    let (element, payload) = one.payload()?;
    let model = find_model(reader, one.config, payload.as_bytes())?;
    model.find_tool(element)?;
    model.find_documentation(element).map(visible_again)
}

/// The models of a configuration; empty if the log does not have it.
fn read_models(reader: &dyn LogReader, config: Digest) -> Vec<SchemaModel> {
    let source = reader.read_document(config).ok().flatten();
    // Where its programs would run means nothing to a schema.
    let read = source.and_then(|source| config::read_source(&source, Path::new(".")).ok());
    let Some(composition) = read else { return Vec::new() };
    let texts = composition.schemas.iter().map(|schema| &*schema.text).chain([META_XSD]);
    texts.filter_map(|text| model_of(&composition, text)).collect()
}

/// The text in a payload: exactly, if it has only text; otherwise the texts of its elements, separated by blanks.
fn read_text(payload: &[u8]) -> Option<String> {
    let mut gate = XmlGate::new_strict(payload, &DocumentLimits::FROM_PUMP).ok()?;
    let (mut texts, mut elements, mut is_open) = (Vec::<String>::new(), 0, false);
    loop {
        match gate.read_step().ok()? {
            GateStep::Text(part) => {
                if !std::mem::replace(&mut is_open, true) {
                    texts.push(String::new());
                }
                if let Some(last) = texts.last_mut() {
                    part.append_to(last);
                }
            }
            GateStep::Done => break,
            GateStep::Open(_) => (elements, is_open) = (elements + 1, false),
            _ => is_open = false,
        }
    }
    if elements <= 1 {
        return Some(texts.concat());
    }
    let texts: Vec<&str> = texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
    Some(texts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_payload_is_exact_where_it_is_text_alone() {
        let read = |payload: &str| read_text(payload.as_bytes());
        assert_eq!(read("<a xmlns='urn:a'> x &lt; y\n</a>").unwrap(), " x < y\n");
        assert_eq!(read("<a xmlns='urn:a'/>").unwrap(), "");
        assert_eq!(read("<a xmlns='urn:a'>\n <b>one <i>two</i></b> <c> 3 </c></a>").unwrap(), "one two 3");
        assert_eq!(read("no payload"), None);
    }
}
