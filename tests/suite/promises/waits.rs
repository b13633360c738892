//! B5: waits for children. The boss sleeps until they are over, which costs it one turn and not one for
//! each look.

use rustix::process::Signal;

use super::cast::{BOSS, ECHO, HANG, House, code, judged, plain, say};
use super::threads::meeting;
use crate::program::{Events, Running, ask, run_file};

/// Three children that can only go on together; the boss is woken once, with all that they said.
const MEETING: &str =
    "[[spawn(say('meet', str(n)), f'kid{n}') for n in range(3)] + [wait('all')], everything]";

#[tokio::test]
async fn b5_a_boss_that_waits_for_all_is_woken_once_with_every_result_in_order_of_spawning() {
    let folder = meeting();
    std::fs::write(folder.path().join("gate"), "").unwrap();
    let house = House::in_folder(folder).await;
    let (receipt, told) = house.ask("k", "boss", MEETING).await;
    let places: Vec<usize> = (0..3).map(|n| told.find(&format!("met {n}")).expect("it is shown")).collect();
    assert!(places.is_sorted(), "{told}");
    assert!(told.contains("reason=\"done\" finished=\"3\" open=\"0\""), "{told}");
    let records = house.records();
    let turns = records.iter().filter(|r| r.header.thread == receipt.thread).filter_map(|r| r.header.turn);
    assert_eq!(turns.max(), Some(2), "it asked nobody whether they are there yet");
    house.close().await;
}

#[test]
fn b5_a_wait_is_over_once_although_the_organism_was_killed_meanwhile() {
    let folder = meeting();
    let organism = Running::organism(folder.path());
    let taken = ask(&run_file(folder.path()), "POST", "/v1/messages", &[], &say("boss", MEETING));
    let thread = taken.json["thread"].as_str().unwrap().to_owned();
    let mut events = Events::open(&run_file(folder.path()), &format!("?from=0&thread={thread}"), &[]);
    while events.next().expect("it runs").2["code"] != "await" {}
    organism.signal(Signal::KILL);
    organism.end();

    std::fs::write(folder.path().join("gate"), "").unwrap();
    let organism = Running::organism(folder.path());
    let mut events = Events::open(&run_file(folder.path()), &format!("?from=0&thread={thread}"), &[]);
    let mut over = 0;
    loop {
        let (_, _, record) = events.next().expect("it runs");
        let body = record["body"].as_str().unwrap();
        over += body.matches("<await-over").count() * usize::from(record["code"] == "answer");
        if record["code"] == "final" && record["thread"] == thread.as_str() {
            assert!((0..3).all(|n| body.contains(&format!("met {n}"))), "{body}");
            break;
        }
    }
    assert_eq!(over, 1);
    assert_eq!(organism.interrupt().code, Some(130));
    judged(folder.path());
}

#[tokio::test]
async fn b5_a_wait_for_any_is_over_with_the_first_and_a_strange_thread_is_refused() {
    let house = House::open(&[
        ("boss", "peers: [echo, hang], turns: 9, entry: true", BOSS),
        ("echo", "", ECHO),
        ("hang", "timeout: 1h", HANG),
    ])
    .await;
    let plan = "[[spawn(say('hang', ''), 'slow'), spawn(say('echo', 'x'), 'quick'), wait('any')], \
                lambda turn: [note('seen'), wait('all', turn.thread + '.slow', turn.thread + '.quick', 'sess-000000000000')], \
                lambda turn: [wait('0')], lambda turn: [note(turn.line)], everything, everything]";
    let (receipt, _) = house.ask("k", "boss", plan).await;
    let records = house.records();
    let own: Vec<_> = records.iter().filter(|r| r.header.thread == receipt.thread).collect();
    let over: Vec<String> = own
        .iter()
        .filter(|r| code(r) == "answer" && plain(r).contains("await-over"))
        .map(|r| plain(r))
        .collect();
    assert_eq!(over.len(), 1, "{over:?}");
    assert!(over[0].contains("reason=\"done\" finished=\"1\" open=\"1\""), "{over:?}");
    let refused: Vec<&str> =
        own.iter().filter(|r| r.header.kind.as_str() == "refusal").map(|r| code(r)).collect();
    assert_eq!(refused, ["thread.unknown", "payload.invalid", "children-open"]);
    let told = plain(own.iter().find(|r| code(r) == "payload.invalid").unwrap());
    assert!(told.contains("all, any, or a whole number from 1"), "{told}");
    house.close().await;
}
