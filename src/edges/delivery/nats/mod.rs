//! A listener that is reached over the broker: whoever may publish to its subjects is it, on whatever machine.
//!
//! It judges nothing, and the broker delivers nothing twice by itself: a delivery whose worker gives no sign of life is
//! reported gone, and whether to try again is the pump's to decide. In: the desk of the listener, and what comes on its
//! subjects. Out: its deliveries, `Heard`, and a receipt for every word once what came of it is on disk.

mod outbox;
mod subjects;
mod words;

use std::time::Duration;

use async_nats::Subscriber;
use tokio_stream::StreamExt as _;

use super::desk::Errand;
use super::post::{Post, UNSENT, called_back};
use super::receipts::Receipts;
use crate::edges::nats::Broker;
use crate::edges::tasks::{self, Kind, Task};
use crate::words::codes::Code;
use crate::words::ports::Token;
use outbox::{Outbox, Unsent};
use subjects::Subjects;
use words::Asking;

/// How long a worker may go without a sign of life.
pub(super) const ACK_WAIT: Duration = Duration::from_secs(30);
/// The pause before the broker is asked again for what it did not give.
const PAUSE: Duration = Duration::from_secs(1);

/// Starts the task that brings a listener its deliveries over the broker.
pub(super) fn tend(post: &Post, broker: Broker, receipts: std::sync::Arc<dyn Receipts>) -> Task {
    let kind = Kind::Listener(post.listener.clone());
    let fallen = post.clone();
    let attended = attend(post.clone(), broker, receipts);
    tasks::start(kind, attended, |panicked| fallen.fallen(panicked))
}

/// Serves the listener until the carrier is stopped. Where the broker refuses what is needed the listener is down, and
/// the broker is asked again.
async fn attend(post: Post, broker: Broker, receipts: std::sync::Arc<dyn Receipts>) {
    let subjects = Subjects::of(broker.organism(), &post.listener);
    let mut is_down = false;
    let words = loop {
        let words = match Line::open(&post, &broker, &subjects).await {
            Ok(line) => {
                post.joined().await;
                is_down = false;
                match line.serve(&post, &receipts).await {
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

/// The subjects of one listener, taken.
struct Line {
    outbox: Outbox,
    said: Subscriber,
    live: Subscriber,
    silent: Subscriber,
    asking: Asking,
}

impl Line {
    async fn open(post: &Post, broker: &Broker, subjects: &Subjects) -> Result<Line, String> {
        let taken = |subject: String| {
            let client = broker.client().clone();
            async move { client.subscribe(subject).await.map_err(|error| error.to_string()) }
        };
        // Whoever answers an old delivery is heard from here on.
        let said = taken(subjects.said()).await?;
        let live = taken(subjects.live.clone()).await?;
        let silent = taken(subjects.silent.clone()).await?;
        let outbox = Outbox::open(broker, subjects, post.desk.room()).await?;
        Ok(Line { outbox, said, live, silent, asking: Asking::default() })
    }

    /// Serves until the carrier is stopped, or until the words that are given say why it cannot go on.
    async fn serve(mut self, post: &Post, receipts: &std::sync::Arc<dyn Receipts>) -> Option<String> {
        loop {
            while let Some(errand) = post.desk.next_now() {
                self.run(errand, post).await;
            }
            tokio::select! {
                () = post.desk.arrival() => {}
                (token, why) = post.desk.unsent() => {
                    post.gone(token, called_back(why), UNSENT.to_owned()).await;
                }
                word = self.said.next() => match word {
                    Some(message) => self.heard(message, post, receipts).await,
                    None => return Some("the broker ended the subscription".to_owned()),
                },
                word = self.live.next() => match word {
                    Some(message) => post.said(crate::words::ports::Speech::Bytes(message.payload.to_vec())).await,
                    None => return Some("the broker ended the subscription".to_owned()),
                },
                word = self.silent.next() => match word {
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
    async fn heard(
        &mut self,
        message: async_nats::Message,
        post: &Post,
        receipts: &std::sync::Arc<dyn Receipts>,
    ) {
        let speech = crate::words::ports::Speech::Bytes(message.payload.to_vec());
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
        let (ticket, decided) = receipts.draw();
        post.said_with(speech, ticket).await;
        if let Some(reply) = message.reply {
            self.outbox.receipt(reply, words::delivery(&message.payload), decided);
        }
    }

    /// The broker says that the worker of a delivery gave no sign of life.
    async fn silent(&mut self, advisory: &[u8], post: &Post) {
        let Some(token) = self.outbox.silent(advisory).await else { return };
        if post.desk.settle(&token) {
            let seconds = ACK_WAIT.as_secs().to_string();
            let words = ["its worker gave no sign of life for ", &seconds, " s"].concat();
            post.gone(Token(token), Code::ListenerLost, words).await;
        }
    }
}
