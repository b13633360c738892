//! Checks of calls with more than one turn.

use systole_kit::Payload;
use systole_kit::ask::MessageSpot;

use crate::documents::{Delivery, PEER, Task, read_payload, write_done, write_refusal, write_turn};
use crate::stage::{Bench, Stage};
use crate::verdict::{CheckFault, CheckVerdict, RunningCheck};
use systole_kit::namespaces::CORE;

pub(super) fn find_check<'b>(bench: &'b Bench, name: &str) -> Option<RunningCheck<'b>> {
    Some(match name {
        "answers" => Box::pin(check_answers(bench)),
        "request" => Box::pin(check_request(bench)),
        "restart" => Box::pin(check_restart(bench)),
        "refusal" => Box::pin(check_refusal(bench)),
        "inbox" => Box::pin(check_inbox(bench)),
        "wrap-up" => Box::pin(check_wrap_up(bench)),
        _ => return None,
    })
}

/// Has the worker begin a call with so many calls to its peer, and adds what both said to the view.
pub(super) async fn begin_call(stage: &mut Stage, text: &str, n: u64) -> Result<Delivery, CheckFault> {
    if stage.bench.subject.has_one_turn() {
        return Err(CheckFault::build_unscored("turns is 1"));
    }
    let delivery = stage.make_task(Task::new("call", text).number(n));
    stage.send(&delivery).await?;
    let said = stage.expect_reply(&delivery).await?;
    let items = stage.expect_items(&said)?;
    let holds = items.len() as u64 == n;
    stage.require(holds, &format!("{n} calls to {PEER}"), || crate::expectations::describe_content(&said))?;
    let own = stage.bench.subject.listener.to_string();
    for (at, payload) in items.into_iter().filter_map(|item| item.payload.ok()).enumerate() {
        let ordinal = u32::try_from(at).unwrap_or(u32::MAX);
        stage.add_message(&delivery.call, &own, MessageSpot::Said { turn: 1, ordinal }, payload);
    }
    Ok(delivery)
}

/// The next turn of a call, with answers that the view shows too.
pub(super) fn make_turn(
    stage: &mut Stage,
    before: &Delivery,
    items: Vec<Option<Payload>>,
    inbox: Vec<Payload>,
) -> Delivery {
    for (at, payload) in items.iter().enumerate() {
        if let Some(payload) = payload {
            let ordinal = u32::try_from(at).unwrap_or(u32::MAX);
            let spot = MessageSpot::Answer { turn: before.turn, ordinal };
            stage.add_message(&before.call, PEER, spot, payload.clone());
        }
    }
    for payload in &inbox {
        let spot = MessageSpot::Inbox { turn: before.turn + 1 };
        stage.add_message(&before.call, "core", spot, payload.clone());
    }
    before.with_answers(stage.choose_name(), write_turn(before.turn + 1, items, inbox))
}

/// Begins a call, answers it, and expects the joined texts.
async fn check_joined(
    bench: &Bench,
    items: Vec<Option<Payload>>,
    inbox: Vec<Payload>,
    text: &str,
) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let first = begin_call(&mut stage, "asked", items.len() as u64).await?;
    let second = make_turn(&mut stage, &first, items, inbox);
    stage.send(&second).await?;
    stage.expect_text(&second, text).await
}

async fn check_answers(bench: &Bench) -> CheckVerdict {
    let items = vec![Some(write_done("alpha")), None, Some(write_done("gamma"))];
    let mut stage = bench.open().await?;
    let first = begin_call(&mut stage, "asked", 3).await?;
    let second = make_turn(&mut stage, &first, items, Vec::new());
    stage.send(&second).await?;
    let text = stage.expect_done(&second).await?.text();
    let in_order = text.find("alpha").zip(text.find("gamma")).is_some_and(|(first, last)| first < last);
    stage.require(in_order, "a text with alpha before gamma", || text.clone())
}

async fn check_request(bench: &Bench) -> CheckVerdict {
    check_joined(bench, vec![Some(write_done("found"))], Vec::new(), "asked found").await
}

async fn check_restart(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let first = begin_call(&mut stage, "asked", 1).await?;
    let second = make_turn(&mut stage, &first, vec![Some(write_done("found"))], Vec::new());
    let mut fresh = bench.open().await?;
    fresh.rules.views.insert(first.call.clone(), stage.rules.views.remove(&first.call).unwrap_or_default());
    drop(stage);
    fresh.send(&second).await?;
    fresh.sent = format!("turn 2 to a process that did not see turn 1: {}", fresh.sent);
    fresh.expect_text(&second, "asked found").await
}

async fn check_refusal(bench: &Bench) -> CheckVerdict {
    let refusal = write_refusal("payload.invalid", "/task: the peer does not take this");
    let mut stage = bench.open().await?;
    let first = begin_call(&mut stage, "asked", 2).await?;
    let second = make_turn(&mut stage, &first, vec![Some(refusal), Some(write_done("found"))], Vec::new());
    stage.send(&second).await?;
    stage.expect_reply(&second).await?;
    stage.expect_next().await
}

async fn check_inbox(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let first = begin_call(&mut stage, "asked", 1).await?;
    let thread = &first.thread;
    let inbox = [
        format!(
            "<thread-finished xmlns=\"{CORE}\" thread=\"{thread}.a\" outcome=\"answered\"><result>{}</result></thread-finished>",
            "<answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">it ended</answer>"
        ),
        format!("<timer-fired xmlns=\"{CORE}\" timer=\"t1\"/>"),
        format!("<person-said xmlns=\"{CORE}\" by=\"operator\">go on</person-said>"),
    ];
    let inbox = inbox.iter().map(|xml| read_payload(xml)).collect();
    let second = make_turn(&mut stage, &first, vec![Some(write_done("found"))], inbox);
    stage.send(&second).await?;
    stage.expect_reply(&second).await?;
    stage.expect_next().await
}

async fn check_wrap_up(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let first = begin_call(&mut stage, "asked", 1).await?;
    let second = make_turn(&mut stage, &first, vec![Some(write_done("found"))], Vec::new());
    let document = second.to_document(bench.subject.listener.as_str());
    let document = String::from_utf8_lossy(&document).into_owned();
    let last = document.replace(" turn=\"2\">", " turn=\"2\" wrap-up=\"budget.messages\">");
    stage.send_document(&second, last.into_bytes()).await?;
    stage.expect_done(&second).await.map(drop)
}
