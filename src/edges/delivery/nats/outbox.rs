//! Deliveries on their way into a listener's stream, and their places in it. Many may be on their way at once. If the
//! broker does not confirm one, the outbox finds out: a new fence refuses everything that is still on its way, and
//! then each delivery is in the stream or never will be. One fence is enough for all of them. It decides nothing about
//! lost deliveries, and never waits forever.

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::Error;
use async_nats::jetstream::consumer::{AckPolicy, Info, pull};
use async_nats::jetstream::context::{ConsumerInfoErrorKind, PublishError, PublishErrorKind};
use async_nats::jetstream::stream::{DeleteMessageErrorKind, LastRawMessageErrorKind, Stream};
use serde::Deserialize;
use systole_kit::envelope::read_delivered;
use tokio::time::Instant;

use super::aside::{Aside, in_time};
use super::fence;
use crate::edges::clock::random_bytes;
use crate::edges::delivery::mailbox::Mailbox;
use crate::edges::delivery::post::damaged;
use crate::edges::nats::{Broker, PATIENCE, token as part};
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;
use systole_core::types::ports::{Delivery, LeaseToken};

/// The longest that a pull may wait for a delivery: the broker knows for ten minutes whom an answer is for.
const LONGEST_PULL: Duration = Duration::from_secs(300);
/// How many pulls may wait beyond those that can get a delivery: pulls of standby workers. Each costs the broker some
/// work while it waits, and its client may ask for very frequent signs of life.
const WAITING: usize = 16;
/// The key in a consumer's metadata under which the pump notes the id that it drew for this consumer.
const MARK: &str = "systole.mark";
/// The key under which it notes its term.
const TERM: &str = "systole.term";
/// The header for the subject of the expected fence.
const FENCE_SUBJECT: &str = "Nats-Expected-Last-Subject-Sequence-Subject";

/// The result of sending a delivery.
#[derive(Debug)]
pub(super) enum Sent {
    /// It is in the stream, or a worker already has it.
    Stored,
    /// The broker will never have it, for this reason.
    Refused(Code, String),
    /// The broker will never have it, because it cannot be reached.
    Unreached(String),
    /// There is no stream for it.
    Homeless(String),
    /// It is unknown whether a worker had it. It is no longer in the stream.
    Doubtful(String),
    /// The same, and the broker cannot be reached: the delivery is removed from the stream once the broker can be
    /// reached.
    DoubtfulAndCut(String),
}

/// The result of a look at stream and consumer.
pub(super) enum Look {
    /// Both are there, and no worker has these deliveries any more.
    There(Vec<Arc<str>>),
    /// The broker did not answer.
    Unanswered,
}

/// Why there is no fence.
enum NoFence {
    /// The broker cannot be reached.
    Cut(String),
    /// The stream has lost what it had confirmed.
    Lost,
}

/// The result of one try.
enum Tried {
    At(u64),
    /// There is another fence, or there was no connection: the broker did not take it.
    Again,
    Refused(String),
    Homeless,
    Unknown(String),
}

pub(super) struct Outbox {
    broker: Arc<Broker>,
    listener: Name,
    mailbox: Arc<Mailbox>,
    aside: Aside,
    stream: Stream<()>,
    /// The id in the metadata of the consumer that this outbox made. A consumer that was deleted or made by someone
    /// else does not have it; a restart of the broker keeps it.
    mark: String,
    /// The settings of that consumer, and what the broker said when it was made.
    config: pull::Config,
    made: Info,
    /// The places in the stream of the deliveries that are out.
    places: Mutex<HashMap<Arc<str>, u64>>,
    /// The places of deliveries that were answered, with the time: their workers should acknowledge them.
    answered: Mutex<Vec<(u64, Instant)>>,
    /// The deliveries on their way to the broker, and whether each is answered already.
    on_the_way: Mutex<HashMap<Arc<str>, bool>>,
    /// The current fence before deliveries; `None` if a new one is needed.
    fence: Mutex<Option<u64>>,
    /// Held by the one that puts a new fence.
    renewing: tokio::sync::Mutex<()>,
    /// How often the stream had lost deliveries when this was made.
    losses: u64,
}

