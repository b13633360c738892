//! The steps of the demo, from the records of its thread: until the process is killed, until a person is asked, and
//! to the answer. Records come in through the organism's door; each is shown when it comes.

use std::path::Path;

use super::DemoFault;
use super::page::{self, DemoPage, LineStyle};
use super::person::{self, PersonAnswer};
use crate::limits;
use systole_api::types::{ApiRecord, ApiRuling, DecisionOutcome, FollowerEvent, ProgressReport};
use systole_client::client::DoorClient;
use systole_core::types::ids::Digest;
use systole_core::types::ports::LogReader as _;
use systole_log::sqlite;
use systole_queries::glance::{glance, read_error};

/// A model's partial answer.
pub(super) struct HalfSaid {
    /// The position of the last record that was read.
    pub(super) position: u64,
    /// The agent.
    pub(super) agent: String,
    /// The model's text so far.
    pub(super) words: String,
}

/// Until a model in a child thread has sent some words of its answer.
pub(super) fn wait_until_a_model_speaks(
    page: &DemoPage,
    client: &DoorClient,
    log: &Path,
    root: &str,
    from: u64,
) -> Result<HalfSaid, DemoFault> {
    let mut said = HalfSaid { position: from, agent: String::new(), words: String::new() };
    let mut waits = false;
    for heard in client.follow_reports(from, root, Some(limits::DEMO_STEP))? {
        match heard? {
            FollowerEvent::Record(record) => {
                said.position = said.position.max(record.position);
                waits |= record.code.as_deref() == Some("await");
                show_before_the_kill(page, log, root, &record)?;
            }
            FollowerEvent::Spoken(ProgressReport { listener, thread, words, .. }) if thread != root => {
                said.agent = listener;
                said.words.push_str(&words);
            }
            FollowerEvent::Spoken(_) => {}
        }
        // The coordinator's own model has answered, so the kill interrupts no other model.
        if waits && said.words.chars().count() >= limits::DEMO_SAID {
            return Ok(said);
        }
    }
    Err(DemoFault::Silent("a model spoke in a child thread"))
}

fn show_before_the_kill(
    page: &DemoPage,
    log: &Path,
    root: &str,
    record: &ApiRecord,
) -> Result<(), DemoFault> {
    match (record.kind.as_str(), record.code.as_deref()) {
        ("refusal", Some("payload.invalid")) => show_refused(page, log, record),
        ("message", Some("call")) if record.thread == root => {
            show_sent(page, &record.from, record.body.as_bytes());
            Ok(())
        }
        ("outcome", Some(code)) => Err(DemoFault::Failed(code.to_owned())),
        _ => Ok(()),
    }
}

/// What a listener sent, on one line.
fn show_sent(page: &DemoPage, sender: &str, payload: &[u8]) {
    let seen = glance(payload);
    page.print_fact(
        LineStyle::Plain,
        &format!("{sender} sends"),
        &format!("<{}> {}", seen.element, seen.words),
    );
}

/// A listener's refusal: the refused bytes from the log, and what the sender reads.
fn show_refused(page: &DemoPage, log: &Path, record: &ApiRecord) -> Result<(), DemoFault> {
    let error = read_error(record.body.as_bytes()).unwrap_or_default();
    let hash = page::find_attribute(&record.body, "hash").and_then(|hash| Digest::parse(&hash).ok());
    let kept = match hash {
        Some(hash) => sqlite::open_reading(log)?.read_document(hash)?,
        None => None,
    };
    page.print_heading("2. An agent makes a mistake, reads the refusal, and fixes it by itself");
    let sender = record.to.as_deref().unwrap_or_default();
    show_sent(page, sender, &kept.unwrap_or_default());
    page.print_fact(LineStyle::Bad, "refused", &error.message);
    page.print_fact(LineStyle::Plain, "with the fix", &error.fix.unwrap_or_default());
    Ok(())
}

