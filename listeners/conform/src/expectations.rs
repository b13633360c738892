//! What checks expect of a worker, each with the words for a report.
//!
//! In: a conversation. Out: what came, or the failure that names it.

use std::time::Duration;

use systole_kit::Payload;
use systole_kit::reply::{Item, ListenerDocument, ReplyContent};
use tokio::time::Instant;

use crate::documents::{CONFORM, Delivery, Task};
use crate::limits;
use crate::stage::{HeardDocument, Stage};
use crate::verdict::{CheckFault, CheckVerdict, show_bytes};

impl Stage {
    /// The reply to a delivery.
    pub(crate) async fn expect_reply(&mut self, delivery: &Delivery) -> Result<ReplyContent, CheckFault> {
        self.expect_reply_within(delivery, limits::ANSWER).await
    }

    /// The same, within a time.
    pub(crate) async fn expect_reply_within(
        &mut self,
        delivery: &Delivery,
        within: Duration,
    ) -> Result<ReplyContent, CheckFault> {
        let heard = self.find_reply(&delivery.token, within).await;
        match heard.as_ref().and_then(|heard| heard.reply_to(&delivery.token)) {
            Some(said) => Ok(said.clone()),
            None => {
                let came = self.describe_nothing(within).await;
                Err(self.fail(format!("a <reply> with delivery=\"{}\"", delivery.token), came))
            }
        }
    }

    /// The document with the reply to a delivery; `None` if none comes in that time.
    pub(crate) async fn find_reply(&mut self, token: &str, within: Duration) -> Option<HeardDocument> {
        self.find_document(within, |heard| heard.reply_to(token).is_some()).await
    }

    /// The first document that is wanted; others are kept.
    pub(crate) async fn find_document(
        &mut self,
        within: Duration,
        wanted: impl Fn(&HeardDocument) -> bool,
    ) -> Option<HeardDocument> {
        let until = Instant::now() + within;
        let mut others = Vec::new();
        let found = loop {
            match self.next_document(until).await {
                Some(heard) if wanted(&heard) => break Some(heard),
                Some(heard) => others.push(heard),
                None => break None,
            }
        };
        others.into_iter().for_each(|heard| self.put_back(heard));
        found
    }

    /// A document of the worker about a delivery that is no reply, such as a question.
    pub(crate) async fn expect_word(
        &mut self,
        delivery: &Delivery,
        what: &str,
        wanted: impl Fn(&ListenerDocument) -> bool,
    ) -> Result<HeardDocument, CheckFault> {
        let is_it = |heard: &HeardDocument| {
            heard.document.as_ref().is_some_and(|word| word.delivery() == delivery.token && wanted(word))
        };
        match self.find_document(limits::ANSWER, is_it).await {
            Some(heard) => Ok(heard),
            None => {
                let came =
                    match self.heard.iter().rev().find(|heard| heard.reply_to(&delivery.token).is_some()) {
                        Some(reply) => show_bytes(&reply.bytes),
                        None => self.describe_nothing(limits::ANSWER).await,
                    };
                Err(self.fail(what, came))
            }
        }
    }

    /// The items of a reply, all of them payloads.
    pub(crate) fn expect_items(&self, said: &ReplyContent) -> Result<Vec<Item>, CheckFault> {
        let ReplyContent::Items(items) = said else {
            return Err(self.fail("items", describe_content(said)));
        };
        if let Some(fault) = items.iter().find_map(|item| item.payload.as_ref().err()) {
            return Err(self.fail("a well-formed reply", format!("{fault}")));
        }
        Ok(items.clone())
    }

    /// The one `<done>` of a reply.
    pub(crate) async fn expect_done(&mut self, delivery: &Delivery) -> Result<Payload, CheckFault> {
        self.expect_done_within(delivery, limits::ANSWER).await
    }

    /// The same, within a time.
    pub(crate) async fn expect_done_within(
        &mut self,
        delivery: &Delivery,
        within: Duration,
    ) -> Result<Payload, CheckFault> {
        let said = self.expect_reply_within(delivery, within).await?;
        let items = self.expect_items(&said)?;
        let done = items.iter().find_map(|item| {
            item.payload.as_ref().ok().filter(|payload| payload.name().is_named(CONFORM, "done"))
        });
        done.cloned().ok_or_else(|| self.fail("a <done>", describe_content(&said)))
    }