#[derive(Deserialize)]
struct Advisory {
    stream_seq: u64,
}

impl Outbox {
    /// Makes the listener's consumer, and deletes old deliveries, because all of them are handed over again.
    /// Deliveries of an earlier life that are still on their way are refused from now on.
    pub(super) async fn open(
        broker: &Arc<Broker>,
        listener: &Name,
        mailbox: &Arc<Mailbox>,
        silence: Duration,
    ) -> Result<Outbox, String> {
        let (jetstream, subjects) = (broker.jetstream(), broker.subjects());
        broker.make_again().await.map_err(|unusable| unusable.to_string())?;
        let losses = broker.losses().await?;
        let found = jetstream.get_stream_no_info(subjects.bus_stream());
        let stream = in_time("the stream of deliveries", found).await?;
        let fence = in_time("the fence before deliveries", fence::put(broker, listener, &stream)).await?;
        let deliveries = subjects.delivery(listener);
        // If another pump has taken over before this reaches the broker, what is behind the fence belongs to that
        // pump.
        let old = stream.purge().sequence(fence).filter(deliveries.clone()).into_future();
        in_time("old deliveries", old).await?;
        let drawn: [u8; 16] = random_bytes().map_err(|error| format!("no id for the consumer: {error}"))?;
        let mark = format!("{:032x}", u128::from_be_bytes(drawn));
        let config = pull::Config {
            durable_name: Some(part(listener)),
            metadata: HashMap::from([
                (MARK.to_owned(), mark.clone()),
                (TERM.to_owned(), fence::said(broker.term())),
            ]),
            ack_policy: AckPolicy::Explicit,
            ack_wait: silence,
            // The pump counts and decides the attempts.
            max_deliver: 1,
            filter_subject: deliveries,
            max_ack_pending: i64::try_from(mailbox.room()).unwrap_or(i64::MAX),
            max_expires: LONGEST_PULL,
            max_waiting: i64::try_from(mailbox.room().saturating_add(WAITING)).unwrap_or(i64::MAX),
            ..pull::Config::default()
        };
        let made = in_time("the consumer", made(&stream, config.clone())).await?;
        Ok(Outbox {
            broker: broker.clone(),
            listener: listener.clone(),
            mailbox: mailbox.clone(),
            aside: Aside::of(broker, listener),
            mark,
            config,
            made,
            stream,
            places: Mutex::default(),
            answered: Mutex::default(),
            on_the_way: Mutex::default(),
            fence: Mutex::new(Some(fence)),
            renewing: tokio::sync::Mutex::default(),
            losses,
        })
    }

    fn places(&self) -> MutexGuard<'_, HashMap<Arc<str>, u64>> {
        // Every change of it is complete before anything can panic.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered(&self) -> MutexGuard<'_, Vec<(u64, Instant)>> {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn on_the_way(&self) -> MutexGuard<'_, HashMap<Arc<str>, bool>> {
        self.on_the_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fence(&self) -> MutexGuard<'_, Option<u64>> {
        self.fence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fence is of no use any more, unless there is a newer one.
    fn drop_fence(&self, used: u64) {
        let mut fence = self.fence();
        if *fence == Some(used) {
            *fence = None;
        }
    }

    /// Puts a delivery where a worker can pull it.
    pub(super) async fn send(&self, delivery: &Delivery) -> Sent {
        let document = match delivery.document() {
            Ok(document) => document,
            Err(fault) => return Sent::Refused(Code::DamagedThread, damaged(&fault)),
        };
        let token = &delivery.lease.token;
        self.on_the_way().insert(token.0.clone(), false);
        let sent = self.send_in_rounds(token, document).await;
        self.on_the_way().remove(&token.0);
        sent
    }

