//! Carries out a person's decision: through the organism that runs on the log or elsewhere, or through one that is
//! started here only for that and sends nothing.
//!
//! Orders come in, each about one request. The result of each is printed; the exit is that of the first refused
//! order.

use crate::cli::elsewhere::{OrganismElsewhere, report_silence};
use crate::cli::exit::CommandExit;
use crate::cli::here;
use crate::cli::place::Place;
use crate::cli::refused;
use crate::cli::screen::Screen;
use systole_core::types::person::{PersonDecision, PersonRequestId};
use systole_doors::api_types::{ApiRefusal, ApiRuling, DecisionAccepted, DecisionOutcome};
use systole_doors::client::{DoorClient, DoorClientFault};
use systole_organism::runfile::RunFile;
use systole_organism::validators::PersonOrder;
use systole_organism::waiting::SenderReply;

/// Carries out orders, each separately. The exit is that of the first refused order.
pub(in crate::cli) fn rule_all(place: &Place, orders: Vec<PersonOrder>) -> Result<CommandExit, CommandExit> {
    let screen = place.screen();
    let several = orders.len() > 1;
    if let Some(elsewhere) = OrganismElsewhere::find_named(place)? {
        let mut exits = Vec::new();
        for order in &orders {
            let answered = elsewhere.client.rule_request(&order.request.to_string(), &write_ruling(order));
            exits.push(match elsewhere.check_decision(answered)? {
                Ok(ruled) => report_ruling(screen, &ruled, true),
                Err(refusal) => report_not_done(screen, several.then_some(order.request), &refusal),
            });
        }
        return Ok(find_first_other(exits));
    }
    let log = place.log(screen)?;
    let (mut exits, mut left) = (Vec::new(), orders.into_iter().peekable());
    if let Some(run) = RunFile::find_running(&log) {
        place.set_nothing(screen, &run)?;
        let client = DoorClient::from_run_file(&run);
        while let Some(order) = left.peek() {
            match client.rule_request(&order.request.to_string(), &write_ruling(order)) {
                Ok(Ok(ruled)) => exits.push(report_ruling(screen, &ruled, true)),
                Ok(Err(refusal)) => {
                    exits.push(report_not_done(screen, several.then_some(order.request), &refusal))
                }
                // The organism in the run file is stopping or gone. If it still has the log, starting reports that.
                Err(DoorClientFault::Unreachable { .. }) => break,
                Err(fault) => return Err(report_silence(screen, &fault)),
            }
            left.next();
        }
    }
    let left: Vec<PersonOrder> = left.collect();
    if !left.is_empty() {
        let work = async {
            Box::pin(rule_in_process(screen, place, left, several)).await.unwrap_or_else(|exit| exit)
        };
        exits.push(here::with_runtime(screen, work));
    }
    Ok(find_first_other(exits))
}

/// The first exit that is not `Done`.
fn find_first_other(exits: Vec<CommandExit>) -> CommandExit {
    exits.into_iter().find(|exit| *exit != CommandExit::Done).unwrap_or(CommandExit::Done)
}

/// The order in the form of an organism's door.
fn write_ruling(order: &PersonOrder) -> ApiRuling {
    let (payload, choice) = match &order.says {
        // Bytes that are not UTF-8 were refused before.
        PersonDecision::Amend(bytes) => (Some(String::from_utf8_lossy(bytes).into_owned()), None),
        PersonDecision::Choose(choice) => (None, choice.clone()),
        PersonDecision::Approve | PersonDecision::Reject => (None, None),
    };
    let hash = order.hash.map(|hash| hash.to_string());
    ApiRuling {
        outcome: DecisionOutcome::from_decision(&order.says),
        note: order.note.clone(),
        hash,
        payload,
        choice,
    }
}

async fn rule_in_process(
    screen: Screen,
    place: &Place,
    orders: Vec<PersonOrder>,
    several: bool,
) -> Result<CommandExit, CommandExit> {
    let file = place.organism(screen)?;
    let organism = Box::pin(here::start_without_deliveries(screen, place, file)).await?;
    let mut exit = CommandExit::Done;
    for order in orders {
        let (id, ruled) = (order.request, DecisionAccepted::from_decision(order.request, &order.says));
        let ended = match organism.handle().rule_request(order).await {
            Some(SenderReply::Refused(refusal)) => {
                report_not_done(screen, several.then_some(id), &ApiRefusal::from(&*refusal))
            }
            Some(SenderReply::Done | SenderReply::Receipt(..)) => report_ruling(screen, &ruled, false),
            None => screen.fail(CommandExit::Unavailable, "the organism ended before it answered"),
        };
        exit = if exit == CommandExit::Done { ended } else { exit };
    }
    let ended = organism.stop(std::time::Duration::ZERO).await;
    Ok(here::report_end(screen, &ended).unwrap_or(exit))
}

fn report_ruling(screen: Screen, ruled: &DecisionAccepted, runs: bool) -> CommandExit {
    if screen.json {
        screen.show_value(ruled);
    } else {
        let waits = if runs { "" } else { "; its thread goes on when the organism runs" };
        let id = &ruled.approval;
        let how = match (ruled.outcome, &ruled.choice) {
            (DecisionOutcome::Approved, _) => format!("approval {id} is approved"),
            (DecisionOutcome::Rejected, _) => format!("approval {id} is rejected"),
            (DecisionOutcome::Amended, _) => format!("approval {id} is amended"),
            (DecisionOutcome::Chosen, Some(choice)) => format!("question {id} is answered: {choice}"),
            (DecisionOutcome::Chosen, None) => format!("question {id} is answered"),
        };
        screen.say(format!("{how}{waits}"));
    }
    CommandExit::Done
}

/// Among several orders, names the request for which nothing was done.
fn report_not_done(screen: Screen, id: Option<PersonRequestId>, refusal: &ApiRefusal) -> CommandExit {
    if screen.json {
        screen.show_value(refusal);
    } else {
        if let Some(id) = id {
            screen.say(format!("approval {id} is not decided:"));
        }
        refused::say(screen, refusal);
    }
    CommandExit::Payload
}
