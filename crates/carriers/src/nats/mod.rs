//! A listener that is reached over the broker: anyone who may publish to its subjects is the listener, on any
//! machine.
//!
//! This module judges nothing, and the broker redelivers nothing by itself. A delivery whose worker gives no sign of
//! life, or whose stream is gone, is reported gone, and the pump decides whether to try again. In: the mailbox of the
//! listener, and what comes on its subjects. Out: its deliveries, `Heard`, and a receipt for every document once the
//! result is on disk. No document of the listener waits for an answer of the broker.

mod consumer;
mod document_answers;
mod fence;
mod look;
mod missed_advisories;
mod outbox;
mod places;
mod side_messages;

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_nats::Subscriber;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use systole_kit::pump_documents;
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::document_kind::{DocumentKind, document_kind};
use super::mailbox::MailboxSide;
use super::post::{Post, UNSENT, called_back};
use crate::limits;
use document_answers::{GoneDelivery, WaitingQuestions};
use outbox::{DeliveryOutbox, SentDelivery, StreamLook};
use places::TakenDelivery;
use side_messages::{AnswerNote, AsideTasks};
use systole_bus::{Broker, ConnectionState};
use systole_core::types::codes::Code;
use systole_core::types::composition::{Listener, OnUnknown, Reach};
use systole_core::types::ports::{ArrivedDocument, LeaseToken};
use systole_core::types::time::spell_duration;
use systole_system::tasks::{self, RunningTask, TaskKind};
use systole_system::watched::read_watched;

/// How long a worker of that listener may go without a sign of life. A host reports for each of its listeners that it
/// lives, and measures their silence itself.
fn compute_silence(listener: &Listener) -> Duration {
    let idle = listener.idle_ms.map_or(limits::WORKER_SILENCE, Duration::from_millis);
    if matches!(listener.reach, Reach::Hosted) { idle.min(limits::WORKER_SILENCE) } else { idle }
}

/// What the carrier must know of its listener.
#[derive(Clone, Copy)]
pub(super) struct CarrierTerms {
    /// How long a worker may go without a sign of life.
    silence: Duration,
    /// Whether work of unknown outcome may be done again.
    may_repeat: bool,
}

impl CarrierTerms {
    pub(super) fn from_listener(listener: &Listener) -> CarrierTerms {
        let may_repeat = listener.on_unknown == OnUnknown::Retry;
        CarrierTerms { silence: compute_silence(listener), may_repeat }
    }
}

/// Starts the task that brings a listener its deliveries over the broker.
pub(super) fn start_carrier(post: &Post, broker: Arc<Broker>, terms: CarrierTerms) -> RunningTask {
    let kind = TaskKind::Listener(post.listener.clone());
    let fallen = post.clone();
    let attended = serve_listener(post.clone(), broker, terms);
    tasks::start_task(kind, attended, |panicked| fallen.report_panic(panicked))
}

/// Serves the listener until the carrier is stopped. If the stream or the consumer is gone, the deliveries that were
/// out are reported, and both are made again. If the broker refuses what is needed, the listener is down, and the
/// broker is asked again.
async fn serve_listener(post: Post, broker: Arc<Broker>, terms: CarrierTerms) {
    let mut is_down = false;
    loop {
        let opened = tokio::select! {
            opened = BrokerLine::open_line(&post, &broker, terms.silence) => opened,
            () = post.wait_for_stop() => break,
        };
        let words = match opened {
            Ok(line) => {
                // Work that may be repeated goes out again in the same attempt: whichever reply comes first counts.
                let lost = line.outbox.find_loss().filter(|_| !terms.may_repeat);
                post.report_adopted(line.outbox.list_found(), lost).await;
                post.report_joined().await;
                is_down = false;
                let Some(words) = line.serve_line(&post).await else { break };
                for (token, recall) in post.mailbox.settle_all() {
                    post.report_gone(token, recall.map_or(Code::ListenerLost, called_back), words.clone())
                        .await;
                }
                words
            }
            Err(words) => words,
        };
        if !is_down {
            post.report_left(&words).await;
            is_down = true;
        }
        // The broker has none of what still waits.
        post.put_off_waiting(&words).await;
        tokio::select! {
            () = tokio::time::sleep(limits::BROKER_PAUSE) => {}
            () = post.wait_for_stop() => break,
        }
    }
    // What workers have stays with them: the next life of the pump hears their replies.
    post.close_post(Code::ListenerLost, STOPPED).await;
}

