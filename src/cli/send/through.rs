//! The two ways of a payload: to an organism that runs elsewhere, over its door, or through one that
//! is started here for it. Both give the same receipt, the same answer and the same exit.

use std::path::Path;
use std::time::Duration;

use super::super::awaited::{is_paused, waits_for_a_person};
use super::super::here as process;
use super::super::live;
use super::super::run::Signals;
use super::{Exit, Parcel, Place, Screen, Waiter, not_taken, taken, too_late};
use crate::console::client::{Client, Unheard};
use crate::console::events::Follower;
use crate::console::told::{Receipt, Refusal};
use crate::edges::log::sqlite;
use crate::organism::running::{Message, Organism};
use crate::organism::waiting::Reply;
use crate::words::ids::{Name, ThreadId};
use crate::words::ports::Position;

/// The rest of the way through an organism that runs elsewhere and has answered.
pub(in crate::cli) fn elsewhere(
    screen: Screen,
    log: &Path,
    client: &Client,
    parcel: &Parcel,
    decided: Result<Receipt, Box<Refusal>>,
) -> Exit {
    let receipt = match decided {
        Ok(receipt) => receipt,
        Err(refusal) => return not_taken(screen, &refusal),
    };
    taken(screen, &receipt, parcel);
    if !parcel.wait {
        return Exit::Done;
    }
    // A log that cannot be read here is only followed: then a person is waited for like anybody.
    let reader = sqlite::open_reading(log).ok();
    let halted = || reader.as_ref().is_some_and(|reader| waits_for_a_person(reader, &receipt.thread));
    let mut waiter = Waiter::new(screen, &receipt, parcel.spoken, halted);
    if reader.as_ref().is_some_and(|reader| is_paused(reader, &receipt.thread))
        && let Some(exit) = waiter.halt()
    {
        return exit;
    }
    let events = match client.events(receipt.position, &receipt.thread, parcel.timeout) {
        Ok(events) => Some(events),
        // It answered a moment ago, so it ended since.
        Err(Unheard::Unreachable { .. }) => None,
        Err(unheard) => return screen.fail(Exit::Unavailable, unheard),
    };
    for record in events.into_iter().flatten() {
        match record {
            Ok(record) => {
                if let Some(exit) = waiter.take(&record) {
                    return exit;
                }
            }
            Err(Unheard::TooLate) => return too_late(screen, &receipt),
            // It was killed, or stopped at once; a stream that just ends says the same.
            Err(Unheard::Unreachable { .. }) => break,
            Err(unheard) => return screen.fail(Exit::Unavailable, unheard),
        }
    }
    let words =
        ["the organism stopped before the answer; thread ", &receipt.thread, " goes on when it runs again"];
    screen.fail(Exit::Unavailable, words.concat())
}

/// The whole way through an organism in this process.
pub(in crate::cli) fn here(screen: Screen, place: &Place, parcel: &Parcel) -> Exit {
    process::with_runtime(screen, async {
        Box::pin(whole(screen, place, parcel)).await.unwrap_or_else(|e| e)
    })
}

async fn whole(screen: Screen, place: &Place, parcel: &Parcel) -> Result<Exit, Exit> {
    let file = place.organism(screen)?;
    let mut signals = Signals::listen(screen)?;
    let organism = Box::pin(process::start(screen, place, file)).await?;
    let exit = Box::pin(one(screen, &organism, parcel, &mut signals)).await;
    // What else was out may land; nobody waits for it longer than that.
    let grace = if parcel.wait { process::GRACE } else { Duration::ZERO };
    tokio::select! {
        ended = organism.stop(grace) => Ok(process::ended(screen, &ended).unwrap_or(exit)),
        _ = signals.next() => Err(Exit::Stopped),
    }
}

