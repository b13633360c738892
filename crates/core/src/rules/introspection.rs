//! The answers to listeners that ask about payloads: the schema, an example and prompt text of a
//! payload, or a list of payloads. This module reads only the composition, so the answer never depends
//! on the time. A name that does not exist, is hidden, or is accepted by no peer gets the same error.

use std::collections::BTreeMap;
use std::sync::Arc;

use systole_schema::SchemaModel;
use systole_wire::writer::XmlWriter;
use systole_wire::{QName, namespaces};

use crate::types::codes::Code;
use crate::types::composition::{Composition, DescribeScope, ElementSchema, Listener, SchemaId};
use crate::types::ids::Digest;
use crate::types::refusal::Refusal;

/// The schema of these questions and their answers.
pub const META_XSD: &[u8] = include_bytes!("../../../../schemas/meta.xsd");

/// The answer to `<describe>`: every payload with this name that `sender` may see.
pub fn describe_element(
    composition: &Composition,
    sender: &Listener,
    element: &str,
    namespace: Option<&str>,
) -> Result<Arc<[u8]>, Refusal> {
    let is_meant =
        |name: &QName| *name.local == *element && namespace.is_none_or(|namespace| *name.ns == *namespace);
    let told: Vec<(&Listener, &ElementSchema)> = list_shown(composition, sender)
        .into_iter()
        .flat_map(|taker| taker.accepts.iter().map(move |element| (taker, element)))
        .filter(|(_, element)| is_meant(&element.name))
        .collect();
    if told.is_empty() {
        return Err(refuse_unknown(composition, sender));
    }
    let mut writer = XmlWriter::with_capacity(1024);
    let start = writer.open("description").xmlns(namespaces::META).attr("element", element);
    start.content(|inside| {
        for (taker, element) in told {
            write_payload(composition, taker, element, inside);
        }
    });
    Ok(Arc::from(writer.finish()))
}

fn write_payload(
    composition: &Composition,
    taker: &Listener,
    element: &ElementSchema,
    writer: &mut XmlWriter,
) {
    let name = &element.name;
    // The composition was read from these same schemas, so each one exists and parses.
    let xsd = composition.schemas.get(element.schema.0).map(|schema| schema.text.clone()).unwrap_or_default();
    let model = model_of(composition, &xsd);
    let text = model.as_ref().and_then(|model| model.write_prompt(&name.local)).unwrap_or_default();
    let example = model.as_ref().and_then(|model| model.build_example(&name.local));
    let example = example.and_then(|bytes| String::from_utf8(bytes).ok());
    writer
        .open("payload")
        .attr("to", taker.name.as_str())
        .attr("namespace", &name.ns)
        .attr("schema", &Digest::hash_bytes(&xsd).to_string())
        .content(|inside| {
            inside.open("text").text(&text);
            if let Some(example) = example {
                inside.open("example").text(&example);
            }
        });
}

/// The model of one schema, read together with all schemas of the composition, because it may import
/// others.
pub fn model_of(composition: &Composition, xsd: &[u8]) -> Option<SchemaModel> {
    let among: Vec<(&str, &[u8])> =
        composition.schemas.iter().map(|schema| (schema.name.as_str(), &*schema.text)).collect();
    SchemaModel::read_among(xsd, &among).ok()
}

/// The answer to `<list-capabilities>`: the payloads that the peers of `sender` accept.
pub fn list_capabilities(composition: &Composition, sender: &Listener) -> Result<Arc<[u8]>, Refusal> {
    if sender.describe == DescribeScope::None {
        return Err(Refusal::new(Code::NotAPeer, "nothing is described to this listener"));
    }
    let mut writer = XmlWriter::with_capacity(1024);
    writer.open("capabilities").xmlns(namespaces::META).content(|inside| {
        let mut models: BTreeMap<SchemaId, Option<SchemaModel>> = BTreeMap::new();
        for taker in list_peers(composition, sender) {
            for ElementSchema { name, schema } in &taker.accepts {
                let model = models.entry(*schema).or_insert_with(|| {
                    let schema = composition.schemas.get(schema.0)?;
                    model_of(composition, &schema.text)
                });
                let about = model.as_ref().and_then(|model| model.find_documentation(&name.local));
                inside
                    .open("capability")
                    .attr("element", &name.local)
                    .attr("to", taker.name.as_str())
                    .attr("namespace", &name.ns)
                    .text(about.unwrap_or_default());
            }
        }
    });
    Ok(Arc::from(writer.finish()))
}

fn list_peers<'c>(composition: &'c Composition, sender: &'c Listener) -> Vec<&'c Listener> {
    sender.peers.iter().filter_map(|name| composition.find_listener(name)).collect()
}

/// The listeners whose payloads are described to `sender`.
fn list_shown<'c>(composition: &'c Composition, sender: &'c Listener) -> Vec<&'c Listener> {
    match sender.describe {
        DescribeScope::None => Vec::new(),
        DescribeScope::Peers => list_peers(composition, sender),
        DescribeScope::All => composition.listeners.values().collect(),
    }
}

fn refuse_unknown(composition: &Composition, sender: &Listener) -> Refusal {
    let mut known: Vec<String> = list_shown(composition, sender)
        .iter()
        .flat_map(|taker| taker.accepts.iter().map(|element| element.name.local.to_string()))
        .collect();
    known.sort();
    known.dedup();
    let expected = if known.is_empty() { "nothing is described to you".to_owned() } else { known.join(", ") };
    Refusal::new(Code::NotAPeer, "no payload of this name is described to you")
        .of_element("describe")
        .with_expected(expected)
}
