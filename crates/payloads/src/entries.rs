//! The entries that a client may address, and what a text becomes for one.

use serde_json::{Map, Value, json};
use systole_kit::schema::find_nearest;

use crate::json_payload;
use crate::open_elements::{find_model, list_open};
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, Listener};
use systole_core::types::ids::Name;
use systole_core::types::refusal::Refusal;
use systole_organism::steer_payload::write_words;

/// The entries of a client, the organism's own first.
pub fn list_entries<'c>(organism: &'c Composition, client: &Name) -> Vec<&'c Listener> {
    let mut entries: Vec<&Listener> = Vec::new();
    for open in list_open(organism, client) {
        if entries.last().is_none_or(|last| last.name != open.listener.name) {
            entries.push(open.listener);
        }
    }
    entries.sort_by_key(|entry| Some(&entry.name) != organism.entry.as_ref());
    entries
}

/// The entry with that name. The error says which name is near, or which there are.
pub fn find_entry<'c>(organism: &'c Composition, client: &Name, name: &str) -> Result<&'c Listener, String> {
    let entries = list_entries(organism, client);
    if let Some(found) = entries.iter().find(|entry| entry.name.as_str() == name) {
        return Ok(found);
    }
    let names = || entries.iter().map(|entry| entry.name.as_str());
    Err(match find_nearest(name, names()) {
        Some(near) => format!("did you mean {near}?"),
        None if entries.is_empty() => "no entry is open to this client".to_owned(),
        None => format!("there are {}", names().take(32).collect::<Vec<_>>().join(", ")),
    })
}

/// What a text becomes for an entry: a question, or the element that a text in JSON is.
pub fn write_text(organism: &Composition, entry: &Listener, text: &str) -> Result<Vec<u8>, Box<Refusal>> {
    match write_words(organism, entry, text) {
        Ok(payload) => Ok(payload.bytes().to_vec()),
        Err(_) => write_form(organism, entry, text),
    }
}

/// The element that a text in JSON is, for an entry that takes no text: `{"ELEMENT": {…}}`.
fn write_form(organism: &Composition, entry: &Listener, text: &str) -> Result<Vec<u8>, Box<Refusal>> {
    let elements = || entry.accepts.iter().filter(|taken| entry.shows_outside(taken));
    let refuse = |why: String| {
        let example = elements().find_map(|taken| {
            let model = find_model(organism, taken.schema)?;
            let json = model.to_json(&model.build_example(&taken.name.local)?).ok()?;
            Some(json!({&*taken.name.local: json}).to_string())
        });
        let refusal = Refusal::new(Code::Invalid, format!("{} takes no text: {why}", entry.name));
        Box::new(match example {
            Some(example) => refusal.fixed_by(format!("as {example}")),
            None => refusal,
        })
    };
    let sent: Map<String, Value> = serde_json::from_str(text)
        .map_err(|_| refuse("the last message must be an element in JSON".to_owned()))?;
    let only = sent.iter().next().filter(|_| sent.len() == 1);
    let found =
        only.and_then(|(name, value)| Some((elements().find(|one| *one.name.local == **name)?, value)));
    let Some((taken, value)) = found else {
        let names: Vec<&str> = elements().map(|taken| &*taken.name.local).collect();
        return Err(refuse(format!("the last message must have one key of {}", names.join(", "))));
    };
    let refuse_file = |_| Err(Box::new(Refusal::new(Code::Invalid, "files are not taken here")));
    json_payload::build_from_json(organism, taken, value.to_string().as_bytes(), &refuse_file)
        .map_err(|refused| Box::new(refused.refusal))
}
