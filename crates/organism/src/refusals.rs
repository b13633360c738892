//! Reports to the pump which connections a broker refused, if the broker reports them. This is for a broker that
//! others operate; for the organism's own broker the pump learns it from the broker's log.
//!
//! The first refusal is reported at once. Later ones are reported as a count, so that endless attempts cannot fill
//! the log. This module does not keep the pump alive.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, interval};

use super::broker::build_reporter;
use systole_bus::{Broker, RefusedConnection, RefusedConnections};
use systole_core::pump::engine::PumpInput;
use systole_core::types::codes::Code;
use systole_system::tally::{BrokerReporter, EventTally, TalliedEvent};
use systole_system::tasks::{self, RunningTask, TaskKind};

/// Receives the broker's reports.
pub(super) struct BrokerReports {
    orders: mpsc::Sender<oneshot::Sender<()>>,
    task: RunningTask,
}

impl BrokerReports {
    /// Starts to receive them. `None` if this broker reports none.
    pub(super) async fn open(
        broker: Option<&Arc<Broker>>,
        pump: &mpsc::Sender<PumpInput>,
    ) -> Option<BrokerReports> {
        let refusals = match broker?.watch_refusals().await {
            Ok(refusals) => refusals?,
            Err(words) => {
                tracing::debug!(why = words, "refused connections at the broker are not recorded");
                return None;
            }
        };
        let (orders, ordered) = mpsc::channel(crate::limits::ORDERS);
        let task = tasks::start_task(
            TaskKind::Pump,
            hear_refusals(refusals, ordered, build_reporter(pump)),
            async |_| (),
        );
        Some(BrokerReports { orders, task })
    }

    /// Reports all refusals that were only counted so far.
    pub(super) async fn settle_counts(&self) {
        let (settled, is_settled) = oneshot::channel();
        // If the task is gone, it has nothing to report.
        if self.orders.send(settled).await.is_ok() {
            let _gone = is_settled.await;
        }
    }

    /// Stops receiving, and waits until the task has ended.
    pub(super) async fn close(self) {
        drop(self.orders);
        self.task.wait_for_end().await;
    }
}

async fn hear_refusals(
    mut refusals: RefusedConnections,
    mut ordered: mpsc::Receiver<oneshot::Sender<()>>,
    tell: BrokerReporter,
) {
    let (mut tally, mut look) = (EventTally::default(), interval(systole_system::limits::TALLY_LOOK));
    loop {
        let is_asked = tokio::select! {
            // Count refusals that have already arrived before reporting the count.
            biased;
            refusal = refusals.next() => {
                let Some(refusal) = refusal else { return };
                tally.count_event(build_event(refusal));
                None
            }
            _ = look.tick() => None,
            order = ordered.recv() => {
                let Some(settled) = order else { return };
                Some(settled)
            }
        };
        tally.report_events(Instant::now(), is_asked.is_some(), &*tell);
        if let Some(settled) = is_asked {
            // The requester may have stopped waiting.
            let _gone = settled.send(());
        }
    }
}

fn build_event(refusal: RefusedConnection) -> TalliedEvent {
    let example = refusal.from.map_or_else(String::new, |from| format!(": from {from}"));
    TalliedEvent { code: Code::BusViolation, what: TalliedEvent::NOT_LET_IN.to_owned(), example }
}
