//! Calls that wait for someone who is away: who waits, who is tried again and when, and what ends the wait.

use systole_core::types::budget::Budgets;
use systole_core::types::composition::{OnUnknown, Reach};
use systole_core::types::limits;

use super::*;
use crate::decide_stage::final_;

/// The same organism, in which calls wait. Its agent takes many calls at once.
fn patient() -> Rig {
    let mut composition = Composition { outage_ms: limits::OUTAGE_MS, ..composition() };
    composition.listeners.get_mut("agent").unwrap().in_flight = 10_000;
    Rig::with(composition)
}

/// The root that a key opens.
fn root_of(key: &str) -> ThreadId {
    ThreadId::new_root(&name("test"), &Name::new_operator(), &Key::parse(key).unwrap(), 12)
}

pub(super) fn asks(rig: &mut Rig, key: &str) {
    rig.asks(1, key, "agent", None);
    rig.settle();
}

/// Whether a call has been handed over in that attempt, and is not over.
pub(super) fn is_out(rig: &Rig, key: &str, attempt: u32) -> bool {
    rig.leases.find_lease(&format!("{} 1 t1 a{attempt}", root_of(key))).is_some()
}

pub(super) fn finds_away(rig: &mut Rig, key: &str, attempt: u32) {
    finds(rig, key, attempt, "index");
}

fn finds(rig: &mut Rig, key: &str, attempt: u32, outage: &str) {
    let (outage, code) = (outage.to_owned(), "busy".to_owned());
    let said = JudgedContent::Away { outage, code, retry: false, words: "later".to_owned() };
    rig.says_in(&root_of(key), &format!("1 t1 a{attempt}"), said);
    rig.settle();
}

pub(super) fn answers(rig: &mut Rig, key: &str, attempt: u32) {
    rig.says_in(&root_of(key), &format!("1 t1 a{attempt}"), JudgedContent::Items(vec![final_()]));
    rig.settle();
}

pub(super) fn passes(rig: &mut Rig, ms: u64) {
    rig.passes(ms);
    rig.settle();
}

/// The time until the engine wants to be called.
pub(super) fn quiet_ms(rig: &Rig) -> u64 {
    rig.engine.next_moment().map_or(u64::MAX, |moment| moment.count_since(rig.outside.ticks()))
}

#[test]
fn b21_a_request_that_is_refused_delays_no_other() {
    let mut rig = patient();
    asks(&mut rig, "large");
    finds_away(&mut rig, "large", 1);
    let mut attempt = 1;
    for number in 0..50 {
        let key = format!("k{number}");
        asks(&mut rig, &key);
        assert!(is_out(&rig, &key, 1), "{key} goes out at once");
        answers(&mut rig, &key, 1);
        // Answers to others change nothing for the one that is tried again.
        if is_out(&rig, "large", attempt + 1) {
            attempt += 1;
            finds_away(&mut rig, "large", attempt);
        }
        passes(&mut rig, 4_000);
    }
    // 200 s: after about 5, 15, 35, 75 and 155.
    assert!((5..=7).contains(&attempt), "{attempt}");
    assert_eq!(rig.lines().iter().filter(|line| line.contains("dead-letter")).count(), 0);
}

#[test]
fn b21_one_call_is_tried_and_after_three_failures_another_and_one_answer_is_enough_for_all() {
    let mut rig = patient();
    for key in ["a", "b"] {
        asks(&mut rig, key);
    }
    finds_away(&mut rig, "a", 1);
    finds_away(&mut rig, "b", 1);
    asks(&mut rig, "c");
    assert!(!is_out(&rig, "c", 1), "no one asks while it is away for all");
    let mut tried = Vec::new();
    let mut attempts = BTreeMap::from([("a", 1), ("b", 1), ("c", 0)]);
    for trial in 0..7 {
        let quiet = quiet_ms(&rig);
        let whole = (5_000 << trial).min(300_000);
        assert!((whole / 4 * 3..=whole / 4 * 5).contains(&quiet), "trial {trial}: {quiet} ms");
        passes(&mut rig, quiet);
        let out: Vec<&str> = attempts
            .iter()
            .filter(|(key, last)| is_out(&rig, key, **last + 1))
            .map(|(key, _)| *key)
            .collect();
        assert_eq!(out.len(), 1, "{out:?}");
        *attempts.get_mut(out[0]).unwrap() += 1;
        tried.push(out[0]);
        if trial < 6 {
            finds_away(&mut rig, out[0], attempts[out[0]]);
        }
    }
    assert_eq!(tried, ["a", "a", "a", "b", "b", "b", "c"]);
    answers(&mut rig, "c", 1);
    assert!(is_out(&rig, "a", 5) && is_out(&rig, "b", 5), "all go on");
    assert_eq!(rig.engine.out_count(), 2);
}

