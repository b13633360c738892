//! `systole approve`, `reject` and `amend`: a person's word on what waits, through the organism that runs
//! on the log or through one that is started here only for that and sends nothing. Without an id,
//! `approve` lists what waits, from the log alone.
//!
//! An approval is always bound to the hash of the payload: the one that was shown here (`reading.rs`), or the one that
//! was given with `--hash`.

mod reading;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::exit::Exit;
use super::forms::Forms;
use super::here;
use super::looking::Looking;
use super::place::Place;
use super::refused;
use super::screen::Screen;
use super::send::document;
use crate::audit::approvals;
use crate::console::client::{Client, Unheard};
use crate::console::told::{Outcome, Refusal, Ruled, Ruling};
use crate::organism::order::Order;
use crate::organism::runfile::RunFile;
use crate::organism::waiting::Reply;
use crate::words::approval::{ApprovalId, Says};
use crate::words::ids::{Digest, Name};
use crate::words::limits;

/// Approves payloads that wait for a person; without an id, lists them.
///
/// Each payload is shown whole before it is approved. One that is longer than the screen is shown page by page; where
/// nobody can turn the pages, --hash is needed.
#[derive(Args, Debug)]
pub(super) struct Approve {
    #[command(flatten)]
    place: Place,
    /// The approvals, as in a1 a2; none: list what waits
    #[arg(value_parser = approval, value_name = "ID")]
    ids: Vec<ApprovalId>,
    #[command(flatten)]
    bound: Bound,
    /// What for; it is recorded
    #[arg(long, value_name = "TEXT", value_parser = note, requires = "ids")]
    note: Option<String>,
}

/// Turns a payload down that waits for a person.
///
/// Its call fails with approval.rejected, and its caller reads the note.
#[derive(Args, Debug)]
pub(super) struct Reject {
    #[command(flatten)]
    place: Place,
    /// The approval, as in a1
    #[arg(value_parser = approval)]
    id: ApprovalId,
    #[command(flatten)]
    bound: Bound,
    /// Why; the caller mends its payload by it
    #[arg(long, value_name = "TEXT", value_parser = note)]
    note: String,
}

/// Puts another payload in place of one that waits for a person.
///
/// It is judged by the same schema, and goes out under the name of the caller.
#[derive(Args, Debug)]
pub(super) struct Amend {
    #[command(flatten)]
    place: Place,
    /// The approval, as in a1
    #[arg(value_parser = approval)]
    id: ApprovalId,
    /// The payload; `-` is stdin, and so is nothing
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    bound: Bound,
    /// What for; it is recorded
    #[arg(long, value_name = "TEXT", value_parser = note)]
    note: Option<String>,
}

/// The bytes that the word is bound to.
#[derive(Args, Debug)]
struct Bound {
    /// SHA-256 of the payload that you saw, or its first 8 digits or more
    #[arg(long, value_name = "HASH", value_parser = hash)]
    hash: Option<String>,
}

impl Bound {
    /// The hash that is meant for that approval: the whole of it, as the log has it.
    fn of(&self, place: &Place, id: ApprovalId) -> Result<Option<Digest>, Exit> {
        let Some(typed) = &self.hash else { return Ok(None) };
        if let Ok(whole) = Digest::parse(typed) {
            return Ok(Some(whole));
        }
        let looking = Looking::open(place)?;
        let waiting = approvals::waiting(&looking.reader).map_err(|fault| looking.fault(&fault))?;
        let found = waiting.into_iter().find(|one| one.id == id);
        match found {
            Some(one) if one.hash.to_string().starts_with(typed.as_str()) => Ok(Some(one.hash)),
            Some(one) => {
                let words = format!("approval.mismatch: {id} is for a payload with the hash {}", one.hash);
                Err(looking.screen.fail(Exit::Payload, words))
            }
            // The organism says why nothing of that id can be decided on.
            None => Ok(Some(reading::no_hash())),
        }
    }
}

