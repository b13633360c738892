//! Restart after a clean stop: if the last record says that nothing was out, nothing counts as lost. That record
//! is valid only until something may go out again.

use systole_core::pump::event::PauseOrder;
use systole_core::types::codes::Code;

use super::*;
use crate::decide_stage::final_;

impl Rig {
    /// Pauses everything, or resumes it.
    fn halts(&mut self, halts: bool) {
        let (ticket, by) = (Ticket(90), Name::new_operator());
        self.input(PumpInput::Ordered(ClientOrder::Pause(PauseOrder {
            ticket,
            by,
            thread: None,
            halts,
            note: None,
        })));
        self.settle();
    }

    /// Stops cleanly. Returns the body of the last record.
    fn stops(&mut self) -> String {
        self.input(PumpInput::Stop);
        self.input(PumpInput::Farewell);
        self.settle();
        String::from_utf8(self.records().pop().unwrap().body.to_vec()).unwrap()
    }

    /// The recorded attempts.
    fn attempts(&self) -> usize {
        use systole_core::types::record::RecordKind;
        self.records().iter().filter(|record| record.header.kind == RecordKind::Attempt).count()
    }
}

/// One request that was not handed out, and a run that ended cleanly.
fn unsent() -> Rig {
    let mut rig = Rig::new();
    rig.halts(true);
    rig.asks(1, "k", "tool", None);
    rig.settle();
    assert!(rig.stops().contains("mode=\"drained\""));
    rig
}

fn is_out(rig: &Rig, delivery: &str) -> bool {
    rig.seen().iter().any(|line| line == delivery)
}

#[test]
fn an_unsent_delivery_is_a_first_attempt_at_the_next_start() {
    let mut rig = unsent().killed();
    rig.halts(false);
    assert!(is_out(&rig, "tool 1 t1 a1"));
    assert_eq!(rig.attempts(), 0);
    // From here on it is out.
    let rig = rig.killed();
    assert!(is_out(&rig, "tool 1 t1 a2"));
    assert_eq!(rig.attempts(), 1);
}

/// Otherwise the log would still say that nothing is out.
#[test]
fn nothing_goes_out_before_the_start_is_on_disk() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.asks(2, "b", "tool", None);
    rig.settle();
    rig.input(PumpInput::Stop);
    rig.replies("1 t1 a1", vec![final_()]);
    rig.settle();
    assert!(rig.stops().contains("mode=\"drained\""), "the other had no slot yet");
    rig.seen();
    let mut rig = rig.killed_unread();
    rig.read();
    assert_eq!(rig.seen(), [""; 0], "it could not be known of");
    let mut rig = rig.killed_unread();
    rig.settle();
    assert!(is_out(&rig, "tool 1 t1 a1"), "two unrecorded starts changed nothing");
    assert_eq!(rig.attempts(), 0);
}

#[test]
fn a_run_with_something_out_does_not_say_that_nothing_was() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.settle();
    assert!(rig.stops().contains("mode=\"drain\""));
    let rig = rig.killed();
    assert!(is_out(&rig, "tool 1 t1 a2"));
}

/// A run in between that could record nothing does not make an earlier delivery unsent.
#[test]
fn what_an_earlier_run_lost_stays_to_be_told() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.settle();
    rig.halts(true);
    let mut rig = rig.killed();
    assert!(rig.seen().is_empty(), "everything is halted");
    assert!(rig.stops().contains("mode=\"drain\""), "it sent nothing, and who came before it did");
    let mut rig = rig.killed();
    rig.halts(false);
    assert!(is_out(&rig, "tool 1 t1 a2"));
    assert_eq!(rig.attempts(), 1);
}

/// An attempt that is due but held back wakes nothing: otherwise the loop would spin for as long as the disk
/// takes.
#[test]
fn what_may_not_go_out_yet_does_not_keep_the_loop_turning() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.settle();
    let token = rig.leases.find_lease(&format!("{} 1 t1 a1", root())).unwrap().token.clone();
    rig.input(PumpInput::Gone { token, code: Code::ListenerFailed, words: "exited 1".into() });
    assert!(rig.stops().contains("mode=\"drained\""));
    let mut rig = rig.killed_unread();
    rig.passes(60_000);
    assert_eq!(rig.engine.next_moment(), None, "its pause is over, and it waits for the word of the start");
    rig.settle();
    assert!(is_out(&rig, "tool 1 t1 a2"));
    let Rig { engine, .. } = rig;
    assert!(engine.next_moment().is_some(), "the deadline of what is out");
}
