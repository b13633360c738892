//! Deliveries on their way into a listener's stream, and where in it they are. Each is sent once. Of one of which the
//! broker did not say that it took it, it is found out: a new fence refuses whatever is still on its way, and then the
//! delivery lies in the stream or never will. It decides nothing about what is lost, and never waits without an end.

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::Error;
use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::context::{ConsumerInfoErrorKind, PublishError, PublishErrorKind};
use async_nats::jetstream::stream::{DeleteMessageErrorKind, LastRawMessageErrorKind, Stream};
use serde::Deserialize;
use systole_kit::envelope::read_delivered;

use super::aside::{Aside, in_time};
use super::fence;
use crate::edges::clock::random_bytes;
use crate::edges::delivery::desk::Desk;
use crate::edges::nats::{Broker, PATIENCE, token as part};
use systole_core::types::ids::Name;
use systole_core::types::ports::{Delivery, Token};

/// The longest that a pull may wait for a delivery: the broker knows for ten minutes whom an answer is for.
const LONGEST_PULL: Duration = Duration::from_secs(300);
/// Pulls that may wait beside those for which there can be a delivery: of workers that stand by. Each costs the broker some
/// work as long as it waits, and a client may ask for very frequent signs of life in it.
const WAITING: usize = 16;
/// The key in a consumer's metadata under which the pump notes the id that it drew for this consumer.
const MARK: &str = "systole.mark";
/// The subject on which the fence stands that a delivery expects.
const FENCE_SUBJECT: &str = "Nats-Expected-Last-Subject-Sequence-Subject";

/// What became of a delivery.
#[derive(Debug)]
pub(super) enum Sent {
    /// It lies in the stream, or somebody has it already.
    Stored,
    /// The broker will never have it, and why.
    Refused(String),
    /// The broker will never have it, because it cannot be reached.
    Unreached(String),
    /// There is no stream to take it.
    Homeless(String),
    /// Whether somebody had it, nobody knows. It lies in the stream no more.
    Doubtful(String),
    /// The same, and the broker cannot be reached: what of it lies in the stream is taken away when it can.
    DoubtfulAndCut(String),
}

/// What a look at stream and consumer shows.
pub(super) enum Look {
    /// Both are there, and these deliveries are with nobody any more.
    There(Vec<Arc<str>>),
    /// The broker said nothing about it.
    Unanswered,
}

/// What came of one try.
enum Tried {
    At(u64),
    /// Another fence stands before it, or there was no connection: it was not taken.
    Again,
    Refused(String),
    Homeless,
    Unknown(String),
}

pub(super) struct Outbox {
    broker: Arc<Broker>,
    listener: Name,
    desk: Arc<Desk>,
    aside: Aside,
    stream: Stream<()>,
    /// The id in the metadata of the consumer that this outbox made. A consumer that is deleted, or that somebody else
    /// makes, does not have it; a restart of the broker keeps it.
    mark: String,
    /// Where in the stream the deliveries are that are out.
    places: Mutex<HashMap<Arc<str>, u64>>,
    /// The fence that stands before deliveries; none where it has to be made anew.
    fence: Mutex<Option<u64>>,
}

#[derive(Deserialize)]
struct Advisory {
    stream_seq: u64,
}

impl Outbox {
    /// Makes the listener's consumer, and takes away what was left to be done: all of it is handed over again. What an
    /// earlier life has on its way is refused from here on.
    pub(super) async fn open(
        broker: &Arc<Broker>,
        listener: &Name,
        desk: &Arc<Desk>,
        silence: Duration,
    ) -> Result<Outbox, String> {
        let (jetstream, subjects) = (broker.jetstream(), broker.subjects());
        broker.make_again().await.map_err(|unusable| unusable.to_string())?;
        let found = jetstream.get_stream_no_info(subjects.bus_stream());
        let stream = in_time("the stream of deliveries", found).await?;
        let fence = in_time("the fence before deliveries", fence::put(broker, listener, &stream)).await?;
        let deliveries = subjects.delivery(listener);
        // What lies behind the fence is another pump's, should one have taken over when this reaches the broker.
        let old = stream.purge().sequence(fence).filter(deliveries.clone()).into_future();
        in_time("old deliveries", old).await?;
        let drawn: [u8; 16] = random_bytes().map_err(|error| format!("no id for the consumer: {error}"))?;
        let mark = format!("{:032x}", u128::from_be_bytes(drawn));
        let config = pull::Config {
            durable_name: Some(part(listener)),
            metadata: HashMap::from([(MARK.to_owned(), mark.clone())]),
            ack_policy: AckPolicy::Explicit,
            ack_wait: silence,
            // Who works again on what is counted by the pump.
            max_deliver: 1,
            filter_subject: deliveries,
            max_ack_pending: i64::try_from(desk.room()).unwrap_or(i64::MAX),
            max_expires: LONGEST_PULL,
            max_waiting: i64::try_from(desk.room().saturating_add(WAITING)).unwrap_or(i64::MAX),
            ..pull::Config::default()
        };
        in_time("the consumer", made(&stream, config)).await?;
        Ok(Outbox {
            broker: broker.clone(),
            listener: listener.clone(),
            desk: desk.clone(),
            aside: Aside::of(broker, listener),
            mark,
            stream,
            places: Mutex::default(),
            fence: Mutex::new(Some(fence)),
        })
    }

