//! `systole approve`, `reject`, `amend` and `choose`: a person's decision on waiting requests. Without an id,
//! `approve` lists the requests, from the log alone.
//!
//! An approval is always bound to the hash of the payload, and an answer to that of the question: either the one
//! shown here (`reading.rs`), or the one given with `--hash`. `ruling.rs` carries the decision out.

mod choose;
mod reading;
mod ruling;

pub(super) use choose::ChooseCommand;

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use systole_mcp::adapter::fill_form;

use super::exit::CommandExit;
use super::forms::{Forms, describe_tool, find_model};
use super::looking::{Looking, PastPosition};
use super::payload_from_fields;
use super::place::Place;
use super::send::read_document;
use ruling::rule_all;
use systole_core::types::ids::{Digest, Name};
use systole_core::types::limits;
use systole_core::types::person::{PersonDecision, PersonRequestId, RequestKind};
use systole_organism::validators::PersonOrder;
use systole_queries::persons::WaitingRequest;
use systole_queries::query::PayloadForms as _;

/// Approves payloads that wait for a person; without an id, lists all that wait.
///
/// Each payload is shown whole before it is approved. One that is longer than the screen is shown page by page; without
/// a terminal, --hash is needed.
#[derive(Args, Debug)]
#[command(after_help = r#"Examples:
  systole approve
  systole approve a1 --note "checked by phone"
  systole approve a1 a2
  systole approve --at 120"#)]
#[command(mut_arg("at", |at| at.conflicts_with_all(["ids", "hash", "note"])))]
pub(super) struct ApproveCommand {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    past: PastPosition,
    /// The approvals, as in a1 a2; none: list what waits
    #[arg(value_parser = parse_request, value_name = "ID")]
    ids: Vec<PersonRequestId>,
    #[command(flatten)]
    bound: BoundHashes,
    /// The reason; it is recorded
    #[arg(long, value_name = "TEXT", value_parser = parse_note, requires = "ids")]
    note: Option<String>,
}

/// Turns a payload down that waits for a person.
///
/// Its call fails with approval.rejected, and its caller reads the note.
#[derive(Args, Debug)]
#[command(after_help = r#"Examples:
  systole reject a1 --note "wrong account""#)]
pub(super) struct RejectCommand {
    #[command(flatten)]
    place: Place,
    /// The approval, as in a1
    #[arg(value_parser = parse_request)]
    id: PersonRequestId,
    #[command(flatten)]
    bound: BoundHashes,
    /// Why; the caller repairs its payload by it
    #[arg(long, value_name = "TEXT", value_parser = parse_note)]
    note: String,
}

/// Puts another payload in place of one that waits for a person.
///
/// It is judged by the same schema, and goes out under the name of the caller. With fields, the form of an MCP server
/// gets these values; any other payload is made of the fields alone, as `send` makes it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole amend a1 --file corrected.xml
  systole amend a1 name=Al seats=2")]
pub(super) struct AmendCommand {
    #[command(flatten)]
    place: Place,
    /// The approval, as in a1
    #[arg(value_parser = parse_request)]
    id: PersonRequestId,
    /// A field of it: seats=2
    #[arg(value_name = "FIELD=VALUE")]
    fields: Vec<String>,
    /// The payload; `-` is stdin, and so is nothing
    #[arg(long, value_name = "FILE", conflicts_with = "fields")]
    file: Option<PathBuf>,
    #[command(flatten)]
    bound: BoundHashes,
    /// The reason; it is recorded
    #[arg(long, value_name = "TEXT", value_parser = parse_note)]
    note: Option<String>,
}

/// The bytes that the word is bound to.
#[derive(Args, Debug)]
struct BoundHashes {
    /// SHA-256 of what you saw, or its first 8 digits or more
    #[arg(long, value_name = "HASH", value_parser = parse_hash)]
    hash: Option<String>,
}

impl BoundHashes {
    /// The full hash for that request: the log completes a beginning.
    fn find_hash(&self, place: &Place, id: PersonRequestId) -> Result<Option<Digest>, CommandExit> {
        let Some(typed) = &self.hash else { return Ok(None) };
        if let Ok(whole) = Digest::parse(typed) {
            return Ok(Some(whole));
        }
        let looking = Looking::open_anywhere(place)?;
        let waiting = looking.requests()?;
        let found = waiting.into_iter().find(|one| one.id == id);
        match found {
            Some(one) if one.hash.to_string().starts_with(typed.as_str()) => Ok(Some(one.hash)),
            Some(one) => {
                let words = format!("approval.mismatch: {id} is for bytes with the hash {}", one.hash);
                Err(looking.screen.fail(CommandExit::Payload, words))
            }
            // The organism reports why nothing with that id can be decided.
            None => Ok(Some(reading::build_no_hash())),
        }
    }
}

fn parse_hash(text: &str) -> Result<String, String> {
    let is_hash =
        (8..=64).contains(&text.len()) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    is_hash.then(|| text.to_owned()).ok_or_else(|| "8 to 64 hex digits".to_owned())
}

fn parse_request(text: &str) -> Result<PersonRequestId, String> {
    PersonRequestId::parse(text).ok_or_else(|| "a and a number, as in a1".to_owned())
}

fn parse_note(text: &str) -> Result<String, String> {
    match text.len() {
        _ if text.trim().is_empty() => Err("a note that is not empty".to_owned()),
        long if long > limits::PERSON_TEXT_BYTES => {
            Err(format!("at most {} bytes", limits::PERSON_TEXT_BYTES))
        }
        _ => Ok(text.to_owned()),
    }
}

