//! Carries out orders: through the organism that runs on the log or elsewhere, or through one that is started here only for
//! that and sends nothing.
//!
//! Orders come in; the outcome of each is printed. The exit is that of the first one that was refused.

use super::exit::CommandExit;
use super::local_organism;
use super::place::Place;
use super::refusal_text;
use super::remote_organism::{OrganismElsewhere, report_silence};
use super::screen::Screen;
use super::thread_name;
use systole_api::types::ApiRefusal;
use systole_client::client::{DoorClient, DoorClientFault, DoorResult};
use systole_core::types::ids::ThreadId;
use systole_core::types::refusal::Refusal;
use systole_organism::front::OrganismHandle;
use systole_organism::runfile::RunFile;
use systole_organism::waiting::SenderReply;

/// What an organism in this process decides; `None` if it has ended.
pub(super) type DecidedHere<T> = Option<Result<T, Box<Refusal>>>;

/// An order that a command gives.
pub(super) trait LiveOrder {
    /// What an organism answers when it is carried out.
    type Done;

    /// The thread, as typed.
    fn thread(&self) -> Option<&str> {
        None
    }

    /// Gives it to a running organism.
    fn give_through(&self, client: &DoorClient, thread: Option<&ThreadId>) -> DoorResult<Self::Done>;

    /// Gives it to an organism in this process.
    async fn give_here(&self, front: &OrganismHandle, thread: Option<ThreadId>) -> DecidedHere<Self::Done>;

    /// Prints what was done. `runs` says whether the organism goes on.
    fn report_done(&self, screen: Screen, done: &Self::Done, runs: bool) -> CommandExit;

    /// Prints a line before a refusal.
    fn begin_refusal(&self, _: Screen) {}
}

/// The decision in a reply; `done` if the order was carried out.
pub(super) fn read_reply<T>(reply: SenderReply, done: T) -> Result<T, Box<Refusal>> {
    match reply {
        SenderReply::Refused(refusal) => Err(refusal),
        SenderReply::Done | SenderReply::Receipt(..) => Ok(done),
    }
}

/// Lets the running organism, or one started here, carry out an order.
pub(super) fn carry_out(place: &Place, order: impl LiveOrder) -> Result<CommandExit, CommandExit> {
    carry_out_all(place, vec![order])
}

/// The same for several orders, each separately.
pub(super) fn carry_out_all<O: LiveOrder>(place: &Place, orders: Vec<O>) -> Result<CommandExit, CommandExit> {
    let (screen, mut exits) = (place.screen(), Vec::new());
    if let Some(elsewhere) = OrganismElsewhere::find_named(place)? {
        for order in orders {
            let thread = order.thread().map(|typed| elsewhere.find_thread(typed)).transpose()?;
            let answered = order.give_through(&elsewhere.client, thread.as_ref());
            exits.push(report_decision(screen, &order, elsewhere.check_decision(answered)?, true));
        }
        return Ok(find_first_other(exits));
    }
    let log = place.log(screen)?;
    let found = orders.into_iter().map(|order| {
        let thread = order.thread().map(|typed| thread_name::find(screen, &log, typed)).transpose();
        thread.map(|thread| (order, thread))
    });
    let mut left = found.collect::<Result<Vec<_>, _>>()?.into_iter().peekable();
    if let Some(run) = RunFile::find_running(&log) {
        place.set_nothing(screen, &run)?;
        let client = DoorClient::from_run_file(&run);
        while let Some((order, thread)) = left.peek() {
            match order.give_through(&client, thread.as_ref()) {
                Ok(decided) => exits.push(report_decision(screen, order, decided, true)),
                // The organism in the run file is stopping or gone. If it still has the log, starting reports that.
                Err(DoorClientFault::Unreachable { .. }) => break,
                Err(fault) => return Err(report_silence(screen, &fault)),
            }
            left.next();
        }
    }
    if left.peek().is_some() {
        let work = Box::pin(carry_out_here(screen, place, left.collect()));
        exits.push(local_organism::with_runtime(screen, work).unwrap_or_else(|exit| exit));
    }
    Ok(find_first_other(exits))
}

/// The first exit that is not `Done`.
fn find_first_other(exits: Vec<CommandExit>) -> CommandExit {
    exits.into_iter().find(|exit| *exit != CommandExit::Done).unwrap_or(CommandExit::Done)
}

async fn carry_out_here<O: LiveOrder>(
    screen: Screen,
    place: &Place,
    orders: Vec<(O, Option<ThreadId>)>,
) -> Result<CommandExit, CommandExit> {
    let file = place.organism(screen)?;
    let organism = Box::pin(local_organism::start_without_deliveries(screen, place, file)).await?;
    let mut exits = Vec::new();
    for (order, thread) in orders {
        exits.push(match order.give_here(organism.handle(), thread).await {
            Some(decided) => {
                let decided = decided.map_err(|refusal| Box::new(ApiRefusal::from(&*refusal)));
                report_decision(screen, &order, decided, false)
            }
            None => screen.fail(CommandExit::Unavailable, "the organism ended before it answered"),
        });
    }
    let ended = organism.stop(std::time::Duration::ZERO).await;
    Ok(local_organism::report_end(screen, &ended).unwrap_or(find_first_other(exits)))
}

fn report_decision<O: LiveOrder>(
    screen: Screen,
    order: &O,
    decided: Result<O::Done, Box<ApiRefusal>>,
    runs: bool,
) -> CommandExit {
    match decided {
        Ok(done) => return order.report_done(screen, &done, runs),
        Err(refusal) if screen.json => screen.show_value(&refusal),
        Err(refusal) => {
            order.begin_refusal(screen);
            refusal_text::say(screen, &refusal);
        }
    }
    CommandExit::Payload
}