    async fn send_in_rounds(&self, token: &LeaseToken, document: Vec<u8>) -> Sent {
        let most = self.broker.largest_message();
        if document.len() + 1024 > most {
            let words = format!(
                "the delivery has {} bytes, and the broker takes {most} with their headers",
                document.len()
            );
            return Sent::Refused(Code::ListenerDown, words);
        }
        let mut last = Sent::Refused(Code::ListenerDown, fence::CONTESTED.to_owned());
        for _ in 0..fence::ROUNDS {
            let fence = match self.fenced().await {
                Ok(fence) => fence,
                Err(NoFence::Cut(words)) => return Sent::Unreached(words),
                Err(NoFence::Lost) => return Sent::Homeless(LOST.to_owned()),
            };
            // Whatever the broker stores from now on gets a higher place.
            let after = self.broker.confirmed().highest();
            match self.publish(document.clone(), fence).await {
                Tried::At(place) => {
                    self.broker.confirmed().note(place);
                    self.note_place(&token.0, place);
                    return Sent::Stored;
                }
                Tried::Again => self.drop_fence(fence),
                Tried::Refused(words) => return Sent::Refused(Code::ListenerDown, words),
                Tried::Homeless => return Sent::Homeless(self.no_stream()),
                Tried::Unknown(words) => {
                    self.drop_fence(fence);
                    match self.find(token, after, words).await {
                        Some(found) => return found,
                        None => last = Sent::Unreached(self.breaks_again()),
                    }
                }
            }
        }
        last
    }

    /// Finds out what happened to a delivery. `None` if the broker never had it.
    async fn find(&self, token: &LeaseToken, after: u64, words: String) -> Option<Sent> {
        let fence = match self.fenced().await {
            Ok(fence) => fence,
            Err(NoFence::Cut(more)) => return Some(Sent::DoubtfulAndCut(format!("{words}; {more}"))),
            Err(NoFence::Lost) => return Some(Sent::Doubtful(format!("{words}; {LOST}"))),
        };
        if self.places().contains_key(&token.0) || !self.mailbox.is_out(&token.0) {
            return Some(Sent::Stored);
        }
        match self.is_anything_gone(after, fence).await {
            Ok(false) => None,
            Ok(true) => Some(Sent::Doubtful(format!("{words}; it is no longer in the stream"))),
            Err(more) => Some(Sent::Doubtful(format!("{words}; {more}"))),
        }
    }

    /// Whether the broker may have stored and removed a message between these two places that it never confirmed. If
    /// not, a delivery that was sent behind the first, and is not in the stream, was never stored.
    async fn is_anything_gone(&self, after: u64, fence: u64) -> Result<bool, String> {
        let Some(unconfirmed) = self.broker.confirmed().unconfirmed(after, fence) else { return Ok(true) };
        for place in unconfirmed {
            match in_time("a place in the stream", self.is_there(place)).await? {
                true => {}
                false => return Ok(true),
            }
        }
        Ok(fence <= after)
    }

    async fn is_there(&self, place: u64) -> Result<bool, String> {
        match self.stream.get_raw_message(place).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }

    fn breaks_again(&self) -> String {
        format!("the connection to the broker at {} breaks again and again", self.broker.address())
    }

    /// The fence, made again if needed, once there is a connection. If the connection breaks, it waits for the next
    /// one.
    async fn fenced(&self) -> Result<u64, NoFence> {
        for _ in 0..fence::ROUNDS {
            if let Some(fence) = self.fenced_once().await? {
                return Ok(fence);
            }
        }
        Err(NoFence::Cut(self.breaks_again()))
    }

    /// The same on one connection; `None` if the connection breaks.
    async fn fenced_once(&self) -> Result<Option<u64>, NoFence> {
        let mut link = self.broker.link();
        match tokio::time::timeout(PATIENCE, link.wait_for(|link| link.stands)).await {
            Ok(Ok(_)) => {}
            _ => {
                let words = format!("no connection to the broker at {}", self.broker.address());
                return Err(NoFence::Cut(words));
            }
        }
        let breaks = link.borrow().breaks;
        tokio::select! {
            biased;
            fence = self.known_or_new() => fence.map(Some),
            // The answer comes over the connection that broke, or never.
            Ok(_) = link.wait_for(|now| now.breaks != breaks) => Ok(None),
        }
    }

