//! Checks of the texts that a worker reads and writes.

use crate::documents::{CONFORM, Task, escape_text, read_payload};
use crate::limits;
use crate::rules::hash_hex;
use crate::stage::{Bench, Stage};
use crate::verdict::{CheckVerdict, RunningCheck};

pub(super) fn find_check<'b>(bench: &'b Bench, name: &str) -> Option<RunningCheck<'b>> {
    let same = |text: &'static str| -> RunningCheck<'b> { Box::pin(check_same(bench, text)) };
    Some(match name {
        "escape" => same("a & b < c > d \" e ' f &amp; ]]> g"),
        "unicode" => same("𝄞 e\u{301} \u{202e}שלום\u{202c} x\u{85}y\u{2028}z \u{fffd}"),
        "space" => Box::pin(check_space(bench)),
        "prefix" => Box::pin(check_prefix(bench)),
        "cdata" => Box::pin(check_cdata(bench)),
        "comment" => Box::pin(check_comment(bench)),
        "empty" => Box::pin(check_empty(bench)),
        "attribute" => Box::pin(check_attribute(bench)),
        "large" => Box::pin(check_large(bench)),
        "deep" => Box::pin(check_deep(bench)),
        "forbidden" => Box::pin(check_forbidden(bench)),
        _ => return None,
    })
}

async fn check_same(bench: &Bench, text: &str) -> CheckVerdict {
    bench.open().await?.expect_echo(text).await
}

async fn check_space(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    stage.expect_echo("  before,  within  and after  ").await?;
    stage.expect_echo("   ").await
}

/// Sends an echo as XML of the check's making, and expects a text.
async fn check_xml(stage: &mut Stage, xml: &str, text: &str) -> CheckVerdict {
    let delivery = stage.request(read_payload(xml));
    stage.send(&delivery).await?;
    stage.expect_text(&delivery, text).await
}

async fn check_prefix(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("echo", "prefixed"));
    let document = delivery.to_document(bench.subject.listener.as_str());
    let document = String::from_utf8_lossy(&document).into_owned();
    let changes = [
        ("<message xmlns=", "<e:message xmlns:e="),
        ("</message>", "</e:message>"),
        ("<meta>", "<e:meta>"),
        ("</meta>", "</e:meta>"),
        ("<from>", "<e:from>"),
        ("</from>", "</e:from>"),
        ("<to>", "<e:to>"),
        ("</to>", "</e:to>"),
        ("<thread>", "<e:thread>"),
        ("</thread>", "</e:thread>"),
        ("<stamp xmlns=", "<st:stamp xmlns:st="),
        ("<task xmlns=", "<x:task xmlns=\"\" xmlns:x="),
        ("</task>", "</x:task>"),
    ];
    let prefixed = changes.iter().fold(document, |text, (from, to)| text.replace(from, to));
    stage.send_document(&delivery, prefixed.into_bytes()).await?;
    stage.expect_text(&delivery, "prefixed").await
}

async fn check_cdata(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let xml = format!("<task xmlns=\"{CONFORM}\" do=\"echo\">a <![CDATA[<b> & ]]><![CDATA[c]]> d</task>");
    check_xml(&mut stage, &xml, "a <b> & c d").await
}

async fn check_comment(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let xml = format!("<task xmlns=\"{CONFORM}\" do=\"echo\">a<!-- not this -->b<!-- nor this -->c</task>");
    let delivery = stage.request(read_payload(&xml));
    let document = delivery.to_document(bench.subject.listener.as_str());
    let document = String::from_utf8_lossy(&document).into_owned();
    let commented = document
        .replace("<meta>", "<!-- before --><meta><!-- within -->")
        .replace("</meta>", "</meta><!-- <task/> -->");
    stage.send_document(&delivery, commented.into_bytes()).await?;
    stage.expect_text(&delivery, "abc").await
}

async fn check_empty(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    check_xml(&mut stage, &format!("<task xmlns=\"{CONFORM}\"/>"), "").await?;
    check_xml(&mut stage, &format!("<task xmlns=\"{CONFORM}\"></task>"), "").await
}

async fn check_attribute(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let code = "say \"it's\" & <so>\n\tthere";
    let xml = format!("<task xmlns=\"{CONFORM}\" do=\"echo\" code=\"{}\">.</task>", escape_text(code, true));
    check_xml(&mut stage, &xml, &format!("{code}.")).await
}

async fn check_large(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let size = if stage.is_over_nats() { limits::LARGE_TEXT_NATS } else { limits::LARGE_TEXT };
    let text: String = ('a'..='z').cycle().take(size).collect();
    let delivery = stage.make_task(Task::new("echo", &text));
    stage.send(&delivery).await?;
    let done = stage.expect_done_within(&delivery, limits::FLOOD).await?.text();
    let (sent, came) = (hash_hex(text.as_bytes()), hash_hex(done.as_bytes()));
    stage.require(sent == came, &format!("{size} bytes with the hash {sent}"), || {
        format!("{} bytes with the hash {came}", done.len())
    })
}

async fn check_deep(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = crate::checks::turn::begin_call(&mut stage, "deep", 1).await?;
    let deep = format!(
        "<found xmlns=\"https://xml-pipeline.org/ns/deep/v1\">{}{}</found>",
        "<a>".repeat(63),
        "</a>".repeat(63)
    );
    let payload = crate::documents::write_turn(2, vec![Some(read_payload(&deep))], Vec::new());
    let next = delivery.with_answers(stage.choose_name(), payload);
    stage.send(&next).await?;
    stage.expect_reply(&next).await.map(drop)
}

async fn check_forbidden(bench: &Bench) -> CheckVerdict {
    let mut stage = bench.open().await?;
    let delivery = stage.make_task(Task::new("bad", ""));
    stage.send(&delivery).await?;
    stage.expect_failure(&delivery).await?;
    stage.expect_next().await
}
