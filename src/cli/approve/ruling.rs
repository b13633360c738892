//! Carries out a person's decision: through the organism that runs on the log, or through one that is started here
//! only for that and sends nothing.
//!
//! Orders come in, each about one request. The result of each is printed; the exit is that of the first refused
//! order.

use crate::cli::exit::Exit;
use crate::cli::here;
use crate::cli::place::Place;
use crate::cli::refused;
use crate::cli::screen::Screen;
use crate::console::api_types::{Outcome, Refusal, Ruled, Ruling};
use crate::console::client::{Client, Unheard};
use crate::runtime::runfile::RunFile;
use crate::runtime::validators::PersonOrder;
use crate::runtime::waiting::Reply;
use systole_core::types::person::{PersonRequestId, Says};

/// Carries out orders, each separately. The exit is that of the first refused order.
pub(in crate::cli) fn rule(place: &Place, orders: Vec<PersonOrder>) -> Result<Exit, Exit> {
    let screen = place.screen();
    let log = place.log(screen)?;
    let several = orders.len() > 1;
    let (mut exits, mut left) = (Vec::new(), orders.into_iter().peekable());
    if let Some(run) = RunFile::of(&log) {
        place.set_nothing(screen, &run)?;
        let client = Client::of(&run);
        while let Some(order) = left.peek() {
            match client.rule(&order.request.to_string(), &spoken(order)) {
                Ok(Ok(ruled)) => exits.push(done(screen, &ruled, true)),
                Ok(Err(refusal)) => exits.push(not_done(screen, several.then_some(order.request), &refusal)),
                // The organism in the run file is stopping or gone. If it still has the log, starting reports that.
                Err(Unheard::Unreachable { .. }) => break,
                Err(unheard) => return Err(screen.fail(Exit::Unavailable, unheard)),
            }
            left.next();
        }
    }
    let left: Vec<PersonOrder> = left.collect();
    if !left.is_empty() {
        let work =
            async { Box::pin(in_process(screen, place, left, several)).await.unwrap_or_else(|exit| exit) };
        exits.push(here::with_runtime(screen, work));
    }
    Ok(exits.into_iter().find(|exit| *exit != Exit::Done).unwrap_or(Exit::Done))
}

/// The order in the form of an organism's door.
fn spoken(order: &PersonOrder) -> Ruling {
    let (payload, choice) = match &order.says {
        // Bytes that are not UTF-8 were refused before.
        Says::Amend(bytes) => (Some(String::from_utf8_lossy(bytes).into_owned()), None),
        Says::Choose(choice) => (None, choice.clone()),
        Says::Approve | Says::Reject => (None, None),
    };
    let hash = order.hash.map(|hash| hash.to_string());
    Ruling { outcome: Outcome::of(&order.says), note: order.note.clone(), hash, payload, choice }
}

async fn in_process(
    screen: Screen,
    place: &Place,
    orders: Vec<PersonOrder>,
    several: bool,
) -> Result<Exit, Exit> {
    let file = place.organism(screen)?;
    let organism = Box::pin(here::start_still(screen, place, file)).await?;
    let mut exit = Exit::Done;
    for order in orders {
        let (id, ruled) = (order.request, Ruled::of(order.request, &order.says));
        let ended = match organism.front().rule(order).await {
            Some(Reply::Refused(refusal)) => {
                not_done(screen, several.then_some(id), &Refusal::from(&*refusal))
            }
            Some(Reply::Done | Reply::Receipt(..)) => done(screen, &ruled, false),
            None => screen.fail(Exit::Unavailable, "the organism ended before it answered"),
        };
        exit = if exit == Exit::Done { ended } else { exit };
    }
    let ended = organism.stop(std::time::Duration::ZERO).await;
    Ok(here::ended(screen, &ended).unwrap_or(exit))
}

fn done(screen: Screen, ruled: &Ruled, runs: bool) -> Exit {
    if screen.json {
        screen.value(ruled);
    } else {
        let waits = if runs { "" } else { "; its thread goes on when the organism runs" };
        let id = &ruled.approval;
        let how = match (ruled.outcome, &ruled.choice) {
            (Outcome::Approved, _) => format!("approval {id} is approved"),
            (Outcome::Rejected, _) => format!("approval {id} is rejected"),
            (Outcome::Amended, _) => format!("approval {id} is amended"),
            (Outcome::Chosen, Some(choice)) => format!("question {id} is answered: {choice}"),
            (Outcome::Chosen, None) => format!("question {id} is answered"),
        };
        screen.say(format!("{how}{waits}"));
    }
    Exit::Done
}

/// Among several orders, names the request for which nothing was done.
fn not_done(screen: Screen, id: Option<PersonRequestId>, refusal: &Refusal) -> Exit {
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
