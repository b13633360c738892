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
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};
use tokio::time::Instant;

use super::consumer::{ConsumerProgress, ConsumerState, WorkConsumer};
use super::fence::{self, FenceFault};
use super::look;
use super::missed_advisories::UnheardSilences;
use super::places::{DeliveryPlace, DeliveryPlaces, TakenDelivery};
use super::side_messages::{AsideTasks, in_time};
use crate::limits;
use crate::mailbox::Mailbox;
use crate::post::describe_damage;
use systole_bus::{Broker, PATIENCE, WorkerSilence};
use systole_core::types::codes::Code;
use systole_core::types::ids::{Digest, Name};
use systole_core::types::ports::{Delivery, LeaseToken};
use systole_core::types::time::Millis;
use systole_kit::protocol::{PROTOCOL, PROTOCOL_HEADER};
use systole_system::watched::read_watched;

/// The header for the subject of the expected fence.
const FENCE_SUBJECT: &str = "Nats-Expected-Last-Subject-Sequence-Subject";

/// The result of sending a delivery.
#[derive(Debug)]
pub(super) enum SentDelivery {
    /// It is in the stream, or a worker already has it.
    Stored,
    /// The same, since an earlier life of the pump.
    Found,
    /// The broker will never have it, for this reason.
    Refused(Code, String),
    /// The broker will never have it, because it cannot be reached.
    Unreached(String),
    /// There is no stream for it.
    Homeless(String),
    /// It is unknown whether a worker had it. It is no longer in the stream, or it is another one.
    Doubtful(String),
    /// It is unknown whether a worker had it, and another program stands in the way.
    Barred(String),
}

/// The result of a look at stream and consumer.
pub(super) enum StreamLook {
    /// Both are there. No worker has the first deliveries any more; the next were taken, and the last lie there untaken.
    There(Vec<Arc<str>>, Vec<TakenDelivery>, Vec<LeaseToken>),
    /// The broker did not answer.
    Unanswered,
}

/// What is known of the reply to a delivery that is on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum ReplyState {
    #[default]
    None,
    /// It came, and is not on disk yet.
    Heard,
    /// It is on disk.
    Taken,
}

/// Why there is no fence.
enum NoFence {
    /// The broker cannot be reached.
    Cut(String),
    /// Another program stands in the way.
    Barred(&'static str),
    /// The stream has lost what it had confirmed.
    Lost,
}

/// The result of one try.
enum PublishTrial {
    At {
        place: u64,
        /// Whether the broker had it before.
        is_again: bool,
    },
    /// There is another fence, or there was no connection: the broker did not take it.
    Again,
    Refused(String),
    Homeless,
    Unknown(String),
}

pub(super) struct DeliveryOutbox {
    broker: Arc<Broker>,
    listener: Name,
    mailbox: Arc<Mailbox>,
    aside: AsideTasks,
    stream: Stream<()>,
    consumer: WorkConsumer,
    /// Where the deliveries are that are out.
    places: Mutex<DeliveryPlaces>,
    /// The places of deliveries that were answered, with the time: their workers should acknowledge them.
    answered: Mutex<Vec<(u64, Instant)>>,
    unheard: UnheardSilences,
    /// The deliveries on their way to the broker, and what is known of their replies.
    on_the_way: Mutex<HashMap<Arc<str>, ReplyState>>,
    /// The current fence before deliveries; `None` if a new one is needed.
    fence: Mutex<Option<u64>>,
    /// Held by the one that puts a new fence.
    renewing: tokio::sync::Mutex<()>,
    /// How often the stream had lost deliveries when this was made.
    losses: u64,
    /// How long a worker may give no sign of life.
    silence: Duration,
}

impl DeliveryOutbox {
    /// Makes the listener's consumer, finds the deliveries that are still out, and deletes all others. Those of an
    /// earlier life that are still on their way are refused from now on.
    pub(super) async fn open_outbox(
        broker: &Arc<Broker>,
        listener: &Name,
        mailbox: &Arc<Mailbox>,
        silence: Duration,
    ) -> Result<DeliveryOutbox, String> {
        let (jetstream, subjects) = (broker.jetstream(), broker.subjects());
        let breaks = read_watched(&broker.watch_link()).breaks;
        broker.make_again().await.map_err(|unusable| unusable.to_string())?;
        let losses = broker.count_losses().await?;
        let found = jetstream.get_stream_no_info(subjects.bus_stream());
        let stream = in_time("the stream of deliveries", found).await?;
        let fence = in_time("the fence before deliveries", fence::put(broker, listener, &stream)).await?;
        // If another pump has taken over before this reaches the broker, what is behind the fence belongs to that
        // pump.
        let is_ours = |token: &str| mailbox.is_out(token);
        let found = look::list_deliveries(broker, listener, (&stream, fence), is_ours).await;
        let found = found.map_err(|words| format!("old deliveries: {words}"))?;
        let room = (mailbox.room(), silence);
        let consumer = in_time("the consumer", WorkConsumer::make(broker, listener, &stream, room)).await?;
        let outbox = DeliveryOutbox {
            broker: broker.clone(),
            listener: listener.clone(),
            mailbox: mailbox.clone(),
            aside: AsideTasks::new(broker, listener),
            consumer,
            stream,
            places: Mutex::default(),
            answered: Mutex::default(),
            unheard: UnheardSilences::new(breaks, &found),
            on_the_way: Mutex::default(),
            fence: Mutex::new(Some(fence)),
            renewing: tokio::sync::Mutex::default(),
            losses,
            silence,
        };
        found.iter().for_each(|(token, place)| outbox.note_place(token, *place));
        mailbox.note_found(&outbox.lock_places().list_found());
        Ok(outbox)
    }

