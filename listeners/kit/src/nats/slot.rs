//! One slot: it asks for a delivery when it is free, and renews what it has while it works.
//!
//! It never drops a delivery that it asked for: a pull that is on its way when the worker is to stop is waited for, since
//! the broker might answer it. What comes although the slot is taken, such as the answer to a pull of before a broken
//! connection, is renewed until its turn comes.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Message, StatusCode, Subscriber};
use futures_core::Stream as _;
use tokio::sync::watch;
use tokio::time::{Instant, interval, sleep, sleep_until};

use super::connection::pause;
use super::held::Held;
use super::news::Unserved;
use super::token;
use super::work::House;

/// What a pull asks: one message, and an end of the waiting after 5 s. While a pull waits somewhere, a delivery may go
/// to who asked and is gone; so it is short.
const PULL: &str = "{\"batch\":1,\"expires\":5000000000}";
const WAITS: Duration = Duration::from_secs(5);
/// How much later than that its end may be heard.
const MARGIN: Duration = Duration::from_secs(2);

/// The next message of a subscription; none where it has ended. May be dropped while it waits: nothing is lost.
pub(super) async fn next(ear: &mut Subscriber) -> Option<Message> {
    poll_fn(|cx| Pin::new(&mut *ear).poll_next(cx)).await
}

pub(super) struct Slot {
    house: Arc<House>,
    ear: Subscriber,
    inbox: String,
    draining: watch::Receiver<bool>,
    made: watch::Receiver<u64>,
    /// The pulls that may still be answered, and until when.
    pulls: BTreeMap<u64, Instant>,
    pulled: u64,
    waiting: VecDeque<Held>,
    /// How often in a row nothing was handed out for another reason than that there was nothing.
    idle: u32,
}

impl Slot {
    pub(super) async fn open(house: Arc<House>, draining: watch::Receiver<bool>) -> Result<Slot, Unserved> {
        let inbox = house.connection.client.new_inbox();
        let ear = house.ear(format!("{inbox}.*")).await?;
        let made = house.connection.made.clone();
        Ok(Slot {
            house,
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

    /// Serves until nothing more is to be taken, and all that was is answered.
    pub(super) async fn serve(mut self) {
        loop {
            self.pulls.retain(|_, until| *until > Instant::now());
            if let Some(held) = self.waiting.pop_front() {
                self.works(held).await;
            } else if !*self.draining.borrow() {
                self.pull().await;
            } else if self.pulls.is_empty() {
                return;
            } else {
                self.hear().await;
            }
        }
    }

    /// Asks for the next delivery, and waits for what comes of it.
    async fn pull(&mut self) {
        self.pulled += 1;
        let (listener, stream) = (token(&self.house.listener), self.house.stream());
        let api = format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{listener}");
        let answer = format!("{}.{}", self.inbox, self.pulled);
        self.made.mark_unchanged();
        self.pulls.insert(self.pulled, Instant::now() + WAITS + MARGIN);
        if self.house.connection.client.publish_with_reply(api, answer, PULL.into()).await.is_err() {
            self.pulls.remove(&self.pulled);
            return self.idles("the connection takes nothing").await;
        }
        while self.pulls.contains_key(&self.pulled) && self.waiting.is_empty() {
            if !self.hear().await {
                return;
            }
        }
    }

    /// Hears what is said to a pull; false where it is better to pull again: its time is over, or the connection was
    /// made again, and the broker may not remember it.
    async fn hear(&mut self) -> bool {
        let until = self.pulls.values().next_back().copied().unwrap_or_else(Instant::now);
        tokio::select! {
            message = next(&mut self.ear) => match message {
                Some(message) => {
                    if let Some(words) = self.heard(message) {
                        self.idles(&words).await;
                    }
                    true
                }
                None => {
                    self.pulls.clear();
                    self.idles("the subscription ended").await;
                    false
                }
            },
            () = sleep_until(until) => false,
            // A connection that is gone for good ends the subscription too.
            Ok(()) = self.made.changed() => false,
        }
    }

    /// Takes what came; words where it says that there will be nothing for a while.
    fn heard(&mut self, message: Message) -> Option<String> {
        let Some(status) = message.status else {
            // Which pull it answers is not said: the oldest is as good.
            self.pulls.pop_first();
            self.idle = 0;
            self.house.is_served();
            self.waiting.extend(self.house.takes(message));
            return None;
        };
        let number = message.subject.rsplit('.').next().and_then(|number| number.parse().ok());
        self.pulls.remove(&number.unwrap_or(self.pulled));
        if status == StatusCode::TIMEOUT || status == StatusCode::NOT_FOUND {
            self.idle = 0;
            self.house.is_served();
            return None;
        }
        let words = message.description.unwrap_or_default();
        Some(format!("{status} {words}").trim().to_owned())
    }

    /// Pauses before the broker is asked again, and tells it the first time.
    async fn idles(&mut self, words: &str) {
        // That enough others of the name wait already is no news.
        if self.idle == 0 && !words.contains("Exceeded MaxWaiting") {
            self.house.idles(words);
        }
        let mut draining = self.draining.clone();
        tokio::select! {
            () = sleep(pause(self.idle)) => {}
            Ok(_) = draining.wait_for(|draining| *draining) => {}
        }
        self.idle = self.idle.saturating_add(1);
    }

    /// Works on a delivery, and renews it and whatever waits behind it.
    async fn works(&mut self, held: Held) {
        let message = held.message.clone();
        let mut work = (self.house.work)(held);
        let mut renewal = interval(self.house.renew);
        let mut is_open = true;
        loop {
            tokio::select! {
                () = &mut work => return,
                _ = renewal.tick() => {
                    self.house.says(&message, "+WPI").await;
                    for held in &self.waiting {
                        self.house.says(&held.message, "+WPI").await;
                    }
                }
                came = next(&mut self.ear), if is_open => match came {
                    Some(came) => { let _no_pause_is_due = self.heard(came); }
                    None => is_open = false,
                },
            }
        }
    }
}
