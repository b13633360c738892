//! One slot: it asks for a delivery when it is free, and renews the delivery while it works.
//!
//! It never drops a delivery that it asked for. When the worker is to stop, the slot waits for a pull that is on its
//! way, since the broker might answer it. A delivery that comes while the slot is busy, such as the answer to a pull
//! from before a broken connection, is renewed until its turn comes.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;

use async_nats::{Message, StatusCode, Subscriber};
use tokio::sync::watch;
use tokio::time::{Instant, interval, sleep, sleep_until};

use super::as_token;
use super::connection::choose_pause;
use super::held_delivery::HeldDelivery;
use super::news::WorkerFault;
use super::work::{WorkerState, next_message};
use crate::limits;

/// The request of a pull: one message, and 5 s of waiting at most. While a pull waits, a delivery may go to a client
/// that is gone, so the wait is short.
const PULL: &str = "{\"batch\":1,\"expires\":5000000000}";

/// The work on each delivery.
pub(super) type WorkFunction =
    Box<dyn Fn(HeldDelivery) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

pub(super) struct WorkerSlot {
    house: Arc<WorkerState>,
    work: Arc<WorkFunction>,
    ear: Subscriber,
    inbox: String,
    draining: watch::Receiver<bool>,
    made: watch::Receiver<u64>,
    /// The pulls that may still be answered, and until when.
    pulls: BTreeMap<u64, Instant>,
    pulled: u64,
    waiting: VecDeque<HeldDelivery>,
    /// How many pulls in a row the broker refused. A pull that finds no delivery is not refused.
    idle: u32,
}

impl WorkerSlot {
    pub(super) async fn open(
        house: Arc<WorkerState>,
        work: Arc<WorkFunction>,
        draining: watch::Receiver<bool>,
    ) -> Result<WorkerSlot, WorkerFault> {
        let inbox = house.connection.client.new_inbox();
        let ear = house.subscribe(format!("{inbox}.*")).await?;
        let made = house.connection.made.clone();
        Ok(WorkerSlot {
            house,
            work,
            ear,
            inbox,
            draining,
            made,
            pulls: BTreeMap::new(),
            pulled: 0,
            waiting: VecDeque::new(),
            idle: 0,
        })
    }

    /// Serves until the worker takes nothing more and every delivery taken is answered.
    #[expect(clippy::disallowed_methods, reason = "the only guard of its statement")]
    pub(super) async fn serve(mut self) {
        loop {
            self.pulls.retain(|_, until| *until > Instant::now());
            if let Some(held) = self.waiting.pop_front() {
                self.work_on(held).await;
            } else if !*self.draining.borrow() {
                self.pull().await;
            } else if self.pulls.is_empty() {
                return;
            } else {
                self.wait_for_answer().await;
            }
        }
    }

    /// Asks for the next delivery, and waits for the outcome.
    async fn pull(&mut self) {
        self.pulled += 1;
        let (listener, stream) = (as_token(&self.house.listener), self.house.stream());
        let api = format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{listener}");
        let answer = format!("{}.{}", self.inbox, self.pulled);
        self.made.mark_unchanged();
        self.pulls.insert(self.pulled, Instant::now() + limits::PATIENCE + limits::PULL_MARGIN);
        if self.house.connection.client.publish_with_reply(api, answer, PULL.into()).await.is_err() {
            self.pulls.remove(&self.pulled);
            return self.pause_pulls("the connection takes nothing").await;
        }
        while self.pulls.contains_key(&self.pulled) && self.waiting.is_empty() {
            if !self.wait_for_answer().await {
                return;
            }
        }
    }

    /// Waits for the answer to a pull. Returns false if the slot should pull again: the time is over, or the
    /// connection was made again and the broker may have forgotten the pull.
    async fn wait_for_answer(&mut self) -> bool {
        let until = self.pulls.values().next_back().copied().unwrap_or_else(Instant::now);
        tokio::select! {
            message = next_message(&mut self.ear) => match message {
                Some(message) => {
                    if let Some(words) = self.handle_answer(message) {
                        self.pause_pulls(&words).await;
                    }
                    true
                }
                None => {
                    self.pulls.clear();
                    self.pause_pulls("the subscription ended").await;
                    false
                }
            },
            () = sleep_until(until) => false,
            // If the connection is gone for good, the subscription ends too.
            Ok(()) = self.made.changed() => false,
        }
    }

    /// Handles an answer. Returns the broker's words if nothing will come for a while.
    fn handle_answer(&mut self, message: Message) -> Option<String> {
        let Some(status) = message.status else {
            // The message does not say which pull it answers. Removing the oldest is good enough.
            self.pulls.pop_first();
            self.idle = 0;
            self.house.is_served();
            self.waiting.extend(self.house.read_delivery(message));
            return None;
        };
        let number = message.subject.rsplit('.').next().and_then(|number| number.parse().ok());
        self.pulls.remove(&number.unwrap_or(self.pulled));
        if status == StatusCode::TIMEOUT {
            self.idle = 0;
            self.house.is_served();
            return None;
        }
        let words = message.description.unwrap_or_default();
        Some(format!("{status} {words}").trim().to_owned())
    }

    /// Pauses before the next pull, and reports the first pause.
    async fn pause_pulls(&mut self, words: &str) {
        // That enough workers of the name already wait is not worth reporting.
        if self.idle == 0 && !words.contains("Exceeded MaxWaiting") {
            self.house.report_idle(words);
        }
        let mut draining = self.draining.clone();
        tokio::select! {
            () = sleep(choose_pause(self.idle).max(limits::REFUSED_PAUSE)) => {}
            Ok(_) = draining.wait_for(|draining| *draining) => {}
        }
        self.idle = self.idle.saturating_add(1);
    }

    /// Works on a delivery. Renews it and all deliveries that wait behind it.
    async fn work_on(&mut self, held: HeldDelivery) {
        let message = held.message.clone();
        let mut work = (self.work)(held);
        let mut renewal = interval(self.house.renew);
        let mut is_open = true;
        loop {
            tokio::select! {
                () = &mut work => return,
                _ = renewal.tick() => {
                    self.house.acknowledge(&message, "+WPI").await;
                    for held in &self.waiting {
                        self.house.acknowledge(&held.message, "+WPI").await;
                    }
                }
                came = next_message(&mut self.ear), if is_open => match came {
                    Some(came) => { let _no_pause_is_due = self.handle_answer(came); }
                    None => is_open = false,
                },
            }
        }
    }
}
