//! Where clients come in over the broker: what each sends, and the way back to it. The broker controls who may
//! publish where, so the subject identifies the client; a header cannot.
//!
//! It judges nothing and answers nothing by itself. If no one takes messages when one comes, the message is lost, and
//! the broker tells its sender so.

use std::future::poll_fn;
use std::pin::Pin;

use async_nats::{Client, HeaderMap, Message, Subject, Subscriber};
use futures_core::Stream as _;

use super::{Broker, fitness};

/// A message of a client, unread.
pub struct UnreadMessage {
    /// The sender, as its subject has the name.
    pub client: String,
    /// The header `Idempotency-Key`.
    pub key: Option<String>,
    /// The header `Systole-To`: an addressee outside the document.
    pub to: Option<String>,
    /// The header `Systole-Thread`: a thread outside the document.
    pub thread: Option<String>,
    /// The header `Systole-Wait`: how long its sender waits for the result.
    pub wait: Option<String>,
    /// The header `Systole-Subject`: what the thread is about.
    pub subject: Option<String>,
    /// The header `Systole-File`: what becomes of the bytes, if they are a file.
    pub file: Option<String>,
    /// The bytes.
    pub document: Vec<u8>,
    /// Where the answer goes; `None` if its sender wants no answer.
    pub back: Option<ReplyRoute>,
}

/// The way back to the sender of a message.
#[derive(Clone)]
pub struct ReplyRoute {
    client: Client,
    reply: Subject,
    largest: usize,
}

impl ReplyRoute {
    /// Whether a body is small enough for the broker.
    pub fn does_fit(&self, body: &[u8]) -> bool {
        body.len() + crate::limits::HEADER_BYTES <= self.largest
    }

    /// Sends an answer; a refusal also has its code in the header `Systole-Code`. A client that does not hear it
    /// sends the same message again.
    pub async fn send_reply(&self, body: Vec<u8>, code: Option<&str>) {
        let mut headers = HeaderMap::new();
        if let Some(code) = code {
            headers.insert("Systole-Code", code);
        }
        let said = self.client.publish_with_headers(self.reply.clone(), headers, body.into()).await;
        if let Err(error) = said {
            tracing::debug!(why = %error, "a client over the broker was not answered");
        }
    }
}

/// The messages of clients, as they come.
pub struct LoginFailures {
    heard: Subscriber,
    client: Client,
    largest: usize,
}

impl Broker {
    /// Takes the messages of clients from now on.
    pub async fn failed_logins(&self) -> Result<LoginFailures, String> {
        let client = self.client().clone();
        let heard = client.subscribe(self.subjects().all_asked()).await.map_err(|error| error.to_string())?;
        // The broker's answer to this request shows that it has processed the subscription.
        fitness::check_jetstream(&self.wire).await.map_err(|unusable| unusable.to_string())?;
        Ok(LoginFailures { heard, largest: client.max_payload(), client })
    }
}

impl LoginFailures {
    /// The next message; `None` if the broker ended the subscription. May be dropped while it waits: nothing is lost.
    pub async fn next(&mut self) -> Option<UnreadMessage> {
        let message = poll_fn(|cx| Pin::new(&mut self.heard).poll_next(cx)).await?;
        Some(self.read_message(message))
    }

    fn read_message(&self, message: Message) -> UnreadMessage {
        let header = |name: &str| {
            let headers = message.headers.as_ref()?;
            headers.get(name).map(|value| value.as_str().to_owned())
        };
        let (key, to, thread) = (header("Idempotency-Key"), header("Systole-To"), header("Systole-Thread"));
        let (wait, subject) = (header("Systole-Wait"), header("Systole-Subject"));
        let file = header("Systole-File");
        let client = message.subject.rsplit('.').next().unwrap_or_default().to_owned();
        let back = message.reply.map(|reply| ReplyRoute {
            client: self.client.clone(),
            reply,
            largest: self.largest,
        });
        UnreadMessage {
            client,
            key,
            to,
            thread,
            wait,
            subject,
            file,
            document: message.payload.to_vec(),
            back,
        }
    }
}