/// From the restart to the request for approval.
pub(super) fn wait_until_a_person_is_asked(
    page: &DemoPage,
    client: &DoorClient,
    root: &str,
    from: u64,
    restarted: u32,
) -> Result<ApiRecord, DemoFault> {
    let (mut again, mut last_call) = (Vec::new(), None);
    for record in client.follow_records(from, Some(root), Some(limits::DEMO_STEP))? {
        let record = record?;
        match (record.kind.as_str(), record.code.as_deref()) {
            ("attempt", Some("model.unknown-outcome")) => again.extend(record.to),
            ("message", Some("final")) if record.thread != root && record.call.as_deref() == Some("1") => {
                let asked = if again.is_empty() { "no model".to_owned() } else { again.join(" and ") };
                let text = format!("process {restarted} reads the log, asks only {asked} again");
                page.print_fact(LineStyle::Plain, "restart", &text);
                let answer = glance(record.body.as_bytes()).words;
                page.print_fact(LineStyle::Good, &format!("{} answers", record.from), &answer);
            }
            ("message", Some("call")) => last_call = Some(record),
            ("approval", Some("requested")) => {
                page.print_heading("4. A person decides what goes on the board");
                last_call.iter().for_each(|call| show_sent(page, &call.from, call.body.as_bytes()));
                return Ok(record);
            }
            ("outcome", Some(code)) => return Err(DemoFault::Failed(code.to_owned())),
            _ => {}
        }
    }
    Err(DemoFault::Silent("a person was asked"))
}

/// Lets the person at the terminal decide, or says why no one does.
pub(super) fn decide_request(
    page: &DemoPage,
    client: &DoorClient,
    request: &ApiRecord,
) -> Result<(), DemoFault> {
    let id = page::find_attribute(&request.body, "id").unwrap_or_default();
    if !person::is_there() {
        page.print_line(LineStyle::Plain, "There is no terminal to ask at, so the request expires.");
        return Ok(());
    }
    let seconds = limits::DEMO_PERSON.as_secs();
    page.print_line(
        LineStyle::Bold,
        &format!("Do you approve? Type y or n, then Enter. It expires after {seconds} s."),
    );
    let (outcome, note) = match person::ask_person(page, limits::DEMO_PERSON) {
        PersonAnswer::Yes => (DecisionOutcome::Approved, None),
        PersonAnswer::No => (DecisionOutcome::Rejected, Some("not today")),
        PersonAnswer::Closed => {
            page.print_line(LineStyle::Plain, "There is no more input, so the demo rejects it.");
            (DecisionOutcome::Rejected, Some("the terminal was closed"))
        }
        PersonAnswer::Silence => {
            page.print_line(LineStyle::Plain, "No answer, so the request expires.");
            return Ok(());
        }
    };
    let hash = page::find_attribute(&request.body, "hash");
    let note = note.map(str::to_owned);
    // A request that expires at the same moment is not a fault: the log has the outcome.
    if let Err(refusal) =
        client.rule_request(&id, &ApiRuling { outcome, note, hash, payload: None, choice: None })?
    {
        page.print_line(LineStyle::Plain, &refusal.message);
    }
    Ok(())
}

/// From the decision to the answer.
pub(super) fn wait_until_it_is_answered(
    page: &DemoPage,
    client: &DoorClient,
    root: &str,
    from: u64,
) -> Result<ApiRecord, DemoFault> {
    for record in client.follow_records(from, Some(root), Some(limits::DEMO_STEP))? {
        let record = record?;
        let own = record.thread == root && record.call.as_deref() == Some("1");
        match (record.kind.as_str(), record.code.as_deref()) {
            ("message", Some("final")) if own => return Ok(record),
            ("approval", Some(_)) => show_decision(page, &record),
            ("outcome", Some(code)) if own => return Err(DemoFault::Failed(code.to_owned())),
            _ => {}
        }
    }
    Err(DemoFault::Silent("the answer"))
}

fn show_decision(page: &DemoPage, record: &ApiRecord) {
    let said = |name| page::find_attribute(&record.body, name).unwrap_or_default();
    let id = said("id");
    match said("outcome").as_str() {
        "expired" => page.print_line(LineStyle::Bad, &format!("Approval {id} has expired.")),
        "approved" => {
            page.print_line(LineStyle::Good, &format!("Approval {id}: approved by {}.", said("by")))
        }
        outcome => page.print_line(LineStyle::Bad, &format!("Approval {id}: {outcome} by {}.", said("by"))),
    }
}