/// Reports a delivery as gone, unless it was settled before.
async fn report_gone(token: LeaseToken, code: Code, words: String, post: &Post) {
    if post.mailbox.settle_delivery(&token.0) {
        post.report_gone(token, code, words).await;
    }
}

/// Reports that a delivery certainly reached no one, unless it was settled before.
async fn not_now(token: LeaseToken, words: String, post: &Post) {
    if post.mailbox.settle_delivery(&token.0) {
        post.not_now(token, words).await;
    }
}

const STOPPED: &str = "stopped with the organism";
const UNSUBSCRIBED: &str = "the broker ended the subscription";

/// The next message of a subscription; `None` if it has ended. May be dropped while it waits: nothing is lost.
async fn take_next(subscriber: &mut Subscriber) -> Option<async_nats::Message> {
    subscriber.next().await
}

/// Work that runs while messages are heard; `None` if there is nothing to do.
type BesideTask<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;

/// The end of such work, which is then removed; waits forever if there is none. May be dropped while it waits.
async fn take_result<T>(beside: &mut BesideTask<T>) -> T {
    let Some(work) = beside else { return std::future::pending().await };
    let done = work.await;
    *beside = None;
    done
}

/// One delivery on its way to the broker.
type SendingTask = Pin<Box<dyn Future<Output = (LeaseToken, SentDelivery)> + Send>>;

/// The subjects of one listener, subscribed to.
struct BrokerLine {
    outbox: Arc<DeliveryOutbox>,
    aside: AsideTasks,
    said: Subscriber,
    live: Subscriber,
    silent: Subscriber,
    asking: WaitingQuestions,
    silence: Duration,
    link: watch::Receiver<ConnectionState>,
    look: Interval,
    /// The deliveries that are being sent.
    sending: FuturesUnordered<SendingTask>,
    /// The check whether stream and consumer are there.
    looking: BesideTask<Result<StreamLook, String>>,
    /// Whether it was reported that the broker cannot be reached.
    is_cut: bool,
    /// The hosts that wait until it is on disk that a delivery will not be answered.
    gave_up: HashMap<Arc<str>, async_nats::Subject>,
}

impl BrokerLine {
    async fn open_line(post: &Post, broker: &Arc<Broker>, silence: Duration) -> Result<BrokerLine, String> {
        let (subjects, listener) = (broker.subjects(), &post.listener);
        let taken = |subject: String| {
            let client = broker.client().clone();
            async move { client.subscribe(subject).await.map_err(|error| error.to_string()) }
        };
        let mut link = broker.watch_link();
        link.mark_unchanged();
        // Answers to old deliveries are heard from now on.
        let said = taken(subjects.name_said(listener, "*")).await?;
        let live = taken(subjects.name_live(listener)).await?;
        let silent = taken(subjects.name_silence(listener)).await?;
        let outbox = Arc::new(DeliveryOutbox::open_outbox(broker, listener, &post.mailbox, silence).await?);
        let mut look = interval(limits::BROKER_PAUSE);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (aside, asking) = (AsideTasks::new(broker, listener), WaitingQuestions::default());
        Ok(BrokerLine {
            outbox,
            aside,
            said,
            live,
            silent,
            asking,
            silence,
            link,
            look,
            sending: FuturesUnordered::new(),
            looking: None,
            is_cut: false,
            gave_up: HashMap::new(),
        })
    }

