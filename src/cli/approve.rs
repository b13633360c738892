//! `systole approve`, `reject` and `amend`: a person's word on what waits, through the organism that runs
//! on the log or through one that is started here only for that and sends nothing. Without an id,
//! `approve` lists what waits, from the log alone.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::exit::Exit;
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

/// Lets a payload go that waits for a person; without an id, lists what waits.
#[derive(Args, Debug)]
pub(super) struct Approve {
    #[command(flatten)]
    place: Place,
    /// The approval, as in a1; none: list what waits
    #[arg(value_parser = approval)]
    id: Option<ApprovalId>,
    #[command(flatten)]
    bound: Bound,
    /// What for; it is recorded
    #[arg(long, value_name = "TEXT", value_parser = note, requires = "id")]
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
    /// The SHA-256 of the payload that was looked at: no other is decided on
    #[arg(long, value_name = "HASH", value_parser = Digest::parse)]
    hash: Option<Digest>,
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
        let Approve { place, id, bound, note } = self;
        match id {
            Some(id) => rule(&place, id, bound.hash, note, Says::Approve),
            None => list(&place),
        }
        .unwrap_or_else(|exit| exit)
    }
}

impl Reject {
    pub(super) fn run(self) -> Exit {
        let Reject { place, id, bound, note } = self;
        rule(&place, id, bound.hash, Some(note), Says::Reject).unwrap_or_else(|exit| exit)
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
            .and_then(|bytes| rule(&place, id, bound.hash, note, Says::Amend(bytes)))
            .unwrap_or_else(|exit| exit)
    }
}

/// What waits, from the log.
fn list(place: &Place) -> Result<Exit, Exit> {
    let looking = Looking::open(place)?;
    let waiting = approvals::waiting(&looking.reader).map_err(|fault| looking.fault(&fault))?;
    let screen = looking.screen;
    if screen.json {
        let all: Vec<_> = waiting.iter().map(approvals::Waiting::as_json).collect();
        screen.value(&json!({"running": looking.running, "approvals": all}));
        return Ok(Exit::Done);
    }
    waiting.iter().flat_map(|one| one.lines(looking.now)).for_each(|line| screen.drawn(&line));
    if waiting.is_empty() {
        screen.say("nothing waits for a person");
    } else {
        screen.say("systole approve ID, reject ID --note WHY, or amend ID --file FILE");
    }
    looking.say_if_still();
    Ok(Exit::Done)
}

fn rule(
    place: &Place,
    approval: ApprovalId,
    hash: Option<Digest>,
    note: Option<String>,
    says: Says<Vec<u8>>,
) -> Result<Exit, Exit> {
    let screen = place.screen();
    let log = place.log(screen)?;
    let order = Order { by: Name::operator(), approval, hash, note, says };
    if let Some(run) = RunFile::of(&log) {
        place.set_nothing(screen, &run)?;
        match Client::of(&run).rule(&approval.to_string(), &spoken(&order)) {
            Ok(Ok(ruled)) => return Ok(done(screen, &ruled, true)),
            Ok(Err(refusal)) => return Ok(not_done(screen, &refusal)),
            // What the file names is gone, or going. If it still has the log, starting will say so.
            Err(Unheard::Unreachable { .. }) => {}
            Err(unheard) => return Err(screen.fail(Exit::Unavailable, unheard)),
        }
    }
    let work = async { Box::pin(in_process(screen, place, order)).await.unwrap_or_else(|exit| exit) };
    Ok(here::with_runtime(screen, work))
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

async fn in_process(screen: Screen, place: &Place, order: Order) -> Result<Exit, Exit> {
    let file = place.organism(screen)?;
    let organism = Box::pin(here::start_still(screen, place, file)).await?;
    let outcome = Outcome::of(&order.says);
    let approval = order.approval.to_string();
    let exit = match organism.front().rule(order).await {
        Some(Reply::Refused(refusal)) => not_done(screen, &Refusal::from(&*refusal)),
        Some(Reply::Done | Reply::Receipt(..)) => done(screen, &Ruled { approval, outcome }, false),
        None => screen.fail(Exit::Unavailable, "the organism ended before it answered"),
    };
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

fn not_done(screen: Screen, refusal: &Refusal) -> Exit {
    if screen.json {
        screen.value(refusal);
    } else {
        refused::say(screen, refusal);
    }
    Exit::Payload
}
