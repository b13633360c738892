//! `<todo-until>` outside a note: a list of steps. Recording it is its answer. `pump::todos` keeps the lists of notes
//! too.

use super::{Primitive, make_item};
use crate::pump::fold::settling;
use crate::pump::todos;
use crate::rules::admit::ItemReading;
use crate::rules::todo;
use crate::types::record::{MessageRole, RecordCode};

pub(super) static ROW: Primitive = Primitive {
    is_kept: true,
    fold: settling::settle_kept,
    ..make_item(
        "todo-until",
        RecordCode::Role(MessageRole::Todo),
        "todo list",
        ItemReading::Plain(|body| todo::read_lists(body).map(drop)),
        |d, turn, ordinal, admitted| {
            Ok(todos::keep_list(d, turn, ordinal, MessageRole::Todo, admitted.bytes()))
        },
    )
};
