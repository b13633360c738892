//! Refusals that were only counted: when and where their number is reported.

use systole_core::types::codes::Code;
use systole_core::types::flow::Refused;

use super::*;

impl Rig {
    /// The operator sends a refused message this many times into that thread.
    fn is_refused(&mut self, times: u64, thread: Option<&ThreadId>) {
        for ticket in 0..times {
            let payload = Err(Refused { refusal: Refusal::new(Code::Invalid, "wrong"), kept: None });
            let (client, key) = (Name::new_operator(), Key::parse("wrong").unwrap());
            let thread = thread.cloned().map_or(ThreadChoice::New, ThreadChoice::Known);
            self.input(PumpInput::Asked(DoorMessage {
                ticket: Ticket(ticket),
                client,
                key,
                thread,
                payload,
                claimed: None,
                subject: None,
            }));
        }
        self.settle();
    }

    fn counts(&self) -> Vec<String> {
        self.lines().into_iter().filter(|line| line.contains("ingress.throttled")).collect()
    }
}

#[test]
fn the_number_is_told_ten_seconds_after_the_first_and_nothing_before() {
    let mut rig = Rig::new();
    rig.is_refused(120, None);
    let one_by_one = rig.lines().iter().filter(|line| line.contains("payload.invalid")).count();
    assert_eq!((one_by_one, rig.counts()), (20, Vec::new()));
    let told = rig.seen();
    assert_eq!(told.iter().filter(|line| line.ends_with("refused ingress.throttled")).count(), 100);
    rig.passes(9_999);
    rig.settle();
    assert_eq!(rig.counts(), [""; 0]);
    rig.passes(1);
    rig.settle();
    assert_eq!(rig.counts().len(), 1);
    let body = String::from_utf8_lossy(&rig.records().last().unwrap().body).into_owned();
    assert!(body.contains("<throttled ") && body.contains("count=\"100\""), "{body}");
    rig.passes(60_000);
    rig.settle();
    assert_eq!(rig.counts().len(), 1, "once");
}

#[test]
fn a_thread_that_went_to_sleep_meanwhile_is_woken_for_it() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.settle();
    rig.replies("1 t1 a1", vec![crate::decide_stage::final_()]);
    rig.is_refused(30, Some(&root()));
    rig.idles();
    assert!(!rig.is_awake(&root()));
    rig.passes(10_000);
    rig.settle();
    let counts = rig.counts();
    assert!(counts.len() == 1 && counts[0].starts_with("root "), "{counts:?}");
}

#[test]
fn what_was_not_told_yet_is_told_at_the_end() {
    let mut rig = Rig::new();
    rig.is_refused(30, None);
    rig.input(PumpInput::Stop);
    rig.input(PumpInput::Farewell);
    rig.settle();
    let lines = rig.lines();
    let last: Vec<&str> = lines.iter().rev().take(2).map(String::as_str).collect();
    assert!(last[0].contains("message/told") && last[1].contains("ingress.throttled"), "{last:?}");
}

#[test]
fn refused_clients_do_not_delay_others() {
    let mut rig = Rig::new();
    rig.is_refused(10_000, None);
    rig.seen();
    rig.asks(1, "k", "tool", None);
    rig.settle();
    assert!(rig.seen()[0].starts_with("1: receipt #1"));
    assert!(rig.records().len() < 40, "ten thousand refusals are some twenty records");
}
