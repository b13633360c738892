//! Checks of replies: what they name, hold and say.

use systole_kit::namespaces;
use systole_kit::reply::{Item, ReplyContent};

use crate::documents::{CONFORM, PEER, Task, read_payload, write_turn};
use crate::expectations::describe_content;
use crate::limits;
use crate::stage::{Bench, Stage};
use crate::verdict::{CheckFault, CheckVerdict, RunningCheck, show_bytes};

pub(super) fn find_check<'b>(bench: &'b Bench, name: &str) -> Option<RunningCheck<'b>> {
    Some(match name {
        "delivery" => Box::pin(check_delivery(bench)),
        "namespace" => Box::pin(check_namespace(bench)),
        "one" => Box::pin(check_one(bench)),
        "valid" => Box::pin(check_valid(bench)),
        "failure" => Box::pin(check_failure(bench)),
        "retry" => Box::pin(check_retry(bench)),
        "throw" => Box::pin(check_throw(bench)),
        "unknown" => Box::pin(check_unknown(bench)),
        "again" => Box::pin(check_again(bench)),
        "silent" => Box::pin(check_silent(bench)),
        "many" => Box::pin(check_many(bench)),
        "to" => Box::pin(check_to(bench)),
        "from" => Box::pin(check_from(bench)),
        "large" => Box::pin(check_large(bench)),
        _ => return None,
    })
}

async fn check_delivery(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    // The same request twice, as two pieces of work.
    let first = stage.make_plain();
    let second = stage.request(first.payload.clone());
    for delivery in [&first, &second] {
        stage.send(delivery).await?;
        stage.expect_reply(delivery).await?;
    }
    Ok(())
}

/// The items of a reply to a plain request; no verdict if it is a failure.
async fn list_plain_items(stage: &mut Stage) -> Result<Vec<Item>, CheckFault> {
    let delivery = stage.make_plain();
    stage.send(&delivery).await?;
    match stage.expect_reply(&delivery).await? {
        ReplyContent::Failure { code, words, .. } if !stage.bench.subject.takes_tasks() => {
            let why = format!(
                "it answers the example with the failure {code}: {words}; --send gives it another request"
            );
            Err(CheckFault::build_unscored(why))
        }
        said => stage.expect_items(&said),
    }
}

async fn check_namespace(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    for item in list_plain_items(&mut stage).await? {
        let Ok(payload) = item.payload else { continue };
        let own = &*payload.name().ns;
        let is_own = !own.is_empty() && own != namespaces::LISTENER && own != namespaces::ENVELOPE;
        stage.require(is_own, "a payload in its own namespace", || show_bytes(payload.bytes()))?;
    }
    Ok(())
}

async fn check_one(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_plain();
    stage.send(&delivery).await?;
    stage.expect_reply(&delivery).await?;
    stage.expect_silence(&delivery.token, limits::SILENCE).await
}

async fn check_valid(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let items = list_plain_items(&mut stage).await?;
    if items.is_empty() {
        let nothing = bench.subject.returns_nothing();
        return stage.require(nothing, "an answer", || "an empty <reply>".to_owned());
    }
    for payload in items.iter().filter_map(|item| item.payload.as_ref().ok()) {
        let is_returned = bench.subject.returns(payload);
        stage.require(is_returned, "an element of `returns`", || show_bytes(payload.bytes()))?;
        if let Err(words) = bench.subject.judge_payload(payload) {
            return Err(stage.fail(
                "a payload that its schema allows",
                format!("{words}: {}", show_bytes(payload.bytes())),
            ));
        }
    }
    Ok(())
}

async fn check_failure(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("fail", "it is closed").code("shop.closed"));
    stage.send(&delivery).await?;
    let (code, words, _) = stage.expect_failure(&delivery).await?;
    let is_it = code == "shop.closed" && words.contains("it is closed");
    stage
        .require(is_it, "<failure code=\"shop.closed\">it is closed</failure>", || format!("{code}: {words}"))
}

