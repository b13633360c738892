//! Checks of what a worker says and asks while it works.

use systole_kit::ask::{MessageSpot, PumpQuestion};
use systole_kit::journal::{EarlierEntry, JournalEntry, ModelCallOutcome, ModelStarted, OutcomeDetails};
use systole_kit::reply::ListenerDocument;

use crate::documents::{Delivery, Task, write_done};
use crate::limits;
use crate::rules::hash_hex;
use crate::stage::{Bench, HeardDocument, Stage};
use crate::verdict::{CheckFault, CheckVerdict, RunningCheck, show_bytes};

pub(super) fn find_check<'b>(bench: &'b Bench, name: &str) -> Option<RunningCheck<'b>> {
    Some(match name {
        "progress" => Box::pin(check_progress(bench)),
        "notice" => Box::pin(check_notice(bench)),
        "ask" => Box::pin(check_view(bench, 0)),
        "pages" => Box::pin(check_view(bench, 1)),
        "refused" => Box::pin(check_refused(bench)),
        "journal" => Box::pin(check_journal(bench)),
        "known" => Box::pin(check_known(bench)),
        "open" => Box::pin(check_open(bench)),
        "blob" => Box::pin(check_blob(bench)),
        "hex" => Box::pin(check_hex(bench)),
        "numbers" => Box::pin(check_numbers(bench)),
        "interleaved" => Box::pin(check_interleaved(bench)),
        _ => return None,
    })
}

async fn check_progress(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("progress", "half way"));
    stage.send(&delivery).await?;
    let is_progress = |word: &ListenerDocument| matches!(word, ListenerDocument::Progress { words, .. } if words == "half way");
    let heard =
        stage.expect_word(&delivery, "<progress> with the words and the delivery", is_progress).await?;
    if stage.is_over_nats() {
        let is_apart = heard.is_live && heard.answer_to.is_none();
        stage.require(is_apart, "<progress> on o.….live.…, not as a request", || {
            show_bytes(&heard.bytes)
        })?;
    }
    stage.expect_text(&delivery, "half way").await
}

async fn check_notice(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("notice", "a word aside").code("shop.word"));
    stage.send(&delivery).await?;
    let is_notice = |word: &ListenerDocument| matches!(word, ListenerDocument::Notice { words, code, .. } if words == "a word aside" && code == "shop.word");
    let heard = stage.expect_word(&delivery, "<notice code=\"shop.word\"> with the words", is_notice).await?;
    if stage.is_over_nats() {
        let waits = heard.answer_to.is_some();
        stage.require(waits, "a request that waits for its receipt", || {
            "a message without a reply subject".to_owned()
        })?;
    }
    stage.expect_text(&delivery, "a word aside").await
}

/// A view of four messages, on pages of that many.
async fn check_view(bench: &Bench, page: usize) -> CheckVerdict {
    let mut stage = bench.open().await?;
    stage.rules.page = page;
    let delivery = stage.make_task(Task::new("view", "the request"));
    let others = ["second", "third"];
    for (at, text) in others.iter().enumerate() {
        let spot = MessageSpot::Answer { turn: 1, ordinal: u32::try_from(at).unwrap_or(0) };
        stage.add_message(&delivery.call, "peer", spot, write_done(text));
    }
    stage.send(&delivery).await?;
    let done = stage.expect_done(&delivery).await?;
    let hash = hash_hex(b"the request\nsecond\nthird");
    let (count, text) = (done.find_attribute("n").unwrap_or_default(), done.text());
    let holds = count == "3" && text == hash;
    stage.require(holds, &format!("n=\"3\" and the hash {hash}"), || format!("n={count:?} and {text}"))
}

async fn check_refused(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    stage.rules.refusal = Some(("payload.invalid", "this question is refused"));
    let delivery = stage.make_task(Task::new("view", "refused"));
    stage.send(&delivery).await?;
    stage.expect_reply(&delivery).await?;
    stage.rules.refusal = None;
    stage.expect_next().await
}

/// The journal entries and questions about a delivery, in order.
fn list_asked<'s>(stage: &'s Stage, delivery: &Delivery) -> Vec<&'s HeardDocument> {
    let is_about = |heard: &&HeardDocument| {
        heard.document.as_ref().is_some_and(|word| {
            word.delivery() == delivery.token
                && matches!(word, ListenerDocument::Journal { .. } | ListenerDocument::Ask { .. })
        })
    };
    stage.heard.iter().filter(is_about).collect()
}

fn read_entry(heard: &HeardDocument) -> Option<(u64, &JournalEntry)> {
    match &heard.document {
        Some(ListenerDocument::Journal { id, entry: Ok(entry), .. }) => Some((*id, entry)),
        _ => None,
    }
}

async fn check_journal(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("once", "charged"));
    stage.send(&delivery).await?;
    stage.expect_text(&delivery, "charged").await?;
    let asked = list_asked(&stage, &delivery);
    let entries: Vec<(u64, &JournalEntry)> = asked.iter().filter_map(|heard| read_entry(heard)).collect();
    let came = || asked.iter().map(|heard| show_bytes(&heard.bytes)).collect::<Vec<_>>().join(" ");
    let holds = match entries.as_slice() {
        [(id, JournalEntry::Started(_)), (_, JournalEntry::Result(result))] => {
            result.of == *id && result.text.contains("charged")
        }
        _ => false,
    };
    stage.require(holds, "a <journal kind=\"model-started\">, then the result of it with the text", came)
}

