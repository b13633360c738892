//! The forms that hosts of the older revisions show, by the ids of their requests: each comes on the stream of its call,
//! and its answer as a message of its own. It knows no form, and forgets those of a call with it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::open_calls::CallName;

/// The name of a form, and what came of it: the client's result, or its error in words.
pub(super) type AnsweredForm = (String, Result<Value, String>);

/// A form that waits for its answer.
struct WaitingForm {
    name: String,
    /// It takes one answer, so what waits there is bounded by the forms.
    call: UnboundedSender<AnsweredForm>,
}

/// The forms of all calls.
#[derive(Default)]
pub(super) struct OpenForms {
    waiting: Mutex<HashMap<CallName, WaitingForm>>,
    opened: AtomicU64,
}

impl OpenForms {
    /// Passes an answer on. Returns whether a form waited for it.
    pub(super) fn take_answer(&self, id: &CallName, answer: Result<Value, String>) -> bool {
        let form = self.lock().remove(id);
        form.is_some_and(|form| form.call.send((form.name, answer)).is_ok())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallName, WaitingForm>> {
        // Every change is complete before anything can panic.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The forms of one call.
pub(super) struct CallForms {
    all: Arc<OpenForms>,
    /// The call. The ids of its forms are within its session.
    call: CallName,
    own: HashMap<String, CallName>,
    to_call: UnboundedSender<AnsweredForm>,
    answers: UnboundedReceiver<AnsweredForm>,
}

impl CallForms {
    /// A call without forms.
    pub(super) fn new(all: Arc<OpenForms>, call: CallName) -> CallForms {
        let (to_call, answers) = unbounded_channel();
        CallForms { all, call, own: HashMap::new(), to_call, answers }
    }

    /// Opens a form. Returns the id of its request; `None` if it is open.
    pub(super) fn open_form(&mut self, name: &str) -> Option<Value> {
        if self.own.contains_key(name) {
            return None;
        }
        let number = self.all.opened.fetch_add(1, Ordering::Relaxed);
        let id = Value::from(format!("form-{number}"));
        let full = CallName { id: id.to_string(), ..self.call.clone() };
        let form = WaitingForm { name: name.to_owned(), call: self.to_call.clone() };
        self.all.lock().insert(full.clone(), form);
        self.own.insert(name.to_owned(), full);
        Some(id)
    }

    /// Closes the forms that are not among these. Returns the ids of those that still waited.
    pub(super) fn close_others(&mut self, names: &[String]) -> Vec<Value> {
        let all = &self.all;
        let gone = self.own.extract_if(|name, _| !names.contains(name));
        let waited = gone.filter_map(|(_, full)| all.lock().remove(&full).map(|_| full.id));
        waited.filter_map(|id| serde_json::from_str(&id).ok()).collect()
    }

    /// The next answer. It may be dropped while it waits.
    pub(super) async fn next(&mut self) -> AnsweredForm {
        match self.answers.recv().await {
            Some(answer) => {
                self.own.remove(&answer.0);
                answer
            }
            // It never ends: this call has a sender.
            None => std::future::pending().await,
        }
    }
}

impl Drop for CallForms {
    fn drop(&mut self) {
        let mut waiting = self.all.lock();
        self.own.values().for_each(|full| drop(waiting.remove(full)));
    }
}
