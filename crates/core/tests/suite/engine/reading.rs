//! The reads from the log that prepare a turn, record by record: exactly what the turn shows, and nothing earlier. A
//! view reads only its own thread, once.

use systole_wire::ask::PumpQuestion;

use super::*;
use crate::decide_stage::{call, final_};

/// Turns of the agent.
const TURNS: u32 = 40;

/// An agent with enough turns, and another thread of the same length.
fn two_agents() -> Rig {
    let mut composition = composition();
    let agent = composition.listeners.get_mut("agent").unwrap();
    (agent.turns, agent.in_flight) = (1_000, 8);
    let mut rig = Rig::with(composition);
    rig.asks(1, "k", "agent", None);
    rig.asks(2, "other", "agent", None);
    rig.settle();
    rig
}

/// One turn of the agent with its answer. Returns the records that the next turn shows.
fn turn(rig: &mut Rig, thread: &ThreadId, number: u32, attempt: u32) -> Vec<u64> {
    rig.says_in(thread, &format!("1 t{number} a{attempt}"), JudgedContent::Items(vec![call("tool")]));
    rig.settle();
    rig.says_in(thread, &format!("1/{number}.0 t1 a1"), JudgedContent::Items(vec![final_()]));
    rig.settle();
    let of_thread = rig.records().into_iter().filter(|record| record.header.thread == *thread);
    vec![of_thread.last().unwrap().header.seq]
}

#[test]
fn b2_a_turn_that_is_handed_out_reads_nothing_of_the_log_that_is_at_hand() {
    let mut rig = two_agents();
    rig.was_read();
    for number in 1..=TURNS {
        turn(&mut rig, &root(), number, 1);
        assert_eq!(rig.was_read(), [], "turn {}", number + 1);
        let documents = rig.documents();
        assert!(documents.last().unwrap().contains("turn=\""), "{documents:?}");
    }
}

#[test]
fn b2_a_turn_after_a_restart_reads_the_records_that_it_shows_and_no_other() {
    let mut rig = two_agents();
    for number in 1..=TURNS {
        // The attempt that was lost with the pump was repeated.
        let shows = turn(&mut rig, &root(), number, if number == 1 { 1 } else { 2 });
        let mut composition = composition();
        let agent = composition.listeners.get_mut("agent").unwrap();
        (agent.turns, agent.in_flight) = (1_000, 8);
        rig.idles();
        rig = rig.killed_into(composition, vec![]);
        let own: Vec<u64> =
            rig.was_read().into_iter().filter(|(of, _)| *of == root()).map(|it| it.1).collect();
        // The last record of the row is read for its head.
        let (_, shown) = own.split_first().unwrap();
        assert_eq!(shown, shows, "turn {}", number + 1);
        let handed = rig.seen();
        assert!(handed.contains(&format!("agent 1 t{} a2", number + 1)), "{handed:?}");
    }
}

#[test]
fn b2_a_view_reads_the_records_of_its_thread_and_of_no_other() {
    let mut rig = two_agents();
    let other = rig.records().iter().map(|r| r.header.thread.clone()).rfind(|it| *it != root()).unwrap();
    for number in 1..=TURNS {
        turn(&mut rig, &root(), number, 1);
        turn(&mut rig, &other, number, 1);
    }
    let records = rig.records();
    let of = |thread: &ThreadId| records.iter().filter(|record| record.header.thread == *thread).count();
    rig.was_read();
    rig.says(
        &format!("1 t{} a1", TURNS + 1),
        JudgedContent::Ask {
            id: 1,
            question: Ok(PumpQuestion::View { from_seq: 0, words: true, items: true }),
        },
    );
    rig.settle();
    let read = rig.was_read();
    assert!(read.iter().all(|(thread, _)| *thread == root()), "{read:?}");
    // Each record once to fold it, and each shown record once more for its body.
    let shown = 1 + 2 * TURNS as usize;
    assert_eq!(read.len(), of(&root()) + shown);
}
