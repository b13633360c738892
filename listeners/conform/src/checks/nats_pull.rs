//! Checks of how a worker over NATS finds its work: its inbox, its pulls, and being found.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::documents::Delivery;
use crate::limits;
use crate::nats::{PullRule, TapRecord};
use crate::stage::{Bench, Stage};
use crate::verdict::{CheckFault, CheckVerdict, RunningCheck};

pub(super) fn find_check<'b>(bench: &'b Bench, name: &str) -> Option<RunningCheck<'b>> {
    Some(match name {
        "inbox" => Box::pin(check_inbox(bench)),
        "lookup" => Box::pin(check_lookup(bench)),
        "pull" => Box::pin(check_pull(bench)),
        "again" => Box::pin(check_again(bench)),
        "pause" => Box::pin(check_pause(bench)),
        "silence" => Box::pin(check_silence(bench)),
        "slots" => Box::pin(check_slots(bench)),
        "service" => Box::pin(check_service(bench)),
        "rights" => Box::pin(check_rights(bench)),
        "twice" => Box::pin(check_twice(bench)),
        _ => return None,
    })
}

async fn check_inbox(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let own = format!("_INBOX_{}", bench.subject.listener.as_str().replace('.', "_"));
    let records = stage.broker()?.list_records();
    let inboxes: Vec<&String> = records
        .iter()
        .filter_map(|record| match record {
            TapRecord::Subscribed(subject) if subject.starts_with("_INBOX") => Some(subject),
            _ => None,
        })
        .collect();
    let holds = !inboxes.is_empty() && inboxes.iter().all(|subject| subject.starts_with(&own));
    stage.sent = "two deliveries".to_owned();
    stage.require(holds, &format!("inboxes below {own}, and no other"), || format!("{inboxes:?}"))
}

/// The requests that no listener may make, among what it published.
fn list_lookups(records: &[TapRecord]) -> Vec<String> {
    let is_lookup = |subject: &str| subject.starts_with("$JS.API.") && !subject.contains(".MSG.NEXT.");
    let published = records.iter().filter_map(|record| match record {
        TapRecord::Published(subject) if is_lookup(subject) => Some(subject.clone()),
        _ => None,
    });
    published.collect()
}

async fn check_lookup(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let lookups = list_lookups(&stage.broker()?.list_records());
    stage.sent = "two deliveries".to_owned();
    stage.require(lookups.is_empty(), "no request for a stream or a consumer", || lookups.join(", "))
}

async fn check_rights(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    stage.expect_next().await?;
    let refused: Vec<String> = stage
        .broker()?
        .list_records()
        .into_iter()
        .filter_map(|record| match record {
            TapRecord::Refused(words) if !words.contains("$JS.API.") => Some(words),
            _ => None,
        })
        .collect();
    stage.require(refused.is_empty(), "nothing that the broker refuses", || refused.join("; "))
}

async fn check_pull(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    for pull in stage.broker()?.pulls.clone() {
        let asked: Option<serde_json::Value> = serde_json::from_str(&pull.body).ok();
        let find = |name: &str| asked.as_ref().and_then(|asked| asked.get(name)?.as_u64());
        let holds = find("batch") == Some(1)
            && find("expires").is_some_and(|expires| limits::EXPIRES_NS.contains(&expires));
        "a pull".clone_into(&mut stage.sent);
        stage.require(holds, "batch 1, and expires above 0 and below five minutes", || pull.body.clone())?;
    }
    Ok(())
}

