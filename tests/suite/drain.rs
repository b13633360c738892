//! The loop: it ends on request even if messages keep coming, and takes no more than it can store.

use std::time::Duration;

use systole_core::pump::event::PumpNotice;
use systole_log::alarms::LogAlarms;
use systole_log::writer::{BatchResult, WriterHandle};
use systole_organism::pump_loop::{BatchHandover, LoopChannels, LoopEnd, run_loop};
use systole_organism::tail::LogTail;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use crate::decide_stage::{asks as recalls, journals, started};
use crate::program::PATIENCE;
use crate::rig::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_talkative_listener_does_not_put_the_end_off() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "tool", None);
    rig.settle();
    let lease = rig.leases.find_lease(&format!("{} 1 t1 a1", root())).unwrap();
    let Rig { engine, outside, log, .. } = rig;

    let (pump, inputs) = mpsc::channel(8);
    let (settled, written) = mpsc::channel(2);
    let alarms = LogAlarms::of_name("the log", false);
    let writer = WriterHandle::start_thread(Box::new(log.clone()), alarms, move |outcome| {
        let BatchResult::Committed(position) = outcome else { panic!("{outcome:?}") };
        drop(settled.blocking_send(WriteReport::Committed(position)));
    });
    let writer = writer.unwrap();
    let (lookups, _asked) = std::sync::mpsc::sync_channel(8);
    let (_followed, tail) = LogTail::open_tail(Arc::new(MemoryLog::new()), Position(0));
    let (stop, stopped) = oneshot::channel();
    let batches = Box::new(move |batch, _| {
        writer.submit_batch(batch).map_or(BatchHandover::Gone, |()| BatchHandover::Over)
    });
    let lines = LoopChannels { inputs, written, batches, lookups, tail, stop: stopped, clock: outside };

    let talking = async move {
        let said = || JudgedContent::Progress { part: None, words: "still here".into() };
        while pump
            .send(PumpInput::Judged(JudgedDocument {
                lease: lease.clone(),
                said: said(),
                claimed: None,
                ticket: None,
            }))
            .await
            .is_ok()
        {}
    };
    stop.send(Duration::from_millis(100).into()).unwrap();
    let all = async { tokio::join!(run_loop(engine, lines, None), talking).0 };
    let ended = tokio::time::timeout(PATIENCE, all).await;
    assert_eq!(ended.expect("the end never came"), LoopEnd::Drained(1));
}

#[tokio::test]
async fn what_cannot_be_written_is_not_taken_in_without_end() {
    let rig = Rig::new();
    let Rig { engine, outside, .. } = rig;
    let (pump, inputs) = mpsc::channel(1);
    let (_settled, written) = mpsc::channel(2);
    let (lookups, _asked) = std::sync::mpsc::sync_channel(8);
    let (_followed, tail) = LogTail::open_tail(Arc::new(MemoryLog::new()), Position(0));
    let (_stop, stopped) = oneshot::channel();
    // A writer that takes a batch and never answers.
    let batches = Box::new(|_, _| BatchHandover::Over);
    let lines = LoopChannels { inputs, written, batches, lookups, tail, stop: stopped, clock: outside };
    let flood = async {
        let words = "x".repeat(1 << 20);
        for taken in 0..1_000 {
            let mut news =
                PumpInput::Noticed(PumpNotice::Left { listener: name("tool"), words: words.clone() });
            let mut turned_away = 0;
            while let Err(TrySendError::Full(back)) = pump.try_send(news) {
                news = back;
                turned_away += 1;
                if turned_away == 1_000 {
                    return taken;
                }
                tokio::task::yield_now().await;
            }
        }
        1_000
    };
    let taken = tokio::select! {
        taken = flood => taken,
        ended = run_loop(engine, lines, None) => panic!("{ended:?}"),
    };
    assert!((60..80).contains(&taken), "{taken}");
}

#[tokio::test]
async fn a_writer_that_is_gone_ends_the_loop() {
    let Rig { mut engine, outside, .. } = Rig::new();
    let joined = PumpNotice::Joined { listener: name("tool"), sandbox: None, files: Vec::new() };
    engine.take_input(PumpInput::Noticed(joined));
    let (_pump, inputs) = mpsc::channel(1);
    let (settled, written) = mpsc::channel(2);
    let (lookups, _asked) = std::sync::mpsc::sync_channel(8);
    let (_followed, tail) = LogTail::open_tail(Arc::new(MemoryLog::new()), Position(0));
    let (_stop, stopped) = oneshot::channel();
    drop(settled);
    let batches = Box::new(|_, _| BatchHandover::Over);
    let lines = LoopChannels { inputs, written, batches, lookups, tail, stop: stopped, clock: outside };
    assert_eq!(
        run_loop(engine, lines, None).await,
        LoopEnd::Broken("the writer of the log is gone".to_owned().into())
    );
}

/// No other input may come for a long time: an input that waits for the log must not wait for another
/// input.
#[tokio::test]
async fn what_is_routed_is_looked_up_though_nothing_else_comes() {
    let mut rig = Rig::new();
    rig.asks(1, "k", "agent", None);
    rig.settle();
    rig.says("1 t1 a1", journals(8, started()));
    rig.settle();
    // Its journal is no longer in memory, but in the log.
    let Rig { engine, outside, leases, log, reader, .. } = rig.killed();
    let (pump, inputs) = mpsc::channel(8);
    let (_settled, written) = mpsc::channel(2);
    let (lookups, asked) = std::sync::mpsc::sync_channel(8);
    let (_followed, tail) = LogTail::open_tail(Arc::new(MemoryLog::new()), Position(0));
    let (_stop, stopped) = oneshot::channel();
    // The pump writes each batch itself.
    let log = Mutex::new(log);
    let batches = Box::new(move |batch: LogBatch, _| match log.lock().unwrap().commit_batch(&batch) {
        Commit::Committed(position) => BatchHandover::Stored(position),
        other => panic!("{other:?}"),
    });
    let clock = outside.clone();
    let lines = LoopChannels { inputs, written, batches, lookups, tail, stop: stopped, clock };
    let answered = async {
        let mut has_asked = false;
        // This many reads take far less than the second after which the loop would look around by itself.
        for _ in 0..10_000 {
            if let Ok(lookup) = asked.try_recv() {
                pump.send(PumpInput::Found(answer_lookup(&*reader, &mut BegunViews::default(), lookup)))
                    .await
                    .unwrap();
            }
            let lease = leases.find_lease(&format!("{} 1 t1 a2", root()));
            if let Some(lease) = lease.filter(|_| !has_asked) {
                has_asked = true;
                let judged = JudgedDocument { lease, said: recalls(7, 0), claimed: None, ticket: None };
                pump.send(PumpInput::Judged(judged)).await.unwrap();
            }
            if outside.answers.lock().unwrap().iter().any(|answer| answer.id == 7) {
                return true;
            }
            tokio::task::yield_now().await;
        }
        false
    };
    let is_answered = tokio::select! {
        answered = answered => answered,
        ended = run_loop(engine, lines, None) => panic!("{ended:?}"),
    };
    assert!(is_answered, "the question waits for something else to come");
}