#[test]
fn b21_five_thousand_waiting_calls_need_no_work() {
    let mut rig = patient();
    for key in ["a", "b"] {
        asks(&mut rig, key);
    }
    finds_away(&mut rig, "a", 1);
    finds_away(&mut rig, "b", 1);
    for number in 0..5_000 {
        rig.asks(1, &format!("k{number}"), "agent", None);
    }
    rig.settle();
    assert_eq!(rig.engine.out_count(), 0);
    let waits = rig.lines().iter().filter(|line| line.contains("waits")).count();
    assert_eq!(waits, 5_002, "each is on record");
    let first = ["a", "b"].map(|key| (key.to_owned(), 1));
    let mut tried: BTreeMap<String, u32> =
        first.into_iter().chain((0..5_000).map(|number| (format!("k{number}"), 0))).collect();
    let mut called = 0;
    let mut passed = 0;
    while passed < 3_600_000 {
        let quiet = quiet_ms(&rig);
        (passed, called) = (passed + quiet, called + 1);
        passes(&mut rig, quiet);
        if rig.engine.out_count() == 0 {
            continue;
        }
        let (key, last) = tried.iter_mut().find(|(key, last)| is_out(&rig, key, **last + 1)).unwrap();
        *last += 1;
        finds_away(&mut rig, key, *last);
        assert_eq!(rig.engine.out_count(), 0);
    }
    assert!(called < 40, "{called} calls of the pump in an hour");
}

#[test]
fn b21_a_call_fails_when_it_has_waited_for_as_long_as_it_may() {
    let mut rig = patient();
    asks(&mut rig, "k");
    finds_away(&mut rig, "k", 1);
    let mut attempt = 1;
    for _ in 0..2_000 {
        let quiet = quiet_ms(&rig).min(limits::OUTAGE_MS);
        passes(&mut rig, quiet);
        if is_out(&rig, "k", attempt + 1) {
            attempt += 1;
            finds_away(&mut rig, "k", attempt);
        }
    }
    let last = rig.records().pop().unwrap();
    let words = "agent: index is away for 3 d, as long as `limits.outage` allows";
    assert!(String::from_utf8_lossy(&last.body).contains(words), "{}", String::from_utf8_lossy(&last.body));
    assert!(rig.engine.next_moment().is_none(), "nothing waits any more");
}

#[test]
fn b21_no_listener_uses_the_words_of_the_pump() {
    let mut rig = patient();
    asks(&mut rig, "k");
    let (outage, code) = ("worker".to_owned(), "busy".to_owned());
    let said = JudgedContent::Away { outage, code, retry: false, words: "later".to_owned() };
    rig.says("1 t1 a1", said);
    rig.settle();
    let lines = rig.lines();
    assert!(lines.iter().all(|line| !line.contains("waits")), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("listener.failed")), "{lines:?}");
}

/// A call that may go on and has no slot yet was not sent, so a death of the pump changes nothing for it.
#[test]
fn b21_what_may_go_on_and_has_no_slot_is_not_lost_with_the_pump() {
    let page = || {
        let mut page = Composition { outage_ms: limits::OUTAGE_MS, ..composition() };
        page.listeners.get_mut("agent").unwrap().on_unknown = OnUnknown::Fail;
        page
    };
    let mut wide = Composition { hash: Digest([9; 32]), ..page() };
    wide.listeners.get_mut("agent").unwrap().in_flight = 9;
    let mut rig = Rig::with(wide.clone());
    let keys = ["a", "b", "c", "d"];
    keys.iter().for_each(|key| asks(&mut rig, key));
    keys.iter().for_each(|key| finds_away(&mut rig, key, 1));
    // From here on one call at a time goes out.
    let mut rig = rig.killed_into(page(), vec![wide.clone()]);
    let quiet = quiet_ms(&rig);
    passes(&mut rig, quiet);
    answers(&mut rig, "a", 2);
    assert_eq!(rig.engine.out_count(), 1, "{:?}", rig.seen());
    let rig = rig.killed_into(page(), vec![wide]);
    let lost: Vec<String> =
        rig.records().iter().map(record_line).filter(|line| line.contains("dead-letter")).collect();
    assert_eq!(lost.len(), 1, "only the one that was out: {lost:?}");
}