    fn places(&self) -> MutexGuard<'_, HashMap<Arc<str>, u64>> {
        // Every change of it is complete before anything can panic.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fence(&self) -> MutexGuard<'_, Option<u64>> {
        self.fence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a delivery where a worker pulls it, one at a time.
    pub(super) async fn send(&self, delivery: &Delivery) -> Sent {
        let document = delivery.document();
        let most = self.broker.largest_message();
        if document.len() + 1024 > most {
            let (bytes, most) = (document.len().to_string(), most.to_string());
            let words =
                ["the delivery has ", &bytes, " bytes, and the broker takes ", &most, " with their headers"];
            return Sent::Refused(words.concat());
        }
        let token = &delivery.lease.token;
        for _ in 0..fence::ROUNDS {
            let fence = match self.fenced().await {
                Ok(fence) => fence,
                Err(words) => return Sent::Unreached(words),
            };
            match self.publish(document.clone(), fence).await {
                Tried::At(place) => {
                    self.lies_at(&token.0, place);
                    return Sent::Stored;
                }
                Tried::Again => *self.fence() = None,
                Tried::Refused(words) => return Sent::Refused(words),
                Tried::Homeless => return Sent::Homeless(self.no_stream()),
                Tried::Unknown(words) => {
                    *self.fence() = None;
                    return self.find(token, words).await;
                }
            }
        }
        Sent::Refused(fence::CONTESTED.to_owned())
    }

    /// Finds out what became of a delivery.
    async fn find(&self, token: &Token, words: String) -> Sent {
        match self.fenced().await {
            Ok(_) if self.places().contains_key(&token.0) || !self.desk.is_out(&token.0) => Sent::Stored,
            Ok(_) => Sent::Doubtful(format!("{words}; it lies in the stream no more")),
            Err(more) => Sent::DoubtfulAndCut(format!("{words}; {more}")),
        }
    }

    /// The fence, made anew where that has to be, once the connection stands. A connection that breaks meanwhile is waited
    /// for again.
    async fn fenced(&self) -> Result<u64, String> {
        for _ in 0..fence::ROUNDS {
            if let Some(fence) = self.fenced_once().await? {
                return Ok(fence);
            }
        }
        Err(format!("the connection to the broker at {} breaks again and again", self.broker.address()))
    }

    /// The same on one connection; none if that breaks.
    async fn fenced_once(&self) -> Result<Option<u64>, String> {
        let mut link = self.broker.link();
        match tokio::time::timeout(PATIENCE, link.wait_for(|link| link.stands)).await {
            Ok(Ok(_)) => {}
            _ => return Err(format!("no connection to the broker at {}", self.broker.address())),
        }
        let known = *self.fence();
        if let Some(fence) = known {
            return Ok(Some(fence));
        }
        let renewed = async {
            let fence = fence::put(&self.broker, &self.listener, &self.stream).await?;
            self.look_through(fence).await.map(|()| fence)
        };
        let breaks = link.borrow().breaks;
        let fence = tokio::select! {
            biased;
            renewed = in_time("a new fence before deliveries", renewed) => renewed?,
            // What was asked is answered on the connection that broke, or nowhere.
            Ok(_) = link.wait_for(|now| now.breaks != breaks) => return Ok(None),
        };
        *self.fence() = Some(fence);
        Ok(Some(fence))
    }

    /// One try to have a delivery stored behind that fence.
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

