//! Checks of what a later pump may add: a worker skips what it does not know.

use systole_kit::namespaces::{CORE, ENVELOPE, LISTENER};
use systole_kit::pump_documents::ReplyReceipt;
use systole_kit::reply::{ListenerDocument, ReplyContent};

use crate::checks::turn::{begin_call, make_turn};
use crate::documents::{Delivery, Task, read_payload, write_done};
use crate::limits;
use crate::rules::ReceiptRule;
use crate::stage::{Bench, Stage};
use crate::verdict::{CheckFault, CheckVerdict, RunningCheck};

pub(super) fn find_check<'b>(bench: &'b Bench, name: &str) -> Option<RunningCheck<'b>> {
    Some(match name {
        "attribute" => Box::pin(check_attribute(bench)),
        "meta" => Box::pin(check_meta(bench)),
        "document" => Box::pin(check_document(bench)),
        "element" => Box::pin(check_element(bench)),
        "envelope" => Box::pin(check_envelope(bench)),
        "question" => Box::pin(check_question(bench)),
        _ => return None,
    })
}

fn change_document(stage: &Stage, delivery: &Delivery, changes: &[(&str, &str)]) -> Vec<u8> {
    let document = delivery.to_document(stage.bench.subject.listener.as_str());
    let text = String::from_utf8_lossy(&document).into_owned();
    changes.iter().fold(text, |text, (from, to)| text.replacen(from, to, 1)).into_bytes()
}

async fn check_attribute(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let changes = [
        ("<message ", "<message later=\"1\" "),
        ("<stamp ", "<stamp later=\"1\" xmlns:l=\"urn:later\" l:on=\"2\" "),
    ];
    let delivery = stage.make_plain();
    let document = change_document(&stage, &delivery, &changes);
    if stage.is_over_nats() {
        stage.rules.receipts = ReceiptRule::Hold;
    }
    stage.send_document(&delivery, document).await?;
    stage.expect_reply(&delivery).await?;
    if stage.is_over_nats() {
        let is_reply = |heard: &&crate::stage::HeardDocument| heard.reply_to(&delivery.token).is_some();
        let place = stage.heard.iter().rev().find(is_reply).and_then(|heard| heard.answer_to.clone());
        let receipt = ReplyReceipt { delivery: delivery.token.clone(), ..ReplyReceipt::default() };
        let text =
            String::from_utf8_lossy(&receipt.to_document()).replace("<receipt ", "<receipt later=\"1\" ");
        let link = stage.broker()?;
        link.publish(&place.unwrap_or_default(), None, text.as_bytes()).await;
        stage.rules.receipts = ReceiptRule::Give;
    }
    if bench.subject.takes_tasks() && !bench.subject.has_one_turn() {
        let first = begin_call(&mut stage, "asked", 1).await?;
        let second = make_turn(&mut stage, &first, vec![Some(write_done("found"))], Vec::new());
        let changes = [("<answers ", "<answers later=\"1\" "), ("<item ", "<item later=\"1\" ")];
        let document = change_document(&stage, &second, &changes);
        stage.send_document(&second, document).await?;
        stage.expect_text(&second, "asked found").await?;
    }
    stage.expect_next().await
}

async fn check_meta(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_plain();
    let changes = [
        (
            "<meta>",
            "<meta><later xmlns=\"urn:later\" delivery=\"not-this\"><stamp delivery=\"nor-this\"/></later>",
        ),
        ("</meta>", "<end xmlns=\"urn:later\">…</end></meta>"),
    ];
    let document = change_document(&stage, &delivery, &changes);
    stage.send_document(&delivery, document).await?;
    stage.expect_reply(&delivery).await.map(drop)
}

async fn check_document(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let token = stage.choose_name();
    for document in [
        format!("<later xmlns=\"{LISTENER}\" delivery=\"{token}\"><part>x</part></later>"),
        format!("<weather xmlns=\"{LISTENER}\"/>"),
    ] {
        stage.send_aside(document.as_bytes()).await?;
    }
    stage.expect_next().await
}

async fn check_element(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let first = begin_call(&mut stage, "asked", 2).await?;
    let later = || read_payload(&format!("<later-answer xmlns=\"{CORE}\" of=\"x\"><part/></later-answer>"));
    let second = make_turn(&mut stage, &first, vec![Some(later()), Some(write_done("found"))], vec![later()]);
    stage.send(&second).await?;
    stage.expect_reply(&second).await?;
    stage.expect_next().await
}

async fn check_envelope(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_plain();
    let later = ENVELOPE.replace("/v1", "/v2");
    let document = change_document(&stage, &delivery, &[(ENVELOPE, &later)]);
    stage.send_document(&delivery, document).await?;
    let heard = stage.find_reply(&delivery.token, limits::SILENCE).await;
    if let Some(said) = heard.as_ref().and_then(|heard| heard.reply_to(&delivery.token)) {
        let is_failure = matches!(said, ReplyContent::Failure { .. });
        return stage
            .require(is_failure, "no answer as to v1", || crate::expectations::describe_content(said));
    }
    let words = stage.describe_nothing(limits::SILENCE).await;
    let says = words.contains("stderr") || words.contains("exit status: 2");
    stage.require(says, "exit 2, or a word on stderr", || words.clone())
}

async fn check_question(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    stage.rules.refusal = Some(("payload.invalid", "the pump answers no such question"));
    let delivery = stage.make_task(Task::new("view", "refused as unknown"));
    stage.send(&delivery).await?;
    let is_ask = |word: &ListenerDocument| matches!(word, ListenerDocument::Ask { .. });
    stage.expect_word(&delivery, "a question", is_ask).await?;
    match stage.expect_reply(&delivery).await? {
        ReplyContent::Failure { code, words, .. } => {
            let typed = code == "payload.invalid"
                || words.contains("payload.invalid")
                || words.contains("no such question");
            stage.require(typed, "the code or the message of the refusal", || format!("{code}: {words}"))?;
        }
        ReplyContent::Items(_) => {}
        other => {
            return Err(CheckFault::build_failure(
                "a refusal",
                "a failure",
                crate::expectations::describe_content(&other),
            ));
        }
    }
    stage.rules.refusal = None;
    stage.expect_next().await
}
