//! Runs a blocking function on a delivery. What its thread says goes out as documents, and answers come back to it.
//! This module knows no subject and sends nothing itself; `HeldDelivery` does.

use std::io;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::held_delivery::{DocumentFault, HeldDelivery};
use crate::failures::{UNWRITABLE, as_io_error, fail_for_task};
use crate::pump_documents::{PumpAnswer, PumpDocument, ReplyReceipt};
use crate::reply::{ListenerDocument, ReplyContent};
use crate::turn::{PumpLink, Turn};

/// The author's function.
pub(super) type AnswerFunction = Box<dyn Fn(&mut Turn<'_>) -> ReplyContent + Send + Sync>;

/// Answers a delivery with the function's result. The function runs on a thread for blocking work.
pub(super) async fn answer_delivery(held: HeldDelivery, answer: Arc<AnswerFunction>) {
    let held = Arc::new(held);
    let (in_hand, runtime) = (held.clone(), Handle::current());
    let work = tokio::task::spawn_blocking(move || {
        let asked = in_hand.delivery().clone();
        let mut call = CallLine { held: in_hand, runtime, answer: None };
        let mut turn = Turn::new(asked, &mut call);
        let said = answer(&mut turn);
        match turn.into_error() {
            None => said,
            // Something said before could not be written. Without it the rest would be incomplete.
            Some(error) => ReplyContent::new_failure(UNWRITABLE, false, error.to_string()),
        }
    });
    // The place of a panic is on stderr.
    let said = work.await.unwrap_or_else(fail_for_task);
    if !held.is_called_back() {
        let _was_taken = held.send_content(said).await;
    }
}

/// The line of one delivery, for the thread that works on it.
struct CallLine {
    held: Arc<HeldDelivery>,
    runtime: Handle,
    answer: Option<PumpAnswer>,
}

impl PumpLink for CallLine {
    fn write_document(&mut self, word: &ListenerDocument) -> io::Result<()> {
        let document = word.to_document().map_err(as_io_error)?;
        if let ListenerDocument::Progress { .. } = word {
            self.runtime.block_on(self.held.send_progress(document));
            return Ok(());
        }
        let told = match self.runtime.block_on(self.held.send_document(&document)) {
            Ok(told) => Some(told),
            Err(DocumentFault::CalledBack) => None,
            Err(unsent @ DocumentFault::TooLarge { .. }) => {
                let words = format!("its message {unsent}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, words));
            }
        };
        if matches!(word, ListenerDocument::Journal { .. } | ListenerDocument::Ask { .. }) {
            self.answer = match told {
                Some(PumpDocument::Answer(answer)) => Some(answer),
                // If the pump could not read the number, it refuses with a receipt.
                Some(PumpDocument::Receipt(ReplyReceipt { delivery, refusal, .. })) if refusal.is_some() => {
                    Some(PumpAnswer { delivery, id: 0, payload: refusal })
                }
                _ => None,
            };
        }
        Ok(())
    }

    fn wait_for_answer(&mut self, _: &str, id: u64) -> io::Result<Option<PumpAnswer>> {
        Ok(self.answer.take().filter(|answer| answer.id == id || answer.refusal().is_some()))
    }

    fn is_wanted(&self) -> bool {
        !self.held.is_called_back()
    }
}