/// A call that may have been out when the pump died gets its new number, and is not taken back into a wait.
#[test]
fn b21_what_may_be_out_is_not_taken_back_into_a_wait() {
    let mut rig = patient();
    for key in ["a", "b", "c", "d"] {
        asks(&mut rig, key);
    }
    // From here on one call at a time goes out.
    let page = Composition { outage_ms: limits::OUTAGE_MS, ..composition() };
    let mut rig = rig.killed_into(page, vec![]);
    let mut keys = vec!["a", "b", "c", "d"];
    // Each goes out before it is on disk that the one before waits; so the last is the first that meets the outage.
    for _ in 0..3 {
        let place = keys.iter().position(|key| is_out(&rig, key, 2)).expect("one is out");
        finds_away(&mut rig, keys.remove(place), 2);
    }
    assert!(is_out(&rig, keys[0], 2), "under its new number: {:?}", rig.seen());
}

/// A listener needs two who are away at the same time.
#[test]
fn b21_a_call_that_is_tried_for_one_outage_is_not_kept_by_another() {
    let mut rig = patient();
    for key in ["a", "b", "c", "d", "e"] {
        asks(&mut rig, key);
    }
    for (key, outage) in [("a", "index"), ("b", "index"), ("c", "mail"), ("d", "mail")] {
        finds(&mut rig, key, 1, outage);
    }
    passes(&mut rig, 7_000);
    assert!(is_out(&rig, "a", 2) && is_out(&rig, "c", 2));
    answers(&mut rig, "a", 2);
    answers(&mut rig, "c", 2);
    assert!(is_out(&rig, "b", 2) && is_out(&rig, "d", 2));
}

/// The clock of the machine is set back by a month. The wait lasts as long as it may, and no longer.
#[test]
fn b21_a_wait_ends_although_the_clock_is_set_back() {
    let page = || Composition { outage_ms: 10_000, ..composition() };
    let mut rig = Rig::with(page());
    asks(&mut rig, "k");
    let mut without = Composition { hash: Digest([9; 32]), ..page() };
    without.listeners.remove(&name("agent"));
    let mut rig = rig.killed_into(without, vec![page()]);
    let failed = |rig: &Rig| rig.lines().iter().any(|line| line.contains("dead-letter"));
    rig.outside.wall.fetch_sub(30 * 86_400_000, Ordering::Relaxed);
    passes(&mut rig, 9_999);
    assert!(!failed(&rig));
    passes(&mut rig, 1);
    assert!(failed(&rig), "{:?}", rig.lines());
    assert!(rig.engine.next_moment().is_none(), "nothing waits any more");
}

/// A reply of an attempt that only a wait has numbered comes again after a restart, because its receipt was lost.
#[test]
fn b21_a_reply_after_a_wait_gets_its_receipt_again_over_a_restart() {
    let mut rig = patient();
    asks(&mut rig, "k");
    finds_away(&mut rig, "k", 1);
    let quiet = quiet_ms(&rig);
    passes(&mut rig, quiet);
    rig.says_for(7, "1 t1 a2", JudgedContent::Items(vec![final_()]));
    rig.settle();
    let mut rig = rig.killed();
    rig.receipts();
    let reply = |attempt: u32| {
        format!("<reply xmlns=\"urn:systole:listener:v1\" delivery=\"{} 1 t1 a{attempt}\"/>", root())
    };
    rig.sends(9, "agent", &reply(2));
    rig.sends(10, "agent", &reply(1));
    rig.settle();
    assert_eq!(rig.receipts(), ["9: done", "10: done"], "both were taken before");
}

