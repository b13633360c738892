//! Following the log from inside, up to its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use systole_api::types::OrganismStatus;
use systole_core::types::ports::Position;
use systole_following::events::RecordFollower;

use crate::http::house;
use crate::organism::{ask, outcome, say, start};
use crate::program::PATIENCE;

#[tokio::test(flavor = "multi_thread")]
async fn a_status_that_is_asked_for_while_the_log_grows_stops_no_one() {
    let folder = house();
    let organism = start(folder.path()).await;
    let (is_over, (done, at_end)) = (Arc::new(AtomicBool::new(false)), mpsc::sync_channel(2));
    for _ in 0..2 {
        let (front, is_over, done) = (organism.handle().clone(), is_over.clone(), done.clone());
        std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                OrganismStatus::read_status(&front);
            }
            done.send(()).unwrap();
        });
    }
    let asking = async {
        for n in 0..300 {
            ask(&organism, &format!("k{n}"), &say("hello"), None).await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.expect("the pump writes on");
    is_over.store(true, Ordering::Relaxed);
    (0..2).for_each(|_| at_end.recv_timeout(PATIENCE).expect("each reader gets its last answer"));
    organism.stop(Duration::from_secs(2)).await;
}

#[tokio::test]
async fn the_log_is_closed_behind_those_who_read_it_and_is_one_file() {
    let folder = house();
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &say("hello"), None).await.unwrap();
    outcome(&organism, &receipt).await;
    let front = organism.handle().clone();
    let mut slow = RecordFollower::follow_after(&front, Position(0), None);
    let reading = async {
        let mut tail = front.tail();
        while tail.changed().await.is_ok() {}
        // The pump has ended. A reader that is not done yet reads as if much was left.
        for _ in 0..300 {
            let reader = front.reader().clone();
            tokio::task::spawn_blocking(move || reader.read_after(Position(0), 100)).await.unwrap().unwrap();
        }
        let mut seen = Vec::new();
        while let Some(records) = slow.next().await.unwrap() {
            seen.extend(records);
        }
        seen
    };
    let (_, seen) = tokio::join!(organism.stop(Duration::from_secs(2)), reading);
    assert!(seen.last().unwrap().body.contains("<shutdown"), "to the last record: {seen:?}");
    assert!(!folder.path().join("hello.db-wal").exists());
}

#[tokio::test]
async fn a_stopped_organism_answers_no_more_requests() {
    let folder = house();
    let organism = start(folder.path()).await;
    let front = organism.handle().clone();
    organism.stop(Duration::from_secs(2)).await;
    let thread = systole_core::types::ids::ThreadId::parse("sess-0123456789ab").unwrap();
    assert!(front.cancel_thread(systole_core::types::ids::Name::new_operator(), thread).await.is_none());
    assert!(
        RecordFollower::follow_after(&front, front.began(), None).next().await.unwrap().is_some(),
        "the log is still read"
    );
}
