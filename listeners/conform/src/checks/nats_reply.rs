//! Checks of what a worker over NATS does with a delivery: it renews, replies, sends again, and acknowledges.

use std::time::Duration;

use systole_kit::pump_documents::ReplyReceipt;
use systole_kit::reply::ReplyContent;
use tokio::time::Instant;

use crate::documents::{Delivery, Task, write_refusal};
use crate::limits;
use crate::rules::ReceiptRule;
use crate::stage::{Bench, HeardDocument, Stage};
use crate::verdict::{CheckFault, CheckVerdict, RunningCheck, show_bytes};

pub(super) fn find_check<'b>(bench: &'b Bench, name: &str) -> Option<RunningCheck<'b>> {
    Some(match name {
        "renew" => Box::pin(check_renewed(bench, "sleep", limits::RENEWED_MS)),
        "blocked" => Box::pin(check_renewed(bench, "hang", limits::BLOCKED_MS)),
        "until-receipt" => Box::pin(check_until_receipt(bench)),
        "receipt" => Box::pin(check_receipt(bench)),
        "resend" => Box::pin(check_resend(bench)),
        "responders" => Box::pin(check_responders(bench)),
        "ack" => Box::pin(check_ack(bench)),
        "stale" => Box::pin(check_settled(bench, "stale")),
        "refused" => Box::pin(check_settled(bench, "refused")),
        "superseded" => Box::pin(check_settled(bench, "superseded")),
        "cancel" => Box::pin(check_cancel(bench)),
        "large" => Box::pin(check_large(bench)),
        _ => return None,
    })
}

/// The longest time without a renewal between two moments.
fn find_longest_gap(
    stage: &mut Stage,
    token: &str,
    from: Instant,
    to: Instant,
) -> Result<Duration, CheckFault> {
    let held = stage.broker()?.find_held(token).cloned();
    let renewals = held.map(|held| held.renewals).unwrap_or_default();
    let inside = renewals.into_iter().filter(|at| *at >= from && *at <= to);
    let mut longest = Duration::ZERO;
    let mut last = from;
    for at in inside.chain(std::iter::once(to)) {
        longest = longest.max(at.saturating_duration_since(last));
        last = at;
    }
    Ok(longest)
}

fn require_renewed(stage: &Stage, gap: Duration) -> CheckVerdict {
    stage.require(gap <= limits::RENEWAL, "+WPI within 2 s, then at least every 2 s", || {
        format!("{} ms without one", gap.as_millis())
    })
}

async fn check_renewed(bench: &Bench, work: &str, long: u64) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new(work, "renewed").number(long));
    stage.send(&delivery).await?;
    let within = Duration::from_millis(long) + limits::ANSWER;
    stage.expect_done_within(&delivery, within).await?;
    let replied = last_reply(&stage, &delivery)?.at;
    let Some(held) = stage.broker()?.find_held(&delivery.token).cloned() else {
        return Err(stage.fail("a pull", "none"));
    };
    let gap = find_longest_gap(&mut stage, &delivery.token, held.at, replied)?;
    require_renewed(&stage, gap)
}

/// The last document with the reply to a delivery.
fn last_reply(stage: &Stage, delivery: &Delivery) -> Result<HeardDocument, CheckFault> {
    let is_reply = |heard: &&HeardDocument| heard.reply_to(&delivery.token).is_some();
    let found = stage.heard.iter().rev().find(is_reply).cloned();
    found.ok_or_else(|| stage.fail("a reply", "none"))
}

fn list_replies(stage: &Stage, delivery: &Delivery) -> Vec<HeardDocument> {
    stage.heard.iter().filter(|heard| heard.reply_to(&delivery.token).is_some()).cloned().collect()
}

async fn check_until_receipt(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    stage.rules.receipts = ReceiptRule::Hold;
    let delivery = stage.make_plain();
    stage.send(&delivery).await?;
    stage.expect_reply(&delivery).await?;
    let began = last_reply(&stage, &delivery)?.at;
    stage.wait(Duration::from_secs(6)).await;
    stage.sent = format!("{}; no receipt for 6 s", stage.sent);
    let ended = began + Duration::from_secs(6);
    let gap = find_longest_gap(&mut stage, &delivery.token, began, ended)?;
    stage.rules.receipts = ReceiptRule::Give;
    for heard in list_replies(&stage, &delivery) {
        stage.give_receipt(&heard, &ReplyReceipt::default()).await;
    }
    require_renewed(&stage, gap)?;
    stage.expect_next().await
}

async fn check_receipt(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_plain();
    stage.send(&delivery).await?;
    stage.expect_reply(&delivery).await?;
    let heard = last_reply(&stage, &delivery)?;
    let is_request = heard.answer_to.is_some() && !heard.is_live;
    stage.require(is_request, "a request to the subject in Systole-Reply", || {
        "a message without a reply subject".to_owned()
    })
}

