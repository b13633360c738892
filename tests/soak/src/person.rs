//! The person: reads requests as they come, and approves, rejects or amends them, sends a decision that
//! does not count, or stays silent. The decision depends only on the seed and the request, so it is the
//! same again after a kill in between.

use std::sync::Arc;
use std::time::Duration;

use super::board::NoticeBoard;
use super::client::{ClientTally, hex};
use super::dice::SeededDice;
use super::doorstep::Doorstep;
use super::guests;
use super::house::RunFolder;
use super::orders::{DoneOrder, OrderAction};
use systole_api::types::{ApiRecord, ApiRuling, DecisionOutcome};
use systole_client::client::DoorClient;
use systole_core::rules::approval_payload::read_request;
use systole_core::types::person::ApprovalRequest;

/// The longest duration of one look at the log.
const LOOK: Duration = Duration::from_millis(500);
/// How many records before its request a payload is searched: more than one commit has.
const BEFORE: u64 = 200;
/// The listener whose requests are never decided.
const SILENT: &str = "vault";

/// The person.
pub(crate) struct Person {
    board: Arc<NoticeBoard>,
    dice: SeededDice,
    doorstep: Doorstep,
    orders: Vec<DoneOrder>,
}

impl Person {
    pub(crate) fn new(house: &RunFolder, board: Arc<NoticeBoard>, dice: SeededDice) -> Person {
        let doorstep = Doorstep::new(house, guests::PIA, board.clone());
        Person { board, dice, doorstep, orders: Vec::new() }
    }

    /// Decides every request, until the run is over.
    pub(crate) fn work(mut self) -> ClientTally {
        let (mut after, mut seen) = (0, None);
        while !self.board.wants_nothing() {
            let Some((life, door)) = self.doorstep.at(seen) else { break };
            seen = Some(life);
            let Ok(events) = door.follow_records(after, Some("sys"), Some(LOOK)) else { continue };
            for record in events.map_while(Result::ok) {
                if let Some(request) = read_request(record.body.as_bytes())
                    && !decide(door, &record, &request, &self.dice, &mut self.orders)
                {
                    // The organism died before it answered; the next life is asked again.
                    break;
                }
                after = record.position;
            }
        }
        ClientTally { orders: self.orders, ..ClientTally::default() }
    }
}

/// Decides a request, or stays silent; false if the organism did not receive the decision.
fn decide(
    door: &DoorClient,
    record: &ApiRecord,
    request: &ApprovalRequest,
    dice: &SeededDice,
    orders: &mut Vec<DoneOrder>,
) -> bool {
    if request.to.as_str() == SILENT {
        return true;
    }
    let mut dice = dice.apart(request.id.0);
    let said = |outcome, note: Option<&str>, payload| {
        let note = note.map(str::to_owned);
        ApiRuling { outcome, note, hash: Some(request.hash.to_string()), payload, choice: None }
    };
    let ruling = match dice.below(100) {
        0..40 => said(DecisionOutcome::Approved, None, None),
        40..58 => said(DecisionOutcome::Rejected, Some("not like this"), None),
        // A call that was already delivered cannot be amended, and only a person can decide it.
        58..78 if request.unknown.is_some() => said(DecisionOutcome::Approved, Some("once more"), None),
        58..78 => match amendment(door, record, request) {
            Some(payload) => said(DecisionOutcome::Amended, Some("like this"), Some(payload)),
            None => said(DecisionOutcome::Approved, None, None),
        },
        // A decision for other bytes than the waiting ones does not count.
        78..83 => ApiRuling { hash: Some("0".repeat(64)), ..said(DecisionOutcome::Approved, None, None) },
        _ => return true,
    };
    let id = request.id.to_string();
    let Ok(heard) = door.rule_request(&id, &ruling) else { return false };
    if heard.is_ok() {
        let deed = match ruling.outcome {
            DecisionOutcome::Approved => OrderAction::Approved,
            DecisionOutcome::Rejected => OrderAction::Rejected,
            DecisionOutcome::Amended => OrderAction::Amended,
            // The soak asks no questions.
            DecisionOutcome::Chosen => return true,
        };
        orders.push(DoneOrder { on: id.clone(), deed });
        if dice.percent(10) {
            // A decision is final: if this one were accepted, the judge would find two outcomes.
            let _refused =
                door.rule_request(&id, &said(DecisionOutcome::Rejected, Some("on second thoughts"), None));
        }
    }
    true
}

/// The waiting payload with a different mark in it.
fn amendment(door: &DoorClient, record: &ApiRecord, request: &ApprovalRequest) -> Option<String> {
    let hash = request.hash.to_string();
    let from = record.position.saturating_sub(BEFORE);
    let root = request.thread.root_of();
    let mut events = door.follow_records(from, Some(root.as_str()), Some(LOOK)).ok()?.map_while(Result::ok);
    let waits = events.find(|waits| hex(waits.body.as_bytes()) == hash)?;
    Some(waits.body.replace("<mark>plain</mark>", "<mark>amended</mark>"))
}
