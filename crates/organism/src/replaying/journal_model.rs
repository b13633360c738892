//! The model of a replay: it gives the answers that the journal has, and asks no provider. A request without a recorded
//! answer waits forever, because only a model could answer it.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use systole_agent::model::{
    AnswerFuture, AnswerWatcher, Model, ModelAnswer, ModelFault, ModelRequest, Sleeper,
};

/// An answer from the journal, or the fault that is recorded in its place.
pub(super) type RecordedAnswer = Result<ModelAnswer, ModelFault>;

/// The recorded answers of the deliveries that are out. Clones are handles to the same answers.
#[derive(Clone, Default)]
pub(super) struct JournalModel(Arc<Mutex<DeliveryAnswers>>);

#[derive(Default)]
struct DeliveryAnswers {
    by_delivery: HashMap<String, VecDeque<RecordedAnswer>>,
    /// Deliveries that asked for an answer that is not recorded.
    missed: Vec<String>,
}

impl JournalModel {
    fn lock_answers(&self) -> MutexGuard<'_, DeliveryAnswers> {
        // Every change is one step, so the answers are valid even if the lock is poisoned.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answers for a delivery, in the order in which it asks.
    pub(super) fn give_answers(&self, delivery: &str, answers: impl IntoIterator<Item = RecordedAnswer>) {
        self.lock_answers().by_delivery.insert(delivery.to_owned(), answers.into_iter().collect());
    }

    /// The next answer for a delivery.
    pub(super) fn take_answer(&self, delivery: &str) -> Option<RecordedAnswer> {
        self.lock_answers().by_delivery.get_mut(delivery).and_then(VecDeque::pop_front)
    }

    /// The deliveries that asked for an answer that is not recorded.
    pub(super) fn list_missed(&self) -> Vec<String> {
        self.lock_answers().missed.clone()
    }
}

impl Model for JournalModel {
    fn ask(&self, request: ModelRequest, _: AnswerWatcher) -> AnswerFuture {
        let delivery = request.course.delivery;
        let found = self.take_answer(&delivery);
        if found.is_none() {
            self.lock_answers().missed.push(delivery);
        }
        Box::pin(async move {
            match found {
                Some(found) => found,
                None => std::future::pending().await,
            }
        })
    }
}

/// Pauses take no time: the times of what follows are recorded.
#[derive(Debug)]
pub(super) struct NoPauses;

impl Sleeper for NoPauses {
    fn sleep(&self, _: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }
}
