//! Payloads that the pump answers itself, read once and for all: what is in them that deciding needs.
//! Pure data. The bytes they were read from are what is recorded.

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
    /// `<describe>` or `<list-capabilities>`, with its answer: that follows from the configuration alone.
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

/// How much of its view a listener keeps: so many of the last messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clear {
    /// So many; a number beyond what there is means all of them.
    pub keep: u64,
}

/// Which messages of its view a listener wants to read again. Nothing here is known to be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recall {
    /// The first, counted from 1.
    pub from: u64,
    /// The last.
    pub to: u64,
    /// How many characters of their text are passed over.
    pub offset: u64,
    /// How many are wanted after those; none leaves that to the pump.
    pub length: Option<u64>,
}

/// What an `<ask-person>` asks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AskPerson {
    /// The question.
    pub words: String,
    /// The messages that are shown with it. Nothing here is known to be there.
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
    /// What it is called.
    pub label: String,
}

/// What an `<await-threads>` waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Await {
    /// How many of the threads must have finished.
    pub mode: Mode,
    /// The threads it names, each once; none means all that are open.
    pub threads: Vec<ThreadId>,
}

/// How many of the awaited threads must have finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Every one.
    All,
    /// One.
    Any,
    /// So many, or every one where there are fewer.
    Count(u32),
}

impl Mode {
    /// How many of that many threads must have finished.
    pub fn of(self, threads: usize) -> usize {
        match self {
            Mode::All => threads,
            Mode::Any => threads.min(1),
            Mode::Count(count) => threads.min(usize::try_from(count).unwrap_or(usize::MAX)),
        }
    }
}

/// What a `<set-timer>` asks for. Its note is not here: it stays in the record and is read again when the
/// timer fires.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetTimer {
    /// The id it is to have; none leaves that to the pump.
    pub id: Option<TimerId>,
    /// When it fires.
    pub pace: Pace,
}

/// When a timer fires.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pace {
    /// After so long.
    pub span_ms: u64,
    /// Whether again and again after as long.
    pub repeats: bool,
}

/// A todo list. The newest with the same condition stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TodoList {
    /// What is to be reached.
    pub condition: String,
    /// What there is to do.
    pub steps: Vec<TodoStep>,
}

/// A step of a todo list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TodoStep {
    /// Whether it is done.
    pub is_done: bool,
    /// What it is.
    pub text: String,
}
