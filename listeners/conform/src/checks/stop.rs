//! Checks of how a worker ends.

use std::time::Duration;

use crate::documents::Task;
use crate::limits;
use crate::stage::Bench;
use crate::verdict::{CheckVerdict, RunningCheck};

pub(super) fn find_check<'b>(bench: &'b Bench, name: &str) -> Option<RunningCheck<'b>> {
    Some(match name {
        "term" => Box::pin(check_term(bench)),
        "new" => Box::pin(check_new(bench)),
        "twice" => Box::pin(check_twice(bench)),
        "killed" => Box::pin(check_killed(bench)),
        "orphan" => Box::pin(check_orphan(bench)),
        _ => return None,
    })
}

async fn check_term(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("sleep", "slept").number(limits::SOME_MS));
    stage.send(&delivery).await?;
    stage.wait(limits::BEGUN).await;
    stage.program()?.send_term();
    stage.sent = format!("{}, and TERM", stage.sent);
    stage.expect_text(&delivery, "slept").await?;
    stage.expect_good_end(limits::TERM_END).await
}

async fn check_new(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    stage.program()?.send_term();
    stage.sent = "TERM, and a delivery after it".to_owned();
    if stage.is_over_nats() {
        // A pull that is on its way may still be answered; then its delivery counts as taken before.
        stage.wait(Duration::from_secs(8)).await;
        let delivery = stage.make_plain();
        stage.send(&delivery).await?;
        stage.wait(limits::SILENCE).await;
        let queued = stage.broker()?.count_queued();
        stage.require(queued == 1, "no pull after TERM", || "it pulled the delivery".to_owned())?;
    } else {
        stage.wait(limits::MOMENT).await;
        let delivery = stage.make_plain();
        // It may have ended already.
        let _taken = stage.send(&delivery).await;
        stage.expect_silence(&delivery.token, limits::SILENCE).await?;
    }
    let ended = stage.wait_for_end(limits::TERM_END).await;
    stage.require(ended.is_some(), "its end within 20 s", || "it still runs".to_owned())
}

async fn check_twice(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("hang", "for ever").number(limits::LONG_MS));
    stage.send(&delivery).await?;
    stage.wait(limits::BEGUN).await;
    stage.program()?.send_term();
    stage.wait(Duration::from_secs(1)).await;
    stage.program()?.send_term();
    let ended = stage.wait_for_end(Duration::from_secs(3)).await;
    stage.require(ended.is_some(), "its end within 3 s of the second TERM", || "it still runs".to_owned())
}

async fn check_killed(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let task = bench.subject.takes_tasks();
    let first = if task {
        stage.make_task(Task::new("sleep", "slept").number(limits::SHORT_MS))
    } else {
        stage.make_plain()
    };
    stage.send(&first).await?;
    stage.wait(limits::LOOK).await;
    stage.program()?.send_kill();
    stage.wait_for_end(limits::EOF_END).await;
    let mut fresh = bench.open().await?;
    let second = first.again(fresh.choose_name(), None);
    fresh.send(&second).await?;
    fresh.expect_reply(&second).await.map(drop)
}

async fn check_orphan(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("hang", "for ever"));
    stage.send(&delivery).await?;
    stage.wait(limits::BEGUN).await;
    stage.pipe()?.close_input();
    stage.sent = format!("{}, and the end of stdin", stage.sent);
    let ended = stage.wait_for_end(limits::ORPHAN).await;
    stage.require(ended.is_some(), "its end within 15 s", || "it still runs".to_owned())
}
