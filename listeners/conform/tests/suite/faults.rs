//! Each planted fault is found by the check of its name, and by no other: of those that find the other faults of its carrier,
//! and with `SYSTOLE_CASES` of all.

use serde_json::json;

use crate::{describe_listener, find_worker, judge_listener, list_failures, list_ids};

const OVER_STDIN: [&str; 16] = [
    "frame.split",
    "frame.length",
    "frame.newline",
    "frame.flush",
    "frame.tail",
    "text.escape",
    "text.unicode",
    "text.prefix",
    "text.cdata",
    "reply.delivery",
    "reply.one",
    "reply.throw",
    "turn.restart",
    "while.interleaved",
    "future.document",
    "key.twice",
];
const OVER_NATS: [&str; 8] = [
    "nats.pull",
    "nats.renew",
    "nats.until-receipt",
    "nats.resend",
    "nats.ack",
    "nats.large",
    "nats.term",
    "nats.lookup",
];

fn expect_each_found(faults: &[&str], arguments: &[&str]) {
    let judges_all = std::env::var_os("SYSTOLE_CASES").is_some();
    let only: Vec<&str> = faults.iter().filter(|_| !judges_all).flat_map(|id| ["--only", id]).collect();
    for fault in faults {
        let run = ["python3", &find_worker("faulty.py"), "--fault", fault];
        let listener = describe_listener(&run, json!({}));
        let judged = judge_listener(&listener, &[arguments, &only].concat());
        assert_eq!(list_failures(&judged, &listener, arguments, &[fault]), [*fault]);
    }
}

#[test]
fn g7_each_planted_fault_over_stdin_fails_exactly_its_check() {
    expect_each_found(&OVER_STDIN, &[]);
}

#[test]
fn g7_each_planted_fault_over_nats_fails_exactly_its_check() {
    expect_each_found(&OVER_NATS, &["--nats"]);
}

#[test]
fn g7_a_pull_that_ended_soon_is_not_taken_for_the_next_one() {
    let run = ["python3", &find_worker("faulty.py"), "--fault", "nats.again"];
    let judged = judge_listener(
        &describe_listener(&run, json!({"in_flight": 1})),
        &["--nats", "--only", "nats.again"],
    );
    assert_eq!(list_ids(&judged, "failed"), ["nats.again"]);
}