    /// The deliveries of an earlier life that are still in the stream.
    pub(super) fn list_found(&self) -> Vec<LeaseToken> {
        self.lock_places().list_found().into_keys().map(LeaseToken).collect()
    }

    /// Why a worker may have had any delivery that is not found, if so: a server that is started anew no longer knows
    /// which ones it had, and may have lost some.
    pub(super) fn find_loss(&self) -> Option<String> {
        (!self.consumer.is_same_server).then(|| FORGOTTEN.to_owned())
    }

    /// The deliveries that no worker was seen to take, while the broker cannot be asked. Names each once.
    pub(super) fn take_untaken(&self) -> Vec<LeaseToken> {
        self.lock_places().list_taken(0, None, Instant::now()).1
    }

    fn lock_places(&self) -> MutexGuard<'_, DeliveryPlaces> {
        // Every change of it is complete before anything can panic.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_answered(&self) -> MutexGuard<'_, Vec<(u64, Instant)>> {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn on_the_way(&self) -> MutexGuard<'_, HashMap<Arc<str>, ReplyState>> {
        self.on_the_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_fence(&self) -> MutexGuard<'_, Option<u64>> {
        self.fence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fence is of no use any more, unless there is a newer one.
    fn drop_fence(&self, used: u64) {
        let mut fence = self.lock_fence();
        if *fence == Some(used) {
            *fence = None;
        }
    }

    /// Puts a delivery where a worker can pull it.
    pub(super) async fn send_delivery(&self, delivery: &Delivery) -> SentDelivery {
        let document = match delivery.document() {
            Ok(document) => document,
            Err(fault) => return SentDelivery::Refused(Code::DamagedThread, describe_damage(&fault)),
        };
        let token = &delivery.lease.token;
        if let Some(is_same) = self.lock_places().take_up(&token.0, &Digest::hash_bytes(&document)) {
            let words = "the broker has another delivery under its name: the log or its secret went back";
            return if is_same { SentDelivery::Found } else { SentDelivery::Doubtful(words.to_owned()) };
        }
        self.on_the_way().insert(token.0.clone(), ReplyState::None);
        let sent = self.send_in_rounds(token, document).await;
        self.on_the_way().remove(&token.0);
        sent
    }