/// Expects the same reply again and again, with pauses that grow, and no second work.
async fn check_repeated(stage: &mut Stage, delivery: &Delivery, count: usize) -> CheckVerdict {
    let until = Instant::now() + limits::FLOOD;
    while list_replies(stage, delivery).len() < count && Instant::now() < until {
        stage.wait(limits::LOOK).await;
    }
    let replies = list_replies(stage, delivery);
    let enough = replies.len() >= count;
    stage.require(enough, &format!("the reply again, {count} times in all"), || {
        format!("{} times", replies.len())
    })?;
    let first = replies.first().map(|heard| heard.bytes.clone()).unwrap_or_default();
    let other = replies.iter().find(|heard| heard.bytes != first);
    let came = other.map(|heard| show_bytes(&heard.bytes));
    stage.require(came.is_none(), &format!("the same bytes: {}", show_bytes(&first)), || {
        came.clone().unwrap_or_default()
    })?;
    for pair in replies.windows(2) {
        let [one, next] = pair else { continue };
        let pause = next.at.saturating_duration_since(one.at);
        // A wait for the receipt comes before the pause.
        let longest = limits::ANSWER + Duration::from_secs(6);
        let holds = (limits::RESEND..=longest).contains(&pause);
        stage.require(holds, "pauses from 0.05 to 10 s", || format!("{} ms", pause.as_millis()))?;
    }
    Ok(())
}

async fn check_resend(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    stage.rules.receipts = ReceiptRule::Drop(2);
    let delivery = stage.make_plain();
    stage.send(&delivery).await?;
    stage.expect_reply(&delivery).await?;
    stage.sent = format!("{}; no receipt for two replies", stage.sent);
    check_repeated(&mut stage, &delivery, 3).await?;
    stage.expect_next().await
}

async fn check_responders(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let task = bench.subject.takes_tasks();
    let delivery = if task {
        stage.make_task(Task::new("sleep", "slept").number(limits::SLEEP_MS))
    } else {
        stage.make_plain()
    };
    stage.rules.receipts = ReceiptRule::Drop(1);
    stage.send(&delivery).await?;
    // No pump hears it for some seconds.
    stage.broker()?.listen(false).await;
    stage.wait(Duration::from_secs(3)).await;
    stage.broker()?.listen(true).await;
    stage.sent = format!("{}; no responders for 3 s", stage.sent);
    stage.expect_reply_within(&delivery, limits::FLOOD).await?;
    check_repeated(&mut stage, &delivery, 2).await?;
    stage.expect_next().await
}

async fn check_ack(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    stage.rules.receipts = ReceiptRule::Hold;
    let delivery = stage.make_plain();
    stage.send(&delivery).await?;
    stage.expect_reply(&delivery).await?;
    stage.wait(Duration::from_secs(1)).await;
    let early = is_acknowledged(&mut stage, &delivery)?;
    stage.require(!early, "no +ACK before the receipt", || "+ACK without a receipt".to_owned())?;
    stage.rules.receipts = ReceiptRule::Give;
    for heard in list_replies(&stage, &delivery) {
        stage.give_receipt(&heard, &ReplyReceipt::default()).await;
    }
    let until = Instant::now() + limits::ANSWER;
    while !is_acknowledged(&mut stage, &delivery)? && Instant::now() < until {
        stage.wait(Duration::from_millis(50)).await;
    }
    let acknowledged = is_acknowledged(&mut stage, &delivery)?;
    stage.require(acknowledged, "+ACK after the receipt", || "none".to_owned())
}

fn is_acknowledged(stage: &mut Stage, delivery: &Delivery) -> Result<bool, CheckFault> {
    Ok(stage.broker()?.find_held(&delivery.token).is_some_and(|held| held.acknowledged.is_some()))
}

/// A reply that the pump refuses, or counts for nothing: it is not sent again, and the next delivery is pulled.
async fn check_settled(bench: &Bench, how: &str) -> CheckVerdict {
    let mut stage = bench.open().await?;
    stage.rules.receipts = ReceiptRule::Hold;
    let delivery = stage.make_plain();
    stage.send(&delivery).await?;
    stage.expect_reply(&delivery).await?;
    let heard = last_reply(&stage, &delivery)?;
    let mut receipt = ReplyReceipt::default();
    match how {
        "stale" => receipt.refusal = Some(write_refusal("reply.stale-lease", "the attempt is over")),
        "refused" => receipt.refused = vec![(0, write_refusal("payload.invalid", "/done: not this"))],
        _ => receipt.is_superseded = true,
    }
    stage.give_receipt(&heard, &receipt).await;
    stage.rules.receipts = ReceiptRule::Give;
    stage.sent = format!("a receipt: {how}");
    stage.expect_silence(&delivery.token, limits::ANSWER).await?;
    stage.expect_next().await
}

async fn check_cancel(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("sleep", "called back").number(limits::BLOCKED_MS));
    stage.send(&delivery).await?;
    stage.wait(limits::BEGUN * 3).await;
    stage.cancel(&delivery.token).await?;
    stage.wait(limits::BEGUN).await;
    let after = Instant::now();
    stage.expect_silence(&delivery.token, Duration::from_secs(3)).await?;
    let renewed = stage
        .broker()?
        .find_held(&delivery.token)
        .is_some_and(|held| held.renewals.iter().any(|at| *at > after));
    stage.require(!renewed, "no renewal after the cancel", || "+WPI".to_owned())?;
    stage.expect_next().await
}

async fn check_large(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("large", "").number(limits::TOO_LARGE_MESSAGE));
    stage.send(&delivery).await?;
    let said = stage.expect_reply_within(&delivery, limits::ANSWER * 2).await?;
    let is_failure = matches!(said, ReplyContent::Failure { .. } | ReplyContent::Away { .. });
    stage.require(is_failure, "a failure in place of a reply that no message carries", || {
        crate::expectations::describe_content(&said)
    })?;
    stage.expect_next().await
}