    /// Serves until the carrier is stopped, or until the returned reason says why it cannot continue.
    async fn serve_line(mut self, post: &Post) -> Option<String> {
        loop {
            self.take_waiting(post).await;
            let ended = tokio::select! {
                () = post.mailbox.wait_for_item() => None,
                (token, why) = post.mailbox.take_unsent() => {
                    post.report_gone(token, called_back(why), UNSENT.to_owned()).await;
                    None
                }
                word = take_next(&mut self.said) => match word {
                    Some(message) => { self.take_message(message, post).await; None }
                    None => Some(UNSUBSCRIBED.to_owned()),
                },
                word = take_next(&mut self.live) => match word {
                    Some(message) => { self.take_sign(message, post).await; None }
                    None => Some(UNSUBSCRIBED.to_owned()),
                },
                word = take_next(&mut self.silent) => match word {
                    Some(message) => { self.note_silence(&message.payload, post).await; None }
                    None => Some(UNSUBSCRIBED.to_owned()),
                },
                Some((token, sent)) = self.sending.next() => self.note_sent(token, sent, post).await,
                looked = take_result(&mut self.looking) => self.take_look(looked, post).await,
                // Checks whether it is still the same broker, and whether the broker kept what it had.
                Ok(()) = self.link.changed() => { self.look_now(); None }
                _ = self.look.tick() => {
                    if !read_watched(&self.link).stands {
                        for token in self.outbox.take_untaken() {
                            post.report_untaken(token).await;
                        }
                    } else if self.is_cut || self.outbox.is_anything_out() {
                        self.look_now();
                    }
                    None
                }
                () = post.wait_for_stop() => {
                    self.aside.settle_tasks().await;
                    return None;
                }
            };
            if ended.is_some() {
                return ended;
            }
        }
    }

    fn look_now(&mut self) {
        if self.looking.is_none() && read_watched(&self.link).stands {
            let outbox = self.outbox.clone();
            self.looking = Some(Box::pin(async move { outbox.list_stream().await }));
        }
    }

    /// Takes everything off the mailbox that can be taken now. Deliveries are sent at once, in their order.
    async fn take_waiting(&mut self, post: &Post) {
        while let Some(token) = post.mailbox.next_ended() {
            self.outbox.end_delivery(&token.0);
            if let Some(reply) = self.gave_up.remove(&token.0) {
                let heard =
                    pump_documents::ReplyReceipt { delivery: token.0.to_string(), ..Default::default() };
                self.aside.send_document(reply, heard.to_document());
            }
        }
        while let Some(item) = post.mailbox.next_aside() {
            self.run_item(item, post).await;
        }
        while self.sending.len() < post.mailbox.room()
            && let Some(delivery) = post.mailbox.next_delivery()
        {
            let outbox = self.outbox.clone();
            self.sending.push(Box::pin(async move {
                let sent = outbox.send_delivery(&delivery).await;
                (delivery.lease.token.clone(), sent)
            }));
        }
    }

    async fn run_item(&mut self, item: MailboxSide, post: &Post) {
        match item {
            MailboxSide::Answer(answer) => {
                if let Some(reply) = self.asking.take_reply(&answer) {
                    self.aside.send_answer(reply, &answer);
                }
            }
            MailboxSide::Cancel(token) => {
                let why = post.mailbox.recall_of(&token).await;
                self.aside.send_cancel(&token);
                // The order to call it back is on disk.
                self.outbox.end_delivery(&token.0);
                let words = "called back; later replies of its worker are ignored";
                report_gone(token, called_back(why), words.to_owned(), post).await;
            }
        }
    }

    /// Handles the result of sending a delivery; returns the reason if the listener cannot be served any further.
    async fn note_sent(&mut self, token: LeaseToken, sent: SentDelivery, post: &Post) -> Option<String> {
        match sent {
            SentDelivery::Stored => {
                post.note_brought();
                self.note_reached(post).await;
            }
            // Its worker may have had it for long.
            SentDelivery::Found => self.look_now(),
            SentDelivery::Refused(code, words) => report_gone(token, code, words, post).await,
            // A worker may have had it.
            SentDelivery::Doubtful(words) => report_gone(token, Code::ListenerLost, words, post).await,
            SentDelivery::Barred(words) => {
                report_gone(token, Code::ListenerLost, words.clone(), post).await;
                self.cut_line(&words, post).await;
            }
            SentDelivery::Homeless(words) => {
                not_now(token, words.clone(), post).await;
                return Some(words);
            }
            SentDelivery::Unreached(words) => {
                not_now(token, words.clone(), post).await;
                self.cut_line(&words, post).await;
            }
        }
        None
    }

    /// The broker cannot be reached.
    async fn cut_line(&mut self, words: &str, post: &Post) {
        // Each of them would wait as long for the same answer.
        post.put_off_waiting(words).await;
        if !std::mem::replace(&mut self.is_cut, true) {
            post.report_left(words).await;
        }
    }