    /// Looks through all that lies there for this listener before a fence: what is out gets its place, and what is not is
    /// deleted.
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
            match token.filter(|token| self.desk.is_out(token)) {
                Some(token) => self.lies_at(&token.into(), place),
                // Whoever has it may have acknowledged it meanwhile.
                None => match self.stream.delete_message(place).await {
                    Err(error) if error.kind() == DeleteMessageErrorKind::TimedOut => {
                        return Err(error.to_string());
                    }
                    _ => {}
                },
            }
        }
    }

    /// Notes where a delivery lies. Where it was answered or called back before that was known, it is over.
    fn lies_at(&self, token: &Arc<str>, place: u64) {
        self.places().insert(token.clone(), place);
        if !self.desk.is_out(token) {
            self.over(token);
        }
    }

    /// Takes a delivery away that is over. A worker that has it finds out when it answers.
    pub(super) fn over(&self, token: &str) {
        let place = self.places().remove(token);
        if let Some(place) = place {
            self.aside.delete(&self.stream, place);
        }
    }

    /// The delivery whose worker gave no sign of life, as the broker says it; taken away, also where nobody knows it.
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

    /// Whether anything lies in the stream, or is with a worker.
    pub(super) fn is_anything_out(&self) -> bool {
        !self.places().is_empty()
    }

    /// Whether the stream and the consumer are still those that were made; the words of an error say which is not.
    pub(super) async fn look(&self) -> Result<Look, String> {
        let (name, out) = (part(&self.listener), self.places().clone());
        match tokio::time::timeout(PATIENCE, self.stream.consumer_info(&name)).await {
            Ok(Ok(info)) if info.config.metadata.get(MARK) == Some(&self.mark) => {
                let is_idle = info.num_pending == 0 && info.num_ack_pending == 0;
                Ok(Look::There(if is_idle { self.left_lying(out).await } else { Vec::new() }))
            }
            Ok(Ok(_)) => Err(format!("the consumer {name} was made by somebody else")),
            Ok(Err(error)) if error.kind() == ConsumerInfoErrorKind::NotFound => {
                Err(format!("the consumer {name} is gone"))
            }
            Ok(Err(error)) if error.kind() == ConsumerInfoErrorKind::StreamNotFound => Err(self.no_stream()),
            _ => Ok(Look::Unanswered),
        }
    }

    /// Of deliveries none of which waits for a worker or is with one, those that lie in the stream: their workers gave no
    /// sign of life, and the pump was not there when the broker said so, which it does once.
    async fn left_lying(&self, out: HashMap<Arc<str>, u64>) -> Vec<Arc<str>> {
        let mut lying = Vec::new();
        for (token, place) in out {
            // One that was acknowledged is there no more, and its reply may be on its way.
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

/// Makes a consumer. One that was made for another `in_flight`, or by an earlier version, may have to go first: the broker
/// does not change how many pulls may wait. Nothing is out when this is asked.
async fn made(stream: &Stream<()>, config: pull::Config) -> Result<(), String> {
    let name = config.durable_name.clone().unwrap_or_default();
    if stream.create_consumer(config.clone()).await.is_ok() {
        return Ok(());
    }
    // Where there is none to be deleted, the reason is another one, and is told by the second try.
    let _was_there = stream.delete_consumer(&name).await;
    stream.create_consumer(config).await.map(drop).map_err(|error| error.to_string())
}

const UNANSWERED: &str = "the broker did not say within 5 s whether it took the delivery";
const BROKE: &str = "the connection broke before the broker said whether it took the delivery";

/// What an error says of a delivery that was sent.
fn refused(error: &PublishError) -> Tried {
    let words = format!("the broker took no delivery: {error}");
    let said = error.source().and_then(|source| source.downcast_ref::<Error>()).map(Error::error_code);
    match (error.kind(), said) {
        (PublishErrorKind::StreamNotFound, _) => Tried::Homeless,
        _ if fence::is_stale(error) => Tried::Again,
        // The broker said no, or it was never asked.
        (_, Some(_)) | (PublishErrorKind::MaxAckPending | PublishErrorKind::MaxPayloadExceeded, _) => {
            Tried::Refused(words)
        }
        (PublishErrorKind::TimedOut, _) => Tried::Unknown(UNANSWERED.to_owned()),
        _ => Tried::Unknown(words),
    }
}
