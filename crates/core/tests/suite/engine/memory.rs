//! Only active threads are in memory: a thread at rest leaves it, after any input that woke it.

use systole_core::types::limits;

use super::*;
use crate::decide_stage::final_;

#[test]
fn b17_threads_woken_only_to_repeat_a_receipt_leave_memory_again() {
    let mut rig = Rig::new();
    let many = u64::try_from(limits::CHECKPOINT_RECORDS).unwrap() + 100;
    let key = |n: u64| format!("k{n}");
    for n in 0..many {
        rig.asks(n, &key(n), "tool", None);
        rig.settle();
        let thread =
            ThreadId::new_root(&name("test"), &Name::new_operator(), &Key::parse(&key(n)).unwrap(), 12);
        rig.says_in(&thread, "1 t1 a1", JudgedContent::Items(vec![final_()]));
    }
    rig.idles();
    assert_eq!(rig.engine.state().threads.len(), 1, "only sys is left");
    for n in 0..many {
        rig.asks(n, &key(n), "tool", None);
        rig.settle();
    }
    assert!(rig.seen().iter().rev().take(100).all(|line| line.ends_with("again")));
    assert!(rig.engine.state().threads.len() <= 101);
}