#[test]
fn b21_calls_of_a_paused_thread_are_not_tried_and_keep_their_wait() {
    let mut rig = patient();
    for key in ["a", "b"] {
        asks(&mut rig, key);
        finds_away(&mut rig, key, 1);
    }
    rig.pauses(2, Some(&root_of("a")), true);
    rig.settle();
    let quiet = quiet_ms(&rig);
    passes(&mut rig, quiet);
    assert!(!is_out(&rig, "a", 2) && is_out(&rig, "b", 2), "{:?}", rig.seen());
    rig.pauses(3, Some(&root_of("a")), false);
    rig.settle();
    assert!(!is_out(&rig, "a", 2), "it still waits");
    answers(&mut rig, "b", 2);
    assert!(is_out(&rig, "a", 2));
}

#[test]
fn b21_a_listener_that_is_gone_does_not_hold_up_its_call_for_ever() {
    let page = || Composition { outage_ms: limits::OUTAGE_MS, ..composition() };
    let mut rig = Rig::with(page());
    asks(&mut rig, "k");
    finds_away(&mut rig, "k", 1);
    let mut without = Composition { hash: Digest([9; 32]), ..page() };
    without.listeners.remove(&name("agent"));
    let mut rig = rig.killed_into(without.clone(), vec![page()]);
    let waits: Vec<String> = rig.lines().into_iter().filter(|line| line.contains("waits")).collect();
    assert_eq!(waits.len(), 1, "for its listener: {waits:?}");
    passes(&mut rig, 60_000);
    let rig = rig.killed_into(page(), vec![without]);
    assert!(is_out(&rig, "k", 2), "{:?}", rig.seen());
}

/// No worker takes the delivery. How long it lies there depends on the file.
#[test]
fn b21_a_delivery_that_no_worker_takes_fails_at_its_limit() {
    for (outage_ms, words) in [
        (0, "no worker takes work for agent for 1 m, as long as its timeout allows"),
        (600_000, "no worker takes work for agent for 10 m, as long as `limits.outage` allows"),
    ] {
        let mut page = Composition { outage_ms, ..composition() };
        let agent = page.listeners.get_mut("agent").unwrap();
        (agent.reach, agent.timeout_ms) = (Reach::Nats, 60_000);
        let mut rig = Rig::with(page);
        asks(&mut rig, "k");
        rig.input(PumpInput::Untaken { token: LeaseToken(format!("{} 1 t1 a1", root()).into()) });
        rig.settle();
        let quiet = quiet_ms(&rig);
        passes(&mut rig, quiet - 1);
        let failed = |rig: &Rig| rig.lines().iter().any(|line| line.contains("dead-letter"));
        assert!(!failed(&rig));
        passes(&mut rig, 1);
        let last = String::from_utf8_lossy(&rig.records().pop().unwrap().body).into_owned();
        assert!(failed(&rig) && last.contains(words), "{last}");
        assert!(rig.seen().iter().any(|line| line.starts_with("call back")), "its delivery is taken back");
    }
}

/// No worker comes for longer than a message may take. The calls that queue behind those it would take wait too.
#[test]
fn b21_calls_that_queue_behind_an_absent_worker_use_no_time_also_over_a_restart() {
    let page = || {
        let mut page = Composition { outage_ms: limits::OUTAGE_MS, ..composition() };
        page.budgets = Some(Budgets { wall_ms: Some(100_000), ..Budgets::default() });
        let agent = page.listeners.get_mut("agent").unwrap();
        (agent.reach, agent.in_flight) = (Reach::Nats, 2);
        page
    };
    let token = |key: &str| LeaseToken(format!("{} 1 t1 a1", root_of(key)).into());
    let waits = |rig: &Rig| rig.lines().iter().filter(|line| line.contains("attempt/waits")).count();
    let mut rig = Rig::with(page());
    for key in ["a", "b", "c"] {
        asks(&mut rig, key);
    }
    rig.input(PumpInput::Untaken { token: token("a") });
    rig.settle();
    assert_eq!(waits(&rig), 1, "another worker may be at work: {:?}", rig.lines());
    rig.input(PumpInput::Untaken { token: token("b") });
    rig.settle();
    asks(&mut rig, "d");
    assert_eq!(waits(&rig), 4, "{:?}", rig.lines());
    passes(&mut rig, 600_000);
    let mut rig = rig.killed_into(page(), vec![]);
    let found = vec![token("a"), token("b")];
    rig.input(PumpInput::Adopted { listener: name("agent"), found, lost: None });
    rig.settle();
    passes(&mut rig, 600_000);
    for (key, goes_on) in [("a", None), ("b", Some("c")), ("c", Some("d")), ("d", None)] {
        let now = rig.outside.now();
        rig.input(PumpInput::Taken { token: token(key), age_ms: 1, now, has_waited: false });
        answers(&mut rig, key, 1);
        assert!(goes_on.is_none_or(|next| is_out(&rig, next, 1)), "{:?}", rig.lines());
    }
    let all: Vec<String> = rig.records().iter().map(record_line).collect();
    let count = |what: &str| all.iter().filter(|line| line.contains(what)).count();
    let said = ["message/final", "attempt/waits", "attempt/goes-on", "attempt/taken", "budget", "outcome/"];
    assert_eq!(said.map(count), [4, 4, 2, 2, 0, 0], "{all:#?}");
}

