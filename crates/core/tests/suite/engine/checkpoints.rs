//! Checkpoints of the fold: their rows, their order, and what opening folds after a kill in the middle of one.

use systole_core::pump::state::Thread;
use systole_core::pump::wake;
use systole_core::types::limits::CHECKPOINT_ROWS;
use systole_core::types::ports::{FoldRow, NoObserver};
use systole_log::memory::MemoryLog;

use super::*;

const MANY: usize = 2 * CHECKPOINT_ROWS + 40;

/// The engine with that many threads at work, none of which has a row.
fn start_many(count: usize) -> Rig {
    let mut rig = Rig::new();
    // The first checkpoint of a run is one commit.
    rig.idles();
    for n in 0..count {
        rig.asks(n as u64, &format!("k{n}"), "quiet", None);
    }
    rig.settle();
    rig.engine.checkpoint_soon();
    rig
}

/// What a start finds in a log: every thread at work.
fn recover_rows(log: &MemoryLog) -> Vec<FoldRow> {
    let threads = wake::recover_log(log, &NoObserver).unwrap().state.threads;
    let mut rows: Vec<FoldRow> =
        threads.values().filter(|thread| thread.is_at_work()).map(Thread::to_row).collect();
    rows.sort_by(|a, b| a.thread.cmp(&b.thread));
    rows
}

#[test]
fn rows_of_a_checkpoint_stand_in_order_of_their_threads() {
    let mut rig = start_many(40);
    rig.hand_over();
    let rows: Vec<ThreadId> = rig.writing[0].rows.iter().map(|row| row.thread.clone()).collect();
    assert_eq!(rows.len(), 40);
    assert!(rows.is_sorted(), "{rows:?}");
}

/// No one waits for more than a part of it. It counts when its last row is there, from where it began; a thread that
/// goes on meanwhile is found in its newest state, whether its row came before or after.
#[test]
fn a_checkpoint_of_many_threads_takes_several_commits_and_a_kill_between_them_loses_nothing() {
    for commits in 0..=4 {
        let mut rig = start_many(MANY);
        let before = rig.log.read_last().unwrap();
        for done in 0..commits {
            let key = Key::parse(&format!("k{done}")).unwrap();
            rig.cancels(7, &ThreadId::new_root(&name("test"), &Name::new_operator(), &key, 12));
            rig.hand_over();
            let batch = rig.writing.pop_front().unwrap();
            assert!(batch.rows.len() <= CHECKPOINT_ROWS, "{done}: {} rows", batch.rows.len());
            let ends = (done == 2).then(|| Position(before.0 + 1));
            assert_eq!(batch.checkpoint, ends, "{done}");
            let written = rig.commit(&batch);
            rig.input(PumpInput::Written(written));
        }
        let before = usize::try_from(before.0).unwrap();
        let at = if commits > 2 { before + 1 } else { before - MANY };
        assert_eq!(rig.log.read_opening().unwrap().records.len(), rig.records().len() - at);
        let mut unrowed = MemoryLog::new();
        let all =
            LogBatch { records: rig.records().into_iter().map(Arc::new).collect(), ..LogBatch::default() };
        assert!(matches!(unrowed.commit_batch(&all), Commit::Committed(_)));
        let found = recover_rows(&rig.log);
        assert_eq!(found.len(), MANY - commits);
        assert!(found == recover_rows(&unrowed), "{commits}");
        // It goes on from there, and the next checkpoint is whole.
        let mut rig = rig.killed();
        rig.idles();
        assert_eq!(rig.log.read_opening().unwrap().records.len(), 0);
    }
}
