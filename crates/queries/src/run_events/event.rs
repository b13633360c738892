//! The events of a run, and the words on their way that make some of them.

use std::sync::Arc;

use systole_core::rules::outcome::CallJudgement;
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::person::PersonRequestId;
use systole_core::types::ports::Position;
use systole_core::types::primitive::TodoList;
use systole_core::types::record::Record;
use systole_core::types::time::Millis;
use systole_kit::reply::AnswerPart;

use super::cursor::RunCursor;

/// A record of the log at its position.
pub type RunRecord = (Position, Arc<Record>);

/// Where a call is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CallPlace {
    /// Its thread.
    pub thread: ThreadId,
    /// Its path there.
    pub call: CallPath,
}

/// Words of a call on their way. They are no records.
#[derive(Clone, Debug)]
pub struct SpokenWords {
    /// The call.
    pub at: CallPlace,
    /// The listener.
    pub from: String,
    /// The turn and the attempt.
    pub of: (u32, u32),
    /// What they are of an answer on its way.
    pub part: Option<AnswerPart>,
    /// How many bytes of the answer the attempt said before.
    pub before: Option<u64>,
    /// The words.
    pub words: String,
    /// Whether they are all, as a program's are. A model's go on.
    pub is_whole: bool,
}

/// An event of a run.
#[derive(Clone, Debug)]
pub enum RunEvent {
    /// It begins, or goes on after it failed.
    Started,
    /// Its listener is asked once more, and nothing else came of what it had said, which is taken back before.
    Again,
    /// Its answer goes on with these words.
    Text(String),
    /// What was sent of its answer does not count.
    Retract,
    /// What its listener thinks: on the way, or as the record has it.
    Thought {
        /// The words.
        words: String,
        /// Whether they are on the way.
        is_live: bool,
    },
    /// Its listener's todo lists, as they are now.
    Todo(Vec<TodoList>),
    /// Something below it is called.
    Called {
        /// The call.
        at: CallPlace,
        /// The listener.
        to: Name,
        /// The payload.
        record: RunRecord,
    },
    /// A call says something while it works.
    Words(SpokenWords),
    /// A call below it is over.
    Returned {
        /// The call.
        at: CallPlace,
        /// How.
        judgement: CallJudgement,
        /// The answer, or what went wrong.
        record: RunRecord,
    },
    /// A person is asked.
    Asked {
        /// The request.
        id: PersonRequestId,
        /// What asks.
        record: RunRecord,
    },
    /// A person has decided, or no person did in time.
    Decided {
        /// The request.
        id: PersonRequestId,
        /// What was decided.
        record: RunRecord,
    },
    /// Work waits for someone who is away.
    Away(String),
    /// All that is open waits for persons.
    Quiet,
    /// It is over.
    Ended {
        /// How.
        judgement: CallJudgement,
        /// The answer, or what went wrong.
        record: RunRecord,
    },
}

/// An event with the id from which a client goes on; `None` for what is not sent again.
#[derive(Clone, Debug)]
pub struct PlacedEvent {
    /// Its id.
    pub cursor: Option<RunCursor>,
    /// The event.
    pub event: RunEvent,
    /// Whether the client has it.
    pub is_known: bool,
    /// When its record was made; `None` for what has none.
    pub time: Option<Millis>,
}
