//! Open calls that the organism file no longer serves: their listener is gone, or no longer takes the waiting
//! element, or a listener that they may still call is gone.
//!
//! A call keeps its original configuration, but programs are started from the current file. Folds and compositions come
//! in; the calls that cannot continue under the current one go out.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;
use systole_kit::payload::Payload;

use crate::json_text;
use systole_core::pump::state::{Call, Thread};
use systole_core::types::composition::Composition;
use systole_core::types::ids::{CallPath, Digest, Name, ThreadId};
use systole_core::types::person::PersonRequestId;
use systole_core::types::ports::{LogFault, LogReader};

/// A call that no listener serves.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Orphan {
    /// The approval that the call waits for.
    #[serde(serialize_with = "json_text::write_any_text")]
    pub approval: Option<PersonRequestId>,
    /// The call.
    pub call: CallPath,
    /// The listener of the call, if that is at work and may call the other.
    pub caller: Option<Name>,
    /// The element that the listener no longer takes; `None` if the listener does not exist.
    pub element: Option<String>,
    /// The listener that it waits for, or that it may call.
    pub listener: Name,
    /// The thread of the call.
    pub thread: ThreadId,
}

/// The orphans among threads, in order. `all` has the compositions of their calls.
pub fn among<'t>(
    reader: &dyn LogReader,
    threads: impl Iterator<Item = &'t Thread>,
    current: &Composition,
    all: &HashMap<Digest, Arc<Composition>>,
) -> Result<Vec<Orphan>, LogFault> {
    let mut found = Vec::new();
    for thread in threads {
        for (path, call) in &thread.calls {
            let orphan = |listener: &Name| Orphan {
                thread: thread.id.clone(),
                call: path.clone(),
                listener: listener.clone(),
                caller: None,
                element: None,
                approval: call.approval.as_ref().map(|approval| approval.id),
            };
            let Some(listener) = current.find_listener(&call.listener) else {
                found.push(orphan(&call.listener));
                continue;
            };
            let unfit = if call.settled > 0 { None } else { element(reader, thread, call)? };
            if let Some(payload) = unfit.filter(|payload| listener.find_accepted(payload.name()).is_none()) {
                let element = Some(payload.name().local.to_string());
                found.push(Orphan { element, ..orphan(&call.listener) });
                continue;
            }
            let own = all.get(&call.config).and_then(|own| own.find_listener(&call.listener));
            let peers = own.into_iter().flat_map(|own| &own.peers);
            for peer in peers.filter(|peer| current.find_listener(peer).is_none()) {
                let caller = Some(call.listener.clone());
                found.push(Orphan { caller, approval: None, ..orphan(peer) });
            }
        }
    }
    found.sort_by(|a, b| (&a.thread, &a.call, &a.listener).cmp(&(&b.thread, &b.call, &b.listener)));
    Ok(found)
}

/// The calls that wait for a listener that does not take their element.
pub fn unfit(orphans: &[Orphan]) -> HashSet<(ThreadId, CallPath)> {
    let unfit = orphans.iter().filter(|orphan| orphan.element.is_some());
    unfit.map(|orphan| (orphan.thread.clone(), orphan.call.clone())).collect()
}

/// The payload that waits for a listener. Every listener takes payloads of the core.
fn element(reader: &dyn LogReader, thread: &Thread, call: &Call) -> Result<Option<Payload>, LogFault> {
    let request = reader.of_thread(&thread.id, call.request, 1)?.pop();
    let payload = request.and_then(|(_, record)| Payload::from_trusted(record.body).ok());
    Ok(payload.filter(|payload| *payload.name().ns != *systole_kit::namespaces::CORE))
}

impl Orphan {
    /// What is wrong with the call.
    pub fn words(&self) -> String {
        let Orphan { thread, call, listener, .. } = self;
        if let Some(caller) = &self.caller {
            let missing = format!("{listener}, which the organism's file no longer has");
            return format!("call {call} of {thread} is open, and {caller} may call {missing}");
        }
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
            None if self.caller.is_none() => {
                format!("put {listener} back into the file as it was, or systole cancel --to {listener}")
            }
            None => format!("put {listener} back into the file as it was, or systole cancel {thread}"),
        }
    }
}
