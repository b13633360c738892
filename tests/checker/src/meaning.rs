//! The meaning of a record for its thread, from its kind, its code and its place in a call. The
//! input is a record; the output is an act, or a text that says why the record has no known meaning.
//! A judge must not skip unknown records.

use crate::path;
use crate::record::LogLine;

/// What a record does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RecordAct<'r> {
    /// Opens a top call.
    Opens { call: &'r str, to: &'r str, by: OpenedThrough },
    /// One item of a reply.
    Item { call: &'r str, turn: u32, ordinal: u32, sort: ItemSort<'r> },
    /// One of several calls that an item makes: the call to that taker.
    Takes { caller: &'r str, turn: u32, ordinal: u32, call: &'r str, to: &'r str, first_is_enough: bool },
    /// An answer of the core to an item that made no call.
    Answer { caller: &'r str, turn: u32, ordinal: u32 },
    /// A payload for the inbox of a call.
    Inbox { call: &'r str },
    /// Reports to a call that a budget is used up, and that it may only answer.
    Wraps { call: &'r str },
    /// A timer that fired into the inbox of the call that set it.
    Fires { call: &'r str },
    /// A steering message that joins the inbox of a call.
    Steers { call: &'r str },
    /// A timer that ends with its call.
    Unset { call: &'r str },
    /// Says how long the message that opened that call has been worked on.
    Clocks { call: &'r str },
    /// A person is asked; from here on the call waits.
    Asks { call: &'r str },
    /// An item asks a person a question, and waits for the answer.
    Questions { caller: &'r str, turn: u32, ordinal: u32 },
    /// A listener is notified of the request, in its own call that no other call waits for.
    Tell { caller: &'r str, call: &'r str, to: &'r str },
    /// A person replaces the waiting bytes.
    Amends { call: &'r str },
    /// The request for approval has its outcome.
    Decides { call: &'r str },
    /// Closes a call without a payload of its listener.
    Outcome { call: &'r str },
    /// A turn that will not be retried; the outcome of its call follows.
    DeadLetter { call: &'r str, turn: u32 },
    /// A further attempt at a turn.
    Attempt { call: &'r str, turn: u32 },
    /// What happens to an attempt meanwhile: it waits, goes on, or a worker takes it.
    Marks { call: &'r str },
    /// An entry of a listener's journal.
    Writes { call: &'r str, turn: u32 },
    /// Refuses what a listener said while it worked; the turn stays out.
    Denies { call: &'r str },
    /// Ends a thread.
    Terminal,
    /// From here on nothing new goes out of a thread and of those below it; in `sys`, of any thread.
    Pauses,
    /// It goes on.
    Resumes,
    /// Opens the failed last call of a root again; its due turn goes out once more.
    Reopens { call: &'r str, turn: u32 },
    /// Belongs to no call: the core's records in `sys`, and refusals of messages from outside.
    Aside,
}

/// The origin of a top call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OpenedThrough {
    /// A client.
    Client,
    /// A spawn: it is the first record of a child.
    Spawn,
    /// A timer of a call that is over.
    Timer,
    /// The outcome of a call that a timer opened, as news for a listener.
    Tell,
}

/// What an item is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ItemSort<'r> {
    /// Makes a nested call to a peer.
    Call { to: &'r str },
    /// Makes a child.
    Spawn,
    /// Waits for children.
    Wait,
    /// Ends a child.
    End,
    /// Steers a child.
    Steer,
    /// Asks about payloads.
    Asks,
    /// Clears messages of the view of its call.
    Clear,
    /// Reads messages of that view again.
    Recall,
    /// Asks a person.
    Person,
    /// Sets a timer.
    Set,
    /// Cancels a timer.
    Cancel,
    /// Complete once it is recorded.
    Note,
    /// Refused; the record is its answer.
    Refused,
    /// Closes the call.
    Final,
}

impl<'r> RecordAct<'r> {
    /// The open call that the record belongs to; for an answer, the call of the item that it
    /// answers.
    pub(crate) fn call(self) -> Option<&'r str> {
        match self {
            RecordAct::Item { call, .. }
            | RecordAct::Takes { caller: call, .. }
            | RecordAct::Answer { caller: call, .. }
            | RecordAct::Inbox { call }
            | RecordAct::Wraps { call }
            | RecordAct::Fires { call }
            | RecordAct::Unset { call }
            | RecordAct::Asks { call }
            | RecordAct::Questions { caller: call, .. }
            | RecordAct::Tell { caller: call, .. }
            | RecordAct::Amends { call }
            | RecordAct::Decides { call }
            | RecordAct::Steers { call }
            | RecordAct::Outcome { call }
            | RecordAct::DeadLetter { call, .. }
            | RecordAct::Writes { call, .. }
            | RecordAct::Marks { call }
            | RecordAct::Denies { call }
            | RecordAct::Attempt { call, .. } => Some(call),
            RecordAct::Opens { .. } | RecordAct::Clocks { .. } | RecordAct::Terminal => None,
            RecordAct::Pauses | RecordAct::Resumes | RecordAct::Reopens { .. } | RecordAct::Aside => None,
        }
    }

    /// The call that the record closes.
    pub(crate) fn find_closed(self) -> Option<&'r str> {
        match self {
            RecordAct::Outcome { call } | RecordAct::Item { call, sort: ItemSort::Final, .. } => Some(call),
            _ => None,
        }
    }
}

/// What a record does, or why it has no known meaning.
pub(crate) fn read_act(record: &LogLine) -> Result<RecordAct<'_>, String> {
    let code = record.code.as_deref();
    match (record.kind.as_str(), code) {
        ("message", Some("request")) => {
            record.key.as_ref().ok_or("a request has no key")?;
            read_open(record, OpenedThrough::Client)
        }
        ("message", Some("begin")) => read_open(record, OpenedThrough::Spawn),
        ("message", Some("call")) => read_item(record, ItemSort::Call { to: read_addressee(record)? }),
        ("message", Some("to-all")) => read_taking(record, false),
        ("message", Some("to-first")) => read_taking(record, true),
        ("message", Some("spawn")) => read_item(record, ItemSort::Spawn),
        ("message", Some("cancel-thread")) => read_item(record, ItemSort::End),
        ("message", Some("steer")) => read_item(record, ItemSort::Steer),
        ("message", Some("introspect")) => read_item(record, ItemSort::Asks),
        ("message", Some("clear")) => read_item(record, ItemSort::Clear),
        ("message", Some("ask-person")) => read_item(record, ItemSort::Person),
        ("message", Some("recall")) => read_item(record, ItemSort::Recall),
        ("message", Some("await")) => read_item(record, ItemSort::Wait),
        ("message", Some("note" | "todo")) => read_item(record, ItemSort::Note),
        ("message", Some("final")) => read_item(record, ItemSort::Final),
        ("message", Some("answer")) => {
            let (caller, turn, ordinal) =
                path::split_item(read_call(record)?).ok_or("it answers a top call, which is no item")?;
            Ok(RecordAct::Answer { caller, turn, ordinal })
        }
        ("message", Some("inbox")) => Ok(RecordAct::Inbox { call: read_call(record)? }),
        ("message", Some("wrap-up")) => Ok(RecordAct::Wraps { call: read_call(record)? }),
        ("steer", Some(order)) => read_order(record, order),
        ("timer", Some("set")) => read_item(record, ItemSort::Set),
        ("timer", Some("cancel")) => read_item(record, ItemSort::Cancel),
        ("timer", Some("fired")) => Ok(RecordAct::Fires { call: read_call(record)? }),
        ("timer", Some("opens")) => read_open(record, OpenedThrough::Timer),
        ("timer", Some("cancelled")) => Ok(RecordAct::Unset { call: read_call(record)? }),
        ("timer", Some("wall")) => Ok(RecordAct::Clocks { call: read_call(record)? }),
        ("message", Some("tell")) => match path::split_item(read_call(record)?) {
            Some((caller, ..)) => {
                Ok(RecordAct::Tell { caller, call: read_call(record)?, to: read_addressee(record)? })
            }
            None => read_open(record, OpenedThrough::Tell),
        },
        // In `sys` requests are counted over the whole log.
        ("approval", Some("requested" | "asked")) if record.thread == "sys" => Ok(RecordAct::Aside),
        ("approval", Some("asked")) => {
            let (caller, turn, ordinal) =
                path::split_item(read_call(record)?).ok_or("a top call asks, which is no item")?;
            Ok(RecordAct::Questions { caller, turn, ordinal })
        }
        ("approval", Some("requested")) => Ok(RecordAct::Asks { call: read_call(record)? }),
        ("approval", Some("amendment")) => Ok(RecordAct::Amends { call: read_call(record)? }),
        ("approval", Some("approved" | "amended" | "rejected" | "expired")) => {
            Ok(RecordAct::Decides { call: read_call(record)? })
        }
        ("journal", Some("model-started" | "model-result")) => {
            Ok(RecordAct::Writes { call: read_call(record)?, turn: read_turn(record)? })
        }
        ("refusal", Some(_)) if record.call.is_some() && record.ordinal.is_none() => {
            Ok(RecordAct::Denies { call: read_call(record)? })
        }
        ("refusal", Some(_)) if record.call.is_some() => read_item(record, ItemSort::Refused),
        ("message", Some("told")) | ("refusal", Some(_)) => Ok(RecordAct::Aside),
        ("outcome", Some("dead-letter")) => {
            Ok(RecordAct::DeadLetter { call: read_call(record)?, turn: read_turn(record)? })
        }
        ("outcome", Some(_)) => Ok(RecordAct::Outcome { call: read_call(record)? }),
        ("attempt", Some("waits" | "goes-on" | "taken")) => Ok(RecordAct::Marks { call: read_call(record)? }),
        ("attempt", _) => Ok(RecordAct::Attempt { call: read_call(record)?, turn: read_turn(record)? }),
        ("terminal", Some(_)) => Ok(RecordAct::Terminal),
        (kind, code) => Err(format!("kind {kind} with code {} has no meaning here", code.unwrap_or("none"))),
    }
}

fn read_order<'r>(record: &'r LogLine, order: &str) -> Result<RecordAct<'r>, String> {
    match order {
        "steered" => Ok(RecordAct::Steers { call: read_call(record)? }),
        "paused" => Ok(RecordAct::Pauses),
        "resumed" => Ok(RecordAct::Resumes),
        "reopened" => Ok(RecordAct::Reopens { call: read_call(record)?, turn: read_turn(record)? }),
        other => Err(format!("kind steer with code {other} has no meaning here")),
    }
}

fn read_open(record: &LogLine, by: OpenedThrough) -> Result<RecordAct<'_>, String> {
    Ok(RecordAct::Opens { call: read_call(record)?, to: read_addressee(record)?, by })
}

fn read_taking(record: &LogLine, first_is_enough: bool) -> Result<RecordAct<'_>, String> {
    let call = read_call(record)?;
    path::find_taker(call).ok_or("it goes to several and does not say to which")?;
    let (caller, turn, ordinal) = path::split_item(call).ok_or("it is made by no item")?;
    Ok(RecordAct::Takes { caller, turn, ordinal, call, to: read_addressee(record)?, first_is_enough })
}

fn read_item<'r>(record: &'r LogLine, sort: ItemSort<'r>) -> Result<RecordAct<'r>, String> {
    let ordinal = record.ordinal.ok_or("an item has no ordinal")?;
    Ok(RecordAct::Item { call: read_call(record)?, turn: read_turn(record)?, ordinal, sort })
}

fn read_call(record: &LogLine) -> Result<&str, String> {
    let call = record.call.as_deref().ok_or("it names no call")?;
    if path::is_path(call) { Ok(call) } else { Err(format!("{call:?} is no call path")) }
}

fn read_turn(record: &LogLine) -> Result<u32, String> {
    record.turn.ok_or_else(|| "it names no turn".into())
}

fn read_addressee(record: &LogLine) -> Result<&str, String> {
    record.to.as_deref().ok_or_else(|| "it has no addressee".into())
}
