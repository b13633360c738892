//! `systole demo`: four small programs talk through the pump, one of them mends what was refused, a child
//! thread answers, the process is killed in the middle and goes on, and a person is asked. Everything shown
//! is read from the log or from the organism's own door while it happens; nothing is written down beforehand.

mod page;
mod person;
mod stage;

use std::path::Path;

use clap::Args;

use super::exit::Exit;
use super::screen::Screen;
use crate::audit::glance::told;
use crate::console::client::{Client, Letter, Unheard};
use crate::console::told::{Outcome, Record, Ruling};
use crate::edges::log::sqlite;
use crate::words::ids::Digest;
use crate::words::ports::{LogFault, LogReader as _};
use page::Page;
use stage::{Actor, Stage};

/// Shows a message all the way: judged, recorded, refused and mended, killed and come back, approved by you.
///
/// Needs no key, no account and no server; it writes only into a folder of its own below the folder
/// for temporary files, and begins afresh each time.
#[derive(Args, Debug)]
pub(super) struct Demo {}

const ORDER: &str = "<order xmlns=\"https://xml-pipeline.org/ns/clerk/v1\"><item>tea</item>\
                     <quantity>500</quantity><street>Main Street</street></order>";

/// Why the demo could not be shown.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("{0}")]
    Stage(String),
    #[error(transparent)]
    Unheard(#[from] Unheard),
    #[error(transparent)]
    Log(#[from] LogFault),
    #[error("the order was refused: {0}")]
    Refused(String),
    #[error("the organism fell silent before {0}")]
    Silent(&'static str),
    #[error("the order ended as {0}, and not with an invoice")]
    Failed(String),
}

impl Demo {
    pub(super) fn run(self) -> Exit {
        let screen = Screen::of_process(false);
        match play(&Page::new(screen)) {
            Ok(()) => Exit::Done,
            Err(fault @ Fault::Failed(_)) => screen.fail(Exit::Failed, fault),
            Err(fault) => screen.fail(Exit::Unavailable, fault),
        }
    }
}

fn play(page: &Page) -> Result<(), Fault> {
    let stage = Stage::lay(person::is_there()).map_err(Fault::Stage)?;
    let log = stage.log();
    page.heading("A shop in four programs");
    page.words("A clerk in Python takes orders. The stock, the courier and the till are shell scripts. They know nothing of each other but the schemas of what they exchange.");
    let mut actor = Actor::start(&stage).map_err(Fault::Stage)?;
    page.fact(&["the organism runs as process ", &actor.pid().to_string()].concat());

    page.heading("An order goes in");
    page.xml(ORDER);
    let client = Client::of(&actor.reached());
    let letter = Letter { key: "demo-order", to: None, thread: None, document: ORDER.as_bytes() };
    let receipt = client.send(&letter)?.map_err(|refusal| Fault::Refused(refusal.message))?;
    page.fact(&["on disk as record 1 of thread ", &receipt.thread, "; only now is it acknowledged"].concat());

    let (seen, call) = first_half(page, &client, &log, &receipt.thread, receipt.position)?;

    page.heading("Now the process is killed");
    page.words("The stock is at work on it. SIGKILL: no handler runs, nothing is flushed.");
    let killed = actor.kill().map_err(Fault::Stage)?;
    page.fact(&["process ", &killed.to_string(), " is gone"].concat());
    let again = Actor::start(&stage).map_err(Fault::Stage)?;
    page.fact(&["started again as process ", &again.pid().to_string(), " on the same log"].concat());

    let client = Client::of(&again.reached());
    let invoice = second_half(page, &client, &receipt.thread, seen, &call)?;
    page.heading("The answer");
    page.xml(&invoice.body);
    again.stop().map_err(Fault::Stage)?;
    page.heading("What the log says of it");
    for line in stage.tree(&receipt.thread).map_err(Fault::Stage)? {
        page.line(&line);
    }
    page.next(&stage.next(&receipt.thread));
    Ok(())
}

/// Until the mended request has gone to the stock: its position, and the call it opened.
fn first_half(
    page: &Page,
    client: &Client,
    log: &Path,
    root: &str,
    from: u64,
) -> Result<(u64, String), Fault> {
    let mut child = None;
    for record in client.events(from, root, Some(stage::PATIENCE))? {
        let record = record?;
        match record.code.as_deref() {
            Some("todo") => {
                page.heading("The clerk writes down what it has to do");
                page.xml(&record.body);
            }
            Some("spawn") => {
                page.heading("The clerk sends the courier off in a thread of its own");
                page.xml(&record.body);
            }
            Some("begin") => child = Some(record.thread.clone()),
            Some("answer") => {
                page.fact(
                    &[
                        "confirmed: ",
                        child.as_deref().unwrap_or("a child thread"),
                        " is recorded before the courier hears of it",
                    ]
                    .concat(),
                );
            }
            Some("payload.invalid") => refused(page, log, &record)?,
            Some("final") if Some(&record.thread) == child.as_ref() => shipped(page, &record),
            Some("call") => {
                page.heading("Mended by its sender, who could only read");
                page.xml(&record.body);
                let call = [record.call.as_deref().unwrap_or_default(), "/", &numbers(&record)].concat();
                return Ok((record.position, call));
            }
            _ => {}
        }
    }
    Err(Fault::Silent("the stock was asked"))
}

fn numbers(record: &Record) -> String {
    [record.turn.unwrap_or(0).to_string(), ".".into(), record.ordinal.unwrap_or(0).to_string()].concat()
}

fn shipped(page: &Page, record: &Record) {
    page.heading("The child thread answers");
    page.xml(&record.body);
}

/// What was refused, byte for byte as the log keeps it, and what its sender was told.
fn refused(page: &Page, log: &Path, record: &Record) -> Result<(), Fault> {
    let error = told(record.body.as_bytes()).unwrap_or_default();
    page.heading("It asks the stock for goods, and is refused");
    let hash = page::attribute(&record.body, "hash").and_then(|hash| Digest::parse(&hash).ok());
    let kept = match hash {
        Some(hash) => sqlite::open_reading(log)?.document(hash)?,
        None => None,
    };
    page.xml(&String::from_utf8_lossy(&kept.unwrap_or_default()));
    page.pair("told", &[&error.code, ": ", &error.message].concat());
    page.pair("at", &error.path.unwrap_or_default());
    page.pair("expected", &error.expected.unwrap_or_default());
    page.pair("try", &error.mend.unwrap_or_default());
    Ok(())
}

/// From the restart to the invoice.
fn second_half(page: &Page, client: &Client, root: &str, from: u64, call: &str) -> Result<Record, Fault> {
    let mut asked = String::new();
    for record in client.events(from, root, Some(stage::PATIENCE))? {
        let record = record?;
        let own = record.thread == root && record.call.as_deref() == Some("1");
        match (record.kind.as_str(), record.code.as_deref()) {
            ("attempt", _) => {
                let listener = record.to.as_deref().unwrap_or_default();
                let number = page::attribute(&record.body, "number").unwrap_or_default();
                let words = ["the delivery to the ", listener, " may have been out: attempt ", &number];
                page.fact(&[&words.concat(), ", recorded first"].concat());
            }
            ("message", Some("final")) if own => return Ok(record),
            ("message", Some("final")) if record.call.as_deref() == Some(call) => {
                page.fact("the stock answers: one effect, though it was asked twice");
            }
            ("message", Some("final")) if record.thread != root => shipped(page, &record),
            ("message", Some("final")) => page.fact(&[&record.from, " has done it"].concat()),
            ("message", Some("call")) => asked = record.body,
            ("approval", Some("requested")) => decide(page, client, &asked, &record)?,
            ("approval", Some(_)) => decided(page, &record),
            ("timer", Some("fired")) => {
                page.heading("Meanwhile a timer fires that the clerk had set");
                page.xml(&record.body);
            }
            ("refusal", Some("todo-open")) => {
                page.heading("It answers though a step is open, and is asked about it once");
                page.xml(&record.body);
            }
            ("outcome", Some(code)) if own => return Err(Fault::Failed(code.to_owned())),
            _ => {}
        }
    }
    Err(Fault::Silent("the invoice"))
}

/// Has the person at the terminal decide about a payload that waits.
fn decide(page: &Page, client: &Client, asked: &str, request: &Record) -> Result<(), Fault> {
    let id = page::attribute(&request.body, "id").unwrap_or_default();
    page.heading("A large sum: a person has to approve it");
    page.xml(asked);
    page.xml(&request.body);
    let Some(approves) = person::approves(page, stage::EXPIRES) else {
        page.fact("nobody here answers, so the request expires");
        return Ok(());
    };
    let outcome = if approves { Outcome::Approved } else { Outcome::Rejected };
    let note = (!approves).then(|| "too much tea".to_owned());
    let hash = page::attribute(&request.body, "hash");
    // What was decided or has expired meanwhile is no fault: the log tells what became of it.
    if let Err(refusal) = client.rule(&id, &Ruling { outcome, note, hash, payload: None })? {
        page.fact(&refusal.message);
    }
    Ok(())
}

fn decided(page: &Page, record: &Record) {
    let said = |name| page::attribute(&record.body, name).unwrap_or_default();
    let how = match said("outcome").as_str() {
        "expired" => " has expired".to_owned(),
        outcome => [" is ", outcome, " by ", &said("by")].concat(),
    };
    page.fact(&["approval ", &said("id"), &how].concat());
}
