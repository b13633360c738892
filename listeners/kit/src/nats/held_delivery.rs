//! One delivery that a worker holds, and every document that the worker can send about it to the pump.
//!
//! A document that needs an answer is sent again until the answer comes; the pump accepts the same document once.
//! Nothing here takes or renews a delivery; slots do. It does not judge the content.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use async_nats::{HeaderMap, Message, Request, Subject};
use tokio::sync::watch;
use tokio::time::Instant;

use super::connection::choose_pause;
use super::news::WorkerEvent;
use super::work::WorkerState;
use crate::envelope::Delivered;
use crate::failures::{WrittenReply, fit_document, write_failure, write_reply};
use crate::limits;
use crate::protocol::{PROTOCOL_HEADER, check_protocol};
use crate::pump_documents::{PumpAnswer, PumpDocument, ReplyReceipt};
use crate::reply::{ListenerDocument, ReplyContent};

/// The reply header by which the runner of a listener reports that the delivery will not be answered. Its value is a
/// code; the reply itself is a failure with a message.
pub const GONE: &str = "Systole-Gone";
/// What a host says there if the program of a listener cannot be started: the delivery reached no one.
pub const UNSTARTED: &str = "unstarted";

/// Why a document got no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentFault {
    /// The delivery was cancelled earlier, so no one waits for documents about it.
    #[error("the delivery was called back")]
    CalledBack,
    /// The broker takes no message of that size, so the document was not sent.
    #[error("has {bytes} bytes, and the broker takes {most}")]
    TooLarge {
        /// The size of the document in bytes.
        bytes: usize,
        /// The broker's maximum in bytes.
        most: usize,
    },
}

/// A delivery that was received. It is renewed as long as the future that received it runs. If that future ends
/// without [`HeldDelivery::send_reply`] or [`HeldDelivery::send_gone`], the broker tells the pump that no worker handled the delivery.
pub struct HeldDelivery {
    house: Arc<WorkerState>,
    asked: Delivered,
    /// The subject for documents about the delivery.
    said: Subject,
    /// The subject on which its message is renewed and acknowledged.
    pub(super) message: Subject,
    called_back: watch::Receiver<bool>,
    begun: Instant,
    is_counted: AtomicBool,
}

impl std::fmt::Debug for HeldDelivery {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Held").field("asked", &self.asked).finish_non_exhaustive()
    }
}

impl HeldDelivery {
    /// A delivery that has just come.
    fn new(
        house: Arc<WorkerState>,
        asked: Delivered,
        (said, message): (Subject, Subject),
        called_back: watch::Receiver<bool>,
    ) -> Self {
        let is_counted = AtomicBool::new(false);
        Self { house, asked, said, message, called_back, begun: Instant::now(), is_counted }
    }

    /// The delivery.
    #[must_use]
    pub fn delivery(&self) -> &Delivered {
        &self.asked
    }

    /// Whether the answer is no longer wanted.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the only guard of its statement")]
    pub fn is_called_back(&self) -> bool {
        *self.called_back.borrow()
    }

    /// Waits until the answer is no longer wanted. It is safe to drop while it waits.
    pub async fn called_back(&self) {
        let mut called_back = self.called_back.clone();
        if called_back.wait_for(|called_back| *called_back).await.is_err() {
            // If the sender is gone, no cancel can come any more. That does not cancel the delivery.
            std::future::pending::<()>().await;
        }
    }

    /// Sends a notice, a journal entry or a question until it is answered, and returns the answer.
    ///
    /// # Errors
    /// If the delivery is cancelled first, or the document is too large for a message.
    pub async fn send_document(&self, document: &[u8]) -> Result<PumpDocument, DocumentFault> {
        self.check_size(document)?;
        let told = tokio::select! {
            () = self.called_back() => return Err(DocumentFault::CalledBack),
            told = send_until_answered(&self.house, &self.said, document, None) => told,
        };
        if let PumpDocument::Receipt(receipt) = &told {
            self.report_refused(receipt);
        }
        Ok(told)
    }

    /// Sends progress. It is for observers at this moment, so a lost message is not sent again.
    pub async fn send_progress(&self, document: Vec<u8>) {
        let _told = self.house.connection.client.publish(self.house.live(), document.into()).await;
    }

    /// Sends the reply until the pump has decided, and returns whether the pump accepted it. A reply that is too
    /// large is replaced by a failure that says so.
    pub async fn send_reply(&self, document: Vec<u8>) -> bool {
        self.send_fitted(fit_document(self.delivery_id(), Ok(document), self.most_bytes())).await
    }

    async fn send_fitted(&self, reply: WrittenReply) -> bool {
        let WrittenReply { document, replaced } = reply;
        if let Some(words) = replaced {
            self.house.counts.count_failure(&words);
            (self.house.tell)(&WorkerEvent::Unsent { delivery: self.delivery_id().to_owned(), words });
        }
        self.count_once();
        let told = send_until_answered(&self.house, &self.said, &document, None).await;
        self.house.acknowledge(&self.message, "+ACK").await;
        match told {
            PumpDocument::Receipt(receipt) => {
                self.report_refused(&receipt);
                receipt.refusal.is_none() && !receipt.is_superseded
            }
            _ => true,
        }
    }

    /// Like [`HeldDelivery::send_reply`], for a listener's result. A result that cannot be written becomes a failure that says
    /// why.
    pub async fn send_content(&self, said: ReplyContent) -> bool {
        if let ReplyContent::Failure { code, words, .. } = &said {
            self.house.counts.count_failure(&format!("{code}: {words}"));
        }
        self.send_fitted(write_reply(self.delivery_id(), said, self.most_bytes())).await
    }

