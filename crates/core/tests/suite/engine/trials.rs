//! A call that is tried again for all that wait, and that then waits for someone else.

use systole_core::types::composition::{ListenerSection, Reach};
use systole_core::types::limits;

use super::outages::{answers, asks, finds_away, is_out, passes, quiet_ms, taken, untaken};
use super::*;

/// The call that is tried finds that its listener no longer takes its element. It may wait for that for days.
#[test]
fn b21_a_call_that_is_tried_and_waits_for_its_element_holds_up_no_other() {
    let page =
        |hash: u8| Composition { hash: Digest([hash; 32]), outage_ms: limits::OUTAGE_MS, ..composition() };
    let mut rig = Rig::with(page(1));
    asks(&mut rig, "old");
    finds_away(&mut rig, "old", 1);
    let mut changed = page(2);
    changed.listeners.get_mut("agent").unwrap().accepts.clear();
    let mut rig = rig.killed_into(changed, vec![page(1)]);
    asks(&mut rig, "new");
    finds_away(&mut rig, "new", 1);
    let quiet = quiet_ms(&rig);
    passes(&mut rig, quiet);
    assert!(rig.lines().last().unwrap().contains("attempt/waits"), "for its element: {:?}", rig.lines());
    let quiet = quiet_ms(&rig);
    passes(&mut rig, quiet);
    assert!(is_out(&rig, "new", 2), "{:?}", rig.lines());
    answers(&mut rig, "new", 2);
    assert!(quiet_ms(&rig) > 86_400_000, "no one is tried any more");
}

/// An organism with two agents that need the same model, the first over NATS with one slot.
fn two_agents() -> Composition {
    let mut page = Composition { outage_ms: limits::OUTAGE_MS, ..composition() };
    let agent = page.listeners.get_mut("agent").unwrap();
    (agent.reach, agent.in_flight) = (Reach::Nats, 1);
    for who in ["agent", "other"] {
        let section = ListenerSection { path: format!("agents.{who}"), text: String::new() };
        page.sections.insert(name(who), section);
    }
    page
}

fn asks_other(rig: &mut Rig, key: &str) {
    rig.asks(1, key, "other", None);
    rig.settle();
}

/// The call that is tried goes to workers elsewhere, and none takes it.
#[test]
fn b21_a_call_that_is_tried_and_waits_for_a_worker_holds_up_no_other() {
    let mut rig = Rig::with(two_agents());
    asks(&mut rig, "far");
    finds_away(&mut rig, "far", 1);
    asks_other(&mut rig, "near");
    finds_away(&mut rig, "near", 1);
    let quiet = quiet_ms(&rig);
    passes(&mut rig, quiet);
    untaken(&mut rig, "far", 2);
    let quiet = quiet_ms(&rig);
    passes(&mut rig, quiet);
    assert!(is_out(&rig, "near", 2), "{:?}", rig.lines());
}

/// The call that would be tried has no slot, because its listener's only slot waits for a worker.
#[test]
fn b21_a_call_behind_an_absent_worker_is_tried_only_if_no_other_can_be() {
    let mut rig = Rig::with(two_agents());
    asks(&mut rig, "far");
    finds_away(&mut rig, "far", 1);
    asks(&mut rig, "untaken");
    untaken(&mut rig, "untaken", 1);
    let quiet = quiet_ms(&rig);
    passes(&mut rig, quiet);
    asks_other(&mut rig, "near");
    finds_away(&mut rig, "near", 1);
    assert!(!is_out(&rig, "far", 2), "it has no slot");
    let quiet = quiet_ms(&rig);
    passes(&mut rig, quiet);
    assert!(is_out(&rig, "near", 2), "{:?}", rig.lines());
    // It keeps its place, and has the slot as soon as it is free.
    taken(&mut rig, "untaken");
    answers(&mut rig, "untaken", 1);
    assert!(is_out(&rig, "far", 2), "{:?}", rig.lines());
}