    /// The broker answered.
    async fn note_reached(&mut self, post: &Post) {
        if std::mem::take(&mut self.is_cut) {
            post.report_joined().await;
        }
    }

    /// A document of the listener, on the subject that only the listener may publish to. It is passed on to the pump
    /// before anything is sent to the broker.
    async fn take_message(&mut self, message: async_nats::Message, post: &Post) {
        if let Some(gone) = document_answers::read_gone(&message) {
            return self.gives_up(gone, message.reply, post).await;
        }
        let speech = ArrivedDocument::Bytes(message.payload.to_vec());
        let kind = document_kind(&message.payload);
        match &kind {
            DocumentKind::Reply { delivery } => {
                self.outbox.is_heard(delivery);
                let _was_out = post.mailbox.settle_delivery(delivery);
            }
            DocumentKind::Waits { delivery, id } => {
                self.outbox.is_alive(delivery);
                if let Some(reply) = message.reply {
                    self.asking.put_question(delivery.clone(), *id, reply);
                }
                return post.report_document(speech).await;
            }
            DocumentKind::Progress { .. } | DocumentKind::Notice { .. } | DocumentKind::Other => {}
        }
        let decided = post.said_with_receipt(speech).await;
        let delivery = kind.delivery().unwrap_or_default().to_owned();
        let is_reply = matches!(kind, DocumentKind::Reply { .. });
        let outbox = is_reply.then(|| self.outbox.clone());
        let answered =
            outbox.map(|outbox| Box::new(move |token: &str| outbox.is_answered(token)) as AnswerNote);
        self.aside.send_receipt(message.reply, delivery, decided, answered);
    }

    /// The host of the listener says that a delivery will not be answered. The host learns that this was heard when it
    /// is on disk.
    async fn gives_up(&mut self, gave: GoneDelivery, reply: Option<async_nats::Subject>, post: &Post) {
        let GoneDelivery { token, code, words, is_unstarted } = gave;
        if let Some(reply) = reply {
            self.gave_up.insert(token.0.clone(), reply);
        }
        match is_unstarted {
            true if post.mailbox.settle_delivery(&token.0) => post.report_away(token, words).await,
            true => {}
            false => report_gone(token, code, words, post).await,
        }
    }

    /// A document on the progress subject, where a reply would end no delivery.
    async fn take_sign(&mut self, message: async_nats::Message, post: &Post) {
        let speech = ArrivedDocument::Bytes(message.payload.to_vec());
        let kind = document_kind(&message.payload);
        if let DocumentKind::Progress { delivery } = &kind {
            self.outbox.is_alive(delivery);
            return post.report_document(speech).await;
        }
        let decided = post.report_misplaced(speech, message.reply.is_some()).await;
        if let (Some(reply), Some(decided)) = (message.reply, decided) {
            let delivery = kind.delivery().unwrap_or_default().to_owned();
            self.aside.send_receipt(Some(reply), delivery, decided, None);
        }
    }

    /// Handles the result of a look at stream and consumer; returns the reason if the listener cannot be served any
    /// further.
    async fn take_look(&mut self, looked: Result<StreamLook, String>, post: &Post) -> Option<String> {
        match looked {
            Ok(StreamLook::There(lying, taken, untaken)) => {
                self.note_reached(post).await;
                for TakenDelivery { token, age_ms, now, has_waited } in taken {
                    post.report_taken(token, age_ms, now, has_waited).await;
                }
                for token in untaken {
                    post.report_untaken(token).await;
                }
                for token in lying {
                    report_gone(LeaseToken(token), Code::ListenerLost, self.no_sign_of_life(), post).await;
                }
                None
            }
            Ok(StreamLook::Unanswered) => None,
            Err(words) => Some(words),
        }
    }

    fn no_sign_of_life(&self) -> String {
        let limit = u64::try_from(self.silence.as_millis()).unwrap_or(u64::MAX);
        format!("its worker gave no sign of life for {}", spell_duration(limit))
    }

    /// The broker says that the worker of a delivery gave no sign of life.
    async fn note_silence(&mut self, advisory: &[u8], post: &Post) {
        let Some(token) = self.outbox.take_silence(advisory) else { return };
        report_gone(LeaseToken(token), Code::ListenerLost, self.no_sign_of_life(), post).await;
    }
}