    /// Reports that the delivery will not be answered, and repeats it until the pump has received it. `code` is one
    /// of the pump's codes, such as `listener.failed` or `listener.lost`; `words` is what is known. The pump decides
    /// what follows.
    pub async fn send_gone(&self, code: &str, words: &str) {
        self.house.counts.count_failure(&format!("{code}: {words}"));
        self.count_once();
        let said = ReplyContent::new_failure(code, true, words);
        // A message that no document can carry is left out: the code is what counts.
        let document = ListenerDocument::Reply { delivery: self.delivery_id().to_owned(), said }
            .to_document()
            .unwrap_or_else(|fault| write_failure(self.delivery_id(), code, &fault.to_string()));
        let _heard = send_until_answered(&self.house, &self.said, &document, Some(code)).await;
        self.house.acknowledge(&self.message, "+ACK").await;
    }

    fn delivery_id(&self) -> &str {
        &self.asked.stamp.delivery
    }

    /// The bytes of a document that the broker takes.
    fn most_bytes(&self) -> usize {
        self.house.connection.client.server_info().max_payload.saturating_sub(limits::FRAME_BYTES)
    }

    fn check_size(&self, document: &[u8]) -> Result<(), DocumentFault> {
        let (bytes, most) = (document.len(), self.most_bytes());
        if bytes <= most { Ok(()) } else { Err(DocumentFault::TooLarge { bytes, most }) }
    }

    /// Reports to the author if the document was refused.
    fn report_refused(&self, receipt: &ReplyReceipt) {
        if receipt.is_superseded {
            (self.house.tell)(&WorkerEvent::Superseded { delivery: receipt.delivery.clone() });
        }
        let whole = receipt.refusal.iter().map(|refusal| (None, refusal));
        let items = receipt.refused.iter().map(|(ordinal, refusal)| (Some(*ordinal), refusal));
        for (item, refusal) in whole.chain(items) {
            let answer =
                PumpAnswer { delivery: receipt.delivery.clone(), id: 0, payload: Some(refusal.clone()) };
            if let Some((code, words)) = answer.refusal() {
                self.house.counts.count_failure(&format!("{code}: {words}"));
                (self.house.tell)(&WorkerEvent::Refused { delivery: answer.delivery, item, code, words });
            }
        }
    }

    /// Counts the delivery once, when its end is about to be sent.
    fn count_once(&self) {
        if !self.is_counted.swap(true, Ordering::Relaxed) {
            let took = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.house.counts.requests.fetch_add(1, Ordering::Relaxed);
            self.house.counts.nanoseconds.fetch_add(took, Ordering::Relaxed);
        }
    }
}

impl WorkerState {
    /// Reads a pulled message. One that is not a delivery is reported and ignored: the broker tells the pump that no
    /// worker handled it.
    pub(super) fn read_delivery(self: &Arc<Self>, message: Message) -> Option<HeldDelivery> {
        let no = |words: &str| {
            (self.tell)(&WorkerEvent::Unreadable { words: words.to_owned() });
            None
        };
        let said = message.headers.as_ref().and_then(|headers| headers.get("Systole-Reply"));
        let (Some(said), Some(reply)) = (said, message.reply) else {
            return no("it has no Systole-Reply, or nothing to be acknowledged by");
        };
        let said = Subject::from(said.as_str());
        let named = message.headers.as_ref().and_then(|headers| headers.get(PROTOCOL_HEADER));
        if let Err(words) = check_protocol(named.map(|named| named.as_str())) {
            self.foreign.send_replace(Some(words));
            return None;
        }
        match PumpDocument::parse(&message.payload) {
            Ok(PumpDocument::Delivery(asked)) => {
                let (tell, called_back) = watch::channel(false);
                let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
                held.add(&asked.stamp.delivery, tell);
                drop(held);
                Some(HeldDelivery::new(self.clone(), *asked, (said, reply), called_back))
            }
            Ok(_) => no("it is no envelope"),
            Err(fault) => no(&fault.to_string()),
        }
    }
}

impl Drop for HeldDelivery {
    fn drop(&mut self) {
        self.count_once();
        self.house.held.lock().unwrap_or_else(PoisonError::into_inner).remove(self.delivery_id());
    }
}

/// Sends the same document, with pauses, until it is answered or the caller stops waiting.
async fn send_until_answered(
    house: &WorkerState,
    subject: &Subject,
    document: &[u8],
    gone: Option<&str>,
) -> PumpDocument {
    let mut tries = 0;
    loop {
        let mut request = Request::new().payload(document.to_vec().into()).timeout(Some(limits::PATIENCE));
        if let Some(code) = gone {
            let mut headers = HeaderMap::new();
            headers.insert(GONE, code);
            request = request.headers(headers);
        }
        // No responder, no answer in time, a broken connection or an unreadable answer all mean the same: the
        // document is not known to be on disk.
        if let Ok(answer) = house.connection.client.send_request(subject.clone(), request).await
            && let Ok(told) = PumpDocument::parse(&answer.payload)
            && matches!(told, PumpDocument::Answer(_) | PumpDocument::Receipt(_))
        {
            return told;
        }
        tokio::time::sleep(choose_pause(tries)).await;
        tries = tries.saturating_add(1);
    }
}
