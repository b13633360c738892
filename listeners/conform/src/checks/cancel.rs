//! Checks of deliveries that are called back.

use crate::documents::Task;
use crate::limits;
use crate::stage::Bench;
use crate::verdict::{CheckVerdict, RunningCheck};

pub(super) fn find_check<'b>(bench: &'b Bench, name: &str) -> Option<RunningCheck<'b>> {
    Some(match name {
        "work" => Box::pin(check_work(bench)),
        "late" => Box::pin(check_late(bench)),
        "neighbour" => Box::pin(check_neighbour(bench)),
        "unknown" => Box::pin(check_unknown(bench)),
        "blocked" => Box::pin(check_blocked(bench)),
        _ => return None,
    })
}

async fn check_work(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("sleep", "called back").number(limits::LONG_MS));
    stage.send(&delivery).await?;
    stage.wait(limits::BEGUN).await;
    stage.cancel(&delivery.token).await?;
    if stage.is_over_nats() {
        stage.expect_silence(&delivery.token, limits::SILENCE).await?;
    } else {
        stage.expect_reply_within(&delivery, limits::CANCEL).await?;
    }
    stage.expect_next().await
}

async fn check_late(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_plain();
    stage.send(&delivery).await?;
    stage.expect_reply(&delivery).await?;
    stage.cancel(&delivery.token).await?;
    stage.expect_next().await?;
    stage.expect_silence(&delivery.token, limits::MOMENT).await
}

async fn check_neighbour(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    stage.require_in_flight(2)?;
    let gone = stage.make_task(Task::new("sleep", "called back").number(limits::LONG_MS));
    let kept = stage.make_task(Task::new("sleep", "kept").number(limits::SOME_MS));
    stage.send(&gone).await?;
    stage.send(&kept).await?;
    stage.wait(limits::BEGUN).await;
    stage.cancel(&gone.token).await?;
    stage.expect_text(&kept, "kept").await
}

async fn check_unknown(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let token = stage.choose_name();
    stage.cancel(&token).await?;
    stage.expect_next().await?;
    stage.expect_silence(&token, limits::MOMENT).await
}

async fn check_blocked(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    stage.require_in_flight(2)?;
    let hangs = stage.make_task(Task::new("hang", "for ever").number(limits::LONG_MS));
    stage.send(&hangs).await?;
    stage.wait(limits::MOMENT).await;
    stage.cancel(&hangs.token).await?;
    stage.expect_echo("beside it").await
}