impl ApproveCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        let ApproveCommand { place, past, ids, bound, note } = self;
        let screen = place.screen();
        let order = |request, hash| PersonOrder {
            by: Name::new_operator(),
            request,
            hash: Some(hash),
            note: note.clone(),
            says: PersonDecision::Approve,
        };
        match (ids.as_slice(), &bound.hash) {
            ([], _) => list_waiting(&place, past),
            ([id], Some(_)) => {
                let hash = bound.find_hash(&place, *id)?.unwrap_or_else(reading::build_no_hash);
                rule_all(&place, vec![order(*id, hash)])
            }
            (_, Some(_)) => Err(screen.fail(CommandExit::Usage, "--hash is for one approval; name one id")),
            (ids, None) => {
                let (read, unread) = reading::read_payloads(&place, RequestKind::Approval, ids)?;
                let orders: Vec<PersonOrder> = read.into_iter().map(|(id, hash)| order(id, hash)).collect();
                let ruled = if orders.is_empty() { CommandExit::Done } else { rule_all(&place, orders)? };
                Ok(if ruled == CommandExit::Done { unread } else { ruled })
            }
        }
    }
}

impl RejectCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        let RejectCommand { place, id, bound, note } = self;
        rule_one(&place, id, &bound, Some(note), PersonDecision::Reject)
    }
}

impl AmendCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        let AmendCommand { place, id, fields, file, bound, note } = self;
        let screen = place.screen();
        if !fields.is_empty() {
            let (bytes, hash) = build_amended(&place, id, &fields)?;
            let hash = bound.find_hash(&place, id)?.or(Some(hash));
            return rule_all(&place, vec![build_amendment(id, hash, note, bytes)]);
        }
        let bytes = read_document(screen, file.as_deref())?;
        if std::str::from_utf8(&bytes).is_err() {
            return Err(screen.fail(CommandExit::Payload, "the payload is not UTF-8"));
        }
        rule_all(&place, vec![build_amendment(id, bound.find_hash(&place, id)?, note, bytes)])
    }
}

fn build_amendment(
    request: PersonRequestId,
    hash: Option<Digest>,
    note: Option<String>,
    bytes: Vec<u8>,
) -> PersonOrder {
    PersonOrder { by: Name::new_operator(), request, hash, note, says: PersonDecision::Amend(bytes) }
}

/// The payload that fields make in place of a waiting one, with the hash of the waiting one.
fn build_amended(
    place: &Place,
    id: PersonRequestId,
    fields: &[String],
) -> Result<(Vec<u8>, Digest), CommandExit> {
    let looking = Looking::open_anywhere(place)?;
    let screen = looking.screen;
    let waiting = looking.requests()?.into_iter().find(|one| one.id == id);
    let Some((one, (element, payload))) = waiting.as_ref().and_then(|one| Some((one, one.payload()?))) else {
        let words = format!("{id} is no payload that waits");
        return Err(screen.fail_with(CommandExit::Payload, words, "systole approve, which lists what waits"));
    };
    let bytes = match fill_form(payload.as_bytes(), fields) {
        Some(Ok(filled)) => filled.bytes().to_vec(),
        Some(Err(words)) => return Err(screen.fail(CommandExit::Payload, words)),
        None => {
            let model = find_model(&*looking.view, one.config, payload.as_bytes());
            let words = || format!("the schema of {element} cannot be read: amend it with --file");
            let model = model.ok_or_else(|| screen.fail(CommandExit::Configuration, words()))?;
            payload_from_fields::build_payload(screen, &model, element, fields)?
        }
    };
    Ok((bytes, one.hash))
}

fn rule_one(
    place: &Place,
    request: PersonRequestId,
    bound: &BoundHashes,
    note: Option<String>,
    says: PersonDecision<Vec<u8>>,
) -> Result<CommandExit, CommandExit> {
    let hash = bound.find_hash(place, request)?;
    rule_all(place, vec![PersonOrder { by: Name::new_operator(), request, hash, note, says }])
}

/// The waiting requests, from the log.
fn list_waiting(place: &Place, past: PastPosition) -> Result<CommandExit, CommandExit> {
    let looking = Looking::open_anywhere_at(place, past)?;
    let waiting = looking.requests()?;
    let screen = looking.screen;
    if screen.json {
        let forms = Forms::default();
        let dressed = |one: &WaitingRequest| {
            let mut value = one.as_json();
            forms.add_beside(&*looking.view, Some(one.config), "payload", &mut value);
            for shown in value.get_mut("shows").and_then(Value::as_array_mut).into_iter().flatten() {
                forms.add_beside(&*looking.view, Some(one.config), "payload", shown);
            }
            if let Some(request) = value.get_mut("request") {
                forms.add_beside(&*looking.view, Some(one.config), "payload", request);
            }
            value
        };
        let all: Vec<_> = waiting.iter().map(dressed).collect();
        screen.show_value(&json!({"running": looking.running, "approvals": all}));
        return Ok(CommandExit::Done);
    }
    for one in &waiting {
        let tool = describe_tool(&*looking.view, one);
        one.lines(looking.now, tool.as_deref(), true).iter().for_each(|line| screen.show_drawn(line));
    }
    if waiting.is_empty() {
        screen.say("nothing waits for a person");
    }
    looking.say_if_still(!waiting.is_empty());
    Ok(CommandExit::Done)
}
