//! The way of a payload, through an organism that runs elsewhere or one that is started here for it: its receipt,
//! progress, answer, and end by Ctrl-C. Both ways print the same words.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, timeout_at};

use super::super::local_organism as process;
use super::super::signals::Signals;
use super::way::{NextEvent, OrderResult, OtherProcess, ParcelWay};
use super::{
    AnswerWaiter, CommandExit, OutgoingParcel, Place, Screen, report_receipt, report_refusal, report_too_late,
};
use crate::cli::refusal_text;
use crate::cli::remote_organism::{OrganismElsewhere, report_silence};
use systole_api::types::ApiReceipt;
use systole_client::client::DoorClient;

/// The whole way through an organism that runs elsewhere; `None` if that organism is gone.
pub(in crate::cli) fn send_elsewhere(
    screen: Screen,
    client: Arc<DoorClient>,
    log: Option<&Path>,
    parcel: &OutgoingParcel,
) -> Option<CommandExit> {
    let elsewhere = OtherProcess { client, log: log.map(Path::to_owned) };
    let came = process::with_runtime(screen, async {
        let mut signals = Signals::listen(screen)?;
        Ok(Box::pin(send_and_wait(screen, &ParcelWay::Elsewhere(&elsewhere), parcel, &mut signals)).await)
    });
    came.unwrap_or_else(Some)
}

/// The whole way through an organism on another machine.
pub(in crate::cli) fn send_afar(
    screen: Screen,
    organism: &OrganismElsewhere,
    parcel: &OutgoingParcel,
) -> CommandExit {
    send_elsewhere(screen, organism.client.clone(), None, parcel).unwrap_or_else(|| organism.report_gone())
}

/// The whole way through an organism in this process.
pub(in crate::cli) fn send_here(
    screen: Screen,
    place: &Place,
    parcel: &OutgoingParcel,
) -> Result<CommandExit, CommandExit> {
    process::with_runtime(screen, Box::pin(try_here(screen, place, parcel)))
}

async fn try_here(
    screen: Screen,
    place: &Place,
    parcel: &OutgoingParcel,
) -> Result<CommandExit, CommandExit> {
    let file = place.organism(screen)?;
    let mut signals = Signals::listen(screen)?;
    let organism = Box::pin(process::start_organism(screen, place, file)).await?;
    let exit = Box::pin(send_and_wait(screen, &ParcelWay::Here(&organism), parcel, &mut signals)).await;
    let exit = exit
        .unwrap_or_else(|| screen.fail(CommandExit::Unavailable, "the organism ended before it answered"));
    // Other pending replies may arrive during the grace period, but not longer.
    let grace = if parcel.wait { crate::limits::GRACE } else { Duration::ZERO };
    tokio::select! {
        ended = organism.stop(grace) => Ok(process::report_end(screen, &ended).unwrap_or(exit)),
        _ = signals.next() => Err(CommandExit::Stopped),
    }
}

/// Hands the payload to an organism and waits for its answer; `None` if no organism took it.
pub(in crate::cli) async fn send_and_wait(
    screen: Screen,
    way: &ParcelWay<'_>,
    parcel: &OutgoingParcel,
    signals: &mut Signals,
) -> Option<CommandExit> {
    let until = parcel.timeout.map(|limit| Instant::now() + limit);
    let mut handing = pin!(way.hand_in(parcel));
    // Whether it is accepted must be known before it can be cancelled.
    let mut is_over = false;
    let decided = loop {
        tokio::select! {
            decided = &mut handing => break decided,
            _ = signals.next() => if std::mem::replace(&mut is_over, true) { return Some(CommandExit::Stopped) },
        }
    };
    let receipt = match decided {
        OrderResult::Done(receipt) => receipt,
        OrderResult::Refused(refusal) => return Some(report_refusal(screen, &refusal)),
        OrderResult::NoOrganism => return None,
        OrderResult::Unheard(fault) => return Some(report_silence(screen, &fault)),
    };
    report_receipt(screen, &receipt, parcel);
    if !parcel.wait {
        return Some(CommandExit::Done);
    }
    if !is_over {
        let waiting = wait_for_answer(screen, way, &receipt, parcel.spoken);
        tokio::select! {
            exit = wait_until(until, waiting) => {
                return Some(exit.unwrap_or_else(|| report_too_late(screen, &receipt)));
            }
            _ = signals.next() => {}
        }
    }
    tokio::select! {
        () = handle_interrupt(screen, way, &receipt, parcel.spoken) => {}
        // A second signal ends the wait for the cancellation.
        _ = signals.next() => {}
    }
    Some(CommandExit::Stopped)
}

