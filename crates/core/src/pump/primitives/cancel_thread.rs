//! `<cancel-thread>`: a call ends one of its children and everything below it, in one commit with the answer. The
//! child's end reaches the inbox like any other end.

use super::{ItemDecision, Primitive, ShownItem, make_item, record_answer, record_taken};
use crate::pump::children::{ChildKinship, find_kinship};
use crate::pump::closing::end_thread;
use crate::pump::decision_builder::DecisionBuilder;
use crate::pump::turn::{Turn, no_thread};
use crate::rules::admit::ItemReading;
use crate::rules::core_payload;
use crate::types::flow::Admitted;
use crate::types::ids::ThreadId;
use crate::types::record::{MessageRole, RecordCode};

pub(super) static ROW: Primitive = Primitive {
    names: |body| ThreadId::parse(&read_thread(body)).into_iter().collect(),
    ends_threads: true,
    shows: Some(show_item),
    ..make_item(
        "cancel-thread",
        RecordCode::Role(MessageRole::CancelThread),
        "cancels a thread, item",
        ItemReading::Plain(|_| Ok(())),
        decide_item,
    )
};

/// The thread that it names, as the sender wrote it.
fn read_thread(body: &[u8]) -> String {
    let [id] = core_payload::read_attributes(body, "cancel-thread", ["id"]).unwrap_or_default();
    id.unwrap_or_default()
}

/// Cancels a child of this call. A child of another call or thread is unknown here.
fn decide_item(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    admitted: &Admitted,
) -> ItemDecision {
    let item = admitted.bytes();
    let written = read_thread(item);
    let id = match find_kinship(d, turn, &written) {
        ChildKinship::Running(id) => id,
        ChildKinship::Ended => return Ok(Some(no_thread(d, turn, ordinal, &written, true, item))),
        ChildKinship::Foreign => return Ok(Some(no_thread(d, turn, ordinal, &written, false, item))),
        ChildKinship::Unread(refusal) => return Err(*refusal),
    };
    let cause = record_taken(d, turn, ordinal, &ROW, item);
    let threads = end_thread(d, &id, &turn.sender);
    record_answer(d, turn, ordinal, cause, core_payload::thread_cancelled(&id, threads));
    Ok(None)
}

fn show_item(answer: Option<&[u8]>) -> ShownItem {
    let id = answer.and_then(core_payload::cancelled_thread);
    let whom = id.as_ref().map_or("a thread", ThreadId::as_str);
    ShownItem::new(format!("cancelled {whom}")).with_field("cancelled", id.as_ref().map(ThreadId::as_str))
}
