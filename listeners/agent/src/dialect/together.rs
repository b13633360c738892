//! Elements of one answer that happen together: they go out as one change set.
//!
//! The actions of a dialect come in; the same actions go out, with one in place of all that their schema marks with
//! `systole:together` and that go to the same receiver.

use std::collections::BTreeSet;

use systole_kit::writer::XmlWriter;
use systole_kit::{Payload, QName, namespaces};

use super::{ActPart, AnswerAction, ReadAnswer};
use crate::contracts::{AgentContracts, CHANGE_SET};

/// The elements that their schemas mark.
pub(super) fn list_elements(contracts: &AgentContracts) -> BTreeSet<QName> {
    let known = contracts.actions.iter().map(|action| &action.known);
    let marked = known.filter(|known| known.model.is_together(&known.element.local));
    marked.map(|known| known.element.clone()).collect()
}

/// Puts the marked actions together. The change set takes the place of the first of them. An action for a child thread
/// steers it, and stays as it is.
pub(super) fn join_changes(contracts: &AgentContracts, taken: &mut ReadAnswer) {
    let marked = list_elements(contracts);
    let is_marked = |act: &AnswerAction| act.thread.is_none() && marked.contains(act.payload.name());
    if !taken.acts.iter().any(is_marked) {
        return;
    }
    let mut sets: Vec<(usize, Vec<AnswerAction>)> = Vec::new();
    let mut places = Vec::new();
    let mut acts: Vec<AnswerAction> = Vec::new();
    for act in std::mem::take(&mut taken.acts) {
        let set = sets.iter_mut().find(|(_, set)| is_marked(&act) && set.iter().any(|one| one.to == act.to));
        match set {
            Some((at, set)) => {
                places.push(*at);
                set.push(act);
            }
            None => {
                places.push(acts.len());
                if is_marked(&act) {
                    sets.push((acts.len(), vec![act.clone()]));
                }
                acts.push(act);
            }
        }
    }
    for (at, set) in sets {
        if let (Some(place), Some(whole)) = (acts.get_mut(at), change_set(set)) {
            *place = whole;
        }
    }
    taken.acts = acts;
    // A fix belongs to its action.
    for repair in &mut taken.repairs {
        repair.act = repair.act.and_then(|act| places.get(act).copied());
    }
}

fn change_set(set: Vec<AnswerAction>) -> Option<AnswerAction> {
    let to = set.first()?.to.clone();
    let mut writer = XmlWriter::new();
    writer.open(CHANGE_SET).xmlns(namespaces::WORKSPACE).content(|inside| {
        set.iter().for_each(|act| inside.write_payload(&act.payload));
    });
    let payload = Payload::from_trusted(writer.finish().into()).ok()?;
    let parts = set.into_iter().map(|act| ActPart { name: act.name, call: act.call }).collect();
    let name = CHANGE_SET.to_owned();
    Some(AnswerAction { to, payload, name, call: None, thread: None, origin: None, is_task: false, parts })
}
