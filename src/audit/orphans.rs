//! Open calls that the organism file no longer serves: their listener is gone, or no longer takes the waiting
//! element.
//!
//! A call keeps its original configuration, but programs are started from the current file. Folds and a composition
//! come in; the calls that cannot continue under it go out.

use serde_json::{Value, json};
use systole_kit::payload::Payload;

use systole_core::pump::state::{Call, Thread};
use systole_core::pump::wake;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::person::PersonRequestId;
use systole_core::types::ports::{LogFault, LogReader, NoObserver};

/// A call that no listener serves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Orphan {
    /// The thread of the call.
    pub thread: ThreadId,
    /// The call.
    pub call: CallPath,
    /// The listener that it waits for.
    pub listener: Name,
    /// The element that the listener no longer takes; `None` if the listener does not exist.
    pub element: Option<String>,
    /// The approval that the call waits for.
    pub approval: Option<PersonRequestId>,
}

/// The orphans among threads, in order.
pub fn among<'t>(
    reader: &dyn LogReader,
    threads: impl Iterator<Item = &'t Thread>,
    current: &Composition,
) -> Result<Vec<Orphan>, LogFault> {
    let mut found = Vec::new();
    for thread in threads {
        for (path, call) in &thread.calls {
            let element = match current.listener(&call.listener) {
                None => None,
                Some(_) if call.settled > 0 => continue,
                Some(listener) => match element(reader, thread, call)? {
                    Some(payload) if listener.accepted(payload.name()).is_none() => {
                        Some(payload.name().local.to_string())
                    }
                    _ => continue,
                },
            };
            found.push(Orphan {
                thread: thread.id.clone(),
                call: path.clone(),
                listener: call.listener.clone(),
                element,
                approval: call.approval.as_ref().map(|approval| approval.id),
            });
        }
    }
    found.sort_by(|a, b| (&a.thread, &a.call).cmp(&(&b.thread, &b.call)));
    Ok(found)
}

/// The orphans of a log.
pub fn in_log(reader: &dyn LogReader, current: &Composition) -> Result<Vec<Orphan>, LogFault> {
    let state = wake::recover(reader, &NoObserver)?.state;
    among(reader, state.threads.values(), current)
}

/// The payload that waits for a listener. Every listener takes payloads of the core.
fn element(reader: &dyn LogReader, thread: &Thread, call: &Call) -> Result<Option<Payload>, LogFault> {
    let request = reader.of_thread(&thread.id, call.request, 1)?.pop();
    let payload = request.and_then(|(_, record)| Payload::trusted(record.body).ok());
    Ok(payload.filter(|payload| *payload.name().ns != *systole_kit::namespaces::CORE))
}

impl Orphan {
    /// What is wrong with the call.
    pub fn words(&self) -> String {
        let Orphan { thread, call, listener, .. } = self;
        let why = match &self.element {
            None => format!("{listener}, which the organism's file no longer has"),
            Some(element) => format!("{listener}, which no longer takes <{element}>"),
        };
        let approval = self.approval.map_or_else(String::new, |id| format!(" (approval {id})"));
        format!("call {call} of {thread}{approval} waits for {why}")
    }

    /// How to fix it.
    pub fn fix(&self) -> String {
        let Orphan { thread, listener, .. } = self;
        match self.approval {
            Some(id) => {
                format!("put {listener} back into the file as it was, or systole reject {id} --note WHY")
            }
            None => format!("put {listener} back into the file as it was, or systole cancel {thread}"),
        }
    }

    /// The orphan for programs.
    pub fn as_json(&self) -> Value {
        json!({
            "thread": self.thread.as_str(),
            "call": self.call.as_str(),
            "listener": self.listener.as_str(),
            "element": self.element,
            "approval": self.approval.map(|id| id.to_string()),
        })
    }
}