/// If a person asked in words and interrupts, the work is cancelled too; a sent payload continues.
async fn handle_interrupt(screen: Screen, way: &ParcelWay<'_>, receipt: &ApiReceipt, spoken: bool) {
    let goes_on = match way {
        ParcelWay::Here(_) => " goes on at the next start",
        ParcelWay::Elsewhere(_) => " goes on",
    };
    let Some(run) = receipt.read_run().filter(|_| spoken) else {
        return screen.say(format!("stopping; thread {}{goes_on}", receipt.thread));
    };
    match way.stop_run(run).await {
        OrderResult::Done(()) => {
            screen.say(format!("cancelled request {} of thread {}", receipt.call, receipt.thread));
        }
        OrderResult::Refused(refusal) => refusal_text::say(screen, &refusal),
        OrderResult::NoOrganism => screen.say(describe_stopped(&receipt.thread)),
        OrderResult::Unheard(unheard) => {
            let ApiReceipt { thread, call, .. } = receipt;
            screen.say(format!("request {call} of thread {thread} is not cancelled: {unheard}"));
            screen.say(format!("  try: systole cancel {thread} --call {call}"));
        }
    }
}

/// The message about a thread whose organism is gone.
fn describe_stopped(thread: &str) -> String {
    format!("the organism stopped before the answer; thread {thread} goes on when it runs again")
}

/// The work's result, unless it takes longer.
async fn wait_until<T>(until: Option<Instant>, work: impl Future<Output = T>) -> Option<T> {
    match until {
        Some(until) => timeout_at(until, work).await.ok(),
        None => Some(work.await),
    }
}

/// Follows the log until the answer comes, and shows progress reports.
async fn wait_for_answer(
    screen: Screen,
    way: &ParcelWay<'_>,
    receipt: &ApiReceipt,
    spoken: bool,
) -> CommandExit {
    let mut waiter = AnswerWaiter::new(screen, receipt, spoken, way);
    if way.is_paused(&receipt.thread)
        && let Some(exit) = waiter.exit_if_held()
    {
        return exit;
    }
    let mut source = way.follow_receipt(receipt);
    let mut ticks = tokio::time::interval(crate::limits::TICK);
    // The first tick comes at once, and missed ticks are not made up for.
    ticks.tick().await;
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let next = tokio::select! {
            next = source.next() => next,
            _ = ticks.tick() => {
                if let Some(exit) = waiter.tick(|| way.at_work(&receipt.thread)) {
                    return exit;
                }
                continue;
            }
        };
        match next {
            NextEvent::Record(record) => {
                if let Some(exit) = waiter.take_record(&record) {
                    return exit;
                }
            }
            NextEvent::Spoken(spoken) => waiter.take_report(&spoken),
            NextEvent::Fallen(words) => waiter.print_message(&words),
            NextEvent::Ended => {
                drop(waiter);
                return screen.fail(CommandExit::Unavailable, describe_stopped(&receipt.thread));
            }
            NextEvent::Fault(fault) => {
                drop(waiter);
                return process::report_log_fault(screen, &fault);
            }
            NextEvent::Unheard(fault) => {
                drop(waiter);
                return report_silence(screen, &fault);
            }
        }
    }
}