    /// A `<done>` with that text.
    pub(crate) async fn expect_text(&mut self, delivery: &Delivery, text: &str) -> CheckVerdict {
        let done = self.expect_done(delivery).await?;
        if done.text() == text {
            Ok(())
        } else {
            Err(self.fail(format!("<done> with {text:?}"), format!("{:?}", done.text())))
        }
    }

    /// A failure, with its code.
    pub(crate) async fn expect_failure(
        &mut self,
        delivery: &Delivery,
    ) -> Result<(String, String, bool), CheckFault> {
        match self.expect_reply(delivery).await? {
            ReplyContent::Failure { code, words, retry, .. }
            | ReplyContent::Away { code, words, retry, .. } => Ok((code, words, retry)),
            other => Err(self.fail("a <failure>", describe_content(&other))),
        }
    }

    /// Sends a task, and expects its text back.
    pub(crate) async fn expect_echo(&mut self, text: &str) -> CheckVerdict {
        let delivery = self.make_task(Task::new("echo", text));
        self.send(&delivery).await?;
        self.expect_text(&delivery, text).await
    }

    /// Sends two requests at once, and expects a reply to each: a worker that does nothing passes no check.
    pub(crate) async fn expect_alive(&mut self) -> CheckVerdict {
        let (first, second) = (self.make_plain(), self.make_plain());
        self.send(&first).await?;
        self.send(&second).await?;
        let within = self.patience();
        self.expect_reply_within(&first, within).await?;
        self.expect_reply_within(&second, within).await?;
        Ok(())
    }

    /// Sends one request, and expects a reply: the worker goes on.
    pub(crate) async fn expect_next(&mut self) -> CheckVerdict {
        let next = self.make_plain();
        self.send(&next).await?;
        self.expect_reply(&next).await.map(drop)
    }

    /// Expects that nothing is said about a delivery.
    pub(crate) async fn expect_silence(&mut self, token: &str, within: Duration) -> CheckVerdict {
        let about =
            |heard: &HeardDocument| heard.document.as_ref().is_some_and(|word| word.delivery() == token);
        match self.find_document(within, about).await {
            None => Ok(()),
            Some(heard) => Err(self.fail("nothing more about the delivery", show_bytes(&heard.bytes))),
        }
    }

    /// Expects that the program ends with 0.
    pub(crate) async fn expect_good_end(&mut self, within: Duration) -> CheckVerdict {
        let expected = format!("exit 0 within {} s", within.as_secs());
        match self.wait_for_end(within).await {
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                let came = format!("{status}; {}", self.describe_nothing(Duration::ZERO).await);
                Err(self.fail(expected, came))
            }
            None => Err(self.fail(expected, "it still runs")),
        }
    }

    /// Fails unless that holds.
    pub(crate) fn require(&self, holds: bool, expected: &str, came: impl FnOnce() -> String) -> CheckVerdict {
        if holds { Ok(()) } else { Err(self.fail(expected, came())) }
    }

    /// No verdict unless the listener may have that many deliveries at once.
    pub(crate) fn require_in_flight(&self, least: usize) -> CheckVerdict {
        let has = self.bench.subject.in_flight;
        if has >= least {
            return Ok(());
        }
        Err(CheckFault::build_unscored(format!("in_flight is {has}, and the check needs {least}")))
    }
}

/// A reply in words.
pub(crate) fn describe_content(said: &ReplyContent) -> String {
    match said {
        ReplyContent::Items(items) if items.is_empty() => "an empty <reply>".to_owned(),
        ReplyContent::Items(items) => {
            let one = |item: &Item| match &item.payload {
                Ok(payload) => show_bytes(payload.bytes()),
                Err(fault) => format!("a refused item: {fault}"),
            };
            items.iter().map(one).collect::<Vec<_>>().join(", ")
        }
        ReplyContent::Failure { code, words, retry, .. } => {
            format!("<failure code={code:?} retry={retry}> {words}")
        }
        ReplyContent::Away { code, words, .. } => format!("<failure code={code:?} outage> {words}"),
        ReplyContent::Again { code, words } => format!("<again code={code:?}> {words}"),
    }
}
