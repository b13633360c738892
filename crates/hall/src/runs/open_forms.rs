//! The forms that clients show on the stream of a call, by the ids of their requests: the answer to each comes as a message
//! of its own. The id names the run and what was shown, so an answer counts for that alone,
//! also when its call is not followed any more.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use systole_queries::run_events::RunId;
use tokio::sync::mpsc;

use super::form_answers::FormEnd;
use crate::limits;
use systole_core::types::ids::Name;
use systole_core::types::ports::Clock as _;
use systole_system::clock::WallClock;

/// A client's name for a call: its session and the id of its request. Ids are only unique within a session.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CallName {
    /// Who called.
    pub client: Name,
    /// Its session.
    pub session: String,
    /// The id of its request.
    pub id: String,
}

/// The name of a form, and what its answer did, or why it does not count.
pub type AnsweredForm = (String, Result<FormEnd, String>);

/// A form that waits for its answer.
pub struct WaitingForm {
    name: String,
    call: mpsc::Sender<AnsweredForm>,
}

impl WaitingForm {
    /// Tells its call what the answer did. Returns it if the call is gone.
    pub(crate) fn tell_call(self, end: Result<FormEnd, String>) -> Result<FormEnd, String> {
        match self.call.try_send((self.name, end)) {
            Ok(()) => Ok(FormEnd::Taken),
            Err(unsent) => unsent.into_inner().1,
        }
    }
}

/// The id of a form: its run, its name with the hash of what it shows, and a number, as it may be shown once more.
fn write_id(run: &RunId, name: &str, number: u64) -> String {
    format!("{run}/{name}/{number}")
}

/// The run and the name that such an id has.
pub fn read_id(id: &Value) -> Option<(&str, &str)> {
    let mut parts = id.as_str()?.splitn(3, '/');
    Some((parts.next()?, parts.next()?)).filter(|_| parts.next().is_some())
}

/// The forms of all calls.
pub struct OpenForms {
    waiting: Mutex<HashMap<CallName, WaitingForm>>,
    opened: AtomicU64,
}

impl Default for OpenForms {
    fn default() -> OpenForms {
        // No session has an id twice, also after a restart.
        OpenForms { waiting: Mutex::default(), opened: AtomicU64::new(WallClock.now().0) }
    }
}

impl OpenForms {
    /// Takes a form that is answered, so that it is not taken back.
    pub fn take_form(&self, id: &CallName) -> Option<WaitingForm> {
        self.lock().remove(id)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallName, WaitingForm>> {
        // Every change is complete before anything can panic.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The forms of one call.
pub struct CallForms {
    all: Arc<OpenForms>,
    /// The call. The ids of its forms are within its session.
    call: CallName,
    run: Option<RunId>,
    own: HashMap<String, CallName>,
    to_call: mpsc::Sender<AnsweredForm>,
    answers: mpsc::Receiver<AnsweredForm>,
}

impl CallForms {
    /// A call without forms.
    pub fn new(all: Arc<OpenForms>, call: CallName, run: Option<RunId>) -> CallForms {
        // Each open form takes one answer.
        let (to_call, answers) = mpsc::channel(limits::CALL_FORMS);
        CallForms { all, call, run, own: HashMap::new(), to_call, answers }
    }

    /// Opens a form. Returns the id of its request; `None` if it is open, or too many are.
    pub fn open_form(&mut self, name: &str) -> Option<Value> {
        if self.own.contains_key(name) || self.own.len() >= limits::CALL_FORMS {
            return None;
        }
        let number = self.all.opened.fetch_add(1, Ordering::Relaxed);
        let id = Value::from(write_id(self.run.as_ref()?, name, number));
        let full = CallName { id: id.to_string(), ..self.call.clone() };
        let form = WaitingForm { name: name.to_owned(), call: self.to_call.clone() };
        self.all.lock().insert(full.clone(), form);
        self.own.insert(name.to_owned(), full);
        Some(id)
    }

    /// Closes the forms that are not among these. Returns the ids of those that still waited.
    pub fn close_others(&mut self, names: &[String]) -> Vec<Value> {
        let all = &self.all;
        let gone = self.own.extract_if(|name, _| !names.contains(name));
        let waited = gone.filter_map(|(_, full)| all.lock().remove(&full).map(|_| full.id));
        waited.filter_map(|id| serde_json::from_str(&id).ok()).collect()
    }

    /// The next answer. It may be dropped while it waits.
    pub async fn next(&mut self) -> AnsweredForm {
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