/// A start of an earlier attempt at the same work, as its own attempt wrote it.
async fn learn_start(stage: &mut Stage, text: &str) -> Result<(Delivery, u64, ModelStarted), CheckFault> {
    let delivery = stage.make_task(Task::new("once", text));
    stage.send(&delivery).await?;
    stage.expect_done(&delivery).await?;
    let asked = list_asked(stage, &delivery);
    let start = asked.iter().find_map(|heard| match read_entry(heard) {
        Some((id, JournalEntry::Started(started))) => Some((id, started.clone())),
        _ => None,
    });
    match start {
        Some((id, started)) => Ok((delivery, id, started)),
        None => Err(stage.fail("a <journal kind=\"model-started\">", "none in attempt 1")),
    }
}

async fn check_known(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let (first, id, started) = learn_start(&mut stage, "charged").await?;
    let outcome = ModelCallOutcome {
        of: id,
        stop: "end".to_owned(),
        tokens_in: None,
        tokens_out: None,
        money: None,
        text: "charged before".to_owned(),
        blobs: Vec::new(),
        details: Box::new(OutcomeDetails::default()),
    };
    stage.rules.entries = vec![
        EarlierEntry { attempt: 1, id, entry: JournalEntry::Started(started) },
        EarlierEntry { attempt: 1, id: id + 1, entry: JournalEntry::Result(outcome) },
    ];
    let second = first.again(stage.choose_name(), Some(2));
    stage.send(&second).await?;
    stage.expect_text(&second, "charged before").await?;
    let anew = list_asked(&stage, &second).into_iter().find(|heard| read_entry(heard).is_some());
    let came = anew.map(|heard| show_bytes(&heard.bytes));
    stage.require(came.is_none(), "no second start: the result in the journal is used", || {
        came.clone().unwrap_or_default()
    })
}

async fn check_open(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let (first, id, started) = learn_start(&mut stage, "charged").await?;
    stage.rules.entries = vec![EarlierEntry { attempt: 1, id, entry: JournalEntry::Started(started) }];
    let second = first.again(stage.choose_name(), Some(1));
    stage.send(&second).await?;
    let done = stage.expect_done(&second).await?;
    let key = done.find_attribute("key").unwrap_or_default();
    let holds = key == first.key && done.text() == "charged";
    stage.require(holds, "the work done again with the same key", || show_bytes(done.bytes()))
}

async fn check_blob(bench: &Bench) -> CheckVerdict {
    check_bytes(bench, "Grüße, <b>", None, "Grüße, <b>".as_bytes()).await
}

async fn check_hex(bench: &Bench) -> CheckVerdict {
    check_bytes(bench, "89504e470d0a1a0a00ff", Some("hex"), b"\x89PNG\r\n\x1a\n\x00\xff").await
}

async fn check_bytes(bench: &Bench, text: &str, code: Option<&str>, bytes: &[u8]) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task { code, ..Task::new("blob", text) });
    stage.send(&delivery).await?;
    let done = stage.expect_done(&delivery).await?;
    let wanted = format!("{} {text}", hash_hex(bytes));
    stage.require(done.text() == wanted, &format!("{wanted:?}"), || format!("{:?}", done.text()))?;
    let put = list_asked(&stage, &delivery).into_iter().find_map(|heard| match &heard.document {
        Some(ListenerDocument::Ask { question: Ok(PumpQuestion::PutBlob { bytes }), .. }) => {
            Some(bytes.clone())
        }
        _ => None,
    });
    stage.require(put.as_deref() == Some(bytes), "<put-blob> with the bytes", || {
        put.as_deref().map_or_else(|| "no <put-blob>".to_owned(), show_bytes)
    })
}

async fn check_numbers(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    for work in ["once", "blob"] {
        let delivery = stage.make_task(Task::new(work, "numbered"));
        stage.send(&delivery).await?;
        stage.expect_done(&delivery).await?;
        let ids: Vec<u64> = list_asked(&stage, &delivery)
            .into_iter()
            .filter_map(|heard| match &heard.document {
                Some(ListenerDocument::Journal { id, .. } | ListenerDocument::Ask { id, .. }) => Some(*id),
                _ => None,
            })
            .collect();
        let different: std::collections::BTreeSet<&u64> = ids.iter().collect();
        let holds = ids.len() > 1 && different.len() == ids.len();
        stage.require(holds, "a number of its own for each entry and question", || format!("{ids:?}"))?;
    }
    Ok(())
}

async fn check_interleaved(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    stage.require_in_flight(2)?;
    stage.rules.holds_answers = true;
    let (first, second) =
        (stage.make_task(Task::new("view", "first")), stage.make_task(Task::new("view", "second")));
    stage.send(&first).await?;
    stage.send(&second).await?;
    let is_ask = |word: &ListenerDocument| matches!(word, ListenerDocument::Ask { .. });
    let asked_first = stage.expect_word(&first, "a question of the first delivery", is_ask).await?;
    let asked_second =
        stage.expect_word(&second, "a question of the second, while the first waits", is_ask).await?;
    stage.rules.holds_answers = false;
    for (heard, delivery) in [(asked_second, &second), (asked_first, &first)] {
        let answer = heard.document.as_ref().and_then(|word| stage.rules.answer(word, &delivery.call));
        if let Some(answer) = answer {
            stage.answer(&heard, &answer).await?;
        }
    }
    stage.sent = "two questions, answered in the other order".to_owned();
    for (delivery, text) in [(&first, "first"), (&second, "second")] {
        let done = stage.expect_done_within(delivery, limits::ANSWER).await?;
        let hash = hash_hex(text.as_bytes());
        stage.require(done.text() == hash, &format!("the hash of {text:?}, {hash}"), || done.text())?;
    }
    Ok(())
}
