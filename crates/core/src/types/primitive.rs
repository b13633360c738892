//! Payloads that the pump answers itself, parsed once: the parts that decisions need. Pure data. The log
//! records the original bytes, not these types.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ids::{ThreadId, TimerId};

/// A payload that the pump answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Primitive {
    /// `<await-threads>`.
    Await(Await),
    /// `<set-timer>`.
    SetTimer(SetTimer),
    /// `<cancel-timer>`.
    CancelTimer(TimerId),
    /// `<describe>` or `<list-capabilities>`, with its answer, which depends only on the configuration.
    Introspect(Arc<[u8]>),
    /// `<todo-until>` alone.
    Todo,
    /// `<cancel-thread>`.
    CancelThread(ThreadId),
    /// `<clear-context>`.
    Clear(Clear),
    /// `<recall>`.
    Recall(Recall),
    /// `<ask-person>`.
    AskPerson(AskPerson),
}

/// How many of the last messages a listener keeps in its view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clear {
    /// The number of messages. A number larger than the view keeps all of them.
    pub keep: u64,
}

/// The messages of its view that a listener wants to read again. They may not exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recall {
    /// The first, counted from 1.
    pub from: u64,
    /// The last.
    pub to: u64,
    /// How many characters of their text are skipped.
    pub offset: u64,
    /// How many characters are wanted after those. `None` lets the pump choose.
    pub length: Option<u64>,
}

/// The content of an `<ask-person>`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AskPerson {
    /// The question.
    pub words: String,
    /// The messages that are shown with it. They may not exist.
    pub shows: Vec<Show>,
    /// The possible answers. If there are none, the note is the answer.
    pub choices: Vec<String>,
    /// How long it waits.
    pub expires_ms: u64,
}

/// A message of the sender's view that is shown to a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Show {
    /// Its number, counted from 1.
    pub number: u64,
    /// Its label.
    pub label: String,
}

/// The content of an `<await-threads>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Await {
    /// How many of the threads must have finished.
    pub mode: Mode,
    /// The threads it names, each once. If empty, it waits for all open children.
    pub threads: Vec<ThreadId>,
}

/// How many of the awaited threads must have finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Every one.
    All,
    /// One.
    Any,
    /// This many, or every one if there are fewer.
    Count(u32),
}

impl Mode {
    /// How many of `threads` threads must have finished.
    pub fn of(self, threads: usize) -> usize {
        match self {
            Mode::All => threads,
            Mode::Any => threads.min(1),
            Mode::Count(count) => threads.min(usize::try_from(count).unwrap_or(usize::MAX)),
        }
    }
}

/// The content of a `<set-timer>`, without its note. The note stays in the record and is read again when
/// the timer fires.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetTimer {
    /// The requested id. `None` lets the pump choose.
    pub id: Option<TimerId>,
    /// When it fires.
    pub pace: Pace,
}

/// When a timer fires.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pace {
    /// The time until it fires.
    pub span_ms: u64,
    /// Whether it fires again and again, each time after the same time.
    pub repeats: bool,
}

/// A todo list. It replaces an earlier list with the same condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TodoList {
    /// The condition to reach.
    pub condition: String,
    /// The steps to do.
    pub steps: Vec<TodoStep>,
}

/// A step of a todo list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TodoStep {
    /// Whether it is done.
    pub is_done: bool,
    /// Its text.
    pub text: String,
}
