//! Whether the programs of a configuration start: each that is new or another one is started once and stopped again.
//! It must not run beside its predecessor, so this is done when nothing else of the organism runs.

use systole_carriers::{InheritedVariables, try_start};
use systole_core::types::composition::{Composition, ListenerProgram};
use systole_core::types::ids::Name;

fn list_programs(composition: &Composition) -> impl Iterator<Item = (&Name, &ListenerProgram)> {
    let listeners = composition.listeners.values();
    listeners.filter_map(|listener| Some((&listener.name, listener.reach.traits().program?)))
}

/// Starts the programs that `before` does not have. The error says which one does not start, and why.
pub async fn try_programs(
    after: &Composition,
    before: &Composition,
    surroundings: &InheritedVariables,
) -> Result<(), String> {
    let is_known = |(name, program): &(&Name, &ListenerProgram)| {
        list_programs(before).any(|(known, same)| known == *name && same == *program)
    };
    let fresh = list_programs(after).filter(|one| !is_known(one));
    let tried = fresh.map(|(name, program)| async move {
        let started = try_start(program, (&after.organism, name), surroundings).await;
        started.map(drop).map_err(|why| format!("{name}: {why}"))
    });
    // Each trial ends before the answer, so that nothing runs beside what starts next.
    futures_util::future::join_all(tried).await.into_iter().collect()
}
