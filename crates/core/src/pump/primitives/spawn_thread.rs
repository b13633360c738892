//! `<spawn-thread>`: the item, the child's first record and the confirmation are one commit, in this order. Only then
//! can the child's first delivery go out.

use std::borrow::Cow;

use systole_wire::DocumentLimits;
use systole_wire::gate::{GateStep, XmlGate};
use systole_wire::payload::Payload;

use super::{
    ItemDecision, Primitive, ShownItem, TurnEffect, make_item, record_answer, record_taken, refuse_unread,
};
use crate::pump::approving::hold_if_due;
use crate::pump::budget_use;
use crate::pump::decision_builder::{DecisionBuilder, RecordFact};
use crate::pump::turn::{Turn, record_refusal};
use crate::rules::admit::{Door, ItemReading, to_refused};
use crate::rules::refusing::refusal_of;
use crate::rules::{classify, core_payload, labels};
use crate::types::budget::UsedAmounts;
use crate::types::codes::Code;
use crate::types::composition::SchemaId;
use crate::types::flow::{Admitted, FoundAnswer, PayloadKind, Refused};
use crate::types::ids::{CallPath, is_label};
use crate::types::limits;
use crate::types::record::{MessageRole, RecordCode, RecordKind, head_zero};
use crate::types::refusal::Refusal;

pub(super) static ROW: Primitive = Primitive {
    shows: Some(show_item),
    turns: TurnEffect::Several,
    ..make_item(
        "spawn-thread",
        RecordCode::Role(MessageRole::Spawn),
        "spawns, item",
        ItemReading::Own(admit_spawn),
        decide_item,
    )
};

/// The core's schema judges it; the addressee's schema judges its initial payload.
fn admit_spawn(door: &mut Door<'_>, payload: Payload) -> Result<Admitted, Refused> {
    let label = payload.find_attribute("suggested_sub_id");
    if let Some(label) = label.as_deref().filter(|label| !is_label(label)) {
        let received: String = label.chars().take(80).collect();
        let refusal = Refusal::new(Code::Invalid, "suggested_sub_id is not a label of a thread")
            .of_element("spawn-thread")
            .with_expected("[a-z0-9][a-z0-9-]{0,31}")
            .with_received(received)
            .fixed_by("leave suggested_sub_id out")
            .in_place("/spawn-thread/@suggested_sub_id");
        return Err(to_refused(refusal));
    }
    let (initial, to) = (payload.parse_inner(), read_addressee(payload.bytes()));
    // The outer schema first, because it says where in the payload something is missing.
    let verdict = door.judge_payload(SchemaId::CORE, payload)?;
    let initial = initial.map_err(|fault| to_refused(refusal_of(&fault)))?;
    if (door.known)(initial.name()).is_some() {
        return Err(to_refused(classify::initial_without_peer(initial.name())));
    }
    let (to, schema) = classify::of_initial(door.composition, door.sender, initial.name(), to.as_deref())
        .map_err(to_refused)?;
    let initial = door.judge_payload(schema, initial)?;
    Ok(Admitted::new_spawn(label, to, initial, verdict))
}

/// The addressee of the `<initial-payload>` in it. `None` if it names none.
fn read_addressee(body: &[u8]) -> Option<String> {
    let mut gate = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP).ok()?;
    let mut depth = 0;
    loop {
        match gate.read_step().ok()? {
            GateStep::Open(_) if depth == 1 => return gate.find_attribute("to").map(Cow::into_owned),
            GateStep::Open(_) => depth += 1,
            GateStep::Close | GateStep::Done => return None,
            _ => {}
        }
    }
}

/// Opens the child, if budget and limits allow it.
fn decide_item(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    admitted: &Admitted,
) -> ItemDecision {
    let PayloadKind::Primitive(FoundAnswer::Child { label, to, initial }) = admitted.what() else {
        return Err(refuse_unread());
    };
    let item = admitted.bytes();
    if let Some(refusal) = budget_use::find_refusal(d, turn.thread, turn.path, UsedAmounts::SPAWN) {
        return Err(refusal);
    }
    let over = budget_use::collect_limits(d, turn.thread, turn.path);
    let open = d.find_call(turn.thread, turn.path).map_or(0, |c| c.running().count());
    if open >= limits::OPEN_CHILDREN {
        let words =
            format!("{} children of this call are open, the most allowed at once", limits::OPEN_CHILDREN);
        return Err(Refusal::new(Code::ChildrenBudget, words).fixed_by("wait until one has finished"));
    }
    let named =
        d.find_thread(turn.thread).map(|t| labels::choose_label(&t.labels, t.spawns, label.as_deref()));
    let child = match named.and_then(|label| turn.thread.make_child(&label).ok()) {
        Some(child) => child,
        None => {
            let refusal = Refusal::new(Code::ThreadLimit, "the thread's id is too long for another child");
            record_refusal(d, turn, ordinal, &refusal);
            return Ok(Some(refusal));
        }
    };
    let spawned_by = record_taken(d, turn, ordinal, &ROW, item);
    let mut begin =
        RecordFact::from_core(RecordKind::Message, RecordCode::Role(MessageRole::Begin), initial.clone())
            .with_addressee(to)
            .with_call(&CallPath::new_top(1))
            .with_cause(spawned_by)
            .with_config(turn.config);
    begin.from = turn.sender.clone();
    begin.origin = d.last_leaf();
    d.add_record(&child, begin);
    let head = d.find_thread(&child).map_or_else(|| head_zero(&child), |t| t.head);
    // This comes before the answer, because the answer makes the sender's next turn ready, and that
    // turn shows the warning.
    budget_use::warn_limits(d, &over, UsedAmounts::SPAWN);
    let share_percent = d.find_listener(turn.config, to).map_or(0, |listener| listener.share_percent);
    let chain = budget_use::count_chain(d, turn.thread, turn.path);
    let ceiling = budget_use::compute_ceiling(&over, share_percent.into(), chain);
    let ceiling = ceiling.limit_to(core_payload::wanted_ceiling(item));
    let body = core_payload::thread_spawned(&child, turn.thread, head, &ceiling);
    record_answer(d, turn, ordinal, spawned_by, body);
    // This comes after the answer: a child gets no further record before its parent knows of it.
    budget_use::warn_child(d, &over, UsedAmounts::SPAWN, &child);
    // Judged payloads begin with an element.
    let element =
        Payload::from_trusted(initial.clone()).map_or_else(|_| String::new(), |p| p.name().local.to_string());
    hold_if_due(d, &child, &CallPath::new_top(1), (initial, &element), admitted.is_dangerous());
    Ok(None)
}

fn show_item(answer: Option<&[u8]>) -> ShownItem {
    let Some(child) = answer.and_then(core_payload::spawned_child) else {
        return ShownItem::new("spawned a thread");
    };
    let told = ShownItem::new(format!("spawned {child}")).with_field("spawned", Some(&child));
    ShownItem { child: Some(child), ..told }
}
