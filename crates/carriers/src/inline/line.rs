//! The line of one delivery to a listener in this process: it sends out what the listener says, and brings the
//! answer back to the asker.
//!
//! It never judges and never answers by itself. In: entries, questions and remarks, and the pump's answers by way of
//! the mailbox. Out: documents in the listener's queue of reports.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use systole_kit::line::{Line, LineRequest, NotTaken, PendingAnswer, Remark};
use systole_kit::pump_documents::PumpAnswer;
use systole_kit::reply::ListenerDocument;
use tokio::sync::oneshot;

use crate::post::Post;
use systole_core::types::ports::{ArrivedDocument, LeaseToken};

/// Who waits for which answer, over all deliveries of a listener.
#[derive(Default)]
pub(super) struct AnswerBoard(Mutex<WaitingAnswers>);

type WaitingAnswers = HashMap<Arc<str>, HashMap<u64, oneshot::Sender<PumpAnswer>>>;

impl AnswerBoard {
    fn lock_waiting(&self) -> MutexGuard<'_, WaitingAnswers> {
        // Every change below is one step, so the board is valid even if the lock is poisoned.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings an answer to its asker.
    pub(super) fn pass_answer(&self, answer: PumpAnswer) {
        let who = self.lock_waiting().get_mut(&*answer.delivery).and_then(|waits| waits.remove(&answer.id));
        if let Some(who) = who {
            // The asker may have stopped waiting.
            drop(who.send(answer));
        }
    }
}

/// Opens the line of a delivery. The line is dead once the returned guard is dropped.
pub(super) fn open_line(
    post: &Post,
    board: &Arc<AnswerBoard>,
    token: &LeaseToken,
) -> (Arc<dyn Line>, HungUp) {
    board.lock_waiting().insert(token.0.clone(), HashMap::new());
    let hung_up = HungUp { board: board.clone(), token: token.clone() };
    let line = InlineLine {
        post: post.clone(),
        board: board.clone(),
        token: token.clone(),
        said: AtomicU64::new(0),
    };
    (Arc::new(line), hung_up)
}

/// Ends a line: nothing waits on it any more.
pub(super) struct HungUp {
    board: Arc<AnswerBoard>,
    token: LeaseToken,
}

impl Drop for HungUp {
    fn drop(&mut self) {
        self.board.lock_waiting().remove(&self.token.0);
    }
}

struct InlineLine {
    post: Post,
    board: Arc<AnswerBoard>,
    token: LeaseToken,
    said: AtomicU64,
}

impl Line for InlineLine {
    fn say(&self, what: LineRequest) -> PendingAnswer<'_, Result<PumpAnswer, NotTaken>> {
        Box::pin(async move {
            let id = self.said.fetch_add(1, Ordering::Relaxed) + 1;
            let (ring, rung) = oneshot::channel();
            match self.board.lock_waiting().get_mut(&self.token.0) {
                Some(waits) => waits.insert(id, ring),
                None => return Err(NotTaken::Over),
            };
            let delivery = self.token.0.to_string();
            let word = match what {
                LineRequest::Journal(entry) => ListenerDocument::Journal { delivery, id, entry: Ok(entry) },
                LineRequest::Ask(question) => ListenerDocument::Ask { delivery, id, question: Ok(question) },
            };
            self.post.report_document(ArrivedDocument::Word(word)).await;
            rung.await.map_err(|_| NotTaken::Over)
        })
    }

    fn tell(&self, what: Remark) -> PendingAnswer<'_, Result<(), NotTaken>> {
        Box::pin(async move {
            if !self.board.lock_waiting().contains_key(&self.token.0) {
                return Err(NotTaken::Over);
            }
            let delivery = self.token.0.to_string();
            self.post
                .report_document(ArrivedDocument::Word(match what {
                    Remark::Notice { code, words } => ListenerDocument::Notice { delivery, code, words },
                    Remark::Progress { part, words } => ListenerDocument::Progress { delivery, part, words },
                }))
                .await;
            Ok(())
        })
    }
}