    /// The same while the connection stands. May be dropped while it waits: the fence is then put once more.
    async fn known_or_new(&self) -> Result<u64, NoFence> {
        self.has_lost_nothing().await?;
        let known = *self.fence();
        if let Some(fence) = known {
            return Ok(fence);
        }
        let _only_one = self.renewing.lock().await;
        let known = *self.fence();
        if let Some(fence) = known {
            return Ok(fence);
        }
        let renewed = async {
            let fence = fence::put(&self.broker, &self.listener, &self.stream).await?;
            self.broker.confirmed().note(fence);
            self.look_through(fence).await.map(|()| fence)
        };
        let fence = in_time("a new fence before deliveries", renewed).await.map_err(NoFence::Cut)?;
        *self.fence() = Some(fence);
        Ok(fence)
    }

    /// Whether the stream still has what it confirmed. If not, the places that are known here may be those of others.
    async fn has_lost_nothing(&self) -> Result<(), NoFence> {
        match self.broker.losses().await {
            Ok(losses) if losses == self.losses => Ok(()),
            Ok(_) => Err(NoFence::Lost),
            Err(words) => Err(NoFence::Cut(words)),
        }
    }

    /// One try to get a delivery stored behind that fence.
    async fn publish(&self, document: Vec<u8>, fence: u64) -> Tried {
        let (jetstream, subjects) = (self.broker.jetstream(), self.broker.subjects());
        let mut link = self.broker.link();
        let before = *link.borrow_and_update();
        if !before.stands {
            return Tried::Again;
        }
        let mut headers = HeaderMap::new();
        // An embedded log has one partition.
        headers.insert("Systole-Reply", subjects.said(&self.listener, "0").as_str());
        headers.insert(fence::EXPECTED, fence.to_string());
        headers.insert(FENCE_SUBJECT, subjects.fence(&self.listener).as_str());
        let stored = async {
            let subject = subjects.delivery(&self.listener);
            jetstream.publish_with_headers(subject, headers, document.into()).await?.await
        };
        tokio::select! {
            biased;
            told = tokio::time::timeout(PATIENCE, stored) => match told {
                Ok(Ok(place)) => Tried::At(place.sequence),
                Ok(Err(error)) => refused(&error),
                Err(_) => Tried::Unknown(UNANSWERED.to_owned()),
            },
            // The answer would have come over the connection that broke.
            _ = link.wait_for(|now| now.breaks != before.breaks) => Tried::Unknown(BROKE.to_owned()),
        }
    }

    /// Looks through all messages for this listener before a fence. Deliveries that are out get their place; all
    /// others are deleted.
    async fn look_through(&self, fence: u64) -> Result<(), String> {
        let deliveries = self.broker.subjects().delivery(&self.listener);
        let mut from = 1;
        loop {
            let next = self.stream.raw_message_builder().sequence(from).next_by_subject(&deliveries);
            let message = match next.send().await {
                Ok(message) => message,
                Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => return Ok(()),
                Err(error) => return Err(error.to_string()),
            };
            let place = message.sequence;
            if place > fence {
                return Ok(());
            }
            from = place + 1;
            let token = read_delivered(&message.payload).ok().map(|read| read.stamp.delivery.to_string());
            match token.filter(|token| self.mailbox.is_out(token)) {
                Some(token) => self.note_place(&token.into(), place),
                // The worker that has it may have acknowledged it.
                None => match self.stream.delete_message(place).await {
                    Err(error) if error.kind() == DeleteMessageErrorKind::TimedOut => {
                        return Err(error.to_string());
                    }
                    _ => {}
                },
            }
        }
    }