fn hash(text: &str) -> Result<String, String> {
    let is_hash =
        (8..=64).contains(&text.len()) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    is_hash.then(|| text.to_owned()).ok_or_else(|| "8 to 64 hex digits".to_owned())
}

fn approval(text: &str) -> Result<ApprovalId, String> {
    ApprovalId::parse(text).ok_or_else(|| "a and a number, as in a1".to_owned())
}

fn note(text: &str) -> Result<String, String> {
    match text.len() {
        _ if text.trim().is_empty() => Err("a note that says something".to_owned()),
        long if long > limits::NOTE_BYTES => {
            Err(["at most ", &limits::NOTE_BYTES.to_string(), " bytes"].concat())
        }
        _ => Ok(text.to_owned()),
    }
}

impl Approve {
    pub(super) fn run(self) -> Exit {
        self.whole().unwrap_or_else(|exit| exit)
    }

    fn whole(self) -> Result<Exit, Exit> {
        let Approve { place, ids, bound, note } = self;
        let screen = place.screen();
        let order = |approval, hash| Order {
            by: Name::operator(),
            approval,
            hash: Some(hash),
            note: note.clone(),
            says: Says::Approve,
        };
        match (ids.as_slice(), &bound.hash) {
            ([], _) => list(&place),
            ([id], Some(_)) => {
                let hash = bound.of(&place, *id)?.unwrap_or_else(reading::no_hash);
                rule(&place, vec![order(*id, hash)])
            }
            (_, Some(_)) => Err(screen.fail(Exit::Usage, "--hash is for one approval; name one id")),
            (ids, None) => {
                let (read, unread) = reading::read(&place, ids)?;
                let orders: Vec<Order> = read.into_iter().map(|(id, hash)| order(id, hash)).collect();
                let ruled = if orders.is_empty() { Exit::Done } else { rule(&place, orders)? };
                Ok(if ruled == Exit::Done { unread } else { ruled })
            }
        }
    }
}

impl Reject {
    pub(super) fn run(self) -> Exit {
        let Reject { place, id, bound, note } = self;
        one(&place, id, &bound, Some(note), Says::Reject).unwrap_or_else(|exit| exit)
    }
}

impl Amend {
    pub(super) fn run(self) -> Exit {
        let Amend { place, id, file, bound, note } = self;
        let amended = document(place.screen(), file.as_deref());
        amended
            .and_then(|bytes| match std::str::from_utf8(&bytes) {
                Ok(_) => Ok(bytes),
                Err(_) => Err(place.screen().fail(Exit::Payload, "the payload is not UTF-8")),
            })
            .and_then(|bytes| one(&place, id, &bound, note, Says::Amend(bytes)))
            .unwrap_or_else(|exit| exit)
    }
}

fn one(
    place: &Place,
    approval: ApprovalId,
    bound: &Bound,
    note: Option<String>,
    says: Says<Vec<u8>>,
) -> Result<Exit, Exit> {
    let hash = bound.of(place, approval)?;
    rule(place, vec![Order { by: Name::operator(), approval, hash, note, says }])
}

/// What waits, from the log.
fn list(place: &Place) -> Result<Exit, Exit> {
    let looking = Looking::open(place)?;
    let waiting = approvals::waiting(&looking.reader).map_err(|fault| looking.fault(&fault))?;
    let screen = looking.screen;
    if screen.json {
        let forms = Forms::default();
        let dressed = |one: &approvals::Waiting| {
            let mut value = one.as_json();
            forms.beside(&looking.reader, Some(one.config), "payload", &mut value);
            if let Some(request) = value.get_mut("request") {
                forms.beside(&looking.reader, Some(one.config), "payload", request);
            }
            value
        };
        let all: Vec<_> = waiting.iter().map(dressed).collect();
        screen.value(&json!({"running": looking.running, "approvals": all}));
        return Ok(Exit::Done);
    }
    waiting.iter().flat_map(|one| one.lines(looking.now)).for_each(|line| screen.drawn(&line));
    if waiting.is_empty() {
        screen.say("nothing waits for a person");
    } else {
        screen.say("systole approve ID, reject ID --note WHY, or amend ID --file FILE");
    }
    looking.say_if_still(!waiting.is_empty());
    Ok(Exit::Done)
}

