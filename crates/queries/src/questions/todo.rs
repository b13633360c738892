//! `todo`: the todo lists of a thread as they were after some record: the newest list for every condition, of each call
//! that was open then. If none was open, of the last top call and the calls below it.
//!
//! It keeps only the newest text of a list.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::log_state::folded_until;
use crate::query::{Query, QueryFault, QueryMoment, QueryPage, QueryRoute, RecordArguments, find_record};
use systole_core::rules::todo;
use systole_core::types::ids::{CallPath, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::primitive::{TodoList, TodoStep};
use systole_core::types::record::{MessageRole, RecordCode, RecordKind};
use systole_show::blocks::{Block, CheckList};

/// The question.
pub enum TodoQuery {}

/// The todo lists of a thread.
#[derive(Serialize)]
pub struct TodoAnswer {
    thread: String,
    seq: u64,
    calls: Vec<CallTodo>,
}

/// The lists of one call, in the order in which their conditions first came.
#[derive(Serialize)]
struct CallTodo {
    call: String,
    listener: String,
    lists: Vec<PlacedTodo>,
}

/// A list with its record.
#[derive(Serialize)]
struct PlacedTodo {
    seq: u64,
    condition: String,
    steps: Vec<ListedStep>,
}

/// A step of a list.
#[derive(Serialize)]
struct ListedStep {
    done: bool,
    text: String,
}

impl Query for TodoQuery {
    const NAME: &'static str = "todo";
    const ABOUT: &'static str = "Show a thread's todo lists, now or as they once stood";
    const EXAMPLES: &'static [&'static str] =
        &["systole todo", "systole todo @last@12", "systole todo --at 120"];
    const ROUTES: &'static [QueryRoute] =
        &[QueryRoute { path: "/v1/threads/{thread}/todo", fields: &["seq"] }];
    const PAGE: Option<QueryPage> =
        Some(QueryPage { path: "/t/{thread}/todo", title: "Todo lists", form: None, without_requests: None });
    type Arguments = RecordArguments;
    type Answer = TodoAnswer;

    fn read(moment: &dyn QueryMoment, asked: &RecordArguments) -> Result<TodoAnswer, QueryFault> {
        let h = find_record(moment, asked.thread.as_ref(), asked.seq)?.1.header;
        let calls = read_lists(moment.log(), &h.thread, h.seq)?;
        Ok(TodoAnswer { thread: h.thread.to_string(), seq: h.seq, calls })
    }

    fn as_of(answer: &TodoAnswer) -> Option<u64> {
        Some(answer.seq)
    }

    fn blocks(answer: &TodoAnswer) -> Vec<Block> {
        if answer.calls.is_empty() {
            return vec![Block::Note(format!("thread {} has no todo list", answer.thread))];
        }
        let lists = answer.calls.iter().flat_map(|call| call.lists.iter().map(move |list| (call, list)));
        let block = |(call, list): (&CallTodo, &PlacedTodo)| {
            Block::Checks(CheckList {
                who: call.listener.clone(),
                call: call.call.clone(),
                record: (answer.thread.clone(), list.seq),
                until: list.condition.clone(),
                steps: list.steps.iter().map(|step| (step.done, step.text.clone())).collect(),
            })
        };
        lists.map(block).collect()
    }
}

/// Reads the lists as they were after record `seq`.
fn read_lists(reader: &dyn LogReader, thread: &ThreadId, seq: u64) -> Result<Vec<CallTodo>, LogFault> {
    let mut calls: BTreeMap<CallPath, CallTodo> = BTreeMap::new();
    let fold = folded_until(reader, thread, seq, |record| {
        let h = &record.header;
        let is_kept = matches!(
            (h.kind, h.code),
            (RecordKind::Message, Some(RecordCode::Role(MessageRole::Note | MessageRole::Todo)))
        );
        let Some(call) = h.call.clone().filter(|_| is_kept) else { return };
        let new = || CallTodo { call: call.to_string(), listener: h.from.to_string(), lists: Vec::new() };
        for list in todo::read_lists(&record.body).unwrap_or_default() {
            calls.entry(call.clone()).or_insert_with(new).keep(PlacedTodo::of(h.seq, list));
        }
    })?;
    let Some(fold) = fold else { return Ok(Vec::new()) };
    let last = CallPath::new_top(fold.top_calls.max(1));
    let stands = |call: &CallPath| match fold.calls.is_empty() {
        true => call.is_within(&last),
        false => fold.calls.contains_key(call),
    };
    Ok(calls.into_iter().filter(|(call, _)| stands(call)).map(|(_, lists)| lists).collect())
}

impl CallTodo {
    /// Puts a list in place of the earlier one with its condition.
    fn keep(&mut self, list: PlacedTodo) {
        match self.lists.iter_mut().find(|old| old.condition == list.condition) {
            Some(old) => *old = list,
            None => self.lists.push(list),
        }
    }
}

impl PlacedTodo {
    fn of(seq: u64, TodoList { condition, steps }: TodoList) -> PlacedTodo {
        let step = |TodoStep { is_done, text }| ListedStep { done: is_done, text };
        PlacedTodo { seq, condition, steps: steps.into_iter().map(step).collect() }
    }
}
