//! Parts of the payloads that the pump answers, as far as more than the file of one primitive needs them. Pure data.

use serde::{Deserialize, Serialize};

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

/// When a timer fires.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TimerPace {
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