/// Hears the worker until it has pulled that often, or until a time; says when the last of these pulls came.
async fn wait_for_pulls(
    stage: &mut Stage,
    count: usize,
    within: Duration,
) -> Result<Option<Instant>, CheckFault> {
    let until = Instant::now() + within;
    loop {
        let at = stage.broker()?.pulls.get(count.saturating_sub(1)).map(|pull| pull.at);
        if at.is_some() || Instant::now() >= until {
            return Ok(at);
        }
        let step = Instant::now() + Duration::from_millis(50);
        if let Some(heard) = stage.next_document(step.min(until)).await {
            stage.put_back(heard);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Answers the next pull with a status, and says how long the worker then waits with the next one.
async fn measure_pause(stage: &mut Stage, status: &'static str) -> Result<Option<Duration>, CheckFault> {
    // All pulls that wait are ended with it, so that the next one is an answer to it. Each slot pulls by then.
    stage.wait(Duration::from_secs(1)).await;
    let link = stage.broker()?;
    link.rule = PullRule::Statuses(VecDeque::new());
    let before = link.pulls.len();
    let ended = link.end_waiting(status).await;
    if ended == 0 {
        link.rule = PullRule::Statuses(VecDeque::from([status]));
        wait_for_pulls(stage, before + 1, limits::ANSWER).await?;
    }
    let (began, before) = (Instant::now(), stage.broker()?.pulls.len());
    let at = wait_for_pulls(stage, before + 1, limits::ANSWER * 2).await?;
    stage.broker()?.rule = PullRule::Serve;
    Ok(at.map(|at| at.saturating_duration_since(began)))
}

async fn check_again(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    stage.broker()?.expired.clear();
    // A broker says 408 when the pull's own time is over; a long pull is ended here.
    let until = Instant::now() + limits::ANSWER;
    while stage.broker()?.expired.is_empty() && Instant::now() < until {
        stage.wait(Duration::from_millis(20)).await;
    }
    let took = match stage.broker()?.expired.first().copied() {
        None => measure_pause(&mut stage, " 408 Request Timeout").await?,
        Some(ended) => {
            let until = Instant::now() + limits::ANSWER;
            loop {
                // A worker that ends the pull by its own clock may ask a moment before the broker does.
                let mut pulls = stage.broker()?.pulls.iter();
                let next = pulls.find(|pull| pull.at + limits::OWN_CLOCK >= ended && pull.until > ended);
                let next = next.map(|pull| pull.at);
                if next.is_some() || Instant::now() >= until {
                    break next.map(|at| at.saturating_duration_since(ended));
                }
                stage.wait(Duration::from_millis(20)).await;
            }
        }
    };
    stage.sent = "408 Request Timeout".to_owned();
    let holds = took.is_some_and(|took| took <= Duration::from_secs(2));
    stage.require(holds, "the next pull within 2 s", || format!("{took:?}"))?;
    stage.expect_next().await
}

async fn check_pause(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    for status in [" 404 No Messages", " 409 Exceeded MaxWaiting", " 503"] {
        let took = measure_pause(&mut stage, status).await?;
        stage.sent = status.trim().to_owned();
        let holds = took.is_some_and(|took| (limits::REFUSED_PULL..=limits::ANSWER).contains(&took));
        stage.require(holds, "the next pull after 0.5 to 10 s", || format!("{took:?}"))?;
    }
    stage.expect_next().await
}

async fn check_silence(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let link = stage.broker()?;
    // The pulls that wait are forgotten, as by a connection that broke.
    link.waiting.clear();
    let before = link.pulls.len();
    let at = wait_for_pulls(&mut stage, before + 1, limits::ANSWER + limits::BEGUN).await?;
    stage.sent = "nothing to a pull".to_owned();
    stage.require(at.is_some(), "another pull within 10 s", || "none".to_owned())?;
    stage.expect_next().await
}

async fn check_slots(bench: &Bench) -> CheckVerdict {
    let slots = bench.subject.in_flight;
    let mut stage = bench.open().await?;
    let all: Vec<Delivery> = (0..slots * 3).map(|_| stage.make_plain()).collect();
    for delivery in &all {
        stage.send(delivery).await?;
    }
    for delivery in &all {
        stage.expect_reply_within(delivery, limits::FLOOD).await?;
    }
    stage.wait(limits::SILENCE).await;
    let most = stage.broker()?.most;
    stage
        .require(most <= slots, &format!("at most {slots} pulls and deliveries at once"), || most.to_string())
}

async fn check_service(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let name = bench.subject.listener.as_str().replace('.', "_");
    for (verb, kind) in [("PING", "ping_response"), ("INFO", "info_response"), ("STATS", "stats_response")] {
        let link = stage.broker()?;
        link.services.clear();
        link.publish(&format!("$SRV.{verb}.{name}"), Some("_INBOX_kit.service"), b"").await;
        stage.wait(limits::SILENCE).await;
        let said = stage.broker()?.services.clone();
        stage.sent = format!("$SRV.{verb}.{name}");
        let is_form = |text: &String| {
            let value: Option<serde_json::Value> = serde_json::from_str(text).ok();
            value.is_some_and(|value| {
                let is = |key: &str, wanted: &str| value.get(key).and_then(|v| v.as_str()) == Some(wanted);
                is("type", &format!("io.nats.micro.v1.{kind}"))
                    && is("name", &name)
                    && value.get("id").is_some()
            })
        };
        let holds = said.len() == 1 && said.iter().all(is_form);
        stage
            .require(holds, &format!("one answer of the type io.nats.micro.v1.{kind}"), || said.join(" "))?;
    }
    Ok(())
}

async fn check_twice(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_plain();
    stage.send(&delivery).await?;
    stage.send(&delivery).await?;
    stage.expect_reply(&delivery).await?;
    let until = Instant::now() + limits::ANSWER;
    loop {
        let held = &stage.broker()?.held;
        let own = held.iter().filter(|held| held.token == delivery.token);
        let done = own.filter(|held| held.acknowledged.is_some()).count();
        if done == 2 {
            break;
        }
        if Instant::now() >= until {
            stage.sent = "one delivery twice, with two reply subjects".to_owned();
            return Err(stage.fail("+ACK for both", format!("{done}")));
        }
        stage.wait(limits::LOOK).await;
    }
    stage.expect_next().await
}
