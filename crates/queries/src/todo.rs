//! Todo lists as they were after some record: the newest list for every condition, of each call that was
//! open then. If none was open, of the last top call and the calls below it.
//!
//! It keeps only the newest text of a list. A thread and a record's number come in; lists of plain data,
//! and lines or JSON made of them, go out.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::whole::folded_until;
use systole_core::rules::todo;
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::primitive::TodoList;
use systole_core::types::record::{MessageRole, RecordCode, RecordKind};
use systole_show::columns::{cut, plain, wrapped};

/// The lists of one call, in the order in which their conditions first came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TodoLists {
    /// The call.
    pub call: CallPath,
    /// The listener that keeps them.
    pub listener: Name,
    /// Each list with its record.
    pub lists: Vec<(u64, TodoList)>,
}

/// Reads the lists as they were after record `seq`; `None` if the thread has no record.
pub fn read(reader: &dyn LogReader, thread: &ThreadId, seq: u64) -> Result<Option<Vec<TodoLists>>, LogFault> {
    let mut calls: BTreeMap<CallPath, TodoLists> = BTreeMap::new();
    let fold = folded_until(reader, thread, seq, |record| {
        let h = &record.header;
        let is_kept = matches!(
            (h.kind, h.code),
            (RecordKind::Message, Some(RecordCode::Role(MessageRole::Note | MessageRole::Todo)))
        );
        let Some(call) = h.call.clone().filter(|_| is_kept) else { return };
        for list in todo::read_lists(&record.body).unwrap_or_default() {
            let blank = || TodoLists { call: call.clone(), listener: h.from.clone(), lists: Vec::new() };
            let lists = &mut calls.entry(call.clone()).or_insert_with(blank).lists;
            match lists.iter_mut().find(|(_, old)| old.condition == list.condition) {
                Some(old) => *old = (h.seq, list),
                None => lists.push((h.seq, list)),
            }
        }
    })?;
    let Some(fold) = fold else { return Ok(None) };
    let last = CallPath::new_top(fold.top_calls.max(1));
    let stands = |call: &CallPath| match fold.calls.is_empty() {
        true => call.is_within(&last),
        false => fold.calls.contains_key(call),
    };
    Ok(Some(calls.into_values().filter(|lists| stands(&lists.call)).collect()))
}

/// The lists as lines for a terminal.
pub fn lines(all: &[TodoLists]) -> Vec<String> {
    let mut lines = Vec::new();
    for TodoLists { call, listener, lists } in all {
        for (seq, list) in lists {
            let open = list.steps.iter().filter(|step| !step.is_done).count();
            let count = format!("{open} of {} open", list.steps.len());
            let (who, seq) = (cut(listener.as_str(), 24), seq.to_string());
            let lead = format!("{who}  call {}  #{seq}  {count}  until", call.as_str());
            lines.extend(wrapped(&lead, 4, &format!(" {}", plain(&list.condition))));
            for step in &list.steps {
                let mark = if step.is_done { "  [x] " } else { "  [ ] " };
                lines.extend(wrapped(mark, 6, &plain(step.text.trim())));
            }
        }
    }
    lines
}

/// The lists for programs.
pub fn as_json(thread: &ThreadId, seq: u64, all: &[TodoLists]) -> Value {
    let list = |seq: &u64, list: &TodoList| {
        let steps: Vec<Value> =
            list.steps.iter().map(|step| json!({"done": step.is_done, "text": step.text})).collect();
        json!({"seq": seq, "condition": list.condition, "steps": steps})
    };
    let calls: Vec<Value> = all
        .iter()
        .map(|TodoLists { call, listener, lists }| {
            let lists: Vec<Value> = lists.iter().map(|(seq, told)| list(seq, told)).collect();
            json!({"call": call.as_str(), "listener": listener.as_str(), "lists": lists})
        })
        .collect();
    json!({"thread": thread.as_str(), "seq": seq, "calls": calls})
}
