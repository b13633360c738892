//! Everything that goes over the broker except deliveries: cancels, answers, receipts, and requests to delete a
//! message. Each goes out in its own task, so that a slow broker blocks nothing else. Each task ends; if it fails,
//! the failure is written to the program's own log. It decides nothing, and only the end of a carrier waits for it.

use std::sync::Arc;

use async_nats::Subject;
use async_nats::jetstream::stream::Stream;
use systole_kit::writer::XmlWriter;
use systole_kit::{Fault, Payload, namespaces, pump_documents};
use tokio::sync::watch;

use crate::limits;
use crate::receipts::{NoReceipt, ReceiptFuture};
use systole_bus::{Broker, PATIENCE};
use systole_core::types::codes::Code;
use systole_core::types::flow::TakenReply;
use systole_core::types::ids::Name;
use systole_core::types::ports::LeaseToken;
use systole_system::tasks::{self, TaskKind};

/// Runs the work, unless it takes too long.
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

/// Hears which delivery has its answer on disk.
pub(super) type AnswerNote = Box<dyn FnOnce(&str) + Send>;

/// Sends to a listener's workers, and to askers.
#[derive(Clone)]
pub(super) struct AsideTasks {
    broker: Arc<Broker>,
    listener: Name,
    /// Each task listens until it ends.
    running: watch::Sender<()>,
}

impl AsideTasks {
    pub(super) fn new(broker: &Arc<Broker>, listener: &Name) -> AsideTasks {
        AsideTasks { broker: broker.clone(), listener: listener.clone(), running: watch::Sender::default() }
    }

    /// Waits a moment until the broker has what was to be sent: a worker without a receipt asks for it until the next
    /// life of the pump.
    pub(super) async fn settle_tasks(&self) {
        let sent = async {
            self.running.closed().await;
            self.broker.client().flush().await
        };
        if !matches!(tokio::time::timeout(limits::LAST_RECEIPTS, sent).await, Ok(Ok(()))) {
            tracing::debug!(listener = %self.listener, "the last receipts may not have gone out");
        }
    }

    /// There are never many at once: one for each delivery that ends, and one for each document that is answered.
    fn run_apart(&self, work: impl Future<Output = Result<(), String>> + Send + 'static) {
        let (listener, runs) = (self.listener.clone(), self.running.subscribe());
        let work = async move {
            if let Err(words) = work.await {
                tracing::debug!(%listener, why = words, "a worker was not told");
            }
            drop(runs);
        };
        // It ends in time, or with the organism.
        let _nobody_waits = tasks::start_task(TaskKind::Report(self.listener.clone()), work, async |_| ());
    }

    /// Deletes a message that is over, with or without a worker's acknowledgement. An acknowledged message is already
    /// gone. If the broker does not answer, the message is removed when no worker renews it, or when the organism
    /// starts again.
    pub(super) fn delete_message(&self, stream: &Stream<()>, place: u64) {
        let stream = stream.clone();
        self.run_apart(async move {
            in_time("an old delivery", stream.delete_message(place)).await.map(|_was_there| ())
        });
    }

    /// Says that an answer is no longer wanted.
    pub(super) fn send_cancel(&self, token: &LeaseToken) {
        let (client, subject) =
            (self.broker.client().clone(), self.broker.subjects().name_cancels(&self.listener));
        let document = pump_documents::write_cancel(&token.0);
        self.run_apart(async move { in_time("a cancel", client.publish(subject, document.into())).await });
    }

    /// Answers an asker. An asker that is gone asks again.
    pub(super) fn send_answer(&self, reply: Subject, answer: &pump_documents::PumpAnswer) {
        self.send_document(reply, write_answer(answer, self.broker.client().max_payload()));
    }

    /// Sends a small document to someone who waits.
    pub(super) fn send_document(&self, reply: Subject, document: Vec<u8>) {
        let client = self.broker.client().clone();
        self.run_apart(async move { in_time("an answer", client.publish(reply, document.into())).await });
    }

