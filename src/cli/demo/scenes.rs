//! The two halves of the demo, as the records of its thread tell them: until the process is killed, and from its next start to
//! the answer. Records come in, from the organism's door; they are shown, and at one of them a person is asked.

use std::path::Path;

use systole_kit::{Limits, Payload};

use super::page::{self, Page};
use super::{Fault, person, stage};
use crate::audit::glance::{glance, told};
use crate::console::client::Client;
use crate::console::told::{Outcome, Record, Ruling};
use crate::edges::log::sqlite;
use crate::words::ids::Digest;
use crate::words::ports::LogReader as _;

/// Until the child thread's model has begun to answer: the position of the record that says so.
pub(super) fn until_a_model_is_asked(
    page: &Page,
    client: &Client,
    log: &Path,
    root: &str,
    from: u64,
) -> Result<u64, Fault> {
    let mut child = None;
    let (mut has_plan, mut is_mended, mut waits) = (false, false, false);
    let mut begun = None;
    for record in client.events(from, root, Some(stage::PATIENCE))? {
        let record = record?;
        match (record.kind.as_str(), record.code.as_deref()) {
            ("message", Some("note")) if !has_plan => {
                page.heading("The coordinator thinks, and notes what is to be done");
                page.xml(&record.body);
                has_plan = true;
            }
            ("message", Some("note")) => thought(page, &record),
            ("message", Some("begin")) => child = Some(record.thread.clone()),
            ("message", Some("call")) => {
                page.heading("Mended by its sender, who could only read");
                page.xml(&record.body);
                is_mended = true;
            }
            ("message", Some("final")) if is_mended => {
                page.heading(&["The ", &record.from, " answers"].concat());
                page.xml(&record.body);
            }
            ("message", Some("spawn")) => {
                page.heading("It sends a researcher off in a thread of its own");
                page.xml(&record.body);
            }
            ("message", Some("answer")) if record.body.contains("thread-spawned") => {
                let child = child.as_deref().unwrap_or("a child thread");
                let words = ["confirmed: ", child, " is recorded before the researcher hears of it"];
                page.fact(&words.concat());
            }
            ("refusal", Some("payload.invalid")) => refused(page, log, &record)?,
            ("journal", Some("model-started")) if Some(&record.thread) == child.as_ref() => {
                page.fact("its model is asked, which is on disk before the request goes out");
                begun = Some(record.position);
            }
            ("message", Some("await")) => waits = true,
            ("outcome", Some(code)) => return Err(Fault::Failed(code.to_owned())),
            _ => {}
        }
        // The coordinator's own model has answered, so that the kill strikes the researcher's alone.
        if let Some(position) = begun.filter(|_| waits) {
            return Ok(position.max(record.position));
        }
    }
    Err(Fault::Silent("a thread of its own thought"))
}

/// From the restart to the answer.
pub(super) fn until_it_is_answered(
    page: &Page,
    client: &Client,
    root: &str,
    from: u64,
) -> Result<Record, Fault> {
    for record in client.events(from, root, Some(stage::PATIENCE))? {
        let record = record?;
        let own = record.thread == root && record.call.as_deref() == Some("1");
        match (record.kind.as_str(), record.code.as_deref()) {
            ("attempt", Some(code)) => {
                let listener = record.to.as_deref().unwrap_or_default();
                let number = page::attribute(&record.body, "number").unwrap_or_default();
                page.fact(&["attempt ", &number, " at the ", listener, ", recorded first: ", code].concat());
                page.fact(&read(&record).map(|payload| payload.text()).unwrap_or_default());
            }
            ("message", Some("note")) => thought(page, &record),
            ("message", Some("final")) if own => return Ok(record),
            ("message", Some("final")) => {
                page.heading(&["The ", &record.from, " answers"].concat());
                page.xml(&record.body);
            }
            ("message", Some("call")) => {
                let to = record.to.as_deref().unwrap_or_default();
                page.heading(&["The ", &record.from, " asks the ", to].concat());
                page.xml(&record.body);
            }
            ("approval", Some("requested")) => decide(page, client, &record)?,
            ("approval", Some(_)) => decided(page, &record),
            ("outcome", Some(code)) if own => return Err(Fault::Failed(code.to_owned())),
            _ => {}
        }
    }
    Err(Fault::Silent("the answer"))
}

fn read(record: &Record) -> Option<Payload> {
    Payload::read(record.body.as_bytes(), &Limits::FROM_PUMP).ok()
}

/// What an agent thought, and how far its plan is.
fn thought(page: &Page, record: &Record) {
    page.said(&record.from, &glance(record.body.as_bytes()).words);
}

/// What was refused, byte for byte as the log keeps it, and what its sender was told.
fn refused(page: &Page, log: &Path, record: &Record) -> Result<(), Fault> {
    let error = told(record.body.as_bytes()).unwrap_or_default();
    page.heading("It asks the search for more than it may, and is refused");
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

/// Has the person at the terminal decide about a payload that waits.
fn decide(page: &Page, client: &Client, request: &Record) -> Result<(), Fault> {
    let id = page::attribute(&request.body, "id").unwrap_or_default();
    page.heading("Before it is on the board, a person has to approve it");
    page.xml(&request.body);
    let Some(approves) = person::approves(page, stage::EXPIRES) else {
        page.fact("nobody here answers, so the request expires");
        return Ok(());
    };
    let outcome = if approves { Outcome::Approved } else { Outcome::Rejected };
    let note = (!approves).then(|| "not today".to_owned());
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
