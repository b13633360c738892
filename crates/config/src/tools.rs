//! The elements of built-in listeners, which the file does not name. Input: the vocabularies of the kind, and the schema
//! that was made for the listener. Output: what it accepts and returns.

use std::sync::Arc;

use systole_kit::QName;

use super::kinds::{BuiltInListener, VocabularyElements};
use super::lookup::Lookup;
use super::party::Party;
use super::value::At;
use systole_core::types::composition::ElementSchema;

/// The elements that a built-in listener accepts and returns: those of its tools, then those of its kind.
pub(super) fn list_elements(
    party: &Party,
    listener: &BuiltInListener,
    lookup: &mut Lookup,
) -> (Vec<At<ElementSchema>>, Vec<At<ElementSchema>>) {
    let (mut accepts, mut returns) = (Vec::new(), Vec::new());
    let at = listener.at;
    if let Some(outline) = party.schema.as_ref().and_then(|schema| lookup.outline(&schema.value)) {
        let element = |local: &Arc<str>| {
            let name = QName { ns: outline.namespace.clone(), local: local.clone() };
            At { at, value: ElementSchema { name, schema: outline.id } }
        };
        let uses = |tool: &str| listener.part.server.as_ref().is_none_or(|server| server.uses(tool));
        for tool in outline.tools.iter().filter(|tool| uses(&tool.name)) {
            accepts.push(element(&tool.element));
            returns.extend(outline.element(&format!("{}-result", tool.element)).map(element));
        }
    }
    let mut add = |all: &mut Vec<_>, of_kind: &[VocabularyElements]| {
        let left_out = listener.part.left_out;
        for (vocabulary, names) in of_kind.iter().filter(|(name, _)| Some(*name) != left_out) {
            let named = names.iter().map(|name| At { at, value: (*name).to_owned() });
            all.extend(named.filter_map(|named| lookup.of_vocabulary(vocabulary, &named)));
        }
    };
    add(&mut accepts, listener.kind.accepts);
    add(&mut returns, listener.kind.returns);
    (accepts, returns)
}
