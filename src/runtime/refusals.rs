//! Whom a broker did not let in, told to the pump where that broker tells it: one that somebody else operates. What the
//! organism's own broker refuses is read from its log.
//!
//! The first is told at once and the others by their number, so that whoever knocks without end fills no log. Whoever
//! hears does not keep the pump.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, interval};

use super::broker::telling;
use crate::edges::nats::{Broker, Refusal, Refusals};
use crate::edges::tally::{Event, LOOK, Tally, Tell};
use crate::edges::tasks::{self, Kind, Task};
use systole_core::pump::heart::Input;
use systole_core::types::codes::Code;

/// Who asks that all be told: one, at the end.
const ORDERS: usize = 1;

/// Who hears it.
pub(super) struct Ear {
    orders: mpsc::Sender<oneshot::Sender<()>>,
    task: Task,
}

impl Ear {
    /// Hears it from now on; none where that broker has nothing to tell.
    pub(super) async fn open(broker: Option<&Arc<Broker>>, pump: &mpsc::Sender<Input>) -> Option<Ear> {
        let refusals = match broker?.refusals().await {
            Ok(refusals) => refusals?,
            Err(words) => {
                tracing::debug!(%words, "whom the broker does not let in is not heard");
                return None;
            }
        };
        let (orders, ordered) = mpsc::channel(ORDERS);
        let task = tasks::start(Kind::Pump, hear(refusals, ordered, telling(pump)), async |_| ());
        Some(Ear { orders, task })
    }

    /// Has everything told that was only counted so far.
    pub(super) async fn settle(&self) {
        let (settled, is_settled) = oneshot::channel();
        // One that is gone has nothing to tell.
        if self.orders.send(settled).await.is_ok() {
            let _gone = is_settled.await;
        }
    }

    /// Hears no more, and waits for that.
    pub(super) async fn close(self) {
        drop(self.orders);
        self.task.over().await;
    }
}

async fn hear(mut refusals: Refusals, mut ordered: mpsc::Receiver<oneshot::Sender<()>>, tell: Tell) {
    let (mut tally, mut look) = (Tally::default(), interval(LOOK));
    loop {
        let is_asked = tokio::select! {
            // What has come is counted before anybody hears how much it was.
            biased;
            refusal = refusals.next() => {
                let Some(refusal) = refusal else { return };
                tally.count(event(refusal));
                None
            }
            _ = look.tick() => None,
            order = ordered.recv() => {
                let Some(settled) = order else { return };
                Some(settled)
            }
        };
        tally.tell(Instant::now(), is_asked.is_some(), &*tell);
        if let Some(settled) = is_asked {
            // Whoever asked and left does not wait.
            let _gone = settled.send(());
        }
    }
}

fn event(refusal: Refusal) -> Event {
    let example = refusal.from.map_or_else(String::new, |from| format!(": from {from}"));
    Event { code: Code::BusViolation, what: Event::NOT_LET_IN.to_owned(), example }
}