/// Has orders carried out, each by itself. The exit is that of the first that was refused.
fn rule(place: &Place, orders: Vec<Order>) -> Result<Exit, Exit> {
    let screen = place.screen();
    let log = place.log(screen)?;
    let several = orders.len() > 1;
    let (mut exits, mut left) = (Vec::new(), orders.into_iter().peekable());
    if let Some(run) = RunFile::of(&log) {
        place.set_nothing(screen, &run)?;
        let client = Client::of(&run);
        while let Some(order) = left.peek() {
            match client.rule(&order.approval.to_string(), &spoken(order)) {
                Ok(Ok(ruled)) => exits.push(done(screen, &ruled, true)),
                Ok(Err(refusal)) => exits.push(not_done(screen, several.then_some(order.approval), &refusal)),
                // What the file names is gone, or going. If it still has the log, starting will say so.
                Err(Unheard::Unreachable { .. }) => break,
                Err(unheard) => return Err(screen.fail(Exit::Unavailable, unheard)),
            }
            left.next();
        }
    }
    let left: Vec<Order> = left.collect();
    if !left.is_empty() {
        let work =
            async { Box::pin(in_process(screen, place, left, several)).await.unwrap_or_else(|exit| exit) };
        exits.push(here::with_runtime(screen, work));
    }
    Ok(exits.into_iter().find(|exit| *exit != Exit::Done).unwrap_or(Exit::Done))
}

/// The order as the door of an organism takes it.
fn spoken(order: &Order) -> Ruling {
    let payload = match &order.says {
        // What is no UTF-8 was refused before.
        Says::Amend(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Says::Approve | Says::Reject => None,
    };
    let hash = order.hash.map(|hash| hash.to_string());
    Ruling { outcome: Outcome::of(&order.says), note: order.note.clone(), hash, payload }
}

async fn in_process(screen: Screen, place: &Place, orders: Vec<Order>, several: bool) -> Result<Exit, Exit> {
    let file = place.organism(screen)?;
    let organism = Box::pin(here::start_still(screen, place, file)).await?;
    let mut exit = Exit::Done;
    for order in orders {
        let (id, outcome) = (order.approval, Outcome::of(&order.says));
        let ruled = match organism.front().rule(order).await {
            Some(Reply::Refused(refusal)) => {
                not_done(screen, several.then_some(id), &Refusal::from(&*refusal))
            }
            Some(Reply::Done | Reply::Receipt(..)) => {
                done(screen, &Ruled { approval: id.to_string(), outcome }, false)
            }
            None => screen.fail(Exit::Unavailable, "the organism ended before it answered"),
        };
        exit = if exit == Exit::Done { ruled } else { exit };
    }
    let ended = organism.stop(std::time::Duration::ZERO).await;
    Ok(here::ended(screen, &ended).unwrap_or(exit))
}

fn done(screen: Screen, ruled: &Ruled, runs: bool) -> Exit {
    if screen.json {
        screen.value(ruled);
    } else {
        let waits = if runs { "" } else { "; its thread goes on when the organism runs" };
        let how = match ruled.outcome {
            Outcome::Approved => " is approved",
            Outcome::Rejected => " is rejected",
            Outcome::Amended => " is amended",
        };
        screen.say(["approval ", &ruled.approval, how, waits].concat());
    }
    Exit::Done
}

/// Among several the approval is named for which nothing was done.
fn not_done(screen: Screen, id: Option<ApprovalId>, refusal: &Refusal) -> Exit {
    if screen.json {
        screen.value(refusal);
    } else {
        if let Some(id) = id {
            screen.say(format!("approval {id} is not decided:"));
        }
        refused::say(screen, refusal);
    }
    Exit::Payload
}