/// Hands it to an organism in this process and waits for its answer.
pub(in crate::cli) async fn one(
    screen: Screen,
    organism: &Organism,
    parcel: &Parcel,
    signals: &mut Signals,
) -> Exit {
    let receipt = match ask(organism, parcel).await {
        Ok(receipt) => receipt,
        Err(Some(refusal)) => return not_taken(screen, &refusal),
        Err(None) => return screen.fail(Exit::Unavailable, "the organism ended before it answered"),
    };
    taken(screen, &receipt, parcel);
    if !parcel.wait {
        return Exit::Done;
    }
    let waiting = wait(screen, organism, &receipt, parcel.spoken);
    tokio::select! {
        exit = within(parcel.timeout, waiting) => exit.unwrap_or_else(|| too_late(screen, &receipt)),
        _ = signals.next() => {
            halted(screen, organism, &receipt, parcel.spoken).await;
            Exit::Stopped
        }
    }
}

/// Somebody who asked in words and does not want the answer any more wants nobody to work on it; what was sent goes on.
async fn halted(screen: Screen, organism: &Organism, receipt: &Receipt, spoken: bool) {
    let thread = ThreadId::parse(&receipt.thread).ok().filter(|_| spoken);
    let cancelled = match thread {
        Some(thread) => organism.cancel(Name::operator(), thread).await,
        None => None,
    };
    match cancelled {
        Some(Reply::Done | Reply::Receipt(..)) => screen.say(["cancelled thread ", &receipt.thread].concat()),
        _ => screen.say("stopping; the thread goes on at the next start"),
    }
}

/// The work, unless it takes longer.
async fn within<T>(limit: Option<Duration>, work: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, work).await.ok(),
        None => Some(work.await),
    }
}

async fn ask(organism: &Organism, parcel: &Parcel) -> Result<Receipt, Option<Refusal>> {
    let front = organism.front();
    let client = Name::operator();
    let claimed = front.claimed(&client, &parcel.document);
    let message = Message {
        client,
        key: parcel.key.clone(),
        document: parcel.document.clone(),
        to: parcel.to.as_ref().map(ToString::to_string),
        thread: parcel.thread.clone(),
    };
    match front.ask(message).await {
        Some(Reply::Receipt(receipt, position)) => {
            let known = position.or_else(|| front.position_of(&receipt, &parcel.key).ok().flatten());
            Ok(Receipt::of(&receipt, known.unwrap_or_default(), parcel.key.as_str(), claimed))
        }
        Some(Reply::Refused(refusal)) => Err(Some(Refusal::from(&*refusal))),
        Some(Reply::Done) | None => Err(None),
    }
}

/// Follows the log until the answer is there.
async fn wait(screen: Screen, organism: &Organism, receipt: &Receipt, spoken: bool) -> Exit {
    let front = organism.front();
    let halted = || waits_for_a_person(&**front.reader(), &receipt.thread);
    let mut waiter = Waiter::new(screen, receipt, spoken, halted);
    if is_paused(&**front.reader(), &receipt.thread)
        && let Some(exit) = waiter.halt()
    {
        return exit;
    }
    let own = ThreadId::parse(&receipt.thread).ok();
    let from = front.began().min(Position(receipt.position));
    let mut follower = Follower::after(front, from, None);
    let mut heard = front.hear();
    loop {
        let page = tokio::select! {
            page = follower.next() => page,
            Ok(spoken) = heard.recv() => {
                if own.as_ref().is_some_and(|own| spoken.thread.is_within(own)) {
                    waiter.hear(spoken.listener.as_str(), &spoken.words);
                }
                continue;
            }
        };
        match page {
            Ok(Some(records)) => {
                for record in &records {
                    if let Some(words) = live::fallen(record).filter(|_| record.position > front.began().0) {
                        screen.say(words);
                    }
                    let thread = ThreadId::parse(&record.thread).ok();
                    let ours = own.as_ref().zip(thread).is_some_and(|(own, thread)| thread.is_within(own));
                    if ours
                        && record.position > receipt.position
                        && let Some(exit) = waiter.take(record)
                    {
                        return exit;
                    }
                }
            }
            Ok(None) => return screen.fail(Exit::Unavailable, "the organism ended before the answer"),
            Err(fault) => return process::log_fault(screen, &fault),
        }
    }
}
