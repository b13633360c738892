//! What a message of an A2A client says: a text with files for the entry, or an element in JSON for who takes it.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::faults::{A2aFault, A2aResult, FaultKind};
use super::params::{SentMessage, SentPart};
use crate::limits;
use systole_core::types::composition::{Composition, Listener};
use systole_core::types::ids::{Digest, Key, Name};
use systole_core::types::limits::THREAD_NAME_BYTES;
use systole_core::types::thread_choice::fit_foreign;
use systole_hall::http_state::HttpState;
use systole_hall::request_refusals::describe_unfit_request;
use systole_payloads::json_payload::build_from_json;
use systole_payloads::open_elements::{SendableElement, find_model, list_open};
use systole_payloads::said_files::{SaidFile, SaidMessage, SaidText, write_said};
use systole_payloads::sorted_json::sort_keys;

/// What a message says.
pub(super) enum SaidParts {
    /// A text, with files.
    Text(SaidText),
    /// JSON alone.
    Data(Box<RawValue>),
}

impl SentMessage {
    /// The recorded key of the message: its id, what it says, and where. Some agents give one id to several messages.
    pub(super) fn read_key(&self) -> A2aResult<Key> {
        let id = self.message_id.as_deref().filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| A2aFault::refuse_params("message.messageId is missing"))?;
        let parts = self.parts.iter().enumerate().map(|(at, part)| {
            Ok(json!([part.text, part.raw, part.url, part.write_sorted(at)?, part.filename]))
        });
        let parts = parts.collect::<A2aResult<Vec<Value>>>()?;
        let said = json!([self.task_id, self.context_id, parts]).to_string();
        let hash = Digest::hash_bytes(said.as_bytes()).to_string();
        let id = fit_foreign(id, THREAD_NAME_BYTES - limits::SHOWN_HASH - 1);
        let key = format!("{id}.{}", hash.chars().take(limits::SHOWN_HASH).collect::<String>());
        Key::parse(&key).map_err(|bad| A2aFault::refuse_params(format!("message.messageId: {bad}")))
    }

    /// What it says.
    pub(super) fn read_parts(self) -> A2aResult<SaidParts> {
        if !matches!(self.role.as_deref(), None | Some("ROLE_USER")) {
            return Err(A2aFault::refuse_params("message.role is ROLE_USER: what the agent says is its own"));
        }
        let mut parts = self.parts;
        if let Some(at) = parts.iter().position(SentPart::has_several) {
            let words =
                format!("message.parts[{at}] has several of text, raw, data and url: send a part for each");
            return Err(A2aFault::refuse_params(words));
        }
        if parts.len() == 1
            && let Some(data) = parts.pop_if(|only| only.data.is_some()).and_then(|only| only.data)
        {
            return Ok(SaidParts::Data(data));
        }
        let mut said = SaidText::default();
        for (at, part) in parts.into_iter().enumerate() {
            part.add_to(&mut said, at)?;
        }
        if said.text.trim().is_empty() && said.files.is_empty() {
            return Err(A2aFault::refuse_params("message.parts has no words: send a part with text"));
        }
        Ok(SaidParts::Text(said))
    }
}

impl SentPart {
    /// Whether it is more than one thing.
    fn has_several(&self) -> bool {
        let kinds = [self.text.is_some(), self.raw.is_some(), self.data.is_some(), self.url.is_some()];
        kinds.into_iter().filter(|has| *has).count() > 1
    }

    /// Its data with its keys in order.
    fn write_sorted(&self, at: usize) -> A2aResult<Option<String>> {
        let written = self.data.as_ref().map(|data| sort_keys(data)).transpose();
        written.map_err(|why| A2aFault::refuse_params(format!("message.parts[{at}].data {why}")))
    }

    fn add_to(self, said: &mut SaidText, at: usize) -> A2aResult<()> {
        let data = self.write_sorted(at)?;
        let text = match self {
            SentPart { text: Some(text), .. } => text,
            SentPart { raw: Some(raw), filename, .. } => {
                let file = SaidFile::read(&raw, filename)
                    .map_err(|why| A2aFault::refuse_params(format!("message.parts[{at}].raw {why}")))?;
                said.files.push(file);
                return Ok(());
            }
            SentPart { data: Some(_), .. } => format!("```json\n{}\n```", data.unwrap_or_default()),
            SentPart { url: Some(_), .. } => {
                let words =
                    format!("message.parts[{at}].url is not fetched: send its bytes in raw, as base64");
                return Err(A2aFault::new(FaultKind::Content, words));
            }
            SentPart { .. } => {
                let words = format!("message.parts[{at}] has none of text, raw and data");
                return Err(A2aFault::refuse_params(words));
            }
        };
        if !said.text.is_empty() && !text.is_empty() {
            said.text.push_str("\n\n");
        }
        said.text.push_str(&text);
        Ok(())
    }
}