/// The organism starts with a file whose listener takes another element.
#[test]
fn b21_an_element_that_a_listener_no_longer_takes_is_waited_for_until_a_file_has_it() {
    let page = |hash: u8, takes: bool| {
        let outage_ms = limits::OUTAGE_MS;
        let mut page = Composition { outage_ms, hash: Digest([hash; 32]), ..composition() };
        let agent = page.listeners.get_mut("agent").unwrap();
        if !takes {
            agent.accepts.clear();
        }
        page
    };
    let mut rig = Rig::with(page(1, true));
    asks(&mut rig, "k");
    answers(&mut rig, "k", 1);
    asks(&mut rig, "open");
    assert!(is_out(&rig, "open", 1));
    let mut rig = rig.killed_into(page(2, false), vec![page(1, true)]);
    passes(&mut rig, 3_600_000);
    assert!(!is_out(&rig, "open", 2));
    assert_eq!(rig.lines().iter().filter(|line| line.contains("attempt/")).count(), 2, "{:?}", rig.lines());
    let body = String::from_utf8_lossy(&rig.records().pop().unwrap().body).into_owned();
    assert!(body.contains("agent does not take &lt;agent&gt;"), "{body}");
    // Also while it is paused, and over a start with the same file.
    rig.pauses(2, Some(&root_of("open")), true);
    rig.settle();
    let mut rig = rig.killed_into(page(2, false), vec![page(1, true)]);
    rig.pauses(3, Some(&root_of("open")), false);
    rig.settle();
    assert!(!is_out(&rig, "open", 2));
    let mut rig = rig.killed_into(page(1, true), vec![page(2, false)]);
    assert!(is_out(&rig, "open", 2), "{:?}", rig.lines());
    answers(&mut rig, "open", 2);
    assert!(rig.lines().iter().any(|line| line.contains("message/final")), "{:?}", rig.lines());
}

/// Work that was cancelled may be answered by the listener that was asked to end it.
#[test]
fn b21_an_answer_to_cancelled_work_shows_nothing() {
    let mut rig = patient();
    for key in ["a", "b", "old"] {
        asks(&mut rig, key);
    }
    finds_away(&mut rig, "a", 1);
    finds_away(&mut rig, "b", 1);
    rig.cancels(2, &root_of("old"));
    rig.settle();
    answers(&mut rig, "old", 1);
    assert!(!is_out(&rig, "a", 2) && !is_out(&rig, "b", 2), "{:?}", rig.seen());
}

/// Two calls waited alone, because a call succeeded between. A start forgets that it did, and must not hold up others.
#[test]
fn b21_failures_from_before_a_start_hold_up_no_one() {
    let page = || {
        let mut page = Composition { outage_ms: limits::OUTAGE_MS, ..composition() };
        page.listeners.get_mut("agent").unwrap().in_flight = 10;
        page
    };
    let mut rig = Rig::with(page());
    for (key, between) in [("a", "one"), ("b", "two")] {
        asks(&mut rig, key);
        finds_away(&mut rig, key, 1);
        asks(&mut rig, between);
        answers(&mut rig, between, 1);
    }
    let mut rig = rig.killed_into(page(), vec![]);
    asks(&mut rig, "c");
    assert!(is_out(&rig, "c", 1), "{:?}", rig.seen());
}

