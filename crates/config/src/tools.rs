//! The elements of listeners whose payloads the file does not name: in front of an MCP server, and those that are built
//! in. Input: the schema that was made of a pin, or the vocabularies. Output: what a listener accepts and returns.

use std::sync::Arc;

use systole_kit::QName;

use super::hands_kind::{HandsDeclaration, VocabularyElements};
use super::lookup::Lookup;
use super::mcp::VOCABULARY;
use super::mcp_tools::McpDeclaration;
use super::party::Party;
use super::value::At;
use systole_core::types::composition::ElementSchema;

/// The elements of the vocabulary with which every tool may answer.
const ANSWERS: [&str; 2] = ["tool-result", "tool-failed"];
/// What such a listener sends to itself when its server asks a person. It goes back to the call as it is.
const FORM: &str = "input-form";

/// The elements that a listener in front of a server accepts and returns.
pub(super) fn of_server(
    party: &Party,
    declared: &McpDeclaration,
    lookup: &mut Lookup,
) -> (Vec<At<ElementSchema>>, Vec<At<ElementSchema>>) {
    let (mut accepts, mut returns) = (Vec::new(), Vec::new());
    if let Some(outline) = party.schema.as_ref().and_then(|schema| lookup.outline(&schema.value)) {
        let element = |local: &Arc<str>| {
            let name = QName { ns: outline.namespace.clone(), local: local.clone() };
            At { at: declared.at, value: ElementSchema { name, schema: outline.id } }
        };
        for tool in outline.tools.iter().filter(|tool| declared.uses(&tool.name)) {
            accepts.push(element(&tool.element));
            returns.extend(outline.element(&format!("{}-result", tool.element)).map(element));
        }
    }
    for answer in ANSWERS {
        let named = At { at: declared.at, value: answer.to_owned() };
        returns.extend(lookup.of_vocabulary(VOCABULARY, &named));
    }
    let form = lookup.of_vocabulary(VOCABULARY, &At { at: declared.at, value: FORM.to_owned() });
    accepts.extend(form.clone());
    returns.extend(form);
    (accepts, returns)
}

/// The elements that a built-in listener accepts and returns.
pub(super) fn of_hands(
    hands: &HandsDeclaration,
    lookup: &mut Lookup,
) -> (Vec<At<ElementSchema>>, Vec<At<ElementSchema>>) {
    let mut all = |elements: &[VocabularyElements]| {
        let mut found = Vec::new();
        for of in elements {
            for name in of.names {
                let named = At { at: hands.root.at, value: (*name).to_owned() };
                found.extend(lookup.of_vocabulary(of.vocabulary, &named));
            }
        }
        found
    };
    (all(hands.kind.accepts()), all(hands.kind.returns()))
}
