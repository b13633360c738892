//! What is told over the broker besides deliveries: cancels, answers, receipts, and that a message is to be deleted. Each
//! goes out in a task of its own, so that a slow broker holds up nothing else; each ends, and what it could not tell is
//! written to the program's own log. It decides nothing, and nobody waits for it.

use std::sync::Arc;

use async_nats::Subject;
use async_nats::jetstream::stream::Stream;
use systole_kit::writer::Writer;
use systole_kit::{Fault, Payload, namespaces, told};

use crate::edges::delivery::receipts::{NoReceipt, Receipt};
use crate::edges::nats::{Broker, PATIENCE};
use crate::edges::tasks::{self, Kind};
use systole_core::types::codes::Code;
use systole_core::types::flow::Taken;
use systole_core::types::ids::Name;
use systole_core::types::ports::Token;

/// The work, unless it takes too long.
pub(super) async fn in_time<T, E: std::fmt::Display>(
    what: &str,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, String> {
    match tokio::time::timeout(PATIENCE, work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(format!("{what}: {error}")),
        Err(_) => Err(format!("{what}: the broker did not answer within 5 s")),
    }
}

/// Tells a listener's workers, and whoever asked.
#[derive(Clone)]
pub(super) struct Aside {
    broker: Arc<Broker>,
    listener: Name,
}

impl Aside {
    pub(super) fn of(broker: &Arc<Broker>, listener: &Name) -> Aside {
        Aside { broker: broker.clone(), listener: listener.clone() }
    }

    /// There are never many at once: one for each delivery that ends, and for each word that is answered.
    fn apart(&self, work: impl Future<Output = Result<(), String>> + Send + 'static) {
        let listener = self.listener.clone();
        let work = async move {
            if let Err(words) = work.await {
                tracing::debug!(%listener, %words, "not told");
            }
        };
        // It ends in time, or with the organism.
        let _nobody_waits = tasks::start(Kind::Report(self.listener.clone()), work, async |_| ());
    }

    /// Takes a message away that is over, whatever a worker acknowledged. One that was acknowledged is gone already; what
    /// is left by a broker that does not answer is taken away when nobody renews it, or when the organism starts again.
    pub(super) fn delete(&self, stream: &Stream<()>, place: u64) {
        let stream = stream.clone();
        self.apart(async move {
            in_time("an old delivery", stream.delete_message(place)).await.map(|_was_there| ())
        });
    }

    /// Says that an answer is no longer wanted.
    pub(super) fn cancel(&self, token: &Token) {
        let (client, subject) =
            (self.broker.client().clone(), self.broker.subjects().cancels(&self.listener));
        let document = told::cancel(&token.0);
        self.apart(async move { in_time("a cancel", client.publish(subject, document.into())).await });
    }

    /// Answers somebody who waits. One who is not there any more asks again.
    pub(super) fn answer(&self, reply: Subject, answer: &told::Answer) {
        self.say(reply, sendable(answer, self.broker.client().max_payload()));
    }

    /// Says something small to somebody who waits.
    pub(super) fn say(&self, reply: Subject, document: Vec<u8>) {
        let client = self.broker.client().clone();
        self.apart(async move { in_time("an answer", client.publish(reply, document.into())).await });
    }

    /// Sends a receipt as soon as what came of a word is on disk.
    pub(super) fn receipt(&self, reply: Subject, delivery: String, decided: Receipt) {
        let (client, listener) = (self.broker.client().clone(), self.listener.clone());
        self.apart(async move {
            match receipt(delivery, decided.await) {
                Ok(Some(document)) => in_time("a receipt", client.publish(reply, document.into())).await,
                Ok(None) => Ok(()),
                Err(words) => {
                    tracing::error!(%listener, %words, "no receipt");
                    Ok(())
                }
            }
        });
    }
}

/// The document of an answer; in place of one that is larger than the broker takes, a refusal that says so.
fn sendable(answer: &told::Answer, most: usize) -> Vec<u8> {
    let document = answer.document();
    if document.len() <= most {
        return document;
    }
    let (bytes, most) = (document.len().to_string(), most.to_string());
    let words = format!("the answer has {bytes} bytes, and the broker takes {most}");
    let mut refusal = Writer::new();
    refusal
        .open("system-error")
        .xmlns(namespaces::CORE)
        .attr("code", Code::TooLarge.as_str())
        .attr("retry_allowed", "false")
        .attr("message", &words)
        .empty();
    let payload = Payload::trusted(refusal.finish().into()).ok();
    told::Answer { delivery: answer.delivery.clone(), id: answer.id, payload }.document()
}

/// The receipt of a word. None where nothing was decided, and the words of an error where a refusal cannot be told: a
/// receipt without it would say that the word was taken.
fn receipt(delivery: String, decided: Result<Taken, NoReceipt>) -> Result<Option<Vec<u8>>, String> {
    let unreadable = |what: &str, fault: &Fault| format!("{what} is no document: {}", fault.message);
    let refusal = match decided {
        Ok(Taken { is_superseded, refused }) => {
            let item = |(ordinal, told): (u32, Arc<[u8]>)| match Payload::trusted(told) {
                Ok(refusal) => Ok((u64::from(ordinal), refusal)),
                Err(fault) => Err(unreadable("the refusal of an item", &fault)),
            };
            let refused = refused.into_iter().map(item).collect::<Result<Vec<_>, String>>()?;
            let receipt = told::Receipt { delivery, refusal: None, is_superseded, refused };
            return Ok(Some(receipt.document()));
        }
        // No room or no time for it just now is no decision either.
        Err(NoReceipt::Unknown | NoReceipt::Refused(Code::IngressUnavailable, _)) => return Ok(None),
        Err(NoReceipt::Refused(code, told)) => match Payload::trusted(told) {
            Ok(refusal) => Some(refusal),
            Err(fault) => return Err(unreadable(&format!("the refusal {}", code.as_str()), &fault)),
        },
    };
    Ok(Some(told::Receipt { delivery, refusal, ..told::Receipt::default() }.document()))
}

#[cfg(test)]
mod tests {
    use systole_kit::told::Told;

    use super::*;

    fn given(decided: Result<Taken, NoReceipt>) -> Option<told::Receipt> {
        let document = receipt("d1".to_owned(), decided).unwrap()?;
        match Told::read(&document) {
            Ok(Told::Receipt(receipt)) => Some(receipt),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_receipt_says_what_was_decided() {
        let told = br#"<system-error xmlns="https://xml-pipeline.org/ns/core/v1" code="reply.stale-lease"/>"#;
        let refused = given(Err(NoReceipt::Refused(Code::StaleLease, Arc::from(*told)))).unwrap();
        assert_eq!(refused.refusal.unwrap().attribute("code").unwrap(), "reply.stale-lease");
        assert_eq!(
            given(Ok(Taken::default())).unwrap(),
            told::Receipt { delivery: "d1".to_owned(), ..Default::default() }
        );
        let taken = Taken { is_superseded: true, refused: vec![(3, Arc::from(*told))] };
        let receipt = given(Ok(taken)).unwrap();
        assert!(receipt.is_superseded && receipt.refusal.is_none());
        assert_eq!(receipt.refused.first().unwrap().0, 3);
        assert_eq!(given(Err(NoReceipt::Unknown)), None);
        let no_room = NoReceipt::Refused(Code::IngressUnavailable, Arc::from(*b""));
        assert_eq!(given(Err(no_room)), None);
    }

    #[test]
    fn a_refusal_that_cannot_be_told_is_not_told_as_taken() {
        let told: Arc<[u8]> = Arc::from(*b"no document");
        let words = receipt("d1".to_owned(), Err(NoReceipt::Refused(Code::StaleLease, told))).unwrap_err();
        assert!(words.starts_with("the refusal reply.stale-lease is no document: "), "{words}");
    }
}
