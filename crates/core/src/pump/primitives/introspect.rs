//! `<describe>` and `<list-capabilities>`: which payloads its sender may send. The answer depends only on the
//! configuration, so the door makes it; the state does not contain it.

use std::sync::Arc;

use systole_wire::namespaces;
use systole_wire::payload::Payload;

use super::{ItemDecision, Primitive, TurnEffect, make_item, record_exchange, refuse_unread};
use crate::pump::decision_builder::DecisionBuilder;
use crate::pump::turn::Turn;
use crate::rules::admit::{Door, ItemReading, to_refused};
use crate::rules::introspection;
use crate::types::composition::{Composition, Listener, SchemaId};
use crate::types::flow::{Admitted, FoundAnswer, PayloadKind, Refused};
use crate::types::record::{MessageRole, RecordCode};
use crate::types::refusal::Refusal;

pub(super) static DESCRIBE: Primitive = make_question("describe", ItemReading::Own(admit_describe));

pub(super) static LIST_CAPABILITIES: Primitive = make_question(
    "list-capabilities",
    ItemReading::Own(|door, payload| admit_question(door, payload, introspection::list_capabilities)),
);

const fn make_question(element: &'static str, reading: ItemReading) -> Primitive {
    Primitive {
        namespace: namespaces::META,
        turns: TurnEffect::Several,
        ..make_item(
            element,
            RecordCode::Role(MessageRole::Introspect),
            "asks about payloads, item",
            reading,
            decide_item,
        )
    }
}

fn admit_describe(door: &mut Door<'_>, payload: Payload) -> Result<Admitted, Refused> {
    let [element, namespace] = ["element", "namespace"].map(|name| payload.find_attribute(name));
    let element = element.unwrap_or_default();
    admit_question(door, payload, |composition, sender| {
        introspection::describe_element(composition, sender, &element, namespace.as_deref())
    })
}

/// The schema of these questions judges the question. It is answered only if it is valid.
fn admit_question(
    door: &mut Door<'_>,
    payload: Payload,
    answer: impl FnOnce(&Composition, &Listener) -> Result<Arc<[u8]>, Refusal>,
) -> Result<Admitted, Refused> {
    let element = payload.name().local.to_string();
    let verdict = door.judge_payload(SchemaId::META, payload)?;
    let answer =
        answer(door.composition, door.sender).map_err(|refusal| to_refused(refusal.of_element(element)))?;
    Ok(Admitted::new(PayloadKind::Primitive(FoundAnswer::Answer(answer)), verdict))
}

/// Answers with what the door has found.
fn decide_item(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    admitted: &Admitted,
) -> ItemDecision {
    let PayloadKind::Primitive(FoundAnswer::Answer(answer)) = admitted.what() else {
        return Err(refuse_unread());
    };
    record_exchange(d, turn, ordinal, &DESCRIBE, admitted.bytes(), answer.clone());
    Ok(None)
}