/// An organism whose agent is over NATS, with so many slots, in which calls wait for ten minutes.
fn over_nats(slots: usize) -> Composition {
    let mut page = Composition { outage_ms: 600_000, ..composition() };
    let agent = page.listeners.get_mut("agent").unwrap();
    (agent.reach, agent.in_flight, agent.timeout_ms) = (Reach::Nats, slots, 3_600_000);
    page
}

pub(super) fn untaken(rig: &mut Rig, key: &str, attempt: u32) {
    let token = LeaseToken(format!("{} 1 t1 a{attempt}", root_of(key)).into());
    rig.input(PumpInput::Untaken { token });
    rig.settle();
}

pub(super) fn taken(rig: &mut Rig, key: &str) {
    let (token, now) = (LeaseToken(format!("{} 1 t1 a1", root_of(key)).into()), rig.outside.now());
    rig.input(PumpInput::Taken { token, age_ms: 1, now, has_waited: false });
    rig.settle();
}

/// The worker is back and busy for longer than calls may wait for someone who is away.
#[test]
fn b21_a_call_that_queues_behind_a_busy_worker_does_not_fail_with_the_outage_before() {
    let mut rig = Rig::with(over_nats(1));
    asks(&mut rig, "a");
    asks(&mut rig, "b");
    untaken(&mut rig, "a", 1);
    passes(&mut rig, 60_000);
    taken(&mut rig, "a");
    passes(&mut rig, 1_800_000);
    assert!(!rig.lines().iter().any(|line| line.contains("dead-letter")), "{:?}", rig.lines());
    assert!(quiet_ms(&rig) > 1_000, "nothing spins");
    answers(&mut rig, "a", 1);
    assert!(is_out(&rig, "b", 1));
    // If the worker leaves again, the limit counts from then on.
    asks(&mut rig, "c");
    untaken(&mut rig, "b", 1);
    passes(&mut rig, 599_000);
    assert!(!rig.lines().iter().any(|line| line.contains("dead-letter")), "{:?}", rig.lines());
    passes(&mut rig, 2_000);
    assert_eq!(rig.lines().iter().filter(|line| line.contains("dead-letter")).count(), 2, "b and c");
}

/// A call goes on after another wait in the very step in which the slot before it becomes free.
#[test]
fn b21_a_call_that_gets_its_slot_waits_for_no_queue() {
    let mut rig = Rig::with(over_nats(1));
    asks(&mut rig, "a");
    asks(&mut rig, "b");
    finds_away(&mut rig, "a", 1);
    finds_away(&mut rig, "b", 1);
    let quiet = quiet_ms(&rig);
    passes(&mut rig, quiet);
    let tried = if is_out(&rig, "a", 2) { "a" } else { "b" };
    let other = if tried == "a" { "b" } else { "a" };
    untaken(&mut rig, tried, 2);
    answers(&mut rig, tried, 2);
    assert!(is_out(&rig, other, 2), "{:?}", rig.lines());
    assert!(!rig.lines().iter().any(|line| line.contains("queue")), "{:?}", rig.lines());
    let state = rig.engine.state();
    let call = &state.find_thread(&root_of(other)).unwrap().calls[&CallPath::new_top(1)];
    assert_eq!(call.waits, None, "it is out");
}

/// A worker has the delivery while the pump starts with a file whose listener does not take its element.
#[test]
fn b21_what_a_worker_has_does_not_wait_for_its_element() {
    let unfit = || {
        let mut page = Composition { hash: Digest([9; 32]), ..over_nats(1) };
        page.listeners.get_mut("agent").unwrap().accepts.clear();
        page
    };
    for is_found in [true, false] {
        let mut rig = Rig::with(over_nats(1));
        asks(&mut rig, "k");
        let mut rig = rig.killed_into(unfit(), vec![over_nats(1)]);
        let token = LeaseToken(format!("{} 1 t1 a1", root()).into());
        let found = is_found.then_some(token).into_iter().collect();
        rig.input(PumpInput::Adopted { listener: name("agent"), found, lost: None });
        rig.settle();
        let lines = rig.lines();
        let attempts: Vec<&String> = lines.iter().filter(|line| line.contains("attempt/")).collect();
        assert_eq!(attempts.len(), if is_found { 0 } else { 2 }, "{attempts:?}");
        assert!(is_out(&rig, "k", 1) || !is_found);
        assert!(!is_out(&rig, "k", 2), "what is lost waits under its new number");
    }
}
