//! Checks of how documents follow one another on stdin and stdout.

use std::time::Duration;

use crate::documents::{Delivery, Task};
use crate::limits;
use crate::pipe::ReadPace;
use crate::stage::{Bench, Stage};
use crate::verdict::{CheckFault, CheckVerdict, RunningCheck, show_bytes};

pub(super) fn find_check<'b>(bench: &'b Bench, name: &str) -> Option<RunningCheck<'b>> {
    Some(match name {
        "lines" | "length" => Box::pin(check_one(bench)),
        "split" => Box::pin(check_split(bench)),
        "joined" => Box::pin(check_joined(bench)),
        "flush" => Box::pin(check_flush(bench)),
        "newline" => Box::pin(check_newline(bench)),
        "tail" => Box::pin(check_tail(bench)),
        "print" => Box::pin(check_print(bench)),
        "stderr" => Box::pin(check_stderr(bench)),
        "backpressure" => Box::pin(check_backpressure(bench)),
        "eof" => Box::pin(check_eof(bench)),
        _ => return None,
    })
}

/// The frame of a reply as the program wrote it.
async fn find_frame(stage: &mut Stage, delivery: &Delivery) -> Result<Vec<u8>, CheckFault> {
    match stage.find_reply(&delivery.token, limits::ANSWER).await {
        Some(heard) => Ok(heard.bytes),
        None => {
            let came = stage.describe_nothing(limits::ANSWER).await;
            Err(stage.fail("one frame with the reply to the delivery", came))
        }
    }
}

async fn check_one(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let before = stage.heard.len();
    let delivery = stage.make_plain();
    stage.send(&delivery).await?;
    let frame = find_frame(&mut stage, &delivery).await?;
    let is_bare = frame.first() == Some(&b'<') && frame.last() == Some(&b'>');
    stage.require(is_bare, "the document alone, without white space around it", || show_bytes(&frame))?;
    stage.wait(limits::MOMENT).await;
    let more = stage.heard.get(before..).unwrap_or_default().iter().find(|heard| heard.document.is_none());
    let came = more.map(|heard| show_bytes(&heard.bytes));
    stage
        .require(came.is_none(), "nothing but documents of the protocol", || came.clone().unwrap_or_default())
}

async fn check_split(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let text = "Grüße, 𝄞 und 漢字";
    let takes = stage.bench.subject.takes_tasks();
    let delivery = if takes { stage.make_task(Task::new("echo", text)) } else { stage.make_plain() };
    stage.note_delivery(&delivery);
    let document = delivery.to_document(stage.bench.subject.listener.as_str());
    let framed = stage.frame_document(&document);
    for byte in &framed {
        stage.write_bytes(std::slice::from_ref(byte)).await?;
        // A program that reads at once sees each byte alone, the halves of characters too.
        if !byte.is_ascii() {
            tokio::time::sleep(Duration::from_millis(8)).await;
        } else {
            tokio::task::yield_now().await;
        }
    }
    stage.sent = format!("byte by byte: {}", show_bytes(&framed));
    if takes {
        stage.expect_text(&delivery, text).await
    } else {
        stage.expect_reply(&delivery).await.map(drop)
    }
}

async fn check_joined(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let all = [stage.make_plain(), stage.make_plain(), stage.make_plain()];
    let mut bytes = Vec::new();
    for delivery in &all {
        stage.note_delivery(delivery);
        bytes.extend(stage.frame_document(&delivery.to_document(stage.bench.subject.listener.as_str())));
    }
    stage.write_bytes(&bytes).await?;
    for delivery in &all {
        stage.expect_reply(delivery).await?;
    }
    Ok(())
}

async fn check_flush(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.start_worker(ReadPace::default()).await?;
    let delivery = stage.make_plain();
    stage.send(&delivery).await?;
    if stage.find_reply(&delivery.token, limits::ANSWER).await.is_some() {
        return Ok(());
    }
    let came = stage.describe_nothing(limits::ANSWER).await;
    Err(stage.fail("the reply while stdin stays open: flush each document", came))
}

async fn check_newline(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let text = "one\ntwo\r\nthree\tfour\rfive";
    let delivery = stage.make_task(Task::new("echo", text));
    stage.send(&delivery).await?;
    stage.expect_text(&delivery, text).await
}

async fn check_tail(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_plain();
    stage.send(&delivery).await?;
    stage.pipe()?.close_input();
    stage.sent = format!("{}, and the end of stdin", stage.sent);
    stage.expect_reply(&delivery).await?;
    stage.expect_good_end(limits::EOF_END).await
}

async fn check_print(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("print", "printed without a line break"));
    stage.send(&delivery).await?;
    stage.expect_text(&delivery, "printed without a line break").await
}

async fn check_stderr(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open_with(ReadPace { slow_errors: true, slow_output: false }).await?;
    let delivery = stage.make_task(Task::new("stderr", "said").number(1 << 20));
    stage.send(&delivery).await?;
    stage.expect_done_within(&delivery, limits::FLOOD).await.map(drop)
}

async fn check_backpressure(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open_with(ReadPace { slow_output: true, slow_errors: false }).await?;
    let (count, size) = (16, 24 << 10);
    let all: Vec<Delivery> =
        (0..count).map(|_| stage.make_task(Task::new("large", "").number(size))).collect();
    for delivery in &all {
        stage.send(delivery).await?;
    }
    for delivery in &all {
        let done = stage.expect_done_within(delivery, limits::FLOOD).await?;
        let got = done.text().len() as u64;
        stage.require(got == size, "each reply whole", || format!("{got} of {size} bytes"))?;
    }
    Ok(())
}

async fn check_eof(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    stage.pipe()?.close_input();
    stage.sent = "the end of stdin, while it has nothing to do".to_owned();
    stage.expect_good_end(limits::EOF_END).await
}
