//! Planted faults are found, each within the seeds that every test run covers, and by the rule for it.

use systole_simulator::{Plant, sweep};

use super::seeds::SEEDS;

/// The rules that may find each fault first.
fn rules(plant: Plant) -> &'static [&'static str] {
    match plant {
        Plant::AckBeforeSync => &["recorded", "receipt"],
        Plant::LostSync => &["fold"],
        Plant::TornBatch => &["fold"],
        Plant::UnknownIsStored => &["fold", "receipt"],
        Plant::ReplyTwice => &["once"],
        Plant::ForgottenAttempts => &["start"],
        Plant::DroppedLook => &["rest"],
        Plant::ForgottenRows => &["start"],
        Plant::KeptSlot => &["rest"],
        Plant::ForgottenTimers => &["fold", "rest"],
        Plant::ForgottenWaits => &["fold", "rest"],
        Plant::ForgottenTodos => &["fold"],
        Plant::ForgottenApprovals => &["approval", "recorded"],
        Plant::ForgottenPauses => &["paused"],
        Plant::ForgottenOutages => &["waits", "outage"],
        Plant::WordTwice => &["once"],
        Plant::ForgottenLeases | Plant::DeletedEarly => &["ended-early"],
        Plant::OustedWrites => &["ousted"],
        Plant::NoWindow => &["worked-twice"],
        Plant::LostFound => &["lost-alive"],
        Plant::DroppedReply => &["reply-lost"],
    }
}

#[test]
fn every_planted_mistake_is_found() {
    for plant in Plant::ALL {
        // On one thread, so that every run covers the same seeds; and several seeds, because a fault has
        // consequences, and another rule may see one of them first.
        let swept = sweep(0..SEEDS, Some(plant), 1, 3);
        let found: Vec<&str> =
            swept.failed.iter().flat_map(|o| &o.findings).map(|finding| finding.rule).collect();
        assert!(found.iter().any(|rule| rules(plant).contains(rule)), "{plant:?}: {found:?}");
        println!("{plant:?}: seed {} of {}, {found:?}", swept.failed[0].seed, swept.seeds);
    }
}
