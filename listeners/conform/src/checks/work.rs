//! Checks of the key of a piece of work, and of many deliveries at once.

use systole_kit::reply::ReplyContent;
use tokio::time::Instant;

use crate::documents::{Delivery, Task};
use crate::limits;
use crate::stage::{Bench, HeardDocument};
use crate::verdict::{CheckFault, CheckVerdict, RunningCheck};

pub(super) fn find_check<'b>(bench: &'b Bench, group: &str, name: &str) -> Option<RunningCheck<'b>> {
    Some(match (group, name) {
        ("key", "same") => Box::pin(check_same(bench)),
        ("key", "attempt") => Box::pin(check_attempt(bench)),
        ("key", "twice") => Box::pin(check_twice(bench)),
        ("many", "parallel") => Box::pin(check_parallel(bench)),
        ("many", "bound") => Box::pin(check_bound(bench)),
        ("many", "slow") => Box::pin(check_slow(bench)),
        ("many", "hundred") => Box::pin(check_hundred(bench)),
        _ => return None,
    })
}

async fn check_same(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let first = stage.make_task(Task::new("echo", "the same work"));
    let second = first.again(stage.choose_name(), None);
    for (delivery, attempt) in [(&first, "1"), (&second, "2")] {
        stage.send(delivery).await?;
        let done = stage.expect_done(delivery).await?;
        let find = |name: &str| done.find_attribute(name).unwrap_or_default();
        let (key, said) = (find("key"), find("attempt"));
        let holds = key == first.key && said == attempt;
        stage.require(holds, &format!("key={:?} attempt={attempt:?}", first.key), || {
            format!("key={key:?} attempt={said:?}")
        })?;
    }
    Ok(())
}

async fn check_attempt(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    // The worker answers the first attempt; the pump has given it up and takes no notice.
    let first = stage.make_task(Task::new("sleep", "given up").number(limits::SHORT_MS));
    stage.send(&first).await?;
    stage.cancel(&first.token).await?;
    let second = first.again(stage.choose_name(), None);
    stage.send(&second).await?;
    stage.expect_reply(&second).await.map(drop)
}

async fn check_twice(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_plain();
    stage.send(&delivery).await?;
    stage.send(&delivery).await?;
    stage.sent = format!("twice: {}", stage.sent);
    let first = stage.expect_reply(&delivery).await?;
    let second = stage.find_reply(&delivery.token, limits::SILENCE).await;
    if let Some(second) = second.as_ref().and_then(|heard| heard.reply_to(&delivery.token)) {
        let same = |one: &ReplyContent, other: &ReplyContent| match (one, other) {
            (ReplyContent::Items(one), ReplyContent::Items(other)) => {
                let bytes = |items: &[systole_kit::reply::Item]| {
                    let one = |item: &systole_kit::reply::Item| {
                        item.payload.as_ref().ok().map(|p| p.bytes().clone())
                    };
                    items.iter().map(one).collect::<Vec<_>>()
                };
                bytes(one) == bytes(other)
            }
            _ => one == other,
        };
        stage.require(same(&first, second), "the same reply both times, or one", || {
            crate::expectations::describe_content(second)
        })?;
    }
    stage.expect_next().await
}

async fn check_parallel(bench: &Bench) -> CheckVerdict {
    let count = bench.subject.in_flight.min(32);
    let mut stage = bench.open().await?;
    let all: Vec<Delivery> =
        (0..count).map(|_| stage.make_task(Task::new("sleep", "slept").number(limits::SLEEP_MS))).collect();
    let began = Instant::now();
    for delivery in &all {
        stage.send(delivery).await?;
    }
    for delivery in &all {
        stage.expect_done(delivery).await?;
    }
    let took = began.elapsed();
    stage.sent = format!("{count} times <task do=\"sleep\" n=\"500\">");
    stage.require(took <= limits::SLEEPS_AT_ONCE, "all within 1.5 s", || format!("{} ms", took.as_millis()))
}

async fn check_bound(bench: &Bench) -> CheckVerdict {
    let slots = bench.subject.in_flight;
    let mut stage = bench.open().await?;
    let task = bench.subject.takes_tasks();
    let all: Vec<Delivery> = (0..slots * 3)
        .map(|_| {
            if task {
                stage.make_task(Task::new("sleep", "slept").number(limits::SHORT_MS))
            } else {
                stage.make_plain()
            }
        })
        .collect();
    for delivery in &all {
        stage.send(delivery).await?;
    }
    for delivery in &all {
        stage.expect_reply_within(delivery, limits::FLOOD).await?;
    }
    let most = stage.broker()?.most_held;
    stage.require(most <= slots, &format!("at most {slots} deliveries held"), || most.to_string())
}

async fn check_slow(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    stage.require_in_flight(2)?;
    let slow = stage.make_task(Task::new("sleep", "slow").number(limits::SLOW_MS));
    stage.send(&slow).await?;
    let fast: Vec<Delivery> = (0..20).map(|_| stage.make_plain()).collect();
    for delivery in &fast {
        stage.send(delivery).await?;
    }
    for delivery in &fast {
        stage.expect_reply(delivery).await?;
    }
    let overtaken = stage.heard.iter().any(|heard| heard.reply_to(&slow.token).is_some());
    stage.require(!overtaken, "the fast ones first", || {
        "the slow one was answered before the last fast one".to_owned()
    })?;
    stage.expect_done(&slow).await.map(drop)
}

async fn check_hundred(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let all: Vec<Delivery> = (0..limits::MANY).map(|_| stage.make_plain()).collect();
    // No more than the listener may have at once.
    let most = bench.subject.in_flight;
    let mut open: Vec<&Delivery> = Vec::new();
    for delivery in &all {
        if open.len() >= most {
            open = wait_for_any(&mut stage, open).await?;
        }
        stage.send(delivery).await?;
        open.push(delivery);
    }
    while !open.is_empty() {
        open = wait_for_any(&mut stage, open).await?;
    }
    Ok(())
}

/// Waits for a reply to any of these, and returns the others.
async fn wait_for_any<'d>(
    stage: &mut crate::stage::Stage,
    open: Vec<&'d Delivery>,
) -> Result<Vec<&'d Delivery>, CheckFault> {
    let is_reply =
        |heard: &HeardDocument| open.iter().any(|delivery| heard.reply_to(&delivery.token).is_some());
    match stage.find_document(limits::ANSWER, is_reply).await {
        Some(heard) => {
            Ok(open.into_iter().filter(|delivery| heard.reply_to(&delivery.token).is_none()).collect())
        }
        None => {
            let came = stage.describe_nothing(limits::ANSWER).await;
            Err(stage.fail(format!("a reply to each, {} are open", open.len()), came))
        }
    }
}