/// The id of a message, by its recorded key.
pub(super) fn read_message_id(recorded: &Key) -> &str {
    let key = recorded.as_str().rsplit('/').next().unwrap_or_default();
    key.rsplit_once('.').map_or(key, |(id, _)| id)
}

/// What is sent, and to whom.
pub(super) struct WrittenMessage<'c> {
    pub(super) to: &'c Listener,
    pub(super) message: SaidMessage,
}

/// Writes what a client says as a payload: a text for the organism's entry, or an element for who takes it.
pub(super) fn write_message<'c>(
    (state, organism): (&HttpState, &'c Composition),
    client: &Name,
    said: &SaidParts,
) -> A2aResult<WrittenMessage<'c>> {
    match said {
        SaidParts::Data(data) => write_element(organism, client, data),
        SaidParts::Text(said) => {
            let to = find_entry(organism, client)?;
            let files: Vec<&SaidFile> = said.files.iter().collect();
            let message = write_said((&state.front, client), to, (&said.text, &files))?;
            Ok(WrittenMessage { to, message })
        }
    }
}

/// The entry of the organism, if the client may address it.
fn find_entry<'c>(organism: &'c Composition, client: &Name) -> A2aResult<&'c Listener> {
    let entry = organism.entry.as_ref().filter(|entry| organism.may_address(client, entry));
    entry.and_then(|entry| organism.find_listener(entry)).ok_or_else(|| {
        let words = "no entry is open to this client for a text: send a part with data, \
                     as a skill of the extended card has it";
        A2aFault::refuse_params(words)
    })
}

/// An element in JSON, for the entry if that takes it, or for the one that does.
fn write_element<'c>(
    organism: &'c Composition,
    client: &Name,
    data: &RawValue,
) -> A2aResult<WrittenMessage<'c>> {
    let open = list_open(organism, client);
    let sent: Option<BTreeMap<String, Box<RawValue>>> = serde_json::from_str(data.get()).ok();
    let sent = sent.and_then(|sent| (sent.len() == 1).then_some(sent)?.into_iter().next());
    let Some((name, content)) = sent else {
        return Err(refuse_element(organism, &open, "data has one key, the name of a skill"));
    };
    let named = || open.iter().filter(|one| one.name == name || *one.taken.name.local == *name);
    let of_entry = || named().find(|one| Some(&one.listener.name) == organism.entry.as_ref());
    let Some(found) = named().find(|one| one.name == name).or_else(of_entry).or_else(|| named().next())
    else {
        let shown: String = name.chars().take(80).collect();
        return Err(refuse_element(organism, &open, &format!("no skill is called {shown:?}")));
    };
    let refuse_file = |_| {
        Err(Box::new(describe_unfit_request("the bytes of a file are no part of data: send them in raw")))
    };
    let built = build_from_json(organism, found.taken, content.get().as_bytes(), &refuse_file);
    let document = built.map_err(|refused| Box::new(refused.refusal))?;
    Ok(WrittenMessage { to: found.listener, message: SaidMessage::new(document) })
}

/// An example of a skill repairs the message.
fn refuse_element(organism: &Composition, open: &[SendableElement<'_>], why: &str) -> A2aFault {
    let example = open.iter().find_map(|one| {
        let model = find_model(organism, one.taken.schema)?;
        let content = model.to_json(&model.build_example(&one.taken.name.local)?).ok()?;
        Some(json!({"data": {&one.name: content}}).to_string())
    });
    let names: Vec<&str> = open.iter().map(|one| one.name.as_str()).take(32).collect();
    let fix = match example {
        Some(example) => format!("there are {}; as {example}", names.join(", ")),
        None => "no skill is open to this client".to_owned(),
    };
    A2aFault::refuse_params(format!("{why}; {fix}"))
}
