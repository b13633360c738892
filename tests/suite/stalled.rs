//! A log that has no room for a while: everyone who waits for the pump learns at once that nothing can
//! be stored, for any kind of answer, and is served when there is room again.

use std::collections::BTreeMap;
use std::sync::Arc;

use systole_config as config;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::NoObserver;
use systole_log::memory::{CommitFailure, MemoryLog};
use systole_organism::plan::{LogPlace, ReloadAtStart, RunPlan};
use systole_organism::pump_loop::LoopEnd;
use systole_organism::running::Organism;
use systole_organism::waiting::SenderReply;

use crate::organism::{ask, echo, outcome, say};
use crate::program::PATIENCE;

/// No room for three tries of the writer, which take most of a second.
const NO_ROOM: [CommitFailure; 3] = [CommitFailure::NotNow; 3];

pub(crate) async fn start(folder: &std::path::Path, log: &MemoryLog) -> Organism {
    let file = config::load(&folder.join("organism.yaml")).unwrap();
    Organism::start(RunPlan {
        bus: None,
        managed: None,
        stands_by: None,
        given_up: None,
        proof: None,
        followers: Vec::new(),
        schedules: Vec::new(),
        reload: ReloadAtStart::default(),
        composition: file.composition,
        directory: folder.to_owned(),
        log: LogPlace::Memory(log.clone()),
        inline: BTreeMap::new(),
        validators: 1,
        surroundings: std::env::vars_os().collect(),
        steps: Arc::new(NoObserver),
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn clients_get_an_error_while_the_log_has_no_room() {
    let (folder, log) = (echo(), MemoryLog::new());
    let organism = start(folder.path(), &log).await;
    let first = ask(&organism, "k1", &say("hello"), None).await.unwrap();
    outcome(&organism, &first).await;
    let wrong = "<say xmlns=\"https://xml-pipeline.org/ns/echo/v1\"><txt>hello</txt></say>";

    // One client waits for a receipt, one for a refusal, one for an order.
    log.next_commits(NO_ROOM);
    let told = ask(&organism, "k2", &say("more"), None).await.unwrap_err();
    assert!(told.starts_with("ingress.unavailable"), "{told}");
    let second = again(&organism, "k2", &say("more")).await.unwrap();
    outcome(&organism, &second).await;

    log.next_commits(NO_ROOM);
    let told = ask(&organism, "k3", wrong, None).await.unwrap_err();
    assert!(told.starts_with("ingress.unavailable"), "{told}");
    let told = again(&organism, "k3", wrong).await.unwrap_err();
    assert!(told.starts_with("payload.invalid"), "{told}");

    log.next_commits(NO_ROOM);
    let thread = ThreadId::parse(first.thread.as_str()).unwrap();
    match organism.handle().cancel_thread(Name::new_operator(), thread).await.unwrap() {
        SenderReply::Refused(refusal) => assert_eq!(refusal.code.as_str(), "ingress.unavailable"),
        other => panic!("{other:?}"),
    }
    assert_eq!(organism.stop(PATIENCE).await, LoopEnd::Drained(0));
}

/// Sends until there is room.
async fn again(
    organism: &Organism,
    key: &str,
    document: &str,
) -> Result<systole_core::types::flow::Receipt, String> {
    loop {
        match ask(organism, key, document, None).await {
            Err(told) if told.starts_with("ingress.unavailable") => tokio::task::yield_now().await,
            decided => return decided,
        }
    }
}