async fn check_retry(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    for (n, wanted) in [(1, true), (0, false)] {
        let delivery = stage.make_task(Task::new("fail", "later").code("shop.later").number(n));
        stage.send(&delivery).await?;
        let (.., retry) = stage.expect_failure(&delivery).await?;
        stage.require(retry == wanted, &format!("retry={wanted}"), || format!("retry={retry}"))?;
    }
    Ok(())
}

async fn check_throw(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("throw", "an exception of its own"));
    stage.send(&delivery).await?;
    stage.expect_failure(&delivery).await?;
    stage.expect_echo("after the exception").await
}

async fn check_unknown(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let other = read_payload("<other xmlns=\"https://xml-pipeline.org/ns/other/v1\">x</other>");
    let delivery = stage.request(other);
    stage.send(&delivery).await?;
    stage.expect_failure(&delivery).await?;
    let answers = stage.request(write_turn(1, vec![None], Vec::new()));
    stage.send(&answers).await?;
    stage.expect_failure(&answers).await?;
    stage.expect_next().await
}

async fn check_again(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("again", "one more turn").code("shop.again"));
    stage.send(&delivery).await?;
    match stage.expect_reply(&delivery).await? {
        ReplyContent::Again { code, words } if code == "shop.again" && words.contains("one more turn") => {
            Ok(())
        }
        other => Err(stage.fail("<again code=\"shop.again\">", describe_content(&other))),
    }
}

async fn check_silent(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("silent", ""));
    stage.send(&delivery).await?;
    let said = stage.expect_reply(&delivery).await?;
    let is_empty = matches!(&said, ReplyContent::Items(items) if items.is_empty());
    stage.require(is_empty, "an empty <reply>", || describe_content(&said))
}

async fn check_many(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("many", "noted").number(3));
    stage.send(&delivery).await?;
    let said = stage.expect_reply(&delivery).await?;
    let items = stage.expect_items(&said)?;
    let names = items.iter().filter_map(|item| {
        let payload = item.payload.as_ref().ok()?;
        Some(format!("{} {}", payload.name().local, payload.find_attribute("n").unwrap_or_default()))
    });
    let names: Vec<String> = names.map(|name| name.trim().to_owned()).collect();
    let in_order = names.len() == 4
        && names.iter().take(3).map(String::as_str).eq(["remark 0", "remark 1", "remark 2"])
        && names.last().is_some_and(|last| last.starts_with("done"));
    stage.require(in_order, "<remark n=\"0\">, 1, 2, and <done>", || names.join(", "))
}

async fn check_to(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("call", "asked").number(2));
    stage.send(&delivery).await?;
    let said = stage.expect_reply(&delivery).await?;
    let items = stage.expect_items(&said)?;
    let is_task = |item: &Item| {
        item.payload.as_ref().is_ok_and(|payload| payload.name().is_named(CONFORM, "task"))
            && item.to.as_deref() == Some(PEER)
    };
    let holds = items.len() == 2 && items.iter().all(is_task);
    stage.require(holds, "two envelopes with <to>peer</to> and a <task>", || describe_content(&said))
}

async fn check_from(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let own = bench.subject.listener.as_str();
    for item in list_plain_items(&mut stage).await? {
        let is_own = item.from.as_deref().is_none_or(|from| from == own);
        stage.require(is_own, &format!("no <from>, or {own}"), || item.from.clone().unwrap_or_default())?;
    }
    Ok(())
}

async fn check_large(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("large", "").number(limits::TOO_LARGE_REPLY));
    stage.send(&delivery).await?;
    let said = stage.expect_reply_within(&delivery, limits::FLOOD).await?;
    let is_failure = matches!(said, ReplyContent::Failure { .. } | ReplyContent::Away { .. });
    stage.require(is_failure, "<failure code=\"reply.too-large\"> or another failure", || {
        describe_content(&said)
    })?;
    stage.expect_next().await
}
