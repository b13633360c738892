//! `<todo-until>` outside a note: a list of steps. Recording it is its answer. `pump::todos` keeps the lists of notes
//! too.

use super::{Primitive, item};
use crate::pump::fold::settling;
use crate::pump::todos;
use crate::rules::admit::Reading;
use crate::rules::todo;
use crate::types::record::{MessageRole, RecordCode};

pub(super) static ROW: Primitive = Primitive {
    is_kept: true,
    fold: settling::kept,
    ..item(
        "todo-until",
        RecordCode::Role(MessageRole::Todo),
        "todo list",
        Reading::Plain(|body| todo::read(body).map(drop)),
        |d, turn, ordinal, admitted| Ok(todos::keep(d, turn, ordinal, MessageRole::Todo, admitted.bytes())),
    )
};