    async fn send_in_rounds(&self, token: &LeaseToken, document: Vec<u8>) -> SentDelivery {
        let most = self.broker.largest_message();
        if document.len() + 1024 > most {
            let words = format!(
                "the delivery has {} bytes, and the broker takes {most} with their headers",
                document.len()
            );
            return SentDelivery::Refused(Code::ListenerDown, words);
        }
        let mut last = SentDelivery::Refused(Code::ListenerDown, fence::CONTESTED.to_owned());
        for _ in 0..limits::FENCE_ROUNDS {
            let fence = match self.require_fence().await {
                Ok(fence) => fence,
                Err(NoFence::Cut(words)) => return SentDelivery::Unreached(words),
                Err(NoFence::Barred(words)) => return SentDelivery::Unreached(words.to_owned()),
                Err(NoFence::Lost) => return SentDelivery::Homeless(LOST.to_owned()),
            };
            // Whatever the broker stores from now on gets a higher place.
            let after = self.broker.confirmations().find_highest();
            match self.publish_document(token, document.clone(), fence).await {
                PublishTrial::At { place, is_again: false } => {
                    self.broker.confirmations().note_place(place);
                    self.note_place(&token.0, DeliveryPlace::stored_now(place));
                    return SentDelivery::Stored;
                }
                PublishTrial::At { place, is_again: true } => return self.note_sent(token, place).await,
                PublishTrial::Again => self.drop_fence(fence),
                PublishTrial::Refused(words) => return SentDelivery::Refused(Code::ListenerDown, words),
                PublishTrial::Homeless => return SentDelivery::Homeless(self.no_stream()),
                PublishTrial::Unknown(words) => {
                    self.drop_fence(fence);
                    match self.find_sent(token, after, words).await {
                        Some(found) => return found,
                        None => last = SentDelivery::Unreached(self.breaks_again()),
                    }
                }
            }
        }
        last
    }

    /// The broker had the delivery before. If it is no longer in the stream, a worker has it that acknowledged too
    /// early, and is waited for.
    async fn note_sent(&self, token: &LeaseToken, place: u64) -> SentDelivery {
        match in_time("a place in the stream", self.is_there(place)).await {
            Ok(true) => self.note_place(&token.0, DeliveryPlace::stored_now(place)),
            Ok(false) => self.lock_places().is_silent(&token.0),
            Err(words) => return SentDelivery::Doubtful(words),
        }
        SentDelivery::Stored
    }

    /// Finds out what happened to a delivery, as soon as the broker can be reached. `None` if the broker never had it.
    async fn find_sent(&self, token: &LeaseToken, after: u64, words: String) -> Option<SentDelivery> {
        let fence = loop {
            match self.require_fence().await {
                Ok(fence) => break fence,
                Err(NoFence::Lost) => return Some(SentDelivery::Doubtful(format!("{words}; {LOST}"))),
                Err(NoFence::Barred(more)) => return Some(SentDelivery::Barred(format!("{words}; {more}"))),
                Err(NoFence::Cut(_)) if !self.mailbox.is_out(&token.0) => return Some(SentDelivery::Stored),
                Err(NoFence::Cut(_)) => tokio::time::sleep(limits::BROKER_PAUSE).await,
            }
        };
        if self.lock_places().has_token(&token.0) || !self.mailbox.is_out(&token.0) {
            return Some(SentDelivery::Stored);
        }
        match self.is_anything_gone(after, fence).await {
            Ok(false) => None,
            Ok(true) => Some(SentDelivery::Doubtful(format!("{words}; it is no longer in the stream"))),
            Err(more) => Some(SentDelivery::Doubtful(format!("{words}; {more}"))),
        }
    }