    /// Notes the place of a delivery. If the delivery was answered or called back before its place was known, it is
    /// over.
    fn note_place(&self, token: &Arc<str>, place: u64) {
        self.places().insert(token.clone(), place);
        if self.mailbox.is_out(token) {
            return;
        }
        let is_answered = self.on_the_way().get(token).copied().unwrap_or_default();
        if is_answered { self.is_answered(token) } else { self.over(token) }
    }

    /// Removes a delivery that is over. A worker that has it finds out when it answers.
    pub(super) fn over(&self, token: &str) {
        let place = self.places().remove(token);
        if let Some(place) = place {
            self.aside.delete(&self.stream, place);
        }
    }

    /// Notes that a delivery is answered. Its worker acknowledges it, which removes it; or else it is removed later.
    pub(super) fn is_answered(&self, token: &str) {
        let place = self.places().remove(token);
        if let Some(place) = place {
            self.answered().push((place, Instant::now()));
        } else if let Some(is_answered) = self.on_the_way().get_mut(token) {
            *is_answered = true;
        }
    }

    /// Removes the deliveries that were answered long enough ago and that no worker has acknowledged.
    fn remove_unacknowledged(&self, found: &Info) {
        let old: Vec<u64> = {
            let mut answered = self.answered();
            let count = answered.partition_point(|(_, at)| at.elapsed() >= ACKNOWLEDGES);
            answered.drain(..count).map(|(place, _)| place).collect()
        };
        // All up to that place are acknowledged. Of the others it is not known.
        for place in old.into_iter().filter(|place| *place > found.ack_floor.stream_sequence) {
            self.aside.delete(&self.stream, place);
        }
    }

    /// The delivery whose worker gave no sign of life, from the broker's advisory. It is removed, even if it is
    /// unknown here.
    pub(super) fn silent(&self, advisory: &[u8]) -> Option<Arc<str>> {
        let Advisory { stream_seq } = serde_json::from_slice(advisory).ok()?;
        let mut places = self.places();
        let token = places.iter().find(|(_, place)| **place == stream_seq).map(|(token, _)| token.clone());
        if let Some(token) = &token {
            places.remove(token);
        }
        drop(places);
        self.aside.delete(&self.stream, stream_seq);
        token
    }

    /// Whether any delivery is in the stream or with a worker.
    pub(super) fn is_anything_out(&self) -> bool {
        !self.places().is_empty() || !self.answered().is_empty()
    }

    /// Whether the stream and the consumer are still those that were made; an error says which is not.
    pub(super) async fn look(&self) -> Result<Look, String> {
        let (name, out) = (part(&self.listener), self.places().clone());
        match tokio::time::timeout(PATIENCE, self.stream.consumer_info(&name)).await {
            Ok(Ok(info)) if info.config.metadata.get(MARK) == Some(&self.mark) => {
                match self.has_lost_nothing().await {
                    Ok(()) => self.remove_unacknowledged(&info),
                    Err(NoFence::Lost) => return Err(LOST.to_owned()),
                    Err(NoFence::Cut(_)) => return Ok(Look::Unanswered),
                }
                let is_idle = info.num_pending == 0 && info.num_ack_pending == 0;
                let out = handed_out(out, info.delivered.stream_sequence);
                Ok(Look::There(if is_idle { self.left_in_stream(out).await } else { Vec::new() }))
            }
            Ok(Ok(info)) if self.was_changed_late(&info) => Ok(self.takes_back().await),
            Ok(Ok(_)) => Err(format!("the consumer {name} was made by another program")),
            Ok(Err(error)) if error.kind() == ConsumerInfoErrorKind::NotFound => {
                Err(format!("the consumer {name} is gone"))
            }
            Ok(Err(error)) if error.kind() == ConsumerInfoErrorKind::StreamNotFound => Err(self.no_stream()),
            _ => Ok(Look::Unanswered),
        }
    }

