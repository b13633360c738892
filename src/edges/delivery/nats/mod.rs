//! A listener that is reached over the broker: whoever may publish to its subjects is it, on whatever machine.
//!
//! It judges nothing, and the broker delivers nothing twice by itself: a delivery whose worker gives no sign of life is
//! reported gone, and whether to try again is the pump's to decide. In: the desk of the listener, and what comes on its
//! subjects. Out: its deliveries, `Heard`, and a receipt for every word once what came of it is on disk.

mod outbox;
mod words;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_nats::Subscriber;
use futures_core::Stream as _;

use super::desk::Errand;
use super::post::{Post, UNSENT, called_back};
use crate::edges::nats::Broker;
use crate::edges::tasks::{self, Kind, Task};
use crate::words::codes::Code;
use crate::words::ports::{Speech, Token};
use crate::words::time::spoken;
use outbox::{Outbox, Unsent};
use words::Asking;

/// How long a worker may go without a sign of life, where the file does not say.
const SILENCE: Duration = Duration::from_secs(30);
/// The pause before the broker is asked again for what it did not give.
const PAUSE: Duration = Duration::from_secs(1);

/// Starts the task that brings a listener its deliveries over the broker.
pub(super) fn tend(post: &Post, broker: Arc<Broker>, idle_ms: Option<u64>) -> Task {
    let kind = Kind::Listener(post.listener.clone());
    let fallen = post.clone();
    let attended = attend(post.clone(), broker, idle_ms.map_or(SILENCE, Duration::from_millis));
    tasks::start(kind, attended, |panicked| fallen.fallen(panicked))
}

/// Serves the listener until the carrier is stopped. Where the broker refuses what is needed the listener is down, and
/// the broker is asked again.
async fn attend(post: Post, broker: Arc<Broker>, silence: Duration) {
    let mut is_down = false;
    let words = loop {
        let words = match Line::open(&post, &broker, silence).await {
            Ok(line) => {
                post.joined().await;
                is_down = false;
                match line.serve(&post).await {
                    Some(words) => words,
                    None => break "stopped with the organism".to_owned(),
                }
            }
            Err(words) => words,
        };
        if !is_down {
            post.left(&words, true).await;
            is_down = true;
        }
        let lost = post.desk.settle_all();
        for (token, recall) in lost {
            post.gone(token, recall.map_or(Code::ListenerLost, called_back), words.clone()).await;
        }
        post.refuse_waiting(&words).await;
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = post.stopped() => break words,
        }
    };
    post.close(Code::ListenerLost, &words).await;
}

/// The next message of a subscription; none where it has ended. May be dropped while it waits: nothing is lost.
async fn next(subscriber: &mut Subscriber) -> Option<async_nats::Message> {
    poll_fn(|cx| Pin::new(&mut *subscriber).poll_next(cx)).await
}

/// The subjects of one listener, taken.
struct Line {
    outbox: Outbox,
    said: Subscriber,
    live: Subscriber,
    silent: Subscriber,
    asking: Asking,
    silence: Duration,
}

impl Line {
    async fn open(post: &Post, broker: &Arc<Broker>, silence: Duration) -> Result<Line, String> {
        let (subjects, listener) = (broker.subjects(), &post.listener);
        let taken = |subject: String| {
            let client = broker.client().clone();
            async move { client.subscribe(subject).await.map_err(|error| error.to_string()) }
        };
        // Whoever answers an old delivery is heard from here on.
        let said = taken(subjects.said(listener, "*")).await?;
        let live = taken(subjects.live(listener)).await?;
        let silent = taken(subjects.silence(listener)).await?;
        let outbox = Outbox::open(broker, listener, post.desk.room(), silence).await?;
        Ok(Line { outbox, said, live, silent, asking: Asking::default(), silence })
    }

    /// Serves until the carrier is stopped, or until the words that are given say why it cannot go on.
    async fn serve(mut self, post: &Post) -> Option<String> {
        loop {
            while let Some(errand) = post.desk.next_now() {
                self.run(errand, post).await;
            }
            tokio::select! {
                () = post.desk.arrival() => {}
                (token, why) = post.desk.unsent() => {
                    post.gone(token, called_back(why), UNSENT.to_owned()).await;
                }
                word = next(&mut self.said) => match word {
                    Some(message) => self.heard(message, post).await,
                    None => return Some("the broker ended the subscription".to_owned()),
                },
                word = next(&mut self.live) => match word {
                    Some(message) => post.said(Speech::Bytes(message.payload.to_vec())).await,
                    None => return Some("the broker ended the subscription".to_owned()),
                },
                word = next(&mut self.silent) => match word {
                    Some(message) => self.silent(&message.payload, post).await,
                    None => return Some("the broker ended the subscription".to_owned()),
                },
                () = post.stopped() => return None,
            }
        }
    }

    async fn run(&mut self, errand: Errand, post: &Post) {
        match errand {
            Errand::Deliver(delivery) => {
                let token = delivery.lease.token.clone();
                match self.outbox.send(&delivery).await {
                    Ok(()) => post.brought(),
                    Err(Unsent(words)) => {
                        if post.desk.settle(&token.0) {
                            post.gone(token, Code::ListenerDown, words).await;
                        }
                    }
                }
            }
            Errand::Answer(answer) => {
                if let Some(reply) = self.asking.take(&answer) {
                    self.outbox.answer(reply, answer.document()).await;
                }
            }
            Errand::Cancel(token) => {
                let why = post.desk.recall_of(&token).await;
                self.outbox.cancel(&token).await;
                if post.desk.settle(&token.0) {
                    let words = "called back; whoever works on it is not heard any more";
                    post.gone(token, called_back(why), words.to_owned()).await;
                }
            }
        }
    }

    /// A word of the listener: on the subject that only it may publish to.
    async fn heard(&mut self, message: async_nats::Message, post: &Post) {
        let speech = Speech::Bytes(message.payload.to_vec());
        match words::kind(&message.payload) {
            words::Kind::Reply { delivery } => {
                let _was_out = post.desk.settle(&delivery);
                self.outbox.over(&delivery).await;
            }
            words::Kind::Waits { delivery, id } => {
                if let Some(reply) = message.reply {
                    self.asking.put(delivery, id, reply);
                }
                return post.said(speech).await;
            }
            words::Kind::Other => {}
        }
        let decided = post.said_with_receipt(speech).await;
        if let Some(reply) = message.reply {
            let delivery = words::delivery(&message.payload).unwrap_or_default();
            self.outbox.receipt(reply, delivery, decided);
        }
    }

    /// The broker says that the worker of a delivery gave no sign of life.
    async fn silent(&mut self, advisory: &[u8], post: &Post) {
        let Some(token) = self.outbox.silent(advisory).await else { return };
        if post.desk.settle(&token) {
            let limit = u64::try_from(self.silence.as_millis()).unwrap_or(u64::MAX);
            let words = ["its worker gave no sign of life for ", &spoken(limit)].concat();
            post.gone(Token(token), Code::ListenerLost, words).await;
        }
    }
}