    /// Whether the broker may have stored and removed a message between these two places that it never confirmed. If
    /// not, a delivery that was sent behind the first, and is not in the stream, was never stored.
    async fn is_anything_gone(&self, after: u64, fence: u64) -> Result<bool, String> {
        let Some(gaps) = self.broker.confirmations().list_gaps(after, fence) else { return Ok(true) };
        for place in gaps {
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
    async fn require_fence(&self) -> Result<u64, NoFence> {
        for _ in 0..limits::FENCE_ROUNDS {
            if let Some(fence) = self.fenced_once().await? {
                return Ok(fence);
            }
        }
        Err(NoFence::Cut(self.breaks_again()))
    }

    /// The same on one connection; `None` if the connection breaks.
    async fn fenced_once(&self) -> Result<Option<u64>, NoFence> {
        let mut link = self.broker.watch_link();
        match tokio::time::timeout(PATIENCE, link.wait_for(|link| link.stands)).await {
            Ok(Ok(_)) => {}
            _ => {
                let words = format!("no connection to the broker at {}", self.broker.address());
                return Err(NoFence::Cut(words));
            }
        }
        let breaks = read_watched(&link).breaks;
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
        let known = *self.lock_fence();
        if let Some(fence) = known {
            return Ok(fence);
        }
        let _only_one = self.renewing.lock().await;
        let known = *self.lock_fence();
        if let Some(fence) = known {
            return Ok(fence);
        }
        let put = fence::put(&self.broker, &self.listener, &self.stream);
        let fence = match tokio::time::timeout(PATIENCE, put).await {
            Ok(Ok(fence)) => fence,
            Ok(Err(FenceFault::Barred(words))) => return Err(NoFence::Barred(words)),
            Ok(Err(FenceFault::Failed(words))) => return Err(NoFence::Cut(words)),
            Err(_) => return Err(NoFence::Cut(UNANSWERED.to_owned())),
        };
        self.broker.confirmations().note_place(fence);
        let is_ours = |token: &str| self.mailbox.is_out(token) || self.lock_places().has_token(token);
        let found = look::list_deliveries(&self.broker, &self.listener, (&self.stream, fence), is_ours);
        for (token, place) in found.await.map_err(NoFence::Cut)? {
            self.note_place(&token, place.handed_over());
        }
        *self.lock_fence() = Some(fence);
        Ok(fence)
    }

    /// Whether the stream still has what it confirmed. If not, the places that are known here may be those of others.
    async fn has_lost_nothing(&self) -> Result<(), NoFence> {
        match self.broker.count_losses().await {
            Ok(losses) if losses == self.losses => Ok(()),
            Ok(_) => Err(NoFence::Lost),
            Err(words) => Err(NoFence::Cut(words)),
        }
    }

    /// One try to get a delivery stored behind that fence.
    async fn publish_document(&self, token: &LeaseToken, document: Vec<u8>, fence: u64) -> PublishTrial {
        let (jetstream, subjects) = (self.broker.jetstream(), self.broker.subjects());
        let mut link = self.broker.watch_link();
        let before = *link.borrow_and_update();
        if !before.stands {
            return PublishTrial::Again;
        }
        let mut headers = HeaderMap::new();
        headers.insert(PROTOCOL_HEADER, PROTOCOL);
        // An embedded log has one partition.
        headers.insert("Systole-Reply", subjects.name_said(&self.listener, "0").as_str());
        headers.insert(fence::EXPECTED, fence.to_string());
        headers.insert(FENCE_SUBJECT, subjects.name_fence(&self.listener).as_str());
        headers.insert(async_nats::header::NATS_MESSAGE_ID, &*token.0);
        let stored = async {
            let subject = subjects.name_delivery(&self.listener);
            jetstream.publish_with_headers(subject, headers, document.into()).await?.await
        };
        tokio::select! {
            biased;
            told = tokio::time::timeout(PATIENCE, stored) => match told {
                Ok(Ok(ack)) => PublishTrial::At { place: ack.sequence, is_again: ack.duplicate },
                Ok(Err(error)) => explain_refusal(&error),
                Err(_) => PublishTrial::Unknown(UNANSWERED.to_owned()),
            },
            // The answer would have come over the connection that broke.
            _ = link.wait_for(|now| now.breaks != before.breaks) => PublishTrial::Unknown(BROKE.to_owned()),
        }
    }

    /// Notes the place of a delivery. If the delivery was answered or called back before its place was known, it is
    /// over.
    fn note_place(&self, token: &Arc<str>, place: DeliveryPlace) {
        self.lock_places().put(token, place);
        if self.mailbox.is_out(token) {
            return;
        }
        let reply = self.on_the_way().get(token).copied().unwrap_or_default();
        match reply {
            // Its receipt settles it, once it is on disk.
            ReplyState::Heard => {}
            ReplyState::Taken => self.is_answered(token),
            ReplyState::None => self.end_delivery(token),
        }
    }

    /// Removes a delivery that is over. A worker that has it finds out when it answers.
    pub(super) fn end_delivery(&self, token: &str) {
        let place = self.lock_places().remove(token);
        if let Some(place) = place {
            self.aside.delete_message(&self.stream, place);
        }
    }

    /// Notes that a delivery is answered. Its worker acknowledges it, which removes it; or else it is removed later.
    pub(super) fn is_answered(&self, token: &str) {
        let place = self.lock_places().remove(token);
        if let Some(place) = place {
            self.lock_answered().push((place, Instant::now()));
        } else if let Some(reply) = self.on_the_way().get_mut(token) {
            *reply = ReplyState::Taken;
        }
    }

    /// Notes that a reply to a delivery was heard, and is not on disk yet.
    pub(super) fn is_heard(&self, token: &str) {
        if let Some(reply) = self.on_the_way().get_mut(token) {
            *reply = ReplyState::Heard;
        }
    }

    /// Removes the deliveries that were answered long enough ago and that no worker has acknowledged.
    fn remove_unacknowledged(&self, acknowledged: u64) {
        let old: Vec<u64> = {
            let mut answered = self.lock_answered();
            let count = answered.partition_point(|(_, at)| at.elapsed() >= limits::BROKER_PAUSE);
            answered.drain(..count).map(|(place, _)| place).collect()
        };
        // All up to that place are acknowledged. Of the others it is not known.
        for place in old.into_iter().filter(|place| *place > acknowledged) {
            self.aside.delete_message(&self.stream, place);
        }
    }

    /// The delivery whose worker died, from the broker's advisory. If it is unknown here, it is removed.
    pub(super) fn take_silence(&self, advisory: &[u8]) -> Option<Arc<str>> {
        let WorkerSilence { place, said } = WorkerSilence::parse(advisory)?;
        let token = self.lock_places().token_at(place);
        if token.is_none() {
            self.aside.delete_message(&self.stream, place);
        }
        self.note_death(token?, said)
    }

    /// A worker gave the broker no sign of life. If the broker itself was away, it may live, and is waited for.
    fn note_death(&self, token: Arc<str>, said: Millis) -> Option<Arc<str>> {
        if self.consumer.knows_server(&self.broker) && !self.unheard.was_away(said) {
            return Some(token);
        }
        self.lock_places().is_silent(&token);
        None
    }

    /// A sign of life of the worker that has a delivery.
    pub(super) fn is_alive(&self, token: &str) {
        self.lock_places().is_alive(token);
    }

    /// Whether any delivery is in the stream or with a worker.
    pub(super) fn is_anything_out(&self) -> bool {
        !self.lock_places().is_empty() || !self.lock_answered().is_empty()
    }

    /// Whether the stream and the consumer are still those that were made; an error says which is not.
    pub(super) async fn list_stream(&self) -> Result<StreamLook, String> {
        let before = Instant::now();
        let Ok(state) = tokio::time::timeout(PATIENCE, self.consumer.read_state(&self.broker)).await else {
            return Ok(StreamLook::Unanswered);
        };
        match state {
            ConsumerState::Ours(ConsumerProgress { handed_out: last, acknowledged, is_idle, now }) => {
                match self.has_lost_nothing().await {
                    Ok(()) => {
                        self.remove_unacknowledged(acknowledged);
                        if self.consumer.notes_server(&self.broker, &self.stream).await {
                            self.unheard.server_is_back(now);
                        }
                    }
                    Err(NoFence::Lost) => return Err(LOST.to_owned()),
                    Err(NoFence::Cut(_) | NoFence::Barred(_)) => return Ok(StreamLook::Unanswered),
                }
                let mut silent = self.silent_unheard(now).await;
                let (out, (taken, untaken)) = {
                    let mut places = self.lock_places();
                    silent.extend(places.silent_for(self.silence));
                    (places.handed_out(last), places.list_taken(last, now, before))
                };
                if is_idle {
                    silent.extend(self.left_in_stream(out, now.unwrap_or_default()).await);
                }
                Ok(StreamLook::There(silent, taken, untaken))
            }
            ConsumerState::ChangedLate => {
                if let Err(words) = in_time("the consumer", self.consumer.take_back(&self.stream)).await {
                    let listener = &self.listener;
                    tracing::debug!(%listener, why = words, "a consumer did not get its settings back yet");
                    return Ok(StreamLook::Unanswered);
                }
                Ok(StreamLook::There(Vec::new(), Vec::new(), Vec::new()))
            }
            ConsumerState::Lost(words) => Err(words),
            ConsumerState::NoStream => Err(self.no_stream()),
            ConsumerState::Unanswered => Ok(StreamLook::Unanswered),
        }
    }

    /// The given deliveries that are still in the stream, although none waits for a worker or is with one. Their
    /// workers gave no sign of life, and the pump missed the broker's single advisory about that.
    async fn left_in_stream(&self, out: Vec<(Arc<str>, u64)>, now: Millis) -> Vec<Arc<str>> {
        let mut lying = Vec::new();
        for (token, place) in out {
            // An acknowledged delivery is no longer there, and its reply may be on its way.
            if self.stream.get_raw_message(place).await.is_ok() {
                lying.extend(self.note_death(token, now));
            }
        }
        lying
    }

    /// The deliveries whose workers gave no sign of life while this pump did not hear the broker say so. `now` is the
    /// time of the broker.
    async fn silent_unheard(&self, now: Option<Millis>) -> Vec<Arc<str>> {
        let mut silent = Vec::new();
        for WorkerSilence { place, said } in self.unheard.list(&self.broker, &self.listener, now).await {
            let Some(token) = self.lock_places().token_at(place) else { continue };
            // An earlier stream may have had another delivery at that place.
            let found = self.stream.get_raw_message(place).await.ok();
            if found.and_then(|found| look::read_time(&found)).is_some_and(|stored| stored <= said) {
                silent.extend(self.note_death(token, said));
            }
        }
        silent
    }

    fn no_stream(&self) -> String {
        format!("the stream {} is gone", self.broker.subjects().bus_stream())
    }
}

const FORGOTTEN: &str = "the broker was started anew and has no such delivery: a worker may have had it";
const LOST: &str = "the broker has lost deliveries that it had confirmed";
const UNANSWERED: &str = "the broker did not say within 5 s whether it took the delivery";
const BROKE: &str = "the connection broke before the broker said whether it took the delivery";

/// What an error says about a delivery that was sent.
fn explain_refusal(error: &PublishError) -> PublishTrial {
    let words = format!("the broker took no delivery: {error}");
    let said = error.source().and_then(|source| source.downcast_ref::<Error>()).map(Error::error_code);
    match (error.kind(), said) {
        (PublishErrorKind::StreamNotFound, _) => PublishTrial::Homeless,
        _ if fence::is_stale(error) => PublishTrial::Again,
        // The broker refused it, or was never asked.
        (_, Some(_)) | (PublishErrorKind::MaxAckPending | PublishErrorKind::MaxPayloadExceeded, _) => {
            PublishTrial::Refused(words)
        }
        (PublishErrorKind::TimedOut, _) => PublishTrial::Unknown(UNANSWERED.to_owned()),
        _ => PublishTrial::Unknown(words),
    }
}