    /// Whether a pump that was ousted before has changed the consumer. The consumer was not made anew, so it still has
    /// its deliveries.
    fn was_changed_late(&self, found: &Info) -> bool {
        let term = found.config.metadata.get(TERM);
        found.created == self.made.created
            && term.is_some_and(|term| fence::is_earlier(term, self.broker.term()))
    }

    /// Gives the consumer its settings back. If that fails, the next look tries again.
    async fn takes_back(&self) -> Look {
        match in_time("the consumer", self.stream.update_consumer(self.config.clone())).await {
            Ok(_) => Look::There(Vec::new()),
            Err(words) => {
                tracing::debug!(listener = %self.listener, why = words, "a consumer did not get its settings back yet");
                Look::Unanswered
            }
        }
    }

    /// The given deliveries that are still in the stream, although none waits for a worker or is with one. Their
    /// workers gave no sign of life, and the pump missed the broker's single advisory about that.
    async fn left_in_stream(&self, out: HashMap<Arc<str>, u64>) -> Vec<Arc<str>> {
        let mut lying = Vec::new();
        for (token, place) in out {
            // An acknowledged delivery is no longer there, and its reply may be on its way.
            if self.stream.get_raw_message(place).await.is_ok() {
                lying.push(token);
            }
        }
        lying
    }

    fn no_stream(&self) -> String {
        format!("the stream {} is gone", self.broker.subjects().bus_stream())
    }
}

/// Makes a consumer. A consumer made for another `in_flight`, or by an earlier version, may have to be deleted first:
/// the broker does not change how many pulls may wait. Nothing is out at that moment.
async fn made(stream: &Stream<()>, config: pull::Config) -> Result<Info, String> {
    let name = config.durable_name.clone().unwrap_or_default();
    if let Ok(made) = stream.create_consumer(config.clone()).await {
        return Ok(made.cached_info().clone());
    }
    // If there is none to delete, the cause is another one, and the second try reports it.
    let _was_there = stream.delete_consumer(&name).await;
    let made = stream.create_consumer(config).await.map_err(|error| error.to_string())?;
    Ok(made.cached_info().clone())
}

/// The deliveries that the consumer has handed out; no worker had the others. `last` is the last place that it handed
/// out, and it hands out in order. Its number of pending messages does not say this: the broker confirms a message
/// before it counts the message as pending.
fn handed_out(out: HashMap<Arc<str>, u64>, last: u64) -> HashMap<Arc<str>, u64> {
    out.into_iter().filter(|(_, place)| *place <= last).collect()
}

/// How long a worker has to acknowledge what it answered.
const ACKNOWLEDGES: Duration = Duration::from_secs(1);
const LOST: &str = "the broker has lost deliveries that it had confirmed";
const UNANSWERED: &str = "the broker did not say within 5 s whether it took the delivery";
const BROKE: &str = "the connection broke before the broker said whether it took the delivery";

/// What an error says about a delivery that was sent.
fn refused(error: &PublishError) -> Tried {
    let words = format!("the broker took no delivery: {error}");
    let said = error.source().and_then(|source| source.downcast_ref::<Error>()).map(Error::error_code);
    match (error.kind(), said) {
        (PublishErrorKind::StreamNotFound, _) => Tried::Homeless,
        _ if fence::is_stale(error) => Tried::Again,
        // The broker refused it, or was never asked.
        (_, Some(_)) | (PublishErrorKind::MaxAckPending | PublishErrorKind::MaxPayloadExceeded, _) => {
            Tried::Refused(words)
        }
        (PublishErrorKind::TimedOut, _) => Tried::Unknown(UNANSWERED.to_owned()),
        _ => Tried::Unknown(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_that_was_never_handed_out_is_with_no_worker_and_not_lost() {
        let out = HashMap::from([("with a worker".into(), 7), ("on its way".into(), 9)]);
        assert_eq!(handed_out(out.clone(), 0), HashMap::new());
        assert_eq!(handed_out(out.clone(), 8), HashMap::from([("with a worker".into(), 7)]));
        assert_eq!(handed_out(out.clone(), 9), out);
    }
}
