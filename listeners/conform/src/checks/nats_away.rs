//! Checks of a worker whose broker is away for a while, and of its end.

use std::time::Duration;

use tokio::time::Instant;

use crate::documents::{Delivery, Task};
use crate::limits;
use crate::nats::PullRule;
use crate::rules::hash_hex;
use crate::stage::{Bench, Stage};
use crate::verdict::{CheckFault, CheckVerdict, RunningCheck};

pub(super) fn find_check<'b>(bench: &'b Bench, name: &str) -> Option<RunningCheck<'b>> {
    Some(match name {
        "cut" => Box::pin(check_cut(bench)),
        "restart" => Box::pin(check_restart(bench)),
        "idle-restart" => Box::pin(check_idle_restart(bench)),
        "away" => Box::pin(check_away(bench)),
        "term" => Box::pin(check_term(bench)),
        "term-away" => Box::pin(check_term_away(bench)),
        _ => return None,
    })
}

async fn begin_work(stage: &mut Stage, long: u64) -> Result<Delivery, CheckFault> {
    let delivery = stage.make_task(Task::new("hang", "worked").number(long));
    stage.send(&delivery).await?;
    stage.wait(Duration::from_secs(1)).await;
    Ok(delivery)
}

/// Whether all replies to a delivery have the same bytes: the work was done once.
fn require_one_work(stage: &Stage, delivery: &Delivery) -> CheckVerdict {
    let replies = stage.heard.iter().filter(|heard| heard.reply_to(&delivery.token).is_some());
    let hashes: std::collections::BTreeSet<String> = replies.map(|heard| hash_hex(&heard.bytes)).collect();
    stage.require(hashes.len() == 1, "one reply", || format!("{} different ones", hashes.len()))
}

async fn check_cut(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = begin_work(&mut stage, limits::RENEWED_MS).await?;
    stage.broker()?.cut();
    let cut = Instant::now();
    stage.sent = format!("{}; its connection is cut", stage.sent);
    stage.expect_done_within(&delivery, limits::FLOOD).await?;
    let renewed = stage
        .broker()?
        .find_held(&delivery.token)
        .is_some_and(|held| held.renewals.iter().any(|at| *at > cut));
    stage.require(renewed, "a renewal over the new connection", || "none".to_owned())?;
    require_one_work(&stage, &delivery)?;
    stage.expect_next().await
}

async fn check_restart(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = begin_work(&mut stage, limits::SLOW_MS).await?;
    restart_broker(&mut stage).await?;
    stage.sent = format!("{}; the broker is away for 5 s", stage.sent);
    stage.expect_done_within(&delivery, limits::FLOOD).await?;
    require_one_work(&stage, &delivery)
}

async fn restart_broker(stage: &mut Stage) -> CheckVerdict {
    stage.broker()?.stop_broker().await;
    tokio::time::sleep(limits::AWAY).await;
    stage.broker()?.start_broker().await.map_err(CheckFault::build_unscored)
}

async fn expect_soon(stage: &mut Stage) -> CheckVerdict {
    let delivery = stage.make_plain();
    stage.send(&delivery).await?;
    stage.expect_reply_within(&delivery, limits::RECONNECT).await.map(drop)
}

async fn check_idle_restart(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    restart_broker(&mut stage).await?;
    expect_soon(&mut stage).await
}

async fn check_away(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.prepare_broker().await?;
    let stopped = |why: String| CheckFault::build_failure("the start of the program", "it runs", why);
    stage.broker()?.start_worker(&bench.subject).await.map_err(stopped)?;
    tokio::time::sleep(limits::AWAY * 2).await;
    stage.broker()?.start_broker().await.map_err(CheckFault::build_unscored)?;
    stage.sent = "the broker, 10 s after the worker".to_owned();
    expect_soon(&mut stage).await
}

async fn check_term(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let until = Instant::now() + limits::ANSWER;
    while stage.broker()?.waiting.is_empty() && Instant::now() < until {
        stage.wait(Duration::from_millis(20)).await;
    }
    // The pulls that are on their way are answered only after TERM.
    stage.broker()?.rule = PullRule::Keep;
    let delivery = stage.make_plain();
    stage.send(&delivery).await?;
    stage.program()?.send_term();
    stage.wait(limits::MOMENT).await;
    stage.broker()?.rule = PullRule::Serve;
    stage.broker()?.hand_out().await;
    stage.sent = format!("TERM, then to a pull on its way: {}", stage.sent);
    stage.expect_reply(&delivery).await?;
    stage.expect_good_end(limits::TERM_END).await
}

async fn check_term_away(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let task = bench.subject.takes_tasks();
    if !task {
        return Err(CheckFault::build_unscored("it needs work that lasts, as <task> has"));
    }
    begin_work(&mut stage, limits::SLOW_MS).await?;
    stage.broker()?.stop_broker().await;
    stage.program()?.send_term();
    stage.sent = format!("{}; the broker goes away, and TERM", stage.sent);
    let ended = stage.wait_for_end(limits::TERM_AWAY).await;
    let words = stage.broker()?.last_words();
    let holds = ended.is_some_and(|status| !status.success()) && !words.is_empty();
    stage.require(holds, "its end within 60 s, exit above 0, and what is open on stderr", || {
        let status = ended.map_or_else(|| "it still runs".to_owned(), |status| status.to_string());
        format!("{status}; stderr: {words}")
    })
}