    /// Sends a receipt as soon as the result of a document is on disk. Only then is a reply's delivery answered.
    pub(super) fn send_receipt(
        &self,
        reply: Option<Subject>,
        delivery: String,
        decided: ReceiptFuture,
        answered: Option<AnswerNote>,
    ) {
        let (client, listener) = (self.broker.client().clone(), self.listener.clone());
        self.run_apart(async move {
            let receipt = write_receipt(delivery.clone(), decided.await);
            if let (Some(answered), Ok(Some(_))) = (answered, &receipt) {
                answered(&delivery);
            }
            let Some(reply) = reply else { return Ok(()) };
            match receipt {
                Ok(Some(document)) => in_time("a receipt", client.publish(reply, document.into())).await,
                Ok(None) => Ok(()),
                Err(words) => {
                    let fix = "nothing: it sends the document again, which counts once; report it if it comes again";
                    tracing::error!(%listener, why = words, fix, "a worker gets no receipt for a document");
                    Ok(())
                }
            }
        });
    }
}

/// The document of an answer. If the answer is larger than the broker accepts, the document is a refusal that says
/// so.
fn write_answer(answer: &pump_documents::PumpAnswer, most: usize) -> Vec<u8> {
    let document = answer.to_document();
    if document.len() <= most {
        return document;
    }
    let (bytes, most) = (document.len().to_string(), most.to_string());
    let words = format!("the answer has {bytes} bytes, and the broker takes {most}");
    let mut refusal = XmlWriter::new();
    refusal
        .open("system-error")
        .xmlns(namespaces::CORE)
        .attr("code", Code::TooLarge.as_str())
        .attr("retry_allowed", "false")
        .attr("message", &words)
        .empty();
    let payload = Payload::from_trusted(refusal.finish().into()).ok();
    pump_documents::PumpAnswer { delivery: answer.delivery.clone(), id: answer.id, payload }.to_document()
}

/// The receipt for a document. `None` if nothing was decided. An error says that a refusal cannot be read: a receipt
/// without the refusal would say that the document was taken.
fn write_receipt(
    delivery: String,
    decided: Result<TakenReply, NoReceipt>,
) -> Result<Option<Vec<u8>>, String> {
    let unreadable = |what: &str, fault: &Fault| format!("{what} is no document: {}", fault.message);
    let refusal = match decided {
        Ok(TakenReply { is_superseded, refused }) => {
            let item = |(ordinal, told): (u32, Arc<[u8]>)| match Payload::from_trusted(told) {
                Ok(refusal) => Ok((u64::from(ordinal), refusal)),
                Err(fault) => Err(unreadable("the refusal of an item", &fault)),
            };
            let refused = refused.into_iter().map(item).collect::<Result<Vec<_>, String>>()?;
            let receipt = pump_documents::ReplyReceipt { delivery, refusal: None, is_superseded, refused };
            return Ok(Some(receipt.to_document()));
        }
        // A lack of room or time is no decision either.
        Err(NoReceipt::Unknown | NoReceipt::Refused(Code::IngressUnavailable, _)) => return Ok(None),
        Err(NoReceipt::Refused(code, told)) => match Payload::from_trusted(told) {
            Ok(refusal) => Some(refusal),
            Err(fault) => return Err(unreadable(&format!("the refusal {}", code.as_str()), &fault)),
        },
    };
    Ok(Some(
        pump_documents::ReplyReceipt { delivery, refusal, ..pump_documents::ReplyReceipt::default() }
            .to_document(),
    ))
}

#[cfg(test)]
mod tests {
    use systole_kit::pump_documents::PumpDocument;

    use super::*;

    fn given(decided: Result<TakenReply, NoReceipt>) -> Option<pump_documents::ReplyReceipt> {
        let document = write_receipt("d1".to_owned(), decided).unwrap()?;
        match PumpDocument::parse(&document) {
            Ok(PumpDocument::Receipt(receipt)) => Some(receipt),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_receipt_says_what_was_decided() {
        let told = br#"<system-error xmlns="https://xml-pipeline.org/ns/core/v1" code="reply.stale-lease"/>"#;
        let refused = given(Err(NoReceipt::Refused(Code::StaleLease, Arc::from(*told)))).unwrap();
        assert_eq!(refused.refusal.unwrap().find_attribute("code").unwrap(), "reply.stale-lease");
        assert_eq!(
            given(Ok(TakenReply::default())).unwrap(),
            pump_documents::ReplyReceipt { delivery: "d1".to_owned(), ..Default::default() }
        );
        let taken = TakenReply { is_superseded: true, refused: vec![(3, Arc::from(*told))] };
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
        let words =
            write_receipt("d1".to_owned(), Err(NoReceipt::Refused(Code::StaleLease, told))).unwrap_err();
        assert!(words.starts_with("the refusal reply.stale-lease is no document: "), "{words}");
    }
}
